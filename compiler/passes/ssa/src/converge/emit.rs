//! Opens, closes and leaves the regions.
//!
//! `bssy` is at the end of the anchor. All edges to the join go through one new block with `bsync`.
//! Every other edge out of a region goes through a block with `break`, unless it leads to a block
//! where threads only end.
//!
//! If no barrier is left for a region, it takes the barrier of a region around it and saves that
//! barrier's value. Lanes must not leave either region by `break`, because a `break` would not
//! change the saved value in the register.
//!
//! ```text
//! anchor: …
//!     v7 = bsave b0           // the outer region's lanes; they are still waited for
//!     bssy b0, block9
//!     …
//! block8:
//!     bsync b0
//!     jump block9
//! block9:
//!     brestore b0, v7
//!     jump join
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, BlockCall, ConvergenceBarrier, Function, FunctionKind, Inst, InstData, Op, Type};
use smallvec::SmallVec;

use super::barrier_registers::{KEPT_BARRIERS, convergence_barriers};
use super::region::Region;
use crate::uniformity::is_exit;

/// Regions with a barrier, by number.
type Held = SmallVec<[u32; 4]>;

/// A region with its barrier.
struct Assigned {
    region: Region,
    barrier: ConvergenceBarrier,
    /// Whether a region around it has the same barrier, which this region saves and restores.
    saves: bool,
    /// Whether all its lanes reach the join or exit.
    is_whole: bool,
}

/// Regions with their barriers, outer ones first. Regions that could get no barrier are left out.
pub(super) struct Barriers {
    regions: Vec<Assigned>,
    /// The regions that hold each block, outer ones first.
    holders: SecondaryMap<Block, Held>,
    /// The regions that open at the end of each block, outer ones first.
    opened: SecondaryMap<Block, Held>,
}

impl Barriers {
    /// Assigns barriers to regions.
    pub(super) fn assign(func: &Function, regions: Vec<Region>) -> Barriers {
        let mut barriers =
            Barriers { regions: Vec::new(), holders: SecondaryMap::new(), opened: SecondaryMap::new() };
        for region in regions {
            ptxc_interrupt::poll();
            let is_whole = is_whole(func, &region);
            let Some((barrier, saves)) = barriers.barrier_for(func, &region, is_whole) else { continue };
            let index = barriers.regions.len() as u32;
            region.blocks.iter().for_each(|&block| barriers.holders[block].push(index));
            barriers.opened[region.anchor].push(index);
            barriers.regions.push(Assigned { region, barrier, saves, is_whole });
        }
        barriers
    }

    /// A barrier for a region inside regions with barriers, and whether it is the barrier of one of
    /// them.
    fn barrier_for(
        &self,
        func: &Function,
        region: &Region,
        is_whole: bool,
    ) -> Option<(ConvergenceBarrier, bool)> {
        // A `break` does not remove lanes from the barrier that a callee holds in a register. Later
        // the `bsync` would release them wherever they wait.
        if region.is_saved && !is_whole {
            return None;
        }
        let open = self.open_at_end(region.anchor);
        let ranges = convergence_barriers(func, region.calls);
        let is_open = |number: u8| open.iter().any(|&outer| self.regions[outer as usize].barrier.0 == number);
        let free = |range: &Range<u8>| range.clone().find(|&number| !is_open(number));
        if let Some(number) = ranges.iter().find_map(free) {
            return Some((ConvergenceBarrier(number), false));
        }
        if !is_whole {
            return None;
        }
        // Take the barrier of the outermost region whose barrier no inner region has taken, so the
        // barriers are used in turn. Lanes return to the outer region from the inner one before
        // they leave it, since it contains the join of the inner region.
        let mut passed = 0u16;
        let mut lent = None;
        for &outer in open.iter().rev() {
            let Assigned { region: around, barrier, is_whole, .. } = &self.regions[outer as usize];
            let is_holder = passed >> barrier.0 & 1 == 0;
            passed |= 1 << barrier.0;
            if is_holder
                && *is_whole
                && around.holds(region.join)
                && ranges.iter().any(|range| range.contains(&barrier.0))
            {
                lent = Some(*barrier);
            }
        }
        lent.map(|barrier| (barrier, true))
    }

