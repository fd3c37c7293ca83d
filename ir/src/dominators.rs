//! Dominators: `a` dominates `b` if every path from the entry to `b` goes through `a`.
//!
//! In: the control-flow graph. Out: the tree of immediate dominators, with queries in constant time.
//!
//! ```text
//! block0: brif v0, block1, block2      immediate(block1) = block0
//! block1: jump block3                  immediate(block3) = block0, as neither arm is on every path
//! block2: jump block3                  dominates(block0, block3)
//! block3: exit
//! ```
//!
//! Lengauer and Tarjan with path compression, O(edges × log blocks); see the module
//! `dominator_tree` in the source. An unreachable block dominates nothing, and nothing dominates
//! it.

use cranelift_entity::SecondaryMap;

use crate::cfg::{Adjacency, Cfg};
use crate::dominator_tree::Tree;
use crate::entities::Block;

/// The dominator tree of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dominators {
    tree: Tree,
    rpo: Vec<Block>,
    index: SecondaryMap<Block, u32>,
}

const UNREACHABLE: u32 = u32::MAX;

impl Dominators {
    /// The dominators of a function with this graph.
    pub fn compute(cfg: &Cfg) -> Dominators {
        Dominators {
            tree: Tree::dominators(cfg.rpo().len(), 0, cfg.succ_lists(), cfg.pred_lists()),
            rpo: cfg.rpo().to_vec(),
            index: cfg.places().clone(),
        }
    }

    /// The nearest other block that dominates a block; none for the entry and for unreachable
    /// blocks.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        let node = self.node(block)?;
        self.tree.parent(node).map(|parent| self.rpo[parent as usize])
    }

    fn node(&self, block: Block) -> Option<u32> {
        Some(self.index[block]).filter(|&node| node != UNREACHABLE)
    }

    /// Whether `a` dominates `b`; every reachable block dominates itself. Constant time.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        match (self.node(a), self.node(b)) {
            (Some(a), Some(b)) => self.tree.is_ancestor(a, b),
            _ => false,
        }
    }

    /// The deepest block that dominates both; none if one is unreachable. Takes time linear in the
    /// tree's depth.
    pub fn common(&self, a: Block, b: Block) -> Option<Block> {
        let node = self.tree.common_ancestor(self.node(a)?, self.node(b)?);
        Some(self.rpo[node as usize])
    }

    /// The number of blocks that strictly dominate a block.
    pub fn depth(&self, block: Block) -> Option<u32> {
        self.node(block).map(|node| self.tree.depth(node))
    }

    /// The reachable blocks in preorder of the tree: each block follows its immediate dominator,
    /// and the blocks that it dominates follow it contiguously.
    pub fn preorder(&self) -> impl Iterator<Item = Block> + '_ {
        self.tree.preorder().iter().map(|&node| self.rpo[node as usize])
    }
}

/// The immediate dominator of each node of any graph with nodes `0..nodes`, given its edges; `None`
/// for the root and for the nodes that it does not reach. Costs O(edges × log nodes).
///
/// ```
/// use ptxc_ir::dominators::immediate_dominators;
/// let diamond = [(0, 1), (0, 2), (1, 3), (2, 3)];
/// assert_eq!(immediate_dominators(4, 0, &diamond), [None, Some(0), Some(0), Some(0)]);
/// ```
pub fn immediate_dominators(nodes: usize, root: u32, edges: &[(u32, u32)]) -> Vec<Option<u32>> {
    let backwards: Vec<(u32, u32)> = edges.iter().map(|&(from, to)| (to, from)).collect();
    let (succs, preds) = (Adjacency::new(nodes, edges), Adjacency::new(nodes, &backwards));
    let tree = Tree::dominators(nodes, root, &succs, &preds);
    (0..nodes as u32).map(|node| tree.parent(node)).collect()
}

#[cfg(test)]
mod tests {
    use petgraph::algo::dominators::simple_fast;
    use petgraph::graph::NodeIndex;
    use proptest::prelude::*;

    use super::*;
    use crate::random_cfg::{random_function, reaches};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        /// `a` dominates `b` exactly if `b` is unreachable once `a` is removed.
        #[test]
        fn agrees_with_the_definition(func in random_function(14)) {
            let cfg = Cfg::compute(&func);
            let dominators = Dominators::compute(&cfg);
            for &a in cfg.rpo() {
                for &b in cfg.rpo() {
                    let naive = a == b || !reaches(&cfg, func.entry(), b, Some(a));
                    prop_assert_eq!(dominators.dominates(a, b), naive, "{} over {} in\n{}", a, b, func);
                }
            }
        }

        #[test]
        fn agrees_with_petgraph(func in random_function(60)) {
            let cfg = Cfg::compute(&func);
            let dominators = Dominators::compute(&cfg);
            let theirs = simple_fast(&cfg.to_petgraph(), NodeIndex::new(0));
            for (i, &block) in cfg.rpo().iter().enumerate() {
                let expected = theirs.immediate_dominator(NodeIndex::new(i)).map(|node| cfg.rpo()[node.index()]);
                prop_assert_eq!(dominators.immediate(block), expected);
            }
            let order: Vec<Block> = dominators.preorder().collect();
            prop_assert_eq!(order.len(), cfg.rpo().len());
        }
    }
}
