//! The history of some lanes: their accesses in flight, by a clock that counts the stalls of their
//! path.

use std::cmp::Ordering;

use ptxc_sass::latency::{Ahead, Dependence, Latency};
use ptxc_sass::return_order::{reads_in_order, returns_in_order};
use ptxc_sass::verify::{HazardKind, Lack, Order};
use ptxc_sass::{Control, Op, PReg, Pipe, Register};

use super::facts::{End, Facts, Touch};
use super::{Earlies, Early};

/// An access in flight.
#[derive(Clone, Copy, Debug)]
struct Access {
    touch: Touch,
    end: End,
    producer: u32,
    /// The lanes whose register it is; all lanes for a uniform register.
    lanes: u32,
    /// The time of issue by the clock.
    issue: u64,
    /// The instruction's operation.
    op: Op,
    /// If the code relies on the order of returns: the later instructions that also signal its end.
    later: Later,
}

/// The scoreboards of later instructions that cannot overtake an access.
#[derive(Clone, Copy, Debug, Default)]
struct Later {
    /// The scoreboards that count their instruction.
    counting: u8,
    /// The scoreboards that were taken too recently to count it.
    young: u8,
    /// The time when each of them was taken.
    taken: [u64; Control::SCOREBOARDS as usize],
    /// How many instructions each scoreboard counts that are under way as long as the access is: its
    /// own, and those later ones.
    counts: [u8; Control::SCOREBOARDS as usize],
}

impl Later {
    /// No later instructions yet; an access that these scoreboards announce.
    fn of(own: u8) -> Later {
        let mut later = Later::default();
        later.count(own);
        later
    }

    /// Counts an instruction on scoreboards.
    fn count(&mut self, scoreboards: u8) {
        for number in bits(scoreboards) {
            if let Some(count) = self.counts.get_mut(number) {
                *count = count.saturating_add(1);
            }
        }
    }

    /// Takes scoreboards.
    fn take(&mut self, scoreboards: u8, clock: u64) {
        self.pass(clock);
        self.count(scoreboards);
        let new = scoreboards & !(self.counting | self.young);
        for number in bits(new) {
            if let Some(taken) = self.taken.get_mut(number) {
                *taken = clock;
            }
        }
        self.young |= new;
    }

    /// Lets time pass.
    fn pass(&mut self, clock: u64) {
        for number in bits(self.young) {
            if self.taken.get(number).is_none_or(|&taken| clock - taken >= VISIBLE) {
                self.young &= !(1 << number);
                self.counting |= 1 << number;
            }
        }
    }

    /// The scoreboards that are in both.
    fn common(self, other: Later) -> Later {
        let counting = self.counting & other.counting;
        let young = (self.young | self.counting) & (other.young | other.counting) & !counting;
        let mut taken = self.taken;
        taken.iter_mut().zip(other.taken).for_each(|(mine, theirs)| *mine = theirs.max(*mine));
        let mut counts = self.counts;
        counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine = theirs.min(*mine));
        Later { counting, young, taken, counts }
    }

    /// The same with times moved forward by `ahead`.
    fn shifted(mut self, ahead: u64) -> Later {
        self.taken.iter_mut().for_each(|taken| *taken += ahead);
        self
    }
}

/// The numbers of the scoreboards of a mask.
fn bits(mask: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |number| mask >> number & 1 != 0)
}

/// Cycles from the issue of an instruction until its scoreboards count it.
const VISIBLE: u64 = Latency::SCOREBOARD.legal as u64;

/// An instruction that some instructions may not follow yet, whatever their registers.
#[derive(Clone, Copy, Debug)]
struct Earlier {
    ahead: Ahead,
    producer: u32,
    lanes: u32,
    issue: u64,
}

/// An access that depends on one in flight on the same register.
pub(super) struct Touched {
    pub dependence: Dependence,
    pub register: u16,
    /// The operand of the later access.
    pub slot: u8,
    pub component: u8,
    /// The lanes that both accesses share.
    pub lanes: u32,
    pub producer: u32,
    pub since: Since,
}

