//! Products of matrices by the types of their elements.
//!
//! ```
//! use ptxc_semantics::S8;
//! use ptxc_semantics::matrix::{Multiply, Number, Sum};
//! let multiply = Multiply {
//!     rows: 8,
//!     a: Number::Int(S8),
//!     b: Number::Int(S8),
//!     sum_type: Number::Int(ptxc_semantics::S32),
//!     sum: Sum::Plain,
//!     sparse: None,
//! };
//! // Every element of a is 1, every element of b is -2: each element of d is 5 + 16 · -2.
//! let (a, b, c) = ([[0x0101_0101; 32]], [[0xfefe_fefe; 32]], [[5; 32]; 2]);
//! assert_eq!(multiply.run([&a, &b, &c], None)[0][0] as u32 as i32, -27);
//! ```

use super::places::Places;
use super::{COLUMNS, Fragment, LANES, Packing, left, product, right};
use crate::narrow::{ByteFormat, of_byte};
use crate::{BF16, F16, F32, F64, Format, IntType, Mode, Rounding, convert, float};

/// The type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A float.
    Float(Format),
    /// A binary32 whose lower 13 bits are ignored.
    Tf32,
    /// A float of 8 bits.
    Byte(ByteFormat),
    /// An integer of at most 32 bits.
    Int(IntType),
    /// A bit.
    Bit,
}

impl Number {
    /// binary16.
    pub const HALF: Number = Number::Float(F16);
    /// bfloat16.
    pub const BFLOAT: Number = Number::Float(BF16);
    /// binary32.
    pub const SINGLE: Number = Number::Float(F32);
    /// binary64.
    pub const DOUBLE: Number = Number::Float(F64);

    /// Its width in bits, as it is stored.
    pub const fn bits(self) -> u32 {
        match self {
            Number::Float(format) => format.bits(),
            Number::Tf32 => 32,
            Number::Byte(_) => 8,
            Number::Int(ty) => ty.bits(),
            Number::Bit => 1,
        }
    }

    const fn packing(self) -> Packing {
        Packing::of(self.bits())
    }

    /// An integer or a bit.
    fn whole(self, bits: u64) -> i128 {
        match self {
            Number::Int(ty) => ty.value(bits),
            Number::Float(_) | Number::Tf32 | Number::Byte(_) | Number::Bit => bits.into(),
        }
    }

    /// A float of at most 32 bits as a binary64, which holds all their values.
    fn value(self, bits: u64) -> f64 {
        let (format, bits) = match self {
            Number::Float(format) => (format, bits),
            Number::Tf32 => (F32, bits & !0x1fff),
            Number::Byte(format) => (F16, of_byte(format, bits as u8, false).into()),
            Number::Int(ty) => return ty.value(bits) as f64,
            Number::Bit => return bits as f64,
        };
        f64::from_bits(convert::float_to_float(format, F64, bits, Mode::IEEE))
    }
}

/// How elements of d are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Floats are rounded to the nearest, integers wrap.
    Plain,
    /// Integers stay in range.
    Saturating,
    /// Sums of binary64 are rounded in this direction.
    Directed(Rounding),
    /// The number of bits that differ is added.
    Xor,
    /// The number of common bits is added.
    And,
}

/// A product of matrices without its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiply {
    /// Rows of a, c and d: 8 or 16.
    pub rows: usize,
    /// The type of a.
    pub a: Number,
    /// The type of b.
    pub b: Number,
    /// The type of c and d: a float or an integer of 32 bits.
    pub sum_type: Number,
    /// How elements are computed.
    pub sum: Sum,
    /// For a sparse a, the lanes of each four that have the places of its elements.
    pub sparse: Option<u8>,
}

impl Multiply {
    /// d, given the registers of a, b and c, and of the places of a sparse a.
    pub fn run(&self, [a, b, c]: [&Fragment; 3], places: Option<&[u64; LANES]>) -> Vec<[u64; LANES]> {
        let depth = super::depth(a.len(), self.a.packing(), self.rows);
        let places = places.zip(self.sparse).map(|(words, lanes)| Places::new(words, lanes, self.a, depth));
        let places = places.as_ref();
        let element: Box<dyn Fn(usize, usize, u64) -> u64> = match (self.sum_type, self.a, self.b) {
            (Number::Float(F64), ..) => {
                let rounding =
                    if let Sum::Directed(rounding) = self.sum { rounding } else { Rounding::Nearest };
                let factors = self.factors([a, b], |_, bits| bits);
                Box::new(move |row, column, c| {
                    let pairs = factors.pairs(places, row, column);
                    pairs.fold(c, |sum, (a, b)| float::fma(F64, a, b, sum, Mode::new(rounding)))
                })
            }
            (Number::Int(ty), ..) => {
                let factors = self.factors([a, b], Number::whole);
                let sum = self.sum;
                Box::new(move |row, column, c| {
                    let products = factors.pairs(places, row, column).map(|(x, y)| match sum {
                        Sum::And => x & y,
                        Sum::Xor => x ^ y,
                        Sum::Plain | Sum::Saturating | Sum::Directed(_) => x * y,
                    });
                    let total = ty.value(c) + products.sum::<i128>();
                    if sum == Sum::Saturating { ty.saturate(total) } else { ty.wrap(total) }
                })
            }
            (sum_type, ..) => {
                let factors = self.factors([a, b], Number::value);
                Box::new(move |row, column, c| {
                    let products = factors.pairs(places, row, column).map(|(x, y)| x * y);
                    let sum = products.fold(sum_type.value(c), |sum, product| sum + product);
                    let Number::Float(format) = sum_type else { return 0 };
                    convert::float_to_float(F64, format, sum.to_bits(), Mode::IEEE)
                })
            }
        };
        product(c, self.sum_type.packing(), self.rows, element)
    }

