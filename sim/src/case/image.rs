//! Images and samplers in a case.
//!
//! ```text
//! {"kind": "image", "name": "t", "shape": "2d", "size": [16, 8], "elem": "u8", "channels": 4,
//!  "normalized": true, "init": {"hex": "…"}, "tolerance": "exact",
//!  "sampler": {"filter": "linear", "address": ["wrap", "clamp"], "normalized": true}}
//! ```

use ptxc_semantics::image::{Address, Channel, Image, Kind, Sampler, TexelFormat};
use serde::Deserialize;

use super::{Content, Elem, RawTolerance};
use crate::images::Texels;

/// The greatest size of an image in a direction, and the greatest number of layers.
const MOST_TEXELS: u32 = 1 << 17;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSampler {
    /// The name of a sampler of the module.
    #[serde(default)]
    name: String,
    #[serde(default)]
    filter: Filter,
    #[serde(default)]
    mip_filter: Filter,
    #[serde(default)]
    address: Vec<RawAddress>,
    #[serde(default)]
    normalized: bool,
    #[serde(default)]
    min_level: f32,
    max_level: Option<f32>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Filter {
    #[default]
    Nearest,
    Linear,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawAddress {
    Wrap,
    Clamp,
    Mirror,
    Border,
}

/// The shape of an image, as PTX spells it.
#[derive(Clone, Copy, Deserialize)]
pub(super) enum RawShape {
    #[serde(rename = "1d")]
    Line,
    #[serde(rename = "2d")]
    Plane,
    #[serde(rename = "3d")]
    Volume,
    #[serde(rename = "cube")]
    Cube,
    #[serde(rename = "a1d")]
    Lines,
    #[serde(rename = "a2d")]
    Planes,
    #[serde(rename = "acube")]
    Cubes,
}

/// An image in a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawImage {
    pub(super) name: String,
    pub(super) elem: Elem,
    pub(super) init: Content,
    pub(super) expect: Option<Content>,
    pub(super) tolerance: RawTolerance,
    shape: RawShape,
    size: Vec<u32>,
    layers: Option<u32>,
    levels: Option<u32>,
    channels: u8,
    #[serde(default)]
    normalized: bool,
    sampler: Option<RawSampler>,
}

impl RawSampler {
    /// The name of the sampler in the module; empty if it has none.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn check(&self) -> Result<Sampler, String> {
        if self.address.len() > 3 {
            return Err("a sampler has at most three addresses".to_string());
        }
        let mut address = [Address::Clamp; 3];
        for (to, from) in address.iter_mut().zip(&self.address) {
            *to = match *from {
                RawAddress::Wrap => Address::Wrap,
                RawAddress::Clamp => Address::Clamp,
                RawAddress::Mirror => Address::Mirror,
                RawAddress::Border => Address::Border,
            };
        }
        let level = |level: f32| match (0.0..=32.0).contains(&level) {
            true => Ok((level * 256.0).round() as u32),
            false => Err(format!("the level {level} is not from 0 to 32")),
        };
        Ok(Sampler {
            address,
            linear: self.filter == Filter::Linear,
            mixes_levels: self.mip_filter == Filter::Linear,
            normalized: self.normalized,
            levels: [level(self.min_level)?, level(self.max_level.unwrap_or(32.0))?],
        })
    }
}

impl RawImage {
    /// The shape and the format of its texels, and its sampler.
    pub(super) fn texels(&self) -> Result<Texels, String> {
        let (kind, has_layers) = match self.shape {
            RawShape::Line => (Kind::Line, false),
            RawShape::Plane => (Kind::Plane, false),
            RawShape::Volume => (Kind::Volume, false),
            RawShape::Cube => (Kind::Cube, false),
            RawShape::Lines => (Kind::Line, true),
            RawShape::Planes => (Kind::Plane, true),
            RawShape::Cubes => (Kind::Cube, true),
        };
        if self.size.len() != kind.dimensions() {
            return Err(format!("it needs {} sizes", kind.dimensions()));
        }
        if has_layers != self.layers.is_some() {
            return Err("an array has `layers`, and other shapes do not".to_string());
        }
        let mut size = [1; 3];
        size.iter_mut().zip(&self.size).for_each(|(to, &from)| *to = from);
        let sizes = size.into_iter().chain(self.layers);
        if !sizes.into_iter().all(|size| (1..=MOST_TEXELS).contains(&size)) {
            return Err(format!("a size is from 1 to {MOST_TEXELS}"));
        }
        if kind == Kind::Cube && size[0] != size[1] {
            return Err("the faces of a cube are squares".to_string());
        }
        let levels = self.levels.unwrap_or(1);
        let greatest = size.into_iter().max().unwrap_or(1);
        if levels == 0 || levels > greatest.ilog2() + 1 {
            return Err(format!("it cannot have {levels} levels"));
        }
        let channel = match self.elem {
            Elem::U8 => Channel::Unsigned(8),
            Elem::S8 => Channel::Signed(8),
            Elem::U16 => Channel::Unsigned(16),
            Elem::S16 => Channel::Signed(16),
            Elem::U32 => Channel::Unsigned(32),
            Elem::S32 => Channel::Signed(32),
            Elem::F16 => Channel::Half,
            Elem::F32 => Channel::Single,
            Elem::U64 | Elem::S64 | Elem::Bf16 | Elem::F64 => {
                return Err(format!("no texel has components of {}", self.elem.name()));
            }
        };
        if !matches!(self.channels, 1 | 2 | 4) {
            return Err("a texel has 1, 2 or 4 components".to_string());
        }
        if self.normalized && (channel.is_float() || channel.bytes() > 2) {
            return Err("only integers of 8 and 16 bits are normalized".to_string());
        }
        let format = TexelFormat { channel, count: self.channels, normalized: self.normalized };
        let sampler = self.sampler.as_ref().map(RawSampler::check).transpose()?;
        if sampler.is_some_and(|sampler| sampler.linear || sampler.mixes_levels) && !format.reads_float() {
            return Err("a linear filter needs floats or normalized integers".to_string());
        }
        Ok(Texels { image: Image { kind, size, layers: self.layers, levels }, format, sampler })
    }
}
