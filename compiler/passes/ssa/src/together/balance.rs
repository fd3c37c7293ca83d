//! Whether all lanes of a region wait for the same operations on every way through it.
//!
//! Every lane of a mask has executed as many operations of a kind with that mask as the other
//! lanes. So if all ways from a `bssy` to its `bsync` have the same operations, no lane in the
//! region still waits for a lane that has reached the `bsync`. This is the check's own proof, from
//! the code that [`gather`](crate::gather) leaves. An operation waits in a `warpsync`, in a
//! routine, or on the two ways of a `brtogether`, where it counts once. At a point where the whole
//! warp is together, no lane is at the `bsync`, and earlier operations do not matter.
//!
//! In: a function, the facts about its lanes, a region. Out: whether all ways through the region
//! wait for the same operations. Linear in the region.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_entity::EntitySet;
use ptxc_ir::{Block, Cfg, ConvergenceBarrier, Function, FunctionKind, Inst, Op, Value};
use smallvec::SmallVec;

use super::{Extent, Open, Together};
use crate::lanes::Mask;
use crate::runtime::warp;
use crate::uniformity::Uniformity;

/// An operation that lanes wait for: its kind, and a mask that all of them have.
type Event<'a> = (&'a str, Mask);

/// The number of each sequence, which consists of an event and a following sequence. The empty
/// sequence is 0.
type Sequences<'a> = BTreeMap<(Event<'a>, u32), u32>;

/// The events of a block while a region is open.
struct Part<'a> {
    events: SmallVec<[Event<'a>; 4]>,
    /// Whether the region ends there.
    ends: bool,
    /// Whether the whole warp executes an instruction of the block together.
    is_whole: bool,
}

/// The input of the proof.
pub(super) struct Ways<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    uniformity: &'a Uniformity,
    together: &'a Together,
    /// Whether an instruction may wait for lanes that have left a region around it.
    waits: &'a dyn Fn(Inst) -> bool,
    /// The blocks that open a region of that barrier and continuation.
    opened: BTreeMap<(u8, Block), Vec<Block>>,
    /// The blocks in which lanes meet if a test did not find them together.
    tested: EntitySet<Block>,
}

