//! The regions: where they begin, where they join, how they nest.

use std::collections::BTreeMap;

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::cfg::Cfg;
use ptxc_ir::loops::Loops;
use ptxc_ir::postdominators::PostDominators;
use ptxc_ir::{Block, Function};

use super::BARRIERS;
use crate::uniformity::{Uniformity, is_exit};

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

/// The regions of a function, outer ones before those inside them.
pub(super) fn find_regions(
    func: &Function,
    uniformity: &Uniformity,
    cfg: &Cfg,
    loops: &Loops,
    postdominators: &PostDominators,
) -> Vec<Region> {
    // By join and anchor, so that branches with the same ones share a region, in a fixed order.
    let mut found: BTreeMap<(usize, usize), (Block, Block)> = BTreeMap::new();
    for &block in cfg.rpo() {
        if !uniformity.is_divergent_branch(block) {
            continue;
        }
        let ways = func.successors(block).filter(|&successor| !is_exit(func, successor)).count();
        let place = postdominators.immediate(block).and_then(|join| place(block, join, cfg, loops, postdominators));
        if let Some((anchor, join)) = place.filter(|&(_, join)| ways > 1 && !is_exit(func, join)) {
            let rank = |block: Block| cfg.rpo_index(block).unwrap_or(usize::MAX);
            found.insert((rank(anchor), rank(join)), (anchor, join));
        }
    }
    let mut regions: Vec<Region> = Vec::new();
    for (anchor, join) in found.into_values() {
        let sources = between(cfg, anchor, join);
        regions.push(Region { anchor, join, sources, depth: 0 });
    }
    nest(regions)
}

/// Where the region of a branch begins and ends; `None` if its threads do not all meet again.
fn place(
    branch: Block,
    join: Block,
    cfg: &Cfg,
    loops: &Loops,
    postdominators: &PostDominators,
) -> Option<(Block, Block)> {
    let (mut anchor, mut join) = (branch, join);
    loop {
        // The outermost loop around the anchor that the join is not in.
        let mut around = loops.innermost(anchor);
        let mut leave = None;
        while let Some(this) = around.filter(|&this| !loops.contains(this, join)) {
            leave = Some(this);
            around = loops.parent(this);
        }
        let Some(this) = leave else { return Some((anchor, join)) };
        anchor = loops.preheader(cfg, this)?;
        if !postdominators.post_dominates(join, anchor) {
            join = postdominators.common(join, anchor)?;
        }
    }
}

/// The anchor and the blocks that it reaches without passing through the join.
fn between(cfg: &Cfg, anchor: Block, join: Block) -> Vec<Block> {
    let mut seen: EntitySet<Block> = EntitySet::new();
    let mut blocks = vec![anchor];
    seen.insert(anchor);
    let mut next = 0;
    while let Some(&block) = blocks.get(next) {
        next += 1;
        for &successor in cfg.succs(block) {
            if successor != join && seen.insert(successor) {
                blocks.push(successor);
            }
        }
    }
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
