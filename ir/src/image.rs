//! The properties of operations on textures and surfaces.
//!
//! ```text
//! texture.level.a2d.offset v0, v1, v2, v3, v4, v5       handle, layer, x, y, level, offset
//! surface_store.3d.clamp.b4 v0, v1, v2, v3, v4          handle, x, y, z, a word
//! ```

use crate::memory::{CacheOp, spelled};

spelled! {
    /// The shape of a texture or surface.
    Shape {
        /// A row.
        Line = "1d",
        /// A rectangle.
        Plane = "2d",
        /// A box.
        Volume = "3d",
        /// Six squares around a point; coordinates are a direction.
        Cube = "cube",
        /// Layers of rows.
        Lines = "a1d",
        /// Layers of rectangles.
        Planes = "a2d",
        /// Layers of cubes.
        Cubes = "acube",
        /// A rectangle with several samples for each texel.
        Samples = "2dms",
        /// Layers of those.
        SamplePlanes = "a2dms",
    }
}

impl Shape {
    /// The number of coordinates in a layer.
    pub const fn coordinates(self) -> usize {
        match self {
            Shape::Line | Shape::Lines => 1,
            Shape::Plane | Shape::Planes | Shape::Samples | Shape::SamplePlanes => 2,
            Shape::Volume | Shape::Cube | Shape::Cubes => 3,
        }
    }

    /// Whether there are layers.
    pub const fn has_layers(self) -> bool {
        matches!(self, Shape::Lines | Shape::Planes | Shape::Cubes | Shape::SamplePlanes)
    }

    /// Whether a texel has several samples.
    pub const fn has_samples(self) -> bool {
        matches!(self, Shape::Samples | Shape::SamplePlanes)
    }

    /// Whether coordinates are a direction.
    pub const fn is_cube(self) -> bool {
        matches!(self, Shape::Cube | Shape::Cubes)
    }
}

spelled! {
    /// What a texture operation reads.
    Fetch {
        /// A filtered value at the least level that the sampler allows.
        Least = "least",
        /// A filtered value at a level, an `f32`.
        Level = "level",
        /// A filtered value at the level that two derivatives of each coordinate give: by x and by
        /// y for the first coordinate, and so on.
        Gradient = "gradient",
        /// The texel at whole coordinates, at level 0.
        Texel = "texel",
        /// The texel at whole coordinates and a whole level.
        TexelOfLevel = "texel_of_level",
        /// The first component of the four texels that a filter would mix.
        GatherR = "gather_r",
        /// Their second component.
        GatherG = "gather_g",
        /// Their third component.
        GatherB = "gather_b",
        /// Their fourth component.
        GatherA = "gather_a",
    }
}

impl Fetch {
    /// The component of a gather.
    pub const fn gathered(self) -> Option<usize> {
        match self {
            Fetch::GatherR => Some(0),
            Fetch::GatherG => Some(1),
            Fetch::GatherB => Some(2),
            Fetch::GatherA => Some(3),
            _ => None,
        }
    }

    /// Whether coordinates are whole numbers, and no filter is applied.
    pub const fn is_texel(self) -> bool {
        matches!(self, Fetch::Texel | Fetch::TexelOfLevel)
    }
}

/// The next operand, if there should be one; `None` if it is missing.
fn next<T: Copy>(rest: &mut &[T], is_there: bool) -> Option<Option<T>> {
    if is_there { rest.split_off_first().map(|&one| Some(one)) } else { Some(None) }
}

/// A read of a texture, without its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sampling {
    /// What is read.
    pub fetch: Fetch,
    /// The shape.
    pub shape: Shape,
    /// Whether the components are `f16`, two to a word.
    pub half: bool,
    /// Whether the sampler has a handle of its own.
    pub sampler: bool,
    /// Whether an offset in texels is added to the coordinates: 4 bits each, from bit 0 on; for a
    /// gather 6 bits each, from bits 0 and 8 on.
    pub offset: bool,
    /// Whether an `f32` is compared with the first component.
    pub compare: bool,
}

/// The operands of a read of a texture.
#[derive(Clone, Copy, Debug)]
pub struct SamplingParts<'a, T> {
    /// The handle.
    pub handle: T,
    /// The handle of the sampler.
    pub sampler: Option<T>,
    /// The number of the layer.
    pub layer: Option<T>,
    /// The coordinates.
    pub place: &'a [T],
    /// The number of the sample.
    pub sample: Option<T>,
    /// The level.
    pub level: Option<T>,
    /// The derivatives.
    pub gradient: &'a [T],
    /// The offset.
    pub offset: Option<T>,
    /// The number to compare with.
    pub compare: Option<T>,
}

impl Sampling {
    /// The number of words of the result.
    pub const fn words(&self) -> u8 {
        if self.half { 2 } else { 4 }
    }

    const fn has_level(&self) -> bool {
        matches!(self.fetch, Fetch::Level | Fetch::TexelOfLevel)
    }

    const fn derivatives(&self) -> usize {
        match self.fetch {
            Fetch::Gradient => 2 * self.shape.coordinates(),
            _ => 0,
        }
    }

