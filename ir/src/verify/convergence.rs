//! `bssy` and `bsync` nest like brackets along every path.
//!
//! One walk in reverse postorder with the stack of open barriers at the end of each block; every edge must
//! bring the stack that the first one brought. `break` takes a barrier out of the stack, wherever in it that is: the
//! lanes that leave go on without it, and meet at `bsync` of those that are left from inside out. So lanes that wait at a
//! `bsync` wait only for lanes that wait further in, if at all. Stacks hold at most sixteen barriers, so this is linear.
//!
//! A device function saves a barrier once, at its start, and restores it before each return.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::{Report, Rule};
use crate::cfg::Cfg;
use crate::entities::Block;
use crate::function::{Function, FunctionKind};
use crate::op::{ConvergenceBarrier, Op};

/// The open barriers, innermost last, each with the block where its threads go on.
type Stack = SmallVec<[(ConvergenceBarrier, Block); 4]>;

pub(super) fn check(func: &Function, report: &mut Report<'_>) {
    let cfg = Cfg::compute(func);
    let mut at_start: SecondaryMap<Block, Option<Stack>> = SecondaryMap::new();
    if let Some(&entry) = cfg.rpo().first() {
        at_start[entry] = Some(Stack::new());
    }
    for &block in cfg.rpo() {
        // A predecessor comes first in reverse postorder on some edge, so the stack is known.
        let mut stack = at_start[block].clone().unwrap_or_default();
        let mut goes_on = None;
        for &inst in &func.blocks[block].insts {
            let mut say = |message: String| report.inst(block, inst, Rule::Convergence, message);
            let place_of = |stack: &Stack, barrier| stack.iter().position(|open| open.0 == barrier);
            match func.insts[inst].op {
                Op::Bssy(barrier, continuation) => match place_of(&stack, barrier) {
                    Some(_) => say("the barrier is open already".to_string()),
                    None => stack.push((barrier, continuation)),
                },
                Op::Bsync(barrier) => match place_of(&stack, barrier) {
                    Some(place) => {
                        if place + 1 != stack.len() {
                            say("a barrier inside this one is still open".to_string());
                        }
                        goes_on = Some((inst, stack[place].1));
                        stack.truncate(place);
                    }
                    None => say("the barrier is not open".to_string()),
                },
                Op::Break(barrier) => match place_of(&stack, barrier) {
                    Some(place) => {
                        stack.remove(place);
                    }
                    None => say("the barrier is not open".to_string()),
                },
                Op::SaveBarrier(barrier) | Op::RestoreBarrier(barrier) => {
                    if func.kind != FunctionKind::Device {
                        say("a kernel has no callers for whom to keep a barrier".to_string());
                    }
                    if place_of(&stack, barrier).is_some() {
                        say("the barrier is open".to_string());
                    }
                }
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
                // A thread that ends takes no barrier along.
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

/// Whether a block does nothing but end the thread.
fn only_exits(func: &Function, block: Block) -> bool {
    matches!(func.blocks[block].insts.as_slice(), &[only] if func.insts[only].op == Op::Exit)
}

fn describe(stack: &Stack) -> String {
    let names: Vec<String> =
        stack.iter().map(|(barrier, block)| format!("b{} to {block}", barrier.0)).collect();
    names.join(", ")
}
