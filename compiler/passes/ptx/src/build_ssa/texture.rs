//! Reads of textures and queries about them.
//!
//! ```text
//! tex.level.a2d.v4.f32.f32  {a, b, c, d}, [t, {layer, x, y, z}], level;
//! tld4.g.2d.v4.f32.f32      {a, b, c, d}, [t, {x, y}], {dx, dy};
//! txq.width.b32             d, [t];
//! ```
//!
//! As in ptxas's code, a layer above 65535 becomes 65535, a direction in a cube is scaled so that
//! its longest part is 1, and offsets in texels are packed into a word.

use ptxc_ir::{Approx, Fetch, FloatMode, IntCond, Op, Rounding, Sampling, Shape, Space, Type, Value};
use ptxc_syntax::Name;
use ptxc_syntax::ast::{Address, Operand, OperandKind};

use super::form::{Form, Translated, Unsupported};
use super::gradient;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::scope::Meaning;
use crate::check::table::{Modifier, modifiers};

/// The greatest number of a layer.
const LAST_LAYER: u64 = 0xffff;

/// The bits of a handle with the number of the texture.
const TEXTURE_NUMBER: u64 = 0xfffff;

/// `tex`.
pub(super) fn read(t: &mut Translator, form: &mut Form) -> Translated {
    let [kind, coordinates] = form.types[..] else { return Err(Unsupported) };
    let half = match kind {
        Scalar::F16 => form.take(Modifier::V4).then_some(true).ok_or(Unsupported)?,
        Scalar::F16x2 => form.take(Modifier::V2).then_some(true).ok_or(Unsupported)?,
        _ => !form.take(Modifier::V4).then_some(true).ok_or(Unsupported)?,
    };
    let is_texel = coordinates.is_int();
    form.take(Modifier::Base);
    let fetch = match (form.take(Modifier::Level), form.take(Modifier::Grad), is_texel) {
        (true, _, true) => Fetch::TexelOfLevel,
        (true, _, false) => Fetch::Level,
        (_, true, _) => Fetch::Gradient,
        (_, _, true) => Fetch::Texel,
        (_, _, false) => Fetch::Least,
    };
    let shape = form.choose::<modifiers::Geometry>().ok_or(Unsupported)?.into();
    let sampling = Sampling { fetch, shape, half, sampler: false, offset: false, compare: false };
    sample(t, form, sampling, kind, is_texel)
}

/// `tld4`.
pub(super) fn gather(t: &mut Translator, form: &mut Form) -> Translated {
    let [kind, _] = form.types[..] else { return Err(Unsupported) };
    if !form.take(Modifier::V4) {
        return Err(Unsupported);
    }
    let fetch = form.choose::<modifiers::Component>().ok_or(Unsupported)?.into();
    let shape = form.choose::<modifiers::Geometry>().ok_or(Unsupported)?.into();
    let sampling = Sampling { fetch, shape, half: false, sampler: false, offset: false, compare: false };
    sample(t, form, sampling, kind, false)
}

/// The texture or tensor and the operands beside it.
pub(super) fn address(operand: &Operand) -> Translated<&Address> {
    match &operand.kind {
        OperandKind::Address(address) if address.property.is_none() => Ok(address),
        _ => Err(Unsupported),
    }
}

/// The handle of a texture or surface in brackets.
pub(super) fn handle(t: &mut Translator, operand: &Operand) -> Translated<Value> {
    let address = address(operand)?;
    let base = address.place.base.as_ref().ok_or(Unsupported)?;
    if address.place.offset.is_some() {
        return Err(Unsupported);
    }
    let handle = t.named(operand.id, base)?;
    t.convert(handle, Type::B64)
}

