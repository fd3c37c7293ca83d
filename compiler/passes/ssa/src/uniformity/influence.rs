//! Where the threads of a divergent branch have diverged, and where their paths join.
//!
//! The *influence region* of a branch is the set of blocks that its edges reach before its *end*,
//! the place where all threads are together again. Before convergence barriers exist, the end is
//! the immediate post-dominator, because the converge pass will bring the threads together there.
//! Afterwards it is the place where the innermost open barrier at the branch lets them continue; a
//! branch without an open barrier has no end.
//!
//! A *join* is a block in the region, or its end, that disjoint paths from different edges of the
//! branch reach. Each block is labelled with the last join on the way to it, or else with the
//! edge's target; two labels that meet make a join (Rosemann, Moll and Hack, "An Abstract
//! Interpretation for SPMD Divergence on Reducible Control Flow Graphs", POPL 2021). The search visits
//! blocks in reverse post-order, so that a block has the labels of all ways from above before it gives
//! one to the blocks below; only a cycle brings another label later. A block changes its label at most
//! once, so the cost of a region is the number of its edges, times the logarithm of its width.
//!
//! Regions of many branches may overlap, as in a long chain of conditions. A budget linear in the
//! function limits their total cost; branches beyond it count as never joined again, and share one
//! search.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::{Block, Cfg, ConvergenceBarrier, Function, FunctionKind, Inst, Op, PostDominators, arithmetic};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::exits::{is_exit, live_graph};
use crate::lanes::{Lost, is_aligned, is_parting_call, lost_regions, mask_argument};

/// The ends of all branches, and the remaining budget.
pub(super) struct Influence {
    /// Whether only convergence barriers bring lanes together. Otherwise post-dominators do, except
    /// for lanes that calls have separated.
    converged: bool,
    ends: SecondaryMap<Block, Option<Block>>,
    /// The blocks at whose end the whole warp is together by the programmer's promise, outside regions:
    /// they have an aligned operation, after which lanes do not part.
    whole: EntitySet<Block>,
    /// The blocks that calls that separate lanes have reached, by the end of the region that the
    /// calls are in.
    parted: FxHashMap<Option<Block>, EntitySet<Block>>,
    budget: usize,
    /// The blocks that the search beyond the budget has reached.
    endless: EntitySet<Block>,
    labels: SecondaryMap<Block, Option<Label>>,
    /// Lists of the last region, whose memory the next one uses: the blocks with labels, and those to
    /// visit with a label.
    touched: Vec<Block>,
    work: BinaryHeap<Reverse<(Option<usize>, Block, Block)>>,
}

/// How the threads of a branch reach a block.
#[derive(Clone, Copy, PartialEq)]
struct Label {
    /// The last join on the way, or else the target of the edge.
    from: Block,
    /// Whether paths join in this block.
    joined: bool,
}

/// The influence of one branch.
#[derive(Default)]
pub(super) struct Region {
    /// The blocks, without the end.
    pub(super) blocks: SmallVec<[Block; 8]>,
    /// The blocks where paths join, including the end if they join there.
    pub(super) joins: SmallVec<[Block; 4]>,
}

impl Influence {
    /// `converged` says that the converge pass has run, even if it found nothing to bracket. The
    /// post-dominators, if known, are those of the live graph.
    pub(super) fn new(
        func: &Function,
        cfg: &Cfg,
        converged: bool,
        postdominators: Option<&PostDominators>,
    ) -> Influence {
        let opens = |block: Block| {
            func.blocks[block].insts.iter().any(|&inst| matches!(func.insts[inst].op, Op::Bssy { .. }))
        };
        let converged = converged || cfg.rpo().iter().any(|&block| opens(block));
        let (ends, whole) = if converged {
            barrier_ends(func, cfg)
        } else {
            let ends = match postdominators {
                Some(known) => postdominator_ends(cfg, known),
                None => postdominator_ends(cfg, &PostDominators::compute(&live_graph(func))),
            };
            let mut whole = EntitySet::new();
            let ends_whole = |block: Block| {
                let mut insts = func.blocks[block].insts.iter().rev();
                let last = insts.find(|&&inst| gathers_warp(func, inst) || may_part(func, inst));
                ends[block].is_none() && last.is_some_and(|&inst| gathers_warp(func, inst))
            };
            whole.extend(cfg.rpo().iter().copied().filter(|&block| ends_whole(block)));
            (ends, whole)
        };
        Influence {
            converged,
            ends,
            whole,
            parted: FxHashMap::default(),
            budget: 64 * cfg.rpo().len() + (1 << 16),
            endless: EntitySet::new(),
            labels: SecondaryMap::new(),
            touched: Vec::new(),
            work: BinaryHeap::new(),
        }
    }

