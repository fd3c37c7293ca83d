//! The special function unit: reciprocal, square roots, sine, cosine, base-2 exponential and logarithm,
//! hyperbolic tangent.
//!
//! In: a binary32 value as bits and, for the PTX functions, whether subnormals are flushed. Out: a binary32
//! value as bits. The hardware interpolates in tables that are not public, so results here are *not* the
//! hardware's last bits: they are computed in binary64 and rounded to nearest, which keeps them within the
//! error that PTX promises (named with each function). Comparisons with a GPU must allow twice that error.
//! The binary64 functions come from the host's mathematical library; a result that lies within its error of a
//! rounding boundary may differ by one unit between hosts.
//!
//! [`rcp`], [`rsqrt`], [`sqrt`], [`sin`], [`cos`], [`ex2`], [`lg2`], [`tanh`] and [`div`] are the
//! PTX `.approx` operations. They are implemented by the SASS `MUFU`, which treats subnormal
//! operands and results as zeros, so `MUFU` is the function with `ftz` set. For PTX without `.ftz`
//! the operand is scaled before the `MUFU` and the result after it (`FMUL a, a, 2^24; MUFU.RSQ;
//! FMUL r, r, 2^12` for a small `a`), and these functions round where that sequence rounds. `MUFU`
//! differs more in four functions: [`sin_turns`] and [`cos_turns`] take the angle as a multiple of
//! a full turn, and [`rcp64h`] and [`rsqrt64h`] give the seeds of the binary64 sequences.
//!
//! ```
//! use ptxc_semantics::mufu;
//! assert_eq!(mufu::ex2(3.0f32.to_bits(), false), 8.0f32.to_bits());
//! assert_eq!(mufu::rcp(0x8000_0000, false), f32::NEG_INFINITY.to_bits());
//! assert_eq!(mufu::sin_turns(0.25f32.to_bits()), 1.0f32.to_bits());
//! ```

use std::f64::consts::TAU;

use crate::{F32, F64, Format, Mode, Rounding, convert, float};

/// The factor that brings subnormal operands into the normal range.
pub const TWO_24: f32 = 16_777_216.0;

/// The square root of [`TWO_24`].
pub const TWO_12: f32 = 4096.0;

/// Below this, powers of two are subnormal.
pub const EX2_LEAST: f32 = -126.0;

/// `1 / 2pi`, rounded to nearest: turns per radian.
pub const TURN: f32 = std::f32::consts::FRAC_1_PI / 2.0;

/// Applies a binary64 function to a binary32 value and rounds once; every NaN is the one NaN.
fn apply(a: u32, ftz: bool, f: impl Fn(f64) -> f64) -> u32 {
    let mode = Mode::IEEE.with_ftz(ftz);
    let wide = f64::from_bits(convert::float_to_float(F32, F64, a.into(), mode));
    convert::float_to_float(F64, F32, f(wide).to_bits(), mode) as u32
}

/// The operand of a sequence: with `ftz` unchanged, otherwise multiplied by a power of two if it is
/// too small.
fn scaled(a: u32, ftz: bool, power: f32) -> (u32, bool) {
    let small = !ftz && f32::from_bits(a).abs() < f32::MIN_POSITIVE;
    (if small { multiply(a, power) } else { a }, small)
}

/// The product with a constant; subnormals are kept.
fn multiply(a: u32, power: f32) -> u32 {
    float::f32_mul(a, power.to_bits(), Mode::IEEE)
}

/// Divisors above this have subnormal reciprocals: 2^126.
pub const LARGE_DIVISOR: f32 = 1.0 / f32::MIN_POSITIVE;

/// `1 / a`: PTX `rcp.approx.f32`, relative error at most 2^-23. Zeros give infinities and infinities zeros of
/// the same sign. Without `ftz`, operands below 2^-126 are scaled by 2^24 and those above 2^126 by 2^-2, and
/// the result likewise.
pub fn rcp(a: u32, ftz: bool) -> u32 {
    let magnitude = f32::from_bits(a).abs();
    let scale = match () {
        () if ftz => 1.0,
        () if magnitude > LARGE_DIVISOR => 0.25,
        () if magnitude < f32::MIN_POSITIVE => TWO_24,
        () => 1.0,
    };
    multiply(apply(multiply(a, scale), true, |a| 1.0 / a), scale)
}

