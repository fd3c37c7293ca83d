//! Matrices of [8 by 8 halves](crate::matrix) between registers and shared memory.

use ptxc_sass::ModKind;

use super::fields::{Decoded, Fields};
use super::memory::Place;
use super::registers::Registers;
use crate::engine::Step;
use crate::error::Fault;
use crate::matrix::{ROW, rows_of, rows_of_words, transposed_word, whole_warp, word_of_rows};
use crate::memory::{AccessKind, Space};
use crate::warp::{Flow, LANES};

/// The number of matrices.
fn count(i: &Fields<'_>) -> Result<usize, String> {
    match i.modifier(ModKind::Size) {
        "" => Ok(1),
        ".2" => Ok(2),
        ".4" => Ok(4),
        _ => i.unknown(ModKind::Size),
    }
}

/// Whether rows and columns are exchanged.
fn transposed(i: &Fields<'_>) -> Result<bool, String> {
    match i.modifier(ModKind::Mode) {
        ".M88" => Ok(false),
        ".MT88" => Ok(true),
        _ => i.unknown(ModKind::Mode),
    }
}

/// The addresses of the rows, in the first lanes: one lane per row.
fn addresses(
    place: &Place,
    count: usize,
    registers: &Registers,
    step: &mut Step<'_>,
) -> Result<[u64; LANES], Fault> {
    step.lanes = rows_of(count);
    let addresses = place.resolve(registers, step);
    step.lanes = u32::MAX;
    addresses
}

/// `LDSM`: lane `8 m + r` has the address of row r of matrix m.
pub(super) fn ldsm(i: &Fields<'_>) -> Decoded {
    let (count, transposed) = (count(i)?, transposed(i)?);
    let (d, place) = (i.dests("d", count as u8)?, Place::new(i, Space::Shared)?);
    Ok(Box::new(move |registers, step| {
        whole_warp(step.lanes, "moves matrices")?;
        let addresses = addresses(&place, count, registers, step)?;
        step.log_access(AccessKind::Read, place.space, ROW as u32, &addresses);
        let mut rows = [[0u8; ROW]; LANES];
        step.memory.each(
            place.space,
            rows_of(count),
            &addresses,
            AccessKind::Read,
            |lane, bytes: &mut [u8; ROW]| {
                rows[lane] = *bytes;
            },
        )?;
        for (matrix, &d) in d.iter().enumerate() {
            registers.write(d, step.lanes, |lane| word_of_rows(&rows, matrix, lane, transposed));
        }
        Ok(Flow::Next)
    }))
}

/// `STSM`: the reverse.
pub(super) fn stsm(i: &Fields<'_>) -> Decoded {
    let (count, transposed) = (count(i)?, transposed(i)?);
    let data = match count {
        1 => i.words::<1>("data")?.to_vec(),
        2 => i.words::<2>("data")?.to_vec(),
        _ => i.words::<4>("data")?.to_vec(),
    };
    let place = Place::new(i, Space::Shared)?;
    Ok(Box::new(move |registers, step| {
        whole_warp(step.lanes, "moves matrices")?;
        let addresses = addresses(&place, count, registers, step)?;
        step.log_access(AccessKind::Write, place.space, ROW as u32, &addresses);
        let words = data.iter().map(|&source| registers.int(source));
        let rows = rows_of_words(words, transposed);
        step.memory.each(
            place.space,
            rows_of(count),
            &addresses,
            AccessKind::Write,
            |lane, bytes: &mut [u8; ROW]| {
                *bytes = rows[lane];
            },
        )?;
        Ok(Flow::Next)
    }))
}

/// `MOVM`: the transposed matrix.
pub(super) fn movm(i: &Fields<'_>) -> Decoded {
    let (d, a) = (i.dest("d")?, i.word("a")?);
    Ok(Box::new(move |registers, step| {
        whole_warp(step.lanes, "moves matrices")?;
        let a = registers.int(a);
        registers.write(d, step.lanes, |lane| transposed_word(&a, lane));
        Ok(Flow::Next)
    }))
}
