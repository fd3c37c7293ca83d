//! Scoreboards: decides which instructions set them, and which wait for them.
//!
//! In: the stream. Out: for each instruction the scoreboards that it [sets](Sets), the mask that it
//! waits for, and the units that forced each wait. Three steps:
//!
//! 1. **Need** ([`need`], [`later`]). Results need a scoreboard if some later instruction reads or
//!    overwrites them; operands that are read late need one if some later instruction overwrites
//!    them, in any block. A load whose result is not touched again needs none, not even before
//!    `EXIT`. Groups of asynchronous copies have a scoreboard of their own.
//! 2. **Choice** ([`choose`]), a walk over the blocks in reverse postorder, done twice if anything
//!    is in flight over the back edges of loops: only the second walk knows about that.
//! 3. **Waits** ([`pending`]), by forward dataflow over the whole graph with the chosen scoreboards
//!    fixed. The state is, for each of the six, the set of pending results and of pending operand
//!    reads; states join by union at block entries. An instruction waits for exactly the
//!    scoreboards that protect its operands and results. A branch needs no wait: accesses may stay
//!    in flight over edges, back edges included. A call and a return wait for everything.
//!
//! ```text
//! LDG.E R0, desc[UR4][R2.64]     sets SB0; R2 is overwritten before R0 is read: SB1 when read
//! IADD3 R2, R2, 0x4, RZ          waits SB1
//! FADD R5, R5, R0                waits SB0
//! ```
//! A wait empties a scoreboard, so a larger entry state may lead to a smaller exit state; entry
//! states therefore only grow from one visit to the next, which bounds the iteration. The state of
//! a final visit is an upper bound of every path, so its waits are sound. Cost: linear in the
//! instructions for bounded loop nesting, with a look-ahead of bounded length for each instruction
//! that sets a scoreboard.

mod choose;
mod later;
mod need;
mod pending;

use std::collections::BTreeSet;
use std::ops::Range;

use choose::{Chooser, of_group};
use need::Need;
use pending::Pending;
pub(super) use pending::{Sets, bits};

use super::stream::Stream;

/// A wait: the scoreboard and the unit that it protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wait {
    pub(super) scoreboard: u8,
    pub(super) unit: u16,
}

/// Scoreboards of every instruction of a stream.
#[derive(Debug)]
pub(super) struct Scoreboards {
    /// The scoreboards that each instruction sets.
    pub(super) sets: Vec<Sets>,
    /// The scoreboards that each instruction waits for.
    waits: Waits,
}

impl Scoreboards {
    /// The scoreboards that an instruction waits for, a bit each.
    pub(super) fn mask(&self, index: usize) -> u8 {
        self.waits.masks[index]
    }

    /// The reasons for the waits, sorted; a reason may occur twice.
    pub(super) fn reasons(&self, index: usize) -> &[Wait] {
        let places = self.waits.places.get(index).cloned().unwrap_or_default();
        &self.waits.reasons[places.start as usize..places.end as usize]
    }
}

/// The waits of each instruction, with their reasons.
#[derive(Debug, Default)]
struct Waits {
    /// A bit for each scoreboard.
    masks: Vec<u8>,
    /// All reasons, in the order in which they were found.
    reasons: Vec<Wait>,
    /// The place of each instruction's reasons; empty if none are known.
    places: Vec<Range<u32>>,
}

impl Waits {
    fn new(count: usize) -> Waits {
        Waits { masks: vec![0; count], reasons: Vec::new(), places: vec![0..0; count] }
    }

    /// Records the waits of an instruction in a state, replacing the earlier ones; returns the
    /// scoreboards.
    fn note(&mut self, stream: &Stream<'_>, index: usize, state: &Pending) -> u8 {
        let start = self.reasons.len();
        let reasons = &mut self.reasons;
        let mask = state.waits(stream, index, |unit, scoreboard| reasons.push(Wait { scoreboard, unit }));
        if reasons.len() > start + 1 {
            reasons[start..].sort_unstable();
        }
        self.places[index] = start as u32..reasons.len() as u32;
        self.masks[index] = mask;
        mask
    }
}

/// The states at the entries of blocks. Most blocks have nothing in flight and need no state; a
/// state has 700 bytes.
struct Entries(Vec<Option<Box<Pending>>>);

impl Entries {
    /// Nothing is in flight.
    fn new(blocks: usize) -> Entries {
        Entries(vec![None; blocks])
    }

    /// The state at the entry of a block.
    fn of(&self, block: usize) -> Pending {
        self.0[block].as_deref().cloned().unwrap_or_default()
    }

    /// Joins the state of a way to a block; returns whether anything is new.
    fn join(&mut self, block: usize, state: &Pending) -> bool {
        state.busy() != 0 && self.0[block].get_or_insert_default().join(state)
    }
}

