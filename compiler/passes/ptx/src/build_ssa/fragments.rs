//! Where the elements of `wmma` matrices lie in registers and in memory.
//!
//! PTX leaves the fragments of `wmma` open. Here they are those of `mma`, as in ptxas's code, so
//! that `wmma.mma` becomes one or more products. A lane `4 g + t` has elements of row `g` of a, of
//! column `g` of b, and of row `g` of c and d: the *outer* index. The other is the *inner* index.
//!
//! ```text
//! component of a lane:  outer = block.outer + g,  inner = block.inner + elements · t + n
//! ```
//!
//! A matrix of 8 by 32 elements is the transposed one of 32 by 8: then a and b change places.

use ptxc_ir::matrix::{Element, Size};

/// An operand of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Matrix {
    /// The first factor, m × k.
    A,
    /// The second factor, k × n.
    B,
    /// The sums, m × n.
    Sum,
}

/// The part of a matrix that one component of all lanes has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block {
    /// The outer index of lane 0.
    pub outer: u32,
    /// The inner index of lane 0.
    pub inner: u32,
}

/// The fragment of a matrix.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    /// The operand that the program names.
    pub matrix: Matrix,
    /// The type of the elements.
    pub element: Element,
    /// One block for each component.
    pub blocks: Vec<Block>,
    /// Whether elements with neighbouring inner indices are neighbours in memory.
    pub inner_first: bool,
    /// The distance of the inner indices of neighbouring lanes.
    pub step: u32,
    /// Whether it is the first factor of the products that are made.
    pub is_first: bool,
}

/// Whether a product is made of the transposed matrices.
pub(super) const fn is_transposed(size: Size) -> bool {
    size.m == 8 && size.n > 8
}

impl Fragment {
    /// The fragment of a matrix of a product of this size, stored by rows or by columns.
    pub fn new(matrix: Matrix, size: Size, element: Element, by_rows: bool) -> Fragment {
        let (m, n, k) = (u32::from(size.m), u32::from(size.n), u32::from(size.k));
        let swaps = is_transposed(size);
        let in_word = (32 / element.bits()).max(1);
        let is_first = (matrix == Matrix::A) != swaps;
        let (outer, inner) = match matrix {
            Matrix::A => (m, k),
            Matrix::B => (n, k),
            Matrix::Sum if swaps => (n, m),
            Matrix::Sum => (m, n),
        };
        // Rows of a, and columns of b, have their inner elements next to each other.
        let inner_first = match matrix {
            Matrix::A => by_rows,
            Matrix::B => !by_rows,
            Matrix::Sum => by_rows != swaps,
        };
        let has_sixteen = outer >= 16 && (matrix == Matrix::Sum || is_first);
        let (tile, halves): (u32, &[u32]) = if has_sixteen { (16, &[0, 8]) } else { (8, &[0]) };
        let mut blocks = Vec::new();
        let of = |outer, inner| Block { outer, inner };
        for first in (0..outer).step_by(tile as usize) {
            if matrix == Matrix::Sum {
                for column in (0..inner).step_by(8) {
                    for half in halves {
                        let parts = if in_word > 1 { 1 } else { 2 };
                        blocks.extend((0..parts).map(|part| of(first + half, column + part)));
                    }
                }
            } else {
                for column in (0..inner).step_by(4 * in_word as usize) {
                    blocks.extend(halves.iter().map(|half| of(first + half, column)));
                }
            }
        }
        let step = if matrix == Matrix::Sum { 2 } else { in_word };
        Fragment { matrix, element, blocks, inner_first, step, is_first: matrix != Matrix::Sum && is_first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(matrix: Matrix, size: &str, element: Element) -> Fragment {
        Fragment::new(matrix, Size::parse(size).expect("a size"), element, true)
    }

    fn blocks(matrix: Matrix, size: &str, element: Element) -> Vec<(u32, u32)> {
        fragment(matrix, size, element).blocks.iter().map(|block| (block.outer, block.inner)).collect()
    }

    #[test]
    fn fragments_are_those_of_products() {
        assert_eq!(blocks(Matrix::A, "m16n16k16", Element::F16), [(0, 0), (8, 0), (0, 8), (8, 8)]);
        assert_eq!(blocks(Matrix::B, "m16n16k16", Element::F16), [(0, 0), (0, 8), (8, 0), (8, 8)]);
        assert_eq!(blocks(Matrix::Sum, "m16n16k16", Element::F16), [(0, 0), (8, 0), (0, 8), (8, 8)]);
        assert_eq!(blocks(Matrix::Sum, "m8n8k4", Element::F64), [(0, 0), (0, 1)]);
        assert_eq!(blocks(Matrix::A, "m16n16k16", Element::S8), [(0, 0), (8, 0)]);
        assert_eq!(blocks(Matrix::B, "m16n16k8", Element::TF32), [(0, 0), (0, 4), (8, 0), (8, 4)]);
    }

    #[test]
    fn wide_matrices_are_transposed() {
        assert_eq!(blocks(Matrix::A, "m8n32k16", Element::F16), [(0, 0), (0, 8)]);
        let b = fragment(Matrix::B, "m8n32k16", Element::F16);
        assert_eq!((b.blocks.len(), b.blocks[5].outer, b.blocks[5].inner), (8, 24, 0));
        assert!(b.is_first && !b.inner_first);
        let sums = fragment(Matrix::Sum, "m8n32k16", Element::F32);
        assert!(!sums.inner_first);
        assert_eq!((sums.blocks[3].outer, sums.blocks[3].inner), (8, 1));
    }
}
