//! The third opinion on hazards: a search of all paths from every producer.
//!
//! The hazard check of `ptxc-sass` runs one dataflow over the whole program. This search starts
//! separately at each access of each instruction, walks every path from there with exact cycle
//! counts, and looks for instructions that are too early. It is slow, it is meant to be obvious,
//! and it decides which weakened control fields matter. Restricted to the [`Taken`] edges of a run,
//! it finds the hazards that the run may have met.

mod products;

use std::collections::BTreeSet;

use ptxc_sass::latency::{Ahead, Dependence, Side, latency, reads_at_issue, settled};
use ptxc_sass::memory_order::{Space, space};
use ptxc_sass::table::Transfer;
use ptxc_sass::{AccessRole, Completion, Op, OperandKind, PReg, Program, RegFile, Register, value};
use rustc_hash::FxHashSet;

/// The instruction that is too early, the earlier instruction, and the register. The register is
/// `None` if the distance is required whatever the registers: see [`Ahead`].
pub type Culprit = (usize, usize, Option<PReg>);

/// More than every fixed latency.
const LONG_AGO: u32 = 64;

/// The part of a program that a run executed.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// The edges from one instruction to the next.
    pub edges: FxHashSet<(usize, usize)>,
    /// The instructions whose guard held for some lane.
    pub active: FxHashSet<usize>,
}

/// The edges to search.
#[derive(Clone, Copy)]
struct Ways<'a> {
    program: &'a Program,
    taken: Option<&'a Taken>,
}

impl Ways<'_> {
    fn successors(&self, index: usize) -> Vec<usize> {
        let mut next = successors(self.program, index);
        if let Some(taken) = self.taken {
            next.retain(|&next| taken.edges.contains(&(index, next)));
        }
        next
    }

    /// Whether an instruction does more than read its guard.
    fn is_active(&self, index: usize) -> bool {
        self.taken.is_none_or(|taken| taken.active.contains(&index))
    }
}

/// All pairs without the required distance or wait on some path.
pub fn search(program: &Program) -> BTreeSet<Culprit> {
    search_ways(Ways { program, taken: None })
}

/// The same on paths that consist of executed edges. A pair that is not among them was not met by
/// the run.
pub fn search_taken(program: &Program, taken: &Taken) -> BTreeSet<Culprit> {
    search_ways(Ways { program, taken: Some(taken) })
}

fn search_ways(ways: Ways<'_>) -> BTreeSet<Culprit> {
    let mut found = BTreeSet::new();
    for producer in 0..ways.program.insts.len() {
        search_from(ways, producer, &mut found);
    }
    found
}

/// Whether there is such a pair.
pub fn any(program: &Program) -> bool {
    (0..program.insts.len()).any(|producer| {
        let mut found = BTreeSet::new();
        search_from(Ways { program, taken: None }, producer, &mut found);
        !found.is_empty()
    })
}

fn search_from(ways: Ways<'_>, producer: usize, found: &mut BTreeSet<Culprit>) {
    let program = ways.program;
    let coded = &program.insts[producer];
    let inst = &coded.inst;
    let barrier = |number: Option<u8>| number.map_or(0u8, |n| 1 << n);
    for access in inst.accesses() {
        if access.role != AccessRole::Guard && !ways.is_active(producer) {
            continue;
        }
        for component in 0..access.width {
            let Some(reg) = access.reg.offset(component) else { continue };
            if products::is_product(inst) && reg.file() == RegFile::Gpr {
                continue;
            }
            let writes = access.role == AccessRole::Def;
            let announced = match access.role {
                AccessRole::Def => inst.completion(program.arch) == Completion::Variable,
                AccessRole::Use => !reads_at_issue(program.arch, inst, reg.file()),
                AccessRole::Guard => false,
            };
            let watch = Watch { ways, program, producer, reg, writes, slot: access.slot, component };
            if announced {
                let released_by = barrier(coded.control.write_barrier)
                    | if writes { 0 } else { barrier(coded.control.read_barrier) };
                watch.scoreboard(released_by, found);
            } else {
                watch.distance(found);
            }
        }
    }
    if products::is_product(inst) {
        products::uses(ways, producer, found);
    } else if program.insts.iter().any(|coded| products::is_product(&coded.inst)) {
        products::arrivals(ways, producer, found);
    }
    // The simulator has only one view, so a run never meets these hazards.
    if ways.taken.is_none() {
        views(ways, producer, found);
    }
    if let Some(ahead) = Ahead::of(inst) {
        walk(ways, producer, LONG_AGO, &mut |index, cycles| {
            let next = &program.insts[index].inst;
            if cycles < u32::from(ahead.least(program.arch, next)) && ways.is_active(index) {
                found.insert((index, producer, None));
            }
            Ahead::of(next) != Some(ahead) && !leaves_for_certain(program, index)
        });
    }
}

