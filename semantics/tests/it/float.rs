//! Floating-point arithmetic against `rustc_apfloat`, square roots against exact squares.

use crate::oracle::{FORMATS, Op, Random, arithmetic, order, specials};
use num_bigint::BigUint;
use ptxc_semantics::float::{self, FloatCmp, NanRule};
use ptxc_semantics::packed::{self, Truth};
use ptxc_semantics::{F32, F64, Format, Mode, Rounding};

/// Every rounding, with and without flushing, and one with clamping.
fn modes() -> Vec<Mode> {
    let plain = Rounding::ALL.map(Mode::new);
    let mut modes: Vec<Mode> = plain.iter().flat_map(|mode| [*mode, mode.with_ftz(true)]).collect();
    modes.push(Mode::new(Rounding::Up).with_sat(true));
    modes.push(Mode::IEEE.with_ftz(true).with_sat(true));
    modes
}

fn apply(format: Format, op: Op, [a, b, c]: [u64; 3], mode: Mode) -> u64 {
    match op {
        Op::Add => float::add(format, a, b, mode),
        Op::Sub => float::sub(format, a, b, mode),
        Op::Mul => float::mul(format, a, b, mode),
        Op::Fma => float::fma(format, a, b, c, mode),
        Op::Div => float::div(format, a, b, mode),
        Op::Integral => unreachable!("a conversion"),
    }
}

fn check(format: Format, op: Op, operands: [u64; 3], mode: Mode) {
    let (ours, exact) = (apply(format, op, operands, mode), arithmetic(format, op, operands, mode));
    assert_eq!(ours, exact, "{op:?} of {operands:x?} in {format:?}, {mode:?}: {ours:x}, not {exact:x}");
}

#[test]
fn two_operands_match_the_reference() {
    let mut random = Random(1);
    for format in FORMATS {
        let specials = specials(format);
        let grid = specials.iter().flat_map(|&a| specials.iter().map(move |&b| [a, b, 0]));
        let mut pairs: Vec<[u64; 3]> = grid.collect();
        pairs.extend((0..1000).map(|_| [random.float(format), random.float(format), 0]));
        for (index, pair) in pairs.into_iter().enumerate() {
            for op in [Op::Add, Op::Sub, Op::Mul, Op::Div] {
                let modes = modes();
                check(format, op, pair, modes[index % modes.len()]);
                check(format, op, pair, Mode::new(Rounding::ALL[random.next() as usize % 4]));
            }
        }
    }
}

#[test]
fn fma_matches_the_reference() {
    let mut random = Random(2);
    for format in FORMATS {
        let specials = specials(format);
        for _ in 0..4000 {
            let mut operand = || match random.next() % 3 {
                0 => specials[random.next() as usize % specials.len()],
                _ => random.float(format),
            };
            let [a, b, mut c] = [operand(), operand(), operand()];
            if random.next().is_multiple_of(3) {
                // The addend cancels the product to its last bits.
                c = float::neg(format, float::mul(format, a, b, Mode::IEEE)) ^ (random.next() % 4);
            }
            let mode = modes()[random.next() as usize % 10];
            check(format, Op::Fma, [a, b, c], mode);
        }
    }
}

#[test]
fn the_addend_far_below_a_tie_decides_it() {
    // (1 + 2^-n) (1 + 2^-(p - n)) lies halfway between two values of p bits; rounding twice would forget the addend.
    for format in FORMATS {
        let (digits, one) = (format.fraction_bits() + 1, format.one());
        for n in 1..digits {
            let [a, b] = [n, digits - n].map(|n| one | 1 << (format.fraction_bits() + 1 - n) >> 1);
            let least = 1 << (format.fraction_bits() / 2);
            for c in [0, 1, least, format.fraction_mask() + 1, one >> 1] {
                for sign in [0, format.sign_bit()] {
                    check(format, Op::Fma, [a, b, c | sign], Mode::IEEE);
                    check(format, Op::Fma, [a | format.sign_bit(), b, c | sign], Mode::IEEE);
                }
            }
        }
    }
}

