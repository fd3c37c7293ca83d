//! Approximations against series summed in fixed point, and the special values of each function.

use crate::oracle::Random;
use num_bigint::{BigInt, Sign};
use ptxc_semantics::{BF16, F16, F32, Mode, convert, mufu};

/// Fraction bits of the fixed-point numbers: every binary32 value of magnitude above 2^-230 is exact.
const POINT: u32 = 256;

fn one() -> BigInt {
    BigInt::from(1) << POINT
}

/// A finite binary32 value in fixed point.
fn fixed(a: u32) -> BigInt {
    let biased = (a >> 23 & 255).max(1);
    let significand = (a & 0x7f_ffff) | if a >> 23 & 255 == 0 { 0 } else { 0x80_0000 };
    let magnitude = BigInt::from(significand) << (POINT + biased - 150);
    if a >> 31 == 1 { -magnitude } else { magnitude }
}

fn times(a: &BigInt, b: &BigInt) -> BigInt {
    (a * b) >> POINT
}

/// The sum of `x^k / k!` over every `step`-th k from `first`, each with the previous sign times `sign`.
fn series(x: &BigInt, first: u32, step: u32, sign: i32) -> BigInt {
    let mut term = if first == 0 { one() } else { x.clone() };
    let (mut sum, mut k) = (BigInt::from(0), first);
    while term.sign() != Sign::NoSign && k < 800 {
        sum += &term;
        for _ in 0..step {
            k += 1;
            term = times(&term, x) / k;
        }
        term *= sign;
    }
    sum
}

/// The natural logarithm of 2: the sum of `1 / (k 2^k)`.
fn ln2() -> BigInt {
    (1..POINT).map(|k| (one() >> k) / k).sum()
}

/// The logarithm to base 2 of a positive number, one bit for each squaring.
fn log2(a: &BigInt) -> BigInt {
    let integer = a.bits() as i64 - 1 - i64::from(POINT);
    let mut mantissa = if integer >= 0 { a >> integer } else { a << -integer };
    let mut log = BigInt::from(integer) << POINT;
    for bit in 1..100 {
        mantissa = times(&mantissa, &mantissa);
        if mantissa >= one() << 1u32 {
            mantissa >>= 1;
            log += one() >> bit;
        }
    }
    log
}

/// Asserts that `ours` is the exact value with a relative error of at most half a unit in the last place.
fn assert_close(name: &str, a: u32, ours: u32, exact: &BigInt) {
    let error = BigInt::from((fixed(ours) - exact).magnitude().clone());
    let allowed = BigInt::from(exact.magnitude().clone()) >> 24u32;
    let shown = (f32::from_bits(a), f32::from_bits(ours));
    assert!(error <= &allowed + (&allowed >> 20u32), "{name}({}) = {}", shown.0, shown.1);
}

/// Values of magnitude from `2^low` to `2^high`, positive and negative.
fn values(random: &mut Random, low: i32, high: i32) -> Vec<u32> {
    let exponent = |random: &mut Random| (127 + low + (random.next() % (high - low) as u64) as i32) as u32;
    (0..150).map(|_| (random.next() as u32 & 0x807f_ffff) | exponent(random) << 23).collect()
}

#[test]
fn transcendental_functions_match_their_series() {
    let mut random = Random(40);
    let ln2 = ln2();
    for a in values(&mut random, -20, 6) {
        let x = fixed(a);
        assert_close("ex2", a, mufu::ex2(a, false), &series(&times(&x, &ln2), 0, 1, 1));
        let positive = a & 0x7fff_ffff;
        assert_close("lg2", positive, mufu::lg2(positive, false), &log2(&fixed(positive)));
    }
    for a in values(&mut random, -20, 1) {
        let x = fixed(a);
        for (name, ours, exact) in
            [("sin", mufu::sin(a), series(&x, 1, 2, -1)), ("cos", mufu::cos(a), series(&x, 0, 2, -1))]
        {
            // PTX's bound is 2^-20.5; the angle in turns is cut off at a relative 2^-23.
            let error = BigInt::from((fixed(ours) - exact).magnitude().clone());
            assert!(error <= one() >> 21u32, "{name}({})", f32::from_bits(a));
        }
    }
    for a in values(&mut random, -20, 4) {
        let exponential = series(&(fixed(a) << 1u32), 0, 1, 1);
        let exact = ((&exponential - one()) << POINT) / (&exponential + one());
        assert_close("tanh", a, mufu::tanh(a), &exact);
    }
}

