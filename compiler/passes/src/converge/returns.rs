//! One return, and calls that end their blocks.
//!
//! A device function returns from one block, so that lanes which return from different places can meet there. A call
//! from which lanes may return apart ends its block, so that a block is executed by lanes that are together, or is not.

use ptxc_ir::{Block, BlockCall, Function, FunctionKind, Inst, InstData, Op, Type};

use crate::interrupt;
use crate::together::is_parting_call;

/// Brings the function into that form; whether it changed.
pub(super) fn cut(func: &mut Function) -> bool {
    let returns = one_return(func);
    cut_after(func, is_parting_call) || returns
}

/// Ends blocks after each instruction for which `ends` holds; whether there is any.
fn cut_after(func: &mut Function, ends: impl Fn(&Function, Inst) -> bool) -> bool {
    if !func.layout.iter().any(|&block| func.blocks[block].insts.iter().any(|&inst| ends(func, inst))) {
        return false;
    }
    let mut layout = Vec::with_capacity(func.layout.len());
    for block in std::mem::take(&mut func.layout) {
        layout.push(block);
        let mut current = block;
        loop {
            interrupt::poll();
            let Some(place) = func.blocks[current].insts.iter().position(|&inst| ends(func, inst)) else {
                break;
            };
            current = cut_behind(func, current, place);
            layout.push(current);
        }
    }
    func.layout = layout;
    true
}

/// Ends a block behind an instruction, and goes on in a new one.
fn cut_behind(func: &mut Function, block: Block, place: usize) -> Block {
    let rest = func.blocks.push(Default::default());
    let loc = func.insts[func.blocks[block].insts[place]].loc;
    let insts = func.blocks[block].insts.split_off(place + 1);
    func.blocks[rest].insts = insts;
    let mut jump = InstData::new(Op::Jump, Type::B32, &[]).at(loc);
    jump.targets.push(BlockCall::new(rest, &[]));
    func.append(block, jump);
    rest
}

/// Ends blocks behind CTA barriers that the whole warp executes together, by PTX's word. Whether there are any.
pub(super) fn cut_at_barriers(func: &mut Function) -> bool {
    let is_aligned = |func: &Function, inst: Inst| matches!(func.insts[inst].op, Op::Barrier(_, true, _));
    func.kind == FunctionKind::Entry && cut_after(func, is_aligned)
}

/// Lets a device function return from one block.
fn one_return(func: &mut Function) -> bool {
    let returns = |func: &Function, block: Block| {
        func.terminator(block).filter(|&inst| func.insts[inst].op == Op::Return)
    };
    let found: Vec<(Block, Inst)> =
        func.layout.iter().filter_map(|&block| Some((block, returns(func, block)?))).collect();
    if found.len() < 2 {
        return false;
    }
    let common = func.add_block();
    let mut values = Vec::new();
    for ty in func.returns.clone() {
        values.push(func.add_block_param(common, ty));
    }
    let loc = func.insts[found[found.len() - 1].1].loc;
    func.append(common, InstData::new(Op::Return, Type::B32, &values).at(loc));
    for (block, inst) in found {
        let data = func.insts[inst].clone();
        let mut jump = InstData::new(Op::Jump, Type::B32, &[]).at(data.loc);
        jump.targets.push(BlockCall::new(common, &data.args));
        func.blocks[block].insts.pop();
        func.append(block, jump);
    }
    true
}
