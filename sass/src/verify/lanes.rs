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
//! lanes: the number of a thread and values loaded from differing addresses differ. A value that
//! depends only on such a branch counts as even, so that the check makes no false claim. (After
//! Coutinho et al., "Divergence Analysis and Optimizations", PACT 2011.)
//!
//! Arguments of a function differ at some of its calls. Therefore the analysis of a function keeps
//! apart what differs with any arguments and what differs only if arguments do. A call decides
//! between the two by the registers that the function reads.
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
    parted: Cause,
}

/// The instructions that may have parted lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cause {
    /// One that parts lanes whatever the function received.
    always: Option<u32>,
    /// One that parts lanes if values that the function received differ.
    by_caller: Option<u32>,
}

impl Cause {
    fn join(self, other: Cause) -> Cause {
        Cause { always: first(self.always, other.always), by_caller: first(self.by_caller, other.by_caller) }
    }
}

/// Whether a value differs between lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Evenness {
    Even,
    /// If values that the function received do.
    ByCaller,
    Uneven,
}

/// The state of the lanes before an instruction.
#[derive(Clone, PartialEq, Eq)]
struct State {
    /// The registers with values that may differ between lanes, whatever the function received.
    uneven: Registers,
    /// The registers with values that differ between lanes only if values that the function
    /// received do.
    by_caller: Registers,
    /// The registers that are as the function received them.
    received: Registers,
    /// The instruction that may have parted the lanes.
    parted: Cause,
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
        let mut by_caller = Registers::default();
        if is_called {
            // All lanes have the same stack pointer.
            let general = (0..RegFile::Gpr.count()).filter(|&number| number != 1).map(PReg::r);
            general.chain(predicates()).for_each(|reg| insert(&mut by_caller, reg));
        }
        let none = Registers::default();
        let (uneven, received, apart_by) = (none, by_caller, none);
        let parted = Cause::default();
        State { uneven, by_caller, received, parted, apart_by, met: false, open: SmallVec::new() }
    }

    fn evenness(&self, reg: PReg) -> Evenness {
        match () {
            () if contains(&self.uneven, reg) => Evenness::Uneven,
            () if contains(&self.by_caller, reg) => Evenness::ByCaller,
            () => Evenness::Even,
        }
    }

    /// The evenness of a value that depends on all of these registers.
    fn evenness_of(&self, regs: impl Iterator<Item = PReg>) -> Evenness {
        regs.map(|reg| self.evenness(reg)).max().unwrap_or(Evenness::Even)
    }

    /// A call or a barrier parts lanes for which a value of this evenness differs.
    fn part(&mut self, evenness: Evenness, index: u32) {
        match evenness {
            Evenness::Even => {}
            Evenness::ByCaller => self.parted.by_caller = Some(index),
            Evenness::Uneven => self.parted.always = Some(index),
        }
    }

    /// A register gets a value of this evenness.
    fn set(&mut self, reg: PReg, evenness: Evenness) {
        match evenness {
            Evenness::Even => {}
            Evenness::ByCaller => insert(&mut self.by_caller, reg),
            Evenness::Uneven => insert(&mut self.uneven, reg),
        }
    }

    /// An instruction parts lanes that have different values in these registers.
    fn part_by(&mut self, regs: impl Iterator<Item = PReg>, index: u32) {
        for reg in regs {
            if contains(&self.received, reg) {
                insert(&mut self.apart_by, reg);
            } else {
                self.part(self.evenness(reg), index);
            }
        }
    }

    /// All lanes that came together are together again.
    fn gather(&mut self, parted: Cause) {
        self.parted = parted;
        self.apart_by = Registers::default();
    }

    /// Joins the state of another path; returns whether anything changes.
    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        unite(&mut self.uneven, &other.uneven);
        unite(&mut self.by_caller, &other.by_caller);
        self.received.iter_mut().zip(&other.received).for_each(|(all, new)| *all &= new);
        unite(&mut self.apart_by, &other.apart_by);
        self.parted = self.parted.join(other.parted);
        self.met &= other.met;
        for (known, new) in self.open.iter_mut().zip(&other.open) {
            known.parted = known.parted.join(new.parted);
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

/// The effects of a function on the lanes that call it.
#[derive(Clone, Default, PartialEq, Eq)]
struct Parts {
    /// They return apart with any arguments.
    always: bool,
    /// They return apart if they have different values in any of the registers that it reads.
    by_values: bool,
    /// They return apart if they have different values in any of these registers.
    by: Registers,
    /// The registers that it reads as it received them. It may also save others.
    reads: Registers,
    /// The registers that differ when it returns, with any arguments.
    uneven: Registers,
    /// The registers that differ if they have different values in any of the registers that it
    /// reads.
    by_caller: Registers,
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
            state.gather(Cause::default());
            return;
        }
        let inst = &self.program.insts[index as usize].inst;
        let guard = state.evenness_of(inst.guard.iter().map(|guard| guard.reg));
        let uses = || inst.uses().flat_map(|access| covers(access.reg, access.width));
        let read = state.evenness_of(uses());
        if is_called && inst.op != Op::STL {
            self.read(entry, uses().filter(|&reg| contains(&state.received, reg)));
        }
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
                state.gather(Cause::default());
                state.met = true;
            }
            Op::WARPSYNC | Op::WARPSYNC_EXCLUSIVE | Op::WARPSYNC_COLLECTIVE => {
                // Lanes of different masks continue apart.
                state.gather(Cause::default());
                state.part_by(inst.uses().map(|access| access.reg), index);
                state.met = true;
            }
            op if op.row().transfer == Transfer::ByLanes => state.met = true,
            Op::CALL => {
                let callee = match Callee::of(self.program, inst) {
                    Callee::At(start) => Some(self.parts.get(&start).cloned().unwrap_or_default()),
                    Callee::Elsewhere | Callee::Any => None,
                };
                if let Some(parts) = &callee {
                    let arguments = state.evenness_of(members(&parts.reads));
                    if is_called {
                        self.read(entry, members(&parts.reads).filter(|&reg| contains(&state.received, reg)));
                    }
                    let parting = if parts.by_values { arguments } else { Evenness::Even };
                    if parts.always || parting != Evenness::Even || parts.by != Registers::default() {
                        state.met = false;
                    }
                    state.part(if parts.always { Evenness::Uneven } else { parting }, index);
                    state.part_by(members(&parts.by), index);
                }
                self.forget_results(state, inst, callee.as_ref());
            }
            Op::CALL_INDIRECT => {
                let parts = |parts: &Parts| {
                    let parting = if parts.by_values {
                        state.evenness_of(members(&parts.reads))
                    } else {
                        Evenness::Even
                    };
                    if parts.always { Evenness::Uneven } else { parting }
                };
                let parting = self.parts.values().map(parts).max().unwrap_or(Evenness::Even).max(read);
                if parting != Evenness::Even {
                    state.met = false;
                }
                state.part(parting, index);
                self.forget_results(state, inst, None);
            }
            // Lanes that take the branch are apart from the others, in a function whose caller
            // expects them together.
            _ if is_called && goes_elsewhere(inst) => {
                let condition = if inst.jumps() { guard.max(read) } else { guard };
                if condition != Evenness::Even {
                    let before = state.parted;
                    state.part(condition, index);
                    state.parted = state.parted.join(before);
                    state.met = false;
                }
            }
            _ => {}
        }
        if is_called && inst.op.row().transfer == Transfer::Return {
            let parts = self.parts.entry(self.start(entry)).or_default();
            let before = parts.clone();
            parts.always |= state.parted.always.is_some();
            parts.by_values |= state.parted.by_caller.is_some();
            unite(&mut parts.by, &state.apart_by);
            unite(&mut parts.uneven, &state.uneven);
            unite(&mut parts.by_caller, &state.by_caller);
            self.changed |= *parts != before;
        }
        let asks =
            exchanges(inst.op) && !is_active_mask(inst) && !self.is_test(index) || inst.op == Op::BAR_RED;
        let after_call = |&cause: &u32| is_call(self.program.insts[cause as usize].inst.op);
        let causes = [state.parted.always, state.parted.by_caller];
        if let Some(cause) = causes.into_iter().flatten().filter(after_call).min()
            && asks
            && !state.met
        {
            self.hazards.insert((index, cause));
        }
        if !is_call(inst.op) {
            // The result of a vote or a barrier is the same for all lanes that are there.
            let agreed = matches!(inst.op, Op::VOTE | Op::B2R);
            let result = match () {
                () if agreed => Evenness::Even,
                () if is_source(self.program, inst) => Evenness::Uneven,
                () => read,
            };
            self.define(state, inst, result, guard);
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

    fn define(&self, state: &mut State, inst: &Inst<PReg>, result: Evenness, guard: Evenness) {
        for access in inst.defs() {
            for reg in covers(access.reg, access.width).filter(|reg| !reg.file().is_uniform()) {
                if inst.guard.is_none() {
                    remove(&mut state.uneven, reg);
                    remove(&mut state.by_caller, reg);
                }
                state.set(reg, result.max(guard));
                remove(&mut state.received, reg);
            }
        }
    }

    /// The first instruction of the function that begins at a block.
    fn start(&self, entry: u32) -> u32 {
        self.blocks[entry as usize].insts.start
    }

    /// The function that begins at a block reads registers as it received them.
    fn read(&mut self, entry: u32, regs: impl Iterator<Item = PReg>) {
        let parts = self.parts.entry(self.blocks[entry as usize].insts.start).or_default();
        for reg in regs.filter(|reg| !reg.file().is_uniform()) {
            self.changed |= !contains(&parts.reads, reg);
            insert(&mut parts.reads, reg);
        }
    }

    /// The results of a callee may differ between lanes; if it is known, it tells which of them do.
    /// Both NVIDIA's convention and ours return them from R4 on. NVIDIA's preserves the registers
    /// from R16 on, ours those that the callee does not write.
    fn forget_results(&self, state: &mut State, call: &Inst<PReg>, callee: Option<&Parts>) {
        let written = self.writes.of_call(self.program, call);
        let arguments = callee.map(|parts| state.evenness_of(members(&parts.reads)));
        for reg in (4..16).map(PReg::r).filter(|&reg| contains(written, reg)) {
            let result = match callee.zip(arguments) {
                Some((parts, _)) if contains(&parts.uneven, reg) => Evenness::Uneven,
                Some((parts, arguments)) if contains(&parts.by_caller, reg) => arguments,
                Some(_) => Evenness::Even,
                None => Evenness::Uneven,
            };
            state.set(reg, result);
        }
    }
}

/// The registers of a tuple.
pub(super) fn covers(reg: PReg, width: u8) -> impl Iterator<Item = PReg> {
    (0..width).filter_map(move |n| reg.offset(n))
}

/// The registers of a set.
fn members(set: &Registers) -> impl Iterator<Item = PReg> + '_ {
    (0..PReg::COUNT).filter_map(PReg::from_dense).filter(|&reg| contains(set, reg))
}

fn predicates() -> impl Iterator<Item = PReg> {
    (0..RegFile::Pred.count()).map(PReg::p)
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

/// Whether the results of an instruction may differ between lanes, whatever its operands are. Those
/// of `MATCH` do not: lanes with the same value get the same mask.
fn is_source(program: &Program, inst: &Inst<PReg>) -> bool {
    let special = inst.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Special(special) => Some(special.name(program.arch)),
        _ => None,
    });
    let of_lane = |name: &str| {
        ["SR_TID", "SR_LANE", "SR_CLOCK"].iter().any(|start| name.starts_with(start))
            || name.ends_with("MASK")
    };
    special.is_some_and(of_lane) || inst.op == Op::SHFL || inst.row().mnemonic.starts_with("ATOM")
}
