//! Mbarriers.
//!
//! ```text
//! mbarrier_update.init.shared v1, 5                 =>   UMOV %ur4, …; UMOV %ur5, …; SYNCS.EXCH.64 URZ, [%ur1], %ur4
//! v3 = mbarrier_arrive.count.shared.release.cta v1, 1    SYNCS.ARRIVE.TRANS64.A1T0 %r3, [%r1+URZ], RZ
//! v4 = mbarrier_parity.try.acquire.cta v1, v2       =>   SHF.L.U32 %r5, %r2, 0x1f, RZ
//!                                                        SYNCS.PHASECHK.TRANS64.TRYWAIT %p4, [%r1+URZ], %r5
//! ```
//!
//! From sm_90 on a unit of its own, `SYNCS`, works on the word in memory; to make an mbarrier, it
//! exchanges the old word for a new one. That instruction takes only uniform registers: address and
//! count must be constants, or the same in all lanes. For older machines only `ATOMS.ARRIVE` and
//! `ARRIVES` are left here; the other operations have become atomics
//! ([`mbarrier_atomics`](ptxc_ssa::legalize::mbarrier_atomics)).
//!
//! The state of an arrival with `.noComplete` tells how many arrivals are awaited
//! (`mbarrier.pending_count`), so it must be the thread's own state, even if other lanes arrive in
//! the same instruction. With `.TMASK`, lanes of one address and count arrive as one; a thread
//! arrives after those of them that are below it:
//!
//! ```text
//! v3 = mbarrier_arrive.no_complete v1, v2   =>   SYNCS.ARRIVE.TRANS64.TMASK.ART0 %r4, [%r1+URZ], %r2     // lanes, upper word
//!                                                S2R %r5, SR_LTMASK; LOP3.LUT %r6, %r4, %r5, RZ, 0xc0, !PT; POPC %r7, %r6
//!                                                IMAD %r8, %r7, %r2, RZ; LEA %r3.1, %r8, %r4.1, 0xb
//! ```
//!
//! A wait beyond the CTA acquires only if it succeeds.

use ptxc_ir::op::{MbarrierArrive, MbarrierUpdate, MbarrierWait};
use ptxc_ir::{FunctionKind, Inst as IrInst, Op as IrOp, Order, Scope, ShflMode, Space, Value, ValueDef};
use ptxc_machine::Feature;
use ptxc_sass::{Address, Inst, Op, Operand, OperandKind, RegFile, SpecialReg, choice};
use ptxc_ssa::legalize::is_known;
use ptxc_ssa::runtime;

use super::lower::Lower;
use super::pool::Pooled;
use super::source::Src;
use crate::mir::{MInst, VReg};

/// The greatest number of arrivals plus one: an mbarrier counts up to it.
const FULL: u32 = 1 << 20;

/// The place of the number of arrivals that a phase awaits in the upper word, in bits from the
/// right.
const AWAITED_SHIFT: u32 = 11;

/// The truth table of `LOP3` for the conjunction of its first two inputs.
const LANES_OF_BOTH: u32 = 0xc0;

/// The word of a new mbarrier for `count` arrivals: expected from bit 1 on, awaited from bit 43 on.
const fn new_word(count: u32) -> u64 {
    let rest = FULL.wrapping_sub(count) as u64 & (2 * FULL as u64 - 1);
    (rest << 1) as u32 as u64 | ((rest << 11) as u32 as u64) << 32
}

/// How many operations an address is made of that is known, at most: a pack, two sums and an unpack of
/// a sum of two words.
const PARTS_OF_SUMS: u32 = 6;

