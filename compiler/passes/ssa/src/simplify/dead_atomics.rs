//! Turns atomics whose old value is unused into reductions.
//!
//! ```text
//! v3 = atomic.add.shared.relaxed.cta.b32 [v1], v2   =>   red.add.shared.relaxed.cta.b32 [v1], v2
//! ```
//!
//! Exchange and compare-and-swap have no reduction. An order with acquire semantics has none
//! either, because there is no read that could acquire. Linear.

use cranelift_entity::SecondaryMap;
use ptxc_ir::{AtomicOp, Function, InstData, Op, Order, Value};

use crate::analyses::Analyses;

/// Name of the pass.
pub const NAME: &str = "dead-atomics";

/// Turns atomics without used results into reductions; returns whether there were any.
pub fn dead_atomics(func: &mut Function, _: &mut Analyses) -> bool {
    let mut insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    if !insts.any(|&inst| matches!(func.insts[inst].op, Op::Atomic { .. })) {
        return false;
    }
    let mut used: SecondaryMap<Value, bool> = SecondaryMap::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            for &arg in data.args.iter().chain(data.targets.iter().flat_map(|target| &target.args)) {
                used[arg] = true;
            }
        }
    }
    let mut changed = false;
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        for place in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[place];
            let data = &func.insts[inst];
            let Op::Atomic { op, access } = data.op else { continue };
            let reducible = !matches!(op, AtomicOp::Exch | AtomicOp::Cas)
                && matches!(access.order, Order::Relaxed | Order::Release)
                && !func.results(inst).iter().any(|&result| used[result]);
            if reducible {
                let red = InstData { op: Op::Red { op, access }, ..data.clone() };
                func.blocks[block].insts[place] = func.make_inst(red);
                changed = true;
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplify::testing::{check, check_unchanged};

    #[test]
    fn only_where_the_result_is_unused() {
        check(
            dead_atomics,
            "block0:\n v0 = param.b64 +0\n v1 = undef.b32\n v2 = atomic.add.global.relaxed.gpu.b32 [v0 + 4], v1\n\
             exit",
            "block0:\n v0 = param.b64 +0\n v1 = undef.b32\n red.add.global.relaxed.gpu.b32 [v0 + 4], v1\n exit",
        );
        check_unchanged(
            dead_atomics,
            "block0:\n v0 = param.b64 +0\n v1 = undef.b32\n v2 = atomic.add.global.relaxed.gpu.b32 [v0], v1\n\
             v3 = atomic.exch.global.relaxed.gpu.b32 [v0], v2\n\
             v4 = atomic.add.global.acq_rel.gpu.b32 [v0], v1\n exit",
        );
    }
}
