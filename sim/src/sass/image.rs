//! Textures and surfaces. [`images`](crate::images) defines their effects; here are the places of
//! the operands: see `ptxc_sass::table::texture`.

use ptxc_ir::{AtomicOp, CacheOp, Dimension, Fetch, Outside, Sampling, Shape, SurfaceAccess, SurfaceParts};
use ptxc_sass::{ModKind, Op, OperandKind, slot_name, value};

use super::fields::{Decoded, Fields};
use super::registers::{Registers, Source};
use crate::error::Fault;
use crate::memory::{AccessKind, Space};
use crate::warp::{Flow, LANES, lanes_of};

/// A handle: of a texture or surface, and of a sampler with a register of its own.
#[derive(Clone, Copy)]
struct Handle {
    image: Source,
    sampler: Option<Source>,
}

impl Handle {
    /// The handle in a constant bank or in uniform registers.
    fn bound(i: &Fields<'_>, has_sampler: bool) -> Result<Handle, String> {
        match i.inst.get(slot_name!("texture")).map(|operand| operand.kind) {
            Some(OperandKind::Imm(bank)) => {
                let bank = u8::try_from(bank).map_err(|_| "its constant bank".to_string())?;
                Ok(Handle { image: i.constant_word(bank, 4 * i.imm("word")?)?, sampler: None })
            }
            Some(OperandKind::Reg(_)) if i.imm("word")? == 0 => {
                let [image, sampler] = i.words::<2>("texture")?;
                Ok(Handle { image, sampler: has_sampler.then_some(sampler) })
            }
            _ => Err("the place of its handle".to_string()),
        }
    }

    /// The handles in a lane; no handle of a sampler is 0.
    fn read(&self, registers: &Registers) -> ([u32; LANES], Option<[u32; LANES]>) {
        let sampler = self.sampler.map(|sampler| registers.int(sampler));
        (registers.int(self.image), sampler.filter(|sampler| sampler[0] != 0))
    }
}

/// The registers of an operand.
fn sources(i: &Fields<'_>, name: &str) -> Result<Vec<Source>, String> {
    let slot = i.inst.row().slot(name).ok_or_else(|| format!("no operand {name}"))?;
    match i.inst.slot_width(slot) {
        1 => i.words::<1>(name).map(Vec::from),
        2 => i.words::<2>(name).map(Vec::from),
        3 => i.words::<3>(name).map(Vec::from),
        4 => i.words::<4>(name).map(Vec::from),
        6 => i.words::<6>(name).map(Vec::from),
        count => Err(format!("{count} registers of {name}")),
    }
}

fn shape(i: &Fields<'_>, has_samples: bool) -> Result<Shape, String> {
    Ok(match i.modifier(ModKind::Shape).trim_start_matches('.') {
        "2D" if has_samples => Shape::Samples,
        "ARRAY_2D" if has_samples => Shape::SamplePlanes,
        "1D" => Shape::Line,
        "2D" => Shape::Plane,
        "3D" => Shape::Volume,
        "CUBE" => Shape::Cube,
        "ARRAY_1D" | "1D_ARRAY" => Shape::Lines,
        "ARRAY_2D" | "2D_ARRAY" => Shape::Planes,
        "ARRAY_CUBE" => Shape::Cubes,
        _ => return i.unknown(ModKind::Shape),
    })
}

/// The place of each operand of the operation among the sources.
struct Places {
    handle: Option<usize>,
    order: Vec<usize>,
}

