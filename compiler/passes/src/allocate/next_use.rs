//! How far away the next use of each general register is, at the borders of blocks.
//!
//! In: a function and its liveness. Out: for each block the distances, in instructions, from its start and from
//! its end to the nearest use of what is live there. An edge that leaves a loop counts as [`LEAVING`]
//! instructions more, so that a value that the loop does not read is farther away than any that it reads
//! (Braun and Hack, "Register spilling and live-range splitting for SSA-form programs", CC 2009, section 4.1).
//! An edge argument is used where the parameter that receives it is.
//!
//! ```text
//! mb1: … (10 instructions, the fourth reads %r1)      start: %r1 3, %r2 10 + 100000     (mb2 reads %r2 first)
//!      branch %p, mb1, mb2                            end:   %r1 3, %r2 100000
//! ```
//!
//! Loops are natural loops, found from the innermost header outwards with disjoint sets (Havlak, "Nesting of
//! reducible and irreducible loops", 1997, for the reducible case). The distances are a backward dataflow
//! analysis that goes over the blocks at most [`SWEEPS`] times; stopping early gives worse choices, not wrong
//! ones. Cost: a few times the size of the liveness sets.

use cranelift_entity::SecondaryMap;
use ptxc_sass::RegFile;

use super::live::LiveRanges;
use super::work::{self, Work};
use crate::interrupt;
use crate::mir::{Cfg, EdgeArg, MBlockId};

/// What leaving a loop counts for.
pub(super) const LEAVING: u32 = 100_000;

/// Farther than anything.
pub(super) const NEVER: u32 = u32::MAX;

const SWEEPS: usize = 12;

/// Distances by virtual register, ascending by number.
pub(super) type Distances = Vec<(u32, u32)>;

/// Distances at the borders of blocks, and the loops.
pub(super) struct NextUses {
    pub at_start: SecondaryMap<MBlockId, Distances>,
    pub at_end: SecondaryMap<MBlockId, Distances>,
    /// The header of the innermost loop of each block; a header's own is itself.
    innermost: SecondaryMap<MBlockId, Option<MBlockId>>,
    /// The header of the loop around the loop of a header.
    around: SecondaryMap<MBlockId, Option<MBlockId>>,
}

/// The distance of a virtual register.
pub(super) fn distance(list: &Distances, vreg: u32) -> u32 {
    list.binary_search_by_key(&vreg, |&(vreg, _)| vreg).map_or(NEVER, |at| list[at].1)
}

/// Distances of virtual registers that are asked for in ascending order.
pub(super) struct Ascending<'a>(pub &'a [(u32, u32)]);

impl Ascending<'_> {
    /// The distance of a virtual register.
    pub fn distance(&mut self, vreg: u32) -> u32 {
        while let [(first, far), rest @ ..] = self.0 {
            if *first >= vreg {
                return if *first == vreg { *far } else { NEVER };
            }
            self.0 = rest;
        }
        NEVER
    }
}

impl NextUses {
    pub fn new(work: &Work<'_>, live: &LiveRanges<'_>, cfg: &Cfg) -> NextUses {
        let mut uses = NextUses {
            at_start: SecondaryMap::new(),
            at_end: SecondaryMap::new(),
            innermost: SecondaryMap::new(),
            around: SecondaryMap::new(),
        };
        uses.find_loops(cfg);
        // What the block itself reads, before what it defines.
        let mut first: SecondaryMap<MBlockId, Distances> = SecondaryMap::new();
        for &block in cfg.order() {
            let mut list = Distances::new();
            for (index, inst) in work.mir.blocks[block].insts.iter().enumerate() {
                interrupt::poll();
                for (reg, _) in work::uses(inst).into_iter().filter(|(reg, _)| reg.file() == RegFile::Gpr) {
                    list.push((reg.id().as_u32(), index as u32));
                }
            }
            list.sort_unstable();
            list.dedup_by_key(|&mut (vreg, _)| vreg);
            first[block] = list;
        }
        // A block is looked at again only where the start of one that it leads to has changed. That is so for what is in loops.
        let mut is_due: SecondaryMap<MBlockId, bool> = SecondaryMap::with_default(true);
        for _ in 0..SWEEPS {
            let mut changed = false;
            for &block in cfg.order().iter().rev() {
                if std::mem::replace(&mut is_due[block], false)
                    && uses.sweep(work, live, block, &first[block])
                {
                    changed = true;
                    cfg.preds(block).iter().for_each(|&pred| is_due[pred] = true);
                }
            }
            if !changed {
                break;
            }
        }
        uses
    }

