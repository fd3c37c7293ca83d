//! Control flow of one warp: groups of lanes that execute together, and how they reconverge.
//!
//! Every live lane is in exactly one [`Group`], which has one program counter. A divergent branch
//! splits a group. The condition that joins groups depends on the machine ([`Joining`]):
//!
//! - The SASS engine joins groups as the hardware does, only by instructions: `BSYNC` when all
//!   lanes of the convergence barrier have arrived, `WARPSYNC` when all lanes of the mask have.
//!   `WARPSYNC.EXCLUSIVE` is like `WARPSYNC`, but joins the lanes of each mask separately.
//!   `WARPSYNC.COLLECTIVE` joins lanes from different places for the duration of the collective.
//!   Two groups that reach the same instruction by chance stay apart, so a forgotten reconvergence
//!   shows in the results of votes and shuffles.
//! - The SSA engine joins groups wherever they meet, because PTX leaves that open.
//!
//! [`regions`] defines which lanes wait for each other at `BSYNC`.

mod lanes;
mod regions;

use ptxc_sass::PReg;
use smallvec::SmallVec;

pub(crate) use lanes::{BIT, LANES, has, lanes_of};
use regions::Regions;

/// The event that a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// No event: it can execute.
    Ready,
    /// The other lanes of a convergence barrier.
    Converge(u8),
    /// The live lanes of the mask, wherever they wait for the same mask.
    Lanes(u32),
    /// As above, but lanes with different masks stay apart, even at the same place.
    Exclusive(u32),
    /// The live lanes of the mask, wherever they wait in this way for the same mask; then all
    /// execute the code after one of the places.
    Collective(u32),
    /// The live lanes of the mask at this same instruction, which they then execute.
    Gather(u32),
    /// The CTA barrier with this number.
    Cta(u8),
    /// The barrier of the cluster.
    Cluster,
    /// The mbarrier at this shared address: a change of any mbarrier of the cluster, or the end of
    /// the time that a wait may take. Then the instruction is executed again.
    Mbarrier(u32),
    /// The other warps of the warpgroup, which have not issued the products that it waits for. Then the
    /// instruction is executed again.
    Warpgroup,
}

/// The state of the lanes at the barrier of the cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClusterArrivals {
    /// The lanes that have arrived in this phase.
    pub arrived: u32,
    /// The lanes that have arrived in a phase that is complete, and have not waited yet.
    pub passed: u32,
}

/// Lanes that execute together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The next instruction.
    pub pc: u32,
    /// The lanes, one bit each; never empty.
    pub lanes: u32,
    /// The event that it waits for.
    pub wait: Wait,
}

impl Wait {
    /// Whether the instruction is executed again after the wait.
    pub fn comes_again(self) -> bool {
        matches!(self, Wait::Gather(_) | Wait::Mbarrier(_) | Wait::Warpgroup)
    }

    /// Whether it waits for an event outside the warp.
    fn is_elsewhere(self) -> bool {
        matches!(self, Wait::Ready | Wait::Cta(_) | Wait::Cluster | Wait::Mbarrier(_) | Wait::Warpgroup)
    }
}

/// Where the lanes of a group go after an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next instruction.
    Next,
    /// To the next instruction, after others have had a turn.
    Yield,
    /// These lanes to the target, the others to the next instruction.
    Branch {
        /// The lanes.
        taken: u32,
        /// The target.
        target: u32,
    },
    /// Each lane to its own target; lanes with the same target stay together.
    Spread(Box<[u32; LANES]>),
    /// These lanes end, the others go to the next instruction.
    Exit(u32),
    /// Each lane waits after this instruction, for an event of its own.
    Meet(Box<[Wait; LANES]>),
    /// These lanes wait; the others go to the next instruction. Some waits
    /// [come again](Wait::comes_again); after others the lanes continue with the next instruction.
    Wait(u32, Wait),
}

/// The condition that joins groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joining {
    /// `BSYNC` and `WARPSYNC`.
    Barriers,
    /// Arrival at the same instruction.
    Anywhere,
}

/// The control state of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    /// The groups.
    pub groups: SmallVec<[Group; 8]>,
    /// The lanes that have not exited.
    pub live: u32,
    /// The result of the last barrier if it was a reduction, for each lane: the count, or all ones
    /// or zeros.
    pub reduction: [Option<u32>; LANES],
    /// The state of the lanes at the barrier of the cluster.
    pub cluster: ClusterArrivals,
    /// The lanes whose wait for an mbarrier has taken long enough: they continue, whatever its
    /// state.
    pub expired: u32,
    /// The lanes whose values are being moved through uniform registers: until these lanes go
    /// elsewhere than to the next instruction, no other group of the warp executes.
    pub held: u32,
    /// The lanes that are held as soon as they execute an instruction: they met in order to own the
    /// warp's uniform registers.
    pub alone: u32,
    /// The sets of lanes that own the uniform registers until they wait, yield or exit; the set
    /// that goes first is last. See [`Options::holds_uniform`](crate::Options::holds_uniform).
    kept: SmallVec<[u32; 4]>,
    joining: Joining,
    /// Where each lane continues after the collective that it is in; [`NOWHERE`] outside a
    /// collective.
    collective: [u32; LANES],
    /// The register in which the lanes that wait for a collective have their masks.
    mask_register: Option<PReg>,
    /// The regions of convergence barriers.
    pub regions: Regions,
    /// The sets of lanes that have waited for each other since the grid last looked, although they
    /// may not continue together.
    pub met: SmallVec<[u32; 2]>,
}

