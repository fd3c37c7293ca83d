//! Scheduling: the order of instructions within blocks, before and after allocation.
//!
//! In: `Mir<VReg>` ([`pre_ra`]) or [`Code`] ([`post_ra`]), and a [`Heuristic`]. Out: the same with
//! the instructions of each block in the order that the heuristic chose. A block is cut into
//! regions at instructions that nothing may cross (`BSYNC`, `BREAK`, `WARPSYNC`) and after
//! [`Region::LIMIT`] instructions; each region goes through four steps:
//!
//! 1. `build`: the dependence graph, near-linear, with latencies and the register pressure;
//! 2. list scheduling: the heuristic picks among the ready nodes, until none is left;
//! 3. `legal`: independent code checks the order against the source order;
//! 4. the instructions are put into that order.
//!
//! ```text
//! LDG R0, [R2]                       LDG R0, [R2]
//! FADD R4, R0, R5                    LDG R1, [R2+0x4]
//! LDG R1, [R2+0x4]         =>        FADD R4, R0, R5
//! FADD R4, R4, R1                    FADD R4, R4, R1
//! ```
//! Before allocation the limit on the pressure is the pressure of the source order, plus some room
//! up to the next step of occupancy. Cost: the instructions times the ready nodes of their region.

mod accesses;
mod address;
mod build;
mod demand;
mod heuristic;
mod legal;
mod live;
mod liveness;
mod pressure;
mod region;
mod unit;

pub mod estimate;
pub mod random;

use ptxc_machine::Arch;
use ptxc_sass::table::Lanes;
use ptxc_sass::{Op, PReg, RegFile, Register};

use crate::layout::Code;
use crate::mir::liveness::{Components, for_each_term_use};
use crate::mir::{EdgeArg, Liveness, MBlockId, MInst, Mir, RegSet, VReg};
use accesses::Accesses;
use build::{Surroundings, Tables};
use demand::Demand;
pub use heuristic::{
    Balanced, CriticalPath, HEURISTICS, Heuristic, Pressure, Random, SourceOrder, heuristic_by_name,
};
pub use legal::{Broken, IllegalOrder};
use live::LiveSet;
use pressure::ByFile;
pub use region::{Cycle, Dep, DepKind, Node, NodeData, Region};
pub use unit::Unit;
use unit::{Numbers, Physical};

/// Orders the blocks of a function before allocation, for at most `max_regs` general registers. The
/// registers that are live at the borders of its blocks stay the same.
///
/// If the heuristic's order of a region needs more than those, the source order, that of
/// [`Pressure`] or that of [`demand`] replaces it if it needs fewer: spilling costs more than any
/// latency.
///
/// # Errors
/// If the heuristic returns an illegal order; the function is then partly reordered.
pub fn pre_ra(
    mir: &mut Mir<VReg>,
    liveness: &Liveness,
    arch: Arch,
    max_regs: u32,
    heuristic: &mut dyn Heuristic,
) -> Result<(), IllegalOrder> {
    ptxc_interrupt::poll();
    let components = liveness.components();
    let accesses = Accesses::new(mir.insts(), mir.insts().count(), components);
    let mut scheduler = Scheduler::new(arch, components, &accesses, heuristic);
    let mut source_pressure = 0;
    let mut live_in = Vec::with_capacity(mir.layout.len());
    let mut first = 0;
    for &block in &mir.layout {
        live_at_end(mir, block, liveness, &mut scheduler.live);
        let after = first + mir.blocks[block].insts.len();
        source_pressure = source_pressure.max(scheduler.most_at_once(first..after));
        live_in.push(scheduler.live.counts());
        first = after;
    }
    // If spilling may be necessary, the stack pointer takes a register, too.
    scheduler.most = max_regs.saturating_sub(1);
    scheduler.pressure_limit = pressure_limit(source_pressure).min(scheduler.most);
    let mut first = 0;
    for number in 0..mir.layout.len() {
        let block = mir.layout[number];
        let count = mir.blocks[block].insts.len();
        // A single instruction has only one order.
        if count > 1 {
            live_at_end(mir, block, liveness, &mut scheduler.live);
            let edge_arguments = edge_arguments(mir, block, components);
            let data = &mut mir.blocks[block];
            let branch_guard = data.term.selector().map(|(&selector, _)| components.number(selector));
            let frequency = data.frequency;
            let live_in = Some(live_in[number]);
            let block = Block { number, first, frequency, edge_arguments, branch_guard, live_in };
            scheduler.schedule(block, &mut data.insts)?;
        }
        first += count;
    }
    Ok(())
}

