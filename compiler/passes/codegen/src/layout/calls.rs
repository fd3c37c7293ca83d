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
//! The upper half of an address within a program is zero, and the callee writes it. A function of
//! another module returns to a whole address, which `LEPC` tells. Linear.

use ptxc_ir::SourceLoc;
use ptxc_machine::Arch;
use ptxc_sass::{
    Address, FunctionIndex, HalfSelect, Inst, Label, Op, Operand, OperandKind, PReg, slot, slot_name,
};
use ptxc_ssa::runtime;

use super::code::{Code, CodeBlock};
use crate::abi;
use crate::mir::is_call;
use crate::mir::{Header, MInst};

/// Ends blocks at their calls and makes return addresses explicit.
pub(super) fn split_at_calls(code: &mut Code) {
    // The instructions before a call of another module's function get a block of their own.
    let parts_of = |minst: &MInst<PReg>| match minst.inst.op {
        Op::CALL_ABSOLUTE => 2,
        op => usize::from(is_call(op)),
    };
    let calls = |block: &CodeBlock| block.insts.iter().map(parts_of).sum::<usize>();
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
            let moved = minst.call.as_ref().and_then(|site| site.moved_stack);
            part.extend(moved.into_iter().flat_map(|offset| leave_stack(offset, minst.loc)));
            if minst.inst.op == Op::CALL_ABSOLUTE {
                blocks.push(whole(std::mem::take(&mut part), block.frequency));
                let next = Label(blocks.len() as u32 + 1);
                part.extend(absolute_return_address(next, code.header.arch, minst.loc));
            } else if is_platform_call(&minst, &code.header) {
                // A linker fills in both words.
                let back = Operand::label(Label(blocks.len() as u32 + 1));
                let words = [HalfSelect::Low, HalfSelect::High].map(|half| back.half(half));
                for (word, to) in words.into_iter().zip(abi::platform::return_address()) {
                    part.push(MInst::new(Inst::new(Op::MOV).ops([Operand::reg(to), word]), minst.loc));
                }
            } else {
                let back = Operand::label(Label(blocks.len() as u32 + 1));
                let address = Inst::new(Op::MOV).ops([Operand::reg(abi::return_address()), back]);
                part.push(MInst::new(address, minst.loc));
            }
            let loc = minst.loc;
            part.push(minst);
            blocks.push(whole(std::mem::take(&mut part), block.frequency));
            part.extend(moved.map(|offset| back_to_stack(offset, loc)));
        }
        block.body = part.len() - tail;
        block.insts = part;
        blocks.push(block);
    }
    code.blocks = blocks;
}

/// The instructions that give the callee another stack pointer, and save the caller's above it.
fn leave_stack(offset: u32, loc: SourceLoc) -> [MInst<PReg>; 2] {
    let [own, callees] = [abi::stack_pointer(), abi::moved_stack()];
    let slot = Operand::mem(Address::narrow(Some(callees), offset as i32));
    let save = Inst::new(Op::STL).ops([slot, Operand::reg(own)]);
    let set = Inst::new(Op::MOV).ops([Operand::reg(own), Operand::reg(callees)]);
    [save, set].map(|inst| MInst::new(inst, loc))
}

/// The instruction that takes the caller's stack pointer back.
fn back_to_stack(offset: u32, loc: SourceLoc) -> MInst<PReg> {
    let own = abi::stack_pointer();
    let slot = Operand::mem(Address::narrow(Some(own), offset as i32));
    MInst::new(Inst::new(Op::LDL).ops([Operand::reg(own), slot]), loc)
}

/// Whether an instruction calls a function of the platform's convention that a linker will find.
fn is_platform_call(minst: &MInst<PReg>, header: &Header) -> bool {
    let target = minst.inst.get(slot_name!("target")).map(|target| target.kind);
    let Some(OperandKind::Function(FunctionIndex(number))) = target else { return false };
    let name = header.functions.get(number as usize);
    header.relocatable && name.is_some_and(|name| runtime::name_of_symbol(name).is_none())
}

/// A block that is all body.
fn whole(insts: Vec<MInst<PReg>>, frequency: u64) -> CodeBlock {
    CodeBlock { body: insts.len(), insts, table: None, frequency }
}

/// The instructions that put the address after the call that follows them into the pair of the
/// platform's convention. `next` is the label there. They depend on each other, and the call on them, so
/// that they stay adjacent.
///
/// Up to sm_89, the address is that of `LEPC` plus the distance to the end of the call. The call
/// clobbers all predicates, so one holds the carry.
fn absolute_return_address(next: Label, arch: Arch, loc: SourceLoc) -> Vec<MInst<PReg>> {
    let [low, high] = abi::platform::return_address().map(Operand::reg);
    let insts = if Inst::<PReg>::new(Op::LEPC_TARGET).exists_on(arch) {
        vec![Inst::new(Op::LEPC_TARGET).ops([low, Operand::label(next)])]
    } else {
        // The distance is set when it is known.
        let distance = Operand::imm(0);
        let carry = Operand::reg(PReg::p(0));
        let sum = Inst::new(Op::IADD3).ops([low, low, distance, Operand::rz()]);
        vec![
            Inst::new(Op::LEPC).ops([low]),
            sum.slot(slot!(IADD3, "pd"), carry),
            Inst::new(Op::IADD3_X).ops([high, Operand::rz(), high, Operand::rz(), carry]),
        ]
    };
    insts.into_iter().map(|inst| MInst::new(inst, loc)).collect()
}
