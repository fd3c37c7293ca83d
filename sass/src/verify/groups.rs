//! Accesses of registers that end with a group of matrix products.
//!
//! No scoreboard announces the end of a product of a warpgroup. A product with `gsb0` closes a
//! group, and `WARPGROUP.DEPBAR.LE` waits until at most n groups are under way. Groups end in
//! order, so an access is over if more than n groups have been closed since it began. Products use
//! the same accumulators one after the other without a wait.

use crate::inst::{AccessRole, Inst};
use crate::operand::OperandKind;
use crate::register::PReg;
use crate::table::{Completion, Group, GroupRole};
use crate::{slot_name, value};

/// An access under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InGroup {
    /// [`PReg::dense`] of the register.
    pub(super) reg: u16,
    /// Whether it is a result.
    pub(super) write: bool,
    /// Whether the register is one of an accumulator.
    pub(super) accumulates: bool,
    /// How many groups have been closed since it began, at least, up to [`MOST`].
    closed: u8,
    /// The instruction of the access.
    pub(super) producer: u32,
}

/// `WARPGROUP.DEPBAR.LE` has three bits for its number: a wait for fewer groups than this ends everything.
const MOST: u8 = 8;

impl InGroup {
    fn key(&self) -> (u16, bool, bool) {
        (self.reg, self.write, self.accumulates)
    }

    /// Sorts by key; of several entries with one key, the one that the most waits leave under way stays.
    pub(super) fn merge(list: &mut Vec<InGroup>) {
        list.sort_unstable();
        list.dedup_by_key(|access| access.key());
    }
}

/// Whether an instruction is a product whose group a later instruction awaits.
pub(super) fn is_product(inst: &Inst<PReg>) -> bool {
    inst.row().completion == Completion::Group
}

/// Whether a register operand in a slot is an accumulator of a product.
pub(super) fn accumulates(inst: &Inst<PReg>, slot: u8) -> bool {
    let slot_of = |name| inst.slot_index(name) == Some(usize::from(slot));
    is_product(inst) && (slot_of(slot_name!("d")) || slot_of(slot_name!("c")))
}

/// Whether a product reads an accumulator that it also writes: whatever must follow the reading must follow the writing.
pub(super) fn rewrites(inst: &Inst<PReg>, slot: u8) -> bool {
    let reg = |name| inst.get(name).and_then(|operand| operand.as_reg());
    inst.slot_index(slot_name!("c")) == Some(usize::from(slot))
        && reg(slot_name!("c")) == reg(slot_name!("d"))
}

/// The accesses that are under way inside a block, sorted by key.
#[derive(Debug, Default)]
pub(super) struct GroupAccesses(Vec<InGroup>);

impl GroupAccesses {
    /// Replaces everything by the accesses that are under way at an entry.
    pub(super) fn restart(&mut self, entry: &[InGroup]) {
        self.0.clear();
        self.0.extend_from_slice(entry);
    }

    /// All accesses.
    pub(super) fn all(&self) -> &[InGroup] {
        &self.0
    }

    /// The accesses that a read or write of a register must follow.
    pub(super) fn before(&self, reg: u16, writes: bool) -> impl Iterator<Item = &InGroup> {
        let first = self.0.partition_point(|access| access.reg < reg);
        self.0[first..]
            .iter()
            .take_while(move |access| access.reg == reg)
            .filter(move |access| access.write || writes)
    }

    /// Forgets the accesses of a register.
    pub(super) fn forget(&mut self, reg: u16) {
        if !self.0.is_empty() {
            self.0.retain(|access| access.reg != reg);
        }
    }

    /// Adds an access of a product that issues now; the earlier one of that kind to the register ends before it.
    pub(super) fn add(&mut self, reg: u16, role: AccessRole, accumulates: bool, producer: u32) {
        let new = InGroup { reg, write: role == AccessRole::Def, accumulates, closed: 0, producer };
        match self.0.binary_search_by_key(&new.key(), InGroup::key) {
            Ok(place) => self.0[place] = new,
            Err(place) => self.0.insert(place, new),
        }
    }

    /// Lets an instruction close a group or wait for groups.
    pub(super) fn issue(&mut self, inst: &Inst<PReg>) {
        match inst.row().group {
            GroupRole::Member(Group::Products) if inst.is(value!(Group = "gsb0")) => {
                self.0.iter_mut().for_each(|access| access.closed = (access.closed + 1).min(MOST));
            }
            // A guard may suppress the wait.
            GroupRole::Await(Group::Products) if inst.guard.is_none() => {
                let left = match inst.get(slot_name!("n")).map(|operand| operand.kind) {
                    Some(OperandKind::Imm(left)) => left,
                    _ => u32::MAX,
                };
                self.0.retain(|access| u32::from(access.closed) <= left);
            }
            _ => {}
        }
    }
}
