//! Votes, matches and reductions of groups of lanes: each thread names the lanes of its own group.
//!
//! In: an operation whose mask differs between the threads that execute it together, such as one
//! for each half of the warp. Out: instructions that all groups execute at once. A thread is in its
//! own mask, and the lanes of a mask all execute the operation with that mask, so masks are equal
//! or disjoint.
//!
//! ```text
//! v3 = vote.ballot v1, v2     =>   VOTE.ANY %r4, PT, %p1; LOP3.LUT %r3, %r4, %r2, RZ, 0xc0, !PT
//! v3 = redux.add v1, v2       =>   five steps of SHFL and IADD3 along each group, then the first lane's sum
//! ```
//!
//! The answers of votes and of `MATCH.ANY` are masks; each thread keeps its group's lanes of them.
//! `REDUX` answers for all active lanes together, and is not used. Instead, each lane points at the
//! next of its group. In each step it adds the value of that lane, and then points where that lane
//! points. After step k a lane has the sum of 2^k lanes from itself on, so five steps suffice and
//! the first lane has the whole sum (pointer jumping: Hillis and Steele, Data parallel algorithms,
//! CACM 29(12), 1986). Ten `SHFL`, however many groups there are.
//!
//! NVIDIA's compiler lets one group after another run a `REDUX`, after `WARPSYNC.EXCLUSIVE`: that
//! takes fewer instructions for two groups, but more time for many.

use ptxc_ir::{Inst as IrInst, IntCond, MatchMode, Op as IrOp, ReduxOp, Type, Value, VoteMode};
use ptxc_machine::Feature;
use ptxc_sass::{Inst, Op, Operand, RegFile, SpecialReg, choice, slot};

use super::compare::{Combine, combination, isetp};
use super::lower::Lower;
use super::source::Src;
use crate::mir::VReg;

/// Truth tables of `LOP3` over its first two inputs.
const BOTH: u32 = 0xc0;
const SECOND_ONLY: u32 = 0x0c;
const EITHER: u32 = 0xfc;
const ONE_OF_TWO: u32 = 0x3c;

