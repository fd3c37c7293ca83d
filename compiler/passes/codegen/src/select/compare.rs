//! Comparisons, predicate logic and selects.
//!
//! A comparison that feeds one `and`, `or` or `xor` of predicates takes the other predicate as its
//! third input. A test of bits against zero is a `LOP3` that writes a predicate; it holds if a bit
//! is set, so a test for equality is kept as its complement.
//!
//! ```text
//! v5 = icmp.sge v1, v2;  v6 = or v5, v4           =>   ISETP.GE.OR %p6, PT, %r1, %r2, %p4
//! v5 = and v1, 3;  v6 = icmp.eq v5, 0; brif v6    =>   LOP3.LUT %p6, RZ, %r1, 0x3, RZ, 0xc0, !PT; !%p6
//! v5 = icmp.slt.b64 v1, v2                        =>   ISETP.LT.U32.AND %p5, PT, %r1, %r2, PT
//!                                                      ISETP.LT.AND.EX %p6, PT, %r1.1, %r2.1, PT, %p5
//! v6 = select v4, v1, 0                           =>   SEL %r6, %r1, RZ, %p4
//! ```

use ptxc_ir::{FloatCond, Inst as IrInst, InstData, IntCond, Op as IrOp, Type, Value, ValueDef};
use ptxc_sass::{Choices, Inst, Op, Operand, choice, slot};

use super::logic::is_logic;
use super::lower::Lower;
use super::source::Src;
use crate::mir::VReg;

/// How a comparison combines its result with its third input.
macro_rules! combination {
    ($text:literal) => {
        ptxc_sass::choice!(
            ISETP | ISETP_EX | FSETP | DSETP | HSETP2 | HSETP2_BF16 | HSET2 | HSET2_BF16,
            Combine = $text
        )
    };
}
pub(super) use combination;

/// The third input of a comparison and how it is combined.
#[derive(Clone, Copy)]
pub(super) struct Combine {
    pub(super) mode: Choices,
    pub(super) ps: Operand<VReg>,
}

impl Combine {
    pub(super) fn none() -> Combine {
        Combine { mode: combination!(".AND"), ps: Operand::pt() }
    }
}

impl<'a> Lower<'a> {
    /// Whether a predicate is kept as its complement.
    pub(super) fn kept_complemented(&self, value: Value) -> bool {
        self.bit_test(value).is_some_and(|(_, complemented)| complemented)
    }

    /// A comparison of bits with zero, or of one bit with itself: the logic operation that selects
    /// the bits, and whether the comparison holds if none of them is set.
    fn bit_test(&self, value: Value) -> Option<(Value, bool)> {
        let ValueDef::Result(inst, _) = self.func.def(value) else { return None };
        let data = &self.func.insts[inst];
        let IrOp::Icmp(cond @ (IntCond::Eq | IntCond::Ne)) = data.op else { return None };
        let tested = data.args[0];
        let logic = self.logic_below(tested, inst)?;
        let Src::Imm(constant) = self.src(data.args[1]) else { return None };
        let one_bit = constant.is_power_of_two()
            && logic.op == IrOp::And
            && logic.args.iter().any(|&arg| self.src(arg) == Src::Imm(constant));
        match (constant, cond) {
            (0, cond) => Some((tested, cond == IntCond::Eq)),
            (_, cond) if one_bit => Some((tested, cond == IntCond::Ne)),
            _ => None,
        }
    }

    /// The logic operation below an argument of a comparison, if nothing else uses it. In contrast
    /// to [`foldable_in`](Self::foldable_in), the answer does not depend on the instructions that
    /// were visited before.
    fn logic_below(&self, tested: Value, user: IrInst) -> Option<&InstData> {
        let below = self.resolve(tested);
        let ValueDef::Result(inst, _) = self.func.def(below) else { return None };
        let single = self.use_count(below) == 1 && self.use_count(tested) == 1;
        let data = &self.func.insts[inst];
        (single && is_logic(data) && self.home(inst) == self.home(user)).then_some(data)
    }

    pub(super) fn lower_icmp(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::Icmp(cond) = data.op else { return };
        if data.ty.bits() < 32 {
            return self.unsupported(&data.op, format!("no instruction for it at type {}", data.ty));
        }
        let result = self.func.result(inst);
        let to = self.def(result);
        if let Some((bits, _)) = self.bit_test(result) {
            let logic = self.match_logic(bits, self.block);
            let [a, b, c] = self.logic_operands(logic.inputs);
            let table = Operand::imm(logic.table.into());
            return self
                .emit(Inst::new(Op::LOP3).ops([Operand::rz(), a, b, c, table]).slot(slot!(LOP3, "pd"), to));
        }
        self.compare_integers(to, data, cond, Combine::none());
    }