/// Orders the bodies of the blocks of laid-out code.
///
/// # Errors
/// If the heuristic returns an illegal order; the code is then partly reordered.
pub fn post_ra(code: &mut Code, arch: Arch, heuristic: &mut dyn Heuristic) -> Result<(), IllegalOrder> {
    let insts = code.blocks.iter().flat_map(|block| &block.insts);
    let accesses = Accesses::new(insts, code.len(), &Physical);
    let live_out = liveness::live_out(code, &accesses);
    let mut scheduler = Scheduler::new(arch, &Physical, &accesses, heuristic);
    let mut first = 0;
    for (number, (block, live)) in code.blocks.iter_mut().zip(live_out).enumerate() {
        ptxc_interrupt::poll();
        let (body, branches) = block.insts.split_at_mut(block.body);
        let count = body.len() + branches.len();
        if body.len() > 1 {
            scheduler.live.clear();
            for reg in live.iter().filter_map(PReg::from_dense) {
                scheduler.live.insert(reg.dense() as u32, reg.file());
            }
            let guard = branches.first().and_then(|minst| minst.inst.guard);
            let branch_guard = guard.map(|guard| Physical.number(guard.reg));
            let frequency = block.frequency;
            let edge_arguments = Vec::new();
            let block = Block { number, first, frequency, edge_arguments, branch_guard, live_in: None };
            scheduler.schedule(block, body)?;
        }
        first += count;
    }
    Ok(())
}

/// The registers that are live at the end of a block, including those that its terminator reads.
fn live_at_end(mir: &Mir<VReg>, block: MBlockId, liveness: &Liveness, live: &mut LiveSet) {
    let components = liveness.components();
    live.clear();
    for index in liveness.live_out(mir, block) {
        live.insert(index, components.reg(index as usize).file());
    }
    for_each_term_use(mir, block, |reg, width| {
        components.range(reg, width).for_each(|index| live.insert(index as u32, reg.file()));
    });
}

/// The components of the arguments of a block's edges, each with a parameter's component that
/// receives it; in order.
fn edge_arguments(mir: &Mir<VReg>, block: MBlockId, components: &Components) -> Vec<(u32, u32)> {
    let mut edge_arguments = Vec::new();
    for edge in mir.blocks[block].term.edges() {
        for (arg, param) in edge.args.iter().zip(&mir.blocks[edge.block].params) {
            if let EdgeArg::Reg(reg) = arg {
                let to = components.range(param.reg, param.width);
                edge_arguments
                    .extend(components.range(*reg, param.width).zip(to).map(|(a, b)| (a as u32, b as u32)));
            }
        }
    }
    edge_arguments.sort_unstable();
    edge_arguments
}

/// The limit on general registers before allocation, given the number that the source order needs:
/// six and a quarter more than that, but not beyond the next number of registers at which fewer
/// warps fit on a multiprocessor. A multiprocessor allocates 65,536 registers in units of 8 per
/// thread to at most 64 warps.
fn pressure_limit(source: u32) -> u32 {
    const WARPS: u32 = 64;
    const REGISTERS_A_LANE: u32 = 65_536 / 32;
    let warps_with = |registers: u32| (REGISTERS_A_LANE / registers.max(1).next_multiple_of(8)).min(WARPS);
    let mut limit = source + 6 + source / 4;
    while limit > source && warps_with(limit) < warps_with(source) {
        limit -= 1;
    }
    limit
}

