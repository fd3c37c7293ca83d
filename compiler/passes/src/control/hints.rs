//! The two hints: yield and reuse.
//!
//! In: an instruction with its stall, and the next. Out: whether bit 109 is clear (yield), and which operands
//! stay in the operand cache.
//!
//! **Yield.** The hardware accepts a stall of 12 or more only with the yield hint, so there it is set. Below
//! it is a choice, made as ptxas makes it in 99 of 100 cases: set where the stall covers a fixed-latency
//! dependence of more than two cycles and the instruction sets no scoreboard.
//!
//! **Reuse.** A slot that has a reuse flag gets it if the next instruction reads the same general register in
//! the slot of the same flag, so that it need not be fetched again. The instruction must not yield (the
//! hardware takes the flags for something else then), must not overwrite the register itself, and the next
//! one must issue before anything else can: it waits for no scoreboard and nothing pads between. Guarded
//! instructions get none: where the guard fails nothing is fetched.

use ptxc_sass::{Arch, Control, Inst, PReg, RegFile, Register};

/// Whether an instruction with this stall should yield.
pub(super) fn yields(stall: u32, for_dependence: bool, sets_scoreboard: bool) -> bool {
    stall > u32::from(Control::MAX_STALL_WITHOUT_YIELD) || (for_dependence && stall > 2 && !sets_scoreboard)
}

/// The reuse flags of an instruction, a bit each, given the one that follows at once.
pub(super) fn reuse(inst: &Inst<PReg>, next: &Inst<PReg>, arch: Arch) -> u8 {
    if inst.guard.is_some() || next.guard.is_some() {
        return 0;
    }
    let mut flags = 0;
    for (flag, reg) in cached(inst, arch) {
        let overwritten = inst.defs().any(|def| {
            def.reg.file() == RegFile::Gpr
                && (def.reg.index()..def.reg.index().saturating_add(def.width)).contains(&reg.index())
        });
        if !overwritten && cached(next, arch).any(|other| other == (flag, reg)) {
            flags |= 1 << flag;
        }
    }
    flags
}

/// The single general registers that an instruction reads in slots with a reuse flag, with that flag.
fn cached(inst: &Inst<PReg>, arch: Arch) -> impl Iterator<Item = (u8, PReg)> {
    inst.row().slots.iter().enumerate().filter_map(move |(index, slot)| {
        let reg = inst.operands[index].as_reg()?;
        let has_flag = slot.reuse_on.contains(arch) && inst.slot_width(index) == 1;
        (reg.file() == RegFile::Gpr && has_flag).then_some((slot.reuse.filter(|&flag| flag < 3)?, reg))
    })
}

#[cfg(test)]
mod tests {
    use ptxc_sass::{Op, Operand};

    use super::*;

    fn fadd(d: u8, a: u8, b: u8) -> Inst<PReg> {
        Inst::new(Op::FADD).ops([d, a, b].map(|n| Operand::reg(PReg::r(n))))
    }

    #[test]
    fn the_same_register_in_the_same_slot() {
        assert_eq!(reuse(&fadd(0, 1, 2), &fadd(3, 1, 2), Arch::Sm90), 0b101);
        assert_eq!(reuse(&fadd(0, 1, 2), &fadd(3, 2, 1), Arch::Sm90), 0);
        assert_eq!(reuse(&fadd(1, 1, 2), &fadd(3, 1, 2), Arch::Sm90), 0b100, "R1 is overwritten");
        assert_eq!(reuse(&fadd(0, 1, 2).guarded(PReg::p(0), false), &fadd(3, 1, 2), Arch::Sm90), 0);
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
