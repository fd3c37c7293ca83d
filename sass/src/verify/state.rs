//! What is under way at a point of the program.

use smallvec::SmallVec;

use super::{Hazard, HazardKind, Lack, Order};
use crate::arch::Arch;
use crate::control::Control;
use crate::inst::{Access, AccessRole, Inst};
use crate::issue::DRAIN;
use crate::latency::{Ahead, Dependence, Side, latency, reads_at_issue, settled};
use crate::memory_order::{Space, space};
use crate::operand::OperandKind;
use crate::program::{Coded, Program};
use crate::register::{PReg, RegFile, Register};
use crate::return_order::{LEAST_BRANCH, reads_behind, returns_behind, tells_space_early};
use crate::table::{BarrierResult, Completion, ModKind, Op, Pipe};

/// The age, in cycles, at which a fixed-latency access can no longer be too young for anyone: above every
/// entry of the latency tables.
pub(super) const HORIZON: u8 = 40;

/// The age from which a scoreboard counts an instruction.
const VISIBLE: u8 = 2;

const SCOREBOARDS: usize = Control::SCOREBOARDS as usize;

/// An access of an instruction of fixed latency that is younger than [`HORIZON`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fixed {
    /// [`PReg::dense`] of the register.
    reg: u16,
    /// Whether it is a result.
    write: bool,
    producer: u32,
    slot: u8,
    component: u8,
    /// Cycles since issue on the shortest path.
    age: u8,
    /// Whether the predicate that guards it has not been written since; told of NVIDIA's code alone.
    is_guard_kept: bool,
}

/// An unfinished access of an instruction that announces the end of it by scoreboards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    reg: u16,
    write: bool,
    /// The scoreboards that its instruction sets to announce the end of it.
    scoreboards: u8,
    /// Those that its instruction, or a later one that can't overtake it, has set, but that do not count it yet: of
    /// age 0 and of age 1.
    young: [u8; VISIBLE as usize],
    /// How often each scoreboard counts such instructions, which are all under way as long as it is.
    counts: [u8; SCOREBOARDS],
    /// Such an access's instruction.
    producer: u32,
    /// Whether the predicate that guards it has not been written since; told of NVIDIA's code alone.
    is_guard_kept: bool,
}

impl Pending {
    fn key(&self) -> (u16, bool, u8, [u8; VISIBLE as usize], u8, bool) {
        (self.reg, self.write, self.scoreboards, self.young, self.counted(), self.is_guard_kept)
    }

    /// The scoreboards that count it, or what can't overtake it.
    fn counted(&self) -> u8 {
        let counting = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counting.fold(0, |mask, (scoreboard, _)| mask | 1 << scoreboard)
    }

    /// The scoreboards that were set too lately to count it.
    fn set_lately(&self) -> u8 {
        self.young.into_iter().fold(0, |mask, young| mask | young)
    }

    /// Whether waiting for these scoreboards ends it.
    fn is_ended_by(&self, waits: u8) -> bool {
        self.counted() & waits != 0
    }

    /// Whether it is over when `DEPBAR.LE` finds that the scoreboard counts no more than `left`: were it not, neither would
    /// be the others that are counted behind it. That instruction looks late enough to see all that were issued before it.
    fn is_ended_below(&self, scoreboard: u32, left: u32) -> bool {
        let Some(&count) = self.counts.get(scoreboard as usize) else { return false };
        let young = self.young.into_iter().filter(|young| young >> scoreboard & 1 != 0).count();
        usize::from(count) + young > left as usize
    }

    /// A cycle passes.
    fn pass(&mut self) {
        let [youngest, young] = self.young;
        for (scoreboard, count) in self.counts.iter_mut().enumerate() {
            *count = count.saturating_add(young >> scoreboard & 1);
        }
        self.young = [0, youngest];
    }

    /// Makes one of those with the same key: what both count is under way in each.
    fn merge(pending: &mut Vec<Pending>) {
        pending.sort_by_key(|p| (p.key(), p.producer));
        pending.dedup_by(|next, kept| {
            let is_same = next.key() == kept.key();
            if is_same {
                kept.counts.iter_mut().zip(next.counts).for_each(|(kept, next)| *kept = next.min(*kept));
            }
            is_same
        });
    }
}

impl Fixed {
    fn key(&self) -> (u16, bool, u32, u8, u8, bool) {
        (self.reg, self.write, self.producer, self.slot, self.component, self.is_guard_kept)
    }
}

