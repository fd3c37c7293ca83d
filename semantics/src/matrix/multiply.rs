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
use super::{Fragment, LANES, Packing, left, product, right};
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
        let (of_a, of_b) = (self.a.packing(), self.b.packing());
        let depth = super::depth(a.len(), of_a, self.rows);
        let places = places.zip(self.sparse).map(|(words, lanes)| Places::new(words, lanes, self.a, depth));
        // The elements of a row of a and a column of b that are multiplied with each other.
        let pairs = |row: usize, column: usize| {
            let places = &places;
            (0..depth).map(move |stored| {
                let k = places.as_ref().map_or(stored, |places| places.column(row, stored));
                (left(a, of_a, self.rows, row, stored), right(b, of_b, k, column))
            })
        };
        let element = |row: usize, column: usize, c: u64| match (self.sum_type, self.a, self.b) {
            (Number::Float(F64), ..) => {
                let rounding =
                    if let Sum::Directed(rounding) = self.sum { rounding } else { Rounding::Nearest };
                pairs(row, column).fold(c, |sum, (a, b)| float::fma(F64, a, b, sum, Mode::new(rounding)))
            }
            (Number::Int(ty), a, b) => {
                let products = pairs(row, column).map(|(x, y)| match (self.sum, a, b) {
                    (Sum::And, ..) => i128::from(x & y),
                    (Sum::Xor, ..) => i128::from(x ^ y),
                    (_, Number::Int(a), Number::Int(b)) => a.value(x) * b.value(y),
                    _ => 0,
                });
                let sum = ty.value(c) + products.sum::<i128>();
                if self.sum == Sum::Saturating { ty.saturate(sum) } else { ty.wrap(sum) }
            }
            (sum_type, ..) => {
                let products = pairs(row, column).map(|(x, y)| self.a.value(x) * self.b.value(y));
                let sum = products.fold(sum_type.value(c), |sum, product| sum + product);
                let Number::Float(format) = sum_type else { return 0 };
                convert::float_to_float(F64, format, sum.to_bits(), Mode::IEEE)
            }
        };
        product(c, self.sum_type.packing(), self.rows, element)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{COLUMNS, addend, depth};
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
