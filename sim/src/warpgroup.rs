//! Products of the matrices of a warpgroup, four warps in a row.
//!
//! Each warp multiplies its 16 rows of a with b, as `mma` does for 8 columns of b at a time. b is in
//! shared memory, a there or in registers. A descriptor of 64 bits tells where (PTX ISA,
//! "Asynchronous Warpgroup Level Matrix Shared Memory Layout"):
//!
//! | bits | content |
//! |---|---|
//! | 13:0 | the address of the first element, in units of 16 bytes |
//! | 29:16 | the *leading* distance, in units of 16 bytes |
//! | 45:32 | the *stride*, in units of 16 bytes |
//! | 51:49 | the row of the swizzling pattern in which the matrix starts |
//! | 63:62 | the swizzling: 0 none, 1 of 128 bytes, 2 of 64, 3 of 32 |
//!
//! A matrix consists of blocks of 8 rows of 16 bytes; with swizzling of a wider row, whose pieces of
//! 16 bytes are permuted. The permutation depends on the address of a piece alone: its bits from 4
//! on are combined with those from 7 on by exclusive or.
//!
//! A product is asynchronous. It reads its operands when it is issued and again when the program
//! waits for it: if they differ, the program has changed them too early. Its result exists after the
//! wait. The four warps perform it [together](crate::products).

use std::sync::Arc;

use crate::engine::Step;
use crate::error::Fault;
use crate::memory::{AccessKind, Space};
use crate::products::{COLUMNS, Factors, Pending, Product, Word};
use crate::warp::LANES;

/// Bytes of a row that a product takes from a matrix, or twice as many.
const ROW: usize = 32;
/// Bytes that memory keeps together.
const PIECE: usize = 16;
/// The warps of a warpgroup.
const WARPS: u32 = 4;
/// Rows of a for each warp.
const ROWS: usize = 16;

impl Product {
    /// Reads the factors of a warp. a is in these registers, or where the first descriptor tells.
    /// Addresses in shared memory begin at `reserved`.
    pub fn read(
        &self,
        step: &mut Step<'_>,
        warp: u32,
        reserved: u32,
        a: Option<&[Word]>,
        [of_a, of_b]: [u64; 2],
    ) -> Result<Factors, Fault> {
        let a = match a {
            Some(words) => words.to_vec(),
            None => {
                let first = ROWS * (warp % WARPS) as usize;
                let tile = Tile { descriptor: of_a, reserved, turned: self.turned_a, bytes: ROW };
                fragment(&tile.rows(step, first, ROWS)?)
            }
        };
        let bytes = if self.multiply.sparse.is_some() { 2 * ROW } else { ROW };
        let tile = Tile { descriptor: of_b, reserved, turned: self.turned_b, bytes };
        let rows = tile.rows(step, 0, self.columns)?;
        Ok(Factors { a, b: rows.chunks(COLUMNS).map(fragment).collect() })
    }
}

/// The registers of rows of a, or of columns of b: a word of four lanes has a part of a row; then
/// come the next 8 rows, then the next 16 bytes.
fn fragment(rows: &[Vec<u8>]) -> Vec<Word> {
    let pieces = rows[0].len() / PIECE;
    let blocks = rows.len() / 8;
    (0..pieces * blocks)
        .map(|register| {
            let (piece, block) = (register / blocks, register % blocks);
            std::array::from_fn(|lane| {
                let word = &rows[8 * block + lane / 4][PIECE * piece + 4 * (lane % 4)..][..4];
                word.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
            })
        })
        .collect()
}

/// A matrix in shared memory, as a descriptor tells.
struct Tile {
    descriptor: u64,
    reserved: u32,
    /// Whether the elements of a column, of 16 bits, are stored one after another.
    turned: bool,
    /// Bytes of a row.
    bytes: usize,
}

impl Tile {
    /// A field of the descriptor in units of 16 bytes, in bytes.
    const fn distance(&self, bit: u32) -> u64 {
        (self.descriptor >> bit & 0x3fff) << 4
    }

    /// Bytes of a swizzled row; 16 without swizzling.
    const fn span(&self) -> u64 {
        match self.descriptor >> 62 {
            1 => 128,
            2 => 64,
            3 => 32,
            _ => PIECE as u64,
        }
    }

    /// The address of a piece, with the bits of the window.
    fn address(&self, offset: u64) -> u64 {
        let address = self.distance(0) + offset;
        let phase = (address >> 7).wrapping_sub(self.descriptor >> 49 & 7);
        address ^ (phase << 4) & (self.span() - 1) & !(PIECE as u64 - 1)
    }

    /// The offset of 8 elements of a column, those of a row of `k`: the piece `column`.
    fn turned_offset(&self, piece: u64, k: u64) -> u64 {
        let (leading, stride, span) = (self.distance(16), self.distance(32), self.span());
        if span == PIECE as u64 {
            return piece * stride + k % 8 * span + k / 8 * leading;
        }
        let pieces = span / PIECE as u64;
        piece % pieces * PIECE as u64 + piece / pieces * leading + k % 8 * span + k / 8 * stride
    }

    /// The offset of 16 bytes of a row.
    fn offset(&self, row: u64, piece: u64) -> u64 {
        let (leading, stride, span) = (self.distance(16), self.distance(32), self.span());
        let within = if span == PIECE as u64 { piece * leading } else { piece * PIECE as u64 };
        row / 8 * stride + row % 8 * span + within
    }

