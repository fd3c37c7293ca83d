//! Conversions to and from formats of fewer bits than a half or than single precision.
//!
//! ```text
//! v2 = float_to_tf32.b32.rz v1                    =>   F2FP.TF32.F32.PACK_B.RZ %r2, %r1
//! v3 = floats_to_bytes.b32.e4m3 v1, v2            =>   F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C %r3, %r2, %r1, RZ
//! v3 = bytes_to_halves.f16x2.e5m2 (shr v1, 16)    =>   F2FP.F16.E5M2.UNPACK_B %r3, %r1.H1
//! v4 = pack_saturated.u8.b32 v1, v2, v3           =>   I2IP.U8.S32.SAT %r4, %r1, %r2, %r3
//! ```

use ptxc_ir::{ByteFormat, Inst as IrInst, InstData, NarrowInt, Op as IrOp, Rounding, Type, Value};
use ptxc_sass::{Choices, HalfSelect, Inst, Op, Operand, choice};

use super::lower::Lower;
use super::source::Src;
use crate::mir::VReg;

impl Lower<'_> {
    pub(super) fn lower_narrow_float(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        match data.op {
            IrOp::FloatToTf32 { round, relu } => {
                if !self.has_conversion(Op::F2FP_TF32, &data.op) {
                    return;
                }
                let b = self.value_for(Op::F2FP_TF32, data.args[0]);
                let made = Inst::new(Op::F2FP_TF32).ops([to, b]);
                let made = match round {
                    Rounding::Nearest => made,
                    Rounding::Zero => made.with(choice!(F2FP_TF32, ".RZ")),
                    Rounding::Down | Rounding::Up => {
                        return self.unsupported(&data.op, "it rounds to nearest or towards zero");
                    }
                };
                self.emit(if relu { made.with(choice!(F2FP_TF32, ".RELU")) } else { made });
            }
            IrOp::FloatsToBytes { .. } | IrOp::HalvesToBytes { .. } => {
                self.emit_bytes(to, data, Operand::rz().half(HalfSelect::Low));
            }
            IrOp::BytesToHalves { format, relu } => {
                if !self.has_conversion(Op::F2FP_UNPACK, &data.op) {
                    return;
                }
                let b = self.two_bytes(data.args[0]);
                let made = Inst::new(Op::F2FP_UNPACK).ops([to, b]).with(match format {
                    ByteFormat::E4m3 => choice!(F2FP_UNPACK, ".E4M3"),
                    ByteFormat::E5m2 => choice!(F2FP_UNPACK, ".E5M2"),
                });
                self.emit(if relu { made.with(choice!(F2FP_UNPACK, ".RELU")) } else { made });
            }
            _ => {}
        }
    }

    /// Two bytes for the lower half of a word, and another half for the upper one.
    pub(super) fn lower_packed_bytes(&mut self, data: &InstData, to: VReg) -> bool {
        let Some(low) = self.foldable(data.args[0]).filter(|low| low.op == IrOp::Trunc) else { return false };
        let Some(made) = self.foldable(low.args[0]) else { return false };
        if !matches!(made.op, IrOp::FloatsToBytes { .. } | IrOp::HalvesToBytes { .. }) {
            return false;
        }
        let (src, half) = self.half_place(data.args[1]);
        let c = self.gpr(src).half(half);
        self.emit_bytes(Operand::reg(to), made, c);
        true
    }

    /// A conversion to two bytes, below a half of `c`.
    fn emit_bytes(&mut self, to: Operand<VReg>, data: &InstData, c: Operand<VReg>) {
        match data.op {
            IrOp::FloatsToBytes { format, relu } if self.has_conversion(Op::F2FP_BYTES, &data.op) => {
                let a = self.gpr_value(data.args[1]);
                let b = self.value_for(Op::F2FP_BYTES, data.args[0]);
                self.emit(bytes(Op::F2FP_BYTES, format, relu).ops([to, a, b, c]));
            }
            IrOp::HalvesToBytes { format, relu }
                if self.has_conversion(Op::F2FP_BYTES_OF_HALVES, &data.op) =>
            {
                let b = self.value_for(Op::F2FP_BYTES_OF_HALVES, data.args[0]);
                self.emit(bytes(Op::F2FP_BYTES_OF_HALVES, format, relu).ops([to, b, c]));
            }
            _ => {}
        }
    }

    /// The half of a general register with the lower half of a word: the bits above do not matter.
    fn two_bytes(&mut self, value: Value) -> Operand<VReg> {
        let mut value = self.resolve(value);
        while let Some(data) = self.def_data(value) {
            let is_constant = |arg: Value, bits| self.src(arg) == Src::Imm(bits);
            match data.op {
                IrOp::And if data.ty == Type::B32 && is_constant(data.args[1], 0xffff) => {}
                IrOp::Shr if data.ty == Type::B32 && is_constant(data.args[1], 16) => {
                    return match self.src(data.args[0]) {
                        Src::Imm(bits) => self.gpr(Src::Imm(bits >> 16)).half(HalfSelect::Low),
                        src => self.gpr(src).half(HalfSelect::High),
                    };
                }
                _ => break,
            }
            value = self.resolve(data.args[0]);
        }
        self.gpr_value(value).half(HalfSelect::Low)
    }

    /// Two integers with saturation, above or below a part of a third one.
    pub(super) fn lower_packed_integers(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::PackSaturated(narrow) = data.op else { return };
        let to = self.def(self.func.result(inst));
        let made = match narrow {
            NarrowInt::U2 => Inst::new(Op::I2IP_NARROW).with(choice!(I2IP_NARROW, ".U2", ".28")),
            NarrowInt::S2 => Inst::new(Op::I2IP_NARROW).with(choice!(I2IP_NARROW, ".S2", ".28")),
            NarrowInt::U4 => Inst::new(Op::I2IP_NARROW).with(choice!(I2IP_NARROW, ".U4", ".24")),
            NarrowInt::S4 => Inst::new(Op::I2IP_NARROW).with(choice!(I2IP_NARROW, ".S4", ".24")),
            NarrowInt::U8 => Inst::new(Op::I2IP).with(choice!(I2IP, ".U8")),
            NarrowInt::S8 => Inst::new(Op::I2IP).with(choice!(I2IP, ".S8")),
            NarrowInt::U16 => Inst::new(Op::I2IP).with(choice!(I2IP, ".U16")),
            NarrowInt::S16 => Inst::new(Op::I2IP).with(choice!(I2IP, ".S16")),
        };
        let a = self.gpr_value(data.args[0]);
        let b = self.value_for(made.op, data.args[1]);
        // Elements of 16 bits leave no room for a third operand.
        let c = match narrow {
            NarrowInt::U16 | NarrowInt::S16 => Operand::rz().half(HalfSelect::Low),
            NarrowInt::U8 | NarrowInt::S8 => self.gpr_value(data.args[2]).half(HalfSelect::Low),
            NarrowInt::U2 | NarrowInt::S2 | NarrowInt::U4 | NarrowInt::S4 => self.gpr_value(data.args[2]),
        };
        self.emit(made.ops([to, a, b, c]));
    }

    /// Whether the architecture has the instruction for an operation; reports the operation if not.
    fn has_conversion(&mut self, instruction: Op, op: &IrOp) -> bool {
        let has = instruction.row().archs.contains(self.arch);
        if !has {
            self.unsupported(op, format!("{} has no such conversion", self.arch));
        }
        has
    }
}

/// A conversion to bytes, which always saturates.
fn bytes(op: Op, format: ByteFormat, relu: bool) -> Inst<VReg> {
    const FINITE: Choices = choice!(F2FP_BYTES | F2FP_BYTES_OF_HALVES, ".SATFINITE");
    let made = Inst::new(op).with(FINITE).with(match format {
        ByteFormat::E4m3 => choice!(F2FP_BYTES | F2FP_BYTES_OF_HALVES, ".E4M3"),
        ByteFormat::E5m2 => choice!(F2FP_BYTES | F2FP_BYTES_OF_HALVES, ".E5M2"),
    });
    if relu { made.with(choice!(F2FP_BYTES | F2FP_BYTES_OF_HALVES, ".RELU")) } else { made }
}
