//! Atomic updates that no instruction does become loops around compare-and-swap.
//!
//! ```text
//!                                                   v4 = load.shared.relaxed.cta.f32 [v1]
//!                                                   jump block1(v4)
//! v3 = atomic.fadd.shared.relaxed.cta.f32    =>  block1(v5: f32):
//!          [v1], v2                                 v6 = fadd.f32.rn v5, v2
//!                                                   v7 = atomic.cas.shared.relaxed.cta.b32 [v1], v5, v6
//!                                                   v8 = icmp.eq.b32 v7, v5
//!                                                   brif v8, block2, block1(v7)
//!                                                block2:                         // v3 is v5
//! ```
//!
//! Halves have no instruction either, in any memory, nor has a compare-and-swap of 16 bits: the loop updates the word around
//! them.
//!
//! Values are compared as bits, so that a NaN in memory ends the loop, too. Shared memory lacks every operation on 64
//! bits but exchange and compare-and-swap, and float addition. A generic address may lie there, so what shared
//! memory lacks has no generic instruction either. A read that another thread's update makes stale costs one
//! more turn. The units of global memory flush subnormals of binary32, those of shared memory do not: for a generic
//! address the loop adds in both ways, and the window that the address lies in chooses.
//!
//! Each loop cuts its block in two. Linear in the function.

use ptxc_ir::{
    Access, AtomicOp, Block, BlockCall, FloatMode, Function, Inst, InstData, IntCond, MemType, Op, Order,
    SourceLoc, Space, SpecialReg, Type, Value,
};
use ptxc_sass::Arch;

use super::split_vector_atomics::has_packed;

/// Makes loops of the atomic updates that the target lacks.
pub fn atomic_loops(func: &mut Function, arch: Arch) -> bool {
    let mut renames = Vec::new();
    let mut changed = false;
    let mut layout = Vec::with_capacity(func.layout.len());
    for first in func.layout.clone() {
        let mut block = first;
        layout.push(block);
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            let Some(access) = needs_loop(func, inst, arch) else {
                func.blocks[block].insts.push(inst);
                continue;
            };
            let (turn, behind, old) = update(func, block, inst, access);
            if let Some(&result) = func.results(inst).first() {
                renames.push((result, old));
            }
            layout.extend([turn, behind]);
            changed = true;
            block = behind;
        }
    }
    func.layout = layout;
    if !renames.is_empty() {
        let mut name: Vec<Value> = (0..func.num_values() as u32).map(Value::from_u32).collect();
        for (result, old) in renames {
            name[result.as_u32() as usize] = old;
        }
        func.rewrite_uses(|value| name[value.as_u32() as usize]);
    }
    changed
}

/// The access of an update that needs a loop.
fn needs_loop(func: &Function, inst: Inst, arch: Arch) -> Option<Access> {
    let data = &func.insts[inst];
    let (Op::Atomic(op, access) | Op::Red(op, access)) = data.op else { return None };
    let in_shared = matches!(access.space, Space::Shared | Space::Generic);
    if access.lanes > 1 {
        // Vectors are updated in global memory alone, and there is an instruction for each.
        return None;
    }
    if data.ty.bits() == 16 {
        return Some(access);
    }
    if matches!(data.ty, Type::F16x2 | Type::BF16x2) && op != AtomicOp::Exch && !has_packed(op, data.ty, arch)
    {
        return Some(access);
    }
    let native = match op {
        AtomicOp::Exch | AtomicOp::Cas => true,
        AtomicOp::Fadd => false,
        _ => data.ty.bits() == 32,
    };
    (in_shared && !native).then_some(access)
}

