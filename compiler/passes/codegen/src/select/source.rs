//! The sources of 32-bit operands, before a slot of an instruction is chosen for them.

use ptxc_ir::Value;

use super::pool::BankPlace;

/// A 32-bit source that can fill an operand slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Src {
    /// Any content.
    Undef,
    /// A constant.
    Imm(u32),
    /// A word of a constant bank, the same for all threads.
    Bank(BankPlace),
    /// The address of that byte of the CTA's static shared memory, if the CTA's number in its
    /// cluster is a part of the address; otherwise the address is a constant.
    Shared(u32),
    /// A component of a value in general registers.
    Word(Value, u8),
}

impl Src {
    /// Whether it fits a slot other than as a general register; an instruction takes one such source.
    pub(super) fn is_special(self) -> bool {
        match self {
            Src::Imm(bits) => bits != 0,
            Src::Bank(_) | Src::Shared(_) => true,
            Src::Undef | Src::Word(..) => false,
        }
    }

    /// Whether this source, instead of the other one, takes the slot for all kinds. An immediate
    /// wins over a word of the constant bank: the word is loaded into a general register as cheaply
    /// as into a uniform one, while the immediate would need a move.
    pub(super) fn claims_slot(self, other: Src) -> bool {
        self.is_special()
            && (!other.is_special() || (matches!(other, Src::Bank(_)) && matches!(self, Src::Imm(_))))
    }
}
