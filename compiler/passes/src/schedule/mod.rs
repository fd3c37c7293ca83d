//! Scheduling: the order of instructions within blocks, before and after allocation.
//!
//! In: `Mir<VReg>` ([`pre_ra`]) or [`Code`] ([`post_ra`]), and a [`Heuristic`]. Out: the same with the
//! instructions of each block in the order that the heuristic chose. A block is cut into regions at what
//! nothing may cross (`BSYNC`, `BREAK`, `WARPSYNC`) and after [`Region::LIMIT`] instructions; each region goes
//! through four steps:
//!
//! 1. `build`: the dependence graph, near-linear, with latencies and the register pressure;
//! 2. list scheduling: the heuristic picks among the ready nodes, until none is left;
//! 3. `legal`: the order is checked against the source order by code of its own;
//! 4. the instructions are put into that order.
//!
//! ```text
//! LDG R0, [R2]                       LDG R0, [R2]
//! FADD R4, R0, R5                    LDG R1, [R2+0x4]
//! LDG R1, [R2+0x4]         =>        FADD R4, R0, R5
//! FADD R4, R4, R1                    FADD R4, R4, R1
//! ```
//! Before allocation the limit on the pressure is what the source order needs already, with some room up to
//! the next step of occupancy. Cost: the instructions times the ready nodes of their region.

mod address;
mod build;
mod heuristic;
mod legal;
mod liveness;
mod pressure;
mod region;
mod unit;

pub mod estimate;
pub mod random;

use build::Surroundings;
pub use heuristic::{
    Balanced, CriticalPath, HEURISTICS, Heuristic, Pressure, Random, SourceOrder, heuristic_by_name,
};
pub use legal::{Broken, IllegalOrder};
use ptxc_sass::{Arch, Op, RegFile};
pub use region::{Cycle, Dep, DepKind, Node, NodeData, Region};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
pub use unit::Unit;

use crate::interrupt;
use crate::layout::Code;
use crate::mir::liveness::for_each_term_use;
use crate::mir::{Cfg, EdgeArg, Liveness, MBlockId, MInst, Mir, VReg};

/// Orders the blocks of a function before allocation, for at most `max_regs` general registers.
///
/// Where the heuristic's order of a region needs more than those, the source order or that of [`Pressure`]
/// takes its place if it needs fewer: to spill costs more than any latency.
///
/// # Errors
/// If the heuristic returns an illegal order; the function is then partly reordered.
pub fn pre_ra(
    mir: &mut Mir<VReg>,
    arch: Arch,
    max_regs: u32,
    heuristic: &mut dyn Heuristic,
) -> Result<(), IllegalOrder> {
    interrupt::poll();
    let cfg = Cfg::new(mir);
    interrupt::poll();
    let liveness = Liveness::new(mir, &cfg);
    let mut point = liveness.point();
    let source_pressure = (mir.layout.iter())
        .map(|&block| liveness.pressure(mir, block, &mut point).of(RegFile::Gpr))
        .max()
        .unwrap_or(0);
    // Where something may be spilled the stack pointer takes a register too.
    let most = max_regs.saturating_sub(1);
    let pressure_limit = pressure_limit(source_pressure).min(most);
    for (number, block) in mir.layout.clone().into_iter().enumerate() {
        let components = liveness.components();
        let mut live: FxHashSet<VReg> =
            liveness.live_out(block).iter().map(|&index| components.reg(index as usize)).collect();
        for_each_term_use(mir, block, |reg, width| live.extend((0..width).map(|n| reg.component(n))));
        let becomes = handed_on(mir, block);
        let data = &mut mir.blocks[block];
        let branch_guard = data.term.selector().map(|(&selector, _)| selector);
        let frequency = data.frequency;
        let block = Block {
            arch,
            number,
            frequency,
            pressure_limit,
            most,
            becomes,
            branch_guard,
            insts: &mut data.insts,
            live,
        };
        block.schedule(heuristic, |minst, live| {
            minst.for_each_def(|reg, width| {
                (0..width).for_each(|n| {
                    live.remove(&reg.component(n));
                });
            });
            minst.for_each_use(|reg, width| live.extend((0..width).map(|n| reg.component(n))));
        })?;
    }
    Ok(())
}

