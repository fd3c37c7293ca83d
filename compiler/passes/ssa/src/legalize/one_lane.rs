//! Finds the blocks that only one lane of a warp executes at a time.
//!
//! ```text
//! block1:                               block1:
//!     v1, v2 = elect v0                     brtogether v0, block3, block4
//!     brif v2, block2, …                block3:
//! block2:   // one lane                     v1, v2 = elect
//!                                           jump block5(v2)
//!                                       block4:
//!                                           v3, v4 = call @warp.elect, v0
//!                                           jump block5(v4)
//!                                       block5(v5: pred):
//!                                           brif v5, block2, …
//! ```
//!
//! The right side is what [`gather`](crate::gather) makes of the left one. A block after the loop of an
//! election does not count: the lanes leave the loop one after another, but meet there. Linear, except
//! for the loops, which are found only if there is an election.

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::{Block, Function, Inst, Op, Value};

use crate::analyses::Analyses;
use crate::runtime;

/// The blocks that a lane enters only if the block before has elected it, and those that only such
/// blocks lead to, each in the same loop.
pub fn blocks_of_one_lane(func: &Function) -> EntitySet<Block> {
    // For each condition that holds at most for one lane, the block that must branch on it: the block
    // of the election, or the one that its blocks jump to.
    let mut elected: SecondaryMap<Value, Option<Block>> = SecondaryMap::new();
    // By parameter of a block, the numbers of all arguments and of those that elections have given.
    let mut given: SecondaryMap<Value, (u32, u32)> = SecondaryMap::new();
    let mut entries: SecondaryMap<Block, u32> = SecondaryMap::new();
    let mut blocks = EntitySet::new();
    if !func.layout.iter().any(|&block| func.blocks[block].insts.iter().any(|&inst| elects(func, inst))) {
        return blocks;
    }
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            if elects(func, inst) {
                elected[func.results(inst)[1]] = Some(block);
            }
            let data = &func.insts[inst];
            if data.op == Op::And
                && let Some(home) = data.args.iter().find_map(|&part| elected[part])
            {
                elected[func.result(inst)] = Some(home);
            }
        }
        let Some(&end) = func.blocks[block].insts.last() else { continue };
        let end = &func.insts[end];
        for target in &end.targets {
            entries[target.block] += 1;
            for (&param, &arg) in func.blocks[target.block].params.iter().zip(target.args.as_slice()) {
                given[param].0 += 1;
                given[param].1 += u32::from(end.op == Op::Jump && elected[arg] == Some(block));
            }
        }
    }
    let analyses = Analyses::default();
    let loops = analyses.loops(func);
    for &block in &func.layout {
        let Some(&end) = func.blocks[block].insts.last() else { continue };
        let end = &func.insts[end];
        let takes_all =
            |target: Block| entries[target] == 1 && loops.innermost(target) == loops.innermost(block);
        if blocks.contains(block) {
            blocks.extend(end.targets.iter().map(|target| target.block).filter(|&target| takes_all(target)));
        } else if matches!(end.op, Op::Branch { .. }) {
            let (condition, target) = (end.args[0], end.targets[0].block);
            let (all, by_elections) = given[condition];
            let is_param = all > 0 && func.blocks[block].params.contains(&condition);
            let holds_for_one = elected[condition] == Some(block) || is_param && all == by_elections;
            if holds_for_one && takes_all(target) {
                blocks.insert(target);
            }
        }
    }
    blocks
}

/// Whether the second result of an instruction holds for one lane of those that execute it together.
fn elects(func: &Function, inst: Inst) -> bool {
    match func.insts[inst].op {
        Op::Elect => true,
        Op::Call { callee, .. } => runtime::warp::elects(&func.callees[callee].name),
        _ => false,
    }
}
