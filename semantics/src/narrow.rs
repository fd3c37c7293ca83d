//! Formats of fewer bits than a half or than binary32: TF32, E4M3 and E5M2.
//!
//! In: bits of a wider format. Out: the bits of the result, zeros above. Each conversion rounds
//! once. NaNs, infinities and `.relu` are treated as PTX's `cvt` treats them (PTX ISA, "cvt"):
//! `.satfinite` keeps the sign and gives the greatest finite number instead of a greater one or an
//! infinity, `.relu` gives `+0` instead of a negative result, and a NaN stays a NaN.
//!
//! ```
//! use ptxc_semantics::narrow::{self, ByteFormat};
//! use ptxc_semantics::{F32, Rounding};
//! let bits = |a: f32| u64::from(a.to_bits());
//! assert_eq!(narrow::to_byte(F32, ByteFormat::E4m3, bits(1.0), false), 0x38);
//! assert_eq!(narrow::to_byte(F32, ByteFormat::E4m3, bits(-1e9), false), 0xfe);
//! assert_eq!(narrow::single_to_tf32(0x3f80_1001, Rounding::Nearest, false), 0x3f80_2000);
//! ```

use crate::convert::single_to_half;
use crate::{F32, Rounding, TF32};

/// The bits of a binary32 below those of a TF32.
const BELOW_TF32: u32 = 13;

/// A binary32 as a TF32, in the upper 19 bits of a word: PTX `cvt.{rn,rz}.tf32.f32`. A NaN becomes
/// the NaN whose 19 bits are the upper ones of binary32's. The bits of the hardware's NaN are not
/// documented.
pub fn single_to_tf32(a: u32, rounding: Rounding, relu: bool) -> u32 {
    (single_to_half(TF32, a.into(), rounding, relu, false) << BELOW_TF32) as u32
}

/// A binary32 as a TF32, in the upper 19 bits of a word, rounded to nearest, ties away from zero:
/// PTX `cvt.rna.tf32.f32`. A NaN loses its lower bits, as in ptxas's code; one that has no others
/// becomes an infinity. With `finite` an infinite result becomes the greatest finite number.
/// (ptxas's code also decrements the upper bits of a NaN then. PTX says that a NaN stays one.)
pub fn single_to_tf32_away(a: u32, finite: bool) -> u32 {
    let half = 1 << (BELOW_TF32 - 1);
    let rounded = if F32.is_finite(a.into()) { a + half } else { a } & !(2 * half - 1);
    let is_limited = finite && F32.is_infinite(rounded.into());
    if is_limited { rounded - 2 * half } else { rounded }
}
