//! Textures and surfaces of a launch.
//!
//! The texels of an image are an allocation of global memory, without gaps: `ptxc_semantics::image`
//! defines their order. A handle has the number of the image in its low 20 bits, and the number of
//! a sampler in the 11 bits above them; both count from 1. A texture without such a number has the
//! sampler of its description. Bit 31 has no meaning: before sm_90, ptxas's code sets it in the
//! address of a variable.
//!
//! `txq` and `suq` read most properties from tables of the driver, whose entries have the numbers of
//! the handles. ptxas's code shows the places of the properties. The size of an entry is a number of
//! the driver, so it may be anything here.

use std::collections::BTreeMap;

use ptxc_ir::{Space, SpecialReg};
use ptxc_sass::program::ImageKind;
use ptxc_semantics::image::{Address, Channel, Image, Sampler, TexelFormat};

/// The number of bits of the number of an image in a handle.
pub(crate) const SAMPLER_SHIFT: u32 = 20;

/// The number of a sampler in the handle of a texture.
pub(crate) fn sampler_of(handle: u32) -> u32 {
    handle << 1 >> (SAMPLER_SHIFT + 1)
}

/// The bytes of an entry of each of the driver's tables.
pub(crate) const ENTRY_BYTES: u32 = 64;

/// Whether a name stands for the size of an entry of one of the driver's tables.
pub(crate) fn is_entry_size(name: &str) -> bool {
    let registers = [
        SpecialReg::SampledTextureBytes,
        SpecialReg::TextureBytes,
        SpecialReg::SamplerBytes,
        SpecialReg::SurfaceBytes,
    ];
    registers.iter().any(|register| register.loaded_symbol() == Some(name))
}

/// An image, its texels, and how a surface or texture reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Texels {
    /// The sizes.
    pub image: Image,
    /// The format.
    pub format: TexelFormat,
    /// The sampler that the handle names too.
    pub sampler: Option<Sampler>,
}

impl Texels {
    /// The size of all texels in bytes; `None` if it is very large.
    pub fn bytes(&self) -> Option<u64> {
        self.image.texels()?.checked_mul(self.format.bytes().into())
    }
}

/// The images and samplers of a grid.
#[derive(Clone, Debug, Default)]
pub(crate) struct Images {
    images: Vec<(Texels, u64)>,
    samplers: Vec<Sampler>,
    /// The addresses of the driver's tables of textures, samplers and surfaces.
    tables: [u64; 3],
    /// The numbers of the images and samplers that the module knows by name.
    named: BTreeMap<String, Named>,
}

/// The number of an image or sampler that has a name.
#[derive(Clone, Copy, Debug)]
enum Named {
    Image(u32),
    Sampler(u32),
}

impl Images {
    /// Adds an image whose texels are at an address, and returns its handle.
    pub fn add(&mut self, texels: Texels, address: u64) -> u64 {
        self.images.push((texels, address));
        self.images.len() as u64
    }

    /// Adds a sampler, and returns its handle.
    pub fn add_sampler(&mut self, sampler: Sampler) -> u64 {
        self.samplers.push(sampler);
        self.samplers.len() as u64
    }

    /// Lets a texture or surface of the module stand for the image with a handle.
    pub fn name_image(&mut self, name: &str, handle: u64) {
        self.named.insert(name.to_string(), Named::Image(handle as u32));
    }

    /// The same for a sampler.
    pub fn name_sampler(&mut self, name: &str, handle: u64) {
        self.named.insert(name.to_string(), Named::Sampler(handle as u32));
    }

    /// The number of a texture, sampler or surface of the module.
    pub fn number(&self, name: &str, kind: ImageKind) -> Result<u32, String> {
        let is_sampler = matches!(kind, ImageKind::Sampler | ImageKind::UpperSampler);
        match (self.named.get(name), is_sampler) {
            (Some(&Named::Image(number)), false) | (Some(&Named::Sampler(number)), true) => Ok(number),
            (Some(_), true) => Err(format!("the case gives an image for the sampler `{name}`")),
            (Some(_), false) => Err(format!("the case gives a sampler for `{name}`")),
            (None, true) => Err(format!("the case has no sampler `{name}`")),
            (None, false) => Err(format!("the case has no image `{name}`")),
        }
    }

    /// The address of a texture, sampler or surface in the content of a variable. The case does not tell
    /// textures and surfaces apart; one with a sampler of its own is a texture.
    pub fn address(&self, name: &str) -> Option<u64> {
        let (number, space) = match *self.named.get(name)? {
            Named::Sampler(number) => (number, Space::Sampler),
            Named::Image(number) => match self.image(number) {
                Ok((Texels { sampler: Some(_), .. }, _)) => (number, Space::Texture),
                _ => (number, Space::Surface),
            },
        };
        Some(u64::from(space.image_bit()) << 32 | u64::from(number))
    }

    /// The image of a handle, and the address of its texels.
    pub fn image(&self, handle: u32) -> Result<(Texels, u64), String> {
        let number = handle & ((1 << SAMPLER_SHIFT) - 1);
        let found = (number as usize).checked_sub(1).and_then(|index| self.images.get(index));
        found.cloned().ok_or_else(|| format!("{handle:#x} is not the handle of a texture or surface"))
    }

