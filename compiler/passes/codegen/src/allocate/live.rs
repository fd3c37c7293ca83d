//! Live ranges: for each component the program points at which it is live.
//!
//! In: a function in SSA form by component and its [`mir::Liveness`](crate::mir::Liveness). Out:
//! for each component a sorted list of segments of program points. Points number the function in
//! layout order. A block with `n` instructions has `2n + 2` of them:
//!
//! ```text
//! entry                 parameters are written
//! early(i), late(i)     instruction i reads, then writes
//! exit                  the terminator reads its predicate, the edges read their arguments
//! ```
//!
//! So an operand whose last reader is an instruction and the result of that instruction do not
//! overlap, and may share a register; an unread result still occupies one point. The cost is the
//! size of the liveness sets and of the function.
//!
//! # Uniform registers
//!
//! A uniform register exists once per warp, and a diverged warp runs both arms of a branch, in any
//! order and, since lanes are scheduled independently, interleaved. A value that is live on one
//! path only could be overwritten by the other arm. Therefore a uniform value that is live, read or
//! written anywhere in a *divergent region* counts as live in the whole region: blocks whose warp
//! may have diverged, connected by edges or as targets of one branch. Where the warp is converged
//! it follows one path, and ordinary liveness holds. Lanes enter and leave a region only through
//! converged blocks or by exiting, so nothing outside of the region runs while lanes are in it;
//! what a converged target of the branch needs is live through the region as well, which the
//! liveness sets already say.
//!
//! The result of `R2UR` is the exception: no other lanes of the warp run until an instruction that
//! [gives them a turn](crate::mir::MInst::gives_turn). If all readers are before that instruction,
//! in the same block, ordinary liveness holds.

use std::borrow::Cow;
use std::ops::Range;

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_sass::{Op, RegFile};
use smallvec::SmallVec;

use super::work::Operand;
use crate::mir::liveness::{Components, Liveness, for_each_term_use};
use crate::mir::{MBlockId, Mir, RegSet, VReg, VRegId, for_blocks};

/// Points from `start` up to but not including `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub start: u32,
    pub end: u32,
}

/// The segments of a component in ascending order; neighbours do not touch.
pub(super) type LiveRange = SmallVec<[Segment; 1]>;

/// The numbers of the program points.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    start: SecondaryMap<MBlockId, u32>,
    total: u32,
}

impl Points {
    fn new(mir: &Mir<VReg>) -> Points {
        let mut points = Points { start: for_blocks(mir, 0), total: 0 };
        for &block in &mir.layout {
            points.start[block] = points.total;
            points.total += 2 * mir.blocks[block].insts.len() as u32 + 2;
        }
        points
    }

    pub fn total(&self) -> usize {
        self.total as usize
    }

    pub fn entry(&self, block: MBlockId) -> u32 {
        self.start[block]
    }

    pub fn early(&self, block: MBlockId, inst: usize) -> u32 {
        self.start[block] + 1 + 2 * inst as u32
    }

    pub fn late(&self, block: MBlockId, inst: usize) -> u32 {
        self.early(block, inst) + 1
    }

    /// The exit of a block of `insts` instructions.
    pub fn exit(&self, block: MBlockId, insts: usize) -> u32 {
        self.early(block, insts)
    }
}

/// The live ranges of a function.
#[derive(Clone, Debug)]
pub(super) struct LiveRanges<'a> {
    pub points: Points,
    /// For each component, its live range.
    pub ranges: Vec<LiveRange>,
    /// The components that are live across the borders of blocks.
    sets: Cow<'a, Liveness>,
    components: Components,
    /// The number of components by virtual register.
    widths: Vec<u8>,
    /// The stack pointer, which has no range.
    frame: Option<VRegId>,
    /// The divergent region of each block, if it is in one.
    region: SecondaryMap<MBlockId, Option<u32>>,
    /// The uniform components of each divergent region, ascending.
    region_uniform: Vec<Vec<u32>>,
    /// By component, whether it has an ordinary range in a divergent region; empty if there is no
    /// such region.
    undisturbed: Vec<bool>,
    /// The calls, in the order of their points.
    pub calls: Vec<Call>,
    /// By block, the greatest number of components of each file that are live at one of its points.
    pressure: SecondaryMap<MBlockId, [u32; 4]>,
    /// The same over all blocks.
    most: [u32; 4],
}

