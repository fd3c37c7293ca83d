//! Two 16-bit integers in a 32-bit word: PTX `.u16x2` and `.s16x2`, SASS `VIADD.16x2`, `VIMNMX.S16x2`.
//!
//! In: words whose low half is element 0. Out: a word. Each half is computed separately, as PTX
//! defines `add`, `min` and `max` of these types; no carry passes from one half to the other.
//!
//! ```
//! use ptxc_semantics::pairs;
//! assert_eq!(pairs::add(0x0001_ffff, 0x0001_0001), 0x0002_0000);
//! assert_eq!(pairs::max(true, 0x8000_0001, 0x0000_ffff), 0x0000_0001);
//! assert_eq!(pairs::max(false, 0x8000_0001, 0x0000_ffff), 0x8000_ffff);
//! ```

use crate::int::{self, IntType};
use crate::packed::{join, split};

/// Applies a function of two operands to both elements.
fn map(signed: bool, a: u32, b: u32, f: fn(IntType, u64, u64) -> u64) -> u32 {
    let ty = IntType::new(16, signed);
    let ([a0, a1], [b0, b1]) = (split(a), split(b));
    join(f(ty, a0.into(), b0.into()) as u16, f(ty, a1.into(), b1.into()) as u16)
}

/// `a + b`, wrapping.
pub fn add(a: u32, b: u32) -> u32 {
    map(false, a, b, int::add)
}

/// `a - b`, wrapping.
pub fn sub(a: u32, b: u32) -> u32 {
    map(false, a, b, int::sub)
}

/// The lesser of each two elements.
pub fn min(signed: bool, a: u32, b: u32) -> u32 {
    map(signed, a, b, int::min)
}

/// The greater of each two elements.
pub fn max(signed: bool, a: u32, b: u32) -> u32 {
    map(signed, a, b, int::max)
}

/// Negative elements replaced by zeros: PTX `.relu`.
pub fn relu(a: u32) -> u32 {
    max(true, a, 0)
}
