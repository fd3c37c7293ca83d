//! Control flow of one warp: groups of lanes that execute together, and how they meet again.
//!
//! Every live lane is in exactly one [`Group`], which has one program counter. A branch that lanes take
//! differently splits a group; what joins groups depends on the machine ([`Joining`]):
//!
//! - The SASS engine joins as the hardware does, by instructions alone: `BSYNC` when all lanes of the
//!   convergence barrier have come, `WARPSYNC` when all lanes of the mask have, `WARPSYNC.EXCLUSIVE` likewise but for
//!   each mask by itself, `WARPSYNC.COLLECTIVE` from different places, for as long as the collective lasts. Two groups that happen to
//!   stand at the same place stay apart, so that a forgotten reconvergence shows in what votes and shuffles
//!   see.
//! - The SSA engine joins groups wherever they meet, since PTX leaves that open.
//!
//! Convergence barriers are kept for each lane: the region that it is in, which lanes opened together by `BSSY`. Sibling arms of
//! a divergent branch, functions that are called, and regions inside each other may use the same barrier at the same time. A
//! lane waits at `BSYNC` for those lanes of its region that are alive and still in it: a lane that has left by `BREAK` or has
//! passed another `BSSY` of that barrier is not waited for. What `BMOV` puts into a register stands for a region; the register
//! has its number here, and not its mask.

use smallvec::SmallVec;

/// Number of lanes of a warp.
pub(crate) const LANES: usize = 32;
/// Number of convergence barriers.
const BARRIERS: usize = 16;

/// What a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: it can execute.
    Ready,
    /// The other lanes of a convergence barrier.
    Converge(u8),
    /// The live lanes of the mask, wherever they wait for the same mask.
    Lanes(u32),
    /// The live lanes of the mask, wherever they wait so for the same mask; those with another mask stay apart, even
    /// at the same place.
    Exclusive(u32),
    /// The live lanes of the mask, wherever they wait so for the same mask; then all execute what follows one of the
    /// places.
    Collective(u32),
    /// The live lanes of the mask, at this very instruction, which it then executes.
    Gather(u32),
    /// The CTA barrier of that number.
    Cta(u8),
    /// The barrier of the cluster.
    Cluster,
    /// The mbarrier at that shared address: a change of any mbarrier of the cluster, or the end of the time that a wait
    /// may take, upon which the instruction is executed again.
    Mbarrier(u32),
}

/// Where lanes are with the barrier of the cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClusterArrivals {
    /// They have arrived in this phase.
    pub arrived: u32,
    /// They have arrived in a phase that is complete, and not waited yet.
    pub passed: u32,
}

/// Lanes that execute together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The next instruction.
    pub pc: u32,
    /// The lanes, a bit each; never empty.
    pub lanes: u32,
    /// What it waits for.
    pub wait: Wait,
}

impl Wait {
    /// Whether it is for nothing that other lanes of the warp do.
    fn is_elsewhere(self) -> bool {
        matches!(self, Wait::Ready | Wait::Cta(_) | Wait::Cluster | Wait::Mbarrier(_))
    }
}

/// Where the lanes of a group go after an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next instruction.
    Next,
    /// To the next instruction, when others have had a turn.
    Yield,
    /// These lanes to the target, the others to the next instruction.
    Branch {
        /// The lanes.
        taken: u32,
        /// The target.
        target: u32,
    },
    /// Each lane to a target of its own; those with one target stay together.
    Spread(Box<[u32; LANES]>),
    /// These lanes end, the others go to the next instruction.
    Exit(u32),
    /// Each lane waits behind this instruction for what it says itself.
    Meet(Box<[Wait; LANES]>),
    /// These lanes wait; the others go to the next instruction. Who waits in [`Wait::Gather`] or [`Wait::Mbarrier`]
    /// executes this instruction again, other waits continue behind it.
    Wait(u32, Wait),
}

/// What joins groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joining {
    /// `BSYNC` and `WARPSYNC`.
    Barriers,
    /// Being at the same instruction.
    Anywhere,
}

