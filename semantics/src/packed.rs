//! Two 16-bit floats in a 32-bit word: PTX `.f16x2` and `.bf16x2`, SASS `HADD2`, `HMUL2`, `HFMA2`, `HMNMX2`,
//! `HSETP2`.
//!
//! In: a 16-bit [`Format`] (of a wider format only the low 16 bits are kept) and words whose low
//! half is element 0. Out: a word or two truth values. Each half is computed separately by
//! [`float`], so the rules for NaNs, subnormals and clamping are the same.
//!
//! ```
//! use ptxc_semantics::{F16, Mode, packed};
//! let one_two = packed::join(0x3c00, 0x4000);
//! assert_eq!(packed::add(F16, one_two, one_two, Mode::IEEE), packed::join(0x4000, 0x4400));
//! ```

use crate::float::{self, FloatCmp, NanRule};
use crate::{Format, Mode, Rounding, convert};

/// The word of element 0 (low half) and element 1 (high half).
pub const fn join(low: u16, high: u16) -> u32 {
    (high as u32) << 16 | low as u32
}

/// Elements 0 and 1 of a word.
pub const fn split(a: u32) -> [u16; 2] {
    [a as u16, (a >> 16) as u16]
}

/// Applies a function of `N` operands to both elements.
fn map<const N: usize>(operands: [u32; N], f: impl Fn([u64; N]) -> u64) -> u32 {
    let element = |shift: u32| f(operands.map(|a| u64::from((a >> shift) as u16))) as u16;
    join(element(0), element(16))
}

/// `a + b`.
pub fn add(format: Format, a: u32, b: u32, mode: Mode) -> u32 {
    map([a, b], |[a, b]| float::add(format, a, b, mode))
}

/// `a - b`.
pub fn sub(format: Format, a: u32, b: u32, mode: Mode) -> u32 {
    map([a, b], |[a, b]| float::sub(format, a, b, mode))
}

/// `a * b`.
pub fn mul(format: Format, a: u32, b: u32, mode: Mode) -> u32 {
    map([a, b], |[a, b]| float::mul(format, a, b, mode))
}

/// `a * b + c`, rounded once.
pub fn fma(format: Format, a: u32, b: u32, c: u32, mode: Mode) -> u32 {
    map([a, b, c], |[a, b, c]| float::fma(format, a, b, c, mode))
}

/// [`float::fma_oob`] of each element.
pub fn fma_oob(format: Format, a: u32, b: u32, c: u32) -> u32 {
    map([a, b, c], |[a, b, c]| float::fma_oob(format, a, b, c))
}

/// [`float::min`] of each element.
pub fn min(format: Format, a: u32, b: u32, nan: NanRule, ftz: bool) -> u32 {
    map([a, b], |[a, b]| float::min(format, a, b, nan, ftz))
}

/// [`float::max`] of each element.
pub fn max(format: Format, a: u32, b: u32, nan: NanRule, ftz: bool) -> u32 {
    map([a, b], |[a, b]| float::max(format, a, b, nan, ftz))
}

/// [`float::min_xorsign`] of each element.
pub fn min_xorsign(format: Format, a: u32, b: u32, nan: NanRule, ftz: bool) -> u32 {
    map([a, b], |[a, b]| float::min_xorsign(format, a, b, nan, ftz))
}

/// [`float::max_xorsign`] of each element.
pub fn max_xorsign(format: Format, a: u32, b: u32, nan: NanRule, ftz: bool) -> u32 {
    map([a, b], |[a, b]| float::max_xorsign(format, a, b, nan, ftz))
}

/// Both signs cleared.
pub fn abs(format: Format, a: u32) -> u32 {
    map([a], |[a]| float::abs(format, a))
}

/// Both signs changed.
pub fn neg(format: Format, a: u32) -> u32 {
    map([a], |[a]| float::neg(format, a))
}

/// [`float::relu`] of each element.
pub fn relu(format: Format, a: u32) -> u32 {
    map([a], |[a]| float::relu(format, a))
}

/// Subnormal elements replaced by zeros of their sign.
pub fn flush(format: Format, a: u32) -> u32 {
    map([a], |[a]| format.flush(a))
}

/// The element that represents a comparison that holds; one that does not hold is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Truth {
    /// The number 1: PTX `set.cmp.f16x2.f16x2`, SASS `HSET2.BF`.
    One,
    /// All bits set: PTX `set.cmp.u32.f16x2`, SASS `HSET2`.
    Ones,
}

impl Truth {
    /// The word with the answers for elements 0 and 1.
    pub fn word(self, format: Format, holds: [bool; 2]) -> u32 {
        let yes = match self {
            Truth::One => format.one() as u16,
            Truth::Ones => u16::MAX,
        };
        let [low, high] = holds.map(|holds| if holds { yes } else { 0 });
        join(low, high)
    }
}

/// [`compare`] with the answers as elements.
pub fn set(format: Format, cmp: FloatCmp, a: u32, b: u32, ftz: bool, truth: Truth) -> u32 {
    truth.word(format, compare(format, cmp, a, b, ftz))
}

/// [`convert::single_to_half`] of two binary32 for elements 0 and 1.
pub fn of_singles(format: Format, a: u32, b: u32, rounding: Rounding, relu: bool, finite: bool) -> u32 {
    let [low, high] =
        [a, b].map(|a| convert::single_to_half(format, a.into(), rounding, relu, finite) as u16);
    join(low, high)
}

/// [`float::compare`] of elements 0 and 1.
pub fn compare(format: Format, cmp: FloatCmp, a: u32, b: u32, ftz: bool) -> [bool; 2] {
    let ([a0, a1], [b0, b1]) = (split(a), split(b));
    [(a0, b0), (a1, b1)].map(|(a, b)| float::compare(format, cmp, a.into(), b.into(), ftz))
}
