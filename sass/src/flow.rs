//! The places where control can go after an instruction, as far as the instruction itself says.

use crate::inst::Inst;
use crate::operand::OperandKind;
use crate::register::Register;
use crate::table::{Op, Transfer};

impl<R: Register> Inst<R> {
    /// Whether control may go elsewhere than to the next instruction, or the thread ends. For other
    /// instructions, [`jumps`](Self::jumps) and [`falls_through`](Self::falls_through) need not be
    /// asked.
    #[inline]
    pub fn is_control_flow(&self) -> bool {
        let effects = &self.row().effects;
        effects.branch || effects.exit
    }

    /// Whether control may go to the places that the instruction names.
    pub fn jumps(&self) -> bool {
        self.op == Op::BRA || self.row().transfer == Transfer::ByLanes || self.is_indexed_branch()
    }

    /// Whether control may go to the next instruction. A call returns; a collective ends where its
    /// program says.
    pub fn falls_through(&self) -> bool {
        let guarded = self.guard.is_some() || matches!(self.op, Op::EXIT_IF | Op::RET_IF);
        if self.row().transfer == Transfer::Return || self.row().effects.exit || self.is_indexed_branch() {
            return guarded;
        }
        if !self.jumps() {
            return true;
        }
        guarded
            || self.row().transfer == Transfer::ByLanes
            || self.operands.iter().any(|operand| match operand.kind {
                OperandKind::Reg(_) => true,
                OperandKind::Zero(file) => file.is_predicate() && operand.flags.not,
                _ => false,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register::PReg;

    #[test]
    fn whatever_does_not_go_on_is_control_flow() {
        for &op in Op::ALL {
            let inst = Inst::<PReg>::new(op);
            assert!(inst.is_control_flow() || !inst.jumps() && inst.falls_through(), "{op:?}");
        }
    }
}
