//! The places of texels: sizes of levels, treatment of coordinates outside, faces of cubes.

/// The shape of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A row.
    Line,
    /// A rectangle.
    Plane,
    /// A box.
    Volume,
    /// Six squares.
    Cube,
}

impl Kind {
    /// The number of coordinates of a texel in its layer or face.
    pub const fn dimensions(self) -> usize {
        match self {
            Kind::Line => 1,
            Kind::Plane | Kind::Cube => 2,
            Kind::Volume => 3,
        }
    }

    /// The number of squares of a layer.
    pub const fn faces(self) -> u32 {
        if matches!(self, Kind::Cube) { 6 } else { 1 }
    }
}

/// The sizes of an image. Memory holds level after level; in a level, layer after layer with its
/// faces; in a face, plane after plane, row after row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The shape.
    pub kind: Kind,
    /// Width, height and depth of level 0; 1 where the shape has none.
    pub size: [u32; 3],
    /// The number of layers, if it is an array.
    pub layers: Option<u32>,
    /// The number of levels.
    pub levels: u32,
}

/// The place of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The level.
    pub level: u32,
    /// The number of the face among all faces of all layers.
    pub face: u32,
    /// Column, row and plane.
    pub texel: [u32; 3],
}

impl Image {
    /// Width, height and depth of a level.
    pub fn size_of(&self, level: u32) -> [u32; 3] {
        let shrunk = |size: u32| size.checked_shr(level).unwrap_or(0).max(1);
        let [width, height, depth] = self.size;
        match self.kind {
            Kind::Line => [shrunk(width), 1, 1],
            Kind::Plane | Kind::Cube => [shrunk(width), shrunk(height), 1],
            Kind::Volume => [shrunk(width), shrunk(height), shrunk(depth)],
        }
    }

    /// The number of faces of all layers.
    pub fn faces(&self) -> u64 {
        u64::from(self.kind.faces()) * u64::from(self.layers.unwrap_or(1))
    }

    /// The number of texels of a level; `None` if it is very large.
    fn texels_of(&self, level: u32) -> Option<u64> {
        let sizes = self.size_of(level).into_iter().map(u64::from);
        sizes.chain([self.faces()]).try_fold(1u64, u64::checked_mul)
    }

    /// The number of texels of all levels; `None` if it is very large.
    pub fn texels(&self) -> Option<u64> {
        (0..self.levels.min(32)).try_fold(0u64, |sum, level| sum.checked_add(self.texels_of(level)?))
    }

    /// The number of the texel at a place that exists.
    pub fn index(&self, place: Place) -> u64 {
        let before: u64 = (0..place.level).map(|level| self.texels_of(level).unwrap_or(0)).sum();
        let [width, height, depth] = self.size_of(place.level).map(u64::from);
        let [x, y, z] = place.texel.map(u64::from);
        before + ((u64::from(place.face) * depth + z) * height + y) * width + x
    }

    /// The sizes that a query returns.
    pub fn query(&self, level: u32) -> [u32; 3] {
        let [width, height, depth] = self.size_of(level);
        [width, height, self.layers.unwrap_or(depth)]
    }
}

/// The treatment of coordinates outside of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// The texture repeats.
    Wrap,
    /// The nearest texel inside.
    Clamp,
    /// The texture repeats, every other time reversed.
    Mirror,
    /// Zeros.
    Border,
}

impl Address {
    /// The texel that stands for a column, row or plane of a texture of that size; `None` for the
    /// border.
    pub fn texel(self, number: i64, size: u32) -> Option<u32> {
        let size = i64::from(size.max(1));
        let inside = match self {
            Address::Clamp => number.clamp(0, size - 1),
            Address::Border if number < 0 || number >= size => return None,
            Address::Border => number,
            Address::Wrap => number.rem_euclid(size),
            Address::Mirror => {
                let place = number.rem_euclid(2 * size);
                place.min(2 * size - 1 - place)
            }
        };
        Some(inside as u32)
    }
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// The treatment of outer coordinates, for each of them.
    pub address: [Address; 3],
    /// Whether texels are mixed.
    pub linear: bool,
    /// Whether levels are mixed.
    pub mixes_levels: bool,
    /// Whether coordinates are from 0 to 1.
    pub normalized: bool,
    /// The least and the greatest level, in 256ths.
    pub levels: [u32; 2],
}

impl Sampler {
    /// The treatment of outer coordinates; without normalized coordinates nothing repeats.
    pub fn address(&self, coordinate: usize) -> Address {
        match self.address.get(coordinate).copied().unwrap_or(Address::Clamp) {
            Address::Wrap | Address::Mirror if !self.normalized => Address::Clamp,
            other => other,
        }
    }
}

/// The face of a cube in a direction, and the coordinates in it, from 0 to 1.
pub fn face_of(direction: [f32; 3]) -> (u32, [f64; 2]) {
    let [x, y, z] = direction.map(|part| if part.is_nan() { 0.0 } else { f64::from(part) });
    let (face, longest, s, t) = if x.abs() >= y.abs() && x.abs() >= z.abs() {
        if x >= 0.0 { (0, x, -z, -y) } else { (1, -x, z, -y) }
    } else if y.abs() >= z.abs() {
        if y >= 0.0 { (2, y, x, z) } else { (3, -y, x, -z) }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    let longest = if longest > 0.0 { longest } else { 1.0 };
    (face, [s, t].map(|part| (part / longest + 1.0) / 2.0))
}
