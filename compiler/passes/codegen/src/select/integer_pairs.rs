//! Two 16-bit integers in a word, which sm_90 adds and compares.
//!
//! ```text
//! v3 = ipair.add.b32 v1, v2                         =>   VIADD.16x2 %r3, %r1, %r2
//! v3 = ipair.smax.b32 v1, v2; v4 = ipair.smax.b32 v3, 0
//!                                                   =>   VIMNMX.S16x2.RELU %r4, %r1, %r2, !PT
//! v3 = ipair.add.b32 v1, v2; v4 = ipair.umin.b32 v3, v5
//!                                                   =>   VIADDMNMX.U16x2 %r4, %r1, %r2, %r5, PT
//! ```

use ptxc_ir::{Inst as IrInst, InstData, Op as IrOp, PairFunction};
use ptxc_sass::{Inst, Op, Operand, choice};

use super::lower::Lower;
use super::source::Src;

impl<'a> Lower<'a> {
    pub(super) fn lower_integer_pair(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::Ipair(function) = data.op else { return };
        if !Op::VIADD_16X2.row().archs.contains(self.arch) {
            return self.unsupported(&data.op, format!("{} has no such instruction", self.arch));
        }
        let to = self.def(self.func.result(inst));
        if function == PairFunction::Add {
            let (a, b) = self.commuted(self.src(data.args[0]), self.src(data.args[1]));
            return self.emit(Inst::new(Op::VIADD_16X2).ops([to, a, b]));
        }
        // The greater of a signed minimum or maximum and zero.
        let (function, data, relu) = match self.limited_below(data) {
            Some((inner, below)) => (inner, below, true),
            None => (function, data, false),
        };
        let (least, signed) = match function {
            PairFunction::Smin => (true, true),
            PairFunction::Smax => (false, true),
            PairFunction::Umin => (true, false),
            PairFunction::Umax | PairFunction::Add => (false, false),
        };
        let ps = if least { Operand::pt() } else { Operand::pt().not() };
        let made = match self.extreme_of_three(function, data) {
            Some((op, [a, b, c])) => Inst::new(op).ops([to, a, b, c, ps]),
            None => {
                let (a, b) = self.commuted(self.src(data.args[0]), self.src(data.args[1]));
                Inst::new(Op::VIMNMX_16X2).ops([to, a, b, ps])
            }
        };
        let made = made.with(match signed {
            true => choice!(VIMNMX_16X2 | VIMNMX3_16X2 | VIADDMNMX_16X2, ".S16x2"),
            false => choice!(VIMNMX_16X2 | VIMNMX3_16X2 | VIADDMNMX_16X2, ".U16x2"),
        });
        self.emit(match relu {
            true => made.with(choice!(VIMNMX_16X2 | VIMNMX3_16X2 | VIADDMNMX_16X2, ".RELU")),
            false => made,
        });
    }

    /// The signed minimum or maximum that nothing else uses and that the operation limits to zero
    /// and above.
    fn limited_below(&self, data: &InstData) -> Option<(PairFunction, &'a InstData)> {
        if data.op != IrOp::Ipair(PairFunction::Smax) || self.src(data.args[1]) != Src::Imm(0) {
            return None;
        }
        let below = self.foldable(data.args[0])?;
        match below.op {
            IrOp::Ipair(inner @ (PairFunction::Smin | PairFunction::Smax)) => Some((inner, below)),
            _ => None,
        }
    }

    /// A minimum or maximum with another one of the same kind, or a sum, as an argument that
    /// nothing else uses: the instruction that takes all three operands.
    fn extreme_of_three(
        &mut self,
        function: PairFunction,
        data: &InstData,
    ) -> Option<(Op, [Operand<crate::mir::VReg>; 3])> {
        for (inner, other) in [(data.args[0], data.args[1]), (data.args[1], data.args[0])] {
            let Some(below) = self.foldable(inner) else { continue };
            let IrOp::Ipair(under) = below.op else { continue };
            let (x, y, last) = (self.src(below.args[0]), self.src(below.args[1]), self.src(other));
            let (x, y) = if x.claims_slot(y) { (y, x) } else { (x, y) };
            if under == function {
                // Only the middle place takes other kinds.
                let (b, c) = if last.claims_slot(y) { (last, y) } else { (y, last) };
                return Some((Op::VIMNMX3_16X2, [self.gpr(x), self.any(b), self.gpr(c)]));
            }
            if under == PairFunction::Add {
                let (a, b) = (self.gpr(x), self.any(y));
                let c = if y.is_special() { self.gpr(last) } else { self.any(last) };
                return Some((Op::VIADDMNMX_16X2, [a, b, c]));
            }
        }
        None
    }
}