impl Lower<'_> {
    /// Whether threads that execute together may name different lanes, so that each set is a group
    /// of its own, or lanes outside of the mask may be there.
    pub(super) fn has_groups(&self, mask: Option<&Value>) -> bool {
        mask.is_some_and(|&mask| match self.src(mask) {
            Src::Imm(lanes) => !self.arch.has(Feature::MaskedDivergenceTest) && lanes != u32::MAX,
            _ => !self.is_collective() && !self.uniformity.is_uniform(mask),
        })
    }

    /// Lowers a vote, match or reduction. Its second argument, if it has one, is the mask of the
    /// thread's group; otherwise all lanes that are here form one group.
    pub(super) fn lower_of_groups(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let results = self.func.results(inst);
        let named = data.args.get(1).map(|&mask| self.any_value(mask));
        match data.op {
            IrOp::Vote(mode) => {
                let to = self.def(results[0]);
                let mask = match mode {
                    VoteMode::Ballot | VoteMode::Any => named,
                    VoteMode::All | VoteMode::Uni => Some(self.lanes_here(named)),
                };
                let ps = self.pred(data.args[0]);
                let all = self.fresh();
                self.emit(
                    Inst::new(Op::VOTE)
                        .with(choice!(VOTE, ".ANY"))
                        .ops([Operand::pt(), ps])
                        .slot(slot!(VOTE, "d"), all),
                );
                self.vote_of_group(mode, to, all, mask);
            }
            IrOp::Match(mode) => {
                let a = self.tuple(data.args[0]);
                let alike = self.fresh();
                let op = if data.ty == Type::B64 { Op::MATCH_ANY_64 } else { Op::MATCH_ANY };
                self.emit(Inst::new(op).ops([alike, a]));
                let to = self.def(results[0]);
                match mode {
                    MatchMode::Any => self.vote_of_group(VoteMode::Ballot, to, alike, named),
                    MatchMode::All => {
                        let mask = self.lanes_here(named);
                        // The answer selects the mask, even if the answer itself is not needed.
                        let all = match self.is_needed(results[1]) {
                            true => self.def(results[1]),
                            false => Operand::reg(self.mir.new_vreg(RegFile::Pred, 1)),
                        };
                        self.vote_of_group(VoteMode::All, all, alike, Some(mask));
                        self.emit(Inst::new(Op::SEL).ops([to, mask, Operand::rz(), all]));
                    }
                }
            }
            IrOp::Redux(op) => {
                let mask = self.lanes_here(named);
                let from = self.gpr_value(data.args[0]);
                let to = self.def(results[0]);
                self.reduce_group(op, to, from, mask);
            }
            _ => {}
        }
    }

    /// The lanes of a mask that are here: lanes that have exited, and lanes that a small CTA lacks,
    /// are in no group.
    fn lanes_here(&mut self, named: Option<Operand<VReg>>) -> Operand<VReg> {
        let active = self.fresh();
        let vote = Inst::new(Op::VOTE).with(choice!(VOTE, ".ANY")).ops([Operand::pt(), Operand::pt()]);
        self.emit(vote.slot(slot!(VOTE, "d"), active));
        let Some(named) = named else { return active };
        let mask = self.fresh();
        self.emit(logic(mask, active, named, BOTH));
        mask
    }

    /// The vote of a group's lanes among `all`. Without a mask all lanes are one group; a vote for
    /// all or uniformity always has a mask.
    fn vote_of_group(
        &mut self,
        mode: VoteMode,
        to: Operand<VReg>,
        all: Operand<VReg>,
        mask: Option<Operand<VReg>>,
    ) {
        let zero = Operand::rz();
        match (mode, mask) {
            (VoteMode::Ballot, Some(mask)) => self.emit(logic(to, all, mask, BOTH)),
            (VoteMode::Ballot, None) => self.emit(Inst::new(Op::MOV).ops([to, all])),
            (VoteMode::Any, Some(mask)) => {
                self.emit(logic(zero, all, mask, BOTH).slot(slot!(LOP3, "pd"), to))
            }
            (VoteMode::Any, None) => self.emit(isetp(to, IntCond::Ne, all, zero, Combine::none())),
            (VoteMode::All | VoteMode::Uni, mask) => {
                let mask = mask.unwrap_or(all);
                let mut combine = Combine::none();
                if mode == VoteMode::Uni {
                    let some = Operand::reg(self.mir.new_vreg(RegFile::Pred, 1));
                    self.emit(logic(zero, all, mask, BOTH).slot(slot!(LOP3, "pd"), some));
                    combine = Combine { mode: combination!(".OR"), ps: some.not() };
                }
                let missing = self.fresh();
                self.emit(logic(missing, all, mask, SECOND_ONLY));
                self.emit(isetp(to, IntCond::Eq, missing, zero, combine));
            }
        }
    }

    /// `to` = the reduction of `from` over the lanes of `mask`.
    fn reduce_group(&mut self, op: ReduxOp, to: Operand<VReg>, from: Operand<VReg>, mask: Operand<VReg>) {
        let [above, later] = [self.fresh(), self.fresh()];
        self.emit(Inst::new(Op::S2R).ops([above, Operand::special(SpecialReg::GtMask)]));
        self.emit(logic(later, above, mask, BOTH));
        // Minus one if no lane of the group comes later.
        let mut next = self.lowest_bit(later);
        let mut sum = from;
        let neutral = match op {
            ReduxOp::Add | ReduxOp::Sadd | ReduxOp::Or | ReduxOp::Xor | ReduxOp::Umax => 0,
            ReduxOp::And | ReduxOp::Umin => u32::MAX,
            ReduxOp::Smin => i32::MAX as u32,
            ReduxOp::Smax => i32::MIN as u32,
        };
        let (neutral, nowhere) = (self.any(Src::Imm(neutral)), Operand::imm(u32::MAX));
        const STEPS: u32 = u32::ilog2(32);
        for step in 1..=STEPS {
            let goes_on = Operand::reg(self.mir.new_vreg(RegFile::Pred, 1));
            self.emit(isetp(goes_on, IntCond::Sge, next, Operand::rz(), Combine::none()));
            let theirs = self.read_lane(sum, next);
            let added = self.fresh();
            self.emit(Inst::new(Op::SEL).ops([added, theirs, neutral, goes_on]));
            let both = self.fresh();
            self.emit(reduction(op, both, sum, added));
            sum = both;
            if step < STEPS {
                let beyond = self.read_lane(next, next);
                let far = self.fresh();
                self.emit(Inst::new(Op::SEL).ops([far, beyond, nowhere, goes_on]));
                next = far;
            }
        }
        let first = self.lowest_bit(mask);
        self.emit(shuffle(to, sum, first));
    }

    /// The number of the lowest bit that is set; minus one if none is.
    pub(super) fn lowest_bit(&mut self, bits: Operand<VReg>) -> Operand<VReg> {
        let [reversed, number] = [self.fresh(), self.fresh()];
        self.emit(Inst::new(Op::BREV).ops([reversed, bits]));
        self.emit(Inst::new(Op::FLO).ops([number, reversed]).with(choice!(FLO, ".U32", ".SH")));
        number
    }

    /// The value of another lane.
    fn read_lane(&mut self, from: Operand<VReg>, lane: Operand<VReg>) -> Operand<VReg> {
        let to = self.fresh();
        self.emit(shuffle(to, from, lane));
        to
    }

    fn fresh(&mut self) -> Operand<VReg> {
        Operand::reg(self.temp())
    }
}

fn logic(to: Operand<VReg>, a: Operand<VReg>, b: Operand<VReg>, table: u32) -> Inst<VReg> {
    Inst::new(Op::LOP3).ops([to, a, b, Operand::rz(), Operand::imm(table)])
}

/// `SHFL.IDX` over the whole warp, which looks at five bits of `lane`.
fn shuffle(to: Operand<VReg>, from: Operand<VReg>, lane: Operand<VReg>) -> Inst<VReg> {
    let clamp = Operand::imm(0x1f);
    Inst::new(Op::SHFL)
        .with(choice!(SHFL, ".IDX"))
        .ops([to, from, lane, clamp])
        .slot(slot!(SHFL, "pd"), Operand::pt())
}

fn reduction(op: ReduxOp, to: Operand<VReg>, a: Operand<VReg>, b: Operand<VReg>) -> Inst<VReg> {
    let choice = |ps| Inst::new(Op::IMNMX).ops([to, a, b, ps]);
    let (least, greatest) = (Operand::pt(), Operand::pt().not());
    match op {
        ReduxOp::Add | ReduxOp::Sadd => Inst::new(Op::IADD3).ops([to, a, b, Operand::rz()]),
        ReduxOp::And => logic(to, a, b, BOTH),
        ReduxOp::Or => logic(to, a, b, EITHER),
        ReduxOp::Xor => logic(to, a, b, ONE_OF_TWO),
        ReduxOp::Smin => choice(least),
        ReduxOp::Smax => choice(greatest),
        ReduxOp::Umin => choice(least).with(choice!(IMNMX, ".U32")),
        ReduxOp::Umax => choice(greatest).with(choice!(IMNMX, ".U32")),
    }
}
