//! Copy propagation: users of a copied register read the original.
//!
//! ```text
//! MOV %r5, %r3;  IADD3 %r6, %r5, %r5, RZ     =>     IADD3 %r6, %r3, %r3, RZ
//! ```
//!
//! A copy into a component of a wider register stays, since it builds the tuple; so does a copy
//! under a guard. The removal of dead code later removes the copy itself. Cost: linear.

use ptxc_machine::Arch;
use ptxc_sass::{Op, OperandKind, RegFile};

use crate::mir::{Mir, Renames, VReg};

/// Propagates copies between general registers.
pub fn copies(mir: &mut Mir<VReg>, _arch: Arch) -> bool {
    let mut renames = Renames::default();
    for &block in &mir.layout {
        let mut copied = Vec::new();
        for (number, inst) in mir.blocks[block].insts.iter().enumerate() {
            ptxc_interrupt::poll();
            if inst.inst.op != Op::MOV || inst.inst.guard.is_some() {
                continue;
            }
            if let [to, from] = inst.inst.operands[..]
                && let (OperandKind::Reg(to), OperandKind::Reg(from)) = (to.kind, from.kind)
                && from.file() == RegFile::Gpr
                && mir.vregs[to.id()].width == 1
            {
                renames.add(to, from, 1);
                copied.push(number);
            }
        }
        if !copied.is_empty() {
            let mut number = 0;
            mir.blocks[block].insts.retain(|_| {
                number += 1;
                copied.binary_search(&(number - 1)).is_err()
            });
        }
    }
    renames.apply(mir);
    !renames.is_empty()
}
