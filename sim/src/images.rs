//! Textures and surfaces of a launch.
//!
//! The texels of an image are an allocation of global memory, without gaps: `ptxc_semantics::image`
//! defines their order. A handle has the number of the image in its low 20 bits, and the number of
//! a sampler in the 12 bits above them; both count from 1.

use ptxc_semantics::image::{Image, Sampler, TexelFormat};

/// The number of bits of the number of an image in a handle.
pub(crate) const SAMPLER_SHIFT: u32 = 20;

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
}

impl Images {
    /// Adds an image whose texels are at an address, and returns its handle.
    pub fn add(&mut self, texels: Texels, address: u64) -> u64 {
        let sampler = texels.sampler.map_or(0, |sampler| self.add_sampler(sampler));
        self.images.push((texels, address));
        self.images.len() as u64 | sampler << SAMPLER_SHIFT
    }

    /// Adds a sampler, and returns its handle.
    pub fn add_sampler(&mut self, sampler: Sampler) -> u64 {
        self.samplers.push(sampler);
        self.samplers.len() as u64
    }

    /// The image of a handle, and the address of its texels.
    pub fn image(&self, handle: u32) -> Result<(Texels, u64), String> {
        let number = handle & ((1 << SAMPLER_SHIFT) - 1);
        let found = (number as usize).checked_sub(1).and_then(|index| self.images.get(index));
        found.cloned().ok_or_else(|| format!("{handle:#x} is not the handle of a texture or surface"))
    }

    /// A sampler by its number.
    pub fn sampler(&self, number: u32) -> Result<Sampler, String> {
        let found = (number as usize).checked_sub(1).and_then(|index| self.samplers.get(index));
        found.copied().ok_or_else(|| format!("{number:#x} is not the number of a sampler"))
    }
}
