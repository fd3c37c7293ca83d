//! Verifies that lanes that are proved to be together execute every warp operation, and that no
//! lane waits forever.
//!
//! In: a function with explicit waits for lanes, as [`gather`](crate::gather) leaves it. Out: the
//! wrong places. At such a place only a part of a mask's lanes may execute an operation that PTX
//! wants the whole mask to execute together, or lanes may wait at a `bsync` for lanes that wait for
//! them.
//!
//! A warp operation is sound if the whole warp is there, or if a `warpsync` before it or a
//! `brtogether` has brought its lanes together.

use std::collections::BTreeMap;
use std::fmt;

use cranelift_entity::EntitySet;
use ptxc_ir::{Block, CalleeKind, Function, FunctionKind, Inst, Op, Value, VoteMode, arithmetic};

use super::balance::Ways;
use super::{Extent, State, Together, parts};
use crate::analyses::Analyses;
use crate::lanes::{Lanes, lanes_of};
use crate::runtime::warp;
use crate::uniformity::Uniformity;

/// A place where lanes are not proved to be together, or may wait forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// The block.
    pub block: Block,
    /// The instruction.
    pub inst: Inst,
    /// The operation, as text.
    pub op: String,
    /// The error.
    pub why: Why,
}

/// The error in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Lanes of its mask may be elsewhere.
    Apart,
    /// It waits for lanes that may wait at the end of a region around it.
    WaitsInRegion,
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Apart { block, inst, op, why } = self;
        match why {
            Why::Apart => write!(f, "{block}, {inst}: `{op}` may be executed by a part of its lanes"),
            Why::WaitsInRegion => {
                write!(
                    f,
                    "{block}, {inst}: `{op}` may wait for lanes that wait at the end of a region around it"
                )
            }
        }
    }
}

impl std::error::Error for Apart {}

/// Warp operations without a mask, which legalization makes: any lanes may execute them together.
pub fn for_any_lanes(func: &Function) -> EntitySet<Inst> {
    let mut found = EntitySet::new();
    for &block in &func.layout {
        let insts = func.blocks[block].insts.iter().copied();
        found.extend(insts.filter(|&inst| is_of_warp(&func.insts[inst].op) && !has_mask(func, inst)));
    }
    found
}

/// Checks a function; `for_any_lanes` contains the operations that need only the lanes that are
/// there.
pub fn check(
    func: &Function,
    uniformity: &Uniformity,
    for_any_lanes: &EntitySet<Inst>,
) -> Result<(), Vec<Apart>> {
    check_in(func, uniformity, for_any_lanes, &Analyses::default())
}