/// Fences of the asynchronous view that nothing waits for, and mbarriers initialized after accesses
/// without such a fence between.
fn views(ways: Ways<'_>, producer: usize, found: &mut BTreeSet<Culprit>) {
    let program = ways.program;
    let inst = &program.insts[producer].inst;
    if inst.op == Op::FENCE_VIEW_ASYNC {
        let released_by = program.insts[producer].control.write_barrier.map_or(0, |n| 1 << n);
        walk(ways, producer, 2, &mut |index, cycles| {
            let there = &program.insts[index];
            if there.control.wait_mask & released_by != 0 && cycles >= 2 {
                return false;
            }
            if there.inst.row().awaits_view || there.inst.row().effects.boundary {
                found.insert((index, producer, None));
            }
            !leaves_for_certain(program, index)
        });
    }
    let may_access = matches!(space(inst.op), Some(Space::Shared | Space::Generic));
    if may_access || leaves_for_certain(program, producer) {
        walk(ways, producer, 0, &mut |index, _| {
            let there = &program.insts[index].inst;
            if there.op == Op::SYNCS_EXCH {
                found.insert((index, producer, None));
            }
            let is_fence = there.op == Op::FENCE_VIEW_ASYNC && there.is(value!(Mode = ".S"));
            !(is_fence && there.guard.is_none())
        });
    }
}

/// One access of one instruction, for the search of instructions that are too early after it.
struct Watch<'a> {
    ways: Ways<'a>,
    program: &'a Program,
    producer: usize,
    reg: PReg,
    writes: bool,
    slot: u8,
    component: u8,
}