/// Groups of asynchronous copies that are under way and set the same scoreboards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Groups {
    /// The scoreboards that count them.
    scoreboards: u8,
    /// The instruction that made one of them.
    producer: u32,
}

/// A fence of the asynchronous view that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct View {
    /// The scoreboards that a wait for it names.
    scoreboards: u8,
    /// Cycles since the issue of the youngest with these, up to [`VISIBLE`].
    age: u8,
    /// The instruction of the youngest.
    producer: u32,
}

/// What is known of the barrier result of the warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum ResultState {
    /// Nothing: code in front of the function may have left one.
    #[default]
    Unknown,
    /// The last barrier left one.
    There,
    /// It may be that of an earlier barrier than the last, or of none: since this instruction.
    Lost(u32),
}

/// Everything under way, sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    fixed: Vec<Fixed>,
    pending: Vec<Pending>,
    /// By the number of an [`Ahead`], the last such instruction and its age, up to [`HORIZON`].
    ahead: [Option<(u32, u8)>; Ahead::ALL.len()],
    result: ResultState,
    /// By the scoreboards that they set.
    groups: SmallVec<[Groups; 1]>,
    /// Fences of the asynchronous view that are under way, likewise.
    views: SmallVec<[View; 1]>,
    /// An access to shared memory behind which no fence of the asynchronous view stands.
    unfenced: Option<u32>,
    order: Order,
}

