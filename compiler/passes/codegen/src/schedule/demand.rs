//! The order in which results demand their operands.
//!
//! In: a region. Out: a rank for each node. Nodes whose results leave the region or go to memory
//! come in source order. Before each come the nodes that it depends on and that no earlier one has
//! demanded, down to those that depend on nothing. So the operands of a load are computed just
//! before it, not those of all loads before the first, and few values wait for others. Of two
//! operands, the one whose own computation keeps more values at once comes first (Sethi and Ullman,
//! "The Generation of Optimal Code for Arithmetic Expressions", 1970). Linear in the edges, apart
//! from sorting the operands of each node.

use ptxc_sass::RegFile;

use super::heuristic::{Heuristic, first};
use super::region::{Cycle, Node, Region};

/// List scheduling in the order of demand.
pub(super) struct Demand {
    ranks: Vec<u32>,
    /// Whether nodes that take no register go first.
    frees_first: bool,
}

impl Demand {
    pub(super) fn new(region: &Region, frees_first: bool) -> Demand {
        let count = region.len();
        let needs = needs(region);
        let mut ranks = vec![u32::MAX; count];
        let mut next = 0;
        // The nodes under way, each with the operands that it still has to demand, the most demanding last.
        let mut open: Vec<(Node, Vec<Node>)> = Vec::new();
        let operands = |node: Node| {
            let mut operands: Vec<Node> = region.predecessors(node).iter().map(|&(from, _)| from).collect();
            operands.sort_unstable_by_key(|from| (needs[from.index()], std::cmp::Reverse(from.index())));
            operands
        };
        let is_last = |node: &Node| region.successors(*node).is_empty();
        for last in (0..count).map(Node::new).filter(is_last) {
            open.push((last, operands(last)));
            while let Some((node, left)) = open.last_mut() {
                match left.pop() {
                    // A rank that is set marks a node that was demanded before.
                    Some(operand) if ranks[operand.index()] == u32::MAX => {
                        open.push((operand, operands(operand)))
                    }
                    Some(_) => {}
                    None => {
                        ranks[node.index()] = next;
                        next += 1;
                        open.pop();
                    }
                }
            }
        }
        Demand { ranks, frees_first }
    }
}

/// For each node, about the number of registers that computing it needs, its own included.
fn needs(region: &Region) -> Vec<u32> {
    let mut needs: Vec<u32> = Vec::with_capacity(region.len());
    // Dependences go forward in source order.
    for node in (0..region.len()).map(Node::new) {
        let mut most = 1;
        let mut operands: Vec<u32> =
            region.predecessors(node).iter().map(|(from, _)| needs[from.index()]).collect();
        operands.sort_unstable_by(|a, b| b.cmp(a));
        for (held, need) in operands.into_iter().enumerate() {
            most = most.max(need.saturating_add(held as u32));
        }
        needs.push(most);
    }
    needs
}

impl Heuristic for Demand {
    fn name(&self) -> &str {
        "demand"
    }

    fn pick(&mut self, region: &Region, ready: &[Node], _: Cycle) -> Node {
        first(ready, |node| {
            let waits = self.frees_first && region.pressure_change(node, RegFile::Gpr) > 0;
            (waits, self.ranks[node.index()])
        })
    }
}