#[test]
fn functions_of_halves_match_their_series() {
    let ln2 = ln2();
    for format in [F16, BF16] {
        let single = |a| fixed(convert::float_to_float(format, F32, a, Mode::IEEE) as u32);
        for a in (0..0x8000u64).step_by(23).flat_map(|a| [a, a | 0x8000]) {
            let x = single(a);
            if !format.is_finite(a) || *x.magnitude() > one().magnitude() * 60u32 {
                continue;
            }
            let close = |ours: u64, exact: &BigInt| {
                if format.is_infinite(ours) {
                    return *exact > single(format.largest(false));
                }
                let error = BigInt::from((single(ours) - exact).magnitude().clone());
                let half_unit = BigInt::from(exact.magnitude().clone()) >> (format.fraction_bits() + 1);
                // Half the least subnormal.
                error <= (&half_unit + (&half_unit >> 20u32)).max(single(1) >> 1u32)
            };
            let exact = series(&times(&x, &ln2), 0, 1, 1);
            assert!(close(mufu::half_ex2(format, a, false), &exact), "ex2 {a:x} {format:?}");
            if *x.magnitude() < one().magnitude() * 8u32 {
                let exponential = series(&(&x << 1u32), 0, 1, 1);
                let exact = ((&exponential - one()) << POINT) / (&exponential + one());
                let ours = mufu::half_tanh(format, a);
                let below_point = single(a).magnitude().bits() < u64::from(POINT) - 100;
                assert!(if below_point { ours == a } else { close(ours, &exact) }, "tanh {a:x} {format:?}");
            }
        }
        let (one, infinity, nan) = (format.one(), format.infinity(false), format.nan());
        let operands = [0, 0x8000, infinity, infinity | 0x8000, nan | 0x8000];
        assert_eq!(operands.map(|a| mufu::half_ex2(format, a, false)), [one, one, infinity, 0, nan]);
        assert_eq!(operands.map(|a| mufu::half_tanh(format, a)), [0, 0x8000, one, one | 0x8000, nan]);
    }
    let least_exponent = 0xc2fc;
    assert_eq!(mufu::half_ex2(BF16, least_exponent, true), 0x0080, "2^-126 is normal");
    assert_eq!(mufu::half_ex2(BF16, least_exponent + 2, false), 0x0040);
    assert_eq!(mufu::half_ex2(BF16, least_exponent + 2, true), 0, "a subnormal result is flushed");
}

#[test]
fn algebraic_functions_match_exact_quotients_and_roots() {
    let mut random = Random(41);
    for a in values(&mut random, -60, 60) {
        assert_close("rcp", a, mufu::rcp(a, false), &((one() << POINT) / fixed(a)));
        let positive = a & 0x7fff_ffff;
        let root = (fixed(positive) << POINT).sqrt();
        assert_close("sqrt", positive, mufu::sqrt(positive, false), &root);
        assert_close("rsqrt", positive, mufu::rsqrt(positive, false), &((one() << POINT) / &root));
    }
}

#[test]
fn angles_in_turns() {
    let quarters = [0.0f32, 1.0, 0.0, -1.0];
    for quarter in -9..9i32 {
        let angle = (quarter as f32 / 4.0).to_bits();
        let at = |shift: i32| quarters[(quarter + shift).rem_euclid(4) as usize];
        assert_eq!(f32::from_bits(mufu::sin_turns(angle)), at(0), "{quarter}");
        assert_eq!(f32::from_bits(mufu::cos_turns(angle)), at(1), "{quarter}");
    }
    assert_eq!(mufu::sin_turns(0x8000_0000), 0x8000_0000);
    let half_root = 0.5f32.sqrt().to_bits();
    assert_eq!([mufu::sin_turns(0.375f32.to_bits()), mufu::cos_turns((-0.125f32).to_bits())], [half_root; 2]);
}

