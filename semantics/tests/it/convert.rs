//! Conversions against `rustc_apfloat`: every value of the 16-bit formats, and edges and random
//! values of the others.

use crate::oracle::{self, FORMATS, Op, Random, arithmetic, specials};
use ptxc_semantics::convert::{
    self, NanToInt, float_to_float, float_to_int, float_to_int_nan, int_to_float, round_to_integral,
};
use ptxc_semantics::{BF16, F16, F32, F64, Format, IntType, Mode, Rounding, packed};
use ptxc_semantics::{S8, S16, S32, S64, U8, U16, U32, U64};

const INTS: [IntType; 8] = [U8, S8, U16, S16, U32, S32, U64, S64];

/// All values of a 16-bit format; for a wider format the edges, values near powers of two, and
/// random ones.
fn values(format: Format, random: &mut Random) -> Vec<u64> {
    if format.bits() == 16 {
        return (0..1 << 16).collect();
    }
    let mut values = specials(format);
    for power in 0..70 {
        let base = (format.bias() as u64 - 2 + power) << format.fraction_bits();
        values.extend((base - 3..base + 3).flat_map(|a| [a, a | format.sign_bit()]));
        let half = 1 << (u64::from(format.fraction_bits()).saturating_sub(power));
        values.extend((base + half - 1..base + half + 2).flat_map(|a| [a, a | format.sign_bit()]));
    }
    values.extend((0..1500).map(|_| random.float(format)));
    values
}

#[test]
fn floats_to_integers() {
    let mut random = Random(10);
    for format in FORMATS {
        for a in values(format, &mut random) {
            let ty = INTS[random.next() as usize % INTS.len()];
            let rounding = Rounding::ALL[random.next() as usize % 4];
            let exact = oracle::to_integer(format, a, ty.bits(), ty.is_signed(), rounding);
            let ours = float_to_int_nan(format, ty, a, rounding, false, NanToInt::Zero);
            assert_eq!(ours, exact.unwrap_or(0), "{a:x} {format:?} {ty:?} {rounding:?}");
        }
    }
}

#[test]
fn nan_to_integer_depends_on_the_types() {
    for (from, to, expected) in [
        (F32, S32, 0),
        (F16, U16, 0),
        (F32, S64, 1 << 63),
        (F32, U64, 1 << 63),
        (F64, S32, 1 << 31),
        (F64, U8, 1 << 7),
    ] {
        assert_eq!(float_to_int(from, to, from.nan(), Rounding::Zero, false), expected, "{from:?} {to:?}");
    }
    assert_eq!(float_to_int(F32, U32, 1, Rounding::Up, false), 1);
    assert_eq!(float_to_int(F32, U32, 1, Rounding::Up, true), 0, "a flushed subnormal is zero");
}

#[test]
fn integers_to_floats() {
    let mut random = Random(11);
    for from in INTS {
        let mut operands = vec![0, 1, from.mask(), from.mask() >> 1, (from.mask() >> 1) + 1];
        for _ in 0..600 {
            let width = random.next() % 64;
            // Long runs of equal bits give ties and carries into the exponent.
            let (run, noise) = (u64::MAX >> width, 1u64 << (random.next() % 64));
            operands.extend([random.next() >> width, run ^ noise, run.wrapping_add(noise)]);
        }
        for a in operands {
            let to = FORMATS[random.next() as usize % 4];
            let rounding = Rounding::ALL[random.next() as usize % 4];
            let value = match (from.bits(), from.is_signed()) {
                (8, true) => i128::from(a as i8),
                (8, false) => i128::from(a as u8),
                (16, true) => i128::from(a as i16),
                (16, false) => i128::from(a as u16),
                (32, true) => i128::from(a as i32),
                (32, false) => i128::from(a as u32),
                (_, true) => i128::from(a as i64),
                (_, false) => i128::from(a),
            };
            let (ours, exact) =
                (int_to_float(from, to, a, Mode::new(rounding)), oracle::from_integer(to, value, rounding));
            assert_eq!(ours, exact, "{value} as {from:?} to {to:?}, {rounding:?}");
        }
    }
}

#[test]
fn floats_to_floats() {
    let mut random = Random(12);
    for from in FORMATS {
        for a in values(from, &mut random) {
            let to = FORMATS[random.next() as usize % 4];
            let rounding = Rounding::ALL[random.next() as usize % 4];
            let ours = float_to_float(from, to, a, Mode::new(rounding));
            let exact = oracle::convert(from, to, a, rounding);
            assert_eq!(ours, exact, "{a:x} {from:?} to {to:?}, {rounding:?}");
        }
    }
}

