//! Conversions between integers and floats, between float formats, to integral floats, and between integer
//! widths.
//!
//! In: source and destination type and the source's bits. Out: the destination's bits. One rounding each, in
//! the given direction; constant time. `ftz` works as in PTX `cvt`: it concerns binary32 sources and
//! destinations only.
//!
//! ```
//! use ptxc_semantics::{F16, F32, Mode, Rounding, S8, S32, convert};
//! let a = u64::from(2.5f32.to_bits());
//! assert_eq!(convert::float_to_int(F32, S32, a, Rounding::Nearest, false), 2);
//! assert_eq!(convert::float_to_float(F32, F16, a, Mode::IEEE), 0x4100);
//! assert_eq!(convert::int_to_int_sat(S32, S8, 1000), 127);
//! ```

use crate::float::relu;
use crate::int::IntType;
use crate::round::Exact;
use crate::{F32, F64, Format, Mode, Rounding};

/// The integer `a` as a float: PTX `cvt.rnd.ftype.itype`. Beyond the largest finite value (binary16 only) it
/// overflows as arithmetic does. Zero is `+0`. `mode.ftz` has nothing to flush.
pub fn int_to_float(from: IntType, to: Format, a: u64, mode: Mode) -> u64 {
    let value = from.value(a);
    let exact = Exact { negative: value < 0, exponent: 0, significand: value.unsigned_abs(), sticky: false };
    mode.output(to, exact.round(to, mode.rounding))
}

/// The result of a float-to-integer conversion of a NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum NanToInt {
    /// Zero: SASS `F2I.NTZ`.
    Zero,
    /// The top bit alone: SASS `F2I` without `.NTZ`.
    TopBit,
}

impl NanToInt {
    /// PTX's rule: zero, except that conversions from `.f64` or to 64 bits give the top bit alone.
    pub fn of_ptx(from: Format, to: IntType) -> NanToInt {
        if from == F64 || to.bits() == 64 { NanToInt::TopBit } else { NanToInt::Zero }
    }
}

/// The float `a` rounded to an integer and limited to the range of the type: PTX
/// `cvt.{rni,rzi,rmi,rpi}`. A NaN gives the result of [`NanToInt::of_ptx`]. With `ftz`, a subnormal
/// binary32 counts as zero.
pub fn float_to_int(from: Format, to: IntType, a: u64, rounding: Rounding, ftz: bool) -> u64 {
    float_to_int_nan(from, to, a, rounding, ftz, NanToInt::of_ptx(from, to))
}

/// [`float_to_int`] with the result for a NaN chosen by the caller.
pub fn float_to_int_nan(
    from: Format,
    to: IntType,
    a: u64,
    rounding: Rounding,
    ftz: bool,
    nan: NanToInt,
) -> u64 {
    let a = flush_single(from, a, ftz);
    if from.is_nan(a) {
        return match nan {
            NanToInt::Zero => 0,
            NanToInt::TopBit => 1 << (to.bits() - 1),
        };
    }
    let negative = from.is_negative(a);
    let exact = Exact::unpack(from, a);
    // 2^66 exceeds the range of every type, so the result is the same for any greater value; the
    // limit keeps the magnitude within 128 bits.
    let magnitude = match from.is_infinite(a) || exact.exponent > 66 {
        true => 1 << 66,
        false => exact.round_at(0, rounding) as i128,
    };
    to.saturate(if negative { -magnitude } else { magnitude })
}

/// The float `a` in another format. Widening is exact; narrowing rounds, overflows and underflows
/// as arithmetic does. A NaN becomes the destination's NaN. `mode.ftz` flushes a subnormal binary32
/// source or result, but no other format; `mode.sat` clamps to `[0, 1]`.
pub fn float_to_float(from: Format, to: Format, a: u64, mode: Mode) -> u64 {
    let a = flush_single(from, a, mode.ftz);
    let converted = if from.is_nan(a) {
        to.nan()
    } else if from.is_infinite(a) {
        to.infinity(from.is_negative(a))
    } else {
        Exact::unpack(from, a).round(to, mode.rounding)
    };
    mode.with_ftz(mode.ftz && to == F32).output(to, converted)
}

/// A binary32 in a 16-bit format, as in PTX `cvt` with `.relu` and `.satfinite`. With `finite`, a
/// value beyond the largest finite value, or an infinity, becomes the largest finite value with its
/// sign. `.relu` turns negative results and `-0` into `+0`. A NaN always becomes the destination's
/// NaN.
pub fn single_to_half(to: Format, a: u64, rounding: Rounding, with_relu: bool, finite: bool) -> u64 {
    let half = float_to_float(F32, to, a, Mode::new(rounding));
    let half = if finite && to.is_infinite(half) { to.largest(to.is_negative(half)) } else { half };
    if with_relu { relu(to, half) } else { half }
}

/// The float `a` rounded to an integral value of the same format: PTX `cvt.{rni,rzi,rmi,rpi}` between equal
/// formats, SASS `FRND`. The sign is kept, so that `-0.25` may become `-0`; infinities stay; a NaN becomes
/// the format's NaN.
pub fn round_to_integral(format: Format, a: u64, mode: Mode) -> u64 {
    let a = flush_single(format, a, mode.ftz);
    let exact = Exact::unpack(format, a);
    let integral = if format.is_nan(a) {
        format.nan()
    } else if format.is_infinite(a) || exact.exponent >= 0 {
        a
    } else {
        let significand = exact.round_at(0, mode.rounding);
        // An integer below 2^precision, or the power of two above it: representable, so that no second
        // rounding occurs.
        Exact { significand, exponent: 0, ..exact }.round(format, Rounding::Zero)
    };
    mode.with_ftz(mode.ftz && format == F32).output(format, integral)
}

/// The integer `a` in another width: a wider result is extended by the sign if the source type is
/// signed, otherwise by zeros; a narrower result is truncated.
pub const fn int_to_int(from: IntType, to: IntType, a: u64) -> u64 {
    to.wrap(from.value(a))
}

/// The integer `a` in another type, limited to that type's range: PTX `cvt.sat`.
pub fn int_to_int_sat(from: IntType, to: IntType, a: u64) -> u64 {
    to.saturate(from.value(a))
}

fn flush_single(format: Format, a: u64, ftz: bool) -> u64 {
    if ftz && format == F32 { format.flush(a) } else { a & format.mask() }
}
