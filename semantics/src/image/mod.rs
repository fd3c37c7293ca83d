//! Textures and surfaces.
//!
//! In: the description of an image, a sampler, coordinates, and a function that reads a texel. Out:
//! the four words of a texel, or the places of texels. The formulas are those of the CUDA C++
//! Programming Guide, "Texture Fetching": coordinates of a filter have 8 fraction bits. The guide
//! leaves these points open, and the choices here are not checked on hardware:
//!
//! - The fraction of a coordinate is rounded to the nearest of its 257 values.
//! - A filter multiplies and adds in binary64, and rounds the result once.
//! - A component that an image lacks is 0; a missing alpha is 1.
//! - The faces of a cube are filtered by themselves.
//! - A coordinate that is a NaN is 0.
//! - The height and the depth of an image that has none are 1; the depth of an array is the number
//!   of its layers.
//!
//! [`texel`] converts texels, [`place`] finds them, [`filter`] mixes them.

pub mod filter;
pub mod place;
pub mod texel;

pub use filter::{Request, gather, gradient_level, sample};
pub use place::{Address, Image, Kind, Place, Sampler, face_of};
pub use texel::{Channel, TexelFormat};

#[cfg(test)]
mod tests;