/// `TEX`, `TLD`, `TLD4` and `TXD`.
pub(super) fn texture(i: &Fields<'_>) -> Decoded {
    let is_bound = i.inst.get(slot_name!("texture")).is_some();
    let hint = i.modifier(ModKind::Hint);
    if hint.contains(".NDV") {
        return i.unknown(ModKind::Hint);
    }
    let is_gradient = matches!(i.inst.op, Op::TXD | Op::TXD_B);
    let is_texel = matches!(i.inst.op, Op::TLD | Op::TLD_B);
    let has_level = match i.modifier(ModKind::Mode) {
        ".LL" => true,
        ".LZ" => false,
        "" if is_gradient => false,
        _ if matches!(i.inst.op, Op::TLD4 | Op::TLD4_B) => false,
        _ => return i.unknown(ModKind::Mode),
    };
    let extra = i.modifier(ModKind::Sources);
    if extra.contains(".PTP") {
        return i.unknown(ModKind::Sources);
    }
    let fetch = match (i.inst.op, has_level) {
        (Op::TXD | Op::TXD_B, _) => Fetch::Gradient,
        (Op::TLD | Op::TLD_B, true) => Fetch::TexelOfLevel,
        (Op::TLD | Op::TLD_B, false) => Fetch::Texel,
        (Op::TLD4 | Op::TLD4_B, _) => match i.modifier(ModKind::Mode).get(..2) {
            Some(".R") => Fetch::GatherR,
            Some(".G") => Fetch::GatherG,
            Some(".B") => Fetch::GatherB,
            _ => Fetch::GatherA,
        },
        // Without a level it is level 0.
        _ => Fetch::Level,
    };
    let half = match i.modifier(ModKind::DataType) {
        "" => false,
        ".F16.RN" => true,
        _ => return i.unknown(ModKind::DataType),
    };
    let handle = if is_bound { Some(Handle::bound(i, !is_texel)?) } else { None };
    let has_samples = hint.contains(".MS");
    let sampling = Sampling {
        fetch,
        shape: shape(i, has_samples)?,
        half,
        sampler: handle.is_some_and(|handle| handle.sampler.is_some()),
        offset: extra.contains(".AOFFI"),
        compare: extra.contains(".DC"),
    };
    let mut all = sources(i, "a")?;
    let first = all.len();
    all.extend(sources(i, "b")?);
    let has_register = handle.is_none();
    let places = if is_gradient {
        gradient_places(&sampling, first, has_register)
    } else {
        places(&sampling, has_level, has_register)
    };
    let last = places.order.iter().copied().chain(places.handle).max();
    if last.is_some_and(|last| last >= all.len() && last != LEVEL_ZERO) {
        return Err("its operands".to_string());
    }
    let mask = i.modifier(ModKind::Components).strip_prefix("0x");
    let mask = mask.and_then(|digits| u8::from_str_radix(digits, 16).ok()).unwrap_or(0xf);
    let wanted: Vec<usize> = (0..4).filter(|n| mask >> n & 1 == 1).collect();
    let registers_of = |count: usize| if half { count.div_ceil(2) } else { count } as u8;
    let low = i.dests("d", registers_of(wanted.len().min(2)))?;
    let high = i.dests("high", registers_of(wanted.len().saturating_sub(2)))?;
    let dests: Vec<_> = low.into_iter().chain(high).collect();
    let pd = i.pred_dest("pd")?;
    Ok(Box::new(move |registers, step| {
        let words: Vec<[u32; LANES]> = all.iter().map(|&source| registers.int(source)).collect();
        let bound = handle.map(|handle| handle.read(registers));
        let mut results = vec![[0; LANES]; dests.len()];
        let mut first_texels = [0; LANES];
        for lane in lanes_of(step.lanes) {
            let n = lane as usize;
            let mut operands: Vec<u32> = Vec::with_capacity(16);
            let mut sampling = sampling;
            match (&bound, places.handle) {
                (Some((image, sampler)), _) => {
                    operands.push(image[n]);
                    sampling.sampler = sampler.is_some();
                    operands.extend(sampler.map(|sampler| sampler[n]));
                }
                (None, Some(place)) => operands.push(words[place][n]),
                (None, None) => return Err(Fault::new(lane, "a texture without a handle")),
            }
            if is_gradient {
                gradient_operands(&sampling, &places, &words, n, &mut operands);
            } else {
                let word = |&place: &usize| if place == LEVEL_ZERO { 0 } else { words[place][n] };
                operands.extend(places.order.iter().map(word));
            }
            let parts = sampling.parts(&operands);
            let parts = parts.ok_or_else(|| Fault::new(lane, "operands of a texture are missing"))?;
            let texel = step.memory.texture(lane, &sampling, &parts)?;
            first_texels[n] = step.memory.first_texel(parts.handle);
            if half {
                let halves =
                    [texel[0] as u16, (texel[0] >> 16) as u16, texel[1] as u16, (texel[1] >> 16) as u16];
                let chosen: Vec<u32> = wanted.iter().map(|&n| u32::from(halves[n])).collect();
                for (result, pair) in results.iter_mut().zip(chosen.chunks(2)) {
                    result[n] = pair[0] | pair.get(1).copied().unwrap_or(0) << 16;
                }
            } else {
                for (result, &component) in results.iter_mut().zip(&wanted) {
                    result[n] = texel[component];
                }
            }
        }
        step.log_access(AccessKind::Read, Space::Global, 4, &first_texels);
        for (&dest, result) in dests.iter().zip(&results) {
            registers.write(dest, step.lanes, |lane| result[lane]);
        }
        // All memory of a texture is there.
        registers.write_pred(pd, step.lanes, 0);
        Ok(Flow::Next)
    }))
}

