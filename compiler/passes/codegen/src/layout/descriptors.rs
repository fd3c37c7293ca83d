//! The descriptor of global memory in functions of the platform's convention.
//!
//! In: such a function, which loads the descriptor once, at its start. Out: the same function, which loads it
//! again wherever other parts of the warp, or a callee, may have written the pair since: in each block with
//! accesses, and after each instruction that waits for lanes.
//!
//! ```text
//! block 0: ULDC.64 UR4, c[0x0][0x118]                block 0: MOV R16, R4
//!          MOV R16, R4                         =>             CALL.ABS.NOINC `(g)
//!          CALL.ABS.NOINC `(g)                       block 1: ULDC.64 UR4, c[0x0][0x118]
//! block 1: LD.E R2, desc[UR4][R16.64]                         LD.E R2, desc[UR4][R16.64]
//! ```
//! Linear.

use ptxc_sass::{Inst, Op, PReg};

use super::code::Code;
use crate::abi;
use crate::mir::MInst;

/// Loads the descriptor where it is needed.
pub(super) fn load_descriptors(code: &mut Code) {
    let [low, _] = abi::platform::descriptor();
    let is_load =
        |inst: &Inst<PReg>| inst.op == Op::ULDC && inst.defs().any(|def| def.reg == low && def.width == 2);
    let mut insts = code.blocks.iter().flat_map(|block| &block.insts);
    let Some(load) = insts.find(|minst| is_load(&minst.inst)).map(|minst| minst.inst.clone()) else { return };
    for block in &mut code.blocks {
        let tail = block.insts.len() - block.body;
        let mut is_there = false;
        let mut list = Vec::with_capacity(block.insts.len() + 1);
        for minst in std::mem::take(&mut block.insts) {
            if is_load(&minst.inst) {
                continue;
            }
            if !is_there && minst.inst.uses().any(|used| used.reg == low) {
                list.push(MInst::new(load.clone(), minst.loc));
                is_there = true;
            }
            is_there &= !lets_others_run(&minst.inst);
            list.push(minst);
        }
        block.body = list.len() - tail;
        block.insts = list;
    }
}

/// Whether other parts of the warp may run before the next instruction.
fn lets_others_run(inst: &Inst<PReg>) -> bool {
    let effects = inst.op.row().effects;
    effects.branch || effects.boundary || effects.convergent || effects.fence
}
