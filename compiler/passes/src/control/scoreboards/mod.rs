//! Scoreboards: which instruction sets which, and which waits for which.
//!
//! In: the stream. Out: for each instruction the scoreboards that it [sets](Sets), the mask that it waits
//! for, and the units that forced each wait. Three steps:
//!
//! 1. **Need** ([`later`]). Results need a scoreboard if some later instruction reads or overwrites them;
//!    operands that are read late need one if some later instruction overwrites them, in whatever block. A
//!    load that nothing touches again needs none, not even before `EXIT`. Groups of asynchronous copies have one of their own.
//! 2. **Choice** ([`choose`]), a walk over the blocks in reverse postorder, done twice: the first walk does
//!    not know yet what is in flight over the back edges of loops, the second does.
//! 3. **Waits** ([`pending`]), by forward dataflow over the whole graph with the chosen scoreboards fixed. The
//!    state is, for each of the six, the set of pending results and of pending operand reads; states join by
//!    union at block entries. An instruction waits for exactly the scoreboards that protect what it needs.
//!    Nothing waits because it is a branch: what is in flight stays so, over back edges too. A call and a return
//!    wait for everything.
//!
//! ```text
//! LDG.E R0, desc[UR4][R2.64]     sets SB0; R2 is overwritten before R0 is read: SB1 when read
//! IADD3 R2, R2, 0x4, RZ          waits SB1
//! FADD R5, R5, R0                waits SB0
//! ```
//! A wait empties a scoreboard, so a larger entry state may lead to a smaller exit state; entry states
//! therefore only grow from one visit to the next, which bounds the iteration. What a final visit sees is an
//! upper bound of every path, and its waits are sound. Cost: linear in the instructions for bounded loop
//! nesting, with a look-ahead of bounded length for each instruction that sets a scoreboard.

mod choose;
mod later;
mod pending;

use crate::interrupt;
use std::collections::BTreeSet;

use choose::Chooser;
use pending::Pending;
pub(super) use pending::{Sets, bits};
use ptxc_sass::Op;
use smallvec::SmallVec;

use super::stream::Stream;

/// What an instruction needs a scoreboard for.
#[derive(Clone, Copy, Debug, Default)]
struct Need {
    result: bool,
    operands: bool,
}

/// A wait: the scoreboard and the unit that it protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wait {
    pub(super) scoreboard: u8,
    pub(super) unit: u16,
}

/// Scoreboards of every instruction of a stream.
#[derive(Debug)]
pub(super) struct Scoreboards {
    /// What each sets.
    pub(super) sets: Vec<Sets>,
    /// What each waits for, a bit each.
    pub(super) masks: Vec<u8>,
    /// Why, sorted.
    pub(super) waits: Vec<SmallVec<[Wait; 2]>>,
}

/// Assigns the scoreboards.
pub(super) fn assign(stream: &Stream<'_>) -> Scoreboards {
    let needs = needs(stream);
    let mut sets = vec![Sets::default(); stream.entries.len()];
    let mut entry = vec![Pending::default(); stream.blocks.len()];
    let mut rank = vec![0; stream.blocks.len()];
    for (position, &block) in stream.order.iter().enumerate() {
        rank[block] = position;
    }
    choose_all(stream, &needs, &mut entry, &mut sets);
    // Without back edges the first walk knew everything, and another would choose the same.
    if has_back_edges(stream, &rank) {
        entry = entry_states(stream, &sets, &rank);
        choose_all(stream, &needs, &mut entry, &mut sets);
        entry = entry_states(stream, &sets, &rank);
    }
    let mut masks = vec![0; stream.entries.len()];
    let mut waits = vec![SmallVec::new(); stream.entries.len()];
    for &block in &stream.order {
        let mut state = entry[block].clone();
        for index in stream.blocks[block].range.clone() {
            interrupt::poll();
            let reasons: &mut SmallVec<[Wait; 2]> = &mut waits[index];
            masks[index] = state.waits(stream, index, |unit, scoreboard| {
                reasons.push(Wait { scoreboard, unit });
            });
            if reasons.len() > 1 {
                reasons.sort_unstable();
                reasons.dedup();
            }
            state.release(masks[index]);
            state.issue(stream, index, sets[index]);
        }
    }
    Scoreboards { sets, masks, waits }
}

