//! Acquire and release become relaxed accesses and fences.
//!
//! ```text
//! v2 = load.global.acquire.gpu.b32 [v1]         v2 = load.global.relaxed.gpu.b32 [v1]
//!                                        =>     fence.acquire.gpu
//! store.global.release.gpu.b32 [v1], v2         fence.release.gpu
//!                                        =>     store.global.relaxed.gpu.b32 [v1], v2
//! ```
//!
//! An atomic that does both has a fence on either side. A fence is at least as strong as the order of the access
//! that it replaces; ptxas has the same sequences for sm_90. Linear.

use ptxc_ir::{Access, Function, Op, Order, Type};
use ptxc_sass::Arch;

use super::emitter::rewrite;

/// Makes the order of accesses one of fences.
pub fn memory_orders(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        let (Op::Load(access) | Op::Store(access) | Op::Atomic(_, access) | Op::Red(_, access)) = data.op
        else {
            return false;
        };
        let (before, after) = match access.order {
            Order::Acquire => (false, true),
            Order::Release => (true, false),
            Order::AcqRel => (true, true),
            _ => return false,
        };
        let relaxed = Access { order: Order::Relaxed, ..access };
        let data = &mut emitter.func.insts[inst];
        data.op = match data.op {
            Op::Load(_) => Op::Load(relaxed),
            Op::Store(_) => Op::Store(relaxed),
            Op::Atomic(op, _) => Op::Atomic(op, relaxed),
            Op::Red(op, _) => Op::Red(op, relaxed),
            other => other,
        };
        if before {
            emitter.inst(Op::Fence(Order::Release, access.scope), Type::B32, &[]);
        }
        emitter.keep(inst);
        if after {
            emitter.inst(Op::Fence(Order::Acquire, access.scope), Type::B32, &[]);
        }
        true
    })
}
