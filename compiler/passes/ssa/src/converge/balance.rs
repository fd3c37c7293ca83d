//! Whether all lanes of a region wait for the same operations on every way to its join.
//!
//! An operation waits until every lane of its mask has executed an operation of its kind with that
//! mask. So all lanes of a mask have completed equally many of them, and a lane at the join of a
//! region has completed all operations on its way. If all ways have the same operations with the
//! same masks, no lane in the region still waits for the lane at the join:
//!
//! ```text
//!     brif v1, block1, block2
//! block1: shfl.bfly …, all               vote.any …, all ; vote.any …, all
//! block2: shfl.bfly …, all               vote.any …, all
//! block3:                                // the join: safe on the left, not on the right
//! ```
//!
//! In: a region, and for each of its blocks the operations, a kind and a mask each. Out: whether
//! the sequences of operations on all ways are the same. Linear in the region.

use ptxc_ir::Block;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::region::{Flow, Region};
use crate::lanes::Mask;

/// A kind of operation, by number, and its mask.
pub(super) type Event = (u32, Mask);

/// Whether all ways through the region have the same events. Lanes that leave the region by another
/// way do not reach its join.
pub(super) fn is_balanced(
    flow: &Flow<'_>,
    region: &Region,
    events: impl Fn(Block) -> SmallVec<[Event; 4]>,
) -> bool {
    let mut blocks: Vec<(usize, Block)> =
        region.blocks.iter().filter_map(|&block| Some((flow.cfg.rpo_index(block)?, block))).collect();
    blocks.sort_unstable();
    // Sequences are numbered. Each consists of an earlier sequence and one more event.
    let mut sequences: FxHashMap<(u32, Event), u32> = FxHashMap::default();
    let mut at_end: FxHashMap<Block, u32> = FxHashMap::from_iter([(region.anchor, 0)]);
    let mut at_start: FxHashMap<Block, u32> = FxHashMap::default();
    for &(_, block) in &blocks {
        let ways = flow.cfg.preds(block).iter();
        let Some(start) = ways.filter_map(|way| at_end.get(way)).copied().next() else { return false };
        at_start.insert(block, start);
        let end = events(block).into_iter().fold(start, |before, event| {
            let next = sequences.len() as u32 + 1;
            *sequences.entry((before, event)).or_insert(next)
        });
        at_end.insert(block, end);
    }
    // All ways to a block, including those back to the head of a loop, must bring the same
    // sequence.
    let inside = blocks.iter().map(|&(_, block)| (block, at_start[&block]));
    let mut of_join = flow.cfg.preds(region.join).iter().filter_map(|way| at_end.get(way));
    let Some(&join) = of_join.next() else { return false };
    inside.chain([(region.join, join)]).all(|(block, start)| {
        flow.cfg.preds(block).iter().filter_map(|way| at_end.get(way)).all(|&end| end == start)
    })
}
