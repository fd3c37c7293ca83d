//! Threads that end: they leave a warp without making the rest of it diverge.

use ptxc_ir::{Block, Cfg, Function, Op};

/// The control-flow graph without the edges on which threads only end: if a branch has one edge to
/// a block that only exits, only the other edge counts.
pub fn live_graph(func: &Function) -> Cfg {
    Cfg::without(func, |block, target| is_exit(func, target) && is_early_exit(func, block))
}

/// Whether a block ends in a branch with exactly one edge to a block that only exits.
fn is_early_exit(func: &Function, block: Block) -> bool {
    let edges = func.edges(block);
    let branches =
        func.terminator(block).is_some_and(|inst| matches!(func.insts[inst].op, Op::Branch { .. }));
    branches && edges.iter().filter(|edge| is_exit(func, edge.block)).count() == 1
}

/// Whether a block only ends the thread, by an exit or a trap.
pub(crate) fn is_exit(func: &Function, block: Block) -> bool {
    matches!(func.blocks[block].insts.as_slice(), &[only] if matches!(func.insts[only].op, Op::Exit | Op::Trap))
}
