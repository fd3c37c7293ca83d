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
//! wait. The four warps perform it [together](under_way).

mod under_way;

use std::sync::Arc;

use ptxc_semantics::matrix::Multiply;

use crate::engine::Step;
use crate::error::Fault;
use crate::memory::{AccessKind, Space};
use crate::warp::LANES;
pub(crate) use under_way::{UnderWay, complete, issue};

/// Bytes of a row that a product takes from a matrix, or twice as many.
const ROW: usize = 32;
/// Bytes that memory keeps together.
const PIECE: usize = 16;
/// The warps of a warpgroup.
const WARPS: u32 = 4;
/// Rows of a for each warp.
const ROWS: usize = 16;
/// Columns of b for each step.
const COLUMNS: usize = 8;

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
    a: Vec<Word>,
    /// For each 8 columns.
    b: Vec<Vec<Word>>,
}

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
