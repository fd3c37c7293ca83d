//! The regions: their joins, where diverged lanes meet again, and their anchors, where they open.
//!
//! In: the control flow, and the divergent branches. Out: the regions that are worth a barrier,
//! outer ones before those inside them.
//!
//! A region has a *join* and an *anchor* that dominates the join. The join is a block where lanes
//! come together: on paths from a divergent branch, from iterations of a loop that lanes leave one
//! by one, or after a call. The region holds the blocks in between: those that lead to the join
//! without passing the anchor again. Lanes may leave it anywhere else, for the join of an outer
//! region, for the next iteration or for a return; on their way they `break` its barrier. So a join
//! need not post-dominate the branch, for example if an arm may leave the loop.
//!
//! ```text
//! while … {                       anchor of the loop's region: before it
//!     if x { y } else { z }       join where the arms meet; an arm that leaves the loop breaks
//! }                               join of the loop's region
//! ```
//!
//! The anchor is the join's immediate dominator, unless that lies inside a loop that the join is
//! outside of: lanes leave a loop in different iterations, and each would open the barrier again.
//! Regions that overlap must nest: the one with the later join begins further out. A region is left
//! out if no lanes reach its join separately, if the code at its join is not worth meeting for, or
//! if [a lane might wait forever](super::progress).

use std::cell::Cell;

use cranelift_entity::SecondaryMap;
use petgraph::algo::kosaraju_scc;
use ptxc_ir::{Block, Cfg, Dominators, Function, Loops, PostDominators};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::progress::Progress;
use crate::analyses::Analyses;
use crate::lanes::is_parting_call;
use crate::uniformity::{Uniformity, is_exit, live_graph};

/// A region of divergent control flow.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// The region opens at the end of this block: after its instructions, or before the call that
    /// ends it.
    pub(super) anchor: Block,
    /// Whether it opens before the call that ends the anchor, and closes after that call.
    pub(super) around_call: bool,
    /// The block at whose start the lanes are together again.
    pub(super) join: Block,
    /// The blocks in between, in a fixed order.
    pub(super) blocks: Vec<Block>,
    /// The same as a set.
    held: FxHashSet<Block>,
    /// Whether a device function is called in it.
    pub(super) calls: bool,
    /// Whether one is called in it that may save the region's barrier.
    pub(super) is_saved: bool,
}

impl Region {
    /// Whether a block lies between the anchor and the join.
    pub(super) fn holds(&self, block: Block) -> bool {
        self.held.contains(&block)
    }

    /// Whether the region is open at the end of a block.
    fn is_open_at_end(&self, block: Block) -> bool {
        block == self.anchor || self.holds(block)
    }
}

/// The analyses of the control flow.
pub(super) struct Flow<'a> {
    pub(super) func: &'a Function,
    pub(super) uniformity: Uniformity,
    pub(super) cfg: &'a Cfg,
    pub(super) dominators: &'a Dominators,
    pub(super) loops: &'a Loops,
    pub(super) postdominators: PostDominators,
    /// The cycles with several entries, which are not loops, by number; 0 for blocks in none.
    tangles: SecondaryMap<Block, u32>,
    /// The number of edges that the search for regions may still follow.
    budget: Cell<usize>,
}

impl<'a> Flow<'a> {
    /// Analyses a function.
    pub(super) fn analyse(func: &'a Function, known: &'a Analyses) -> Flow<'a> {
        let postdominators = PostDominators::compute(&live_graph(func));
        let cfg = known.cfg(func);
        Flow {
            uniformity: Uniformity::compute_in(func, known, &postdominators),
            cfg,
            dominators: known.dominators(func),
            loops: known.loops(func),
            postdominators,
            tangles: tangles(cfg, known.dominators(func), known.loops(func)),
            func,
            // Code from people and compilers takes a few steps for each edge. Beyond the budget
            // regions are left out, which makes the code slower but not wrong.
            budget: Cell::new(64 * cfg.rpo().len() + (1 << 20)),
        }
    }

    /// Whether lanes may diverge at the end of a block, so that they may need to be brought
    /// together.
    pub(super) fn parts(&self, block: Block) -> bool {
        let ways = || self.cfg.succs(block).iter().filter(|&&way| !is_exit(self.func, way)).count();
        self.ends_in_call(block) || self.uniformity.is_divergent_branch(block) && ways() > 1
    }

    /// Whether a block ends in a call from which lanes may return one by one.
    pub(super) fn ends_in_call(&self, block: Block) -> bool {
        let insts = &self.func.blocks[block].insts;
        insts.len() > 1 && is_parting_call(self.func, insts[insts.len() - 2])
    }
}

