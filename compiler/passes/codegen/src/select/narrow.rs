//! Conversions to and from formats of fewer bits than a half or than single precision.
//!
//! ```text
//! v2 = float_to_tf32.b32.rz v1                    =>   F2FP.TF32.F32.PACK_B.RZ %r2, %r1
//! ```

use ptxc_ir::{Inst as IrInst, Op as IrOp, Rounding};
use ptxc_sass::{Inst, Op, choice};

use super::lower::Lower;

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
            _ => {}
        }
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