/// The relation between two accesses.
pub(super) enum Since {
    /// The number of cycles since the issue of the first access, and its operand.
    Issue { slot: u8, component: u8, age: u8 },
    /// No wait for one of these scoreboards.
    Announced(u8),
}

/// A set of registers.
#[derive(Clone, Debug, Default)]
struct Registers([u64; PReg::COUNT.div_ceil(64)]);

impl Registers {
    fn has(&self, register: u16) -> bool {
        self.0[usize::from(register / 64)] >> (register % 64) & 1 == 1
    }

    fn set(&mut self, register: u16, holds: bool) {
        let word = &mut self.0[usize::from(register / 64)];
        *word = *word & !(1 << (register % 64)) | u64::from(holds) << (register % 64);
    }
}

/// Lanes with a common history.
#[derive(Clone, Debug)]
pub(super) struct Track {
    /// The lanes, one bit each.
    pub lanes: u32,
    clock: u64,
    /// The accesses that end after a fixed time; some may have ended.
    fixed: Vec<Access>,
    /// The accesses that end with a wait.
    announced: Vec<Access>,
    ahead: Vec<Earlier>,
    /// Registers with writes in flight; some may have ended.
    writing: Registers,
    /// Registers with reads in flight; some may have ended.
    reading: Registers,
}

/// Whether a register exists once per warp.
fn is_uniform(register: u16) -> bool {
    PReg::from_dense(register.into()).is_some_and(|register| register.file().is_uniform())
}

/// The lanes that an access of a register affects.
fn concerned(register: u16, lanes: u32) -> u32 {
    if is_uniform(register) { u32::MAX } else { lanes }
}

impl Track {
    /// Lanes without a history.
    pub fn new(lanes: u32) -> Track {
        Track {
            lanes,
            clock: 0,
            fixed: Vec::new(),
            announced: Vec::new(),
            ahead: Vec::new(),
            writing: Registers::default(),
            reading: Registers::default(),
        }
    }

    /// Moves lanes to a track of their own, with their part of the history.
    pub fn split(&mut self, lanes: u32) -> Track {
        let mut other = self.clone();
        other.keep(lanes);
        self.keep(!lanes);
        other
    }

    fn keep(&mut self, lanes: u32) {
        self.lanes &= lanes;
        for list in [&mut self.fixed, &mut self.announced] {
            list.retain_mut(|access| {
                access.lanes &= concerned(access.touch.register, lanes);
                access.lanes != 0
            });
        }
        self.ahead.retain_mut(|first| {
            first.lanes &= lanes;
            first.lanes != 0
        });
    }

    /// Adds the lanes of another track with their history.
    pub fn join(&mut self, mut other: Track) {
        // Both use the clock that has counted more: ages do not change.
        if other.clock > self.clock {
            std::mem::swap(self, &mut other);
        }
        let ahead = self.clock - other.clock;
        self.lanes |= other.lanes;
        for access in other.fixed.into_iter().chain(other.announced) {
            let later = access.later.shifted(ahead);
            self.add(Access { issue: access.issue + ahead, later, ..access });
        }
        for first in other.ahead {
            self.ahead.push(Earlier { issue: first.issue + ahead, ..first });
        }
    }

    /// Removes accesses that have ended, and waits for scoreboards, which count instructions that
    /// issued at least two cycles ago.
    pub fn wait(&mut self, scoreboards: u8) {
        let clock = self.clock;
        let age = |issue: u64| clock - issue;
        self.fixed
            .retain(|access| !matches!(access.end, End::After(life) if age(access.issue) >= life.into()));
        self.ahead.retain(|first| age(first.issue) < Ahead::MOST.into());
        if scoreboards != 0 {
            self.announced.retain_mut(|access| {
                access.later.pass(clock);
                access.later.counting & scoreboards == 0
                    && match access.end {
                        End::Wait(by) => by & scoreboards == 0 || age(access.issue) < VISIBLE,
                        End::After(_) => true,
                    }
            });
        }
    }

