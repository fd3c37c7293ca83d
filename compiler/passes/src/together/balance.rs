//! Whether all lanes of a region wait for the same, whichever way they take through it.
//!
//! Every lane of a mask has executed as many operations of a kind with that mask as the others. So where all ways from a
//! `bssy` to its `bsync` have the same, a lane that has come to the `bsync` is not waited for in the region any more. This
//! is the check's own proof, from the code that [`gather`](crate::gather) leaves: an operation waits in a
//! `warpsync`, in a routine, or on the two ways of a `brtogether`, where it counts once.
//!
//! In: a function, what is known of its lanes, a region. Out: whether the ways through the region wait for the same. Linear in the region.

use std::collections::BTreeMap;

use cranelift_entity::EntitySet;
use ptxc_ir::{Block, Cfg, ConvergenceBarrier, Function, FunctionKind, Inst, Op, Value};

use super::{Open, Together};
use crate::gather::Mask;
use crate::interrupt;
use crate::runtime::warp;
use crate::uniformity::Uniformity;

/// What lanes wait for: a kind of operation, and a mask that all of them have.
type Event<'a> = (&'a str, Mask);

/// The way of one sequence of events to the next.
type Sequences<'a> = BTreeMap<(u32, Event<'a>), u32>;

/// What the proof looks at.
pub(super) struct Ways<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    uniformity: &'a Uniformity,
    together: &'a Together,
    /// Whether an instruction may wait for lanes that have left a region around it.
    waits: &'a dyn Fn(Inst) -> bool,
    /// The blocks that open a region of that barrier and continuation.
    opened: BTreeMap<(u8, Block), Vec<Block>>,
    /// The blocks in which lanes meet that a test has not found together.
    tested: EntitySet<Block>,
}

impl<'a> Ways<'a> {
    /// What the proof looks at, of a function whose lanes are known.
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
                    Op::Bssy(barrier, continuation) => {
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

    /// Whether all ways through a region wait for the same.
    pub(super) fn are_balanced(&self, region: &Open) -> bool {
        let mut sequences = Sequences::new();
        let mut at_end: BTreeMap<Block, u32> = BTreeMap::new();
        // What each block begins with, to be compared with what all its ways bring.
        let mut at_start: Vec<(Block, u32)> = Vec::new();
        // What the ways bring to the end of the region.
        let mut joined: Option<u32> = None;
        let blocks = self.blocks(region);
        let leading = self.leading(&blocks, region.barrier);
        for &block in &blocks {
            // Lanes that leave the region or exit are waited for until then: they may have waited for as much as the others.
            let leads = leading.contains(block);
            let mut now = None;
            if self.is_open(block, region) {
                now = match leads {
                    true => self.cfg.preds(block).iter().find_map(|way| at_end.get(way).copied()),
                    false => Some(0),
                };
                let Some(start) = now else { return false };
                at_start.extend(leads.then_some((block, start)));
            }
            let mut differ = false;
            self.together.walk(self.func, self.uniformity, block, |inst, state| {
                let ends = |barrier: u8| {
                    let innermost = state.open.iter().rfind(|open| open.barrier == barrier);
                    innermost.is_some_and(|open| open.continuation == region.continuation)
                };
                match self.func.insts[inst].op {
                    Op::Bssy(barrier, continuation)
                        if (barrier.0, continuation) == (region.barrier, region.continuation) =>
                    {
                        now = Some(0);
                    }
                    Op::Bsync(barrier) if barrier.0 == region.barrier && ends(barrier.0) => {
                        if let Some(sequence) = now.take() {
                            differ |= *joined.get_or_insert(sequence) != sequence;
                        }
                    }
                    Op::Break(barrier) if barrier.0 == region.barrier && ends(barrier.0) => now = None,
                    _ => {
                        let Some(before) = now else { return };
                        match self.event(inst, self.tested.contains(block)) {
                            Waiting::Not => {}
                            _ if !leads => differ = true,
                            Waiting::For(event) => {
                                let next = sequences.len() as u32 + 1;
                                now = Some(*sequences.entry((before, event)).or_insert(next));
                            }
                            Waiting::Unknown => differ = true,
                        }
                    }
                }
            });
            if differ {
                return false;
            }
            if let Some(sequence) = now.filter(|_| leads) {
                at_end.insert(block, sequence);
            }
        }
        at_start.iter().all(|&(block, start)| {
            self.cfg.preds(block).iter().filter_map(|way| at_end.get(way)).all(|&end| end == start)
        })
    }

    /// The blocks in which a region is open somewhere, in reverse postorder.
    fn blocks(&self, region: &Open) -> Vec<Block> {
        let mut found: BTreeMap<usize, Block> = BTreeMap::new();
        let opened = self.opened.get(&(region.barrier, region.continuation));
        let mut stack: Vec<Block> = opened.into_iter().flatten().copied().collect();
        while let Some(block) = stack.pop() {
            interrupt::poll();
            let Some(place) = self.cfg.rpo_index(block) else { continue };
            if found.insert(place, block).is_none() {
                stack.extend(self.cfg.succs(block).iter().filter(|&&to| self.is_open(to, region)));
            }
        }
        found.into_values().collect()
    }

    /// Those blocks of a region from which lanes come to a `bsync` of its barrier.
    fn leading(&self, blocks: &[Block], barrier: u8) -> EntitySet<Block> {
        let mut inside = EntitySet::new();
        inside.extend(blocks.iter().copied());
        let is_end = |&inst: &Inst| self.func.insts[inst].op == Op::Bsync(ConvergenceBarrier(barrier));
        let ends = blocks.iter().filter(|&&block| self.func.blocks[block].insts.iter().any(is_end));
        let mut stack: Vec<Block> = ends.copied().collect();
        let mut found = EntitySet::new();
        while let Some(block) = stack.pop() {
            interrupt::poll();
            if found.insert(block) {
                stack.extend(self.cfg.preds(block).iter().filter(|&&way| inside.contains(way)));
            }
        }
        found
    }

    /// Whether a region is open at the start of a block.
    fn is_open(&self, block: Block, region: &Open) -> bool {
        let is_it = |open: &Open| open.barrier == region.barrier && open.continuation == region.continuation;
        self.together.at_start[block].as_ref().is_some_and(|state| state.open.iter().any(is_it))
    }

    /// What an instruction waits for; `is_tested` if a test for lanes that are together has counted it.
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
            Op::Call(callee, _) => {
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
                Op::Call(callee, _) => Some(self.func.callees[callee].name.as_str()),
                _ => None,
            })
            .find(|name| warp::is_warp_routine(name))
    }

    /// A mask that is the same for all lanes of a region.
    fn fixed(&self, mask: Value) -> Option<Mask> {
        match self.func.constant(mask) {
            Some(bits) => Some(Mask::Lanes(bits as u32)),
            // A kernel's parameter is the same wherever it is read.
            None => {
                let data = self.func.def_inst(mask).filter(|data| matches!(data.op, Op::Param(_)));
                let is_fixed = data.is_some() && self.func.kind == FunctionKind::Entry;
                is_fixed.then_some(Mask::Value(mask))
            }
        }
    }
}

/// Whether an instruction waits.
enum Waiting<'a> {
    Not,
    For(Event<'a>),
    /// For lanes that nobody knows.
    Unknown,
}