/// Ends `block` with the loop of an update; gives the loop, the block behind it and the old content.
fn update(func: &mut Function, block: Block, inst: Inst, access: Access) -> (Block, Block, Value) {
    let data = func.insts[inst].clone();
    let (Op::Atomic(op, _) | Op::Red(op, _)) = data.op else { unreachable!("only updates have loops") };
    let (turn, behind) = (func.add_block(), func.add_block());
    let mut maker = Maker { func, block, loc: data.loc };
    let relaxed = Access { order: Order::Relaxed, ..access };
    let (address, relaxed, part) = match data.ty.bits() {
        16 => maker.around(data.args[0], relaxed),
        _ => (data.args[0], relaxed, None),
    };
    let word = if part.is_some() { Type::B32 } else { data.ty.as_int() };
    let exact = match (op, access.space, data.ty) {
        (AtomicOp::Fadd, Space::Generic, Type::F32) => Some(maker.is_shared(address)),
        _ => None,
    };
    let seen = maker.value(Op::Load(relaxed), word, &[address]);
    maker.end(Op::Jump, &[], vec![BlockCall::new(turn, &[seen])]);

    maker.block = turn;
    let old_word = maker.func.add_block_param(turn, word);
    let old_bits = part.map_or(old_word, |shift| maker.half(old_word, shift));
    let old = maker.cast(old_bits, data.ty);
    let new = match exact {
        Some(exact) => maker.sum(exact, old, data.args[1]),
        None => maker.changed(op, data.ty, old, &data.args[1..]),
    };
    let new_bits = maker.cast(new, data.ty.as_int());
    let new_word = part.map_or(new_bits, |shift| maker.with_half(old_word, shift, new_bits));
    let swap = Op::Atomic(AtomicOp::Cas, relaxed);
    let found = maker.value(swap, word, &[address, old_word, new_word]);
    let same = maker.value(Op::Icmp(IntCond::Eq), word, &[found, old_word]);
    let again = vec![BlockCall::new(behind, &[]), BlockCall::new(turn, &[found])];
    maker.end(Op::Branch(false), &[same], again);
    (turn, behind, old)
}

/// Appends to a block.
struct Maker<'a> {
    func: &'a mut Function,
    block: Block,
    loc: SourceLoc,
}

