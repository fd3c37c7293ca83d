//! A walk through a block: the hazards of each instruction, and the accesses that it starts.

use super::arrival::{Unarrived, reads_as_matrix};
use super::fixed::{Fixed, FixedAccesses};
use super::groups::{self, GroupAccesses};
use super::pending::{Pending, PendingAccesses};
use super::state::{Groups, Others, ResultState, State, VISIBLE, View};
use super::{Hazard, HazardKind, Lack, Order};
use crate::inst::{AccessRole, Inst};
use crate::issue::DRAIN;
use crate::latency::{Ahead, Dependence, Side, latency, reads_at_issue, settled, until_overwritten};
use crate::memory_order::{Space, space};
use crate::operand::OperandKind;
use crate::program::{Coded, Program};
use crate::register::{PReg, RegFile, Register};
use crate::return_order::{LEAST_BRANCH, adds_to, reads_in_order, returns_in_order};
use crate::table::{BarrierResult, Completion, Group, GroupRole, Op, Pipe, SlotName};
use crate::{slot_name, value};

/// A single register that an instruction accesses.
#[derive(Clone, Copy, Debug)]
struct Touch {
    /// [`PReg::dense`] of the register.
    reg: u16,
    writes: bool,
    slot: u8,
    component: u8,
    /// Whether a scoreboard announces the end of it, or a later instruction awaits its group.
    late: bool,
}

