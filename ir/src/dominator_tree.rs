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
        let pairs: Vec<(u32, u32)> = (0..n as u32)
            .rev()
            .filter(|&v| parent[v as usize] != NONE)
            .map(|v| (parent[v as usize], v))
            .collect();
        let children = Adjacency::new(n, &pairs);
        let (mut first, mut last, mut depth) = (vec![NONE; n], vec![0; n], vec![0; n]);
        let mut preorder = Vec::with_capacity(n);
        let mut stack = vec![root];
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
    let mut vertex = Vec::with_capacity(n);
    let mut spanning_parent = Vec::with_capacity(n);
    let mut stack = vec![(root, 0)];
    while let Some((node, parent)) = stack.pop() {
        if number[node as usize] != NONE {
            continue;
        }
        let this = vertex.len() as u32;
        number[node as usize] = this;
        vertex.push(node);
        spanning_parent.push(parent);
        stack.extend(succs.of(node).iter().map(|&succ| (succ, this)));
    }

    let count = vertex.len();
    let mut forest = Forest::new(count);
    let mut idom = vec![0u32; count];
    // For each node, the nodes whose semidominator it is, as a linked list.
    let (mut bucket, mut next_in_bucket) = (vec![NONE; count], vec![NONE; count]);
    for w in (1..count).rev() {
        for &pred in preds.of(vertex[w]) {
            let pred = number[pred as usize];
            if pred != NONE {
                let best = forest.evaluate(pred);
                forest.semi[w] = forest.semi[w].min(forest.semi[best as usize]);
            }
        }
        let semi = forest.semi[w] as usize;
        next_in_bucket[w] = bucket[semi];
        bucket[semi] = w as u32;
        let parent = spanning_parent[w];
        forest.ancestor[w] = parent;
        let mut v = std::mem::replace(&mut bucket[parent as usize], NONE);
        while v != NONE {
            let best = forest.evaluate(v);
            let earlier = forest.semi[best as usize] < forest.semi[v as usize];
            idom[v as usize] = if earlier { best } else { parent };
            v = next_in_bucket[v as usize];
        }
    }
    let mut parents = vec![NONE; n];
    for w in 1..count {
        if idom[w] != forest.semi[w] {
            idom[w] = idom[idom[w] as usize];
        }
        parents[vertex[w] as usize] = vertex[idom[w] as usize];
    }
    parents
}

/// The forest of the nodes linked so far, with path compression.
struct Forest {
    semi: Vec<u32>,
    ancestor: Vec<u32>,
    /// The node with the least semidominator on the compressed path.
    label: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    fn new(count: usize) -> Forest {
        let identity: Vec<u32> = (0..count as u32).collect();
        Forest { semi: identity.clone(), ancestor: vec![NONE; count], label: identity, path: Vec::new() }
    }

    /// The node with the least semidominator on the path from `node` up to the root of its tree,
    /// root excluded.
    fn evaluate(&mut self, node: u32) -> u32 {
        let mut top = node;
        while self.ancestor[top as usize] != NONE {
            self.path.push(top);
            top = self.ancestor[top as usize];
        }
        // The topmost node below the root keeps its label; each other node compares its label with
        // that of the node above it.
        let mut above = self.path.pop();
        while let Some(below) = self.path.pop() {
            let over = above.unwrap_or(below);
            let (inherited, own) = (self.label[over as usize], self.label[below as usize]);
            if self.semi[inherited as usize] < self.semi[own as usize] {
                self.label[below as usize] = inherited;
            }
            self.ancestor[below as usize] = top;
            above = Some(below);
        }
        self.label[node as usize]
    }
}
