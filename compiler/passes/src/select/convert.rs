//! Conversions of single precision, from and to integers and half precision.
//!
//! ```text
//! v2 = sint_to_float.f32.rn v1            =>   I2FP.F32.S32 %r2, %r1
//! v2 = float_to_uint.b64.rz v1            =>   F2I.U64.TRUNC %r2, %r1
//! v2 = float_to_float.f16.rz v1           =>   F2FP.F16.F32.PACK_AB.RZ %r2, RZ, %r1
//! v2 = float_to_float.f32.rn v1 (f16)     =>   HADD2.F32 %r2, -RZ, %r1.H0_H0
//! ```

use ptxc_ir::{FloatMode, Inst as IrInst, InstData, Op as IrOp, Rounding, Type};
use ptxc_sass::{Inst, Op, Operand};

use super::float::{with_ftz, with_round};
use super::lower::Lower;
use crate::mir::VReg;

impl Lower<'_> {
    pub(super) fn lower_conversion(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let from_ty = self.func.ty(data.args[0]);
        match data.op {
            IrOp::SintToFloat(round) | IrOp::UintToFloat(round) => {
                if data.ty != Type::F32 {
                    let why = format!("from {from_ty} to {}", data.ty);
                    return self.unsupported(&data.op, why);
                }
                let signed = matches!(data.op, IrOp::SintToFloat(_));
                if from_ty == Type::B64 {
                    let b = self.tuple(data.args[0]);
                    let made = Inst::new(Op::I2F_64).with(if signed { ".S64" } else { ".U64" });
                    return self.emit(with_round(made.ops([to, b]), round));
                }
                let b = self.any_value(data.args[0]);
                // The arithmetic pipe rounds to nearest and towards zero only.
                let made = match (round, signed) {
                    (Rounding::Down | Rounding::Up, true) => Inst::new(Op::I2F),
                    (Rounding::Down | Rounding::Up, false) => Inst::new(Op::I2F).with(".U32"),
                    (_, true) => Inst::new(Op::I2FP).with(".S32"),
                    (_, false) => Inst::new(Op::I2FP).with(".U32"),
                };
                self.emit(with_round(made.ops([to, b]), round));
            }
            IrOp::FloatToSint(round, ftz) | IrOp::FloatToUint(round, ftz) => {
                if from_ty != Type::F32 {
                    let why = format!("from {from_ty} to {}", data.ty);
                    return self.unsupported(&data.op, why);
                }
                let signed = matches!(data.op, IrOp::FloatToSint(..));
                let x = self.float_src(data.args[0]);
                let b = self.float_operand(x, true);
                let made = match (data.ty, signed) {
                    (Type::B32, true) => Inst::new(Op::F2I).with(".NTZ"),
                    (Type::B32, false) => Inst::new(Op::F2I).with(".NTZ").with(".U32"),
                    (Type::B64, true) => Inst::new(Op::F2I_64).with(".S64"),
                    (Type::B64, false) => Inst::new(Op::F2I_64).with(".U64"),
                    _ => return self.unsupported(&data.op, "it saturates at 32 bits, not at 16"),
                };
                self.emit(with_ftz(with_integral(made.ops([to, b]), round), ftz));
            }
            IrOp::RoundToIntegral(round, ftz) => {
                let x = self.float_src(data.args[0]);
                let b = self.float_operand(x, true);
                self.emit(with_ftz(with_integral(Inst::new(Op::FRND).ops([to, b]), round), ftz));
            }
            IrOp::FloatToFloat(mode) => match (from_ty, data.ty) {
                (Type::F32, Type::F16 | Type::BF16) => self.narrow_to_half(to, data, mode),
                (Type::F16 | Type::BF16, Type::F32) => self.widen_half(to, data, from_ty, mode),
                _ => self.unsupported(&data.op, format!("from {from_ty} to {}", data.ty)),
            },
            _ => {}
        }
    }

    /// Rounds to the lower half of a word. Flushing makes no difference: what is subnormal in single precision
    /// rounds to zero in half precision, and in `bf16` PTX does not flush.
    fn narrow_to_half(&mut self, to: Operand<VReg>, data: &InstData, mode: FloatMode) {
        let towards = match mode.round {
            Rounding::Nearest => "",
            Rounding::Zero => ".RZ",
            Rounding::Down | Rounding::Up => {
                return self.unsupported(&data.op, "it rounds to nearest or towards zero");
            }
        };
        if mode.sat || (mode.ftz && data.ty == Type::BF16) {
            return self.unsupported(&data.op, "it neither clamps nor flushes");
        }
        let format = if data.ty == Type::F16 { ".F16" } else { ".BF16" };
        let x = self.float_src(data.args[0]);
        let b = self.float_operand(x, true);
        let made = Inst::new(Op::F2FP).with(format).ops([to, Operand::rz(), b]);
        self.emit(if towards.is_empty() { made } else { made.with(towards) });
    }

    /// Two numbers that are rounded for this word alone: one instruction does both.
    pub(super) fn lower_packed_halves(&mut self, data: &InstData, to: Operand<VReg>) -> bool {
        let (Some(low), Some(high)) = (self.foldable(data.args[0]), self.foldable(data.args[1])) else {
            return false;
        };
        let IrOp::FloatToFloat(mode) = low.op else { return false };
        let single = |from: &InstData| self.func.ty(from.args[0]) == Type::F32;
        let alike = low.op == high.op && low.ty == high.ty && single(low) && single(high);
        let towards = match mode.round {
            Rounding::Nearest => "",
            Rounding::Zero => ".RZ",
            Rounding::Down | Rounding::Up => return false,
        };
        if !alike || mode.sat || mode.ftz {
            return false;
        }
        let format = if low.ty == Type::F16 { ".F16" } else { ".BF16" };
        let a = self.float_src(high.args[0]);
        let a = self.float_operand(a, false);
        let b = self.float_src(low.args[0]);
        let b = self.float_operand(b, true);
        let made = Inst::new(Op::F2FP).with(format).ops([to, a, b]);
        self.emit(if towards.is_empty() { made } else { made.with(towards) });
        true
    }

    /// The number in the lower half of a word in single precision, exactly. Subnormals of `f16` are normal there.
    fn widen_half(&mut self, to: Operand<VReg>, data: &InstData, from: Type, mode: FloatMode) {
        let b = self.gpr_value(data.args[0]);
        let clamps = mode.sat || (mode.ftz && from == Type::BF16);
        let wide = if clamps { Operand::reg(self.temp()) } else { to };
        self.emit(match from {
            Type::F16 => Inst::new(Op::HADD2_F32).ops([wide, Operand::rz().neg(), b]),
            // A `bf16` is the upper half of the number.
            _ => Inst::new(Op::SHF).with(".L").with(".U32").ops([wide, b, Operand::imm(16), Operand::rz()]),
        });
        if clamps {
            let made = with_ftz(Inst::new(Op::FADD).ops([to, wide, Operand::rz().neg()]), mode.ftz);
            self.emit(if mode.sat { made.with(".SAT") } else { made });
        }
    }
}

/// Lets a conversion to integers or integral values round so.
pub(super) fn with_integral(inst: Inst<VReg>, round: Rounding) -> Inst<VReg> {
    match round {
        Rounding::Nearest => inst,
        Rounding::Zero => inst.with(".TRUNC"),
        Rounding::Down => inst.with(".FLOOR"),
        Rounding::Up => inst.with(".CEIL"),
    }
}
