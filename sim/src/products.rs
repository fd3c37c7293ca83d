//! The products that the warps of a CTA have issued and not completed.
//!
//! The four warps of a [warpgroup](crate::warpgroup) perform a product together. So it is complete for all of
//! them as soon as it is for one, and until then all have issued it. Programs rely on this: in CUTLASS's
//! pipelines one thread of the warpgroup gives the factors free after its own wait, without a barrier for the
//! other warps.

use std::collections::VecDeque;
use std::sync::Arc;

use ptxc_semantics::matrix::Multiply;

use crate::warp::LANES;

/// Columns of b for each step.
pub(crate) const COLUMNS: usize = 8;

/// A word of each lane.
pub(crate) type Word = [u64; LANES];

/// A product without its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    /// The product for 16 rows and 8 columns.
    pub multiply: Multiply,
    /// Columns of b.
    pub columns: usize,
    /// Whether the products of elements are negated.
    pub negated: bool,
    /// Whether columns of a, not rows, are stored one after another.
    pub turned_a: bool,
    /// Whether rows of b, not columns, are stored one after another.
    pub turned_b: bool,
}

/// The factors of a product in the layout of the tensor cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Factors {
    pub a: Vec<Word>,
    /// For each 8 columns.
    pub b: Vec<Vec<Word>>,
}

impl Product {
    /// The result, given c in the registers of a warp.
    pub fn result(&self, factors: &Factors, c: &[Word], places: Option<&Word>) -> Vec<Word> {
        let sign = match self.multiply.b.bits() {
            _ if !self.negated => 0,
            32 => 0x8000_0000,
            16 => 0x8000_8000,
            _ => 0x8080_8080,
        };
        let each = c.len() / (self.columns / COLUMNS);
        let columns = factors.b.iter().zip(c.chunks(each));
        columns
            .flat_map(|(b, c)| {
                let b: Vec<Word> = b.iter().map(|word| word.map(|bits| bits ^ sign)).collect();
                self.multiply.run([&factors.a, &b, c], places)
            })
            .collect()
    }
}

/// The products of each warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay(Vec<OfWarp>);

#[derive(Clone, Debug, Default)]
struct OfWarp {
    /// The number of products that it has issued so far.
    issued: u64,
    /// Those that are not complete, the oldest first.
    pending: VecDeque<Pending>,
}

/// A product and the factors in shared memory when it was issued.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub product: Product,
    pub descriptors: [u64; 2],
    pub factors: Arc<Factors>,
    /// Whether a is in registers.
    pub has_registers: bool,
    /// Where addresses in shared memory begin.
    pub reserved: u32,
}

impl UnderWay {
    /// Adds a product of a warp; returns its number among those of the warp.
    pub fn issue(&mut self, warp: u32, pending: Pending) -> u64 {
        let index = warp as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, OfWarp::default);
        }
        let own = &mut self.0[index];
        own.issued += 1;
        own.pending.push_back(pending);
        own.issued - 1
    }

    /// Whether a warp has issued the product of a number.
    pub fn has_issued(&self, warp: u32, number: u64) -> bool {
        self.0.get(warp as usize).is_some_and(|warp| warp.issued > number)
    }

    /// Takes the oldest product of a warp that is not complete, if its number is at most this one.
    pub fn complete(&mut self, warp: u32, number: u64) -> Option<Pending> {
        let own = self.0.get_mut(warp as usize)?;
        let oldest = own.issued - own.pending.len() as u64;
        if oldest <= number { own.pending.pop_front() } else { None }
    }
}
