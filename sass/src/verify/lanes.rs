//! Checks that the lanes of a warp are together where an instruction needs them together.
//!
//! Lanes that call a function together need not return together. Each returns on its own if an
//! indirect call has several targets, if a recursion is deeper for some lanes, or if the function
//! ends after a branch that parted them. An exchange, vote, match or reduction of the warp, or a
//! CTA barrier with a result, after such a call sees a part of the lanes, unless they have met: at
//! the `BSYNC` of a barrier that was opened before the call, or at a `WARPSYNC`.
//!
//! In: a program. Out: each instruction of the warp that lanes may reach apart from each other
//! because of a call, with that call.
//!
//! Lanes that part at a branch of the function itself are not reported: a program may mean an
//! instruction only for the lanes that are there, as `activemask` does. They matter where the
//! function returns. A forward dataflow over registers finds the predicates that differ between
//! lanes: arguments of a function, the number of a thread, and values loaded from differing
//! addresses differ. A value that depends only on such a branch counts as even, so that the check
//! makes no false claim. (After Coutinho et al., "Divergence Analysis and Optimizations", PACT
//! 2011.)
//!
//! States only grow, and a function is visited again when one of its callees turns out to part
//! lanes. Cost: the number of instructions times the height of a state, which is bounded.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::flow::{Block, blocks};
use super::written::{Callee, Writes};
use super::{Hazard, HazardKind, Lack};
use crate::inst::Inst;
use crate::operand::OperandKind;
use crate::program::Program;
use crate::register::{PReg, RegFile, Register};
use crate::slot_name;
use crate::table::{Lanes, Op, Transfer};

/// The greatest distance, in instructions, from the computation of a test's mask to the test in
/// NVIDIA's code.
const TEST_LENGTH: usize = 16;

/// A set of registers.
pub(super) type Registers = [u64; PReg::COUNT.div_ceil(64)];

/// A convergence barrier that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Open {
    barrier: u8,
    /// The `BSSY` that opened it.
    by: u32,
    /// The instruction that had parted the lanes at that time.
    parted: Option<u32>,
}

/// The state of the lanes before an instruction.
#[derive(Clone, PartialEq, Eq)]
struct State {
    /// The registers with values that may differ between lanes.
    uneven: Registers,
    /// The registers that are as the function received them.
    received: Registers,
    /// The instruction that may have parted the lanes.
    parted: Option<u32>,
    /// The registers that the function received and by whose values lanes are apart: lanes with
    /// different values waited for different masks.
    apart_by: Registers,
    /// Whether a later `WARPSYNC` has brought together the lanes that the following code is for.
    met: bool,
    /// The open barriers, outer ones first.
    open: SmallVec<[Open; 4]>,
}

impl State {
    /// The state at the entry of the program or of one of its functions.
    fn at_entry(is_called: bool) -> State {
        let mut uneven = Registers::default();
        if is_called {
            // All lanes have the same stack pointer.
            let general = (0..RegFile::Gpr.count()).filter(|&number| number != 1).map(PReg::r);
            general.chain(predicates()).for_each(|reg| insert(&mut uneven, reg));
        }
        let (received, apart_by) = (uneven, Registers::default());
        State { uneven, received, parted: None, apart_by, met: false, open: SmallVec::new() }
    }

    /// An instruction parts lanes that have different values in these registers.
    fn part_by(&mut self, regs: impl Iterator<Item = PReg>, index: u32) {
        for reg in regs {
            if contains(&self.received, reg) {
                insert(&mut self.apart_by, reg);
            } else if contains(&self.uneven, reg) {
                self.parted = Some(index);
            }
        }
    }

    /// All lanes that came together are together again.
    fn gather(&mut self, parted: Option<u32>) {
        self.parted = parted;
        self.apart_by = Registers::default();
    }

