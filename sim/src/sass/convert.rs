//! Conversions between integers, between formats, from one to the other, and to integral values.

use ptxc_sass::{HalfSelect, ModKind, slot_name, value};
use ptxc_semantics::convert::{self, NanToInt};
use ptxc_semantics::float;
use ptxc_semantics::{F16, F32, F64, Format, IntType, Mode, S32, S64, U32, U64, packed};

use super::fields::{Action, Decoded, Fields, map2};
use super::fma::{ftz, rounding};
use super::half;
use super::registers::{Origin, Registers, Source};
use crate::warp::{Flow, LANES};

/// Reads a source operand as 64 bits per lane.
type Read = fn(&Registers, [Source; 2]) -> [u64; LANES];

/// One word as an integer.
fn word(registers: &Registers, source: [Source; 2]) -> [u64; LANES] {
    registers.int(source[0]).map(u64::from)
}

/// One word without its signs.
fn bare(registers: &Registers, source: [Source; 2]) -> [u64; LANES] {
    registers.int(Source { neg: false, ..source[0] }).map(u64::from)
}

/// One word as a binary32.
fn single(registers: &Registers, source: [Source; 2]) -> [u64; LANES] {
    registers.float(source[0]).map(u64::from)
}

/// `d = f(b)` for a result of `words` words and an operand read with `read`.
fn map(i: &Fields<'_>, words: u8, read: Read, f: impl Fn(u64) -> u64 + 'static) -> Decoded {
    let d = i.dests("d", words)?;
    let b = match i.inst.slot_index(slot_name!("b")) {
        Some(slot) if i.inst.slot_width(slot) == 2 => match i.modifier(ModKind::SourceType) {
            ".S64" | ".U64" => i.long("b")?,
            _ => i.double("b")?,
        },
        _ => [i.word("b")?; 2],
    };
    let action: Action = Box::new(move |registers, step| {
        let b = read(registers, b);
        let mut result = [0; LANES];
        for lane in crate::warp::lanes_of(step.lanes) {
            result[lane as usize] = f(b[lane as usize]);
        }
        registers.write_wide(&d, step.lanes, |n| result[n]);
        Ok(Flow::Next)
    });
    Ok(action)
}

/// The integer that a conversion reads.
fn source_type(i: &Fields<'_>) -> Result<IntType, String> {
    Ok(match i.modifier(ModKind::SourceType) {
        ".U8" => IntType::new(8, false),
        ".S8" => IntType::new(8, true),
        ".U16" => IntType::new(16, false),
        ".S16" => IntType::new(16, true),
        ".U32" => U32,
        "" => S32,
        ".U64" => U64,
        ".S64" => S64,
        _ => return i.unknown(ModKind::SourceType),
    })
}

/// The integer that a conversion writes.
fn result_type(i: &Fields<'_>) -> Result<IntType, String> {
    Ok(match i.modifier(ModKind::DataType) {
        ".U8" => IntType::new(8, false),
        ".S8" => IntType::new(8, true),
        ".U16" => IntType::new(16, false),
        ".S16" => IntType::new(16, true),
        ".U32" => U32,
        "" => S32,
        ".U64" => U64,
        ".S64" => S64,
        _ => return i.unknown(ModKind::DataType),
    })
}

/// `I2F` of a word.
pub(super) fn i2f(i: &Fields<'_>) -> Decoded {
    let (from, mode) = (source_type(i)?, Mode::new(rounding(i)?));
    map(i, 1, word, move |b| convert::int_to_float(from, F32, b, mode))
}

/// `I2F` of a byte or half of a word that is not its lowest.
pub(super) fn i2f_part(i: &Fields<'_>) -> Decoded {
    let (from, mode) = (source_type(i)?, Mode::new(rounding(i)?));
    let to = match i.modifier(ModKind::DataType) {
        "" => F32,
        _ => half::format(i, ModKind::DataType)?,
    };
    let shift = match i.inst.get(slot_name!("b")).map_or(HalfSelect::Both, |operand| operand.flags.half) {
        HalfSelect::Byte1 => 8,
        HalfSelect::Byte2 | HalfSelect::High => 16,
        HalfSelect::Byte3 => 24,
        other => return Err(format!("{other:?} of b")),
    };
    map(i, 1, word, move |b| convert::int_to_float(from, to, b >> shift & from.mask(), mode))
}

/// `I2F` of a 64-bit integer.
pub(super) fn i2f_64(i: &Fields<'_>) -> Decoded {
    let (from, mode) = (source_type(i)?, Mode::new(rounding(i)?));
    map(i, 1, Registers::wide, move |b| convert::int_to_float(from, F32, b, mode))
}

