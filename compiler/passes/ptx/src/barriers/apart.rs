//! Whether a function as it was built may have aligned barriers at which threads of a warp have
//! diverged.
//!
//! The [warnings](super::aligned) need a function whose constants are folded. This check asks a
//! weaker question and needs no folding: whether an aligned barrier lies between a branch that
//! depends on the thread's number and its join. Folding removes edges and operands but adds none,
//! so a barrier that lies between them after folding does so before. Most functions have no such
//! barrier and need no folding.

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, Cfg, Function, FunctionKind, Inst, Op, PostDominators, Value};
use ptxc_ssa::uniformity::live_graph;

use super::Barrier;

/// The most sweeps that carry dependence on the thread's number around loops; a function that needs
/// more is checked in full.
const MOST_SWEEPS: usize = 8;

/// The most blocks between branches and their joins that are visited, for each block of the
/// function.
const BUDGET: usize = 16;

/// Whether threads of a warp may have diverged at an aligned barrier; also `true` if the limits are
/// too small to tell.
pub(super) fn may_be(func: &Function, barriers: &[Barrier]) -> bool {
    // The caller decides which threads are in a device function, so there are no warnings about it.
    let is_kernel = func.kind != FunctionKind::Device;
    let mut has_barrier: SecondaryMap<Block, bool> = SecondaryMap::new();
    for barrier in barriers.iter().filter(|barrier| barrier.aligned && is_kernel) {
        has_barrier[barrier.block] = true;
    }
    if !barriers.iter().any(|barrier| has_barrier[barrier.block]) {
        return false;
    }
    let cfg = Cfg::compute(func);
    let Some(numbered) = numbered(func, &cfg) else { return true };
    let parts = |&&block: &&Block| {
        let data = func.terminator(block).map(|inst| &func.insts[inst]);
        let data = data.filter(|data| matches!(data.op, Op::Branch { .. } | Op::Switch));
        data.is_some_and(|data| data.args.iter().any(|&arg| numbered[arg]))
    };
    let branches: Vec<Block> = cfg.rpo().iter().filter(parts).copied().collect();
    if branches.is_empty() {
        return false;
    }
    let postdominators = PostDominators::compute(&live_graph(func));
    let mut budget = BUDGET * cfg.rpo().len().max(16);
    // The last branch that leads to a block.
    let mut seen: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    let mut stack = Vec::new();
    for branch in branches {
        ptxc_interrupt::poll();
        let join = postdominators.immediate(branch);
        stack.extend(cfg.succs(branch));
        while let Some(block) = stack.pop() {
            if Some(block) == join || seen[block].replace(branch) == Some(branch) {
                continue;
            }
            if has_barrier[block] || budget == 0 {
                return true;
            }
            budget -= 1;
            stack.extend(cfg.succs(block));
        }
    }
    false
}

/// The values that depend on the thread's number through any operands; `None` if that takes too
/// many sweeps to find out.
fn numbered(func: &Function, cfg: &Cfg) -> Option<SecondaryMap<Value, bool>> {
    let mut numbered: SecondaryMap<Value, bool> = SecondaryMap::new();
    numbered.resize(func.num_values());
    for _ in 0..MOST_SWEEPS {
        // Whether a block parameter has changed, which an earlier block may read.
        let mut changed = false;
        for &block in cfg.rpo() {
            ptxc_interrupt::poll();
            for &inst in &func.blocks[block].insts {
                if is_numbered(func, inst, &numbered) {
                    func.results(inst).iter().for_each(|&result| numbered[result] = true);
                }
            }
            for edge in func.edges(block) {
                for (&arg, &param) in edge.args.iter().zip(&func.blocks[edge.block].params) {
                    if numbered[arg] && !std::mem::replace(&mut numbered[param], true) {
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            return Some(numbered);
        }
    }
    None
}

fn is_numbered(func: &Function, inst: Inst, numbered: &SecondaryMap<Value, bool>) -> bool {
    let data = &func.insts[inst];
    match data.op {
        Op::SpecialReg(register) => !register.is_uniform(),
        Op::Const(_) | Op::Param { .. } => false,
        _ => data.args.as_slice().iter().any(|&arg| numbered[arg]),
    }
}
