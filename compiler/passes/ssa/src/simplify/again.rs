//! Computes operands again in the blocks that use them, for the passes that trade computations for
//! registers.

use ptxc_ir::{Block, Function, Inst, InstData, Value};
use rustc_hash::FxHashMap;

/// Replaces operands of one block, which `compute` adds to the instructions before their first use.
///
/// `compute` returns the value to use in place of an operand: the operand itself if it stays.
pub(super) fn replace_operands(
    func: &mut Function,
    block: Block,
    mut compute: impl FnMut(&mut Again<'_>, Value) -> Value,
) {
    let insts = std::mem::take(&mut func.blocks[block].insts);
    let mut again = Again { made: FxHashMap::default(), insts: Vec::with_capacity(insts.len()), func };
    for inst in insts {
        let mut data = again.func.insts[inst].clone();
        let passed = data.targets.iter_mut().flat_map(|target| target.args.as_mut_slice());
        let mut has_changed = false;
        for arg in data.args.as_mut_slice().iter_mut().chain(passed) {
            let value = compute(&mut again, *arg);
            has_changed |= value != *arg;
            *arg = value;
        }
        if has_changed {
            again.func.insts[inst] = data;
        }
        again.insts.push(inst);
    }
    func.blocks[block].insts = again.insts;
}

/// A block during the replacement of its operands.
pub(super) struct Again<'f> {
    pub func: &'f mut Function,
    /// The values that the block computes again, by the value that each replaces.
    made: FxHashMap<Value, Value>,
    /// The instructions of the block so far.
    insts: Vec<Inst>,
}

impl Again<'_> {
    /// What the block already uses in place of a value.
    pub fn made(&self, value: Value) -> Option<Value> {
        self.made.get(&value).copied()
    }

    /// Adds an instruction that computes a value again; returns its result.
    pub fn add(&mut self, value: Value, data: InstData) -> Value {
        let inst = self.func.make_inst(data);
        self.insts.push(inst);
        let made = self.func.result(inst);
        self.made.insert(value, made);
        made
    }
}
