//! Blocks where the values of a variable meet: iterated dominance frontiers, as far as reads need
//! them.
//!
//! In: the blocks that write a variable, and the places that want its value. Out: the blocks that
//! need a parameter at their start, if any place needs it. [`resolve`](super::resolve) then finds
//! for each place the nearest of these blocks above it.
//!
//! A block is two nodes of a tree: its start, and below that its end. The end is above the starts
//! of all blocks that the block immediately dominates. Nodes are numbered in preorder, so a subtree
//! is a range of numbers.
//!
//! ```text
//! block0: brif v0, block1, block2       0 start of block0
//! block1: jump block3                     1 end of block0
//! block2: jump block3                       2 start of block1, 3 its end
//! block3: exit                              4 start of block2, 5 its end
//!                                           6 start of block3, 7 its end
//! ```
//!
//! A write in block1 makes node 3 a source. Its frontier is the edges that leave the subtree of
//! node 3. They lead to block3, whose start becomes a source as well.
//!
//! The order is that of Sreedhar and Gao, "A Linear Time Algorithm for Placing φ-Nodes" (POPL
//! 1995). The deepest source comes first, so a frontier never reaches below finished sources, and
//! no edge is visited for two sources. Their algorithm walks the subtree of a source to find the
//! edges that leave it; here a tree of minima over all edges yields exactly those edges. The search
//! ends as soon as every place that wants the value has a source above it: the remaining sources
//! are higher, and no place would choose one of them.
//!
//! Cost for a variable: its writes, reads and meetings, with the edges to the meetings, times the
//! logarithm of the function's size. Blocks through which the variable is only live cost nothing.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, Cfg, Dominators};

/// The start or the end of a block, by its number in preorder.
pub(super) type Node = u32;

/// The root, the start of the entry: the source of variables without any write.
pub(super) const ROOT: Node = 0;

/// The nodes of a function, and memory that successive searches reuse.
pub(super) struct Meetings<'a> {
    cfg: &'a Cfg,
    /// The blocks in preorder.
    blocks: Vec<Block>,
    places: SecondaryMap<Block, u32>,
    /// By place of a block: the number of blocks above it, and the last node of its subtree.
    depths: Vec<u32>,
    last: Vec<Node>,
    edges: Edges,
    /// By place of a block, the last search that found a meeting there.
    met: Vec<u32>,
    searches: u32,
    /// The subtrees of finished sources, except for those inside another one.
    done: BTreeMap<Node, Node>,
    /// Nodes that want a value and have no finished source above.
    open: BTreeSet<Node>,
    /// Sources by their depth.
    work: BinaryHeap<(u32, Node)>,
    found: Vec<u32>,
}

impl<'a> Meetings<'a> {
    /// The nodes of a function with this graph.
    pub fn new(cfg: &'a Cfg, dominators: &Dominators) -> Meetings<'a> {
        let blocks: Vec<Block> = dominators.preorder().collect();
        let mut places = SecondaryMap::with_default(u32::MAX);
        for (place, &block) in (0..).zip(&blocks) {
            places[block] = place;
        }
        let depths: Vec<u32> = blocks.iter().map(|&block| dominators.depth(block).unwrap_or(0)).collect();
        let mut last: Vec<Node> = (0..blocks.len() as u32).map(|place| 2 * place + 1).collect();
        for place in (1..blocks.len()).rev() {
            if let Some(above) = dominators.immediate(blocks[place]) {
                let above = places[above] as usize;
                last[above] = last[above].max(last[place]);
            }
        }
        let edges = Edges::new(cfg, dominators, &blocks, &places, &depths);
        Meetings {
            cfg,
            places,
            depths,
            last,
            edges,
            met: vec![0; blocks.len()],
            blocks,
            searches: 0,
            done: BTreeMap::new(),
            open: BTreeSet::new(),
            work: BinaryHeap::new(),
            found: Vec::new(),
        }
    }

    /// The start of a block; `None` if the block is unreachable.
    pub fn start(&self, block: Block) -> Option<Node> {
        Some(self.places[block]).filter(|&place| place != u32::MAX).map(|place| 2 * place)
    }

    /// The end of a block; `None` if the block is unreachable.
    pub fn end(&self, block: Block) -> Option<Node> {
        self.start(block).map(|start| start + 1)
    }

    /// The block of a node.
    pub fn block(&self, node: Node) -> Block {
        self.blocks[node as usize / 2]
    }

    /// The predecessors of the block of a node, once for each edge.
    pub fn preds(&self, node: Node) -> &'a [Block] {
        self.cfg.preds(self.block(node))
    }