#[test]
fn singles_to_halves_without_negatives_and_infinities() {
    let mut random = Random(14);
    for to in [BF16, F16] {
        for a in values(F32, &mut random) {
            for rounding in [Rounding::Nearest, Rounding::Zero] {
                let rounded = oracle::convert(F32, to, a, rounding);
                let number = oracle::order(to, rounded, rounded).is_some();
                let negative = rounded >> 15 == 1;
                let largest = to.infinity(false) - 1;
                let limited = match rounded & 0x7fff > largest {
                    true if number => (rounded & 0x8000) | largest,
                    _ => rounded,
                };
                let ours = |relu, finite| convert::single_to_half(to, a, rounding, relu, finite);
                assert_eq!(ours(false, false), rounded, "{a:x} {to:?}");
                assert_eq!(ours(false, true), limited, "{a:x} {to:?}");
                assert_eq!(ours(true, false), if negative && number { 0 } else { rounded }, "{a:x} {to:?}");
                assert_eq!(ours(true, true), if negative && number { 0 } else { limited }, "{a:x} {to:?}");
            }
        }
        let pair = packed::of_singles(to, 0x3f80_0000, 0xff80_0000, Rounding::Nearest, false, true);
        assert_eq!(pair, packed::join(to.one() as u16, to.largest(true) as u16));
        assert_eq!(convert::single_to_half(to, 0xffc0_0000, Rounding::Nearest, true, true), to.nan());
        assert_eq!(convert::single_to_half(to, 0x8000_0000, Rounding::Nearest, true, true), 0);
    }
}

#[test]
fn flushing_concerns_single_precision_alone() {
    let ftz = Mode::IEEE.with_ftz(true);
    let tiny_single = 0x0008_0000;
    assert_eq!(float_to_float(F32, F64, tiny_single, ftz), 0);
    assert_eq!(float_to_float(F64, F32, 2f64.powi(-130).to_bits(), ftz), 0);
    assert_eq!(float_to_float(F32, F16, 2f32.powi(-24).to_bits().into(), ftz), 1);
    assert_eq!(float_to_float(F16, F32, 1, ftz), 2f32.powi(-24).to_bits().into());
    assert_eq!(round_to_integral(F32, tiny_single, Mode::new(Rounding::Up).with_ftz(true)), 0);
    assert_eq!(float_to_float(F64, F32, 2f64.to_bits(), Mode::IEEE.with_sat(true)), F32.one());
}

#[test]
fn integral_values() {
    let mut random = Random(13);
    for format in FORMATS {
        for a in values(format, &mut random) {
            let mode = Mode::new(Rounding::ALL[random.next() as usize % 4]);
            let exact = arithmetic(format, Op::Integral, [a, 0, 0], mode);
            assert_eq!(round_to_integral(format, a, mode), exact, "{a:x} {format:?} {mode:?}");
        }
    }
}

#[test]
fn integers_to_integers() {
    for a in 0..=255u8 {
        let bits = u64::from(a);
        assert_eq!(convert::int_to_int(S8, S64, bits), i64::from(a as i8) as u64);
        assert_eq!(convert::int_to_int(U8, S16, bits), bits);
        assert_eq!(convert::int_to_int_sat(S8, U32, bits), (a as i8).max(0) as u64);
        assert_eq!(convert::int_to_int_sat(U8, S8, bits), u64::from(a.min(127)));
    }
    assert_eq!(convert::int_to_int(U64, U8, 0x1234), 0x34);
    assert_eq!(convert::int_to_int_sat(S64, S16, i64::MIN as u64), 0x8000);
    assert_eq!(convert::int_to_int_sat(U64, S64, u64::MAX), i64::MAX as u64);
}

/// Exactly those values are flushed that the reference calls subnormal.
#[test]
fn subnormals_are_those_of_the_reference() {
    use rustc_apfloat::Float;
    for a in 0..1u64 << 16 {
        let subnormal = rustc_apfloat::ieee::Half::from_bits(a.into()).is_denormal();
        assert_eq!(F16.is_subnormal(a), subnormal, "{a:x}");
        assert_eq!(F16.flush(a), if subnormal { a & 0x8000 } else { a }, "{a:x}");
        let subnormal = rustc_apfloat::ieee::BFloat::from_bits(a.into()).is_denormal();
        assert_eq!(BF16.is_subnormal(a), subnormal, "{a:x}");
    }
}
