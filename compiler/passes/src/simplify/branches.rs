//! Control flow that says less than it seems: constant conditions, empty blocks, straight lines, and
//! block parameters that always have the same value.
//!
//! A branch whose two edges lead to one block becomes a jump with `select`s for the arguments that differ,
//! if they are few; that is how short `if`s without side effects disappear.

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::{Block, BlockCall, Function, Inst, InstData, Op, Type, Value, ValueDef};

/// How many arguments may differ between the two edges of a branch that becomes a jump.
const MAX_SELECTS: usize = 2;

/// Simplifies control flow until nothing changes, with a bound on the sweeps; whether anything did.
pub fn simplify_branches(func: &mut Function) -> bool {
    let mut changed = false;
    for _ in 0..8 {
        let mut again = fold_branches(func);
        again |= thread_jumps(func);
        again |= merge_edges(func);
        again |= merge_straight_lines(func);
        again |= drop_copied_params(func);
        changed |= again;
        if !again {
            break;
        }
    }
    changed
}

/// Branches and switches whose way is known.
fn fold_branches(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.layout.clone() {
        let Some(inst) = func.terminator(block) else { continue };
        let data = &func.insts[inst];
        let edge = match data.op {
            Op::Branch(_) => match func.constant(data.args[0]) {
                Some(bits) => data.targets[usize::from(bits == 0)].clone(),
                None if data.targets[0] == data.targets[1] => data.targets[0].clone(),
                None => continue,
            },
            Op::Switch => match func.constant(data.args[0]) {
                Some(index) => {
                    let last = data.targets.len() - 1;
                    data.targets[usize::try_from(index).map_or(last, |index| index.min(last))].clone()
                }
                None => continue,
            },
            _ => continue,
        };
        become_jump(func, inst, edge);
        changed = true;
    }
    changed
}

fn become_jump(func: &mut Function, inst: Inst, edge: BlockCall) {
    func.replace(inst, Op::Jump, Type::B32, &[]);
    func.insts[inst].targets = vec![edge];
}

/// How often each value is used.
fn use_counts(func: &Function) -> SecondaryMap<Value, u32> {
    let mut counts: SecondaryMap<Value, u32> = SecondaryMap::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            for &value in data.args.iter().chain(data.targets.iter().flat_map(|edge| &edge.args)) {
                counts[value] += 1;
            }
        }
    }
    counts
}

/// Leads edges to an empty block on to where that block goes.
fn thread_jumps(func: &mut Function) -> bool {
    let counts = use_counts(func);
    let entry = func.entry();
    // A block is empty if it does nothing but jump, and nobody but that jump reads its parameters.
    let mut onward: SecondaryMap<Block, Option<BlockCall>> = SecondaryMap::new();
    for &block in &func.layout {
        let data = &func.blocks[block];
        let &[only] = data.insts.as_slice() else { continue };
        let jump = &func.insts[only];
        if jump.op != Op::Jump || block == entry || jump.targets[0].block == block {
            continue;
        }
        let own = data.params.iter().all(|param| {
            let here = jump.targets[0].args.iter().filter(|&arg| arg == param).count();
            counts[*param] as usize == here
        });
        if own {
            onward[block] = Some(jump.targets[0].clone());
        }
    }
    let mut changed = false;
    for block in func.layout.clone() {
        let Some(inst) = func.terminator(block) else { continue };
        for position in 0..func.insts[inst].targets.len() {
            let edge = &func.insts[inst].targets[position];
            let Some(next) = &onward[edge.block] else { continue };
            let params = &func.blocks[edge.block].params;
            let translate = |value: &Value| match params.iter().position(|param| param == value) {
                Some(index) => edge.args[index],
                None => *value,
            };
            let args: Vec<Value> = next.args.iter().map(translate).collect();
            let threaded = BlockCall::new(next.block, &args);
            // Two edges of one instruction to one block must agree, or be merged by selects later.
            let clash = func.insts[inst].targets.iter().enumerate().any(|(other, call)| {
                other != position
                    && call.block == threaded.block
                    && (!matches!(func.insts[inst].op, Op::Branch(_)) && *call != threaded
                        || differences(call, &threaded) > MAX_SELECTS)
            });
            if !clash && threaded.block != edge.block {
                func.insts[inst].targets[position] = threaded;
                changed = true;
            }
        }
    }
    changed
}

fn differences(a: &BlockCall, b: &BlockCall) -> usize {
    a.args.iter().zip(&b.args).filter(|(x, y)| x != y).count()
}