/// The control state of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    /// The groups.
    pub groups: SmallVec<[Group; 8]>,
    /// The lanes that have not exited.
    pub live: u32,
    /// Result of the last barrier if that was a reduction, for each lane: the count, or all ones or zeros.
    pub reduction: [Option<u32>; LANES],
    /// Where the lanes are with the barrier of the cluster.
    pub cluster: ClusterArrivals,
    /// The lanes whose wait for an mbarrier has taken long enough: they go on, whatever it says.
    pub expired: u32,
    /// The lanes whose values are on their way through uniform registers: until these go elsewhere than to the next
    /// instruction, no other group of the warp has a turn.
    pub held: u32,
    /// The lanes that are held as soon as they execute something: they met to have the warp's uniform registers alone.
    pub alone: u32,
    /// The lanes that keep the uniform registers to themselves until they wait, yield or exit, the set that goes first last.
    /// See [`Options::holds_uniform`](crate::Options::holds_uniform).
    kept: SmallVec<[u32; 4]>,
    joining: Joining,
    /// Where each lane goes on behind the collective that it is in; [`NOWHERE`] outside of one.
    collective: [u32; LANES],
    meetings: Box<[[Meeting; LANES]; BARRIERS]>,
    /// What lanes have put away of their convergence barriers, with barrier and lane, in the order of that.
    put_away: Vec<(u8, u32, Meeting)>,
    /// The number of the next region; 0 is none.
    next_region: u32,
    /// Whether a lane has taken a region back into another barrier than it was in.
    has_moved: bool,
}

/// No instruction.
const NOWHERE: u32 = u32::MAX;

/// A lane's view of a convergence barrier.
#[derive(Clone, Copy, Debug, Default)]
struct Meeting {
    /// The lanes that passed `BSSY` with it and have not left.
    mask: u32,
    /// Where they go on.
    target: u32,
    /// Which execution of a `BSSY` it was: lanes in other regions may have the same barrier.
    region: u32,
}

