//! Gives each class a physical register.
//!
//! In: classes with their live ranges, and the number of registers of each file. Out: the first
//! register of each virtual register, or the virtual registers that found no place.
//!
//! For each program point a bit mask says which registers of a file are taken ([`Occupancy`]). A
//! class that looks for a place joins the masks over its live range, each lane shifted by its
//! distance from the origin. The aligned positions that stay clear are free for the whole class,
//! which takes the lowest. So neither an interference graph nor a search through registers is
//! needed, and the cost is the sum of the live ranges: at most (points) × (registers) / 64 words,
//! since the live ranges that fit a file never exceed that.
//!
//! Wide classes go first, because they suffer most from fragmentation (alignment leaves few
//! candidates), then classes with several members, long ones first, then single values in the order
//! of their definitions, which for scalars in SSA form is the optimal order within a block (Hack,
//! Grund and Goos, "Register allocation for programs in SSA form", CC 2006). A class that finds no
//! place is split into its members (except those that a guarded definition ties): its copies then
//! stay. The virtual registers that still find no place are returned and spilled. The next attempt
//! orders classes by the cost of spilling, as Chaitin's and Briggs's allocators do, so the values
//! that spilling cannot shorten are placed first.
//!
//! A class that has a choice takes the register of a value that a copy connects it with, the most
//! frequent copy first, if that does not cost another register (biased colouring, Briggs, Cooper
//! and Torczon, "Improvements to graph coloring register allocation", TOPLAS 1994), else the
//! lowest.
//!
//! Instructions that read their registers late, such as loads, delay every instruction that
//! overwrites these registers. So a class that has a choice avoids, for a few instructions, the
//! registers whose last reader reads late. Such an attempt is given up as soon as it takes more
//! registers than are live at once.
//!
//! Values that must be in certain registers come first. A value that lives across a call avoids the
//! registers that the call destroys. General registers may also be saved around the call
//! ([`save`](super::save)); a class takes such a place only if the calls are rare, and any other
//! place would make the function need more registers than its pressure and its callees do. So slow
//! paths cost the fast paths neither registers nor copies.

use std::cmp::Reverse;

use cranelift_entity::EntityRef;
use ptxc_machine::Arch;
use ptxc_sass::latency::reads_at_issue;
use ptxc_sass::{RegFile, Register};

use super::coalesce::{Affinity, Classes};
use super::live::{LiveRanges, Segment};
use super::occupancy::{Mask, Occupancy};
use super::pressure::destroys_for_good;
use super::work::Work;
use crate::mir::{VReg, VRegId};

/// The lowest number from `lowest` to `highest` that is `residue` modulo `align`, which is 1, 2 or
/// 4, and clear in the mask.
fn lowest_clear(mask: &Mask, lowest: i16, highest: i16, align: u8, residue: u8) -> Option<i16> {
    let aligned = match align {
        1 => u64::MAX,
        2 => 0x5555_5555_5555_5555,
        _ => 0x1111_1111_1111_1111,
    } << residue;
    let first = lowest as usize / 64;
    for (index, taken) in mask.iter().enumerate().skip(first) {
        let from = if index == first { u64::MAX << (lowest % 64) } else { u64::MAX };
        let free = !taken & aligned & from;
        if free != 0 {
            let number = 64 * index as i16 + free.trailing_zeros() as i16;
            return (number <= highest).then_some(number);
        }
    }
    None
}

/// Bit `b` of the result is bit `b + by` of the mask, or clear if there is no such bit.
fn shift_down(mask: Mask, by: i16) -> Mask {
    if by == 0 {
        return mask;
    }
    let (words, bits) = (by.div_euclid(64), by.rem_euclid(64));
    let word = |index: i16| if (0..4).contains(&index) { mask[index as usize] } else { 0 };
    std::array::from_fn(|index| {
        let index = index as i16 + words;
        if bits == 0 { word(index) } else { word(index) >> bits | word(index + 1) << (64 - bits) }
    })
}

/// The registers of the virtual registers.
pub(super) struct Assignment<'p> {
    /// By virtual register: the first register, if any component is ever live.
    pub first: Vec<Option<u8>>,
    pub occupancy: Occupancy,
    /// One more than the highest register taken so far, by file.
    top: [u8; 4],
    /// The number of general registers that the function needs anyway.
    floor: i16,
    /// How often the entry runs.
    entry_frequency: u64,
    /// The registers that late readers may not have read yet, in an attempt that avoids them.
    recent: Option<Recent>,
    /// The segments in which the warp has fewer registers, with their numbers.
    granted: &'p [(u16, Vec<Segment>)],
    /// The least of these numbers, or 0. Values that are live only where the warp has more registers
    /// choose from here on, and leave the lower ones to those that have no choice.
    shared: i16,
}

