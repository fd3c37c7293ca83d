//! Moves operations that both arms of a branch wait for first to the place before the branch.
//!
//! In: a function. Out: the same function. If both arms of a branch begin with the same warp
//! exchange, it is now before the branch.
//!
//! ```text
//!     brif v0, block1, block2                       v3 = vote.ballot v1, v2
//! block1:                                           brif v0, block1, block2
//!     v3 = vote.ballot v1, v2             =>    block1:
//!     store.global.b32 [v6], v3                     store.global.b32 [v6], v3
//! block2:                                       block2:
//!     v4 = vote.ballot v1, v2                       store.global.b32 [v6 + 4], v3
//!     store.global.b32 [v6 + 4], v4
//! ```
//!
//! Only operations with a mask move: they wait for the same lanes in either place, whichever way
//! the lanes go. In the arms, each group would wait for the other and then go on by itself. Only
//! computations may come before such an operation in its arm. Compilers of higher-level languages
//! do not do this, since for them the move makes a convergent operation depend on fewer branches.
//!
//! Blocks are visited in postorder, so an operation that an inner branch had in common may be
//! common to an outer branch. Linear.

use ptxc_ir::{Block, Cfg, Function, Inst, InstData, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::analyses::Analyses;
use crate::lanes::mask_argument;

/// Name of the pass.
pub const NAME: &str = "common-starts";

/// Moves the common first operations of arms; returns whether there were any.
pub fn common_starts(func: &mut Function, known: &mut Analyses) -> bool {
    let mut insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    if !insts.any(|&inst| mask_argument(&func.insts[inst]).is_some()) {
        return false;
    }
    let cfg = known.cfg(func);
    let mut names = Names::default();
    let mut changed = false;
    for &block in cfg.rpo().iter().rev() {
        ptxc_interrupt::poll();
        if let Some([left, right]) = arms(func, cfg, block) {
            while let Some(pair) = common(func, &mut names, left, right) {
                hoist(func, &mut names, block, [left, right], pair);
                changed = true;
            }
        }
    }
    if changed {
        func.rewrite_uses(|value| names.last(value));
    }
    changed
}

/// The values that replace the results of removed operations.
#[derive(Default)]
struct Names(FxHashMap<Value, Value>);

impl Names {
    /// The final replacement of a value. If branches nest, a replacement may itself be removed
    /// later.
    fn last(&mut self, value: Value) -> Value {
        let mut last = value;
        while let Some(&next) = self.0.get(&last) {
            last = next;
        }
        // Shorten the chain for later look-ups.
        let mut passed = value;
        while passed != last {
            passed = self.0.insert(passed, last).unwrap_or(last);
        }
        last
    }
}

/// The two arms of a branch, if nothing else enters them.
fn arms(func: &Function, cfg: &Cfg, head: Block) -> Option<[Block; 2]> {
    let data = &func.insts[func.terminator(head)?];
    let (Op::Branch { .. }, [left, right]) = (data.op, data.targets.as_slice()) else { return None };
    let arms = [left.block, right.block];
    let is_alone =
        |&arm: &Block| cfg.preds(arm) == [head] && func.blocks[arm].params.is_empty() && arm != head;
    (arms[0] != arms[1] && arms.iter().all(is_alone)).then_some(arms)
}

/// The positions of the first operations of both arms that do more than compute, if these
/// operations are equal.
fn common(func: &Function, names: &mut Names, left: Block, right: Block) -> Option<[usize; 2]> {
    let first = |arm: Block| {
        let mut insts = func.blocks[arm].insts.iter();
        insts.position(|&inst| !func.insts[inst].op.effects().is_pure())
    };
    let places = [first(left)?, first(right)?];
    let [a, b] =
        [(left, places[0]), (right, places[1])].map(|(arm, at)| &func.insts[func.blocks[arm].insts[at]]);
    let mut is_same = |(&a, &b): (&Value, &Value)| {
        let constants = (func.constant(a), func.constant(b));
        names.last(a) == names.last(b) || matches!(constants, (Some(a), Some(b)) if a == b)
    };
    let is_common = mask_argument(a).is_some()
        && (a.op, a.ty) == (b.op, b.ty)
        && a.args.len() == b.args.len()
        && a.args.iter().zip(&b.args).all(&mut is_same);
    is_common.then_some(places)
}

/// Moves an operation of the left arm to the end of the head, and drops that of the right arm.
fn hoist(func: &mut Function, names: &mut Names, head: Block, arms: [Block; 2], places: [usize; 2]) {
    let mut moved: SmallVec<[Inst; 6]> = SmallVec::new();
    let [kept, dropped] = [0, 1].map(|arm| func.blocks[arms[arm]].insts.remove(places[arm]));
    // Each arm may have its own copy of a constant.
    for at in 0..func.insts[kept].args.len() {
        let arg = func.insts[kept].args[at];
        if let Some(bits) = func.constant(arg) {
            let data = InstData::new(Op::Const(bits), func.ty(arg), &[]).at(func.insts[kept].loc);
            let constant = func.make_inst(data);
            func.insts[kept].args[at] = func.result(constant);
            moved.push(constant);
        }
    }
    moved.push(kept);
    let end = func.blocks[head].insts.len() - 1;
    func.blocks[head].insts.splice(end..end, moved);
    let results: SmallVec<[Value; 2]> = SmallVec::from_slice(func.results(kept));
    names.0.extend(func.results(dropped).iter().copied().zip(results));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplify::testing::{check, check_unchanged};

    #[test]
    fn exchanges_that_both_arms_begin_with() {
        check(
            common_starts,
            "block0:\n v0 = param.b64 +0\n v1 = undef.b32\n v2 = undef.pred\n v3 = const.b32 0xff\n \
             brif v2, block1, block2\n\
             block1:\n v4 = iadd.b32 v1, v1\n v5 = vote.ballot v2, v3\n v6 = redux.add v5, v3\n \
             store.global.b32 [v0], v6\n jump block3\n\
             block2:\n v7 = vote.ballot v2, v3\n v8 = redux.add v7, v3\n store.global.b32 [v0 + 4], v8\n jump block3\n\
             block3:\n exit",
            "block0:\n v0 = param.b64 +0\n v1 = undef.b32\n v2 = undef.pred\n v3 = const.b32 0xff\n \
             v9 = const.b32 0xff\n v5 = vote.ballot v2, v9\n v10 = const.b32 0xff\n v6 = redux.add v5, v10\n \
             brif v2, block1, block2\n\
             block1:\n v4 = iadd.b32 v1, v1\n store.global.b32 [v0], v6\n jump block3\n\
             block2:\n store.global.b32 [v0 + 4], v6\n jump block3\n\
             block3:\n exit",
        );
    }

    /// The remaining operation of the inner branch is common to the outer branch.
    #[test]
    fn exchanges_of_three_arms() {
        check(
            common_starts,
            "block0:\n v0 = param.b64 +0\n v2 = undef.pred\n v3 = undef.b32\n brif v2, block1, block2\n\
             block1:\n v5 = vote.ballot v2, v3\n store.global.b32 [v0], v5\n jump block5\n\
             block2:\n brif v2, block3, block4\n\
             block3:\n v7 = vote.ballot v2, v3\n store.global.b32 [v0 + 4], v7\n jump block5\n\
             block4:\n v8 = vote.ballot v2, v3\n store.global.b32 [v0 + 8], v8\n jump block5\n\
             block5:\n exit",
            "block0:\n v0 = param.b64 +0\n v2 = undef.pred\n v3 = undef.b32\n v5 = vote.ballot v2, v3\n \
             brif v2, block1, block2\n\
             block1:\n store.global.b32 [v0], v5\n jump block5\n\
             block2:\n brif v2, block3, block4\n\
             block3:\n store.global.b32 [v0 + 4], v5\n jump block5\n\
             block4:\n store.global.b32 [v0 + 8], v5\n jump block5\n\
             block5:\n exit",
        );
    }

    #[test]
    fn not_after_other_effects_and_not_with_other_masks() {
        check_unchanged(
            common_starts,
            "block0:\n v0 = param.b64 +0\n v1 = undef.b32\n v2 = undef.pred\n v3 = const.b32 0xff\n \
             brif v2, block1, block2\n\
             block1:\n v5 = vote.ballot v2, v3\n store.global.b32 [v0], v5\n jump block3\n\
             block2:\n v6 = load.global.b32 [v0]\n v7 = vote.ballot v2, v3\n store.global.b32 [v0 + 4], v7\n jump block3\n\
             block3:\n exit",
        );
        check_unchanged(
            common_starts,
            "block0:\n v0 = param.b64 +0\n v1 = undef.b32\n v2 = undef.pred\n v3 = const.b32 0xff\n \
             v4 = const.b32 0xf\n brif v2, block1, block2\n\
             block1:\n v5 = vote.ballot v2, v3\n store.global.b32 [v0], v5\n jump block3\n\
             block2:\n v7 = vote.ballot v2, v4\n store.global.b32 [v0 + 4], v7\n jump block3\n\
             block3:\n exit",
        );
        // Without a mask the operation depends on the lanes that execute it.
        check_unchanged(
            common_starts,
            "block0:\n v0 = param.b64 +0\n v2 = undef.pred\n brif v2, block1, block2\n\
             block1:\n v5 = vote.ballot v2\n store.global.b32 [v0], v5\n jump block3\n\
             block2:\n v7 = vote.ballot v2\n store.global.b32 [v0 + 4], v7\n jump block3\n\
             block3:\n exit",
        );
    }
}
