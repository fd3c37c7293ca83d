//! Operations on textures and surfaces in one lane.

use ptxc_ir::{Op, SamplingParts, SurfaceParts};

use super::Values;
use super::code::SlotIndex;
use crate::engine::Step;
use crate::error::Fault;

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
