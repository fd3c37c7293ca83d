//! The choice of a scoreboard for each instruction that needs one.
//!
//! Six scoreboards are few; which instructions share one decides how long waits are. A [`Chooser`] walks a
//! block and knows, for each scoreboard in use, the estimated time at which all that it protects is done and
//! the time of the first instruction that will wait for it. A newcomer goes
//!
//! 1. to a scoreboard whose first waiter is its own first waiter: what is waited on together is grouped;
//! 2. else to a free one;
//! 3. else to the one where sharing costs least: the cycles by which its first waiter would be delayed by
//!    the newcomer plus those by which the newcomer's waiter would be delayed by it. So an early-needed
//!    shared load is not parked behind a slow global one while any better place exists.
//!
//! The scoreboard of the [groups of copies](COPY_GROUPS) is left to them, where there are any: whoever waited for it to be
//! free would wait for all copies.
//!
//! Since scoreboards are counters, sharing never costs more than emptying one by a wait at this point would:
//! nothing is ever drained to make room. Times are [estimates](crate::schedule::estimate) and only steer the choice.

use ptxc_sass::{Control, Op};

use super::super::COPY_GROUPS;
use super::super::stream::Stream;
use super::super::units::Units;
use super::Need;
use super::pending::{Sets, bits};
use crate::schedule::estimate;

/// How many instructions ahead a waiter is looked for.
const HORIZON: usize = 160;

/// Cycles that an instruction takes to issue on average; from the sum of stalls over ptxas's code.
const CYCLES_PER_INSTRUCTION: u64 = 2;

/// What a scoreboard in use is waited for by, in estimated cycles from the start of the block.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// When all is done.
    ready: u64,
    /// When the first waiter could issue, and which instruction that is; `None` if none is in sight.
    waiter: Option<(u64, usize)>,
}

/// Chooses scoreboards for the instructions of one block, in order.
#[derive(Debug)]
pub(super) struct Chooser {
    groups: [Option<Group>; Control::SCOREBOARDS as usize],
    /// The first that it may give.
    first: usize,
}

/// What comes first on the likely path after an instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Ahead {
    /// Distance and index of the first instruction that accesses its results.
    result: Option<(usize, usize)>,
    /// The same for the first that overwrites an operand, if that comes before.
    operand: Option<(usize, usize)>,
}

impl Chooser {
    /// At the start of a block, with the scoreboards that are in use there.
    pub(super) fn new(busy: u8, counts_groups: bool) -> Chooser {
        let mut groups = [None; Control::SCOREBOARDS as usize];
        for sb in bits(busy) {
            // From before the block: assumed to be a load from memory on its way.
            groups[usize::from(sb)] = Some(Group { ready: u64::from(estimate::GLOBAL_LOAD), waiter: None });
        }
        Chooser { groups, first: if counts_groups { usize::from(COPY_GROUPS) + 1 } else { 0 } }
    }

    /// After a wait.
    pub(super) fn release(&mut self, mask: u8) {
        for sb in bits(mask) {
            self.groups[usize::from(sb)] = None;
        }
    }

    /// The scoreboards for an instruction of the block.
    pub(super) fn choose(&mut self, stream: &Stream<'_>, block: usize, index: usize, need: Need) -> Sets {
        let mut sets = Sets::default();
        match stream.entries[index].inst.op {
            Op::LDGDEPBAR => sets.write = Some(COPY_GROUPS),
            Op::UTMACMDFLUSH if stream.counts_groups => sets.read = Some(COPY_GROUPS),
            _ => {}
        }
        if !need.result && !need.operands {
            return sets;
        }
        let ahead = look_ahead(stream, block, index);
        let now = (index - stream.blocks[block].range.start) as u64 * CYCLES_PER_INSTRUCTION;
        let waiter = |at: Option<(usize, usize)>| {
            at.map(|(distance, waiter)| (now + distance as u64 * CYCLES_PER_INSTRUCTION, waiter))
        };
        if need.result {
            let ready = now + u64::from(estimate::completion(stream.entries[index].inst));
            sets.write = Some(self.place(Group { ready, waiter: waiter(ahead.result) }));
        }
        // The results' scoreboard covers the operands too; one of their own pays if they are overwritten
        // before the results are needed.
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

/// Walks the likely path until an access of the instruction's results, at most [`HORIZON`] instructions.
fn look_ahead(stream: &Stream<'_>, block: usize, index: usize) -> Ahead {
    let (mut results, mut operands, mut marks) = (Units::default(), Units::default(), 0);
    for touch in stream.touches(index).iter().filter(|touch| touch.late) {
        marks |= touch.mark();
        if touch.write { results.insert(touch.unit) } else { operands.insert(touch.unit) }
    }
    let mut ahead = Ahead::default();
    let (mut block, mut at) = (block, index + 1);
    for distance in 1..=HORIZON {
        while at >= stream.blocks[block].range.end {
            match stream.likely_successor(block) {
                // An empty block that leads to itself has nothing to find.
                Some(next) if next != block || !stream.blocks[next].range.is_empty() => {
                    block = next;
                    at = stream.blocks[block].range.start;
                }
                _ => return ahead,
            }
        }
        let other = &stream.entries[at];
        if other.leaves_function {
            ahead.result = Some((distance, at));
            return ahead;
        }
        // Most have nothing to do with it.
        if other.marks & marks != 0 {
            let mut touches = stream.touches(at).iter().filter(|touch| touch.comes_after());
            if touches.clone().any(|touch| results.contains(touch.unit)) {
                ahead.result = Some((distance, at));
                return ahead;
            }
            if ahead.operand.is_none() && touches.any(|touch| touch.write && operands.contains(touch.unit)) {
                ahead.operand = Some((distance, at));
            }
        }
        at += 1;
    }
    ahead
}
