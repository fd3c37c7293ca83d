//! Floating-point arithmetic: add, subtract, multiply, fused multiply-add, divide, square root, minimum,
//! maximum, sign operations and comparisons.
//!
//! In: a [`Format`], operands as bits, a [`Mode`]. Out: bits. Every operation computes exactly and rounds
//! once; a NaN operand or an invalid operation gives the format's one NaN, whatever the payloads were. Each
//! function takes constant time. Round-to-nearest in binary32 and binary64 uses the host's arithmetic, which
//! is the same function.
//!
//! ```
//! use ptxc_semantics::{F32, Mode, Rounding, float};
//! let (one, tiny) = (1.0f32.to_bits().into(), 1e-20f32.to_bits().into());
//! let up = float::add(F32, one, tiny, Mode::new(Rounding::Up));
//! assert_eq!(up, u64::from(1.0f32.to_bits()) + 1);
//! ```

use crate::round::Exact;
use crate::{BF16, F16, F32, F64, Format, Mode, Rounding};

/// The host's round-to-nearest result of an operation, for the two formats that the host has. The NaN that
/// the host chooses is not the GPU's, so its payload must be replaced.
#[inline]
fn host(
    format: Format,
    operands: [u64; 3],
    single: impl Fn([f32; 3]) -> f32,
    double: impl Fn([f64; 3]) -> f64,
) -> Option<u64> {
    let bits = match format {
        F32 => u64::from(single(operands.map(|a| f32::from_bits(a as u32))).to_bits()),
        F64 => double(operands.map(f64::from_bits)).to_bits(),
        _ => return None,
    };
    Some(if format.is_nan(bits) { format.nan() } else { bits })
}

/// `a + b`. Opposite infinities give NaN; an exact zero sum of opposite signs is `+0`, or `-0` when rounding
/// down.
#[inline]
pub fn add(format: Format, a: u64, b: u64, mode: Mode) -> u64 {
    let (a, b) = (mode.input(format, a), mode.input(format, b));
    let nearest = mode.rounding == Rounding::Nearest;
    let fast = if nearest { host(format, [a, b, 0], |[a, b, _]| a + b, |[a, b, _]| a + b) } else { None };
    mode.output(format, fast.unwrap_or_else(|| add_exactly(format, a, b, mode.rounding)))
}

/// `a - b`: [`add`] with the sign of `b` changed.
#[inline]
pub fn sub(format: Format, a: u64, b: u64, mode: Mode) -> u64 {
    add(format, a, neg(format, b), mode)
}

/// `a * b`. Zero times infinity gives NaN.
#[inline]
pub fn mul(format: Format, a: u64, b: u64, mode: Mode) -> u64 {
    let (a, b) = (mode.input(format, a), mode.input(format, b));
    let nearest = mode.rounding == Rounding::Nearest;
    let fast = if nearest { host(format, [a, b, 0], |[a, b, _]| a * b, |[a, b, _]| a * b) } else { None };
    mode.output(format, fast.unwrap_or_else(|| mul_exactly(format, a, b, 0, mode.rounding)))
}

/// `a * b * 2^scale` with one rounding.
pub fn mul_scaled(format: Format, a: u64, b: u64, scale: i32, mode: Mode) -> u64 {
    let (a, b) = (mode.input(format, a), mode.input(format, b));
    mode.output(format, mul_exactly(format, a, b, scale, mode.rounding))
}

/// `a * b + c` with one rounding. Zero times infinity gives NaN, even if `c` is a NaN or an
/// infinity. An infinite product plus the opposite infinity also gives NaN.
#[inline]
pub fn fma(format: Format, a: u64, b: u64, c: u64, mode: Mode) -> u64 {
    let [a, b, c] = [a, b, c].map(|operand| mode.input(format, operand));
    let fast = match mode.rounding {
        Rounding::Nearest => host(format, [a, b, c], fma_single, |[a, b, c]| a.mul_add(b, c)),
        _ => None,
    };
    mode.output(format, fast.unwrap_or_else(|| fma_exactly(format, a, b, c, mode.rounding)))
}

/// `a * b + c`, rounded once to nearest, or `+0` if any of the operands is the NaN that fills
/// elements of a tensor outside of its bounds, a half of ones: PTX `fma.rn.oob`. Other NaNs
/// propagate.
pub fn fma_oob(format: Format, a: u64, b: u64, c: u64) -> u64 {
    let is_outside = |operand: u64| operand & format.mask() == format.mask();
    match [a, b, c].into_iter().any(is_outside) {
        true => 0,
        false => fma(format, a, b, c, Mode::IEEE),
    }
}