/// The general registers that late readers may not have read yet.
struct Recent {
    /// By component, whether its last reader reads late.
    reads_late: Vec<bool>,
    /// The registers at each point.
    occupancy: Occupancy,
    /// The number of general registers that the function needs at least.
    needed: i16,
}

/// The number of points, about ten instructions, after which a late reader has read its registers.
const READ_WITHIN: u32 = 20;

impl Recent {
    /// The points after the last reader of a component at which it may still read, if it reads
    /// late.
    fn after(&self, live: &LiveRanges<'_>, component: u32) -> Option<Segment> {
        let last = live.ranges[component as usize].last().filter(|_| self.reads_late[component as usize])?;
        let after =
            Segment { start: last.end, end: (last.end + READ_WITHIN).min(live.points.total() as u32) };
        (after.start < after.end).then_some(after)
    }
}

/// The number of registers of each file that may be used, in the order of [`RegFile::ALL`].
pub(super) type Budget = [u16; 4];

/// The order in which classes choose.
#[derive(Clone, Copy)]
pub(super) enum Priority<'a> {
    /// By width, then length; keeps the number of used registers small.
    Compact,
    /// By width, then start. Long ranges first may leave tuples no place where as many are live as fit.
    Start,
    /// By the cost of spilling a point of a virtual register.
    Cost(&'a [u128]),
}

/// For each virtual register its affinities: the wanted place of its origin, given the other's.
struct Wishes {
    /// By virtual register, the range of its entries.
    starts: Vec<u32>,
    /// The other virtual register, and the distance from it.
    entries: Vec<(u32, i16)>,
}

impl Wishes {
    fn new(affinities: &[Affinity], count: usize) -> Wishes {
        let ends = |a: VReg, b: VReg| {
            (a.id().index(), (b.id().as_u32(), b.component() as i16 - a.component() as i16))
        };
        let both = affinities.iter().flat_map(|&(_, a, b)| [ends(a, b), ends(b, a)]);
        let mut starts = vec![0u32; count + 1];
        both.clone().for_each(|(vreg, _)| starts[vreg + 1] += 1);
        for vreg in 0..count {
            starts[vreg + 1] += starts[vreg];
        }
        let mut next = starts.clone();
        let mut entries = vec![(0, 0); starts[count] as usize];
        for (vreg, entry) in both {
            entries[next[vreg] as usize] = entry;
            next[vreg] += 1;
        }
        Wishes { starts, entries }
    }

    /// The most frequent first.
    fn of(&self, vreg: u32) -> &[(u32, i16)] {
        if self.entries.is_empty() {
            return &[];
        }
        let vreg = vreg as usize;
        &self.entries[self.starts[vreg] as usize..self.starts[vreg + 1] as usize]
    }
}

/// The input of assigning.
pub(super) struct Problem<'a> {
    pub work: &'a Work<'a>,
    pub live: &'a LiveRanges<'a>,
    /// The classes without optional merges.
    pub cores: &'a Classes,
    pub affinities: &'a [Affinity],
    pub budget: &'a Budget,
    /// Where a warp has fewer general registers than the budget, and how many.
    pub granted: &'a [(u16, Vec<Segment>)],
    pub arch: Arch,
}

/// Places every class, or returns virtual registers that found no place: all, or with `stops` the
/// first. R1 stays free if it is the stack pointer.
pub(super) fn assign<'p>(
    problem: &Problem<'p>,
    classes: &Classes,
    priority: Priority<'_>,
    stops: bool,
) -> Result<Assignment<'p>, Vec<VRegId>> {
    let Problem { work, live, .. } = *problem;
    let compact = || attempt(problem, classes, priority, stops, None);
    let needed = live.most(RegFile::Gpr) as i16 + i16::from(work.is_framed());
    // If all registers are needed, there is hardly a choice.
    let has_choice =
        matches!(priority, Priority::Compact) && needed < problem.budget[RegFile::Gpr as usize] as i16;
    let reads_late = has_choice.then(|| reads_late(work, live, problem.arch)).flatten();
    let Some(reads_late) = reads_late else { return compact() };
    let recent = Recent { reads_late, occupancy: Occupancy::new(live.points.total()), needed };
    attempt(problem, classes, priority, true, Some(recent)).or_else(|_| compact())
}