/// `I2F.F64` of a word.
pub(super) fn i2f_f64(i: &Fields<'_>) -> Decoded {
    let from = source_type(i)?;
    map(i, 2, word, move |b| convert::int_to_float(from, F64, b, Mode::IEEE))
}

/// `I2F.F64` of a 64-bit integer.
pub(super) fn i2f_f64_64(i: &Fields<'_>) -> Decoded {
    let (from, mode) = (source_type(i)?, Mode::new(rounding(i)?));
    map(i, 2, Registers::wide, move |b| convert::int_to_float(from, F64, b, mode))
}

/// `I2I`: the nearest number in the range of the smaller type.
pub(super) fn i2i(i: &Fields<'_>) -> Decoded {
    let to = match i.modifier(ModKind::DataType) {
        ".U8" => IntType::new(8, false),
        ".S8" => IntType::new(8, true),
        ".U16" => IntType::new(16, false),
        ".S16" => IntType::new(16, true),
        _ => return i.unknown(ModKind::DataType),
    };
    map(i, 1, word, move |a| u64::from(to.value(convert::int_to_int_sat(S32, to, a)) as u32))
}

/// A result that is narrower than its register, extended by its sign.
fn extended(ty: IntType, result: u64) -> u64 {
    u64::from(ty.value(result) as u32)
}

/// `F2I` to a word.
pub(super) fn f2i(i: &Fields<'_>) -> Decoded {
    let (to, rounding, ftz) = (result_type(i)?, rounding(i)?, ftz(i));
    let nan = if i.is(value!(Variant = ".NTZ")) { NanToInt::Zero } else { NanToInt::TopBit };
    map(i, 1, single, move |b| extended(to, convert::float_to_int_nan(F32, to, b, rounding, ftz, nan)))
}

/// `F2I` to a 64-bit integer.
pub(super) fn f2i_64(i: &Fields<'_>) -> Decoded {
    let (to, rounding, ftz) = (result_type(i)?, rounding(i)?, ftz(i));
    map(i, 2, single, move |b| convert::float_to_int_nan(F32, to, b, rounding, ftz, NanToInt::TopBit))
}

/// `F2I.F64` to a word.
pub(super) fn f2i_f64(i: &Fields<'_>) -> Decoded {
    let (to, rounding) = (result_type(i)?, rounding(i)?);
    map(i, 1, Registers::double, move |b| {
        extended(to, convert::float_to_int_nan(F64, to, b, rounding, false, NanToInt::TopBit))
    })
}

/// `F2I.F64` to a 64-bit integer.
pub(super) fn f2i_f64_64(i: &Fields<'_>) -> Decoded {
    let (to, rounding) = (result_type(i)?, rounding(i)?);
    map(i, 2, Registers::double, move |b| {
        convert::float_to_int_nan(F64, to, b, rounding, false, NanToInt::TopBit)
    })
}

/// `F2F.F32.F64`.
pub(super) fn f2f_narrow(i: &Fields<'_>) -> Decoded {
    let mode = Mode::new(rounding(i)?);
    map(i, 1, Registers::double, move |b| convert::float_to_float(F64, F32, b, mode))
}

/// `F2F.F64.F32`.
pub(super) fn f2f_widen(i: &Fields<'_>) -> Decoded {
    map(i, 2, single, |b| convert::float_to_float(F32, F64, b, Mode::IEEE))
}

/// `F2F.F16.F64` and `.BF16`. The upper half of the result is zero.
pub(super) fn f2f_narrow_half(i: &Fields<'_>) -> Decoded {
    let (to, mode) = (half::format(i, ModKind::DataType)?, Mode::new(rounding(i)?));
    map(i, 1, Registers::double, move |b| convert::float_to_float(F64, to, b, mode))
}

/// Takes the half of `b` that the operand names, if it names the upper one, and applies the signs of `b` to a float of
/// `format`.
fn signs(i: &Fields<'_>, format: Format) -> Result<impl Fn(u64) -> u64 + use<>, String> {
    let signs = i.word("b")?;
    let is_upper = i.inst.get(slot_name!("b")).is_some_and(|b| b.flags.half == HalfSelect::High);
    let shift = if is_upper { 16 } else { 0 };
    Ok(move |b: u64| {
        let b = b >> shift;
        let magnitude = if signs.abs { float::abs(format, b) } else { b & format.mask() };
        if signs.neg { float::neg(format, magnitude) } else { magnitude }
    })
}