    fn compare_integers(&mut self, to: Operand<VReg>, data: &InstData, cond: IntCond, combine: Combine) {
        match data.ty {
            Type::B64 => self.compare_pairs(to, data, cond, combine),
            _ => self.compare_words(to, data, cond, combine),
        }
    }

    fn compare_words(&mut self, to: Operand<VReg>, data: &InstData, cond: IntCond, combine: Combine) {
        let (x, y) = (self.src(data.args[0]), self.src(data.args[1]));
        let swap = x.claims_slot(y);
        let (x, y, cond) = if swap { (y, x, cond.swap()) } else { (x, y, cond) };
        let (a, b) = (self.gpr(x), self.any(y));
        self.emit(isetp(to, cond, a, b, combine));
    }

    /// A 64-bit comparison: the low words as unsigned numbers, then the high words, which decide
    /// unless they are equal.
    fn compare_pairs(&mut self, to: Operand<VReg>, data: &InstData, cond: IntCond, combine: Combine) {
        let (mut x, mut y, mut cond) = (data.args[0], data.args[1], cond);
        let special = |lower: &Self, value, n| lower.half(value, n).is_special();
        let stands =
            |lower: &Self, value| u8::from(special(lower, value, 0)) + u8::from(special(lower, value, 1));
        if stands(self, x) > stands(self, y) {
            (x, y, cond) = (y, x, cond.swap());
        }
        let low = Operand::reg(self.mir.new_vreg(ptxc_sass::RegFile::Pred, 1));
        let (a, b) = (self.gpr(self.half(x, 0)), self.any(self.half(y, 0)));
        self.emit(isetp(low, cond, a, b, Combine::none()).with(choice!(ISETP, ".U32")));
        let (a, b) = (self.gpr(self.half(x, 1)), self.any(self.half(y, 1)));
        self.emit(compare(Inst::new(Op::ISETP_EX).ops([to, a, b, low]), cond, combine));
    }

    pub(super) fn lower_fcmp(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::Fcmp { cond, ftz } = data.op else { return };
        let to = self.def(self.func.result(inst));
        self.compare_floats(to, data, cond, ftz, Combine::none());
    }

    fn compare_floats(
        &mut self,
        to: Operand<VReg>,
        data: &InstData,
        cond: FloatCond,
        ftz: bool,
        combine: Combine,
    ) {
        match data.ty {
            Type::F64 => return self.compare_doubles(to, data, cond, combine),
            Type::F16 | Type::BF16 => {
                return self.compare_halves([to, Operand::pt()], data, cond, ftz, combine);
            }
            _ => {}
        }
        let (a, b, swapped) = self.compared_floats(Op::FSETP, data.args[0], data.args[1]);
        let cond = if swapped { cond.swap() } else { cond };
        let made = Inst::new(Op::FSETP)
            .ops([to, a, b])
            .with(float_condition(cond))
            .with(combine.mode)
            .slot(slot!(FSETP, "ps"), combine.ps);
        self.emit(if ftz { made.with(choice!(FSETP, ".FTZ")) } else { made });
    }

    pub(super) fn lower_pred_logic(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let Some(reg) = to.as_reg() else { return };
        let (mode, table) = match data.op {
            IrOp::And => (combination!(".AND"), 0xc0),
            IrOp::Or => (combination!(".OR"), 0xfc),
            IrOp::Xor => (combination!(".XOR"), 0x3c),
            // `not` is a flag of its reader.
            _ => return,
        };
        for (own, other) in [(data.args[1], data.args[0]), (data.args[0], data.args[1])] {
            if let Some((compare, complement)) = self.foldable_compare(own) {
                let ps = self.pred(other);
                let combine = Combine { mode, ps };
                match compare.op {
                    IrOp::Icmp(cond) => {
                        let cond = if complement { cond.negate() } else { cond };
                        self.compare_integers(to, compare, cond, combine);
                    }
                    IrOp::Fcmp { cond, ftz } => {
                        let cond = if complement { cond.negate() } else { cond };
                        self.compare_floats(to, compare, cond, ftz, combine);
                    }
                    _ => {}
                }
                return;
            }
        }
        let (a, b) = (self.pred(data.args[0]), self.pred(data.args[1]));
        self.emit(plop3(reg, a, b, table));
    }

    /// A comparison of integers or floats, below any number of `not`s, that nothing else uses, and
    /// whether that number is odd.
    fn foldable_compare(&self, value: Value) -> Option<(&'a InstData, bool)> {
        let (below, complement) = self.strip_not(value);
        let mut at = value;
        while at != below {
            if self.use_count(at) != 1 {
                return None;
            }
            at = self.def_data(at)?.args[0];
        }
        let data = self.foldable(below)?;
        let folds = match data.op {
            IrOp::Icmp(_) => matches!(data.ty, Type::B32 | Type::B64) && self.bit_test(below).is_none(),
            IrOp::Fcmp { .. } => true,
            _ => false,
        };
        folds.then_some((data, complement))
    }

