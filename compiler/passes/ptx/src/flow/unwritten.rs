//! Registers that are read before any write, on all paths.
//!
//! A walk down the dominator tree finds the reads that no write dominates; compilers emit few of
//! these. For their registers, 64 at a time, an iteration finds the blocks that some write reaches.
//! A read that no write reaches has no value. A register that is written on one path only is not
//! reported: the author may know that the other path is never taken.
//!
//! Cost: the walk is linear, and registers without any write need nothing more. The iteration
//! handles at most [`MOST`] other registers, and each of their bits changes once in each block.

use ptxc_ir::dominators::immediate_dominators;
use ptxc_syntax::Name;
use rustc_hash::FxHashMap;

use super::graph::Graph;
use crate::check::accesses::Access;
use crate::check::codes::UNWRITTEN_REGISTER;
use crate::check::scope::Register;
use crate::diagnostic::Diagnostic;

/// The most registers with a write somewhere that the iteration handles.
const MOST: usize = 1024;

/// A warning for each register, at the first read.
pub(super) fn check(graph: &Graph) -> Vec<Diagnostic> {
    let mut is_written = vec![false; graph.registers];
    for block in (0..graph.blocks.len()).filter(|&block| graph.reached[block]) {
        ptxc_interrupt::poll();
        for write in graph.accesses_in(block).filter(|access| access.is_write) {
            is_written[write.register.0 as usize] = true;
        }
    }
    let mut found: Vec<Access> = Vec::new();
    // By register, in the order of the text.
    let mut registers: Vec<Register> = Vec::new();
    let mut reads: FxHashMap<Register, Vec<(usize, Access)>> = FxHashMap::default();
    for (block, access) in doubtful(graph) {
        ptxc_interrupt::poll();
        let list = reads.entry(access.register).or_default();
        if !is_written[access.register.0 as usize] {
            // No register needs the iteration.
            if list.is_empty() {
                found.push(access);
            }
        } else if list.is_empty() {
            registers.push(access.register);
        }
        list.push((block, access));
    }
    registers.truncate(MOST);
    for group in registers.chunks(64) {
        let written = written_at_start(graph, group);
        for (bit, register) in group.iter().enumerate() {
            let first = reads[register].iter().find(|(block, _)| written[*block] >> bit & 1 == 0);
            found.extend(first.map(|(_, access)| *access));
        }
    }
    found.sort_by_key(|access| access.node);
    if found.is_empty() {
        return Vec::new();
    }
    let names = graph.names(&found.iter().map(|access| access.register).collect());
    found.into_iter().map(|access| finding(graph, access, names[&access.register])).collect()
}

fn finding(graph: &Graph, read: Access, name: &Name) -> Diagnostic {
    let finding = Diagnostic::warning(
        UNWRITTEN_REGISTER,
        read.node,
        format!("`{name}` is read before anything is written to it"),
    )
    .label("its value is undefined");
    match graph.all_accesses().find(|access| access.is_write && access.register == read.register) {
        Some(write) => finding.also(write.node, "written here, but control can't get from here to the read"),
        None => finding
            .note(format!("no instruction of the function writes `{name}`"))
            .help("load or compute it first, or read another register"),
    }
}

/// The reads that no write dominates, with their blocks, in the order of the text; in each block
/// only the first read of a register.
fn doubtful(graph: &Graph) -> Vec<(usize, Access)> {
    let blocks = graph.blocks.len();
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); blocks];
    for (block, above) in immediate_dominators(blocks, 0, &graph.edges).iter().enumerate() {
        if let Some(above) = above {
            below[*above as usize].push(block as u32);
        }
    }
    /// Entering a block, and leaving it with a number of writes to forget.
    enum Step {
        In(u32),
        Out(usize),
    }
    let mut written = vec![false; graph.registers];
    let mut writes: Vec<Register> = Vec::new();
    let mut found = Vec::new();
    let mut steps = vec![Step::In(0)];
    while let Some(step) = steps.pop() {
        ptxc_interrupt::poll();
        let block = match step {
            Step::Out(before) => {
                writes.drain(before..).for_each(|register| written[register.0 as usize] = false);
                continue;
            }
            Step::In(block) => block as usize,
        };
        steps.push(Step::Out(writes.len()));
        for access in graph.accesses_in(block) {
            let is_written = &mut written[access.register.0 as usize];
            if *is_written {
                continue;
            }
            if !access.is_write {
                found.push((block, *access));
            }
            // A later read below the first doubtful one adds nothing.
            *is_written = true;
            writes.push(access.register);
        }
        steps.extend(below[block].iter().map(|&block| Step::In(block)));
    }
    found.sort_by_key(|(block, access)| (*block, access.node));
    found
}

/// For each block, the registers that may have been written when control reaches it.
fn written_at_start(graph: &Graph, registers: &[Register]) -> Vec<u64> {
    let bits: FxHashMap<Register, u64> =
        registers.iter().enumerate().map(|(bit, &register)| (register, 1 << bit)).collect();
    let blocks = graph.blocks.len();
    let own: Vec<u64> = (0..blocks)
        .map(|block| {
            let writes = graph.accesses_in(block).filter(|access| access.is_write);
            writes.filter_map(|access| bits.get(&access.register)).fold(0, |all, bit| all | bit)
        })
        .collect();
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); blocks];
    for &(from, to) in graph.edges.iter().filter(|(from, _)| graph.reached[*from as usize]) {
        next[from as usize].push(to);
    }
    let mut start = vec![0u64; blocks];
    let mut work: Vec<u32> = (0..blocks as u32).rev().filter(|&block| own[block as usize] != 0).collect();
    let mut waits = vec![false; blocks];
    work.iter().for_each(|&block| waits[block as usize] = true);
    while let Some(block) = work.pop() {
        ptxc_interrupt::poll();
        waits[block as usize] = false;
        let out = start[block as usize] | own[block as usize];
        for &to in &next[block as usize] {
            let before = start[to as usize];
            start[to as usize] |= out;
            if start[to as usize] != before && !std::mem::replace(&mut waits[to as usize], true) {
                work.push(to);
            }
        }
    }
    start
}
