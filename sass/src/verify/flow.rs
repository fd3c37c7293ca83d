//! The dataflow: blocks, edges, and the iteration to a fixed point.

use std::collections::BTreeSet;
use std::mem;
use std::ops::Range;
use std::rc::Rc;

use smallvec::SmallVec;

use super::state::State;
use super::walk::Walk;
use super::{Hazard, HazardKind, Lack, Order};
use crate::operand::Label;
use crate::program::Program;
use crate::table::Op;

/// The places where control may go after an instruction.
struct Next {
    /// The next instruction.
    falls: bool,
    /// The instructions of its labels; `u32::MAX` for a label without an instruction.
    targets: SmallVec<[u32; 1]>,
}

fn next(program: &Program, index: usize) -> Next {
    let inst = &program.insts[index].inst;
    if inst.op == Op::ENDCOLLECTIVE {
        // A collective alone is only a part of a program.
        return Next { falls: index + 1 < program.insts.len(), targets: SmallVec::new() };
    }
    let mut targets: SmallVec<[u32; 1]> = SmallVec::new();
    if inst.jumps() {
        let place = |label: Label| program.labels.get(label.0 as usize).copied().unwrap_or(u32::MAX);
        targets.extend(inst.labels().map(place));
        if targets.len() > 1 {
            targets.sort_unstable();
            targets.dedup();
        }
    }
    Next { falls: inst.falls_through(), targets }
}

/// A block: its instructions and the places where control goes from it.
pub(super) struct Block {
    pub(super) insts: Range<u32>,
    pub(super) successors: SmallVec<[u32; 2]>,
    /// Whether control may run past the last instruction of the program.
    falls_off: bool,
}

/// The blocks of a program, and its entry blocks.
pub(super) fn blocks(program: &Program) -> (Vec<Block>, Vec<u32>) {
    let count = program.insts.len();
    // Calls enter the functions.
    let functions = program.functions.iter().skip(1).filter_map(|function| function.start);
    let entries = std::iter::once(0).chain(functions).filter(|&start| (start as usize) < count);
    // A block starts at the entry, at every branch target, and after every instruction that may
    // branch.
    let mut is_start = vec![false; count];
    entries.clone().for_each(|start| is_start[start as usize] = true);
    // The instructions that do not simply continue with the next one.
    let mut ends: Vec<(u32, Next)> = Vec::new();
    for (index, coded) in program.insts.iter().enumerate() {
        // Most instructions simply continue with the next one.
        if !coded.inst.is_control_flow() && coded.inst.op != Op::ENDCOLLECTIVE {
            continue;
        }
        let next = next(program, index);
        if next.targets.is_empty() && next.falls {
            continue;
        }
        for start in next.targets.iter().copied().chain([index as u32 + 1]) {
            if let Some(is_start) = is_start.get_mut(start as usize) {
                *is_start = true;
            }
        }
        ends.push((index as u32, next));
    }
    let starts: Vec<u32> = (0..count as u32).filter(|&index| is_start[index as usize]).collect();
    let block_at = |start: u32| starts.binary_search(&start).ok().map(|block| block as u32);
    let mut ends = ends.into_iter().peekable();
    let blocks = starts.iter().enumerate().map(|(block, &start)| {
        let end = starts.get(block + 1).copied().unwrap_or(count as u32);
        let next = ends.next_if(|&(index, _)| index + 1 == end).map(|(_, next)| next);
        let Next { falls, targets } = next.unwrap_or(Next { falls: true, targets: SmallVec::new() });
        let targets = targets.into_iter().chain(falls.then_some(end));
        let mut block = Block { insts: start..end, successors: SmallVec::new(), falls_off: false };
        for target in targets {
            match block_at(target) {
                Some(successor) => block.successors.push(successor),
                None => block.falls_off = true,
            }
        }
        block
    });
    (blocks.collect(), entries.filter_map(block_at).collect())
}