/// The state while instructions issue one after the other.
pub(super) struct Walk<'a> {
    program: &'a Program,
    order: Order,
    fixed: FixedAccesses,
    pending: PendingAccesses,
    in_groups: GroupAccesses,
    others: Others,
    /// Whether the program has matrix products of warpgroups.
    has_products: bool,
    /// Whether any of `others` is so young that it matters.
    is_any_other_young: bool,
    /// The age from which any register that was read at issue may be overwritten.
    until_overwritten: u8,
    /// The accesses of the instruction that issues.
    touches: Vec<Touch>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(program: &'a Program, order: Order) -> Walk<'a> {
        Walk {
            program,
            order,
            fixed: FixedAccesses::new(),
            pending: PendingAccesses::default(),
            in_groups: GroupAccesses::default(),
            others: Others::default(),
            has_products: program.insts.iter().any(|coded| groups::is_product(&coded.inst)),
            is_any_other_young: false,
            until_overwritten: until_overwritten(program.arch),
            touches: Vec::new(),
        }
    }

    /// Begins a block with the state at its entry.
    pub(super) fn enter(&mut self, entry: &State) {
        self.fixed.restart(entry.fixed());
        self.pending.restart(entry.pending());
        self.in_groups.restart(entry.in_groups());
        self.others.clone_from(entry.others());
        self.is_any_other_young = true;
    }

    /// The current state.
    pub(super) fn state(&self) -> State {
        State::new(
            self.fixed.all().collect(),
            self.pending.all().to_vec(),
            self.in_groups.all().to_vec(),
            self.others.clone(),
        )
    }

    /// Issues an instruction: reports its hazards, and adds the accesses that it starts.
    pub(super) fn issue(&mut self, index: u32, report: &mut Vec<Hazard>) {
        if self.program.unknown_word(index).is_some() {
            // It may read, write and wait for anything, so nothing is known after it.
            return self.enter(&State::default());
        }
        let coded = &self.program.insts[index as usize];
        let control = &coded.control;
        let effects = coded.inst.row().effects;
        if control.wait_mask != 0 {
            self.pending.release(control.wait_mask);
            self.others.views.retain(|view| view.scoreboards & control.wait_mask == 0 || view.age < VISIBLE);
        }
        self.touch(&coded.inst);
        for &touch in &self.touches {
            self.check_access(&coded.inst, index, touch, report);
        }
        self.check_ahead(coded, index, report);
        self.check_result(coded, index, report);
        self.check_count(&coded.inst, index, report);
        self.check_views(&coded.inst, index, report);
        if self.has_products {
            self.check_arrival(&coded.inst, index, report);
        }
        self.check_granted(&coded.inst, index, report);
        check_mode(self.program, index, report);
        check_reuse(coded, index, report);
        if control.check().is_err() {
            let (kind, lack) = (HazardKind::Format, Lack::Rule);
            report.push(Hazard { consumer: index, producer: index, kind, reg: None, lack });
        }
        self.start(coded, index);
        // A stall of 0 drains the warp.
        self.pass(match control.stall {
            0 => DRAIN,
            stall if self.order == Order::InOrder && effects.branch => stall.max(LEAST_BRANCH),
            stall => stall,
        });
        if control.stall == 0 && self.order == Order::InOrder {
            // This includes accesses that no scoreboard announces: unoptimised code of NVIDIA's
            // assembler sets none.
            self.pending.retain(|pending| pending.scoreboards != 0);
            self.others.views.retain(|view| view.scoreboards != 0);
            self.others.groups.retain(|groups| groups.scoreboards != 0);
        }
        if effects.boundary {
            self.leave(index, report);
        }
    }

    /// Checks that the warp has the general registers that an instruction names.
    fn check_granted(&mut self, inst: &Inst<PReg>, index: u32, report: &mut Vec<Hazard>) {
        if let Some(count) = inst.granted_registers() {
            self.others.granted = Some((count, index));
            return;
        }
        let Some((count, producer)) = self.others.granted else { return };
        let lacks = |reg: PReg| reg.file() == RegFile::Gpr && u16::from(reg.index()) >= count;
        let named = self.touches.iter().filter_map(|touch| PReg::from_dense(touch.reg.into()));
        for reg in named.filter(|&reg| lacks(reg)) {
            let (kind, lack) = (HazardKind::Ungranted, Lack::Rule);
            report.push(Hazard { consumer: index, producer, kind, reg: Some(reg), lack });
        }
    }

    /// Fills in the accesses of an instruction.
    fn touch(&mut self, inst: &Inst<PReg>) {
        let arch = self.program.arch;
        let completion = inst.completion(arch);
        // A barrier of the CTA has read its operands when the next instruction issues: NVIDIA's assembler overwrites them
        // after 5 (sm_75) or 6 cycles, without a wait.
        let is_over = self.order == Order::InOrder && (blocks(inst.op) || inst.op == Op::BAR_ARV);
        let touches = &mut self.touches;
        touches.clear();
        inst.for_each_access(|access| {
            let role = access.role;
            let late = match role {
                AccessRole::Def => completion.is_unknown(),
                AccessRole::Use => {
                    completion != Completion::Fixed
                        && !is_over
                        && !reads_at_issue(arch, inst, access.reg.file())
                }
                AccessRole::Guard => false,
            };
            let (first, writes, slot) = (access.reg.dense() as u16, role == AccessRole::Def, access.slot);
            // Neighbours have neighbouring numbers.
            for component in 0..access.width.min(access.reg.file().count() - access.reg.index()) {
                touches.push(Touch { reg: first + u16::from(component), writes, slot, component, late });
            }
        });
        // As if it wrote them: accesses to them must be complete.
        let slot = inst.row().slots.len() as u8;
        for register in inst.returned_registers() {
            let reg = PReg::r(register as u8).dense() as u16;
            touches.push(Touch { reg, writes: true, slot, component: 0, late: false });
        }
    }

    fn check_access(&self, inst: &Inst<PReg>, index: u32, touch: Touch, report: &mut Vec<Hazard>) {
        let writes = touch.writes;
        let reg = || PReg::from_dense(touch.reg.into());
        for fixed in self.fixed.of(touch.reg) {
            let (dependence, kind) = match (fixed.write, writes) {
                (true, false) => (Dependence::Raw, HazardKind::Raw),
                (true, true) => (Dependence::Waw, HazardKind::Waw),
                (false, true) => (Dependence::War, HazardKind::War),
                (false, false) => continue,
            };
            let producer = &self.program.insts[fixed.producer as usize].inst;
            if fixed.is_guard_kept && are_complementary(producer, inst) {
                continue;
            }
            // A register that is given back twice is not written.
            if [producer, inst].into_iter().all(|inst| inst.op == Op::USETMAXREG_DEALLOC) {
                continue;
            }
            let from = Side { inst: producer, slot: fixed.slot, component: fixed.component };
            let to = Side { inst, slot: touch.slot, component: touch.component };
            let need = latency(self.program.arch, dependence, from, to).legal;
            if fixed.age < need {
                let lack = Lack::Cycles { need, have: fixed.age };
                report.push(Hazard { consumer: index, producer: fixed.producer, kind, reg: reg(), lack });
            }
        }
        for pending in self.pending.before(touch.reg, writes) {
            let kind = match (pending.write, writes) {
                (true, false) => HazardKind::Raw,
                (true, true) => HazardKind::Waw,
                (false, _) => HazardKind::War,
            };
            let producer = &self.program.insts[pending.producer as usize].inst;
            if pending.is_guard_kept && are_complementary(producer, inst) {
                continue;
            }
            let in_order = match kind {
                HazardKind::War => reads_in_order(producer.op, inst.op),
                HazardKind::Waw => returns_in_order(producer.op, inst.op),
                HazardKind::Raw => adds_to(producer.op, inst, touch.slot),
                _ => false,
            };
            if self.order == Order::InOrder && in_order {
                // The result is written even later than the instruction reads its own operands.
                continue;
            }
            let (producer, lack) = (pending.producer, Lack::Wait(pending.scoreboards));
            report.push(Hazard { consumer: index, producer, kind, reg: reg(), lack });
        }
        for access in self.in_groups.before(touch.reg, writes) {
            if access.accumulates && groups::accumulates(inst, touch.slot) {
                continue;
            }
            let kind = match (access.write, writes) {
                (true, false) => HazardKind::Raw,
                (true, true) => HazardKind::Waw,
                (false, _) => HazardKind::War,
            };
            let (producer, lack) = (access.producer, Lack::Group);
            report.push(Hazard { consumer: index, producer, kind, reg: reg(), lack });
        }
    }

    fn check_ahead(&self, coded: &Coded, index: u32, report: &mut Vec<Hazard>) {
        for ahead in Ahead::ALL {
            let Some((producer, have)) = self.others.ahead[ahead as usize] else { continue };
            let need = ahead.least(self.program.arch, &coded.inst);
            if have < need {
                let (kind, lack) = (HazardKind::of_ahead(ahead), Lack::Cycles { need, have });
                report.push(Hazard { consumer: index, producer, kind, reg: None, lack });
            }
        }
    }

    /// Checks a wait until a scoreboard counts at most a given number. For groups of copies, the
    /// scoreboard must count all groups that are under way. The wait also ends other accesses that
    /// return in order.
    fn check_count(&mut self, inst: &Inst<PReg>, index: u32, report: &mut Vec<Hazard>) {
        if inst.row().group != GroupRole::Await(Group::Elements) {
            return;
        }
        let imm = |name: SlotName| match inst.get(name).map(|operand| operand.kind) {
            Some(OperandKind::Imm(bits)) => bits,
            _ => 0,
        };
        let (scoreboard, left) = (imm(slot_name!("scoreboard")), imm(slot_name!("n")));
        let named = 1u8.checked_shl(scoreboard).unwrap_or(0);
        // NVIDIA's assembler also uses this wait for other accesses while groups are under way.
        let is_of_accesses = self.order == Order::InOrder
            && self.others.groups.iter().all(|groups| groups.scoreboards & named == 0)
            && self.pending.sets(named);
        // A guard may suppress the wait.
        if inst.guard.is_none() {
            let also = imm(slot_name!("scoreboards")) as u8;
            let order = self.order;
            // A count above zero tells which accesses are left only if they return in order.
            let is_ended = |p: &Pending| match order {
                Order::InOrder => p.is_ended_below(scoreboard, left),
                Order::Own => left == 0 && p.is_ended_by(named),
            };
            // `DEPBAR` looks at the other scoreboards as late as at the first.
            let is_young = |p: &Pending| order == Order::InOrder && p.is_young_by(also);
            self.pending.retain(|p| !is_ended(p) && !p.is_ended_by(also) && !is_young(p));
        }
        if is_of_accesses {
            return;
        }
        for groups in self.others.groups.iter().filter(|groups| groups.scoreboards & named == 0) {
            let (producer, kind, lack) = (groups.producer, HazardKind::LostGroup, Lack::Rule);
            report.push(Hazard { consumer: index, producer, kind, reg: None, lack });
        }
        if left == 0 && inst.guard.is_none() {
            self.others.groups.retain(|groups| groups.scoreboards & named == 0);
        }
    }

    /// Checks an instruction that relies on the asynchronous view of memory: the required fences
    /// must be there, and must be over.
    fn check_views(&mut self, inst: &Inst<PReg>, index: u32, report: &mut Vec<Hazard>) {
        let effects = inst.row().effects;
        if inst.op.row().awaits_view || effects.boundary {
            for view in &self.others.views {
                let (kind, lack) = (HazardKind::UnawaitedFence, Lack::Wait(view.scoreboards));
                report.push(Hazard { consumer: index, producer: view.producer, kind, reg: None, lack });
            }
        }
        match inst.op {
            Op::SYNCS_EXCH if self.order == Order::Own => {
                if let Some(producer) = self.others.unfenced {
                    let (kind, lack) = (HazardKind::UnfencedExchange, Lack::Rule);
                    report.push(Hazard { consumer: index, producer, kind, reg: None, lack });
                }
            }
            Op::FENCE_VIEW_ASYNC if inst.guard.is_none() && inst.is(value!(Mode = ".S")) => {
                self.others.unfenced = None;
            }
            op if matches!(space(op), Some(Space::Shared | Space::Generic)) => {
                self.others.unfenced = Some(index)
            }
            _ => {}
        }
    }

    /// Checks that the registers of a matrix product are visible to it: those that the last of the
    /// other instructions has written.
    fn check_arrival(&mut self, inst: &Inst<PReg>, index: u32, report: &mut Vec<Hazard>) {
        let unarrived = &mut self.others.unarrived;
        if groups::is_product(inst) {
            let read = self.touches.iter().filter(|touch| !touch.writes && reads_as_matrix(inst, touch.slot));
            let written: Vec<(u16, u32)> =
                read.filter_map(|touch| Some((touch.reg, unarrived.writer(touch.reg)?))).collect();
            self.touches.iter().filter(|touch| touch.writes).for_each(|touch| unarrived.forget(touch.reg));
            let Some(last) = written.iter().map(|&(_, producer)| producer).max() else { return };
            for (reg, producer) in written.into_iter().filter(|&(_, producer)| producer == last) {
                let (kind, reg, lack) = (HazardKind::Unarrived, PReg::from_dense(reg.into()), Lack::Rule);
                report.push(Hazard { consumer: index, producer, kind, reg, lack });
            }
        } else if inst.op == Op::WARPGROUP_ARRIVE && inst.guard.is_none() {
            let pending = &self.pending;
            unarrived.arrive(|reg| pending.writes(reg));
        } else {
            let is_general =
                |reg: u16| PReg::from_dense(reg.into()).is_some_and(|reg| reg.file() == RegFile::Gpr);
            for touch in self.touches.iter().filter(|touch| touch.writes && is_general(touch.reg)) {
                unarrived.write(touch.reg, index);
            }
        }
    }

    /// Checks that the warp's barrier result is there when it is read, and updates its state.
    fn check_result(&mut self, coded: &Coded, index: u32, report: &mut Vec<Hazard>) {
        let effects = coded.inst.row().effects;
        match effects.barrier_result {
            BarrierResult::Read => {
                if let ResultState::Lost(producer) = self.others.result {
                    let (kind, lack) = (HazardKind::LostResult, Lack::Rule);
                    report.push(Hazard { consumer: index, producer, kind, reg: None, lack });
                }
            }
            BarrierResult::Set => self.others.result = ResultState::There,
            BarrierResult::Lost => self.others.result = ResultState::Lost(index),
            // A called function may also leave a result for a caller that knows of it.
            BarrierResult::Untouched if effects.boundary && self.others.result == ResultState::There => {
                self.others.result = ResultState::Lost(index);
            }
            BarrierResult::Untouched => {}
        }
    }

    /// Goes to another function, which knows nothing about accesses under way, and, for a call,
    /// returns.
    fn leave(&mut self, index: u32, report: &mut Vec<Hazard>) {
        // Only our convention requires that accesses settle at calls; NVIDIA's assembler knows the
        // accesses that its own functions leave under way.
        let inst = &self.program.insts[index as usize].inst;
        // Where the lanes of a warp meet, its products go on. What follows is the code of this function.
        let meets =
            matches!(inst.op, Op::WARPSYNC_COLLECTIVE | Op::WARPSYNC_COLLECTIVE_ALL | Op::ENDCOLLECTIVE);
        if self.order == Order::Own {
            self.check_settled(index, !meets, report);
        }
        // If a guard suppresses the call, the state is unchanged.
        if inst.guard.is_none() {
            self.fixed.restart(&[]);
            self.pending.restart(&[]);
            if !meets {
                self.in_groups.restart(&[]);
            }
            // The callee may access shared memory.
            let Others { result, granted, unarrived, .. } = std::mem::take(&mut self.others);
            let unarrived = if meets { unarrived } else { Unarrived::default() };
            self.others = Others { result, unfenced: Some(index), granted, unarrived, ..Others::default() };
        }
    }

    /// Checks that nothing is under way any more; products of a warpgroup only on demand.
    fn check_settled(&self, index: u32, with_products: bool, report: &mut Vec<Hazard>) {
        let kind = HazardKind::Boundary;
        for fixed in self.fixed.all() {
            let need = self.settled(fixed.producer, fixed.slot, fixed.component, fixed.write);
            if fixed.age < need {
                let lack = Lack::Cycles { need, have: fixed.age };
                let reg = PReg::from_dense(fixed.reg.into());
                report.push(Hazard { consumer: index, producer: fixed.producer, kind, reg, lack });
            }
        }
        for pending in self.pending.all() {
            let lack = Lack::Wait(pending.scoreboards);
            let reg = PReg::from_dense(pending.reg.into());
            report.push(Hazard { consumer: index, producer: pending.producer, kind, reg, lack });
        }
        for access in self.in_groups.all().iter().filter(|_| with_products) {
            let reg = PReg::from_dense(access.reg.into());
            report.push(Hazard { consumer: index, producer: access.producer, kind, reg, lack: Lack::Group });
        }
    }

    /// The age from which an access of fixed latency is old enough for any code.
    fn settled(&self, producer: u32, slot: u8, component: u8, write: bool) -> u8 {
        let inst = &self.program.insts[producer as usize].inst;
        settled(self.program.arch, Side { inst, slot, component }, write).legal
    }

    /// Adds the accesses of an instruction at age 0. A write forgets the earlier accesses of the
    /// register: later instructions depend on the overwriting instruction, which has itself been
    /// checked against the earlier accesses.
    fn start(&mut self, coded: &Coded, index: u32) {
        let (inst, control) = (&coded.inst, &coded.control);
        let write = control.write_barrier.map_or(0, |sb| 1 << sb);
        let read = control.read_barrier.map_or(0, |sb| 1 << sb);
        if self.order == Order::InOrder {
            if write | read != 0 {
                self.follow(inst, write, read);
            }
            self.change_guards(inst);
        }
        if inst.guard.is_none() {
            for written in self.touches.iter().filter(|touch| touch.writes) {
                self.fixed.forget(written.reg);
                self.pending.forget(written.reg);
                self.in_groups.forget(written.reg);
            }
        }
        let is_guard_kept = self.order == Order::InOrder && inst.guard.is_some();
        for touch in &self.touches {
            let &Touch { reg, writes, slot, component, late } = touch;
            if late && groups::is_product(inst) {
                if writes || !groups::rewrites(inst, slot) {
                    let role = if writes { AccessRole::Def } else { AccessRole::Use };
                    self.in_groups.add(reg, role, groups::accumulates(inst, slot), index);
                }
            } else if late {
                let by_read = self.order == Order::InOrder && is_told_by_reads(inst.op, reg);
                let scoreboards = if writes && !by_read { write } else { write | read };
                self.pending.add(Pending::new(reg, writes, scoreboards, index, is_guard_kept));
            } else {
                let settled = match writes {
                    true => self.settled(index, slot, component, true),
                    false => self.until_overwritten,
                };
                let (write, producer) = (writes, index);
                let fixed = Fixed { reg, write, producer, slot, component, age: 0, settled, is_guard_kept };
                self.fixed.add(fixed);
            }
        }
        self.in_groups.issue(inst);
        self.start_others(coded, index, write, read);
    }

    /// Adds the effects that an instruction starts besides accesses of registers, and removes those
    /// that it ends.
    fn start_others(&mut self, coded: &Coded, index: u32, write: u8, read: u8) {
        let inst = &coded.inst;
        if self.order == Order::InOrder && blocks(inst.op) && inst.guard.is_none() {
            // All earlier accesses to shared memory are done, so they have read their operands; so
            // have earlier barriers.
            let program = self.program;
            self.pending.retain(|p| {
                let op = program.insts[p.producer as usize].inst.op;
                let is_earlier = op.row().pipe == Pipe::Lsu || (op.row().cta_barrier && p.producer != index);
                p.write || !is_earlier
            });
        }
        let others = &mut self.others;
        // After `UTMACCTL`, ptxas gives `UTMACMDFLUSH` any scoreboard, and it makes no group.
        let is_counted = inst.op == Op::UTMACMDFLUSH && write | read != 0;
        if matches!(inst.row().group, GroupRole::Commit(_)) && !is_counted {
            let new = Groups { scoreboards: write | read, producer: index };
            others.groups.retain(|groups| groups.scoreboards != new.scoreboards);
            others.groups.push(new);
            others.groups.sort_unstable();
        }
        if inst.op == Op::FENCE_VIEW_ASYNC {
            let new = View { scoreboards: write, age: 0, producer: index };
            // NVIDIA's assembler relies on the order of fences: of two in a row only the last sets a
            // scoreboard.
            let is_later = self.order == Order::InOrder && inst.guard.is_none();
            let is_replaced =
                |view: &View| view.scoreboards == new.scoreboards || (is_later && view.scoreboards == 0);
            others.views.retain(|view| !is_replaced(view));
            others.views.push(new);
            others.views.sort_unstable();
            self.is_any_other_young = true;
        }
        if let Some(ahead) = Ahead::of(inst) {
            others.ahead[ahead as usize] = Some((index, 0));
            self.is_any_other_young = true;
        }
    }

    /// An instruction sets scoreboards that also announce the end of accesses that it cannot
    /// overtake.
    fn follow(&mut self, inst: &Inst<PReg>, write: u8, read: u8) {
        let program = self.program;
        self.pending.follow(|pending| {
            let earlier = program.insts[pending.producer as usize].inst.op;
            match pending.write {
                true if returns_in_order(earlier, inst.op) => write,
                false if reads_in_order(earlier, inst.op) => write | read,
                _ => 0,
            }
        });
    }

    /// Records that an instruction overwrites predicates that guarded accesses under way.
    fn change_guards(&mut self, inst: &Inst<PReg>) {
        let program = self.program;
        inst.for_each_def(|written| {
            if written.reg.file().is_predicate() {
                let is_guarded = |producer: u32| {
                    program.insts[producer as usize].inst.guard.is_some_and(|guard| guard.reg == written.reg)
                };
                self.fixed.change_guards(is_guarded);
                self.pending.change_guards(is_guarded);
            }
        });
    }

    /// Lets cycles pass.
    fn pass(&mut self, cycles: u8) {
        self.fixed.pass(cycles);
        self.pending.pass(cycles);
        if self.is_any_other_young {
            self.is_any_other_young = self.others.pass(cycles);
        }
    }
}

