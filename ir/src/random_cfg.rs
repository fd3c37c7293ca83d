//! Random functions for property tests: arbitrary flow graphs, reducible or not.

use cranelift_entity::EntityRef;
use proptest::prelude::*;

use crate::cfg::Cfg;
use crate::entities::Block;
use crate::function::{BlockCall, Function, FunctionKind, InstData};
use crate::op::Op;
use crate::types::Type;

/// Functions of up to `most` blocks after the entry. Each block ends, jumps, branches or switches
/// to random blocks; two thirds of the targets are a short way after the block, as in code from
/// structured sources.
pub(crate) fn random_function(most: usize) -> impl Strategy<Value = Function> {
    let target = prop_oneof![2 => (1usize..4).prop_map(Ok), 1 => any::<prop::sample::Index>().prop_map(Err)];
    let block = prop::collection::vec(target, 0..4);
    prop::collection::vec(block, 1..=most).prop_map(|blocks| {
        let mut func = Function::new("random", FunctionKind::Entry);
        let count = blocks.len();
        let entry = func.add_block();
        for _ in 0..count {
            func.add_block();
        }
        let on = func.append(entry, InstData::new(Op::Undef, Type::Pred, &[]));
        let number = func.append(entry, InstData::new(Op::Undef, Type::B32, &[]));
        let (on, number) = (func.result(on), func.result(number));
        terminate(&mut func, entry, Op::Jump, &[], &[1]);
        for (i, targets) in blocks.iter().enumerate() {
            let this = i + 1;
            // Block 0 is the entry, which has no predecessors.
            let targets: Vec<usize> = targets
                .iter()
                .map(|target| match target {
                    Ok(ahead) => (this + ahead).min(count),
                    Err(anywhere) => 1 + anywhere.index(count),
                })
                .collect();
            let (op, args): (Op, &[_]) = match targets.len() {
                0 => (Op::Exit, &[]),
                1 => (Op::Jump, &[]),
                2 => (Op::Branch { uni: false }, &[on]),
                _ => (Op::Switch, &[number]),
            };
            terminate(&mut func, Block::new(this), op, args, &targets);
        }
        func
    })
}

fn terminate(func: &mut Function, block: Block, op: Op, args: &[crate::Value], targets: &[usize]) {
    let mut data = InstData::new(op, Type::B32, args);
    data.targets = targets.iter().map(|&target| BlockCall::new(Block::new(target), &[])).collect();
    func.append(block, data);
}

/// Whether a path that avoids `without` leads from one block to another; a block reaches itself.
pub(crate) fn reaches(cfg: &Cfg, from: Block, to: Block, without: Option<Block>) -> bool {
    let mut seen = vec![false; cfg.rpo().len()];
    let mut stack = vec![from];
    while let Some(block) = stack.pop() {
        let Some(index) = cfg.rpo_index(block) else { continue };
        if Some(block) == without || std::mem::replace(&mut seen[index], true) {
            continue;
        }
        if block == to {
            return true;
        }
        stack.extend(cfg.succs(block));
    }
    false
}