/// Stands for a level that is not among the sources: level 0.
const LEVEL_ZERO: usize = usize::MAX;

/// The places of the operands after the handle, in the order of the operation.
fn places(sampling: &Sampling, has_level: bool, has_register: bool) -> Places {
    let before = usize::from(sampling.shape.has_layers()) + sampling.shape.coordinates();
    let mut next = before;
    let mut take = || {
        next += 1;
        next - 1
    };
    let handle = has_register.then(&mut take);
    let level = match sampling.fetch {
        Fetch::Level | Fetch::TexelOfLevel if has_level => Some(take()),
        Fetch::Level => Some(LEVEL_ZERO),
        _ => None,
    };
    let sample = sampling.shape.has_samples().then(&mut take);
    let offset = sampling.offset.then(&mut take);
    let compare = sampling.compare.then(&mut take);
    let order = (0..before).chain(sample).chain(level).chain(offset).chain(compare).collect();
    Places { handle, order }
}

/// The same with derivatives: a layer and an offset share the word after the coordinates.
fn gradient_places(sampling: &Sampling, first: usize, has_register: bool) -> Places {
    let start = usize::from(has_register);
    let coordinates = sampling.shape.coordinates();
    let shared = (sampling.shape.has_layers() || sampling.offset).then_some(start + coordinates);
    let derivatives = first..first + 2 * coordinates;
    let order = (start..start + coordinates).chain(derivatives).chain(shared).collect();
    Places { handle: has_register.then_some(0), order }
}

fn gradient_operands(
    sampling: &Sampling,
    places: &Places,
    words: &[[u32; LANES]],
    lane: usize,
    operands: &mut Vec<u32>,
) {
    let word = |&place: &usize| words[place][lane];
    let plain = &places.order[..3 * sampling.shape.coordinates()];
    let shared = places.order.get(plain.len()).map_or(0, word);
    if sampling.shape.has_layers() {
        operands.push(shared & 0xffff);
    }
    operands.extend(plain.iter().map(word));
    if sampling.offset {
        operands.push(shared >> 16);
    }
}

