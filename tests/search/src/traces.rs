//! The third opinion on the hazards of a run: a search of the instructions that each warp executed.
//!
//! The simulator keeps tracks of lanes while a program runs. This search has the whole run
//! available. From each access of each executed instruction it follows the lanes to the
//! instructions that they executed next, with exact cycle counts, and looks for instructions that
//! are too early. It relates to the simulator as [`paths`](crate::paths) relates to the static
//! check: it is slow and obvious, and shares only the tables.

use std::collections::BTreeSet;

use ptxc_sass::latency::{Ahead, Dependence, Side, latency, reads_at_issue, settled};
use ptxc_sass::{AccessRole, Completion, PReg, Program, Register};
use rustc_hash::FxHashSet;

use crate::paths::{Culprit, Taken};

/// An instruction that a warp executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The instruction.
    pub pc: u32,
    /// The lanes that reached it.
    pub lanes: u32,
    /// Those for which its guard held.
    pub active: u32,
}

/// A register that an instruction touches.
struct Access {
    reg: PReg,
    role: AccessRole,
    slot: u8,
    component: u8,
    /// The scoreboards that signal its end; `None` if it ends after a number of cycles.
    announced: Option<u8>,
}

/// The accesses of every instruction of a program.
pub struct Search<'a> {
    program: &'a Program,
    accesses: Vec<Vec<Access>>,
}

/// More than every fixed latency.
const LONG_AGO: u32 = 64;

impl<'a> Search<'a> {
    /// A search in runs of a program.
    pub fn new(program: &'a Program) -> Search<'a> {
        let accesses = program.insts.iter().map(|coded| {
            let inst = &coded.inst;
            let bit = |number: Option<u8>| number.map_or(0u8, |number| 1 << number);
            let (write, read) = (bit(coded.control.write_barrier), bit(coded.control.read_barrier));
            let words =
                inst.accesses().into_iter().flat_map(|access| (0..access.width).map(move |n| (access, n)));
            let list = words.filter_map(|(access, component)| {
                let reg = access.reg.offset(component)?;
                let announced = match access.role {
                    AccessRole::Def => {
                        (inst.completion(program.arch) == Completion::Variable).then_some(write)
                    }
                    AccessRole::Use => {
                        (!reads_at_issue(program.arch, inst, reg.file())).then_some(write | read)
                    }
                    AccessRole::Guard => None,
                };
                Some(Access { reg, role: access.role, slot: access.slot, component, announced })
            });
            list.collect()
        });
        Search { program, accesses: accesses.collect() }
    }

    /// Adds the pairs without the required distance or wait among the steps of one warp.
    pub fn add(&self, steps: &[Step], found: &mut BTreeSet<Culprit>) {
        let next = successors(steps);
        let walk = Walk { search: self, steps, next: &next };
        for (at, step) in steps.iter().enumerate() {
            for access in &self.accesses[step.pc as usize] {
                let lanes = acting(access.role, step);
                if lanes != 0 {
                    walk.those_of_access(at, access, lanes, found);
                }
            }
            if let Some(ahead) = Ahead::of(&self.program.insts[step.pc as usize].inst)
                && step.active != 0
            {
                walk.those_after(at, ahead, found);
            }
        }
    }

    fn leaves(&self, step: &Step) -> bool {
        self.program.insts[step.pc as usize].inst.row().effects.boundary && step.active != 0
    }

    fn stall(&self, step: &Step) -> u32 {
        self.program.insts[step.pc as usize].control.stall.into()
    }
}

/// The executed part of a program, from the steps of all warps of a run.
pub fn taken<'a>(warps: impl IntoIterator<Item = &'a [Step]>) -> Taken {
    let mut taken = Taken::default();
    for steps in warps {
        for (step, next) in steps.iter().zip(successors(steps)) {
            if step.active != 0 {
                taken.active.insert(step.pc as usize);
            }
            taken.edges.extend(next.iter().map(|&(to, _)| (step.pc as usize, steps[to].pc as usize)));
        }
    }
    taken
}

/// The lanes that make an access.
fn acting(role: AccessRole, step: &Step) -> u32 {
    if role == AccessRole::Guard { step.lanes } else { step.active }
}

/// For each step, the steps that its lanes execute next, each with those lanes.
fn successors(steps: &[Step]) -> Vec<Vec<(usize, u32)>> {
    let mut next_of_lane: [Option<usize>; 32] = [None; 32];
    let mut list = vec![Vec::new(); steps.len()];
    for (at, step) in steps.iter().enumerate().rev() {
        let next: &mut Vec<(usize, u32)> = &mut list[at];
        for lane in (0..32).filter(|lane| step.lanes >> lane & 1 == 1) {
            if let Some(to) = next_of_lane[lane as usize] {
                match next.iter_mut().find(|(other, _)| *other == to) {
                    Some((_, lanes)) => *lanes |= 1 << lane,
                    None => next.push((to, 1 << lane)),
                }
            }
            next_of_lane[lane as usize] = Some(at);
        }
    }
    list
}

