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
//! The right side is what [`gather`](crate::gather) makes of the left one. The blocks after block2 count
//! as well as long as no other block leads to them, and so do loops there. A block after the loop of an
//! election does not count: the lanes leave the loop one after another, but meet there. Linear, except
//! for the loops, which are found only if there is an election.

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::{Block, Function, Inst, Op, Value};

use crate::analyses::Analyses;
use crate::runtime;

/// The blocks that a lane enters only if the block before has elected it, and those that only such
/// blocks lead to, in the loop of the election or in loops inside it.
pub fn blocks_of_one_lane(func: &Function) -> EntitySet<Block> {
    if !func.layout.iter().any(|&block| func.blocks[block].insts.iter().any(|&inst| elects(func, inst))) {
        return EntitySet::new();
    }
    let analyses = Analyses::default();
    let loops = analyses.loops(func);
    if !loops.irreducible_edges().is_empty() {
        return EntitySet::new();
    }
    let entered = entered_by_election(func);
    // For each block that an election leads to, the block of the election. A block that several elections
    // lead to is not for one lane: their lanes may meet there.
    let mut homes: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    let is_inside = |block: Block, home: Block| {
        loops.innermost(home).is_none_or(|of_election| loops.contains(of_election, block))
    };
    let mut work: Vec<Block> = Vec::new();
    let enter = |homes: &mut SecondaryMap<Block, Option<Block>>, target: Block, home: Block| {
        let is_new = homes[target].is_none() && is_inside(target, home);
        if is_new {
            homes[target] = Some(home);
        }
        is_new
    };
    for &block in &func.layout {
        if let Some(target) = entered[block]
            && enter(&mut homes, target, block)
        {
            work.push(target);
        }
    }
    while let Some(block) = work.pop() {
        let Some(home) = homes[block] else { continue };
        work.extend(targets(func, block).filter(|&target| enter(&mut homes, target, home)));
    }
    // A block with another way in does not count, and neither do those that it leads to.
    work.extend(&func.layout);
    while let Some(block) = work.pop() {
        for target in targets(func, block) {
            let by_election = entered[block] == Some(target) && homes[target] == Some(block);
            let is_fine = by_election || homes[block].is_some() && homes[block] == homes[target];
            if homes[target].is_some() && !is_fine {
                homes[target] = None;
                work.push(target);
            }
        }
    }
    let mut blocks = EntitySet::new();
    blocks.extend(func.layout.iter().copied().filter(|&block| homes[block].is_some()));
    blocks
}

fn targets(func: &Function, block: Block) -> impl Iterator<Item = Block> {
    let end = func.blocks[block].insts.last().map(|&inst| &func.insts[inst]);
    end.into_iter().flat_map(|end| end.targets.iter().map(|target| target.block))
}

/// For each block that ends in a branch on an election, the block that only the elected lane goes to.
fn entered_by_election(func: &Function) -> SecondaryMap<Block, Option<Block>> {
    // For each condition that holds at most for one lane, the block that must branch on it: the block
    // of the election, or the one that its blocks jump to.
    let mut elected: SecondaryMap<Value, Option<Block>> = SecondaryMap::new();
    // By parameter of a block, the numbers of all arguments and of those that elections have given.
    let mut given: SecondaryMap<Value, (u32, u32)> = SecondaryMap::new();
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
            for (&param, &arg) in func.blocks[target.block].params.iter().zip(target.args.as_slice()) {
                given[param].0 += 1;
                given[param].1 += u32::from(end.op == Op::Jump && elected[arg] == Some(block));
            }
        }
    }
    let mut entered: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    for &block in &func.layout {
        let Some(&end) = func.blocks[block].insts.last() else { continue };
        let end = &func.insts[end];
        if !matches!(end.op, Op::Branch { .. }) || end.targets[0].block == end.targets[1].block {
            continue;
        }
        let condition = end.args[0];
        let (all, by_elections) = given[condition];
        let is_param = all > 0 && func.blocks[block].params.contains(&condition);
        if elected[condition] == Some(block) || is_param && all == by_elections {
            entered[block] = Some(end.targets[0].block);
        }
    }
    entered
}

/// Whether the second result of an instruction holds for one lane of those that execute it together.
fn elects(func: &Function, inst: Inst) -> bool {
    match func.insts[inst].op {
        Op::Elect => true,
        Op::Call { callee, .. } => runtime::warp::elects(&func.callees[callee].name),
        _ => false,
    }
}
