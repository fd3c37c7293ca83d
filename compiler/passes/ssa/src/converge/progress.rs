//! Decides whether a region could make lanes wait for each other forever.
//!
//! Lanes at the join of a region wait for the lanes that are still in it. Suppose one of these is
//! at an operation that waits for lanes of a mask, and a lane at the join belongs to that mask.
//! Then both wait forever, although PTX lets the lane at the join continue to its end or to another
//! operation of the kind. So a region may contain an operation that waits only in two cases. In the
//! first case the mask names lanes that execute the operation in the region: it is a ballot of the
//! condition under which they came, or `activemask`, `vote` or `match` computed it in the region,
//! in a block that is executed equally often. In the second case all ways through the region [wait
//! for the same operations](super::balance).
//!
//! A CTA barrier, even an aligned one, waits for all lanes of the warp that have not exited: some
//! lanes may go on from the join to their exit.
#![deny(clippy::wildcard_enum_match_arm)]

use cranelift_entity::SecondaryMap;
use indexmap::IndexSet;
use ptxc_ir::{Block, CalleeKind, Function, FunctionKind, Inst, Op, Value, ValueDef, VoteMode, arithmetic};

use super::balance::is_balanced;
use super::region::{Flow, Region};
use crate::gather::equivalent_blocks;
use crate::lanes::{Mask, mask_of};
use crate::runtime::warp;

/// An operation that may wait for other lanes.
struct Site {
    block: Block,
    waits: Waits,
    /// The number of its kind.
    kind: u32,
}

/// The lanes that an operation waits for.
enum Waits {
    /// The lanes of a mask.
    ForMask(Mask),
    /// Any lane: a barrier, or a call of a function whose waits are unknown.
    ForAny,
}

impl Waits {
    fn mask(&self) -> Option<Mask> {
        match self {
            Waits::ForMask(mask) => Some(*mask),
            Waits::ForAny => None,
        }
    }
}

/// The operations of a function that wait.
pub(super) struct Progress {
    sites: Vec<Site>,
    by_block: SecondaryMap<Block, Vec<u32>>,
    classes: SecondaryMap<Block, Block>,
}

impl Progress {
    /// Finds the operations of a function.
    pub(super) fn of(func: &Function) -> Progress {
        let mut sites = Vec::new();
        let mut kinds: IndexSet<String> = IndexSet::new();
        let mut by_block: SecondaryMap<Block, Vec<u32>> = SecondaryMap::new();
        for &block in &func.layout {
            for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
                if let Some(waits) = waits(func, inst) {
                    by_block[block].push(sites.len() as u32);
                    let name = warp::kind(&func.insts[inst]).unwrap_or_default();
                    let kind = kinds.insert_full(name).0 as u32;
                    sites.push(Site { block, waits, kind });
                }
            }
        }
        let classes =
            if sites.is_empty() { SecondaryMap::with_default(func.entry()) } else { equivalent_blocks(func) };
        Progress { sites, by_block, classes }
    }

    /// Whether lanes at the join of a region might wait forever.
    pub(super) fn may_wait_forever(&self, flow: &Flow<'_>, region: &Region) -> bool {
        if self.sites.is_empty() {
            return false;
        }
        let waits = |number: &u32| self.waits_for_others(flow, region, &self.sites[*number as usize]);
        let at_anchor = || {
            // Operations before the call that ends the anchor are not in the region.
            let last = self.by_block[region.anchor].last();
            last.filter(|&&number| !matches!(self.sites[number as usize].waits, Waits::ForMask(..)))
        };
        if region.around_call && at_anchor().is_some_and(waits) {
            return true;
        }
        let mut inside = region.blocks.iter().flat_map(|&block| &self.by_block[block]).filter(|&n| waits(n));
        let Some(first) = inside.next() else { return false };
        // Whether an operation has one mask for all lanes of the region.
        let is_fixed = |number: &u32| match self.sites[*number as usize].waits {
            Waits::ForAny => false,
            Waits::ForMask(Mask::Lanes(_)) => true,
            Waits::ForMask(Mask::Value(mask)) => is_parameter(flow.func, mask),
        };
        let events = |block: Block| {
            let numbers = self.by_block[block].iter().filter(|&number| waits(number));
            let sites = numbers.map(|&number| &self.sites[number as usize]);
            sites.filter_map(|site| Some((site.kind, site.waits.mask()?))).collect()
        };
        !(is_fixed(first) && inside.all(is_fixed) && is_balanced(flow, region, events))
    }

    /// Whether an operation in a region may wait for lanes that have left it.
    fn waits_for_others(&self, flow: &Flow<'_>, region: &Region, site: &Site) -> bool {
        match site.waits {
            Waits::ForAny | Waits::ForMask(Mask::Lanes(_)) => true,
            Waits::ForMask(Mask::Value(mask)) => !self.is_own_mask(flow, region, site, mask),
        }
    }

    /// Whether all lanes of a mask execute an operation in a region before they leave it.
    fn is_own_mask(&self, flow: &Flow<'_>, region: &Region, site: &Site, mask: Value) -> bool {
        let func = flow.func;
        let ValueDef::Result(maker, _) = func.def(mask) else { return false };
        let data = &func.insts[maker];
        let Some(home) = block_of(flow, maker, site.block) else { return false };
        if finds_lanes(&data.op) && region.holds(home) && self.classes[home] == self.classes[site.block] {
            return true;
        }
        let Op::Vote(VoteMode::Ballot) = data.op else { return false };
        let ballot = data.args[0];
        // The lanes that come by an edge on which the ballot's condition holds are exactly the
        // lanes of the mask.
        let mut block = site.block;
        while block != region.anchor {
            let Some(above) = flow.dominators.immediate(block) else { return false };
            let by_condition = func.terminator(above).is_some_and(|branch| {
                let branch = &func.insts[branch];
                matches!(branch.op, Op::Branch { .. })
                    && flow.cfg.preds(block).len() == 1
                    && holds_on(func, branch.args[0], branch.targets[0].block == block, ballot)
            });
            if by_condition
                && self.classes[site.block] == self.classes[block]
                && flow.loops.innermost(home) == flow.loops.innermost(above)
            {
                return true;
            }
            block = above;
        }
        false
    }
}

