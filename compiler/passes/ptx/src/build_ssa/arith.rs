//! Integer arithmetic: `add` to `max`, `popc`, `clz`, 24-bit products.

use ptxc_ir::{Funnel, IntCond, Op, Type, Value};

use super::form::{Form, Translated, Unsupported};
use super::scalar::Scalar;
use super::translator::Translator;

/// Which part of a product an instruction gives.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Half {
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
        "add" => add_or_subtract(t, form, Op::Iadd),
        "sub" => add_or_subtract(t, form, Op::Isub),
        "div" => binary(t, form, Op::Sdiv, Op::Udiv),
        "rem" => binary(t, form, Op::Srem, Op::Urem),
        "min" => extreme(t, form, Op::Smin, Op::Umin),
        "max" => extreme(t, form, Op::Smax, Op::Umax),
        "mul" => multiply(t, form, false),
        "mad" => multiply(t, form, true),
        "sad" => sum_of_difference(t, form),
        "abs" => unary(t, form, Op::Iabs),
        "neg" => unary(t, form, Op::Ineg),
        "popc" => unary(t, form, Op::Popc),
        "clz" => unary(t, form, Op::Clz),
        "brev" => unary(t, form, Op::Brev),
        "vabsdiff4" => byte_differences(t, form),
        "mul24" => multiply_24(t, form, false),
        "mad24" => multiply_24(t, form, true),
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

/// A minimum or maximum; with `.relu` zero instead of a negative number.
fn extreme(t: &mut Translator, form: &mut Form, signed: Op, unsigned: Op) -> Translated {
    if !form.take("relu") {
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

/// The product of operands 1 and 2, and which part of it that is.
pub(super) fn product(t: &mut Translator, form: &mut Form) -> Translated<(Value, Half)> {
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
    Ok((t.emit(op, ty, &[a, b]), half))
}

fn multiply(t: &mut Translator, form: &mut Form, add: bool) -> Translated {
    form.expect_operands(if add { 4 } else { 3 })?;
    let scalar = form.ty()?;
    let saturate = add && form.take("sat");
    let (mut value, half) = product(t, form)?;
    if add {
        let bits = if half == Half::Wide { 2 * scalar.bits } else { scalar.bits };
        let sum = Scalar { bits, ..scalar };
        let c = t.read(form.operand(3)?, sum)?;
        if saturate {
            let saturates = half == Half::High && scalar.bits == 32 && scalar.is_signed();
            return if saturates { saturating(t, form, Op::Iadd, value, c) } else { Err(Unsupported) };
        }
        value = t.emit(Op::Iadd, sum.ir().ok_or(Unsupported)?, &[value, c]);
    }
    t.write(form.operand(0)?, value)
}

/// A sum or difference; `.sat` exists for 32 bits with sign alone.
fn add_or_subtract(t: &mut Translator, form: &mut Form, op: Op) -> Translated {
    if !form.take("sat") {
        return binary(t, form, op, op);
    }
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    if scalar.bits != 32 || !scalar.is_signed() {
        return Err(Unsupported);
    }
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    saturating(t, form, op, a, b)
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

/// `|a - b|` of each byte without sign: side by side, or with `.add` all added to `c`.
fn byte_differences(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(4)?;
    if form.types[..] != [Scalar::U32; 3] {
        return Err(Unsupported);
    }
    let ty = Type::B32;
    let adds = form.take("add");
    let a = t.read(form.operand(1)?, Scalar::U32)?;
    let b = t.read(form.operand(2)?, Scalar::U32)?;
    let mask = t.constant(ty, 0xff);
    let mut value = if adds { Some(t.read(form.operand(3)?, Scalar::U32)?) } else { None };
    for place in [0, 8, 16, 24] {
        let place = t.constant(ty, place);
        let [x, y] = [a, b].map(|word| {
            let low = t.emit(Op::Shr, ty, &[word, place]);
            t.emit(Op::And, ty, &[low, mask])
        });
        let greater = t.emit(Op::Umax, ty, &[x, y]);
        let lesser = t.emit(Op::Umin, ty, &[x, y]);
        let difference = t.emit(Op::Isub, ty, &[greater, lesser]);
        let term = if adds { difference } else { t.emit(Op::Shl, ty, &[difference, place]) };
        value = Some(match value {
            Some(sum) => t.emit(if adds { Op::Iadd } else { Op::Or }, ty, &[sum, term]),
            None => term,
        });
    }
    t.write(form.operand(0)?, value.ok_or(Unsupported)?)
}

/// `.sat`: a signed sum that overflows has the sign of `a` wrong, and becomes the number of that sign that is
/// farthest from zero.
fn saturating(t: &mut Translator, form: &Form, op: Op, a: Value, b: Value) -> Translated {
    let ty = Type::B32;
    let sum = t.emit(op, ty, &[a, b]);
    // It overflows where the operands' signs agree (of a difference: differ) and the result's differs.
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
fn multiply_24(t: &mut Translator, form: &mut Form, add: bool) -> Translated {
    form.expect_operands(if add { 4 } else { 3 })?;
    let scalar = form.ty()?;
    let high = form.choose(&[("hi", true), ("lo", false)]).ok_or(Unsupported)?;
    let saturate = form.take("sat");
    let (ty, signed) = (Type::B32, scalar.is_signed());
    if scalar.bits != 32 || (saturate && !(signed && high && add)) {
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
