//! The forest of natural loops, and the retreating edges that do not form loops.
//!
//! In: the control-flow graph and its dominators. Out: for each header that dominates the source of an
//! edge to it, one loop: all blocks from which that edge can be reached without passing the header.
//!
//! ```text
//! block1: jump block2                   loop0: header block1, depth 1, blocks 1 2 3
//! block2: brif v0, block2, block3       loop1: header block2, depth 2, parent loop0, block 2
//! block3: brif v1, block1, block4
//! ```
//!
//! Headers are visited in the reverse of reverse postorder, so inner loops are found first. A
//! finished loop is stepped over as one node, found by union-find (as in Havlak, "Nesting of
//! Reducible and Irreducible Loops", TOPLAS 1997, for the reducible part). Almost linear in blocks
//! and edges. An edge back to a block that does not dominate its source enters a cycle with several
//! entries: such an edge makes no loop and is listed by [`Loops::irreducible_edges`].

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl};

use crate::cfg::Cfg;
use crate::dominators::Dominators;
use crate::entities::Block;

/// A natural loop. Outer loops have smaller numbers than those inside them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loop(u32);
entity_impl!(Loop, "loop");

#[derive(Clone, Debug, PartialEq, Eq)]
struct LoopData {
    header: Block,
    parent: Option<Loop>,
    depth: u32,
    latches: Vec<Block>,
    /// Places in the preorder of the forest: the loop's own place, and the greatest place of a loop
    /// inside it.
    first: u32,
    last: u32,
}

/// The loops of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loops {
    loops: PrimaryMap<Loop, LoopData>,
    innermost: SecondaryMap<Block, Option<Loop>>,
    /// The blocks of all loops, sorted by their innermost loop's place in the preorder.
    members: Vec<Block>,
    /// Where the blocks of each place start in `members`.
    starts: Vec<u32>,
    irreducible: Vec<(Block, Block)>,
}

impl Loops {
    /// The loops of a function with this graph and these dominators.
    pub fn compute(cfg: &Cfg, dominators: &Dominators) -> Loops {
        let mut irreducible = Vec::new();
        let mut found: Vec<(Block, Vec<Block>)> = Vec::new();
        for (place, &header) in cfg.rpo().iter().enumerate().rev() {
            let mut latches: Vec<Block> = Vec::new();
            for &pred in cfg.preds(header) {
                if cfg.rpo_index(pred).is_none_or(|index| index < place) {
                    continue;
                }
                if !dominators.dominates(header, pred) {
                    irreducible.push((pred, header));
                } else if latches.last() != Some(&pred) {
                    latches.push(pred);
                }
            }
            if !latches.is_empty() {
                found.push((header, latches));
            }
        }
        irreducible.reverse();

        // Loops in order of discovery, inner ones first, get descending numbers.
        let count = found.len();
        let mut outer: Vec<usize> = (0..count).collect();
        let mut parent: Vec<Option<usize>> = vec![None; count];
        let mut innermost_found: SecondaryMap<Block, Option<usize>> = SecondaryMap::new();
        let mut stack = Vec::new();
        for this in 0..count {
            let (header, latches) = &found[this];
            innermost_found[*header] = innermost_found[*header].or(Some(this));
            stack.extend(latches.iter().filter(|latch| *latch != header));
            while let Some(block) = stack.pop() {
                let entry = match innermost_found[block] {
                    None => {
                        innermost_found[block] = Some(this);
                        block
                    }
                    Some(inner) => {
                        let inner = outermost(&mut outer, inner);
                        if inner == this {
                            continue;
                        }
                        parent[inner] = Some(this);
                        outer[inner] = this;
                        found[inner].0
                    }
                };
                stack.extend(cfg.preds(entry).iter().filter(|pred| *pred != header));
            }
        }

        let number = |discovery: usize| Loop::new(count - 1 - discovery);
        let mut loops: PrimaryMap<Loop, LoopData> = PrimaryMap::with_capacity(count);
        for (discovery, (header, latches)) in found.into_iter().enumerate().rev() {
            let parent = parent[discovery].map(number);
            let depth = 1 + parent.map_or(0, |parent| loops[parent].depth);
            loops.push(LoopData { header, parent, depth, latches, first: 0, last: 0 });
        }
        let preorder = number_preorder(&mut loops);

        let mut innermost = SecondaryMap::new();
        let mut starts = vec![0; count + 1];
        for &block in cfg.rpo() {
            innermost[block] = innermost_found[block].map(number);
            if let Some(this) = innermost[block] {
                starts[loops[this].first as usize + 1] += 1;
            }
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut members = vec![Block::new(0); starts[preorder] as usize];
        for &block in cfg.rpo() {
            if let Some(this) = innermost[block] {
                let place = &mut next[loops[this].first as usize];
                members[*place as usize] = block;
                *place += 1;
            }
        }
        Loops { loops, innermost, members, starts, irreducible }
    }

    /// All loops, outer ones first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Loop> + use<> {
        self.loops.keys()
    }