#[test]
fn special_values() {
    let [zero, infinity, one] = [0.0, f32::INFINITY, 1.0].map(f32::to_bits);
    let nan = 0x7fff_ffff;
    let minus = |a: u32| a | 0x8000_0000;
    for (name, f, expected) in [
        // The results for +0, -0, +inf, -inf and -1.
        (
            "rcp",
            mufu::rcp as fn(u32, bool) -> u32,
            [infinity, minus(infinity), zero, minus(zero), minus(one)],
        ),
        ("rsqrt", mufu::rsqrt, [infinity, minus(infinity), zero, nan, nan]),
        ("sqrt", mufu::sqrt, [zero, minus(zero), infinity, nan, nan]),
        ("ex2", mufu::ex2, [one, one, infinity, zero, 0.5f32.to_bits()]),
        ("lg2", mufu::lg2, [minus(infinity), minus(infinity), infinity, nan, nan]),
    ] {
        let ours = [zero, minus(zero), infinity, minus(infinity), minus(one)].map(|a| f(a, false));
        assert_eq!(ours, expected, "{name}");
        assert_eq!(f(0xffc0_1234, false), nan, "{name}");
    }
    assert_eq!([zero, minus(zero), infinity, 0xffc0_1234].map(mufu::sin), [zero, minus(zero), nan, nan]);
    assert_eq!([zero, minus(zero), infinity, 0xffc0_1234].map(mufu::cos), [one, one, nan, nan]);
    assert_eq!([infinity, minus(infinity), minus(zero)].map(mufu::tanh), [one, minus(one), minus(zero)]);
    assert_eq!(mufu::rcp(1, true), infinity, "a flushed subnormal is zero");
    assert_eq!(mufu::rcp(f32::MAX.to_bits(), true), zero, "a subnormal result is flushed");
    assert_eq!(mufu::ex2((-130f32).to_bits(), false), 0x0008_0000);
}

#[test]
fn quotients_by_reciprocals() {
    let div = |a: f32, b: f32, full, ftz| f32::from_bits(mufu::div(a.to_bits(), b.to_bits(), full, ftz));
    let (tiny, huge) = (f32::from_bits(3), f32::MAX);
    assert_eq!(div(6.0, 2.0, false, true), 3.0);
    assert_eq!(div(tiny, tiny, false, false), 1.0, "both are scaled");
    assert!(div(tiny, tiny, true, true).is_nan(), "flushed to 0 / 0");
    assert_eq!(div(huge, huge, false, true), 0.0, "the reciprocal is flushed");
    assert_eq!([div(huge, huge, true, true), div(huge, huge, true, false)], [1.0; 2]);
}

#[test]
fn double_precision_seeds() {
    let upper = |a: f64| (a.to_bits() >> 32) as u32;
    assert_eq!(mufu::rcp64h(upper(-4.0)), upper(-0.25));
    assert_eq!(mufu::rcp64h(upper(3.0)), upper(1.0 / 3.0));
    assert_eq!(mufu::rcp64h(0x8000_0001), upper(f64::NEG_INFINITY));
    assert_eq!(mufu::rsqrt64h(upper(16.0)), upper(0.25));
    assert_eq!(mufu::rsqrt64h(upper(-1.0)), 0xfff8_0000);
}

