//! Tensor maps: what a tensor in global memory looks like, and the boxes of it that are copied.
//!
//! In: 32 words that the driver fills in and `tensormap.replace` changes. Out: for a box at some
//! coordinates, the place of each element in shared and in global memory.
//!
//! The places of the fields that `tensormap.replace` changes are those of the hardware
//! (`docs/facts/tensor-maps.md`). Those of images' fields are the simulator's own, since no program
//! can see them: words 16 to 24.
//!
//! ```text
//! a box of 4 by 2 elements of 4 bytes at (2, 1), of a tensor of 5 by 3 with rows of 32 bytes:
//!     shared    +0    +4    +8    +12   +16   +20   +24   +28
//!     global    +40   +44   +48   fill  +72   +76   +80   fill
//! ```

use ptxc_ir::TensorBox;
use ptxc_semantics::{BF16, F16, F32, F64, Format};
use serde::Deserialize;

use crate::error::Fault;

/// The size of a tensor map in bytes.
pub(crate) const BYTES: usize = 128;
/// The most dimensions.
const MOST: usize = 5;
/// The most dimensions of an image: all but channels and the number of the image.
const MOST_OF_IMAGE: usize = 3;
/// The most elements of a box: as many bytes as shared memory can have.
const MOST_ELEMENTS: u64 = 1 << 18;
/// Word 16: whether the map is for columns of images.
const IS_IM2COL: usize = 16;

/// The type of a tensor's elements. A case names it in lower case, as in `f32_ftz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are those of the types")]
pub enum TensorElement {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F32Ftz,
    F64,
    Bf16,
    Tf32,
    Tf32Ftz,
}

impl TensorElement {
    /// All, in the order of their codes in `tensormap.replace`.
    const ALL: [TensorElement; 13] = [
        TensorElement::U8,
        TensorElement::U16,
        TensorElement::U32,
        TensorElement::S32,
        TensorElement::U64,
        TensorElement::S64,
        TensorElement::F16,
        TensorElement::F32,
        TensorElement::F32Ftz,
        TensorElement::F64,
        TensorElement::Bf16,
        TensorElement::Tf32,
        TensorElement::Tf32Ftz,
    ];

    /// The size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            TensorElement::U8 => 1,
            TensorElement::U16 | TensorElement::F16 | TensorElement::Bf16 => 2,
            TensorElement::U32 | TensorElement::S32 => 4,
            TensorElement::F32 | TensorElement::F32Ftz | TensorElement::Tf32 | TensorElement::Tf32Ftz => 4,
            TensorElement::U64 | TensorElement::S64 | TensorElement::F64 => 8,
        }
    }

    /// Whether it is a signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, TensorElement::S32 | TensorElement::S64)
    }

    /// The format of a float.
    pub const fn format(self) -> Option<Format> {
        match self {
            TensorElement::F16 => Some(F16),
            TensorElement::Bf16 => Some(BF16),
            TensorElement::F32 | TensorElement::F32Ftz => Some(F32),
            TensorElement::Tf32 | TensorElement::Tf32Ftz => Some(F32),
            TensorElement::F64 => Some(F64),
            TensorElement::U8 | TensorElement::U16 | TensorElement::U32 | TensorElement::S32 => None,
            TensorElement::U64 | TensorElement::S64 => None,
        }
    }
}

/// The box that a map describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boxes {
    /// Neighbouring elements: their number in each dimension.
    Tiles([u32; MOST]),
    /// Pixels of images and some of their channels.
    Columns {
        /// The first corner of the pixels that the filter's origin visits, for each dimension of an image.
        lower: [i32; MOST_OF_IMAGE],
        /// The last corner, relative to the last pixel.
        upper: [i32; MOST_OF_IMAGE],
        /// The number of channels.
        channels: u32,
        /// The number of pixels.
        pixels: u32,
    },
}

/// A tensor in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// The address of the first element.
    pub address: u64,
    /// The type of the elements.
    pub element: TensorElement,
    /// The number of dimensions, 1 to 5.
    pub rank: usize,
    /// The sizes in elements, the innermost first.
    pub sizes: [u32; MOST],
    /// The distances in bytes between neighbours in dimensions 1 and up.
    pub strides: [u64; MOST - 1],
    /// What is copied.
    pub boxes: Boxes,
    /// Of how many neighbours a load copies one, for each dimension.
    pub element_strides: [u32; MOST],
    /// The exponent of the swizzle's span: 0 for none, 1 to 3 for 32 to 128 bytes.
    pub swizzle: u32,
    /// Whether elements outside the tensor are NaN; otherwise they are zeros.
    pub fills_nan: bool,
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To shared memory.
    Load,
    /// To the tensor.
    Store,
}