/// Does the same with cached analyses of the function's graph.
pub fn check_in(
    func: &Function,
    uniformity: &Uniformity,
    for_any_lanes: &EntitySet<Inst>,
    known: &Analyses,
) -> Result<(), Vec<Apart>> {
    if func.kind == FunctionKind::Device && warp::is_warp_routine(&func.name) {
        return Ok(());
    }
    let is_concerned = |inst: &Inst| {
        let op = &func.insts[*inst].op;
        is_of_warp(op) && !for_any_lanes.contains(*inst) || may_wait(func, *inst)
    };
    let concerned = |&&block: &&Block| func.blocks[block].insts.iter().any(is_concerned);
    let blocks: Vec<Block> = func.layout.iter().filter(concerned).copied().collect();
    if blocks.is_empty() {
        return Ok(());
    }
    let together = Together::compute(func, uniformity, known);
    let (tested, own) = (tested_blocks(func), own_masks(func));
    let waits = |inst| may_wait(func, inst) && !is_own_mask(func, inst, &own);
    let ways = Ways::new(func, known.cfg(func), uniformity, &together, &waits);
    let mut balanced: BTreeMap<(u8, Block), bool> = BTreeMap::new();
    // Whether lanes may wait at the end of a region for lanes in the region that wait for them.
    let mut may_block = |state: &State| {
        state.open.iter().any(|region| {
            let key = (region.barrier, region.continuation);
            !*balanced.entry(key).or_insert_with(|| ways.are_balanced(region))
        })
    };
    let mut errors = Vec::new();
    for block in blocks {
        let mut gathered = tested.contains(block);
        together.walk(func, uniformity, block, |inst, state| {
            let op = func.insts[inst].op;
            if is_of_warp(&op) && !for_any_lanes.contains(inst) && !gathered && !is_sound(func, state) {
                errors.push(Apart { block, inst, op: op.mnemonic().to_string(), why: Why::Apart });
            }
            if waits(inst) && may_block(state) {
                errors.push(Apart { block, inst, op: op.mnemonic().to_string(), why: Why::WaitsInRegion });
            }
            match op {
                Op::WarpSync => gathered = true,
                // An operation that keeps its mask no longer waits for the lanes of the mask.
                Op::Call { .. } | Op::CallIndirect(_) => {
                    gathered &= !parts(func, &func.insts[inst], |mask| uniformity.is_uniform(mask));
                }
                _ => {}
            }
        });
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Whether a group contains all lanes that a warp operation is for.
fn is_sound(func: &Function, state: &State) -> bool {
    func.kind == FunctionKind::Entry && state.extent == Extent::ALL
}

/// Whether an operation depends on which lanes of a warp execute it together.
fn is_of_warp(op: &Op) -> bool {
    lanes_of(op) != Lanes::Here && *op != Op::WarpSync
}

fn has_mask(func: &Function, inst: Inst) -> bool {
    crate::lanes::mask_of(func, &func.insts[inst]).is_some()
}

/// Whether an instruction may make lanes wait for others of the warp.
#[deny(clippy::wildcard_enum_match_arm)]
fn may_wait(func: &Function, inst: Inst) -> bool {
    match func.insts[inst].op {
        Op::WarpSync => true,
        Op::Call { callee, pure: false } => {
            let callee = &func.callees[callee];
            !callee.lanes.independent
                || callee.kind == CalleeKind::Routine && warp::is_warp_routine(&callee.name)
        }
        Op::CallIndirect(prototype) => !func.callees[prototype].lanes.independent,
        Op::Call { pure: true, .. } => false,
        // The proof says that the lanes of a warp operation are together.
        Op::Shfl(_) | Op::Vote(_) | Op::Match(_) | Op::Redux(_) | Op::Elect => false,
        Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => false,
        Op::MatrixLoad { .. } | Op::MatrixStore { .. } => false,
        Op::MatrixTranspose | Op::MatrixProduct(_) => false,
        Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => false,
        Op::ReturnRegisters { .. }
        | Op::TryRegisters { .. }
        | Op::WarpgroupArrive
        | Op::WarpgroupCommit
        | Op::WarpgroupWait { .. }
        | Op::WarpgroupProduct(_) => false,
        arithmetic!() => false,
        Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => false,
        Op::Load(_) | Op::Store(_) | Op::Atomic { .. } | Op::Red { .. } | Op::TryAtomic { .. } => false,
        Op::LoadReduce { .. } => false,
        Op::Fence { .. } | Op::ToGeneric(_) | Op::FromGeneric(_) | Op::CachePolicy | Op::CacheHint => false,
        Op::IsSpace(_) => false,
        Op::Texture(_) | Op::ImageSize(_) => false,
        Op::SurfaceLoad(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => false,
        Op::ActiveMask
        | Op::Nanosleep
        | Op::PmEvent { .. }
        | Op::CacheLine { .. }
        | Op::Breakpoint
        | Op::WarpFence => false,
        Op::Bar(_) | Op::GridDependency(_) => false,
        Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => false,
        Op::MbarrierState { .. } | Op::MbarrierParity { .. } | Op::MbarrierPending => false,
        Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } | Op::AsyncCommit => false,
        Op::AsyncWait | Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare => false,
        Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => false,
        Op::RemoteStore | Op::RemoteRed { .. } => false,
        Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => false,
        Op::TensorRed { .. } | Op::TensorPrefetch(_) => false,
        Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => {
            false
        }
        Op::FuncAddr(_) => false,
        Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) | Op::RestoreBarrier(_) => false,
        Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit => false,
        Op::Trap => false,
    }
}

/// Whether the lanes that an instruction waits for were computed by the lanes that came with it.
fn is_own_mask(func: &Function, inst: Inst, own: &EntitySet<Value>) -> bool {
    let data = &func.insts[inst];
    match data.op {
        Op::WarpSync => data.args.first().is_some_and(|&mask| own.contains(mask)),
        Op::Call { callee, pure: false } => {
            let callee = &func.callees[callee];
            callee.kind == CalleeKind::Routine
                && warp::takes_mask(&callee.name)
                && data.args.last().is_some_and(|&mask| own.contains(mask))
        }
        _ => false,
    }
}

/// The masks of lanes that some operation has computed, on every way that they come.
fn own_masks(func: &Function) -> EntitySet<Value> {
    let mut own: EntitySet<Value> = EntitySet::new();
    // The values that reach each parameter that stands for such an operation in both its forms.
    let mut other: EntitySet<Value> = EntitySet::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            let finds = match data.op {
                Op::ActiveMask | Op::Vote(VoteMode::Ballot) | Op::Match(_) => true,
                Op::Call { callee, .. } => warp::is_warp_routine(&func.callees[callee].name),
                _ => false,
            };
            own.extend(func.results(inst).iter().copied().filter(|_| finds));
        }
    }
    let edges = || func.layout.iter().flat_map(|&block| func.edges(block));
    let passed = || edges().flat_map(|edge| func.blocks[edge.block].params.iter().zip(&edge.args));
    other.extend(passed().filter(|&(_, &arg)| !own.contains(arg)).map(|(&param, _)| param));
    own.extend(passed().map(|(&param, _)| param).filter(|&param| !other.contains(param)).collect::<Vec<_>>());
    own
}

/// The blocks that lanes reach only after a test has found them all together.
fn tested_blocks(func: &Function) -> EntitySet<Block> {
    let mut found = EntitySet::new();
    for &block in &func.layout {
        let Some(inst) = func.terminator(block) else { continue };
        if func.insts[inst].op == Op::BranchTogether {
            found.insert(func.insts[inst].targets[0].block);
        }
    }
    found
}
