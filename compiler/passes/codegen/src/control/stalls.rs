//! Stall counts: the least distances that satisfy every fixed-latency dependence on every path.
//!
//! In: the stream with its scoreboards. Out: for each instruction the cycles until the next one may
//! issue, and the reason.
//!
//! Across blocks this is a backward dataflow. The state at a block's entry is a [`Window`]: every
//! access that may come within [`HORIZON`] cycles on some path from there, with its least distance.
//! Inside a block instructions are placed forward, each at the earliest cycle that its producers
//! and the least stalls of rows allow. At a way out, the window of the target tells when the target
//! may be entered. So the wait is right before the instruction that waits, and independent
//! instructions in between are not held up.
//!
//! ```text
//! block 1:  ISETP P0  at 0                  needs 13 to the guard P0 of block 2, which is 4 after its entry
//!           BRA       at 1, leaves at 9     so block 2 is entered at 9: BRA stalls for 8
//! block 2:  IADD3     at 0 of its own
//!           @P0 FADD  at 4
//! ```
//! Around a loop the window of its head reaches its latch through the back edge. The time at which
//! a way is taken only ever grows from one visit of its block to the next, and is bounded by
//! [`HORIZON`] beyond the block's own length, so the iteration ends; blocks are visited against the
//! flow, so that code without loops is visited once. Besides registers, three rules demand
//! distances. A scoreboard counts an instruction that sets it from two cycles after its issue. Only
//! arithmetic may directly follow a `BAR`, and a `BAR` keeps away from the `B2R` before it
//! ([`Ahead`]). At the target of a call or a return, every earlier instruction has had its latency
//! for any consumer.
//!
//! Cost: linear in the instructions for bounded loop nesting; a window holds what fits into
//! [`HORIZON`] cycles.
use std::collections::BTreeSet;

use ptxc_sass::latency::{Ahead, Dependence, Latency, Side, Source, latency, settled};
use ptxc_sass::{Control, Op, PReg};
use smallvec::SmallVec;

use super::scoreboards::{Scoreboards, bits};
use super::stream::{FENCE, Stream, Touch};
use super::units::Units;
use issued::{Issued, IssuedAccesses};

mod issued;

/// The longest fixed latency, in cycles.
const HORIZON: u32 = Latency::UNKNOWN.safe as u32;

const SCOREBOARDS: usize = Control::SCOREBOARDS as usize;

/// Why an instruction may not issue earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// A fixed latency.
    Dependence { dependence: Dependence, producer: usize, consumer: usize, slot: u8, reg: PReg },
    /// The first waiter must see the scoreboard.
    Scoreboard { setter: usize, scoreboard: u8 },
    /// Others must keep away from an earlier instruction.
    Gap { ahead: Ahead },
    /// Another function must begin, or continue, with nothing under way.
    Boundary { producer: usize },
}

/// A distance that is longer than the row of the instruction demands, and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    /// The cycles between the two instructions that the reason names.
    pub(super) cycles: u32,
    pub(super) reason: Reason,
}

/// The stalls of every instruction.
#[derive(Debug)]
pub(super) struct Stalls {
    /// Cycles until the next instruction; if they do not fit into one control field, padding must
    /// follow.
    pub(super) cycles: Vec<u32>,
    /// The reasons, except where the row itself demands the stall.
    pub(super) causes: Vec<Option<Cause>>,
}

/// Computes the stalls; none is less than `least`.
pub(super) fn assign(stream: &Stream<'_>, scoreboards: &Scoreboards, least: u32) -> Stalls {
    let mut pass = Pass {
        stream,
        scoreboards,
        least,
        windows: vec![Window::default(); stream.blocks.len()],
        arrivals: stream.blocks.iter().map(|block| SmallVec::from_elem(0, block.ways.len())).collect(),
        stalls: Stalls {
            cycles: vec![least; stream.entries.len()],
            causes: vec![None; stream.entries.len()],
        },
        board: Board::new(),
    };
    let mut work: BTreeSet<usize> = (0..stream.order.len()).collect();
    while let Some(position) = work.pop_last() {
        let block = stream.order[position];
        pass.place(block);
        // The window is not needed for blocks without predecessors.
        if stream.blocks[block].preds.is_empty() {
            continue;
        }
        let window = pass.window(block);
        if window != pass.windows[block] {
            pass.windows[block] = window;
            work.extend(stream.blocks[block].preds.iter().map(|&pred| stream.rank[pred]));
        }
    }
    pass.stalls
}