/// `a / b` by an approximate reciprocal. This is PTX `div.approx.f32`, with an error of at most 2
/// units in the last place for divisors from 2^-126 to 2^126, and `div.full.f32` (`full`), which
/// scales so that the bound holds for all divisors. Without `ftz`, divisors below 2^-126 are scaled
/// as well.
pub fn div(a: u32, b: u32, full: bool, ftz: bool) -> u32 {
    let magnitude = f32::from_bits(b).abs();
    let mode = Mode::IEEE.with_ftz(ftz);
    let scale = match () {
        () if full && magnitude > LARGE_DIVISOR => Some(0.25f32),
        () if !ftz && magnitude < f32::MIN_POSITIVE => Some(TWO_24),
        () => None,
    };
    let [a, b] = [a, b].map(|x| scale.map_or(x, |scale| float::f32_mul(x, scale.to_bits(), mode)));
    float::f32_mul(a, rcp(b, true), mode)
}

/// `1 / sqrt(a)`: PTX `rsqrt.approx.f32`, relative error at most 2^-22.9. Zeros give the infinity of the same
/// sign, `+inf` gives `+0`, other negatives give NaN. Without `ftz`, subnormals are scaled by 2^24, their
/// results by 2^12.
pub fn rsqrt(a: u32, ftz: bool) -> u32 {
    let (a, small) = scaled(a, ftz, TWO_24);
    let root = apply(a, true, |a| 1.0 / a.sqrt());
    if small { multiply(root, TWO_12) } else { root }
}

/// The square root: PTX `sqrt.approx.f32`, relative error at most 2^-23. `-0` stays, other negatives give
/// NaN. Without `ftz`, subnormals are scaled by 2^24, their results by 2^-12.
pub fn sqrt(a: u32, ftz: bool) -> u32 {
    let (a, small) = scaled(a, ftz, TWO_24);
    let root = apply(a, true, f64::sqrt);
    if small { multiply(root, 1.0 / TWO_12) } else { root }
}

/// The sine of `a` radians: PTX `sin.approx.f32`, absolute error at most 2^-20.5 in -pi to pi and growing
/// with the angle beyond it: the angle is multiplied by [`TURN`], rounded towards zero, for [`sin_turns`].
/// Infinities give NaN; zeros stay.
pub fn sin(a: u32) -> u32 {
    sin_turns(in_turns(a))
}

/// The cosine of `a` radians: PTX `cos.approx.f32`, absolute error at most 2^-20.5 in -pi to pi and
/// growing with the angle beyond it, as for [`sin`]. Infinities give NaN.
pub fn cos(a: u32) -> u32 {
    cos_turns(in_turns(a))
}

/// `2^a`: PTX `ex2.approx.f32`, relative error at most 2^-22. `-inf` gives `+0`, zeros give 1. Without `ftz`,
/// operands below -126 are halved, their results squared.
pub fn ex2(a: u32, ftz: bool) -> u32 {
    if !ftz && f32::from_bits(a) < EX2_LEAST {
        let half = apply(multiply(a, 0.5), true, f64::exp2);
        return float::f32_mul(half, half, Mode::IEEE);
    }
    apply(a, true, f64::exp2)
}

/// The logarithm to base 2: PTX `lg2.approx.f32`, absolute error at most 2^-22 for `a` in 0.5 to 2,
/// relative error at most 2^-22 elsewhere. Zeros of both signs give `-inf`, other negatives NaN.
/// Without `ftz`, subnormals are scaled by 2^24, and 24 is subtracted from their results.
pub fn lg2(a: u32, ftz: bool) -> u32 {
    let (a, small) = scaled(a, ftz, TWO_24);
    let log = apply(a, true, f64::log2);
    if small { float::f32_sub(log, 24.0f32.to_bits(), Mode::IEEE) } else { log }
}

/// The hyperbolic tangent: PTX `tanh.approx.f32`, relative error at most 2^-11. Infinities give 1 with their
/// sign; zeros stay. PTX has no `.ftz` here and keeps subnormals.
pub fn tanh(a: u32) -> u32 {
    apply(a, false, f64::tanh)
}

/// Applies a binary64 function to a value of a format and rounds once.
fn apply_half(format: Format, a: u64, ftz: bool, f: impl Fn(f64) -> f64) -> u64 {
    let a = if ftz { format.flush(a) } else { a };
    let wide = f64::from_bits(convert::float_to_float(format, F64, a, Mode::IEEE));
    let half = convert::float_to_float(F64, format, f(wide).to_bits(), Mode::IEEE);
    if ftz { format.flush(half) } else { half }
}

