//! Where control goes after an instruction, as far as the instruction itself says.

use crate::inst::Inst;
use crate::operand::OperandKind;
use crate::register::Register;
use crate::table::Op;

impl<R: Register> Inst<R> {
    /// Whether it may go elsewhere than to the next instruction, or ends the thread: only of such need [`jumps`](Self::jumps) and
    /// [`falls_through`](Self::falls_through) be asked.
    #[inline]
    pub fn is_control_flow(&self) -> bool {
        let effects = &self.row().effects;
        effects.branch || effects.exit
    }

    /// Whether it may go on at the places that it names.
    pub fn jumps(&self) -> bool {
        self.op == Op::BRA || self.op.tests_lanes() || self.is_indexed_branch()
    }

    /// Whether the next instruction may be what is executed after it. A call comes back; a collective ends where its
    /// program says.
    pub fn falls_through(&self) -> bool {
        let guarded = self.guard.is_some() || matches!(self.op, Op::EXIT_IF | Op::RET_IF);
        if self.op.returns() || self.row().effects.exit || self.is_indexed_branch() {
            return guarded;
        }
        if !self.jumps() {
            return true;
        }
        guarded
            || self.op.tests_lanes()
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