/// Whether nothing may move across an instruction: lanes part or meet there, or a routine runs. In
/// a block that has values of lanes in uniform registers, also if other lanes may have a turn
/// there.
fn is_boundary<R: Register>(minst: &MInst<R>, has_lanes_values: bool) -> bool {
    let effects = minst.inst.row().effects;
    let ends_block = effects.branch || effects.exit;
    if has_lanes_values && !ends_block && minst.gives_turn() {
        return true;
    }
    minst.inst.row().lanes == Lanes::Meet || minst.call.is_some()
}

/// Moves to each place the item from the place in `order`; afterwards `order` is the identity.
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
struct Block {
    number: usize,
    /// The number of its first instruction among those of the function.
    first: usize,
    frequency: u64,
    /// The arguments of its edges, with the parameters that receive them.
    edge_arguments: Vec<(u32, u32)>,
    branch_guard: Option<u32>,
    /// The number of live registers of each file at its start, if known.
    live_in: Option<ByFile>,
}

/// An order that may need fewer registers than that of the heuristic.
#[derive(Clone, Copy)]
enum Other {
    Source,
    Pressure,
    Demand { frees_first: bool },
}

impl Other {
    /// In the order in which they are tried: the later ones compute operands just before their use, so
    /// that latencies overlap less.
    const ALL: [Other; 4] = [
        Other::Source,
        Other::Pressure,
        Other::Demand { frees_first: true },
        Other::Demand { frees_first: false },
    ];

    fn heuristic(self, region: &Region) -> Box<dyn Heuristic> {
        match self {
            Other::Source => Box::new(SourceOrder),
            Other::Pressure => Box::new(Pressure),
            Other::Demand { frees_first } => Box::new(Demand::new(region, frees_first)),
        }
    }
}

/// Schedules blocks, one after the other.
struct Scheduler<'a, R, N> {
    arch: Arch,
    numbers: &'a N,
    accesses: &'a Accesses,
    heuristic: &'a mut dyn Heuristic,
    pressure_limit: u32,
    /// The number of general registers that are available; needing more means spilling.
    most: u32,
    /// The registers that are live at the end of a block, then at the start of the part that has
    /// been scheduled: the walk goes backward.
    live: LiveSet,
    tables: Tables<R>,
    region: Region,
    ready: Vec<Node>,
    checker: legal::Checker<R>,
}

