//! Matrices of 8 by 8 halves. A row is 16 bytes in shared memory; in registers, each of four lanes
//! has a word of it.

use crate::error::Fault;

/// Bytes of a row.
pub(crate) const ROW: usize = 16;
/// Rows of a matrix.
pub(crate) const ROWS: usize = 8;

/// The row and column of the element that a lane has in a half of its register.
pub(crate) const fn element(lane: usize, half: usize, transposed: bool) -> (usize, usize) {
    let (row, column) = (lane / 4, 2 * (lane % 4) + half);
    if transposed { (column, row) } else { (row, column) }
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
