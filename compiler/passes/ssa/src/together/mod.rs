//! Which lanes of a warp are together at each block: a proof that relies only on the code.
//!
//! In: a converged function and its [`Uniformity`]. Out: for each block, how many of the lanes that
//! could be there are there, and whether the lanes that call a device function together return
//! together.
//!
//! The *extent* of the group of lanes that executes an instruction names the set whose live lanes
//! are all in the group: the lanes that entered the function together, the lanes that opened a
//! region together, or neither. A group splits at a divergent branch, at a call from which lanes
//! may return one by one, and at a wait for masks that differ. `bsync` restores the extent that the
//! group had at its `bssy`, unless the region may have lost lanes. In a kernel, a barrier or a product of
//! matrices that PTX calls aligned restores the whole warp, as the programmer promises.
//!
//! A region loses lanes in three ways. The last two were seen on an H100
//! (`docs/facts/convergence.md`):
//! - Lanes leave it by `break`.
//! - A lane in it sleeps (`nanosleep`): the lanes that wait at its `bsync` go on without that lane.
//! - Its barrier is saved in a register, by a region in it or by a function that is called in it.
//!   The barrier then names other lanes for a while, and later perhaps lanes that have left. So
//!   lanes do not return together from a function that saves barriers of its callers, or that
//!   sleeps.
//!
//! ```text
//! block0: bssy b0, block4            all lanes
//!     brif v1, block1, block2
//! block1: …                          some lanes
//! block3: bsync b0                   some, then all lanes
//! ```
//!
//! States only get worse, and a block is visited again when its state has: near-linear.

mod balance;
pub mod verify;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, Cfg, Function, FunctionKind, Inst, InstData, Op};
use smallvec::SmallVec;

use crate::analyses::Analyses;
use crate::lanes::{Lanes, Lost, is_aligned, lanes_of, lost_regions, parts};
use crate::uniformity::{Uniformity, is_exit};

/// The set whose live lanes are all in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent(u8);

impl Extent {
    /// All lanes that entered the function together: in a kernel the whole warp.
    pub const ALL: Extent = Extent(0);
    /// Any lanes.
    pub const PART: Extent = Extent(u8::MAX);

    /// All lanes that opened the region of that number; regions are counted from the outside,
    /// starting at one.
    fn of_region(number: usize) -> Extent {
        Extent(number.min(usize::from(u8::MAX) - 1) as u8)
    }
}

/// A region that is open at some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Its convergence barrier.
    pub barrier: u8,
    /// The block where its lanes continue.
    pub continuation: Block,
    /// The extent of the group that opened it.
    extent: Extent,
}

/// The group of lanes that executes an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The open regions, from outside in.
    pub open: SmallVec<[Open; 4]>,
    /// The set whose lanes are all in the group.
    pub extent: Extent,
}

/// The facts about the lanes of a function.
#[derive(Debug)]
pub struct Together {
    at_start: SecondaryMap<Block, Option<State>>,
    /// Whether lanes that call the function together return together.
    all_return: bool,
    /// The regions that may lose lanes.
    broken: BTreeSet<(u8, Block)>,
}

impl Together {
    /// Analyses a converged function, with cached analyses of its graph.
    pub(crate) fn compute(func: &Function, uniformity: &Uniformity, known: &Analyses) -> Together {
        let cfg = known.cfg(func);
        let all_return = !disturbs_callers(func);
        let together = Together { at_start: SecondaryMap::new(), all_return, broken: BTreeSet::new() };
        let mut solver = Solver { func, cfg, uniformity, together, queue: BinaryHeap::new() };
        solver.run();
        solver.together
    }

    /// Whether lanes that call a device function together return together.
    pub fn returns_together(func: &Function, uniformity: &Uniformity, known: &Analyses) -> bool {
        func.kind == FunctionKind::Device && Together::compute(func, uniformity, known).all_return
    }

    /// Shows the group before each instruction of a block.
    pub fn walk(
        &self,
        func: &Function,
        uniformity: &Uniformity,
        block: Block,
        mut visit: impl FnMut(Inst, &State),
    ) {
        let Some(mut state) = self.at_start[block].clone() else { return };
        for &inst in &func.blocks[block].insts {
            visit(inst, &state);
            state.step(&func.insts[inst], func, uniformity, &self.broken);
        }
    }
}