/// Reads a texture at floats or at whole coordinates, with operands after the coordinates as they are
/// written.
fn sample(
    t: &mut Translator,
    form: &mut Form,
    mut sampling: Sampling,
    kind: Scalar,
    is_whole: bool,
) -> Translated {
    let place = form.operand(1)?;
    let mut handle = handle(t, place)?;
    let texture = address(place)?;
    let (sampler, coordinates) = match &texture.rest[..] {
        [coordinates] => (None, coordinates),
        // Without `texmode_independent`, a texture that is its own sampler has nothing else beside it.
        [sampler, coordinates] if is_name(t, sampler, texture) => (None, coordinates),
        [sampler, coordinates] => {
            if !t.env.has_samplers {
                handle = without_sampler(t, texture, handle)?;
            }
            let sampler = t.any(sampler)?;
            (Some(t.convert(sampler, Type::B64)?), coordinates)
        }
        _ => return Err(Unsupported),
    };
    sampling.sampler = sampler.is_some();
    // As in ptxas's code, a sampler treats whole coordinates, except of a row and at a level. Reads with
    // derivatives always have a sampler. ptxas leaves their coordinates whole, which gives other texels.
    let shape = sampling.shape;
    let is_sampled =
        sampler.is_some() && sampling.fetch == Fetch::Texel && !shape.has_samples() && shape != Shape::Line;
    if is_sampled {
        sampling.fetch = Fetch::Least;
    }
    let is_converted = is_sampled || is_whole && sampling.fetch == Fetch::Gradient;
    let mut later = form.operands.get(2..).unwrap_or_default().iter();
    let mut coordinates = t.read_all(coordinates, Scalar::B32)?.into_iter();
    let mut next = || coordinates.next().ok_or(Unsupported);
    let mut args = vec![handle];
    args.extend(sampler);
    // The number of the sample precedes the others.
    let sample = if shape.has_samples() { Some(next()?) } else { None };
    if shape.has_layers() {
        let layer = next()?;
        let last = t.constant(Type::B32, LAST_LAYER);
        args.push(t.emit(Op::Umin, Type::B32, &[layer, last]));
    }
    let mut texel = Vec::new();
    for _ in 0..shape.coordinates() {
        let coordinate = next()?;
        texel.push(if is_converted { whole(t, coordinate)? } else { coordinate });
    }
    let scale = if shape.is_cube() { Some(scale_of_direction(t, &texel)?) } else { None };
    let texel = texel.into_iter().map(|one| scaled(t, one, scale)).collect::<Translated<Vec<_>>>()?;
    args.extend(&texel);
    args.extend(sample);
    let mut derivatives = None;
    match sampling.fetch {
        Fetch::Level | Fetch::TexelOfLevel => {
            args.push(t.read(later.next().ok_or(Unsupported)?, Scalar::B32)?)
        }
        Fetch::Gradient => {
            let by_x = t.read_all(later.next().ok_or(Unsupported)?, Scalar::B32)?;
            let by_y = t.read_all(later.next().ok_or(Unsupported)?, Scalar::B32)?;
            if by_x.len() < shape.coordinates() || by_y.len() < shape.coordinates() {
                return Err(Unsupported);
            }
            derivatives = Some((by_x, by_y));
        }
        _ => {}
    }
    let mut last = Vec::new();
    for operand in later {
        // As in ptxas, an offset is always in braces.
        let is_offset = matches!(operand.kind, OperandKind::Vector(_));
        match is_offset {
            true if !sampling.offset && !sampling.compare => {
                sampling.offset = true;
                last.push(packed_offset(t, operand, sampling)?);
            }
            false if !sampling.compare => {
                sampling.compare = true;
                last.push(t.read(operand, Scalar::B32)?);
            }
            _ => return Err(Unsupported),
        }
    }
    if let Some((by_x, by_y)) = derivatives {
        if sampling.may_have_derivatives() {
            let both = by_x.into_iter().zip(by_y).take(shape.coordinates());
            args.extend(both.flat_map(|(by_x, by_y)| [by_x, by_y]));
        } else {
            let read = gradient::Read { handle, shape, place: &texel, scale };
            args.push(gradient::level(t, &read, &by_x, &by_y)?);
            sampling.fetch = Fetch::Level;
        }
    }
    args.extend(last);
    if sampling.problem().is_some() || is_whole && (shape.is_cube() || sampling.compare) {
        return Err(Unsupported);
    }
    let inst = t.inst(Op::Texture(sampling), Type::B32, &args);
    let results = t.function.results(inst).to_vec();
    let (destination, is_resident) = match &form.operand(0)?.kind {
        OperandKind::Pair(pair) => (&pair.0, Some(&pair.1)),
        _ => (form.operand(0)?, None),
    };
    write_components(t, destination, kind, &results)?;
    if let (Some(is_resident), Some(&is_missing)) = (is_resident, results.last()) {
        let holds = t.emit(Op::Not, Type::Pred, &[is_missing]);
        t.write(is_resident, holds)?;
    }
    Ok(())
}

/// Whether a sampler is the named texture itself.
fn is_name(t: &Translator, sampler: &Operand, texture: &Address) -> bool {
    let (Some(sampler), Some(texture)) = (sampler.as_symbol(), &texture.place.base) else { return false };
    sampler == texture && !is_register(t, texture)
}

fn is_register(t: &Translator, name: &Name) -> bool {
    matches!(t.scopes.lookup(name), Some(Meaning::Register { .. }))
}