impl<'a> Ways<'a> {
    /// The input of the proof, for a function whose lanes are known.
    pub(super) fn new(
        func: &'a Function,
        cfg: &'a Cfg,
        uniformity: &'a Uniformity,
        together: &'a Together,
        waits: &'a dyn Fn(Inst) -> bool,
    ) -> Ways<'a> {
        let (mut opened, mut tested) = (BTreeMap::<_, Vec<Block>>::new(), EntitySet::new());
        for &block in &func.layout {
            for &inst in &func.blocks[block].insts {
                let data = &func.insts[inst];
                match data.op {
                    Op::Bssy { barrier, join: continuation } => {
                        opened.entry((barrier.0, continuation)).or_default().push(block);
                    }
                    Op::BranchTogether => {
                        tested.insert(data.targets[1].block);
                    }
                    _ => {}
                }
            }
        }
        Ways { func, cfg, uniformity, together, waits, opened, tested }
    }

    /// Whether all ways through a region wait for the same operations.
    pub(super) fn are_balanced(&self, region: &Open) -> bool {
        let mut parts: BTreeMap<Block, Part<'_>> = BTreeMap::new();
        for block in self.blocks(region) {
            let Some(part) = self.part(block, region) else { return false };
            parts.insert(block, part);
        }
        let mut sequences = Sequences::new();
        let mut at_start: BTreeMap<Block, u32> = BTreeMap::new();
        let mut at_end: BTreeMap<Block, Option<u32>> = BTreeMap::new();
        let ends = parts.iter().filter(|(_, part)| part.ends);
        // A way on which the whole warp comes together proves nothing, so it is followed only if no
        // other way is left.
        let (mut ways, mut other_ways) =
            (ends.map(|(&block, _)| (block, Some(0))).collect::<Vec<_>>(), Vec::new());
        while let Some((block, after)) = ways.pop().or_else(|| other_ways.pop()) {
            ptxc_interrupt::poll();
            let Some(part) = parts.get(&block).filter(|_| !at_end.contains_key(&block)) else { continue };
            at_end.insert(block, after);
            if !self.is_open(block, region) {
                continue;
            }
            let before = self.cfg.preds(block).iter();
            let Some(after) = after.filter(|_| !part.is_whole) else {
                other_ways.extend(before.map(|&way| (way, None)));
                continue;
            };
            let start = part.events.iter().rev().fold(after, |after, &event| {
                let next = sequences.len() as u32 + 1;
                *sequences.entry((event, after)).or_insert(next)
            });
            at_start.insert(block, start);
            ways.extend(before.map(|&way| (way, Some(start))));
        }
        parts.iter().all(|(block, part)| match at_end.get(block) {
            Some(Some(after)) if !part.ends => {
                let mut ways = self.cfg.succs(*block).iter().filter_map(|way| at_start.get(way));
                ways.all(|way| way == after)
            }
            Some(_) => true,
            // Lanes that leave the region or exit count as waited for until then, so they may have
            // waited for as many operations as the others.
            None => part.events.is_empty(),
        })
    }

    /// The events of a block while a region is open; `None` if the block waits for unknown lanes.
    fn part(&self, block: Block, region: &Open) -> Option<Part<'a>> {
        let mut part = Part { events: SmallVec::new(), ends: false, is_whole: false };
        let mut open = self.is_open(block, region);
        let mut is_known = true;
        self.together.walk(self.func, self.uniformity, block, |inst, state| {
            let is_own = |barrier: ConvergenceBarrier| {
                let innermost = state.open.iter().rfind(|open| open.barrier == barrier.0);
                innermost.is_some_and(|open| is_same(open, region))
            };
            part.is_whole |= open && self.func.kind == FunctionKind::Entry && state.extent == Extent::ALL;
            match self.func.insts[inst].op {
                Op::Bssy { barrier, join: continuation }
                    if (barrier.0, continuation) == (region.barrier, region.continuation) =>
                {
                    open = true;
                    part.events.clear();
                }
                Op::Bsync(barrier) if is_own(barrier) => {
                    part.ends |= open;
                    open = false;
                }
                Op::Break(barrier) if is_own(barrier) => open = false,
                _ if open => match self.event(inst, self.tested.contains(block)) {
                    Waiting::Not => {}
                    Waiting::For(event) => part.events.push(event),
                    Waiting::Unknown => is_known = false,
                },
                _ => {}
            }
        });
        is_known.then_some(part)
    }

    /// The blocks with a point at which a region is open.
    fn blocks(&self, region: &Open) -> BTreeSet<Block> {
        let mut found = BTreeSet::new();
        let opened = self.opened.get(&(region.barrier, region.continuation));
        let mut stack: Vec<Block> = opened.into_iter().flatten().copied().collect();
        while let Some(block) = stack.pop() {
            ptxc_interrupt::poll();
            if found.insert(block) {
                stack.extend(self.cfg.succs(block).iter().filter(|&&to| self.is_open(to, region)));
            }
        }
        found
    }

    /// Whether a region is open at the start of a block.
    fn is_open(&self, block: Block, region: &Open) -> bool {
        let state = self.together.at_start[block].as_ref();
        state.is_some_and(|state| state.open.iter().any(|open| is_same(open, region)))
    }

    /// The event of an instruction; `is_tested` says that a test for lanes that are together has
    /// counted it.
    fn event(&self, inst: Inst, is_tested: bool) -> Waiting<'a> {
        let data = &self.func.insts[inst];
        let of = |name, mask: Option<&Value>| match mask.and_then(|&mask| self.fixed(mask)) {
            Some(mask) => Waiting::For((name, mask)),
            None => Waiting::Unknown,
        };
        match data.op {
            Op::BranchTogether => match self.routine_in(data.targets[1].block) {
                Some(name) => of(name, data.args.first()),
                None => Waiting::Unknown,
            },
            _ if !(self.waits)(inst) => Waiting::Not,
            Op::WarpSync => of("warpsync", data.args.first()),
            Op::Call { callee, .. } => {
                let name = self.func.callees[callee].name.as_str();
                match warp::is_warp_routine(name) && warp::takes_mask(name) {
                    true if is_tested => Waiting::Not,
                    true => of(name, data.args.last()),
                    false => Waiting::Unknown,
                }
            }
            _ => Waiting::Unknown,
        }
    }

    /// The routine that is called in a block.
    fn routine_in(&self, block: Block) -> Option<&'a str> {
        let insts = self.func.blocks[block].insts.iter();
        insts
            .filter_map(|&inst| match self.func.insts[inst].op {
                Op::Call { callee, .. } => Some(self.func.callees[callee].name.as_str()),
                _ => None,
            })
            .find(|name| warp::is_warp_routine(name))
    }

    /// A mask, if it is the same for all lanes of a region.
    fn fixed(&self, mask: Value) -> Option<Mask> {
        match self.func.constant(mask) {
            Some(bits) => Some(Mask::Lanes(bits as u32)),
            // A kernel's parameter is the same everywhere.
            None => {
                let data = self.func.def_inst(mask).filter(|data| matches!(data.op, Op::Param { .. }));
                let is_fixed = data.is_some() && self.func.kind == FunctionKind::Entry;
                is_fixed.then_some(Mask::Value(mask))
            }
        }
    }
}

/// Whether an open region is the given one.
fn is_same(open: &Open, region: &Open) -> bool {
    open.barrier == region.barrier && open.continuation == region.continuation
}

/// Whether and for which lanes an instruction waits.
enum Waiting<'a> {
    Not,
    For(Event<'a>),
    /// It waits for unknown lanes.
    Unknown,
}
