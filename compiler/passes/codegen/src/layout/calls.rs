//! Return addresses: the values that callers leave in the register by which callees return.
//!
//! In: code in its final order, in which a call is one instruction somewhere in a block. Out: the
//! same, in which every call ends its block, and a `MOV` before it puts the label of the next
//! block, where the call returns, into the return address register of the [ABI](crate::abi). The
//! register is free there, since the call destroys it.
//!
//! ```text
//! block 0: …                            block 0: …
//!          CALL.REL.NOINC `($1)    =>            MOV R2, `(.L_x_1)
//!          IADD3 R0, R4, R5, RZ                  CALL.REL.NOINC `($1)
//!                                       block 1: IADD3 R0, R4, R5, RZ
//! ```
//! The upper half of an address within a program is zero, and the callee writes it. Linear.

use ptxc_sass::{Inst, Label, Op, Operand};

use super::code::{Code, CodeBlock};
use crate::abi;
use crate::mir::MInst;
use crate::mir::is_call;

/// Ends blocks at their calls and makes return addresses explicit.
pub(super) fn split_at_calls(code: &mut Code) {
    let calls = |block: &CodeBlock| block.insts.iter().filter(|minst| is_call(minst.inst.op)).count();
    let mut first = Vec::with_capacity(code.blocks.len());
    let mut next = 0;
    for block in &code.blocks {
        first.push(next);
        next += 1 + calls(block) as u32;
    }
    let mut blocks = Vec::with_capacity(next as usize);
    for mut block in std::mem::take(&mut code.blocks) {
        for label in block.insts.iter_mut().flat_map(|minst| minst.inst.labels_mut()) {
            label.0 = first[label.0 as usize];
        }
        if calls(&block) == 0 {
            blocks.push(block);
            continue;
        }
        // Each part gets memory of its own, because the first part would otherwise keep the memory
        // of the whole block.
        let tail = block.insts.len() - block.body;
        let mut part = Vec::new();
        for minst in std::mem::take(&mut block.insts) {
            if !is_call(minst.inst.op) {
                part.push(minst);
                continue;
            }
            let back = Operand::label(Label(blocks.len() as u32 + 1));
            let address = Inst::new(Op::MOV).ops([Operand::reg(abi::return_address()), back]);
            part.extend([MInst::new(address, minst.loc), minst]);
            let insts = std::mem::take(&mut part);
            blocks.push(CodeBlock { body: insts.len(), insts, table: None, frequency: block.frequency });
        }
        block.body = part.len() - tail;
        block.insts = part;
        blocks.push(block);
    }
    code.blocks = blocks;
}