/// `a * b + c` in binary32 by arithmetic in binary64, where the product is exact and the sum is
/// rounded to odd: if the sum is not exact, its last bit is set. Rounding that sum again, to 24
/// bits, gives the same result as one rounding of the exact sum (Boldo and Melquiond, "Emulation of
/// a FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on
/// Computers 57(4), 2008). The error of the sum is exact by Knuth's TwoSum. Unlike the host's
/// function, this one is not a library call on processors without the instruction.
#[inline]
fn fma_single([a, b, c]: [f32; 3]) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let rest = sum - product;
    let error = (product - (sum - rest)) + (c - rest);
    // Towards the exact sum, unless the neighbour is already odd. The error of an infinity or NaN
    // is a NaN.
    let inexact = error.abs() > 0.0;
    let away = (error > 0.0) == (sum > 0.0);
    let bits = sum.to_bits();
    let step = if away { 1 } else { u64::MAX };
    let odd = if inexact && bits & 1 == 0 { bits.wrapping_add(step) } else { bits };
    f64::from_bits(odd) as f32
}

/// `a / b`, correctly rounded: PTX `div.{rn,rz,rm,rp}`, and with `a` = 1 `rcp.{rn,rz,rm,rp}`. `0/0` and
/// `inf/inf` give NaN, any other division by zero the infinity of the quotient's sign.
pub fn div(format: Format, a: u64, b: u64, mode: Mode) -> u64 {
    let (a, b) = (mode.input(format, a), mode.input(format, b));
    let negative = format.is_negative(a) != format.is_negative(b);
    let undefined = format.is_zero(a) && format.is_zero(b) || format.is_infinite(a) && format.is_infinite(b);
    let quotient = if format.is_nan(a) || format.is_nan(b) || undefined {
        format.nan()
    } else if format.is_infinite(a) || format.is_zero(b) {
        format.infinity(negative)
    } else if format.is_infinite(b) || format.is_zero(a) {
        format.zero(negative)
    } else {
        Exact::unpack(format, a).div(Exact::unpack(format, b)).round(format, mode.rounding)
    };
    mode.output(format, quotient)
}

/// The square root, correctly rounded: PTX `sqrt.{rn,rz,rm,rp}`. `-0` stays `-0`; any other negative gives
/// NaN.
pub fn sqrt(format: Format, a: u64, mode: Mode) -> u64 {
    let a = mode.input(format, a);
    let root = if format.is_nan(a) || (format.is_negative(a) && !format.is_zero(a)) {
        format.nan()
    } else if format.is_zero(a) || format.is_infinite(a) {
        a
    } else {
        Exact::unpack(format, a).sqrt().round(format, mode.rounding)
    };
    mode.output(format, root)
}

/// The reciprocal of the square root, correctly rounded. Rounded to nearest, this is the value that
/// PTX `rsqrt.approx.f64` approximates. A zero gives the infinity of its sign, any other negative
/// value gives NaN.
pub fn rsqrt(format: Format, a: u64, mode: Mode) -> u64 {
    let a = mode.input(format, a);
    let root = if format.is_zero(a) {
        format.infinity(format.is_negative(a))
    } else if format.is_nan(a) || format.is_negative(a) {
        format.nan()
    } else if format.is_infinite(a) {
        format.zero(false)
    } else {
        Exact::unpack(format, a).rsqrt().round(format, mode.rounding)
    };
    mode.output(format, root)
}

fn add_exactly(format: Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    if format.is_nan(a) || format.is_nan(b) {
        return format.nan();
    }
    match (format.is_infinite(a), format.is_infinite(b)) {
        (true, true) if a != b => format.nan(),
        (true, _) => a,
        (_, true) => b,
        _ => Exact::unpack(format, a).add(Exact::unpack(format, b), rounding).round(format, rounding),
    }
}

fn mul_exactly(format: Format, a: u64, b: u64, scale: i32, rounding: Rounding) -> u64 {
    if format.is_finite(a) && format.is_finite(b) {
        let product = Exact::unpack(format, a).mul(Exact::unpack(format, b));
        return Exact { exponent: product.exponent + scale, ..product }.round(format, rounding);
    }
    special_product(format, a, b)
}

/// The product if an operand is a NaN or infinite.
fn special_product(format: Format, a: u64, b: u64) -> u64 {
    if format.is_nan(a) || format.is_nan(b) || format.is_zero(a) || format.is_zero(b) {
        return format.nan();
    }
    format.infinity(format.is_negative(a) != format.is_negative(b))
}