impl TensorMap {
    /// The content of memory that describes the tensor.
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        let mut words = [0u32; BYTES / 4];
        (words[0], words[1]) = (self.address as u32, (self.address >> 32) as u32);
        let code = TensorElement::ALL.iter().position(|&element| element == self.element).unwrap_or(0) as u32;
        let (code, is_tf32) = if code > 10 { (code - 4, 1) } else { (code, 0) };
        words[2] = (self.rank as u32 - 1) << 4
            | code << 7
            | self.swizzle << 13
            | u32::from(self.fills_nan) << 15
            | is_tf32 << 16;
        for (n, stride) in self.strides.into_iter().enumerate() {
            words[3 + n] = (stride >> 4) as u32;
            words[7] |= ((stride >> 36) as u32 & 0xf) << (4 * n);
        }
        for n in 0..MOST {
            words[8 + n] = self.sizes[n].wrapping_sub(1);
            words[13] |= (self.element_strides[n].wrapping_sub(1) & 7) << (3 * n);
        }
        match self.boxes {
            Boxes::Tiles(sizes) => {
                let less_one = sizes.map(|size| size.wrapping_sub(1) & 0xff);
                words[13] |= less_one[0] << 24;
                words[14] = less_one[1..].iter().rev().fold(0, |word, size| word << 8 | size);
            }
            Boxes::Columns { lower, upper, channels, pixels } => {
                words[IS_IM2COL..IS_IM2COL + 3].copy_from_slice(&[1, channels, pixels]);
                for (n, corner) in lower.into_iter().chain(upper).enumerate() {
                    words[IS_IM2COL + 3 + n] = corner as u32;
                }
            }
        }
        let mut bytes = [0; BYTES];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads the description of a tensor.
    ///
    /// # Errors
    /// No type has the code, or the layout is one that is not simulated.
    pub(crate) fn from_bytes(bytes: &[u8; BYTES]) -> Result<TensorMap, String> {
        let word = |n: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * n + byte]));
        let bits = |n: usize, low: u32, count: u32| word(n) >> low & ((1 << count) - 1);
        let code = bits(2, 7, 4) + 4 * bits(2, 16, 1);
        let element = TensorElement::ALL.get(code as usize);
        let element = *element.ok_or_else(|| format!("a tensor map whose elements have type {code}"))?;
        if bits(2, 11, 2) != 0 {
            return Err("a tensor map with an interleaved layout".to_string());
        }
        let rank = bits(2, 4, 3) as usize + 1;
        if rank > MOST {
            return Err(format!("a tensor map of {rank} dimensions"));
        }
        let boxes = match word(IS_IM2COL) {
            0 => Boxes::Tiles(std::array::from_fn(|n| match n {
                0 => bits(13, 24, 8) + 1,
                _ => bits(14, 8 * (n as u32 - 1), 8) + 1,
            })),
            _ => Boxes::Columns {
                lower: std::array::from_fn(|n| word(IS_IM2COL + 3 + n) as i32),
                upper: std::array::from_fn(|n| word(IS_IM2COL + 3 + MOST_OF_IMAGE + n) as i32),
                channels: word(IS_IM2COL + 1),
                pixels: word(IS_IM2COL + 2),
            },
        };
        Ok(TensorMap {
            address: u64::from(word(1)) << 32 | u64::from(word(0)),
            element,
            rank,
            sizes: std::array::from_fn(|n| word(8 + n).wrapping_add(1)),
            strides: std::array::from_fn(|n| {
                (u64::from(word(3 + n)) | u64::from(bits(7, 4 * n as u32, 4)) << 32) << 4
            }),
            boxes,
            element_strides: std::array::from_fn(|n| bits(13, 3 * n as u32, 3) + 1),
            swizzle: bits(2, 13, 2),
            fills_nan: bits(2, 15, 1) == 1,
        })
    }

    /// The bits of an element outside the tensor.
    pub(crate) fn fill(self) -> u64 {
        match self.element.format() {
            Some(format) if self.fills_nan => u64::MAX >> (65 - format.bits()),
            _ => 0,
        }
    }

    /// The address in shared memory of a byte that would be at an address without a swizzle: bits 4 to 6
    /// change by bits 7 to 9.
    pub(crate) fn swizzled(self, address: u64) -> u64 {
        let mask = (1 << self.swizzle) - 1;
        address ^ (address >> 7 & mask) << 4
    }

    /// Calls `each` with each element of a box: its place in bytes after the start of the box, and
    /// its address in global memory if it lies in the tensor. Returns the size of the box in bytes.
    ///
    /// # Errors
    /// The map is for other boxes, the box is too large, or `each` fails.
    pub(crate) fn visit(
        self,
        lane: u32,
        (tile, way): (TensorBox, Way),
        (coordinates, offsets): (&[i32], u32),
        mut each: impl FnMut(u64, Option<u64>) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        if usize::from(tile.dimensions) != self.rank || coordinates.len() != self.rank {
            let what = format!("copies a box of {} dimensions of a tensor of {}", tile.dimensions, self.rank);
            return Err(Fault::new(lane, what));
        }
        let bytes = u64::from(self.element.bytes());
        let mut place = 0;
        let mut visit = |element: [i64; MOST]| {
            let address = self.address_of(element);
            let result = each(place, address);
            place += bytes;
            result
        };
        match (tile.im2col, self.boxes) {
            (false, Boxes::Tiles(sizes)) => {
                let step = |n: usize| match way {
                    // The innermost dimension has no other stride without interleaving.
                    Way::Load if n > 0 => self.element_strides[n],
                    _ => 1,
                };
                let counts: [u32; MOST] =
                    std::array::from_fn(|n| if n < self.rank { sizes[n].div_ceil(step(n)) } else { 1 });
                let total = counts.iter().fold(1u64, |total, &count| total.saturating_mul(count.into()));
                check(lane, total)?;
                for index in 0..total {
                    let mut rest = index;
                    let element = std::array::from_fn(|n| {
                        let count = u64::from(counts[n]);
                        let at = (rest % count) as i64;
                        rest /= count;
                        let start = coordinates.get(n).map_or(0, |&start| i64::from(start));
                        start + at * i64::from(step(n))
                    });
                    visit(element)?;
                }
            }
            (true, Boxes::Columns { lower, upper, channels, pixels }) => {
                check(lane, u64::from(channels).saturating_mul(pixels.into()))?;
                let dimensions = usize::from(tile.offsets());
                let bits = match dimensions {
                    1 => 16,
                    2 => 8,
                    _ => 5,
                };
                let mut base: [i64; MOST] =
                    std::array::from_fn(|n| coordinates.get(n).map_or(0, |&start| i64::from(start)));
                for _ in 0..pixels {
                    let mut element = base;
                    for n in 0..dimensions {
                        let offset = offsets >> (bits * n) & ((1 << bits) - 1);
                        element[1 + n] += i64::from(offset);
                    }
                    for channel in 0..channels {
                        element[0] = base[0] + i64::from(channel);
                        visit(element)?;
                    }
                    self.next_base(&mut base, dimensions, (lower, upper), way);
                }
            }
            (true, Boxes::Tiles(_)) => return Err(Fault::new(lane, "copies pixels by a map for tiles")),
            (false, Boxes::Columns { .. }) => {
                return Err(Fault::new(lane, "copies a tile by a map for pixels"));
            }
        }
        Ok(place)
    }

    /// Moves the filter's origin to the next pixel of its corners, or to the next image.
    fn next_base(
        self,
        base: &mut [i64; MOST],
        dimensions: usize,
        (lower, upper): ([i32; MOST_OF_IMAGE], [i32; MOST_OF_IMAGE]),
        way: Way,
    ) {
        for n in 0..dimensions {
            let step = if way == Way::Load { self.element_strides[1 + n] } else { 1 };
            base[1 + n] += i64::from(step);
            if base[1 + n] <= i64::from(self.sizes[1 + n]) - 1 + i64::from(upper[n]) {
                return;
            }
            base[1 + n] = i64::from(lower[n]);
        }
        base[1 + dimensions] += 1;
    }

    /// The address of an element in the tensor.
    fn address_of(self, element: [i64; MOST]) -> Option<u64> {
        let mut address = self.address;
        for (n, &at) in element.iter().enumerate().take(self.rank) {
            let at = u64::try_from(at).ok().filter(|&at| at < u64::from(self.sizes[n]))?;
            let stride = match n {
                0 => self.element.bytes().into(),
                _ => self.strides[n - 1],
            };
            address = address.wrapping_add(at.wrapping_mul(stride));
        }
        Some(address)
    }
}

/// Checks the number of elements of a box.
fn check(lane: u32, elements: u64) -> Result<(), Fault> {
    match elements {
        0..=MOST_ELEMENTS => Ok(()),
        _ => Err(Fault::new(lane, format!("copies a box of {elements} elements"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_survives_its_bytes() {
        let tiles = TensorMap {
            address: 0x7f_1234_5670,
            element: TensorElement::Tf32,
            rank: 5,
            sizes: [40, 3, 7, 1, 9],
            strides: [160, 1 << 36, 4096, (1 << 40) - 16],
            boxes: Boxes::Tiles([256, 1, 2, 3, 4]),
            element_strides: [1, 2, 3, 4, 8],
            swizzle: 3,
            fills_nan: true,
        };
        assert_eq!(TensorMap::from_bytes(&tiles.to_bytes()), Ok(tiles));
        let boxes = Boxes::Columns { lower: [-1, -2, 3], upper: [-128, 4, -5], channels: 32, pixels: 1024 };
        let columns = TensorMap { boxes, element: TensorElement::S64, fills_nan: false, ..tiles };
        assert_eq!(TensorMap::from_bytes(&columns.to_bytes()), Ok(columns));
    }
}
