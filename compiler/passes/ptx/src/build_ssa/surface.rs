//! Accesses to surfaces.
//!
//! ```text
//! suld.b.a2d.v2.b16.clamp  {a, b}, [s, {layer, x, y, z}];     x counts bytes
//! sust.p.2d.v4.b32.zero    [s, {x, y}], {a, b, c, d};         x counts texels
//! sured.b.add.2d.u32.trap  [s, {x, y}], a;
//! ```
//!
//! The operations move words; narrower elements are taken from words and put together here.

use ptxc_ir::{AtomicOp, BytePick, CacheOp, Op, Outside, SurfaceAccess, Type, Value};
use ptxc_syntax::ast::{Operand, OperandKind};

use super::form::{Form, Translated, Unsupported};
use super::texture::handle;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::modifiers::{self, Atomic};

/// Shape, cache operator and treatment of outer places of an access. The size is set later.
fn access(form: &mut Form, texel: bool) -> Translated<SurfaceAccess> {
    Ok(SurfaceAccess {
        shape: form.choose::<modifiers::Geometry>().ok_or(Unsupported)?.into(),
        outside: form.choose::<modifiers::Outside>().map_or(Outside::Trap, Outside::from),
        texel,
        size: 0,
        cache: form.choose::<modifiers::Cache>().map_or(CacheOp::Default, CacheOp::from),
        guarded: false,
    })
}

/// The handle and the place of an access.
fn place(t: &mut Translator, operand: &Operand, surface: SurfaceAccess) -> Translated<Vec<Value>> {
    let OperandKind::Address(address) = &operand.kind else { return Err(Unsupported) };
    let [coordinates] = &address.rest[..] else { return Err(Unsupported) };
    let mut args = vec![handle(t, operand)?];
    let values = t.read_all(coordinates, Scalar::B32)?;
    let count = usize::from(surface.shape.has_layers()) + surface.shape.coordinates();
    if values.len() < count {
        return Err(Unsupported);
    }
    args.extend(&values[..count]);
    Ok(args)
}

/// The number of elements and the size of one, in bytes.
fn elements(form: &mut Form) -> Translated<(Scalar, u8, u8)> {
    let scalar = form.ty()?;
    let count = form.choose::<modifiers::Vector>().map_or(1, u8::from);
    let bytes = (scalar.bits() / 8) as u8;
    if bytes == 0 || u32::from(bytes) * u32::from(count) > 16 {
        return Err(Unsupported);
    }
    Ok((scalar, count, bytes))
}

/// `suld.b`.
pub(super) fn load(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let mut surface = access(form, false)?;
    let (_, count, bytes) = elements(form)?;
    surface.size = count * bytes;
    let args = place(t, form.operand(1)?, surface)?;
    let inst = t.inst(Op::SurfaceLoad(surface), Type::B32, &args);
    let words = t.function.results(inst).to_vec();
    let destinations = t.elements(form.operand(0)?);
    if destinations.len() != usize::from(count) {
        return Err(Unsupported);
    }
    for (destination, number) in destinations.iter().zip(0..) {
        let value = element(t, &words, number, bytes)?;
        t.write(destination, value)?;
    }
    Ok(())
}

/// An element of the words of a surface.
fn element(t: &mut Translator, words: &[Value], number: u32, bytes: u8) -> Translated<Value> {
    let start = number * u32::from(bytes);
    let word = *words.get((start / 4) as usize).ok_or(Unsupported)?;
    match bytes {
        8 => {
            let high = *words.get((start / 4 + 1) as usize).ok_or(Unsupported)?;
            Ok(t.emit(Op::Pack, Type::B64, &[word, high]))
        }
        4 => Ok(word),
        2 => {
            let (low, high) = t.emit_pair(Op::Unpack, Type::B32, &[word]);
            Ok(if start.is_multiple_of(4) { low } else { high })
        }
        _ => {
            let zero = t.constant(Type::B32, 0);
            let digits = t.constant(Type::B32, u64::from(0x4440 + start % 4));
            let byte = t.emit(Op::Prmt(BytePick::Index), Type::B32, &[word, zero, digits]);
            t.convert(byte, Type::B16)
        }
    }
}

