//! The control-flow graph: predecessors, successors and reverse postorder.
//!
//! In: a function whose blocks end with terminators. Out: [`Cfg`], a snapshot that a change of edges makes
//! stale.
//!
//! ```text
//! block0: brif v0, block1, block2      succs(block0) = [block1, block2]
//! block1: jump block2                  preds(block2) = [block0, block1]
//! block2: exit                         rpo() = [block0, block1, block2]
//! ```
//!
//! Adjacency is stored as two flat arrays. Depth-first search with a stack of its own, one pass over the
//! edges: linear in blocks and edges.

use cranelift_entity::{EntityRef, SecondaryMap};
use petgraph::graph::DiGraph;

use crate::entities::Block;
use crate::function::Function;

/// Lists of nodes, one a node, in one array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Adjacency {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Adjacency {
    /// The lists of `n` nodes from pairs (node, item), which keep their order within a list.
    pub(crate) fn new(n: usize, pairs: &[(u32, u32)]) -> Adjacency {
        let mut starts = vec![0; n + 1];
        for &(node, _) in pairs {
            starts[node as usize + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut items = vec![0; pairs.len()];
        for &(node, item) in pairs {
            let place = &mut next[node as usize];
            items[*place as usize] = item;
            *place += 1;
        }
        Adjacency { starts, items }
    }

    pub(crate) fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.items[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

/// The control-flow graph of a function. Blocks out of reach of the entry have neither successors nor a
/// place in the order, and are nobody's predecessors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    preds: Adjacency,
    succs: Adjacency,
    pred_blocks: Vec<Block>,
    succ_blocks: Vec<Block>,
    rpo: Vec<Block>,
    index: SecondaryMap<Block, u32>,
}

const UNREACHABLE: u32 = u32::MAX;

impl Cfg {
    /// The graph of a function. Terminators must name blocks that exist.
    pub fn compute(func: &Function) -> Cfg {
        Cfg::without(func, |_, _| false)
    }

    /// The graph of a function without the edges for which `skip` holds, from the first block to the second.
    pub fn without(func: &Function, skip: impl Fn(Block, Block) -> bool) -> Cfg {
        let mut postorder = Vec::with_capacity(func.layout.len());
        let mut seen = vec![false; func.blocks.len()];
        let mut stack = Vec::new();
        if let Some(&entry) = func.layout.first() {
            seen[entry.index()] = true;
            stack.push((entry, func.edges(entry).len()));
        }
        // Successors are entered last first, so that the first one comes first in reverse postorder
        // where the graph leaves a choice.
        while let Some((block, left)) = stack.last_mut() {
            let Some(next) = left.checked_sub(1) else {
                postorder.push(*block);
                stack.pop();
                continue;
            };
            *left = next;
            let target = func.edges(*block)[next].block;
            if skip(*block, target) {
                continue;
            }
            if !std::mem::replace(&mut seen[target.index()], true) {
                stack.push((target, func.edges(target).len()));
            }
        }
        postorder.reverse();
        let rpo = postorder;
        let mut index = SecondaryMap::with_default(UNREACHABLE);
        for (i, &block) in rpo.iter().enumerate() {
            index[block] = i as u32;
        }
        let mut forward = Vec::with_capacity(2 * rpo.len());
        for (place, &block) in (0..).zip(&rpo) {
            let successors = func.successors(block).filter(|&target| !skip(block, target));
            forward.extend(successors.map(|target| (place, index[target])));
        }
        let backward: Vec<_> = forward.iter().map(|&(from, to)| (to, from)).collect();
        let succs = Adjacency::new(rpo.len(), &forward);
        let preds = Adjacency::new(rpo.len(), &backward);
        let name = |list: &Adjacency| list.items.iter().map(|&i| rpo[i as usize]).collect();
        Cfg { pred_blocks: name(&preds), succ_blocks: name(&succs), preds, succs, rpo, index }
    }

    /// The blocks that end in an edge to `block`, once for each edge.
    pub fn preds(&self, block: Block) -> &[Block] {
        Self::list(&self.preds, &self.pred_blocks, self.index[block])
    }

    /// The targets of the edges out of `block`, in the order of its terminator, with repetition.
    pub fn succs(&self, block: Block) -> &[Block] {
        Self::list(&self.succs, &self.succ_blocks, self.index[block])
    }

    fn list<'a>(lists: &Adjacency, blocks: &'a [Block], node: u32) -> &'a [Block] {
        if node == UNREACHABLE {
            return &[];
        }
        &blocks[lists.starts[node as usize] as usize..lists.starts[node as usize + 1] as usize]
    }

    /// The reachable blocks, each one before its successors but for retreating edges.
    pub fn rpo(&self) -> &[Block] {
        &self.rpo
    }

    /// A block's place in [`rpo`](Self::rpo).
    pub fn rpo_index(&self, block: Block) -> Option<usize> {
        let index = self.index[block];
        (index != UNREACHABLE).then_some(index as usize)
    }

    /// Whether a path leads from the entry to the block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.index[block] != UNREACHABLE
    }

    /// The graph for the algorithms of petgraph: node `i` is the block `rpo()[i]`.
    pub fn to_petgraph(&self) -> DiGraph<Block, ()> {
        let mut graph = DiGraph::with_capacity(self.rpo.len(), self.succs.items.len());
        let nodes: Vec<_> = self.rpo.iter().map(|&block| graph.add_node(block)).collect();
        for &block in &self.rpo {
            for &target in self.succs(block) {
                graph.add_edge(nodes[self.index[block] as usize], nodes[self.index[target] as usize], ());
            }
        }
        graph
    }

    /// Successors by place in reverse postorder.
    pub(crate) fn succ_lists(&self) -> &Adjacency {
        &self.succs
    }

    /// Predecessors by place in reverse postorder.
    pub(crate) fn pred_lists(&self) -> &Adjacency {
        &self.preds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_function;

    #[test]
    fn repeated_edges_and_unreachable_blocks() {
        let func = parse_function(
            "func @f device {\nblock0:\n v0 = undef.b32\n switch v0, block1, block2, block1\n\
             block1:\n jump block2\nblock2:\n ret\nblock3:\n jump block2\n}\n",
        )
        .unwrap();
        let cfg = Cfg::compute(&func);
        let [b0, b1, b2, b3] = [0, 1, 2, 3].map(Block::new);
        assert_eq!(cfg.rpo(), [b0, b1, b2]);
        assert_eq!(cfg.succs(b0), [b1, b2, b1]);
        assert_eq!(cfg.preds(b1), [b0, b0]);
        assert_eq!(cfg.preds(b2), [b0, b1]);
        assert!(!cfg.is_reachable(b3) && cfg.succs(b3).is_empty());
    }
}