    /// The innermost loop around a block.
    pub fn innermost(&self, block: Block) -> Option<Loop> {
        self.innermost[block]
    }

    /// The number of loops around a block.
    pub fn depth(&self, block: Block) -> u32 {
        self.innermost[block].map_or(0, |this| self.loops[this].depth)
    }

    /// The block through which every path enters a loop.
    pub fn header(&self, this: Loop) -> Block {
        self.loops[this].header
    }

    /// The loop directly around a loop.
    pub fn parent(&self, this: Loop) -> Option<Loop> {
        self.loops[this].parent
    }

    /// The blocks of a loop with an edge to its header.
    pub fn latches(&self, this: Loop) -> &[Block] {
        &self.loops[this].latches
    }

    /// The blocks of a loop, including those of the loops inside it: its own blocks first, in
    /// reverse postorder.
    pub fn blocks(&self, this: Loop) -> &[Block] {
        let LoopData { first, last, .. } = self.loops[this];
        &self.members[self.starts[first as usize] as usize..self.starts[last as usize + 1] as usize]
    }

    /// Whether a block is in a loop. Constant time.
    pub fn contains(&self, this: Loop, block: Block) -> bool {
        let LoopData { first, last, .. } = self.loops[this];
        self.innermost[block].is_some_and(|inner| (first..=last).contains(&self.loops[inner].first))
    }

    /// The edges from a loop to blocks outside it, as (source, target).
    pub fn exits<'a>(&'a self, cfg: &'a Cfg, this: Loop) -> impl Iterator<Item = (Block, Block)> + 'a {
        self.blocks(this).iter().flat_map(move |&block| {
            let leave = cfg.succs(block).iter().filter(move |&&succ| !self.contains(this, succ));
            leave.map(move |&succ| (block, succ))
        })
    }

    /// The block before a loop: the only block outside the loop that goes to the header, provided
    /// that it goes nowhere else.
    pub fn preheader(&self, cfg: &Cfg, this: Loop) -> Option<Block> {
        let mut outside = cfg.preds(self.header(this)).iter().filter(|&&pred| !self.contains(this, pred));
        let only = *outside.next()?;
        (outside.next().is_none() && cfg.succs(only).len() == 1).then_some(only)
    }

    /// The edges that go back, in reverse postorder, to a block that does not dominate their
    /// source.
    pub fn irreducible_edges(&self) -> &[(Block, Block)] {
        &self.irreducible
    }
}

/// The outermost finished loop around a loop, with path halving.
fn outermost(outer: &mut [usize], mut this: usize) -> usize {
    while outer[this] != this {
        outer[this] = outer[outer[this]];
        this = outer[this];
    }
    this
}

