//! Global value numbering: of two equal computations, the second goes where the first dominates it.
//!
//! In: a function. Out: the same with the results of such instructions renamed to those of the first.
//!
//! ```text
//! block0:                          block0:
//!     v2 = iadd.b32 v0, v1             v2 = iadd.b32 v0, v1
//!     jump block1                =>    jump block1
//! block1:                          block1:
//!     v3 = iadd.b32 v1, v0             store.global.b32 [v4], v2
//!     store.global.b32 [v4], v3
//! ```
//!
//! Two instructions are equal if operation, type and (renamed) arguments are. Pure operations take part,
//! and weak loads of memory that nothing writes while the kernel runs: constants, parameters, and
//! `.nc` loads. Convergent operations never do.
//!
//! One walk over the dominator tree in preorder with one hash table; an entry whose block does not
//! dominate the present one never will again, and is dropped when it is met (dominator-based value
//! numbering, Briggs, Cooper and Simpson, "Value Numbering", 1997). Linear but for the tree.

use crate::interrupt;
use std::collections::hash_map::Entry;

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, CacheOp, Cfg, Dominators, Function, Inst, Op, Order, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::fold::is_commutative;

/// Name of the pass.
pub const NAME: &str = "gvn";

/// What two instructions that are equal have in common.
type Key = (Op, Type, SmallVec<[Value; 4]>);

/// Merges equal computations; says whether there were any.
pub fn gvn(func: &mut Function) -> bool {
    let cfg = Cfg::compute(func);
    interrupt::poll();
    let dominators = Dominators::compute(&cfg);
    let room = func.insts.len() / 2;
    let mut table: FxHashMap<Key, (Block, Inst)> =
        FxHashMap::with_capacity_and_hasher(room, Default::default());
    let mut renamed: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut changed = false;
    for block in dominators.preorder() {
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        insts.retain(|&inst| {
            interrupt::poll();
            for arg in &mut func.insts[inst].args {
                *arg = renamed[*arg].unwrap_or(*arg);
            }
            let data = &func.insts[inst];
            if !is_repeatable(&data.op) {
                return true;
            }
            let mut args = data.args.clone();
            let swappable = is_commutative(&data.op) || matches!(data.op, Op::Icmp(_));
            let mut op = data.op;
            if swappable && args.len() == 2 && args[1] < args[0] {
                args.swap(0, 1);
                if let Op::Icmp(condition) = op {
                    op = Op::Icmp(condition.swap());
                }
            }
            match table.entry((op, data.ty, args)) {
                Entry::Occupied(mut entry) => {
                    let (home, first) = *entry.get();
                    if !dominators.dominates(home, block) {
                        entry.insert((block, inst));
                        return true;
                    }
                    for (&result, &by) in func.results(inst).iter().zip(func.results(first)) {
                        renamed[result] = Some(by);
                    }
                    changed = true;
                    false
                }
                Entry::Vacant(entry) => {
                    entry.insert((block, inst));
                    true
                }
            }
        });
        func.blocks[block].insts = insts;
    }
    if changed {
        func.rewrite_uses(|value| renamed[value].unwrap_or(value));
    }
    changed
}

/// Whether a second execution gives the same results as the first, whatever happened between.
pub(super) fn is_repeatable(op: &Op) -> bool {
    let effects = op.effects();
    match op {
        Op::Load(access) if access.order == Order::Weak => {
            access.cache == CacheOp::Nc || !effects.reads_memory
        }
        _ => effects.is_pure(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplify::testing::{check, check_unchanged};

    #[test]
    fn along_the_dominator_tree_only() {
        check(
            gvn,
            "block0:\n v0 = param.b32 +0\n v1 = param.b32 +0\n v2 = undef.pred\n v3 = iadd.b32 v0, v1\n\
             brif v2, block1, block2\n\
             block1:\n v4 = iadd.b32 v1, v0\n v5 = ineg.b32 v4\n jump block3(v5)\n\
             block2:\n v6 = ineg.b32 v3\n jump block3(v6)\n\
             block3(v7: b32):\n v8 = ineg.b32 v3\n v9 = icmp.slt.b32 v7, v8\n v10 = icmp.sgt.b32 v8, v7\n\
             brif v10, block4, block5\nblock4:\n exit\nblock5:\n exit",
            "block0:\n v0 = param.b32 +0\n v2 = undef.pred\n v3 = iadd.b32 v0, v0\n\
             brif v2, block1, block2\n\
             block1:\n v5 = ineg.b32 v3\n jump block3(v5)\n\
             block2:\n v6 = ineg.b32 v3\n jump block3(v6)\n\
             block3(v7: b32):\n v8 = ineg.b32 v3\n v9 = icmp.slt.b32 v7, v8\n\
             brif v9, block4, block5\nblock4:\n exit\nblock5:\n exit",
        );
    }

    #[test]
    fn memory_and_convergence_stay() {
        check_unchanged(
            gvn,
            "block0:\n v0 = param.b64 +0\n v1 = load.global.b32 [v0]\n v2 = load.global.b32 [v0]\n\
             v3 = activemask\n v4 = activemask\n v5 = sreg.b32 clock\n v6 = sreg.b32 clock\n exit",
        );
    }

    #[test]
    fn read_only_loads_merge() {
        check(
            gvn,
            "block0:\n v0 = param.b64 +0\n v1 = load.global.nc.b32 [v0]\n v2 = load.global.nc.b32 [v0]\n\
             store.global.b32 [v0], v2\n exit",
            "block0:\n v0 = param.b64 +0\n v1 = load.global.nc.b32 [v0]\n\
             store.global.b32 [v0], v1\n exit",
        );
    }
}