    /// The sampler with a number, or if the number is 0, that of a texture.
    pub fn sampler(&self, number: u32, own: Option<Sampler>) -> Result<Sampler, String> {
        if number == 0 {
            return own.ok_or_else(|| "a texture without a sampler".to_string());
        }
        let found = (number as usize).checked_sub(1).and_then(|index| self.samplers.get(index));
        found.copied().ok_or_else(|| format!("{number:#x} is not the number of a sampler"))
    }

    /// The addresses of the driver's tables of textures, samplers and surfaces.
    pub fn tables(&self) -> [u64; 3] {
        self.tables
    }

    /// Sets these addresses.
    pub fn set_tables(&mut self, tables: [u64; 3]) {
        self.tables = tables;
    }

    /// The contents of these tables, for a module with separate samplers or without.
    pub fn descriptions(&self, has_samplers: bool) -> [Vec<u8>; 3] {
        let images = || self.images.iter().map(|(texels, _)| texels);
        let textures = images().map(|texels| match has_samplers {
            true => texture(texels).to_vec(),
            false => sampled_texture(texels).to_vec(),
        });
        let samplers = self.samplers.iter().map(|sampler| {
            let unnormalized = u32::from(!sampler.normalized);
            filtering(Some(sampler)).into_iter().chain([unnormalized]).collect()
        });
        let surfaces = images().map(|texels| surface(texels).to_vec());
        [table(textures), table(samplers), table(surfaces)]
    }
}

/// The bytes of a table with these entries after an empty one.
fn table(entries: impl Iterator<Item = Vec<u32>>) -> Vec<u8> {
    let mut bytes = vec![0; ENTRY_BYTES as usize];
    for entry in entries {
        let end = bytes.len() + ENTRY_BYTES as usize;
        bytes.extend(entry.into_iter().flat_map(u32::to_le_bytes));
        bytes.resize(end, 0);
    }
    bytes
}

/// The numbers of PTX for the type and the order of components.
fn format(format: TexelFormat) -> [u32; 2] {
    let kind = match (format.channel, format.normalized) {
        (Channel::Signed(8), true) => 0x10d0,
        (Channel::Signed(_), true) => 0x10d1,
        (Channel::Unsigned(8), true) => 0x10d2,
        (Channel::Unsigned(_), true) => 0x10d3,
        (Channel::Signed(8), false) => 0x10d7,
        (Channel::Signed(16), false) => 0x10d8,
        (Channel::Signed(_), false) => 0x10d9,
        (Channel::Unsigned(8), false) => 0x10da,
        (Channel::Unsigned(16), false) => 0x10db,
        (Channel::Unsigned(_), false) => 0x10dc,
        (Channel::Half, _) => 0x10dd,
        (Channel::Single, _) => 0x10de,
    };
    let order = match format.count {
        1 => 0x10b0,
        2 => 0x10b2,
        _ => 0x10b5,
    };
    [kind, order]
}

/// How a sampler treats outer coordinates, and whether it mixes texels.
fn filtering(sampler: Option<&Sampler>) -> [u32; 4] {
    let Some(sampler) = sampler else { return [0; 4] };
    let [x, y, z] = sampler.address.map(|address| match address {
        Address::Wrap => 0,
        Address::Mirror => 1,
        Address::Clamp => 3,
        Address::Border => 4,
    });
    [x, y, z, u32::from(sampler.linear)]
}

/// The numbers of layers, levels and samples; 0 if the image has no such parts.
fn counts(image: &Image) -> [u32; 3] {
    let levels = if image.levels > 1 { image.levels } else { 0 };
    [image.layers.unwrap_or(0), levels, 0]
}

/// A texture in the table of a module without separate samplers.
fn sampled_texture(texels: &Texels) -> [u32; 13] {
    let sampler = texels.sampler.as_ref();
    let [width, height, depth] = texels.image.query(0);
    let [x, y, z, filter] = filtering(sampler);
    let normalized = sampler.map_or(0, |sampler| u32::from(sampler.normalized));
    let ([kind, order], [layers, levels, samples]) = (format(texels.format), counts(&texels.image));
    [width, height, depth, x, y, z, filter, normalized, kind, order, layers, levels, samples]
}

/// A texture in the table of a module with separate samplers, which decide about its coordinates.
fn texture(texels: &Texels) -> [u32; 9] {
    let [width, height, depth] = texels.image.query(0);
    let ([kind, order], [layers, levels, samples]) = (format(texels.format), counts(&texels.image));
    [width, height, depth, 1, kind, order, layers, levels, samples]
}

/// A surface; its texels are never in one row after another.
fn surface(texels: &Texels) -> [u32; 8] {
    let [width, height, depth] = texels.image.query(0);
    let ([kind, order], [layers, ..]) = (format(texels.format), counts(&texels.image));
    [width, height, depth, kind, order, 0, 0, layers]
}