/// The upper words of the exact results, truncated: `n` is right if `n <= exact` and the next upper
/// word is greater than the exact result.
#[test]
fn double_precision_seeds_bracket_the_exact_results() {
    use num_bigint::BigUint;
    // Significand and exponent, plus 1100, of a positive normal number with this upper word.
    let decode =
        |high: u32| (BigUint::from(high & 0xf_ffff | 0x10_0000), u64::from(high >> 20) + 1100 - 1023 - 20);
    let one = |exponent: u64| BigUint::from(1u32) << exponent;
    let mut random = Random(42);
    for _ in 0..2000 {
        // Divisors below 2^1021, whose reciprocals are normal.
        let a = 0x10_0000 + (random.next() as u32) % (0x7fc0_0000 - 0x10_0000);
        let (m, e) = decode(a);
        let below = |word: u32| {
            let (n, f) = decode(word);
            (n * &m) << (e + f) <= one(2 * 1100)
        };
        let ours = mufu::rcp64h(a);
        assert!(below(ours) && !below(ours + 1), "rcp64h({a:#x}) = {ours:#x}");
        let below = |word: u32| {
            let (n, f) = decode(word);
            (&n * &n * &m) << (2 * f + e) <= one(3 * 1100)
        };
        let ours = mufu::rsqrt64h(a);
        assert!(below(ours) && !below(ours + 1), "rsqrt64h({a:#x}) = {ours:#x}");
    }
}

/// If the check lets a division pass, every value that the sequence computes is a normal number.
#[test]
fn divisions_that_pass_the_check_stay_in_range() {
    let mut random = Random(43);
    let exponent = |bits: u32| (bits >> 23 & 0xff) as i32 - 127;
    let mut passed = 0;
    for _ in 0..20_000 {
        let (a, b) = (random.next() as u32, random.next() as u32);
        if mufu::division_check(a, b) {
            continue;
        }
        passed += 1;
        let (x, y) = (f64::from(f32::from_bits(a)), f64::from(f32::from_bits(b)));
        let normal = |value: f64| value.abs() >= f32::MIN_POSITIVE.into() && value.abs() <= f32::MAX.into();
        assert!(normal(x) && normal(y) && normal(1.0 / y) && normal(x / y), "{a:#x} / {b:#x}");
        // The remainder is a multiple of the product of the last places of divisor and quotient.
        assert!(exponent(b) - 23 + (exponent(a) - exponent(b) - 1) - 23 >= -149, "{a:#x} / {b:#x}");
    }
    assert!(passed > 5000, "{passed}");
    for special in [0, 1, 0x7f80_0000, 0xffc0_0000] {
        assert!(mufu::division_check(special, 0x3f80_0000) && mufu::division_check(0x3f80_0000, special));
    }
}

/// Where PTX keeps subnormals, the scaling around the unit costs one more rounding.
#[test]
fn subnormal_operands_and_results() {
    let mut random = Random(44);
    let within = |name: &str, a: u32, ours: u32, exact: f64| {
        let error = (f64::from(f32::from_bits(ours)) - exact).abs();
        // Two units in the last place of a normal result, one unit of a subnormal result.
        let allowed = exact.abs() * 2f64.powi(-22) + f64::from(f32::from_bits(1));
        assert!(error <= allowed, "{name}({a:#x}) = {ours:#x}, not {exact:e}");
    };
    for _ in 0..2000 {
        let a = (random.next() as u32 & 0x7f_ffff).max(1);
        let x = f64::from(f32::from_bits(a));
        within("rsqrt", a, mufu::rsqrt(a, false), 1.0 / x.sqrt());
        within("sqrt", a, mufu::sqrt(a, false), x.sqrt());
        within("lg2", a, mufu::lg2(a, false), x.log2());
        if 1.0 / x < f32::MAX.into() {
            within("rcp", a, mufu::rcp(a, false), 1.0 / x);
        }
        let large = 0x7e80_0000 | (random.next() as u32 & 0x7f_ffff);
        within("rcp", large, mufu::rcp(large, false), 1.0 / f64::from(f32::from_bits(large)));
        let power = -126.0 - (random.next() % 2300) as f32 / 100.0;
        within("ex2", power.to_bits(), mufu::ex2(power.to_bits(), false), f64::from(power).exp2());
    }
}