/// The bit of each lane. A table, because loading from it makes vector code where shifting by the number of the
/// lane does not.
pub(crate) const BIT: [u32; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// Whether a mask has a lane.
#[inline]
pub(crate) fn has(mask: u32, lane: usize) -> bool {
    mask & BIT[lane] != 0
}

/// The lanes of a mask, lowest first.
#[inline]
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = u32> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

impl Control {
    /// All `lanes` at instruction 0.
    pub fn new(lanes: u32, joining: Joining) -> Control {
        let mut groups = SmallVec::new();
        groups.push(Group { pc: 0, lanes, wait: Wait::Ready });
        Control {
            groups,
            live: lanes,
            reduction: [None; LANES],
            cluster: ClusterArrivals::default(),
            expired: 0,
            held: 0,
            alone: 0,
            kept: SmallVec::new(),
            joining,
            collective: [NOWHERE; LANES],
            meetings: Box::new([[Meeting::default(); LANES]; BARRIERS]),
            put_away: Vec::new(),
            next_region: 1,
            has_moved: false,
        }
    }

    /// Lets the lanes of a group meet at `bsync` of the barrier and go on at `target`.
    pub fn bssy(&mut self, lanes: u32, barrier: u8, target: u32) {
        for lane in lanes_of(lanes) {
            let region = self.next_region;
            self.meetings[barrier as usize][lane as usize] = Meeting { mask: lanes, target, region };
        }
        self.next_region = self.next_region.wrapping_add(1).max(1);
    }

    /// Lets lanes leave the region in which each of them is now. Lanes of that region may be released by it; lanes of regions
    /// around, with the same barrier, go on waiting.
    pub fn leave(&mut self, lanes: u32, barrier: u8) {
        let own = self.meetings[barrier as usize];
        let mut left = lanes;
        while left != 0 {
            let region = own[left.trailing_zeros() as usize].region;
            let together = lanes_of(left).filter(|&lane| own[lane as usize].region == region);
            let together = together.fold(0, |all, lane| all | 1 << lane);
            let put_away = self.put_away.iter_mut().filter(|(of, ..)| *of == barrier);
            let meetings = self.meetings[barrier as usize].iter_mut();
            let all = meetings.chain(put_away.map(|(.., meeting)| meeting));
            all.filter(|meeting| meeting.region == region).for_each(|meeting| meeting.mask &= !together);
            left &= !together;
        }
        for lane in lanes_of(lanes) {
            self.meetings[barrier as usize][lane as usize].mask = 0;
        }
        self.release();
    }

    /// Clears a barrier of these lanes. A lane that has put its barrier away has none to clear: the others go on waiting for it.
    pub fn clear(&mut self, lanes: u32, barrier: u8) {
        let meetings = &self.meetings[barrier as usize];
        let lanes = lanes_of(lanes).filter(|&lane| meetings[lane as usize].mask != 0);
        let lanes = lanes.fold(0, |all, lane| all | 1 << lane);
        self.leave(lanes, barrier);
    }

    /// Puts a barrier of these lanes away: a number for each lane, by which it takes its region back; 0 stands for none. The
    /// other lanes of a region go on waiting.
    pub fn put_away(&mut self, lanes: u32, barrier: u8) -> [u32; LANES] {
        let mut numbers = [0; LANES];
        for lane in lanes_of(lanes) {
            let mut meeting = std::mem::take(&mut self.meetings[barrier as usize][lane as usize]);
            if meeting.mask == 0 {
                meeting.region = 0;
            }
            self.put_away.push((barrier, lane, meeting));
            numbers[lane as usize] = meeting.region;
        }
        numbers
    }

    /// Lets lanes take back into a barrier the regions that they put away from this or another one. The lanes go on behind
    /// the `BSYNC`.
    ///
    /// # Errors
    /// A lane that has put away no region of its number.
    pub fn take_back(&mut self, lanes: u32, barrier: u8, numbers: &[u32; LANES]) -> Result<(), u32> {
        for lane in lanes_of(lanes) {
            let number = numbers[lane as usize];
            let is_own = |&(_, by, meeting): &(u8, u32, Meeting)| by == lane && meeting.region == number;
            let place = self.put_away.iter().rposition(is_own).ok_or(lane)?;
            let (from, _, meeting) = self.put_away.remove(place);
            self.has_moved |= from != barrier;
            self.meetings[barrier as usize][lane as usize] = Meeting { target: NOWHERE, ..meeting };
        }
        self.release();
        Ok(())
    }

    /// Whether a lane has not left a region that others wait for with a barrier.
    fn is_in(&self, barrier: u8, region: u32, lane: u32) -> bool {
        let is_this = |meeting: &Meeting| meeting.region == region && meeting.mask != 0;
        is_this(&self.meetings[barrier as usize][lane as usize])
            || self.put_away.iter().any(|(_, by, meeting)| *by == lane && is_this(meeting))
            || self.has_moved && self.meetings.iter().any(|lanes| is_this(&lanes[lane as usize]))
    }

    /// Lets lanes go on there when they end the collective that they begin.
    pub fn goes_on_at(&mut self, lanes: u32, target: u32) {
        for lane in lanes_of(lanes) {
            self.collective[lane as usize] = target;
        }
    }

    /// Where lanes that end a collective go on.
    ///
    /// # Errors
    /// A lane that is in none.
    pub fn leave_collective(&mut self, lanes: u32) -> Result<[u32; LANES], u32> {
        let targets = self.collective;
        match lanes_of(lanes).find(|&lane| targets[lane as usize] == NOWHERE) {
            Some(lane) => Err(lane),
            None => {
                self.goes_on_at(lanes, NOWHERE);
                Ok(targets)
            }
        }
    }

    /// Lets lanes keep the uniform registers to themselves, across branches too.
    pub fn keep(&mut self, lanes: u32) {
        if self.kept.last().is_some_and(|first| first & lanes == lanes) {
            return;
        }
        while self.kept.last().is_some_and(|first| first & !lanes == 0) {
            self.kept.pop();
        }
        self.kept.push(lanes);
    }

    /// Lets a group that is about to execute go before the other parts of the lanes that keep the uniform registers.
    #[inline]
    pub fn begin(&mut self, lanes: u32) {
        if let Some(&first) = self.kept.last()
            && first & lanes != 0
            && first & !lanes != 0
        {
            self.kept.push(first & lanes);
        }
    }

    /// Lets other lanes have the uniform registers after these.
    fn let_go(&mut self, lanes: u32) {
        self.held = 0;
        self.kept.retain(|kept| {
            *kept &= !lanes;
            *kept != 0
        });
        self.kept.dedup();
    }

    /// The lanes that go before all others of the warp; 0 if none do.
    #[inline]
    pub fn first(&self) -> u32 {
        match self.held {
            0 => self.kept.last().copied().unwrap_or(0),
            held => held,
        }
    }

    /// Moves the lanes of a ready group as an instruction said.
    pub fn apply(&mut self, index: usize, flow: Flow) {
        let group = self.groups[index];
        let next = Group { pc: group.pc + 1, ..group };
        match &flow {
            Flow::Next => {}
            Flow::Branch { .. } | Flow::Spread(_) => self.held = 0,
            Flow::Yield | Flow::Meet(_) => self.let_go(group.lanes),
            Flow::Exit(lanes) | Flow::Wait(lanes, _) => self.let_go(*lanes),
        }
        match flow {
            Flow::Next | Flow::Yield => self.groups[index].pc += 1,
            Flow::Branch { taken, target } => {
                let moved = Group { pc: target, lanes: taken, ..group };
                self.replace(index, [Group { lanes: group.lanes & !taken, ..next }, moved]);
            }
            Flow::Spread(targets) => {
                self.groups.swap_remove(index);
                let before = self.groups.len();
                for lane in lanes_of(group.lanes) {
                    let (pc, lanes) = (targets[lane as usize], 1 << lane);
                    match self.groups[before..].iter_mut().find(|other| other.pc == pc) {
                        Some(other) => other.lanes |= lanes,
                        None => self.groups.push(Group { pc, lanes, wait: Wait::Ready }),
                    }
                }
            }
            Flow::Exit(lanes) => {
                self.live &= !lanes;
                self.replace(index, [Group { lanes: group.lanes & !lanes, ..next }]);
                // A mask may now be complete; the instruction that gathers its lanes tries again.
                for group in &mut self.groups {
                    if matches!(group.wait, Wait::Gather(_)) {
                        group.wait = Wait::Ready;
                    }
                }
                self.release();
            }
            Flow::Meet(waits) => {
                self.groups.swap_remove(index);
                let mut left = group.lanes;
                while left != 0 {
                    let wait = waits[left.trailing_zeros() as usize];
                    let alike = lanes_of(left).filter(|&lane| waits[lane as usize] == wait);
                    let lanes = alike.fold(0, |set, lane| set | 1 << lane);
                    left &= !lanes;
                    self.groups.push(Group { lanes, wait, ..next });
                }
                self.release();
            }
            Flow::Wait(lanes, wait) => {
                let again = matches!(wait, Wait::Gather(_) | Wait::Mbarrier(_));
                let pc = if again { group.pc } else { next.pc };
                let waiting = Group { pc, lanes, wait };
                self.replace(index, [Group { lanes: group.lanes & !lanes, ..next }, waiting]);
                self.release();
            }
        }
        if self.joining == Joining::Anywhere && self.groups.len() > 1 {
            self.join_at_same_place();
        }
    }

    fn replace<const N: usize>(&mut self, index: usize, groups: [Group; N]) {
        self.groups.swap_remove(index);
        self.groups.extend(groups.into_iter().filter(|group| group.lanes != 0));
    }

    /// Joins ready groups, and those that gather, at the same place. A group that grows tries again.
    fn join_at_same_place(&mut self) {
        let joins = |wait| matches!(wait, Wait::Ready | Wait::Gather(_));
        self.groups.sort_unstable_by_key(|group| (group.pc, !joins(group.wait), group.lanes));
        self.groups.dedup_by(|later, earlier| {
            let same = later.pc == earlier.pc && joins(later.wait) && joins(earlier.wait);
            if same {
                *earlier = Group { lanes: earlier.lanes | later.lanes, wait: Wait::Ready, ..*earlier };
            }
            same
        });
    }

    /// The lanes for which a group waits in its warp.
    pub fn missing(&self, group: &Group) -> u32 {
        let came = |wait: Wait| {
            let alike = self.groups.iter().filter(|other| other.wait == wait);
            let all = alike.fold(0, |all, other| all | other.lanes);
            match wait {
                Wait::Converge(barrier) => {
                    let meetings = &self.meetings[barrier as usize];
                    let together = |&lane: &u32| meetings[lane as usize].mask & group.lanes != 0;
                    lanes_of(all).filter(together).fold(0, |all, lane| all | 1 << lane)
                }
                _ => all,
            }
        };
        let awaited = match group.wait {
            Wait::Ready | Wait::Cta(_) | Wait::Cluster | Wait::Mbarrier(_) => 0,
            Wait::Lanes(mask) | Wait::Gather(mask) | Wait::Exclusive(mask) | Wait::Collective(mask) => mask,
            Wait::Converge(barrier) => {
                let meetings = &self.meetings[barrier as usize];
                lanes_of(group.lanes).fold(0, |all, lane| {
                    let Meeting { mask, region, .. } = meetings[lane as usize];
                    let members = lanes_of(mask).filter(|&other| self.is_in(barrier, region, other));
                    members.fold(all, |all, other| all | 1 << other)
                })
            }
        };
        awaited & self.live & !came(group.wait)
    }

    /// Makes ready whoever has nothing left to wait for in this warp.
    fn release(&mut self) {
        if self.groups.iter().all(|group| group.wait.is_elsewhere()) {
            return;
        }
        self.release_converged();
        self.release_warp_sync();
        self.release_exclusive();
        self.release_collectives();
    }

    /// Lets lanes at `bsync` go on where all that they wait for have come.
    fn release_converged(&mut self) {
        for barrier in 0..BARRIERS as u8 {
            let waits = |group: &Group| group.wait == Wait::Converge(barrier);
            let came =
                self.groups.iter().filter(|group| waits(group)).fold(0, |all, group| all | group.lanes);
            let mut left = came;
            while left != 0 {
                let lane = left.trailing_zeros();
                let meetings = &self.meetings[barrier as usize];
                let Meeting { mask, target, region } = meetings[lane as usize];
                let (pc, members) = if mask == 0 {
                    // Nobody to wait for: straight on, with those of the group who have nobody either.
                    let Some(group) = self.groups.iter().find(|group| group.lanes >> lane & 1 == 1) else {
                        break;
                    };
                    let alone = lanes_of(group.lanes).filter(|&other| meetings[other as usize].mask == 0);
                    (group.pc, alone.fold(0, |members, other| members | 1 << other))
                } else {
                    let members = lanes_of(mask & self.live);
                    let members = members.filter(|&other| self.is_in(barrier, region, other));
                    let own = self.groups.iter().find(|group| group.lanes >> lane & 1 == 1);
                    let behind = own.map_or(target, |group| group.pc);
                    let target = if target == NOWHERE { behind } else { target };
                    (target, members.fold(0, |members, other| members | 1 << other))
                };
                // A lane that has put the region away waits at most for another one.
                let has_come = |other: u32| {
                    came >> other & 1 == 1 && (mask == 0 || meetings[other as usize].region == region)
                };
                if !lanes_of(members).all(has_come) {
                    // Those of the same lanes wait as long.
                    let waits_alike = |meeting: Meeting| (meeting.mask, meeting.region) == (mask, region);
                    let alike = lanes_of(left).filter(|&other| waits_alike(meetings[other as usize]));
                    left &= !alike.fold(1 << lane, |all, other| all | 1 << other);
                    continue;
                }
                left &= !members;
                self.take(members);
                self.groups.push(Group { pc, lanes: members, wait: Wait::Ready });
                for lane in lanes_of(members) {
                    self.meetings[barrier as usize][lane as usize].mask = 0;
                }
            }
        }
    }

    /// Lets lanes at `WARPSYNC` go on where all live lanes of their mask wait with that mask. Those at the
    /// same place go on together.
    fn release_warp_sync(&mut self) {
        let live = self.live;
        let came: SmallVec<[(u32, u32); 8]> = self
            .groups
            .iter()
            .filter_map(|group| match group.wait {
                Wait::Lanes(mask) => Some((mask & live, group.lanes)),
                _ => None,
            })
            .collect();
        let is_complete = |mask: u32| {
            let alike = came.iter().filter(|(other, _)| *other == mask & live);
            alike.fold(mask & live, |missing, (_, lanes)| missing & !lanes) == 0
        };
        let mut released: SmallVec<[Group; 8]> = SmallVec::new();
        self.groups.retain(|group| match group.wait {
            Wait::Lanes(mask) if is_complete(mask) => {
                match released.iter_mut().find(|other| other.pc == group.pc) {
                    Some(other) => other.lanes |= group.lanes,
                    None => released.push(Group { wait: Wait::Ready, ..*group }),
                }
                false
            }
            _ => true,
        });
        self.groups.extend(released);
    }

    /// Lets lanes at `WARPSYNC.EXCLUSIVE` go on where all live lanes of their mask wait so with that mask: those at the
    /// same place together, but not with those of another mask.
    fn release_exclusive(&mut self) {
        let live = self.live;
        let members = |group: &Group| match group.wait {
            Wait::Exclusive(mask) => Some(mask & live),
            _ => None,
        };
        while let Some(mask) = self.groups.iter().filter_map(members).find(|&mask| {
            let came = self.groups.iter().filter(|group| members(group) == Some(mask));
            came.fold(mask, |missing, group| missing & !group.lanes) == 0
        }) {
            let mut released: SmallVec<[Group; 8]> = SmallVec::new();
            self.groups.retain(|group| {
                if members(group) != Some(mask) {
                    return true;
                }
                match released.iter_mut().find(|other| other.pc == group.pc) {
                    Some(other) => other.lanes |= group.lanes,
                    None => released.push(Group { wait: Wait::Ready, ..*group }),
                }
                false
            });
            self.groups.extend(released);
            self.alone |= mask;
        }
    }

    /// Lets lanes at `WARPSYNC.COLLECTIVE` go on where all live lanes of their mask wait so with that mask: all of them
    /// behind the one of the lowest lane.
    fn release_collectives(&mut self) {
        let mut at = 0;
        while at < self.groups.len() {
            let Wait::Collective(mask) = self.groups[at].wait else {
                at += 1;
                continue;
            };
            let members = mask & self.live;
            let came = |group: &&Group| matches!(group.wait, Wait::Collective(other) if other & self.live == members);
            let all = self.groups.iter().filter(came).fold(0, |all, group| all | group.lanes);
            if members & !all != 0 {
                at += 1;
                continue;
            }
            let lowest = |group: &&Group| group.lanes >> all.trailing_zeros() & 1 == 1;
            let pc = self.groups.iter().find(lowest).map_or(self.groups[at].pc, |group| group.pc);
            self.take(all);
            self.groups.push(Group { pc, lanes: all, wait: Wait::Ready });
            self.alone |= all;
            at = 0;
        }
    }

    /// Takes lanes out of their groups.
    fn take(&mut self, lanes: u32) {
        for group in &mut self.groups {
            group.lanes &= !lanes;
        }
        self.groups.retain(|group| group.lanes != 0);
    }

    /// Lets lanes that wait at the barrier of the cluster go on, and those that have arrived pass it later.
    pub fn release_cluster(&mut self) {
        let ClusterArrivals { arrived, passed } = &mut self.cluster;
        *passed |= std::mem::take(arrived);
        for group in &mut self.groups {
            if group.wait == Wait::Cluster {
                *passed &= !group.lanes;
                group.wait = Wait::Ready;
            }
        }
    }

    /// Lets lanes that wait for an mbarrier look at it again; with `expired` they go on whatever they see. Says whether
    /// there are any.
    pub fn wake(&mut self, expired: bool) -> bool {
        let mut woken = 0;
        for group in &mut self.groups {
            if matches!(group.wait, Wait::Mbarrier(_)) {
                group.wait = Wait::Ready;
                woken |= group.lanes;
            }
        }
        if expired {
            self.expired |= woken;
        }
        woken != 0
    }

    /// Lets lanes that wait at a CTA barrier go on.
    pub fn release_cta(&mut self, barrier: u8, reduction: Option<u32>) {
        for group in &mut self.groups {
            if group.wait == Wait::Cta(barrier) {
                group.wait = Wait::Ready;
                // The hardware has one result a warp, which a later reduction overwrites. PTX has one a
                // thread.
                let lanes = if self.joining == Joining::Barriers { u32::MAX } else { group.lanes };
                if let Some(value) = reduction {
                    for lane in lanes_of(lanes) {
                        self.reduction[lane as usize] = Some(value);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each half of the warp for itself.
    const HALVES: [u32; LANES] = {
        let mut masks = [0xffff; LANES];
        let mut lane = 16;
        while lane < LANES {
            masks[lane] = 0xffff_0000;
            lane += 1;
        }
        masks
    };

    fn control() -> Control {
        Control::new(u32::MAX, Joining::Barriers)
    }

    fn at(control: &Control, pc: u32) -> usize {
        control.groups.iter().position(|group| group.pc == pc).unwrap()
    }

    #[test]
    fn bsync_joins_the_lanes_of_bssy() {
        let mut warp = control();
        warp.bssy(u32::MAX, 0, 9);
        warp.apply(0, Flow::Branch { taken: 0xff, target: 5 });
        let index = at(&warp, 5);
        warp.apply(index, Flow::Wait(0xff, Wait::Converge(0)));
        assert_eq!(warp.groups.len(), 2);
        let index = at(&warp, 1);
        warp.apply(index, Flow::Exit(0x100));
        assert_eq!(warp.groups.len(), 2, "the others are still on their way");
        let index = at(&warp, 2);
        warp.apply(index, Flow::Wait(0xffff_fe00, Wait::Converge(0)));
        assert_eq!(&warp.groups[..], [Group { pc: 9, lanes: 0xffff_feff, wait: Wait::Ready }]);
    }

    #[test]
    fn a_lane_that_breaks_is_not_waited_for() {
        let mut warp = control();
        warp.bssy(u32::MAX, 3, 9);
        warp.apply(0, Flow::Branch { taken: 1, target: 5 });
        let index = at(&warp, 1);
        warp.apply(index, Flow::Wait(!1, Wait::Converge(3)));
        assert!(warp.groups.iter().any(|group| group.wait == Wait::Converge(3)));
        warp.leave(1, 3);
        assert!(warp.groups.iter().any(|group| group.pc == 9 && group.lanes == !1));
    }

    #[test]
    fn sibling_arms_use_one_barrier_at_once() {
        let mut warp = control();
        warp.apply(0, Flow::Branch { taken: 0xffff, target: 20 });
        warp.bssy(0xffff, 1, 30);
        warp.bssy(0xffff_0000, 1, 10);
        let index = at(&warp, 20);
        warp.apply(index, Flow::Wait(0xffff, Wait::Converge(1)));
        assert!(warp.groups.iter().any(|group| group.pc == 30 && group.lanes == 0xffff));
        let index = at(&warp, 1);
        warp.apply(index, Flow::Wait(0xffff_0000, Wait::Converge(1)));
        assert!(warp.groups.iter().any(|group| group.pc == 10 && group.lanes == 0xffff_0000));
    }

    #[test]
    fn equal_places_join_in_the_ssa_engine_only() {
        for joining in [Joining::Barriers, Joining::Anywhere] {
            let mut warp = Control::new(u32::MAX, joining);
            warp.apply(0, Flow::Branch { taken: 0xf, target: 2 });
            let index = at(&warp, 1);
            warp.apply(index, Flow::Next);
            assert_eq!(warp.groups.len(), if joining == Joining::Anywhere { 1 } else { 2 });
        }
    }

    #[test]
    fn a_collective_is_executed_once_and_left_for_different_places() {
        let mut warp = control();
        warp.apply(0, Flow::Branch { taken: 0xff, target: 20 });
        warp.goes_on_at(0xff, 40);
        let index = at(&warp, 20);
        warp.apply(index, Flow::Meet(Box::new([Wait::Collective(u32::MAX); LANES])));
        assert_eq!(warp.groups.len(), 2, "the others have not come");
        warp.goes_on_at(!0xff, 30);
        let index = at(&warp, 1);
        warp.apply(index, Flow::Meet(Box::new([Wait::Collective(u32::MAX); LANES])));
        assert_eq!(&warp.groups[..], [Group { pc: 21, lanes: u32::MAX, wait: Wait::Ready }]);
        let targets = warp.leave_collective(u32::MAX).unwrap();
        warp.apply(0, Flow::Spread(Box::new(targets)));
        assert!(warp.groups.iter().any(|group| group.pc == 40 && group.lanes == 0xff));
        assert!(warp.groups.iter().any(|group| group.pc == 30 && group.lanes == !0xff));
        assert_eq!(warp.leave_collective(1), Err(0), "it has left");
    }

    #[test]
    fn lanes_wait_for_masks_of_their_own() {
        let mut warp = control();
        let halves = HALVES.map(Wait::Lanes);
        warp.apply(0, Flow::Branch { taken: 0xffff_0001, target: 1 });
        let index = warp.groups.iter().position(|group| group.lanes == 0xffff_0001).unwrap();
        warp.apply(index, Flow::Meet(Box::new(halves)));
        assert!(warp.groups.iter().any(|group| group.lanes == 0xffff_0000 && group.wait == Wait::Ready));
        assert!(warp.groups.iter().any(|group| group.lanes == 1 && group.wait == Wait::Lanes(0xffff)));
    }

    #[test]
    fn a_barrier_that_is_put_away_still_has_its_lanes() {
        let mut warp = control();
        warp.bssy(u32::MAX, 6, 9);
        warp.apply(0, Flow::Branch { taken: 1, target: 5 });
        let index = at(&warp, 1);
        warp.apply(index, Flow::Wait(!1, Wait::Converge(6)));
        // Lane 0 is in a function that has the barrier for itself.
        let saved = warp.put_away(1, 6);
        assert_ne!(saved[0], 0);
        warp.bssy(1, 6, 7);
        let index = at(&warp, 5);
        warp.apply(index, Flow::Wait(1, Wait::Converge(6)));
        assert!(warp.groups.contains(&Group { pc: 7, lanes: 1, wait: Wait::Ready }), "it meets nobody there");
        assert_eq!(warp.take_back(1, 6, &[0; LANES]), Err(0), "it was another region");
        let mut warp = control();
        warp.bssy(u32::MAX, 6, 9);
        warp.apply(0, Flow::Branch { taken: 1, target: 5 });
        let saved = warp.put_away(1, 6);
        let index = at(&warp, 1);
        warp.apply(index, Flow::Wait(!1, Wait::Converge(6)));
        assert_eq!(warp.groups.len(), 2, "the others wait for it");
        warp.take_back(1, 6, &saved).unwrap();
        let index = at(&warp, 5);
        warp.apply(index, Flow::Wait(1, Wait::Converge(6)));
        assert_eq!(warp.groups.len(), 1);
        assert_eq!(warp.groups[0].lanes, u32::MAX);
    }

    #[test]
    fn masks_stay_apart_where_they_meet_exclusively() {
        let mut warp = control();
        warp.apply(0, Flow::Meet(Box::new(HALVES.map(Wait::Exclusive))));
        let lanes: Vec<u32> = warp.groups.iter().map(|group| group.lanes).collect();
        assert_eq!((lanes, warp.alone), (vec![0xffff, 0xffff_0000], u32::MAX));
        let mut warp = control();
        warp.apply(0, Flow::Meet(Box::new(HALVES.map(Wait::Lanes))));
        assert_eq!(warp.groups.len(), 1, "no matter whom it is for, a plain one lets them go on together");
    }

    #[test]
    fn warpsync_with_another_mask_is_no_arrival() {
        let mut warp = control();
        warp.apply(0, Flow::Branch { taken: 0xffff, target: 7 });
        let index = at(&warp, 7);
        warp.apply(index, Flow::Wait(0xffff, Wait::Lanes(u32::MAX)));
        let index = at(&warp, 1);
        warp.apply(index, Flow::Wait(0xffff_0000, Wait::Lanes(0xffff_0000)));
        assert!(warp.groups.iter().any(|group| group.wait == Wait::Lanes(u32::MAX)));
        assert!(warp.groups.iter().any(|group| group.lanes == 0xffff_0000 && group.wait == Wait::Ready));
    }

    #[test]
    fn warpsync_waits_for_the_mask() {
        let mut warp = control();
        warp.apply(0, Flow::Branch { taken: 0x3, target: 1 });
        warp.apply(0, Flow::Wait(!0x3, Wait::Lanes(u32::MAX)));
        assert!(warp.groups.iter().any(|group| group.wait == Wait::Lanes(u32::MAX)));
        let index = warp.groups.iter().position(|group| group.wait == Wait::Ready).unwrap();
        warp.apply(index, Flow::Wait(0x3, Wait::Lanes(u32::MAX)));
        assert_eq!(&warp.groups[..], [Group { pc: 2, lanes: u32::MAX, wait: Wait::Ready }]);
    }
}
