//! Operations on textures and surfaces in one lane.
//!
//! These points are choices, because no document and no test on hardware says more: a texel outside
//! of a texture is zero if it is read at whole coordinates, a level outside is moved inside, and an
//! access to a surface must be aligned to its size.

use ptxc_ir::{
    AtomicOp, Dimension, Fetch, Outside, Sampling, SamplingParts, Shape, SurfaceAccess, SurfaceParts,
};
use ptxc_sass::program::ImageKind;
use ptxc_semantics::image::{
    Image, Kind, Place, Request, Sampler, TexelFormat, face_of, gather, gradient_level, sample,
};
use ptxc_semantics::{F16, F32, Mode, convert, image};

use super::{AccessKind, GridMemory, Memory, Space, read_le, write_le};
use crate::error::{Fault, SimError};
use crate::images::{SAMPLER_SHIFT, Texels, sampler_of};
use crate::integer_update::integer_update;

/// Whether an image has the shape that an instruction names.
fn check_shape(image: &Image, shape: Shape, is_surface: bool) -> Result<(), String> {
    let fits = match shape {
        Shape::Line => image.kind == Kind::Line,
        // Filtered reads of a row name a plane.
        Shape::Plane => image.kind == Kind::Plane || image.kind == Kind::Line && !is_surface,
        Shape::Volume => image.kind == Kind::Volume,
        Shape::Cube => image.kind == Kind::Cube,
        Shape::Lines => image.kind == Kind::Line,
        Shape::Planes => image.kind == Kind::Plane || image.kind == Kind::Cube && is_surface,
        Shape::Cubes => image.kind == Kind::Cube,
        Shape::Samples | Shape::SamplePlanes => return Err("several samples for a texel".to_string()),
    };
    let has_layers = image.layers.is_some() || image.kind == Kind::Cube && is_surface;
    if fits && shape.has_layers() == has_layers {
        return Ok(());
    }
    let layers = if image.layers.is_some() { "layers of " } else { "" };
    Err(format!("an access to `{shape}` in an image that is {layers}{:?}", image.kind))
}

/// A part of a packed offset.
fn offsets(word: u32, is_gather: bool) -> [i32; 3] {
    let (bits, distance) = if is_gather { (6, 8) } else { (4, 4) };
    std::array::from_fn(|n| (word >> (n as u32 * distance)) as i32)
        .map(|part| part << (32 - bits) >> (32 - bits))
}

impl GridMemory {
    /// Writes the numbers of textures, samplers and surfaces into their words after the parameters.
    pub fn number_images<'a>(
        &mut self,
        words: impl Iterator<Item = (u32, ImageKind, &'a str)>,
    ) -> Result<(), SimError> {
        for (offset, kind, name) in words {
            let number = self.images.number(name, kind).map_err(SimError::Case)?;
            let number = if kind == ImageKind::UpperSampler { number << SAMPLER_SHIFT } else { number };
            let start = offset as usize;
            // A handle has 64 bits, and only the lower half counts.
            if self.params.len() < start + 8 {
                self.params.resize(start + 8, 0);
            }
            let word = &mut self.params[start..start + 4];
            let old = read_le(word);
            write_le(word, old | u64::from(number));
        }
        Ok(())
    }

    /// Puts the driver's tables of textures, samplers and surfaces into global memory.
    pub fn describe_images(&mut self, has_samplers: bool) {
        let descriptions = self.images.descriptions(has_samplers);
        let names = ["table of textures", "table of samplers", "table of surfaces"];
        let mut tables = [0; 3];
        for ((table, name), content) in tables.iter_mut().zip(names).zip(descriptions) {
            *table = self.global.allocate(name, content);
        }
        self.images.set_tables(tables);
    }
}

