//! Formats of fewer bits than a half or than binary32: TF32, E4M3 and E5M2; and narrow integers packed
//! into a word.
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

use crate::convert::{float_to_float, int_to_int_sat, single_to_half};
use crate::float::relu;
use crate::int::{IntType, S32};
use crate::packed::{join, split};
use crate::round::Exact;
use crate::{E5M2, F16, F32, Format, Mode, Rounding, TF32};

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
    let sum = if F32.is_finite(a.into()) { a + half } else { a };
    let rounded = sum & !(2 * half - 1);
    let is_limited = finite && F32.is_infinite(rounded.into());
    if is_limited { rounded - 2 * half } else { rounded }
}

/// A float of 8 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ByteFormat {
    /// Four bits of exponent with bias 7 and three of fraction, PTX `.e4m3`. There are no
    /// infinities, and the only NaNs are `0x7f` and `0xff`; the greatest number is 448.
    E4m3,
    /// The upper byte of a binary16, PTX `.e5m2`. Its NaN is `0x7f`.
    E5m2,
}

/// The bits of the fraction of an E4M3.
const E4M3_FRACTION: u32 = 3;
/// The exponent of the least E4M3 greater than zero.
const E4M3_LEAST: i32 = -9;
/// The NaN of E4M3; the greatest number is the code before it.
const E4M3_NAN: u8 = 0x7f;

/// A float of another format as one of 8 bits, rounded to nearest: PTX `cvt.rn.satfinite`.
pub fn to_byte(from: Format, to: ByteFormat, a: u64, with_relu: bool) -> u8 {
    match to {
        ByteFormat::E5m2 => {
            let rounded = float_to_float(from, E5M2, a, Mode::IEEE);
            let negative = E5M2.is_negative(rounded);
            let rounded = if E5M2.is_infinite(rounded) { E5M2.largest(negative) } else { rounded };
            (if with_relu { relu(E5M2, rounded) } else { rounded }) as u8
        }
        ByteFormat::E4m3 => to_e4m3(from, a, with_relu),
    }
}

fn to_e4m3(from: Format, a: u64, with_relu: bool) -> u8 {
    if from.is_nan(a) {
        return E4M3_NAN;
    }
    let negative = from.is_negative(a);
    if negative && with_relu {
        return 0;
    }
    let magnitude = match from.is_infinite(a) {
        true => u128::from(E4M3_NAN - 1),
        false => {
            let exact = Exact::unpack(from, a);
            let leading = exact.exponent + 127 - exact.significand.leading_zeros() as i32;
            let last = (leading - E4M3_FRACTION as i32).max(E4M3_LEAST);
            // Beyond the greatest number, whose last bit is 2^5, any great number will do. A
            // significand with a hidden bit counts one exponent more, and one that was rounded up
            // to a power of two carries into the exponent.
            let steps = (last - E4M3_LEAST).min(16) as u128;
            (steps << E4M3_FRACTION) + exact.round_at(last, Rounding::Nearest)
        }
    };
    let magnitude = magnitude.min(u128::from(E4M3_NAN - 1)) as u8;
    if negative { magnitude | 0x80 } else { magnitude }
}

/// A float of 8 bits as a binary16, exactly: PTX `cvt.rn.f16x2.{e4m3x2,e5m2x2}`.
pub fn of_byte(from: ByteFormat, a: u8, with_relu: bool) -> u16 {
    let half = match from {
        ByteFormat::E5m2 => float_to_float(E5M2, F16, a.into(), Mode::IEEE),
        ByteFormat::E4m3 if a & 0x7f == E4M3_NAN => F16.nan(),
        ByteFormat::E4m3 => {
            let steps = i32::from(a >> E4M3_FRACTION & 0xf);
            let fraction = u128::from(a & 7);
            let hidden = if steps == 0 { 0 } else { 1 << E4M3_FRACTION };
            let exponent = E4M3_LEAST + steps.max(1) - 1;
            Exact { negative: a & 0x80 != 0, exponent, significand: fraction | hidden, sticky: false }
                .round(F16, Rounding::Nearest)
        }
    };
    (if with_relu { relu(F16, half) } else { half }) as u16
}

/// The low half of a word of two bytes.
fn bytes(low: u8, high: u8) -> u32 {
    u32::from(high) << 8 | u32::from(low)
}

/// Two binary32 as bytes, `low` in bits 0 to 7: PTX `cvt.rn.satfinite.{e4m3x2,e5m2x2}.f32`.
pub fn bytes_of_singles(to: ByteFormat, low: u32, high: u32, relu: bool) -> u32 {
    let [low, high] = [low, high].map(|a| to_byte(F32, to, a.into(), relu));
    bytes(low, high)
}

/// Two binary16 as bytes: PTX `cvt.rn.satfinite.{e4m3x2,e5m2x2}.f16x2`.
pub fn bytes_of_halves(to: ByteFormat, a: u32, relu: bool) -> u32 {
    let [low, high] = split(a).map(|a| to_byte(F16, to, a.into(), relu));
    bytes(low, high)
}

/// The two low bytes of a word as two binary16: PTX `cvt.rn.f16x2.{e4m3x2,e5m2x2}`.
pub fn halves_of_bytes(from: ByteFormat, a: u32, relu: bool) -> u32 {
    let [low, high] = [a as u8, (a >> 8) as u8].map(|a| of_byte(from, a, relu));
    join(low, high)
}

/// Two signed words in a narrow integer type, limited to its range, `a` above `b`, and above both
/// the lower bits of `c`: PTX `cvt.pack.sat`, which has types of 2 to 16 bits.
pub fn pack_saturated(to: IntType, a: u32, b: u32, c: u32) -> u32 {
    let limited = |a: u32| int_to_int_sat(S32, to, a.into());
    let whole = u64::from(c) << (2 * to.bits()) | limited(a) << to.bits() | limited(b);
    whole as u32
}
