//! Groups virtual registers that may share a physical register, so that copies between them vanish.
//!
//! In: live ranges, and *affinities*: pairs of components that a block edge or a copy connects. Out:
//! classes. A class places each member at a fixed distance from a common origin, so the scalar that is
//! copied into the upper half of a pair is a member at distance 1. Two classes merge only if no lane of
//! one is live where the same lane of the other is, and if their alignments agree. What must be in certain
//! registers is one class for each file whose origin is register 0; its lanes are taken where a call destroys
//! a register.
//!
//! This is aggressive coalescing of a function in conventional SSA form (Boissinot, Darte, Rastello,
//! Dupont de Dinechin and Guillon, "Revisiting out-of-SSA translation for correctness, code quality, and
//! efficiency", CGO 2009), hottest affinity first, with exact live ranges instead of the dominance test.
//! An interference graph is never built. A merge looks up the segments of the smaller class in the larger
//! one and then moves them there: `O(n log² n)` for `n` segments over all merges.

use std::collections::BTreeMap;

use cranelift_entity::EntityRef;
use ptxc_sass::{RegFile, Register};

use super::assign::Budget;
use super::live::{LiveRanges, Segment};
use super::work::Work;
use super::{AllocError, isolate, live, moves};
use crate::interrupt;
use crate::mir::{EdgeArg, VReg, VRegId};

/// The alignment of a tuple: the next power of two, at most 4; 1 for predicates.
pub(super) fn alignment(width: u8) -> u8 {
    width.max(1).next_power_of_two().min(4)
}

/// Virtual registers at fixed distances from an origin.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// Virtual registers with their distance from the origin.
    pub members: Vec<(u32, i16)>,
    pub file: RegFile,
    /// Whether the origin is register 0: the class of what must be in certain registers.
    pub fixed: bool,
    /// The origin modulo `align` is `residue`.
    pub align: u8,
    pub residue: u8,
    /// Lanes from `low` up to but not including `high` are members' components.
    pub low: i16,
    pub high: i16,
    /// The segments of each lane by their start; built when a merge is first tried.
    lanes: Option<BTreeMap<i16, BTreeMap<u32, u32>>>,
    segments: usize,
}

/// A partition of the virtual registers.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    /// Empty where the class was merged into another.
    pub list: Vec<Class>,
    of: Vec<u32>,
    offset: Vec<i16>,
    /// The number of registers of each file.
    limits: Budget,
}

impl Classes {
    /// Each virtual register in a class of its own, but those that must be in certain registers: they are one
    /// class for each file, whose origin is register 0.
    pub fn new(work: &Work<'_>, live: &LiveRanges<'_>, limits: &Budget) -> Result<Classes, AllocError> {
        let mut classes = Classes::separate(work, limits);
        for file in RegFile::ALL {
            classes.join_fixed(work, live, file)?;
        }
        Ok(classes)
    }

    fn join_fixed(
        &mut self,
        work: &Work<'_>,
        live: &LiveRanges<'_>,
        file: RegFile,
    ) -> Result<(), AllocError> {
        let mut all = work.fixed.iter().filter_map(|(id, place)| {
            place.filter(|place| place.file() == file).map(|place| (id.index(), i16::from(place.index())))
        });
        let Some((into, offset)) = all.next() else { return Ok(()) };
        let mut members = vec![(into as u32, offset)];
        self.offset[into] = offset;
        for (vreg, offset) in all {
            self.list[vreg].members.clear();
            members.push((vreg as u32, offset));
            (self.of[vreg], self.offset[vreg]) = (into as u32, offset);
        }
        let class = &mut self.list[into];
        class.high = members
            .iter()
            .map(|&(vreg, offset)| offset + work.mir.vregs[VRegId::new(vreg as usize)].width.max(1) as i16)
            .max()
            .unwrap_or(0);
        class.align = if file.is_predicate() { 1 } else { 4 };
        (class.members, class.fixed) = (members, true);
        let mut lanes: BTreeMap<i16, BTreeMap<u32, u32>> = BTreeMap::new();
        for &(vreg, offset) in &class.members {
            for (lane, component) in live.all(vreg as usize).enumerate() {
                let lane = lanes.entry(offset + lane as i16).or_default();
                for &segment in &live.ranges[component as usize] {
                    if overlaps(lane, segment) {
                        return Err(AllocError::SharedPlace { file, index: (offset as u8) });
                    }
                    lane.insert(segment.start, segment.end);
                    class.segments += 1;
                }
            }
        }
        // What a call destroys holds nothing across it.
        for call in &live.calls {
            for reg in call.clobbers.iter().filter(|reg| reg.file() == file) {
                let lane = lanes.entry(i16::from(reg.index())).or_default();
                lane.insert(call.point, call.point + 1);
            }
        }
        if file == RegFile::Gpr && work.is_framed() {
            lanes.entry(1).or_default().insert(0, u32::MAX);
        }
        class.lanes = Some(lanes);
        Ok(())
    }

    /// Each virtual register in a class of its own, whatever register it must be in.
    pub fn separate(work: &Work<'_>, limits: &Budget) -> Classes {
        let vregs = &work.mir.vregs;
        let list = vregs
            .iter()
            .enumerate()
            .map(|(index, (_, data))| Class {
                members: vec![(index as u32, 0)],
                file: data.file,
                fixed: false,
                align: alignment(data.width),
                residue: 0,
                low: 0,
                high: data.width.max(1) as i16,
                lanes: None,
                segments: 0,
            })
            .collect();
        Classes { list, of: (0..vregs.len() as u32).collect(), offset: vec![0; vregs.len()], limits: *limits }
    }