/// An upcoming access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Upcoming {
    /// Its unit, instruction, slot, component and direction in one number, the first in the highest
    /// bits. Accesses with equal keys differ only in the distance.
    key: u64,
    inst: u32,
    touch: Touch,
    /// Cycles from here.
    distance: u32,
}

impl Upcoming {
    fn new(inst: u32, touch: Touch, distance: u32) -> Upcoming {
        let place = u64::from(touch.slot) << 9 | u64::from(touch.component) << 1 | u64::from(touch.write);
        let key = u64::from(touch.unit) << 49 | u64::from(inst) << 17 | place;
        Upcoming { key, inst, touch, distance }
    }
}

/// The accesses within [`HORIZON`] cycles of a block's entry, on any path.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Window {
    /// Accesses of registers that nothing in between overwrites, by key.
    accesses: Vec<Upcoming>,
    /// The first wait for each scoreboard.
    waits: [Option<u32>; SCOREBOARDS],
    /// By the number of an [`Ahead`], the instruction that must be the farthest from such an
    /// instruction before the entry.
    gaps: [Option<Gap>; Ahead::ALL.len()],
    /// The earliest time at which control may be in another function.
    boundary: Option<u32>,
}

/// An instruction that may not follow an [`Ahead`] at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    /// The least cycles from the issue of the earlier instruction to this one.
    cycles: u32,
    /// Cycles from the current point to this instruction.
    distance: u32,
}

impl Gap {
    /// The one of two that the earlier instruction must be farther away from.
    fn farther(self, other: Option<Gap>) -> Gap {
        let off = |one: Gap| one.cycles.saturating_sub(one.distance);
        other.filter(|&other| off(other) >= off(self)).unwrap_or(self)
    }
}

/// The accesses that were issued in the block and may still be too young for some consumer.
#[derive(Debug)]
struct Board {
    accesses: IssuedAccesses,
    setters: [Option<(usize, u32)>; SCOREBOARDS],
    /// By the number of an [`Ahead`], the issue of the last such instruction.
    ahead: [Option<u32>; Ahead::ALL.len()],
}

/// The earliest time so far, and the reason for it.
#[derive(Clone, Copy, Debug)]
struct Earliest {
    time: u32,
    cause: Option<Cause>,
}

impl Earliest {
    fn demand(&mut self, time: u32, cycles: u32, reason: Reason) {
        if time > self.time {
            *self = Earliest { time, cause: Some(Cause { cycles, reason }) };
        }
    }
}

struct Pass<'a> {
    stream: &'a Stream<'a>,
    scoreboards: &'a Scoreboards,
    least: u32,
    windows: Vec<Window>,
    /// For each way out of each block, the time at which its target is entered, from the block's
    /// start.
    arrivals: Vec<SmallVec<[u32; 2]>>,
    stalls: Stalls,
    board: Board,
}

