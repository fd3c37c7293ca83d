//! Liveness by component, and live ranges.
//!
//! In: a function in SSA form by component. Out: for each block the components that are live at its
//! entry, and for each component its live range as a sorted list of segments of program points.
//!
//! Points number the function in layout order. A block with `n` instructions has `2n + 2` of them:
//!
//! ```text
//! entry                 parameters are written
//! early(i), late(i)     instruction i reads, then writes
//! exit                  the terminator reads its predicate, the edges read their arguments
//! ```
//!
//! So an operand whose last reader is an instruction and the result of that instruction do not overlap,
//! and may share a register; a result that nobody reads still occupies one point.
//!
//! Liveness follows each use up to its definition, one component at a time (Boissinot, Hack, Grund,
//! Dupont de Dinechin and Rastello, "Fast liveness checking for SSA-form programs", CGO 2008, call it path
//! exploration). The cost is the size of the answer.
//!
//! # Uniform registers
//!
//! A uniform register exists once a warp, and a diverged warp runs both arms of a branch, in any order or
//! interleaved. A value that is live on one path only could be overwritten by the other arm. Therefore a
//! uniform value that is live, read or written anywhere in a *divergent region* (blocks whose warp may have
//! diverged, connected by edges among themselves) counts as live in the whole region. Where the warp is
//! converged it follows one path, and ordinary liveness holds. Lanes enter and leave a region only through
//! converged blocks or by exiting, so nothing outside of the region runs while lanes are in it.

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_sass::RegFile;
use smallvec::SmallVec;

use super::work::{self, Components, Operand};
use crate::mir::{EdgeArg, MBlockId, Mir, Term, VReg};

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
        let mut points = Points::default();
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

    /// The exit of a block of that many instructions.
    pub fn exit(&self, block: MBlockId, insts: usize) -> u32 {
        self.early(block, insts)
    }
}

/// Liveness of a function.
#[derive(Clone, Debug)]
pub(super) struct Liveness {
    pub components: Components,
    pub points: Points,
    /// Components live at the entry of each block, its parameters apart, ascending.
    pub live_in: SecondaryMap<MBlockId, Vec<u32>>,
    /// For each component, where it is live.
    pub ranges: Vec<LiveRange>,
    /// The divergent region of each block, if it is in one.
    region: SecondaryMap<MBlockId, Option<u32>>,
    /// The uniform components of each divergent region, ascending.
    region_uniform: Vec<Vec<u32>>,
}

impl Liveness {
    /// Analyses a function. `frame` is left out.
    pub fn new(mir: &Mir<VReg>, frame: Option<VReg>) -> Liveness {
        let components = Components::new(mir);
        let points = Points::new(mir);
        let live_in = live_in(mir, &components, frame);
        let region = divergent_regions(mir);
        let ranges = vec![LiveRange::new(); components.len()];
        let mut liveness =
            Liveness { components, points, live_in, ranges, region, region_uniform: Vec::new() };
        liveness.collect_uniform(mir);
        liveness.build_ranges(mir, frame);
        liveness
    }

    /// The uniform components that count as live throughout this block; none where the warp is converged.
    pub fn throughout(&self, block: MBlockId) -> &[u32] {
        self.region[block].map_or(&[], |region| &self.region_uniform[region as usize])
    }

    /// Whether such components are exempt from the ordinary rules in this block.
    pub fn extends(&self, block: MBlockId, file: RegFile) -> bool {
        file.is_uniform() && self.region[block].is_some()
    }

    /// The components that an exit of a block keeps alive: arguments and what is live at the targets.
    pub fn live_out(&self, mir: &Mir<VReg>, block: MBlockId) -> Vec<u32> {
        let mut list = Vec::new();
        for edge in mir.blocks[block].term.edges() {
            list.extend_from_slice(&self.live_in[edge.block]);
        }
        for operand in exit_uses(mir, block) {
            list.extend(self.components.range(operand));
        }
        list.sort_unstable();
        list.dedup();
        list
    }

