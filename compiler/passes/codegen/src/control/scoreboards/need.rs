//! The accesses of an instruction that need scoreboards, and the first later instruction that
//! depends on them.
//!
//! In: the stream. Out: for each instruction a [`Need`]. Both are about the next access to a unit
//! that is read or written late, so one backward walk finds them inside a block. If the block has
//! no such access, [later](super::later) blocks are searched, and the likely path, at most
//! [`HORIZON`] instructions ahead.

use super::super::stream::{Stream, UNITS};
use super::super::units::Units;
use super::later::{self, Later};

/// The number of instructions ahead that are searched for a waiter.
const HORIZON: u32 = 160;

/// The accesses that an instruction needs a scoreboard for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    /// Whether its results need one.
    pub(super) result: bool,
    /// Whether the reading of its operands needs one.
    pub(super) operands: bool,
    /// The first dependent instructions, if it needs any scoreboard.
    pub(super) ahead: Ahead,
}

/// A later instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upcoming {
    /// The number of instructions that it takes to get there.
    pub(super) distance: u32,
    /// Its index.
    pub(super) index: u32,
}

/// The first dependent instructions on the likely path after an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    /// The first instruction that accesses its results.
    pub(super) result: Option<Upcoming>,
    /// The first instruction that overwrites an operand, if it comes earlier.
    pub(super) operand: Option<Upcoming>,
}

/// The needs of all instructions.
pub(super) fn needs(stream: &Stream<'_>) -> Vec<Need> {
    let mut needs = vec![Need::default(); stream.entries.len()];
    let mut next = Next::new();
    for (block, at_end) in later::at_ends(stream).iter().enumerate() {
        let range = stream.blocks[block].range.clone();
        next.leaving = None;
        for index in range.clone().rev() {
            ptxc_interrupt::poll();
            let entry = &stream.entries[index];
            if entry.is_late {
                let mut need = next.need(stream, index, at_end);
                let is_operand_known = need.ahead.operand.is_some() || !need.operands;
                let is_known = need.ahead.result.is_some() || !need.result && is_operand_known;
                if !is_known {
                    follow(stream, block, index, &mut need.ahead);
                }
                needs[index] = need;
            }
            next.prepend(stream, index);
        }
    }
    needs
}

/// The first accesses in the rest of a block.
struct Next {
    /// For each unit the first instruction that accesses it. An entry that is not after the current
    /// instruction belongs to another block, or is empty.
    touching: Box<[u32]>,
    /// For each unit the first instruction that overwrites it.
    writing: Box<[u32]>,
    /// The first instruction that goes to another function, which touches and overwrites
    /// everything.
    leaving: Option<u32>,
}

impl Next {
    fn new() -> Next {
        Next { touching: vec![0; UNITS].into(), writing: vec![0; UNITS].into(), leaving: None }
    }

    /// Adds an instruction before the others.
    fn prepend(&mut self, stream: &Stream<'_>, index: usize) {
        if stream.entries[index].leaves_function {
            self.leaving = Some(index as u32);
        }
        for touch in stream.touches(index).iter().filter(|touch| touch.comes_after()) {
            self.touching[usize::from(touch.unit)] = index as u32;
            if touch.write {
                self.writing[usize::from(touch.unit)] = index as u32;
            }
        }
    }

    /// The needs of the instruction before these, and the first dependent instructions in the
    /// block.
    fn need(&self, stream: &Stream<'_>, index: usize, at_end: &Later) -> Need {
        let mut need = Need::default();
        let (mut touching, mut writing) = (self.leaving, self.leaving);
        for touch in stream.touches(index).iter().filter(|touch| touch.late) {
            let (first, list, later, is_needed) = match touch.write {
                true => (&mut touching, &self.touching, &at_end.touched, &mut need.result),
                false => (&mut writing, &self.writing, &at_end.written, &mut need.operands),
            };
            let at = Some(list[usize::from(touch.unit)]).filter(|&at| at as usize > index);
            *first = earlier(*first, at);
            *is_needed |= first.is_some() || later.contains(touch.unit);
        }
        let is_before = |&at: &u32| touching.is_none_or(|touching| at < touching);
        let upcoming = |at: u32| Upcoming { distance: at - index as u32, index: at };
        let is_near = |upcoming: &Upcoming| upcoming.distance <= HORIZON;
        need.ahead = Ahead {
            result: touching.map(upcoming).filter(is_near),
            operand: writing.filter(is_before).map(upcoming).filter(is_near),
        };
        need
    }
}

/// The earlier of two instructions.
fn earlier(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Follows the likely path after an instruction's block, until an access to the instruction's
/// results.
fn follow(stream: &Stream<'_>, mut block: usize, index: usize, ahead: &mut Ahead) {
    let (mut results, mut operands, mut marks) = (Units::default(), Units::default(), 0);
    for touch in stream.touches(index).iter().filter(|touch| touch.late) {
        marks |= touch.mark();
        if touch.write { results.insert(touch.unit) } else { operands.insert(touch.unit) }
    }
    let mut distance = (stream.blocks[block].range.end - index) as u32;
    while distance <= HORIZON {
        block = match stream.likely_successor(block) {
            // An empty block that leads to itself has nothing to find.
            Some(next) if next != block || !stream.blocks[next].range.is_empty() => next,
            _ => return,
        };
        let data = &stream.blocks[block];
        // Most blocks do not touch these units.
        if data.marks & marks == 0 && !data.leaves_function {
            distance += data.range.len() as u32;
            continue;
        }
        let left = (HORIZON - distance + 1) as usize;
        for at in data.range.clone().take(left) {
            let (entry, upcoming) = (&stream.entries[at], Upcoming { distance, index: at as u32 });
            if entry.leaves_function {
                ahead.result = Some(upcoming);
                return;
            }
            if entry.marks & marks != 0 {
                let mut touches = stream.touches(at).iter().filter(|touch| touch.comes_after());
                if touches.clone().any(|touch| results.contains(touch.unit)) {
                    ahead.result = Some(upcoming);
                    return;
                }
                if ahead.operand.is_none()
                    && touches.any(|touch| touch.write && operands.contains(touch.unit))
                {
                    ahead.operand = Some(upcoming);
                }
            }
            distance += 1;
        }
    }
}
