//! Gives loops that share a header one each.
//!
//! In: any function. Out: the same where a header with a loop inside a loop, both going back to it, keeps the
//! inner one; the outer loop gets a new, empty header in front.
//!
//! ```text
//! block1: brif v0, block1, block2          block4: jump block1
//! block2: brif v1, block1, block3    =>    block1: brif v0, block1, block2
//!                                          block2: brif v1, block4, block3
//! ```
//!
//! A spin loop at the start of a loop's body looks like this. Only with headers of their own do the threads
//! that leave the inner loop have a place to wait for each other that is inside the outer one.
//!
//! Of a header's latches, one is the inner loop's if the blocks that lead to it, without the header, are
//! among those that lead to another latch, but not the other way round. Headers with more than
//! [`MOST_LATCHES`] latches are left alone, so that the cost stays linear in the sizes of the loops.

use cranelift_entity::EntitySet;

use crate::cfg::Cfg;
use crate::dominators::Dominators;
use crate::entities::{Block, Value};
use crate::function::{BlockCall, BlockData, Function, InstData};
use crate::loops::{Loop, Loops};
use crate::op::Op;
use crate::types::Type;

/// How many latches are told apart.
pub const MOST_LATCHES: usize = 8;

/// Separates loops that share a header; says whether there were any.
pub fn separate_nested_loops(func: &mut Function) -> bool {
    let mut changed = false;
    // Each round separates one loop from each header.
    for _ in 0..MOST_LATCHES {
        let cfg = Cfg::compute(func);
        let loops = Loops::compute(&cfg, &Dominators::compute(&cfg));
        let mut fronts: Vec<(Block, Block)> = Vec::new();
        for this in loops.iter() {
            let inner = inner_latches(&cfg, &loops, this);
            if inner.is_empty() {
                continue;
            }
            let header = loops.header(this);
            fronts.push((header, add_outer_header(func, &cfg, header, &inner)));
        }
        if fronts.is_empty() {
            break;
        }
        changed = true;
        fronts.sort_unstable();
        let layout = std::mem::take(&mut func.layout);
        for block in layout {
            if let Ok(found) = fronts.binary_search_by_key(&block, |&(header, _)| header) {
                func.layout.push(fronts[found].1);
            }
            func.layout.push(block);
        }
    }
    changed
}

/// The latches of the innermost loop that shares its header with another one; none if the header has but one
/// loop.
fn inner_latches(cfg: &Cfg, loops: &Loops, this: Loop) -> Vec<Block> {
    let latches = loops.latches(this);
    if !(2..=MOST_LATCHES).contains(&latches.len()) {
        return Vec::new();
    }
    let bodies: Vec<EntitySet<Block>> =
        latches.iter().map(|&latch| body(cfg, loops.header(this), latch)).collect();
    for (inner, &latch) in bodies.iter().zip(latches) {
        let around =
            |(outer, other): (&EntitySet<Block>, &Block)| outer.contains(latch) && !inner.contains(*other);
        let holds_another =
            |(within, other): (&EntitySet<Block>, &Block)| inner.contains(*other) && !within.contains(latch);
        if bodies.iter().zip(latches).any(around) && !bodies.iter().zip(latches).any(holds_another) {
            return latches.iter().copied().filter(|&other| inner.contains(other)).collect();
        }
    }
    Vec::new()
}

/// The header and the blocks that lead to a latch without passing it.
fn body(cfg: &Cfg, header: Block, latch: Block) -> EntitySet<Block> {
    let mut body = EntitySet::new();
    body.insert(header);
    let mut stack = vec![latch];
    while let Some(block) = stack.pop() {
        if body.insert(block) {
            stack.extend(cfg.preds(block));
        }
    }
    body
}

/// Leads all edges to a header but those of the inner latches through a new block.
fn add_outer_header(func: &mut Function, cfg: &Cfg, header: Block, inner: &[Block]) -> Block {
    let front = func.blocks.push(BlockData::default());
    let types: Vec<Type> = func.blocks[header].params.iter().map(|&param| func.ty(param)).collect();
    let params: Vec<Value> = types.into_iter().map(|ty| func.add_block_param(front, ty)).collect();
    for pred in cfg.preds(header).iter().filter(|pred| !inner.contains(pred)) {
        let Some(terminator) = func.terminator(*pred) else { continue };
        for target in func.insts[terminator].targets.iter_mut().filter(|target| target.block == header) {
            target.block = front;
        }
    }
    let mut jump = InstData::new(Op::Jump, Type::B32, &[]);
    jump.targets.push(BlockCall::new(header, &params));
    func.append(front, jump);
    front
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random_cfg::random_function;
    use crate::text::parse_function;
    use crate::verify::{Level, verify};

    #[test]
    fn a_spin_loop_gets_its_own_header() {
        let text = "func @f device {\nblock0:\n v0 = undef.pred\n v1 = undef.b32\n jump block1(v1)\n\
                    block1(v2: b32):\n brif v0, block1(v2), block2\nblock2:\n v3 = ineg.b32 v2\n \
                    brif v0, block1(v3), block3\nblock3:\n ret\n}\n";
        let mut func = parse_function(text).unwrap();
        assert!(separate_nested_loops(&mut func));
        let expected = "func @f device {\nblock0:\n v0 = undef.pred\n v1 = undef.b32\n jump block4(v1)\n\
                        block4(v4: b32):\n jump block1(v4)\n\
                        block1(v2: b32):\n brif v0, block1(v2), block2\nblock2:\n v3 = ineg.b32 v2\n \
                        brif v0, block4(v3), block3\nblock3:\n ret\n}\n";
        assert_eq!(func.to_string(), parse_function(expected).unwrap().to_string());
        assert!(!separate_nested_loops(&mut func));
    }

    #[test]
    fn ways_to_continue_are_one_loop() {
        let text = "func @f device {\nblock0:\n v0 = undef.pred\n jump block1\nblock1:\n brif v0, block2, block3\n\
                    block2:\n brif v0, block1, block4\nblock3:\n brif v0, block1, block4\nblock4:\n ret\n}\n";
        assert!(!separate_nested_loops(&mut parse_function(text).unwrap()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn ends_with_sound_functions(mut func in random_function(20)) {
            separate_nested_loops(&mut func);
            prop_assert_eq!(verify(&func, Level::Built), Ok(()));
        }
    }
}
