//! Matrices of 8 by 8 halves. A row is 16 bytes in shared memory; in registers, each of four lanes
//! has a word of it.

use crate::error::Fault;
use crate::warp::LANES;

/// Bytes of a row.
pub(crate) const ROW: usize = 16;
/// Rows of a matrix.
const ROWS: usize = 8;

/// The rows of up to four matrices, one after another.
pub(crate) type Rows = [[u8; ROW]; LANES];

/// The row and column of the element that a lane has in a half of its register.
const fn element(lane: usize, half: usize, transposed: bool) -> (usize, usize) {
    let (row, column) = (lane / 4, 2 * (lane % 4) + half);
    if transposed { (column, row) } else { (row, column) }
}

/// The word of a lane, given the element in each row and column.
fn word(lane: usize, transposed: bool, of: impl Fn(usize, usize) -> u16) -> u32 {
    let [low, high] = [0, 1].map(|half| {
        let (row, column) = element(lane, half, transposed);
        u32::from(of(row, column))
    });
    low | high << 16
}

/// The word that a lane has of a matrix.
pub(crate) fn word_of_rows(rows: &Rows, matrix: usize, lane: usize, transposed: bool) -> u32 {
    word(lane, transposed, |row, column| {
        let bytes = &rows[ROWS * matrix + row][2 * column..];
        u16::from_le_bytes([bytes[0], bytes[1]])
    })
}

/// The word that a lane has of the transposed matrix, given the words of all lanes.
pub(crate) fn transposed_word(words: &[u32; LANES], lane: usize) -> u32 {
    word(lane, true, |row, column| (words[4 * row + column / 2] >> (16 * (column % 2))) as u16)
}

/// The rows of matrices, each given by the words of all lanes.
pub(crate) fn rows_of_words(matrices: impl Iterator<Item = [u32; LANES]>, transposed: bool) -> Rows {
    let mut rows = [[0u8; ROW]; LANES];
    for (matrix, words) in matrices.enumerate() {
        for (lane, word) in words.into_iter().enumerate() {
            for half in 0..2 {
                let (row, column) = element(lane, half, transposed);
                let bytes = ((word >> (16 * half)) as u16).to_le_bytes();
                rows[ROWS * matrix + row][2 * column..][..2].copy_from_slice(&bytes);
            }
        }
    }
    rows
}

/// The lanes that have the addresses of rows of that many matrices: lane `8 m + r` has that of row
/// `r` of matrix `m`.
pub(crate) const fn rows_of(count: usize) -> u32 {
    ((1u64 << (ROWS * count)) - 1) as u32
}

/// Checks that all lanes of a warp take part in an operation.
pub(crate) fn whole_warp(lanes: u32, what: &str) -> Result<(), Fault> {
    match !lanes {
        0 => Ok(()),
        absent => {
            let message = format!("{what} without lane {} of its warp", absent.trailing_zeros());
            Err(Fault::new(lanes.trailing_zeros(), message))
        }
    }
}
