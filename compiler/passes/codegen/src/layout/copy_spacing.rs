//! Keeps room in the queue of the memory unit before asynchronous copies.
//!
//! In: scheduled code. Out: the same with loads that are never executed before an `LDGSTS`, if
//! accesses to shared memory or barriers may have been issued since the last `LDGSTS`, and before a
//! `MEMBAR` of sm_90:
//!
//! ```text
//! LDS R3, [R4]                             LDS R3, [R4]
//! LDGSTS.E [R5], desc[UR4][R6.64]          @!PT LDS RZ, [RZ]
//! LDGSTS.E [R5+0x4], desc[UR4][R6.64]  =>  @!PT LDS RZ, [RZ]
//!                                          @!PT LDS RZ, [RZ]
//!                                          LDGSTS.E [R5], desc[UR4][R6.64]
//!                                          LDGSTS.E [R5+0x4], desc[UR4][R6.64]
//! ```
//!
//! No document gives a reason; ptxas does so without exception. Like ptxas, this pass does not look
//! at earlier blocks and assumes the worst of them, except at the entry of a kernel before sm_90.
//! See `docs/facts/memory.md`. Linear.

use ptxc_ir::FunctionKind;
use ptxc_machine::{Arch, Feature};
use ptxc_sass::memory_order::{Space, space};
use ptxc_sass::{Address, Inst, Op, Operand, PReg};

use super::code::Code;
use crate::mir::MInst;

/// Loads before a copy.
const LOADS_BEFORE_COPY: usize = 3;
/// Loads before a fence, in code that has copies.
const LOADS_BEFORE_FENCE: usize = 1;

/// Puts loads that are never executed before copies and fences.
pub fn space_copies(code: &mut Code, arch: Arch) {
    let is_kernel = code.header.kind == FunctionKind::Entry;
    let is_copy = |minst: &MInst<PReg>| minst.inst.op == Op::LDGSTS;
    if !code.blocks.iter().any(|block| block.insts.iter().any(is_copy)) {
        return;
    }
    let begins_clean =
        is_kernel && arch.has(Feature::RoomAtKernelEntry) && code.graph().predecessors()[0].is_empty();
    for (index, block) in code.blocks.iter_mut().enumerate() {
        let mut is_clean = index == 0 && begins_clean;
        let mut spaced = Vec::with_capacity(block.insts.len());
        let branches = block.insts.len() - block.body;
        for minst in std::mem::take(&mut block.insts) {
            ptxc_interrupt::poll();
            let loads = match minst.inst.op {
                Op::LDGSTS if !is_clean => LOADS_BEFORE_COPY,
                Op::MEMBAR if !arch.has(Feature::RoomBeforeFences) => LOADS_BEFORE_FENCE,
                _ => 0,
            };
            spaced.extend((0..loads).map(|_| MInst::new(never(), minst.loc)));
            is_clean = minst.inst.op == Op::LDGSTS || is_clean && !is_between(&minst.inst);
            spaced.push(minst);
        }
        block.body = spaced.len() - branches;
        block.insts = spaced;
    }
}

/// A load that is never executed.
fn never() -> Inst<PReg> {
    Inst::new(Op::LDS_NEVER).ops([Operand::rz(), Operand::mem(Address::narrow(None, 0))])
}

/// Whether a copy after it needs room: it may access shared memory, or is a barrier of the CTA.
fn is_between(inst: &Inst<PReg>) -> bool {
    let effects = inst.row().effects;
    let is_group = inst.row().group.counts_copies();
    match space(inst.op) {
        _ if is_group => false,
        Some(space) => space.may_overlap(Space::Shared),
        None => effects.fence && inst.op != Op::MEMBAR && inst.op != Op::ERRBAR || effects.boundary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::tests::code;

    fn near() -> Operand<PReg> {
        Operand::mem(Address::narrow(Some(PReg::r(4)), 0))
    }

    fn copy() -> Inst<PReg> {
        Inst::new(Op::LDGSTS).ops([near(), Operand::mem(Address::global(PReg::r(2), 0, Some(PReg::ur(4))))])
    }

    /// The places of the copies among the instructions, after room was made.
    fn places(insts: Vec<Inst<PReg>>, arch: Arch) -> Vec<usize> {
        let mut code = code(vec![insts]);
        space_copies(&mut code, arch);
        let block = &code.blocks[0];
        assert_eq!(block.body + 1, block.insts.len());
        let all = block.insts.iter().enumerate();
        all.filter(|(_, minst)| minst.inst.op == Op::LDGSTS).map(|(place, _)| place).collect()
    }

    #[test]
    fn room_is_made_after_accesses_of_shared_memory() {
        let load = Inst::new(Op::LDS).ops([Operand::reg(PReg::r(0)), near()]);
        let commit = Inst::new(Op::LDGDEPBAR);
        let exit = Inst::new(Op::EXIT);
        let insts = vec![copy(), commit.clone(), copy(), load, copy(), copy(), exit];
        assert_eq!(places(insts.clone(), Arch::Sm80), [0, 2, 7, 8]);
        assert_eq!(places(insts, Arch::Sm90), [3, 5, 10, 11]);
    }
}
