//! The control-flow graph: predecessors, successors and reverse postorder.
//!
//! In: a function whose blocks end with terminators. Out: [`Cfg`], a snapshot that is stale as soon
//! as an edge changes.
//!
//! ```text
//! block0: brif v0, block1, block2      succs(block0) = [block1, block2]
//! block1: jump block2                  preds(block2) = [block0, block1]
//! block2: exit                         rpo() = [block0, block1, block2]
//! ```
//!
//! Adjacency is stored as two flat arrays. A depth-first search with an explicit stack passes over
//! the edges once: linear in blocks and edges.

use cranelift_entity::SecondaryMap;
use petgraph::graph::DiGraph;

use crate::entities::Block;
use crate::function::{BlockCall, Function};

/// A list of nodes for each node, all in one array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Adjacency {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Adjacency {
    /// The lists of `n` nodes from pairs (node, item). Within a list the items keep the order of
    /// the pairs.
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

    /// The reversed adjacency: for each node the nodes whose lists contain it, in ascending order.
    fn reversed(&self) -> Adjacency {
        let n = self.starts.len() - 1;
        let mut starts = vec![0; n + 1];
        for &item in &self.items {
            starts[item as usize] += 1;
        }
        // `starts` first holds the end of each list. The lists are filled from the end, so each
        // inserted node moves `starts` down, and it ends at the start of the list.
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut items = vec![0; self.items.len()];
        for node in (0..n as u32).rev() {
            for &item in self.of(node).iter().rev() {
                let place = &mut starts[item as usize];
                *place -= 1;
                items[*place as usize] = node;
            }
        }
        Adjacency { starts, items }
    }

    pub(crate) fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.items[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

/// The control-flow graph of a function. A block that the entry does not reach has no successors
/// and no place in the order, and is not a predecessor of any block.
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
        let mut index = SecondaryMap::with_default(UNREACHABLE);
        index.resize(func.blocks.len());
        let mut rpo = Vec::with_capacity(func.layout.len());
        // The edges of each block in `rpo`, kept because a second lookup would be slow: they lie
        // far apart in memory.
        let mut edges_of: Vec<&[BlockCall]> = Vec::with_capacity(func.layout.len());
        // A block, its edges, and how many of the edges are left. Any `index` other than
        // `UNREACHABLE` marks a block as visited.
        let mut stack: Vec<(Block, &[BlockCall], usize)> = Vec::new();
        if let Some(&entry) = func.layout.first() {
            index[entry] = 0;
            let edges = func.edges(entry);
            stack.push((entry, edges, edges.len()));
        }
        // Successors are entered in reverse, so that the first successor precedes the others in
        // reverse postorder where the graph leaves a choice.
        while let Some((block, edges, left)) = stack.last_mut() {
            let Some(next) = left.checked_sub(1) else {
                rpo.push(*block);
                edges_of.push(edges);
                stack.pop();
                continue;
            };
            *left = next;
            let target = edges[next].block;
            if index[target] == UNREACHABLE && !skip(*block, target) {
                index[target] = 0;
                let edges = func.edges(target);
                stack.push((target, edges, edges.len()));
            }
        }
        rpo.reverse();
        for (i, &block) in rpo.iter().enumerate() {
            index[block] = i as u32;
        }
        let mut starts = Vec::with_capacity(rpo.len() + 1);
        let mut items = Vec::with_capacity(2 * rpo.len());
        starts.push(0);
        for (&block, edges) in rpo.iter().zip(edges_of.into_iter().rev()) {
            let edges = edges.iter().filter(|edge| !skip(block, edge.block));
            items.extend(edges.map(|edge| index[edge.block]));
            starts.push(items.len() as u32);
        }
        let succs = Adjacency { starts, items };
        let preds = succs.reversed();
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

    /// The reachable blocks; each block precedes its successors, except along retreating edges.
    pub fn rpo(&self) -> &[Block] {
        &self.rpo
    }

    /// A block's place in [`rpo`](Self::rpo).
    pub fn rpo_index(&self, block: Block) -> Option<usize> {
        let index = self.index[block];
        (index != UNREACHABLE).then_some(index as usize)
    }

    /// Whether the entry reaches the block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.index[block] != UNREACHABLE
    }

    /// The graph for the algorithms of petgraph: node `i` is block `rpo()[i]`.
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

    /// The places of the blocks in reverse postorder; `u32::MAX` for unreachable blocks.
    pub(crate) fn places(&self) -> &SecondaryMap<Block, u32> {
        &self.index
    }

    /// Predecessors by place in reverse postorder.
    pub(crate) fn pred_lists(&self) -> &Adjacency {
        &self.preds
    }
}

#[cfg(test)]
mod tests {
    use cranelift_entity::EntityRef;

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
