//! The two hints: yield and reuse.
//!
//! In: an instruction with its stall, and the next instruction. Out: whether bit 109 is clear
//! (yield), and the operands that stay in the operand cache.
//!
//! **Yield.** The hardware accepts a stall of 12 or more only with the yield hint, so these stalls
//! set it. For shorter stalls the hint is a choice, made as ptxas makes it in 99 of 100 cases: it
//! is set if the stall covers a fixed-latency dependence of more than two cycles and the
//! instruction sets no scoreboard.
//!
//! **Reuse.** A slot that has a reuse flag gets it if the next instruction reads the same general
//! register in the slot of the same flag, so that it need not be fetched again. The instruction
//! must not yield (the bits then have another meaning) and must not overwrite the register itself.
//! The next one must issue before any other: it waits for no scoreboard, and there is no padding in
//! between. Guarded instructions get no flags: if the guard fails, nothing is fetched.

use ptxc_machine::Arch;
use ptxc_sass::{Control, Inst, PReg, RegFile, Register};

/// Whether an instruction with this stall should yield.
pub(super) fn yields(stall: u32, for_dependence: bool, sets_scoreboard: bool) -> bool {
    stall > u32::from(Control::MAX_STALL_WITHOUT_YIELD) || (for_dependence && stall > 2 && !sets_scoreboard)
}

/// By the number of a flag, the general register in the slot that has it on any architecture, and
/// the slot.
pub(super) type Flagged = [Option<(PReg, u8)>; 3];

/// The general registers in slots that have a reuse flag.
pub(super) fn flagged(inst: &Inst<PReg>) -> Flagged {
    let mut found = Flagged::default();
    for (index, (slot, operand)) in inst.row().slots.iter().zip(&inst.operands).enumerate() {
        let place = slot.reuse.and_then(|flag| found.get_mut(usize::from(flag)));
        let reg = operand.as_reg().filter(|reg| reg.file() == RegFile::Gpr);
        if let (Some(place), Some(reg)) = (place, reg) {
            *place = Some((reg, index as u8));
        }
    }
    found
}

/// The reuse flags of an instruction, a bit each, given the one right after it; neither is guarded.
/// Each instruction is given with its [`flagged`] registers.
pub(super) fn reuse(
    (inst, own): (&Inst<PReg>, &Flagged),
    (next, others): (&Inst<PReg>, &Flagged),
    arch: Arch,
) -> u8 {
    let is_cached = |inst: &Inst<PReg>, slot: u8| {
        let slot = usize::from(slot);
        inst.row().slots[slot].reuse_on.contains(arch) && inst.slot_width(slot) == 1
    };
    let mut flags = 0;
    for flag in 0..own.len() {
        if let (Some((reg, slot)), Some((other, next_slot))) = (own[flag], others[flag])
            && reg == other
            && is_cached(next, next_slot)
            && is_cached(inst, slot)
            && !overwrites(inst, reg)
        {
            flags |= 1 << flag;
        }
    }
    flags
}

/// Whether an instruction writes a general register.
fn overwrites(inst: &Inst<PReg>, reg: PReg) -> bool {
    let mut found = false;
    inst.for_each_def(|def| {
        let written = def.reg.index()..def.reg.index().saturating_add(def.width);
        found |= def.reg.file() == RegFile::Gpr && written.contains(&reg.index());
    });
    found
}

#[cfg(test)]
mod tests {
    use ptxc_sass::{Op, Operand};

    use super::*;

    fn fadd(d: u8, a: u8, b: u8) -> Inst<PReg> {
        Inst::new(Op::FADD).ops([d, a, b].map(|n| Operand::reg(PReg::r(n))))
    }

    fn reuse(inst: &Inst<PReg>, next: &Inst<PReg>, arch: Arch) -> u8 {
        super::reuse((inst, &flagged(inst)), (next, &flagged(next)), arch)
    }

    #[test]
    fn no_two_slots_have_the_same_flag() {
        for &op in Op::ALL {
            let flags: Vec<u8> = op.row().slots.iter().filter_map(|slot| slot.reuse).collect();
            let distinct: std::collections::BTreeSet<u8> = flags.iter().copied().collect();
            assert_eq!(distinct.len(), flags.len(), "{op:?}");
        }
    }

    #[test]
    fn the_same_register_in_the_same_slot() {
        assert_eq!(reuse(&fadd(0, 1, 2), &fadd(3, 1, 2), Arch::Sm90), 0b101);
        assert_eq!(reuse(&fadd(0, 1, 2), &fadd(3, 2, 1), Arch::Sm90), 0);
        assert_eq!(reuse(&fadd(1, 1, 2), &fadd(3, 1, 2), Arch::Sm90), 0b100, "R1 is overwritten");
    }

    #[test]
    fn long_stalls_always_yield() {
        assert!(yields(12, false, true));
        assert!(yields(5, true, false));
        assert!(!yields(5, true, true));
        assert!(!yields(5, false, false));
        assert!(!yields(2, true, false));
    }
}
