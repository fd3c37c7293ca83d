//! Registers of matrix products that other instructions have written.
//!
//! A product of a warpgroup reads its accumulator and its first factor by another path than other
//! instructions write them. `WARPGROUP.ARRIVE` makes writes that are complete visible to it. PTX
//! demands the same of `wgmma.fence`, and all code of NVIDIA's assembler that was examined has the
//! instruction between such a write and the product.

use crate::inst::Inst;
use crate::operand::OperandKind;
use crate::register::{PReg, RegFile};
use crate::slot_name;

/// The general registers that instructions other than products have written since the last
/// `WARPGROUP.ARRIVE`, each with the last instruction that wrote it, by ascending number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unarrived(Vec<(u16, u32)>);

impl Unarrived {
    /// An instruction writes a register, given by [`PReg::dense`].
    pub(super) fn write(&mut self, reg: u16, producer: u32) {
        match self.0.binary_search_by_key(&reg, |&(reg, _)| reg) {
            Ok(place) => self.0[place].1 = producer,
            Err(place) => self.0.insert(place, (reg, producer)),
        }
    }

    /// The last instruction that wrote a register.
    pub(super) fn writer(&self, reg: u16) -> Option<u32> {
        let place = self.0.binary_search_by_key(&reg, |&(reg, _)| reg).ok()?;
        Some(self.0[place].1)
    }

    /// A product has taken a register over.
    pub(super) fn forget(&mut self, reg: u16) {
        self.0.retain(|&(other, _)| other != reg);
    }

    /// Everything that has been written is visible, but not what is still being written.
    pub(super) fn arrive(&mut self, is_pending: impl Fn(u16) -> bool) {
        self.0.retain(|&(reg, _)| is_pending(reg));
    }

    /// Appends the list of another path.
    pub(super) fn append(&mut self, path: &Unarrived) {
        self.0.extend_from_slice(&path.0);
    }

    /// Sorts appended lists. Of several instructions that wrote a register, the last one in the
    /// program stays.
    pub(super) fn merge(&mut self) {
        self.0.sort_unstable_by_key(|&(reg, producer)| (reg, u32::MAX - producer));
        self.0.dedup_by_key(|&mut (reg, _)| reg);
    }
}

/// Whether a product reads the general registers in a slot as a matrix: as the first factor, or as
/// the accumulator, unless it starts a new sum.
pub(super) fn reads_as_matrix(inst: &Inst<PReg>, slot: u8) -> bool {
    let slot_of = |name| inst.slot_index(name) == Some(usize::from(slot));
    let starts = inst.get(slot_name!("accumulate")).is_some_and(|operand| {
        operand.flags.not && matches!(operand.kind, OperandKind::Zero(RegFile::Upred))
    });
    slot_of(slot_name!("a")) || (slot_of(slot_name!("c")) && !starts)
}