impl Pass<'_> {
    /// Places the instructions of a block: fills in their stalls and the arrivals of its ways.
    fn place(&mut self, block: usize) {
        let range = self.stream.blocks[block].range.clone();
        let body_end = range.start + self.stream.blocks[block].body;
        self.board.clear();
        let mut now = 0;
        for index in range.clone() {
            ptxc_interrupt::poll();
            let mut earliest = Earliest { time: now, cause: None };
            self.board.demand_issue(self.stream, self.scoreboards, index, &mut earliest);
            if index == body_end {
                self.leave_room_for_branches(block, &mut earliest);
            }
            if index > range.start {
                self.stall(index - 1, earliest.time - now, earliest.cause);
            }
            let time = earliest.time;
            self.board.issue(self.stream, self.scoreboards, index, time);

            let row_stall = u32::from(self.stream.entries[index].op.min_stall(self.stream.arch));
            let mut next = Earliest { time: time + row_stall.max(self.least), cause: None };
            if self.stream.entries[index].leaves_function {
                self.board.demand_settled(self.stream, 0, &mut next);
            }
            let issued = index + 1 - range.start;
            // No way is taken before the branches.
            let ways = if index + 1 < body_end { 0 } else { self.stream.blocks[block].ways.len() };
            for way in 0..ways {
                if self.stream.blocks[block].ways[way].issued == issued {
                    self.demand_arrival(block, way, &mut next);
                }
            }
            self.stalls.cycles[index] = next.time - time;
            self.stalls.causes[index] = next.cause;
            now = next.time;
        }
        if range.is_empty() {
            for way in 0..self.stream.blocks[block].ways.len() {
                self.arrivals[block][way] = 0;
            }
        }
    }

    /// Adds cycles before the next instruction.
    fn stall(&mut self, index: usize, more: u32, cause: Option<Cause>) {
        if more > 0 {
            self.stalls.cycles[index] += more;
            self.stalls.causes[index] = cause;
        }
    }

    /// Raises `next`, the time at which a way is taken, to the time that its target demands, and
    /// stores it.
    fn demand_arrival(&mut self, block: usize, way: usize, next: &mut Earliest) {
        let known = self.arrivals[block][way];
        let target = self.stream.blocks[block].ways[way].target;
        self.board.demand_window(self.stream, &self.windows[target], next);
        next.time = next.time.max(known);
        self.arrivals[block][way] = next.time;
    }

    /// Padding after a branch is executed on only one of its ways, so cycles that do not fit into
    /// its control field must come before it.
    fn leave_room_for_branches(&mut self, block: usize, earliest: &mut Earliest) {
        for (way, &known) in self.stream.blocks[block].ways.iter().zip(&self.arrivals[block]) {
            let mut arrival = Earliest { time: known, cause: earliest.cause };
            self.board.demand_window(self.stream, &self.windows[way.target], &mut arrival);
            let time = arrival.time.saturating_sub(u32::from(Control::MAX_STALL));
            if time > earliest.time {
                *earliest = Earliest { time, cause: arrival.cause };
            }
        }
    }

    /// The upcoming accesses after the entry of a block, in its present placement.
    fn window(&self, block: usize) -> Window {
        let data = &self.stream.blocks[block];
        let mut window = Window::default();
        let mut killed = Units::default();
        let mut time = 0;
        let mut ways = data.ways.iter().zip(&self.arrivals[block]).peekable();
        let mut from_ways: SmallVec<[(u32, usize, Units); 2]> = SmallVec::new();
        for (position, index) in data.range.clone().enumerate() {
            ptxc_interrupt::poll();
            if time >= HORIZON {
                break;
            }
            let entry = &self.stream.entries[index];
            let touches = self.stream.touches(index);
            for &touch in touches.iter().filter(|touch| touch.unit < FENCE) {
                if !killed.contains(touch.unit) {
                    window.accesses.push(Upcoming::new(index as u32, touch, time));
                }
            }
            for sb in bits(self.scoreboards.mask(index)) {
                window.waits[usize::from(sb)].get_or_insert(time);
            }
            if entry.leaves_function {
                window.boundary.get_or_insert(time + self.stalls.cycles[index]);
            }
            let aheads = if self.stream.has_ahead { &Ahead::ALL[..] } else { &[] };
            for (ahead, gap) in aheads.iter().zip(&mut window.gaps) {
                let cycles = u32::from(ahead.distance(self.stream.arch, entry.inst));
                if cycles > time {
                    *gap = Some(Gap { cycles, distance: time }.farther(*gap));
                }
            }
            if entry.kills {
                touches.iter().filter(|touch| touch.write).for_each(|touch| killed.insert(touch.unit));
            }
            time += self.stalls.cycles[index];
            while let Some((way, &arrival)) = ways.next_if(|(way, _)| way.issued == position + 1) {
                from_ways.push((arrival, way.target, killed));
            }
        }
        if data.range.is_empty() {
            from_ways.extend(ways.map(|(way, &arrival)| (arrival, way.target, killed)));
        }
        for (arrival, target, killed) in from_ways {
            window.follow(&self.windows[target], arrival, &killed);
        }
        window.accesses.sort_unstable_by_key(|access| (access.key, access.distance));
        window.accesses.dedup_by_key(|access| access.key);
        window
    }
}