/// A call among the program points.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The point where it writes.
    pub point: u32,
    /// The registers that it destroys, except those of its results: these are live ranges.
    pub clobbers: RegSet,
    /// How often it runs.
    pub frequency: u64,
}

impl<'a> LiveRanges<'a> {
    /// Analyses a function. The virtual register `frame` is ignored.
    pub fn new(mir: &Mir<VReg>, frame: Option<VReg>) -> LiveRanges<'a> {
        LiveRanges::with(mir, frame, Cow::Owned(Liveness::new(mir)))
    }

    /// Analyses a function whose liveness across the borders of blocks is known. Virtual registers
    /// that the sets do not know live within blocks.
    pub fn with(mir: &Mir<VReg>, frame: Option<VReg>, sets: Cow<'a, Liveness>) -> LiveRanges<'a> {
        let mut components = sets.components().clone();
        components.extend(mir);
        let mut ranges = Vec::new();
        ranges.resize_with(components.len(), LiveRange::new);
        let mut live = LiveRanges {
            points: Points::new(mir),
            ranges,
            sets,
            components,
            widths: mir.vregs.values().map(|data| data.width).collect(),
            frame: frame.map(|frame| frame.id()),
            region: divergent_regions(mir),
            region_uniform: Vec::new(),
            undisturbed: Vec::new(),
            calls: Vec::new(),
            pressure: for_blocks(mir, [0; 4]),
            most: [0; 4],
        };
        live.build(mir);
        live.count(mir);
        live
    }

    fn components(&self) -> &Components {
        &self.components
    }

    /// The numbers of an operand's components.
    pub fn of(&self, (reg, width): Operand) -> std::ops::Range<u32> {
        let range = self.components().range(reg, width);
        range.start as u32..range.end as u32
    }

    /// The numbers of all components of a virtual register.
    pub fn all(&self, vreg: usize) -> std::ops::Range<u32> {
        let start = self.components().start(VRegId::new(vreg)) as u32;
        start..start + u32::from(self.widths[vreg])
    }

    /// The live range of each component of a virtual register.
    pub fn ranges_of(&self, vreg: usize) -> &[LiveRange] {
        let Range { start, end } = self.all(vreg);
        &self.ranges[start as usize..end as usize]
    }

    /// The virtual register of a component.
    pub fn owner(&self, component: u32) -> usize {
        self.components().reg(component as usize).id().index()
    }

    /// The file of a component.
    pub fn file(&self, component: u32) -> RegFile {
        self.components().reg(component as usize).file()
    }

    /// Components live at the entry of a block, except its parameters.
    pub fn live_in(&self, block: MBlockId) -> impl Iterator<Item = u32> {
        self.sets.live_in(block).iter().copied().filter(|&component| !self.is_frame(component))
    }

    /// The uniform components that count as live throughout this block; none if the warp is
    /// converged.
    pub fn throughout(&self, block: MBlockId) -> &[u32] {
        self.region[block].map_or(&[], |region| &self.region_uniform[region as usize])
    }

    /// Whether components of a file that are live anywhere in this block are live throughout it,
    /// unless they are [undisturbed](Self::is_undisturbed).
    pub fn extends(&self, block: MBlockId, file: RegFile) -> bool {
        file.is_uniform() && self.region[block].is_some()
    }

    /// Whether a uniform component has an ordinary range in any block.
    pub fn is_undisturbed(&self, component: u32) -> bool {
        self.undisturbed.get(component as usize).is_some_and(|&is| is)
    }

    /// Finds the uniform components that only `R2UR` writes, and that are read in its block before
    /// other lanes have a turn.
    fn find_undisturbed(&self, mir: &Mir<VReg>) -> Vec<bool> {
        // The block in which each was last written, and the number of instructions before that
        // write which give a turn.
        let mut written = vec![(u32::MAX, 0); self.ranges.len()];
        let mut undisturbed = vec![false; self.ranges.len()];
        let mut disturbed = vec![false; self.ranges.len()];
        let other = |disturbed: &mut Vec<bool>, range: Range<u32>| {
            range.for_each(|component| disturbed[component as usize] = true);
        };
        for (number, &block) in (0u32..).zip(&mir.layout) {
            let data = &mir.blocks[block];
            let mut turns = 0u32;
            for param in &data.params {
                other(&mut disturbed, self.of((param.reg, param.width)));
            }
            for inst in &data.insts {
                ptxc_interrupt::poll();
                inst.for_each_use(|reg, width| {
                    for component in self.of((reg, width)).filter(|_| reg.file() == RegFile::Ugpr) {
                        if written[component as usize] != (number, turns) {
                            disturbed[component as usize] = true;
                        }
                    }
                });
                let takes_lane = inst.inst.op == Op::R2UR && inst.inst.guard.is_none();
                inst.for_each_def(|reg, width| match takes_lane {
                    true => self.of((reg, width)).for_each(|component| {
                        written[component as usize] = (number, turns);
                        undisturbed[component as usize] = true;
                    }),
                    false => other(&mut disturbed, self.of((reg, width))),
                });
                turns += u32::from(inst.gives_turn());
            }
            for_each_term_use(mir, block, |reg, width| other(&mut disturbed, self.of((reg, width))));
        }
        undisturbed.iter_mut().zip(disturbed).for_each(|(is, disturbed)| *is &= !disturbed);
        undisturbed
    }

    fn is_frame(&self, component: u32) -> bool {
        self.frame.is_some_and(|frame| self.components().start(frame) == component as usize)
    }

    fn build(&mut self, mir: &Mir<VReg>) {
        let regions = self.region.values().flatten().max().map_or(0, |&region| region as usize + 1);
        let mut uniform: Vec<Vec<u32>> = vec![Vec::new(); regions];
        let undisturbed = if regions > 0 { self.find_undisturbed(mir) } else { Vec::new() };
        let LiveRanges { points, ranges, sets, components, frame, region, calls, .. } = self;
        let frame = frame.map(|frame| components.start(frame));
        // The end of the live range of each component that is live now; 0 for the others.
        let mut ends: Vec<u32> = vec![0; ranges.len()];
        let mut begin = |ends: &mut [u32], component: usize, start: u32| {
            let end = match std::mem::take(&mut ends[component]) {
                0 => start + 1,
                end => end,
            };
            match ranges[component].last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => ranges[component].push(Segment { start, end }),
            }
        };
        let mut reads: Vec<Range<usize>> = Vec::new();
        // By uniform component, the region that it was last found in.
        let mut newest: Vec<Option<u32>> = if regions > 0 { vec![None; ends.len()] } else { Vec::new() };
        for &block in &mir.layout {
            let data = &mir.blocks[block];
            let entry = points.entry(block);
            let block_end = points.exit(block, data.insts.len()) + 1;
            // In a divergent region the range of a uniform component is the whole region.
            let region = region[block];
            let is_apart = |reg: VReg, component: usize| {
                region.is_some() && reg.file().is_uniform() && !undisturbed[component]
            };
            let mut set_apart = |components: Range<usize>| {
                let Some(region) = region else { return };
                for component in components {
                    if newest[component].replace(region) != Some(region) {
                        uniform[region as usize].push(component as u32);
                    }
                }
            };
            for component in sets.live_out(mir, block) {
                let component = component as usize;
                if is_apart(components.reg(component), component) {
                    set_apart(component..component + 1);
                } else if Some(component) != frame {
                    ends[component] = block_end;
                }
            }
            for_each_term_use(mir, block, |reg, width| {
                let range = components.range(reg, width);
                // The operands of a terminator are never undisturbed.
                if is_apart(reg, range.start) { set_apart(range) } else { ends[range].fill(block_end) }
            });
            for (index, inst) in data.insts.iter().enumerate().rev() {
                ptxc_interrupt::poll();
                let late = points.late(block, index);
                if let Some(call) = &inst.call {
                    let clobbers = call.clobbers.without(call.result_places());
                    calls.push(Call { point: late, clobbers, frequency: data.frequency });
                }
                inst.for_each_access(|reg, width, is_def| {
                    let range = components.range(reg, width);
                    // Some components of a tuple may be undisturbed, and others not.
                    let parts = if reg.file().is_uniform() { 1 } else { range.len().max(1) };
                    for start in range.clone().step_by(parts) {
                        let part = start..(start + parts).min(range.end);
                        if is_apart(reg, start) {
                            set_apart(part);
                        } else if is_def {
                            part.for_each(|component| begin(&mut ends, component, late));
                        } else {
                            reads.push(part);
                        }
                    }
                });
                for component in reads.drain(..).flatten() {
                    let end = &mut ends[component];
                    *end = if *end == 0 { late } else { *end };
                }
            }
            for param in &data.params {
                let range = components.range(param.reg, param.width);
                if is_apart(param.reg, range.start) {
                    set_apart(range);
                } else {
                    range.for_each(|component| begin(&mut ends, component, entry));
                }
            }
            for &component in sets.live_in(block) {
                let component = component as usize;
                if is_apart(components.reg(component), component) {
                    set_apart(component..component + 1);
                } else if Some(component) != frame {
                    begin(&mut ends, component, entry);
                }
            }
            if let Some(frame) = frame {
                ends[frame] = 0;
            }
        }
        calls.sort_unstable_by_key(|call| call.point);
        for set in &mut uniform {
            set.sort_unstable();
            set.dedup();
        }
        self.region_uniform = uniform;
        self.undisturbed = undisturbed;
        self.add_regions(mir);
    }

    /// Adds the blocks of divergent regions to the ranges of the components that are live
    /// throughout them.
    fn add_regions(&mut self, mir: &Mir<VReg>) {
        if self.region_uniform.iter().all(Vec::is_empty) {
            return;
        }
        let mut blocks: Vec<Vec<Segment>> = vec![Vec::new(); self.region_uniform.len()];
        for &block in &mir.layout {
            if let Some(region) = self.region[block] {
                let (start, exit) = (self.points.entry(block), mir.blocks[block].insts.len());
                let end = self.points.exit(block, exit) + 1;
                match blocks[region as usize].last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ => blocks[region as usize].push(Segment { start, end }),
                }
            }
        }
        for (set, blocks) in self.region_uniform.iter().zip(&blocks) {
            for &component in set {
                self.ranges[component as usize].extend_from_slice(blocks);
            }
        }
        let mut touched: Vec<u32> = self.region_uniform.concat();
        touched.sort_unstable();
        touched.dedup();
        for component in touched {
            let range = &mut self.ranges[component as usize];
            range.sort_unstable_by_key(|segment| segment.start);
            range.dedup_by(|next, last| {
                let touches = last.end == next.start;
                if touches {
                    last.end = next.end;
                }
                touches
            });
        }
    }

    fn count(&mut self, mir: &Mir<VReg>) {
        let mut change = vec![[0i32; 4]; self.points.total() + 1];
        for (component, range) in self.ranges.iter().enumerate() {
            let file = self.components.reg(component).file() as usize;
            for segment in range {
                change[segment.start as usize][file] += 1;
                change[segment.end as usize][file] -= 1;
            }
        }
        let mut now = [0; 4];
        for &block in &mir.layout {
            let exit = self.points.exit(block, mir.blocks[block].insts.len());
            let most = &mut self.pressure[block];
            for step in &change[self.points.entry(block) as usize..=exit as usize] {
                for file in 0..4 {
                    now[file] += step[file];
                    most[file] = most[file].max(now[file] as u32);
                    self.most[file] = self.most[file].max(most[file]);
                }
            }
        }
    }

    /// The greatest number of components of a file that are live at one point of a block.
    pub fn most_in(&self, block: MBlockId, file: RegFile) -> u32 {
        self.pressure[block][file as usize]
    }

    /// The greatest number of components of a file that are live at one point.
    pub fn most(&self, file: RegFile) -> u32 {
        self.most[file as usize]
    }

    /// Whether a component is live at a point.
    pub fn covers(&self, component: u32, point: u32) -> bool {
        let range = &self.ranges[component as usize];
        let index = range.partition_point(|segment| segment.end <= point);
        range.get(index).is_some_and(|segment| segment.start <= point)
    }

    /// Whether a component that is live before `point` is not read at or after it.
    pub fn ends_by(&self, component: u32, point: u32) -> bool {
        let range = &self.ranges[component as usize];
        let index = range.partition_point(|segment| segment.start < point);
        index == 0 || range[index - 1].end <= point
    }

    /// Whether any component of a file is live where a call destroys registers of the file.
    pub fn crosses_calls(&self, mir: &Mir<VReg>, file: RegFile) -> bool {
        if !self.calls.iter().any(|call| call.clobbers.count(file) > 0) {
            return false;
        }
        let of_file = mir.vregs.iter().filter(|(_, data)| data.file == file);
        let mut segments = of_file.flat_map(|(id, _)| self.ranges_of(id.index()).iter().flatten());
        segments.any(|&segment| self.calls_in(segment).iter().any(|call| call.clobbers.count(file) > 0))
    }

    /// The calls at points of a segment.
    pub fn calls_in(&self, segment: Segment) -> &[Call] {
        let first = self.calls.partition_point(|call| call.point < segment.start);
        let count = self.calls[first..].partition_point(|call| call.point < segment.end);
        &self.calls[first..first + count]
    }
}

