//! The description of a tensor as an argument.
//!
//! ```text
//! {"kind": "tensor_map", "name": "map", "of": "t", "mode": "tiled", "type": "f16",
//!  "sizes": [43, 11], "strides": [112], "box": [24, 5], "element_strides": [1, 1],
//!  "interleave": "none", "swizzle": "none", "fill": "zero"}
//! {… "mode": "im2col", "lower": [-1, -1], "upper": [-1, -1], "channels": 8, "pixels": 17, …}
//! ```
//!
//! `of` names the buffer that holds the tensor from its first byte. Lists begin with the innermost
//! dimension; `strides` are in bytes, from dimension 1 on; `lower` and `upper` are those of width,
//! height and depth. With `"in_memory": true` the argument is the address of the map.

use serde::Deserialize;

use crate::tensor_map::{Boxes, TensorElement, TensorMap};

/// A tensor map as an argument.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorArgument {
    /// Its name.
    pub name: String,
    /// The buffer that holds the tensor.
    pub of: String,
    /// The map; the address is that of the buffer.
    pub map: TensorMap,
    /// Whether the argument is the address of the map.
    pub in_memory: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTensor {
    name: String,
    of: String,
    mode: Mode,
    #[serde(rename = "type")]
    element: TensorElement,
    sizes: Vec<u32>,
    strides: Vec<u64>,
    #[serde(rename = "box")]
    tile: Option<Vec<u32>>,
    lower: Option<Vec<i32>>,
    upper: Option<Vec<i32>>,
    channels: Option<u32>,
    pixels: Option<u32>,
    element_strides: Vec<u32>,
    #[serde(rename = "interleave")]
    _interleave: Interleave,
    swizzle: Swizzle,
    fill: Fill,
    #[serde(default)]
    in_memory: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Tiled,
    Im2col,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Interleave {
    None,
}

#[derive(Clone, Copy, Deserialize)]
enum Swizzle {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "32B")]
    B32,
    #[serde(rename = "64B")]
    B64,
    #[serde(rename = "128B")]
    B128,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fill {
    Zero,
    Nan,
}

impl RawTensor {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// # Errors
    /// A list has another length than the dimensions ask for, or a number is out of range.
    pub(super) fn check(self) -> Result<TensorArgument, String> {
        let rank = self.sizes.len();
        if !(1..=5).contains(&rank) {
            return Err(format!("a tensor of {rank} dimensions"));
        }
        if self.sizes.contains(&0) {
            return Err("a size of 0".to_string());
        }
        if let Some(stride) = self.strides.iter().find(|&&stride| stride % 16 != 0 || stride >> 40 != 0) {
            return Err(format!("{stride} is not a multiple of 16 below 2^40"));
        }
        if let Some(stride) = self.element_strides.iter().find(|stride| !(1..=8).contains(*stride)) {
            return Err(format!("an element stride of {stride}"));
        }
        let boxes = match self.mode {
            Mode::Tiled => {
                let sizes = self.tile.ok_or("`box` is missing")?;
                if let Some(size) = sizes.iter().find(|size| !(1..=256).contains(*size)) {
                    return Err(format!("a box of {size} elements in one dimension"));
                }
                Boxes::Tiles(filled("box", &sizes, rank, 1)?)
            }
            Mode::Im2col => {
                let of_image = rank.checked_sub(2).filter(|&count| count > 0);
                let of_image = of_image.ok_or("images have at least 3 dimensions")?;
                let corner = |name: &str, corner: Option<Vec<i32>>| {
                    filled(name, &corner.ok_or_else(|| format!("`{name}` is missing"))?, of_image, 0)
                };
                let (channels, pixels) = (self.channels, self.pixels);
                Boxes::Columns {
                    lower: corner("lower", self.lower)?,
                    upper: corner("upper", self.upper)?,
                    channels: channels.filter(|n| (1..=256).contains(n)).ok_or("channels are 1 to 256")?,
                    pixels: pixels.filter(|n| (1..=1024).contains(n)).ok_or("pixels are 1 to 1024")?,
                }
            }
        };
        let map = TensorMap {
            address: 0,
            element: self.element,
            rank,
            sizes: filled("sizes", &self.sizes, rank, 1)?,
            strides: filled("strides", &self.strides, rank - 1, 0)?,
            boxes,
            element_strides: filled("element_strides", &self.element_strides, rank, 1)?,
            swizzle: self.swizzle as u32,
            fills_nan: self.fill == Fill::Nan,
        };
        Ok(TensorArgument { name: self.name, of: self.of, map, in_memory: self.in_memory })
    }
}

/// The numbers of a list of that length, followed by `rest`.
fn filled<T: Copy, const N: usize>(name: &str, list: &[T], count: usize, rest: T) -> Result<[T; N], String> {
    match list.len() == count {
        true => Ok(std::array::from_fn(|n| list.get(n).copied().unwrap_or(rest))),
        false => Err(format!("`{name}` has {} numbers, not {count}", list.len())),
    }
}