    /// Rows from the first one on, each with its bytes.
    fn rows(&self, step: &mut Step<'_>, first: usize, count: usize) -> Result<Vec<Vec<u8>>, Fault> {
        let mut rows = vec![vec![0; self.bytes]; count];
        if self.turned {
            let (depth, first_piece) = (self.bytes / 2, first / 8);
            let places = (0..depth).flat_map(|k| (0..count / 8).map(move |piece| (k, piece)));
            let places: Vec<(usize, usize)> = places.collect();
            let offset =
                |&(k, piece): &(usize, usize)| self.turned_offset((first_piece + piece) as u64, k as u64);
            self.pieces(step, places.iter().map(offset), |index, bytes| {
                let (k, piece) = places[index];
                for (n, element) in bytes.chunks(2).enumerate() {
                    rows[8 * piece + n][2 * k..][..2].copy_from_slice(element);
                }
            })?;
            return Ok(rows);
        }
        let each = self.bytes / PIECE;
        let offsets =
            (0..count * each).map(|index| self.offset((first + index / each) as u64, (index % each) as u64));
        self.pieces(step, offsets, |index, bytes| {
            rows[index / each][PIECE * (index % each)..][..PIECE].copy_from_slice(bytes);
        })?;
        Ok(rows)
    }

    /// Reads pieces at these offsets, 32 at a time, one for each lane.
    fn pieces(
        &self,
        step: &mut Step<'_>,
        offsets: impl Iterator<Item = u64>,
        mut take: impl FnMut(usize, &[u8; PIECE]),
    ) -> Result<(), Fault> {
        const RANK: u32 = 24;
        let window = u64::from(step.rank) << RANK;
        let addresses: Vec<u64> = offsets
            .map(|offset| window + self.address(offset).wrapping_sub(self.reserved.into()) % (1 << RANK))
            .collect();
        for (batch, chunk) in addresses.chunks(LANES).enumerate() {
            let all: [u64; LANES] = std::array::from_fn(|lane| chunk[lane.min(chunk.len() - 1)]);
            let lanes = u32::MAX >> (LANES - chunk.len());
            step.log_access(AccessKind::Read, Space::Shared, PIECE as u32, &all);
            step.memory.each(
                Space::Shared,
                lanes,
                &all,
                AccessKind::Read,
                |lane, bytes: &mut [u8; PIECE]| {
                    take(LANES * batch + lane, bytes);
                },
            )?;
        }
        Ok(())
    }
}

/// A product of a warp that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Flight<T> {
    /// Its number among the products of the warp.
    pub number: u64,
    /// The factors when it was issued.
    pub factors: Arc<Factors>,
    /// The result.
    pub result: Vec<Word>,
    /// Commits since.
    pub commits: u32,
    /// Where the result goes, and where a is.
    pub places: T,
}

/// The products of a warp that are under way, the oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Flights<T>(pub Vec<Flight<T>>);

impl<T> Default for Flights<T> {
    fn default() -> Flights<T> {
        Flights(Vec::new())
    }
}

impl<T> Flights<T> {
    /// Ends a group.
    pub fn commit(&mut self) {
        self.0.iter_mut().for_each(|flight| flight.commits += 1);
    }

    /// The number of the last product whose group is complete after a wait for all but `pending` groups.
    pub fn last_to_land(&self, pending: u32) -> Option<u64> {
        self.0.iter().rev().find(|flight| flight.commits > pending).map(|flight| flight.number)
    }

    /// Takes the products whose groups are complete after a wait for all but `pending` groups.
    pub fn land(&mut self, pending: u32) -> Vec<Flight<T>> {
        // Commits never grow from the oldest to the newest.
        let complete = self.0.partition_point(|flight| flight.commits > pending);
        self.0.drain(..complete).collect()
    }
}

impl<T> Flight<T> {
    /// Checks that a is still what it was in these registers.
    pub fn check_registers(&self, step: &Step<'_>, a: &[Word]) -> Result<(), Fault> {
        if a == self.factors.a { Ok(()) } else { Err(changed(step, "a")) }
    }
}

fn changed(step: &Step<'_>, what: &str) -> Fault {
    let message =
        format!("the factor {what} of a product of a warpgroup changed while the product was under way");
    Fault::new(step.lanes.trailing_zeros(), message)
}

/// Issues a product of the executing warp; returns its number.
pub(crate) fn issue(
    step: &mut Step<'_>,
    product: Product,
    (descriptors, reserved): ([u64; 2], u32),
    factors: &Arc<Factors>,
    has_registers: bool,
) -> u64 {
    // Other warps may wait for it.
    step.changed_mbarrier = true;
    let pending = Pending { product, descriptors, factors: Arc::clone(factors), has_registers, reserved };
    step.memory.cta().products.issue(step.warp, pending)
}

/// Completes the products up to a number for all warps of the executing one's warpgroup. Returns whether
/// they have all issued them.
///
/// # Errors
/// The factors in shared memory are not what they were.
pub(crate) fn complete(step: &mut Step<'_>, number: u64) -> Result<bool, Fault> {
    let first = step.warp - step.warp % WARPS;
    let mut group = first..(first + WARPS).min(step.warps as u32);
    if !group.clone().all(|warp| step.memory.cta().products.has_issued(warp, number)) {
        return Ok(false);
    }
    group.try_for_each(|warp| {
        while let Some(pending) = step.memory.cta().products.complete(warp, number) {
            let Pending { product, descriptors, factors, has_registers, reserved } = pending;
            let a = has_registers.then_some(&factors.a[..]);
            let now = product.read(step, warp, reserved, a, descriptors)?;
            if now != *factors {
                return Err(changed(step, if now.a == factors.a { "b" } else { "a" }));
            }
        }
        Ok(())
    })?;
    Ok(true)
}