    /// The last node of a subtree.
    pub fn last(&self, node: Node) -> Node {
        self.last[node as usize / 2]
    }

    /// For a variable that is written in the blocks of these ends, in ascending order, and whose
    /// value is wanted at these nodes: the starts of blocks where values meet. Meetings above all
    /// other sources of every wanted value are left out. A value is also wanted at the end of each
    /// block that leads to a meeting.
    pub fn search(&mut self, written: &[Node], wanted: impl Iterator<Item = Node>) -> Vec<Node> {
        self.searches += 1;
        self.done.clear();
        self.work.clear();
        self.open.clear();
        self.open.extend(wanted);
        let with_depth = |&node: &Node| (2 * self.depths[node as usize / 2] + node % 2, node);
        self.work.extend(written.iter().chain(&[ROOT]).map(with_depth));
        let mut meetings = Vec::new();
        while let Some((_, node)) = self.work.pop() {
            ptxc_interrupt::poll();
            self.finish(node);
            if node != ROOT && node % 2 == 0 {
                meetings.push(node);
                self.want_before(node);
            }
            if self.open.is_empty() {
                break;
            }
        }
        meetings.sort_unstable();
        meetings
    }

    /// Finds the frontier of a source; all sources below it are finished.
    fn finish(&mut self, source: Node) {
        let last = self.last(source);
        while let Some(&node) = self.open.range(source..=last).next() {
            self.open.remove(&node);
        }
        // The edges that a finished source below found include all edges from its subtree, so that
        // subtree is skipped.
        let limit = self.depths[source as usize / 2];
        let mut found = std::mem::take(&mut self.found);
        let mut from = source;
        while let Some((&start, &end)) = self.done.range(source..=last).next() {
            self.done.remove(&start);
            self.edges.leaving(from..start, limit, &mut found);
            from = end + 1;
        }
        self.edges.leaving(from..last + 1, limit, &mut found);
        self.done.insert(source, last);
        for place in found.drain(..) {
            if std::mem::replace(&mut self.met[place as usize], self.searches) != self.searches {
                self.work.push((2 * self.depths[place as usize], 2 * place));
            }
        }
        self.found = found;
    }

    /// Wants the value at the ends of the blocks that lead to a meeting.
    fn want_before(&mut self, meeting: Node) {
        for &from in self.preds(meeting) {
            ptxc_interrupt::poll();
            let Some(end) = self.end(from) else { continue };
            let subtree = self.done.range(..=end).next_back();
            if subtree.is_none_or(|(_, &last)| last < end) {
                self.open.insert(end);
            }
        }
    }
}

/// The edges to blocks that their source does not immediately dominate, by the place of the source.
struct Edges {
    /// The start of each block's edges.
    starts: Vec<u32>,
    /// The places of their targets.
    targets: Vec<u32>,
    /// A complete binary tree in an array: the root is number 1, the children of a number are its
    /// double and the next number, and the leaves are the depths of the targets. Each number holds
    /// the minimum of the leaves below it.
    least: Vec<u32>,
    leaves: usize,
}

/// Up to this number of edges are visited one by one.
const FEW: usize = 8;

impl Edges {
    fn new(
        cfg: &Cfg,
        dominators: &Dominators,
        blocks: &[Block],
        places: &SecondaryMap<Block, u32>,
        depths: &[u32],
    ) -> Edges {
        let (mut starts, mut targets) = (vec![0], Vec::new());
        for &block in blocks {
            ptxc_interrupt::poll();
            let joins = cfg.succs(block).iter().filter(|&&to| dominators.immediate(to) != Some(block));
            targets.extend(joins.map(|&to| places[to]));
            starts.push(targets.len() as u32);
        }
        let leaves = targets.len().next_power_of_two();
        let mut least = vec![u32::MAX; 2 * leaves];
        for (leaf, &target) in least[leaves..].iter_mut().zip(&targets) {
            *leaf = depths[target as usize];
        }
        for number in (1..leaves).rev() {
            least[number] = least[2 * number].min(least[2 * number + 1]);
        }
        Edges { starts, targets, least, leaves }
    }

