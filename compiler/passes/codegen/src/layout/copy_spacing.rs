//! Room in the queue of the memory unit in front of asynchronous copies.
//!
//! In: scheduled code. Out: the same with loads that are never executed in front of an `LDGSTS`, where accesses of shared memory
//! or barriers may have been issued since the last one, and in front of a `MEMBAR` of sm_90:
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
//! No document says why; ptxas does so without exception. What it does not look at, the blocks in front, is taken for the worst, but for
//! the entry of a kernel before sm_90, as ptxas does. See `docs/facts/memory.md`. Linear.

use ptxc_ir::FunctionKind;
use ptxc_machine::{Arch, Feature};
use ptxc_sass::memory_order::{Space, space};
use ptxc_sass::{Address, Inst, Op, Operand, PReg};

use super::code::Code;
use crate::mir::MInst;

/// Loads in front of a copy.
const IN_FRONT_OF_COPY: usize = 3;
/// Loads in front of a fence, in code that has copies.
const IN_FRONT_OF_FENCE: usize = 1;

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
                Op::LDGSTS if !is_clean => IN_FRONT_OF_COPY,
                Op::MEMBAR if !arch.has(Feature::RoomBeforeFences) => IN_FRONT_OF_FENCE,
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

/// Whether a copy behind it needs room: it may access shared memory, or lets the threads of the CTA meet.
fn is_between(inst: &Inst<PReg>) -> bool {
    let effects = inst.row().effects;
    let is_group = inst.row().of_copy_groups;
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
    fn room_is_made_behind_accesses_of_shared_memory() {
        let load = Inst::new(Op::LDS).ops([Operand::reg(PReg::r(0)), near()]);
        let commit = Inst::new(Op::LDGDEPBAR);
        let exit = Inst::new(Op::EXIT);
        let insts = vec![copy(), commit.clone(), copy(), load, copy(), copy(), exit];
        assert_eq!(places(insts.clone(), Arch::Sm80), [0, 2, 7, 8]);
        assert_eq!(places(insts, Arch::Sm90), [3, 5, 10, 11]);
    }
}