impl<'a, R: Unit, N: Numbers<R>> Scheduler<'a, R, N> {
    fn new(
        arch: Arch,
        numbers: &'a N,
        accesses: &'a Accesses,
        heuristic: &'a mut dyn Heuristic,
    ) -> Scheduler<'a, R, N> {
        Scheduler {
            arch,
            numbers,
            accesses,
            heuristic,
            pressure_limit: u32::from(RegFile::Gpr.count_on(arch)),
            most: u32::MAX,
            live: LiveSet::new(numbers.count()),
            tables: Tables::new(numbers.count()),
            region: Region::default(),
            ready: Vec::new(),
            checker: legal::Checker::new(numbers.count()),
        }
    }

    /// The greatest number of general registers that are live at once in a block; the walk must be
    /// at its end. An unread result counts at its instruction.
    fn most_at_once(&mut self, insts: std::ops::Range<usize>) -> u32 {
        let mut most = 0;
        for index in insts.rev() {
            let after = self.live.counts()[RegFile::Gpr as usize];
            most = most.max(after + self.live.step_back(self.accesses.of(index)));
        }
        most.max(self.live.counts()[RegFile::Gpr as usize]) as u32
    }

    /// Schedules the regions, last first.
    fn schedule(&mut self, mut block: Block, insts: &mut [MInst<R>]) -> Result<(), IllegalOrder> {
        let has_lanes_values = insts.iter().any(|minst| minst.inst.op == Op::R2UR);
        let mut end = insts.len();
        while end > 0 {
            ptxc_interrupt::poll();
            if is_boundary(&insts[end - 1], has_lanes_values) {
                end -= 1;
                self.step_back(&insts[end], block.first + end);
            } else {
                let least = end.saturating_sub(Region::LIMIT);
                let boundary = insts[least..end].iter().rposition(|inst| is_boundary(inst, has_lanes_values));
                let start = boundary.map_or(least, |at| least + at + 1);
                self.schedule_region(&block, start, &mut insts[start..end])?;
                end = start;
            }
            block.branch_guard = None;
        }
        Ok(())
    }

    /// Moves the walk to before an instruction, which may be a call.
    fn step_back(&mut self, minst: &MInst<R>, number: usize) {
        let destroyed = minst.call.as_ref().and_then(|call| self.numbers.destroyed(call));
        for reg in destroyed.into_iter().flat_map(RegSet::iter) {
            self.live.remove(reg.dense() as u32, reg.file());
        }
        self.live.step_back(self.accesses.of(number));
    }

    fn schedule_region(
        &mut self,
        block: &Block,
        start: usize,
        insts: &mut [MInst<R>],
    ) -> Result<(), IllegalOrder> {
        let first = block.first + start;
        let whole = first..first + insts.len();
        // A single instruction has only one order.
        if insts.len() < 2 {
            whole.for_each(|index| {
                self.live.step_back(self.accesses.of(index));
            });
            return Ok(());
        }
        let around = Surroundings {
            arch: self.arch,
            accesses: self.accesses,
            first,
            live_after: &self.live,
            edge_arguments: &block.edge_arguments,
            branch_guard: block.branch_guard,
            frequency: block.frequency,
            pressure_limit: self.pressure_limit,
        };
        self.tables.build(insts, self.numbers, &around, &mut self.region);
        let live_before = match block.live_in {
            // No region is left that needs to know which registers these are.
            Some(counts) if start == 0 => counts,
            _ => {
                for index in whole.rev() {
                    self.live.step_back(self.accesses.of(index));
                }
                self.live.counts()
            }
        };
        let illegal = |heuristic: &dyn Heuristic, broken| IllegalOrder {
            heuristic: heuristic.name().to_string(),
            block: block.number,
            broken,
        };
        let Scheduler { region, ready, heuristic, .. } = self;
        region.start(live_before);
        let (mut order, mut peak) =
            list_schedule(region, insts, *heuristic, ready).map_err(|broken| illegal(*heuristic, broken))?;
        for other in Other::ALL {
            if peak <= self.most {
                break;
            }
            let mut other = other.heuristic(region);
            region.start(live_before);
            let (another, lower) = list_schedule(region, insts, &mut *other, ready)
                .map_err(|broken| illegal(&*other, broken))?;
            if lower < peak {
                (order, peak) = (another, lower);
            }
        }
        self.checker.check(insts, self.numbers, &order).map_err(|broken| illegal(*heuristic, broken))?;
        reorder(insts, &mut order);
        Ok(())
    }
}

/// Lets the heuristic pick until every node has issued. Picking a node that is not ready is an
/// error. Returns the order, and the greatest number of general registers in use along it.
fn list_schedule<R: Unit>(
    region: &mut Region,
    insts: &[MInst<R>],
    heuristic: &mut dyn Heuristic,
    ready: &mut Vec<Node>,
) -> Result<(Vec<usize>, u32), Broken> {
    ready.clear();
    ready.extend(region.roots());
    let mut order = Vec::with_capacity(region.len());
    let mut now = 0;
    let mut peak = region.pressure(RegFile::Gpr);
    while !ready.is_empty() {
        ptxc_interrupt::poll();
        let node = heuristic.pick(region, ready, now);
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
