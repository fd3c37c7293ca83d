//! Floating-point arithmetic and the approximations of special functions.
//!
//! `add`, `sub` and `mul` without a rounding modifier round to nearest and may be fused later
//! ([`FloatMode::contract`]); with a rounding modifier they are never fused.

use ptxc_ir::{Approx, FloatMode, IntCond, Op, Rounding, Type, Value};

use super::form::{Form, Translated, Unsupported};
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::Modifier;
use crate::check::table::modifiers::{self, NumberClass};

pub(super) fn arithmetic(
    t: &mut Translator,
    form: &mut Form,
    op: fn(FloatMode) -> Op,
    sources: usize,
) -> Translated {
    let round = form.choose::<modifiers::Rounding>().map(Rounding::from);
    let mode = FloatMode {
        round: round.unwrap_or(Rounding::Nearest),
        ftz: form.flushes(),
        sat: form.take(Modifier::Sat),
        contract: round.is_none() && sources == 2,
    };
    compute(t, form, op(mode), sources)
}

/// With `.relu` the result is the greater of the sum and zero; a NaN stays a NaN. With `.oob` the sum is
/// zero if an operand is outside of the bounds of a tensor.
pub(super) fn multiply_add(t: &mut Translator, form: &mut Form) -> Translated {
    let outside = form.take(Modifier::Oob);
    let relu = form.take(Modifier::Relu);
    if !relu && !outside {
        return arithmetic(t, form, Op::Ffma, 3);
    }
    let round = form.choose::<modifiers::Rounding>().ok_or(Unsupported)?.into();
    let op = match outside {
        true if round == Rounding::Nearest => Op::FfmaOob,
        true => return Err(Unsupported),
        false => Op::Ffma(FloatMode { round, ftz: form.flushes(), ..FloatMode::RN }),
    };
    if !relu {
        return compute(t, form, op, 3);
    }
    form.expect_operands(4)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let mut args = smallvec::SmallVec::<[Value; 3]>::new();
    for index in 1..=3 {
        args.push(t.read(form.operand(index)?, scalar)?);
    }
    let sum = t.emit(op, ty, &args);
    let zero = t.constant(ty, 0);
    let value = t.emit(Op::Fmax { ftz: false, nan: true, xorsign: false }, ty, &[sum, zero]);
    t.write(form.operand(0)?, value)
}

pub(super) fn simple(t: &mut Translator, form: &mut Form, op: fn(bool) -> Op, sources: usize) -> Translated {
    let ftz = form.flushes();
    compute(t, form, op(ftz), sources)
}

pub(super) fn extreme(t: &mut Translator, form: &mut Form, op: fn(bool, bool, bool) -> Op) -> Translated {
    let (ftz, nan) = (form.flushes(), form.take(Modifier::NaN));
    // Each of the two modifiers needs the other.
    let xorsign = form.take(Modifier::Xorsign) && form.take(Modifier::Abs);
    if xorsign && form.ty()?.ir() == Some(Type::F64) {
        return Err(Unsupported);
    }
    compute(t, form, op(ftz, nan, xorsign), 2)
}

/// The rounding mode of an exact operation, if the instruction has one. Without any modifier, as
/// before PTX 1.4, double precision rounds to nearest.
fn exact(form: &mut Form) -> Option<FloatMode> {
    match form.choose::<modifiers::Rounding>() {
        Some(round) => Some(FloatMode { round: round.into(), ftz: form.flushes(), ..FloatMode::RN }),
        None => (form.ty() == Ok(Scalar::F64) && form.is_done()).then_some(FloatMode::RN),
    }
}

pub(super) fn divide(t: &mut Translator, form: &mut Form) -> Translated {
    if let Some(mode) = exact(form) {
        return compute(t, form, Op::Fdiv(mode), 2);
    }
    let full = form.take(Modifier::Full);
    // Before PTX 1.4 a quotient without any modifier is approximate and flushes.
    let ftz = !(full || form.take(Modifier::Approx)) | form.flushes();
    compute(t, form, Op::FdivApprox { full, ftz }, 2)
}

/// A reciprocal is a quotient with dividend 1.
pub(super) fn reciprocal(t: &mut Translator, form: &mut Form) -> Translated {
    let Some(mode) = exact(form) else { return approximate(t, form, Approx::Rcp) };
    form.expect_operands(2)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let one = t.constant(ty, ty.float_format().ok_or(Unsupported)?.one());
    let value = t.emit(Op::Fdiv(mode), ty, &[one, a]);
    t.write(form.operand(0)?, value)
}

pub(super) fn square_root(t: &mut Translator, form: &mut Form) -> Translated {
    match exact(form) {
        Some(mode) => compute(t, form, Op::Fsqrt(mode), 1),
        None => approximate(t, form, Approx::Sqrt),
    }
}

