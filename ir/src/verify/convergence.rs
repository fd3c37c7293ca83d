//! `bssy` and `bsync` nest like brackets along every path.
//!
//! The check walks the blocks once in reverse postorder, with the stack of open regions at the end
//! of each block. All edges to a block must bring the same stack. `break` removes a region from any
//! place of the stack: the lanes that leave continue without it, and meet at the `bsync` of the
//! other regions from the innermost outwards. Lanes that wait at a `bsync` therefore wait only for
//! lanes that wait in a region further inside, if at all.
//!
//! A region may open a barrier that a region around it holds, if `bsave` has saved the barrier directly in the outer region.
//! The outer region can be left or closed only after `brestore` has given the barrier back. A device function may save a
//! barrier that its callers hold, before it opens the barrier.
//!
//! Cost: the number of blocks and edges times the depth of the stack, which the converge pass bounds.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::{Report, Rule};
use crate::cfg::Cfg;
use crate::entities::{Block, Value};
use crate::function::{Function, FunctionKind};
use crate::op::{ConvergenceBarrier, Op};

/// A region whose `bsync` has not been reached.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Open {
    barrier: ConvergenceBarrier,
    /// The block where its threads continue.
    continuation: Block,
    /// The saved content of the barrier, while an inner region may open the barrier.
    saved: Option<Value>,
}

/// The open regions, innermost last.
type Stack = SmallVec<[Open; 4]>;

pub(super) fn check(func: &Function, report: &mut Report<'_>) {
    let cfg = Cfg::compute(func);
    let mut at_start: SecondaryMap<Block, Option<Stack>> = SecondaryMap::new();
    if let Some(&entry) = cfg.rpo().first() {
        at_start[entry] = Some(Stack::new());
    }
    for &block in cfg.rpo() {
        // In reverse postorder at least one predecessor precedes the block, so the stack is known.
        let mut stack = at_start[block].clone().unwrap_or_default();
        let mut goes_on = None;
        for &inst in &func.blocks[block].insts {
            let mut say = |message: String| report.inst(block, inst, Rule::Convergence, message);
            // Of the regions with the same barrier, the innermost one holds it.
            let place_of = |stack: &Stack, barrier| stack.iter().rposition(|open| open.barrier == barrier);
            let holder = |stack: &Stack, barrier| match place_of(stack, barrier) {
                Some(place) if stack[place].saved.is_some() => Err("the barrier is saved"),
                Some(place) => Ok(place),
                None => Err("the barrier is not open"),
            };
            match func.insts[inst].op {
                Op::Bssy { barrier, join: continuation } => match holder(&stack, barrier) {
                    Ok(_) => say("the barrier is open already".to_string()),
                    Err(_) => stack.push(Open { barrier, continuation, saved: None }),
                },
                Op::Bsync(barrier) => match holder(&stack, barrier) {
                    Ok(place) => {
                        if place + 1 != stack.len() {
                            say("a barrier inside this one is still open".to_string());
                        }
                        goes_on = Some((inst, stack[place].continuation));
                        stack.truncate(place);
                    }
                    Err(why) => say(why.to_string()),
                },
                Op::Break(barrier) => match holder(&stack, barrier) {
                    Ok(place) => {
                        stack.remove(place);
                    }
                    Err(why) => say(why.to_string()),
                },
                Op::SaveBarrier(barrier) => match holder(&stack, barrier) {
                    Ok(place) => stack[place].saved = func.results(inst).first().copied(),
                    Err(_) if func.kind == FunctionKind::Device && place_of(&stack, barrier).is_none() => {}
                    Err(why) => say(why.to_string()),
                },
                Op::RestoreBarrier(barrier) => match place_of(&stack, barrier) {
                    Some(place) if stack[place].saved.is_none() => say("the barrier is open".to_string()),
                    Some(place) if stack[place].saved != func.insts[inst].args.first().copied() => {
                        say("another region's barrier was saved".to_string());
                    }
                    Some(place) => stack[place].saved = None,
                    None if func.kind == FunctionKind::Device => {}
                    None => say("the barrier is not open".to_string()),
                },
                Op::Return if !stack.is_empty() => say("a barrier is still open".to_string()),
                _ => {}
            }
        }
        if let Some((inst, continuation)) = goes_on
            && cfg.succs(block) != [continuation]
        {
            let message = format!("the threads should go on at {continuation}");
            report.inst(block, inst, Rule::Convergence, message);
        }
        for &target in cfg.succs(block) {
            match &at_start[target] {
                None => at_start[target] = Some(stack.clone()),
                Some(known) if *known == stack => {}
                // A thread that exits leaves all barriers.
                Some(_) if only_exits(func, target) => {}
                Some(known) => {
                    let (known, brought) = (describe(known), describe(&stack));
                    let message = format!("{block} brings open barriers ({brought}), others ({known})");
                    report.block(target, Rule::Convergence, message);
                }
            }
        }
    }
}

/// Whether a block only ends the thread.
fn only_exits(func: &Function, block: Block) -> bool {
    matches!(func.blocks[block].insts.as_slice(), &[only] if func.insts[only].op == Op::Exit)
}

fn describe(stack: &Stack) -> String {
    let names: Vec<String> =
        stack.iter().map(|open| format!("b{} to {}", open.barrier.0, open.continuation)).collect();
    names.join(", ")
}
