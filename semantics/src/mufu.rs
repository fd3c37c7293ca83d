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
//! [`rcp`], [`rsqrt`], [`sqrt`], [`sin`], [`cos`], [`ex2`], [`lg2`] and [`tanh`] are the PTX `.approx`
//! operations. The SASS `MUFU` behind them treats subnormal operands and results as zeros, so it is the
//! function with `ftz` set; for PTX without `.ftz`, ptxas scales around it (`FMUL a, a, 2^24; MUFU.RSQ; FMUL
//! r, r, 2^12` for a small `a`). The `MUFU` differs more where PTX is a longer sequence: [`sin_turns`] and
//! [`cos_turns`] take the angle as a multiple of a full turn, and [`rcp64h`] and [`rsqrt64h`] seed the
//! binary64 sequences.
//!
//! ```
//! use ptxc_semantics::mufu;
//! assert_eq!(mufu::ex2(3.0f32.to_bits(), false), 8.0f32.to_bits());
//! assert_eq!(mufu::rcp(0x8000_0000, false), f32::NEG_INFINITY.to_bits());
//! assert_eq!(mufu::sin_turns(0.25f32.to_bits()), 1.0f32.to_bits());
//! ```

use std::f64::consts::TAU;

use crate::{F32, F64, Mode, Rounding, convert, float};

/// Applies a binary64 function to a binary32 value and rounds once; every NaN is the one NaN.
fn apply(a: u32, ftz: bool, f: impl Fn(f64) -> f64) -> u32 {
    let mode = Mode::IEEE.with_ftz(ftz);
    let wide = f64::from_bits(convert::float_to_float(F32, F64, a.into(), mode));
    convert::float_to_float(F64, F32, f(wide).to_bits(), mode) as u32
}

/// `1 / a`: PTX `rcp.approx.f32`, relative error at most 2^-23. Zeros give infinities and infinities zeros of
/// the same sign.
pub fn rcp(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, |a| 1.0 / a)
}

/// `1 / sqrt(a)`: PTX `rsqrt.approx.f32`, relative error at most 2^-22.9. Zeros give the infinity of the same
/// sign, `+inf` gives `+0`, other negatives give NaN.
pub fn rsqrt(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, |a| 1.0 / a.sqrt())
}

/// The square root: PTX `sqrt.approx.f32`, relative error at most 2^-23. `-0` stays, other negatives give
/// NaN.
pub fn sqrt(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, f64::sqrt)
}

/// The sine of `a` radians: PTX `sin.approx.f32`, absolute error at most 2^-20.5 in -pi to pi and growing
/// with the angle beyond it (here the error stays small). Infinities give NaN; zeros stay.
pub fn sin(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, f64::sin)
}

/// The cosine of `a` radians: PTX `cos.approx.f32`, absolute error at most 2^-20.5 in -pi to pi and growing
/// with the angle beyond it (here the error stays small). Infinities give NaN.
pub fn cos(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, f64::cos)
}

/// `2^a`: PTX `ex2.approx.f32`, relative error at most 2^-22. `-inf` gives `+0`, zeros give 1.
pub fn ex2(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, f64::exp2)
}

/// The logarithm to base 2: PTX `lg2.approx.f32`, absolute error at most 2^-22 for `a` in 0.5 to 2, relative
/// error at most 2^-22 elsewhere. Zeros of both signs give `-inf`, other negatives NaN.
pub fn lg2(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, f64::log2)
}

/// The hyperbolic tangent: PTX `tanh.approx.f32`, relative error at most 2^-11. Infinities give 1 with their
/// sign; zeros stay. PTX has no `.ftz` here and keeps subnormals.
pub fn tanh(a: u32) -> u32 {
    apply(a, false, f64::tanh)
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

/// Reduces an angle in turns exactly to a quarter and an angle of -45 to 45 degrees from its start, in
/// radians.
fn turns(a: u32, f: impl Fn(u32, f64) -> f64) -> u32 {
    apply(a, false, |a| {
        // Both steps are exact, so that multiples of a quarter give exactly 0 and 1. The difference would
        // turn a negative zero into a positive one; in the first quarter there is nothing to subtract.
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
