//! Single-precision arithmetic.
//!
//! Signs and magnitudes of operands are free: `fneg` and `fabs` become flags of the operand that
//! reads them.
//!
//! ```text
//! v3 = fneg v1;  v4 = ffma v3, v2, 0.5    =>   FFMA %r4, -%r1, %r2, 0.5
//! v5 = fsub v1, v2                        =>   FADD %r5, %r1, -%r2
//! ```

use ptxc_ir::{Approx, FloatMode, Inst as IrInst, Op as IrOp, Rounding, Type, Value};
use ptxc_sass::{Inst, Op, Operand, OperandFlags, SlotName, choice, slot_name};

use super::integer::is_general;
use super::lower::Lower;
use super::source::Src;
use crate::mir::VReg;

/// A source with its signs: the magnitude is taken first, then the sign is inverted.
#[derive(Clone, Copy)]
pub(super) struct FloatSrc {
    src: Src,
    abs: bool,
    neg: bool,
}

impl FloatSrc {
    fn negated(self, neg: bool) -> FloatSrc {
        FloatSrc { neg: self.neg ^ neg, ..self }
    }
}

impl Lower<'_> {
    /// The source of a float value below its `fneg`s and `fabs`es.
    pub(super) fn float_src(&self, value: Value) -> FloatSrc {
        let (mut abs, mut neg) = (false, false);
        let mut value = value;
        while let Some(data) = self.def_data(value) {
            match data.op {
                // Below a magnitude signs no longer matter.
                IrOp::Fneg { ftz: false } if data.ty == Type::F32 => neg ^= !abs,
                IrOp::Fabs { ftz: false } if data.ty == Type::F32 => abs = true,
                _ => break,
            }
            value = data.args[0];
        }
        let src = match self.src(value) {
            Src::Imm(bits) => {
                let bits = if abs { bits & 0x7fff_ffff } else { bits };
                let bits = if neg { bits ^ 0x8000_0000 } else { bits };
                return FloatSrc { src: Src::Imm(bits), abs: false, neg: false };
            }
            src => src,
        };
        FloatSrc { src, abs, neg }
    }

    /// As an operand of a slot of an instruction; the flag allows other forms than a general
    /// register. If the slot has no room for the signs, a separate instruction applies them.
    pub(super) fn float_operand(
        &mut self,
        float: FloatSrc,
        op: Op,
        slot: SlotName,
        any: bool,
    ) -> Operand<VReg> {
        let flags = OperandFlags { abs: float.abs, neg: float.neg, ..OperandFlags::default() };
        match op.row().takes_signs(slot, flags) {
            true => self.signed_operand(float, any),
            false => self.with_signs_applied(float),
        }
    }

    /// A register with the value of a source, signs applied: adding -0 changes no number.
    fn with_signs_applied(&mut self, float: FloatSrc) -> Operand<VReg> {
        let to = Operand::reg(self.temp());
        let a = self.signed_operand(float, false);
        self.emit(Inst::new(Op::FADD).ops([to, a, Operand::rz().neg()]));
        to
    }

    fn signed_operand(&mut self, float: FloatSrc, any: bool) -> Operand<VReg> {
        let src = match float.src {
            Src::Imm(bits) if float.neg => Src::Imm(bits ^ 0x8000_0000),
            other => other,
        };
        let neg = float.neg && !matches!(src, Src::Imm(_));
        let operand = if any { self.any(src) } else { self.gpr(src) };
        let operand = if float.abs { operand.abs() } else { operand };
        if neg { operand.neg() } else { operand }
    }

    fn float_pair(&mut self, op: Op, a: FloatSrc, b: FloatSrc) -> (Operand<VReg>, Operand<VReg>) {
        let (a, b) = if a.src.claims_slot(b.src) { (b, a) } else { (a, b) };
        (self.float_operand(a, op, slot_name!("a"), false), self.float_operand(b, op, slot_name!("b"), true))
    }

    /// The operands a and b of a float comparison, and whether they were swapped.
    pub(super) fn compared_floats(
        &mut self,
        op: Op,
        a: Value,
        b: Value,
    ) -> (Operand<VReg>, Operand<VReg>, bool) {
        let (a, b) = (self.float_src(a), self.float_src(b));
        let swap = a.src.claims_slot(b.src);
        let (a, b) = if swap { (b, a) } else { (a, b) };
        (
            self.float_operand(a, op, slot_name!("a"), false),
            self.float_operand(b, op, slot_name!("b"), true),
            swap,
        )
    }

    pub(super) fn lower_float_arithmetic(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let (x, y) = (self.float_src(data.args[0]), self.float_src(data.args[1]));
        let (made, mode) = match data.op {
            IrOp::Fadd(mode) => {
                let (a, b) = self.float_pair(Op::FADD, x, y);
                (Inst::new(Op::FADD).ops([to, a, b]), mode)
            }
            IrOp::Fsub(mode) => {
                let (a, b) = self.float_pair(Op::FADD, x, y.negated(true));
                (Inst::new(Op::FADD).ops([to, a, b]), mode)
            }
            IrOp::Fmul(mode) => {
                let (a, b) = self.float_pair(Op::FMUL, x, y);
                (Inst::new(Op::FMUL).ops([to, a, b]), mode)
            }
            IrOp::Ffma(mode) => {
                let z = self.float_src(data.args[2]);
                let (x, y) = if x.src.claims_slot(y.src) { (y, x) } else { (x, y) };
                let a = self.fma_operand(x, slot_name!("a"), false);
                let b = self.fma_operand(y, slot_name!("b"), true);
                let c = self.fma_operand(z, slot_name!("c"), is_general(b));
                (Inst::new(Op::FFMA).ops([to, a, b, c]), mode)
            }
            _ => return,
        };
        self.emit(with_mode(made, mode));
    }

    /// An operand of `FFMA`. The row has bits for bars, but NVIDIA's compiler does not use them,
    /// and neither do we.
    fn fma_operand(&mut self, float: FloatSrc, slot: SlotName, any: bool) -> Operand<VReg> {
        if !float.abs {
            return self.float_operand(float, Op::FFMA, slot, any);
        }
        self.with_signs_applied(float)
    }

    pub(super) fn lower_float_unary(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let x = self.float_src(data.args[0]);
        match data.op {
            IrOp::Fneg { ftz } | IrOp::Fabs { ftz } => {
                let x = if matches!(data.op, IrOp::Fabs { .. }) {
                    FloatSrc { abs: true, neg: false, ..x }
                } else {
                    x.negated(true)
                };
                // Adding -0 changes nothing, and flushes if asked.
                let a = self.float_operand(x, Op::FADD, slot_name!("a"), false);
                self.emit(with_ftz(Inst::new(Op::FADD).ops([to, a, Operand::rz().neg()]), ftz));
            }
            IrOp::Fmin { ftz, nan, xorsign } | IrOp::Fmax { ftz, nan, xorsign } => {
                let y = self.float_src(data.args[1]);
                let (a, b) = match xorsign {
                    // The signs of the registers themselves count, and the bars make magnitudes of
                    // them.
                    true => (self.gpr_value(data.args[0]).abs(), self.gpr_value(data.args[1]).abs()),
                    false => self.float_pair(Op::FMNMX, x, y),
                };
                let least = matches!(data.op, IrOp::Fmin { .. });
                let ps = if least { Operand::pt() } else { Operand::pt().not() };
                let chosen = with_ftz(Inst::new(Op::FMNMX).ops([to, a, b, ps]), ftz);
                let chosen = if nan { chosen.with(choice!(FMNMX, ".NAN")) } else { chosen };
                self.emit(if xorsign { chosen.with(choice!(FMNMX, ".XORSIGN")) } else { chosen });
            }
            IrOp::Fapprox { function, ftz } => {
                let mode = match function {
                    Approx::Rcp => choice!(MUFU, ".RCP"),
                    Approx::Rsq => choice!(MUFU, ".RSQ"),
                    Approx::Sqrt => choice!(MUFU, ".SQRT"),
                    Approx::Lg2 => choice!(MUFU, ".LG2"),
                    Approx::Ex2 => choice!(MUFU, ".EX2"),
                    Approx::Tanh => choice!(MUFU, ".TANH"),
                    Approx::SinTurns => choice!(MUFU, ".SIN"),
                    Approx::CosTurns => choice!(MUFU, ".COS"),
                    Approx::Sin | Approx::Cos => {
                        return self.unsupported(&data.op, "its argument must be reduced first");
                    }
                };
                let flushes = !matches!(function, Approx::Tanh | Approx::SinTurns | Approx::CosTurns);
                if flushes && !ftz {
                    return self.unsupported(&data.op, "MUFU flushes subnormals: it must be scaled first");
                }
                let b = self.float_operand(x, Op::MUFU, slot_name!("b"), true);
                self.emit(Inst::new(Op::MUFU).with(mode).ops([to, b]));
            }
            _ => {}
        }
    }

    pub(super) fn lower_division_check(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let (x, y) = (self.float_src(data.args[0]), self.float_src(data.args[1]));
        let a = self.float_operand(x, Op::FCHK, slot_name!("a"), false);
        let b = self.float_operand(y, Op::FCHK, slot_name!("b"), true);
        self.emit(Inst::new(Op::FCHK).ops([to, a, b]));
    }
}