/// The most regions that may hold a block: those with barriers, and some that turn out to need
/// none.
const MOST_AROUND: u32 = 48;

/// The fewest instructions that are worth meeting for at a join that some lanes bypass.
const WORTH_MEETING: usize = 4;

/// Finds the regions of a function, outer ones first.
pub(super) fn regions(flow: &Flow<'_>, progress: &Progress) -> Vec<Region> {
    let mut search = Search { flow, progress, made: FxHashMap::default(), meets: SecondaryMap::new() };
    let mut joins: Vec<(usize, usize, Block)> = Vec::new();
    for (place, &block) in flow.cfg.rpo().iter().enumerate() {
        ptxc_interrupt::poll();
        if let Some(Anchor { block: anchor, .. }) = search.anchor(block) {
            let rank = flow.cfg.rpo_index(anchor).unwrap_or(0);
            joins.push((rank, usize::MAX - place, block));
        }
    }
    // From the outside inwards.
    joins.sort_unstable();
    let mut around: SecondaryMap<Block, u32> = SecondaryMap::new();
    let mut found: Vec<Region> = Vec::new();
    for (.., join) in joins {
        ptxc_interrupt::poll();
        if flow.budget.get() == 0 {
            break;
        }
        let deep = search.anchor(join).is_some_and(|anchor| around[anchor.block] >= MOST_AROUND);
        if deep {
            continue;
        }
        if let Some(region) = search.region(join)
            && search.is_needed(&region)
        {
            region.blocks.iter().for_each(|&block| around[block] += 1);
            found.push(region);
        }
    }
    nest(&search, found)
}

/// The place where a region opens.
#[derive(Clone, Copy)]
struct Anchor {
    block: Block,
    around_call: bool,
}

struct Search<'a, 'b> {
    flow: &'a Flow<'b>,
    progress: &'a Progress,
    /// The regions of the joins that have been visited; `None` if a join can't have one.
    made: FxHashMap<Block, Option<Region>>,
    /// The block where lanes that diverge at the end of a block meet, once it is known.
    meets: SecondaryMap<Block, Option<Option<Block>>>,
}

impl Search<'_, '_> {
    /// The place where the region of a join opens, if lanes may reach the join by several ways or
    /// at several times.
    fn anchor(&self, join: Block) -> Option<Anchor> {
        let flow = self.flow;
        if is_exit(flow.func, join) {
            return None;
        }
        let mut ways = SmallVec::<[Block; 4]>::from_slice(flow.cfg.preds(join));
        if let Some(around) = flow.loops.innermost(join).filter(|&this| flow.loops.header(this) == join) {
            ways.retain(|way| !flow.loops.contains(around, *way));
        }
        if let &[only] = ways.as_slice()
            && flow.ends_in_call(only)
        {
            return Some(Anchor { block: only, around_call: true });
        }
        let leaves = |&way: &Block| {
            flow.loops.innermost(way).is_some_and(|around| !flow.loops.contains(around, join))
                || flow.tangles[way] > 0 && flow.tangles[way] != flow.tangles[join]
        };
        if ways.len() < 2 && !ways.iter().any(leaves) {
            return None;
        }
        let block = self.outside(flow.dominators.immediate(join)?, join)?;
        Some(Anchor { block, around_call: false })
    }

    /// The nearest block at or above `anchor` that is in no loop without the join and does not end
    /// in a call.
    fn outside(&self, anchor: Block, join: Block) -> Option<Block> {
        let (loops, dominators) = (self.flow.loops, self.flow.dominators);
        let mut anchor = anchor;
        let tangles = &self.flow.tangles;
        loop {
            let around = loops.innermost(anchor).filter(|&around| !loops.contains(around, join));
            if tangles[anchor] > 0 && tangles[anchor] != tangles[join] {
                anchor = dominators.immediate(anchor)?;
            } else if let Some(around) = around {
                anchor = dominators.immediate(loops.header(around))?;
            } else {
                break;
            }
        }
        if self.flow.ends_in_call(anchor) {
            // A region that opens after the call opens in the next block.
            anchor = *self.flow.cfg.succs(anchor).first()?;
        }
        (anchor != join).then_some(anchor)
    }

