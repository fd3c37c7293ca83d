//! The units that later code accesses, and those that it overwrites.
//!
//! In: the stream. Out: for each block the units that some path from its end touches, and those
//! that some path overwrites. Another function, the target of a call or a return, touches and
//! overwrites all units. An access never ends anything: the unit *is* touched, whatever the order.
//! So this is a union over all reachable code: a backward dataflow with sets that only grow. It
//! tells which results and operands need a scoreboard at all.
//!
//! Cost: a few sweeps over the blocks, each linear.
use std::collections::BTreeSet;

use super::super::stream::Stream;
use super::super::units::Units;

/// The accesses of later code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Later {
    /// Units that are read or written.
    pub(super) touched: Units,
    /// Units that are written.
    pub(super) written: Units,
}

impl Later {
    /// Adds an instruction before the others.
    fn prepend(&mut self, stream: &Stream<'_>, index: usize) {
        if stream.entries[index].leaves_function {
            *self = Later { touched: Units::ALL, written: Units::ALL };
        }
        for touch in stream.touches(index).iter().filter(|touch| touch.comes_after()) {
            self.touched.insert(touch.unit);
            if touch.write {
                self.written.insert(touch.unit);
            }
        }
    }

    fn extend(&mut self, other: &Later) -> bool {
        let touched = self.touched.extend(&other.touched);
        self.written.extend(&other.written) || touched
    }
}

/// For each block, the accesses of the code after its end.
pub(super) fn at_ends(stream: &Stream<'_>) -> Vec<Later> {
    let mut at_start: Vec<Later> = vec![Later::default(); stream.blocks.len()];
    // The result is not needed for blocks without predecessors.
    let entered = stream.blocks.iter().zip(&mut at_start).filter(|(block, _)| !block.preds.is_empty());
    for (block, later) in entered {
        for index in block.range.clone() {
            ptxc_interrupt::poll();
            later.prepend(stream, index);
        }
    }
    let mut work: BTreeSet<usize> = (0..stream.order.len()).collect();
    let mut at_end = vec![Later::default(); stream.blocks.len()];
    while let Some(position) = work.pop_last() {
        let block = stream.order[position];
        for way in &stream.blocks[block].ways {
            at_end[block].extend(&at_start[way.target]);
        }
        if stream.blocks[block].preds.is_empty() {
            continue;
        }
        let end = at_end[block];
        if at_start[block].extend(&end) {
            work.extend(stream.blocks[block].preds.iter().map(|&pred| stream.rank[pred]));
        }
    }
    at_end
}