/// The steps of a warp, and the transitions of its lanes between them.
struct Walk<'a> {
    search: &'a Search<'a>,
    steps: &'a [Step],
    next: &'a [Vec<(usize, u32)>],
}

impl Walk<'_> {
    /// Follows lanes from a step on. `visit` gets each step that some of them reach, with the
    /// cycles since the first step and those lanes, and returns the lanes that continue. A register
    /// of the warp is followed by all lanes that meet one of them.
    fn follow(
        &self,
        start: usize,
        lanes: u32,
        uniform: bool,
        cap: u32,
        visit: &mut dyn FnMut(usize, u32, u32) -> u32,
    ) {
        let mut seen: FxHashSet<(usize, u32)> = FxHashSet::default();
        let mut stack = vec![(start, 0, lanes)];
        while let Some((at, cycles, lanes)) = stack.pop() {
            let cycles = (cycles + self.search.stall(&self.steps[at])).min(cap);
            for &(to, of) in &self.next[at] {
                let mut lanes = lanes & of;
                if uniform && lanes != 0 {
                    lanes = if seen.insert((to, cycles)) { self.steps[to].lanes } else { 0 };
                }
                if lanes != 0 {
                    lanes &= visit(to, cycles, lanes);
                }
                if lanes != 0 {
                    stack.push((to, cycles, lanes));
                }
            }
        }
    }

    /// Finds the instructions that are too early after an access.
    fn those_of_access(&self, start: usize, access: &Access, lanes: u32, found: &mut BTreeSet<Culprit>) {
        let program = self.search.program;
        let first = &self.steps[start];
        let producer = first.pc as usize;
        let uniform = access.reg.file().is_uniform();
        let writes = access.role == AccessRole::Def;
        let from =
            Side { inst: &program.insts[producer].inst, slot: access.slot, component: access.component };
        let mut lanes = if uniform { first.lanes } else { lanes };
        let whose = |mask: u32| if uniform && mask != 0 { u32::MAX } else { mask };

        // Whether lanes that go to another function after this number of cycles have settled the
        // access.
        let settled = |cycles: u32| match access.announced {
            Some(_) => false,
            None => cycles >= u32::from(settled(program.arch, from, writes).legal),
        };
        if self.search.leaves(first) {
            if whose(first.active) & lanes != 0 && !settled(self.search.stall(first)) {
                found.insert((producer, producer, Some(access.reg)));
            }
            lanes &= !whose(first.active);
        }
        let cap = if access.announced.is_some() { 2 } else { LONG_AGO };
        self.follow(start, lanes, uniform, cap, &mut |at, cycles, lanes| {
            let step = &self.steps[at];
            let pc = step.pc as usize;
            let inst = &program.insts[pc].inst;
            match access.announced {
                Some(by) if program.insts[pc].control.wait_mask & by != 0 && cycles >= 2 => return 0,
                None if cycles >= LONG_AGO => return 0,
                _ => {}
            }
            let mut left = lanes;
            for later in self.search.accesses[pc].iter().filter(|later| later.reg == access.reg) {
                let dependence = match (writes, later.role == AccessRole::Def) {
                    (true, false) => Dependence::Raw,
                    (true, true) => Dependence::Waw,
                    (false, true) => Dependence::War,
                    (false, false) => continue,
                };
                let met = whose(acting(later.role, step)) & lanes;
                let to = Side { inst, slot: later.slot, component: later.component };
                let early = access.announced.is_some()
                    || cycles < u32::from(latency(program.arch, dependence, from, to).legal);
                if met != 0 && early {
                    found.insert((pc, producer, Some(access.reg)));
                }
                if later.role == AccessRole::Def {
                    left &= !met;
                }
            }
            if self.search.leaves(step) {
                let gone = whose(step.active) & left;
                if gone != 0 && !settled(cycles + self.search.stall(step)) {
                    found.insert((pc, producer, Some(access.reg)));
                }
                left &= !gone;
            }
            // An instruction that is too early after this access is also too early after its
            // repetition.
            if pc == producer {
                left &= !whose(acting(access.role, step));
            }
            left
        });
    }

    /// Finds the instructions that follow too soon after one that all must keep a distance from.
    fn those_after(&self, start: usize, ahead: Ahead, found: &mut BTreeSet<Culprit>) {
        let program = self.search.program;
        let first = &self.steps[start];
        let lanes = if self.search.leaves(first) { 0 } else { first.active };
        self.follow(start, lanes, false, LONG_AGO, &mut |at, cycles, lanes| {
            if cycles >= LONG_AGO {
                return 0;
            }
            let step = &self.steps[at];
            let inst = &program.insts[step.pc as usize].inst;
            if cycles < u32::from(ahead.least(program.arch, inst)) && step.active & lanes != 0 {
                found.insert((step.pc as usize, first.pc as usize, None));
            }
            let ends = Ahead::of(inst) == Some(ahead) || self.search.leaves(step);
            if ends { lanes & !step.active } else { lanes }
        });
    }
}