impl Window {
    /// Adds the upcoming accesses of a successor that is entered after `arrival` cycles, except for
    /// registers that are overwritten first.
    fn follow(&mut self, next: &Window, arrival: u32, killed: &Units) {
        let within = |distance: u32| Some(distance + arrival).filter(|&distance| distance < HORIZON);
        for access in &next.accesses {
            if let (Some(distance), false) = (within(access.distance), killed.contains(access.touch.unit)) {
                self.accesses.push(Upcoming { distance, ..*access });
            }
        }
        let nearer = |mine: &mut Option<u32>, theirs: Option<u32>| {
            if let Some(distance) = theirs.and_then(within) {
                *mine = Some(mine.map_or(distance, |mine| mine.min(distance)));
            }
        };
        for (mine, theirs) in self.waits.iter_mut().zip(next.waits) {
            nearer(mine, theirs);
        }
        nearer(&mut self.boundary, next.boundary);
        for (mine, next) in self.gaps.iter_mut().zip(next.gaps) {
            if let Some(next) = next
                && let distance = next.distance + arrival
                && next.cycles > distance
            {
                *mine = Some(Gap { distance, ..next }.farther(*mine));
            }
        }
    }
}

impl Board {
    fn new() -> Board {
        Board { accesses: IssuedAccesses::new(), setters: [None; SCOREBOARDS], ahead: Default::default() }
    }

    fn clear(&mut self) {
        self.accesses.clear();
        self.setters = [None; SCOREBOARDS];
        self.ahead = Default::default();
    }

    /// Demands the distances of an instruction from the earlier ones in its block.
    fn demand_issue(
        &self,
        stream: &Stream<'_>,
        scoreboards: &Scoreboards,
        index: usize,
        earliest: &mut Earliest,
    ) {
        let entry = &stream.entries[index];
        for &touch in stream.touches(index) {
            if self.accesses.has(touch.unit) {
                self.demand_access(stream, index, touch, 0, earliest);
            }
        }
        for sb in bits(scoreboards.mask(index)) {
            self.demand_wait(sb, 0, earliest);
        }
        let aheads = if stream.has_ahead { &Ahead::ALL[..] } else { &[] };
        for &ahead in aheads.iter().filter(|&&ahead| self.ahead[ahead as usize].is_some()) {
            let cycles = u32::from(ahead.distance(stream.arch, entry.inst));
            self.demand_gap(ahead, Gap { cycles, distance: 0 }, earliest);
        }
        if entry.leaves_function {
            // Padding would be on the way back.
            self.demand_settled(stream, u32::from(Control::MAX_STALL), earliest);
        }
    }

    /// Demands the distances of the code after an entry from the instructions of this block.
    fn demand_window(&self, stream: &Stream<'_>, window: &Window, earliest: &mut Earliest) {
        for access in window.accesses.iter().filter(|access| self.accesses.has(access.touch.unit)) {
            self.demand_access(stream, access.inst as usize, access.touch, access.distance, earliest);
        }
        for (sb, distance) in window.waits.iter().enumerate() {
            if let Some(distance) = *distance {
                self.demand_wait(sb as u8, distance, earliest);
            }
        }
        if let Some(distance) = window.boundary {
            self.demand_settled(stream, distance, earliest);
        }
        let aheads = if stream.has_ahead { &Ahead::ALL[..] } else { &[] };
        for (&ahead, gap) in aheads.iter().zip(&window.gaps) {
            if let Some(gap) = *gap {
                self.demand_gap(ahead, gap, earliest);
            }
        }
    }

