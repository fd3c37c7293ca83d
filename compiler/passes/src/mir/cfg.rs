//! The control-flow graph of machine IR: predecessors, an order, dominators.
//!
//! In: a [`Mir`] before or after allocation. Out: a [`Cfg`], a snapshot that edits of the edges make stale.
//!
//! ```text
//! mb0 -> mb1, mb2    mb1 -> mb2        preds(mb2) = mb0, mb1    idom(mb2) = mb0    order mb0 mb1 mb2
//! ```
//!
//! The order is a reverse postorder from the entry; blocks that the entry does not reach are not in it.
//! Dominators by Lengauer and Tarjan's algorithm, [`immediate_dominators`], in `O(E log V)` on every graph;
//! the question whether one block dominates another takes constant time. Nothing recurses.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ptxc_ir::dominators::immediate_dominators;
use smallvec::SmallVec;

use super::{MBlockId, Mir};

/// Predecessors, order and dominators of a [`Mir`].
#[derive(Clone, Debug)]
pub struct Cfg {
    preds: SecondaryMap<MBlockId, SmallVec<[MBlockId; 2]>>,
    order: Vec<MBlockId>,
    rank: SecondaryMap<MBlockId, u32>,
    idom: SecondaryMap<MBlockId, PackedOption<MBlockId>>,
    /// For each block the half-open range of numbers, in a preorder of the dominator tree, of the blocks
    /// that it dominates; its own is the first.
    subtree: SecondaryMap<MBlockId, (u32, u32)>,
}

impl Cfg {
    /// Reads the graph off the terminators.
    pub fn new<R>(mir: &Mir<R>) -> Cfg {
        let mut preds: SecondaryMap<MBlockId, SmallVec<[MBlockId; 2]>> = SecondaryMap::new();
        for &block in &mir.layout {
            for edge in mir.blocks[block].term.edges() {
                preds[edge.block].push(block);
            }
        }
        let order = reverse_postorder(mir);
        let mut rank = SecondaryMap::with_default(u32::MAX);
        for (index, &block) in order.iter().enumerate() {
            rank[block] = index as u32;
        }
        let (idom, subtree) = Default::default();
        let mut cfg = Cfg { preds, order, rank, idom, subtree };
        cfg.find_dominators();
        cfg.number_dominator_tree();
        cfg
    }

    /// The blocks that go to a block, with repetition where both edges of a branch do.
    pub fn preds(&self, block: MBlockId) -> &[MBlockId] {
        &self.preds[block]
    }

    /// The reachable blocks in reverse postorder, the entry first.
    pub fn order(&self) -> &[MBlockId] {
        &self.order
    }

    /// The place of a block in [`order`](Self::order); `None` if nothing reaches it.
    pub fn rank(&self, block: MBlockId) -> Option<u32> {
        Some(self.rank[block]).filter(|&rank| rank != u32::MAX)
    }

    /// The immediate dominator; `None` for the entry and for unreachable blocks.
    pub fn idom(&self, block: MBlockId) -> Option<MBlockId> {
        self.idom[block].expand()
    }

    /// Whether every path from the entry to `b` goes through `a`; a block dominates itself. Nothing dominates
    /// an unreachable block.
    pub fn dominates(&self, a: MBlockId, b: MBlockId) -> bool {
        let (first, end) = self.subtree[a];
        (first..end).contains(&self.subtree[b].0)
    }

    fn number_dominator_tree(&mut self) {
        // In the order a dominator comes before what it dominates.
        let mut sizes: SecondaryMap<MBlockId, u32> = SecondaryMap::with_default(1);
        for &block in self.order.iter().rev() {
            if let Some(up) = self.idom[block].expand() {
                sizes[up] += sizes[block];
            }
        }
        // The next free number below each block. Unreachable blocks keep the number 0, the entry has 1.
        let mut next: SecondaryMap<MBlockId, u32> = SecondaryMap::new();
        for &block in &self.order {
            let first = match self.idom[block].expand() {
                Some(up) => {
                    next[up] += sizes[block];
                    next[up] - sizes[block]
                }
                None => 1,
            };
            self.subtree[block] = (first, first + sizes[block]);
            next[block] = first + 1;
        }
    }

    fn find_dominators(&mut self) {
        let mut edges = Vec::new();
        for (index, &block) in self.order.iter().enumerate() {
            let ranks = self.preds[block].iter().map(|&pred| self.rank[pred]);
            edges.extend(ranks.filter(|&rank| rank != u32::MAX).map(|rank| (rank, index as u32)));
        }
        if self.order.is_empty() {
            return;
        }
        let dominators = immediate_dominators(self.order.len(), 0, &edges);
        for (&block, dominator) in self.order.iter().zip(dominators) {
            self.idom[block] = dominator.map(|rank| self.order[rank as usize]).into();
        }
    }
}

fn reverse_postorder<R>(mir: &Mir<R>) -> Vec<MBlockId> {
    let mut seen: SecondaryMap<MBlockId, bool> = SecondaryMap::new();
    let mut order = Vec::with_capacity(mir.layout.len());
    let Some(&entry) = mir.layout.first() else { return order };
    // Blocks that are being visited, each with the edges that have not been followed yet.
    let edges = |block: MBlockId| mir.blocks[block].term.edges();
    let mut stack = vec![(entry, edges(entry))];
    seen[entry] = true;
    while let Some((block, left)) = stack.last_mut() {
        // The last edge first, so that the first edge comes first in the reversed order.
        match left.pop() {
            Some(edge) if !seen[edge.block] => {
                seen[edge.block] = true;
                stack.push((edge.block, edges(edge.block)));
            }
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
