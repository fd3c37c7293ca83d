//! Liveness: which values are needed across block boundaries.
//!
//! In: a function in SSA form and its control-flow graph. Out: for each reachable block the values that
//! are live where it starts and where it ends.
//!
//! A block's parameters are not live-in: they are defined at the start of the block. The arguments
//! of an edge are used at the end of its source, so they are live-out there only if there is
//! another use.
//!
//! ```text
//! block0: v0 = const.b32 0x1       live_out(block0) = [v0]
//!         jump block1(v0)
//! block1(v1: b32):                 live_in(block1)  = [v0]
//!         v2 = iadd.b32 v1, v0
//!         brif v3, block1(v2), …   live_out(block1) = [v0]
//! ```
//!
//! From each use the walk goes up to the definition and marks the blocks that it crosses (Boissinot
//! et al., "Computing Liveness Sets for SSA-Form Programs", 2011, the method by variable). The
//! values are visited in order of their numbers, so each list is sorted, and its last entry tells
//! whether the value is already in the list. Time and space are linear in the function and the size
//! of the result.

use cranelift_entity::{EntityRef, SecondaryMap};
use rustc_hash::FxHashSet;

use crate::cfg::{Adjacency, Cfg};
use crate::entities::{Block, Value};
use crate::function::Function;
use crate::types::Type;

/// The values that are live at the boundaries of each block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liveness {
    live_in: SecondaryMap<Block, Vec<Value>>,
    live_out: SecondaryMap<Block, Vec<Value>>,
}

impl Liveness {
    /// The liveness of a function with this graph.
    pub fn compute(func: &Function, cfg: &Cfg) -> Liveness {
        let mut defined_in: SecondaryMap<Value, Option<Block>> = SecondaryMap::new();
        let mut uses: Vec<(u32, u32)> = Vec::new();
        for (place, &block) in cfg.rpo().iter().enumerate() {
            for &param in &func.blocks[block].params {
                defined_in[param] = Some(block);
            }
            for &inst in &func.blocks[block].insts {
                for &result in func.results(inst) {
                    defined_in[result] = Some(block);
                }
                let data = &func.insts[inst];
                let edge_args = data.targets.iter().flat_map(|target| &target.args);
                uses.extend(data.args.iter().chain(edge_args).map(|arg| (arg.as_u32(), place as u32)));
            }
        }
        let uses = Adjacency::new(func.num_values(), &uses);

        let mut live_in: SecondaryMap<Block, Vec<Value>> = SecondaryMap::new();
        let mut live_out: SecondaryMap<Block, Vec<Value>> = SecondaryMap::new();
        let mut stack = Vec::new();
        for value in (0..func.num_values()).map(Value::new) {
            let home = defined_in[value];
            stack.extend(uses.of(value.as_u32()).iter().map(|&place| cfg.rpo()[place as usize]));
            while let Some(block) = stack.pop() {
                if home == Some(block) || live_in[block].last() == Some(&value) {
                    continue;
                }
                live_in[block].push(value);
                for &pred in cfg.preds(block) {
                    if live_out[pred].last() != Some(&value) {
                        live_out[pred].push(value);
                    }
                    stack.push(pred);
                }
            }
        }
        Liveness { live_in, live_out }
    }

    /// The values that are live where a block starts, without its parameters, sorted.
    pub fn live_in(&self, block: Block) -> &[Value] {
        &self.live_in[block]
    }

    /// The values that are live where a block ends, sorted.
    pub fn live_out(&self, block: Block) -> &[Value] {
        &self.live_out[block]
    }

    /// Whether a value is live where a block starts. Logarithmic.
    pub fn is_live_in(&self, block: Block, value: Value) -> bool {
        self.live_in[block].binary_search(&value).is_ok()
    }

    /// Whether a value is live where a block ends. Logarithmic.
    pub fn is_live_out(&self, block: Block, value: Value) -> bool {
        self.live_out[block].binary_search(&value).is_ok()
    }

    /// The greatest total weight of values that are live at once in a block; `weight` gives, for
    /// example, the number of 32-bit registers that a type needs. An unused result has weight at
    /// its definition. Linear in the block and its live values.
    pub fn pressure(&self, func: &Function, block: Block, weight: impl Fn(Type) -> u32) -> u32 {
        let of = |value: Value| weight(func.ty(value));
        let mut live: FxHashSet<Value> = self.live_out[block].iter().copied().collect();
        let mut now: u32 = live.iter().map(|&value| of(value)).sum();
        let mut most = now;
        for &inst in func.blocks[block].insts.iter().rev() {
            let results = func.results(inst);
            let dead: u32 = results.iter().filter(|&result| !live.contains(result)).map(|&r| of(r)).sum();
            most = most.max(now + dead);
            for result in results {
                if live.remove(result) {
                    now -= of(*result);
                }
            }
            let data = &func.insts[inst];
            for &arg in data.args.iter().chain(data.targets.iter().flat_map(|target| &target.args)) {
                if live.insert(arg) {
                    now += of(arg);
                }
            }
            most = most.max(now);
        }
        let params = &func.blocks[block].params;
        let unused: u32 = params.iter().filter(|&param| !live.contains(param)).map(|&p| of(p)).sum();
        most.max(now + unused)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::op::Op;
    use crate::random_cfg::random_function;
    use crate::text::parse_function;

    #[test]
    fn a_loop_keeps_its_invariants_alive() {
        let func = parse_function(
            "func @f device {\nblock0:\n v0 = const.b32 1\n v3 = undef.pred\n jump block1(v0)\n\
             block1(v1: b32):\n v2 = iadd.b32 v1, v0\n brif v3, block1(v2), block2\nblock2:\n ret\n}\n",
        )
        .unwrap();
        let cfg = Cfg::compute(&func);
        let live = Liveness::compute(&func, &cfg);
        let [b0, b1, b2] = [0, 1, 2].map(Block::new);
        let [v0, v3] = [0, 3].map(Value::new);
        assert_eq!(live.live_out(b0), [v0, v3]);
        assert_eq!(live.live_in(b1), [v0, v3]);
        assert_eq!(live.live_out(b1), [v0, v3]);
        assert!(live.live_in(b2).is_empty());
        let registers = |ty| u32::from(ty != Type::Pred);
        assert_eq!(live.pressure(&func, b1, registers), 2);
        assert_eq!(live.pressure(&func, b2, registers), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// The lists satisfy the dataflow equations and are the smallest that do, because every
        /// entry leads to a use.
        #[test]
        fn satisfies_the_equations(func in random_function(20)) {
            let cfg = Cfg::compute(&func);
            let live = Liveness::compute(&func, &cfg);
            for &block in cfg.rpo() {
                let used = |value: Value| {
                    let mut insts = func.blocks[block].insts.iter();
                    insts.any(|&inst| func.insts[inst].args.contains(&value))
                };
                for value in (0..func.num_values()).map(Value::new) {
                    let out = cfg.succs(block).iter().any(|&succ| live.is_live_in(succ, value));
                    prop_assert_eq!(live.is_live_out(block, value), out);
                    let defined = block == func.entry();
                    let expected = !defined && (out || used(value));
                    prop_assert_eq!(live.is_live_in(block, value), expected);
                }
            }
            // An unused value is not live anywhere.
            let branches = func.insts.values().any(|data| matches!(data.op, Op::Branch { .. }) && !data.args.is_empty());
            if !branches {
                prop_assert!(cfg.rpo().iter().all(|&block| !live.is_live_in(block, Value::new(0))));
            }
        }
    }
}
