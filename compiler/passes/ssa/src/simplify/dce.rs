//! Removes dead code: unreachable blocks, instructions without effect whose results are unused, and
//! block parameters that feed only such instructions or themselves.
//!
//! In: a function. Out: the same function, in which every instruction has an effect or is needed by
//! one that has.
//!
//! ```text
//! block1(v3: b32, v4: b32):           block1(v3: b32):
//!     v5 = iadd.b32 v4, v4       =>       store.global.b32 [v1], v3
//!     store.global.b32 [v1], v3           …
//! ```
//!
//! The pass marks backwards from the effectful instructions and terminators to their arguments, and
//! from a needed block parameter to the arguments of the edges; then it sweeps. A counter that only
//! counts itself is never marked. One walk in postorder sees nearly every value after its users; a
//! list handles the arguments of edges that lead back. The use counts are left for the next pass.
//! Linear.

use cranelift_entity::{EntityRef, EntitySet};
use ptxc_ir::{Block, Cfg, Function, Inst, Op, Value, ValueDef};

use crate::analyses::Analyses;

/// Name of the pass.
pub const NAME: &str = "dce";

/// Removes dead code; says whether there was any.
pub fn dce(func: &mut Function, known: &mut Analyses) -> bool {
    let cfg = known.cfg(func);
    let mut changed = cfg.rpo().len() != func.layout.len();
    if changed {
        func.layout.retain(|&block| cfg.is_reachable(block));
    }

    let mut marks = Marks::new(func);
    // Walk against the control flow, so that the definition of a value is walked after its users.
    for (place, &block) in cfg.rpo().iter().enumerate().rev() {
        let data = &func.blocks[block];
        for part in data.insts.rchunks(64) {
            ptxc_interrupt::poll();
            for &inst in part.iter().rev() {
                let is_needed = |result: &Value| marks.uses[result.index()] > 0;
                if must_stay(&func.insts[inst].op) || func.results(inst).iter().any(is_needed) {
                    marks.insts[inst.index()] = true;
                    for &arg in func.insts[inst].args.as_slice() {
                        marks.uses[arg.index()] += 1;
                    }
                }
            }
        }
        for (index, param) in data.params.iter().enumerate() {
            if marks.uses[param.index()] > 0 && marks.meet_param(*param) {
                for_each_argument(func, cfg, block, index, |source, arg| {
                    if cfg.rpo_index(source) < Some(place) {
                        marks.uses[arg.index()] += 1;
                    } else {
                        marks.value(arg);
                    }
                });
            }
        }
    }
    // Values that were walked before an edge back needed them, and the values that these need.
    while let Some(value) = marks.work.pop() {
        match func.def(value) {
            ValueDef::Result(inst, _) => marks.instruction(func, inst),
            ValueDef::Param(block, index) if marks.meet_param(value) => {
                for_each_argument(func, cfg, block, index as usize, |_, arg| marks.value(arg));
            }
            ValueDef::Param(..) => {}
        }
    }

    for &block in cfg.rpo() {
        let data = &mut func.blocks[block];
        let insts_before = data.insts.len();
        data.insts.retain(|inst| marks.insts[inst.index()]);
        changed |= data.insts.len() != insts_before;
    }
    // The parameters of the entry are the function's own.
    let entry = func.entry();
    let is_unneeded = |param: &Value| marks.uses[param.index()] == 0;
    let has_unneeded = |&&block: &&Block| block != entry && func.blocks[block].params.iter().any(is_unneeded);
    let shrinking: Vec<Block> = cfg.rpo().iter().filter(has_unneeded).copied().collect();
    for &block in &shrinking {
        let needed: Vec<bool> =
            func.blocks[block].params.iter().map(|param| marks.uses[param.index()] > 0).collect();
        // A block with several edges to this block is listed once for each edge, and these entries
        // are adjacent.
        for same in cfg.preds(block).chunk_by(|a, b| a == b) {
            let Some(terminator) = func.terminator(same[0]) else { continue };
            for target in func.insts[terminator].targets.iter_mut().filter(|edge| edge.block == block) {
                let mut needed = needed.iter();
                target.args.retain(|_| *needed.next().unwrap_or(&true));
            }
        }
        func.retain_block_params(block, |index| needed[index]);
        changed = true;
    }
    known.leave_uses(marks.uses);
    changed
}

/// Whether an operation must stay even if its results are unused.
fn must_stay(op: &Op) -> bool {
    match op {
        // The most frequent operations first.
        Op::Const(_) | Op::Iadd | Op::Imul | Op::Fadd(_) | Op::Fmul(_) | Op::Ffma(_) | Op::Icmp(_) => false,
        // Lending comes in order with arrivals, but has no other effect.
        Op::Lend { .. } => false,
        _ => op.effects().ordered,
    }
}

/// Calls `visit` for the arguments of a parameter of a block, each with the block whose edge brings
/// it.
fn for_each_argument(
    func: &Function,
    cfg: &Cfg,
    block: Block,
    index: usize,
    mut visit: impl FnMut(Block, Value),
) {
    // A block with several edges to this block is listed once for each edge, and these entries are
    // adjacent.
    for same in cfg.preds(block).chunk_by(|a, b| a == b) {
        for edge in func.edges(same[0]).iter().filter(|edge| edge.block == block) {
            visit(same[0], edge.args[index]);
        }
    }
}

/// The needed values and parameters, by number.
struct Marks {
    insts: Vec<bool>,
    /// The number of uses of each value by needed instructions.
    uses: Vec<u32>,
    /// The parameters whose arguments are marked.
    params: EntitySet<Value>,
    /// Needed values whose definitions may already have been walked.
    work: Vec<Value>,
}

impl Marks {
    fn new(func: &Function) -> Marks {
        Marks {
            insts: vec![false; func.insts.len()],
            uses: vec![0; func.num_values()],
            params: EntitySet::new(),
            work: Vec::new(),
        }
    }

    fn value(&mut self, value: Value) {
        let uses = &mut self.uses[value.index()];
        if *uses == 0 {
            self.work.push(value);
        }
        *uses += 1;
    }

    /// Whether the arguments of a needed parameter must still be marked; the caller then does so.
    fn meet_param(&mut self, param: Value) -> bool {
        self.params.insert(param)
    }

    fn instruction(&mut self, func: &Function, inst: Inst) {
        if !std::mem::replace(&mut self.insts[inst.index()], true) {
            for &arg in &func.insts[inst].args {
                self.value(arg);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplify::testing::{check, check_unchanged};

    #[test]
    fn a_counter_without_users() {
        check(
            dce,
            "block0:\n v0 = const.b32 0x1\n v1 = undef.pred\n jump block1(v0, v0)\n\
             block1(v2: b32, v3: b32):\n v4 = iadd.b32 v2, v0\n v5 = iadd.b32 v3, v0\n\
             v6 = icmp.eq.b32 v5, v0\n brif v6, block1(v4, v5), block2\n\
             block2:\n exit\nblock3:\n exit",
            "block0:\n v0 = const.b32 0x1\n jump block1(v0)\n\
             block1(v3: b32):\n v5 = iadd.b32 v3, v0\n\
             v6 = icmp.eq.b32 v5, v0\n brif v6, block1(v5), block2\n\
             block2:\n exit",
        );
    }

    #[test]
    fn effects_stay() {
        check_unchanged(
            dce,
            "block0:\n v0 = param.b64 +0\n v1 = load.global.volatile.b32 [v0]\n\
             v2 = atomic.add.global.relaxed.b32 [v0], v1\n v3 = activemask\n v4 = sreg.b32 clock\n exit",
        );
    }
}
