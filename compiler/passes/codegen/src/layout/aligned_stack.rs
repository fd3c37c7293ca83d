//! Functions of the platform's convention that need more alignment than their callers give.
//!
//! In: such a function in its final order. The stack pointer is a multiple of 8 at its entry (seen in
//! the frames of functions that ptxas compiles). Out: the same, but if it accesses 16 bytes of its stack
//! at once, or has a variable there with an alignment of 16 or more, it first rounds the stack pointer
//! down, and at the end it loads the old one again.
//!
//! ```text
//! f: MOV R0, R1                        // R0 holds nothing yet
//!    LOP3.LUT R1, R1, 0xfffffff0, …
//!    IADD3 R1, R1, -0x10, RZ
//!    STL [R1], R0
//!    …
//!    LDL R1, [R1]
//!    RET.ABS.NODEC R20
//! ```

use ptxc_ir::SourceLoc;
use ptxc_sass::{Address, Inst, Op, Operand, PReg};

use super::code::Code;
use super::fences::is_fence;
use crate::abi;
use crate::mir::MInst;

/// The alignment, in bytes, that code relies on.
pub(crate) const ALIGN: u32 = 16;

/// Aligns the stack, if the function needs it.
pub(super) fn align_stack(code: &mut Code) {
    if !code.header.platform || !needs_alignment(code) {
        return;
    }
    let old = Operand::reg(abi::platform::incoming());
    let stack = Operand::reg(abi::stack_pointer());
    let slot = Operand::mem(Address::narrow(Some(abi::stack_pointer()), 0));
    let mask = Operand::imm(ALIGN.wrapping_neg());
    let and = Operand::imm(0xc0);
    let enter = [
        Inst::new(Op::MOV).ops([old, stack]),
        Inst::new(Op::LOP3).ops([stack, stack, mask, Operand::rz(), and]),
        Inst::new(Op::IADD3).ops([stack, stack, Operand::imm(ALIGN.wrapping_neg()), Operand::rz()]),
        Inst::new(Op::STL).ops([slot, old]),
    ];
    let minst = |inst| MInst::new(inst, SourceLoc::NONE);
    if let Some(entry) = code.blocks.first_mut() {
        // The parameters come first.
        let at = usize::from(entry.insts.first().is_some_and(|first| first.call.is_some()));
        entry.body += enter.len();
        entry.insts.splice(at..at, enter.map(minst));
    }
    for block in &mut code.blocks {
        let ret = block.insts.iter().position(|minst| minst.inst.op == Op::RET_ABSOLUTE);
        if let Some(ret) = ret {
            block.insts.insert(ret, minst(Inst::new(Op::LDL).ops([stack, slot])));
            block.body += 1;
        }
    }
    // The slot, and what rounding takes.
    code.header.local_bytes = code.header.local_bytes.saturating_add(2 * ALIGN);
}

fn needs_alignment(code: &Code) -> bool {
    // The function looks for its parameters from the register that keeps the old stack pointer.
    let mut sites = code.blocks.iter().take(1).flat_map(|entry| &entry.insts).filter(|minst| is_fence(minst));
    let keeps_old = |minst: &MInst<PReg>| {
        let results = minst.call.iter().flat_map(|site| &site.results);
        results.into_iter().any(|one| one.place == abi::platform::incoming())
    };
    if sites.any(keeps_old) {
        return true;
    }
    let insts = || code.blocks.iter().flat_map(|block| &block.insts).map(|minst| &minst.inst);
    code.header.stack_align >= ALIGN
        || insts().any(|inst| {
            matches!(inst.op, Op::LDL | Op::STL) && inst.modifier(ptxc_sass::ModKind::Size) == ".128"
        })
}