/// No instruction.
const NOWHERE: u32 = u32::MAX;

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
            mask_register: None,
            regions: Regions::default(),
            met: SmallVec::new(),
        }
    }

    /// Makes lanes leave their regions of a barrier, if they are in any. Lanes that wait for them
    /// may be released.
    pub fn leave(&mut self, lanes: u32, barrier: u8) {
        self.regions.leave(lanes, barrier);
        self.release();
    }

    /// Ends all regions of lanes that sleep or yield. Lanes that wait for them are released.
    pub fn end_regions(&mut self, lanes: u32) {
        self.regions.end_all(lanes);
        self.release();
    }

    /// Restores saved regions of lanes to a barrier: see [`Regions::restore`].
    ///
    /// # Errors
    /// A lane has not saved a region with its number.
    pub fn restore(&mut self, lanes: u32, barrier: u8, numbers: &[u32; LANES]) -> Result<(), u32> {
        self.regions.restore(lanes, barrier, numbers)?;
        self.release();
        Ok(())
    }

    /// Notes the register with the mask of lanes that begin a collective. Returns the register of
    /// the lanes that already wait for one, if it is another.
    pub fn names_mask_register(&mut self, register: Option<PReg>) -> Option<PReg> {
        let waits = self.groups.iter().any(|group| matches!(group.wait, Wait::Collective(_)));
        let known = self.mask_register.filter(|_| waits);
        self.mask_register = known.or(register);
        known.filter(|_| known != register)
    }

    /// Sets the target where lanes continue when they end the collective that they begin.
    pub fn goes_on_at(&mut self, lanes: u32, target: u32) {
        for lane in lanes_of(lanes) {
            self.collective[lane as usize] = target;
        }
    }

    /// Returns where lanes that end a collective continue.
    ///
    /// # Errors
    /// A lane is not in a collective.
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

    /// Lets lanes own the uniform registers, even across branches.
    pub fn keep(&mut self, lanes: u32) {
        if self.kept.last().is_some_and(|first| first & lanes == lanes) {
            return;
        }
        while self.kept.last().is_some_and(|first| first & !lanes == 0) {
            self.kept.pop();
        }
        self.kept.push(lanes);
    }

    /// Puts a group that is about to execute before the other lanes that own the uniform registers.
    #[inline]
    pub fn begin(&mut self, lanes: u32) {
        if let Some(&first) = self.kept.last()
            && first & lanes != 0
            && first & !lanes != 0
        {
            self.kept.push(first & lanes);
        }
    }

    /// Releases the uniform registers for other lanes.
    fn let_go(&mut self, lanes: u32) {
        self.held = 0;
        self.kept.retain(|kept| {
            *kept &= !lanes;
            *kept != 0
        });
        self.kept.dedup();
    }

    /// The lanes that go before all others of the warp; 0 if there are none.
    #[inline]
    pub fn first(&self) -> u32 {
        match self.held {
            0 => self.kept.last().copied().unwrap_or(0),
            held => held,
        }
    }

    /// Moves the lanes of a ready group as an instruction requires.
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
                // A mask may now be complete, so instructions that gather lanes try again.
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
                let again = wait.comes_again();
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

    /// Joins ready groups, and groups that gather, at the same place. A group that grows tries
    /// again.
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

    /// The lanes of its warp that a group waits for.
    pub fn missing(&self, group: &Group) -> u32 {
        let came = |wait: Wait| {
            let alike = self.groups.iter().filter(|other| other.wait == wait);
            let all = alike.fold(0, |all, other| all | other.lanes);
            match wait {
                Wait::Converge(barrier) => {
                    let together = |&lane: &u32| {
                        let region = self.regions.of(barrier, lane).number;
                        lanes_of(group.lanes).any(|own| self.regions.of(barrier, own).number == region)
                    };
                    lanes_of(all).filter(together).fold(0, |all, lane| all | 1 << lane)
                }
                _ => all,
            }
        };
        let awaited = match group.wait {
            Wait::Ready | Wait::Cta(_) | Wait::Cluster | Wait::Mbarrier(_) | Wait::Warpgroup => 0,
            Wait::Lanes(mask) | Wait::Gather(mask) | Wait::Exclusive(mask) | Wait::Collective(mask) => mask,
            Wait::Converge(barrier) => {
                let members = |lane| self.regions.members(barrier, lane, self.live);
                lanes_of(group.lanes).fold(0, |all, lane| all | members(lane))
            }
        };
        awaited & self.live & !came(group.wait)
    }

    /// Makes all groups ready that wait for nothing in this warp any more.
    fn release(&mut self) {
        if self.groups.iter().all(|group| group.wait.is_elsewhere()) {
            return;
        }
        self.release_converged();
        self.release_warp_sync();
        self.release_exclusive();
        self.release_collectives();
    }

    /// Releases lanes at `bsync` if all lanes that they wait for have arrived.
    fn release_converged(&mut self) {
        for barrier in 0..regions::BARRIERS {
            let waits = |group: &Group| group.wait == Wait::Converge(barrier);
            let came =
                self.groups.iter().filter(|group| waits(group)).fold(0, |all, group| all | group.lanes);
            let mut left = came;
            while left != 0 {
                let lane = left.trailing_zeros();
                let region = self.regions.of(barrier, lane);
                let is_same = |&other: &u32| self.regions.of(barrier, other).number == region.number;
                let Some(own) = self.groups.iter().find(|group| group.lanes >> lane & 1 == 1) else { break };
                // A lane outside all regions continues straight on, with the lanes of its group
                // that are also outside.
                let members = match region.is_none() {
                    true => lanes_of(own.lanes).filter(is_same).fold(0, |all, other| all | 1 << other),
                    false => self.regions.members(barrier, lane, self.live),
                };
                let pc = region.goes_on_at.unwrap_or(own.pc);
                // A lane that has saved the region can only wait for another region.
                if !lanes_of(members).all(|other| came >> other & 1 == 1 && is_same(&other)) {
                    left &= !lanes_of(left).filter(is_same).fold(0, |all, other| all | 1 << other);
                    continue;
                }
                left &= !members;
                self.take(members);
                self.groups.push(Group { pc, lanes: members, wait: Wait::Ready });
                self.regions.leave(members, barrier);
            }
        }
    }

    /// Releases lanes at `WARPSYNC` if all live lanes of their mask wait with that mask. Lanes at
    /// the same place continue together.
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
        let mut met: SmallVec<[u32; 2]> = SmallVec::new();
        self.groups.retain(|group| match group.wait {
            Wait::Lanes(mask) if is_complete(mask) => {
                if !met.contains(&(mask & live)) {
                    met.push(mask & live);
                }
                match released.iter_mut().find(|other| other.pc == group.pc) {
                    Some(other) => other.lanes |= group.lanes,
                    None => released.push(Group { wait: Wait::Ready, ..*group }),
                }
                false
            }
            _ => true,
        });
        self.groups.extend(released);
        self.met.extend(met);
    }

    /// Releases lanes at `WARPSYNC.EXCLUSIVE` if all live lanes of their mask wait in this way with
    /// that mask. Lanes at the same place continue together, except for lanes with another mask.
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
            self.met.push(mask);
        }
    }

    /// Releases lanes at `WARPSYNC.COLLECTIVE` if all live lanes of their mask wait in this way
    /// with that mask. All continue after the `WARPSYNC.COLLECTIVE` of the lowest lane.
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

    /// Removes lanes from their groups.
    fn take(&mut self, lanes: u32) {
        for group in &mut self.groups {
            group.lanes &= !lanes;
        }
        self.groups.retain(|group| group.lanes != 0);
    }

    /// Releases lanes that wait at the barrier of the cluster; those that have only arrived may
    /// pass it later.
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

    /// Lets lanes that wait for an mbarrier or for products test again; with `expired` those that wait for
    /// an mbarrier continue in any case. Returns whether there are any such lanes.
    pub fn wake(&mut self, expired: bool) -> bool {
        let mut woken = 0;
        for group in &mut self.groups {
            if matches!(group.wait, Wait::Mbarrier(_)) || !expired && group.wait == Wait::Warpgroup {
                group.wait = Wait::Ready;
                woken |= group.lanes;
            }
        }
        if expired {
            self.expired |= woken;
        }
        woken != 0
    }

    /// The lanes that wait for an event.
    pub fn waiting_at(&self, wait: Wait) -> u32 {
        self.groups.iter().filter(|group| group.wait == wait).fold(0, |all, group| all | group.lanes)
    }

    /// Releases lanes that wait at a CTA barrier.
    pub fn release_cta(&mut self, barrier: u8, reduction: Option<u32>) {
        for group in &mut self.groups {
            if group.wait == Wait::Cta(barrier) {
                group.wait = Wait::Ready;
                // The hardware has one result per warp, which a later reduction overwrites. PTX has
                // one per thread.
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
mod tests;