impl Memory<'_> {
    /// Reads a texture for a lane: four words, or two with halves.
    pub fn texture(
        &mut self,
        lane: u32,
        sampling: &Sampling,
        parts: &SamplingParts<'_, u32>,
    ) -> Result<[u32; 4], Fault> {
        let fault = |why: String| Fault::new(lane, why);
        let (texels, base) = self.grid.images.image(parts.handle).map_err(fault)?;
        check_shape(&texels.image, sampling.shape, false).map_err(fault)?;
        if sampling.compare {
            return Err(fault("a comparison with a texture".to_string()));
        }
        let words = if sampling.fetch.is_texel() {
            self.texel(lane, &texels, base, parts)?
        } else {
            let number = parts.sampler.unwrap_or_else(|| sampler_of(parts.handle));
            let sampler = self.grid.images.sampler(number, texels.sampler).map_err(fault)?;
            self.filtered(lane, &texels, base, &sampler, (sampling, parts))?
        };
        if !sampling.half {
            return Ok(words);
        }
        if !texels.format.reads_float() {
            return Err(fault("integers of a texture as halves".to_string()));
        }
        let halves = words.map(|word| convert::float_to_float(F32, F16, word.into(), Mode::IEEE) as u32);
        Ok([halves[0] | halves[1] << 16, halves[2] | halves[3] << 16, 0, 0])
    }

    /// The words of the texel at a place that exists.
    fn texel_at(&mut self, lane: u32, texels: &Texels, base: u64, place: Place) -> Result<[u32; 4], Fault> {
        let start = base + texels.image.index(place) * u64::from(texels.format.bytes());
        let mut bytes = [0; 16];
        let size = texels.format.channel.bytes();
        for channel in 0..u32::from(texels.format.count) {
            let at = start + u64::from(channel * size);
            let slice = self.access(Space::Global, lane, at, size, AccessKind::Read)?;
            bytes[(channel * size) as usize..][..size as usize].copy_from_slice(slice);
        }
        Ok(texels.format.read(&bytes[..texels.format.bytes() as usize]))
    }

    /// The texel at whole coordinates; zeros outside.
    fn texel(
        &mut self,
        lane: u32,
        texels: &Texels,
        base: u64,
        parts: &SamplingParts<'_, u32>,
    ) -> Result<[u32; 4], Fault> {
        let image = &texels.image;
        let level = parts.level.unwrap_or(0) as i32;
        let level = level.clamp(0, image.levels.max(1) as i32 - 1) as u32;
        let size = image.size_of(level);
        let offset = parts.offset.map_or([0; 3], |word| offsets(word, false));
        let mut texel = [0; 3];
        for axis in 0..image.kind.dimensions() {
            let given = parts.place.get(axis).copied().unwrap_or(0) as i32;
            let place = i64::from(given) + i64::from(offset[axis]);
            if place < 0 || place >= i64::from(size[axis]) {
                return Ok([0; 4]);
            }
            texel[axis] = place as u32;
        }
        let last = image.layers.unwrap_or(1).max(1) - 1;
        let face = parts.layer.unwrap_or(0).min(last) * image.kind.faces();
        self.texel_at(lane, texels, base, Place { level, face, texel })
    }

    fn filtered(
        &mut self,
        lane: u32,
        texels: &Texels,
        base: u64,
        sampler: &Sampler,
        (sampling, parts): (&Sampling, &SamplingParts<'_, u32>),
    ) -> Result<[u32; 4], Fault> {
        let image = &texels.image;
        let part = |n: usize| f32::from_bits(parts.place.get(n).copied().unwrap_or(0));
        let layer = parts.layer.unwrap_or(0).min(image.layers.unwrap_or(1).max(1) - 1);
        let (mut face, mut place) = (layer * image.kind.faces(), [0, 1, 2].map(|n| f64::from(part(n))));
        let mut own = *sampler;
        if image.kind == Kind::Cube {
            let (side, [s, t]) = face_of([0, 1, 2].map(part));
            (face, place) = (face + side, [s, t, 0.0]);
            own.normalized = true;
        }
        let level = match sampling.fetch {
            // Below the least level of any sampler.
            Fetch::Least => -32.0,
            Fetch::Gradient => {
                let pairs = parts.gradient.chunks(2);
                let pair = |pair: &[u32]| [0, 1].map(|n| f32::from_bits(pair.get(n).copied().unwrap_or(0)));
                let mut gradient = [[0.0; 2]; 3];
                gradient.iter_mut().zip(pairs).for_each(|(to, from)| *to = pair(from));
                gradient_level(image, &own, &gradient)
            }
            _ => f32::from_bits(parts.level.unwrap_or(0)),
        };
        let component = sampling.fetch.gathered();
        let offset = parts.offset.map_or([0; 3], |word| offsets(word, component.is_some()));
        let request = Request { face, place, offset, level };
        let mut read = |place| self.texel_at(lane, texels, base, place);
        if let Some(component) = component {
            return gather(image, &own, &request, component, &mut read);
        }
        if !texels.format.reads_float() && (own.linear || own.mixes_levels) {
            own = Sampler { linear: false, mixes_levels: false, ..own };
        }
        sample(image, &own, &request, &mut read)
    }

    /// The address of the first texel of an image, for the log of accesses.
    pub fn first_texel(&self, handle: u32) -> u64 {
        self.grid.images.image(handle).map_or(0, |(_, base)| base)
    }

    /// The addresses of the driver's tables of textures, samplers and surfaces.
    pub fn image_tables(&self) -> [u64; 3] {
        self.grid.images.tables()
    }

    /// A size of an image.
    pub fn image_size(&self, lane: u32, handle: u32, dimension: Dimension, level: u32) -> Result<u32, Fault> {
        let (texels, _) = self.grid.images.image(handle).map_err(|why| Fault::new(lane, why))?;
        let [width, height, depth] = texels.image.query(level);
        Ok(match dimension {
            Dimension::Width => width,
            Dimension::Height => height,
            Dimension::Depth => depth,
        })
    }

    /// The address of an access to a surface; `None` if it is outside and has no effect.
    fn surface_place(
        &mut self,
        lane: u32,
        surface: &SurfaceAccess,
        parts: &SurfaceParts<'_, u32>,
        bytes: u32,
    ) -> Result<Option<(u64, TexelFormat)>, Fault> {
        let fault = |why: String| Fault::new(lane, why);
        let (texels, base) = self.grid.images.image(parts.handle).map_err(fault)?;
        let (image, format) = (&texels.image, texels.format);
        check_shape(image, surface.shape, true).map_err(fault)?;
        let first = parts.place.first().copied().unwrap_or(0);
        if !surface.texel && !first.is_multiple_of(bytes) {
            return Err(fault(format!("an access of {bytes} bytes at byte {first} of a row")));
        }
        let [width, height, depth] = image.size;
        // The first coordinate counts texels, or bytes.
        let (units, size) = match surface.texel {
            true => (i64::from(width), 1),
            false => (i64::from(width) * i64::from(format.bytes()), i64::from(bytes)),
        };
        let faces = image.faces() as i64;
        let given = |axis: usize| i64::from(parts.place.get(axis).copied().unwrap_or(0) as i32);
        let mut place =
            [given(0), given(1), given(2), parts.layer.map_or(0, |layer| i64::from(layer as i32))];
        if size > units {
            return Err(fault(format!("an access of {size} bytes to a row of {units}")));
        }
        let last = [units - size, i64::from(height) - 1, i64::from(depth) - 1, faces - 1];
        let is_inside = place.iter().zip(last).all(|(place, last)| (0..=last).contains(place));
        if !is_inside {
            match surface.outside {
                Outside::Zero => return Ok(None),
                Outside::Trap => {
                    let [x, y, z, layer] = place;
                    return Err(fault(format!("({x}, {y}, {z}), layer {layer}, is outside of the surface")));
                }
                Outside::Clamp => {
                    place = std::array::from_fn(|axis| place[axis].clamp(0, last[axis].max(0)));
                    // The nearest access that is aligned.
                    place[0] -= place[0] % size;
                }
            }
        }
        let [x, y, z, face] = place.map(|one| one as u64);
        let row = (face * u64::from(depth) + z) * u64::from(height) + y;
        let unit = if surface.texel { u64::from(format.bytes()) } else { 1 };
        let start = row * u64::from(width) * u64::from(format.bytes()) + x * unit;
        Ok(Some((base + start, format)))
    }

    /// A byte of a row: a row need not be aligned, in contrast to the place in it.
    fn byte(&mut self, lane: u32, address: u64, number: u32, kind: AccessKind) -> Result<&mut u8, Fault> {
        let slice = self.access(Space::Global, lane, address + u64::from(number), 1, kind)?;
        slice.first_mut().ok_or_else(|| Fault::new(lane, "a byte of a surface is missing"))
    }

    /// Loads words from a surface for a lane.
    pub fn surface_load(
        &mut self,
        lane: u32,
        surface: &SurfaceAccess,
        parts: &SurfaceParts<'_, u32>,
    ) -> Result<[u32; 4], Fault> {
        let bytes = u32::from(surface.size);
        let mut words = [0; 4];
        if let Some((address, _)) = self.surface_place(lane, surface, parts, bytes)? {
            for number in 0..bytes {
                let byte = self.byte(lane, address, number, AccessKind::Read)?;
                words[(number / 4) as usize] |= u32::from(*byte) << (8 * (number % 4));
            }
        }
        Ok(words)
    }

    /// Stores words or a texel to a surface for a lane.
    pub fn surface_store(
        &mut self,
        lane: u32,
        surface: &SurfaceAccess,
        parts: &SurfaceParts<'_, u32>,
    ) -> Result<(), Fault> {
        let bytes = u32::from(surface.size);
        let Some((address, format)) = self.surface_place(lane, surface, parts, bytes)? else { return Ok(()) };
        if !surface.texel {
            for number in 0..bytes {
                let word = parts.data.get((number / 4) as usize).copied().unwrap_or(0);
                *self.byte(lane, address, number, AccessKind::Write)? = (word >> (8 * (number % 4))) as u8;
            }
            return Ok(());
        }
        let size = format.channel.bytes();
        let mut texel = [0; 16];
        let count = usize::from(surface.size).min(parts.data.len());
        format.write(&parts.data[..count], &mut texel[..format.bytes() as usize]);
        for channel in 0..u32::from(format.count) {
            let at = address + u64::from(channel * size);
            let slice = self.access(Space::Global, lane, at, size, AccessKind::Write)?;
            slice.copy_from_slice(&texel[(channel * size) as usize..][..size as usize]);
        }
        Ok(())
    }

    /// Updates a word or a pair of words of a surface for a lane.
    pub fn surface_update(
        &mut self,
        lane: u32,
        surface: &SurfaceAccess,
        parts: &SurfaceParts<'_, u32>,
        op: AtomicOp,
        value: u64,
        bytes: u32,
    ) -> Result<(), Fault> {
        let Some((address, format)) = self.surface_place(lane, surface, parts, bytes)? else { return Ok(()) };
        let mut op = op;
        if surface.texel {
            let is_signed = matches!(format.channel, image::Channel::Signed(_));
            if format.channel.is_float() || format.bytes() != bytes {
                let why = format!("an update of {bytes} bytes of a texel of {}", format.bytes());
                return Err(Fault::new(lane, why));
            }
            op = match op {
                AtomicOp::Umin if is_signed => AtomicOp::Smin,
                AtomicOp::Umax if is_signed => AtomicOp::Smax,
                other => other,
            };
        }
        let mut old = 0;
        for number in 0..bytes {
            old |= u64::from(*self.byte(lane, address, number, AccessKind::Read)?) << (8 * number);
        }
        let new = integer_update(op, bytes, old, value)
            .ok_or_else(|| Fault::new(lane, format!("the update {op} of a surface")))?;
        for number in 0..bytes {
            *self.byte(lane, address, number, AccessKind::Write)? = (new >> (8 * number)) as u8;
        }
        Ok(())
    }
}
