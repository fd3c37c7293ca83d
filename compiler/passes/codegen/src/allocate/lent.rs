//! Registers that are lent to products of a warpgroup.
//!
//! The hardware may write the sums of a product, and read a, until a wait. So these registers are
//! never spilled, split or copied: a product writes the registers of the sums that it adds to, and a
//! parameter is in the registers of its arguments. Everything else copies lent registers before an
//! arrival or after a wait.
//!
//! ```text
//! mb1(%r4:64):                                            %r4, %r5 and %r6 share registers
//!   WARPGROUP.ARRIVE
//!   HGMMA.64x128x16.F32 %r5, gdesc[%ur1], %r4, UPT
//!   HGMMA.64x128x16.F32 %r6, gdesc[%ur2], %r5, UPT, gsb0
//!   WARPGROUP.DEPBAR.LE gsb0, 0x1
//!   branch %p0, mb1(%r6), mb2
//! ```

use ptxc_ir::SourceLoc;
use ptxc_sass::table::Completion;
use ptxc_sass::{RegFile, slot_name};

use crate::mir::{EdgeArg, MInst, Mir, VReg, VRegId};

/// Whether an instruction is a product, whose sums are lent to it.
pub(super) fn is_product(minst: &MInst<VReg>) -> bool {
    minst.inst.row().completion == Completion::Group
}

/// The registers of a function that are lent.
pub(super) fn registers(mir: &Mir<VReg>) -> Vec<VRegId> {
    let mut lent = Vec::new();
    for minst in mir.insts() {
        if is_product(minst) {
            minst.inst.for_each_access(|access| {
                if access.reg.file() == RegFile::Gpr && access.width > 1 {
                    lent.push(access.reg.id());
                }
            });
        }
        lent.extend(minst.call.iter().flat_map(|site| &site.held).map(|held| held.reg.id()));
    }
    lent.sort_unstable();
    lent.dedup();
    lent
}

/// Pairs of registers that must be the same, with the place in the source, given all that are lent.
pub(super) fn pairs(mir: &Mir<VReg>, is_lent: impl Fn(VRegId) -> bool) -> Vec<(VReg, VReg, SourceLoc)> {
    let mut pairs = Vec::new();
    for &block in &mir.layout {
        let data = &mir.blocks[block];
        for minst in data.insts.iter().filter(|minst| is_product(minst)) {
            let register = |slot| minst.inst.get(slot).and_then(|operand| operand.as_reg());
            if let (Some(to), Some(from)) = (register(slot_name!("d")), register(slot_name!("c"))) {
                pairs.push((to, from, minst.loc));
            }
        }
        for edge in data.term.edges() {
            for (param, arg) in mir.blocks[edge.block].params.iter().zip(&edge.args) {
                match *arg {
                    EdgeArg::Reg(arg) if is_lent(param.reg.id()) || is_lent(arg.id()) && param.width > 1 => {
                        pairs.push((param.reg, arg, data.term_loc));
                    }
                    _ => {}
                }
            }
        }
    }
    pairs
}
