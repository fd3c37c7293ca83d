//! The lanes that an operation is for, and operations after which lanes may be apart.
#![deny(clippy::wildcard_enum_match_arm)]

use ptxc_ir::{CalleeKind, ConvergenceBarrier, Function, Inst, InstData, Op, Value, arithmetic};

use crate::runtime::warp;

/// The lanes that an operation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Mask {
    /// These lanes.
    Lanes(u32),
    /// The lanes in a value.
    Value(Value),
}

impl Mask {
    /// The whole warp.
    pub const ALL: Mask = Mask::Lanes(u32::MAX);
}

/// The lanes that an operation is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// Each lane separately, or the lanes that execute the operation together.
    Here,
    /// The lanes of the mask in this argument; without the argument, the lanes that execute it
    /// together.
    OfMask(usize),
    /// All lanes of the warp: the operation is a barrier of the CTA or the cluster, or it is on
    /// matrices that the warp holds.
    Warp,
}

/// The lanes that an operation is for, after `bar` has become `barrier`.
pub(crate) fn lanes_of(op: &Op) -> Lanes {
    match op {
        Op::Shfl(_) => Lanes::OfMask(3),
        Op::Vote(_) | Op::Match(_) | Op::Redux(_) => Lanes::OfMask(1),
        Op::Elect | Op::WarpSync => Lanes::OfMask(0),
        Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => Lanes::Warp,
        Op::MatrixLoad { .. } | Op::MatrixStore { .. } => Lanes::Warp,
        Op::MatrixTranspose | Op::MatrixProduct(_) => Lanes::Warp,
        Op::ReturnRegisters { .. }
        | Op::TryRegisters { .. }
        | Op::WarpgroupArrive
        | Op::WarpgroupCommit
        | Op::WarpgroupWait { .. }
        | Op::WarpgroupProduct(_) => Lanes::Warp,
        Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => Lanes::Here,
        arithmetic!() => Lanes::Here,
        Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => Lanes::Here,
        Op::Load(_) | Op::Store(_) | Op::Atomic { .. } | Op::Red { .. } => Lanes::Here,
        Op::TryAtomic { .. }
        | Op::LoadReduce { .. }
        | Op::Fence { .. }
        | Op::ToGeneric(_)
        | Op::FromGeneric(_) => Lanes::Here,
        Op::CachePolicy | Op::CacheHint | Op::IsSpace(_) => Lanes::Here,
        Op::Texture(_) | Op::ImageSize(_) => Lanes::Here,
        Op::SurfaceLoad(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => Lanes::Here,
        Op::ActiveMask
        | Op::Nanosleep
        | Op::PmEvent { .. }
        | Op::CacheLine { .. }
        | Op::Breakpoint
        | Op::WarpFence => Lanes::Here,
        Op::Bar(_) | Op::GridDependency(_) => Lanes::Here,
        Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => Lanes::Here,
        Op::MbarrierState { .. } | Op::MbarrierParity { .. } | Op::MbarrierPending => Lanes::Here,
        Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } => Lanes::Here,
        Op::AsyncCommit | Op::AsyncWait | Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore => {
            Lanes::Here
        }
        Op::BulkShare | Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => Lanes::Here,
        Op::RemoteStore | Op::RemoteRed { .. } => Lanes::Here,
        Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => {
            Lanes::Here
        }
        Op::TensorRed { .. } | Op::TensorPrefetch(_) => Lanes::Here,
        Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => {
            Lanes::Here
        }
        Op::Call { .. } | Op::CallIndirect(_) | Op::FuncAddr(_) => Lanes::Here,
        Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) => Lanes::Here,
        Op::RestoreBarrier(_) => Lanes::Here,
        Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return => Lanes::Here,
        Op::Exit | Op::Trap => Lanes::Here,
    }
}

/// Whether an operation is for all lanes of the warp and has no mask.
pub(crate) fn is_for_warp(op: Op) -> bool {
    lanes_of(&op) == Lanes::Warp
}

/// Whether the programmer promises that the warp executes an operation together.
pub(crate) fn is_aligned(op: Op) -> bool {
    let is_unaligned = matches!(
        op,
        Op::Barrier { aligned: false, .. }
            | Op::ClusterArrive { aligned: false, .. }
            | Op::ClusterWait { aligned: false, .. }
    );
    is_for_warp(op) && !is_unaligned
}

/// The lanes that an operation waits for; `None` if it does not wait.
pub(crate) fn mask_of(func: &Function, data: &InstData) -> Option<Mask> {
    if is_for_warp(data.op) {
        return Some(Mask::ALL);
    }
    let value = mask_argument(data)?;
    Some(func.constant(value).map_or(Mask::Value(value), |bits| Mask::Lanes(bits as u32)))
}

