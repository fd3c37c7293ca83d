//! A region: a straight-line part of a block, as a heuristic sees it.
//!
//! In: the dependence graph that [`build`](super::build) makes of the instructions. During scheduling the
//! region also knows what has issued and when, when each node's operands are there, and the register
//! pressure at this point.
//!
//! ```text
//! LDG R0, [R2]     node 0: height 364, ready at 0
//! IADD3 R4, R4, 1  node 1: height 4,   ready at 0
//! FADD R5, R0, R4  node 2: height 0,   ready at 360 once node 0 has issued at 0
//! ```
//! A region holds at most [`Region::LIMIT`] instructions: what costs a look at every ready node in each step
//! stays linear in the kernel.

use crate::interrupt;
use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use ptxc_sass::{Op, RegFile};
use smallvec::SmallVec;

use super::pressure::Tracker;

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
    /// A word for it in messages.
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

/// An edge of the dependence graph; of several between two nodes, the longest is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dep {
    /// Why.
    pub kind: DepKind,
    /// Cycles from issue to issue; an estimate where a scoreboard decides.
    pub latency: u32,
}

/// What is known of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeData {
    /// The operation.
    pub op: Op,
    /// Cycles from its issue to the end of the region along the longest path.
    pub height: u32,
    /// Cycles that what comes after the region needs from it: a branch's guard, a load's reader.
    pub tail: u32,
}

/// A straight-line part of a block with its dependence graph.
#[derive(Debug)]
pub struct Region {
    pub(super) graph: DiGraph<NodeData, Dep, u32>,
    pub(super) pressure: Tracker,
    ready_at: Vec<Cycle>,
    issued_at: Vec<Option<Cycle>>,
    waiting_for: Vec<u32>,
    frequency: u64,
    pressure_limit: u32,
}

impl Region {
    /// The greatest number of instructions.
    pub const LIMIT: usize = 1024;

    /// A region in which nothing has issued.
    pub(super) fn new(
        mut graph: DiGraph<NodeData, Dep, u32>,
        pressure: Tracker,
        frequency: u64,
        pressure_limit: u32,
    ) -> Region {
        for index in (0..graph.node_count()).rev() {
            interrupt::poll();
            let node = Node::new(index);
            let height = graph.edges(node).map(|edge| edge.weight().latency + graph[edge.target()].height);
            graph[node].height = height.max().unwrap_or(0).max(graph[node].tail);
        }
        let count = graph.node_count();
        let waiting_for = graph
            .node_indices()
            .map(|node| graph.edges_directed(node, Direction::Incoming).count() as u32)
            .collect();
        Region {
            graph,
            pressure,
            ready_at: vec![0; count],
            issued_at: vec![None; count],
            waiting_for,
            frequency,
            pressure_limit,
        }
    }

    /// The dependence graph; its node indices are places in the source order, so that every edge goes from a
    /// lower to a higher one.
    pub fn graph(&self) -> &DiGraph<NodeData, Dep, u32> {
        &self.graph
    }

    /// The number of instructions.
    pub fn len(&self) -> usize {
        self.graph.node_count()
    }

    /// Whether there are no instructions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The operation of a node.
    pub fn op(&self, node: Node) -> Op {
        self.graph[node].op
    }

    /// Cycles from the issue of a node to the end of the region along the longest path.
    pub fn height(&self, node: Node) -> u32 {
        self.graph[node].height
    }

    /// The nodes that depend on a node, with the edges.
    pub fn successors(&self, node: Node) -> SmallVec<[(Node, Dep); 8]> {
        self.graph.edges(node).map(|edge| (edge.target(), *edge.weight())).collect()
    }

    /// The nodes on which a node depends, with the edges.
    pub fn predecessors(&self, node: Node) -> SmallVec<[(Node, Dep); 8]> {
        let edges = self.graph.edges_directed(node, Direction::Incoming);
        edges.map(|edge| (edge.source(), *edge.weight())).collect()
    }

    /// The cycle at which the operands of a node are there, as far as what has issued tells.
    pub fn ready_at(&self, node: Node) -> Cycle {
        self.ready_at[node.index()]
    }

    /// The cycle at which a node has issued.
    pub fn issued_at(&self, node: Node) -> Option<Cycle> {
        self.issued_at[node.index()]
    }

    /// How often the block runs for one run of the kernel's entry, in units of 1/1024.
    pub fn frequency(&self) -> u64 {
        self.frequency
    }

    /// Registers of a file that hold a value now which is still needed.
    pub fn pressure(&self, file: RegFile) -> u32 {
        self.pressure.now(file)
    }

    /// By how much the pressure would change if the node were next.
    pub fn pressure_change(&self, node: Node, file: RegFile) -> i32 {
        self.pressure.change(node.index(), file)
    }

    /// The registers of a file that may hold values before another one has a price: occupancy for general
    /// registers, spilling for the others.
    pub fn pressure_limit(&self, file: RegFile) -> u32 {
        match file {
            RegFile::Gpr => self.pressure_limit,
            // What is left serves values that pass through unseen, and copies between blocks.
            RegFile::Pred | RegFile::Upred => u32::from(file.count()) - 2,
            RegFile::Ugpr => u32::from(file.count()) - 12,
        }
    }

    /// The nodes that depend on nothing.
    pub(super) fn roots(&self) -> impl Iterator<Item = Node> {
        self.graph.node_indices().filter(|node| self.waiting_for[node.index()] == 0)
    }

    /// A node on which this one depends and which has not issued.
    pub(super) fn missing(&self, node: Node) -> Option<(Node, DepKind)> {
        let mut edges = self.graph.edges_directed(node, Direction::Incoming);
        edges.find_map(|edge| {
            let missing = self.issued_at[edge.source().index()].is_none();
            missing.then_some((edge.source(), edge.weight().kind))
        })
    }

    /// Issues a node; the nodes that become ready are passed to `ready`.
    pub(super) fn issue(&mut self, node: Node, at: Cycle, mut ready: impl FnMut(Node)) {
        self.issued_at[node.index()] = Some(at);
        self.pressure.issue(node.index());
        for edge in self.graph.edges(node) {
            let target = edge.target().index();
            self.ready_at[target] = self.ready_at[target].max(at + Cycle::from(edge.weight().latency));
            self.waiting_for[target] -= 1;
            if self.waiting_for[target] == 0 {
                ready(edge.target());
            }
        }
    }
}
