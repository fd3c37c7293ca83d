//! Exchange between the lanes of a warp.
//!
//! The lanes that are there execute an exchange: the [gather pass](ptxc_ssa::gather) has made the
//! waits for other lanes explicit, and left a mask only if the result depends on it.
//! [`lane_groups`](super::lane_groups) handles threads with masks of their own, such as one for
//! each half of the warp, and the operations that sm_75 lacks.
//!
//! ```text
//! v3 = vote.ballot v1        =>   VOTE.ANY %r3, PT, %p1
//! warpsync v2                =>   WARPSYNC %r2
//! ```

use ptxc_ir::{
    FunctionKind, Inst as IrInst, MatchMode, Op as IrOp, ReduxOp, ShflMode, Type, Value, VoteMode,
};
use ptxc_machine::Feature;
use ptxc_sass::{Inst, Kinds, Op, Operand, RegFile, choice, slot, slot_name};
use ptxc_ssa::{gather, runtime};

use super::lower::Lower;
use super::source::Src;
use crate::mir::{MBlockId, VReg};

/// The most instructions of a function that answer in uniform registers where lanes may be apart.
const MOST_UNIFORM_ANSWERS: u32 = 40;
/// The same for a kernel that leaves its module: functions elsewhere
/// [preserve](crate::abi::platform::uniform_of_others) only nine registers that the kernel may use.
const MOST_KEPT_ANSWERS: u32 = 4;

