//! Products of a warpgroup, and values that are lent to them.
//!
//! A value in flight is a *handle*: it names the product and the place among its sums, so that it
//! may pass through parameters of blocks. Nothing but a product or `settle` can make sense of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptxc_ir::matrix::Product as Inner;
use ptxc_ir::warpgroup::{GroupOptions, GroupProduct};

use super::Values;
use super::arith::Words;
use super::code::{Matrix, SlotIndex};
use crate::engine::Step;
use crate::error::Fault;
use crate::products::{Product, Word};
use crate::warp::LANES;
use crate::warpgroup::{Flight, Flights, complete, issue};

/// Marks a handle; no value of 32 bits has this bit.
const HANDLE: u64 = 1 << 63;

/// What is under way in a warp, and what has landed and was not settled yet.
#[derive(Default)]
pub(super) struct Groups {
    /// The products by their numbers.
    flights: Flights<u64>,
    landed: BTreeMap<u64, Vec<Word>>,
    next: u64,
}

/// The product and place of a handle.
const fn handle(word: u64) -> Option<(u64, usize)> {
    if word & HANDLE == 0 { None } else { Some(((word & !HANDLE) >> 8, (word & 0xff) as usize)) }
}

/// What an operation of this family does.
pub(super) enum Group {
    /// Ordinary values become lent ones.
    Lend,
    /// A product: the product, the number of operands of a, and whether they are registers.
    Product { product: Product, of_a: usize, in_registers: bool, adds: bool },
    /// Nothing to do: an arrival, or a release.
    Nothing,
    /// Ends a group.
    Commit,
    /// Waits for all but that many groups.
    Wait { pending: u32 },
    /// Lent values become ordinary ones.
    Settle,
}

impl Group {
    /// The action of a product.
    pub(super) fn product(of: &GroupProduct) -> Group {
        let options = of.options;
        let has = |option| options.has(option);
        // 16 rows for each warp.
        let mut inner: Inner = of.product;
        inner.size.m = 16;
        let product = Product {
            multiply: Matrix::multiply(&inner),
            columns: of.product.size.n.into(),
            negated: has(GroupOptions::NEGATIVE_A) != has(GroupOptions::NEGATIVE_B),
            turned_a: has(GroupOptions::TURNED_A),
            turned_b: has(GroupOptions::TURNED_B),
        };
        Group::Product {
            product,
            of_a: of.of_a(),
            in_registers: has(GroupOptions::REGISTERS),
            adds: has(GroupOptions::ADD),
        }
    }

    /// Whether the operation waits for products that not all warps of the warpgroup have issued.
    pub(super) fn waits(&self, values: &Values, step: &mut Step<'_>) -> Result<bool, Fault> {
        let Group::Wait { pending } = self else { return Ok(false) };
        match values.groups.flights.last_to_land(*pending) {
            Some(last) => complete(step, last).map(|is_complete| !is_complete),
            None => Ok(false),
        }
    }

    /// Executes the operation for the whole warp.
    pub(super) fn run(
        &self,
        values: &mut Values,
        step: &mut Step<'_>,
        d: &[SlotIndex],
        operands: &[Words],
    ) -> Result<(), Fault> {
        match self {
            Group::Nothing => Ok(()),
            Group::Lend => {
                for (&d, words) in d.iter().zip(operands) {
                    values.write(d, u32::MAX, |lane| words[lane]);
                }
                Ok(())
            }
            Group::Settle => {
                for (&d, words) in d.iter().zip(operands) {
                    let words = match handle(words[0]) {
                        None => *words,
                        Some((product, place)) => match values.groups.landed.get(&product) {
                            Some(result) => result[place],
                            None => {
                                let message = "settles the sums of a product that is under way".to_string();
                                return Err(Fault::new(0, message));
                            }
                        },
                    };
                    values.write(d, u32::MAX, |lane| words[lane]);
                }
                for words in operands {
                    if let Some((product, _)) = handle(words[0]) {
                        values.groups.landed.remove(&product);
                    }
                }
                Ok(())
            }
            Group::Commit => {
                values.groups.flights.commit();
                Ok(())
            }
            Group::Wait { pending } => {
                // The warp has waited for the others, unless its lanes came here one after another.
                if let Some(last) = values.groups.flights.last_to_land(*pending) {
                    complete(step, last)?;
                }
                for flight in values.groups.flights.land(*pending) {
                    values.groups.landed.insert(flight.places, flight.result);
                }
                Ok(())
            }
            Group::Product { product, of_a, in_registers, adds } => {
                let (a, rest) = operands.split_at(*of_a);
                let b = rest[0][0];
                let sums = if *adds { &rest[1..=d.len()] } else { &[] };
                let rest = &rest[1 + sums.len()..];
                let adds = *adds && rest[0][0] & 1 == 1;
                let places = product.multiply.sparse.and(rest.last());
                let c = d
                    .iter()
                    .enumerate()
                    .map(|(n, _)| if adds { values.groups.sum(sums[n]) } else { Some([0; LANES]) });
                let Some(c) = c.collect::<Option<Vec<Word>>>() else {
                    return Err(Fault::new(0, "adds to sums that do not exist".to_string()));
                };
                let registers = in_registers.then_some(a);
                let descriptors = [if *in_registers { 0 } else { a[0][0] }, b];
                let factors = Arc::new(product.read(step, step.warp, 0, registers, descriptors)?);
                let result = product.result(&factors, &c, places);
                let number = values.groups.next;
                values.groups.next += 1;
                for (n, &d) in d.iter().enumerate() {
                    values.write(d, u32::MAX, |_| HANDLE | number << 8 | n as u64);
                }
                let issued = issue(step, *product, (descriptors, 0), &factors, *in_registers);
                values.groups.flights.0.push(Flight {
                    number: issued,
                    factors,
                    result,
                    commits: 0,
                    places: number,
                });
                Ok(())
            }
        }
    }
}

impl Groups {
    /// A sum to which a product adds: the result of an earlier product, or a lent value.
    fn sum(&self, words: Word) -> Option<Word> {
        let Some((product, place)) = handle(words[0]) else { return Some(words) };
        let flying = self.flights.0.iter().find(|flight| flight.places == product);
        let result = flying.map(|flight| &flight.result).or_else(|| self.landed.get(&product))?;
        result.get(place).copied()
    }
}