/// Numbers the forest in preorder; returns the number of loops.
fn number_preorder(loops: &mut PrimaryMap<Loop, LoopData>) -> usize {
    let mut sizes: SecondaryMap<Loop, u32> = SecondaryMap::with_default(1);
    for this in loops.keys().rev() {
        if let Some(parent) = loops[this].parent {
            sizes[parent] += sizes[this];
        }
    }
    // Parents precede their children, so each loop can assign places to its children in turn.
    let mut next: SecondaryMap<Loop, u32> = SecondaryMap::new();
    let mut roots = 0;
    for this in loops.keys() {
        let place = match loops[this].parent {
            Some(parent) => &mut next[parent],
            None => &mut roots,
        };
        let first = *place;
        *place += sizes[this];
        next[this] = first + 1;
        loops[this].first = first;
        loops[this].last = first + sizes[this] - 1;
    }
    loops.len()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::random_cfg::random_function;
    use crate::text::parse_function;

    /// The natural loop of a header, straight from the definition.
    fn naive(cfg: &Cfg, dominators: &Dominators, header: Block) -> BTreeSet<Block> {
        let mut members = BTreeSet::from([header]);
        let mut stack: Vec<Block> =
            cfg.preds(header).iter().copied().filter(|&pred| dominators.dominates(header, pred)).collect();
        if stack.is_empty() {
            return BTreeSet::new();
        }
        while let Some(block) = stack.pop() {
            if members.insert(block) {
                stack.extend(cfg.preds(block));
            }
        }
        members
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn agrees_with_the_definition(func in random_function(25)) {
            let cfg = Cfg::compute(&func);
            let dominators = Dominators::compute(&cfg);
            let loops = Loops::compute(&cfg, &dominators);
            let mut headers = 0;
            for &block in cfg.rpo() {
                let expected = naive(&cfg, &dominators, block);
                if expected.is_empty() {
                    prop_assert!(loops.iter().all(|this| loops.header(this) != block));
                    continue;
                }
                headers += 1;
                let this = loops.iter().find(|&this| loops.header(this) == block).unwrap();
                prop_assert_eq!(loops.blocks(this).iter().copied().collect::<BTreeSet<_>>(), expected.clone());
                prop_assert_eq!(loops.blocks(this).len(), expected.len());
                for &other in cfg.rpo() {
                    prop_assert_eq!(loops.contains(this, other), expected.contains(&other));
                }
                let around = loops.iter().filter(|&outer| loops.contains(outer, block)).count();
                prop_assert_eq!(loops.depth(block) as usize, around);
                if let Some(parent) = loops.parent(this) {
                    prop_assert!(parent < this && loops.contains(parent, block));
                }
            }
            prop_assert_eq!(loops.iter().count(), headers);
        }
    }

    #[test]
    fn two_entries_make_no_loop() {
        let func = parse_function(
            "func @f device {\nblock0:\n v0 = undef.pred\n brif v0, block1, block2\n\
             block1:\n jump block2\nblock2:\n brif v0, block1, block3\nblock3:\n ret\n}\n",
        )
        .unwrap();
        let cfg = Cfg::compute(&func);
        let loops = Loops::compute(&cfg, &Dominators::compute(&cfg));
        assert_eq!(loops.iter().count(), 0);
        assert_eq!(loops.irreducible_edges(), [(Block::new(1), Block::new(2))]);
    }

    #[test]
    fn exits_and_preheader() {
        let func = parse_function(
            "func @f device {\nblock0:\n v0 = undef.pred\n jump block1\n\
             block1:\n brif v0, block2, block3\nblock2:\n brif v0, block1, block3\nblock3:\n ret\n}\n",
        )
        .unwrap();
        let cfg = Cfg::compute(&func);
        let loops = Loops::compute(&cfg, &Dominators::compute(&cfg));
        let this = loops.iter().next().unwrap();
        let [b0, b1, b2, b3] = [0, 1, 2, 3].map(Block::new);
        assert_eq!(loops.preheader(&cfg, this), Some(b0));
        assert_eq!(loops.exits(&cfg, this).collect::<Vec<_>>(), [(b1, b3), (b2, b3)]);
    }
}
