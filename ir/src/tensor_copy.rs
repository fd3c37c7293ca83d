//! The properties of copies of boxes of tensors.
//!
//! ```text
//! tensor_load.2d v1, v2, v3, v4, v5
//! tensor_load.4d.im2col.multicast v1, v2, v3, v4, v5, v6, v7, v8
//! tensor_red.min.3d v3, v1, v4, v5, v6
//! ```

use crate::memory::spelled;

spelled! {
    /// How a reduction combines an element of shared memory with one of a tensor. The tensor map
    /// gives the type of the elements.
    TensorUpdate {
        /// The sum.
        Add = "add",
        /// The smaller one.
        Min = "min",
        /// The greater one.
        Max = "max",
        /// One more, or zero if the tensor's element is not below the other one.
        Inc = "inc",
        /// One less, or the other element if the tensor's is zero or above it.
        Dec = "dec",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
    }
}

/// A box of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorBox {
    /// The number of dimensions of the tensor, 1 to 5.
    pub dimensions: u8,
    /// Whether the box is a number of pixels of images and some of their channels, as a convolution
    /// reads them; the tensor has 3 to 5 dimensions. Otherwise it is a box of neighbouring elements.
    pub im2col: bool,
}

impl TensorBox {
    /// The number of offsets of an image's pixels: one for each dimension of an image.
    pub fn offsets(self) -> u8 {
        if self.im2col { self.dimensions.saturating_sub(2) } else { 0 }
    }

    /// Whether there can be such boxes.
    pub(crate) fn exists(self) -> bool {
        (if self.im2col { 3..=5 } else { 1..=5 }).contains(&self.dimensions)
    }
}
