//! Turns acquire and release into relaxed accesses and fences.
//!
//! ```text
//! v2 = load.global.acquire.gpu.b32 [v1]         v2 = load.global.relaxed.gpu.b32 [v1]
//!                                        =>     fence.acquire.gpu
//! store.global.release.gpu.b32 [v1], v2         fence.release.gpu
//!                                        =>     store.global.relaxed.gpu.b32 [v1], v2
//! ```
//!
//! Barriers of a cluster and arrivals at mbarriers are treated alike, except for those at CTA scope
//! from sm_90 on, which `SYNCS` orders itself. Without `SYNCS` an arrival is a shared atomic after
//! a fence. The acquire of a wait for an mbarrier stays with the wait: a wait that fails acquires
//! nothing.
//!
//! Before sm_90 only its own CTA reaches shared memory, so an acquire from it needs at most CTA
//! scope. A release keeps its scope, since earlier writes must become visible to others.
//!
//! An atomic that does both has a fence on either side. A fence is at least as strong as the order
//! of the access that it replaces; ptxas emits the same sequences for sm_90. Linear.
#![deny(clippy::wildcard_enum_match_arm)]

use ptxc_ir::{Access, Function, Op, Order, Scope, Space, Type, arithmetic};
use ptxc_machine::{Arch, Feature};

use super::emitter::rewrite;

/// Expresses the order of accesses by fences.
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
        let Some(access) = ordered_access(&data.op) else { return false };
        let (before, after) = match access.order {
            Order::Acquire => (false, true),
            Order::Release => (true, false),
            Order::AcqRel => (true, true),
            Order::Weak | Order::Volatile | Order::Relaxed | Order::Mmio | Order::SeqCst => return false,
        };
        let relaxed = Access { order: Order::Relaxed, ..access };
        let data = &mut emitter.func.insts[inst];
        if let Some(access) = data.op.access_mut() {
            *access = relaxed;
        }
        if before {
            emitter.inst(Op::Fence { order: Order::Release, scope: access.scope }, Type::B32, &[]);
        }
        emitter.keep(inst);
        if after {
            // The releasing thread is in the same CTA and has filled no other cache.
            let is_own = access.space == Space::Shared && !arch.has(Feature::Clusters);
            let scope = if is_own { Scope::Cta } else { access.scope };
            emitter.inst(Op::Fence { order: Order::Acquire, scope }, Type::B32, &[]);
        }
        true
    })
}

/// The access that fences can order, if an operation has one.
fn ordered_access(op: &Op) -> Option<Access> {
    match *op {
        Op::Load(access) | Op::Store(access) => Some(access),
        Op::Atomic { access, .. } | Op::Red { access, .. } => Some(access),
        arithmetic!() => None,
        Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => None,
        Op::TryAtomic { .. }
        | Op::LoadReduce { .. }
        | Op::Fence { .. }
        | Op::ToGeneric(_)
        | Op::FromGeneric(_) => None,
        Op::CachePolicy | Op::CacheHint | Op::IsSpace(_) => None,
        Op::Texture(_) | Op::ImageSize(_) => None,
        Op::SurfaceLoad(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => None,
        Op::Vote(_) | Op::Shfl(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) | Op::Elect => None,
        Op::MatrixLoad { .. } | Op::MatrixStore { .. } => None,
        Op::MatrixTranspose | Op::MatrixProduct(_) => None,
        Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => None,
        Op::ReturnRegisters { .. }
        | Op::TryRegisters { .. }
        | Op::WarpgroupArrive
        | Op::WarpgroupCommit
        | Op::WarpgroupWait { .. }
        | Op::WarpgroupProduct(_) => None,
        Op::Nanosleep
        | Op::PmEvent { .. }
        | Op::CacheLine { .. }
        | Op::Breakpoint
        | Op::WarpSync
        | Op::WarpFence => None,
        Op::Bar(_) | Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => None,
        Op::GridDependency(_) => None,
        Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => None,
        Op::MbarrierState { .. } | Op::MbarrierParity { .. } | Op::MbarrierPending => None,
        Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } | Op::AsyncCommit => None,
        Op::AsyncWait | Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare => None,
        Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => None,
        Op::RemoteStore | Op::RemoteRed { .. } => None,
        Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => None,
        Op::TensorRed { .. } | Op::TensorPrefetch(_) => None,
        Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => None,
        Op::Call { .. } | Op::CallIndirect(_) | Op::FuncAddr(_) => None,
        Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) | Op::RestoreBarrier(_) => None,
        Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit => None,
        Op::Trap => None,
    }
}

/// The operation on a barrier without its order, and the fences before and after it; `None` if it
/// orders memory itself.
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
            if scope != Scope::Cta || !arch.has(Feature::SyncUnit) =>
        {
            let fence = Op::Fence { order: Order::Release, scope };
            (Some(fence), Op::MbarrierArrive { kind, space, order: Order::Relaxed, scope }, None)
        }
        Op::ClusterArrive { .. } | Op::ClusterWait { .. } | Op::MbarrierArrive { .. } => return None,
        arithmetic!() => return None,
        Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => return None,
        Op::Load(_) | Op::Store(_) | Op::Atomic { .. } | Op::Red { .. } => return None,
        Op::LoadReduce { .. } => return None,
        Op::TryAtomic { .. } | Op::Fence { .. } | Op::ToGeneric(_) | Op::FromGeneric(_) => return None,
        Op::CachePolicy | Op::CacheHint | Op::IsSpace(_) => return None,
        Op::Texture(_) | Op::ImageSize(_) => return None,
        Op::SurfaceLoad(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => return None,
        Op::Vote(_) | Op::Shfl(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) | Op::Elect => return None,
        Op::MatrixLoad { .. } | Op::MatrixStore { .. } => return None,
        Op::MatrixTranspose | Op::MatrixProduct(_) => return None,
        Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => return None,
        Op::ReturnRegisters { .. }
        | Op::TryRegisters { .. }
        | Op::WarpgroupArrive
        | Op::WarpgroupCommit
        | Op::WarpgroupWait { .. }
        | Op::WarpgroupProduct(_) => {
            return None;
        }
        Op::Nanosleep
        | Op::PmEvent { .. }
        | Op::CacheLine { .. }
        | Op::Breakpoint
        | Op::WarpSync
        | Op::WarpFence => return None,
        Op::Bar(_) | Op::Barrier { .. } | Op::GridDependency(_) => return None,
        Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierState { .. } => return None,
        Op::MbarrierParity { .. } | Op::MbarrierPending => return None,
        Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } => return None,
        Op::AsyncCommit | Op::AsyncWait | Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore => {
            return None;
        }
        Op::BulkShare | Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => return None,
        Op::RemoteStore | Op::RemoteRed { .. } => return None,
        Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => {
            return None;
        }
        Op::TensorRed { .. } | Op::TensorPrefetch(_) => return None,
        Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => {
            return None;
        }
        Op::Call { .. } | Op::CallIndirect(_) | Op::FuncAddr(_) => return None,
        Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) => return None,
        Op::RestoreBarrier(_) => return None,
        Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return => return None,
        Op::Exit | Op::Trap => return None,
    })
}