/// Whether a value is a parameter of a kernel, and therefore the same everywhere.
fn is_parameter(func: &Function, value: Value) -> bool {
    func.kind == FunctionKind::Entry
        && func.def_inst(value).is_some_and(|data| matches!(data.op, Op::Param { .. }))
}

/// Whether lanes may wait for others at an instruction.
pub(super) fn may_wait(func: &Function, inst: Inst) -> bool {
    waits(func, inst).is_some()
}

/// Whether an operation computes a set of present lanes.
fn finds_lanes(op: &Op) -> bool {
    matches!(op, Op::ActiveMask | Op::Vote(VoteMode::Ballot) | Op::Match(_))
}

/// The lanes that an operation waits for; `None` if it does not wait.
fn waits(func: &Function, inst: Inst) -> Option<Waits> {
    let data = &func.insts[inst];
    match data.op {
        Op::Bar(_) | Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => {
            Some(Waits::ForAny)
        }
        Op::Call { callee, pure: false } => {
            let callee = &func.callees[callee];
            let is_known = callee.lanes.independent || callee.kind == CalleeKind::Routine;
            (!is_known).then_some(Waits::ForAny)
        }
        Op::CallIndirect(prototype) => (!func.callees[prototype].lanes.independent).then_some(Waits::ForAny),
        Op::MatrixLoad { .. }
        | Op::MatrixStore { .. }
        | Op::MatrixTranspose
        | Op::MatrixProduct(_)
        | Op::WarpgroupArrive
        | Op::WarpgroupProduct(_)
        | Op::ReturnRegisters { .. }
        | Op::TryRegisters { .. }
        | Op::WarpgroupCommit
        | Op::WarpgroupWait { .. }
        | Op::Shfl(_)
        | Op::Vote(_)
        | Op::Match(_)
        | Op::Redux(_)
        | Op::Elect
        | Op::WarpSync => mask_of(func, data).map(Waits::ForMask),
        Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => None,
        Op::Call { pure: true, .. } => None,
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
        Op::FuncAddr(_) => None,
        Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) | Op::RestoreBarrier(_) => None,
        Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit => None,
        Op::Trap => None,
    }
}

/// The block of an instruction, if it dominates another block and is not far above it.
fn block_of(flow: &Flow<'_>, inst: Inst, below: Block) -> Option<Block> {
    const FARTHEST: usize = 64;
    let mut block = Some(below);
    for _ in 0..FARTHEST {
        let this = block?;
        if flow.func.blocks[this].insts.contains(&inst) {
            return block;
        }
        block = flow.dominators.immediate(this);
    }
    None
}

/// Whether `wanted` must hold if a condition is `truth`.
fn holds_on(func: &Function, condition: Value, truth: bool, wanted: Value) -> bool {
    let (condition, flipped) = without_not(func, condition);
    let (wanted, wanted_flipped) = without_not(func, wanted);
    condition == wanted && (truth != flipped) != wanted_flipped
}

/// A predicate without the negations around it, and whether their number is odd.
fn without_not(func: &Function, value: Value) -> (Value, bool) {
    match func.def_inst(value) {
        Some(data) if data.op == Op::Not => (data.args[0], true),
        _ => (value, false),
    }
}