fn fma_exactly(format: Format, a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    if !format.is_finite(a) || !format.is_finite(b) {
        return add_exactly(format, special_product(format, a, b), c, rounding);
    }
    if format.is_nan(c) {
        return format.nan();
    }
    if format.is_infinite(c) {
        return c;
    }
    let product = Exact::unpack(format, a).mul(Exact::unpack(format, b));
    product.add(Exact::unpack(format, c), rounding).round(format, rounding)
}

/// `a` with the sign changed, also for zeros and NaNs (PTX `neg`, the SASS operand modifier `-`).
#[inline]
pub fn neg(format: Format, a: u64) -> u64 {
    (a ^ format.sign_bit()) & format.mask()
}

/// `a` with the sign cleared, also for zeros and NaNs (PTX `abs`, the SASS operand modifier `|a|`).
#[inline]
pub fn abs(format: Format, a: u64) -> u64 {
    format.magnitude(a)
}

/// `b` with the sign of `a`: PTX `copysign`.
#[inline]
pub fn copysign(format: Format, a: u64, b: u64) -> u64 {
    (a & format.sign_bit()) | format.magnitude(b)
}

/// `a` with a negative value or `-0` replaced by `+0`: PTX `.relu`. A NaN becomes the format's NaN.
#[inline]
pub fn relu(format: Format, a: u64) -> u64 {
    if format.is_nan(a) {
        format.nan()
    } else if format.is_negative(a) {
        0
    } else {
        a & format.mask()
    }
}

/// How a minimum or maximum treats NaN operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum NanRule {
    /// One NaN: the other operand. Two: the format's NaN. PTX `min`/`max` without `.NaN`.
    #[default]
    Number,
    /// Any NaN: the format's NaN. PTX `min.NaN`/`max.NaN`.
    Propagate,
}

/// The smaller operand; `-0` is smaller than `+0`. With `ftz`, subnormal operands are compared and
/// returned as zeros.
#[inline]
pub fn min(format: Format, a: u64, b: u64, nan: NanRule, ftz: bool) -> u64 {
    select_extreme(format, a, b, nan, ftz, |a, b| a < b)
}

/// The larger operand; `+0` is larger than `-0`. With `ftz`, subnormal operands are compared and
/// returned as zeros.
#[inline]
pub fn max(format: Format, a: u64, b: u64, nan: NanRule, ftz: bool) -> u64 {
    select_extreme(format, a, b, nan, ftz, |a, b| a > b)
}

#[inline]
fn select_extreme(
    format: Format,
    a: u64,
    b: u64,
    nan: NanRule,
    ftz: bool,
    wins: impl Fn(i64, i64) -> bool,
) -> u64 {
    let mode = Mode::IEEE.with_ftz(ftz);
    let (a, b) = (mode.input(format, a), mode.input(format, b));
    match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => format.nan(),
        (true, _) | (_, true) if nan == NanRule::Propagate => format.nan(),
        (true, false) => b,
        (false, true) => a,
        _ if wins(total_order(format, a), total_order(format, b)) => a,
        _ => b,
    }
}

/// [`min`] of the magnitudes, with the sign of the product: PTX `min.xorsign.abs`. A NaN result has no sign.
pub fn min_xorsign(format: Format, a: u64, b: u64, nan: NanRule, ftz: bool) -> u64 {
    with_sign_of_product(format, [a, b], min(format, abs(format, a), abs(format, b), nan, ftz))
}

/// [`max`] of the magnitudes, with the sign of the product: PTX `max.xorsign.abs`. A NaN result has no sign.
pub fn max_xorsign(format: Format, a: u64, b: u64, nan: NanRule, ftz: bool) -> u64 {
    with_sign_of_product(format, [a, b], max(format, abs(format, a), abs(format, b), nan, ftz))
}

fn with_sign_of_product(format: Format, [a, b]: [u64; 2], magnitude: u64) -> u64 {
    if format.is_nan(magnitude) { format.nan() } else { magnitude | ((a ^ b) & format.sign_bit()) }
}

/// A key that orders all values except NaNs, with `-0` below `+0`.
#[inline]
fn total_order(format: Format, a: u64) -> i64 {
    let magnitude = format.magnitude(a) as i64;
    if format.is_negative(a) { -1 - magnitude } else { magnitude }
}

