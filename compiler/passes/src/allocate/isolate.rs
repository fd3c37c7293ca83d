//! Gives each guarded definition an old value of its own.
//!
//! A guarded definition leaves the old content of its register where the guard fails, so it must be put
//! into the register that holds the old value. If the old value is still read later, or is tied twice, the
//! two need a copy; if not, they only need the same register. So each tied operand is replaced by a copy:
//!
//! ```text
//! @p0 MOV %r2, 1   (tied %r1)    =>    MOV %r3, %r1
//!                                      @p0 MOV %r2, 1   (tied %r3)
//! ```
//!
//! The copy and the definition never overlap, so they always go into one register; coalescing then
//! removes the copy wherever `%r1` may be in that register too. This is how conventional SSA form treats
//! operands that are read and written (Boissinot et al., CGO 2009). The cost is linear.

use ptxc_sass::RegFile;

use super::AllocError;
use super::moves;
use super::work::{Origin, Rebuilt, Work};
use crate::mir::VReg;

/// A tied operand and the definition that goes into its register.
pub(super) type Tie = (VReg, VReg);

/// Puts a copy in front of each guarded definition.
pub(super) fn isolate(work: &mut Work) -> Result<(), AllocError> {
    for position in 0..work.mir.layout.len() {
        let block = work.mir.layout[position];
        if work.mir.blocks[block].insts.iter().all(|inst| inst.tied.is_empty()) {
            continue;
        }
        let insts = std::mem::take(&mut work.mir.blocks[block].insts);
        let origins = std::mem::take(&mut work.origins[block]);
        let mut rebuilt = Rebuilt::with_capacity(insts.len() * 2);
        for (mut inst, origin) in insts.into_iter().zip(origins) {
            for index in 0..inst.tied.len() {
                let (slot, old) = inst.tied[index];
                if old.file == RegFile::Upred {
                    return Err(AllocError::UniformPredicateCopy { loc: inst.loc });
                }
                let width = inst.inst.slot_width(slot as usize);
                let copy = work.new_short(old.file, width);
                for component in 0..width {
                    let (to, from) = (copy.component(component), old.component(component));
                    rebuilt.insert(moves::copy(to, from), inst.loc);
                }
                inst.tied[index].1 = copy;
            }
            rebuilt.push(inst, origin);
        }
        work.mir.blocks[block].insts = rebuilt.insts;
        work.origins[block] = rebuilt.origins;
    }
    Ok(())
}

/// Every tied operand with its definition, in layout order.
pub(super) fn ties(work: &Work) -> Vec<(Tie, ptxc_ir::SourceLoc)> {
    let mut list = Vec::new();
    for &block in &work.mir.layout {
        for (inst, origin) in work.mir.blocks[block].insts.iter().zip(&work.origins[block]) {
            if !matches!(origin, Origin::Inst(_)) {
                continue;
            }
            for &(slot, old) in &inst.tied {
                if let Some(def) = inst.inst.operands[slot as usize].as_reg() {
                    list.push(((old, def), inst.loc));
                }
            }
        }
    }
    list
}
