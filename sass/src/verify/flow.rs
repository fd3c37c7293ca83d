//! The dataflow: blocks, edges, and the iteration to a fixed point.

use std::collections::BTreeSet;

use super::state::State;
use super::{Hazard, HazardKind, Lack};
use crate::operand::OperandKind;
use crate::program::Program;
use crate::table::Op;

/// Where control may go after an instruction.
struct Next {
    /// The next instruction.
    falls: bool,
    /// The instruction of a label.
    target: Option<u32>,
}

fn next(program: &Program, index: usize) -> Next {
    let inst = &program.insts[index].inst;
    let effects = inst.row().effects;
    let guarded = inst.guard.is_some();
    if effects.exit {
        return Next { falls: guarded, target: None };
    }
    if inst.op == Op::BRA {
        let target = inst.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Label(label) => program.labels.get(label.0 as usize).copied(),
            _ => None,
        });
        let conditional = guarded
            || inst.operands.iter().any(|operand| match operand.kind {
                OperandKind::Reg(_) => true,
                OperandKind::Zero(file) => file.is_predicate() && operand.flags.not,
                _ => false,
            });
        return Next { falls: conditional, target };
    }
    Next { falls: true, target: None }
}

/// Runs the check; the hazards come in no particular order and possibly repeated.
pub(super) fn run(program: &Program) -> Vec<Hazard> {
    let count = program.insts.len();
    let mut hazards = Vec::new();
    // A block starts at the entry, at every branch target, and after every instruction that may branch.
    let mut starts: BTreeSet<u32> = BTreeSet::new();
    if count > 0 {
        starts.insert(0);
    }
    for index in 0..count {
        let next = next(program, index);
        starts.extend(next.target);
        if next.target.is_some() || !next.falls {
            starts.insert(index as u32 + 1);
        }
    }
    let starts: Vec<u32> = starts.into_iter().filter(|&start| (start as usize) < count).collect();
    let block_at = |index: u32| starts.binary_search(&index).ok();

    let mut entry: Vec<Option<State>> = vec![None; starts.len()];
    let mut queue: BTreeSet<usize> = BTreeSet::new();
    if count > 0 {
        entry[0] = Some(State::default());
        queue.insert(0);
    }
    // In the order of the program, which is near a reverse postorder: each pass over a loop is one sweep.
    while let Some(block) = queue.pop_first() {
        let Some(mut state) = entry[block].clone() else { continue };
        let end = starts.get(block + 1).copied().unwrap_or(count as u32);
        for index in starts[block]..end {
            state.issue(program, index, &mut |_| {});
        }
        let next = next(program, end as usize - 1);
        let targets = next.target.into_iter().chain(next.falls.then_some(end));
        for target in targets {
            let Some(successor) = block_at(target) else { continue };
            let changed = match &mut entry[successor] {
                Some(old) => old.join(&state),
                slot => {
                    *slot = Some(state.clone());
                    true
                }
            };
            if changed {
                queue.insert(successor);
            }
        }
    }

    for (block, state) in entry.into_iter().enumerate() {
        let Some(mut state) = state else { continue };
        let end = starts.get(block + 1).copied().unwrap_or(count as u32);
        for index in starts[block]..end {
            state.issue(program, index, &mut |hazard| hazards.push(hazard));
        }
        let next = next(program, end as usize - 1);
        let lost = next.target.is_some_and(|target| target as usize >= count);
        if (next.falls && end as usize == count) || lost {
            let (consumer, kind) = (end - 1, HazardKind::FallsOff);
            hazards.push(Hazard { consumer, producer: consumer, kind, reg: None, lack: Lack::Rule });
        }
    }
    hazards
}
