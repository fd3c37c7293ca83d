//! A region: a straight-line part of a block, as a heuristic sees it.
//!
//! In: the dependence graph that [`build`](super::build) makes of the instructions. During
//! scheduling the region also knows the issue times of nodes, the times when the operands of each
//! node are ready, and the present register pressure.
//!
//! ```text
//! LDG R0, [R2]     node 0: height 364, ready at 0
//! IADD3 R4, R4, 1  node 1: height 4,   ready at 0
//! FADD R5, R0, R4  node 2: height 0,   ready at 360 once node 0 has issued at 0
//! ```
//! A region holds at most [`Region::LIMIT`] instructions, so that visiting every ready node in each
//! step stays linear in the kernel.

use std::sync::OnceLock;

use petgraph::graph::{DiGraph, NodeIndex};
use ptxc_machine::Arch;
use ptxc_sass::{Op, RegFile};
use smallvec::SmallVec;

use super::pressure::{ByFile, Tracker};

/// An instruction of a region; its index is its place in the source order.
pub type Node = NodeIndex<u32>;

/// A time in cycles from the start of the region; signed, so that times can be subtracted.
pub type Cycle = i64;

/// Why one instruction comes after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DepKind {
    /// It reads what the other writes.
    Raw,
    /// It overwrites what the other reads.
    War,
    /// It overwrites what the other writes.
    Waw,
    /// Both touch memory and may not change places.
    Memory,
    /// Both depend on which lanes run together, or on the time.
    Order,
}

impl DepKind {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            DepKind::Raw => "RAW",
            DepKind::War => "WAR",
            DepKind::Waw => "WAW",
            DepKind::Memory => "memory order",
            DepKind::Order => "order",
        }
    }
}

/// An edge of the dependence graph; only the longest of several edges between two nodes is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dep {
    /// The kind of the dependence.
    pub kind: DepKind,
    /// Cycles from issue to issue; an estimate if a scoreboard decides.
    pub latency: u32,
}

/// The facts about a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeData {
    /// The operation.
    pub op: Op,
    /// Cycles from its issue to the end of the region along the longest path.
    pub height: u32,
    /// Cycles from its issue that the code after the region needs: for a branch's guard, a load's
    /// reader.
    pub tail: u32,
}

/// Marks a missing edge.
const NONE: u32 = u32::MAX;

/// An edge, in the list of those that reach its target; the list of those that leave its source is
/// a chain.
#[derive(Clone, Copy, Debug)]
struct Edge {
    source: u32,
    target: u32,
    /// The next older one from the same source.
    older: u32,
    dep: Dep,
}

/// A node with its edges and its state.
#[derive(Clone, Debug)]
struct State {
    data: NodeData,
    /// The range of the edges that reach it.
    incoming: (u32, u32),
    /// The newest edge that leaves it.
    newest: u32,
    /// Nodes on which it depends and which have not issued.
    waiting_for: u32,
    ready_at: Cycle,
    issued_at: Option<Cycle>,
}

/// A straight-line part of a block with its dependence graph.
#[derive(Debug, Default)]
pub struct Region {
    nodes: Vec<State>,
    /// The edges, sorted by target.
    edges: Vec<Edge>,
    pub(super) pressure: Tracker,
    frequency: u64,
    /// The number of registers of each file that may hold values before another one has a price, in
    /// the order of [`RegFile::ALL`].
    pressure_limits: [u32; RegFile::ALL.len()],
    /// The same as a separate graph, built on request.
    graph: OnceLock<DiGraph<NodeData, Dep, u32>>,
}

impl Region {
    /// The greatest number of instructions.
    pub const LIMIT: usize = 1024;