    /// The region of a join, if it can have one.
    fn region(&mut self, join: Block) -> Option<Region> {
        if let Some(made) = self.made.get(&join) {
            return made.clone();
        }
        let region = self.anchor(join).and_then(|anchor| self.region_from(anchor, join));
        self.made.insert(join, region.clone());
        region
    }

    fn region_from(&self, Anchor { block: anchor, around_call }: Anchor, join: Block) -> Option<Region> {
        let flow = self.flow;
        let mut held = FxHashSet::default();
        let mut blocks = Vec::new();
        let mut stack: Vec<Block> = Vec::new();
        let around = flow.loops.innermost(join).filter(|&this| flow.loops.header(this) == join);
        let outside = |way: &Block| around.is_none_or(|around| !flow.loops.contains(around, *way));
        stack.extend(flow.cfg.preds(join).iter().copied().filter(outside));
        while let Some(block) = stack.pop() {
            ptxc_interrupt::poll();
            if block == anchor || !held.insert(block) {
                continue;
            }
            if block == join {
                // A path leads from the join into the region.
                return None;
            }
            blocks.push(block);
            let ways = flow.cfg.preds(block);
            let left = flow.budget.get().saturating_sub(ways.len());
            flow.budget.set(left);
            if left == 0 {
                return None;
            }
            stack.extend(ways);
        }
        let calls = around_call || blocks.iter().any(|&block| calls_device(flow.func, block));
        let saves = |&block: &Block| {
            flow.func.blocks[block].insts.iter().any(|&inst| is_parting_call(flow.func, inst))
        };
        let is_saved = around_call || calls && blocks.iter().any(saves);
        let region = Region { anchor, around_call, join, blocks, held, calls, is_saved };
        let is_wanted = self.is_worth_it(&region) && !self.progress.may_wait_forever(flow, &region);
        is_wanted.then_some(region)
    }

    /// Whether the code at the join is worth a barrier. Lanes that leave a loop, and lanes of a
    /// region that none of them leaves otherwise, always meet. So do lanes at the end of an
    /// iteration, which would otherwise run all further iterations separately.
    fn is_worth_it(&self, region: &Region) -> bool {
        let flow = self.flow;
        let insts = &flow.func.blocks[region.join].insts;
        if insts.len() >= WORTH_MEETING || flow.cfg.succs(region.join).len() != 1 {
            return true;
        }
        if self.is_latch(region.join) {
            return true;
        }
        if region.around_call {
            // Lanes meet soon at another join.
            return self.anchor(flow.cfg.succs(region.join)[0]).is_none();
        }
        let leaves_loop = |&way: &Block| flow.loops.depth(way) > flow.loops.depth(region.join);
        let stays = |block: Block| {
            flow.cfg
                .succs(block)
                .iter()
                .all(|&way| way == region.join || region.holds(way) || is_exit(flow.func, way))
        };
        flow.cfg.preds(region.join).iter().any(leaves_loop)
            || region.blocks.iter().copied().chain([region.anchor]).all(stays)
    }

    /// Whether a block leads only to the header of a loop around it.
    fn is_latch(&self, block: Block) -> bool {
        let loops = self.flow.loops;
        let around = loops.innermost(block);
        around.is_some_and(|around| self.flow.cfg.succs(block) == [loops.header(around)])
    }

    /// Whether lanes may reach the join of a region separately even though regions inside it bring
    /// lanes together.
    fn is_needed(&mut self, region: &Region) -> bool {
        if region.around_call {
            return true;
        }
        let mut inside = region.blocks.iter().copied().chain([region.anchor]);
        inside.any(|block| self.flow.parts(block) && self.meet(block).is_none_or(|meet| !region.holds(meet)))
    }

    /// The first block after a block in which all lanes that diverge at its end meet in a region.
    fn meet(&mut self, block: Block) -> Option<Block> {
        if let Some(known) = self.meets[block] {
            return known;
        }
        let mut next = self.flow.postdominators.immediate(block);
        while let Some(join) = next {
            if self.region(join).is_some_and(|region| region.is_open_at_end(block)) {
                break;
            }
            next = self.flow.postdominators.immediate(join);
        }
        self.meets[block] = Some(next);
        next
    }
}

/// The cycles that remain without the edges back to the headers of loops.
fn tangles(cfg: &Cfg, dominators: &Dominators, loops: &Loops) -> SecondaryMap<Block, u32> {
    let mut tangles = SecondaryMap::new();
    if loops.irreducible_edges().is_empty() {
        return tangles;
    }
    let mut graph = cfg.to_petgraph();
    graph.retain_edges(|graph, edge| {
        graph.edge_endpoints(edge).is_none_or(|(from, to)| !dominators.dominates(graph[to], graph[from]))
    });
    let components = kosaraju_scc(&graph).into_iter().filter(|component| component.len() > 1);
    for (number, component) in components.enumerate() {
        for node in component {
            tangles[graph[node]] = number as u32 + 1;
        }
    }
    tangles
}

