//! The registers that the instructions of a function read and write, computed once for all queries.
//!
//! In: instructions. Out: the [`Access`]es of each, by the dense numbers of single registers: first
//! its reads, then its writes. So a walk from the last to the first sees the registers that an
//! instruction ends before those that it needs.
//!
//! ```text
//! @P0 LDG.64 R4, [R2.64] tied(R6)      use R2:2, use P0, tied R6:2, definition R4:2
//! ```

use ptxc_sass::RegFile;

use super::unit::{Numbers, Unit};
use crate::mir::MInst;

/// How an instruction touches a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It reads, as an operand, as its guard, or as an argument of the routine that it calls.
    Use,
    /// Its content stays if the guard fails, in the register that the instruction writes in that
    /// slot.
    Tied,
    /// It writes, and the old content is lost.
    Def,
    /// It writes if its guard holds.
    GuardedDef,
}

/// A register, or neighbours, that an instruction reads or writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// The number of the first.
    pub(super) first: u32,
    /// The number of registers.
    pub(super) width: u8,
    /// The slot; the number of slots for a guard. Meaningless for arguments and results of a call.
    pub(super) slot: u8,
    pub(super) file: RegFile,
    pub(super) role: Role,
}

impl Access {
    /// The numbers of its registers.
    pub(super) fn numbers(self) -> std::ops::Range<u32> {
        self.first..self.first + u32::from(self.width)
    }
}

/// The accesses of a function's instructions.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    list: Vec<Access>,
    /// For each instruction, the end of its accesses.
    ends: Vec<u32>,
}

impl Accesses {
    /// The accesses of about `count` instructions.
    pub(super) fn new<'a, R: Unit + 'a, N: Numbers<R>>(
        insts: impl Iterator<Item = &'a MInst<R>>,
        count: usize,
        numbers: &N,
    ) -> Accesses {
        let mut accesses = Accesses { list: Vec::with_capacity(4 * count), ends: Vec::with_capacity(count) };
        for minst in insts {
            ptxc_interrupt::poll();
            accesses.add(minst, numbers);
        }
        accesses
    }

    fn add<R: Unit, N: Numbers<R>>(&mut self, minst: &MInst<R>, numbers: &N) {
        let list = &mut self.list;
        let access = |reg: R, width: u8, slot: u8, role: Role| {
            let (first, width) = (numbers.number(reg), numbers.neighbours(reg, width));
            Access { first, width, slot, file: reg.file(), role }
        };
        minst.inst.for_each_use(|found| list.push(access(found.reg, found.width, found.slot, Role::Use)));
        for &(slot, old) in &minst.tied {
            list.push(access(old, minst.inst.slot_width(usize::from(slot)), slot, Role::Tied));
        }
        if let Some(call) = &minst.call {
            let args = call.args.iter().map(|arg| access(arg.value.reg, arg.value.width, 0, Role::Use));
            list.extend(args);
            list.extend(call.held.iter().map(|held| access(held.reg, held.width, 0, Role::Use)));
        }
        let partly = minst.inst.guard.is_some() && !N::DEFINED_ONCE;
        let definition = if partly { Role::GuardedDef } else { Role::Def };
        minst.inst.for_each_def(|found| list.push(access(found.reg, found.width, found.slot, definition)));
        if let Some(call) = &minst.call {
            let results = call.results.iter();
            list.extend(results.map(|to| access(to.value.reg, to.value.width, 0, Role::Def)));
        }
        self.ends.push(list.len() as u32);
    }

    /// The accesses of the instruction with that number.
    pub(super) fn of(&self, index: usize) -> &[Access] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.list[start as usize..self.ends[index] as usize]
    }
}
