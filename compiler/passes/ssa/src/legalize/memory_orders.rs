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
use ptxc_machine::{Arch, Feature};

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
            // Who released it is in the same CTA, and has filled no other cache.
            let is_own = access.space == Space::Shared && !arch.has(Feature::Clusters);
            let scope = if is_own { Scope::Cta } else { access.scope };
            emitter.inst(Op::Fence(Order::Acquire, scope), Type::B32, &[]);
        }
        true
    })
}

/// The fences around an operation on a barrier, and what it is between them; none where it orders memory itself.
fn of_barrier(op: Op, arch: Arch) -> Option<(Option<Op>, Op, Option<Op>)> {
    Some(match op {
        Op::ClusterArrive(Order::Release, aligned) => {
            let fence = Op::Fence(Order::Release, Scope::Cluster);
            (Some(fence), Op::ClusterArrive(Order::Relaxed, aligned), None)
        }
        Op::ClusterWait(Order::Acquire, aligned) => {
            let fence = Op::Fence(Order::Acquire, Scope::Cluster);
            (None, Op::ClusterWait(Order::Relaxed, aligned), Some(fence))
        }
        Op::MbarrierArrive(kind, space, Order::Release, scope)
            if scope != Scope::Cta || !arch.has(Feature::SyncUnit) =>
        {
            let fence = Op::Fence(Order::Release, scope);
            (Some(fence), Op::MbarrierArrive(kind, space, Order::Relaxed, scope), None)
        }
        _ => return None,
    })
}
