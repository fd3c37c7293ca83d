//! Groups virtual registers that may share a physical register, so that copies between them vanish.
//!
//! In: live ranges, and *affinities*: pairs of components that a block edge or a copy connects, and
//! sums that a matrix product reads and writes: these stay in place through loops.
//! Out: classes. A class places each member at a fixed distance from a common origin, so the scalar
//! that is copied into the upper half of a pair is a member at distance 1. Two classes merge only
//! if no lane of one is live where the same lane of the other is, and if their alignments agree.
//! Values that must be in certain registers form one class for each file, whose origin is
//! register 0. Its lanes are taken where a call destroys a register.
//!
//! This is aggressive coalescing of a function in conventional SSA form (Boissinot, Darte,
//! Rastello, Dupont de Dinechin and Guillon, "Revisiting out-of-SSA translation for correctness,
//! code quality, and efficiency", CGO 2009), hottest affinity first, with exact live ranges instead
//! of the dominance test. An interference graph is never built. A merge looks up the segments of
//! the smaller class in the larger one and then moves them there: `O(n log² n)` for `n` segments
//! over all merges.

use std::collections::BTreeMap;

use cranelift_entity::EntityRef;
use ptxc_sass::{RegFile, Register};

use super::assign::Budget;
use super::live::{LiveRanges, Segment};
use super::work::Work;
use super::{AllocError, isolate, lent, live, moves};
use crate::mir::{EdgeArg, VReg, VRegId};

/// The alignment of a tuple: the next power of two, at most 4; 1 for predicates. ptxas aligns longer
/// tuples of uniform registers, the places of tensor copies, to 8.
pub(super) fn alignment(file: RegFile, width: u8) -> u8 {
    width.max(1).next_power_of_two().min(if file == RegFile::Ugpr { 8 } else { 4 })
}

/// The segments of each lane by their start.
type Lanes = BTreeMap<i16, BTreeMap<u32, u32>>;

/// Marks a missing virtual register, or missing lanes.
const NONE: u32 = u32::MAX;

/// Up to this number of segments, two classes are compared segment by segment.
const FEW: usize = 16;

/// Virtual registers at fixed distances from an origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    /// The first and the last virtual register of its list.
    ends: (u32, u32),
    /// The number of virtual registers in it.
    pub count: u32,
    pub file: RegFile,
    /// Whether the origin is register 0: the class of values that must be in certain registers.
    pub fixed: bool,
    /// The origin modulo `align` is `residue`.
    pub align: u8,
    pub residue: u8,
    /// Lanes from `low` up to but not including `high` are members' components.
    pub low: i16,
    pub high: i16,
    /// The index of its lanes; built when a merge is tried with more than a few segments.
    lanes: u32,
    /// The number of segments in its lanes, once a merge has been tried.
    segments: Option<usize>,
}

impl Class {
    /// The only virtual register of the class, if it has one component and may be anywhere.
    pub fn single(&self) -> Option<u32> {
        (self.count == 1 && self.high - self.low == 1 && !self.fixed).then_some(self.ends.0)
    }
}

/// A partition of the virtual registers.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    /// The classes; a class is empty if it was merged into another.
    pub list: Vec<Class>,
    of: Vec<u32>,
    offset: Vec<i16>,
    /// By virtual register, the next one in its class.
    next: Vec<u32>,
    lanes: Vec<Lanes>,
    /// The number of registers of each file.
    limits: Budget,
}

