//! Products of matrices on the tensor cores. [`ptxc_semantics::matrix`] defines the positions of
//! elements and the rounding of sums.

use ptxc_sass::ModKind;
use ptxc_semantics::matrix::{Multiply, Number, Sum};
use ptxc_semantics::narrow::ByteFormat;
use ptxc_semantics::{IntType, Rounding, S32};

use super::fields::{Decoded, Fields};
use super::registers::{Registers, Source};
use crate::matrix::whole_warp;
use crate::warp::{Flow, LANES};

/// The rows of a and its columns.
fn size(i: &Fields<'_>) -> Result<(usize, usize), String> {
    let Some(shape) = i.modifier(ModKind::Shape).strip_prefix('.') else {
        return i.unknown(ModKind::Shape);
    };
    // `16816` or `16x8x16`.
    let digits = shape.replace('x', "");
    let (rows, depth) = match digits.strip_prefix("168") {
        Some(depth) => (16, Some(depth)),
        None => (8, digits.strip_prefix("88")),
    };
    match depth.and_then(|depth| depth.parse().ok()) {
        Some(depth) => Ok((rows, depth)),
        None => i.unknown(ModKind::Shape),
    }
}

/// The registers of an operand.
fn words(i: &Fields<'_>, name: &str, count: usize) -> Result<Vec<Source>, String> {
    match count {
        1 => i.words::<1>(name).map(Vec::from),
        2 => i.words::<2>(name).map(Vec::from),
        4 => i.words::<4>(name).map(Vec::from),
        8 => i.words::<8>(name).map(Vec::from),
        16 => i.words::<16>(name).map(Vec::from),
        _ => Err(format!("{count} registers of {name}")),
    }
}

fn read(registers: &Registers, sources: &[Source]) -> Vec<[u64; LANES]> {
    sources.iter().map(|&source| registers.int(source).map(u64::from)).collect()
}

/// Pairs of registers.
fn read_pairs(registers: &Registers, sources: &[Source]) -> Vec<[u64; LANES]> {
    sources.as_chunks::<2>().0.iter().map(|&pair| registers.double(pair)).collect()
}

/// Makes an action of a product.
fn action(i: &Fields<'_>, types: [Number; 3], sum: Sum, is_sparse: bool) -> Decoded {
    let (rows, depth) = size(i)?;
    let [a, b, sum_type] = types;
    let (meta, sparse) = match is_sparse {
        true => (Some(i.word("meta")?), Some(i.imm("selector")? as u8)),
        false => (None, None),
    };
    let multiply = Multiply { rows, a, b, sum_type, sum, sparse };
    // A register, or a pair of them for elements of 64 bits, holds a lane's part of a row.
    let width = if sum_type.bits() == 64 { 2 } else { 1 };
    let registers = |elements: usize, number: Number| {
        let per_register = 32 * width;
        (elements * number.bits() as usize / LANES).div_ceil(per_register) * width
    };
    let stored = if is_sparse { depth / 2 } else { depth };
    let of_c = registers(rows * 8, sum_type);
    let a = words(i, "a", registers(rows * stored, a))?;
    let b = words(i, "b", registers(8 * depth, b))?;
    let (c, d) = (words(i, "c", of_c)?, i.dests("d", of_c as u8)?);
    Ok(Box::new(move |registers, step| {
        whole_warp(step.lanes, "multiplies matrices")?;
        let read = if width == 2 { read_pairs } else { read };
        let places = meta.map(|meta| registers.int(meta).map(u64::from));
        let operands = [&a, &b, &c].map(|operand| read(registers, operand));
        let result = multiply.run(operands.each_ref().map(Vec::as_slice), places.as_ref());
        for (dests, values) in d.chunks(width).zip(&result) {
            registers.write_wide(dests, step.lanes, |lane| values[lane]);
        }
        Ok(Flow::Next)
    }))
}

/// The type of sums of floats.
pub(super) fn float_sum(i: &Fields<'_>) -> Result<Number, String> {
    match i.modifier(ModKind::DataType) {
        ".F16" => Ok(Number::HALF),
        ".F32" => Ok(Number::SINGLE),
        _ => i.unknown(ModKind::DataType),
    }
}

