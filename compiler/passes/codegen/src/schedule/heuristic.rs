//! The heuristics, which decide which ready instruction comes next.
//!
//! A [`Heuristic`] sees a [`Region`] (the dependence graph with latencies, register pressure, block
//! frequency), the instructions whose dependences have all issued, and the time. It can make code
//! slow, never wrong: only ready instructions may be picked, the order is checked when it is
//! complete, and control codes come after it.
//!
//! ```
//! use ptxc_codegen::schedule::{Cycle, Heuristic, Node, Region};
//!
//! /// Prefers the node that unlocks the most, then the one that has waited longest.
//! struct MostSuccessors;
//!
//! impl Heuristic for MostSuccessors {
//!     fn name(&self) -> &str {
//!         "most-successors"
//!     }
//!
//!     fn pick(&mut self, region: &Region, ready: &[Node], now: Cycle) -> Node {
//!         let key = |node: Node| (region.successors(node).len(), now - region.ready_at(node));
//!         *ready.iter().max_by_key(|&&node| key(node)).expect("something is ready")
//!     }
//! }
//! ```

use ptxc_sass::RegFile;

use super::random::SplitMix;
use super::region::{Cycle, Node, Region};

/// Chooses the order of a region, one instruction at a time.
pub trait Heuristic {
    /// Its name in messages and reports.
    fn name(&self) -> &str;

    /// Picks the ready node that issues next. `ready` is in source order and not empty; `now` is
    /// the first cycle at which anything can issue.
    fn pick(&mut self, region: &Region, ready: &[Node], now: Cycle) -> Node;
}

/// The names that [`heuristic_by_name`] knows; `random` takes a seed after a colon.
pub const HEURISTICS: &[&str] = &["balanced", "source-order", "critical-path", "pressure", "random:SEED"];

/// The built-in heuristic of that name: one of [`HEURISTICS`].
pub fn heuristic_by_name(name: &str) -> Option<Box<dyn Heuristic + Send>> {
    Some(match name {
        "balanced" => Box::new(Balanced),
        "source-order" => Box::new(SourceOrder),
        "critical-path" => Box::new(CriticalPath),
        "pressure" => Box::new(Pressure),
        _ => Box::new(Random::new(name.strip_prefix("random:")?.parse().ok()?)),
    })
}

/// Keeps the source order.
#[derive(Clone, Copy, Debug)]
pub struct SourceOrder;

impl Heuristic for SourceOrder {
    fn name(&self) -> &str {
        "source-order"
    }

    fn pick(&mut self, _: &Region, ready: &[Node], _: Cycle) -> Node {
        first(ready, |_| ())
    }
}

/// List scheduling by the longest path to the end of the region: among the nodes whose operands are
/// ready, the one with the longest path; else the one whose operands are ready first.
#[derive(Clone, Copy, Debug)]
pub struct CriticalPath;

impl Heuristic for CriticalPath {
    fn name(&self) -> &str {
        "critical-path"
    }

    fn pick(&mut self, region: &Region, ready: &[Node], now: Cycle) -> Node {
        longest(region, ready.iter().copied(), now).unwrap_or_default()
    }
}

/// The node of the longest path among those whose operands are ready first.
fn longest(region: &Region, mut nodes: impl Iterator<Item = Node>, now: Cycle) -> Option<Node> {
    let change = |node| region.pressure_change(node, RegFile::Gpr);
    let mut best = nodes.next()?;
    let (mut least, mut greatest) = (region.ready_at(best).max(now), region.height(best));
    for node in nodes {
        let at = region.ready_at(node).max(now);
        if at > least {
            continue;
        }
        let height = region.height(node);
        // The first of equals in source order wins.
        if at < least || height > greatest || (height == greatest && change(node) < change(best)) {
            (best, least, greatest) = (node, at, height);
        }
    }
    Some(best)
}

/// Keeps few registers in use: the node that frees the most next, in source order among equals.
#[derive(Clone, Copy, Debug)]
pub struct Pressure;

impl Heuristic for Pressure {
    fn name(&self) -> &str {
        "pressure"
    }

    fn pick(&mut self, region: &Region, ready: &[Node], _: Cycle) -> Node {
        first(ready, |node| {
            let change = |file| region.pressure_change(node, file);
            (change(RegFile::Gpr), change(RegFile::Pred), change(RegFile::Ugpr))
        })
    }
}

/// The default: the critical path as long as there are registers; if it would take a file over its
/// limit, the node that frees most registers of that file. So loads go early, but not at the price
/// of occupancy.
///
/// Once few registers are left, a node that takes a register and is not needed soon does not fill a
/// gap either: the registers are kept for loads.
#[derive(Clone, Copy, Debug)]
pub struct Balanced;

/// A node that may issue this many cycles later without making the region longer is not needed
/// soon. The value is most of the latency of a global load.
const PATIENCE: Cycle = 200;

impl Balanced {
    /// Whether more than five eighths of the general registers are in use.
    fn is_filling(region: &Region) -> bool {
        let (used, limit) = (region.pressure(RegFile::Gpr), region.pressure_limit(RegFile::Gpr));
        8 * u64::from(used) >= 5 * u64::from(limit)
    }

    /// The node of the longest path among those that must issue soon or take no register, if there
    /// is any.
    fn needed_soon(region: &Region, ready: &[Node], now: Cycle) -> Option<Node> {
        let end = |node: Node| region.ready_at(node).max(now) + Cycle::from(region.height(node));
        let last = ready.iter().map(|&node| end(node)).max()?;
        let may_go =
            |node: &Node| last - end(*node) <= PATIENCE || region.pressure_change(*node, RegFile::Gpr) <= 0;
        longest(region, ready.iter().copied().filter(may_go), now)
    }
}

impl Heuristic for Balanced {
    fn name(&self) -> &str {
        "balanced"
    }

    fn pick(&mut self, region: &Region, ready: &[Node], now: Cycle) -> Node {
        if let &[only] = ready {
            return only;
        }
        let mut by_path = CriticalPath.pick(region, ready, now);
        if region.pressure_change(by_path, RegFile::Gpr) > 0 && Balanced::is_filling(region) {
            by_path = Balanced::needed_soon(region, ready, now).unwrap_or(by_path);
        }
        let over = RegFile::ALL.into_iter().find(|&file| {
            let change = region.pressure_change(by_path, file);
            let after = i64::from(region.pressure(file)) + i64::from(change);
            change > 0 && after > i64::from(region.pressure_limit(file))
        });
        match over {
            None => by_path,
            Some(file) => first(ready, |node| region.pressure_change(node, file)),
        }
    }
}

/// A random order, the same for the same seed: for tests, and for comparison with other heuristics.
#[derive(Clone, Debug)]
pub struct Random {
    name: String,
    random: SplitMix,
}

impl Random {
    /// The order of that seed.
    pub fn new(seed: u64) -> Random {
        Random { name: format!("random:{seed}"), random: SplitMix::new(seed) }
    }
}

impl Heuristic for Random {
    fn name(&self) -> &str {
        &self.name
    }

    fn pick(&mut self, _: &Region, ready: &[Node], _: Cycle) -> Node {
        ready[self.random.below(ready.len() as u64) as usize]
    }
}

/// The node with the least key; of equals, the first in source order. `ready` is never empty.
pub(super) fn first<K: Ord>(ready: &[Node], key: impl Fn(Node) -> K) -> Node {
    ready.iter().copied().min_by_key(|&node| key(node)).unwrap_or_default()
}
