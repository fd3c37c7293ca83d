//! Trees of immediate dominators over any flow graph, for dominators and post-dominators alike.
//!
//! The algorithm is Lengauer and Tarjan's, "A Fast Algorithm for Finding Dominators in a Flowgraph"
//! (TOPLAS 1979), in the version with simple path compression. It takes O(edges × log nodes) on
//! every graph; the iterative algorithms are quadratic on ladders. There is no recursion. A
//! preorder walk then numbers the tree, so that an ancestor query compares two intervals.

use crate::cfg::Adjacency;

const NONE: u32 = u32::MAX;

/// A tree over nodes `0..n`, without the nodes that the root does not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    /// The parent; [`NONE`] for the root and for nodes outside the tree.
    parent: Vec<u32>,
    /// Place in the preorder; [`NONE`] for nodes outside the tree.
    first: Vec<u32>,
    /// The greatest place in the subtree.
    last: Vec<u32>,
    depth: Vec<u32>,
    preorder: Vec<u32>,
}

impl Tree {
    /// The dominator tree of a graph with `n` nodes.
    pub(crate) fn dominators(n: usize, root: u32, succs: &Adjacency, preds: &Adjacency) -> Tree {
        Tree::from_parents(immediate_dominators(n, root, succs, preds), root)
    }

    fn from_parents(parent: Vec<u32>, root: u32) -> Tree {
        let n = parent.len();
        let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(n);
        let reached = (0..n as u32).rev().filter(|&v| parent[v as usize] != NONE);
        pairs.extend(reached.map(|v| (parent[v as usize], v)));
        let children = Adjacency::new(n, &pairs);
        let (mut first, mut last, mut depth) = (vec![NONE; n], vec![0; n], vec![0; n]);
        let mut preorder = Vec::with_capacity(n);
        let mut stack = Vec::with_capacity(n);
        stack.push(root);
        while let Some(node) = stack.pop() {
            first[node as usize] = preorder.len() as u32;
            last[node as usize] = preorder.len() as u32;
            preorder.push(node);
            for &child in children.of(node) {
                depth[child as usize] = depth[node as usize] + 1;
                stack.push(child);
            }
        }
        for &node in preorder.iter().skip(1).rev() {
            let up = parent[node as usize] as usize;
            last[up] = last[up].max(last[node as usize]);
        }
        Tree { parent, first, last, depth, preorder }
    }

    /// The parent of a node that has one.
    pub(crate) fn parent(&self, node: u32) -> Option<u32> {
        Some(self.parent[node as usize]).filter(|&parent| parent != NONE)
    }

    #[cfg(test)]
    pub(crate) fn contains(&self, node: u32) -> bool {
        self.first[node as usize] != NONE
    }

    /// Whether `above` is `node` or an ancestor of it. False if either node is outside the tree.
    pub(crate) fn is_ancestor(&self, above: u32, node: u32) -> bool {
        let (above, node) = (above as usize, node as usize);
        self.first[above] != NONE
            && self.first[node] != NONE
            && self.first[above] <= self.first[node]
            && self.first[node] <= self.last[above]
    }

    /// The number of ancestors.
    pub(crate) fn depth(&self, node: u32) -> u32 {
        self.depth[node as usize]
    }

    /// Every node of the tree, each parent before its children, and each subtree contiguous.
    pub(crate) fn preorder(&self) -> &[u32] {
        &self.preorder
    }

    /// The deepest node that is an ancestor of both nodes or equal to one of them. Takes time
    /// linear in the depth.
    pub(crate) fn common_ancestor(&self, mut a: u32, b: u32) -> u32 {
        while !self.is_ancestor(a, b) {
            a = self.parent[a as usize];
        }
        a
    }
}

