//! Products of matrices on the tensor cores. [`ptxc_semantics::matrix`] defines the positions of
//! elements and the rounding of sums.

use ptxc_sass::ModKind;
use ptxc_semantics::matrix::{Packing, product};
use ptxc_semantics::{BF16, F16, F32, F64, Format, IntType, Mode, convert, float};

use super::fields::{Decoded, Fields};
use super::registers::{Registers, Source};
use crate::error::Fault;
use crate::warp::{Flow, LANES};

/// The size of a product: the rows of a, and the registers of a, b, and of c and d.
struct Size {
    rows: usize,
    a: usize,
    b: usize,
    c: usize,
}

/// The size that `.MNK` says, for elements of `bits` bits and results of `result` bits.
fn size(i: &Fields<'_>, bits: usize, result: usize) -> Result<Size, String> {
    let (rows, k) = match i.modifier(ModKind::Shape) {
        ".8816" => (8, 16),
        ".8832" => (8, 32),
        ".1684" | ".16x8x4" => (16, 4),
        ".1688" | ".16x8x8" => (16, 8),
        ".16816" | ".16x8x16" => (16, 16),
        ".16832" => (16, 32),
        ".16864" => (16, 64),
        ".884" | ".8x8x4" => (8, 4),
        _ => return i.unknown(ModKind::Shape),
    };
    // A register, or a pair of them for elements of 64 bits, holds a lane's part of a row.
    let register = bits.max(32);
    let c = if result == 16 { rows / 8 } else { rows / 4 };
    Ok(Size { rows, a: rows * k * bits / (LANES * register), b: 8 * k * bits / (LANES * register), c })
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

/// Makes an action from a function of the registers of a, b and c.
fn action(
    i: &Fields<'_>,
    size: &Size,
    pairs: bool,
    multiply: impl Fn([&[[u64; LANES]]; 3]) -> Vec<[u64; LANES]> + 'static,
) -> Decoded {
    let width = if pairs { 2 } else { 1 };
    let operand = |name, count| words(i, name, count * width);
    let (a, b, c) = (operand("a", size.a)?, operand("b", size.b)?, operand("c", size.c)?);
    let d = i.dests("d", (size.c * width) as u8)?;
    Ok(Box::new(move |registers, step| {
        if step.lanes != u32::MAX {
            let absent = (!step.lanes).trailing_zeros();
            let what = format!("multiplies matrices without lane {absent} of its warp");
            return Err(Fault::new(step.lanes.trailing_zeros(), what));
        }
        let read = if pairs { read_pairs } else { read };
        let result = multiply([&read(registers, &a), &read(registers, &b), &read(registers, &c)]);
        for (dests, values) in d.chunks(width).zip(&result) {
            registers.write_wide(dests, step.lanes, |lane| values[lane]);
        }
        Ok(Flow::Next)
    }))
}

/// The value of a float as a binary64, which holds all values of the narrower formats.
fn value(format: Format, bits: u64) -> f64 {
    f64::from_bits(convert::float_to_float(format, F64, bits, Mode::IEEE))
}

/// `HMMA`. TF32 is binary32 whose lower bits are ignored.
pub(super) fn hmma(i: &Fields<'_>) -> Decoded {
    let (format, bits) = match i.modifier(ModKind::SourceType) {
        "" => (F16, 16),
        ".BF16" => (BF16, 16),
        ".TF32" => (F32, 32),
        _ => return i.unknown(ModKind::SourceType),
    };
    let (result, result_bits) = match i.modifier(ModKind::DataType) {
        ".F16" => (F16, 16),
        ".F32" => (F32, 32),
        _ => return i.unknown(ModKind::DataType),
    };
    if !i.modifier(ModKind::Sat).is_empty() {
        return i.unknown(ModKind::Sat);
    }
    const TF32: u64 = !0x1fff;
    let element = move |bits: u64| value(format, if format == F32 { bits & TF32 } else { bits });
    let size = size(i, bits, result_bits)?;
    let rows = size.rows;
    let (narrow, wide) = (Packing::of(bits as u32), Packing::of(result_bits as u32));
    action(i, &size, false, move |operands| {
        product(
            operands,
            [narrow, narrow, wide],
            rows,
            |c| value(result, c),
            |sum, a, b| sum + element(a) * element(b),
            |sum| convert::float_to_float(F64, result, sum.to_bits(), Mode::IEEE),
        )
    })
}

/// `IMMA` on bytes.
pub(super) fn imma(i: &Fields<'_>) -> Decoded {
    integers(i, 8, [".U8", ".S8"])
}

/// `IMMA` on half bytes.
pub(super) fn imma_4(i: &Fields<'_>) -> Decoded {
    integers(i, 4, [".U4", ".S4"])
}

/// Products of integers of `bits` bits, with the names of the unsigned and the signed type.
fn integers(i: &Fields<'_>, bits: u32, [unsigned, signed]: [&str; 2]) -> Decoded {
    let ty = |kind| match i.modifier(kind) {
        text if text == unsigned => Ok(false),
        text if text == signed => Ok(true),
        _ => i.unknown(kind),
    };
    let [a, b] =
        [ty(ModKind::SourceType)?, ty(ModKind::SecondType)?].map(|signed| IntType::new(bits, signed));
    let saturates = match i.modifier(ModKind::Sat) {
        "" => false,
        ".SAT" => true,
        _ => return i.unknown(ModKind::Sat),
    };
    let size = size(i, bits as usize, 32)?;
    let (rows, narrow) = (size.rows, Packing::of(bits));
    action(i, &size, false, move |operands| {
        product(
            operands,
            [narrow, narrow, Packing::of(32)],
            rows,
            |c| i64::from(c as i32),
            |sum, x, y| sum + (a.value(x) * b.value(y)) as i64,
            |sum| {
                let sum = if saturates { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
                u64::from(sum as u32)
            },
        )
    })
}

/// `DMMA`.
pub(super) fn dmma(i: &Fields<'_>) -> Decoded {
    if !i.modifier(ModKind::Round).is_empty() {
        return i.unknown(ModKind::Round);
    }
    let size = size(i, 64, 64)?;
    let (rows, packing) = (size.rows, Packing::of(64));
    action(i, &size, true, move |operands| {
        let step = |sum, a, b| float::fma(F64, a, b, sum, Mode::IEEE);
        product(operands, [packing; 3], rows, |c| c, step, |sum| sum)
    })
}
