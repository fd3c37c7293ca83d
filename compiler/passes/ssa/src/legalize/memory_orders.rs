//! Acquire and release become relaxed accesses and fences.
//!
//! ```text
//! v2 = load.global.acquire.gpu.b32 [v1]         v2 = load.global.relaxed.gpu.b32 [v1]
//!                                        =>     fence.acquire.gpu
//! store.global.release.gpu.b32 [v1], v2         fence.release.gpu
//!                                        =>     store.global.relaxed.gpu.b32 [v1], v2
//! ```
//!
//! The barrier of a cluster and arrivals at mbarriers are treated alike, but for those at the scope of the CTA from sm_90 on,
//! which `SYNCS` orders itself. Before, an arrival is a shared atomic behind a fence. What a wait for an mbarrier
//! acquires stays with it: it acquires nothing where it fails.
//!
//! Before sm_90 nobody but its own CTA reaches shared memory: there what is acquired from it needs no more than the scope of
//! the CTA. A release keeps its scope, since what was written before goes on to others.
//!
//! An atomic that does both has a fence on either side. A fence is at least as strong as the order of the access
//! that it replaces; ptxas has the same sequences for sm_90. Linear.

use ptxc_ir::{Access, Function, Op, Order, Scope, Space, Type};
use ptxc_sass::Arch;

use super::emitter::rewrite;

/// Makes the order of accesses one of fences.
pub fn memory_orders(func: &mut Function, arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if let Some((before, relaxed, after)) = of_barrier(data.op, arch) {
            emitter.func.insts[inst].op = relaxed;
            if let Some(fence) = before {
                emitter.inst(fence, Type::B32, &[]);
            }
            emitter.keep(inst);
            if let Some(fence) = after {
                emitter.inst(fence, Type::B32, &[]);
            }
            return true;
        }
        let (Op::Load(access) | Op::Store(access) | Op::Atomic { access, .. } | Op::Red { access, .. }) =
            data.op
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
            Op::Atomic { op, .. } => Op::Atomic { op, access: relaxed },
            Op::Red { op, .. } => Op::Red { op, access: relaxed },
            other => other,
        };
        if before {
            emitter.inst(Op::Fence { order: Order::Release, scope: access.scope }, Type::B32, &[]);
        }
        emitter.keep(inst);
        if after {
            // Who released it is in the same CTA, and has filled no other cache.
            let is_own = access.space == Space::Shared && arch < Arch::Sm90;
            let scope = if is_own { Scope::Cta } else { access.scope };
            emitter.inst(Op::Fence { order: Order::Acquire, scope }, Type::B32, &[]);
        }
        true
    })
}

/// The fences around an operation on a barrier, and what it is between them; none where it orders memory itself.
fn of_barrier(op: Op, arch: Arch) -> Option<(Option<Op>, Op, Option<Op>)> {
    Some(match op {
        Op::ClusterArrive { order: Order::Release, aligned } => {
            let fence = Op::Fence { order: Order::Release, scope: Scope::Cluster };
            (Some(fence), Op::ClusterArrive { order: Order::Relaxed, aligned }, None)
        }
        Op::ClusterWait { order: Order::Acquire, aligned } => {
            let fence = Op::Fence { order: Order::Acquire, scope: Scope::Cluster };
            (None, Op::ClusterWait { order: Order::Relaxed, aligned }, Some(fence))
        }
        Op::MbarrierArrive { kind, space, order: Order::Release, scope }
            if scope != Scope::Cta || arch < Arch::Sm90 =>
        {
            let fence = Op::Fence { order: Order::Release, scope };
            (Some(fence), Op::MbarrierArrive { kind, space, order: Order::Relaxed, scope }, None)
        }
        _ => return None,
    })
}
