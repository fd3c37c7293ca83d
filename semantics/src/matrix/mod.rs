//! Products of small matrices whose elements lie in the registers of a warp, in the layout of the
//! tensor cores.
//!
//! `d = a · b + c`, where a is `rows` × k, b is k × 8, c and d are `rows` × 8, and `rows` is 8 or
//! 16. In each register of a, lane `4 g + t` has elements of row g; if there are 16 rows, the
//! registers alternate between row g and row g + 8. These are the elements of columns `n t` to
//! `n t + n - 1`, where n is the number of elements that fit in a register; each further register, or
//! pair of registers, is `4 n` columns further on. b has the same layout with rows and columns
//! exchanged. c has two neighbours of a row in each register or pair of registers. (PTX ISA, `mma`:
//! this rule sums up the figures of the fragments.)
//!
//! Elements are passed as 64 bits; narrow elements are in the low bits of the word that they share
//! with their neighbours.
//!
//! How the hardware rounds within a sum is not documented. Here a sum of products of halves, or of
//! tf32, is exact to 53 bits and rounded once; sums of binary64 are fused multiply-adds in the order
//! of k; integers are exact.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | the positions of elements, and sums over them |
//! | [`multiply`] | the element types, and how their products are summed |
//! | [`places`] | the places of the elements of a sparse a |

pub mod multiply;
pub mod places;

pub use multiply::{Multiply, Number, Sum};

/// Lanes of a warp.
const LANES: usize = 32;

/// The columns of b, c and d.
pub const COLUMNS: usize = 8;

/// The registers of an operand, each with the values of all lanes.
pub type Fragment = [[u64; LANES]];

/// How elements lie in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Bits of an element.
    pub bits: u32,
    /// Elements in a register.
    pub count: usize,
}

impl Packing {
    /// As many elements of that many bits as fit in 32 bits, or one if an element is wider.
    pub const fn of(bits: u32) -> Packing {
        Packing { bits, count: if bits >= 32 { 1 } else { 32 / bits as usize } }
    }

    /// An element of a register.
    const fn element(self, register: u64, index: usize) -> u64 {
        register >> (self.bits as usize * index) & (u64::MAX >> (64 - self.bits))
    }
}

/// The element of a in a row and column.
pub fn left(a: &Fragment, packing: Packing, rows: usize, row: usize, column: usize) -> u64 {
    let (block, place) = (column / (4 * packing.count), column % (4 * packing.count));
    let register = block * (rows / 8) + row / 8;
    packing.element(a[register][4 * (row % 8) + place / packing.count], place % packing.count)
}

/// The element of b in a row and column.
pub fn right(b: &Fragment, packing: Packing, row: usize, column: usize) -> u64 {
    let (block, place) = (row / (4 * packing.count), row % (4 * packing.count));
    packing.element(b[block][4 * column + place / packing.count], place % packing.count)
}

/// The register, lane and index in the register of an element of c or d.
pub const fn addend(packing: Packing, row: usize, column: usize) -> (usize, usize, usize) {
    let lane = 4 * (row % 8) + column / 2;
    match packing.count {
        1 => (2 * (row / 8) + column % 2, lane, 0),
        _ => (row / 8, lane, column % 2),
    }
}

/// The number of columns of a and of rows of b.
pub const fn depth(registers: usize, packing: Packing, rows: usize) -> usize {
    registers / (rows / 8) * 4 * packing.count
}

/// The whole product: `d`, in the registers of c, whose elements start as [`Packing`] says.
/// `element` computes the element of d in a row and column from that of c.
fn product(
    c: &Fragment,
    packing: Packing,
    rows: usize,
    element: impl Fn(usize, usize, u64) -> u64,
) -> Vec<[u64; LANES]> {
    let mut d = vec![[0; LANES]; c.len()];
    for row in 0..rows {
        for column in 0..COLUMNS {
            let (register, lane, index) = addend(packing, row, column);
            let of_c = packing.element(c[register][lane], index);
            d[register][lane] |= element(row, column, of_c) << (packing.bits as usize * index);
        }
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fragment_of_sixteen_rows_of_halves_is_that_of_the_figures() {
        let packing = Packing::of(16);
        // Each half of each register of each lane holds its own name.
        let name = |register: u64, lane: usize| (register << 9) | (lane as u64) << 1;
        let a: Vec<[u64; LANES]> = (0..4u64)
            .map(|register| {
                std::array::from_fn(|lane| name(register, lane) | (name(register, lane) + 1) << 16)
            })
            .collect();
        for lane in 0..LANES {
            let (group, thread) = (lane / 4, lane % 4);
            for register in 0..4 {
                for half in 0..2 {
                    let row = group + 8 * (register % 2);
                    let column = 2 * thread + half + 8 * (register / 2);
                    let name = (register as u64) << 9 | (lane as u64) << 1 | half as u64;
                    assert_eq!(left(&a, packing, 16, row, column), name & 0xffff, "{row} {column}");
                }
            }
        }
    }
}
