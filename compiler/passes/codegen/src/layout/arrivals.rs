//! Arrivals before products of a warpgroup that start new sums.
//!
//! PTX wants an arrival between other accesses to a register and a product that uses it. What a
//! product reads is held from the arrival on. The registers of new sums are free until the product,
//! so other values may be in them after the arrival. Then the product gets one of its own.
//!
//! ```text
//! WARPGROUP.ARRIVE                                      WARPGROUP.ARRIVE
//! SHF.R.U32.HI R4, RZ, 0x4, R5                          SHF.R.U32.HI R4, RZ, 0x4, R5
//! R2UR UR0, R4                                    =>    R2UR UR0, R4
//! HGMMA.64x8x16.F32 R4, gdesc[UR0], RZ, !UPT            WARPGROUP.ARRIVE
//!                                                       HGMMA.64x8x16.F32 R4, gdesc[UR0], RZ, !UPT
//! ```
//! Linear.

use ptxc_sass::table::Completion;
use ptxc_sass::{AccessRole, Inst, Op, PReg, RegFile, Register};

use super::code::Code;
use crate::mir::{CallSite, MInst, RegSet};

/// Puts an arrival before each product whose new sums are in registers that others have used since
/// the last arrival of its block, or that has no arrival in its block.
pub(super) fn arrive(code: &mut Code) {
    for block in &mut code.blocks {
        // The registers that were used since the last arrival; all at the start.
        let mut used = None;
        let mut insts = Vec::with_capacity(block.insts.len());
        for minst in std::mem::take(&mut block.insts) {
            ptxc_interrupt::poll();
            if minst.inst.op == Op::WARPGROUP_ARRIVE {
                used = Some(RegSet::default());
            } else if minst.inst.row().completion == Completion::Group {
                let starts = |reg: PReg, width: u8| {
                    (0..width)
                        .filter_map(|n| reg.offset(n))
                        .any(|reg| used.is_none_or(|used| used.contains(reg)) && !reads(&minst.inst, reg))
                };
                if general(&minst).any(|(reg, width, role)| role == AccessRole::Def && starts(reg, width)) {
                    let mut arrival = MInst::new(Inst::new(Op::WARPGROUP_ARRIVE), minst.loc);
                    // Nothing moves across an instruction with a call site.
                    arrival.call = Some(Box::new(CallSite::default()));
                    insts.push(arrival);
                    block.body += 1;
                    used = Some(RegSet::default());
                }
            } else if let Some(used) = &mut used {
                general(&minst).for_each(|(reg, width, _)| used.insert_tuple(reg, width));
            }
            insts.push(minst);
        }
        block.insts = insts;
    }
}

/// The general registers that an instruction accesses.
fn general(minst: &MInst<PReg>) -> impl Iterator<Item = (PReg, u8, AccessRole)> {
    let accesses = minst.inst.accesses().into_iter();
    accesses
        .filter(|access| access.reg.file() == RegFile::Gpr)
        .map(|access| (access.reg, access.width, access.role))
}

/// Whether an instruction reads a register.
fn reads(inst: &Inst<PReg>, wanted: PReg) -> bool {
    let mut is_read = false;
    inst.for_each_use(|access| {
        let same = access.reg.file() == wanted.file();
        let (first, wanted) = (access.reg.index(), wanted.index());
        is_read |= same && (first..first.saturating_add(access.width)).contains(&wanted);
    });
    is_read
}
