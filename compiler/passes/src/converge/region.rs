//! The regions: where they begin, where they join, how they nest.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use cranelift_entity::SecondaryMap;
use ptxc_ir::cfg::Cfg;
use ptxc_ir::dominators::Dominators;
use ptxc_ir::postdominators::PostDominators;
use ptxc_ir::{Block, Function};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::BARRIERS;
use crate::analyses::Analyses;
use crate::interrupt;
use crate::uniformity::{Uniformity, is_exit, live_graph};

/// A region of divergent control flow.
pub(super) struct Region {
    /// The block at whose end the threads are still together.
    pub(super) anchor: Block,
    /// The block at whose start they are together again.
    pub(super) join: Block,
    /// The blocks from which an edge may lead to the join: the anchor and everything in between.
    pub(super) sources: Vec<Block>,
    /// The number of regions around it.
    pub(super) depth: u32,
}

/// What is known of the flow of control.
pub(super) struct Flow<'a> {
    pub(super) uniformity: Uniformity,
    pub(super) cfg: &'a Cfg,
    dominators: &'a Dominators,
    postdominators: PostDominators,
    /// The cycle that was found last, and the join that it does not pass through.
    last_cycle: RefCell<Option<(Block, Rc<Cycle>)>>,
    /// How many edges have been followed in the search for regions.
    work: Cell<u64>,
}

/// To follow so many edges takes about a second. What people and compilers write takes a few steps for each edge; only loops in
/// loops in loops, or jumps into their midst, by the thousand, take more.
const MOST_WORK: u64 = 10_000_000;

impl<'a> Flow<'a> {
    /// Whether the search has followed more edges than is worth it.
    pub(super) fn is_entangled(&self) -> bool {
        self.work.get() > MOST_WORK
    }

    fn followed(&self, edges: usize) {
        self.work.set(self.work.get() + edges as u64);
    }

    /// The cycles that lead through a block and not through `join`, as one, if there are any. All blocks of them have the same, so the
    /// branches of a loop, which mostly have one join, ask once.
    fn cycle_through(&self, block: Block, join: Block) -> Option<Rc<Cycle>> {
        let mut last = self.last_cycle.borrow_mut();
        if let Some((of, cycle)) = &*last
            && *of == join
            && cycle.blocks.contains(&block)
        {
            return Some(cycle.clone());
        }
        let cycle = Rc::new(cycle_through(self, block, join)?);
        *last = Some((join, cycle.clone()));
        Some(cycle)
    }

    /// Analyses a function.
    pub(super) fn analyse(func: &Function, known: &'a Analyses) -> Flow<'a> {
        let postdominators = PostDominators::compute(&live_graph(func));
        Flow {
            uniformity: Uniformity::compute_in(func, known, &postdominators),
            cfg: known.cfg(func),
            dominators: known.dominators(func),
            postdominators,
            last_cycle: RefCell::new(None),
            work: Cell::new(0),
        }
    }
}

/// Where the regions of a function begin and join.
pub(super) struct Places {
    /// By anchor and join, so that branches with the same ones share a region, in a fixed order.
    regions: BTreeMap<(usize, usize), Region>,
    /// By their headers the cycles that regions must begin in front of, and that have no block there of their own yet.
    pub(super) cycles: BTreeMap<Block, Vec<Rc<Cycle>>>,
}

impl Places {
    /// Finds the places of a function.
    pub(super) fn find(func: &Function, flow: &Flow<'_>) -> Places {
        let mut places = Places { regions: BTreeMap::new(), cycles: BTreeMap::new() };
        for_each_place(func, flow, |place| match place {
            Place::At { anchor, join, sources } if !is_exit(func, join) => {
                let rank = |block: Block| flow.cfg.rpo_index(block).unwrap_or(usize::MAX);
                let region = Region { anchor, join, sources, depth: 0 };
                places.regions.insert((rank(anchor), rank(join)), region);
            }
            Place::Front { header, cycle } => {
                let known = places.cycles.entry(header).or_default();
                if known.iter().all(|other| other.blocks.len() != cycle.blocks.len()) {
                    known.push(cycle);
                }
            }
            Place::At { .. } | Place::Nowhere => {}
        });
        places
    }

