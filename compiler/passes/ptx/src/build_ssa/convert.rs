//! Conversions: `cvt` between numbers, `cvta` between address spaces.

use ptxc_ir::{ByteFormat, FloatCond, FloatMode, NarrowInt, Op, Rounding, Type, Value};

use super::form::{Form, Translated, Unsupported};
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::{Modifier, modifiers};

pub(super) fn convert(t: &mut Translator, form: &mut Form) -> Translated {
    let &[to, from] = form.types else { return Err(Unsupported) };
    if to == Scalar::Tf32 {
        return to_tf32(t, form, from);
    }
    if to.is_byte_pair() {
        return to_bytes(t, form, to, from);
    }
    if from.is_byte_pair() {
        return of_bytes(t, form, to, from);
    }
    if to.is_pair() && form.operands.len() == 3 {
        return pack_halves(t, form, to, from);
    }
    form.expect_operands(2)?;
    let value = match (to.is_float(), from.is_float()) {
        (false, false) => integer_to_integer(t, form, to, from)?,
        (true, false) => integer_to_float(t, form, to, from)?,
        (false, true) => float_to_integer(t, form, to, from)?,
        (true, true) => float_to_float(t, form, to, from)?,
    };
    // A result narrower than its register is extended as its type says.
    t.write_extended(form.operand(0)?, value, to.is_signed())
}

/// An integer source; 8 bits are extended to 32.
fn integer(t: &mut Translator, form: &Form, from: Scalar) -> Translated<Value> {
    if !from.is_int() || from.bits() > 64 {
        return Err(Unsupported);
    }
    if from.bits() > 8 {
        return t.read(form.operand(1)?, from);
    }
    let value = t.read_extended(form.operand(1)?, from.in_register())?;
    let value = t.extend(value, Type::B32, false)?;
    Ok(byte(t, value, from.is_signed()))
}

/// The low byte of a word, extended.
fn byte(t: &mut Translator, value: Value, signed: bool) -> Value {
    if signed {
        let count = t.constant(Type::B32, 24);
        let high = t.emit(Op::Shl, Type::B32, &[value, count]);
        t.emit(Op::Sar, Type::B32, &[high, count])
    } else {
        let mask = t.constant(Type::B32, 0xff);
        t.emit(Op::And, Type::B32, &[value, mask])
    }
}

/// The low bits of an integer of 16 to 64 bits as an integer of another type; 8 bits are extended
/// to 32.
fn resize(t: &mut Translator, value: Value, to: Scalar, signed: bool) -> Translated<Value> {
    if to.bits() == 8 {
        let word = t.extend(value, Type::B32, signed)?;
        return Ok(byte(t, word, to.is_signed()));
    }
    let ty = to.ir().ok_or(Unsupported)?;
    t.extend(value, ty, signed)
}

fn integer_to_integer(t: &mut Translator, form: &mut Form, to: Scalar, from: Scalar) -> Translated<Value> {
    if to.bits().max(from.bits()) > 64 {
        return Err(Unsupported);
    }
    let mut value = integer(t, form, from)?;
    if form.take(Modifier::Sat) {
        value = clamp(t, value, to, from.is_signed());
    }
    let value = resize(t, value, to, from.is_signed())?;
    fit(t, form, value, to)
}

/// A byte computed in 32 bits, cut to a 16-bit destination.
fn fit(t: &mut Translator, form: &Form, value: Value, to: Scalar) -> Translated<Value> {
    match t.destination_type(form.operand(0)?)? {
        Some(ty) if to.bits() == 8 && ty.bits() < 32 => t.convert(value, ty),
        _ => Ok(value),
    }
}

/// Limits an integer to the range of a type, if it can exceed that range.
fn clamp(t: &mut Translator, value: Value, to: Scalar, signed: bool) -> Value {
    let ty = t.ty(value);
    let bits = ty.bits();
    let (least, greatest): (i128, i128) = match to.is_signed() {
        true => (-(1 << (to.bits() - 1)), (1 << (to.bits() - 1)) - 1),
        false => (0, (1 << to.bits()) - 1),
    };
    let (own_least, own_greatest): (i128, i128) = match signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    };
    let (max, min) = if signed { (Op::Smax, Op::Smin) } else { (Op::Umax, Op::Umin) };
    let mut value = value;
    if own_least < least {
        let limit = t.constant(ty, least as u64);
        value = t.emit(max, ty, &[value, limit]);
    }
    if own_greatest > greatest {
        let limit = t.constant(ty, greatest as u64);
        value = t.emit(min, ty, &[value, limit]);
    }
    value
}