    /// The place where the threads of a branch are together again.
    pub(super) fn end(&self, branch: Block) -> Option<Block> {
        self.ends[branch]
    }

    /// The region of a branch. Edges to blocks that only exit do not belong to it.
    pub(super) fn region(&mut self, func: &Function, cfg: &Cfg, branch: Block) -> Region {
        let ways: SmallVec<[Block; 2]> =
            cfg.succs(branch).iter().copied().filter(|&way| !is_exit(func, way)).collect();
        let end = self.ends[branch];
        if ways.len() < 2 {
            return Region::default();
        }
        if self.budget == 0 {
            return self.endless_region(cfg, &ways);
        }
        let mut region = Region::default();
        let (mut touched, mut work) = (mem::take(&mut self.touched), mem::take(&mut self.work));
        let at = |block: Block, label: Block| Reverse((cfg.rpo_index(block), block, label));
        for (n, &way) in ways.iter().enumerate() {
            // If two edges lead to one block, the second brings a label that differs from all
            // others.
            let label = if ways[..n].contains(&way) { branch } else { way };
            work.push(at(way, label));
        }
        while let Some(Reverse((_, block, mut label))) = work.pop() {
            ptxc_interrupt::poll();
            self.budget = self.budget.saturating_sub(1);
            let mut joins = false;
            while let Some(&Reverse((_, same, other))) = work.peek()
                && same == block
            {
                work.pop();
                joins |= other != label;
            }
            match self.labels[block] {
                None => {
                    touched.push(block);
                    if Some(block) != end {
                        region.blocks.push(block);
                    }
                }
                Some(known) if known.joined || !joins && known.from == label => continue,
                Some(_) => joins = true,
            }
            if joins {
                region.joins.push(block);
                label = block;
            }
            self.labels[block] = Some(Label { from: label, joined: joins });
            if Some(block) != end && !self.whole.contains(block) {
                work.extend(cfg.succs(block).iter().map(|&next| at(next, label)));
            }
        }
        for block in touched.drain(..) {
            self.labels[block] = None;
        }
        (self.touched, self.work) = (touched, work);
        region
    }

    /// The blocks that lanes reach one by one after the call at the end of a block, except for
    /// those that they already reach so after another call of the same region.
    pub(super) fn parted_blocks(&mut self, cfg: &Cfg, call: Block) -> Vec<Block> {
        let end = if self.converged { self.ends[call] } else { None };
        let reached = self.parted.entry(end).or_default();
        let mut found = Vec::new();
        let mut stack = cfg.succs(call).to_vec();
        while let Some(block) = stack.pop() {
            ptxc_interrupt::poll();
            if Some(block) != end && reached.insert(block) {
                found.push(block);
                if !self.whole.contains(block) {
                    stack.extend(cfg.succs(block));
                }
            }
        }
        found
    }

    /// Everything that the branch reaches and that no other such branch has reached; all of it may
    /// be a join.
    fn endless_region(&mut self, cfg: &Cfg, ways: &[Block]) -> Region {
        let mut region = Region::default();
        let mut stack = ways.to_vec();
        while let Some(block) = stack.pop() {
            if self.endless.insert(block) {
                region.blocks.push(block);
                if !self.whole.contains(block) {
                    stack.extend(cfg.succs(block));
                }
            }
        }
        region.joins = region.blocks.iter().copied().filter(|&block| cfg.preds(block).len() > 1).collect();
        region
    }
}

/// For each block, the block that follows it on every way.
fn postdominator_ends(cfg: &Cfg, postdominators: &PostDominators) -> SecondaryMap<Block, Option<Block>> {
    let mut ends = SecondaryMap::new();
    for &block in cfg.rpo() {
        ptxc_interrupt::poll();
        ends[block] = postdominators.immediate(block);
    }
    ends
}

