//! Logic, shifts, comparisons and selections.

use ptxc_ir::{FloatCond, IntCond, Op, Type, Value};
use ptxc_syntax::ast::{Operand, OperandKind};

use super::form::{Form, Translated, Unsupported};
use super::modifiers::{float_condition, integer_condition};
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::modifiers;

pub(super) fn bitwise(t: &mut Translator, form: &mut Form, op: Op) -> Translated {
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let value = t.emit(op, ty, &[a, b]);
    t.write(form.operand(0)?, value)
}

pub(super) fn complement(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let value = t.emit(Op::Not, ty, &[a]);
    t.write(form.operand(0)?, value)
}

/// `cnot`: 1 for zero, 0 for other values.
pub(super) fn is_zero(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let (zero, one) = (t.constant(ty, 0), t.constant(ty, 1));
    let condition = t.emit(Op::Icmp(IntCond::Eq), ty, &[a, zero]);
    let value = t.emit(Op::Select, ty, &[condition, one, zero]);
    t.write(form.operand(0)?, value)
}

/// Counts have 32 bits for every type; a count of the width or more is legal in PTX and in the IR.
pub(super) fn shift(t: &mut Translator, form: &mut Form, signed: Op, unsigned: Op) -> Translated {
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let count = t.read(form.operand(2)?, Scalar::U32)?;
    let value = t.emit(if scalar.is_signed() { signed } else { unsigned }, ty, &[a, count]);
    t.write(form.operand(0)?, value)
}

pub(super) fn funnel(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(4)?;
    let limit = form.choose::<modifiers::Limit>().ok_or(Unsupported)?.into();
    let op = match form.choose::<modifiers::Direction>().ok_or(Unsupported)? {
        modifiers::Direction::L => Op::FunnelShl(limit),
        modifiers::Direction::R => Op::FunnelShr(limit),
    };
    if form.ty()? != Scalar::B32 {
        return Err(Unsupported);
    }
    let low = t.read(form.operand(1)?, Scalar::B32)?;
    let high = t.read(form.operand(2)?, Scalar::B32)?;
    let count = t.read(form.operand(3)?, Scalar::U32)?;
    let value = t.emit(op, Type::B32, &[low, high, count]);
    t.write(form.operand(0)?, value)
}

/// Takes the comparison of floats from the modifiers.
fn take_float_condition(form: &mut Form) -> Translated<FloatCond> {
    form.choose::<modifiers::Comparison>().and_then(float_condition).ok_or(Unsupported)
}

/// Takes the comparison from the modifiers and compares `a` with `b`.
fn compare(
    t: &mut Translator,
    form: &mut Form,
    scalar: Scalar,
    a: &Operand,
    b: &Operand,
) -> Translated<Value> {
    let ty = scalar.ir().ok_or(Unsupported)?;
    let op = if scalar.is_float() {
        let condition = take_float_condition(form)?;
        // Numbers of 64 bits are never flushed.
        let ftz = form.flushes() && scalar.bits() < 64;
        Op::Fcmp { cond: condition, ftz }
    } else if scalar.is_int() {
        let comparison = form.choose::<modifiers::Comparison>().ok_or(Unsupported)?;
        Op::Icmp(integer_condition(comparison, scalar).ok_or(Unsupported)?)
    } else {
        return Err(Unsupported);
    };
    if scalar.is_pair() {
        return Err(Unsupported);
    }
    let a = t.read(a, scalar)?;
    let b = t.read(b, scalar)?;
    Ok(t.emit(op, ty, &[a, b]))
}

/// `setp.lt.and.s32 p|q, a, b, c`: `p = (a < b) & c`, `q = !(a < b) & c`.
pub(super) fn set_predicate(t: &mut Translator, form: &mut Form) -> Translated {
    let join = form.choose::<modifiers::Join>().map(Op::from);
    form.expect_operands(if join.is_some() { 4 } else { 3 })?;
    let scalar = form.ty()?;
    if scalar.is_pair() {
        return set_two_predicates(t, form, scalar, join);
    }
    let holds = compare(t, form, scalar, form.operand(1)?, form.operand(2)?)?;
    let other = match join {
        Some(_) => Some(t.read(form.operand(3)?, Scalar::Pred)?),
        None => None,
    };
    let combine = |t: &mut Translator, value: Value| match (join, other) {
        (Some(op), Some(other)) => t.emit(op, Type::Pred, &[value, other]),
        _ => value,
    };
    match &form.operand(0)?.kind {
        OperandKind::Pair(pair) => {
            let first = combine(t, holds);
            let fails = t.emit(Op::Not, Type::Pred, &[holds]);
            let second = combine(t, fails);
            t.write(&pair.0, first)?;
            t.write(&pair.1, second)
        }
        _ => {
            let value = combine(t, holds);
            t.write(form.operand(0)?, value)
        }
    }
}