impl Lower<'_> {
    pub(super) fn lower_warp(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let results = self.func.results(inst);
        match data.op {
            IrOp::WarpSync => self.lower_warpsync(data.args[0]),
            IrOp::WarpFence => self.keep_order(),
            IrOp::ActiveMask => {
                let to = self.def(results[0]);
                let vote =
                    Inst::new(Op::VOTE).with(choice!(VOTE, ".ANY")).ops([Operand::pt(), Operand::pt()]);
                self.emit(vote.slot(slot!(VOTE, "d"), to));
            }
            IrOp::Vote(_) | IrOp::Match(_) | IrOp::Redux(_) if self.has_groups(data.args.get(1)) => {
                self.lower_of_groups(inst);
            }
            // Without predicates a vote answers only with the lanes.
            IrOp::Vote(VoteMode::All | VoteMode::Any | VoteMode::Uni) | IrOp::Match(MatchMode::All)
                if !self.arch.has(Feature::VotePredicates) =>
            {
                self.lower_of_groups(inst);
            }
            // `REDUX` answers in a uniform register.
            IrOp::Redux(_) if !self.may_write_uniform() => self.lower_of_groups(inst),
            IrOp::Vote(mode) => {
                let to = self.def(results[0]);
                let ps = self.pred(data.args[0]);
                let vote = Inst::new(Op::VOTE);
                self.emit(match mode {
                    VoteMode::Ballot => {
                        vote.with(choice!(VOTE, ".ANY")).ops([Operand::pt(), ps]).slot(slot!(VOTE, "d"), to)
                    }
                    VoteMode::All => vote.with(choice!(VOTE, ".ALL")).ops([to, ps]),
                    VoteMode::Any => vote.with(choice!(VOTE, ".ANY")).ops([to, ps]),
                    VoteMode::Uni => vote.with(choice!(VOTE, ".EQ")).ops([to, ps]),
                });
            }
            IrOp::Shfl(mode) => {
                let (to, in_range) = (self.def(results[0]), self.def(results[1]));
                let text = match mode {
                    ShflMode::Idx => choice!(SHFL, ".IDX"),
                    ShflMode::Up => choice!(SHFL, ".UP"),
                    ShflMode::Down => choice!(SHFL, ".DOWN"),
                    ShflMode::Bfly => choice!(SHFL, ".BFLY"),
                };
                let from = self.gpr_value(data.args[0]);
                // The fields hold 5 and 13 bits.
                let lane = self.shuffle_operand(data.args[1], 0x1f);
                let clamp = self.shuffle_operand(data.args[2], 0x1fff);
                let shuffle = Inst::new(Op::SHFL).with(text).ops([to, from, lane, clamp]);
                self.emit(shuffle.slot(slot!(SHFL, "pd"), in_range));
            }
            IrOp::Match(mode) => {
                let to = self.def(results[0]);
                let wide = data.ty == Type::B64;
                let a = self.tuple(data.args[0]);
                match mode {
                    MatchMode::Any => {
                        let op = if wide { Op::MATCH_ANY_64 } else { Op::MATCH_ANY };
                        self.emit(Inst::new(op).ops([to, a]));
                    }
                    MatchMode::All => {
                        let op = if wide { Op::MATCH_ALL_64 } else { Op::MATCH_ALL };
                        let all = self.def(results[1]);
                        self.emit(Inst::new(op).ops([all, to, a]));
                    }
                }
            }
            IrOp::Redux(op) => {
                let to = self.def(results[0]);
                let (mode, signed) = match op {
                    ReduxOp::Add => (choice!(REDUX, Reduction = ".SUM"), false),
                    ReduxOp::Sadd => (choice!(REDUX, Reduction = ".SUM"), true),
                    ReduxOp::Smin => (choice!(REDUX, Reduction = ".MIN"), true),
                    ReduxOp::Smax => (choice!(REDUX, Reduction = ".MAX"), true),
                    ReduxOp::Umin => (choice!(REDUX, Reduction = ".MIN"), false),
                    ReduxOp::Umax => (choice!(REDUX, Reduction = ".MAX"), false),
                    ReduxOp::And => (choice!(REDUX, Reduction = ""), false),
                    ReduxOp::Or => (choice!(REDUX, Reduction = ".OR"), false),
                    ReduxOp::Xor => (choice!(REDUX, Reduction = ".XOR"), false),
                };
                let a = self.gpr_value(data.args[0]);
                let result = Operand::reg(self.mir.new_vreg(RegFile::Ugpr, 1));
                let reduced = Inst::new(Op::REDUX).with(mode).ops([result, a]);
                self.emit(if signed { reduced.with(choice!(REDUX, ".S32")) } else { reduced });
                self.emit(Inst::new(Op::MOV).ops([to, result]));
            }
            IrOp::Elect => {
                let (lane, elected) = (results[0], results[1]);
                let is_needed = self.is_needed(lane);
                let is_answered = is_needed && self.is_alone(inst) && self.may_write_uniform();
                let number = match is_answered {
                    true => Operand::reg(self.mir.new_vreg(RegFile::Ugpr, 1)),
                    false => Operand::zero(RegFile::Ugpr),
                };
                if is_answered || self.is_needed(elected) {
                    let elected = self.def(elected);
                    self.emit(Inst::new(Op::ELECT).ops([elected, number, Operand::pt()]));
                }
                if is_needed {
                    let number = if is_answered { number } else { self.least_active_lane() };
                    let to = self.def(lane);
                    self.emit(Inst::new(Op::MOV).ops([to, number]));
                }
            }
            IrOp::PmEvent { mask } => {
                self.emit(Inst::new(Op::PMTRIG).ops([Operand::imm(mask as u32)]));
            }
            IrOp::Nanosleep => {
                let time = match self.src(data.args[0]) {
                    Src::Imm(time) => Operand::imm(time),
                    other => self.gpr(other),
                };
                self.emit(Inst::new(Op::NANOSLEEP).ops([time]));
            }
            _ => {}
        }
    }

    /// Whether no other part of the warp can be at an election: the whole warp executes the block
    /// together, or lanes meet for the election, or they take turns in a loop that the whole warp
    /// enters together. Before the warp enters such a loop again, all lanes have left it.
    fn is_alone(&self, election: IrInst) -> bool {
        let is_together = |block: MBlockId| !self.mir.blocks[block].divergent;
        is_together(self.block)
            || self.is_collective()
            || self.met.contains(election)
            || self.cfg.preds(self.block).iter().all(|&from| from == self.block || is_together(from))
    }

    /// Whether an instruction may answer in a uniform register: a called function has none for
    /// this, a copied routine has [one](crate::abi::collective_answer). Arms of a divergent branch
    /// share these registers, but the allocator keeps the writes of one arm away from the other,
    /// and the lanes of one mask execute an operation only once. The number of such instructions is
    /// limited, since each has its own register for as long as lanes are apart.
    fn may_write_uniform(&mut self) -> bool {
        if self.func.kind == FunctionKind::Device {
            return self.is_collective();
        }
        if self.mir.blocks[self.block].divergent {
            self.uniform_answers += 1;
        }
        let most = if self.mir.header.leaves_module { MOST_KEPT_ANSWERS } else { MOST_UNIFORM_ANSWERS };
        self.uniform_answers <= most
    }

    /// The least active lane, which is the one that `ELECT` elects.
    fn least_active_lane(&mut self) -> Operand<VReg> {
        let active = Operand::reg(self.temp());
        let vote = Inst::new(Op::VOTE).with(choice!(VOTE, ".ANY")).ops([Operand::pt(), Operand::pt()]);
        self.emit(vote.slot(slot!(VOTE, "d"), active));
        self.lowest_bit(active)
    }

    fn shuffle_operand(&mut self, value: Value, greatest: u32) -> Operand<VReg> {
        match self.src(value) {
            Src::Imm(bits) if bits != 0 && bits <= greatest => Operand::imm(bits),
            other => self.gpr(other),
        }
    }

    /// Waits for the lanes of a mask. In a routine that is copied between `WARPSYNC.COLLECTIVE` and
    /// `ENDCOLLECTIVE`, the former has already waited.
    fn lower_warpsync(&mut self, mask: Value) {
        if self.is_collective() {
            return;
        }
        let takes_words = Op::WARPSYNC.row().accepts(slot_name!("mask"), Kinds::IMM, self.arch);
        let inst = match self.src(mask) {
            Src::Imm(u32::MAX) if Op::WARPSYNC_ALL.row().archs.contains(self.arch) => {
                Inst::new(Op::WARPSYNC_ALL)
            }
            Src::Imm(lanes) if takes_words => Inst::new(Op::WARPSYNC).ops([Operand::imm(lanes)]),
            other => {
                let mask = self.gpr(other);
                Inst::new(Op::WARPSYNC).ops([mask])
            }
        };
        self.emit(inst);
    }

    /// Whether the function is a routine in which lanes meet, which is copied instead of called.
    pub(super) fn is_collective(&self) -> bool {
        gather::has_collectives(self.arch)
            && self.func.kind == FunctionKind::Device
            && runtime::warp::is_warp_routine(&self.func.name)
    }
}