impl Maker<'_> {
    fn value(&mut self, op: Op, ty: Type, args: &[Value]) -> Value {
        let inst = self.func.append(self.block, InstData::new(op, ty, args).at(self.loc));
        self.func.result(inst)
    }

    fn end(&mut self, op: Op, args: &[Value], targets: Vec<BlockCall>) {
        let end = InstData { targets, ..InstData::new(op, Type::B32, args) };
        self.func.append(self.block, end.at(self.loc));
    }

    fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.value(Op::Const(bits), ty, &[])
    }

    fn cast(&mut self, from: Value, to: Type) -> Value {
        if self.func.ty(from) == to { from } else { self.value(Op::Bitcast, to, &[from]) }
    }

    /// The address of and the access to the word around a half, and the place of the half in it, in bits.
    fn around(&mut self, address: Value, access: Access) -> (Value, Access, Option<Value>) {
        let ty = self.func.ty(address);
        let offset = self.constant(ty, access.offset as u64 & (u64::MAX >> (64 - ty.bits())));
        let exact = self.value(Op::Iadd, ty, &[address, offset]);
        let mask = self.constant(ty, !3 & (u64::MAX >> (64 - ty.bits())));
        let word = self.value(Op::And, ty, &[exact, mask]);
        let low = if ty == Type::B64 { self.value(Op::Trunc, Type::B32, &[exact]) } else { exact };
        let (two, three) = (self.constant(Type::B32, 2), self.constant(Type::B32, 3));
        let upper = self.value(Op::And, Type::B32, &[low, two]);
        let shift = self.value(Op::Shl, Type::B32, &[upper, three]);
        (word, Access { offset: 0, elem: MemType::B32, ..access }, Some(shift))
    }

    fn half(&mut self, word: Value, shift: Value) -> Value {
        let low = self.value(Op::Shr, Type::B32, &[word, shift]);
        self.value(Op::Trunc, Type::B16, &[low])
    }

    fn with_half(&mut self, word: Value, shift: Value, half: Value) -> Value {
        let ty = Type::B32;
        let ones = self.constant(ty, 0xffff);
        let place = self.value(Op::Shl, ty, &[ones, shift]);
        let others = self.value(Op::Not, ty, &[place]);
        let kept = self.value(Op::And, ty, &[word, others]);
        let wide = self.value(Op::Zext, ty, &[half]);
        let moved = self.value(Op::Shl, ty, &[wide, shift]);
        self.value(Op::Or, ty, &[kept, moved])
    }

    /// Whether a generic address lies in shared memory.
    fn is_shared(&mut self, address: Value) -> Value {
        let words =
            self.func.append(self.block, InstData::new(Op::Unpack, Type::B64, &[address]).at(self.loc));
        let high = self.func.results(words)[1];
        let window = self.value(Op::SpecialReg(SpecialReg::SharedWindowHigh), Type::B32, &[]);
        self.value(Op::Icmp(IntCond::Eq), Type::B32, &[high, window])
    }

    /// The sum of binary32 with subnormals where `exact` holds, else without.
    fn sum(&mut self, exact: Value, a: Value, b: Value) -> Value {
        let [with, without] = [false, true].map(|ftz| FloatMode { ftz, ..FloatMode::RN });
        let [with, without] = [with, without].map(|mode| self.value(Op::Fadd(mode), Type::F32, &[a, b]));
        self.value(Op::Select, Type::F32, &[exact, with, without])
    }

    /// The new content.
    fn changed(&mut self, op: AtomicOp, ty: Type, old: Value, operands: &[Value]) -> Value {
        let compute = match op {
            AtomicOp::Cas => {
                // What is not as expected is written back.
                let same = self.value(Op::Icmp(IntCond::Eq), ty, &[old, operands[0]]);
                return self.value(Op::Select, ty, &[same, operands[1], old]);
            }
            AtomicOp::Add => Op::Iadd,
            AtomicOp::Fadd => Op::Fadd(FloatMode::RN),
            AtomicOp::Fmin => Op::Fmin(false, false, false),
            AtomicOp::Fmax => Op::Fmax(false, false, false),
            AtomicOp::Smin => Op::Smin,
            AtomicOp::Smax => Op::Smax,
            AtomicOp::Umin => Op::Umin,
            AtomicOp::Umax => Op::Umax,
            AtomicOp::And => Op::And,
            AtomicOp::Or => Op::Or,
            _ => Op::Xor,
        };
        self.value(compute, ty, &[old, operands[0]])
    }
}

#[cfg(test)]
mod tests {
    use ptxc_ir::verify::{Level, verify};

    use super::*;
    use crate::legalize::emitter::tests::Build;

    #[test]
    fn two_updates_in_one_block_make_two_loops() {
        let mut b = Build::new();
        let address = b.value(Op::Const(0), Type::B32, &[]);
        let x = b.value(Op::Const(1), Type::B64, &[]);
        let access = Access { order: Order::Relaxed, ..Access::weak(Space::Shared, MemType::B64) };
        let first = b.value(Op::Atomic(AtomicOp::Add, access), Type::B64, &[address, x]);
        b.inst(Op::Red(AtomicOp::Umax, access), Type::B64, &[address, first]);
        b.value(Op::Atomic(AtomicOp::Exch, access), Type::B64, &[address, first]);
        let mut func = b.finish();
        assert!(atomic_loops(&mut func, Arch::Sm90));
        verify(&func, Level::Built).unwrap();
        assert_eq!(func.layout.len(), 5);
        let ops = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
        let atomics = ops.filter_map(|&inst| match func.insts[inst].op {
            Op::Atomic(op, _) => Some(op),
            Op::Red(..) => panic!("an update that the machine lacks is left"),
            _ => None,
        });
        assert_eq!(atomics.collect::<Vec<_>>(), [AtomicOp::Cas, AtomicOp::Cas, AtomicOp::Exch]);
        assert!(!atomic_loops(&mut func, Arch::Sm90));
    }
}