/// Orders the bodies of the blocks of laid-out code.
///
/// # Errors
/// If the heuristic returns an illegal order; the code is then partly reordered.
pub fn post_ra(code: &mut Code, arch: Arch, heuristic: &mut dyn Heuristic) -> Result<(), IllegalOrder> {
    let live_out = liveness::live_out(code);
    for (number, (block, live)) in code.blocks.iter_mut().zip(live_out).enumerate() {
        interrupt::poll();
        let (body, branches) = block.insts.split_at_mut(block.body);
        let branch_guard = branches.first().and_then(|minst| minst.inst.guard).map(|guard| guard.reg);
        let frequency = block.frequency;
        let pressure_limit = u32::from(RegFile::Gpr.count());
        let becomes = FxHashMap::default();
        let block = Block {
            arch,
            number,
            frequency,
            pressure_limit,
            most: u32::MAX,
            becomes,
            branch_guard,
            insts: body,
            live: live.iter().collect(),
        };
        block.schedule(heuristic, liveness::step_back)?;
    }
    Ok(())
}

/// For each component that a block's edges hand on, the parameter components that receive it.
fn handed_on(mir: &Mir<VReg>, block: MBlockId) -> FxHashMap<VReg, SmallVec<[VReg; 1]>> {
    let mut becomes: FxHashMap<VReg, SmallVec<[VReg; 1]>> = FxHashMap::default();
    for edge in mir.blocks[block].term.edges() {
        for (arg, param) in edge.args.iter().zip(&mir.blocks[edge.block].params) {
            if let EdgeArg::Reg(reg) = arg {
                for n in 0..param.width {
                    becomes.entry(reg.component(n)).or_default().push(param.reg.component(n));
                }
            }
        }
    }
    becomes
}

/// The general registers to stay within before allocation, given what the source order needs: a quarter more
/// than that, but not beyond the next number of registers at which fewer warps fit on a multiprocessor, which
/// hands 65,536 registers out in units of 8 a thread to at most 64 warps.
fn pressure_limit(source: u32) -> u32 {
    const WARPS: u32 = 64;
    const REGISTERS_A_LANE: u32 = 65_536 / 32;
    let warps_with = |registers: u32| (REGISTERS_A_LANE / registers.max(1).next_multiple_of(8)).min(WARPS);
    let mut limit = source + 4 + source / 4;
    while limit > source && warps_with(limit) < warps_with(source) {
        limit -= 1;
    }
    limit
}

/// Whether nothing moves across an instruction: lanes part or meet there, or a routine runs.
fn is_boundary<R>(minst: &MInst<R>) -> bool {
    let meets = matches!(
        minst.inst.op,
        Op::WARPSYNC
            | Op::WARPSYNC_ALL
            | Op::WARPSYNC_COLLECTIVE
            | Op::WARPSYNC_COLLECTIVE_ALL
            | Op::ENDCOLLECTIVE
    );
    meets || matches!(minst.inst.op, Op::BSYNC | Op::BREAK) || minst.call.is_some()
}

