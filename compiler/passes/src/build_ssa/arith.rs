//! Integer arithmetic: `add` to `max`, `popc`, `clz`, bit fields.

use ptxc_ir::{IntCond, Op, Type, Value};

use super::form::{Form, Translated, Unsupported};
use super::scalar::Scalar;
use super::translator::{Translator, integer};

/// Which part of a product an instruction gives.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Low,
    High,
    Wide,
}

const HALVES: &[(&str, Half)] = &[("lo", Half::Low), ("hi", Half::High), ("wide", Half::Wide)];

pub(super) fn translate(t: &mut Translator, form: &mut Form) -> Option<Translated> {
    if form.types.iter().any(|ty| !ty.is_int()) {
        return None;
    }
    Some(match form.mnemonic {
        "add" => binary(t, form, Op::Iadd, Op::Iadd),
        "sub" => binary(t, form, Op::Isub, Op::Isub),
        "div" => binary(t, form, Op::Sdiv, Op::Udiv),
        "rem" => binary(t, form, Op::Srem, Op::Urem),
        "min" => binary(t, form, Op::Smin, Op::Umin),
        "max" => binary(t, form, Op::Smax, Op::Umax),
        "mul" => multiply(t, form, false),
        "mad" => multiply(t, form, true),
        "sad" => sum_of_difference(t, form),
        "abs" => unary(t, form, Op::Iabs),
        "neg" => unary(t, form, Op::Ineg),
        "popc" => unary(t, form, Op::Popc),
        "clz" => unary(t, form, Op::Clz),
        "brev" => unary(t, form, Op::Brev),
        "bfe" => extract_field(t, form),
        "bfi" => insert_field(t, form),
        _ => return None,
    })
}

fn unary(t: &mut Translator, form: &mut Form, op: Op) -> Translated {
    form.expect_operands(2)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let value = t.emit(op, ty, &[a]);
    t.write(form.operand(0)?, value)
}

fn binary(t: &mut Translator, form: &mut Form, signed: Op, unsigned: Op) -> Translated {
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let value = t.emit(if scalar.is_signed() { signed } else { unsigned }, ty, &[a, b]);
    t.write(form.operand(0)?, value)
}

fn multiply(t: &mut Translator, form: &mut Form, add: bool) -> Translated {
    form.expect_operands(if add { 4 } else { 3 })?;
    let scalar = form.ty()?;
    let half = form.choose(HALVES).ok_or(Unsupported)?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let signed = scalar.is_signed();
    let op = match half {
        Half::Low => Op::Imul,
        Half::High if signed => Op::Smulh,
        Half::High => Op::Umulh,
        Half::Wide if scalar.bits > 32 => return Err(Unsupported),
        Half::Wide if signed => Op::SmulWide,
        Half::Wide => Op::UmulWide,
    };
    let mut value = t.emit(op, ty, &[a, b]);
    if add {
        let bits = if half == Half::Wide { 2 * scalar.bits } else { scalar.bits };
        let sum = Scalar { bits, ..scalar };
        let c = t.read(form.operand(3)?, sum)?;
        value = t.emit(Op::Iadd, sum.ir().ok_or(Unsupported)?, &[value, c]);
    }
    t.write(form.operand(0)?, value)
}

/// `|a - b| + c`
fn sum_of_difference(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(4)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let c = t.read(form.operand(3)?, scalar)?;
    let (max, min) = if scalar.is_signed() { (Op::Smax, Op::Smin) } else { (Op::Umax, Op::Umin) };
    let greater = t.emit(max, ty, &[a, b]);
    let lesser = t.emit(min, ty, &[a, b]);
    let difference = t.emit(Op::Isub, ty, &[greater, lesser]);
    let value = t.emit(Op::Iadd, ty, &[difference, c]);
    t.write(form.operand(0)?, value)
}

/// Position and length of a bit field, where both are constants and the field lies within the word.
fn field(form: &Form, position: usize, bits: u32) -> Translated<(u64, u64)> {
    let value = |index| integer(form.operand(index)?.as_immediate().ok_or(Unsupported)?);
    let (start, length) = (value(position)? & 0xff, value(position + 1)? & 0xff);
    if length == 0 || start + length > u64::from(bits) { Err(Unsupported) } else { Ok((start, length)) }
}

fn count(t: &mut Translator, n: u64) -> Value {
    t.constant(Type::B32, n)
}

/// A constant field is two shifts.
fn extract_field(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(4)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let (start, length) = field(form, 2, scalar.bits)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let width = u64::from(scalar.bits);
    let left = count(t, width - start - length);
    let right = count(t, width - length);
    let shifted = t.emit(Op::Shl, ty, &[a, left]);
    let op = if scalar.is_signed() { Op::Sar } else { Op::Shr };
    let value = t.emit(op, ty, &[shifted, right]);
    t.write(form.operand(0)?, value)
}

/// `(b & !mask) | (a << start & mask)`
fn insert_field(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(5)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let (start, length) = field(form, 3, scalar.bits)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let mask = (u64::MAX >> (64 - length)) << start;
    let (inside, outside) = (t.constant(ty, mask), t.constant(ty, !mask));
    let start = count(t, start);
    let shifted = t.emit(Op::Shl, ty, &[a, start]);
    let field = t.emit(Op::And, ty, &[shifted, inside]);
    let rest = t.emit(Op::And, ty, &[b, outside]);
    let value = t.emit(Op::Or, ty, &[field, rest]);
    t.write(form.operand(0)?, value)
}

/// The integer comparison of a PTX name on a type.
pub(super) fn condition(name: &str, scalar: Scalar) -> Option<IntCond> {
    let signed = scalar.is_signed();
    let pick = |if_signed, if_unsigned| Some(if signed { if_signed } else { if_unsigned });
    match name {
        "eq" => Some(IntCond::Eq),
        "ne" => Some(IntCond::Ne),
        _ if !scalar.is_number() => None,
        "lt" => pick(IntCond::Slt, IntCond::Ult),
        "le" => pick(IntCond::Sle, IntCond::Ule),
        "gt" => pick(IntCond::Sgt, IntCond::Ugt),
        "ge" => pick(IntCond::Sge, IntCond::Uge),
        "lo" if !signed => Some(IntCond::Ult),
        "ls" if !signed => Some(IntCond::Ule),
        "hi" if !signed => Some(IntCond::Ugt),
        "hs" if !signed => Some(IntCond::Uge),
        _ => None,
    }
}