fn with_mode(inst: Inst<VReg>, mode: FloatMode) -> Inst<VReg> {
    let inst = with_round(with_ftz(inst, mode.ftz), mode.round);
    if mode.sat { inst.with(choice!(FADD | FMUL | FFMA, ".SAT")) } else { inst }
}

pub(super) fn with_ftz(inst: Inst<VReg>, ftz: bool) -> Inst<VReg> {
    let flush = choice!(
        FADD | FMUL | FFMA | FMNMX | FRND | F2I | F2I_64 | HADD2 | HMUL2 | HFMA2 | HMNMX2 | HSETP2 | HSET2,
        ".FTZ"
    );
    if ftz { inst.with(flush) } else { inst }
}

/// A direction of rounding, of the instructions that round both up and down.
macro_rules! directed {
    ($text:literal) => {
        choice!(
            FADD | FMUL
                | FFMA
                | DADD
                | DMUL
                | DFMA
                | I2F
                | I2F_64
                | I2F_F64_64
                | I2F_HALF
                | I2F_HALF_64
                | F2F_NARROW
                | F2F_NARROW_HALF
                | F2F_HALF,
            $text
        )
    };
}

pub(super) fn with_round(inst: Inst<VReg>, round: Rounding) -> Inst<VReg> {
    match round {
        Rounding::Nearest => inst,
        Rounding::Zero => match inst.op {
            // They round to nearest or towards zero only.
            Op::I2FP | Op::F2FP => inst.with(choice!(I2FP | F2FP, ".RZ")),
            _ => inst.with(directed!(".RZ")),
        },
        Rounding::Down => inst.with(directed!(".RM")),
        Rounding::Up => inst.with(directed!(".RP")),
    }
}