/// The comparisons of PTX `setp` on floats. If an operand is a NaN, the ordered comparisons are
/// false and those with `u` (unordered) are true.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FloatCmp {
    /// `a == b`
    Eq,
    /// `a != b`, neither a NaN
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
    /// `a == b`, or a NaN
    Equ,
    /// `a != b`, or a NaN
    Neu,
    /// `a < b`, or a NaN
    Ltu,
    /// `a <= b`, or a NaN
    Leu,
    /// `a > b`, or a NaN
    Gtu,
    /// `a >= b`, or a NaN
    Geu,
    /// Neither operand is a NaN
    Num,
    /// Some operand is a NaN
    Nan,
}

/// Whether `a cmp b` holds. Zeros of both signs are equal; with `ftz`, subnormal operands count as zeros.
#[inline]
pub fn compare(format: Format, cmp: FloatCmp, a: u64, b: u64, ftz: bool) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let mode = Mode::IEEE.with_ftz(ftz);
    let (a, b) = (mode.input(format, a), mode.input(format, b));
    let order = if format.is_nan(a) || format.is_nan(b) {
        None
    } else if format.is_zero(a) && format.is_zero(b) {
        Some(Equal)
    } else {
        Some(total_order(format, a).cmp(&total_order(format, b)))
    };
    match (cmp, order) {
        (FloatCmp::Num, order) => order.is_some(),
        (FloatCmp::Nan, order) => order.is_none(),
        (FloatCmp::Eq | FloatCmp::Equ, Some(order)) => order == Equal,
        (FloatCmp::Ne | FloatCmp::Neu, Some(order)) => order != Equal,
        (FloatCmp::Lt | FloatCmp::Ltu, Some(order)) => order == Less,
        (FloatCmp::Le | FloatCmp::Leu, Some(order)) => order != Greater,
        (FloatCmp::Gt | FloatCmp::Gtu, Some(order)) => order == Greater,
        (FloatCmp::Ge | FloatCmp::Geu, Some(order)) => order != Less,
        (FloatCmp::Eq | FloatCmp::Ne | FloatCmp::Lt | FloatCmp::Le | FloatCmp::Gt | FloatCmp::Ge, None) => {
            false
        }
        (_, None) => true,
    }
}

/// Defines the arithmetic of one format on the integer type of its width.
macro_rules! typed {
    ($format:ident, $bits:ty, $name:literal:
     $add:ident $sub:ident $mul:ident $fma:ident $min:ident $max:ident $cmp:ident) => {
        #[doc = concat!("[`add`] of ", $name, " bits.")]
        pub fn $add(a: $bits, b: $bits, mode: Mode) -> $bits {
            add($format, a.into(), b.into(), mode) as $bits
        }
        #[doc = concat!("[`sub`] of ", $name, " bits.")]
        pub fn $sub(a: $bits, b: $bits, mode: Mode) -> $bits {
            sub($format, a.into(), b.into(), mode) as $bits
        }
        #[doc = concat!("[`mul`] of ", $name, " bits.")]
        pub fn $mul(a: $bits, b: $bits, mode: Mode) -> $bits {
            mul($format, a.into(), b.into(), mode) as $bits
        }
        #[doc = concat!("[`fma`] of ", $name, " bits.")]
        pub fn $fma(a: $bits, b: $bits, c: $bits, mode: Mode) -> $bits {
            fma($format, a.into(), b.into(), c.into(), mode) as $bits
        }
        #[doc = concat!("[`min`] of ", $name, " bits.")]
        pub fn $min(a: $bits, b: $bits, nan: NanRule, ftz: bool) -> $bits {
            min($format, a.into(), b.into(), nan, ftz) as $bits
        }
        #[doc = concat!("[`max`] of ", $name, " bits.")]
        pub fn $max(a: $bits, b: $bits, nan: NanRule, ftz: bool) -> $bits {
            max($format, a.into(), b.into(), nan, ftz) as $bits
        }
        #[doc = concat!("[`compare`] of ", $name, " bits.")]
        pub fn $cmp(cmp: FloatCmp, a: $bits, b: $bits, ftz: bool) -> bool {
            compare($format, cmp, a.into(), b.into(), ftz)
        }
    };
}

typed!(F16, u16, "binary16": f16_add f16_sub f16_mul f16_fma f16_min f16_max f16_compare);
typed!(BF16, u16, "bfloat16": bf16_add bf16_sub bf16_mul bf16_fma bf16_min bf16_max bf16_compare);
typed!(F32, u32, "binary32": f32_add f32_sub f32_mul f32_fma f32_min f32_max f32_compare);
typed!(F64, u64, "binary64": f64_add f64_sub f64_mul f64_fma f64_min f64_max f64_compare);