impl State {
    /// Executes an instruction.
    fn step(
        &mut self,
        data: &InstData,
        func: &Function,
        uniformity: &Uniformity,
        broken: &BTreeSet<(u8, Block)>,
    ) {
        let place = |open: &[Open], barrier: u8| open.iter().rposition(|region| region.barrier == barrier);
        match data.op {
            Op::Bssy { barrier, join: continuation } => {
                self.open.push(Open { barrier: barrier.0, continuation, extent: self.extent });
            }
            Op::Bsync(barrier) => {
                let Some(number) = place(&self.open, barrier.0) else { return };
                let region = self.open[number];
                self.open.truncate(number);
                if !broken.contains(&(region.barrier, region.continuation)) {
                    self.extent = self.extent.min(region.extent);
                }
                // From here on the group no longer contains all lanes of the region.
                if self.extent > Extent::of_region(number) {
                    self.extent = Extent::PART;
                }
            }
            Op::Break(barrier) => {
                let Some(number) = place(&self.open, barrier.0) else { return };
                self.open.remove(number);
                let own = Extent::of_region(number + 1);
                self.extent = match self.extent {
                    Extent::PART => Extent::PART,
                    extent if extent < own => extent,
                    extent if extent == own => Extent::PART,
                    Extent(inner) => Extent(inner - 1),
                };
            }
            // The programmer promises that the whole warp executes it together.
            op if is_aligned(op) && func.kind == FunctionKind::Entry && self.open.is_empty() => {
                self.extent = Extent::ALL;
            }
            _ if parts(func, data, |mask| uniformity.is_uniform(mask)) => {
                let whole = func.kind == FunctionKind::Entry && self.extent == Extent::ALL;
                // If all lanes are here, the operation does not wait.
                if !(whole && waits_for_mask(&data.op)) {
                    self.extent = Extent::PART;
                }
            }
            _ => {}
        }
    }
}

/// Whether regions of a device function's callers may lose lanes in it.
fn disturbs_callers(func: &Function) -> bool {
    let disturbs = |&inst: &Inst| matches!(func.insts[inst].op, Op::SaveBarrier(_) | Op::Nanosleep);
    func.kind == FunctionKind::Device
        && func.layout.iter().any(|&block| func.blocks[block].insts.iter().any(disturbs))
}

/// Whether an operation waits for the lanes of a mask that may be elsewhere, in either form of the
/// function.
fn waits_for_mask(op: &Op) -> bool {
    matches!(lanes_of(op), Lanes::OfMask(_))
}

struct Solver<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    uniformity: &'a Uniformity,
    together: Together,
    /// Blocks to visit, by their place in reverse postorder.
    queue: BinaryHeap<Reverse<usize>>,
}

impl Solver<'_> {
    fn run(&mut self) {
        let Some(&entry) = self.cfg.rpo().first() else { return };
        let start = State { open: SmallVec::new(), extent: Extent::ALL };
        self.together.at_start[entry] = Some(start);
        self.queue.push(Reverse(0));
        while let Some(Reverse(place)) = self.queue.pop() {
            ptxc_interrupt::poll();
            while self.queue.peek() == Some(&Reverse(place)) {
                self.queue.pop();
            }
            self.block(self.cfg.rpo()[place]);
        }
    }

    fn block(&mut self, block: Block) {
        let (func, uniformity) = (self.func, self.uniformity);
        let Some(mut state) = self.together.at_start[block].clone() else { return };
        for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
            let data = &func.insts[inst];
            match lost_regions(func, inst) {
                Lost::Nothing => {}
                Lost::Of(barrier) => {
                    let innermost = state.open.iter().rfind(|region| region.barrier == barrier.0);
                    innermost.into_iter().for_each(|region| self.break_region(region));
                }
                Lost::All => state.open.iter().for_each(|region| self.break_region(region)),
            }
            state.step(data, func, uniformity, &self.together.broken);
            if data.op == Op::Return {
                self.together.all_return &= state.extent == Extent::ALL;
            }
        }
        let ways = self.cfg.succs(block).iter().filter(|&&way| !is_exit(func, way)).count();
        let divides = ways > 1 && uniformity.is_divergent_branch(block);
        for &target in self.cfg.succs(block) {
            let mut state = state.clone();
            if divides {
                state.extent = Extent::PART;
            }
            self.arrive(target, state);
        }
    }

    /// Records that a region may lose lanes: the blocks with its `bsync` are visited again.
    fn break_region(&mut self, &Open { barrier, continuation, .. }: &Open) {
        if self.together.broken.insert((barrier, continuation)) {
            let meets = self.cfg.preds(continuation).iter().filter_map(|&meet| self.cfg.rpo_index(meet));
            self.queue.extend(meets.map(Reverse));
        }
    }

    /// Merges the state of a group that reaches a block by one way.
    fn arrive(&mut self, target: Block, state: State) {
        // No lane waits for lanes that end.
        if is_exit(self.func, target) && self.together.at_start[target].is_some() {
            return;
        }
        let changed = match &mut self.together.at_start[target] {
            known @ None => {
                *known = Some(state);
                true
            }
            Some(known) => {
                let mut changed = state.extent > known.extent;
                known.extent = known.extent.max(state.extent);
                for (known, new) in known.open.iter_mut().zip(&state.open) {
                    changed |= new.extent > known.extent;
                    known.extent = known.extent.max(new.extent);
                }
                changed
            }
        };
        if changed && let Some(place) = self.cfg.rpo_index(target) {
            self.queue.push(Reverse(place));
        }
    }
}