    /// The elements of a and b, each read once by `read`: a sum reads those of a in 8 columns and those
    /// of b in all rows.
    fn factors<T>(&self, [a, b]: [&Fragment; 2], read: impl Fn(Number, u64) -> T) -> Factors<T> {
        let (of_a, of_b) = (self.a.packing(), self.b.packing());
        let depth = super::depth(a.len(), of_a, self.rows);
        let of_row = |row| (0..depth).map(move |stored| left(a, of_a, self.rows, row, stored));
        let of_column = |k| (0..COLUMNS).map(move |column| right(b, of_b, k, column));
        Factors {
            depth,
            a: (0..self.rows).flat_map(of_row).map(|bits| read(self.a, bits)).collect(),
            b: (0..super::depth(b.len(), of_b, COLUMNS))
                .flat_map(of_column)
                .map(|bits| read(self.b, bits))
                .collect(),
        }
    }
}

/// The elements of a by rows, and those of b by rows.
struct Factors<T> {
    /// The number of stored columns of a.
    depth: usize,
    a: Vec<T>,
    b: Vec<T>,
}

impl<T: Copy> Factors<T> {
    /// The elements of a row of a and a column of b that are multiplied with each other.
    fn pairs(&self, places: Option<&Places>, row: usize, column: usize) -> impl Iterator<Item = (T, T)> {
        (0..self.depth).map(move |stored| {
            let k = places.map_or(stored, |places| places.column(row, stored));
            (self.a[row * self.depth + stored], self.b[k * COLUMNS + column])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{addend, depth};
    use super::*;
    use crate::{S32, U8};

    #[test]
    fn integers_multiply_as_matrices_do() {
        let multiply = Multiply {
            rows: 16,
            a: Number::Int(U8),
            b: Number::Int(U8),
            sum_type: Number::Int(S32),
            sum: Sum::Plain,
            sparse: None,
        };
        let (rows, k) = (16, 32);
        let at = |row: usize, column: usize| (row * 7 + column * 3 + 1) as u64 & 0x7f;
        let mut a = vec![[0u64; LANES]; 4];
        let mut b = vec![[0u64; LANES]; 2];
        for lane in 0..LANES {
            for byte in 0..4 {
                for (register, words) in a.iter_mut().enumerate() {
                    let (row, column) =
                        (lane / 4 + 8 * (register % 2), 4 * (lane % 4) + byte + 16 * (register / 2));
                    words[lane] |= at(row, column) << (8 * byte);
                }
                for (register, words) in b.iter_mut().enumerate() {
                    words[lane] |= at(4 * (lane % 4) + byte + 16 * register, lane / 4) << (8 * byte);
                }
            }
        }
        let c = vec![[5u64; LANES]; 4];
        assert_eq!(depth(4, Number::Int(U8).packing(), rows), k);
        let d = multiply.run([&a, &b, &c], None);
        for row in 0..rows {
            for column in 0..COLUMNS {
                let sum: u64 = (0..k).map(|n| at(row, n) * at(n, column)).sum();
                let (register, lane, _) = addend(Packing::of(32), row, column);
                assert_eq!(d[register][lane], sum + 5, "{row} {column}");
            }
        }
    }

    #[test]
    fn bits_are_counted() {
        let multiply = Multiply {
            rows: 8,
            a: Number::Bit,
            b: Number::Bit,
            sum_type: Number::Int(S32),
            sum: Sum::And,
            sparse: None,
        };
        let (a, b, c) = ([[0x0000_00ff; LANES]], [[0x0000_f0f0; LANES]], [[1; LANES]; 2]);
        assert_eq!(multiply.run([&a, &b, &c], None)[1][31], 1 + 4 * 4);
        let differ = Multiply { sum: Sum::Xor, ..multiply };
        assert_eq!(differ.run([&a, &b, &c], None)[0][0], 1 + 4 * 8);
    }
}