impl Classes {
    /// Puts each virtual register into a class of its own, except those that must be in certain
    /// registers: these form one class for each file, whose origin is register 0.
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
        self.offset[into] = offset;
        for (vreg, offset) in all {
            self.append(into, vreg);
            self.offset[vreg] = offset;
        }
        let end = |(vreg, offset)| offset + work.mir.vregs[VRegId::from_u32(vreg)].width.max(1) as i16;
        self.list[into].high = self.members(into).map(end).max().unwrap_or(0);
        self.list[into].align = if file.is_predicate() { 1 } else { 4 };
        self.list[into].fixed = true;
        let mut segments = 0;
        let mut lanes = Lanes::new();
        for (vreg, offset) in self.members(into) {
            for (lane, component) in live.all(vreg as usize).enumerate() {
                let lane = lanes.entry(offset + lane as i16).or_default();
                for &segment in &live.ranges[component as usize] {
                    if overlaps(lane, segment) {
                        return Err(AllocError::SharedPlace { file, index: (offset as u8) });
                    }
                    lane.insert(segment.start, segment.end);
                    segments += 1;
                }
            }
        }
        // A register that a call destroys holds no value across the call.
        for call in &live.calls {
            for reg in call.clobbers.iter().filter(|reg| reg.file() == file) {
                let lane = lanes.entry(i16::from(reg.index())).or_default();
                lane.insert(call.point, call.point + 1);
            }
        }
        if file == RegFile::Gpr && work.is_framed() {
            lanes.entry(1).or_default().insert(0, u32::MAX);
        }
        self.list[into].segments = Some(segments);
        self.list[into].lanes = self.lanes.len() as u32;
        self.lanes.push(lanes);
        Ok(())
    }

    /// Puts each virtual register into a class of its own, even if it must be in a certain
    /// register.
    pub fn separate(work: &Work<'_>, limits: &Budget) -> Classes {
        let vregs = &work.mir.vregs;
        let list = vregs
            .iter()
            .enumerate()
            .map(|(index, (_, data))| Class {
                ends: (index as u32, index as u32),
                count: 1,
                file: data.file,
                fixed: false,
                align: alignment(data.file, data.width),
                residue: 0,
                low: 0,
                high: data.width.max(1) as i16,
                lanes: NONE,
                segments: None,
            })
            .collect();
        Classes {
            list,
            of: (0..vregs.len() as u32).collect(),
            offset: vec![0; vregs.len()],
            next: vec![NONE; vregs.len()],
            lanes: Vec::new(),
            limits: *limits,
        }
    }

    /// The virtual registers of a class with their distances from its origin.
    pub fn members(&self, class: usize) -> impl Iterator<Item = (u32, i16)> {
        let mut at = self.list[class].ends.0;
        std::iter::from_fn(move || {
            let vreg = at;
            let offset = *self.offset.get(vreg as usize)?;
            at = self.next[vreg as usize];
            Some((vreg, offset))
        })
    }

    /// Appends the virtual registers of one class to those of another one.
    fn append(&mut self, into: usize, from: usize) {
        let mut at = self.list[from].ends.0;
        while let Some(of) = self.of.get_mut(at as usize) {
            *of = into as u32;
            at = self.next[at as usize];
        }
        let moved = &mut self.list[from];
        let (ends, count) = (moved.ends, moved.count);
        (moved.ends, moved.count, moved.lanes) = ((NONE, NONE), 0, NONE);
        let grown = &mut self.list[into];
        self.next[grown.ends.1 as usize] = ends.0;
        grown.ends.1 = ends.1;
        grown.count += count;
    }

    /// The class of a virtual register.
    pub fn of(&self, vreg: usize) -> usize {
        self.of[vreg] as usize
    }

    /// The distance of a virtual register from the origin of its class.
    pub fn offset(&self, vreg: usize) -> i16 {
        self.offset[vreg]
    }

    /// Puts two components into one register, if possible; returns whether it is. If not, nothing
    /// changes.
    pub fn merge(&mut self, live: &LiveRanges<'_>, a: VReg, b: VReg) -> bool {
        let place = |reg: VReg| self.offset[reg.id().index()] + reg.component() as i16;
        let (mut into, mut from) = (self.of(a.id().index()), self.of(b.id().index()));
        let mut shift = place(a) - place(b);
        if into == from {
            return shift == 0;
        }
        if a.file() != b.file() {
            return false;
        }
        let segments = self.count_segments(live, into) + self.count_segments(live, from);
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
        if segments > FEW {
            self.build_lanes(live, into);
        }
        if self.interfere(live, into, from, shift) {
            return false;
        }
        if let Some(mut lanes) = self.take_lanes(into) {
            for (lane, segment) in self.segments(live, from) {
                lanes.entry(lane + shift).or_default().insert(segment.start, segment.end);
            }
            self.lanes[self.list[into].lanes as usize] = lanes;
        }
        self.take_lanes(from);
        let large = &mut self.list[into];
        (large.low, large.high, large.align, large.residue) = (low, high, align, residue);
        large.segments = Some(segments);
        let mut at = self.list[from].ends.0;
        while let Some(offset) = self.offset.get_mut(at as usize) {
            *offset += shift;
            at = self.next[at as usize];
        }
        self.append(into, from);
        true
    }

    /// The segments of all lanes of a class, except those of registers that calls destroy.
    fn segments(&self, live: &LiveRanges<'_>, class: usize) -> impl Iterator<Item = (i16, Segment)> {
        self.members(class).flat_map(|(vreg, offset)| {
            let lanes = live.ranges_of(vreg as usize).iter().zip(offset..);
            lanes.flat_map(|(range, lane)| range.iter().map(move |&segment| (lane, segment)))
        })
    }

    fn count_segments(&mut self, live: &LiveRanges<'_>, class: usize) -> usize {
        let count = || {
            self.members(class)
                .flat_map(|(vreg, _)| live.ranges_of(vreg as usize))
                .map(|range| range.len())
                .sum()
        };
        let segments = self.list[class].segments.unwrap_or_else(count);
        self.list[class].segments = Some(segments);
        segments
    }

    fn build_lanes(&mut self, live: &LiveRanges<'_>, class: usize) {
        if self.list[class].lanes != NONE {
            return;
        }
        let mut lanes = Lanes::new();
        for (lane, segment) in self.segments(live, class) {
            lanes.entry(lane).or_default().insert(segment.start, segment.end);
        }
        self.list[class].lanes = self.lanes.len() as u32;
        self.lanes.push(lanes);
    }

    fn take_lanes(&mut self, class: usize) -> Option<Lanes> {
        self.lanes.get_mut(self.list[class].lanes as usize).map(std::mem::take)
    }

    /// Whether a lane of one class is live where the same lane of another class, shifted by `shift`
    /// places, is live.
    fn interfere(&self, live: &LiveRanges<'_>, large: usize, small: usize, shift: i16) -> bool {
        let lanes = self.lanes.get(self.list[large].lanes as usize);
        self.segments(live, small).any(|(lane, segment)| match lanes {
            Some(lanes) => lanes.get(&(lane + shift)).is_some_and(|other| overlaps(other, segment)),
            None => self.members(large).any(|(vreg, offset)| {
                let ranges = live.ranges_of(vreg as usize);
                let range = usize::try_from(lane + shift - offset).ok().and_then(|lane| ranges.get(lane));
                range
                    .into_iter()
                    .flatten()
                    .any(|other| other.start < segment.end && segment.start < other.end)
            }),
        })
    }
}

