//! Estimates of how often each block runs, from the shape of the control flow.
//!
//! In: a function. Out: for each block the expected number of runs for one run of the entry.
//! Frequencies flow along edges in reverse postorder: the frequency of a block is the sum over its
//! incoming edges, and the frequency of an edge is that of its block times the probability of the
//! edge. A loop multiplies the incoming frequency by [`TRIPS`]. The edges out of a loop together
//! take a share of one in [`TRIPS`] of their block's frequency, so about as much leaves as enters.
//! Other heuristics, after Wu and Larus (*Static Branch Frequency and Program Profile Analysis*,
//! 1994): a branch to a block that only ends the thread is taken one time in four, since an early
//! exit guards against the ragged end of the data. A block that calls a runtime routine runs one
//! time in forty, since fast sequences cover the usual cases. All other branches are even.
//!
//! Frequencies are integers in units of 1/1024, saturate, and are at least 1: deep nests and
//! irreducible flow are harmless. Linear.

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, CalleeKind, Function, Op};

use crate::analyses::Analyses;
use crate::uniformity::is_exit;

/// The frequency of the entry.
pub const UNIT: u64 = 1024;

/// The assumed number of iterations of a loop.
pub const TRIPS: u64 = 10;

/// The largest frequency of a block: far above real nests, far below overflow.
const LIMIT: u64 = 1 << 40;

/// The frequency of each block; 0 for unreachable ones.
pub fn block_frequencies(func: &Function) -> SecondaryMap<Block, u64> {
    block_frequencies_in(func, &Analyses::default())
}

/// Does the same with cached analyses of the function's graph.
pub fn block_frequencies_in(func: &Function, known: &Analyses) -> SecondaryMap<Block, u64> {
    let (cfg, loops) = (known.cfg(func), known.loops(func));
    let calls_routines = func.callees.values().any(|callee| callee.kind == CalleeKind::Routine);
    let mut frequency: SecondaryMap<Block, u64> = SecondaryMap::new();
    frequency.resize(func.blocks.len());
    for (position, &block) in cfg.rpo().iter().enumerate() {
        ptxc_interrupt::poll();
        if position == 0 {
            frequency[block] = UNIT;
        }
        let innermost = loops.innermost(block);
        if innermost.is_some_and(|this| loops.header(this) == block) {
            frequency[block] = (frequency[block] * TRIPS).min(LIMIT);
        }
        let own = frequency[block].clamp(1, LIMIT);
        frequency[block] = own;
        let leaves = |target: Block| innermost.is_some_and(|this| !loops.contains(this, target));
        let targets = cfg.succs(block);
        // Weights out of 4 * TRIPS; edges that leave the loop or end the thread are less likely.
        let weight = |target: Block| {
            if leaves(target) {
                4
            } else if calls_routines && is_slow_path(func, target) || traps(func, target) {
                1
            } else if is_exit(func, target) {
                TRIPS
            } else {
                4 * TRIPS - 4
            }
        };
        let total: u64 = targets.iter().map(|&target| weight(target)).sum();
        for &target in targets {
            // The header's multiplication already counts an edge back to it.
            let back = cfg.rpo_index(target).is_some_and(|index| index <= position);
            if !back {
                frequency[target] = (frequency[target] + own * weight(target) / total.max(1)).min(LIMIT);
            }
        }
    }
    frequency
}

/// Whether a block ends in a trap: it is reached from a check that hardly ever fails.
fn traps(func: &Function, block: Block) -> bool {
    func.terminator(block).is_some_and(|inst| func.insts[inst].op == Op::Trap)
}

/// Whether a block handles the cases that a fast sequence cannot: it calls a runtime routine and
/// continues.
fn is_slow_path(func: &Function, block: Block) -> bool {
    let calls = |&inst| match func.insts[inst].op {
        Op::Call { callee, .. } => func.callees[callee].kind == CalleeKind::Routine,
        _ => false,
    };
    func.terminator(block).is_some_and(|inst| func.insts[inst].op == Op::Jump)
        && func.blocks[block].insts.iter().any(calls)
}

#[cfg(test)]
mod tests {
    use ptxc_ir::text::parse_function;

    use super::*;

    #[test]
    fn loops_multiply_and_arms_share() {
        let text = "func @f entry {\nblock0:\n    v0 = sreg.b32 tid.x\n    jump block1(v0)\nblock1(v1: b32):\n    \
            v2 = const.b32 0x1\n    v3 = iadd.b32 v1, v2\n    v4 = icmp.ne.b32 v3, v0\n    brif v4, block1(v3), block2\n\
            block2:\n    v5 = icmp.eq.b32 v0, v2\n    brif v5, block3, block4\nblock3:\n    jump block4\nblock4:\n    exit\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let frequency = block_frequencies(&func);
        let of = |n: usize| frequency[func.layout[n]];
        assert_eq!(of(0), UNIT);
        assert_eq!(of(1), UNIT * TRIPS);
        assert!(of(2).abs_diff(UNIT) < UNIT / 8, "{}", of(2));
        assert!(of(3) < of(2));
    }
}