/// Halves, bfloat16 and TF32.
fn halves(i: &Fields<'_>, is_sparse: bool) -> Decoded {
    let number = match i.modifier(ModKind::SourceType) {
        "" => Number::HALF,
        ".BF16" => Number::BFLOAT,
        ".TF32" => Number::Tf32,
        _ => return i.unknown(ModKind::SourceType),
    };
    if !i.modifier(ModKind::Sat).is_empty() {
        return i.unknown(ModKind::Sat);
    }
    action(i, [number, number, float_sum(i)?], Sum::Plain, is_sparse)
}

/// `HMMA`.
pub(super) fn hmma(i: &Fields<'_>) -> Decoded {
    halves(i, false)
}

/// `HMMA.SP`.
pub(super) fn hmma_sp(i: &Fields<'_>) -> Decoded {
    halves(i, true)
}

/// Floats of 8 bits.
fn bytes(i: &Fields<'_>, is_sparse: bool) -> Decoded {
    let number = |kind| match i.modifier(kind) {
        ".E4M3" => Ok(Number::Byte(ByteFormat::E4m3)),
        ".E5M2" => Ok(Number::Byte(ByteFormat::E5m2)),
        _ => i.unknown(kind),
    };
    let (a, b) = (number(ModKind::SourceType)?, number(ModKind::SecondType)?);
    action(i, [a, b, float_sum(i)?], Sum::Plain, is_sparse)
}

/// `QMMA`.
pub(super) fn qmma(i: &Fields<'_>) -> Decoded {
    bytes(i, false)
}

/// `QMMA.SP`.
pub(super) fn qmma_sp(i: &Fields<'_>) -> Decoded {
    bytes(i, true)
}

/// `IMMA` on bytes.
pub(super) fn imma(i: &Fields<'_>) -> Decoded {
    integers(i, 8, false)
}

/// `IMMA.SP` on bytes.
pub(super) fn imma_sp(i: &Fields<'_>) -> Decoded {
    integers(i, 8, true)
}

/// `IMMA` on half bytes.
pub(super) fn imma_4(i: &Fields<'_>) -> Decoded {
    integers(i, 4, false)
}

/// `IMMA.SP` on half bytes.
pub(super) fn imma_4_sp(i: &Fields<'_>) -> Decoded {
    integers(i, 4, true)
}

/// Products of integers of `bits` bits.
fn integers(i: &Fields<'_>, bits: u32, is_sparse: bool) -> Decoded {
    let number = |kind| match i.modifier(kind) {
        text if text == format!(".U{bits}") => Ok(Number::Int(IntType::new(bits, false))),
        text if text == format!(".S{bits}") => Ok(Number::Int(IntType::new(bits, true))),
        _ => i.unknown(kind),
    };
    let (a, b) = (number(ModKind::SourceType)?, number(ModKind::SecondType)?);
    let sum = match i.modifier(ModKind::Sat) {
        "" => Sum::Plain,
        ".SAT" => Sum::Saturating,
        _ => return i.unknown(ModKind::Sat),
    };
    action(i, [a, b, Number::Int(S32)], sum, is_sparse)
}

/// `BMMA`.
pub(super) fn bmma(i: &Fields<'_>) -> Decoded {
    let sum = match i.modifier(ModKind::Combine) {
        ".XOR" => Sum::Xor,
        ".AND" => Sum::And,
        _ => return i.unknown(ModKind::Combine),
    };
    action(i, [Number::Bit, Number::Bit, Number::Int(S32)], sum, false)
}

/// `DMMA`.
pub(super) fn dmma(i: &Fields<'_>) -> Decoded {
    let sum = match i.modifier(ModKind::Round) {
        "" => Sum::Plain,
        ".RZ" => Sum::Directed(Rounding::Zero),
        ".RM" => Sum::Directed(Rounding::Down),
        ".RP" => Sum::Directed(Rounding::Up),
        _ => return i.unknown(ModKind::Round),
    };
    action(i, [Number::DOUBLE; 3], sum, false)
}