/// A branch with both edges to one block becomes selects and a jump.
fn merge_edges(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.layout.clone() {
        let Some(inst) = func.terminator(block) else { continue };
        let data = &func.insts[inst];
        if !matches!(data.op, Op::Branch(_)) || data.targets[0].block != data.targets[1].block {
            continue;
        }
        let (then, other) = (data.targets[0].clone(), data.targets[1].clone());
        let (pred, loc) = (data.args[0], data.loc);
        let mut args = Vec::with_capacity(then.args.len());
        func.blocks[block].insts.pop();
        for (&x, &y) in then.args.iter().zip(&other.args) {
            if x == y {
                args.push(x);
                continue;
            }
            let ty = func.ty(x);
            let select = func.append(block, InstData::new(Op::Select, ty, &[pred, x, y]).at(loc));
            args.push(func.result(select));
        }
        func.blocks[block].insts.push(inst);
        become_jump(func, inst, BlockCall::new(then.block, &args));
        changed = true;
    }
    changed
}

/// Appends a block to its only predecessor, if that goes nowhere else.
fn merge_straight_lines(func: &mut Function) -> bool {
    let mut incoming: SecondaryMap<Block, u32> = SecondaryMap::new();
    for &block in &func.layout {
        for successor in func.successors(block) {
            incoming[successor] += 1;
        }
        for &inst in &func.blocks[block].insts {
            if let Op::Bssy(_, target) = func.insts[inst].op {
                incoming[target] += 2;
            }
        }
    }
    let mut renamed: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut gone: EntitySet<Block> = EntitySet::new();
    let entry = func.entry();
    for block in func.layout.clone() {
        if gone.contains(block) {
            continue;
        }
        while let Some(inst) = func.terminator(block) {
            let data = &func.insts[inst];
            if data.op != Op::Jump {
                break;
            }
            let edge = data.targets[0].clone();
            let next = edge.block;
            if incoming[next] != 1 || next == block || next == entry {
                break;
            }
            for (&param, &arg) in func.blocks[next].params.iter().zip(&edge.args) {
                renamed[param] = Some(arg);
            }
            func.blocks[block].insts.pop();
            let mut rest = std::mem::take(&mut func.blocks[next].insts);
            func.blocks[block].insts.append(&mut rest);
            func.blocks[next].params.clear();
            gone.insert(next);
        }
    }
    if gone.is_empty() {
        return false;
    }
    func.layout.retain(|&block| !gone.contains(block));
    rename(func, &renamed);
    true
}

fn rename(func: &mut Function, renamed: &SecondaryMap<Value, Option<Value>>) {
    func.rewrite_uses(|mut value| {
        while let Some(next) = renamed[value] {
            value = next;
        }
        value
    });
}

/// Block parameters that every edge gives the same value, the parameter itself apart, are that value.
fn drop_copied_params(func: &mut Function) -> bool {
    let mut incoming: SecondaryMap<Block, Vec<(Inst, usize)>> = SecondaryMap::new();
    for &block in &func.layout {
        if let Some(inst) = func.terminator(block) {
            for (position, edge) in func.insts[inst].targets.iter().enumerate() {
                incoming[edge.block].push((inst, position));
            }
        }
    }
    let mut renamed: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let resolve = |renamed: &SecondaryMap<Value, Option<Value>>, mut value: Value| {
        while let Some(next) = renamed[value] {
            value = next;
        }
        value
    };
    let mut changed = false;
    for block in func.layout.clone() {
        for index in 0..func.blocks[block].params.len() {
            let param = func.blocks[block].params[index];
            let mut only: Option<Value> = None;
            let same = incoming[block].iter().all(|&(inst, position)| {
                let arg = resolve(&renamed, func.insts[inst].targets[position].args[index]);
                arg == param || *only.get_or_insert(arg) == arg
            });
            if let Some(value) = only.filter(|_| same) {
                renamed[param] = Some(value);
                changed = true;
            }
        }
    }
    if !changed {
        return false;
    }
    rename(func, &renamed);
    for block in func.layout.clone() {
        let keep: Vec<bool> = func.blocks[block].params.iter().map(|&param| renamed[param].is_none()).collect();
        if keep.iter().all(|&keep| keep) {
            continue;
        }
        func.retain_block_params(block, |index| keep[index]);
        for &(inst, position) in &incoming[block] {
            let mut index = 0;
            func.insts[inst].targets[position].args.retain(|_| {
                index += 1;
                keep[index - 1]
            });
        }
    }
    debug_assert!(func.layout.iter().all(|&block| {
        func.blocks[block].params.iter().enumerate().all(|(n, &p)| func.def(p) == ValueDef::Param(block, n as u32))
    }));
    changed
}