    /// Waits for scoreboards, which count all instructions that have issued.
    pub fn wait_late(&mut self, scoreboards: u8) {
        let is_over = |end: End| matches!(end, End::Wait(by) if by & scoreboards != 0);
        self.announced.retain(|access| !is_over(access.end));
    }

    /// Waits until a scoreboard counts at most `left` instructions. An access that returns in order is
    /// then over if more than `left` instructions, itself among them, have counted since it began.
    pub fn wait_below(&mut self, scoreboard: usize, left: u8) {
        let is_over =
            |access: &Access| access.later.counts.get(scoreboard).is_some_and(|&count| count > left);
        self.announced.retain(|access| !is_over(access));
    }

    /// Finds accesses in flight that an access depends on, with lanes in common.
    pub fn check(&mut self, touch: &Touch, lanes: u32, mut meets: impl FnMut(Touched)) {
        let Touch { register, writes, slot, component } = *touch;
        let busy = self.writing.has(register) || (writes && self.reading.has(register));
        if !busy {
            return;
        }
        let (mut writing, mut reading) = (false, false);
        let mut meet = |first_writes: bool, first_lanes: u32, producer: u32, since: Since| {
            writing |= first_writes;
            reading |= !first_writes;
            let dependence = match (first_writes, writes) {
                (true, false) => Dependence::Raw,
                (true, true) => Dependence::Waw,
                (false, true) => Dependence::War,
                (false, false) => return,
            };
            let lanes = lanes & first_lanes;
            if lanes != 0 {
                meets(Touched { dependence, register, slot, component, lanes, producer, since });
            }
        };
        for access in self.fixed.iter().chain(&self.announced) {
            if access.touch.register != register {
                continue;
            }
            let Touch { slot, component, writes, .. } = access.touch;
            let since = match access.end {
                End::After(_) => Since::Issue { slot, component, age: self.age(access.issue) },
                End::Wait(scoreboards) => Since::Announced(scoreboards),
            };
            meet(writes, access.lanes, access.producer, since);
        }
        self.writing.set(register, writing);
        self.reading.set(register, reading);
    }

    /// The number of cycles since an issue.
    fn age(&self, issue: u64) -> u8 {
        u8::try_from(self.clock - issue).unwrap_or(u8::MAX)
    }

    /// Finds earlier instructions that are fewer cycles ago than `least` requires for each
    /// [`Ahead`].
    pub fn check_ahead(&self, least: &[u8; Ahead::ALL.len()], lanes: u32, early: &mut Earlies) {
        for first in &self.ahead {
            let need = least[first.ahead as usize];
            let have = self.age(first.issue);
            let lanes = lanes & first.lanes;
            if have < need && lanes != 0 {
                let (kind, lack) = (HazardKind::of_ahead(first.ahead), Lack::Cycles { need, have });
                early.push(Early { producer: first.producer, kind, register: None, lanes, lack });
            }
        }
    }

    /// Starts the accesses of an instruction that has an effect for the lanes of `active`, and lets
    /// its stall pass.
    pub fn start(&mut self, facts: &Facts, producer: u32, active: u32) {
        if active != 0 {
            // A later access of such a register depends on this instruction, which has itself been
            // checked against the accesses in flight.
            for &register in &facts.written {
                if self.writing.has(register) || self.reading.has(register) {
                    self.forget(register, concerned(register, active));
                }
            }
            if let Some(ahead) = facts.ahead {
                self.ahead.retain_mut(|first| {
                    if first.ahead == ahead {
                        first.lanes &= !active;
                    }
                    first.lanes != 0
                });
                self.ahead.push(Earlier { ahead, producer, lanes: active, issue: self.clock });
            }
        }
        if facts.order == Order::InOrder {
            self.follow(facts, producer);
        }
        for start in &facts.starts {
            let by = if start.guard { self.lanes } else { active };
            if by == 0 {
                continue;
            }
            let (touch, end, issue) = (start.touch, start.end, self.clock);
            let own = if let End::Wait(scoreboards) = end { scoreboards } else { 0 };
            let (lanes, op, later) = (concerned(touch.register, by), facts.op, Later::of(own));
            self.add(Access { touch, end, producer, lanes, issue, op, later });
        }
        self.clock += u64::from(facts.stall);
        if facts.drains {
            self.announced.retain(|access| !matches!(access.end, End::Wait(0)));
        }
    }

