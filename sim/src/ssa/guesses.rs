//! Loads that only guess the value that a compare-and-swap expects.
//!
//! ```text
//! v1 = load.shared [v0]
//! loop(v2):                                   // v1 or v4
//! v4 = atomic.cas.shared [v0], v2, v3         // fails if the guess is wrong
//! ```
//!
//! A program is right whatever such a load returns, because the swap checks it. So the load is no
//! race with the swaps of others, although it is weak.

use std::collections::BTreeSet;

use ptxc_ir::function::ValueDef;
use ptxc_ir::{AtomicOp, Block, Function, Inst, Op, Value};
use rustc_hash::FxHashMap;

/// The most values that the search for the origins of an expected value visits, which keeps its
/// time linear in the size of the function.
const MOST_VISITED: usize = 64;

/// The depth to which two addresses are compared.
const DEPTH: u32 = 3;

/// Whether two values are surely equal: one value, or equal operations on equal values. Without
/// optimizations, an address is computed for each access.
fn is_same(func: &Function, a: Value, b: Value, depth: u32) -> bool {
    if a == b {
        return true;
    }
    let (Some(first), Some(second), Some(depth)) = (func.def_inst(a), func.def_inst(b), depth.checked_sub(1))
    else {
        return false;
    };
    let effects = first.op.effects();
    let is_pure = !effects.reads && !effects.writes && !effects.ordered;
    let alike = is_pure && first.op == second.op && first.args.len() == second.args.len();
    alike && first.args.iter().zip(&second.args).all(|(&a, &b)| is_same(func, a, b, depth))
}

/// The loads of a function whose value a compare-and-swap at the same address expects.
pub fn guessed_loads(func: &Function) -> BTreeSet<Inst> {
    let insts = || func.layout.iter().flat_map(|&block| func.blocks[block].insts.iter().copied());
    let swaps: Vec<Inst> = insts()
        .filter(|&inst| matches!(func.insts[inst].op, Op::Atomic { op: AtomicOp::Cas | AtomicOp::Cast, .. }))
        .collect();
    let mut found = BTreeSet::new();
    if swaps.is_empty() {
        return found;
    }
    let mut incoming: FxHashMap<(Block, u32), Vec<Value>> = FxHashMap::default();
    for edge in func.layout.iter().flat_map(|&block| func.edges(block)) {
        for (number, &arg) in (0..).zip(&edge.args) {
            incoming.entry((edge.block, number)).or_default().push(arg);
        }
    }
    for swap in swaps {
        let data = &func.insts[swap];
        let [address, expected, ..] = data.args[..] else { continue };
        let (mut seen, mut open) = (BTreeSet::from([expected]), vec![expected]);
        while let Some(value) = open.pop() {
            let origins: &[Value] = match func.def(value) {
                ValueDef::Param(block, number) => incoming.get(&(block, number)).map_or(&[], |all| all),
                ValueDef::Result(inst, _) => match &func.insts[inst].op {
                    Op::Load(_) => {
                        if func.insts[inst]
                            .args
                            .first()
                            .is_some_and(|&own| is_same(func, own, address, DEPTH))
                        {
                            found.insert(inst);
                        }
                        &[]
                    }
                    op if op.effects().ordered => &[],
                    _ if func.insts[inst].args.len() == 1 => &func.insts[inst].args,
                    _ => &[],
                },
            };
            for &origin in origins {
                if seen.len() < MOST_VISITED && seen.insert(origin) {
                    open.push(origin);
                }
            }
        }
    }
    found
}
