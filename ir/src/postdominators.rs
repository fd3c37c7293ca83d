//! Post-dominators: `a` post-dominates `b` if every path from `b` to the end goes through `a`.
//!
//! In: the control-flow graph. Out: the tree of immediate post-dominators. Its root is one virtual
//! exit, which follows every block without successors.
//!
//! ```text
//! block0: brif v0, block1, block2      immediate(block0) = block3
//! block1: jump block3                  immediate(block3) = none: the virtual exit
//! block2: jump block3
//! block3: exit
//! ```
//!
//! A region that never ends has no path to the exit. One of its blocks, the first that the search
//! meets in postorder, gets an edge to the virtual exit, as if the loop could end there. A block
//! from which a thread may enter an endless loop is therefore not post-dominated by blocks on the
//! other path.
//!
//! Lengauer and Tarjan on the reversed graph: O(edges × log blocks), queries in constant time.

use cranelift_entity::SecondaryMap;

use crate::cfg::{Adjacency, Cfg};
use crate::dominator_tree::Tree;
use crate::entities::Block;

/// The post-dominator tree of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostDominators {
    /// Node `i` is `rpo[i]`; the node after the last is the virtual exit.
    tree: Tree,
    rpo: Vec<Block>,
    index: SecondaryMap<Block, u32>,
}

const UNREACHABLE: u32 = u32::MAX;

impl PostDominators {
    /// The post-dominators of a function with this graph.
    pub fn compute(cfg: &Cfg) -> PostDominators {
        let n = cfg.rpo().len();
        let exit = n as u32;
        let mut backward = Vec::with_capacity(2 * n + 1);
        for node in 0..n as u32 {
            backward.extend(cfg.succ_lists().of(node).iter().map(|&succ| (succ, node)));
        }
        let mut reached = vec![false; n];
        let ends = (0..n as u32).filter(|&node| cfg.succ_lists().of(node).is_empty());
        // Real ends first; then, in postorder, each block that still reaches no end.
        for end in ends.chain((0..n as u32).rev()) {
            if reached[end as usize] {
                continue;
            }
            backward.push((exit, end));
            let mut stack = vec![end];
            while let Some(node) = stack.pop() {
                if !std::mem::replace(&mut reached[node as usize], true) {
                    stack.extend(cfg.pred_lists().of(node));
                }
            }
        }
        let forward: Vec<_> = backward.iter().map(|&(to, from)| (from, to)).collect();
        let tree = Tree::dominators(
            n + 1,
            exit,
            &Adjacency::new(n + 1, &backward),
            &Adjacency::new(n + 1, &forward),
        );
        PostDominators { tree, rpo: cfg.rpo().to_vec(), index: cfg.places().clone() }
    }

    fn node(&self, block: Block) -> Option<u32> {
        Some(self.index[block]).filter(|&node| node != UNREACHABLE)
    }

    /// The block of a node; none for the virtual exit.
    fn block(&self, node: u32) -> Option<Block> {
        self.rpo.get(node as usize).copied()
    }

    /// The nearest other block that post-dominates a block; none if that is the virtual exit, and
    /// for unreachable blocks.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        self.tree.parent(self.node(block)?).and_then(|node| self.block(node))
    }

    /// Whether `a` post-dominates `b`; every reachable block post-dominates itself. Constant time.
    pub fn post_dominates(&self, a: Block, b: Block) -> bool {
        match (self.node(a), self.node(b)) {
            (Some(a), Some(b)) => self.tree.is_ancestor(a, b),
            _ => false,
        }
    }

    /// The nearest block that post-dominates both; none if that is the virtual exit, or if one is
    /// unreachable. Takes time linear in the tree's depth.
    pub fn common(&self, a: Block, b: Block) -> Option<Block> {
        self.block(self.tree.common_ancestor(self.node(a)?, self.node(b)?))
    }
}

#[cfg(test)]
mod tests {
    use cranelift_entity::EntityRef;
    use proptest::prelude::*;

    use super::*;
    use crate::random_cfg::{random_function, reaches};
    use crate::text::parse_function;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        /// Where a path to an end exists, `a` post-dominates `b` exactly if removing `a` cuts `b` off
        /// from all ends.
        #[test]
        fn agrees_with_the_definition(func in random_function(14)) {
            let cfg = Cfg::compute(&func);
            let post = PostDominators::compute(&cfg);
            let ends: Vec<Block> = cfg.rpo().iter().copied().filter(|&b| cfg.succs(b).is_empty()).collect();
            let ends_from = |b, without| ends.iter().any(|&end| reaches(&cfg, b, end, without));
            prop_assume!(cfg.rpo().iter().all(|&b| ends_from(b, None)));
            for &a in cfg.rpo() {
                for &b in cfg.rpo() {
                    let naive = a == b || !ends_from(b, Some(a));
                    prop_assert_eq!(post.post_dominates(a, b), naive, "{} over {} in\n{}", a, b, func);
                }
            }
        }

        #[test]
        fn every_block_is_in_the_tree(func in random_function(30)) {
            let cfg = Cfg::compute(&func);
            let post = PostDominators::compute(&cfg);
            for &block in cfg.rpo() {
                prop_assert!(post.tree.contains(post.node(block).unwrap()));
            }
        }
    }

    #[test]
    fn an_endless_loop_does_not_post_dominate() {
        let func = parse_function(
            "func @f device {\nblock0:\n v0 = undef.pred\n brif v0, block1, block2\n\
             block1:\n jump block1\nblock2:\n ret\n}\n",
        )
        .unwrap();
        let post = PostDominators::compute(&Cfg::compute(&func));
        let [b0, b1, b2] = [0, 1, 2].map(Block::new);
        assert!(!post.post_dominates(b2, b0));
        assert_eq!(post.immediate(b0), None);
        assert_eq!(post.immediate(b1), None);
    }
}