#[test]
fn subtraction_of_neighbours_is_exact() {
    // From x - y = 0 with either sign of zero to a difference of one unit in the last place, at
    // each end of the exponent range.
    for format in FORMATS {
        for base in [format.fraction_mask(), format.one(), format.largest(false) - 2] {
            for near in base.saturating_sub(2)..=base + 2 {
                for rounding in Rounding::ALL {
                    check(format, Op::Sub, [base, near, 0], Mode::new(rounding));
                }
            }
        }
    }
}

/// The magnitude of a finite value as `significand * 2^(exponent - 1100)`.
fn decode(format: Format, a: u64) -> (u64, u64) {
    let (biased, fraction) = (a >> format.fraction_bits(), a & format.fraction_mask());
    let exponent =
        (biased.max(1) as i64) - i64::from(format.bias()) - i64::from(format.fraction_bits()) + 1100;
    (if biased == 0 { fraction } else { fraction + format.fraction_mask() + 1 }, exponent as u64)
}

/// `(2 * root + half_units)^2` compared with `4 * a`: how the square of a point near the root relates to the
/// radicand.
fn compare_square(format: Format, root: u64, half_units: i64, a: u64) -> std::cmp::Ordering {
    let (significand, exponent) = decode(format, root);
    let point = BigUint::from((2 * significand).wrapping_add_signed(half_units));
    let (radicand, radicand_exponent) = decode(format, a);
    ((&point * &point) << (2 * exponent)).cmp(&(BigUint::from(radicand) << (radicand_exponent + 2 + 1100)))
}

#[test]
fn square_roots_bracket_the_radicand() {
    let mut random = Random(3);
    for format in FORMATS {
        let mut operands: Vec<u64> = (0..700).map(|_| random.next() & format.mask()).collect();
        operands.extend(specials(format));
        for a in operands {
            for rounding in Rounding::ALL {
                let root = float::sqrt(format, a, Mode::new(rounding));
                if format.is_zero(a) || (format.is_infinite(a) && !format.is_negative(a)) {
                    assert_eq!(root, a);
                    continue;
                }
                if format.is_nan(a) || format.is_negative(a) {
                    assert_eq!(root, format.nan());
                    continue;
                }
                let (below, above) = match rounding {
                    Rounding::Nearest => (-1, 1),
                    Rounding::Zero | Rounding::Down => (0, 2),
                    Rounding::Up => (-2, 0),
                };
                assert!(compare_square(format, root, below, a).is_le(), "{format:?} {a:x} {rounding:?}");
                assert!(compare_square(format, root, above, a).is_ge(), "{format:?} {a:x} {rounding:?}");
                if rounding != Rounding::Nearest {
                    let open = if rounding == Rounding::Up { below } else { above };
                    assert!(compare_square(format, root, open, a).is_ne(), "{format:?} {a:x} {rounding:?}");
                }
            }
        }
    }
    for a in (0..2000).map(|_| random.next() >> 1) {
        if F64.is_finite(a) {
            assert_eq!(float::sqrt(F64, a, Mode::IEEE), f64::from_bits(a).sqrt().to_bits());
        }
    }
}

/// How the product of `a` and the square of a point near `root` compares with 1.
fn compare_reciprocal_square(format: Format, root: u64, half_units: i64, a: u64) -> std::cmp::Ordering {
    let (significand, exponent) = decode(format, root);
    let point = BigUint::from((2 * significand).wrapping_add_signed(half_units));
    let (operand, operand_exponent) = decode(format, a);
    let product = &point * &point * BigUint::from(operand);
    (product << (2 * exponent + operand_exponent)).cmp(&(BigUint::from(1u32) << (2 + 3 * 1100)))
}

