//! Tidies the control flow: edges skip blocks that only jump, and a block absorbs its only
//! successor if the successor has no other predecessor.
//!
//! In: a function. Out: the same function with fewer blocks. [`fold`](mod@super::fold) turns
//! branches with only one target into jumps; [`dce`](mod@super::dce) removes unreachable blocks.
//!
//! ```text
//! block0: brif v0, block1, block2          block0: brif v0, block3(v1), block2
//! block1: jump block3(v1)             =>   …
//! ```
//!
//! A block that is the only way back to a loop's header, from several sources, stays, so the loop
//! keeps its one latch. An empty header of a loop also stays, since a header of its own separates
//! the loop from a loop inside it. Blocks are threaded in postorder, so the target of a block has
//! been threaded before and each edge moves once. Linear in the function.

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, BlockCall, Function, Op, Value};
use smallvec::SmallVec;

use crate::analyses::Analyses;

/// Name of the pass.
pub const NAME: &str = "branches";

/// Tidies the control flow; says whether anything changed.
pub fn branches(func: &mut Function, known: &mut Analyses) -> bool {
    let threaded = thread(func, known);
    if threaded {
        known.forget();
    }
    let merged = merge(func, known);
    if merged {
        known.forget();
    }
    threaded || merged
}

/// Makes edges skip blocks that only jump.
fn thread(func: &mut Function, known: &Analyses) -> bool {
    let cfg = known.cfg(func);
    // Only the jump of such a block may use the block's parameters.
    let mut used_elsewhere: SecondaryMap<Value, bool> = SecondaryMap::new();
    let may_skip = |&block: &Block| {
        let data = &func.blocks[block];
        data.insts.len() == 1 && func.insts[data.insts[0]].op == Op::Jump
    };
    let mut skippable = cfg.rpo().iter().filter(|block| may_skip(block)).peekable();
    if skippable.peek().is_none() {
        return false;
    }
    let has_params = skippable.any(|&block| !func.blocks[block].params.is_empty());
    if has_params {
        used_elsewhere.resize(func.num_values());
    }
    for &block in cfg.rpo().iter().filter(|_| has_params) {
        ptxc_interrupt::poll();
        let own = &func.blocks[block].params;
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            let only_jump = func.blocks[block].insts.len() == 1 && data.op == Op::Jump;
            for &arg in data.args.iter().chain(data.targets.iter().flat_map(|target| &target.args)) {
                if !(only_jump && own.contains(&arg)) {
                    used_elsewhere[arg] = true;
                }
            }
        }
    }
    let mut skipped: SecondaryMap<Block, Option<BlockCall>> = SecondaryMap::new();
    let mut changed = false;
    for &block in cfg.rpo().iter().rev() {
        let Some(terminator) = func.terminator(block) else { continue };
        let mut targets = std::mem::take(&mut func.insts[terminator].targets);
        for target in &mut targets {
            if let Some(onward) = &skipped[target.block] {
                let params = &func.blocks[target.block].params;
                let passed = |value: &Value| match params.iter().position(|param| param == value) {
                    Some(index) => target.args[index],
                    None => *value,
                };
                let args: SmallVec<[Value; 4]> = onward.args.iter().map(passed).collect();
                *target = BlockCall { block: onward.block, args };
                changed = true;
            }
        }
        func.insts[terminator].targets = targets;
        let [edge] = func.edges(block) else { continue };
        let empty = func.blocks[block].insts.len() == 1 && func.insts[terminator].op == Op::Jump;
        let local = func.blocks[block].params.iter().all(|&param| !used_elsewhere[param]);
        let place = cfg.rpo_index(block);
        let only_latch = cfg.rpo_index(edge.block) <= place && cfg.preds(block).len() > 1;
        let header = cfg.preds(block).iter().any(|&pred| cfg.rpo_index(pred) >= place);
        if empty && local && !only_latch && !header && edge.block != block && block != func.entry() {
            skipped[block] = Some(edge.clone());
        }
    }
    changed
}

/// Makes a block absorb its only successor, if the successor has no other predecessor.
fn merge(func: &mut Function, known: &Analyses) -> bool {
    let cfg = known.cfg(func);
    let mut renamed: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut gone: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut changed = false;
    for &block in cfg.rpo() {
        if gone[block] {
            continue;
        }
        while let Some(terminator) = func.terminator(block) {
            let [edge] = func.edges(block) else { break };
            let next = edge.block;
            if func.insts[terminator].op != Op::Jump || cfg.preds(next).len() != 1 || next == block {
                break;
            }
            let args = edge.args.clone();
            func.blocks[block].insts.pop();
            let params = std::mem::take(&mut func.blocks[next].params);
            for (param, arg) in params.into_iter().zip(args) {
                // An argument is defined above the parameter, so its own renaming is already known.
                renamed[param] = Some(renamed[arg].unwrap_or(arg));
            }
            let insts = std::mem::take(&mut func.blocks[next].insts);
            func.blocks[block].insts.extend(insts);
            gone[next] = true;
            changed = true;
        }
    }
    if changed {
        func.layout.retain(|&block| !gone[block]);
        func.rewrite_uses(|value| renamed[value].unwrap_or(value));
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplify::dce;
    use crate::simplify::testing::{check, check_unchanged};

    #[test]
    fn threads_and_merges() {
        check(
            |func, known| branches(func, known) | dce(func, known),
            "block0:\n v0 = undef.pred\n v1 = undef.b32\n brif v0, block1(v1), block2\n\
             block1(v2: b32):\n jump block3(v2)\nblock2:\n v3 = ineg.b32 v1\n jump block3(v3)\n\
             block3(v4: b32):\n jump block4(v4)\nblock4(v5: b32):\n v6 = const.b64 0x0\n store.global.b32 [v6], v5\n exit",
            "block0:\n v0 = undef.pred\n v1 = undef.b32\n brif v0, block4(v1), block2\n\
             block2:\n v3 = ineg.b32 v1\n jump block4(v3)\n\
             block4(v5: b32):\n v6 = const.b64 0x0\n store.global.b32 [v6], v5\n exit",
        );
    }

    #[test]
    fn straight_lines_become_one_block() {
        check(
            branches,
            "block0:\n v0 = undef.b32\n jump block1(v0)\nblock1(v1: b32):\n v2 = ineg.b32 v1\n\
             jump block2(v1)\nblock2(v3: b32):\n v4 = iadd.b32 v3, v2\n exit",
            "block0:\n v0 = undef.b32\n v2 = ineg.b32 v0\n v4 = iadd.b32 v0, v2\n exit",
        );
    }

    #[test]
    fn loops_stay_apart_and_endless_loops_stay() {
        check_unchanged(
            branches,
            "block0:\n v0 = undef.pred\n jump block1\nblock1:\n brif v0, block2, block3\n\
             block2:\n v1 = activemask\n brif v0, block4, block5\nblock3:\n v2 = activemask\n jump block4\n\
             block4:\n jump block1\nblock5:\n exit",
        );
        check_unchanged(
            branches,
            "block0:\n v0 = undef.pred\n jump block1\nblock1:\n jump block2\n\
             block2:\n brif v0, block2, block3\nblock3:\n brif v0, block1, block4\nblock4:\n exit",
        );
        check_unchanged(
            branches,
            "block0:\n v0 = undef.pred\n brif v0, block1, block2\nblock1:\n jump block1\nblock2:\n exit",
        );
    }
}