/// `sust.b` and `sust.p`.
pub(super) fn store(t: &mut Translator, form: &mut Form, texel: bool) -> Translated {
    form.expect_operands(2)?;
    let mut surface = access(form, texel)?;
    let (scalar, count, bytes) = elements(form)?;
    surface.size = if texel { count } else { count * bytes };
    let mut args = place(t, form.operand(0)?, surface)?;
    let sources = t.elements(form.operand(1)?);
    if sources.len() != usize::from(count) {
        return Err(Unsupported);
    }
    let mut values = Vec::new();
    for source in &sources {
        values.push(match (&source.kind, bytes) {
            (OperandKind::Immediate(_), 1) => t.read(source, Scalar::B16)?,
            (OperandKind::Immediate(_), _) => t.read(source, scalar)?,
            _ => t.any(source)?,
        });
    }
    args.extend(words(t, &values, bytes)?);
    t.inst(Op::SurfaceStore(surface), Type::B32, &args);
    Ok(())
}

/// The words that elements make up.
fn words(t: &mut Translator, values: &[Value], bytes: u8) -> Translated<Vec<Value>> {
    let mut words = Vec::new();
    match bytes {
        8 => {
            for &value in values {
                let value = t.convert(value, Type::B64)?;
                let (low, high) = t.emit_pair(Op::Unpack, Type::B64, &[value]);
                words.extend([low, high]);
            }
        }
        4 => {
            for &value in values {
                words.push(t.convert(value, Type::B32)?);
            }
        }
        _ => {
            for group in values.chunks(4 / usize::from(bytes)) {
                let mut whole = Vec::new();
                for &value in group {
                    whole.push(t.extend(value, Type::B32, false)?);
                }
                words.push(joined(t, &whole, bytes));
            }
        }
    }
    Ok(words)
}

/// The low bytes or halves of up to four words, as one word.
fn joined(t: &mut Translator, parts: &[Value], bytes: u8) -> Value {
    let mut pick = |low: Value, high: Value, digits: u64| {
        let digits = t.constant(Type::B32, digits);
        t.emit(Op::Prmt(BytePick::Index), Type::B32, &[low, high, digits])
    };
    match (parts, bytes) {
        (&[low, high], 2) => pick(low, high, 0x5410),
        (&[low, high], _) => pick(low, high, 0x7740),
        (&[a, b, c, d], _) => {
            let (low, high) = (pick(a, b, 0x7740), pick(c, d, 0x7740));
            pick(low, high, 0x5410)
        }
        _ => parts[0],
    }
}

/// `sured.b` and `sured.p`.
pub(super) fn update(t: &mut Translator, form: &mut Form, texel: bool) -> Translated {
    form.expect_operands(2)?;
    let mut surface = access(form, texel)?;
    let scalar = form.ty()?;
    let ty = Type::int(scalar.bits()).ok_or(Unsupported)?;
    let signed = scalar.is_signed();
    let op = match form.choose::<Atomic>().ok_or(Unsupported)? {
        Atomic::Add => AtomicOp::Add,
        Atomic::Min if signed => AtomicOp::Smin,
        Atomic::Min => AtomicOp::Umin,
        Atomic::Max if signed => AtomicOp::Smax,
        Atomic::Max => AtomicOp::Umax,
        Atomic::And => AtomicOp::And,
        Atomic::Or => AtomicOp::Or,
        Atomic::Xor | Atomic::Exch | Atomic::Cas | Atomic::Inc | Atomic::Dec => return Err(Unsupported),
    };
    surface.size = (scalar.bits() / if texel { 32 } else { 8 }) as u8;
    let mut args = place(t, form.operand(0)?, surface)?;
    args.push(t.read(form.operand(1)?, scalar)?);
    t.inst(Op::SurfaceRed { op, surface }, ty, &args);
    Ok(())
}
