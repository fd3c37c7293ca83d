//! The properties of operations on matrices that the lanes of a warp hold together.
//!
//! ```text
//! matrix_load.shared.b128.v4.transposed v0                four matrices of 8 by 8 halves
//! matrix_product.m16n8k16.f32.f16.f16 v1, v2, …           the registers of a, of b, of c
//! ```

use crate::memory::spelled;
use crate::types::Type;

spelled! {
    /// The type of a matrix's elements.
    Element {
        /// binary16.
        F16 = "f16",
        /// bfloat16.
        BF16 = "bf16",
        /// binary32 whose lower 13 bits are ignored.
        TF32 = "tf32",
        /// binary32.
        F32 = "f32",
        /// binary64.
        F64 = "f64",
        /// A float of 8 bits with a significand of 4 bits.
        E4M3 = "e4m3",
        /// A float of 8 bits with a significand of 3 bits.
        E5M2 = "e5m2",
        /// An unsigned integer of 8 bits.
        U8 = "u8",
        /// A signed integer of 8 bits.
        S8 = "s8",
        /// An unsigned integer of 4 bits.
        U4 = "u4",
        /// A signed integer of 4 bits.
        S4 = "s4",
        /// A bit.
        B1 = "b1",
        /// A signed integer of 32 bits.
        S32 = "s32",
    }
}

impl Element {
    /// Its width in bits, as it is stored.
    pub const fn bits(self) -> u32 {
        match self {
            Element::F64 => 64,
            Element::TF32 | Element::F32 | Element::S32 => 32,
            Element::F16 | Element::BF16 => 16,
            Element::E4M3 | Element::E5M2 | Element::U8 | Element::S8 => 8,
            Element::U4 | Element::S4 => 4,
            Element::B1 => 1,
        }
    }

    /// Whether it is an integer of at most 8 bits with a sign.
    pub const fn is_signed(self) -> bool {
        matches!(self, Element::S8 | Element::S4)
    }

    /// The type of the components of a fragment: a double, a sum of 32 bits, or a word with one or
    /// more elements.
    pub const fn component(self) -> Type {
        match self {
            Element::F64 => Type::F64,
            Element::F32 => Type::F32,
            Element::F16
            | Element::BF16
            | Element::TF32
            | Element::E4M3
            | Element::E5M2
            | Element::U8
            | Element::S8
            | Element::U4
            | Element::S4
            | Element::B1
            | Element::S32 => Type::B32,
        }
    }
}

spelled! {
    /// How the elements of a product are computed from elements of a, b and c.
    Sum {
        /// Floats are rounded to the nearest, integers wrap.
        Plain = "plain",
        /// A sum of integers stays in the range of its type.
        Saturating = "satfinite",
        /// Floats are rounded toward zero.
        TowardZero = "rz",
        /// Floats are rounded down.
        Down = "rm",
        /// Floats are rounded up.
        Up = "rp",
        /// The number of bits in which rows of a and columns of b differ.
        Xor = "xor",
        /// The number of bits that rows of a and columns of b share.
        And = "and",
    }
}

/// The size of a product: a has m rows and k columns, b has k rows and n columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Rows of a, c and d.
    pub m: u8,
    /// Columns of b, c and d.
    pub n: u16,
    /// Columns of a and rows of b.
    pub k: u16,
}

impl Size {
    /// The greatest number of columns.
    const MOST: u16 = 256;

    /// The size that is spelled `m16n8k16`.
    pub fn parse(text: &str) -> Option<Size> {
        let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        let size = Size { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? };
        let exists = size.n <= Size::MOST && size.k <= Size::MOST && size.to_string() == text;
        exists.then_some(size)
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "m{}n{}k{}", self.m, self.n, self.k)
    }
}

/// A product of matrices, d = a · b + c, without its operands.
///
/// The operands are the fragments of a, b and c: each lane has the same number of components of
/// each. A word has as many elements as fit. If a is sparse, a word with the places of its elements
/// follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// The size. Half of a's columns are stored if it is sparse.
    pub size: Size,
    /// The type of c and d.
    pub sum_type: Element,
    /// The type of a.
    pub a: Element,
    /// The type of b.
    pub b: Element,
    /// How elements are computed.
    pub sum: Sum,
    /// For a sparse a, the lanes of each four that have the places of its elements.
    pub sparse: Option<u8>,
}

/// The number of components of a fragment of that many elements in the registers of that many lanes.
const fn components(elements: u32, element: Element, lanes: u32) -> usize {
    let per_lane = elements * element.bits() / lanes;
    let component = if element.bits() == 64 { 64 } else { 32 };
    per_lane.div_ceil(component) as usize
}

impl Product {
    /// The rows of a product of a [warpgroup](crate::warpgroup).
    pub(crate) const GROUP_ROWS: u8 = 64;

    /// The lanes that hold the matrices: a warp, or four for 64 rows.
    const fn lanes(&self) -> u32 {
        if self.size.m == Product::GROUP_ROWS { 128 } else { 32 }
    }

    /// The number of components of a.
    pub const fn of_a(&self) -> usize {
        let stored = self.size.k as u32 / if self.sparse.is_some() { 2 } else { 1 };
        components(self.size.m as u32 * stored, self.a, self.lanes())
    }