    /// An instruction also signals the end of the accesses that it cannot overtake. A CTA barrier
    /// comes after all earlier accesses of shared memory, so their operands have been read, and so
    /// have those of earlier barriers.
    fn follow(&mut self, facts: &Facts, producer: u32) {
        let ([results, operands], clock) = (facts.announces, self.clock);
        if results | operands != 0 {
            for access in &mut self.announced {
                match access.touch.writes {
                    true if returns_in_order(access.op, facts.op) => access.later.take(results, clock),
                    false if reads_in_order(access.op, facts.op) => {
                        access.later.take(results | operands, clock)
                    }
                    _ => {}
                }
            }
        }
        if facts.awaits_cta {
            self.announced.retain(|access| {
                let is_other = access.op.row().cta_barrier && access.producer != producer;
                access.touch.writes || !(access.op.row().pipe == Pipe::Lsu || is_other)
            });
        }
    }

    /// Lanes leave the function; the other function knows nothing about their accesses in flight.
    pub fn leave_function(&mut self, lanes: u32, early: &mut Earlies) {
        let clock = self.clock;
        for list in [&mut self.fixed, &mut self.announced] {
            list.retain_mut(|access| {
                let gone = access.lanes & lanes;
                let have = u8::try_from(clock - access.issue).unwrap_or(u8::MAX);
                let lack = match access.end {
                    End::After(need) if have >= need => return false,
                    End::After(need) => Lack::Cycles { need, have },
                    End::Wait(scoreboards) => Lack::Wait(scoreboards),
                };
                if gone != 0 {
                    let (producer, kind) = (access.producer, HazardKind::Boundary);
                    let register = PReg::from_dense(access.touch.register.into());
                    early.push(Early { producer, kind, register, lanes: gone, lack });
                }
                access.lanes &= !concerned(access.touch.register, lanes);
                access.lanes != 0
            });
        }
        self.ahead.retain_mut(|first| {
            first.lanes &= !lanes;
            first.lanes != 0
        });
    }

    /// Forgets the accesses of some lanes to a register.
    fn forget(&mut self, register: u16, lanes: u32) {
        let (mut writing, mut reading) = (false, false);
        for list in [&mut self.fixed, &mut self.announced] {
            list.retain_mut(|access| {
                if access.touch.register != register {
                    return true;
                }
                access.lanes &= !lanes;
                writing |= access.touch.writes && access.lanes != 0;
                reading |= !access.touch.writes && access.lanes != 0;
                access.lanes != 0
            });
        }
        self.writing.set(register, writing);
        self.reading.set(register, reading);
    }

    /// Adds an access. It replaces an older one by the same operand in the same lanes: an access
    /// that is too early after the older one is also too early after the new one.
    fn add(&mut self, mut new: Access) {
        let Touch { register, writes, .. } = new.touch;
        let list = match new.end {
            End::After(_) => &mut self.fixed,
            End::Wait(_) => &mut self.announced,
        };
        let under_way = if writes { &mut self.writing } else { &mut self.reading };
        if under_way.has(register) {
            let lanes = new.lanes;
            list.retain_mut(|old| {
                if old.touch != new.touch || old.producer != new.producer {
                    return true;
                }
                match old.issue.cmp(&new.issue) {
                    Ordering::Less => old.lanes &= !lanes,
                    Ordering::Equal => {
                        new.lanes |= old.lanes;
                        new.later = new.later.common(old.later);
                        return false;
                    }
                    Ordering::Greater => new.lanes &= !old.lanes,
                }
                old.lanes != 0
            });
            if new.lanes == 0 {
                return;
            }
        }
        under_way.set(register, true);
        list.push(new);
    }
}
