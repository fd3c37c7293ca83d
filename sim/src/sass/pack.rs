//! Conversions whose results are packed into a register, below a half of a third operand.

use ptxc_sass::{HalfSelect, ModKind, OperandKind, SlotName, slot_name, value};
use ptxc_semantics::convert::{self, NanToInt};
use ptxc_semantics::narrow::ByteFormat;
use ptxc_semantics::{F32, IntType, Rounding, S32, narrow};

use super::fields::{Decoded, Fields, map1, map2, map3};
use super::registers::{Registers, Source};

/// The type of a narrow integer result.
fn narrow(i: &Fields<'_>) -> Result<IntType, String> {
    Ok(match i.modifier(ModKind::DataType) {
        ".U8" => IntType::new(8, false),
        ".S8" => IntType::new(8, true),
        ".U16" => IntType::new(16, false),
        ".S16" => IntType::new(16, true),
        _ => return i.unknown(ModKind::DataType),
    })
}

/// The shift that moves down the half of `c` that is kept.
fn kept(i: &Fields<'_>) -> Result<u32, String> {
    chosen_half(i, slot_name!("c"))
}

/// The shift that moves down the half of an operand that is read.
fn chosen_half(i: &Fields<'_>, name: SlotName) -> Result<u32, String> {
    let Some(operand) = i.inst.get(name) else { return Ok(0) };
    match operand.flags.half {
        HalfSelect::Low => Ok(0),
        HalfSelect::High => Ok(16),
        // An immediate has no mark; its low half is read.
        HalfSelect::Both if matches!(operand.kind, OperandKind::Imm(_)) => Ok(0),
        other => Err(format!("{other:?} of {name:?}")),
    }
}

/// `b`, then `a` above it, then as much of `c` as fits.
fn joined(ty: IntType, a: u32, b: u32, c: u32) -> u32 {
    let both = a << ty.bits() | b;
    if ty.bits() == 8 { c << 16 | both } else { both }
}

/// `F2IP`.
pub(super) fn f2ip(i: &Fields<'_>) -> Decoded {
    let (ty, shift) = (narrow(i)?, kept(i)?);
    let rounding = match i.modifier(ModKind::Round) {
        "" => Rounding::Nearest,
        ".TRUNC" => Rounding::Zero,
        _ => return i.unknown(ModKind::Round),
    };
    let nan = if i.is(value!(Variant = ".NTZ")) { NanToInt::Zero } else { NanToInt::TopBit };
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    let whole =
        move |a: u32| (convert::float_to_int_nan(F32, ty, a.into(), rounding, false, nan) & ty.mask()) as u32;
    map3(i.dest("d")?, Registers::int, sources.map(bare), move |a, b, c| {
        joined(ty, whole(a), whole(b), c >> shift)
    })
}

/// `F2FP.TF32.F32.PACK_B`.
pub(super) fn f2fp_tf32(i: &Fields<'_>) -> Decoded {
    let rounding = match i.modifier(ModKind::Round) {
        "" => Rounding::Nearest,
        ".RZ" => Rounding::Zero,
        _ => return i.unknown(ModKind::Round),
    };
    let relu = i.is(value!(Variant = ".RELU"));
    map1(i.dest("d")?, Registers::int, bare(i.word("b")?), move |b| narrow::single_to_tf32(b, rounding, relu))
}

/// The format of bytes that a modifier names.
fn byte_format(i: &Fields<'_>, kind: ModKind) -> Result<ByteFormat, String> {
    match i.modifier(kind) {
        ".E4M3" => Ok(ByteFormat::E4m3),
        ".E5M2" => Ok(ByteFormat::E5m2),
        _ => i.unknown(kind),
    }
}

/// The format and whether negative results become zero, for a conversion to bytes. It is not known
/// which bytes the conversion gives beyond their range without `.SATFINITE`.
fn to_bytes(i: &Fields<'_>) -> Result<(ByteFormat, bool), String> {
    if !i.is(value!(Sat = ".SATFINITE")) {
        return i.unknown(ModKind::Sat);
    }
    Ok((byte_format(i, ModKind::DataType)?, i.is(value!(Variant = ".RELU"))))
}

/// `F2FP` of two binary32 to bytes.
pub(super) fn f2fp_bytes(i: &Fields<'_>) -> Decoded {
    let ((to, relu), shift) = (to_bytes(i)?, kept(i)?);
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    map3(i.dest("d")?, Registers::int, sources.map(bare), move |a, b, c| {
        narrow::bytes_of_singles(to, b, a, relu) | (c >> shift) << 16
    })
}

/// `F2FP` of two binary16 to bytes.
pub(super) fn f2fp_bytes_of_halves(i: &Fields<'_>) -> Decoded {
    let ((to, relu), shift) = (to_bytes(i)?, kept(i)?);
    let sources = [i.word("b")?, i.word("c")?];
    map2(i.dest("d")?, Registers::int, sources.map(bare), move |b, c| {
        narrow::bytes_of_halves(to, b, relu) | (c >> shift) << 16
    })
}

/// `F2FP` of two bytes to binary16.
pub(super) fn f2fp_unpack(i: &Fields<'_>) -> Decoded {
    let (from, relu) = (byte_format(i, ModKind::SourceType)?, i.is(value!(Variant = ".RELU")));
    let shift = chosen_half(i, slot_name!("b"))?;
    map1(i.dest("d")?, Registers::int, bare(i.word("b")?), move |b| {
        narrow::halves_of_bytes(from, b >> shift, relu)
    })
}

/// `I2IP`.
pub(super) fn i2ip(i: &Fields<'_>) -> Decoded {
    let (ty, shift) = (narrow(i)?, kept(i)?);
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    let limited = move |a: u32| (convert::int_to_int_sat(S32, ty, a.into()) & ty.mask()) as u32;
    map3(i.dest("d")?, Registers::int, sources.map(bare), move |a, b, c| {
        joined(ty, limited(a), limited(b), c >> shift)
    })
}

/// `I2IP` to types of 2 and 4 bits.
pub(super) fn i2ip_narrow(i: &Fields<'_>) -> Decoded {
    let ty = match (i.modifier(ModKind::DataType), i.modifier(ModKind::Variant)) {
        (".U2", ".28") => IntType::new(2, false),
        (".S2", ".28") => IntType::new(2, true),
        (".U4", ".24") => IntType::new(4, false),
        (".S4", ".24") => IntType::new(4, true),
        _ => return i.unknown(ModKind::DataType),
    };
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    map3(i.dest("d")?, Registers::int, sources.map(bare), move |a, b, c| narrow::pack_saturated(ty, a, b, c))
}

/// None of these instructions accepts signs.
fn bare(source: Source) -> Source {
    Source { neg: false, abs: false, not: false, ..source }
}