/// For each block, the place where the innermost barrier that is open at its end, and that [loses no
/// lanes](lost_regions), lets threads continue; and the blocks that gather the warp where no barrier
/// is open.
fn barrier_ends(func: &Function, cfg: &Cfg) -> (SecondaryMap<Block, Option<Block>>, EntitySet<Block>) {
    let mut whole = EntitySet::new();
    let mut open: SecondaryMap<Block, SmallVec<[(u8, Block); 4]>> = SecondaryMap::new();
    let mut at_end: SecondaryMap<Block, SmallVec<[(u8, Block); 4]>> = SecondaryMap::new();
    let mut broken: FxHashSet<(u8, Block)> = FxHashSet::default();
    for &block in cfg.rpo() {
        let mut stack = open[block].clone();
        for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
            let place = |barrier: ConvergenceBarrier| stack.iter().rposition(|open| open.0 == barrier.0);
            match lost_regions(func, inst) {
                Lost::Nothing => {}
                Lost::Of(barrier) => broken.extend(place(barrier).map(|place| stack[place])),
                Lost::All => broken.extend(stack.iter().copied()),
            }
            if gathers_warp(func, inst) {
                if stack.is_empty() {
                    whole.insert(block);
                }
            } else if may_part(func, inst) {
                whole.remove(block);
            }
            match func.insts[inst].op {
                Op::Bssy { barrier, join: continuation } => stack.push((barrier.0, continuation)),
                Op::Bsync(barrier) => {
                    let place = place(barrier);
                    stack.truncate(place.unwrap_or(stack.len()));
                }
                Op::Break(barrier) => {
                    if let Some(place) = place(barrier) {
                        stack.remove(place);
                    }
                }
                arithmetic!() => {}
                Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => {}
                Op::Load(_) | Op::Store(_) | Op::Atomic { .. } | Op::Red { .. } | Op::TryAtomic { .. } => {}
                Op::LoadReduce { .. } => {}
                Op::Fence { .. } | Op::ToGeneric(_) | Op::FromGeneric(_) | Op::CachePolicy => {}
                Op::CacheHint | Op::IsSpace(_) => {}
                Op::Texture(_) | Op::ImageSize(_) => {}
                Op::SurfaceLoad(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => {}
                Op::Vote(_) | Op::Shfl(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) | Op::Elect => {}
                Op::MatrixLoad { .. } | Op::MatrixStore { .. } => {}
                Op::MatrixTranspose | Op::MatrixProduct(_) => {}
                Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => {}
                Op::WarpgroupArrive
                | Op::ReturnRegisters { .. }
                | Op::TryRegisters { .. }
                | Op::WarpgroupCommit
                | Op::WarpgroupWait { .. }
                | Op::WarpgroupProduct(_) => {}
                Op::Nanosleep
                | Op::PmEvent { .. }
                | Op::CacheLine { .. }
                | Op::Breakpoint
                | Op::WarpSync
                | Op::WarpFence => {}
                Op::Bar(_) | Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => {}
                Op::GridDependency(_) => {}
                Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => {}
                Op::MbarrierState { .. } | Op::MbarrierParity { .. } | Op::MbarrierPending => {}
                Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } | Op::AsyncCommit => {}
                Op::AsyncWait | Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare => {}
                Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => {}
                Op::RemoteStore | Op::RemoteRed { .. } => {}
                Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => {
                }
                Op::TensorRed { .. } | Op::TensorPrefetch(_) => {}
                Op::ProxyFence(_)
                | Op::TensormapAcquire(_)
                | Op::TensormapPrefetch
                | Op::TensormapRelease(_) => {}
                Op::Call { .. } | Op::CallIndirect(_) | Op::FuncAddr(_) => {}
                Op::SaveBarrier(_) | Op::RestoreBarrier(_) => {}
                Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit => {}
                Op::Trap => {}
            }
        }
        // On sound code every edge brings the same stack; the verifier has checked that.
        for &succ in cfg.succs(block) {
            open[succ].clone_from(&stack);
        }
        at_end[block] = stack;
    }
    let mut ends = SecondaryMap::new();
    for &block in cfg.rpo() {
        let innermost = at_end[block].iter().rfind(|region| !broken.contains(region));
        ends[block] = innermost.map(|&(_, continuation)| continuation);
    }
    (ends, whole)
}

/// Whether PTX calls an instruction of a kernel aligned, such as a barrier or a product of matrices, so
/// that the whole warp executes it together.
fn gathers_warp(func: &Function, inst: Inst) -> bool {
    func.kind == FunctionKind::Entry && is_aligned(func.insts[inst].op)
}

/// Whether lanes may part at an instruction: a call, or an operation for the lanes of a mask, which
/// `gather` may let meet in a routine.
fn may_part(func: &Function, inst: Inst) -> bool {
    is_parting_call(func, inst) || mask_argument(&func.insts[inst]).is_some()
}