    /// Whether a read may have derivatives. Their level must be computed for three coordinates, and for
    /// a comparison.
    pub const fn may_have_derivatives(&self) -> bool {
        self.shape.coordinates() < 3 && !self.compare
    }

    /// The number of arguments after the handles, all of 32 bits.
    pub(crate) fn words_after_handles(&self) -> usize {
        let flags =
            [self.shape.has_layers(), self.shape.has_samples(), self.has_level(), self.offset, self.compare];
        let words = flags.into_iter().filter(|&flag| flag).count();
        words + self.shape.coordinates() + self.derivatives()
    }

    /// Why there is no such read; `None` if there is.
    pub fn problem(&self) -> Option<String> {
        let (fetch, shape) = (self.fetch, self.shape);
        if shape.has_samples() && fetch != Fetch::Texel || shape.is_cube() && fetch.is_texel() {
            return Some(format!("no {fetch} of a texture that is {shape}"));
        }
        if fetch.gathered().is_some() && shape.coordinates() == 1
            || fetch.gathered().is_some() && shape == Shape::Volume
        {
            return Some(format!("no {fetch} of a texture that is {shape}"));
        }
        if fetch == Fetch::Gradient && !self.may_have_derivatives() {
            return Some(format!("no {fetch} of {shape} or with a comparison"));
        }
        let is_wrong =
            self.compare && (fetch.is_texel() || shape == Shape::Volume) || self.offset && shape.is_cube();
        is_wrong.then(|| format!("no offset or comparison with {fetch} of {shape}"))
    }

    /// The operands by their meaning; `None` if their number is wrong.
    pub fn parts<'a, T: Copy>(&self, operands: &'a [T]) -> Option<SamplingParts<'a, T>> {
        let (&handle, mut rest) = operands.split_first()?;
        let sampler = next(&mut rest, self.sampler)?;
        let layer = next(&mut rest, self.shape.has_layers())?;
        let place = rest.split_off(..self.shape.coordinates())?;
        let sample = next(&mut rest, self.shape.has_samples())?;
        let level = next(&mut rest, self.has_level())?;
        let gradient = rest.split_off(..self.derivatives())?;
        let offset = next(&mut rest, self.offset)?;
        let compare = next(&mut rest, self.compare)?;
        rest.is_empty().then_some(SamplingParts {
            handle,
            sampler,
            layer,
            place,
            sample,
            level,
            gradient,
            offset,
            compare,
        })
    }
}

spelled! {
    /// A size of a texture or surface.
    Dimension {
        /// The number of texels in a row.
        Width = "width",
        /// The number of rows.
        Height = "height",
        /// The number of planes.
        Depth = "depth",
    }
}

spelled! {
    /// The effect of an access outside of a surface.
    Outside {
        /// The grid ends with an error.
        Trap = "trap",
        /// The access is to the nearest place inside.
        Clamp = "clamp",
        /// A load gives zero, and a store does nothing.
        Zero = "zero",
    }
}

/// An access to a surface, without its operands: the handle, the layer if there is one, the
/// coordinates, the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SurfaceAccess {
    /// The shape.
    pub shape: Shape,
    /// The effect of an access outside.
    pub outside: Outside,
    /// Whether the data are components of a texel, which are converted to the format of the
    /// surface. The first coordinate then counts texels. Otherwise it counts bytes.
    pub texel: bool,
    /// The number of bytes, or of components.
    pub size: u8,
    /// The cache operator.
    pub cache: CacheOp,
    /// Whether a predicate, the last argument, decides whether the access is done. Made by
    /// legalization for accesses without a result.
    pub guarded: bool,
}

/// The operands of an access to a surface.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceParts<'a, T> {
    /// The handle.
    pub handle: T,
    /// The number of the layer.
    pub layer: Option<T>,
    /// The coordinates.
    pub place: &'a [T],
    /// The words that are written.
    pub data: &'a [T],
    /// The predicate that decides.
    pub guard: Option<T>,
}

impl SurfaceAccess {
    /// The number of words of the data.
    pub const fn words(&self) -> u8 {
        if self.texel { self.size } else { self.size.div_ceil(4) }
    }

    /// The number of arguments that name the place.
    pub(crate) const fn place_arguments(&self) -> usize {
        self.shape.has_layers() as usize + self.shape.coordinates()
    }

    /// The operands by their meaning; `None` if there are too few.
    pub fn parts<'a, T: Copy>(&self, operands: &'a [T]) -> Option<SurfaceParts<'a, T>> {
        let (&handle, mut rest) = operands.split_first()?;
        let layer = next(&mut rest, self.shape.has_layers())?;
        let place = rest.split_off(..self.shape.coordinates())?;
        let guard = if self.guarded { Some(*rest.split_off_last()?) } else { None };
        Some(SurfaceParts { handle, layer, place, data: rest, guard })
    }

    /// Why there is no such access.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.shape.is_cube() || self.shape.has_samples() {
            return Some(format!("no surface is {}", self.shape));
        }
        let sizes: &[u8] = if self.texel { &[1, 2, 4] } else { &[1, 2, 4, 8, 16] };
        let suits = sizes.contains(&self.size);
        (!suits).then(|| format!("no access has the size {}", self.size))
    }
}