/// For `--sync=serial`: every setter uses the first two, everything waits for both.
pub(super) fn serial(stream: &Stream<'_>) -> Scoreboards {
    let count = stream.entries.len();
    let sets = stream.entries.iter().enumerate().map(|(index, entry)| {
        let touches = stream.touches(index);
        let late = |write: bool| touches.iter().any(|touch| touch.late && touch.write == write);
        let is_group = entry.inst.op == Op::LDGDEPBAR;
        Sets { write: (is_group || late(true)).then_some(0), read: late(false).then_some(1) }
    });
    Scoreboards { sets: sets.collect(), masks: vec![0b11; count], waits: vec![SmallVec::new(); count] }
}

fn needs(stream: &Stream<'_>) -> Vec<Need> {
    let mut needs = vec![Need::default(); stream.entries.len()];
    for (block, mut later) in stream.blocks.iter().zip(later::at_ends(stream)) {
        for index in block.range.clone().rev() {
            interrupt::poll();
            for touch in stream.touches(index).iter().filter(|touch| touch.late) {
                if touch.write {
                    needs[index].result |= later.touched.contains(touch.unit);
                } else {
                    needs[index].operands |= later.written.contains(touch.unit);
                }
            }
            later.prepend(stream, index);
        }
    }
    needs
}

/// Chooses scoreboards block by block, each from what is in flight at its entry: what `entry` says, and what
/// the blocks before it in the walk leave.
fn choose_all(stream: &Stream<'_>, needs: &[Need], entry: &mut [Pending], sets: &mut [Sets]) {
    for &block in &stream.order {
        let mut state = entry[block].clone();
        let mut chooser = Chooser::new(state.busy(), stream.counts_groups);
        for target in ways_after(stream, block, 0) {
            entry[target].join(&state);
        }
        for (issued, index) in (1..).zip(stream.blocks[block].range.clone()) {
            interrupt::poll();
            let mask = state.waits(stream, index, |_, _| {});
            state.release(mask);
            chooser.release(mask);
            sets[index] = chooser.choose(stream, block, index, needs[index]);
            state.issue(stream, index, sets[index]);
            for target in ways_after(stream, block, issued) {
                entry[target].join(&state);
            }
        }
    }
}

/// Where control may go when so many instructions of a block have issued, but not to the next one of the block.
fn ways_after<'a>(stream: &'a Stream<'_>, block: usize, issued: usize) -> impl Iterator<Item = usize> + 'a {
    let block = &stream.blocks[block];
    // Ways are in the order in which they are taken, and none is taken before the branches.
    let ways = if issued < block.body { &[][..] } else { &block.ways[..] };
    ways.iter().filter(move |way| way.issued == issued).map(|way| way.target)
}

/// Whether control may go back to a block that comes no later in the order than the one that it leaves.
fn has_back_edges(stream: &Stream<'_>, rank: &[usize]) -> bool {
    let goes_back = |&block: &usize| {
        let mut targets = stream.blocks[block].ways.iter().map(|way| way.target);
        targets.any(|target| rank[target] <= rank[block])
    };
    stream.order.iter().any(goes_back)
}

/// What is in flight at each block's entry, over every path. `rank` is the place of each block in the order.
fn entry_states(stream: &Stream<'_>, sets: &[Sets], rank: &[usize]) -> Vec<Pending> {
    let mut entry = vec![Pending::default(); stream.blocks.len()];
    let mut work: BTreeSet<usize> = (0..stream.order.len()).collect();
    while let Some(position) = work.pop_first() {
        let block = stream.order[position];
        let mut state = entry[block].clone();
        for target in ways_after(stream, block, 0) {
            if entry[target].join(&state) {
                work.insert(rank[target]);
            }
        }
        for (issued, index) in (1..).zip(stream.blocks[block].range.clone()) {
            interrupt::poll();
            let mask = state.waits(stream, index, |_, _| {});
            state.release(mask);
            state.issue(stream, index, sets[index]);
            for target in ways_after(stream, block, issued) {
                if entry[target].join(&state) {
                    work.insert(rank[target]);
                }
            }
        }
    }
    entry
}
