//! The dataflow: blocks, edges, and the iteration to a fixed point.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::state::State;
use super::{Hazard, HazardKind, Lack, Order};
use crate::operand::Label;
use crate::program::Program;
use crate::table::Op;

/// Where control may go after an instruction.
struct Next {
    /// The next instruction.
    falls: bool,
    /// The instructions of its labels; `u32::MAX` for a label that there is none of.
    targets: SmallVec<[u32; 1]>,
}

fn next(program: &Program, index: usize) -> Next {
    let inst = &program.insts[index].inst;
    if inst.op == Op::ENDCOLLECTIVE {
        // Alone, a collective is no program but a part of one.
        return Next { falls: index + 1 < program.insts.len(), targets: SmallVec::new() };
    }
    let mut targets: SmallVec<[u32; 1]> = SmallVec::new();
    if inst.jumps() {
        let place = |label: Label| program.labels.get(label.0 as usize).copied().unwrap_or(u32::MAX);
        targets.extend(inst.labels().map(place));
        targets.sort_unstable();
        targets.dedup();
    }
    Next { falls: inst.falls_through(), targets }
}

/// Runs the check; the hazards come in no particular order and possibly repeated.
pub(super) fn run(program: &Program, rule: Order, poll: &dyn Fn()) -> Vec<Hazard> {
    let count = program.insts.len();
    let mut hazards = Vec::new();
    // A block starts at the entry, at every branch target, and after every instruction that may branch.
    let mut starts: BTreeSet<u32> = BTreeSet::new();
    if count > 0 {
        starts.insert(0);
    }
    // Functions are entered with nothing under way, from wherever they are called.
    let functions = program.functions.iter().skip(1).filter_map(|function| function.start);
    starts.extend(functions.clone());
    for index in 0..count {
        let next = next(program, index);
        starts.extend(&next.targets);
        if !next.targets.is_empty() || !next.falls {
            starts.insert(index as u32 + 1);
        }
    }
    let starts: Vec<u32> = starts.into_iter().filter(|&start| (start as usize) < count).collect();
    let successors: Vec<SmallVec<[u32; 2]>> = (0..starts.len())
        .map(|block| {
            let end = starts.get(block + 1).copied().unwrap_or(count as u32);
            let next = next(program, end as usize - 1);
            let targets = next.targets.into_iter().chain(next.falls.then_some(end));
            targets.filter_map(|target| starts.binary_search(&target).ok()).map(|at| at as u32).collect()
        })
        .collect();
    let entries: Vec<u32> = std::iter::once(0)
        .chain(functions)
        .filter_map(|start| starts.binary_search(&start).ok())
        .map(|block| block as u32)
        .collect();
    let order = reverse_postorder(&successors, &entries);
    let mut rank = vec![0u32; starts.len()];
    for (position, &block) in order.iter().enumerate() {
        rank[block as usize] = position as u32;
    }

    let mut entry: Vec<Option<State>> = vec![None; starts.len()];
    // Of a block's last visit, when it is known what comes to it.
    let mut found: Vec<Vec<Hazard>> = vec![Vec::new(); starts.len()];
    // What paths bring to a block waits until its turn comes, so that a block where thousands of paths meet
    // takes them in at once.
    let mut arrived: Vec<Vec<State>> = vec![Vec::new(); starts.len()];
    let mut queue: BTreeSet<u32> = BTreeSet::new();
    for &block in &entries {
        arrived[block as usize].push(State::default());
        queue.insert(rank[block as usize]);
    }
    // In sweeps of reverse postorder: what a back edge brings waits for the next one, so that all loops of a
    // nest take in what changed at once.
    let mut later: BTreeSet<u32> = BTreeSet::new();
    loop {
        let Some(position) = queue.pop_first() else {
            if later.is_empty() {
                break;
            }
            std::mem::swap(&mut queue, &mut later);
            continue;
        };
        let block = order[position as usize] as usize;
        let paths = std::mem::take(&mut arrived[block]);
        let joined = State::join(rule, entry[block].as_ref().into_iter().chain(&paths));
        if entry[block].as_ref() == Some(&joined) {
            continue;
        }
        let mut state = joined.clone();
        entry[block] = Some(joined);
        let end = starts.get(block + 1).copied().unwrap_or(count as u32);
        let found = &mut found[block];
        found.clear();
        for index in starts[block]..end {
            poll();
            state.issue(program, index, &mut |hazard| found.push(hazard));
        }
        for &successor in &successors[block] {
            arrived[successor as usize].push(state.clone());
            let rank = rank[successor as usize];
            if rank > position {
                queue.insert(rank)
            } else {
                later.insert(rank)
            };
        }
    }

    for (block, found) in found.into_iter().enumerate() {
        if entry[block].is_none() {
            continue;
        }
        hazards.extend(found);
        let end = starts.get(block + 1).copied().unwrap_or(count as u32);
        let next = next(program, end as usize - 1);
        let lost = next.targets.iter().any(|&target| target as usize >= count);
        if (next.falls && end as usize == count) || lost {
            let (consumer, kind) = (end - 1, HazardKind::FallsOff);
            hazards.push(Hazard { consumer, producer: consumer, kind, reg: None, lack: Lack::Rule });
        }
    }
    hazards
}

/// The blocks that the entries lead to, each before those it leads to but for back edges (Aho, Lam, Sethi
/// and Ullman, "Compilers", 9.6).
fn reverse_postorder(successors: &[SmallVec<[u32; 2]>], entries: &[u32]) -> Vec<u32> {
    let mut order = Vec::with_capacity(successors.len());
    let mut seen = vec![false; successors.len()];
    // Blocks that are being visited, each with the number of its successors that have been.
    let mut stack: Vec<(u32, usize)> = Vec::new();
    for &entry in entries.iter().rev() {
        if !std::mem::replace(&mut seen[entry as usize], true) {
            stack.push((entry, 0));
        }
        while let Some((block, visited)) = stack.last_mut() {
            match successors[*block as usize].get(*visited) {
                Some(&next) => {
                    *visited += 1;
                    if !std::mem::replace(&mut seen[next as usize], true) {
                        stack.push((next, 0));
                    }
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
    }
    order.reverse();
    order
}