impl State {
    /// What holds where paths meet: everything that is under way on any of them, as young as on the path
    /// where it is youngest. The cost is that of sorting what the paths bring.
    pub(super) fn join<'a>(order: Order, paths: impl Iterator<Item = &'a State>) -> State {
        let mut joined = State { order, ..State::default() };
        for path in paths {
            joined.fixed.extend(&path.fixed);
            joined.pending.extend(&path.pending);
            joined.groups.extend_from_slice(&path.groups);
            joined.views.extend_from_slice(&path.views);
            joined.unfenced = joined.unfenced.max(path.unfenced);
            for (mine, theirs) in joined.ahead.iter_mut().zip(path.ahead) {
                *mine = younger(*mine, theirs);
            }
            // The worst of all paths; of several culprits, the last in the program.
            joined.result = joined.result.max(path.result);
        }
        // Of several entries with one key the first stays.
        joined.fixed.sort_by_key(|f| (f.key(), f.age));
        joined.fixed.dedup_by_key(|f| f.key());
        Pending::merge(&mut joined.pending);
        joined.groups.sort_unstable();
        joined.groups.dedup_by_key(|groups| groups.scoreboards);
        joined.views.sort_unstable();
        joined.views.dedup_by_key(|views| views.scoreboards);
        joined
    }

    /// Issues an instruction: reports what it comes too soon for, and adds what it starts.
    pub(super) fn issue(&mut self, program: &Program, index: u32, report: &mut dyn FnMut(Hazard)) {
        let coded = &program.insts[index as usize];
        let control = &coded.control;
        if control.wait_mask != 0 {
            self.pending.retain(|p| !p.is_ended_by(control.wait_mask));
            self.views.retain(|view| view.scoreboards & control.wait_mask == 0 || view.age < VISIBLE);
        }
        let accesses = coded.inst.accesses();
        for access in &accesses {
            for component in 0..access.width {
                if let Some(reg) = access.reg.offset(component) {
                    self.check_access(program, index, access, reg, component, report);
                }
            }
        }
        self.check_ahead(program.arch, coded, index, report);
        self.check_result(coded, index, report);
        self.check_count(&coded.inst, index, report);
        self.check_views(&coded.inst, index, report);
        check_mode(program, index, report);
        check_reuse(coded, index, report);
        if control.check().is_err() {
            let (kind, lack) = (HazardKind::Format, Lack::Rule);
            report(Hazard { consumer: index, producer: index, kind, reg: None, lack });
        }
        self.start(program, index, &accesses);
        // A stall of 0 drains the warp.
        self.pass(match control.stall {
            0 => DRAIN,
            stall if self.order == Order::InOrder && coded.inst.row().effects.branch => {
                stall.max(LEAST_BRANCH)
            }
            stall => stall,
        });
        if control.stall == 0 && self.order == Order::InOrder {
            // Of what no scoreboard announces, too: unoptimised code of NVIDIA's assembler has none.
            self.pending.retain(|pending| pending.scoreboards != 0);
            self.views.retain(|view| view.scoreboards != 0);
        }
        if coded.inst.row().effects.boundary {
            self.leave(program, index, report);
        }
    }

    fn check_access(
        &self,
        program: &Program,
        index: u32,
        access: &Access<PReg>,
        reg: PReg,
        component: u8,
        report: &mut dyn FnMut(Hazard),
    ) {
        let dense = reg.dense() as u16;
        let writes = access.role == AccessRole::Def;
        let inst = &program.insts[index as usize].inst;
        let start = self.fixed.partition_point(|f| f.reg < dense);
        for fixed in self.fixed[start..].iter().take_while(|f| f.reg == dense) {
            let (dependence, kind) = match (fixed.write, writes) {
                (true, false) => (Dependence::Raw, HazardKind::Raw),
                (true, true) => (Dependence::Waw, HazardKind::Waw),
                (false, true) => (Dependence::War, HazardKind::War),
                (false, false) => continue,
            };
            let producer = &program.insts[fixed.producer as usize].inst;
            if fixed.is_guard_kept && are_complementary(producer, inst) {
                continue;
            }
            let from = Side { inst: producer, slot: fixed.slot, component: fixed.component };
            let to = Side { inst, slot: access.slot, component };
            let need = latency(program.arch, dependence, from, to).legal;
            if fixed.age < need {
                let lack = Lack::Cycles { need, have: fixed.age };
                report(Hazard { consumer: index, producer: fixed.producer, kind, reg: Some(reg), lack });
            }
        }
        let start = self.pending.partition_point(|p| p.reg < dense);
        for pending in self.pending[start..].iter().take_while(|p| p.reg == dense) {
            let kind = match (pending.write, writes) {
                (true, false) => HazardKind::Raw,
                (true, true) => HazardKind::Waw,
                (false, true) => HazardKind::War,
                (false, false) => continue,
            };
            let producer = &program.insts[pending.producer as usize].inst;
            if pending.is_guard_kept && are_complementary(producer, inst) {
                continue;
            }
            let is_behind = match kind {
                HazardKind::War => reads_behind(producer.op, inst.op),
                HazardKind::Waw => returns_behind(producer.op, inst.op),
                _ => false,
            };
            if self.order == Order::InOrder && is_behind {
                // The result comes later still than the reading of the instruction's own operands.
                continue;
            }
            let lack = Lack::Wait(pending.scoreboards);
            report(Hazard { consumer: index, producer: pending.producer, kind, reg: Some(reg), lack });
        }
    }

    fn check_ahead(&self, arch: Arch, coded: &Coded, index: u32, report: &mut dyn FnMut(Hazard)) {
        for ahead in Ahead::ALL {
            let Some((producer, have)) = self.ahead[ahead as usize] else { continue };
            let need = ahead.least(arch, &coded.inst);
            if have < need {
                let (kind, lack) = (HazardKind::of_ahead(ahead), Lack::Cycles { need, have });
                report(Hazard { consumer: index, producer, kind, reg: None, lack });
            }
        }
    }

    /// A wait until a scoreboard counts no more than so many: for groups of copies, whether the scoreboard counts all that
    /// are under way; what it ends of other accesses, which come back in order.
    fn check_count(&mut self, inst: &Inst<PReg>, index: u32, report: &mut dyn FnMut(Hazard)) {
        if inst.op != Op::DEPBAR_LE {
            return;
        }
        let imm = |name| match inst.get(name).map(|operand| operand.kind) {
            Some(OperandKind::Imm(bits)) => bits,
            _ => 0,
        };
        let (scoreboard, left) = (imm("scoreboard"), imm("n"));
        let named = 1u8.checked_shl(scoreboard).unwrap_or(0);
        // NVIDIA's assembler waits so for other accesses, too, while groups are under way.
        let is_of_accesses = self.order == Order::InOrder
            && self.groups.iter().all(|groups| groups.scoreboards & named == 0)
            && self.pending.iter().any(|pending| (pending.counted() | pending.set_lately()) & named != 0);
        // A guard may keep it from waiting.
        if inst.guard.is_none() {
            let also = imm("scoreboards") as u8;
            let order = self.order;
            // That more than none may be left, and which, relies on their order.
            let is_ended = |p: &Pending| match order {
                Order::InOrder => p.is_ended_below(scoreboard, left),
                Order::Own => left == 0 && p.is_ended_by(named),
            };
            self.pending.retain(|p| !is_ended(p) && !p.is_ended_by(also));
        }
        if is_of_accesses {
            return;
        }
        for groups in self.groups.iter().filter(|groups| groups.scoreboards & named == 0) {
            let (producer, kind, lack) = (groups.producer, HazardKind::LostGroup, Lack::Rule);
            report(Hazard { consumer: index, producer, kind, reg: None, lack });
        }
        if left == 0 && inst.guard.is_none() {
            self.groups.retain(|groups| groups.scoreboards & named == 0);
        }
    }

    /// What relies on the asynchronous view of memory: whether fences of it are over, and stand where they must.
    fn check_views(&mut self, inst: &Inst<PReg>, index: u32, report: &mut dyn FnMut(Hazard)) {
        let effects = inst.row().effects;
        if inst.op.awaits_view() || effects.boundary {
            for view in &self.views {
                let (kind, lack) = (HazardKind::UnawaitedFence, Lack::Wait(view.scoreboards));
                report(Hazard { consumer: index, producer: view.producer, kind, reg: None, lack });
            }
        }
        match inst.op {
            Op::SYNCS_EXCH if self.order == Order::Own => {
                if let Some(producer) = self.unfenced {
                    let (kind, lack) = (HazardKind::UnfencedExchange, Lack::Rule);
                    report(Hazard { consumer: index, producer, kind, reg: None, lack });
                }
            }
            Op::FENCE_VIEW_ASYNC if inst.guard.is_none() && inst.modifier(ModKind::Mode) == ".S" => {
                self.unfenced = None;
            }
            op if matches!(space(op), Some(Space::Shared | Space::Generic)) => self.unfenced = Some(index),
            _ => {}
        }
    }

    /// The warp's barrier result: whether what reads it finds it, and what becomes of it.
    fn check_result(&mut self, coded: &Coded, index: u32, report: &mut dyn FnMut(Hazard)) {
        let effects = coded.inst.row().effects;
        match effects.barrier_result {
            BarrierResult::Read => {
                if let ResultState::Lost(producer) = self.result {
                    let (kind, lack) = (HazardKind::LostResult, Lack::Rule);
                    report(Hazard { consumer: index, producer, kind, reg: None, lack });
                }
            }
            BarrierResult::Set => self.result = ResultState::There,
            BarrierResult::Lost => self.result = ResultState::Lost(index),
            // A function that is called may leave a result, too, for a caller that knows of it.
            BarrierResult::Untouched if effects.boundary && self.result == ResultState::There => {
                self.result = ResultState::Lost(index);
            }
            BarrierResult::Untouched => {}
        }
    }

    /// Goes to another function, where nothing is known of what is under way, and in the case of a call comes back.
    fn leave(&mut self, program: &Program, index: u32, report: &mut dyn FnMut(Hazard)) {
        // Only our convention has functions settle; NVIDIA's assembler knows what its own leave under way.
        if self.order == Order::Own {
            self.check_settled(program, index, report);
        }
        // Where a guard keeps it here, all is as it was.
        if program.insts[index as usize].inst.guard.is_none() {
            // What is called may access shared memory.
            *self =
                State { order: self.order, result: self.result, unfenced: Some(index), ..State::default() };
        }
    }

    /// Whether nothing is under way any more.
    fn check_settled(&self, program: &Program, index: u32, report: &mut dyn FnMut(Hazard)) {
        let kind = HazardKind::Boundary;
        for fixed in &self.fixed {
            let inst = &program.insts[fixed.producer as usize].inst;
            let side = Side { inst, slot: fixed.slot, component: fixed.component };
            let need = settled(program.arch, side, fixed.write).legal;
            if fixed.age < need {
                let lack = Lack::Cycles { need, have: fixed.age };
                let reg = PReg::from_dense(fixed.reg.into());
                report(Hazard { consumer: index, producer: fixed.producer, kind, reg, lack });
            }
        }
        for pending in &self.pending {
            let lack = Lack::Wait(pending.scoreboards);
            let reg = PReg::from_dense(pending.reg.into());
            report(Hazard { consumer: index, producer: pending.producer, kind, reg, lack });
        }
    }

    /// Adds the accesses of an instruction at age 0. A write ends what was known of the register.
    fn start(&mut self, program: &Program, index: u32, accesses: &[Access<PReg>]) {
        let (arch, coded) = (program.arch, &program.insts[index as usize]);
        let completion = coded.inst.completion(arch);
        let control = &coded.control;
        let write = control.write_barrier.map_or(0, |sb| 1 << sb);
        let read = control.read_barrier.map_or(0, |sb| 1 << sb);
        let is_guard_kept = self.order == Order::InOrder && coded.inst.guard.is_some();
        let mut fixed: SmallVec<[Fixed; 8]> = SmallVec::new();
        let mut pending: SmallVec<[Pending; 8]> = SmallVec::new();
        for access in accesses {
            let is_def = access.role == AccessRole::Def;
            for component in 0..access.width {
                let Some(reg) = access.reg.offset(component) else { continue };
                let late = match access.role {
                    AccessRole::Def => completion == Completion::Variable,
                    AccessRole::Use => !reads_at_issue(arch, &coded.inst, reg.file()),
                    AccessRole::Guard => false,
                };
                let by_read = self.order == Order::InOrder
                    && reg.file() == RegFile::Pred
                    && tells_space_early(coded.inst.op);
                let reg = reg.dense() as u16;
                if late {
                    let scoreboards = if is_def && !by_read { write } else { write | read };
                    pending.push(Pending {
                        reg,
                        write: is_def,
                        scoreboards,
                        young: [scoreboards, 0],
                        counts: Default::default(),
                        producer: index,
                        is_guard_kept,
                    });
                } else {
                    let slot = access.slot;
                    fixed.push(Fixed {
                        reg,
                        write: is_def,
                        producer: index,
                        slot,
                        component,
                        age: 0,
                        is_guard_kept,
                    });
                }
            }
        }
        if self.order == Order::InOrder {
            if write | read != 0 {
                self.follow(program, &coded.inst, write, read);
            }
            self.change_guards(program, &coded.inst);
        }
        if coded.inst.guard.is_none() {
            let written = fixed.iter().filter(|f| f.write).map(|f| f.reg);
            let written = written.chain(pending.iter().filter(|p| p.write).map(|p| p.reg));
            for reg in written.collect::<SmallVec<[u16; 8]>>() {
                self.forget(reg);
            }
        }
        for new in fixed {
            match self.fixed.binary_search_by_key(&new.key(), Fixed::key) {
                Ok(at) => self.fixed[at].age = 0,
                Err(at) => self.fixed.insert(at, new),
            }
        }
        for new in pending {
            match self.pending.binary_search_by_key(&new.key(), Pending::key) {
                Ok(at) => self.pending[at] = new,
                Err(at) => self.pending.insert(at, new),
            }
        }
        let waits = matches!(coded.inst.op, Op::BAR_SYNC | Op::BAR_RED);
        if self.order == Order::InOrder && waits && coded.inst.guard.is_none() {
            // All before it has been done in shared memory, so that it has read its operands; so have earlier barriers.
            let is_read = |p: &Pending| {
                let op = program.insts[p.producer as usize].inst.op;
                let is_earlier = op.row().pipe == Pipe::Lsu || (op.is_cta_barrier() && p.producer != index);
                !p.write && is_earlier
            };
            self.pending.retain(|pending| !is_read(pending));
        }
        // `UTMACMDFLUSH` makes no group behind `UTMACCTL`, where ptxas gives it any scoreboard.
        let is_counted = coded.inst.op == Op::UTMACMDFLUSH && write | read != 0;
        if coded.inst.op.commits_copies() && !is_counted {
            let new = Groups { scoreboards: write | read, producer: index };
            self.groups.retain(|groups| groups.scoreboards != new.scoreboards);
            self.groups.push(new);
            self.groups.sort_unstable();
        }
        if coded.inst.op == Op::FENCE_VIEW_ASYNC {
            let new = View { scoreboards: write, age: 0, producer: index };
            self.views.retain(|view| view.scoreboards != new.scoreboards);
            self.views.push(new);
            self.views.sort_unstable();
        }
        if let Some(ahead) = Ahead::of(&coded.inst) {
            self.ahead[ahead as usize] = Some((index, 0));
        }
    }

    /// An instruction sets scoreboards that announce, too, the end of what it can't overtake.
    fn follow(&mut self, program: &Program, inst: &Inst<PReg>, write: u8, read: u8) {
        for pending in &mut self.pending {
            let earlier = program.insts[pending.producer as usize].inst.op;
            if pending.write && returns_behind(earlier, inst.op) {
                pending.young[0] |= write;
            }
            if !pending.write && reads_behind(earlier, inst.op) {
                pending.young[0] |= write | read;
            }
        }
        Pending::merge(&mut self.pending);
    }

    /// The predicates that an instruction writes are no longer those that guarded what is under way.
    fn change_guards(&mut self, program: &Program, inst: &Inst<PReg>) {
        for written in inst.defs().filter(|def| matches!(def.reg.file(), RegFile::Pred | RegFile::Upred)) {
            let guarded_by = |producer: u32| {
                program.insts[producer as usize].inst.guard.is_some_and(|guard| guard.reg == written.reg)
            };
            self.fixed.iter_mut().filter(|f| guarded_by(f.producer)).for_each(|f| f.is_guard_kept = false);
            self.pending.iter_mut().filter(|p| guarded_by(p.producer)).for_each(|p| p.is_guard_kept = false);
            self.fixed.sort_by_key(|f| (f.key(), f.age));
            self.fixed.dedup_by_key(|f| f.key());
            Pending::merge(&mut self.pending);
        }
    }

    /// Forgets a register that is overwritten: whoever comes later depends on the overwriting instruction,
    /// which has itself been checked against what was under way.
    fn forget(&mut self, reg: u16) {
        let start = self.fixed.partition_point(|f| f.reg < reg);
        let end = self.fixed.partition_point(|f| f.reg <= reg);
        self.fixed.drain(start..end);
        let start = self.pending.partition_point(|p| p.reg < reg);
        let end = self.pending.partition_point(|p| p.reg <= reg);
        self.pending.drain(start..end);
    }

    /// Lets cycles pass.
    fn pass(&mut self, cycles: u8) {
        self.fixed.retain_mut(|f| {
            f.age = f.age.saturating_add(cycles);
            f.age < HORIZON
        });
        // For those that no scoreboard is about to count, nothing changes.
        for pending in self.pending.iter_mut().filter(|pending| pending.young != [0; VISIBLE as usize]) {
            for _ in 0..cycles.min(VISIBLE) {
                pending.pass();
            }
        }
        for view in &mut self.views {
            view.age = view.age.saturating_add(cycles).min(VISIBLE);
        }
        for ahead in &mut self.ahead {
            *ahead = ahead.map(|(index, age)| (index, age.saturating_add(cycles)));
            *ahead = ahead.filter(|&(_, age)| age < HORIZON);
        }
    }
}

