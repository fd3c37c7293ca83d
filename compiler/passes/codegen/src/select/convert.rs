//! Conversions of single precision, from and to integers and half precision.
//!
//! ```text
//! v2 = sint_to_float.f32.rn v1            =>   I2FP.F32.S32 %r2, %r1
//! v2 = float_to_uint.b64.rz v1            =>   F2I.U64.TRUNC %r2, %r1
//! v2 = float_to_float.f16.rz v1           =>   F2FP.F16.F32.PACK_AB.RZ %r2, RZ, %r1
//! v2 = float_to_float.f32.rn v1 (f16)     =>   HADD2.F32 %r2, -RZ, %r1.H0_H0
//! ```

use ptxc_ir::{FloatMode, Inst as IrInst, InstData, Op as IrOp, Rounding, Type};
use ptxc_sass::{Inst, Op, Operand, OperandFlags, OperandKind, RegFile, choice, slot_name};

use super::float::{FloatSrc, with_ftz, with_round};
use super::half::{format_choice, is_half, rounded_to_half};
use super::lower::Lower;
use crate::mir::VReg;

impl Lower<'_> {
    pub(super) fn lower_conversion(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let from_ty = self.func.ty(data.args[0]);
        let to_float =
            matches!(data.op, IrOp::FloatToFloat(_) | IrOp::FloatToHalf { .. } | IrOp::FloatsToHalves { .. });
        if !to_float && (is_half(from_ty) || is_half(data.ty)) {
            return self.lower_half_conversion(inst);
        }
        match data.op {
            IrOp::SintToFloat(round) | IrOp::UintToFloat(round) => {
                if data.ty != Type::F32 {
                    let why = format!("from {from_ty} to {}", data.ty);
                    return self.unsupported(&data.op, why);
                }
                let signed = matches!(data.op, IrOp::SintToFloat(_));
                if from_ty == Type::B64 {
                    let b = self.tuple(data.args[0]);
                    let made = Inst::new(Op::I2F_64).with(if signed {
                        choice!(I2F_64, ".S64")
                    } else {
                        choice!(I2F_64, ".U64")
                    });
                    return self.emit(with_round(made.ops([to, b]), round));
                }
                // On the arithmetic pipe, conversions round to nearest and towards zero only.
                let arithmetic = Op::I2FP.row().archs.contains(self.arch)
                    && matches!(round, Rounding::Nearest | Rounding::Zero);
                let made = match (arithmetic, signed) {
                    (false, true) => Inst::new(Op::I2F),
                    (false, false) => Inst::new(Op::I2F).with(choice!(I2F, ".U32")),
                    (true, true) => Inst::new(Op::I2FP).with(choice!(I2FP, ".S32")),
                    (true, false) => Inst::new(Op::I2FP).with(choice!(I2FP, ".U32")),
                };
                let b = self.value_for(made.op, data.args[0]);
                self.emit(with_round(made.ops([to, b]), round));
            }
            IrOp::FloatToSint { round, ftz } | IrOp::FloatToUint { round, ftz } => {
                if from_ty != Type::F32 {
                    let why = format!("from {from_ty} to {}", data.ty);
                    return self.unsupported(&data.op, why);
                }
                let signed = matches!(data.op, IrOp::FloatToSint { .. });
                let x = self.float_src(data.args[0]);
                let made = match (data.ty, signed) {
                    (Type::B32, true) => Inst::new(Op::F2I).with(choice!(F2I, ".NTZ")),
                    (Type::B32, false) => Inst::new(Op::F2I).with(choice!(F2I, ".NTZ", ".U32")),
                    (Type::B64, true) => Inst::new(Op::F2I_64).with(choice!(F2I_64, ".S64")),
                    (Type::B64, false) => Inst::new(Op::F2I_64).with(choice!(F2I_64, ".U64")),
                    _ => return self.unsupported(&data.op, "it saturates at 32 bits, not at 16"),
                };
                let b = self.float_operand(x, made.op, slot_name!("b"), true);
                self.emit(with_ftz(with_integral(made.ops([to, b]), round), ftz));
            }
            IrOp::RoundToIntegral { round, ftz } => {
                let x = self.float_src(data.args[0]);
                let b = self.float_operand(x, Op::FRND, slot_name!("b"), true);
                self.emit(with_ftz(with_integral(Inst::new(Op::FRND).ops([to, b]), round), ftz));
            }
            IrOp::FloatToFloat(mode) => match (from_ty, data.ty) {
                (Type::F32, Type::F16 | Type::BF16) => self.narrow_to_half(to, data, mode),
                (Type::F16 | Type::BF16, Type::F32) => self.widen_half(to, data, from_ty, mode),
                (Type::F16 | Type::BF16, Type::F16 | Type::BF16) => {
                    self.convert_half(to, data, from_ty, mode);
                }
                _ => self.unsupported(&data.op, format!("from {from_ty} to {}", data.ty)),
            },
            IrOp::FloatToHalf { round: Rounding::Down | Rounding::Up, .. }
            | IrOp::FloatsToHalves { round: Rounding::Down | Rounding::Up, .. } => {
                self.unsupported(&data.op, "it rounds to nearest or towards zero");
            }
            IrOp::FloatToHalf { round, relu, finite } => {
                let x = self.float_src(data.args[0]);
                let b = self.float_operand(x, Op::F2FP, slot_name!("b"), true);
                self.round_to_halves(to, [Operand::rz(), b], data.ty, round, [relu, finite]);
            }
            IrOp::FloatsToHalves { round, relu, finite } => {
                let (low, high) = (self.float_src(data.args[0]), self.float_src(data.args[1]));
                let operands = self.rounded_floats(high, low);
                self.round_to_halves(to, operands, data.ty, round, [relu, finite]);
            }
            _ => {}
        }
    }

    /// Rounds to the lower half of a word. Flushing makes no difference: a subnormal in single
    /// precision rounds to zero in half precision, and PTX does not flush for `bf16`.
    fn narrow_to_half(&mut self, to: Operand<VReg>, data: &InstData, mode: FloatMode) {
        if mode.sat || (mode.ftz && data.ty == Type::BF16) {
            return self.unsupported(&data.op, "it neither clamps nor flushes");
        }
        let x = self.float_src(data.args[0]);
        if matches!(mode.round, Rounding::Down | Rounding::Up) {
            // Rounding up or down does not lose a number below the least half, so a subnormal is
            // flushed first.
            let b = match mode.ftz {
                true => {
                    let flushed = Operand::reg(self.temp());
                    let a = self.float_operand(x, Op::FADD, slot_name!("a"), false);
                    self.emit(Inst::new(Op::FADD).with(choice!(FADD, ".FTZ")).ops([
                        flushed,
                        a,
                        Operand::rz().neg(),
                    ]));
                    flushed
                }
                false => self.gpr_value(data.args[0]),
            };
            return self.emit(with_round(rounded_to_half(data.ty, Type::F32).ops([to, b]), mode.round));
        }
        let b = self.float_operand(x, Op::F2FP, slot_name!("b"), true);
        self.round_to_halves(to, [Operand::rz(), b], data.ty, mode.round, [false; 2]);
    }

    /// The operands of an instruction that rounds two numbers to the upper half and the lower half.
    fn rounded_floats(&mut self, high: FloatSrc, low: FloatSrc) -> [Operand<VReg>; 2] {
        [
            self.float_operand(high, Op::F2FP, slot_name!("a"), false),
            self.float_operand(low, Op::F2FP, slot_name!("b"), true),
        ]
    }

    /// Rounds two numbers to the halves of a word, the first to the upper one; to nearest or
    /// towards zero.
    fn round_to_halves(
        &mut self,
        to: Operand<VReg>,
        [a, b]: [Operand<VReg>; 2],
        ty: Type,
        round: Rounding,
        [relu, finite]: [bool; 2],
    ) {
        if !Op::F2FP.row().archs.contains(self.arch) {
            return self.round_to_halves_apart(to, [a, b], ty, round, [relu, finite]);
        }
        let made = with_round(Inst::new(Op::F2FP).with(format_choice(ty)).ops([to, a, b]), round);
        let made = if relu { made.with(choice!(F2FP, ".RELU")) } else { made };
        self.emit(if finite { made.with(choice!(F2FP, ".SATFINITE")) } else { made });
    }

    /// The same on architectures where one instruction rounds one number: PTX has neither `bf16`,
    /// clamping nor saturation there.
    fn round_to_halves_apart(
        &mut self,
        to: Operand<VReg>,
        [a, b]: [Operand<VReg>; 2],
        ty: Type,
        round: Rounding,
        [relu, finite]: [bool; 2],
    ) {
        if ty == Type::BF16 || relu || finite {
            let op = IrOp::FloatToHalf { round, relu, finite };
            return self.unsupported(&op, format!("{} has no such rounding", self.arch));
        }
        let rounded = |to, from| with_round(rounded_to_half(Type::F16, Type::F32).ops([to, from]), round);
        if a == Operand::rz() {
            let b = self.in_register(b);
            return self.emit(rounded(to, b));
        }
        let [low, high] = [self.temp(), self.temp()].map(Operand::reg);
        for (half, from) in [(low, b), (high, a)] {
            let from = self.in_register(from);
            self.emit(rounded(half, from));
        }
        self.emit(Inst::new(Op::PRMT).ops([to, low, Operand::imm(0x5410), high]));
    }

    /// An operand in a general register without signs.
    fn in_register(&mut self, operand: Operand<VReg>) -> Operand<VReg> {
        let is_plain = operand.flags == OperandFlags::default();
        let is_general = match operand.kind {
            OperandKind::Reg(reg) => reg.file() == RegFile::Gpr,
            OperandKind::Zero(file) => file == RegFile::Gpr,
            _ => false,
        };
        if is_plain && is_general {
            return operand;
        }
        let to = Operand::reg(self.temp());
        // Adding -0 changes no number.
        self.emit(Inst::new(Op::FADD).ops([to, Operand::rz().neg(), operand]));
        to
    }

    /// Two numbers that are rounded only for this word: one instruction does both.
    pub(super) fn lower_packed_halves(&mut self, data: &InstData, to: Operand<VReg>) -> bool {
        let (Some(low), Some(high)) = (self.foldable(data.args[0]), self.foldable(data.args[1])) else {
            return false;
        };
        let (round, limits) = match low.op {
            IrOp::FloatToFloat(FloatMode { round, ftz: false, sat: false, .. }) => (round, [false; 2]),
            IrOp::FloatToHalf { round, relu, finite } => (round, [relu, finite]),
            _ => return false,
        };
        let single = |from: &InstData| self.func.ty(from.args[0]) == Type::F32;
        let alike = low.op == high.op && low.ty == high.ty && single(low) && single(high);
        if !alike || matches!(round, Rounding::Down | Rounding::Up) {
            return false;
        }
        let (a, b) = (self.float_src(high.args[0]), self.float_src(low.args[0]));
        let operands = self.rounded_floats(a, b);
        self.round_to_halves(to, operands, low.ty, round, limits);
        true
    }
}

/// A direction in which a conversion to integers or integral values rounds.
macro_rules! integral {
    ($text:literal) => {
        choice!(
            F2I | F2I_64 | F2I_F64 | F2I_F64_64 | F2I_HALF | F2I_HALF_64 | FRND | FRND_F64 | FRND_HALF,
            $text
        )
    };
}

/// Adds the rounding to a conversion to integers or integral values.
pub(super) fn with_integral(inst: Inst<VReg>, round: Rounding) -> Inst<VReg> {
    match round {
        Rounding::Nearest => inst,
        Rounding::Zero => inst.with(integral!(".TRUNC")),
        Rounding::Down => inst.with(integral!(".FLOOR")),
        Rounding::Up => inst.with(integral!(".CEIL")),
    }
}
