//! Dead code: blocks that nothing reaches, instructions and block parameters that nothing needs.
//!
//! Needed are instructions with a side effect, terminators, and whatever defines what a needed one reads;
//! a block parameter is needed if somebody reads it, and then so is what the edges hand to it. A parameter
//! that only goes around a loop is found dead, because it never becomes needed. Linear.

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::{Block, BlockCall, Function, Inst, Op, Value, ValueDef};

/// Removes dead code; whether there was any.
pub fn eliminate_dead_code(func: &mut Function) -> bool {
    let unreachable = remove_unreachable(func);
    let dead = remove_unneeded(func);
    let atomics = weaken_atomics(func);
    unreachable || dead || atomics
}

/// Takes blocks that the entry does not reach out of the layout.
fn remove_unreachable(func: &mut Function) -> bool {
    let Some(&entry) = func.layout.first() else { return false };
    let mut reached: EntitySet<Block> = EntitySet::new();
    let mut stack = vec![entry];
    reached.insert(entry);
    while let Some(block) = stack.pop() {
        for successor in func.successors(block) {
            if reached.insert(successor) {
                stack.push(successor);
            }
        }
        // The block at which lanes go on together is named by the instruction that opens the region.
        for &inst in &func.blocks[block].insts {
            if let Op::Bssy(_, target) = func.insts[inst].op
                && reached.insert(target)
            {
                stack.push(target);
            }
        }
    }
    let before = func.layout.len();
    func.layout.retain(|&block| reached.contains(block));
    func.layout.len() != before
}

fn remove_unneeded(func: &mut Function) -> bool {
    let mut incoming: SecondaryMap<Block, Vec<(Inst, usize)>> = SecondaryMap::new();
    let mut needed: EntitySet<Inst> = EntitySet::new();
    let mut read: EntitySet<Value> = EntitySet::new();
    let mut work: Vec<Value> = Vec::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            for (position, edge) in data.targets.iter().enumerate() {
                incoming[edge.block].push((inst, position));
            }
            let effects = data.op.effects();
            if effects.side_effect || effects.terminator {
                needed.insert(inst);
                work.extend(&data.args);
            }
        }
    }
    while let Some(value) = work.pop() {
        if !read.insert(value) {
            continue;
        }
        match func.def(value) {
            ValueDef::Result(inst, _) => {
                if needed.insert(inst) {
                    work.extend(&func.insts[inst].args);
                }
            }
            ValueDef::Param(block, index) => {
                for &(inst, position) in &incoming[block] {
                    work.extend(func.insts[inst].targets[position].args.get(index as usize));
                }
            }
        }
    }
    let mut changed = false;
    for block in func.layout.clone() {
        let insts = &mut func.blocks[block].insts;
        let before = insts.len();
        insts.retain(|&inst| needed.contains(inst));
        changed |= insts.len() != before;
        let keep: Vec<bool> = func.blocks[block].params.iter().map(|&p| read.contains(p)).collect();
        if keep.iter().all(|&keep| keep) {
            continue;
        }
        changed = true;
        func.retain_block_params(block, |index| keep[index]);
        for &(inst, position) in &incoming[block] {
            let edge: &mut BlockCall = &mut func.insts[inst].targets[position];
            let mut index = 0;
            edge.args.retain(|_| {
                index += 1;
                keep.get(index - 1).copied().unwrap_or(true)
            });
        }
    }
    changed
}

/// An atomic update whose old value nobody reads needs no result (`RED` in place of `ATOM`). An exchange
/// or a compare-and-swap has no such form.
fn weaken_atomics(func: &mut Function) -> bool {
    use ptxc_ir::AtomicOp;
    let mut read: EntitySet<Value> = EntitySet::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            for &value in data.args.iter().chain(data.targets.iter().flat_map(|edge| &edge.args)) {
                read.insert(value);
            }
        }
    }
    let mut changed = false;
    for block in func.layout.clone() {
        for position in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[position];
            let data = &func.insts[inst];
            let Op::Atomic(op, access) = data.op else { continue };
            let has_form = !matches!(op, AtomicOp::Exch | AtomicOp::Cas);
            if has_form && !func.results(inst).iter().any(|&result| read.contains(result)) {
                let mut data = data.clone();
                data.op = Op::Red(op, access);
                let red = func.make_inst(data);
                func.blocks[block].insts[position] = red;
                changed = true;
            }
        }
    }
    changed
}
