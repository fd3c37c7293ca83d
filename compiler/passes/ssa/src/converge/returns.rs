//! One return, and calls that end their blocks.
//!
//! A device function returns from one block, so lanes that return from different places can meet
//! there. A call from which lanes may return one by one ends its block, so lanes are either
//! together or not in a whole block.

use ptxc_ir::{Block, BlockCall, Function, Inst, InstData, Op, Type};

use crate::lanes::is_parting_call;

/// Brings the function into that form; returns whether it changed.
pub(super) fn cut(func: &mut Function) -> bool {
    let returns = one_return(func);
    cut_after_calls(func) || returns
}

/// Ends blocks after calls from which lanes may return one by one; returns whether there are any.
fn cut_after_calls(func: &mut Function) -> bool {
    let has_call = |&block: &Block| func.blocks[block].insts.iter().any(|&inst| is_parting_call(func, inst));
    if !func.layout.iter().any(has_call) {
        return false;
    }
    let mut layout = Vec::with_capacity(func.layout.len());
    for block in std::mem::take(&mut func.layout) {
        layout.push(block);
        let mut current = block;
        let mut part = Vec::new();
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            ptxc_interrupt::poll();
            part.push(inst);
            if !is_parting_call(func, inst) {
                continue;
            }
            let rest = func.blocks.push(Default::default());
            let mut jump = InstData::new(Op::Jump, Type::B32, &[]).at(func.insts[inst].loc);
            jump.targets.push(BlockCall::new(rest, &[]));
            func.blocks[current].insts = std::mem::take(&mut part);
            func.append(current, jump);
            layout.push(rest);
            current = rest;
        }
        func.blocks[current].insts = part;
    }
    func.layout = layout;
    true
}

/// Makes a device function return from one block.
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
