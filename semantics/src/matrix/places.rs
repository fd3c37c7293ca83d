//! The places of the elements of a sparse matrix.
//!
//! Of each four columns of a, two are stored, in the order of their columns, and two bits for each
//! of them give its column among the four. Two neighbours of 4 bits count as one element. Of tf32
//! one of two columns is stored, and four bits give its column: `0b0100` the first, `0b1110` the
//! second. A row has 16, 32 or 64 bits: one, two or four lanes of the four that share rows g and
//! g + 8 have the bits of both. (PTX ISA, sparse matrix storage, where figures show the places;
//! `docs/facts/encoding.md` says how they were checked.)
//!
//! | elements | each lane has |
//! |---|---|
//! | 16 bits, tf32 | 16 bits of row g in the lower half of its word, the same bits of row g + 8 in the upper half |
//! | 8 and 4 bits | 32 bits of one row: the lanes alternate between row g and row g + 8 |

use super::{LANES, Number};

/// The columns of the stored elements.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    words: &'a [u64; LANES],
    /// The first of the four lanes.
    first: usize,
    kind: Kind,
    /// Bits of a row in one lane.
    bits: usize,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Two of four columns.
    Elements,
    /// Two of four pairs of columns.
    Pairs,
    /// One of two columns.
    Halves,
}

impl Kind {
    /// Bits for each stored element or pair of them.
    const fn bits(self) -> usize {
        match self {
            Kind::Elements | Kind::Pairs => 2,
            Kind::Halves => 4,
        }
    }
}

impl<'a> Places<'a> {
    /// The places in the words of all lanes, of a matrix with `depth` stored columns of a type.
    /// `selector` is the group of lanes that have them.
    pub fn new(words: &'a [u64; LANES], selector: u8, number: Number, depth: usize) -> Places<'a> {
        let (kind, stored) = match number.bits() {
            32 => (Kind::Halves, depth),
            4 => (Kind::Pairs, depth / 2),
            _ => (Kind::Elements, depth),
        };
        let lanes = (stored * kind.bits()).div_ceil(16).clamp(1, 4);
        let bits = if number.bits() < 16 { 32 } else { 16 };
        Places { words, first: usize::from(selector) * lanes % 4, kind, bits }
    }

    /// The column of a stored element.
    pub fn column(&self, row: usize, stored: usize) -> usize {
        let index = if matches!(self.kind, Kind::Pairs) { stored / 2 } else { stored };
        let at = index * self.kind.bits();
        let (lane, shift) = match self.bits {
            16 => (at / 16, 16 * (row / 8)),
            bits => (2 * (at / bits) + row / 8, 0),
        };
        let word = self.words[4 * (row % 8) + (self.first + lane) % 4];
        let place = (word >> (shift + at % self.bits)) as usize;
        match self.kind {
            Kind::Elements => 4 * (index / 2) + place % 4,
            Kind::Pairs => 8 * (index / 2) + 2 * (place % 4) + stored % 2,
            Kind::Halves => 2 * index + usize::from(place & 0xf == 0b1110),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Number;
    use crate::{S8, U8};

    #[test]
    fn two_of_four_columns_are_stored() {
        // Row 1 stores columns 1 and 3 of the first four, row 9 columns 0 and 2.
        let mut words = [0; LANES];
        words[4 + 2] = 0b1101 | 0b1000 << 16;
        let places = Places::new(&words, 2, Number::HALF, 8);
        assert_eq!([0, 1].map(|stored| places.column(1, stored)), [1, 3]);
        assert_eq!([0, 1].map(|stored| places.column(9, stored)), [0, 2]);
        assert_eq!(places.column(1, 2), 4);
    }

    #[test]
    fn long_rows_are_in_several_lanes() {
        let mut words = [0; LANES];
        words[3] = 0b10_01 << 16;
        let places = Places::new(&words, 1, Number::HALF, 16);
        assert_eq!([8, 9].map(|stored| places.column(8, stored)), [16 + 1, 16 + 2]);
        let places = Places::new(&words, 1, Number::Int(S8), 16);
        assert_eq!([8, 9].map(|stored| places.column(8, stored)), [16 + 1, 16 + 2]);
        let places = Places::new(&words, 0, Number::Int(U8), 32);
        assert_eq!([24, 25].map(|stored| places.column(8, stored)), [48 + 1, 48 + 2]);
    }

    #[test]
    fn one_of_two_columns_of_tf32_is_stored() {
        let mut words = [0; LANES];
        words[0] = 0b0100_1110;
        let places = Places::new(&words, 0, Number::Tf32, 4);
        assert_eq!([0, 1].map(|stored| places.column(0, stored)), [1, 2]);
    }
}