    /// Whether there are no regions.
    pub(super) fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// The regions that are open at the end of a block, outer ones first.
    fn open_at_end(&self, block: Block) -> Held {
        self.holders[block].iter().chain(&self.opened[block]).copied().collect()
    }

    /// Inserts the regions into the function.
    pub(super) fn emit(&self, func: &mut Function) {
        let mut out = Writer {
            barriers: self,
            meets: BTreeMap::new(),
            breaks: BTreeMap::new(),
            saved: self.regions.iter().map(|assigned| save_for(func, assigned)).collect(),
            resumes: BTreeMap::new(),
            new: SecondaryMap::new(),
        };
        for block in func.layout.clone() {
            ptxc_interrupt::poll();
            out.edges(func, block);
        }
        for block in func.layout.clone() {
            out.open(func, block);
        }
        for (region, &block) in &out.meets {
            let new = &mut out.new[self.regions[*region as usize].region.join];
            new.push(block);
            new.extend(out.resumes.get(region));
        }
        let added = out.meets.len() + out.resumes.len() + out.breaks.len();
        let mut layout = Vec::with_capacity(func.layout.len() + added);
        for block in std::mem::take(&mut func.layout) {
            layout.append(&mut out.new[block]);
            layout.push(block);
        }
        func.layout = layout;
        self.save(func);
    }

    /// Makes a called function preserve the barriers of its callers.
    fn save(&self, func: &mut Function) {
        if func.kind != FunctionKind::Device {
            return;
        }
        let mut kept: Vec<u8> = self.regions.iter().map(|assigned| assigned.barrier.0).collect();
        kept.retain(|number| KEPT_BARRIERS.contains(number));
        kept.sort_unstable();
        kept.dedup();
        let (entry, blocks) = (func.entry(), func.layout.clone());
        let mut front = Vec::new();
        for &number in &kept {
            let barrier = ConvergenceBarrier(number);
            let save = func.make_inst(plain(Op::SaveBarrier(barrier)));
            front.push(save);
            let value = func.result(save);
            for &block in &blocks {
                let returns = func.terminator(block).filter(|&inst| func.insts[inst].op == Op::Return);
                let Some(inst) = returns else { continue };
                let loc = func.insts[inst].loc;
                let data = InstData::new(Op::RestoreBarrier(barrier), Type::B32, &[value]).at(loc);
                let restore = func.make_inst(data);
                let end = func.blocks[block].insts.len() - 1;
                func.blocks[block].insts.insert(end, restore);
            }
        }
        func.blocks[entry].insts.splice(0..0, front);
    }
}

/// The new blocks and instructions for the regions.
struct Writer<'a> {
    barriers: &'a Barriers,
    /// The block with the `bsync` of each region.
    meets: BTreeMap<u32, Block>,
    /// The blocks in which lanes leave regions, keyed by these regions (inner ones first) and the
    /// block that the lanes go on to.
    breaks: BTreeMap<(Held, Block), Block>,
    /// For each region the instruction that saves its barrier, if it takes the barrier of a region
    /// around it.
    saved: Vec<Option<Inst>>,
    /// The block after the `bsync` of such a region, which restores the barrier.
    resumes: BTreeMap<u32, Block>,
    /// The new blocks to insert before each block.
    new: SecondaryMap<Block, Vec<Block>>,
}

