//! Opens, closes and leaves the regions.
//!
//! `bssy` stands at the end of the anchor; all ways to the join lead through one new block with `bsync`; every other
//! way out of a region leads through a block with `break`, except where threads only end.

use std::collections::BTreeMap;
use std::ops::Range;

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, BlockCall, ConvergenceBarrier, Function, FunctionKind, InstData, Op, Type};
use smallvec::SmallVec;

use super::region::Region;
use crate::abi;
use crate::interrupt;
use crate::uniformity::is_exit;

/// A region that has a barrier, by its number among them.
type Held = SmallVec<[u32; 4]>;

/// Regions with their barriers, outer ones first. Those for which none is left are gone.
pub(super) struct Barriers {
    regions: Vec<(Region, ConvergenceBarrier)>,
    /// The regions that hold each block, outer ones first.
    holders: SecondaryMap<Block, Held>,
    /// The regions that open at the end of each block, outer ones first.
    opened: SecondaryMap<Block, Held>,
}

impl Barriers {
    /// Gives regions barriers.
    pub(super) fn assign(func: &Function, regions: Vec<Region>) -> Barriers {
        let mut barriers =
            Barriers { regions: Vec::new(), holders: SecondaryMap::new(), opened: SecondaryMap::new() };
        for region in regions {
            interrupt::poll();
            let mut taken = 0u16;
            for &outer in barriers.holders[region.anchor].iter().chain(&barriers.opened[region.anchor]) {
                taken |= 1 << barriers.regions[outer as usize].1.0;
            }
            let free = |range: &Range<u8>| range.clone().find(|&number| taken >> number & 1 == 0);
            let ranges = abi::convergence_barriers(func, region.calls);
            let Some(number) = ranges.iter().find_map(free) else { continue };
            let index = barriers.regions.len() as u32;
            region.blocks.iter().for_each(|&block| barriers.holders[block].push(index));
            barriers.opened[region.anchor].push(index);
            barriers.regions.push((region, ConvergenceBarrier(number)));
        }
        barriers
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// The regions that are open at the end of a block, outer ones first.
    fn open_at_end(&self, block: Block) -> Held {
        self.holders[block].iter().chain(&self.opened[block]).copied().collect()
    }

    /// Writes them into the function.
    pub(super) fn emit(&self, func: &mut Function) {
        let mut out = Writer {
            barriers: self,
            meets: BTreeMap::new(),
            breaks: BTreeMap::new(),
            new: SecondaryMap::new(),
        };
        for block in func.layout.clone() {
            interrupt::poll();
            out.edges(func, block);
        }
        for block in func.layout.clone() {
            out.open(func, block);
        }
        for (&region, &block) in &out.meets {
            out.new[self.regions[region as usize].0.join].push(block);
        }
        let mut layout = Vec::with_capacity(func.layout.len() + out.meets.len() + out.breaks.len());
        for block in std::mem::take(&mut func.layout) {
            layout.append(&mut out.new[block]);
            layout.push(block);
        }
        func.layout = layout;
        self.save(func);
    }

    /// Lets a function that is called keep what its barriers hold for its callers.
    fn save(&self, func: &mut Function) {
        if func.kind != FunctionKind::Device {
            return;
        }
        let mut kept: Vec<u8> = self.regions.iter().map(|(_, barrier)| barrier.0).collect();
        kept.retain(|number| abi::KEPT_BARRIERS.contains(number));
        kept.sort_unstable();
        kept.dedup();
        let (entry, blocks) = (func.entry(), func.layout.clone());
        let mut front = Vec::new();
        for &number in &kept {
            let barrier = ConvergenceBarrier(number);
            let save = func.make_inst(InstData::new(Op::SaveBarrier(barrier), Type::B32, &[]));
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

/// What the regions become.
struct Writer<'a> {
    barriers: &'a Barriers,
    /// The block with the `bsync` of each region.
    meets: BTreeMap<u32, Block>,
    /// The blocks in which lanes leave regions, by these, inner ones first, and by the block that they go on to.
    breaks: BTreeMap<(Held, Block), Block>,
    /// The new blocks to be put in front of each block.
    new: SecondaryMap<Block, Vec<Block>>,
}

impl Writer<'_> {
    /// Leads the ways out of a block through what they close and leave.
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
                let region = &self.barriers.regions[number as usize].0;
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
        let (region, barrier) = &self.barriers.regions[number as usize];
        let block = forward(func, region.join, &[Op::Bsync(*barrier)], region.join);
        self.meets.insert(number, block);
        block
    }

    /// A block in which lanes leave regions on their way to `to`, which is `target` or leads there.
    fn leave(&mut self, func: &mut Function, left: Held, to: Block, target: Block) -> Block {
        if let Some(&known) = self.breaks.get(&(left.clone(), to)) {
            return known;
        }
        let ops: Vec<Op> =
            left.iter().map(|&number| Op::Break(self.barriers.regions[number as usize].1)).collect();
        let block = forward(func, to, &ops, target);
        self.breaks.insert((left, to), block);
        self.new[target].push(block);
        block
    }

    /// Opens the regions that begin at the end of a block, outer ones first.
    fn open(&self, func: &mut Function, block: Block) {
        for &number in &self.barriers.opened[block] {
            let (region, barrier) = &self.barriers.regions[number as usize];
            let open = func.make_inst(InstData::new(Op::Bssy(*barrier, region.join), Type::B32, &[]));
            let from_end = if region.around_call { 2 } else { 1 };
            let end = func.blocks[block].insts.len().saturating_sub(from_end);
            func.blocks[block].insts.insert(end, open);
        }
    }
}

/// A new block with some operations that leads to another one, whose parameters are those of `like`.
fn forward(func: &mut Function, to: Block, ops: &[Op], like: Block) -> Block {
    let block = func.blocks.push(Default::default());
    let mut params = Vec::new();
    for param in func.blocks[like].params.clone() {
        let ty = func.ty(param);
        params.push(func.add_block_param(block, ty));
    }
    for &op in ops {
        func.append(block, InstData::new(op, Type::B32, &[]));
    }
    let mut jump = InstData::new(Op::Jump, Type::B32, &[]);
    jump.targets.push(BlockCall::new(to, &params));
    func.append(block, jump);
    block
}