/// `F2F.F64.F16` and `.BF16`.
pub(super) fn f2f_widen_half(i: &Fields<'_>) -> Decoded {
    let from = half::format(i, ModKind::SourceType)?;
    let signed = signs(i, from)?;
    map(i, 2, bare, move |b| convert::float_to_float(from, F64, signed(b), Mode::IEEE))
}

/// `F2F` from or to a half.
pub(super) fn f2f_half(i: &Fields<'_>) -> Decoded {
    let (from, to) = (half::format(i, ModKind::SourceType)?, half::format(i, ModKind::DataType)?);
    let (mode, flushes) = (Mode::new(rounding(i)?), ftz(i));
    let signed = signs(i, from)?;
    map(i, 1, bare, move |b| {
        let wide = convert::float_to_float(from, to, signed(b), mode);
        if flushes { to.flush(wide) } else { wide }
    })
}

/// `FRND.F16` and `.BF16`.
pub(super) fn frnd_half(i: &Fields<'_>) -> Decoded {
    let (format, mode) = (half::format(i, ModKind::DataType)?, Mode::new(rounding(i)?));
    half::map_half(i, move |b| convert::round_to_integral(format, b, mode))
}

/// `I2F.F16` and `.BF16` of a word.
pub(super) fn i2f_half(i: &Fields<'_>) -> Decoded {
    let (from, to) = (source_type(i)?, half::format(i, ModKind::DataType)?);
    let mode = Mode::new(rounding(i)?);
    map(i, 1, word, move |b| convert::int_to_float(from, to, b, mode))
}

/// `I2F.F16` and `.BF16` of a 64-bit integer.
pub(super) fn i2f_half_64(i: &Fields<'_>) -> Decoded {
    let (from, to) = (source_type(i)?, half::format(i, ModKind::DataType)?);
    let mode = Mode::new(rounding(i)?);
    map(i, 1, Registers::wide, move |b| convert::int_to_float(from, to, b, mode))
}

/// `F2I.F16` and `.BF16` to a word.
pub(super) fn f2i_half(i: &Fields<'_>) -> Decoded {
    let (to, from, rounding) = (result_type(i)?, half::format(i, ModKind::SourceType)?, rounding(i)?);
    let nan = if i.is(value!(Variant = ".NTZ")) { NanToInt::Zero } else { NanToInt::TopBit };
    half::map_half(i, move |b| extended(to, convert::float_to_int_nan(from, to, b, rounding, false, nan)))
}

/// `F2I.F16` and `.BF16` to a 64-bit integer.
pub(super) fn f2i_half_64(i: &Fields<'_>) -> Decoded {
    let (to, from, rounding) = (result_type(i)?, half::format(i, ModKind::SourceType)?, rounding(i)?);
    let signed = signs(i, from)?;
    map(i, 2, bare, move |b| {
        convert::float_to_int_nan(from, to, signed(b), rounding, false, NanToInt::TopBit)
    })
}

/// `FRND`.
pub(super) fn frnd(i: &Fields<'_>) -> Decoded {
    let mode = Mode::new(rounding(i)?).with_ftz(ftz(i));
    map(i, 1, single, move |b| convert::round_to_integral(F32, b, mode))
}

/// `FRND.F64`.
pub(super) fn frnd_f64(i: &Fields<'_>) -> Decoded {
    let mode = Mode::new(rounding(i)?);
    map(i, 2, Registers::double, move |b| convert::round_to_integral(F64, b, mode))
}

/// `F2FP.F16.F32.PACK_AB` and `.BF16`: `a` becomes the upper half.
pub(super) fn f2fp(i: &Fields<'_>) -> Decoded {
    let (to, rounding) = (half::format(i, ModKind::DataType)?, rounding(i)?);
    let (relu, finite) = (i.is(value!(Variant = ".RELU")), i.is(value!(Sat = ".SATFINITE")));
    let sources = [i.word("a")?, i.word("b")?];
    map2(i.dest("d")?, Registers::float, sources, move |a, b| {
        packed::of_singles(to, b, a, rounding, relu, finite)
    })
}

/// `HADD2.F32` of `-RZ`, which widens a half of `b`. The bits of other sums are not known.
pub(super) fn hadd2_f32(i: &Fields<'_>) -> Decoded {
    let a = i.word("a")?;
    if !(matches!(a.origin, Origin::Value(0)) && a.neg) {
        return Err("a sum".to_string());
    }
    half::map_half(i, |b| convert::float_to_float(F16, F32, b, Mode::IEEE))
}