/// `2^a` in a 16-bit format: PTX `ex2.approx.f16`, relative error at most 2^-9.9, which keeps subnormals, and
/// `ex2.approx.ftz.bf16`, relative error at most 2^-7, which flushes operand and result. SASS `MUFU.EX2.F16`
/// and `.BF16`.
pub fn half_ex2(format: Format, a: u64, ftz: bool) -> u64 {
    apply_half(format, a, ftz, f64::exp2)
}

/// The hyperbolic tangent in a 16-bit format: PTX `tanh.approx.f16`, absolute error at most 2^-10.987, and
/// `tanh.approx.bf16`, relative error at most 2^-8; subnormals are kept. SASS `MUFU.TANH.F16` and `.BF16`.
pub fn half_tanh(format: Format, a: u64) -> u64 {
    apply_half(format, a, false, f64::tanh)
}

/// The sine of `a` full turns: SASS `MUFU.SIN`. PTX `sin.approx` becomes `FMUL.RZ t, a, 0.15915494; MUFU.SIN
/// t`.
pub fn sin_turns(a: u32) -> u32 {
    turns(a, |quarter, angle| match quarter {
        0 => angle.sin(),
        1 => angle.cos(),
        2 => -angle.sin(),
        _ => -angle.cos(),
    })
}

/// The cosine of `a` full turns: SASS `MUFU.COS`. PTX `cos.approx` becomes `FMUL.RZ t, a, 0.15915494;
/// MUFU.COS t`.
pub fn cos_turns(a: u32) -> u32 {
    turns(a, |quarter, angle| match quarter {
        0 => angle.cos(),
        1 => -angle.sin(),
        2 => -angle.cos(),
        _ => angle.sin(),
    })
}

/// Radians as turns, rounded towards zero.
fn in_turns(a: u32) -> u32 {
    float::f32_mul(a, TURN.to_bits(), Mode::new(Rounding::Zero))
}

/// Reduces an angle in turns exactly to a quarter and an angle of -45 to 45 degrees from its start, in
/// radians.
fn turns(a: u32, f: impl Fn(u32, f64) -> f64) -> u32 {
    apply(a, false, |a| {
        // Both steps are exact, so that multiples of a quarter give exactly 0 and 1. The
        // subtraction would turn a negative zero into a positive one; in the first quarter it is
        // skipped because nothing is subtracted.
        let turn = a % 1.0;
        let quarter = (turn * 4.0).round();
        let rest = if quarter == 0.0 { turn } else { turn - quarter / 4.0 };
        f(quarter as i32 as u32 & 3, rest * TAU)
    })
}

/// SASS `MUFU.RCP64H`: from the upper word of a binary64 value (the lower word counts as 0) to the upper word
/// of its reciprocal, rounded towards zero: a seed good to about 2^-20. A subnormal counts as the zero of its
/// sign; the sequences around this instruction leave such operands to a slow path.
pub fn rcp64h(high: u32) -> u32 {
    upper_word(high, |a| float::div(F64, F64.one(), a, Mode::new(Rounding::Zero)))
}

/// SASS `MUFU.RSQ64H`: [`rcp64h`] for the reciprocal of the square root.
pub fn rsqrt64h(high: u32) -> u32 {
    upper_word(high, |a| {
        let root = float::sqrt(F64, a, Mode::IEEE);
        float::div(F64, F64.one(), root, Mode::new(Rounding::Zero))
    })
}

fn upper_word(high: u32, f: impl Fn(u64) -> u64) -> u32 {
    let a = F64.flush(u64::from(high) << 32);
    (f(a) >> 32) as u32
}

/// SASS `FCHK`: whether `a / b` must take the slow path of a division in binary32. That is so if an
/// operand, the divisor's reciprocal or the quotient is not a normal number, or if a remainder
/// might not be. The hardware's limits are not known; these are safe for a Newton step and one
/// remainder.
pub fn division_check(a: u32, b: u32) -> bool {
    let exponent = |bits: u32| (bits >> 23 & 0xff) as i32 - 127;
    let (a, b) = (exponent(a), exponent(b));
    !(-102..128).contains(&a) || !(-126..126).contains(&b) || !(-124..127).contains(&(a - b))
}