/// By component, whether its last reader reads late; `None` if none does.
fn reads_late(work: &Work<'_>, live: &LiveRanges<'_>, arch: Arch) -> Option<Vec<bool>> {
    let mut late = vec![false; live.ranges.len()];
    let mut any = false;
    for &block in &work.mir.layout {
        for (index, minst) in work.mir.blocks[block].insts.iter().enumerate() {
            ptxc_interrupt::poll();
            if reads_at_issue(arch, &minst.inst, RegFile::Gpr) {
                continue;
            }
            let end = live.points.late(block, index);
            minst.inst.for_each_use(|access| {
                if access.reg.file() != RegFile::Gpr {
                    return;
                }
                for component in live.of((access.reg, access.width)) {
                    let component = component as usize;
                    if live.ranges[component].last().is_some_and(|last| last.end == end) {
                        late[component] = true;
                        any = true;
                    }
                }
            });
        }
    }
    any.then_some(late)
}

/// Places every class; avoids the registers of late readers if these are to be remembered.
fn attempt<'p>(
    problem: &Problem<'p>,
    classes: &Classes,
    priority: Priority<'_>,
    stops: bool,
    recent: Option<Recent>,
) -> Result<Assignment<'p>, Vec<VRegId>> {
    let Problem { work, live, cores, affinities, budget, granted, .. } = *problem;
    let mut assignment = Assignment {
        first: vec![None; work.mir.vregs.len()],
        occupancy: Occupancy::new(live.points.total()),
        top: [0; 4],
        floor: floor(live),
        entry_frequency: work.mir.blocks[work.mir.entry()].frequency,
        recent,
        granted,
        shared: granted.iter().map(|&(count, _)| count as i16).min().unwrap_or(0),
    };
    if work.is_framed() {
        assignment.occupancy.reserved[RegFile::Gpr as usize][0] = 0b10;
    }
    assignment.occupancy.reserved[RegFile::Ugpr as usize] = work.kept_uniform.mask(RegFile::Ugpr);
    for (count, segments) in granted {
        for register in *count..budget[RegFile::Gpr as usize] {
            assignment.occupancy.take(RegFile::Gpr, register as u8, segments);
        }
    }
    let wishes = Wishes::new(affinities, work.mir.vregs.len());
    let mut failed = Vec::new();
    for class in in_order(live, classes, priority) {
        ptxc_interrupt::poll();
        if assignment.is_wasteful() {
            return Err(Vec::new());
        }
        if assignment.place(live, classes, class, &wishes, budget) {
            continue;
        }
        let mut parts: Vec<usize> = classes.members(class).map(|(vreg, _)| cores.of(vreg as usize)).collect();
        parts.sort_unstable();
        parts.dedup();
        parts.sort_by_key(|&part| Reverse(cores.list[part].high - cores.list[part].low));
        for part in parts {
            if !assignment.place(live, cores, part, &wishes, budget) {
                failed.extend(cores.members(part).map(|(vreg, _)| VRegId::new(vreg as usize)));
                if stops {
                    return Err(failed);
                }
            }
        }
    }
    if failed.is_empty() && !assignment.is_wasteful() { Ok(assignment) } else { Err(failed) }
}

/// The number of general registers that the function needs with any assignment, in units of the 8
/// in which a thread gets them.
fn floor(live: &LiveRanges<'_>) -> i16 {
    if live.calls.is_empty() {
        return 0;
    }
    let called = live.calls.iter().flat_map(|call| call.clobbers.iter());
    let called = called.filter(|reg| reg.file() == RegFile::Gpr).map(|reg| u32::from(reg.index()) + 1).max();
    let floor = called.unwrap_or(0).max(live.most(RegFile::Gpr));
    floor.next_multiple_of(8) as i16
}

