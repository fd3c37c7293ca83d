//! Splits critical edges: those from a block with several successors to a block with several predecessors.
//!
//! In: any function. Out: the same function with an empty block on each such edge, directly after
//! the edge's source in the layout. Code that belongs only to that edge then has a place.
//!
//! ```text
//! block0: brif v0, block2(v1), block1        block0: brif v0, block3, block1
//! block1: jump block2(v2)               =>   block3: jump block2(v1)
//! block2(v3: b32): exit                      …
//! ```
//! Two edges between the same blocks are split separately. Linear in the edges.

use cranelift_entity::SecondaryMap;

use crate::entities::Block;
use crate::function::{BlockCall, BlockData, Function, InstData};
use crate::op::Op;
use crate::types::Type;

/// Splits all critical edges; returns whether there was one.
pub fn split_critical_edges(func: &mut Function) -> bool {
    let mut entering: SecondaryMap<Block, u32> = SecondaryMap::new();
    for &block in &func.layout {
        for target in func.successors(block) {
            entering[target] += 1;
        }
    }
    let old = std::mem::take(&mut func.layout);
    let count = old.len();
    let mut layout = Vec::with_capacity(count);
    for block in old {
        layout.push(block);
        let Some(terminator) = func.terminator(block) else { continue };
        let targets = func.insts[terminator].targets.len();
        if targets < 2 {
            continue;
        }
        for n in 0..targets {
            if entering[func.insts[terminator].targets[n].block] < 2 {
                continue;
            }
            let middle = func.blocks.push(BlockData::default());
            layout.push(middle);
            let call = std::mem::replace(
                &mut func.insts[terminator].targets[n],
                BlockCall { block: middle, args: Default::default() },
            );
            let mut jump = InstData::new(Op::Jump, Type::B32, &[]).at(func.insts[terminator].loc);
            jump.targets.push(call);
            func.append(middle, jump);
        }
    }
    let changed = layout.len() != count;
    func.layout = layout;
    changed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cfg::Cfg;
    use crate::random_cfg::random_function;
    use crate::verify::{Level, verify};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn all_critical_edges_are_split(mut func in random_function(20)) {
            split_critical_edges(&mut func);
            prop_assert_eq!(verify(&func, Level::Built), Ok(()));
            let cfg = Cfg::compute(&func);
            for &block in cfg.rpo() {
                let several = cfg.succs(block).len() > 1;
                prop_assert!(!several || cfg.succs(block).iter().all(|&succ| cfg.preds(succ).len() == 1));
            }
            prop_assert!(!split_critical_edges(&mut func));
        }
    }
}