/// `TXQ`.
pub(super) fn size(i: &Fields<'_>) -> Decoded {
    if i.imm("query")? != 0 {
        return Err("its query".to_string());
    }
    let is_bound = i.inst.get(slot_name!("texture")).is_some();
    let a = sources(i, "a")?;
    let (handle, level) = match (is_bound, &a[..]) {
        (true, &[level]) => (Handle::bound(i, false)?, level),
        (false, &[image, level]) => (Handle { image, sampler: None }, level),
        _ => return Err("its operands".to_string()),
    };
    let mask = i.modifier(ModKind::Components).strip_prefix("0x");
    let mask = mask.and_then(|digits| u8::from_str_radix(digits, 16).ok()).unwrap_or(0xf);
    if mask >> 3 != 0 {
        return Err("the fourth word of its answer".to_string());
    }
    let sizes = [Dimension::Width, Dimension::Height, Dimension::Depth];
    let wanted: Vec<Dimension> = (0..3).filter(|n| mask >> n & 1 == 1).map(|n| sizes[n]).collect();
    let low = i.dests("d", wanted.len().min(2) as u8)?;
    let high = i.dests("high", wanted.len().saturating_sub(2) as u8)?;
    let dests: Vec<_> = low.into_iter().chain(high).collect();
    Ok(Box::new(move |registers, step| {
        let ((image, _), level) = (handle.read(registers), registers.int(level));
        for (&dest, &dimension) in dests.iter().zip(&wanted) {
            let mut sizes = [0; LANES];
            for lane in lanes_of(step.lanes) {
                let n = lane as usize;
                sizes[n] = step.memory.image_size(lane, image[n], dimension, level[n])?;
            }
            registers.write(dest, step.lanes, |lane| sizes[lane]);
        }
        Ok(Flow::Next)
    }))
}

/// The handle and the place of an access to a surface, in the order of the operation.
struct Surface {
    access: SurfaceAccess,
    handle: Handle,
    place: Vec<Source>,
}

impl Surface {
    fn new(i: &Fields<'_>, texel: bool, size: u8) -> Result<Surface, String> {
        let outside = match i.modifier(ModKind::Mode) {
            ".IGN" => Outside::Zero,
            "" => Outside::Clamp,
            ".TRAP" => Outside::Trap,
            _ => return i.unknown(ModKind::Mode),
        };
        let shape = shape(i, false)?;
        let handle = match i.inst.get(slot_name!("handle")) {
            Some(_) => Handle { image: i.word("handle")?, sampler: None },
            None => Handle::surface(i)?,
        };
        let mut place = sources(i, "place")?;
        if shape.has_layers() {
            // The layer comes last in the instruction.
            place.rotate_right(1);
        }
        let access = SurfaceAccess { shape, outside, texel, size, cache: CacheOp::Default, guarded: false };
        Ok(Surface { access, handle, place })
    }

    /// The operands in each lane.
    fn operands(&self, registers: &Registers, data: &[Source]) -> Vec<[u32; LANES]> {
        let (image, _) = self.handle.read(registers);
        let rest = self.place.iter().chain(data).map(|&source| registers.int(source));
        std::iter::once(image).chain(rest).collect()
    }

    /// The meanings of a lane's operands.
    fn parts<'a>(&self, words: &'a [u32], lane: u32) -> Result<SurfaceParts<'a, u32>, Fault> {
        let parts = self.access.parts(words);
        parts.ok_or_else(|| Fault::new(lane, "operands of a surface are missing"))
    }
}

impl Handle {
    /// The handle of a surface in a constant bank or in one uniform register.
    fn surface(i: &Fields<'_>) -> Result<Handle, String> {
        match i.inst.get(slot_name!("texture")).map(|operand| operand.kind) {
            Some(OperandKind::Reg(_)) if i.imm("word")? == 0 => {
                Ok(Handle { image: i.word("texture")?, sampler: None })
            }
            _ => Handle::bound(i, false),
        }
    }
}

fn bytes(i: &Fields<'_>) -> Result<u8, String> {
    if !i.is(value!(Variant = ".BA")) {
        return Err("an access that counts texels".to_string());
    }
    Ok(match i.modifier(ModKind::Size) {
        ".U8" => 1,
        ".U16" => 2,
        "" => 4,
        ".64" => 8,
        ".128" => 16,
        _ => return i.unknown(ModKind::Size),
    })
}