impl Writer<'_> {
    /// Redirects the edges out of a block through the blocks that close or leave regions.
    fn edges(&mut self, func: &mut Function, block: Block) {
        let open = self.barriers.open_at_end(block);
        let Some(inst) = func.terminator(block).filter(|_| !open.is_empty()) else { return };
        for at in 0..func.insts[inst].targets.len() {
            let target = func.insts[inst].targets[at].block;
            if is_exit(func, target) {
                continue;
            }
            let (mut left, mut closed) = (Held::new(), None);
            for &number in open.iter().rev() {
                let region = &self.barriers.regions[number as usize].region;
                if region.join == target {
                    closed = Some(number);
                } else if !region.holds(target) {
                    left.push(number);
                }
            }
            let mut to = target;
            if let Some(number) = closed {
                to = self.meet(func, number);
            }
            if !left.is_empty() {
                to = self.leave(func, left, to, target);
            }
            func.insts[inst].targets[at].block = to;
        }
    }

    /// The block with the `bsync` of a region.
    fn meet(&mut self, func: &mut Function, number: u32) -> Block {
        if let Some(&known) = self.meets.get(&number) {
            return known;
        }
        let Assigned { region, barrier, .. } = &self.barriers.regions[number as usize];
        let mut to = region.join;
        if let Some(restore) = self.restore(func, number) {
            to = forward(func, to, [restore], region.join);
            self.resumes.insert(number, to);
        }
        let block = forward(func, to, [plain(Op::Bsync(*barrier))], region.join);
        self.meets.insert(number, block);
        block
    }

    /// A block in which lanes leave regions on their way to `to`, which is `target` or leads to it.
    fn leave(&mut self, func: &mut Function, left: Held, to: Block, target: Block) -> Block {
        if let Some(&known) = self.breaks.get(&(left.clone(), to)) {
            return known;
        }
        let mut ops = Vec::new();
        for &number in &left {
            ops.push(plain(Op::Break(self.barriers.regions[number as usize].barrier)));
            ops.extend(self.restore(func, number));
        }
        let block = forward(func, to, ops, target);
        self.breaks.insert((left, to), block);
        self.new[target].push(block);
        block
    }

    /// Restores the barrier that a region took from a region around it.
    fn restore(&self, func: &Function, number: u32) -> Option<InstData> {
        let save = self.saved[number as usize]?;
        let barrier = self.barriers.regions[number as usize].barrier;
        Some(InstData::new(Op::RestoreBarrier(barrier), Type::B32, &[func.result(save)]))
    }

    /// Opens the regions that begin at the end of a block, outer ones first.
    fn open(&self, func: &mut Function, block: Block) {
        for &number in &self.barriers.opened[block] {
            let Assigned { region, barrier, .. } = &self.barriers.regions[number as usize];
            let continuation = self.resumes.get(&number).copied().unwrap_or(region.join);
            let open = func.make_inst(plain(Op::Bssy { barrier: *barrier, join: continuation }));
            let from_end = if region.around_call { 2 } else { 1 };
            let end = func.blocks[block].insts.len().saturating_sub(from_end);
            func.blocks[block].insts.splice(end..end, self.saved[number as usize].into_iter().chain([open]));
        }
    }
}

/// Whether all lanes of a region reach its join or exit.
fn is_whole(func: &Function, region: &Region) -> bool {
    let stays =
        |edge: &BlockCall| edge.block == region.join || region.holds(edge.block) || is_exit(func, edge.block);
    region.blocks.iter().chain([&region.anchor]).all(|&block| func.edges(block).iter().all(stays))
}

/// The instruction that saves the barrier that a region takes from a region around it, if it does
/// so.
fn save_for(func: &mut Function, assigned: &Assigned) -> Option<Inst> {
    assigned.saves.then(|| func.make_inst(plain(Op::SaveBarrier(assigned.barrier))))
}

/// An operation without arguments.
fn plain(op: Op) -> InstData {
    InstData::new(op, Type::B32, &[])
}

/// A new block with some operations that jumps to `to`. Its parameters are those of `like`.
fn forward(func: &mut Function, to: Block, ops: impl IntoIterator<Item = InstData>, like: Block) -> Block {
    let block = func.blocks.push(Default::default());
    let mut params = Vec::new();
    for param in func.blocks[like].params.clone() {
        let ty = func.ty(param);
        params.push(func.add_block_param(block, ty));
    }
    for op in ops {
        func.append(block, op);
    }
    let mut jump = plain(Op::Jump);
    jump.targets.push(BlockCall::new(to, &params));
    func.append(block, jump);
    block
}
