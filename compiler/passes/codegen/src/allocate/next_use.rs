//! The distance to the next use of each general register, at the borders of blocks.
//!
//! In: a function and its liveness. Out: for each block the distances, in instructions, from its
//! start to the nearest use of each register that is live there. The distances from its end follow
//! from the starts of the next blocks. An edge that leaves a loop counts as [`LEAVING`]
//! instructions more, so that a value that the loop does not read is farther away than any that it
//! reads (Braun and Hack, "Register spilling and live-range splitting for SSA-form programs", CC
//! 2009, section 4.1). An edge argument is used where the parameter that receives it is used.
//!
//! ```text
//! mb1: … (10 instructions, the fourth reads %r1)      start: %r1 3, %r2 10 + 100000     (mb2 reads %r2 first)
//!      branch %p, mb1, mb2                            end:   %r1 3, %r2 100000
//! ```
//!
//! Loops are natural loops, found from the innermost header outwards with disjoint sets (Havlak,
//! "Nesting of reducible and irreducible loops", 1997, for the reducible case). The distances are a
//! backward dataflow analysis that goes over the blocks at most [`SWEEPS`] times; stopping early
//! gives worse choices, not wrong ones. Cost: a few times the size of the liveness sets.

use cranelift_entity::SecondaryMap;
use ptxc_sass::RegFile;

use super::live::LiveRanges;
use super::work::{self, Work};
use crate::mir::{Cfg, Edge, EdgeArg, MBlockId, VReg, for_blocks};

/// The distance that leaving a loop adds.
pub(super) const LEAVING: u32 = 100_000;

/// Farther than every use.
pub(super) const NEVER: u32 = u32::MAX;

const SWEEPS: usize = 12;

/// Distances by virtual register, ascending by number.
type Distances = Vec<(u32, u32)>;

/// A virtual register at the start of a block.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub vreg: u32,
    /// The distance of its next use.
    pub far: u32,
    /// The number of live components.
    pub width: u32,
}

/// Distances at the starts of blocks, and the loops.
pub(super) struct NextUses {
    /// The registers that are live at the start of each block, parameters included.
    pub at_start: SecondaryMap<MBlockId, Vec<Start>>,
    /// The header of the innermost loop of each block; a header belongs to its own loop.
    innermost: SecondaryMap<MBlockId, Option<MBlockId>>,
    /// The header of the loop around the loop of a header.
    around: SecondaryMap<MBlockId, Option<MBlockId>>,
    /// The greatest number of general registers that are live at once in the loop of a header.
    pub loop_pressure: SecondaryMap<MBlockId, u32>,
}

/// The distance of a virtual register.
fn distance(list: &[Start], vreg: u32) -> u32 {
    list.binary_search_by_key(&vreg, |start| start.vreg).map_or(NEVER, |at| list[at].far)
}

/// Distances of virtual registers that are asked for in ascending order.
struct Ascending<'a>(&'a [(u32, u32)]);