/// The operands that the end of a block reads: its predicate and the arguments of its edges.
pub(super) fn exit_uses(mir: &Mir<VReg>, block: MBlockId) -> SmallVec<[Operand; 8]> {
    let mut list = SmallVec::new();
    for_each_term_use(mir, block, |reg, width| list.push((reg, width)));
    list
}

/// Whether the warp may have diverged on an edge of this block: there, or in a target of the same
/// branch.
pub(super) fn diverges_after<R: Copy>(mir: &Mir<R>, block: MBlockId) -> bool {
    let data = &mir.blocks[block];
    data.divergent || data.term.edges().iter().any(|edge| mir.blocks[edge.block].divergent)
}

/// Numbers the sets of divergent blocks that edges connect or that are targets of one branch.
fn divergent_regions(mir: &Mir<VReg>) -> SecondaryMap<MBlockId, Option<u32>> {
    if !mir.layout.iter().any(|&block| mir.blocks[block].divergent) {
        return SecondaryMap::new();
    }
    let mut neighbours: SecondaryMap<MBlockId, SmallVec<[MBlockId; 4]>> = for_blocks(mir, SmallVec::new());
    for &block in &mir.layout {
        let mut group: SmallVec<[MBlockId; 4]> = SmallVec::from_slice(&[block]);
        group.extend(mir.blocks[block].term.edges().iter().map(|edge| edge.block));
        group.retain(|&mut block| mir.blocks[block].divergent);
        for pair in group.windows(2) {
            neighbours[pair[0]].push(pair[1]);
            neighbours[pair[1]].push(pair[0]);
        }
    }
    let mut region: SecondaryMap<MBlockId, Option<u32>> = for_blocks(mir, None);
    let mut count = 0;
    for &root in mir.layout.iter().filter(|&&block| mir.blocks[block].divergent) {
        if region[root].is_some() {
            continue;
        }
        let mut stack = vec![root];
        while let Some(block) = stack.pop() {
            if region[block].replace(count).is_none() {
                stack.extend(neighbours[block].iter().filter(|&&next| region[next].is_none()));
            }
        }
        count += 1;
    }
    region
}
