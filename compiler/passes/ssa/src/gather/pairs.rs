//! Which operations may have to bring lanes together from different places.
//!
//! In: the operations of a function that wait for lanes while part of the warp may be elsewhere.
//! Out: those operations whose lanes may have to wait for lanes at another operation of the same
//! kind.
//!
//! PTX lets a `shfl.sync` wait until all threads of its mask have executed one "with the same
//! qualifiers" and the same mask, wherever it is. So two of them pair if they have the same
//! routine, if their masks may be equal, and if threads may be at one while others are at the
//! other. The last condition fails for two operations with one and the same mask in
//! *control-equivalent* blocks, where a thread executes one as often as the other: then all threads
//! of the mask execute them in turn.
//!
//! ```text
//! block1: v3 = vote.all v1, all           block1: v3 = vote.all v1, all
//!         v4 = vote.all v2, all                   jump block3
//!         jump block3                     block2: v4 = vote.all v2, all          // these two pair
//! block2: jump block3                             jump block3
//! ```
//!
//! A block is equivalent to its immediate dominator if it post-dominates the dominator and both are
//! in the same loops; a chain of such blocks is a class. Linear in the operations and blocks.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::cfg::Cfg;
use ptxc_ir::dominators::Dominators;
use ptxc_ir::loops::Loops;
use ptxc_ir::postdominators::PostDominators;
use ptxc_ir::{Block, Function, Inst};

use super::{Mask, Site};

/// The operations that may have to wait for lanes at another one.
pub(super) fn paired(func: &Function, sites: &[Site]) -> EntitySet<Inst> {
    let classes = equivalent_blocks(func);
    // For each routine the different places, where a place is a class and a mask. Then count the
    // places with each known mask, and those with an unknown mask.
    let mut places: BTreeMap<&str, BTreeSet<(Block, Mask)>> = BTreeMap::new();
    for site in sites {
        places.entry(&site.routine).or_default().insert((classes[site.block], site.mask));
    }
    let mut of_mask: BTreeMap<(&str, Mask), usize> = BTreeMap::new();
    let mut unknown: BTreeMap<&str, usize> = BTreeMap::new();
    for (&routine, places) in &places {
        for &(_, mask) in places {
            match mask {
                Mask::Lanes(_) => *of_mask.entry((routine, mask)).or_default() += 1,
                Mask::Value(_) => *unknown.entry(routine).or_default() += 1,
            }
        }
    }
    let mut found = EntitySet::new();
    for site in sites {
        let routine = site.routine.as_str();
        let others = match site.mask {
            Mask::Lanes(_) => {
                of_mask.get(&(routine, site.mask)).copied().unwrap_or(0) - 1
                    + unknown.get(routine).copied().unwrap_or(0)
            }
            Mask::Value(_) => places[routine].len() - 1,
        };
        if others > 0 {
            found.insert(site.inst);
        }
    }
    found
}

/// For each block the first of the blocks that every thread executes exactly as often.
pub(crate) fn equivalent_blocks(func: &Function) -> SecondaryMap<Block, Block> {
    let cfg = Cfg::compute(func);
    let dominators = Dominators::compute(&cfg);
    let post = PostDominators::compute(&cfg);
    let loops = Loops::compute(&cfg, &dominators);
    let mut class: SecondaryMap<Block, Block> = SecondaryMap::with_default(func.entry());
    for &block in cfg.rpo() {
        let above = dominators.immediate(block).filter(|&above| {
            above != block
                && post.post_dominates(block, above)
                && loops.innermost(block) == loops.innermost(above)
        });
        class[block] = above.map_or(block, |above| class[above]);
    }
    class
}