impl Ascending<'_> {
    /// The distance of a virtual register.
    fn distance(&mut self, vreg: u32) -> u32 {
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
            at_start: for_blocks(&work.mir, Vec::new()),
            innermost: for_blocks(&work.mir, None),
            around: for_blocks(&work.mir, None),
            loop_pressure: for_blocks(&work.mir, 0),
        };
        uses.find_loops(cfg);
        uses.find_pressures(work, live, cfg);
        // The registers that the block itself reads before it defines them.
        let mut first: SecondaryMap<MBlockId, Distances> = SecondaryMap::new();
        for &block in cfg.order() {
            let mut list = Distances::new();
            for (index, inst) in work.mir.blocks[block].insts.iter().enumerate() {
                ptxc_interrupt::poll();
                for (reg, _) in work::uses(inst).into_iter().filter(|(reg, _)| reg.file() == RegFile::Gpr) {
                    list.push((reg.id().as_u32(), index as u32));
                }
            }
            list.sort_unstable();
            list.dedup_by_key(|&mut (vreg, _)| vreg);
            first[block] = list;
            uses.at_start[block] = live_at_start(work, live, block);
        }
        // A block is visited again only if the start of a successor has changed, which happens only
        // in loops.
        let mut is_due = for_blocks(&work.mir, true);
        let mut from_end = Vec::new();
        for _ in 0..SWEEPS {
            let mut changed = false;
            for &block in cfg.order().iter().rev() {
                if std::mem::replace(&mut is_due[block], false)
                    && uses.sweep(work, block, &first[block], &mut from_end)
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

    /// Whether a block is the header of a loop.
    pub fn is_header(&self, block: MBlockId) -> bool {
        self.innermost[block] == Some(block)
    }

    /// Whether an edge leaves the innermost loop of its source. A loop is entered only at its
    /// header.
    fn leaves(&self, block: MBlockId, target: MBlockId) -> bool {
        self.innermost[block].is_some_and(|header| {
            let enters = self.is_header(target) && self.around[target] == Some(header);
            self.innermost[target] != Some(header) && !enters
        })
    }

    /// Lowers the distances, from the end of a block, of the given virtual registers, which ascend.
    pub fn find_at_end(&self, work: &Work<'_>, block: MBlockId, wanted: &mut [(u32, u32)]) {
        let mut lower = |vreg: u32, far: u32| {
            if let Ok(at) = wanted.binary_search_by_key(&vreg, |&(vreg, _)| vreg) {
                wanted[at].1 = wanted[at].1.min(far);
            }
        };
        for edge in work.mir.blocks[block].term.edges() {
            let penalty = self.penalty(block, edge.block);
            let start = &self.at_start[edge.block];
            for_each_arg(work, edge, |arg, param| {
                lower(arg, distance(start, param).saturating_add(penalty));
            });
        }
        for edge in work.mir.blocks[block].term.edges() {
            let penalty = self.penalty(block, edge.block);
            let start = &self.at_start[edge.block];
            for (vreg, far) in wanted.iter_mut() {
                *far = distance(start, *vreg).saturating_add(penalty).min(*far);
            }
        }
    }

    /// The distance that an edge adds.
    fn penalty(&self, block: MBlockId, target: MBlockId) -> u32 {
        if self.leaves(block, target) { LEAVING } else { 0 }
    }

    /// Finds the distances at the start of a block from those at the starts of the next ones;
    /// returns whether any has changed.
    fn sweep(
        &mut self,
        work: &Work<'_>,
        block: MBlockId,
        first: &Distances,
        from_end: &mut Vec<u32>,
    ) -> bool {
        let start = &self.at_start[block];
        from_end.clear();
        from_end.resize(start.len(), NEVER);
        for edge in work.mir.blocks[block].term.edges() {
            let penalty = self.penalty(block, edge.block);
            let next = &self.at_start[edge.block];
            let mut rest = next.as_slice();
            for (far, start) in from_end.iter_mut().zip(start) {
                while let [other, after @ ..] = rest
                    && other.vreg <= start.vreg
                {
                    if other.vreg == start.vreg {
                        *far = other.far.saturating_add(penalty).min(*far);
                    }
                    rest = after;
                }
            }
            for_each_arg(work, edge, |arg, param| {
                if let Ok(at) = start.binary_search_by_key(&arg, |start| start.vreg) {
                    from_end[at] = distance(next, param).saturating_add(penalty).min(from_end[at]);
                }
            });
        }
        let length = work.mir.blocks[block].insts.len() as u32;
        let mut here = Ascending(first);
        let mut changed = false;
        for (start, &from_end) in self.at_start[block].iter_mut().zip(from_end.iter()) {
            let now = match here.distance(start.vreg) {
                NEVER => from_end.saturating_add(length),
                here => here,
            };
            changed |= now != start.far;
            start.far = now;
        }
        changed
    }

    fn find_pressures(&mut self, work: &Work<'_>, live: &LiveRanges<'_>, cfg: &Cfg) {
        for &block in &work.mir.layout {
            if let Some(header) = self.innermost[block] {
                let most = live.most_in(block, RegFile::Gpr);
                self.loop_pressure[header] = self.loop_pressure[header].max(most);
            }
        }
        // An inner header comes after an outer one.
        for &header in cfg.order().iter().rev() {
            if let Some(outer) = self.around[header] {
                self.loop_pressure[outer] = self.loop_pressure[outer].max(self.loop_pressure[header]);
            }
        }
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

/// Calls `visit` with the virtual registers of each general argument of an edge and of the
/// parameter that receives it.
fn for_each_arg(work: &Work<'_>, edge: &Edge<VReg>, mut visit: impl FnMut(u32, u32)) {
    for (param, arg) in work.mir.blocks[edge.block].params.iter().zip(&edge.args) {
        if let EdgeArg::Reg(arg) = arg
            && arg.file() == RegFile::Gpr
        {
            visit(arg.id().as_u32(), param.reg.id().as_u32());
        }
    }
}

/// The virtual registers that are live at the start of a block, its parameters included, ascending.
fn live_at_start(work: &Work<'_>, live: &LiveRanges<'_>, block: MBlockId) -> Vec<Start> {
    let mut list: Vec<Start> = Vec::new();
    let params = work.mir.blocks[block].params.iter().flat_map(|param| live.of((param.reg, param.width)));
    for component in live.live_in(block).chain(params) {
        if live.file(component) == RegFile::Gpr {
            list.push(Start { vreg: live.owner(component) as u32, far: NEVER, width: 1 });
        }
    }
    list.sort_by_key(|start| start.vreg);
    list.dedup_by(|next, last| {
        let same = next.vreg == last.vreg;
        last.width += u32::from(same);
        same
    });
    list
}