#[test]
fn reciprocals_of_roots_bracket_the_exact_ones() {
    let mut random = Random(31);
    for format in FORMATS {
        let mut operands: Vec<u64> = (0..700).map(|_| random.next() & format.mask() >> 1).collect();
        // Powers of four have exact results.
        let exponents = format.one() >> format.fraction_bits();
        operands.extend((exponents - 10..exponents + 10).map(|exponent| exponent << format.fraction_bits()));
        operands.extend(specials(format));
        for a in operands {
            for rounding in Rounding::ALL {
                let root = float::rsqrt(format, a, Mode::new(rounding));
                if format.is_zero(a) {
                    assert_eq!(root, format.infinity(format.is_negative(a)));
                } else if format.is_nan(a) || format.is_negative(a) {
                    assert_eq!(root, format.nan());
                } else if format.is_infinite(a) {
                    assert_eq!(root, 0);
                } else {
                    let (below, above) = match rounding {
                        Rounding::Nearest => (-1, 1),
                        Rounding::Zero | Rounding::Down => (0, 2),
                        Rounding::Up => (-2, 0),
                    };
                    let compare = |half_units| compare_reciprocal_square(format, root, half_units, a);
                    assert!(compare(below).is_le(), "{format:?} {a:x} {rounding:?}: {root:x}");
                    assert!(compare(above).is_ge(), "{format:?} {a:x} {rounding:?}: {root:x}");
                    let open = if rounding == Rounding::Up { below } else { above };
                    assert!(compare(open).is_ne(), "{format:?} {a:x} {rounding:?}: {root:x}");
                }
            }
        }
    }
}

#[test]
fn comparisons_follow_the_order() {
    use FloatCmp::*;
    for format in FORMATS {
        let specials = specials(format);
        for (&a, &b) in specials.iter().flat_map(|a| specials.iter().map(move |b| (a, b))) {
            let order = order(format, a, b);
            let holds = |test: fn(std::cmp::Ordering) -> bool| order.is_some_and(test);
            let unordered = order.is_none();
            let table = [
                (Eq, Equ, holds(|o| o.is_eq())),
                (Ne, Neu, holds(|o| o.is_ne())),
                (Lt, Ltu, holds(|o| o.is_lt())),
                (Le, Leu, holds(|o| o.is_le())),
                (Gt, Gtu, holds(|o| o.is_gt())),
                (Ge, Geu, holds(|o| o.is_ge())),
                (Num, Nan, !unordered),
            ];
            for (ordered, or_unordered, expected) in table {
                assert_eq!(float::compare(format, ordered, a, b, false), expected, "{ordered:?} {a:x} {b:x}");
                let or_nan = if or_unordered == Nan { unordered } else { expected || unordered };
                assert_eq!(
                    float::compare(format, or_unordered, a, b, false),
                    or_nan,
                    "{or_unordered:?} {a:x} {b:x}"
                );
            }
        }
    }
    assert!(float::compare(F32, Eq, 1, 0x8000_0000, true), "a flushed subnormal is zero");
}

#[test]
fn minimum_and_maximum_follow_the_order_of_signed_values() {
    for format in FORMATS {
        let specials = specials(format);
        for (&a, &b) in specials.iter().flat_map(|a| specials.iter().map(move |b| (a, b))) {
            let [smaller, larger] = match order(format, a, b) {
                Some(order) => {
                    let a_first = order.is_lt() || (order.is_eq() && format.is_negative(a));
                    if a_first { [a, b] } else { [b, a] }
                }
                None => {
                    let number = [a, b].into_iter().find(|&operand| !format.is_nan(operand));
                    [number.unwrap_or(format.nan()); 2]
                }
            };
            assert_eq!(float::min(format, a, b, NanRule::Number, false), smaller, "{a:x} {b:x}");
            assert_eq!(float::max(format, a, b, NanRule::Number, false), larger, "{a:x} {b:x}");
            if format.is_nan(a) || format.is_nan(b) {
                assert_eq!(float::min(format, a, b, NanRule::Propagate, false), format.nan());
                assert_eq!(float::max(format, a, b, NanRule::Propagate, false), format.nan());
            } else {
                assert_eq!(float::min(format, a, b, NanRule::Propagate, false), smaller);
            }
            // With the sign of the product, computed by the reference.
            let magnitudes = [a, b].map(|a| a & !format.sign_bit());
            let product = (a ^ b) & format.sign_bit();
            for nan in [NanRule::Number, NanRule::Propagate] {
                let signed =
                    |magnitude| if format.is_nan(magnitude) { magnitude } else { magnitude | product };
                let least = float::min(format, magnitudes[0], magnitudes[1], nan, false);
                assert_eq!(float::min_xorsign(format, a, b, nan, false), signed(least), "{a:x} {b:x}");
                let greatest = float::max(format, magnitudes[0], magnitudes[1], nan, false);
                assert_eq!(float::max_xorsign(format, a, b, nan, false), signed(greatest), "{a:x} {b:x}");
            }
        }
    }
    assert_eq!(float::f32_min(0x8000_0001, 0x3f80_0000, NanRule::Number, true), 0x8000_0000);
}