/// The argument with the mask of an operation, if it has one.
pub(crate) fn mask_argument(data: &InstData) -> Option<Value> {
    match lanes_of(&data.op) {
        Lanes::OfMask(at) => data.args.get(at).copied(),
        Lanes::Here | Lanes::Warp => None,
    }
}

/// Whether lanes that begin an operation together may end it one by one: at a call of a function
/// that may return so, and at a wait for masks that may differ according to `is_uniform`.
#[deny(clippy::wildcard_enum_match_arm)]
pub(crate) fn parts(func: &Function, data: &InstData, is_uniform: impl Fn(Value) -> bool) -> bool {
    let mask = match data.op {
        Op::Call { callee, pure: false } => {
            let callee = &func.callees[callee];
            if !callee.lanes.together {
                return true;
            }
            let meets = callee.kind == CalleeKind::Routine && warp::is_warp_routine(&callee.name);
            if meets && warp::takes_mask(&callee.name) { data.args.last().copied() } else { None }
        }
        Op::CallIndirect(_) => return true,
        Op::Call { pure: true, .. } => None,
        Op::Shfl(_) | Op::Vote(_) | Op::Match(_) | Op::Redux(_) | Op::Elect | Op::WarpSync => {
            mask_argument(data)
        }
        arithmetic!() => None,
        Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => None,
        Op::Load(_) | Op::Store(_) | Op::Atomic { .. } | Op::Red { .. } | Op::TryAtomic { .. } => None,
        Op::LoadReduce { .. } => None,
        Op::Fence { .. } | Op::ToGeneric(_) | Op::FromGeneric(_) | Op::CachePolicy | Op::CacheHint => None,
        Op::IsSpace(_) => None,
        Op::Texture(_) | Op::ImageSize(_) => None,
        Op::SurfaceLoad(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => None,
        Op::ActiveMask
        | Op::Nanosleep
        | Op::PmEvent { .. }
        | Op::CacheLine { .. }
        | Op::Breakpoint
        | Op::WarpFence => None,
        Op::Bar(_) | Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => None,
        Op::GridDependency(_) => None,
        Op::MatrixLoad { .. } | Op::MatrixStore { .. } => None,
        Op::MatrixTranspose | Op::MatrixProduct(_) => None,
        Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => None,
        Op::ReturnRegisters { .. }
        | Op::TryRegisters { .. }
        | Op::WarpgroupArrive
        | Op::WarpgroupCommit
        | Op::WarpgroupWait { .. }
        | Op::WarpgroupProduct(_) => None,
        Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => None,
        Op::MbarrierState { .. } | Op::MbarrierParity { .. } | Op::MbarrierPending => None,
        Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } | Op::AsyncCommit => None,
        Op::AsyncWait | Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare => None,
        Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => None,
        Op::RemoteStore | Op::RemoteRed { .. } => None,
        Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => None,
        Op::TensorRed { .. } | Op::TensorPrefetch(_) => None,
        Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => None,
        Op::FuncAddr(_) => None,
        Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) | Op::RestoreBarrier(_) => None,
        Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit => None,
        Op::Trap => None,
    };
    mask.is_some_and(|mask| !is_uniform(mask))
}

/// Open regions that may lose lanes at an instruction.
pub(crate) enum Lost {
    /// None.
    Nothing,
    /// The innermost region with a barrier.
    Of(ConvergenceBarrier),
    /// All open regions.
    All,
}

/// The open regions that may lose lanes at an instruction, so that their `bsync` no longer proves
/// that lanes are together. Lanes leave a region by `break`. The other cases were seen on an H100
/// (`docs/facts/convergence.md`): lanes that sleep are not waited for, and a barrier that has been
/// in a register, in this function or in one that it calls, sometimes releases lanes too early.
pub(crate) fn lost_regions(func: &Function, inst: Inst) -> Lost {
    let op = func.insts[inst].op;
    if let Op::Break(barrier) | Op::SaveBarrier(barrier) = op {
        Lost::Of(barrier)
    } else if op == Op::Nanosleep || is_parting_call(func, inst) {
        Lost::All
    } else {
        Lost::Nothing
    }
}

/// Whether lanes may have diverged after an instruction that is not a branch.
pub(crate) fn is_parting_call(func: &Function, inst: Inst) -> bool {
    let data = &func.insts[inst];
    matches!(data.op, Op::Call { pure: false, .. } | Op::CallIndirect(_)) && parts(func, data, |_| true)
}