    /// Joins the state of another path; returns whether anything changes.
    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        unite(&mut self.uneven, &other.uneven);
        self.received.iter_mut().zip(&other.received).for_each(|(all, new)| *all &= new);
        unite(&mut self.apart_by, &other.apart_by);
        self.parted = first(self.parted, other.parted);
        self.met &= other.met;
        for (known, new) in self.open.iter_mut().zip(&other.open) {
            known.parted = first(known.parted, new.parted);
        }
        self.open.truncate(other.open.len());
        *self != before
    }
}

/// The earlier one of two optional causes.
fn first(one: Option<u32>, two: Option<u32>) -> Option<u32> {
    one.into_iter().chain(two).min()
}

pub(super) fn insert(set: &mut Registers, reg: PReg) {
    set[reg.dense() / 64] |= 1 << (reg.dense() % 64);
}

fn remove(set: &mut Registers, reg: PReg) {
    set[reg.dense() / 64] &= !(1 << (reg.dense() % 64));
}

pub(super) fn unite(set: &mut Registers, other: &Registers) {
    set.iter_mut().zip(other).for_each(|(all, new)| *all |= new);
}

fn contains(set: &Registers, reg: PReg) -> bool {
    set[reg.dense() / 64] >> (reg.dense() % 64) & 1 == 1
}

/// Checks a program.
pub(super) fn run(program: &Program, poll: &dyn Fn()) -> Vec<Hazard> {
    let concerned = |op: Op| exchanges(op) || op == Op::BAR_RED;
    let calls = program.insts.iter().any(|coded| is_call(coded.inst.op));
    if !calls || !program.insts.iter().any(|coded| concerned(coded.inst.op)) {
        return Vec::new();
    }
    let (blocks, entries) = blocks(program);
    let mut check = Check {
        program,
        blocks: &blocks,
        broken: BTreeSet::new(),
        parts: BTreeMap::new(),
        writes: Writes::of(program, &blocks, &entries),
        changed: false,
        hazards: BTreeSet::new(),
    };
    loop {
        check.changed = false;
        check.hazards.clear();
        // A function comes after its first caller in the code.
        for (number, &entry) in entries.iter().enumerate().rev() {
            check.function(entry, number > 0, poll);
        }
        if !check.changed {
            break;
        }
    }
    let hazard = |&(consumer, producer): &(u32, u32)| {
        let kind = HazardKind::Parted;
        Hazard { consumer, producer, kind, reg: None, lack: Lack::Rule }
    };
    check.hazards.iter().map(hazard).collect()
}

fn barrier(inst: &Inst<PReg>) -> Option<u8> {
    inst.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Convergence(barrier) => Some(barrier & 15),
        _ => None,
    })
}

fn is_call(op: Op) -> bool {
    op.row().transfer == Transfer::Call
}

/// Whether an instruction exchanges something between lanes.
fn exchanges(op: Op) -> bool {
    op.row().lanes == Lanes::Exchange
}

fn is_match(op: Op) -> bool {
    matches!(op, Op::MATCH_ANY | Op::MATCH_ANY_64 | Op::MATCH_ALL | Op::MATCH_ALL_64)
}

/// The conditions under which lanes return apart from a function.
#[derive(Clone, Default, PartialEq, Eq)]
struct Parts {
    /// With any arguments.
    always: bool,
    /// If lanes call it with different values in any of these registers.
    by: Registers,
}

struct Check<'a> {
    program: &'a Program,
    blocks: &'a [Block],
    /// The `BSSY`s that open a region which lanes may leave by `BREAK`.
    broken: BTreeSet<u32>,
    /// The functions from which lanes may return apart, by their first instructions.
    parts: BTreeMap<u32, Parts>,
    /// The registers that functions may write.
    writes: Writes,
    /// Whether a new fact about a function has been found.
    changed: bool,
    /// Instructions of the warp, each with the call after which its lanes may be apart.
    hazards: BTreeSet<(u32, u32)>,
}