    /// The class of a virtual register.
    pub fn of(&self, vreg: usize) -> usize {
        self.of[vreg] as usize
    }

    /// The distance of a virtual register from the origin of its class.
    pub fn offset(&self, vreg: usize) -> i16 {
        self.offset[vreg]
    }

    /// Puts two components into one register; whether that is possible. If not, nothing changes.
    pub fn merge(&mut self, live: &LiveRanges<'_>, a: VReg, b: VReg) -> bool {
        let place = |reg: VReg| self.offset[reg.id.index()] + reg.component as i16;
        let (mut into, mut from) = (self.of(a.id.index()), self.of(b.id.index()));
        let mut shift = place(a) - place(b);
        if into == from {
            return shift == 0;
        }
        if a.file != b.file {
            return false;
        }
        self.build_lanes(live, into);
        self.build_lanes(live, from);
        let rank = |class: usize| (self.list[class].fixed, self.list[class].segments);
        if rank(into) < rank(from) {
            (into, from, shift) = (from, into, -shift);
        }
        let (large, small) = (&self.list[into], &self.list[from]);
        let (low, high) = (large.low.min(small.low + shift), large.high.max(small.high + shift));
        let limit = i32::from(self.limits[large.file as usize]);
        if i32::from(high - low) > limit || large.fixed && (low < 0 || i32::from(high) > limit) {
            return false;
        }
        let small_residue = (small.residue as i16 - shift).rem_euclid(small.align as i16) as u8;
        let (align, residue) = if large.align >= small.align {
            (large.align, large.residue)
        } else {
            (small.align, small_residue)
        };
        let weaker = large.align.min(small.align);
        if residue % weaker != large.residue % weaker || residue % weaker != small_residue % weaker {
            return false;
        }
        if interfere(large, small, shift) {
            return false;
        }
        let emptied = Class {
            members: Vec::new(),
            file: small.file,
            fixed: false,
            align: 1,
            residue: 0,
            low: 0,
            high: 0,
            lanes: None,
            segments: 0,
        };
        let small = std::mem::replace(&mut self.list[from], emptied);
        let large = &mut self.list[into];
        (large.low, large.high, large.align, large.residue) = (low, high, align, residue);
        large.segments += small.segments;
        let lanes = large.lanes.get_or_insert_default();
        for (lane, segments) in small.lanes.into_iter().flatten() {
            lanes.entry(lane + shift).or_default().extend(segments);
        }
        for (vreg, offset) in small.members {
            large.members.push((vreg, offset + shift));
            self.of[vreg as usize] = into as u32;
            self.offset[vreg as usize] = offset + shift;
        }
        true
    }

    fn build_lanes(&mut self, live: &LiveRanges<'_>, class: usize) {
        let class = &mut self.list[class];
        if class.lanes.is_some() {
            return;
        }
        let mut lanes: BTreeMap<i16, BTreeMap<u32, u32>> = BTreeMap::new();
        for &(vreg, offset) in &class.members {
            for (lane, component) in live.all(vreg as usize).enumerate() {
                let range = &live.ranges[component as usize];
                if !range.is_empty() {
                    class.segments += range.len();
                    let lane = lanes.entry(offset + lane as i16).or_default();
                    lane.extend(range.iter().map(|segment| (segment.start, segment.end)));
                }
            }
        }
        class.lanes = Some(lanes);
    }
}

fn interfere(large: &Class, small: &Class, shift: i16) -> bool {
    let (Some(large), Some(small)) = (&large.lanes, &small.lanes) else { return true };
    small.iter().any(|(lane, segments)| {
        let Some(other) = large.get(&(lane + shift)) else { return false };
        segments.iter().any(|(&start, &end)| overlaps(other, Segment { start, end }))
    })
}

fn overlaps(segments: &BTreeMap<u32, u32>, segment: Segment) -> bool {
    segments.range(..segment.end).next_back().is_some_and(|(_, &end)| end > segment.start)
}

/// What would rather share a register: how often it would save a copy, and two components.
pub(super) type Affinity = (u64, VReg, VReg);

/// What edges and copies connect, the most frequent first.
pub(super) fn affinities(work: &Work<'_>) -> Vec<Affinity> {
    let mut affinities: Vec<Affinity> = Vec::new();
    for &block in &work.mir.layout {
        let data = &work.mir.blocks[block];
        for inst in &data.insts {
            interrupt::poll();
            if let Some((dst, src)) = moves::as_copy(&inst.inst) {
                affinities.push((data.frequency, dst, src));
            }
        }
        for edge in data.term.edges() {
            let target = &work.mir.blocks[edge.block];
            for (param, arg) in target.params.iter().zip(&edge.args) {
                if let EdgeArg::Reg(arg) = *arg {
                    let frequency = data.frequency.min(target.frequency);
                    affinities.push((frequency.saturating_mul(param.width as u64), param.reg, arg));
                }
            }
        }
    }
    affinities.sort_by_key(|&(weight, ..)| std::cmp::Reverse(weight));
    affinities
}

/// Merges along affinities.
pub(super) fn coalesce(affinities: &[Affinity], live: &LiveRanges<'_>, classes: &mut Classes) {
    for &(_, a, b) in affinities {
        interrupt::poll();
        classes.merge(live, a, b);
    }
}

/// Merges what must share a register: each guarded definition with its old value.
pub(super) fn join_ties(
    work: &Work<'_>,
    live: &live::LiveRanges<'_>,
    classes: &mut Classes,
) -> Result<(), AllocError> {
    for ((old, def), loc) in isolate::ties(work) {
        if !classes.merge(live, def, old) {
            return Err(AllocError::Tied { loc });
        }
    }
    Ok(())
}