fn integer_to_float(t: &mut Translator, form: &mut Form, to: Scalar, from: Scalar) -> Translated<Value> {
    let round = form.choose::<modifiers::Rounding>().ok_or(Unsupported)?.into();
    if to.is_pair() || !from.is_number() {
        return Err(Unsupported);
    }
    let value = integer(t, form, from)?;
    let op = if from.is_signed() { Op::SintToFloat(round) } else { Op::UintToFloat(round) };
    let ty = to.ir().ok_or(Unsupported)?;
    // As a float of single precision, an integer is never subnormal.
    let flushes = form.flushes() && ty != Type::F32;
    let saturates = form.take(Modifier::Sat);
    if flushes || (saturates && !matches!(ty, Type::F32 | Type::F16 | Type::F64)) {
        return Err(Unsupported);
    }
    let value = t.emit(op, ty, &[value]);
    Ok(match saturates {
        true if ty == Type::F64 => between_zero_and_one(t, value),
        true => adjusted(t, value, false, true),
        false => value,
    })
}

/// Conversions to integers saturate; those to fewer than 32 bits saturate a second time.
fn float_to_integer(t: &mut Translator, form: &mut Form, to: Scalar, from: Scalar) -> Translated<Value> {
    let round = form.choose::<modifiers::IntegralRounding>().ok_or(Unsupported)?.into();
    let ftz = form.flushes();
    // Every such conversion saturates already.
    form.take(Modifier::Sat);
    if from.is_pair() || !to.is_number() {
        return Err(Unsupported);
    }
    let value = t.read(form.operand(1)?, from)?;
    let op = if to.is_signed() { Op::FloatToSint { round, ftz } } else { Op::FloatToUint { round, ftz } };
    let ty = if to.bits() < 32 { Type::B32 } else { to.ir().ok_or(Unsupported)? };
    let value = t.emit(op, ty, &[value]);
    if to.bits() >= 32 {
        return Ok(value);
    }
    let value = clamp(t, value, to, to.is_signed());
    let value = resize(t, value, to, to.is_signed())?;
    fit(t, form, value, to)
}

fn float_to_float(t: &mut Translator, form: &mut Form, to: Scalar, from: Scalar) -> Translated<Value> {
    let ty = to.ir().ok_or(Unsupported)?;
    if to.is_pair() || from.is_pair() {
        return Err(Unsupported);
    }
    let integral = form.choose::<modifiers::IntegralRounding>().map(Rounding::from);
    let round = form.choose::<modifiers::Rounding>().map(Rounding::from);
    let (ftz, sat) = (form.flushes(), form.take(Modifier::Sat));
    let mut value = t.read(form.operand(1)?, from)?;
    if to == from {
        if let Some(round) = integral {
            value = t.emit(Op::RoundToIntegral { round, ftz }, ty, &[value]);
        }
        if ty == Type::F64 && sat {
            value = between_zero_and_one(t, value);
        } else if sat || (ftz && integral.is_none()) {
            value = adjusted(t, value, ftz, sat);
        }
        return Ok(value);
    }
    let narrower = to.bits() < from.bits() || (to.bits() == 16 && from.bits() == 16);
    if integral.is_some() || (narrower && round.is_none()) {
        return Err(Unsupported);
    }
    // A wider float has every value, so `cvt.rz.f32.bf16` rounds nothing.
    let round = round.filter(|_| narrower).unwrap_or(Rounding::Nearest);
    if let Some(op) = limited(form, round) {
        return if ftz || sat || from.bits() != 32 { Err(Unsupported) } else { Ok(t.emit(op, ty, &[value])) };
    }
    if ty == Type::F16 && sat {
        // The result is clamped as a half. Both limits are halves, so rounding before the clamp
        // changes nothing.
        let half = t.emit(Op::FloatToFloat(FloatMode { round, ftz, ..FloatMode::RN }), ty, &[value]);
        return Ok(adjusted(t, half, false, true));
    }
    let mode = FloatMode { round, ftz, sat, contract: false };
    Ok(t.emit(Op::FloatToFloat(mode), ty, &[value]))
}

/// The conversion to a half with `.relu` or `.satfinite`, if one of them is written.
fn limited(form: &mut Form, round: Rounding) -> Option<Op> {
    let (relu, finite) = (form.take(Modifier::Relu), form.take(Modifier::Satfinite));
    (relu || finite).then_some(Op::FloatToHalf { round, relu, finite })
}