/// Runs the check; the hazards come in no particular order and possibly repeated.
pub(super) fn run(program: &Program, rule: Order, poll: &dyn Fn()) -> Vec<Hazard> {
    let (blocks, entries) = blocks(program);
    let order = reverse_postorder(&blocks, &entries);
    let mut rank = vec![0u32; blocks.len()];
    for (position, &block) in order.iter().enumerate() {
        rank[block as usize] = position as u32;
    }

    let mut entry: Vec<Option<Rc<State>>> = vec![None; blocks.len()];
    // The hazards of the last visit of each block, when its entry state is final.
    let mut found: Vec<Vec<Hazard>> = vec![Vec::new(); blocks.len()];
    // The states that arrive at a block wait until its next visit, so that a block where thousands
    // of paths meet joins them at once.
    let mut arrived: Vec<Vec<Rc<State>>> = vec![Vec::new(); blocks.len()];
    let mut queue: BTreeSet<u32> = BTreeSet::new();
    // Nothing is under way at the entry of a function.
    let nothing = Rc::new(State::default());
    for &block in &entries {
        arrived[block as usize].push(Rc::clone(&nothing));
        queue.insert(rank[block as usize]);
    }
    // The blocks are visited in sweeps of reverse postorder. A state that a back edge brings waits
    // for the next sweep, so that all loops of a nest see a change at once.
    let mut later: BTreeSet<u32> = BTreeSet::new();
    let mut walk = Walk::new(program, rule);
    loop {
        let Some(position) = queue.pop_first() else {
            if later.is_empty() {
                break;
            }
            mem::swap(&mut queue, &mut later);
            continue;
        };
        let block = order[position as usize] as usize;
        let paths = mem::take(&mut arrived[block]);
        let joined = match (&entry[block], &paths[..]) {
            (None, [path]) => Rc::clone(path),
            (known, paths) => Rc::new(State::join(known.iter().chain(paths).map(|state| &**state))),
        };
        if entry[block].as_ref() == Some(&joined) {
            continue;
        }
        walk.enter(&joined);
        entry[block] = Some(joined);
        let found = &mut found[block];
        found.clear();
        for index in blocks[block].insts.clone() {
            poll();
            walk.issue(index, found);
        }
        if blocks[block].successors.is_empty() {
            continue;
        }
        let state = Rc::new(walk.state());
        for &successor in &blocks[block].successors {
            arrived[successor as usize].push(Rc::clone(&state));
            let rank = rank[successor as usize];
            if rank > position {
                queue.insert(rank)
            } else {
                later.insert(rank)
            };
        }
    }

    let mut hazards = Vec::new();
    for ((block, found), entry) in blocks.iter().zip(found).zip(entry) {
        if entry.is_none() {
            continue;
        }
        hazards.extend(found);
        let has_unknown = || block.insts.clone().any(|index| program.unknown_word(index).is_some());
        if block.falls_off && (program.unknown.is_empty() || !has_unknown()) {
            let (consumer, kind) = (block.insts.end - 1, HazardKind::FallsOff);
            hazards.push(Hazard { consumer, producer: consumer, kind, reg: None, lack: Lack::Rule });
        }
    }
    hazards
}

/// The blocks that are reachable from the entries, each before its successors, except for back
/// edges (Aho, Lam, Sethi and Ullman, "Compilers", 9.6).
fn reverse_postorder(blocks: &[Block], entries: &[u32]) -> Vec<u32> {
    let mut order = Vec::with_capacity(blocks.len());
    let mut seen = vec![false; blocks.len()];
    // Blocks that are being visited, each with the number of its successors that have been visited.
    let mut stack: Vec<(u32, usize)> = Vec::new();
    for &entry in entries.iter().rev() {
        if !std::mem::replace(&mut seen[entry as usize], true) {
            stack.push((entry, 0));
        }
        while let Some((block, visited)) = stack.last_mut() {
            match blocks[*block as usize].successors.get(*visited) {
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