/// The classes that are ever live, in the order in which they choose.
fn in_order(live: &LiveRanges<'_>, classes: &Classes, priority: Priority<'_>) -> Vec<usize> {
    // The order: classes in certain registers, the widest, the longest, the first. All keys are
    // bits of one number.
    let mut keys: Vec<u128> = Vec::with_capacity(classes.list.len());
    for (index, class) in classes.list.iter().enumerate() {
        ptxc_interrupt::poll();
        let (mut start, mut length) = (u32::MAX, 0u64);
        for (vreg, _) in classes.members(index) {
            for segment in live.ranges_of(vreg as usize).iter().flatten() {
                start = start.min(segment.start);
                length += u64::from(segment.end - segment.start);
            }
        }
        if length == 0 {
            continue;
        }
        let width = class.high - class.low;
        let by_length = !matches!(priority, Priority::Start) && (width > 1 || class.count > 1);
        let length = if by_length { length } else { 0 };
        let narrow = (i16::MAX - width) as u64;
        let first = u64::from(!class.fixed) << 63 | narrow << 48;
        let brevity = !length << 16 >> 16;
        let second = u64::from(start) << 32 | index as u64;
        keys.push(u128::from(first | brevity) << 64 | u128::from(second));
    }
    keys.sort_unstable();
    let mut order: Vec<usize> = keys.into_iter().map(|key| key as u32 as usize).collect();
    if let Priority::Cost(costs) = priority {
        let cost = |index: usize| classes.members(index).map(|(vreg, _)| costs[vreg as usize]).min();
        order.sort_by_cached_key(|&index| (!classes.list[index].fixed, Reverse(cost(index))));
    }
    order
}

/// Adds the registers of one mask to another.
fn join(all: &mut Mask, more: Mask) {
    for (all, more) in all.iter_mut().zip(more) {
        *all |= more;
    }
}