/// `cvt.rn.f16x2.f32 d, a, b`: two numbers rounded to halves, `a` the upper one.
fn pack_halves(t: &mut Translator, form: &mut Form, to: Scalar, from: Scalar) -> Translated {
    if from.bits() != 32 || from.is_pair() {
        return Err(Unsupported);
    }
    let round = form.choose::<modifiers::Rounding>().ok_or(Unsupported)?.into();
    let ty = to.ir().ok_or(Unsupported)?;
    let op =
        Op::FloatsToHalves { round, relu: form.take(Modifier::Relu), finite: form.take(Modifier::Satfinite) };
    let high = t.read(form.operand(1)?, from)?;
    let low = t.read(form.operand(2)?, from)?;
    let value = t.emit(op, ty, &[low, high]);
    t.write(form.operand(0)?, value)
}

/// `cvt.tf32.f32`. Only rounding ties away from zero takes several operations, on integers: half of
/// the least bit that stays is added to the magnitude of a finite number, and the lower bits are
/// cleared. A number beyond the range carries into the exponent and becomes an infinity.
fn to_tf32(t: &mut Translator, form: &mut Form, from: Scalar) -> Translated {
    form.expect_operands(2)?;
    if from != Scalar::F32 {
        return Err(Unsupported);
    }
    let value = t.read(form.operand(1)?, from)?;
    if !form.take(Modifier::Rna) {
        let round = form.choose::<modifiers::Rounding>().ok_or(Unsupported)?.into();
        if !matches!(round, Rounding::Nearest | Rounding::Zero) {
            return Err(Unsupported);
        }
        let op = Op::FloatToTf32 { round, relu: form.take(Modifier::Relu) };
        let value = t.emit(op, Type::B32, &[value]);
        return t.write(form.operand(0)?, value);
    }
    let infinity = t.constant(Type::F32, ptxc_semantics::F32.infinity(false));
    let exceeds = |t: &mut Translator, value, cond| {
        let magnitude = t.emit(Op::Fabs { ftz: false }, Type::F32, &[value]);
        t.emit(Op::Fcmp { cond, ftz: false }, Type::F32, &[magnitude, infinity])
    };
    let is_special = exceeds(t, value, FloatCond::Geu);
    let bits = t.convert(value, Type::B32)?;
    let half = t.constant(Type::B32, 0x1000);
    let sum = t.emit(Op::Iadd, Type::B32, &[bits, half]);
    let sum = t.emit(Op::Select, Type::B32, &[is_special, bits, sum]);
    let kept = t.constant(Type::B32, 0xffff_e000);
    let mut result = t.emit(Op::And, Type::B32, &[sum, kept]);
    if form.take(Modifier::Satfinite) {
        let value = t.convert(result, Type::F32)?;
        let is_infinite = exceeds(t, value, FloatCond::Eq);
        // The number before an infinity.
        let largest = t.emit(Op::Iadd, Type::B32, &[result, kept]);
        result = t.emit(Op::Select, Type::B32, &[is_infinite, largest, result]);
    }
    t.write(form.operand(0)?, result)
}

/// The format of both bytes of a type.
fn byte_format(scalar: Scalar) -> Translated<ByteFormat> {
    match scalar {
        Scalar::E4m3x2 => Ok(ByteFormat::E4m3),
        Scalar::E5m2x2 => Ok(ByteFormat::E5m2),
        _ => Err(Unsupported),
    }
}

/// `.rn`, and whether `.relu` follows.
fn nearest(form: &mut Form) -> Translated<bool> {
    match form.choose::<modifiers::Rounding>().map(Rounding::from) {
        Some(Rounding::Nearest) => Ok(form.take(Modifier::Relu)),
        _ => Err(Unsupported),
    }
}

/// `cvt.rn.satfinite.{e4m3x2,e5m2x2}` of two numbers in single precision, the first for the upper
/// byte, or of two halves.
fn to_bytes(t: &mut Translator, form: &mut Form, to: Scalar, from: Scalar) -> Translated {
    let (format, relu) = (byte_format(to)?, nearest(form)?);
    if !form.take(Modifier::Satfinite) {
        return Err(Unsupported);
    }
    let bytes = match from {
        Scalar::F32 => {
            form.expect_operands(3)?;
            let high = t.read(form.operand(1)?, from)?;
            let low = t.read(form.operand(2)?, from)?;
            t.emit(Op::FloatsToBytes { format, relu }, Type::B32, &[low, high])
        }
        Scalar::F16x2 => {
            form.expect_operands(2)?;
            let halves = t.read(form.operand(1)?, from)?;
            t.emit(Op::HalvesToBytes { format, relu }, Type::B32, &[halves])
        }
        _ => return Err(Unsupported),
    };
    let value = t.convert(bytes, Type::B16)?;
    t.write(form.operand(0)?, value)
}