    /// Removes all nodes.
    pub(super) fn clear(&mut self, frequency: u64, arch: Arch, pressure_limit: u32) {
        let Region { nodes, edges, pressure, graph, .. } = self;
        nodes.clear();
        edges.clear();
        pressure.clear();
        graph.take();
        self.frequency = frequency;
        self.pressure_limits = RegFile::ALL.map(|file| {
            let count = u32::from(file.count_on(arch));
            match file {
                RegFile::Gpr => pressure_limit,
                // The remaining registers serve values that pass through the region, and copies
                // between blocks.
                RegFile::Pred | RegFile::Upred => count.saturating_sub(2),
                RegFile::Ugpr => count.saturating_sub(12),
            }
        });
    }

    /// Reserves room for this number of nodes, with a few edges and values each.
    pub(super) fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve(nodes);
        self.edges.reserve(4 * nodes);
        self.pressure.reserve(nodes);
    }

    /// Adds a node. The edges that reach it follow, before the next node.
    pub(super) fn add_node(&mut self, op: Op) {
        let at = self.edges.len() as u32;
        self.nodes.push(State {
            data: NodeData { op, height: 0, tail: 0 },
            incoming: (at, at),
            newest: NONE,
            waiting_for: 0,
            ready_at: 0,
            issued_at: None,
        });
    }

    /// Adds an edge from an earlier node to the last one. Only the longest of several edges between
    /// two nodes is kept.
    pub(super) fn add_edge(&mut self, source: u32, dep: Dep) {
        let Some((target, earlier)) = self.nodes.split_last_mut() else { return };
        let Some(from) = earlier.get_mut(source as usize) else { return };
        let (number, first) = (self.edges.len() as u32, target.incoming.0);
        // If the source has an edge to this node, it is its newest.
        if from.newest != NONE && from.newest >= first {
            let known = &mut self.edges[from.newest as usize].dep;
            let is_longer =
                (dep.latency, std::cmp::Reverse(dep.kind)) > (known.latency, std::cmp::Reverse(known.kind));
            if is_longer {
                *known = dep;
            }
            return;
        }
        let older = std::mem::replace(&mut from.newest, number);
        self.edges.push(Edge { source, target: earlier.len() as u32, older, dep });
    }

    /// Ends the edges that reach the last node.
    pub(super) fn end_node(&mut self) {
        let end = self.edges.len() as u32;
        if let Some(node) = self.nodes.last_mut() {
            node.incoming.1 = end;
        }
        self.pressure.end_node();
    }

    /// Records that the code after the region needs a node `cycles` cycles earlier.
    pub(super) fn add_tail(&mut self, node: u32, cycles: u32) {
        let tail = &mut self.nodes[node as usize].data.tail;
        *tail = (*tail).max(cycles);
    }

    /// Computes the heights; the region is complete.
    pub(super) fn finish(&mut self) {
        for index in (0..self.nodes.len()).rev() {
            let State { data, incoming: (first, end), .. } = &mut self.nodes[index];
            data.height = data.height.max(data.tail);
            let height = data.height;
            for edge in &self.edges[*first as usize..*end as usize] {
                let source = &mut self.nodes[edge.source as usize].data;
                source.height = source.height.max(edge.dep.latency + height);
            }
        }
    }

    /// Starts with nothing issued and `live` registers of each file that hold a needed value.
    pub(super) fn start(&mut self, live: ByFile) {
        for node in &mut self.nodes {
            node.waiting_for = node.incoming.1 - node.incoming.0;
            (node.ready_at, node.issued_at) = (0, None);
        }
        self.pressure.start(live);
    }

    /// The dependence graph; its node indices are places in the source order, so that every edge
    /// goes from a lower to a higher one.
    pub fn graph(&self) -> &DiGraph<NodeData, Dep, u32> {
        self.graph.get_or_init(|| {
            let mut graph = DiGraph::with_capacity(self.nodes.len(), self.edges.len());
            self.nodes.iter().for_each(|node| {
                graph.add_node(node.data);
            });
            for target in 0..self.nodes.len() {
                for (source, dep) in self.predecessors(Node::new(target)).into_iter().rev() {
                    graph.add_edge(source, Node::new(target), dep);
                }
            }
            graph
        })
    }

    /// The number of instructions.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no instructions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The operation of a node.
    #[inline]
    pub fn op(&self, node: Node) -> Op {
        self.nodes[node.index()].data.op
    }

    /// Cycles from the issue of a node to the end of the region along the longest path.
    #[inline]
    pub fn height(&self, node: Node) -> u32 {
        self.nodes[node.index()].data.height
    }

    /// The nodes that depend on a node, with the edges, the last one first.
    pub fn successors(&self, node: Node) -> SmallVec<[(Node, Dep); 8]> {
        self.outgoing(node).map(|edge| (Node::from(edge.target), edge.dep)).collect()
    }

    /// The nodes on which a node depends, with the edges, the last one first.
    pub fn predecessors(&self, node: Node) -> SmallVec<[(Node, Dep); 8]> {
        let edges = self.incoming(node).iter();
        let mut found: SmallVec<_> = edges.map(|edge| (Node::from(edge.source), edge.dep)).collect();
        found.sort_unstable_by_key(|&(source, _)| std::cmp::Reverse(source));
        found
    }

    /// The edges that reach a node, in any order.
    fn incoming(&self, node: Node) -> &[Edge] {
        let (first, end) = self.nodes[node.index()].incoming;
        &self.edges[first as usize..end as usize]
    }

    /// The edges that leave a node, the last target first.
    fn outgoing(&self, node: Node) -> impl Iterator<Item = &Edge> {
        let edge = |number: u32| self.edges.get(number as usize);
        std::iter::successors(edge(self.nodes[node.index()].newest), move |at| edge(at.older))
    }

    /// The cycle at which the operands of a node are ready, as far as the issued nodes tell.
    #[inline]
    pub fn ready_at(&self, node: Node) -> Cycle {
        self.nodes[node.index()].ready_at
    }

    /// The cycle at which a node has issued.
    #[inline]
    pub fn issued_at(&self, node: Node) -> Option<Cycle> {
        self.nodes[node.index()].issued_at
    }

    /// The frequency of the block for one run of the kernel's entry, in units of 1/1024.
    #[inline]
    pub fn frequency(&self) -> u64 {
        self.frequency
    }

    /// The number of registers of a file that now hold a value that is still needed.
    #[inline]
    pub fn pressure(&self, file: RegFile) -> u32 {
        self.pressure.now(file)
    }

    /// The change of the pressure if the node, which has not issued, were next.
    #[inline]
    pub fn pressure_change(&self, node: Node, file: RegFile) -> i32 {
        self.pressure.change(node.index(), file)
    }

    /// The number of registers of a file that may hold values before another one has a price:
    /// occupancy for general registers, spilling for the others.
    #[inline]
    pub fn pressure_limit(&self, file: RegFile) -> u32 {
        self.pressure_limits[file as usize]
    }

    /// The nodes without dependences.
    pub(super) fn roots(&self) -> impl Iterator<Item = Node> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter(|(_, node)| node.waiting_for == 0).map(|(index, _)| Node::new(index))
    }

    /// A node on which this one depends and which has not issued.
    pub(super) fn missing(&self, node: Node) -> Option<(Node, DepKind)> {
        let missing = |edge: &&Edge| self.nodes[edge.source as usize].issued_at.is_none();
        let last = self.incoming(node).iter().filter(missing).max_by_key(|edge| edge.source);
        last.map(|edge| (Node::from(edge.source), edge.dep.kind))
    }

    /// Issues a node; the nodes that become ready are passed to `ready`.
    pub(super) fn issue(&mut self, node: Node, at: Cycle, mut ready: impl FnMut(Node)) {
        let issued = &mut self.nodes[node.index()];
        issued.issued_at = Some(at);
        let mut next = issued.newest;
        self.pressure.issue(node.index());
        while let Some(edge) = self.edges.get(next as usize) {
            let target = &mut self.nodes[edge.target as usize];
            target.ready_at = target.ready_at.max(at + Cycle::from(edge.dep.latency));
            target.waiting_for -= 1;
            if target.waiting_for == 0 {
                ready(Node::from(edge.target));
            }
            next = edge.older;
        }
    }
}