/// The handle of a texture without the sampler that it names in a module without
/// `texmode_independent`. A sampler beside the texture replaces that one. The handle is then as in a
/// module with `texmode_independent`, and so is the read: ptxas ignores the texture's coordinates
/// there. The number of a texture that has a name stands alone in its word.
fn without_sampler(t: &mut Translator, texture: &Address, handle: Value) -> Translated<Value> {
    let base = texture.place.base.as_ref().ok_or(Unsupported)?;
    if !is_register(t, base) {
        return Ok(handle);
    }
    let number = t.constant(Type::B64, TEXTURE_NUMBER);
    Ok(t.emit(Op::And, Type::B64, &[handle, number]))
}

/// Writes the components of a texel to a vector.
fn write_components(t: &mut Translator, destination: &Operand, kind: Scalar, words: &[Value]) -> Translated {
    let elements = t.elements(destination);
    let mut values = Vec::new();
    for &word in words.iter().take(if kind == Scalar::F16 { 2 } else { elements.len() }) {
        if kind == Scalar::F16 {
            let (low, high) = t.emit_pair(Op::Unpack, Type::B32, &[word]);
            values.extend([low, high]);
        } else {
            values.push(word);
        }
    }
    if values.len() != elements.len() {
        return Err(Unsupported);
    }
    elements.iter().zip(values).try_for_each(|(element, value)| t.write(element, value))
}

/// Offsets in texels in the places where the machine has them.
fn packed_offset(t: &mut Translator, operand: &Operand, sampling: Sampling) -> Translated<Value> {
    let (bits, distance) = if sampling.fetch.gathered().is_some() { (6, 8) } else { (4, 4) };
    let offsets = t.read_all(operand, Scalar::S32)?;
    let count = sampling.shape.coordinates();
    if offsets.len() < count || sampling.shape.is_cube() {
        return Err(Unsupported);
    }
    let mask = t.constant(Type::B32, (1 << bits) - 1);
    let mut all = None;
    for (&offset, number) in offsets.iter().zip(0..count as u64) {
        let own = t.emit(Op::And, Type::B32, &[offset, mask]);
        let shift = t.constant(Type::B32, number * distance);
        let moved = t.emit(Op::Shl, Type::B32, &[own, shift]);
        all = Some(match all {
            None => own,
            Some(all) => t.emit(Op::Or, Type::B32, &[all, moved]),
        });
    }
    all.ok_or(Unsupported)
}

/// The number by which a direction is multiplied: the longest part becomes 1.
fn scale_of_direction(t: &mut Translator, parts: &[Value]) -> Translated<Value> {
    let mut longest = None;
    for &part in parts {
        let part = t.convert(part, Type::F32)?;
        let size = t.emit(Op::Fabs { ftz: false }, Type::F32, &[part]);
        longest = Some(match longest {
            None => size,
            Some(other) => {
                let op = Op::Fmax { ftz: false, nan: false, xorsign: false };
                t.emit(op, Type::F32, &[other, size])
            }
        });
    }
    let longest = longest.ok_or(Unsupported)?;
    Ok(t.emit(Op::Fapprox { function: Approx::Rcp, ftz: true }, Type::F32, &[longest]))
}

/// A whole coordinate as a float.
fn whole(t: &mut Translator, coordinate: Value) -> Translated<Value> {
    let float = t.emit(Op::SintToFloat(Rounding::Nearest), Type::F32, &[coordinate]);
    t.convert(float, Type::B32)
}

fn scaled(t: &mut Translator, part: Value, scale: Option<Value>) -> Translated<Value> {
    let Some(scale) = scale else { return Ok(part) };
    let part = t.convert(part, Type::F32)?;
    let mode = FloatMode { round: Rounding::Nearest, ftz: false, sat: false, contract: false };
    let product = t.emit(Op::Fmul(mode), Type::F32, &[part, scale]);
    t.convert(product, Type::B32)
}

/// `istypep`: a bit in the upper word of an address tells what it is the address of.
pub(super) fn is_kind(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let space = match form.ty()? {
        Scalar::Texref => Space::Texture,
        Scalar::Samplerref => Space::Sampler,
        Scalar::Surfref => Space::Surface,
        _ => return Err(Unsupported),
    };
    let address = t.read(form.operand(1)?, Scalar::B64)?;
    let (_, high) = t.emit_pair(Op::Unpack, Type::B64, &[address]);
    let bit = t.constant(Type::B32, space.image_bit().into());
    let own = t.emit(Op::And, Type::B32, &[high, bit]);
    let holds = t.emit(Op::Icmp(IntCond::Eq), Type::B32, &[own, bit]);
    t.write(form.operand(0)?, holds)
}
