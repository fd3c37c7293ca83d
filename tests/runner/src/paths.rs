//! The third opinion on hazards: a search of all paths from every producer.
//!
//! The hazard check of `ptxc-sass` runs one dataflow over the whole program. This one starts at each
//! access of each instruction on its own, walks every path from there with exact cycle counts, and looks
//! for somebody who comes too early. It is slow, it is meant to be obvious, and it decides which weakened
//! control fields matter.

use std::collections::{BTreeSet, HashSet};

use ptxc_sass::latency::{Dependence, Side, latency, reads_at_issue, settled};
use ptxc_sass::{AccessRole, Completion, Op, OperandKind, PReg, Pipe, Program, Register};

/// The instruction that is too early, the one that it is too early after, and the register (none after a
/// CTA barrier).
pub type Culprit = (usize, usize, Option<PReg>);

/// Above every fixed latency.
const LONG_AGO: u32 = 64;

/// All pairs that lack their distance or their wait on some path.
pub fn search(program: &Program) -> BTreeSet<Culprit> {
    let mut found = BTreeSet::new();
    for producer in 0..program.insts.len() {
        search_from(program, producer, &mut found);
    }
    found
}

/// Whether there is such a pair.
pub fn any(program: &Program) -> bool {
    (0..program.insts.len()).any(|producer| {
        let mut found = BTreeSet::new();
        search_from(program, producer, &mut found);
        !found.is_empty()
    })
}

fn search_from(program: &Program, producer: usize, found: &mut BTreeSet<Culprit>) {
    let coded = &program.insts[producer];
    let inst = &coded.inst;
    let barrier = |number: Option<u8>| number.map_or(0u8, |n| 1 << n);
    for access in inst.accesses() {
        for component in 0..access.width {
            let Some(reg) = access.reg.offset(component) else { continue };
            let writes = access.role == AccessRole::Def;
            let announced = match access.role {
                AccessRole::Def => inst.completion(program.arch) == Completion::Variable,
                AccessRole::Use => !reads_at_issue(program.arch, inst, reg.file()),
                AccessRole::Guard => false,
            };
            let watch = Watch { program, producer, reg, writes, slot: access.slot, component };
            if announced {
                let released_by = barrier(coded.control.write_barrier)
                    | if writes { 0 } else { barrier(coded.control.read_barrier) };
                watch.scoreboard(released_by, found);
            } else {
                watch.distance(found);
            }
        }
    }
    if inst.op == Op::BAR {
        walk(program, producer, LONG_AGO, &mut |index, cycles| {
            let need = match program.insts[index].inst.op {
                Op::BAR => 8,
                Op::NOP => 0,
                Op::S2R | Op::S2UR | Op::B2R => 6,
                op if matches!(op.row().pipe, Pipe::Lsu | Pipe::Ldc | Pipe::Control) => 6,
                _ => 0,
            };
            if cycles < need {
                found.insert((index, producer, None));
            }
            program.insts[index].inst.op != Op::BAR && !program.insts[index].inst.row().effects.boundary
        });
    }
}

/// One access of one instruction, and who may come too early after it.
struct Watch<'a> {
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

    /// Whether an instruction overwrites the register for certain, so that whoever follows depends on it
    /// instead.
    fn ends_at(&self, index: usize) -> bool {
        let inst = &self.program.insts[index].inst;
        inst.guard.is_none()
            && inst.defs().any(|def| (0..def.width).any(|n| def.reg.offset(n) == Some(self.reg)))
    }

    /// Looks for dependents before the fixed latency has passed.
    fn distance(&self, found: &mut BTreeSet<Culprit>) {
        self.settles(self.producer, 0, found);
        walk(self.program, self.producer, LONG_AGO, &mut |index, cycles| {
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

    /// Whether an instruction that issues after so many cycles goes to another function; the access must be over when
    /// that begins, whoever its dependents are.
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
        true
    }

    /// Looks for dependents before a wait for one of the scoreboards.
    fn scoreboard(&self, released_by: u8, found: &mut BTreeSet<Culprit>) {
        // After two cycles only the place matters, so capping the count there loses no path.
        walk(self.program, self.producer, 2, &mut |index, cycles| {
            let waits = self.program.insts[index].control.wait_mask & released_by != 0 && cycles >= 2;
            if waits {
                return false;
            }
            let leaves = self.program.insts[index].inst.row().effects.boundary;
            if leaves || !self.dependents(index).is_empty() {
                found.insert((index, self.producer, Some(self.reg)));
            }
            !self.ends_at(index) && !leaves
        });
    }
}

/// Visits every instruction on every path behind `start` with the cycles since its issue, capped at `cap`;
/// a path goes on while `visit` says so, and fixed-latency paths end at [`LONG_AGO`].
fn walk(program: &Program, start: usize, cap: u32, visit: &mut dyn FnMut(usize, u32) -> bool) {
    let mut seen: HashSet<(usize, u32)> = HashSet::new();
    let mut stack = vec![(start, 0u32, true)];
    while let Some((index, cycles, first)) = stack.pop() {
        if !first && (!seen.insert((index, cycles)) || !visit(index, cycles)) {
            continue;
        }
        let cycles = (cycles + u32::from(program.insts[index].control.stall)).min(cap);
        if cap == LONG_AGO && cycles == LONG_AGO {
            continue;
        }
        for next in successors(program, index) {
            stack.push((next, cycles, false));
        }
    }
}

fn successors(program: &Program, index: usize) -> Vec<usize> {
    let inst = &program.insts[index].inst;
    let mut next = Vec::new();
    let mut always = inst.guard.is_none();
    match inst.op {
        Op::EXIT | Op::RET => {}
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