    /// Demands the distances of an access that comes `distance` cycles after the point whose time
    /// is sought.
    fn demand_access(
        &self,
        stream: &Stream<'_>,
        consumer: usize,
        touch: Touch,
        distance: u32,
        earliest: &mut Earliest,
    ) {
        let write_after = if touch.write { Dependence::Waw } else { Dependence::Raw };
        let mut demand = |issued: &Issued, dependence: Dependence| {
            if issued.time + HORIZON <= earliest.time + distance {
                return;
            }
            let cycles = distance_of(stream, dependence, issued, consumer, touch);
            let time = (issued.time + cycles).saturating_sub(distance);
            // Units that are not registers have no fixed latency.
            if let Some(reg) = touch.reg().filter(|_| time > earliest.time) {
                let (producer, slot) = (issued.inst as usize, touch.slot);
                let reason = Reason::Dependence { dependence, producer, consumer, slot, reg };
                earliest.demand(time, cycles, reason);
            }
        };
        for issued in self.accesses.writes(touch.unit) {
            demand(issued, write_after);
        }
        if touch.write {
            for issued in self.accesses.reads(touch.unit) {
                demand(issued, Dependence::War);
            }
        }
    }

    /// Demands that everything has settled when another function is entered, `distance` cycles
    /// after the point whose time is sought.
    fn demand_settled(&self, stream: &Stream<'_>, distance: u32, earliest: &mut Earliest) {
        for issued in self.accesses.all() {
            if issued.time + HORIZON <= earliest.time + distance {
                continue;
            }
            let cycles = u32::from(settled(stream.arch, issued.side(stream), issued.touch.write).safe);
            let time = (issued.time + cycles).saturating_sub(distance);
            earliest.demand(time, cycles, Reason::Boundary { producer: issued.inst as usize });
        }
    }

    fn demand_wait(&self, scoreboard: u8, distance: u32, earliest: &mut Earliest) {
        if let Some((setter, time)) = self.setters[usize::from(scoreboard)] {
            let cycles = u32::from(Latency::SCOREBOARD.safe);
            let reason = Reason::Scoreboard { setter, scoreboard };
            earliest.demand((time + cycles).saturating_sub(distance), cycles, reason);
        }
    }

    fn demand_gap(&self, ahead: Ahead, gap: Gap, earliest: &mut Earliest) {
        if let Some(time) = self.ahead[ahead as usize] {
            let time = (time + gap.cycles).saturating_sub(gap.distance);
            earliest.demand(time, gap.cycles, Reason::Gap { ahead });
        }
    }

    /// Issues an instruction.
    fn issue(&mut self, stream: &Stream<'_>, scoreboards: &Scoreboards, index: usize, time: u32) {
        let entry = &stream.entries[index];
        let touches = stream.touches(index);
        if entry.kills {
            touches.iter().filter(|touch| touch.write).for_each(|touch| self.accesses.forget(touch.unit));
        }
        // An access that a scoreboard announces has no fixed time.
        for &touch in touches.iter().filter(|touch| !touch.late && touch.unit < FENCE) {
            self.accesses.add(Issued { inst: index as u32, touch, time });
        }
        let sets = scoreboards.sets[index];
        for sb in sets.write.into_iter().chain(sets.read) {
            self.setters[usize::from(sb)] = Some((index, time));
        }
        if let Some(ahead) = stream.has_ahead.then(|| Ahead::of(entry.inst)).flatten() {
            self.ahead[ahead as usize] = Some(time);
        }
    }
}

/// The cycles that a dependence demands.
fn distance_of(
    stream: &Stream<'_>,
    dependence: Dependence,
    producer: &Issued,
    consumer: usize,
    touch: Touch,
) -> u32 {
    let from = producer.side(stream);
    // An arrival reads none of the registers that it holds for products: only their order counts.
    if dependence == Dependence::War && from.inst.op == Op::WARPGROUP_ARRIVE {
        return 1;
    }
    let to = Side { inst: stream.entries[consumer].inst, slot: touch.slot, component: touch.component };
    let found = latency(stream.arch, dependence, from, to);
    if found.source == Source::Scoreboard { 1 } else { u32::from(found.safe) }
}
