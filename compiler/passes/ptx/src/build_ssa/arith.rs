//! Integer arithmetic: `add` to `max`, `popc`, `clz`, 24-bit products.

use ptxc_ir::{Funnel, IntCond, Op, PairFunction, Type, Value};

use super::form::{Form, Translated, Unsupported};
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::Modifier;
use crate::check::table::modifiers::Half;

pub(super) fn unary(t: &mut Translator, form: &mut Form, op: Op) -> Translated {
    form.expect_operands(2)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let value = t.emit(op, ty, &[a]);
    t.write(form.operand(0)?, value)
}

pub(super) fn binary(t: &mut Translator, form: &mut Form, signed: Op, unsigned: Op) -> Translated {
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let value = t.emit(if scalar.is_signed() { signed } else { unsigned }, ty, &[a, b]);
    t.write(form.operand(0)?, value)
}

/// A function of two 16-bit integers in each word; with `.relu`, negative results become zero.
pub(super) fn pairs(
    t: &mut Translator,
    form: &mut Form,
    signed: PairFunction,
    unsigned: PairFunction,
) -> Translated {
    form.expect_operands(3)?;
    let function = match form.ty()? {
        Scalar::S16x2 => signed,
        Scalar::U16x2 => unsigned,
        _ => return Err(Unsupported),
    };
    let a = t.read(form.operand(1)?, Scalar::B32)?;
    let b = t.read(form.operand(2)?, Scalar::B32)?;
    let mut value = t.emit(Op::Ipair(function), Type::B32, &[a, b]);
    if matches!(function, PairFunction::Smin | PairFunction::Smax) && form.take(Modifier::Relu) {
        let zero = t.constant(Type::B32, 0);
        value = t.emit(Op::Ipair(PairFunction::Smax), Type::B32, &[value, zero]);
    }
    t.write(form.operand(0)?, value)
}

/// A minimum or maximum; with `.relu`, negative results become zero.
pub(super) fn extreme(t: &mut Translator, form: &mut Form, signed: Op, unsigned: Op) -> Translated {
    if !form.take(Modifier::Relu) {
        return binary(t, form, signed, unsigned);
    }
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().filter(|_| scalar.is_signed()).ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let chosen = t.emit(signed, ty, &[a, b]);
    let zero = t.constant(ty, 0);
    let value = t.emit(Op::Smax, ty, &[chosen, zero]);
    t.write(form.operand(0)?, value)
}

/// The product of operands 1 and 2, with the part of it that the instruction wants.
pub(super) fn product(t: &mut Translator, form: &mut Form) -> Translated<(Value, Half)> {
    let scalar = form.ty()?;
    let half = form.choose::<Half>().ok_or(Unsupported)?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let signed = scalar.is_signed();
    let op = match half {
        Half::Lo => Op::Imul,
        Half::Hi if signed => Op::Smulh,
        Half::Hi => Op::Umulh,
        Half::Wide if scalar.bits() > 32 => return Err(Unsupported),
        Half::Wide if signed => Op::SmulWide,
        Half::Wide => Op::UmulWide,
    };
    Ok((t.emit(op, ty, &[a, b]), half))
}

pub(super) fn multiply(t: &mut Translator, form: &mut Form, add: bool) -> Translated {
    form.expect_operands(if add { 4 } else { 3 })?;
    let scalar = form.ty()?;
    let saturate = add && form.take(Modifier::Sat);
    let (mut value, half) = product(t, form)?;
    if add {
        let sum = if half == Half::Wide { scalar.wide().ok_or(Unsupported)? } else { scalar };
        let c = t.read(form.operand(3)?, sum)?;
        if saturate {
            let saturates = half == Half::Hi && scalar.bits() == 32 && scalar.is_signed();
            return if saturates { saturating(t, form, Op::Iadd, value, c) } else { Err(Unsupported) };
        }
        value = t.emit(Op::Iadd, sum.ir().ok_or(Unsupported)?, &[value, c]);
    }
    t.write(form.operand(0)?, value)
}

/// A sum or difference; `.sat` exists only for `.s32`.
pub(super) fn add_or_subtract(t: &mut Translator, form: &mut Form, op: Op) -> Translated {
    if !form.take(Modifier::Sat) {
        return binary(t, form, op, op);
    }
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    if scalar.bits() != 32 || !scalar.is_signed() {
        return Err(Unsupported);
    }
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    saturating(t, form, op, a, b)
}

/// `|a - b| + c`
pub(super) fn sum_of_difference(t: &mut Translator, form: &mut Form) -> Translated {
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

/// `.sat`: a signed sum that overflows has the opposite sign of `a`. It becomes the number with the
/// sign of `a` that is farthest from zero.
fn saturating(t: &mut Translator, form: &Form, op: Op, a: Value, b: Value) -> Translated {
    let ty = Type::B32;
    let sum = t.emit(op, ty, &[a, b]);
    // It overflows if the operands' signs agree (for a difference: differ) and the result's sign
    // differs from that of `a`.
    let differ = t.emit(Op::Xor, ty, &[a, b]);
    let may = if op == Op::Isub { differ } else { t.emit(Op::Not, ty, &[differ]) };
    let turned = t.emit(Op::Xor, ty, &[a, sum]);
    let over = t.emit(Op::And, ty, &[may, turned]);
    let (zero, count, greatest) = (t.constant(ty, 0), t.constant(ty, 31), t.constant(ty, 0x7fff_ffff));
    let overflows = t.emit(Op::Icmp(IntCond::Slt), ty, &[over, zero]);
    let sign = t.emit(Op::Sar, ty, &[a, count]);
    let limit = t.emit(Op::Xor, ty, &[sign, greatest]);
    let value = t.emit(Op::Select, ty, &[overflows, limit, sum]);
    t.write(form.operand(0)?, value)
}

/// Products of the low 24 bits of each factor: the low 32 or the high 32 of their 48 bits.
pub(super) fn multiply_24(t: &mut Translator, form: &mut Form, add: bool) -> Translated {
    form.expect_operands(if add { 4 } else { 3 })?;
    let scalar = form.ty()?;
    let high = match form.choose::<Half>() {
        Some(Half::Hi) => true,
        Some(Half::Lo) => false,
        Some(Half::Wide) | None => return Err(Unsupported),
    };
    let saturate = form.take(Modifier::Sat);
    let (ty, signed) = (Type::B32, scalar.is_signed());
    if scalar.bits() != 32 || (saturate && !(signed && high && add)) {
        return Err(Unsupported);
    }
    let length = t.constant(ty, 24);
    let factor = |t: &mut Translator, index| {
        let value = t.read(form.operand(index)?, scalar)?;
        Ok(t.emit(Op::Szext { signed, wrap: false }, ty, &[value, length]))
    };
    let (a, b) = (factor(t, 1)?, factor(t, 2)?);
    let product = if high {
        let wide = t.emit(if signed { Op::SmulWide } else { Op::UmulWide }, ty, &[a, b]);
        let (low, high) = t.emit_pair(Op::Unpack, Type::B64, &[wide]);
        let by = t.constant(ty, 16);
        t.emit(Op::FunnelShr(Funnel::Wrap), ty, &[low, high, by])
    } else {
        t.emit(Op::Imul, ty, &[a, b])
    };
    if !add {
        return t.write(form.operand(0)?, product);
    }
    let c = t.read(form.operand(3)?, scalar)?;
    if saturate {
        return saturating(t, form, Op::Iadd, product, c);
    }
    let value = t.emit(Op::Iadd, ty, &[product, c]);
    t.write(form.operand(0)?, value)
}