impl Watch<'_> {
    /// The accesses of an instruction to the register that depend on the watched one.
    fn dependents(&self, index: usize) -> Vec<(Dependence, u8, u8)> {
        let mut list = Vec::new();
        for access in self.program.insts[index].inst.accesses() {
            if access.role != AccessRole::Guard && !self.ways.is_active(index) {
                continue;
            }
            let component = (0..access.width).find(|&n| access.reg.offset(n) == Some(self.reg));
            let Some(component) = component else { continue };
            let dependence = match (self.writes, access.role == AccessRole::Def) {
                (true, true) => Dependence::Waw,
                (true, false) => Dependence::Raw,
                (false, true) => Dependence::War,
                (false, false) => continue,
            };
            list.push((dependence, access.slot, component));
        }
        list
    }

    /// Whether an instruction certainly overwrites the register, so that later instructions depend
    /// on it instead.
    fn ends_at(&self, index: usize) -> bool {
        let inst = &self.program.insts[index].inst;
        inst.guard.is_none()
            && inst.defs().any(|def| (0..def.width).any(|n| def.reg.offset(n) == Some(self.reg)))
    }

    /// Looks for dependents before the fixed latency has passed.
    fn distance(&self, found: &mut BTreeSet<Culprit>) {
        self.settles(self.producer, 0, found);
        walk(self.ways, self.producer, LONG_AGO, &mut |index, cycles| {
            for (dependence, slot, component) in self.dependents(index) {
                let producer = &self.program.insts[self.producer].inst;
                let from = Side { inst: producer, slot: self.slot, component: self.component };
                let to = Side { inst: &self.program.insts[index].inst, slot, component };
                if cycles < u32::from(latency(self.program.arch, dependence, from, to).legal) {
                    found.insert((index, self.producer, Some(self.reg)));
                }
            }
            !self.ends_at(index) && !self.settles(index, cycles, found)
        });
    }

    /// Whether an instruction that issues after this number of cycles certainly goes to another
    /// function. If it may, the access must have ended when that function begins, whatever its
    /// dependents.
    fn settles(&self, index: usize, cycles: u32, found: &mut BTreeSet<Culprit>) -> bool {
        let there = &self.program.insts[index];
        if !there.inst.row().effects.boundary {
            return false;
        }
        let inst = &self.program.insts[self.producer].inst;
        let side = Side { inst, slot: self.slot, component: self.component };
        let need = settled(self.program.arch, side, self.writes).legal;
        if cycles + u32::from(there.control.stall) < u32::from(need) {
            found.insert((index, self.producer, Some(self.reg)));
        }
        leaves_for_certain(self.program, index)
    }

    /// Looks for dependents before a wait for one of the scoreboards.
    fn scoreboard(&self, released_by: u8, found: &mut BTreeSet<Culprit>) {
        // After two cycles only the position matters, so capping the count there loses no path.
        walk(self.ways, self.producer, 2, &mut |index, cycles| {
            let waits = self.program.insts[index].control.wait_mask & released_by != 0 && cycles >= 2;
            if waits {
                return false;
            }
            let leaves = self.program.insts[index].inst.row().effects.boundary;
            if leaves || !self.dependents(index).is_empty() {
                found.insert((index, self.producer, Some(self.reg)));
            }
            !self.ends_at(index) && !leaves_for_certain(self.program, index)
        });
    }
}

/// Whether an instruction goes to another function, whatever its guard.
fn leaves_for_certain(program: &Program, index: usize) -> bool {
    let inst = &program.insts[index].inst;
    inst.row().effects.boundary && inst.guard.is_none()
}

/// Visits every instruction on every path after `start` with the cycles since its issue, capped at
/// `cap`. A path continues while `visit` returns true; fixed-latency paths end at [`LONG_AGO`].
fn walk(ways: Ways<'_>, start: usize, cap: u32, visit: &mut dyn FnMut(usize, u32) -> bool) {
    let mut seen: FxHashSet<(usize, u32)> = FxHashSet::default();
    let mut stack = vec![(start, 0u32, true)];
    while let Some((index, cycles, first)) = stack.pop() {
        if !first && (!seen.insert((index, cycles)) || !visit(index, cycles)) {
            continue;
        }
        let cycles = (cycles + u32::from(ways.program.insts[index].control.stall)).min(cap);
        if cap == LONG_AGO && cycles == LONG_AGO {
            continue;
        }
        for next in ways.successors(index) {
            stack.push((next, cycles, false));
        }
    }
}

fn successors(program: &Program, index: usize) -> Vec<usize> {
    let inst = &program.insts[index].inst;
    let mut next = Vec::new();
    let mut always = inst.guard.is_none();
    match inst.op {
        Op::RET_IF => always = false,
        op if op == Op::EXIT || op.row().transfer == Transfer::Return => {}
        Op::BRA => {
            for operand in &inst.operands {
                match operand.kind {
                    OperandKind::Label(label) => next.push(program.labels[label.0 as usize] as usize),
                    OperandKind::Reg(_) => always = false,
                    OperandKind::Zero(_) if operand.flags.not => always = false,
                    _ => {}
                }
            }
        }
        Op::BRA_DIV | Op::BRA_CONV | Op::BRA_DIV_WARP | Op::BRA_CONV_WARP => {
            always = false;
            next.extend(inst.labels().map(|label| program.labels[label.0 as usize] as usize));
        }
        Op::BRX | Op::BRXU => {
            next.extend(inst.labels().map(|label| program.labels[label.0 as usize] as usize));
        }
        _ => always = false,
    }
    if !always {
        next.push(index + 1);
    }
    next.retain(|&target| target < program.insts.len());
    next
}