impl Assignment<'_> {
    /// The number of general registers that the warp has at a point, if it has fewer than the function.
    pub fn granted_at(&self, point: u32) -> Option<u16> {
        let is_there = |segments: &[Segment]| {
            let after = segments.partition_point(|segment| segment.start <= point);
            after > 0 && point < segments[after - 1].end
        };
        self.granted.iter().find(|(_, segments)| is_there(segments)).map(|&(count, _)| count)
    }

    /// Whether avoiding registers has used more of them than are needed at once.
    fn is_wasteful(&self) -> bool {
        let top = i16::from(self.top[RegFile::Gpr as usize]);
        self.recent.as_ref().is_some_and(|recent| top > recent.needed)
    }

    /// Gives a class the lowest place that is free throughout; returns whether there is one.
    fn place(
        &mut self,
        live: &LiveRanges<'_>,
        classes: &Classes,
        index: usize,
        wishes: &Wishes,
        budget: &Budget,
    ) -> bool {
        let class = &classes.list[index];
        let file = class.file;
        if let (Some(vreg), true) = (class.single(), live.calls.is_empty())
            && wishes.of(vreg).is_empty()
            && let [range] = live.ranges_of(vreg as usize)
        {
            return self.place_register(live, range, file, vreg, budget);
        }
        let mut blocked: Mask = [0; 4];
        // The registers that calls destroy while the class is alive, and the number of the class's
        // registers among them.
        let mut destroyed: Mask = [0; 4];
        let mut weight = 0u64;
        let mut is_alive = false;
        for (vreg, offset) in classes.members(index) {
            for (range, lane) in live.ranges_of(vreg as usize).iter().zip(offset..) {
                if range.is_empty() {
                    continue;
                }
                is_alive = true;
                join(&mut blocked, shift_down(self.occupancy.busy(file, range), lane));
                if !live.calls.is_empty() {
                    let mut lost: Mask = [0; 4];
                    for call in range.iter().flat_map(|&segment| live.calls_in(segment)) {
                        join(&mut lost, call.clobbers.mask(file));
                        weight = weight.saturating_add(call.frequency);
                    }
                    join(&mut destroyed, shift_down(lost, lane));
                }
            }
        }
        if !is_alive {
            return true;
        }
        let limit = budget[file as usize] as i16;
        let lowest = (-class.low).max(0);
        if class.fixed && class.high > limit {
            return false;
        }
        let highest = if class.fixed { 0 } else { limit - class.high };
        let fits = |origin: i16, mask: &Mask| {
            origin % class.align as i16 == class.residue as i16
                && mask[origin as usize / 64] >> (origin % 64) & 1 == 0
        };
        let shared = if file == RegFile::Gpr { self.shared } else { 0 };
        let first = |mask: &Mask| {
            let from = |lowest: i16| lowest_clear(mask, lowest, highest, class.align, class.residue);
            (shared > 0).then(|| from(lowest.max(shared - class.low))).flatten().or_else(|| from(lowest))
        };
        let mut clear = blocked;
        join(&mut clear, destroyed);
        // Places where a copy would vanish, among the registers in use.
        let top = i16::from(self.top[file as usize]);
        let wished = classes.members(index).flat_map(|(vreg, offset)| {
            wishes.of(vreg).iter().map(move |&(other, distance)| (other, distance - offset))
        });
        let wished = wished
            .filter_map(|(other, distance)| Some(i16::from(self.first[other as usize]?) + distance))
            .find(|&origin| {
                let inside = (lowest..=highest).contains(&origin) && origin + class.high <= top;
                inside && fits(origin, &clear)
            });
        let unhurried = || {
            let found = self.unhurried(live, classes, index, &clear);
            found.filter(|&origin| live.calls.is_empty() || origin + class.high <= self.floor)
        };
        let unhurried = if class.fixed || wished.is_some() { None } else { unhurried() };
        let origin = match wished.or_else(|| first(&clear)) {
            _ if class.fixed => first(&blocked),
            _ if unhurried.is_some() => unhurried,
            None if destroys_for_good(file) => None,
            None => first(&blocked),
            Some(origin) if origin + class.high <= self.floor || weight >= self.entry_frequency => {
                Some(origin)
            }
            Some(origin) if destroys_for_good(file) => Some(origin),
            Some(_) => first(&blocked),
        };
        let Some(origin) = origin else { return false };
        for (vreg, offset) in classes.members(index) {
            for (range, lane) in live.ranges_of(vreg as usize).iter().zip(offset..) {
                if !range.is_empty() {
                    self.occupancy.take(file, (origin + lane) as u8, range);
                }
            }
            self.remember(live, vreg, origin + offset, file);
            self.first[vreg as usize] = Some((origin + offset) as u8);
        }
        self.top[file as usize] = self.top[file as usize].max((origin + class.high) as u8);
        true
    }

    /// The lowest place that is free throughout and that no late reader may still read, if there is
    /// one among the registers that the function needs anyway.
    fn unhurried(&self, live: &LiveRanges<'_>, classes: &Classes, index: usize, clear: &Mask) -> Option<i16> {
        let class = &classes.list[index];
        let recent = self.recent.as_ref().filter(|_| class.file == RegFile::Gpr && self.shared == 0)?;
        let mut mask = *clear;
        for (vreg, offset) in classes.members(index) {
            for (range, lane) in live.ranges_of(vreg as usize).iter().zip(offset..) {
                if let Some(first) = range.first() {
                    join(&mut mask, shift_down(recent.occupancy.at(class.file, first.start), lane));
                }
            }
        }
        lowest_clear(&mask, (-class.low).max(0), recent.needed - class.high, class.align, class.residue)
    }

    /// Records how long late readers may still read the registers of a virtual register, which
    /// begin with `first`.
    fn remember(&mut self, live: &LiveRanges<'_>, vreg: u32, first: i16, file: RegFile) {
        let Some(recent) = self.recent.as_mut().filter(|_| file == RegFile::Gpr) else { return };
        for (component, register) in live.all(vreg as usize).zip(first..) {
            if let Some(after) = recent.after(live, component) {
                recent.occupancy.take(file, register as u8, &[after]);
            }
        }
    }

    /// Places a class of one register that no call destroys and that no copy wants in another
    /// place.
    fn place_register(
        &mut self,
        live: &LiveRanges<'_>,
        range: &[Segment],
        file: RegFile,
        vreg: u32,
        budget: &Budget,
    ) -> bool {
        if range.is_empty() {
            return true;
        }
        let taken = self.occupancy.busy(file, range);
        let highest = budget[file as usize] as i16 - 1;
        let shared = if file == RegFile::Gpr { self.shared } else { 0 };
        let is_hurried = file != RegFile::Gpr || shared > 0;
        let unhurried = self.recent.as_ref().filter(|_| !is_hurried).and_then(|recent| {
            let mut hurried = recent.occupancy.at(file, range[0].start);
            join(&mut hurried, taken);
            lowest_clear(&hurried, 0, recent.needed - 1, 1, 0)
        });
        let first = |lowest: i16| lowest_clear(&taken, lowest, highest, 1, 0);
        let above = || (shared > 0).then(|| first(shared)).flatten();
        let Some(register) = unhurried.or_else(above).or_else(|| first(0)) else {
            return false;
        };
        self.occupancy.take(file, register as u8, range);
        self.remember(live, vreg, register, file);
        self.first[vreg as usize] = Some(register as u8);
        self.top[file as usize] = self.top[file as usize].max(register as u8 + 1);
        true
    }
}