/// `cvt.rn.f16x2.{e4m3x2,e5m2x2}`.
fn of_bytes(t: &mut Translator, form: &mut Form, to: Scalar, from: Scalar) -> Translated {
    form.expect_operands(2)?;
    if to != Scalar::F16x2 {
        return Err(Unsupported);
    }
    let (format, relu) = (byte_format(from)?, nearest(form)?);
    let bytes = t.read(form.operand(1)?, Scalar::B16)?;
    let word = t.extend(bytes, Type::B32, false)?;
    let value = t.emit(Op::BytesToHalves { format, relu }, Type::F16x2, &[word]);
    t.write(form.operand(0)?, value)
}

/// `cvt.pack.sat`: two integers, the first above the second, and above both a part of a third.
pub(super) fn pack_integers(t: &mut Translator, form: &mut Form) -> Translated {
    // No register has types of two bits, so these are plain modifiers.
    let (is_u2, is_s2) = (form.take(Modifier::U2), form.take(Modifier::S2));
    let to = match *form.types {
        [Scalar::U16, Scalar::S32] => NarrowInt::U16,
        [Scalar::S16, Scalar::S32] => NarrowInt::S16,
        [Scalar::U8, Scalar::S32, Scalar::B32] => NarrowInt::U8,
        [Scalar::S8, Scalar::S32, Scalar::B32] => NarrowInt::S8,
        [Scalar::U4, Scalar::S32, Scalar::B32] => NarrowInt::U4,
        [Scalar::S4, Scalar::S32, Scalar::B32] => NarrowInt::S4,
        [Scalar::S32, Scalar::B32] if is_u2 => NarrowInt::U2,
        [Scalar::S32, Scalar::B32] if is_s2 => NarrowInt::S2,
        _ => return Err(Unsupported),
    };
    if !form.take(Modifier::Sat) {
        return Err(Unsupported);
    }
    let a = t.read(form.operand(1)?, Scalar::S32)?;
    let b = t.read(form.operand(2)?, Scalar::S32)?;
    let c = match to {
        NarrowInt::U16 | NarrowInt::S16 => {
            form.expect_operands(3)?;
            t.constant(Type::B32, 0)
        }
        NarrowInt::U2 | NarrowInt::S2 | NarrowInt::U4 | NarrowInt::S4 | NarrowInt::U8 | NarrowInt::S8 => {
            form.expect_operands(4)?;
            t.read(form.operand(3)?, Scalar::B32)?
        }
    };
    let value = t.emit(Op::PackSaturated(to), Type::B32, &[a, b, c]);
    t.write(form.operand(0)?, value)
}

/// A float of double precision, which has no modifier for this, clamped. A NaN becomes zero.
fn between_zero_and_one(t: &mut Translator, value: Value) -> Value {
    let ty = Type::F64;
    let (zero, one) = (t.constant(ty, 0), t.constant(ty, ptxc_semantics::F64.one()));
    let least = t.emit(Op::Fmax { ftz: false, nan: false, xorsign: false }, ty, &[value, zero]);
    t.emit(Op::Fmin { ftz: false, nan: false, xorsign: false }, ty, &[least, one])
}

/// A float flushed and clamped.
fn adjusted(t: &mut Translator, value: Value, ftz: bool, sat: bool) -> Value {
    // Adding minus zero keeps every number, so the sum can carry the modifiers.
    let ty = t.ty(value);
    let zero = t.constant(ty, 1 << (ty.bits() - 1));
    let mode = FloatMode { ftz, sat, ..FloatMode::RN };
    t.emit(Op::Fadd(mode), ty, &[value, zero])
}

/// `isspacep`.
pub(super) fn ask_space(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let space = form.choose::<modifiers::Space>().ok_or(Unsupported)?.into();
    let address = t.any(form.operand(1)?)?;
    let address = t.extend(address, Type::B64, false)?;
    let holds = t.emit(Op::IsSpace(space), Type::B32, &[address]);
    t.write(form.operand(0)?, holds)
}

/// `cvta`, and `cvta.to` from a generic address to one in a space.
pub(super) fn convert_address(t: &mut Translator, form: &mut Form, to_space: bool) -> Translated {
    form.expect_operands(2)?;
    let space = form.choose::<modifiers::Space>().ok_or(Unsupported)?.into();
    if !matches!(form.ty()?, Scalar::U32 | Scalar::U64) {
        return Err(Unsupported);
    }
    let value = t.any(form.operand(1)?)?;
    let result = if to_space {
        let generic = t.extend(value, Type::B64, false)?;
        t.emit(Op::FromGeneric(space), Type::B32, &[generic])
    } else {
        let address = t.extend(value, space.address_type(), false)?;
        t.emit(Op::ToGeneric(space), Type::B32, &[address])
    };
    match t.destination_type(form.operand(0)?)? {
        Some(ty) if ty.bits() < t.ty(result).bits() => Err(Unsupported),
        _ => t.write(form.operand(0)?, result),
    }
}