    /// Adds the targets of the edges from these nodes that are no deeper than the limit.
    fn leaving(&self, nodes: Range<Node>, limit: u32, found: &mut Vec<u32>) {
        if nodes.is_empty() {
            return;
        }
        // Edges start at the ends of blocks.
        let first = self.starts[nodes.start as usize / 2] as usize;
        let last = self.starts[nodes.end as usize / 2] as usize;
        if last - first <= FEW {
            for edge in first..last {
                if self.least[self.leaves + edge] <= limit {
                    found.push(self.targets[edge]);
                }
            }
            return;
        }
        let mut ahead = vec![(1, 0, self.leaves)];
        while let Some((number, begin, end)) = ahead.pop() {
            if end <= first || last <= begin || self.least[number] > limit {
                continue;
            }
            if number >= self.leaves {
                found.push(self.targets[begin]);
                continue;
            }
            let middle = begin.midpoint(end);
            ahead.push((2 * number + 1, middle, end));
            ahead.push((2 * number, begin, middle));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;
    use ptxc_ir::{BlockCall, Function, FunctionKind, InstData, Op, Type};

    use super::*;

    /// A function of `blocks` blocks with branches to these targets, by number; the entry has no
    /// predecessors.
    fn function(blocks: usize, targets: &[(usize, usize)]) -> Function {
        let mut func = Function::new("k", FunctionKind::Entry);
        let all: Vec<Block> = (0..blocks).map(|_| func.add_block()).collect();
        let to = |target: usize| BlockCall::new(all[1 + target % (blocks - 1)], &[]);
        let condition = func.make_inst(InstData::new(Op::Undef, Type::Pred, &[]));
        func.blocks[all[0]].insts.push(condition);
        let condition = func.result(condition);
        for (&block, &(one, other)) in all.iter().zip(targets) {
            let mut branch = InstData::new(Op::Branch { uni: false }, Type::B32, &[condition]);
            branch.targets = vec![to(one), to(other)];
            func.append(block, branch);
        }
        func
    }

    /// The iterated frontier by its definition: blocks that a source does not strictly dominate,
    /// with a predecessor that it dominates.
    fn frontier(cfg: &Cfg, dominators: &Dominators, written: &[Block]) -> BTreeSet<Block> {
        let mut found = BTreeSet::new();
        let mut work = written.to_vec();
        while let Some(source) = work.pop() {
            for &block in cfg.rpo() {
                let leads = cfg.preds(block).iter().any(|&from| dominators.dominates(source, from));
                let is_below = source != block && dominators.dominates(source, block);
                if leads && !is_below && found.insert(block) {
                    work.push(block);
                }
            }
        }
        found
    }

    proptest! {
        /// A search finds a part of the frontier, which includes everything that a wanted value
        /// needs.
        #[test]
        fn finds_the_needed_part_of_the_frontier(
            targets in vec((0usize..64, 0usize..64), 2..24),
            written in btree_set(0usize..24, 0..6),
            wanted in btree_set(0usize..24, 1..6),
        ) {
            let func = function(targets.len(), &targets);
            let cfg = Cfg::compute(&func);
            let dominators = Dominators::compute(&cfg);
            let mut meetings = Meetings::new(&cfg, &dominators);
            let blocks = |set: &BTreeSet<usize>| -> Vec<Block> {
                let known = set.iter().filter_map(|&number| func.layout.get(number).copied());
                known.filter(|&block| cfg.is_reachable(block)).collect()
            };
            let (written, wanted) = (blocks(&written), blocks(&wanted));
            let mut ends: Vec<Node> = written.iter().filter_map(|&block| meetings.end(block)).collect();
            ends.sort_unstable();
            let starts: Vec<Node> = wanted.iter().filter_map(|&block| meetings.start(block)).collect();
            // The search runs twice, because it reuses the memory of the previous one.
            let first = meetings.search(&ends, starts.iter().copied());
            let found = meetings.search(&ends, starts.iter().copied());
            prop_assert_eq!(&first, &found);

            let full = frontier(&cfg, &dominators, &written);
            for &node in &found {
                prop_assert!(full.contains(&meetings.block(node)));
            }
            let is_above = |above: Node, node: Node| above <= node && node <= meetings.last(above);
            let nearest = |sources: &[Node], node: Node| {
                sources.iter().copied().filter(|&source| is_above(source, node)).max().unwrap_or(ROOT)
            };
            let all = full.iter().filter_map(|&block| meetings.start(block)).chain(ends.iter().copied());
            let all: Vec<Node> = all.collect();
            let some: Vec<Node> = found.iter().chain(&ends).copied().collect();
            let mut work = starts;
            let mut seen = BTreeSet::new();
            while let Some(node) = work.pop() {
                let source = nearest(&all, node);
                prop_assert_eq!(source, nearest(&some, node));
                if source != ROOT && source % 2 == 0 && seen.insert(source) {
                    work.extend(meetings.preds(source).iter().filter_map(|&from| meetings.end(from)));
                }
            }
        }
    }
}