fn lane_words(operands: &[[u32; LANES]], lane: u32) -> Vec<u32> {
    operands.iter().map(|words| words[lane as usize]).collect()
}

/// `SULD.D`.
pub(super) fn load(i: &Fields<'_>) -> Decoded {
    let size = bytes(i)?;
    let surface = Surface::new(i, false, size)?;
    let d = i.dests("d", size.div_ceil(4))?;
    let pd = i.pred_dest("pd")?;
    Ok(Box::new(move |registers, step| {
        let operands = surface.operands(registers, &[]);
        let mut results = vec![[0; LANES]; d.len()];
        for lane in lanes_of(step.lanes) {
            let words = lane_words(&operands, lane);
            let parts = surface.parts(&words, lane)?;
            let loaded = step.memory.surface_load(lane, &surface.access, &parts)?;
            for (result, word) in results.iter_mut().zip(loaded) {
                result[lane as usize] = word;
            }
        }
        for (&dest, result) in d.iter().zip(&results) {
            registers.write(dest, step.lanes, |lane| result[lane]);
        }
        registers.write_pred(pd, step.lanes, 0);
        Ok(Flow::Next)
    }))
}

/// `SUST.D` and `SUST.P`.
pub(super) fn store(i: &Fields<'_>) -> Decoded {
    let texel = matches!(i.inst.op, Op::SUST_P | Op::SUST_P_R);
    let size = match (texel, i.modifier(ModKind::Components)) {
        (false, _) => bytes(i)?,
        (true, ".R") => 1,
        (true, ".RG") => 2,
        (true, _) => 4,
    };
    let surface = Surface::new(i, texel, size)?;
    let data = sources(i, "data")?;
    Ok(Box::new(move |registers, step| {
        let operands = surface.operands(registers, &data);
        for lane in lanes_of(step.lanes) {
            let words = lane_words(&operands, lane);
            let parts = surface.parts(&words, lane)?;
            step.memory.surface_store(lane, &surface.access, &parts)?;
        }
        Ok(Flow::Next)
    }))
}

/// `SURED.D`.
pub(super) fn update(i: &Fields<'_>) -> Decoded {
    let texel = !i.is(value!(Variant = ".BA"));
    let kind = i.modifier(ModKind::DataType);
    let is_signed = matches!(kind, ".S32" | ".S64");
    let op = match (i.modifier(ModKind::Atomic), is_signed) {
        (".ADD", _) => AtomicOp::Add,
        (".MIN", true) => AtomicOp::Smin,
        (".MIN", false) => AtomicOp::Umin,
        (".MAX", true) => AtomicOp::Smax,
        (".MAX", false) => AtomicOp::Umax,
        (".AND", _) => AtomicOp::And,
        (".OR", _) => AtomicOp::Or,
        _ => return i.unknown(ModKind::Atomic),
    };
    let bytes = match kind {
        "" | ".S32" | ".SD32" => 4,
        ".U64" | ".S64" | ".SD64" => 8,
        _ => return i.unknown(ModKind::DataType),
    };
    let decides = matches!(kind, ".SD32" | ".SD64");
    if decides && !texel {
        return i.unknown(ModKind::DataType);
    }
    let surface = Surface::new(i, texel, if texel { bytes / 4 } else { bytes })?;
    let data = sources(i, "data")?;
    Ok(Box::new(move |registers, step| {
        let operands = surface.operands(registers, &data);
        for lane in lanes_of(step.lanes) {
            let words = lane_words(&operands, lane);
            let parts = surface.parts(&words, lane)?;
            let value = parts.data.iter().rev().fold(0, |all, &word| all << 32 | u64::from(word));
            step.memory.surface_update(lane, &surface.access, &parts, op, value, bytes.into())?;
        }
        Ok(Flow::Next)
    }))
}