    fn collect_uniform(&mut self, mir: &Mir<VReg>) {
        let regions = self.region.values().flatten().max().map_or(0, |&region| region as usize + 1);
        let mut sets = vec![Vec::new(); regions];
        for &block in &mir.layout {
            let Some(region) = self.region[block] else { continue };
            let set = &mut sets[region as usize];
            let mut add = |operand: Operand| {
                if operand.0.file.is_uniform() {
                    set.extend(self.components.range(operand));
                }
            };
            let data = &mir.blocks[block];
            data.params.iter().for_each(|param| add((param.reg, param.width)));
            for inst in &data.insts {
                work::uses(inst).into_iter().for_each(&mut add);
                work::defs(inst).into_iter().for_each(&mut add);
            }
            exit_uses(mir, block).into_iter().for_each(&mut add);
            let uniform =
                |component: &&u32| mir.vregs[vreg_id(self.components.owner(**component))].file.is_uniform();
            set.extend(self.live_in[block].iter().filter(uniform));
            for edge in data.term.edges() {
                set.extend(self.live_in[edge.block].iter().filter(uniform));
            }
        }
        for set in &mut sets {
            set.sort_unstable();
            set.dedup();
        }
        self.region_uniform = sets;
    }

    fn build_ranges(&mut self, mir: &Mir<VReg>, frame: Option<VReg>) {
        const DEAD: u32 = u32::MAX;
        let mut end = vec![DEAD; self.components.len()];
        let mut segments: Vec<(u32, Segment)> = Vec::new();
        for &block in &mir.layout {
            let data = &mir.blocks[block];
            let entry = self.points.entry(block);
            let block_end = self.points.exit(block, data.insts.len()) + 1;
            segments.clear();
            for component in self.live_out(mir, block) {
                end[component as usize] = block_end;
            }
            for (index, inst) in data.insts.iter().enumerate().rev() {
                let late = self.points.late(block, index);
                for operand in work::defs(inst) {
                    for component in self.components.range(operand) {
                        let last = std::mem::replace(&mut end[component as usize], DEAD);
                        let last = if last == DEAD { late + 1 } else { last };
                        segments.push((component, Segment { start: late, end: last }));
                    }
                }
                for operand in work::uses(inst) {
                    for component in self.components.range(operand) {
                        if end[component as usize] == DEAD {
                            end[component as usize] = late;
                        }
                    }
                }
            }
            for param in &data.params {
                for component in self.components.range((param.reg, param.width)) {
                    let last = std::mem::replace(&mut end[component as usize], DEAD);
                    let last = if last == DEAD { entry + 1 } else { last };
                    segments.push((component, Segment { start: entry, end: last }));
                }
            }
            for &component in &self.live_in[block] {
                let last = std::mem::replace(&mut end[component as usize], DEAD);
                let last = if last == DEAD { entry + 1 } else { last };
                segments.push((component, Segment { start: entry, end: last }));
            }
            if self.region[block].is_some() {
                segments.retain(|&(component, _)| {
                    !mir.vregs[vreg_id(self.components.owner(component))].file.is_uniform()
                });
                let whole = Segment { start: entry, end: block_end };
                let region = self.region[block].unwrap_or_default() as usize;
                segments.extend(self.region_uniform[region].iter().map(|&component| (component, whole)));
            }
            for &(component, segment) in &segments {
                let range = &mut self.ranges[component as usize];
                match range.last_mut() {
                    Some(last) if last.end == segment.start => last.end = segment.end,
                    _ => range.push(segment),
                }
            }
            // What the frame pointer leaves behind; everything else was taken at its definition.
            if let Some(frame) = frame {
                end[self.components.of(frame) as usize] = DEAD;
            }
        }
        if let Some(frame) = frame {
            self.ranges[self.components.of(frame) as usize].clear();
        }
    }
}

/// The virtual register of that index.
pub(super) fn vreg_id(index: usize) -> crate::mir::VRegId {
    crate::mir::VRegId::new(index)
}

