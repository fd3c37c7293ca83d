//! Ends blocks at places that nothing may cross, but that are not code.
//!
//! In: code in which a `NOP` with a call site stands where the memory accesses of the warp's lanes
//! are ordered, or where a called function finds its parameters. Out: the same without them. A
//! block ends at each of them, except at a block's start, so that no scheduler moves anything
//! across.
//!
//! ```text
//! block 0: STS [R0], R1                 block 0: STS [R0], R1
//!          NOP (call site)       =>     block 1: LDS R2, [R3]
//!          LDS R2, [R3]
//! ```
//! Linear.

use ptxc_sass::{Op, PReg};

use super::code::{Code, CodeBlock};
use crate::mir::MInst;

pub(super) fn is_fence(minst: &MInst<PReg>) -> bool {
    minst.inst.op == Op::NOP && minst.call.is_some()
}

/// Ends blocks at fences, and removes the fences.
pub(super) fn split_at_fences(code: &mut Code) {
    let mut first = Vec::with_capacity(code.blocks.len());
    let mut parts: Vec<CodeBlock> = Vec::with_capacity(code.blocks.len());
    for mut block in std::mem::take(&mut code.blocks) {
        first.push(parts.len() as u32);
        if !block.insts.iter().any(is_fence) {
            parts.push(block);
            continue;
        }
        let tail = block.insts.split_off(block.body);
        let mut body = Vec::new();
        for minst in std::mem::take(&mut block.insts) {
            if !is_fence(&minst) {
                body.push(minst);
            } else if !body.is_empty() {
                let insts = std::mem::take(&mut body);
                parts.push(CodeBlock { body: insts.len(), insts, table: None, frequency: block.frequency });
            }
        }
        block.body = body.len();
        body.extend(tail);
        block.insts = body;
        parts.push(block);
    }
    code.blocks = parts;
    let insts = code.blocks.iter_mut().flat_map(|block| &mut block.insts);
    for label in insts.flat_map(|minst| minst.inst.labels_mut()) {
        label.0 = first[label.0 as usize];
    }
}
