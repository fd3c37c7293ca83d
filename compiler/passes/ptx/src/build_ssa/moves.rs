//! `mov`: registers, constants, special registers, addresses, and packing and unpacking of vectors.

use ptxc_ir::{Op, Type, Value};
use ptxc_syntax::ast::{Operand, OperandKind};

use super::form::{Form, Translated, Unsupported};
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::modifiers;

pub(super) fn mov(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let scalar = form.ty()?;
    let (to, from) = (form.operand(0)?, form.operand(1)?);
    match (&to.kind, &from.kind) {
        (OperandKind::Vector(to), OperandKind::Vector(from)) if !to.is_empty() => {
            form.choose::<modifiers::Vector>().filter(|_| to.len() == from.len()).ok_or(Unsupported)?;
            // All elements are read before any is written: the vectors may overlap.
            let values: Translated<Vec<_>> = from.iter().map(|element| t.read(element, scalar)).collect();
            to.iter().zip(values?).try_for_each(|(element, value)| t.write(element, value))
        }
        (_, OperandKind::Vector(elements)) if elements.len() as u32 * 8 == scalar.bits() => {
            let value = pack_bytes(t, elements, scalar)?;
            t.write(to, value)
        }
        (OperandKind::Vector(elements), _) if elements.len() as u32 * 8 == scalar.bits() => {
            unpack_bytes(t, elements, from, scalar)
        }
        (_, OperandKind::Vector(elements)) => {
            let element = element(scalar, elements.len())?;
            let mut values = Vec::new();
            for operand in elements {
                let value = t.read(operand, element)?;
                values.push(t.convert(value, element.ir().ok_or(Unsupported)?)?);
            }
            let value = pack(t, values)?;
            t.write(to, value)
        }
        (OperandKind::Vector(elements), _) => {
            let element = element(scalar, elements.len())?;
            let value = t.read(from, scalar)?;
            let mut values = vec![value];
            while values.len() < elements.len() {
                let halves = |t: &mut Translator, value| {
                    let (low, high) = t.emit_pair(Op::Unpack, t.ty(value), &[value]);
                    [low, high]
                };
                values = values.into_iter().flat_map(|value| halves(t, value)).collect();
            }
            for (operand, value) in elements.iter().zip(values) {
                let value = t.convert(value, element.ir().ok_or(Unsupported)?)?;
                t.write(operand, value)?;
            }
            Ok(())
        }
        (_, OperandKind::Symbol(_) | OperandKind::SymbolOffset(_) | OperandKind::Element(_))
            if scalar.is_int() =>
        {
            // A special register or an address may be narrower than the type and is extended with
            // zeros.
            let value = t.read_extended(from, scalar.untyped()?)?;
            t.write(to, value)
        }
        _ => {
            let value = t.read(from, scalar)?;
            t.write(to, value)
        }
    }
}

/// Packs registers of 8 bits and constants, the first in the low bits.
fn pack_bytes(t: &mut Translator, elements: &[Operand], scalar: Scalar) -> Translated<Value> {
    let ty = Type::int(scalar.bits()).filter(|ty| ty.bits() <= 32).ok_or(Unsupported)?;
    let mask = t.constant(ty, 0xff);
    let mut whole = None;
    for (operand, place) in elements.iter().zip(0..) {
        let value = match operand.kind {
            OperandKind::Immediate(_) => t.read(operand, Scalar::B32)?,
            _ => t.any(operand)?,
        };
        let value =
            if t.ty(value).bits() > ty.bits() { t.convert(value, ty)? } else { t.extend(value, ty, false)? };
        let byte = t.emit(Op::And, ty, &[value, mask]);
        let count = t.constant(Type::B32, 8 * place);
        let part = t.emit(Op::Shl, ty, &[byte, count]);
        whole = Some(whole.map_or(part, |whole| t.emit(Op::Or, ty, &[whole, part])));
    }
    whole.ok_or(Unsupported)
}

/// Unpacks the bytes of a value into registers of 8 bits, the low one first.
fn unpack_bytes(t: &mut Translator, elements: &[Operand], from: &Operand, scalar: Scalar) -> Translated {
    let ty = Type::int(scalar.bits()).filter(|ty| ty.bits() <= 32).ok_or(Unsupported)?;
    let whole = t.read(from, scalar)?;
    let mask = t.constant(ty, 0xff);
    let bytes: Vec<Value> = (0..elements.len() as u64)
        .map(|place| {
            let count = t.constant(Type::B32, 8 * place);
            let part = t.emit(Op::Shr, ty, &[whole, count]);
            t.emit(Op::And, ty, &[part, mask])
        })
        .collect();
    for (operand, byte) in elements.iter().zip(bytes) {
        let byte = t.convert(byte, Type::B16)?;
        t.write(operand, byte)?;
    }
    Ok(())
}

/// The type of one of `count` elements that fill `scalar`.
fn element(scalar: Scalar, count: usize) -> Translated<Scalar> {
    let bits = match count {
        1 | 2 | 4 => scalar.bits() / count as u32,
        _ => return Err(Unsupported),
    };
    if scalar.is_float() || !matches!(bits, 16 | 32 | 64) {
        return Err(Unsupported);
    }
    Scalar::of_bits(bits).ok_or(Unsupported)
}

/// Packs one, two or four values, the first in the low bits.
fn pack(t: &mut Translator, mut values: Vec<Value>) -> Translated<Value> {
    while values.len() > 1 {
        let wide = Type::int(2 * t.ty(values[0]).bits()).ok_or(Unsupported)?;
        values = values.chunks(2).map(|pair| t.emit(Op::Pack, wide, pair)).collect();
    }
    values.pop().ok_or(Unsupported)
}
