//! The control-flow graph of machine IR: predecessors, an order, dominators.
//!
//! In: a [`Mir`] before or after allocation. Out: a [`Cfg`], a snapshot that edits of the edges
//! make stale.
//!
//! ```text
//! mb0 -> mb1, mb2    mb1 -> mb2        preds(mb2) = mb0, mb1    idom(mb2) = mb0    order mb0 mb1 mb2
//! ```
//!
//! The order is a reverse postorder from the entry; blocks that the entry does not reach are not in
//! it. Dominators by Lengauer and Tarjan's algorithm, [`immediate_dominators`], in `O(E log V)` on
//! every graph; a dominance query takes constant time. Dominators are computed on first use.
//! Nothing recurses.

use std::sync::OnceLock;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_ir::dominators::immediate_dominators;
use smallvec::SmallVec;

use super::{MBlockId, Mir};

/// Predecessors, order and dominators of a [`Mir`].
#[derive(Clone, Debug)]
pub struct Cfg {
    /// The number of blocks, reachable or not.
    blocks: usize,
    preds: SecondaryMap<MBlockId, SmallVec<[MBlockId; 2]>>,
    order: Vec<MBlockId>,
    rank: SecondaryMap<MBlockId, u32>,
    dominators: OnceLock<Dominators>,
}

/// The dominator tree.
#[derive(Clone, Debug)]
struct Dominators {
    immediate: SecondaryMap<MBlockId, PackedOption<MBlockId>>,
    /// For each block the half-open range of numbers, in a preorder of the tree, of the blocks that
    /// it dominates; its own number is the first.
    subtree: SecondaryMap<MBlockId, (u32, u32)>,
}

impl Cfg {
    /// Builds the graph from the terminators.
    pub fn new<R: Copy>(mir: &Mir<R>) -> Cfg {
        let blocks = mir.blocks.len();
        let mut preds: SecondaryMap<MBlockId, SmallVec<[MBlockId; 2]>> = for_blocks(mir, SmallVec::new());
        for &block in &mir.layout {
            for edge in mir.blocks[block].term.edges() {
                preds[edge.block].push(block);
            }
        }
        let order = reverse_postorder(mir);
        let mut rank = for_blocks(mir, u32::MAX);
        for (index, &block) in order.iter().enumerate() {
            rank[block] = index as u32;
        }
        Cfg { blocks, preds, order, rank, dominators: OnceLock::new() }
    }

    /// The predecessors of a block; a block is repeated if both edges of its branch go here.
    pub fn preds(&self, block: MBlockId) -> &[MBlockId] {
        &self.preds[block]
    }

    /// The reachable blocks in reverse postorder, the entry first.
    pub fn order(&self) -> &[MBlockId] {
        &self.order
    }

    /// The place of a block in [`order`](Self::order); `None` if it is unreachable.
    pub fn rank(&self, block: MBlockId) -> Option<u32> {
        Some(self.rank[block]).filter(|&rank| rank != u32::MAX)
    }

    /// The immediate dominator; `None` for the entry and for unreachable blocks.
    pub fn idom(&self, block: MBlockId) -> Option<MBlockId> {
        self.dominators().immediate[block].expand()
    }

    /// Whether every path from the entry to `b` goes through `a`; a block dominates itself. Nothing
    /// dominates an unreachable block.
    pub fn dominates(&self, a: MBlockId, b: MBlockId) -> bool {
        let subtree = &self.dominators().subtree;
        let (first, end) = subtree[a];
        (first..end).contains(&subtree[b].0)
    }

    fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| self.find_dominators())
    }

    fn find_dominators(&self) -> Dominators {
        let mut immediate = for_count(self.blocks, PackedOption::default());
        let mut edges = Vec::new();
        for (index, &block) in self.order.iter().enumerate() {
            let ranks = self.preds[block].iter().map(|&pred| self.rank[pred]);
            edges.extend(ranks.filter(|&rank| rank != u32::MAX).map(|rank| (rank, index as u32)));
        }
        // Every block except the entry has an edge.
        if !edges.is_empty() {
            let found = immediate_dominators(self.order.len(), 0, &edges);
            for (&block, dominator) in self.order.iter().zip(found) {
                immediate[block] = dominator.map(|rank| self.order[rank as usize]).into();
            }
        }
        let subtree = self.number_tree(&immediate);
        Dominators { immediate, subtree }
    }

    fn number_tree(
        &self,
        immediate: &SecondaryMap<MBlockId, PackedOption<MBlockId>>,
    ) -> SecondaryMap<MBlockId, (u32, u32)> {
        // In the order, a dominator comes before the blocks that it dominates.
        let mut sizes: SecondaryMap<MBlockId, u32> = for_count(self.blocks, 1);
        for &block in self.order.iter().rev() {
            if let Some(up) = immediate[block].expand() {
                sizes[up] += sizes[block];
            }
        }
        // The next free number below each block. Unreachable blocks keep the number 0, the entry
        // has 1.
        let mut next: SecondaryMap<MBlockId, u32> = for_count(self.blocks, 0);
        let mut subtree = for_count(self.blocks, (0, 0));
        for &block in &self.order {
            let first = match immediate[block].expand() {
                Some(up) => {
                    next[up] += sizes[block];
                    next[up] - sizes[block]
                }
                None => 1,
            };
            subtree[block] = (first, first + sizes[block]);
            next[block] = first + 1;
        }
        subtree
    }
}

/// A map with a place for each block of a function.
pub(crate) fn for_blocks<R: Copy, V: Clone>(mir: &Mir<R>, default: V) -> SecondaryMap<MBlockId, V> {
    for_count(mir.blocks.len(), default)
}

fn for_count<V: Clone>(count: usize, default: V) -> SecondaryMap<MBlockId, V> {
    let mut map = SecondaryMap::with_default(default);
    map.resize(count);
    map
}

fn reverse_postorder<R: Copy>(mir: &Mir<R>) -> Vec<MBlockId> {
    let mut seen = vec![false; mir.blocks.len()];
    let mut order = Vec::with_capacity(mir.layout.len());
    let Some(&entry) = mir.layout.first() else { return order };
    // Blocks that are being visited, each with the edges that have not been followed yet.
    let edges = |block: MBlockId| mir.blocks[block].term.edges();
    let mut stack = vec![(entry, edges(entry))];
    seen[entry.index()] = true;
    while let Some((block, left)) = stack.last_mut() {
        // The last edge first, so that the first edge comes first in the reversed order.
        match left.pop() {
            Some(edge) if !std::mem::replace(&mut seen[edge.block.index()], true) => {
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