#[test]
fn sign_operations_touch_only_the_sign() {
    let (payload, one) = (0x7f80_1234, u64::from(1.0f32.to_bits()));
    assert_eq!(float::neg(F32, payload), 0xff80_1234);
    assert_eq!(float::abs(F32, 0xff80_1234), payload);
    assert_eq!(float::copysign(F32, 0x8000_0000, one), one | 0x8000_0000);
    assert_eq!(float::relu(F32, one), one);
    assert_eq!([0x8000_0000, 0xff80_0000].map(|a| float::relu(F32, a)), [0, 0]);
    assert_eq!(float::relu(F32, 0xffc0_0000), F32.nan());
}

#[test]
fn halves_are_computed_apart() {
    let mut random = Random(4);
    for format in [ptxc_semantics::F16, ptxc_semantics::BF16] {
        for _ in 0..500 {
            let [a, b, c] = [0; 3].map(|_| [random.float(format), random.float(format)]);
            let word = |[low, high]: [u64; 2]| (low | high << 16) as u32;
            let exact = |op| word([0, 1].map(|i| arithmetic(format, op, [a[i], b[i], c[i]], Mode::IEEE)));
            let [x, y, z] = [a, b, c].map(word);
            assert_eq!(packed::add(format, x, y, Mode::IEEE), exact(Op::Add));
            assert_eq!(packed::sub(format, x, y, Mode::IEEE), exact(Op::Sub));
            assert_eq!(packed::mul(format, x, y, Mode::IEEE), exact(Op::Mul));
            assert_eq!(packed::fma(format, x, y, z, Mode::IEEE), exact(Op::Fma));
            let less = [0, 1].map(|i| order(format, a[i], b[i]).is_some_and(|o| o.is_lt()));
            assert_eq!(packed::compare(format, FloatCmp::Lt, x, y, false), less);
            let set = |truth| packed::set(format, FloatCmp::Lt, x, y, false, truth);
            assert_eq!(set(Truth::One), word(less.map(|less| if less { format.one() } else { 0 })));
            assert_eq!(set(Truth::Ones), word(less.map(|less| if less { 0xffff } else { 0 })));
        }
        assert_eq!(packed::flush(format, 0x8001_4000), 0x8000_4000);
        assert_eq!(packed::neg(format, 0x0001_8000), 0x8001_0000);
        assert_eq!(packed::abs(format, 0xffff_8001), 0x7fff_0001);
        assert_eq!(packed::relu(format, 0x8001_0001), 0x0000_0001);
        let (low, high) = (packed::join(1, 0x8000), packed::join(0x8002, 0));
        assert_eq!(packed::min(format, low, high, NanRule::Number, false), packed::join(0x8002, 0x8000));
        assert_eq!(packed::max(format, low, high, NanRule::Number, false), packed::join(1, 0));
        assert_eq!(
            packed::min_xorsign(format, low, high, NanRule::Number, false),
            packed::join(0x8001, 0x8000)
        );
        assert_eq!(
            packed::max_xorsign(format, low, high, NanRule::Number, false),
            packed::join(0x8002, 0x8000)
        );
    }
}
