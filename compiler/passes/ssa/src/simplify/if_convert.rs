//! Turns short arms of a branch into straight code with selects.
//!
//! In: a function. Out: the same function without branches around a few pure operations.
//!
//! ```text
//!     brif v0, block1, block2(v1)          v3 = iadd.b32 v1, v2
//! block1:                                  v4 = select.b32 v0, v3, v1
//!     v3 = iadd.b32 v1, v2         =>      jump block2(v4)
//!     jump block2(v3)                  block2(v5: b32):
//! block2(v5: b32):                         …
//! ```
//!
//! An arm is a block that only the branch enters and that ends in a jump. Both arms, or the one arm
//! and the branch, go to the same block. At most [`MOST_OPERATIONS`] operations are executed
//! unnecessarily, and at most [`MOST_CHOICES`] selects are added: about the cost of a branch and
//! reconvergence. An operation that reads memory, is convergent, or is expensive (division,
//! hardware approximation, call) is never executed unnecessarily.
//!
//! Blocks are visited in postorder, so inner branches become code that outer branches may absorb.
//! Linear.

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, BlockCall, Cfg, Function, Inst, InstData, Op, SourceLoc, Type, Value};
use smallvec::SmallVec;

use crate::analyses::Analyses;

/// Name of the pass.
pub const NAME: &str = "if-convert";

/// The most operations other than constants in both arms together.
pub const MOST_OPERATIONS: usize = 4;

/// The most selects.
pub const MOST_CHOICES: usize = 3;

/// Converts short branches; returns whether there were any.
pub fn if_convert(func: &mut Function, known: &mut Analyses) -> bool {
    let cfg = known.cfg(func);
    let mut gone: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut changed = false;
    for &block in cfg.rpo().iter().rev() {
        ptxc_interrupt::poll();
        changed |= convert(func, cfg, block, &mut gone);
    }
    if changed {
        func.layout.retain(|&block| !gone[block]);
        known.forget();
    }
    changed
}

fn convert(func: &mut Function, cfg: &Cfg, block: Block, gone: &mut SecondaryMap<Block, bool>) -> bool {
    let Some(terminator) = func.terminator(block) else { return false };
    let data = &func.insts[terminator];
    let (Op::Branch { .. }, [yes, no]) = (data.op, data.targets.as_slice()) else { return false };
    let (condition, loc) = (data.args[0], data.loc);
    let (mut yes, mut no) = (yes.clone(), no.clone());
    let (arm_yes, arm_no) = (arm(func, cfg, block, yes.block), arm(func, cfg, block, no.block));
    let mut arms: SmallVec<[Block; 2]> = SmallVec::new();
    match (arm_yes, arm_no) {
        _ if yes.block == no.block => {}
        (Some(onward), _) if onward.block == no.block => arms.push(std::mem::replace(&mut yes, onward).block),
        (_, Some(onward)) if onward.block == yes.block => arms.push(std::mem::replace(&mut no, onward).block),
        (Some(left), Some(right)) if left.block == right.block => {
            arms.push(std::mem::replace(&mut yes, left).block);
            arms.push(std::mem::replace(&mut no, right).block);
        }
        _ => return false,
    }
    let operations: usize = arms.iter().map(|&arm| count_operations(func, arm)).sum();
    let choices = yes.args.iter().zip(&no.args).filter(|(a, b)| a != b).count();
    if yes.block == block || operations > MOST_OPERATIONS || choices > MOST_CHOICES {
        return false;
    }
    func.blocks[block].insts.pop();
    for arm in arms {
        let mut insts = std::mem::take(&mut func.blocks[arm].insts);
        insts.pop();
        func.blocks[block].insts.extend(insts);
        gone[arm] = true;
    }
    let args: SmallVec<[Value; 4]> =
        yes.args.iter().zip(&no.args).map(|(&a, &b)| choose(func, block, loc, condition, a, b)).collect();
    let mut jump = InstData::new(Op::Jump, Type::B32, &[]).at(loc);
    jump.targets.push(BlockCall { block: yes.block, args });
    func.append(block, jump);
    true
}

/// The successor of a block, if the block is an arm of the branch at the end of `head`: no other
/// block enters it, it has no parameters, and it may be executed unnecessarily.
fn arm(func: &Function, cfg: &Cfg, head: Block, block: Block) -> Option<BlockCall> {
    let [edge] = func.edges(block) else { return None };
    let (last, body) = func.blocks[block].insts.split_last()?;
    let alone = cfg.preds(block) == [head] && func.blocks[block].params.is_empty();
    let cheap = |inst: &Inst| {
        let op = &func.insts[*inst].op;
        op.effects().is_pure() && !op.is_expensive() && !matches!(op, Op::Load(_))
    };
    let fits = alone && func.insts[*last].op == Op::Jump && edge.block != block;
    (fits && body.len() <= 4 * MOST_OPERATIONS && body.iter().all(cheap)).then(|| edge.clone())
}

fn count_operations(func: &Function, arm: Block) -> usize {
    let free = |op: &Op| matches!(op, Op::Const(_) | Op::Undef | Op::Jump | Op::Bitcast);
    func.blocks[arm].insts.iter().filter(|&&inst| !free(&func.insts[inst].op)).count()
}

fn choose(func: &mut Function, block: Block, loc: SourceLoc, condition: Value, a: Value, b: Value) -> Value {
    if a == b {
        return a;
    }
    let ty = func.ty(a);
    let inst = func.append(block, InstData::new(Op::Select, ty, &[condition, a, b]).at(loc));
    func.result(inst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplify::testing::{check, check_unchanged};

    #[test]
    fn one_arm_and_two() {
        check(
            if_convert,
            "block0:\n v0 = undef.pred\n v1 = undef.b32\n brif v0, block1, block2(v1)\n\
             block1:\n v2 = ineg.b32 v1\n jump block2(v2)\n\
             block2(v3: b32):\n brif v0, block3, block4\n\
             block3:\n v4 = ineg.b32 v3\n jump block5(v4, v3)\nblock4:\n jump block5(v3, v3)\n\
             block5(v5: b32, v6: b32):\n exit",
            "block0:\n v0 = undef.pred\n v1 = undef.b32\n v2 = ineg.b32 v1\n v8 = select.b32 v0, v2, v1\n\
             jump block2(v8)\n\
             block2(v3: b32):\n v4 = ineg.b32 v3\n v7 = select.b32 v0, v4, v3\n jump block5(v7, v3)\n\
             block5(v5: b32, v6: b32):\n exit",
        );
    }

    #[test]
    fn effects_and_loops_stay() {
        check_unchanged(
            if_convert,
            "block0:\n v0 = undef.pred\n v1 = param.b64 +0\n brif v0, block1, block2\n\
             block1:\n v2 = load.global.b32 [v1]\n jump block2\n\
             block2:\n brif v0, block3, block4\nblock3:\n v3 = activemask\n jump block4\n\
             block4:\n brif v0, block5, block6\nblock5:\n jump block4\nblock6:\n exit",
        );
    }
}