fn overlaps(segments: &BTreeMap<u32, u32>, segment: Segment) -> bool {
    segments.range(..segment.end).next_back().is_some_and(|(_, &end)| end > segment.start)
}

/// Two components that should share a register, and how often that would save a copy.
pub(super) type Affinity = (u64, VReg, VReg);

/// The pairs that edges and copies connect, and the sums of matrix products: the most frequent
/// first.
pub(super) fn affinities(work: &Work<'_>) -> Vec<Affinity> {
    let mut affinities: Vec<Affinity> = Vec::new();
    for &block in &work.mir.layout {
        let data = &work.mir.blocks[block];
        for inst in &data.insts {
            ptxc_interrupt::poll();
            if let Some((dst, src)) = moves::as_copy(&inst.inst) {
                affinities.push((data.frequency, dst, src));
            } else if let Some((to, from, width)) = moves::accumulates(&inst.inst) {
                let weight = data.frequency.saturating_mul(2 * u64::from(width));
                affinities.push((weight, to, from));
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
        ptxc_interrupt::poll();
        classes.merge(live, a, b);
    }
}

/// Merges values that must share a register: each guarded definition with its old value, and
/// registers that are lent to products of a warpgroup.
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
    // Few functions lend registers; the others need no further walk.
    if !work.lent.values().any(|&lent| lent) {
        return Ok(());
    }
    for (to, from, loc) in lent::pairs(&work.mir, |id| work.lent[id]) {
        if !classes.merge(live, to, from) {
            return Err(AllocError::Lent { loc });
        }
    }
    Ok(())
}