/// Whether the guards of two instructions exclude each other, in each lane, as long as the predicate is not written
/// between them. NVIDIA's assembler relies on it.
fn are_complementary(a: &Inst<PReg>, b: &Inst<PReg>) -> bool {
    matches!((a.guard, b.guard), (Some(a), Some(b)) if a.reg == b.reg && a.negated != b.negated)
}

/// Of two instructions with their ages the younger one; of two as young, the first in the program.
fn younger(one: Option<(u32, u8)>, other: Option<(u32, u8)>) -> Option<(u32, u8)> {
    match (one, other) {
        (Some(a), Some(b)) => Some(if (a.1, a.0) <= (b.1, b.0) { a } else { b }),
        (a, b) => a.or(b),
    }
}

/// Trap handlers have a barrier of their own and no other.
fn check_mode(program: &Program, index: u32, report: &mut dyn FnMut(Hazard)) {
    let op = program.insts[index as usize].inst.op;
    if op.is_cta_barrier() && (op == Op::BAR_SYNCALL) != program.trap_handler {
        let (kind, lack) = (HazardKind::TrapMode, Lack::Rule);
        report(Hazard { consumer: index, producer: index, kind, reg: None, lack });
    }
}

fn check_reuse(coded: &Coded, index: u32, report: &mut dyn FnMut(Hazard)) {
    if coded.control.reuse == 0 {
        return;
    }
    for (position, slot) in coded.inst.row().slots.iter().enumerate() {
        let kept = slot.reuse.is_some_and(|bit| coded.control.reuse & (1 << bit) != 0);
        let Some(reg) = coded.inst.operands[position].as_reg().filter(|_| kept) else { continue };
        let kept_width = coded.inst.slot_width(position);
        let stale = coded.inst.defs().any(|def| {
            def.reg.file() == reg.file()
                && def.reg.index() < reg.index() + kept_width
                && reg.index() < def.reg.index() + def.width
        });
        if stale {
            let (kind, lack) = (HazardKind::StaleReuse, Lack::Rule);
            report(Hazard { consumer: index, producer: index, kind, reg: Some(reg), lack });
        }
    }
}