/// What the end of a block reads: its predicate and the arguments of its edges.
pub(super) fn exit_uses(mir: &Mir<VReg>, block: MBlockId) -> SmallVec<[Operand; 8]> {
    let term = &mir.blocks[block].term;
    let mut list = SmallVec::new();
    if let Term::Branch { pred, .. } = term {
        list.push((*pred, 1));
    }
    for edge in term.edges() {
        for (param, arg) in mir.blocks[edge.block].params.iter().zip(&edge.args) {
            if let EdgeArg::Reg(reg) = *arg {
                list.push((reg, param.width));
            }
        }
    }
    list
}

/// The predecessors of each block, once for each edge.
pub(super) fn predecessors(mir: &Mir<VReg>) -> SecondaryMap<MBlockId, SmallVec<[MBlockId; 2]>> {
    let mut preds: SecondaryMap<MBlockId, SmallVec<[MBlockId; 2]>> = SecondaryMap::new();
    for &block in &mir.layout {
        for edge in mir.blocks[block].term.edges() {
            preds[edge.block].push(block);
        }
    }
    preds
}

fn live_in(
    mir: &Mir<VReg>,
    components: &Components,
    frame: Option<VReg>,
) -> SecondaryMap<MBlockId, Vec<u32>> {
    let preds = predecessors(mir);
    let mut def_block: Vec<Option<MBlockId>> = vec![None; components.len()];
    let mut used_in: Vec<(u32, MBlockId)> = Vec::new();
    for &block in &mir.layout {
        let data = &mir.blocks[block];
        for param in &data.params {
            for component in components.range((param.reg, param.width)) {
                def_block[component as usize] = Some(block);
            }
        }
        for inst in &data.insts {
            for operand in work::defs(inst) {
                for component in components.range(operand) {
                    def_block[component as usize] = Some(block);
                }
            }
        }
    }
    for &block in &mir.layout {
        let mut add = |operand: Operand| {
            if Some(operand.0) == frame {
                return;
            }
            for component in components.range(operand) {
                if def_block[component as usize] != Some(block) {
                    used_in.push((component, block));
                }
            }
        };
        for inst in &mir.blocks[block].insts {
            work::uses(inst).into_iter().for_each(&mut add);
        }
        exit_uses(mir, block).into_iter().for_each(&mut add);
    }
    used_in.sort_unstable();
    used_in.dedup();

    let mut live: SecondaryMap<MBlockId, Vec<u32>> = SecondaryMap::new();
    live.resize(mir.blocks.len());
    let mut stack = Vec::new();
    for (component, block) in used_in {
        stack.push(block);
        while let Some(block) = stack.pop() {
            // Components come in ascending order, so the last entry tells whether this one was here.
            if live[block].last() == Some(&component) {
                continue;
            }
            live[block].push(component);
            let def = def_block[component as usize];
            stack.extend(preds[block].iter().filter(|&&pred| Some(pred) != def));
        }
    }
    live
}

/// Numbers the connected components of divergent blocks.
fn divergent_regions(mir: &Mir<VReg>) -> SecondaryMap<MBlockId, Option<u32>> {
    let preds = predecessors(mir);
    let mut region: SecondaryMap<MBlockId, Option<u32>> = SecondaryMap::new();
    region.resize(mir.blocks.len());
    let mut count = 0;
    let mut stack = Vec::new();
    for &block in &mir.layout {
        if !mir.blocks[block].divergent || region[block].is_some() {
            continue;
        }
        region[block] = Some(count);
        stack.push(block);
        while let Some(block) = stack.pop() {
            let targets = mir.blocks[block].term.edges().into_iter().map(|edge| edge.block);
            for next in targets.chain(preds[block].iter().copied()) {
                if mir.blocks[next].divergent && region[next].is_none() {
                    region[next] = Some(count);
                    stack.push(next);
                }
            }
        }
        count += 1;
    }
    region
}