/// The hardware's approximations: all functions in single precision; two in double, where the
/// reciprocal has to flush; two in halves.
pub(super) fn approximate(t: &mut Translator, form: &mut Form, function: Approx) -> Translated {
    let scalar = form.ty()?;
    // Before PTX 1.4 the modifier is omitted, and single precision flushes.
    let flushes = form.flushes();
    let ftz = if form.take(Modifier::Approx) { flushes } else { scalar == Scalar::F32 };
    match scalar.ir() {
        Some(Type::F32) => {}
        Some(Type::F64) if function == Approx::Rsq || (function == Approx::Rcp && ftz) => {}
        Some(ty) if scalar.bits() <= 32 && matches!(function, Approx::Ex2 | Approx::Tanh) => {
            // Exponentials flush in `bf16`, which PTX spells out, but not in `f16`; hyperbolic
            // tangents never flush.
            if ftz != (function == Approx::Ex2 && scalar.is_brain()) {
                return Err(Unsupported);
            }
            if scalar.is_pair() {
                return approximate_halves(t, form, Op::Fapprox { function, ftz }, ty);
            }
        }
        _ => return Err(Unsupported),
    }
    compute(t, form, Op::Fapprox { function, ftz }, 1)
}

/// The hardware approximates one half at a time.
fn approximate_halves(t: &mut Translator, form: &Form, op: Op, ty: Type) -> Translated {
    form.expect_operands(2)?;
    let scalar = form.ty()?;
    let half = if scalar.is_brain() { Type::BF16 } else { Type::F16 };
    let value = t.read(form.operand(1)?, scalar)?;
    let (low, high) = t.emit_pair(Op::Unpack, ty, &[value]);
    let halves = [low, high].map(|bits| {
        let number = t.emit(Op::Bitcast, half, &[bits]);
        let result = t.emit(op, half, &[number]);
        t.emit(Op::Bitcast, Type::B16, &[result])
    });
    let value = t.emit(Op::Pack, ty, &halves);
    t.write(form.operand(0)?, value)
}

/// The bits of a float operand as an integer, with the integer type.
fn bits(t: &mut Translator, form: &Form, index: usize, scalar: Scalar) -> Translated<(Value, Type)> {
    let value = t.read(form.operand(index)?, scalar)?;
    let ty = Type::int(scalar.bits()).ok_or(Unsupported)?;
    Ok((t.emit(Op::Bitcast, ty, &[value]), ty))
}

/// The sign of the first operand with the rest of the second.
pub(super) fn copy_sign(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    let format = scalar.ir().and_then(|ty| ty.float_format()).ok_or(Unsupported)?;
    let (a, ty) = bits(t, form, 1, scalar)?;
    let (b, _) = bits(t, form, 2, scalar)?;
    let (sign, rest) = (t.constant(ty, format.sign_bit()), t.constant(ty, format.mask() ^ format.sign_bit()));
    let a = t.emit(Op::And, ty, &[a, sign]);
    let b = t.emit(Op::And, ty, &[b, rest]);
    let joined = t.emit(Op::Or, ty, &[a, b]);
    let value = t.emit(Op::Bitcast, scalar.ir().ok_or(Unsupported)?, &[joined]);
    t.write(form.operand(0)?, value)
}

/// The classes are ranges of the magnitude, read as an integer.
pub(super) fn test(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let scalar = form.ty()?;
    let class = form.choose::<NumberClass>().ok_or(Unsupported)?;
    let format = scalar.ir().and_then(|ty| ty.float_format()).ok_or(Unsupported)?;
    let (value, ty) = bits(t, form, 1, scalar)?;
    let rest = t.constant(ty, format.mask() ^ format.sign_bit());
    let magnitude = t.emit(Op::And, ty, &[value, rest]);
    let infinity = format.infinity(false);
    // The least normal number: the lowest bit of the exponent.
    let normal = infinity & infinity.wrapping_neg();
    let compare = |t: &mut Translator, cond, magnitude, bound| {
        let bound = t.constant(ty, bound);
        t.emit(Op::Icmp(cond), ty, &[magnitude, bound])
    };
    // Membership in a range [low, high) is one comparison of the magnitude less `low`.
    let range = |t: &mut Translator, low: u64, high: u64| {
        let low_bits = t.constant(ty, low);
        let above = t.emit(Op::Isub, ty, &[magnitude, low_bits]);
        compare(t, IntCond::Ult, above, high - low)
    };
    let holds = match class {
        NumberClass::Finite => compare(t, IntCond::Ult, magnitude, infinity),
        NumberClass::Infinite => compare(t, IntCond::Eq, magnitude, infinity),
        NumberClass::Number => compare(t, IntCond::Ule, magnitude, infinity),
        NumberClass::Notanumber => compare(t, IntCond::Ugt, magnitude, infinity),
        // Zeros count as normal numbers (PTX ISA, `testp`).
        NumberClass::Normal => {
            let is_normal = range(t, normal, infinity);
            let is_zero = compare(t, IntCond::Eq, magnitude, 0);
            t.emit(Op::Or, Type::Pred, &[is_normal, is_zero])
        }
        NumberClass::Subnormal => range(t, 1, normal),
    };
    t.write(form.operand(0)?, holds)
}

fn compute(t: &mut Translator, form: &mut Form, op: Op, sources: usize) -> Translated {
    form.expect_operands(1 + sources)?;
    let scalar: Scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let mut args = smallvec::SmallVec::<[_; 3]>::new();
    for index in 1..=sources {
        args.push(t.read(form.operand(index)?, scalar)?);
    }
    let value = t.emit(op, ty, &args);
    t.write(form.operand(0)?, value)
}