    pub(super) fn lower_select(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let result = self.func.result(inst);
        let Some(to) = self.def(result).as_reg() else { return };
        let ps = self.pred(data.args[0]);
        if data.ty == Type::Pred {
            let (b, c) = (self.pred(data.args[1]), self.pred(data.args[2]));
            let table = Operand::imm(0xca);
            let other = Operand::imm(0);
            return self.emit(Inst::new(Op::PLOP3).ops([Operand::reg(to), ps, b, c, table, other]));
        }
        match data.ty.bits() {
            bits if bits <= 32 => {
                self.select_word(to, ps, self.src(data.args[1]), self.src(data.args[2]));
            }
            64 => {
                for n in 0..2 {
                    let (yes, no) = (self.half(data.args[1], n), self.half(data.args[2], n));
                    self.select_word(to.offset(n), ps, yes, no);
                }
            }
            _ => self.unsupported(&data.op, format!("no instruction for it at type {}", data.ty)),
        }
    }

    pub(super) fn select_word(&mut self, to: VReg, ps: Operand<VReg>, yes: Src, no: Src) {
        if yes == no {
            return self.copy_to(to, yes);
        }
        let swap = yes.claims_slot(no);
        let (a, b, ps) = if swap { (no, yes, ps.not()) } else { (yes, no, ps) };
        let (a, b) = (self.gpr(a), self.any(b));
        self.emit(Inst::new(Op::SEL).ops([Operand::reg(to), a, b, ps]));
    }
}

/// `to` = the function of two predicates with that truth table over 0xf0 and 0xcc.
pub(super) fn plop3(to: VReg, a: Operand<VReg>, b: Operand<VReg>, table: u8) -> Inst<VReg> {
    // The third input is PT, so only those columns of the table count.
    let table = Operand::imm(u32::from(table & 0xaa));
    Inst::new(Op::PLOP3).ops([Operand::reg(to), a, b, Operand::pt(), table, Operand::imm(0)])
}

/// What a comparison of floats or halves tests.
pub(super) fn float_condition(cond: FloatCond) -> Choices {
    macro_rules! test {
        ($text:literal) => {
            choice!(FSETP | DSETP | HSETP2 | HSETP2_BF16 | HSET2 | HSET2_BF16, Compare = $text)
        };
    }
    match cond {
        FloatCond::Eq => test!(".EQ"),
        FloatCond::Ne => test!(".NE"),
        FloatCond::Lt => test!(".LT"),
        FloatCond::Le => test!(".LE"),
        FloatCond::Gt => test!(".GT"),
        FloatCond::Ge => test!(".GE"),
        FloatCond::Equ => test!(".EQU"),
        FloatCond::Neu => test!(".NEU"),
        FloatCond::Ltu => test!(".LTU"),
        FloatCond::Leu => test!(".LEU"),
        FloatCond::Gtu => test!(".GTU"),
        FloatCond::Geu => test!(".GEU"),
        FloatCond::Num => test!(".NUM"),
        FloatCond::Nan => test!(".NAN"),
    }
}

pub(super) fn isetp(
    to: Operand<VReg>,
    cond: IntCond,
    a: Operand<VReg>,
    b: Operand<VReg>,
    combine: Combine,
) -> Inst<VReg> {
    compare(Inst::new(Op::ISETP).ops([to, a, b]), cond, combine)
}

/// Adds the condition and the combination to an integer comparison.
fn compare(inst: Inst<VReg>, cond: IntCond, combine: Combine) -> Inst<VReg> {
    let (text, unsigned) = match cond {
        IntCond::Eq => (choice!(ISETP | ISETP_EX, ".EQ"), false),
        IntCond::Ne => (choice!(ISETP | ISETP_EX, ".NE"), false),
        IntCond::Slt => (choice!(ISETP | ISETP_EX, ".LT"), false),
        IntCond::Sle => (choice!(ISETP | ISETP_EX, ".LE"), false),
        IntCond::Sgt => (choice!(ISETP | ISETP_EX, ".GT"), false),
        IntCond::Sge => (choice!(ISETP | ISETP_EX, ".GE"), false),
        IntCond::Ult => (choice!(ISETP | ISETP_EX, ".LT"), true),
        IntCond::Ule => (choice!(ISETP | ISETP_EX, ".LE"), true),
        IntCond::Ugt => (choice!(ISETP | ISETP_EX, ".GT"), true),
        IntCond::Uge => (choice!(ISETP | ISETP_EX, ".GE"), true),
    };
    let made = inst.with(text).with(combine.mode).slot(slot!(ISETP | ISETP_EX, "ps"), combine.ps);
    if unsigned { made.with(choice!(ISETP | ISETP_EX, ".U32")) } else { made }
}