    /// The number of components of b.
    pub const fn of_b(&self) -> usize {
        components(self.size.n as u32 * self.size.k as u32, self.b, self.lanes())
    }

    /// The number of components of c, and of d.
    pub const fn of_sum(&self) -> usize {
        components(self.size.m as u32 * self.size.n as u32, self.sum_type, self.lanes())
    }

    /// The components of a, b and c, and the word with the places of a sparse a; `None` if there are
    /// not as many operands as the product has.
    pub fn parts<'a, T: Copy>(&self, operands: &'a [T]) -> Option<Parts<'a, T>> {
        let (a, rest) = operands.split_at_checked(self.of_a())?;
        let (b, rest) = rest.split_at_checked(self.of_b())?;
        let (c, rest) = rest.split_at_checked(self.of_sum())?;
        let places = match (rest, self.sparse) {
            ([], None) => None,
            (&[places], Some(_)) => Some(places),
            _ => return None,
        };
        Some(Parts { a, b, c, places })
    }

    /// What is wrong with the types and the kind of sums.
    pub(crate) fn problem_of_types(&self) -> Option<String> {
        use Element::{B1, BF16, E4M3, E5M2, F16, F32, F64, S4, S8, S32, TF32, U4, U8};
        let suits = match (self.a, self.b) {
            (F16, F16) => matches!(self.sum_type, F16 | F32),
            (BF16, BF16) | (TF32, TF32) => self.sum_type == F32,
            (E4M3 | E5M2, E4M3 | E5M2) => matches!(self.sum_type, F16 | F32),
            (F64, F64) => self.sum_type == F64,
            (U8 | S8, U8 | S8) | (U4 | S4, U4 | S4) | (B1, B1) => self.sum_type == S32,
            _ => false,
        };
        let sum = match self.sum {
            Sum::Plain => self.a != B1,
            Sum::Saturating => self.sum_type == S32 && self.a != B1,
            Sum::TowardZero | Sum::Down | Sum::Up => self.a == F64,
            Sum::Xor | Sum::And => self.a == B1,
        };
        if !suits {
            Some(format!("no product of {} and {} in {}", self.a, self.b, self.sum_type))
        } else if !sum {
            Some(format!("no sums `{}` of {}", self.sum, self.a))
        } else {
            None
        }
    }

    /// What is wrong with the payload.
    pub(crate) fn problem(&self) -> Option<String> {
        // The columns of a and the rows of b that a lane's words have, for each of the four lanes
        // that share a row.
        let step = 4 * (32 / self.a.bits()).max(1) as u16;
        let stored = if self.sparse.is_some() { self.size.k / 2 } else { self.size.k };
        let fits = matches!(self.size.m, 8 | 16) && self.size.n == 8 && stored > 0 && stored % step == 0;
        if let Some(problem) = self.problem_of_types() {
            Some(problem)
        } else if !fits {
            Some(format!("no product of size {}", self.size))
        } else if self.sparse.is_some_and(|lanes| lanes > 3) {
            Some("four lanes share a row".to_string())
        } else {
            None
        }
    }
}

/// The operands of a product.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a, T> {
    /// The components of a.
    pub a: &'a [T],
    /// The components of b.
    pub b: &'a [T],
    /// The components of c.
    pub c: &'a [T],
    /// The places of the elements of a sparse a.
    pub places: Option<T>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_spelling() {
        for text in ["m16n8k16", "m8n8k4", "m64n256k32"] {
            assert_eq!(Size::parse(text).map(|size| size.to_string()).as_deref(), Some(text));
        }
        for text in ["m16n8", "16n8k8", "m016n8k8", "m16n8k8 ", "m300n8k8", "m16n8k512", "m16n-8k8"] {
            assert_eq!(Size::parse(text), None, "{text}");
        }
    }

    #[test]
    fn fragments_are_those_of_the_isa() {
        let product = |size, sum_type, a, sparse| Product {
            size: Size::parse(size).expect("a size"),
            sum_type,
            a,
            b: a,
            sum: Sum::Plain,
            sparse,
        };
        for (product, counts) in [
            (product("m16n8k8", Element::F16, Element::F16, None), [2, 1, 2]),
            (product("m16n8k16", Element::F32, Element::BF16, None), [4, 2, 4]),
            (product("m16n8k4", Element::F32, Element::TF32, None), [2, 1, 4]),
            (product("m8n8k4", Element::F64, Element::F64, None), [1, 1, 2]),
            (product("m16n8k16", Element::F64, Element::F64, None), [8, 4, 4]),
            (product("m8n8k16", Element::S32, Element::S8, None), [1, 1, 2]),
            (product("m16n8k64", Element::S32, Element::U4, None), [4, 2, 4]),
            (product("m16n8k32", Element::F32, Element::F16, Some(1)), [4, 4, 4]),
            (product("m16n8k64", Element::S32, Element::S8, Some(0)), [4, 4, 4]),
        ] {
            assert_eq!([product.of_a(), product.of_b(), product.of_sum()], counts, "{product:?}");
            assert_eq!(product.problem(), None, "{product:?}");
        }
    }
}