    /// Whether a block is a header whose loop has a block.
    pub fn contains(&self, header: MBlockId, block: MBlockId) -> bool {
        let mut at = self.innermost[block];
        while let Some(other) = at {
            if other == header {
                return true;
            }
            at = self.around[other];
        }
        false
    }

    /// Whether a block is the header of a loop.
    pub fn is_header(&self, block: MBlockId) -> bool {
        self.innermost[block] == Some(block)
    }

    /// The headers of the loops that a block is in, the innermost first.
    pub fn headers(&self, block: MBlockId) -> impl Iterator<Item = MBlockId> {
        std::iter::successors(self.innermost[block], |&header| self.around[header])
    }

    /// Finds the distances at the borders of a block from those at the starts of the next ones; whether its start has
    /// changed.
    fn sweep(&mut self, work: &Work<'_>, live: &LiveRanges<'_>, block: MBlockId, first: &Distances) -> bool {
        let data = &work.mir.blocks[block];
        let length = data.insts.len() as u32;
        let mut behind = Distances::new();
        for edge in data.term.edges() {
            let leaves = self.innermost[block].is_some_and(|header| !self.contains(header, edge.block));
            let penalty = if leaves { LEAVING } else { 0 };
            let start = &self.at_start[edge.block];
            behind.extend(start.iter().map(|&(vreg, far)| (vreg, far.saturating_add(penalty))));
            for (param, arg) in work.mir.blocks[edge.block].params.iter().zip(&edge.args) {
                if let EdgeArg::Reg(arg) = arg
                    && arg.file() == RegFile::Gpr
                {
                    let far = distance(start, param.reg.id().as_u32());
                    behind.push((arg.id().as_u32(), far.saturating_add(penalty)));
                }
            }
        }
        // A stable sort merges lists that are sorted already.
        behind.sort();
        behind.dedup_by_key(|&mut (vreg, _)| vreg);
        let mut ahead = Distances::new();
        let params = data.params.iter().flat_map(|param| live.of((param.reg, param.width)));
        for component in live.live_in(block).chain(params) {
            if live.file(component) == RegFile::Gpr {
                ahead.push((live.owner(component) as u32, NEVER));
            }
        }
        ahead.sort();
        ahead.dedup();
        let (mut here, mut after) = (Ascending(first), Ascending(&behind));
        for (vreg, far) in &mut ahead {
            *far = match here.distance(*vreg) {
                NEVER => after.distance(*vreg).saturating_add(length),
                here => here,
            };
        }
        let changed = self.at_start[block] != ahead;
        self.at_start[block] = ahead;
        self.at_end[block] = behind;
        changed
    }

    fn find_loops(&mut self, cfg: &Cfg) {
        // The header of the outermost loop found so far, in disjoint sets.
        let mut outermost: SecondaryMap<MBlockId, Option<MBlockId>> = SecondaryMap::new();
        let find = |outermost: &mut SecondaryMap<MBlockId, Option<MBlockId>>, block: MBlockId| {
            let mut at = block;
            while let Some(up) = outermost[at] {
                if let Some(next) = outermost[up] {
                    outermost[at] = Some(next);
                }
                at = up;
            }
            at
        };
        for &header in cfg.order().iter().rev() {
            let mut stack: Vec<MBlockId> =
                cfg.preds(header).iter().copied().filter(|&pred| cfg.dominates(header, pred)).collect();
            if !stack.is_empty() {
                self.innermost[header] = Some(header);
            }
            while let Some(block) = stack.pop() {
                let top = find(&mut outermost, block);
                if top == header {
                    continue;
                }
                outermost[top] = Some(header);
                if self.innermost[top] == Some(top) {
                    self.around[top] = Some(header);
                } else {
                    self.innermost[top] = Some(header);
                }
                stack.extend(cfg.preds(top).iter().filter(|&&pred| cfg.dominates(header, pred)));
            }
        }
    }
}
