//! Builds a tuple of registers once for all instructions of a block that read it.
//!
//! ```text
//! MOV %r8, %r1;  MOV %r8#1, %r2                   MOV %r8, %r1;  MOV %r8#1, %r2
//! HMMA.16816.F32 %r10, %r20, %r8, %r30       =>   HMMA.16816.F32 %r10, %r20, %r8, %r30
//! MOV %r9, %r1;  MOV %r9#1, %r2                   HMMA.16816.F32 %r11, %r21, %r8, %r31
//! HMMA.16816.F32 %r11, %r21, %r9, %r31
//! ```
//!
//! Selection builds a tuple for each reader, unless the values lie next to each other already. Fragments
//! that a loop carries do not, and each takes part in many products. As tuples of their own, they would
//! all be alive next to the original, so the allocator could merge at most one of them with it. Cost:
//! linear.

use ptxc_machine::Arch;
use ptxc_sass::{Op, OperandKind, RegFile};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::mir::{MInst, Mir, Renames, VReg, VRegId};

/// The most registers of a tuple that counts: those of an operand of `HMMA`.
const MOST: u8 = 4;

/// The registers that are copied to the components of a tuple, in order.
type Sources = SmallVec<[VReg; MOST as usize]>;

/// The copies that build a tuple: their numbers in the block, the components and the registers.
type Copies = SmallVec<[(usize, VReg, VReg); MOST as usize]>;

/// Merges tuples of general registers with the same content.
pub fn tuples(mir: &mut Mir<VReg>, _arch: Arch) -> bool {
    let mut renames = Renames::default();
    for block in mir.layout.clone() {
        let mut built: FxHashMap<Sources, VReg> = FxHashMap::default();
        // The copies of tuples that are not complete yet.
        let mut open: FxHashMap<VRegId, Copies> = FxHashMap::default();
        let mut superfluous: Vec<usize> = Vec::new();
        for (number, inst) in mir.blocks[block].insts.iter().enumerate() {
            ptxc_interrupt::poll();
            let Some((to, from)) = component_copy(mir, inst) else { continue };
            let copies = open.entry(to.id()).or_default();
            copies.push((number, to, from));
            let width = mir.vregs[to.id()].width;
            if copies.len() < usize::from(width) {
                continue;
            }
            copies.sort_unstable_by_key(|&(_, to, _)| to.component());
            let sources: Sources = copies.iter().map(|&(.., from)| from).collect();
            let whole = copies[0].1;
            match built.get(&sources) {
                Some(&first) => {
                    renames.add(whole, first, width);
                    superfluous.extend(copies.iter().map(|&(number, ..)| number));
                }
                None => {
                    built.insert(sources, whole);
                }
            }
        }
        if !superfluous.is_empty() {
            superfluous.sort_unstable();
            let mut number = 0;
            mir.blocks[block].insts.retain(|_| {
                number += 1;
                superfluous.binary_search(&(number - 1)).is_err()
            });
        }
    }
    renames.apply(mir);
    !renames.is_empty()
}

/// The component of a tuple that an instruction copies a register to, and the register.
pub(super) fn component_copy(mir: &Mir<VReg>, inst: &MInst<VReg>) -> Option<(VReg, VReg)> {
    if inst.inst.op != Op::MOV || inst.inst.guard.is_some() {
        return None;
    }
    let [to, from] = inst.inst.operands[..] else { return None };
    let (OperandKind::Reg(to), OperandKind::Reg(from)) = (to.kind, from.kind) else { return None };
    let is_tuple = (2..=MOST).contains(&mir.vregs[to.id()].width);
    (is_tuple && to.file() == RegFile::Gpr && from.file() == RegFile::Gpr).then_some((to, from))
}
