//! The arithmetic of PTX and SASS as pure functions on bits.
//!
//! Interpreters, constant folding and the SASS simulator share these functions, so that each rule
//! is written once. In: operands as bits and a description of the type. Out: bits. The functions
//! have no state, do not allocate (except for the result of a matrix product) and do not panic;
//! each takes constant time.
//!
//! # Conventions
//!
//! - **Floats are integers.** A value of a [`Format`] travels in the low bits of a `u64`, zeros above (the
//!   typed functions such as [`float::f32_add`] take the integer of the format's width). NaN payloads are
//!   therefore exact, and results can be compared with `==`.
//! - **Integers** of an [`IntType`] travel the same way; bits of an operand above the width are ignored.
//! - **One NaN.** A floating-point operation that gives a NaN gives [`Format::nan`], as the hardware does for
//!   binary32. Sign operations ([`float::neg`], [`float::abs`]) only change the sign bit.
//! - **Modes.** [`Mode`] holds the rounding direction, flushing of subnormals (inputs and results) and
//!   clamping to `[0, 1]`. Where PTX has no such modifier (`.ftz` on `.f64`), callers leave it off.
//! - **Undefined in PTX** (division by zero, positions out of range) is defined here as the result
//!   of the GPU or of ptxas's code; the function's documentation gives it.
//!
//! # Example
//!
//! One thread of `y = a * x + y`, in binary32 with `fma.rn.ftz.f32`, and its byte offset `4 * i` in 64 bits:
//!
//! ```
//! use ptxc_semantics::{Mode, U32, float, int};
//! let [a, x, y] = [2.0f32, 1.5, 0.25].map(f32::to_bits);
//! let sum = float::f32_fma(a, x, y, Mode::IEEE.with_ftz(true));
//! assert_eq!(f32::from_bits(sum), 3.25);
//! assert_eq!(int::mul_wide(U32, 0x8000_0000, 4), 0x2_0000_0000);
//! ```
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | [`format`](mod@format) | formats, rounding directions, modes |
//! | [`float`] | add, sub, mul, fma, div, sqrt, min, max, sign, comparison |
//! | [`mufu`] | the approximations of the special function unit |
//! | [`packed`] | the same on two halves of a word |
//! | [`convert`] | between integers and floats, formats and widths |
//! | [`int`] | add to remainder, carries, 24-bit products, comparison |
//! | [`image`] | texels of textures and surfaces, filters |
//! | [`matrix`] | products of matrices that lie in the registers of a warp |
//! | [`pairs`] | integers on two halves of a word |
//! | [`narrow`] | conversions to and from formats of fewer bits |
//! | [`bits`] | shifts, fields, counting, `lop3`, `prmt`, dot products |
//! | [`video`] | the video instructions: parts of words, exact numbers, saturation, merges |

pub mod bits;
pub mod convert;
pub mod float;
pub mod format;
pub mod image;
pub mod int;
pub mod matrix;
pub mod mufu;
pub mod narrow;
pub mod packed;
pub mod pairs;
mod round;
pub mod video;

pub use format::{BF16, E5M2, F16, F32, F64, Format, Mode, Rounding, TF32};
pub use int::{IntType, S8, S16, S32, S64, U8, U16, U32, U64};
