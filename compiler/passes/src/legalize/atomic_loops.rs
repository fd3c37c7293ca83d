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
//! Values are compared as bits, so that a NaN in memory ends the loop, too. Shared memory lacks every operation on 64
//! bits but exchange and compare-and-swap, and float addition. A generic address may lie there, so what shared
//! memory lacks has no generic instruction either. A read that another thread's update makes stale costs one
//! more turn.
//!
//! Each loop cuts its block in two. Linear in the function.

use ptxc_ir::{
    Access, AtomicOp, Block, BlockCall, FloatMode, Function, Inst, InstData, IntCond, Op, Order, Space, Type,
    Value,
};
use ptxc_sass::Arch;

/// Makes loops of the atomic updates that the target lacks.
pub fn atomic_loops(func: &mut Function, _arch: Arch) -> bool {
    let mut renames = Vec::new();
    let mut changed = false;
    let mut layout = Vec::with_capacity(func.layout.len());
    for first in func.layout.clone() {
        let mut block = first;
        layout.push(block);
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            let Some(access) = needs_loop(func, inst) else {
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
fn needs_loop(func: &Function, inst: Inst) -> Option<Access> {
    let data = &func.insts[inst];
    let (Op::Atomic(op, access) | Op::Red(op, access)) = data.op else { return None };
    let in_shared = matches!(access.space, Space::Shared | Space::Generic);
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
    let (address, operand, ty, bits) = (data.args[0], data.args[1], data.ty, data.ty.as_int());
    let (Op::Atomic(op, _) | Op::Red(op, _)) = data.op else { unreachable!("only updates have loops") };
    let (turn, behind) = (func.add_block(), func.add_block());
    let append = |func: &mut Function, block, op, ty, args: &[Value]| {
        let inst = func.append(block, InstData::new(op, ty, args).at(data.loc));
        func.results(inst).first().copied()
    };
    let value = |func: &mut Function, block, op, ty, args: &[Value]| {
        append(func, block, op, ty, args).expect("the operation has a result")
    };
    let end = |func: &mut Function, block, op, args: &[Value], targets: Vec<BlockCall>| {
        let end = InstData { targets, ..InstData::new(op, Type::B32, args) };
        func.append(block, end.at(data.loc));
    };
    let relaxed = Access { order: Order::Relaxed, ..access };
    let seen = value(func, block, Op::Load(relaxed), bits, &[address]);
    end(func, block, Op::Jump, &[], vec![BlockCall::new(turn, &[seen])]);

    let old_bits = func.add_block_param(turn, bits);
    let cast = |func: &mut Function, from, to| match func.ty(from) == to {
        true => from,
        false => value(func, turn, Op::Bitcast, to, &[from]),
    };
    let old = cast(func, old_bits, ty);
    // Global memory flushes subnormals, and a generic address mostly lies there.
    let mode = FloatMode { ftz: access.space == Space::Generic && ty == Type::F32, ..FloatMode::RN };
    let compute = match op {
        AtomicOp::Add => Op::Iadd,
        AtomicOp::Fadd => Op::Fadd(mode),
        AtomicOp::Smin => Op::Smin,
        AtomicOp::Smax => Op::Smax,
        AtomicOp::Umin => Op::Umin,
        AtomicOp::Umax => Op::Umax,
        AtomicOp::And => Op::And,
        AtomicOp::Or => Op::Or,
        _ => Op::Xor,
    };
    let new = value(func, turn, compute, ty, &[old, operand]);
    let new = cast(func, new, bits);
    let swap = Op::Atomic(AtomicOp::Cas, relaxed);
    let found = value(func, turn, swap, bits, &[address, old_bits, new]);
    let same = value(func, turn, Op::Icmp(IntCond::Eq), bits, &[found, old_bits]);
    let again = vec![BlockCall::new(behind, &[]), BlockCall::new(turn, &[found])];
    end(func, turn, Op::Branch(false), &[same], again);
    (turn, behind, old)
}

#[cfg(test)]
mod tests {
    use ptxc_ir::MemType;
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
