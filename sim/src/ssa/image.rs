//! Operations on textures and surfaces in one lane, and the places of those that have names.

use std::collections::BTreeMap;

use ptxc_ir::{Function, Op, SamplingParts, Space, SpecialReg, SurfaceParts};
use ptxc_sass::program::ImageKind;

use super::Values;
use super::code::SlotIndex;
use crate::engine::Step;
use crate::error::{Fault, SimError};
use crate::memory::GridMemory;

/// Puts the driver's tables into memory, if functions read them.
pub(super) fn describe(functions: &[&Function], memory: &mut GridMemory) {
    let insts = functions.iter().flat_map(|func| func.insts.values());
    let tables = insts.filter_map(|data| match data.op {
        Op::SpecialReg(reg) if reg.loaded_symbol().is_some() => Some(reg == SpecialReg::TextureBytes),
        _ => None,
    });
    if let Some(has_samplers) = tables.reduce(|one, other| one || other) {
        memory.describe_images(has_samplers);
    }
}

/// Gives the textures, samplers and surfaces that functions name their addresses and their words.
pub(super) fn bind(
    functions: &[&Function],
    memory: &mut GridMemory,
    addresses: &mut BTreeMap<String, u64>,
) -> Result<(), SimError> {
    for func in functions {
        let words = func.image_words.iter().filter_map(|word| {
            let symbol = &func.symbols[word.symbol];
            Some((word.offset, image_kind(symbol.space)?, symbol.name.as_str()))
        });
        memory.number_images(words)?;
        for symbol in func.symbols.values().filter(|symbol| symbol.space.is_image()) {
            let Some(kind) = image_kind(symbol.space) else { continue };
            let number = memory.images.number(&symbol.name, kind).map_err(SimError::Case)?;
            let address = u64::from(symbol.space.image_bit()) << 32 | u64::from(number);
            addresses.insert(symbol.name.clone(), address);
        }
    }
    Ok(())
}

/// The kind of a word with the number of a symbol of a space, in the form of sm_90; see
/// [`image_names`](ptxc_ir::symbol::ImageWord).
fn image_kind(space: Space) -> Option<ImageKind> {
    match space {
        Space::Texture => Some(ImageKind::Texture),
        Space::Sampler => Some(ImageKind::Sampler),
        Space::Surface => Some(ImageKind::Surface),
        _ => None,
    }
}

/// Executes an operation for a lane; `ty_bytes` is the size of its type.
pub(super) fn run(
    values: &mut Values,
    step: &mut Step<'_>,
    op: &Op,
    d: &[SlotIndex],
    args: &[SlotIndex],
    (lane, bytes): (u32, u32),
) -> Result<(), Fault> {
    let words: Vec<u32> = args.iter().map(|&arg| values.get(arg, lane) as u32).collect();
    let missing = || Fault::new(lane, "operands of an image are missing");
    match op {
        Op::Texture(sampling) => {
            let parts: SamplingParts<'_, u32> = sampling.parts(&words).ok_or_else(missing)?;
            let texel = step.memory.texture(lane, sampling, &parts)?;
            let count = usize::from(sampling.words());
            for (&d, word) in d.iter().zip(texel).take(count) {
                values.set(d, lane, word.into());
            }
            // All memory is there.
            if let Some(&is_missing) = d.get(count) {
                values.set(is_missing, lane, 0);
            }
        }
        Op::ImageSize(dimension) => {
            let size = step.memory.image_size(lane, words[0], *dimension, words[1])?;
            values.set(d[0], lane, size.into());
        }
        Op::SurfaceLoad(surface) => {
            let parts: SurfaceParts<'_, u32> = surface.parts(&words).ok_or_else(missing)?;
            let loaded = step.memory.surface_load(lane, surface, &parts)?;
            for (&d, word) in d.iter().zip(loaded) {
                values.set(d, lane, word.into());
            }
        }
        Op::SurfaceStore(surface) => {
            let parts: SurfaceParts<'_, u32> = surface.parts(&words).ok_or_else(missing)?;
            if parts.guard != Some(0) {
                step.memory.surface_store(lane, surface, &parts)?;
            }
        }
        Op::SurfaceRed { op, surface } => {
            let parts: SurfaceParts<'_, u32> = surface.parts(&words).ok_or_else(missing)?;
            let data = args.len() - 1 - usize::from(surface.guarded);
            let value = args.get(data).map_or(0, |&arg| values.get(arg, lane));
            if parts.guard != Some(0) {
                step.memory.surface_update(lane, surface, &parts, *op, value, bytes)?;
            }
        }
        _ => return Err(Fault::new(lane, "no operation on an image")),
    }
    Ok(())
}
