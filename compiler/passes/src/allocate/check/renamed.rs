//! Whether an instruction is what allocation made of another: the same but for its registers.

use ptxc_sass::{Access, AccessRole, Inst, PReg, RegFile, Register};

use crate::mir::{MInst, VReg};

/// A register operand of an instruction, before and after allocation.
pub(super) struct Renamed {
    pub(super) from: VReg,
    pub(super) to: PReg,
    pub(super) role: AccessRole,
    pub(super) width: u8,
}

/// Finds the registers of an instruction's accesses before and after allocation.
///
/// # Errors
/// If the two differ in more than their registers.
pub(super) fn match_accesses(
    before: &MInst<VReg>,
    after: &MInst<PReg>,
    renamed: &mut Vec<Renamed>,
) -> Result<(), String> {
    let (old, new) = (before.inst.accesses(), after.inst.accesses());
    let shape = |count| format!("{} has another shape than {}: {count}", after.inst, before.inst);
    if old.len() != new.len() {
        return Err(shape(new.len()));
    }
    for (old, new) in old.iter().zip(&new) {
        if (old.slot, old.role, old.width) != (new.slot, new.role, new.width) {
            return Err(shape(new.slot as usize));
        }
        renamed.push(Renamed { from: old.reg, to: new.reg, role: old.role, width: old.width });
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