impl Lower<'_> {
    pub(super) fn lower_mbarrier(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        match data.op {
            IrOp::AsyncArrive { noinc: true } => {
                let text = if self.arch.has(Feature::ArrivalKinds) {
                    choice!(ARRIVES, ".ARVCNT")
                } else {
                    choice!(ARRIVES, Mode = "")
                };
                let address = self.mbarrier_address(data.args[0]);
                self.emit(Inst::new(Op::ARRIVES).with(text).ops([address]));
            }
            IrOp::MbarrierArrive {
                kind: MbarrierArrive::Count,
                space: Space::Shared,
                order: Order::Relaxed,
                ..
            } if !self.arch.has(Feature::SyncUnit) => {
                let to = self.def(self.func.result(inst));
                let address = self.mbarrier_address(data.args[0]);
                self.emit(Inst::new(Op::ATOMS_ARRIVE).ops([to, address]));
            }
            ref op if !self.arch.has(Feature::SyncUnit) => {
                self.unsupported(op, "sm_90 is the first to have it")
            }
            IrOp::AsyncArrive { noinc: false } => {
                let address = self.mbarrier_address(data.args[0]);
                let more = Inst::new(Op::SYNCS_ARRIVE).with(choice!(SYNCS_ARRIVE, ".RED", ".A0T1"));
                self.emit(more.ops([Operand::rz(), address, Operand::rz()]));
                self.emit(Inst::new(Op::ARRIVES).with(choice!(ARRIVES, ".TRANSCNT")).ops([address]));
            }
            IrOp::MbarrierUpdate { update: MbarrierUpdate::Init, .. } => self.make_mbarrier(inst),
            IrOp::MbarrierUpdate { update, .. } => {
                let address = self.mbarrier_address(data.args[0]);
                let (kind, bytes) = match (update, self.src(data.args[1])) {
                    (MbarrierUpdate::ExpectTx, Src::Imm(1)) => {
                        (choice!(SYNCS_ARRIVE, ".A0T1"), Operand::rz())
                    }
                    (MbarrierUpdate::ExpectTx, bytes) => (choice!(SYNCS_ARRIVE, ".A0TR"), self.gpr(bytes)),
                    (_, bytes) => (choice!(SYNCS_ARRIVE, ".A0TX"), self.gpr(bytes)),
                };
                let made = Inst::new(Op::SYNCS_ARRIVE).with(choice!(SYNCS_ARRIVE, ".RED")).with(kind);
                self.emit(made.ops([Operand::rz(), address, bytes]));
            }
            IrOp::MbarrierInval => {
                let address = self.mbarrier_address(data.args[0]);
                self.emit(Inst::new(Op::SYNCS_CCTL_IV).ops([address]));
            }
            IrOp::MbarrierArrive { kind, space, .. } => self.arrive_at_mbarrier(inst, kind, space),
            IrOp::MbarrierState { wait, order, scope } => {
                let phase = self.half(data.args[1], 1);
                let phase = self.gpr(phase);
                self.ask_mbarrier(inst, wait, phase, order == Order::Acquire && scope != Scope::Cta);
            }
            IrOp::MbarrierParity { wait, order, scope } => {
                let phase = self.parity(data.args[1]);
                self.ask_mbarrier(inst, wait, phase, order == Order::Acquire && scope != Scope::Cta);
            }
            ref op => self.unsupported(op, "no instruction for it"),
        }
    }

    /// An address of `SYNCS` and `ARRIVES`: a general register or a uniform one.
    fn mbarrier_address(&mut self, address: Value) -> Operand<VReg> {
        // A parameter exists once for all lanes.
        if let src @ Src::Bank(_) = self.src(address)
            && let Some(reg) = self.any(src).as_reg().filter(|reg| reg.file().is_uniform())
        {
            return Operand::mem(Address { uniform: Some(reg), ..Address::narrow(None, 0) });
        }
        let made = self.narrow_address(Space::Shared, address, 0);
        Operand::mem(if made.base.is_some() { self.without_uniform_part(made) } else { made })
    }

    /// A parity in the top bit, where the unit expects it.
    fn parity(&mut self, parity: Value) -> Operand<VReg> {
        match self.src(parity) {
            Src::Imm(bits) => self.gpr(Src::Imm(bits << 31)),
            _ => {
                let (from, to) = (self.gpr_value(parity), Operand::reg(self.temp()));
                let shift = Inst::new(Op::SHF).with(choice!(SHF, ".L", ".U32"));
                self.emit(shift.ops([to, from, Operand::imm(31), Operand::rz()]));
                to
            }
        }
    }

    fn arrive_at_mbarrier(&mut self, inst: IrInst, kind: MbarrierArrive, space: Space) {
        let data = &self.func.insts[inst];
        let is_remote = space == Space::SharedCluster;
        let promises = matches!(kind, MbarrierArrive::NoComplete | MbarrierArrive::DropNoComplete);
        if promises && !is_remote && self.is_needed(self.func.result(inst)) {
            return self.arrive_with_lanes(inst, kind == MbarrierArrive::DropNoComplete);
        }
        let to = if is_remote { Operand::rz() } else { self.def(self.func.result(inst)) };
        let address = self.mbarrier_address(data.args[0]);
        let (drops, expects) = match kind {
            MbarrierArrive::Count | MbarrierArrive::NoComplete => (false, false),
            MbarrierArrive::ExpectTx => (false, true),
            MbarrierArrive::Drop | MbarrierArrive::DropNoComplete => (true, false),
            MbarrierArrive::DropExpectTx => (true, true),
        };
        let (mode, count) = match self.src(data.args[1]) {
            _ if expects => (choice!(SYNCS_ARRIVE, Mode = ""), self.gpr_value(data.args[1])),
            Src::Imm(1) => (choice!(SYNCS_ARRIVE, ".A1T0"), Operand::rz()),
            _ => (choice!(SYNCS_ARRIVE, ".ART0"), self.gpr_value(data.args[1])),
        };
        let made = Inst::new(Op::SYNCS_ARRIVE)
            .with(if is_remote {
                choice!(SYNCS_ARRIVE, Reduction = ".RED")
            } else {
                choice!(SYNCS_ARRIVE, Reduction = "")
            })
            .with(if drops {
                choice!(SYNCS_ARRIVE, Variant = ".OPTOUT")
            } else {
                choice!(SYNCS_ARRIVE, Variant = "")
            })
            .with(mode);
        self.emit(made.ops([to, address, count]));
    }

    /// An arrival whose state tells the number of arrivals that are awaited after this thread.
    fn arrive_with_lanes(&mut self, inst: IrInst, drops: bool) {
        let data = &self.func.insts[inst];
        let address = self.mbarrier_address(data.args[0]);
        let is_one = matches!(self.src(data.args[1]), Src::Imm(1));
        let count = self.gpr_value(data.args[1]);
        let group = self.mir.new_vreg(RegFile::Gpr, 2);
        let arrive = Inst::new(Op::SYNCS_ARRIVE)
            .with(choice!(SYNCS_ARRIVE, Reduction = ".TMASK"))
            .with(if drops {
                choice!(SYNCS_ARRIVE, Variant = ".OPTOUT")
            } else {
                choice!(SYNCS_ARRIVE, Variant = "")
            })
            .with(choice!(SYNCS_ARRIVE, Mode = ".ART0"));
        self.emit(arrive.ops([Operand::reg(group), address, count]));
        let [lanes, upper] = [0, 1].map(|half| Operand::reg(group.offset(half)));
        let [below, first, mut ahead] = [(); 3].map(|()| Operand::reg(self.temp()));
        self.emit(Inst::new(Op::S2R).ops([below, Operand::special(SpecialReg::LtMask)]));
        let both = Operand::imm(LANES_OF_BOTH);
        self.emit(Inst::new(Op::LOP3).ops([first, lanes, below, Operand::rz(), both]));
        self.emit(Inst::new(Op::POPC).ops([ahead, first]));
        if !is_one {
            let arrivals = Operand::reg(self.temp());
            self.emit(Inst::new(Op::IMAD).ops([arrivals, ahead, count, Operand::rz()]));
            ahead = arrivals;
        }
        let state = self.reg_of(self.func.result(inst));
        let [low, high] = [0, 1].map(|half| Operand::reg(state.offset(half)));
        // The lower word of a state is not read.
        self.emit(Inst::new(Op::MOV).ops([low, lanes]));
        self.emit(Inst::new(Op::LEA).ops([high, ahead, upper, Operand::imm(AWAITED_SHIFT)]));
    }

    fn ask_mbarrier(&mut self, inst: IrInst, wait: MbarrierWait, phase: Operand<VReg>, acquires: bool) {
        let data = &self.func.insts[inst];
        let result = self.func.result(inst);
        let address = self.mbarrier_address(data.args[0]);
        let past = match (self.def(result), wait) {
            (nobody, MbarrierWait::Test | MbarrierWait::Try) if !self.is_needed(result) && !acquires => {
                let ask = Inst::new(Op::SYNCS_PHASECHK).ops([nobody, address, phase]);
                return self.emit(if wait == MbarrierWait::Try {
                    ask.with(choice!(SYNCS_PHASECHK, ".TRYWAIT"))
                } else {
                    ask
                });
            }
            (to, _) => to.as_reg().unwrap_or_else(|| self.mir.new_vreg(RegFile::Pred, 1)),
        };
        let ask = |to: VReg| Inst::new(Op::SYNCS_PHASECHK).ops([Operand::reg(to), address, phase]);
        match wait {
            MbarrierWait::Test => self.emit(ask(past)),
            MbarrierWait::Try => self.emit(ask(past).with(choice!(SYNCS_PHASECHK, ".TRYWAIT"))),
            MbarrierWait::TryFor => {
                let first = self.mir.new_vreg(RegFile::Pred, 1);
                let limit = match self.src(data.args[2]) {
                    Src::Imm(limit) => Operand::imm(limit),
                    src => self.gpr(src),
                };
                self.emit(ask(first).with(choice!(SYNCS_PHASECHK, ".TRYWAIT")));
                self.emit(
                    Inst::new(Op::NANOSLEEP)
                        .with(choice!(NANOSLEEP, ".SYNCS"))
                        .ops([limit])
                        .guarded(first, true),
                );
                let mut again = MInst::new(ask(past).guarded(first, true), self.loc);
                again.tied.push((0, first));
                self.seq.push(again);
            }
        }
        if acquires {
            self.emit(Inst::new(Op::CCTL_IVALL).guarded(past, false));
        }
    }

    /// Whether all lanes that execute the block together have the same value: there is one lane, the
    /// value is known, it is uniform, or an elected lane has given its own to the others
    /// ([`lane_turns`](ptxc_ssa::legalize::lane_turns)). A block in which lanes may have parted may have
    /// a uniform value too: legalization knew the lanes together, where only a barrier of the warp in a
    /// block above brings them together now.
    pub(super) fn lanes_agree(&self, value: Value) -> bool {
        self.of_one_lane.contains(self.block) || self.lanes_agree_within(value, PARTS_OF_SUMS)
    }

    fn lanes_agree_within(&self, value: Value, depth: u32) -> bool {
        let value = self.resolve(value);
        if is_known(self.func, value)
            || self.bank_place(value).is_some()
            || matches!(self.src(value), Src::Shared(_))
            || self.uniformity.is_uniform(value)
        {
            return true;
        }
        let ValueDef::Result(inst, lane) = self.func.def(value) else { return false };
        let data = &self.func.insts[inst];
        match data.op {
            // A known sum of 64 bits is in parts by now.
            IrOp::Pack | IrOp::Unpack | IrOp::IaddCarryOut | IrOp::IaddCarryIn | IrOp::CacheHint => {
                let value = if data.op == IrOp::CacheHint { &data.args[..1] } else { &data.args[..] };
                depth > 0 && value.iter().all(|&part| self.lanes_agree_within(part, depth - 1))
            }
            IrOp::Shfl(ShflMode::Idx) if lane == 0 && data.args.len() == 3 => {
                let ValueDef::Result(election, 0) = self.func.def(data.args[1]) else { return false };
                let is_here = |inst: IrInst| self.home(inst) == Some(self.block);
                self.func.insts[election].op == IrOp::Elect && is_here(inst) && is_here(election)
            }
            _ => false,
        }
    }

    /// Whether there are uniform registers for operations that the machine does once per warp:
    /// those of a called function belong to its callers, except in the
    /// [routines](runtime::is_once_a_warp) for such operations.
    pub(super) fn may_do_once_a_warp(&self) -> bool {
        self.func.kind != FunctionKind::Device || runtime::is_once_a_warp(&self.func.name)
    }

    /// `SYNCS.EXCH.64`.
    fn make_mbarrier(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let (at, count) = (data.args[0], data.args[1]);
        let made = match self.mbarrier_address(at).kind {
            OperandKind::Mem(made) => made,
            _ => Address::narrow(None, 0),
        };
        let count = self.src(count);
        if !self.may_do_once_a_warp() {
            return self.unsupported(&data.op, "an mbarrier made in a function without uniform registers");
        }
        let needs_none = made.base.is_none() && matches!(count, Src::Imm(_));
        let agreed = self.lanes_agree(at) && self.lanes_agree(data.args[1]);
        if !needs_none && !agreed {
            return self.unsupported(&data.op, "an mbarrier for which lanes have no turns");
        }
        let word = match count {
            Src::Imm(count) => self.pooled(Pooled::UniformLong(new_word(count))),
            count => {
                let count = self.gpr(count);
                let rest = Operand::reg(self.temp());
                self.emit(Inst::new(Op::IADD3).ops([rest, count.neg(), Operand::imm(FULL), Operand::rz()]));
                let pair = self.mir.new_vreg(RegFile::Ugpr, 2);
                for (n, shift) in [1, 11].into_iter().enumerate() {
                    let half = Operand::reg(self.temp());
                    let shift_left = Inst::new(Op::SHF).with(choice!(SHF, ".L", ".U32"));
                    self.emit(shift_left.ops([half, rest, Operand::imm(shift), Operand::rz()]));
                    self.emit(Inst::new(Op::R2UR).ops([Operand::reg(pair.offset(n as u8)), half]));
                }
                pair
            }
        };
        let address = match made.base {
            None => made,
            Some(_) => {
                let Address { base, offset, .. } = made;
                let uniform = self.mir.new_vreg(RegFile::Ugpr, 1);
                let from = base.map_or(Operand::rz(), Operand::reg);
                self.emit(Inst::new(Op::R2UR).ops([Operand::reg(uniform), from]));
                Address { uniform: Some(uniform), ..Address::narrow(None, offset) }
            }
        };
        // Otherwise the unit would not see earlier ordinary accesses to the place. There are none since
        // the mbarrier before, if there is one.
        let has_fence = self.accesses_shared && self.after_mbarrier.contains(inst);
        if !has_fence && (made.base.is_some() || self.accesses_shared) {
            self.emit(Inst::new(Op::FENCE_VIEW_ASYNC).with(choice!(FENCE_VIEW_ASYNC, ".S")));
        }
        let none = Operand::zero(RegFile::Ugpr);
        self.emit(Inst::new(Op::SYNCS_EXCH).ops([none, Operand::mem(address), Operand::reg(word)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_what_ptxas_computes() {
        let rest: u32 = 0x10_0000 - 5;
        assert_eq!(new_word(5), u64::from(rest << 1) | u64::from(rest << 11) << 32);
    }
}
