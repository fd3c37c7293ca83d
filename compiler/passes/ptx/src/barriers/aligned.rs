//! Aligned barriers at which the threads of a warp have provably diverged.
//!
//! PTX demands that all threads of a CTA execute an aligned barrier, so all of them must evaluate
//! the conditions around it alike. A branch violates that under three conditions. Its condition is
//! a function of the thread's number, and two threads of one warp go different ways
//! ([`threads`](super::threads)). The ways meet again (a barrier does not wait for threads that
//! have exited). Only one of the ways leads to the barrier before they meet.
//!
//! The warning names the innermost of the branches around a barrier. The blocks between a branch
//! and its join are visited once if its condition can be evaluated, until [`BUDGET`] blocks have
//! been visited.

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, Cfg, Function, Op, PostDominators};
use ptxc_ssa::uniformity::{Uniformity, live_graph};

use super::threads::{Allowance, Outcomes};
use super::{Barrier, node};
use crate::check::codes;
use crate::diagnostic::Diagnostic;

/// The most blocks to visit in all regions together, for each block of the function; beyond this
/// limit there are no warnings.
const BUDGET: usize = 64;

/// Two threads of one warp: the first goes on at a block, the second elsewhere.
type Apart = (usize, usize);

pub(super) fn check(func: &Function, uniformity: &Uniformity, barriers: &[Barrier]) -> Vec<Diagnostic> {
    let suspects: Vec<&Barrier> = barriers
        .iter()
        .filter(|barrier| barrier.aligned && !uniformity.is_convergent_block(barrier.block))
        .collect();
    if suspects.is_empty() {
        return Vec::new();
    }
    let cfg = Cfg::compute(func);
    let postdominators = PostDominators::compute(&live_graph(func));
    let mut allowance = Allowance::new();
    let mut budget = BUDGET * cfg.rpo().len().max(16);
    // For each block the innermost branch that keeps part of a warp from it: in reverse postorder,
    // inner branches follow outer ones.
    let mut kept_by: SecondaryMap<Block, Option<(Block, Apart)>> = SecondaryMap::new();
    for &branch in cfg.rpo() {
        let Some(terminator) = func.terminator(branch) else { continue };
        let data = &func.insts[terminator];
        let (Op::Branch { .. }, Some(join)) = (data.op, postdominators.immediate(branch)) else { continue };
        if !uniformity.is_divergent_branch(branch) || budget == 0 {
            continue;
        }
        let apart =
            Outcomes::of(func, data.args[0], &mut allowance).and_then(|outcomes| outcomes.apart_in_warp());
        let Some((taken, other)) = apart else { continue };
        let [then, otherwise] = [0, 1].map(|way| reached(&cfg, data.targets[way].block, join, &mut budget));
        for (mine, theirs, apart) in
            [(&then, &otherwise, (taken, other)), (&otherwise, &then, (other, taken))]
        {
            for &block in mine.iter().filter(|block| !theirs.contains(block)) {
                kept_by[block] = Some((branch, apart));
            }
        }
    }
    suspects.iter().filter_map(|barrier| Some(warning(func, barrier, kept_by[barrier.block]?))).collect()
}

/// The blocks from `start` on, up to `end`, in order.
fn reached(cfg: &Cfg, start: Block, end: Block, budget: &mut usize) -> std::collections::BTreeSet<Block> {
    let mut seen = std::collections::BTreeSet::new();
    let mut stack = vec![start];
    while let Some(block) = stack.pop() {
        if block != end && *budget > 0 && seen.insert(block) {
            *budget -= 1;
            stack.extend(cfg.succs(block));
        }
    }
    seen
}

fn warning(func: &Function, barrier: &Barrier, (branch, (here, elsewhere)): (Block, Apart)) -> Diagnostic {
    let message = "the threads of a warp have diverged at this aligned barrier";
    let warning = Diagnostic::warning(codes::ALIGNED_IN_DIVERGENT_CODE, barrier.node(func), message);
    let branch = func.terminator(branch).map(|inst| node(func, inst));
    let named =
        warning.label(format!("thread {here} reaches this barrier, thread {elsewhere} of its warp does not"));
    let named = match branch {
        Some(branch) => named.also(branch, "they diverge here"),
        None => named,
    };
    named
        .note("all threads of a CTA must execute an aligned barrier, or its behaviour is undefined (PTX ISA, `barrier`)")
        .help("write `barrier` without `.aligned`: it also waits for all threads, but the threads of a warp may arrive separately")
}
