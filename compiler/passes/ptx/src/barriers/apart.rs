//! Whether a function as it was built may have aligned barriers where threads of a warp are apart.
//!
//! The [warnings](super::aligned) need a function whose constants are folded. This asks less, and needs no folding: whether an
//! aligned barrier lies between a branch that depends on the thread's number and where its ways meet again. Folding takes
//! edges away and operands out of computations, but adds neither: what lies between then does so now. In most functions nothing
//! does, so that there is nothing to be folded.

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, Cfg, Function, FunctionKind, Inst, Op, PostDominators, Value};
use ptxc_ssa::uniformity::live_graph;

use super::Barrier;

/// How often what depends on the thread's number is carried around loops; a function that needs more is looked at closely.
const MOST_SWEEPS: usize = 8;

/// The most blocks between branches and where their ways meet that are looked at, for each block of the function.
const BUDGET: usize = 16;

/// Whether threads of a warp may be apart at an aligned barrier; if it can't be told at once, too.
pub(super) fn may_be(func: &Function, barriers: &[Barrier]) -> bool {
    // Who calls a device function decides who is there, and nothing is said of it.
    let is_said = func.kind != FunctionKind::Device;
    let mut has_barrier: SecondaryMap<Block, bool> = SecondaryMap::new();
    for barrier in barriers.iter().filter(|barrier| barrier.aligned && is_said) {
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
    // The last branch that a block lies behind.
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

/// The values that depend on the thread's number, by whatever operands; none if that takes too long to be found out.
fn numbered(func: &Function, cfg: &Cfg) -> Option<SecondaryMap<Value, bool>> {
    let mut numbered: SecondaryMap<Value, bool> = SecondaryMap::new();
    numbered.resize(func.num_values());
    for _ in 0..MOST_SWEEPS {
        // Whether something changed that an earlier block sees.
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