impl Check<'_> {
    /// Walks a function from its first block on.
    fn function(&mut self, entry: u32, is_called: bool, poll: &dyn Fn()) {
        let mut at_start = BTreeMap::from([(entry, State::at_entry(is_called))]);
        let mut queue = BTreeSet::from([entry]);
        while let Some(block) = queue.pop_first() {
            let Some(mut state) = at_start.get(&block).cloned() else { continue };
            let Block { insts, successors, .. } = &self.blocks[block as usize];
            for index in insts.clone() {
                poll();
                self.step(&mut state, entry, index, is_called);
            }
            for &successor in successors {
                let changed = match at_start.get_mut(&successor) {
                    Some(known) => known.join(&state),
                    None => {
                        at_start.insert(successor, state.clone());
                        true
                    }
                };
                if changed {
                    queue.insert(successor);
                }
            }
        }
    }

    /// Executes an instruction of the function that begins at a block.
    fn step(&mut self, state: &mut State, entry: u32, index: u32, is_called: bool) {
        if self.program.unknown_word(index).is_some() {
            // It may let the lanes meet, and write any register.
            state.gather(None);
            return;
        }
        let inst = &self.program.insts[index as usize].inst;
        let is_uneven = |state: &State, reg: PReg| contains(&state.uneven, reg);
        let guard_is_uneven = inst.guard.is_some_and(|guard| is_uneven(state, guard.reg));
        let reads_uneven =
            inst.uses().any(|access| covers(access.reg, access.width).any(|reg| is_uneven(state, reg)));
        match inst.op {
            Op::BSSY => {
                let parted = state.parted;
                state.open.extend(barrier(inst).map(|barrier| Open { barrier, by: index, parted }));
            }
            Op::BSYNC => self.meet(state, inst),
            Op::BREAK | Op::BREAK_IF => {
                if let Some(place) = state.open.iter().rposition(|open| Some(open.barrier) == barrier(inst)) {
                    self.changed |= self.broken.insert(state.open[place].by);
                    if inst.guard.is_none() && inst.op == Op::BREAK {
                        state.open.remove(place);
                    }
                }
            }
            Op::WARPSYNC_ALL | Op::WARPSYNC_COLLECTIVE_ALL => {
                state.gather(None);
                state.met = true;
            }
            Op::WARPSYNC | Op::WARPSYNC_EXCLUSIVE | Op::WARPSYNC_COLLECTIVE => {
                // Lanes of different masks continue apart.
                state.gather(None);
                state.part_by(inst.uses().map(|access| access.reg), index);
                state.met = true;
            }
            op if op.row().transfer == Transfer::ByLanes => state.met = true,
            Op::CALL => {
                let parts = match Callee::of(self.program, inst) {
                    Callee::At(start) => self.parts.get(&start),
                    Callee::Elsewhere | Callee::Any => None,
                };
                if let Some(parts) = parts {
                    state.met = false;
                    if parts.always {
                        state.parted = Some(index);
                    }
                    let masks = (0..PReg::COUNT).filter_map(PReg::from_dense);
                    state.part_by(masks.filter(|&reg| contains(&parts.by, reg)), index);
                }
                forget_results(state, self.writes.of_call(self.program, inst));
            }
            Op::CALL_INDIRECT => {
                if reads_uneven || self.parts.values().any(|parts| parts.always) {
                    (state.parted, state.met) = (Some(index), false);
                }
                forget_results(state, self.writes.of_call(self.program, inst));
            }
            // Lanes that take the branch are apart from the others, in a function whose caller
            // expects them together.
            _ if is_called && (guard_is_uneven || inst.jumps() && reads_uneven) && goes_elsewhere(inst) => {
                state.parted = first(state.parted, Some(index));
                state.met = false;
            }
            _ => {}
        }
        let is_apart = state.parted.is_some() || state.apart_by != Registers::default();
        if inst.op.row().transfer == Transfer::Return && is_apart {
            let parts = self.parts.entry(self.blocks[entry as usize].insts.start).or_default();
            let before = parts.clone();
            parts.always |= state.parted.is_some();
            unite(&mut parts.by, &state.apart_by);
            self.changed |= *parts != before;
        }
        let asks =
            exchanges(inst.op) && !is_active_mask(inst) && !self.is_test(index) || inst.op == Op::BAR_RED;
        let after_call = |&cause: &u32| is_call(self.program.insts[cause as usize].inst.op);
        if let Some(cause) = state.parted.filter(after_call)
            && asks
            && !state.met
        {
            self.hazards.insert((index, cause));
        }
        if !is_call(inst.op) {
            // The result of a vote or a barrier is the same for all lanes that are there.
            let agreed = matches!(inst.op, Op::VOTE | Op::B2R);
            let uneven = !agreed && (reads_uneven || is_source(self.program, inst));
            self.define(state, inst, uneven, guard_is_uneven);
        }
    }

    /// Lanes that opened a barrier together are together again, unless some have left.
    fn meet(&self, state: &mut State, inst: &Inst<PReg>) {
        let Some(barrier) = barrier(inst) else { return };
        let Some(place) = state.open.iter().rposition(|open| open.barrier == barrier) else { return };
        if !self.broken.contains(&state.open[place].by) {
            state.gather(state.open[place].parted);
        }
        state.open.truncate(place);
    }

    /// Whether an instruction finds the lanes that a later `BRA.DIV` or `BRA.CONV` tests.
    fn is_test(&self, index: u32) -> bool {
        let op = self.program.insts[index as usize].inst.op;
        let later = self.program.insts.iter().skip(index as usize + 1).take(TEST_LENGTH);
        (op == Op::REDUX || is_match(op))
            && later.into_iter().any(|coded| coded.inst.op.row().transfer == Transfer::ByLanes)
    }

    fn define(&self, state: &mut State, inst: &Inst<PReg>, uneven: bool, guard_is_uneven: bool) {
        for access in inst.defs() {
            for reg in covers(access.reg, access.width).filter(|reg| !reg.file().is_uniform()) {
                if uneven || guard_is_uneven {
                    insert(&mut state.uneven, reg);
                } else if inst.guard.is_none() {
                    remove(&mut state.uneven, reg);
                }
                remove(&mut state.received, reg);
            }
        }
    }
}