/// `setp.lt.and.f16x2 p|q, a, b, c`: `p` from the low halves, `q` from the high ones; without `q`,
/// only `p`.
fn set_two_predicates(t: &mut Translator, form: &mut Form, scalar: Scalar, join: Option<Op>) -> Translated {
    let ty = scalar.ir().ok_or(Unsupported)?;
    let condition = take_float_condition(form)?;
    let op = Op::FcmpPair { cond: condition, ftz: form.flushes() };
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let (mut low, mut high) = t.emit_pair(op, ty, &[a, b]);
    if let Some(op) = join {
        let other = t.read(form.operand(3)?, Scalar::Pred)?;
        low = t.emit(op, Type::Pred, &[low, other]);
        high = t.emit(op, Type::Pred, &[high, other]);
    }
    match &form.operand(0)?.kind {
        OperandKind::Pair(pair) => {
            t.write(&pair.0, low)?;
            t.write(&pair.1, high)
        }
        _ => t.write(form.operand(0)?, low),
    }
}

/// `set.lt.u32.f32`: all ones, or 1.0, where the comparison holds.
pub(super) fn set(t: &mut Translator, form: &mut Form) -> Translated {
    let join = form.choose::<modifiers::Join>().map(Op::from);
    form.expect_operands(if join.is_some() { 4 } else { 3 })?;
    let &[result, scalar] = form.types else { return Err(Unsupported) };
    if scalar.is_pair() {
        return set_halves(t, form, result, scalar, join);
    }
    let mut holds = compare(t, form, scalar, form.operand(1)?, form.operand(2)?)?;
    if let Some(op) = join {
        let other = t.read(form.operand(3)?, Scalar::Pred)?;
        holds = t.emit(op, Type::Pred, &[holds, other]);
    }
    let ty = result.ir().ok_or(Unsupported)?;
    let yes = match ty.float_format() {
        Some(format) => format.one(),
        None if matches!(ty, Type::B16 | Type::B32) => u64::MAX,
        None => return Err(Unsupported),
    };
    let (yes, no) = (t.constant(ty, yes), t.constant(ty, 0));
    let value = t.emit(Op::Select, ty, &[holds, yes, no]);
    t.write(form.operand(0)?, value)
}

/// `set.lt.and.f16x2.f16x2 d, a, b, c`: each half of `d` is 1.0, or all ones, where the comparison
/// holds.
fn set_halves(
    t: &mut Translator,
    form: &mut Form,
    result: Scalar,
    scalar: Scalar,
    join: Option<Op>,
) -> Translated {
    let ty = scalar.ir().ok_or(Unsupported)?;
    let ones = result.is_int();
    if result.bits() != 32 || !(ones || result == scalar) {
        return Err(Unsupported);
    }
    let condition = take_float_condition(form)?;
    let ftz = form.flushes();
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let mut value = t.emit(Op::Fset { cond: condition, ftz, ones }, ty, &[a, b]);
    if let Some(join) = join {
        let other = t.read(form.operand(3)?, Scalar::Pred)?;
        let format = ty.pair_format().ok_or(Unsupported)?;
        let yes = if ones { 0xffff } else { format.one() };
        let (yes, no) = (t.constant(ty, yes << 16 | yes), t.constant(ty, 0));
        // The values or operations for both halves, if the predicate holds and if it fails.
        let (holds, fails) = match join {
            Op::And => (value, no),
            Op::Or => (yes, value),
            _ => (t.emit(Op::Fset { cond: condition.negate(), ftz, ones }, ty, &[a, b]), value),
        };
        value = t.emit(Op::Select, ty, &[other, holds, fails]);
    }
    t.write(form.operand(0)?, value)
}

pub(super) fn select(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(4)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let condition = t.read(form.operand(3)?, Scalar::Pred)?;
    let value = t.emit(Op::Select, ty, &[condition, a, b]);
    t.write(form.operand(0)?, value)
}

/// `slct.u32.s32 d, a, b, c`: `c >= 0 ? a : b`; a NaN selects `b`.
pub(super) fn select_by_sign(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(4)?;
    let &[scalar, sign] = form.types else { return Err(Unsupported) };
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let c = t.read(form.operand(3)?, sign)?;
    let (op, sign) = match sign {
        Scalar::S32 => (Op::Icmp(IntCond::Sge), Type::B32),
        Scalar::F32 => (Op::Fcmp { cond: FloatCond::Ge, ftz: form.flushes() }, Type::F32),
        _ => return Err(Unsupported),
    };
    let zero = t.constant(sign, 0);
    let condition = t.emit(op, sign, &[c, zero]);
    let value = t.emit(Op::Select, ty, &[condition, a, b]);
    t.write(form.operand(0)?, value)
}