/// Lengauer and Tarjan's algorithm. Inside, nodes are identified by their depth-first numbers.
fn immediate_dominators(n: usize, root: u32, succs: &Adjacency, preds: &Adjacency) -> Vec<u32> {
    let mut number = vec![NONE; n];
    let mut forest = Forest { nodes: Vec::with_capacity(n), path: Vec::new() };
    let mut stack = Vec::with_capacity(n);
    stack.push((root, 0));
    while let Some((node, parent)) = stack.pop() {
        if number[node as usize] != NONE {
            continue;
        }
        let this = forest.nodes.len() as u32;
        number[node as usize] = this;
        forest.nodes.push(Node::new(this, node, parent));
        stack.extend(succs.of(node).iter().map(|&succ| (succ, this)));
    }

    let count = forest.nodes.len();
    for w in (1..count).rev() {
        for &pred in preds.of(forest.nodes[w].vertex) {
            let pred = number[pred as usize];
            if pred != NONE {
                let best = forest.evaluate(pred);
                forest.nodes[w].semi = forest.nodes[w].semi.min(forest.nodes[best as usize].semi);
            }
        }
        let Node { semi, parent, .. } = forest.nodes[w];
        forest.nodes[w].next_in_bucket = forest.nodes[semi as usize].bucket;
        forest.nodes[semi as usize].bucket = w as u32;
        forest.nodes[w].ancestor = parent;
        let mut v = std::mem::replace(&mut forest.nodes[parent as usize].bucket, NONE);
        while v != NONE {
            let best = forest.evaluate(v);
            let earlier = forest.nodes[best as usize].semi < forest.nodes[v as usize].semi;
            forest.nodes[v as usize].idom = if earlier { best } else { parent };
            v = forest.nodes[v as usize].next_in_bucket;
        }
    }
    let mut nodes = forest.nodes;
    let mut parents = number;
    parents.fill(NONE);
    for w in 1..count {
        if nodes[w].idom != nodes[w].semi {
            nodes[w].idom = nodes[nodes[w].idom as usize].idom;
        }
        parents[nodes[w].vertex as usize] = nodes[nodes[w].idom as usize].vertex;
    }
    parents
}

/// A node by its depth-first number.
#[derive(Clone, Copy)]
struct Node {
    /// The node of the graph.
    vertex: u32,
    /// In the depth-first spanning tree.
    parent: u32,
    /// The semidominator.
    semi: u32,
    idom: u32,
    /// The parent in the forest; [`NONE`] for a root.
    ancestor: u32,
    /// The node with the least semidominator on the compressed path.
    label: u32,
    /// The first of the nodes whose semidominator it is, and the next one with the same.
    bucket: u32,
    next_in_bucket: u32,
}

impl Node {
    fn new(number: u32, vertex: u32, parent: u32) -> Node {
        let (semi, label) = (number, number);
        Node { vertex, parent, semi, idom: 0, ancestor: NONE, label, bucket: NONE, next_in_bucket: NONE }
    }
}

/// The forest of the nodes linked so far, with path compression.
struct Forest {
    nodes: Vec<Node>,
    path: Vec<u32>,
}

impl Forest {
    /// The node with the least semidominator on the path from `node` up to the root of its tree,
    /// root excluded.
    fn evaluate(&mut self, node: u32) -> u32 {
        let nodes = &mut self.nodes;
        let mut top = node;
        while nodes[top as usize].ancestor != NONE {
            self.path.push(top);
            top = nodes[top as usize].ancestor;
        }
        // The topmost node below the root keeps its label; each other node compares its label with
        // that of the node above it.
        let mut above = self.path.pop();
        while let Some(below) = self.path.pop() {
            let over = above.unwrap_or(below);
            let (inherited, own) = (nodes[over as usize].label, nodes[below as usize].label);
            if nodes[inherited as usize].semi < nodes[own as usize].semi {
                nodes[below as usize].label = inherited;
            }
            nodes[below as usize].ancestor = top;
            above = Some(below);
        }
        nodes[node as usize].label
    }
}
