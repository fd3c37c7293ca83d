//! Exchange between the lanes of a warp.
//!
//! In a converged block all lanes of the mask are there, and the mask has no instruction. Elsewhere a
//! `WARPSYNC` first brings the lanes of the mask together. Threads with masks of their own, such as one for
//! each half of the warp, are left to [`lane_groups`](super::lane_groups).
//!
//! ```text
//! v3 = vote.ballot v1, 0xffffffff     =>   VOTE.ANY %r3, PT, %p1
//! v3 = vote.all v1, 0x55555555        =>   WARPSYNC %r2; VOTE.ALL %p3, %p1      // in a divergent block
//! ```

use ptxc_ir::{
    FunctionKind, Inst as IrInst, MatchMode, Op as IrOp, ReduxOp, ShflMode, Type, Value, VoteMode,
};
use ptxc_sass::{Inst, Op, Operand, RegFile};

use super::lower::{Lower, Src};
use crate::mir::VReg;

impl Lower<'_> {
    pub(super) fn lower_warp(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let results = self.func.results(inst);
        match data.op {
            IrOp::WarpSync => self.gather_lanes(data.args.first()),
            IrOp::ActiveMask => {
                let to = self.def(results[0]);
                let vote = Inst::new(Op::VOTE).with(".ANY").ops([Operand::pt(), Operand::pt()]);
                self.emit(vote.slot("d", to));
            }
            IrOp::Vote(_) | IrOp::Match(_) | IrOp::Redux(_) if self.has_groups(data.args.get(1)) => {
                self.lower_of_groups(inst);
            }
            // `REDUX` answers in a uniform register.
            IrOp::Redux(_) if !self.may_write_uniform() => self.lower_of_groups(inst),
            IrOp::Vote(mode) => {
                let to = self.def(results[0]);
                self.gather_lanes(data.args.get(1));
                let ps = self.pred(data.args[0]);
                let vote = Inst::new(Op::VOTE);
                self.emit(match mode {
                    VoteMode::Ballot => vote.with(".ANY").ops([Operand::pt(), ps]).slot("d", to),
                    VoteMode::All => vote.with(".ALL").ops([to, ps]),
                    VoteMode::Any => vote.with(".ANY").ops([to, ps]),
                    VoteMode::Uni => vote.with(".EQ").ops([to, ps]),
                });
            }
            IrOp::Shfl(mode) => {
                let (to, in_range) = (self.def(results[0]), self.def(results[1]));
                self.gather_lanes(data.args.get(3));
                let text = match mode {
                    ShflMode::Idx => ".IDX",
                    ShflMode::Up => ".UP",
                    ShflMode::Down => ".DOWN",
                    ShflMode::Bfly => ".BFLY",
                };
                let from = self.gpr_value(data.args[0]);
                // The fields hold 5 and 13 bits.
                let lane = self.shuffle_operand(data.args[1], 0x1f);
                let clamp = self.shuffle_operand(data.args[2], 0x1fff);
                let shuffle = Inst::new(Op::SHFL).with(text).ops([to, from, lane, clamp]);
                self.emit(shuffle.slot("pd", in_range));
            }
            IrOp::Match(mode) => {
                let to = self.def(results[0]);
                self.gather_lanes(data.args.get(1));
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
                self.gather_lanes(data.args.get(1));
                let (mode, signed) = match op {
                    ReduxOp::Add => (".SUM", true),
                    ReduxOp::Smin => (".MIN", true),
                    ReduxOp::Smax => (".MAX", true),
                    ReduxOp::Umin => (".MIN", false),
                    ReduxOp::Umax => (".MAX", false),
                    ReduxOp::And => (".AND", false),
                    ReduxOp::Or => (".OR", false),
                    ReduxOp::Xor => (".XOR", false),
                };
                let a = self.gpr_value(data.args[0]);
                let result = Operand::reg(self.mir.new_vreg(RegFile::Ugpr, 1));
                let reduced = Inst::new(Op::REDUX).with(mode).ops([result, a]);
                self.emit(if signed { reduced.with(".S32") } else { reduced });
                self.emit(Inst::new(Op::MOV).ops([to, result]));
            }
            IrOp::Elect => {
                let (lane, elected) = (results[0], self.def(results[1]));
                self.gather_lanes(data.args.first());
                let elect = Inst::new(Op::ELECT);
                let nowhere = Operand::zero(RegFile::Ugpr);
                let is_needed = self.is_needed(lane);
                let number = match is_needed && self.may_write_uniform() {
                    true => Operand::reg(self.mir.new_vreg(RegFile::Ugpr, 1)),
                    false => nowhere,
                };
                self.emit(elect.ops([elected, number, Operand::pt()]));
                if is_needed {
                    let number = if number == nowhere { self.least_active_lane() } else { number };
                    let to = self.def(lane);
                    self.emit(Inst::new(Op::MOV).ops([to, number]));
                }
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

    /// Whether an instruction may answer in a uniform register: arms of a divergent branch share them, and a
    /// function that is called has none.
    fn may_write_uniform(&self) -> bool {
        self.func.kind != FunctionKind::Device && !self.mir.blocks[self.block].divergent
    }

    /// The least lane of those that are here, which is the one that `ELECT` elects.
    fn least_active_lane(&mut self) -> Operand<VReg> {
        let active = Operand::reg(self.temp());
        let vote = Inst::new(Op::VOTE).with(".ANY").ops([Operand::pt(), Operand::pt()]);
        self.emit(vote.slot("d", active));
        self.lowest_bit(active)
    }

    fn shuffle_operand(&mut self, value: Value, greatest: u32) -> Operand<VReg> {
        match self.src(value) {
            Src::Imm(bits) if bits != 0 && bits <= greatest => Operand::imm(bits),
            other => self.gpr(other),
        }
    }

    pub(super) fn gather_lanes(&mut self, mask: Option<&Value>) {
        let Some(&mask) = mask else { return };
        if !self.mir.blocks[self.block].divergent {
            return;
        }
        match self.src(mask) {
            Src::Imm(u32::MAX) => self.emit(Inst::new(Op::WARPSYNC_ALL)),
            other => {
                let mask = self.gpr(other);
                self.emit(Inst::new(Op::WARPSYNC).ops([mask]));
            }
        }
    }
}
