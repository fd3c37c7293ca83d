//! The registers that a warp has.

use super::Inst;
use crate::operand::OperandKind;
use crate::register::{RegFile, Register};
use crate::slot_name;
use crate::table::Op;

/// The most general registers that instructions can name.
const MOST: u16 = 255;

impl<R: Register> Inst<R> {
    /// The number of general registers of a thread after an instruction that changes it:
    /// `USETMAXREG.DEALLOC` and, if it succeeds, `USETMAXREG.TRY_ALLOC`.
    pub fn granted_registers(&self) -> Option<u16> {
        if !matches!(self.op, Op::USETMAXREG_DEALLOC | Op::USETMAXREG_TRY_ALLOC) {
            return None;
        }
        match self.get(slot_name!("registers"))?.kind {
            OperandKind::Imm(count) => Some(u16::try_from(count).unwrap_or(MOST).min(MOST)),
            _ => None,
        }
    }

    /// The numbers of the general registers that the instruction gives back. Another warp may get them at
    /// once, so accesses to them must be complete.
    pub fn returned_registers(&self) -> std::ops::Range<u16> {
        let end = RegFile::Gpr.count().into();
        match self.granted_registers().filter(|_| self.op == Op::USETMAXREG_DEALLOC) {
            Some(count) => count.min(end)..end,
            None => end..end,
        }
    }
}