/// Puts at each place what stood at the place that `order` says; afterwards that is its own.
fn reorder<T>(items: &mut [T], order: &mut [usize]) {
    for first in 0..order.len() {
        let mut at = first;
        loop {
            let from = std::mem::replace(&mut order[at], at);
            if from == first {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

/// A block about to be scheduled.
struct Block<'a, R> {
    arch: Arch,
    number: usize,
    frequency: u64,
    pressure_limit: u32,
    /// The general registers that there are; more of them means spilling.
    most: u32,
    becomes: FxHashMap<R, SmallVec<[R; 1]>>,
    branch_guard: Option<R>,
    insts: &'a mut [MInst<R>],
    /// What is live at its end, then at the start of what has been scheduled: the walk goes backward.
    live: FxHashSet<R>,
}

impl<R: Unit> Block<'_, R> {
    /// Schedules the regions, last first; `step_back` takes the live set over an instruction.
    fn schedule(
        mut self,
        heuristic: &mut dyn Heuristic,
        step_back: impl Fn(&MInst<R>, &mut FxHashSet<R>),
    ) -> Result<(), IllegalOrder> {
        let mut end = self.insts.len();
        while end > 0 {
            if is_boundary(&self.insts[end - 1]) {
                end -= 1;
                step_back(&self.insts[end], &mut self.live);
                self.branch_guard = None;
                continue;
            }
            let least = end.saturating_sub(Region::LIMIT);
            let boundary = self.insts[least..end].iter().rposition(is_boundary);
            let start = boundary.map_or(least, |at| least + at + 1);
            let live_after = self.live.clone();
            for minst in self.insts[start..end].iter().rev() {
                interrupt::poll();
                step_back(minst, &mut self.live);
            }
            self.schedule_region(start, end, &live_after, heuristic)?;
            self.branch_guard = None;
            end = start;
        }
        Ok(())
    }

    fn schedule_region(
        &mut self,
        start: usize,
        end: usize,
        live_after: &FxHashSet<R>,
        heuristic: &mut dyn Heuristic,
    ) -> Result<(), IllegalOrder> {
        // One instruction has one order.
        if end - start < 2 {
            return Ok(());
        }
        let mut live_before = [0; RegFile::ALL.len()];
        // A sum over the set: its order does not matter.
        for reg in &self.live {
            live_before[reg.file() as usize] += 1;
        }
        let insts = &mut self.insts[start..end];
        let around = Surroundings {
            arch: self.arch,
            live_after,
            live_before,
            becomes: &self.becomes,
            branch_guard: self.branch_guard,
            frequency: self.frequency,
            pressure_limit: self.pressure_limit,
        };
        let illegal = |heuristic: &dyn Heuristic, broken| IllegalOrder {
            heuristic: heuristic.name().to_string(),
            block: self.number,
            broken,
        };
        let (mut order, mut peak) = list_schedule(&mut build::build(insts, &around), insts, heuristic)
            .map_err(|broken| illegal(heuristic, broken))?;
        for other in [&mut SourceOrder as &mut dyn Heuristic, &mut Pressure] {
            if peak > self.most {
                let (another, lower) = list_schedule(&mut build::build(insts, &around), insts, other)
                    .map_err(|broken| illegal(other, broken))?;
                if lower < peak {
                    (order, peak) = (another, lower);
                }
            }
        }
        legal::check(insts, &order).map_err(|broken| illegal(heuristic, broken))?;
        reorder(insts, &mut order);
        Ok(())
    }
}

/// Lets the heuristic pick until every node has issued. Picking a node that is not ready is an error. Returns
/// the order, and the greatest number of general registers in use along it.
fn list_schedule<R: Unit>(
    region: &mut Region,
    insts: &[MInst<R>],
    heuristic: &mut dyn Heuristic,
) -> Result<(Vec<usize>, u32), Broken> {
    let mut ready: Vec<Node> = region.roots().collect();
    let mut order = Vec::with_capacity(region.len());
    let mut now = 0;
    let mut peak = region.pressure(RegFile::Gpr);
    while !ready.is_empty() {
        interrupt::poll();
        let node = heuristic.pick(region, &ready, now);
        let Ok(at) = ready.binary_search(&node) else {
            return Err(match (node.index() < insts.len()).then(|| region.missing(node)).flatten() {
                Some((first, kind)) => Broken::Dependence {
                    first: insts[first.index()].inst.to_string(),
                    second: insts[node.index()].inst.to_string(),
                    kind,
                    reg: None,
                },
                None => Broken::NotAnInstruction(node.index()),
            });
        };
        ready.remove(at);
        let issued = region.ready_at(node).max(now);
        region.issue(node, issued, |next| {
            if let Err(at) = ready.binary_search(&next) {
                ready.insert(at, next);
            }
        });
        peak = peak.max(region.pressure(RegFile::Gpr));
        order.push(node.index());
        now = issued + 1;
    }
    Ok((order, peak))
}

#[cfg(test)]
mod tests;