    /// The regions, outer ones before those inside them.
    pub(super) fn nested_regions(self) -> Vec<Region> {
        nest(self.regions.into_values().collect())
    }
}

/// Finds the places of the divergent branches that may need a region. A branch needs none inside a region
/// with the same join, and gets none inside [`BARRIERS`] others; so a block is in the found regions of at
/// most that many joins, and chains of branches and deep nests cost no more than their size.
fn for_each_place(func: &Function, flow: &Flow<'_>, mut visit: impl FnMut(Place)) {
    let mut joins_around: SecondaryMap<Block, SmallVec<[Block; 4]>> = SecondaryMap::new();
    for &block in flow.cfg.rpo() {
        interrupt::poll();
        if flow.is_entangled() {
            return;
        }
        let ways = func.successors(block).filter(|&successor| !is_exit(func, successor)).count();
        if !flow.uniformity.is_divergent_branch(block) || ways < 2 {
            continue;
        }
        let around = &joins_around[block];
        let known = flow.postdominators.immediate(block).is_some_and(|join| around.contains(&join));
        if known || around.len() >= BARRIERS as usize {
            continue;
        }
        let place = place(block, flow);
        if let Place::At { join, sources, .. } = &place
            && !is_exit(func, *join)
        {
            for &source in sources {
                let around = &mut joins_around[source];
                if !around.contains(join) {
                    around.push(*join);
                }
            }
        }
        visit(place);
    }
}

/// Where the region of a branch begins and ends.
enum Place {
    /// At the end of a block that no cycle leads back to before the join, and through which all control
    /// comes that reaches what is between.
    At {
        /// The block.
        anchor: Block,
        /// The join.
        join: Block,
        /// The anchor and what is between.
        sources: Vec<Block>,
    },
    /// In front of a cycle that has no block of its own in front of it yet.
    Front {
        /// The block through which it is entered.
        header: Block,
        /// The cycle.
        cycle: Rc<Cycle>,
    },
    /// Its threads do not all meet again.
    Nowhere,
}

/// A cycle of control flow: blocks that lead to each other.
pub(super) struct Cycle {
    /// The blocks.
    pub(super) blocks: FxHashSet<Block>,
    /// The edges into it from outside, in the order of their targets.
    entries: Vec<(Block, Block)>,
}

/// Finds the place for the region of a branch.
///
/// A `bssy` inside a cycle that the join is not in would open the barrier again while earlier leavers wait
/// at it. So the region begins in front of all of the cycle, and ends where everything from there on ends.
/// Where control enters behind the beginning, the region begins at the nearest block that dominates both, or
/// ends further down if that is the beginning itself: the join then lies in a loop with several ways in.
/// Each step moves the beginning up the dominator tree or the join down, so this ends.
fn place(branch: Block, flow: &Flow<'_>) -> Place {
    let cfg = flow.cfg;
    let Some(mut join) = flow.postdominators.immediate(branch) else { return Place::Nowhere };
    let mut anchor = branch;
    loop {
        if flow.is_entangled() {
            return Place::Nowhere;
        }
        // The join must be where everything from the beginning on ends.
        if !flow.postdominators.post_dominates(join, anchor) || join == anchor {
            match flow.postdominators.common(join, anchor).filter(|&further| further != anchor) {
                Some(further) => join = further,
                None => return Place::Nowhere,
            }
            continue;
        }
        let Some(cycle) = flow.cycle_through(anchor, join) else {
            let sources = between(flow, anchor, join);
            match entrance(flow, anchor, &sources) {
                Entrance::Anchor => return Place::At { anchor, join, sources },
                Entrance::Above(up) => anchor = up,
                Entrance::Behind => match flow.postdominators.immediate(join) {
                    Some(further) => join = further,
                    None => return Place::Nowhere,
                },
                Entrance::Unknown => return Place::Nowhere,
            }
            continue;
        };
        let inside = |block: Block| cycle.blocks.contains(&block);
        let entries = &cycle.entries;
        let Some(&(front, header)) = entries.first() else { return Place::Nowhere };
        if entries.iter().any(|&(_, target)| target != header) {
            // Several ways in: the region begins where all of them still are one.
            let mut fronts = entries.iter().map(|&(pred, _)| pred);
            let above = fronts.try_fold(front, |up, pred| flow.dominators.common(up, pred));
            match above.filter(|&above| above != anchor && !inside(above)) {
                Some(above) => anchor = above,
                None => return Place::Nowhere,
            }
            continue;
        }
        if !flow.postdominators.post_dominates(join, header) {
            anchor = header;
        } else if entries.len() == 1 && cfg.succs(front).len() == 1 {
            anchor = front;
        } else {
            return Place::Front { header, cycle };
        }
    }
}

/// Where control enters the blocks of a region.
enum Entrance {
    /// At the anchor alone.
    Anchor,
    /// Elsewhere too: the nearest block that dominates the anchor and every edge into their midst.
    Above(Block),
    /// Elsewhere too, but nowhere that the anchor does not dominate: what follows the join leads back into
    /// a loop with several ways in.
    Behind,
    /// From a block without a dominator in common with the anchor.
    Unknown,
}

fn entrance(flow: &Flow<'_>, anchor: Block, sources: &[Block]) -> Entrance {
    let inside: FxHashSet<Block> = sources.iter().copied().collect();
    let mut up = anchor;
    let mut entered = false;
    for &source in sources.iter().filter(|&&source| source != anchor) {
        for &pred in flow.cfg.preds(source).iter().filter(|&&pred| !inside.contains(&pred)) {
            if flow.cfg.is_reachable(pred) {
                entered = true;
                match flow.dominators.common(up, pred) {
                    Some(common) => up = common,
                    None => return Entrance::Unknown,
                }
            }
        }
    }
    match (entered, up == anchor) {
        (false, _) => Entrance::Anchor,
        (true, true) => Entrance::Behind,
        (true, false) => Entrance::Above(up),
    }
}

/// The blocks that lie on a cycle with `block` that does not pass through `join`, if there are any.
fn cycle_through(flow: &Flow<'_>, block: Block, join: Block) -> Option<Cycle> {
    let cfg = flow.cfg;
    let mut reached: FxHashSet<Block> = FxHashSet::default();
    let mut stack: Vec<Block> = cfg.succs(block).to_vec();
    let mut edges = stack.len();
    while let Some(next) = stack.pop() {
        interrupt::poll();
        if next != join && reached.insert(next) {
            stack.extend(cfg.succs(next));
            edges += cfg.succs(next).len();
        }
    }
    flow.followed(edges);
    if !reached.contains(&block) {
        return None;
    }
    let mut blocks: FxHashSet<Block> = FxHashSet::default();
    stack.push(block);
    while let Some(next) = stack.pop() {
        if reached.contains(&next) && blocks.insert(next) {
            stack.extend(cfg.preds(next));
        }
    }
    let mut entries = Vec::new();
    for &member in &blocks {
        interrupt::poll();
        let outside = cfg.preds(member).iter().filter(|pred| !blocks.contains(pred));
        entries.extend(outside.map(|&pred| (pred, member)));
    }
    entries.sort_by_key(|&(_, member)| cfg.rpo_index(member));
    Some(Cycle { blocks, entries })
}

/// The anchor and the blocks that it reaches without passing through the join.
fn between(flow: &Flow<'_>, anchor: Block, join: Block) -> Vec<Block> {
    let mut seen: FxHashSet<Block> = FxHashSet::default();
    let mut blocks = vec![anchor];
    seen.insert(anchor);
    let (mut next, mut edges) = (0, 0);
    while let Some(&block) = blocks.get(next) {
        next += 1;
        let successors = flow.cfg.succs(block);
        edges += successors.len();
        blocks.extend(successors.iter().filter(|&&successor| successor != join && seen.insert(successor)));
    }
    flow.followed(edges);
    blocks
}

/// Orders regions from the outside in, drops those that another one with the same join holds, and numbers
/// the depths; regions too deep for a barrier are dropped.
fn nest(mut regions: Vec<Region>) -> Vec<Region> {
    // A region inside another has fewer blocks. The sort is stable, so the order stays a fixed one.
    regions.sort_by_key(|region| std::cmp::Reverse(region.sources.len()));
    // The kept regions around each block, by index.
    let mut around: SecondaryMap<Block, Vec<u32>> = SecondaryMap::new();
    let mut kept: Vec<Region> = Vec::new();
    for mut region in regions {
        interrupt::poll();
        let outer = &around[region.anchor];
        if outer.iter().any(|&index| kept[index as usize].join == region.join) {
            continue;
        }
        region.depth = outer.len() as u32;
        if region.depth >= BARRIERS {
            continue;
        }
        for &block in &region.sources {
            around[block].push(kept.len() as u32);
        }
        kept.push(region);
    }
    kept
}
