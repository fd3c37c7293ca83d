//! Whether an instruction is what allocation made of another: the same but for its registers.

use std::ops::Range;

use ptxc_sass::{Access, AccessRole, Inst, PReg, RegFile, Register};
use smallvec::SmallVec;

use super::copy_operands;
use crate::mir::{MInst, VReg};

/// A register operand of an instruction, before and after allocation.
pub(super) struct Renamed {
    pub(super) from: VReg,
    pub(super) to: PReg,
    pub(super) width: u8,
}

/// What became of the registers of an instruction: ranges of a list of [`Renamed`].
#[derive(Default)]
pub(super) struct Match {
    /// What it reads: operands, guard and old values.
    pub(super) uses: Range<u32>,
    /// What it writes, but for the results of a call.
    pub(super) defs: Range<u32>,
    /// What a plain copy copies, before and after allocation.
    pub(super) copied: Option<(VReg, PReg)>,
}

/// Finds the registers of an instruction before and after allocation.
///
/// # Errors
/// If the two differ in more than their registers.
pub(super) fn match_instructions(
    before: &MInst<VReg>,
    after: &MInst<PReg>,
    renamed: &mut Vec<Renamed>,
) -> Result<Match, String> {
    let start = renamed.len() as u32;
    let (old, new) = (before.inst.accesses(), after.inst.accesses());
    let shape = |count| format!("{} has another shape than {}: {count}", after.inst, before.inst);
    if old.len() != new.len() {
        return Err(shape(new.len()));
    }
    let mut defs: SmallVec<[Renamed; 4]> = SmallVec::new();
    for (old, new) in old.iter().zip(&new) {
        if (old.slot, old.role, old.width) != (new.slot, new.role, new.width) {
            return Err(shape(new.slot as usize));
        }
        let operand = Renamed { from: old.reg, to: new.reg, width: old.width };
        if old.role == AccessRole::Def {
            defs.push(operand);
        } else {
            renamed.push(operand);
        }
    }
    // One register of the input may be in two; so compare with each operand blanked. What the input reads in a
    // uniform register the result may read in a general one, where the instruction takes it.
    let is_general = |reg: VReg| {
        let of_use = |access: &Access<VReg>| access.role == AccessRole::Use && access.reg == reg;
        let place = old.iter().position(of_use);
        reg.file() == RegFile::Ugpr && place.is_some_and(|n| new[n].reg.file() == RegFile::Gpr)
    };
    let file = |reg: VReg| if is_general(reg) { RegFile::Gpr } else { reg.file() };
    if !same_but_registers(&before.inst, &after.inst, file) {
        return Err(shape(new.len()));
    }
    if old.iter().any(|access| is_general(access.reg)) {
        after.inst.check_form()?;
    }
    if before.tied.len() != after.tied.len() {
        return Err("tied operands got lost".into());
    }
    for (&(slot, from), &(same_slot, to)) in before.tied.iter().zip(&after.tied) {
        if slot != same_slot || after.inst.operands[slot as usize].as_reg() != Some(to) {
            return Err(format!("{to} is not the register that is defined"));
        }
        renamed.push(Renamed { from, to, width: before.inst.slot_width(slot as usize) });
    }
    written_once(&defs)?;
    let copied = match (copy_operands(&before.inst), copy_operands(&after.inst)) {
        (Some((_, from)), Some((_, to))) => Some((from, to)),
        _ => None,
    };
    let middle = renamed.len() as u32;
    renamed.extend(defs);
    Ok(Match { uses: start..middle, defs: middle..renamed.len() as u32, copied })
}

/// Whether what is written does not overlap.
fn written_once(defs: &[Renamed]) -> Result<(), String> {
    let registers = |def: &Renamed| {
        let first = u16::from(def.to.index());
        first..first + u16::from(def.width)
    };
    for (index, def) in defs.iter().enumerate() {
        let overlaps = |other: &Renamed| {
            let (a, b) = (registers(def), registers(other));
            def.to.file() == other.to.file() && a.start < b.end && b.start < a.end
        };
        if let Some(other) = defs[..index].iter().find(|other| overlaps(other)) {
            return Err(format!("{} is written twice", def.to.max(other.to)));
        }
    }
    Ok(())
}

/// Whether two instructions are the same but for the numbers of their registers, those of the first taken to be in the
/// files that `file` says.
pub(super) fn same_but_registers<R: Register>(
    a: &Inst<R>,
    b: &Inst<PReg>,
    file: impl Fn(R) -> RegFile,
) -> bool {
    let blank_a = |reg: R| PReg::new(file(reg), 0);
    let blank_b = |reg: PReg| PReg::new(reg.file(), 0);
    let same_guard = match (a.guard, b.guard) {
        (Some(a), Some(b)) => a.negated == b.negated && file(a.reg) == b.reg.file(),
        (a, b) => a.is_none() && b.is_none(),
    };
    let mut operands = a.operands.iter().zip(&b.operands);
    same_guard
        && a.op == b.op
        && a.mods == b.mods
        && a.operands.len() == b.operands.len()
        && operands.all(|(a, b)| a.map(blank_a) == b.map(blank_b))
}