/// The registers of a tuple.
pub(super) fn covers(reg: PReg, width: u8) -> impl Iterator<Item = PReg> {
    (0..width).filter_map(move |n| reg.offset(n))
}

fn predicates() -> impl Iterator<Item = PReg> {
    (0..RegFile::Pred.count()).map(PReg::p)
}

/// The results of a callee may differ between lanes. Both NVIDIA's convention and ours return them
/// from R4 on. NVIDIA's preserves the registers from R16 on, ours those that the callee does not
/// write.
fn forget_results(state: &mut State, written: &Registers) {
    let results = (4..16).map(PReg::r).filter(|&reg| contains(written, reg));
    results.for_each(|reg| insert(&mut state.uneven, reg));
}

/// Whether some lanes may take another way than the others at an instruction, other than by ending.
fn goes_elsewhere(inst: &Inst<PReg>) -> bool {
    match inst.row().transfer {
        Transfer::ByLanes => false,
        Transfer::Return => true,
        Transfer::Plain | Transfer::Call => inst.jumps(),
    }
}

/// Whether a vote only asks for the active lanes.
fn is_active_mask(inst: &Inst<PReg>) -> bool {
    let is_true = |kind: &OperandKind<PReg>| matches!(kind, OperandKind::Zero(file) if file.is_predicate());
    matches!(inst.op, Op::VOTE | Op::VOTEU)
        && inst.get(slot_name!("ps")).is_some_and(|source| is_true(&source.kind))
}

/// Whether the results of an instruction may differ between lanes, whatever its operands are.
fn is_source(program: &Program, inst: &Inst<PReg>) -> bool {
    let special = inst.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Special(special) => Some(special.name(program.arch)),
        _ => None,
    });
    let of_lane = |name: &str| {
        ["SR_TID", "SR_LANE", "SR_CLOCK"].iter().any(|start| name.starts_with(start))
            || name.ends_with("MASK")
    };
    special.is_some_and(of_lane)
        || inst.op == Op::SHFL
        || is_match(inst.op)
        || inst.row().mnemonic.starts_with("ATOM")
}