/// Whether a block calls a device function.
fn calls_device(func: &Function, block: Block) -> bool {
    func.blocks[block].insts.iter().any(|&inst| super::calls_device(func, inst))
}

/// The relation of two regions if one holds the anchor of the other.
enum Nesting {
    /// Both can stay unchanged.
    Sound,
    /// The inner region must be widened to begin where the outer one does, around it.
    Crossed,
    /// They can't both exist.
    Tangled,
}

/// `inner` opens while `outer` is open.
fn nesting(outer: &Region, inner: &Region) -> Nesting {
    let (holds_inner, holds_outer) = (outer.holds(inner.join), inner.holds(outer.join));
    match (holds_inner, holds_outer) {
        _ if inner.join == outer.join => Nesting::Tangled,
        (true, true) => Nesting::Tangled,
        (false, true) => Nesting::Crossed,
        // The inner region is nested, or lanes of either region break the other one.
        _ => Nesting::Sound,
    }
}

/// Orders regions from the outside inwards, widens regions that cross others, and leaves out
/// regions that can't be combined with others.
fn nest(search: &Search<'_, '_>, mut regions: Vec<Region>) -> Vec<Region> {
    // Each round moves an anchor up the dominator tree; few functions need a second one.
    for _ in 0..8 {
        sort(search, &mut regions);
        let mut moved = false;
        let around = around(&regions);
        for inner in 0..regions.len() {
            ptxc_interrupt::poll();
            let outer = enclosing(&regions, &around, inner);
            let crossed = outer
                .into_iter()
                .find(|&outer| matches!(nesting(&regions[outer], &regions[inner]), Nesting::Crossed));
            let Some(crossed) = crossed.filter(|&outer| regions[outer].anchor != regions[inner].anchor)
            else {
                continue;
            };
            let anchor = regions[crossed].anchor;
            let join = regions[inner].join;
            // A region around a call must begin at the call.
            let wider = if regions[crossed].around_call { None } else { search.outside(anchor, join) };
            if let Some(block) = wider
                && let Some(region) = search.region_from(Anchor { block, around_call: false }, join)
            {
                regions[inner] = region;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    sort(search, &mut regions);
    let mut kept: Vec<Region> = Vec::new();
    let mut holders: SecondaryMap<Block, SmallVec<[u32; 4]>> = SecondaryMap::new();
    for region in regions {
        ptxc_interrupt::poll();
        let mut outer = holders[region.anchor].clone();
        outer
            .extend((0..kept.len() as u32).rev().take_while(|&at| kept[at as usize].anchor == region.anchor));
        let sound =
            outer.iter().all(|&outer| matches!(nesting(&kept[outer as usize], &region), Nesting::Sound));
        if !sound {
            continue;
        }
        region.blocks.iter().for_each(|&block| holders[block].push(kept.len() as u32));
        kept.push(region);
    }
    kept
}

/// Sorts outer regions first: by the place of the anchor, and regions with the same anchor in
/// reverse order of the join.
fn sort(search: &Search<'_, '_>, regions: &mut [Region]) {
    let place = |block: Block| search.flow.cfg.rpo_index(block).unwrap_or(usize::MAX);
    regions.sort_by_key(|region| {
        (place(region.anchor), region.around_call, usize::MAX - place(region.join), region.blocks.len())
    });
}

/// The regions that hold each block.
fn around(regions: &[Region]) -> SecondaryMap<Block, SmallVec<[u32; 4]>> {
    let mut around: SecondaryMap<Block, SmallVec<[u32; 4]>> = SecondaryMap::new();
    for (number, region) in regions.iter().enumerate() {
        region.blocks.iter().for_each(|&block| around[block].push(number as u32));
    }
    around
}

/// The regions that are open at the point where one of them opens.
fn enclosing(
    regions: &[Region],
    around: &SecondaryMap<Block, SmallVec<[u32; 4]>>,
    inner: usize,
) -> Vec<usize> {
    let anchor = regions[inner].anchor;
    let same = (0..inner).rev().take_while(|&outer| regions[outer].anchor == anchor);
    around[anchor].iter().map(|&outer| outer as usize).chain(same).collect()
}
