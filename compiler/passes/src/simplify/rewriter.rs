//! One sweep over a function that renames values and rewrites instructions in place.
//!
//! Rules ask a [`Rewriter`] what a value is after the renamings so far, and answer with a constant, with
//! another value, or with another operation. New instructions go in front of the one at hand. The sweep is
//! linear; renamings are applied to everything at its end, so that uses before the definition (around a
//! loop) follow too.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ptxc_ir::{Function, Inst, InstData, Op, Type, Value, ValueDef};

/// The function under rewriting.
pub(crate) struct Rewriter<'a> {
    /// The function.
    pub(crate) func: &'a mut Function,
    renamed: SecondaryMap<Value, PackedOption<Value>>,
    pending: Vec<Inst>,
    changed: bool,
}

impl<'a> Rewriter<'a> {
    /// Visits every instruction in layout order, with its arguments renamed; whether anything changed.
    pub(crate) fn sweep(func: &'a mut Function, mut visit: impl FnMut(&mut Rewriter<'_>, Inst)) -> bool {
        let mut rewriter =
            Rewriter { func, renamed: SecondaryMap::new(), pending: Vec::new(), changed: false };
        for block in rewriter.func.layout.clone() {
            let insts = std::mem::take(&mut rewriter.func.blocks[block].insts);
            let mut kept = Vec::with_capacity(insts.len());
            for inst in insts {
                for n in 0..rewriter.func.insts[inst].args.len() {
                    let arg = rewriter.func.insts[inst].args[n];
                    rewriter.func.insts[inst].args[n] = rewriter.resolve(arg);
                }
                visit(&mut rewriter, inst);
                kept.append(&mut rewriter.pending);
                kept.push(inst);
            }
            rewriter.func.blocks[block].insts = kept;
        }
        let Rewriter { func, renamed, changed, .. } = rewriter;
        func.rewrite_uses(|value| resolve(&renamed, value));
        changed
    }

    /// The value that stands for `value` now.
    pub(crate) fn resolve(&self, value: Value) -> Value {
        resolve(&self.renamed, value)
    }

    /// Lets `by` stand for `value` from here on. Both have the same type.
    pub(crate) fn rename(&mut self, value: Value, by: Value) {
        let by = self.resolve(by);
        if by != value {
            self.renamed[value] = by.into();
            self.changed = true;
        }
    }

    /// Gives an instruction another operation; the results keep names and types.
    pub(crate) fn become_op(&mut self, inst: Inst, op: Op, ty: Type, args: &[Value]) {
        self.func.replace(inst, op, ty, args);
        self.changed = true;
    }

    /// Turns an instruction with one result into a constant.
    pub(crate) fn become_constant(&mut self, inst: Inst, bits: u64) {
        let ty = self.func.ty(self.func.result(inst));
        self.become_op(inst, Op::Const(bits & mask(ty)), ty, &[]);
    }

    /// A new instruction in front of the one at hand; its only result.
    pub(crate) fn emit(&mut self, like: Inst, op: Op, ty: Type, args: &[Value]) -> Value {
        let loc = self.func.insts[like].loc;
        let inst = self.func.make_inst(InstData::new(op, ty, args).at(loc));
        self.pending.push(inst);
        self.func.result(inst)
    }

    /// A new constant in front of the instruction at hand.
    pub(crate) fn constant(&mut self, like: Inst, ty: Type, bits: u64) -> Value {
        self.emit(like, Op::Const(bits & mask(ty)), ty, &[])
    }

    /// The operation and the renamed arguments that define a value, unless it is a block parameter or one
    /// of several results.
    pub(crate) fn def(&self, value: Value) -> Option<(Op, Type, [Option<Value>; 3])> {
        let ValueDef::Result(inst, _) = self.func.def(value) else { return None };
        let data = &self.func.insts[inst];
        if self.func.results(inst).len() != 1 {
            return None;
        }
        let arg = |n: usize| data.args.get(n).map(|&arg| self.resolve(arg));
        Some((data.op, data.ty, [arg(0), arg(1), arg(2)]))
    }
}

fn resolve(renamed: &SecondaryMap<Value, PackedOption<Value>>, mut value: Value) -> Value {
    while let Some(next) = renamed[value].expand() {
        value = next;
    }
    value
}

/// The bits of a type as a mask of 64 bits.
pub(crate) fn mask(ty: Type) -> u64 {
    match ty.bits() {
        64.. => u64::MAX,
        bits => (1 << bits) - 1,
    }
}