/// Assigns the scoreboards.
pub(super) fn assign(stream: &Stream<'_>) -> Scoreboards {
    let needs = need::needs(stream);
    let mut sets = vec![Sets::default(); stream.entries.len()];
    let mut entry = Entries::new(stream.blocks.len());
    let mut waits = Waits::new(stream.entries.len());
    let is_all_known = choose_all(stream, &needs, &mut entry, &mut sets, |state, stream, index| {
        waits.note(stream, index, state)
    });
    // If nothing is in flight over back edges, another walk would make the same choices.
    if !is_all_known {
        drop(entry);
        entry = entry_states(stream, &sets, Pending::scoreboards);
        choose_all(stream, &needs, &mut entry, &mut sets, Pending::scoreboards);
        waits = Waits::new(stream.entries.len());
        entry_states(stream, &sets, |state, stream, index| waits.note(stream, index, state));
    }
    Scoreboards { sets, waits }
}

/// For `--sync=serial`: every setter uses the first two, everything that can wait waits for both.
pub(super) fn serial(stream: &Stream<'_>) -> Scoreboards {
    let masks = stream.entries.iter().map(|entry| if entry.op.row().scoreboards.waits { 0b11 } else { 0 });
    let masks = masks.collect();
    let sets = stream.entries.iter().enumerate().map(|(index, entry)| {
        let touches = stream.touches(index);
        let late = |write: bool| touches.iter().any(|touch| touch.late && touch.write == write);
        let group = of_group(stream, entry.op);
        Sets { write: group.write.or(late(true).then_some(0)), read: group.read.or(late(false).then_some(1)) }
    });
    Scoreboards { sets: sets.collect(), waits: Waits { masks, ..Waits::default() } }
}

/// Chooses scoreboards block by block, each from its entry state: the one in `entry`, joined with
/// the results of its predecessors in the walk. `waits` tells the scoreboards that an instruction
/// waits for in a state. Returns whether each block began with its complete entry state, that is,
/// whether back edges bring nothing new.
fn choose_all(
    stream: &Stream<'_>,
    needs: &[Need],
    entry: &mut Entries,
    sets: &mut [Sets],
    mut waits: impl FnMut(&Pending, &Stream<'_>, usize) -> u8,
) -> bool {
    let mut is_all_known = true;
    for (position, &block) in stream.order.iter().enumerate() {
        let mut state = entry.of(block);
        let mut chooser = Chooser::new(state.busy(), stream.counts_groups);
        let mut leave = |state: &Pending, issued: usize| {
            for target in ways_after(stream, block, issued) {
                let is_new = entry.join(target, state);
                is_all_known &= !is_new || stream.rank[target] > position;
            }
        };
        leave(&state, 0);
        let body = stream.blocks[block].body;
        for (issued, index) in (1..).zip(stream.blocks[block].range.clone()) {
            ptxc_interrupt::poll();
            let mask = waits(&state, stream, index);
            if mask != 0 {
                state.release(mask);
                chooser.release(mask);
            }
            sets[index] = chooser.choose(stream, block, index, &needs[index]);
            state.issue(stream, index, sets[index]);
            if issued >= body {
                leave(&state, issued);
            }
        }
    }
    is_all_known
}

/// The blocks where control may go after `issued` instructions of a block, other than to the
/// block's next instruction.
fn ways_after<'a>(stream: &'a Stream<'_>, block: usize, issued: usize) -> impl Iterator<Item = usize> + 'a {
    // Ways are in the order in which they are taken, and none is taken before the branches.
    stream.blocks[block].ways.iter().filter(move |way| way.issued == issued).map(|way| way.target)
}

/// The state at each block's entry, over every path. `waits` tells the scoreboards that an
/// instruction waits for in a state; its last call for an instruction has the final state.
fn entry_states(
    stream: &Stream<'_>,
    sets: &[Sets],
    mut waits: impl FnMut(&Pending, &Stream<'_>, usize) -> u8,
) -> Entries {
    let mut entry = Entries::new(stream.blocks.len());
    let mut work: BTreeSet<usize> = (0..stream.order.len()).collect();
    while let Some(position) = work.pop_first() {
        let block = stream.order[position];
        let mut state = entry.of(block);
        for target in ways_after(stream, block, 0) {
            if entry.join(target, &state) {
                work.insert(stream.rank[target]);
            }
        }
        for (issued, index) in (1..).zip(stream.blocks[block].range.clone()) {
            ptxc_interrupt::poll();
            let mask = waits(&state, stream, index);
            if mask != 0 {
                state.release(mask);
            }
            state.issue(stream, index, sets[index]);
            if issued < stream.blocks[block].body {
                continue;
            }
            for target in ways_after(stream, block, issued) {
                if entry.join(target, &state) {
                    work.insert(stream.rank[target]);
                }
            }
        }
    }
    entry
}