/// Whether a thread waits at the CTA barrier.
fn blocks(op: Op) -> bool {
    matches!(op, Op::BAR_SYNC | Op::BAR_RED)
}

/// Whether the result in a register is there when the operands have been read.
fn is_told_by_reads(op: Op, reg: u16) -> bool {
    let is_predicate = || PReg::from_dense(reg.into()).is_some_and(|reg| reg.file() == RegFile::Pred);
    op.row().tells_space_early && is_predicate()
}

/// Whether the guards of two instructions exclude each other, in each lane, as long as the
/// predicate is not written between them. NVIDIA's assembler relies on it.
fn are_complementary(a: &Inst<PReg>, b: &Inst<PReg>) -> bool {
    matches!((a.guard, b.guard), (Some(a), Some(b)) if a.reg == b.reg && a.negated != b.negated)
}

/// Trap handlers have a barrier of their own and no other.
fn check_mode(program: &Program, index: u32, report: &mut Vec<Hazard>) {
    let op = program.insts[index as usize].inst.op;
    if op.row().cta_barrier && (op == Op::BAR_SYNCALL) != program.trap_handler {
        let (kind, lack) = (HazardKind::TrapMode, Lack::Rule);
        report.push(Hazard { consumer: index, producer: index, kind, reg: None, lack });
    }
}

fn check_reuse(coded: &Coded, index: u32, report: &mut Vec<Hazard>) {
    if coded.control.reuse == 0 {
        return;
    }
    for (position, slot) in coded.inst.row().slots.iter().enumerate() {
        let kept = slot.reuse.is_some_and(|bit| coded.control.reuse & (1 << bit) != 0);
        let Some(reg) = coded.inst.operands[position].as_reg().filter(|_| kept) else { continue };
        let kept_width = coded.inst.slot_width(position);
        let mut stale = false;
        coded.inst.for_each_def(|def| {
            stale |= def.reg.file() == reg.file()
                && def.reg.index() < reg.index() + kept_width
                && reg.index() < def.reg.index() + def.width;
        });
        if stale {
            let (kind, lack) = (HazardKind::StaleReuse, Lack::Rule);
            report.push(Hazard { consumer: index, producer: index, kind, reg: Some(reg), lack });
        }
    }
}
