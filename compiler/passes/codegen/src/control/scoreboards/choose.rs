//! The choice of a scoreboard for each instruction that needs one.
//!
//! There are only six scoreboards, so the instructions that share one decide how long waits are. A
//! [`Chooser`] walks a block and knows, for each scoreboard in use, the estimated time at which
//! everything that it protects is done, and the time of the first instruction that will wait for
//! it. A new instruction gets
//!
//! 1. a scoreboard whose first waiter is its own first waiter: instructions that are awaited
//!    together are grouped;
//! 2. else a free scoreboard;
//! 3. else the one where sharing costs least: the cycles by which the new instruction would delay
//!    the scoreboard's first waiter, plus those by which the scoreboard would delay the new
//!    instruction's waiter. So a load from shared memory that is needed early does not share with a
//!    slow global load while there is a better choice.
//!
//! If there are [groups of copies](COPY_GROUPS), their scoreboard is not used for anything else: an
//! instruction that waited for it would wait for all copies.
//!
//! Since scoreboards are counters, sharing one never costs more than a wait at this point would, so
//! no scoreboard is ever drained to make room. Times are [estimates](crate::schedule::estimate) and
//! only steer the choice.

use ptxc_sass::{Control, Group as Copies, GroupRole, Op};

use super::super::COPY_GROUPS;
use super::super::stream::Stream;
use super::need::{Need, Upcoming};
use super::pending::{Sets, bits};
use crate::schedule::estimate;

/// Cycles that an instruction takes to issue on average; from the sum of stalls over ptxas's code.
const CYCLES_PER_INSTRUCTION: u64 = 2;

/// A scoreboard in use, with estimated times in cycles from the start of the block.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The time at which everything that it protects is done.
    ready: u64,
    /// The time at which the first waiter could issue, and that instruction; `None` if none is in
    /// sight.
    waiter: Option<(u64, u32)>,
}

/// Chooses scoreboards for the instructions of one block, in order.
#[derive(Debug)]
pub(super) struct Chooser {
    groups: [Option<Group>; Control::SCOREBOARDS as usize],
    /// The first scoreboard that it may choose.
    first: usize,
}

/// The scoreboard for an operation that makes a group of copies.
pub(super) fn of_group(stream: &Stream<'_>, op: Op) -> Sets {
    match op.row().group {
        GroupRole::Commit(Copies::Elements) => Sets { write: Some(COPY_GROUPS), read: None },
        GroupRole::Commit(Copies::Bulk) if stream.counts_groups => {
            Sets { write: None, read: Some(COPY_GROUPS) }
        }
        _ => Sets::default(),
    }
}

impl Chooser {
    /// A chooser at the start of a block, with the scoreboards that are in use there.
    pub(super) fn new(busy: u8, counts_groups: bool) -> Chooser {
        let mut groups = [None; Control::SCOREBOARDS as usize];
        for sb in bits(busy) {
            // In use since before the block: assumed to be a pending load from memory.
            groups[usize::from(sb)] = Some(Group { ready: u64::from(estimate::GLOBAL_LOAD), waiter: None });
        }
        Chooser { groups, first: if counts_groups { usize::from(COPY_GROUPS) + 1 } else { 0 } }
    }

    /// Frees the scoreboards of a wait.
    pub(super) fn release(&mut self, mask: u8) {
        for sb in bits(mask) {
            self.groups[usize::from(sb)] = None;
        }
    }

    /// The scoreboards for an instruction of the block.
    pub(super) fn choose(&mut self, stream: &Stream<'_>, block: usize, index: usize, need: &Need) -> Sets {
        let mut sets = of_group(stream, stream.entries[index].op);
        if !need.result && !need.operands {
            return sets;
        }
        let ahead = &need.ahead;
        let now = (index - stream.blocks[block].range.start) as u64 * CYCLES_PER_INSTRUCTION;
        let waiter = |at: Option<Upcoming>| {
            at.map(|at| (now + u64::from(at.distance) * CYCLES_PER_INSTRUCTION, at.index))
        };
        if need.result {
            let ready = now + u64::from(estimate::completion(stream.entries[index].inst));
            sets.write = Some(self.place(Group { ready, waiter: waiter(ahead.result) }));
        }
        // The results' scoreboard covers the operands, too. A scoreboard of their own pays if they
        // are overwritten before the results are needed.
        if need.operands && (!need.result || ahead.operand.is_some()) {
            let group =
                Group { ready: now + u64::from(estimate::OPERAND_READ), waiter: waiter(ahead.operand) };
            sets.read = Some(self.place(group));
        }
        sets
    }

    fn place(&mut self, newcomer: Group) -> u8 {
        let cost = |group: &Option<Group>| match group {
            Some(group) if newcomer.waiter.is_some() && same_waiter(group, &newcomer) => (0, 0),
            None => (0, 1),
            Some(group) => (sharing_cost(group, &newcomer), 2),
        };
        let mut best = self.first;
        for sb in self.first + 1..self.groups.len() {
            if cost(&self.groups[sb]) < cost(&self.groups[best]) {
                best = sb;
            }
        }
        let merged = match self.groups[best] {
            None => newcomer,
            Some(old) => Group {
                ready: old.ready.max(newcomer.ready),
                waiter: match (old.waiter, newcomer.waiter) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                },
            },
        };
        self.groups[best] = Some(merged);
        best as u8
    }
}

fn same_waiter(a: &Group, b: &Group) -> bool {
    a.waiter.map(|(_, index)| index) == b.waiter.map(|(_, index)| index)
}

/// The cycles by which the two delay each other's first waiters.
fn sharing_cost(a: &Group, b: &Group) -> u64 {
    let delay = |of: &Group, by: &Group| match of.waiter {
        None => 0,
        Some((time, _)) => by.ready.saturating_sub(time.max(of.ready)),
    };
    delay(a, b) + delay(b, a)
}
