//! What happened before what: vector clocks of the warps of a cluster, and of the lanes of a warp.
//!
//! Each warp has a clock, which advances whenever other threads may learn of its past. A set of
//! lanes that execute together is a *track*. A track knows, for each warp of the cluster, the clock
//! up to which all accesses of that warp happened before. For each other lane of its own warp, it
//! knows the clock up to which that lane's accesses happened before.
//!
//! ```text
//! enter(warp, lanes)      the lanes execute an instruction: they are one track from now on
//! arrive, release         a barrier: the released lanes know the past of all that arrived
//! publish_at, learn_at    an mbarrier or an atomic: the past goes through a place in memory
//! ```
//!
//! A warp publishes its past as a whole, including the accesses of its lanes that were elsewhere.
//! So an order that does not exist may be assumed, and never the reverse: there are no false
//! alarms.
//!
//! Memory: a word per warp of the cluster for each track, each barrier in use, and each of at most
//! [`MOST_PLACES`] places.

use rustc_hash::FxHashMap;

use crate::warp::{LANES, lanes_of};

/// The clock of each warp of a cluster; missing ones are 0.
pub(crate) type Clocks = Vec<u32>;

/// The greatest clock. Accesses of a warp whose clock has reached it count as ordered.
pub(super) const LAST_CLOCK: u32 = (1 << 24) - 1;

/// The most places in memory that have clocks of their own; others share some.
const MOST_PLACES: usize = 1024;

/// The number of shared clocks of the other places.
const SHARED_PLACES: u64 = 64;

/// A place in memory that threads synchronize at: the space, with 0 for shared memory, and the
/// address with the rank.
pub(crate) type Key = (u32, u64);

/// Lanes of a warp that have the same past.
#[derive(Clone, Debug)]
struct Track {
    lanes: u32,
    /// The past of the cluster.
    past: Clocks,
    /// For each lane of the warp that is not in the track, the clock up to which its accesses
    /// happened before.
    lane_past: [u32; LANES],
    /// The past at the last fence; empty without one.
    fenced: Clocks,
    /// Whether the track has executed a fence and no store since then.
    after_fence: AfterFence,
}

/// The instructions after a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterFence {
    /// There was no fence, or there was a store after it.
    No,
    /// There was no store since then.
    Yes,
    /// The current instruction is the first store since then.
    Now,
}

/// The order of a warp.
#[derive(Clone, Debug)]
struct Warp {
    clock: u32,
    /// Whether the clock must advance before the next instruction, because the past has been
    /// published.
    is_published: bool,
    tracks: Vec<Track>,
}

/// The order of the accesses of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Clockwork {
    warps: Vec<Warp>,
    /// Warps of a CTA.
    per_cta: usize,
    /// The past of the threads that have arrived, for each CTA and barrier.
    barriers: FxHashMap<(usize, u8), Clocks>,
    /// The past of the threads that have exited, for each CTA.
    exited: Vec<Clocks>,
    /// The past of the threads that have arrived at the barrier of the cluster in this phase, and
    /// of those of the last complete phase.
    cluster: [Clocks; 2],
    places: FxHashMap<Key, Clocks>,
}

fn join(into: &mut Clocks, from: &[u32]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (into, &from) in into.iter_mut().zip(from) {
        *into = from.max(*into);
    }
}

/// Joins the past of a track whose own warp has the given index and clock.
fn join_with_own(into: &mut Clocks, past: &[u32], own: usize, clock: u32) {
    join(into, past);
    if into.len() <= own {
        into.resize(own + 1, 0);
    }
    into[own] = into[own].max(clock);
}

impl Warp {
    fn advance(&mut self) {
        self.clock = (self.clock + 1).min(LAST_CLOCK);
    }

    /// Makes lanes one track, and returns its index.
    fn bring_together(&mut self, lanes: u32) -> usize {
        if std::mem::take(&mut self.is_published) {
            self.advance();
        }
        if let Some(index) = self.tracks.iter().position(|track| track.lanes == lanes) {
            return index;
        }
        let clock = self.clock;
        let mut whole: Option<Track> = None;
        for track in &mut self.tracks {
            let (common, rest) = (track.lanes & lanes, track.lanes & !lanes);
            if common == 0 {
                continue;
            }
            let mut part = track.clone();
            part.lanes = common;
            // Until now the two parts have executed together.
            lanes_of(rest).for_each(|lane| part.lane_past[lane as usize] = clock);
            lanes_of(common).for_each(|lane| track.lane_past[lane as usize] = clock);
            track.lanes = rest;
            whole = Some(match whole {
                None => part,
                Some(mut whole) => {
                    whole.lanes |= part.lanes;
                    join(&mut whole.past, &part.past);
                    for (into, from) in whole.lane_past.iter_mut().zip(part.lane_past) {
                        *into = from.max(*into);
                    }
                    join(&mut whole.fenced, &part.fenced);
                    if whole.after_fence == AfterFence::No {
                        whole.after_fence = part.after_fence;
                    }
                    whole
                }
            });
        }
        self.tracks.retain(|track| track.lanes != 0);
        self.advance();
        match whole {
            Some(whole) => self.tracks.push(whole),
            None => self.tracks.push(Track::new(lanes)),
        }
        self.tracks.len() - 1
    }

    /// The track of a lane.
    fn track(&mut self, lane: u32) -> Option<&mut Track> {
        self.tracks.iter_mut().find(|track| track.lanes >> lane & 1 == 1)
    }
}

impl Track {
    fn new(lanes: u32) -> Track {
        let lane_past = [0; LANES];
        Track { lanes, past: Clocks::new(), lane_past, fenced: Clocks::new(), after_fence: AfterFence::No }
    }
}

impl Clockwork {
    /// The order of a cluster of `ctas` CTAs with this number of threads.
    pub fn new(ctas: usize, threads: u32) -> Clockwork {
        let per_cta = threads.div_ceil(LANES as u32) as usize;
        let warp = |index: usize| {
            let first = (index % per_cta * LANES) as u32;
            let lanes = u32::MAX >> (LANES as u32 - (threads - first).min(LANES as u32));
            Warp { clock: 1, is_published: false, tracks: vec![Track::new(lanes)] }
        };
        Clockwork {
            warps: (0..ctas * per_cta).map(warp).collect(),
            per_cta,
            barriers: FxHashMap::default(),
            exited: vec![Clocks::new(); ctas],
            cluster: Default::default(),
            places: FxHashMap::default(),
        }
    }

    /// The index of a warp of a CTA.
    pub fn warp_of(&self, rank: usize, warp: usize) -> usize {
        rank * self.per_cta + warp
    }

    /// The clock of a warp.
    pub fn clock(&self, warp: usize) -> u32 {
        self.warps[warp].clock
    }

    /// Makes lanes one track: they execute an instruction together, or have waited for each other.
    pub fn enter(&mut self, warp: usize, lanes: u32) {
        let index = self.warps[warp].bring_together(lanes);
        let track = &mut self.warps[warp].tracks[index];
        if track.after_fence == AfterFence::Now {
            track.after_fence = AfterFence::No;
        }
    }

    /// Whether the accesses of a lane at a clock happened before the next access of another lane.
    pub fn is_before(&self, (warp, lane, clock): (usize, u32, u32), (own, own_lane): (usize, u32)) -> bool {
        if clock == LAST_CLOCK || (warp == own && lane == own_lane) {
            return true;
        }
        let mut tracks = self.warps[own].tracks.iter();
        let Some(track) = tracks.find(|track| track.lanes >> own_lane & 1 == 1) else { return true };
        track.past.get(warp).is_some_and(|&known| known >= clock)
            || warp == own && (track.lanes >> lane & 1 == 1 || track.lane_past[lane as usize] >= clock)
    }

    /// Records the arrival of lanes at a CTA barrier.
    pub fn arrive(&mut self, rank: usize, name: u8, warp: usize, lanes: u32) {
        let entry = self.barriers.entry((rank, name)).or_default();
        publish(&mut self.warps[warp], warp, lanes, entry);
    }

    /// Lets lanes continue that have waited for a CTA barrier.
    pub fn release(&mut self, rank: usize, name: u8, warp: usize, lanes: u32) {
        if lanes == 0 {
            return;
        }
        let index = self.warps[warp].bring_together(lanes);
        let past = &mut self.warps[warp].tracks[index].past;
        join(past, self.barriers.get(&(rank, name)).map_or(&[], |clocks| clocks));
        join(past, &self.exited[rank]);
    }

    /// Ends the phase of a CTA barrier, after all its lanes have been released.
    pub fn finish(&mut self, rank: usize, name: u8) {
        self.barriers.remove(&(rank, name));
    }

    /// Records the exit of lanes. Barriers do not wait for them, so it counts as an arrival.
    pub fn exit(&mut self, rank: usize, warp: usize, lanes: u32) {
        publish(&mut self.warps[warp], warp, lanes, &mut self.exited[rank]);
        let state = &mut self.warps[warp];
        let clock = state.clock;
        for track in &mut state.tracks {
            lanes_of(track.lanes & lanes).for_each(|lane| track.lane_past[lane as usize] = clock);
            track.lanes &= !lanes;
        }
        state.tracks.retain(|track| track.lanes != 0);
    }

    /// Records the arrival of lanes at the barrier of the cluster.
    pub fn arrive_at_cluster(&mut self, warp: usize, lanes: u32) {
        publish(&mut self.warps[warp], warp, lanes, &mut self.cluster[0]);
    }

    /// Ends the phase of the barrier of the cluster.
    pub fn finish_cluster(&mut self) {
        self.cluster[1] = std::mem::take(&mut self.cluster[0]);
        for exited in &self.exited {
            join(&mut self.cluster[1], exited);
        }
    }

    /// Lets lanes continue that have waited for the last complete phase of the cluster.
    pub fn release_from_cluster(&mut self, warp: usize, lanes: u32) {
        if lanes == 0 {
            return;
        }
        let index = self.warps[warp].bring_together(lanes);
        join(&mut self.warps[warp].tracks[index].past, &self.cluster[1]);
    }

    /// Records that the track of a lane executes a fence.
    pub fn fence(&mut self, warp: usize, lane: u32) {
        let state = &mut self.warps[warp];
        let clock = state.clock;
        state.is_published = true;
        let Some(track) = state.track(lane) else { return };
        let mut fenced = track.past.clone();
        join_with_own(&mut fenced, &[], warp, clock);
        track.fenced = fenced;
        track.after_fence = AfterFence::Yes;
    }

    /// Whether the store that the track of a lane executes is the first one after a fence.
    pub fn is_after_fence(&mut self, warp: usize, lane: u32) -> bool {
        let Some(track) = self.warps[warp].track(lane) else { return false };
        if track.after_fence == AfterFence::Yes {
            track.after_fence = AfterFence::Now;
        }
        track.after_fence == AfterFence::Now
    }

    /// Publishes the past of a lane at a place: the past at its last fence, or with `whole` all of
    /// it.
    pub fn publish_at(&mut self, warp: usize, lane: u32, key: Key, whole: bool) {
        let key = self.known(key);
        let state = &mut self.warps[warp];
        let clock = state.clock;
        let Some(track) = state.tracks.iter().find(|track| track.lanes >> lane & 1 == 1) else { return };
        if whole {
            join_with_own(self.places.entry(key).or_default(), &track.past, warp, clock);
            state.is_published = true;
        } else if !track.fenced.is_empty() {
            join(self.places.entry(key).or_default(), &track.fenced);
        }
    }

    /// Publishes at a place that everything that a warp has done has happened, as a copy on its
    /// behalf does when it is complete.
    pub fn publish_copy(&mut self, warp: usize, key: Key) {
        let key = self.known(key);
        let clock = self.warps[warp].clock;
        join_with_own(self.places.entry(key).or_default(), &[], warp, clock);
        self.warps[warp].is_published = true;
    }

    /// Lets a lane, and those that execute with it, know what has been published at a place.
    pub fn learn_at(&mut self, warp: usize, lane: u32, key: Key) {
        if self.places.is_empty() {
            return;
        }
        let key = self.known(key);
        if let (Some(clocks), Some(track)) = (self.places.get(&key), self.warps[warp].track(lane)) {
            join(&mut track.past, clocks);
        }
    }

    /// The key under which a place is known: its own, or one of those that others share.
    fn known(&self, key: Key) -> Key {
        match self.places.len() < MOST_PLACES || self.places.contains_key(&key) {
            true => key,
            false => (u32::MAX, key.1 / 4 % SHARED_PLACES),
        }
    }
}

/// Adds the past of lanes to clocks.
fn publish(state: &mut Warp, warp: usize, lanes: u32, into: &mut Clocks) {
    for track in state.tracks.iter().filter(|track| track.lanes & lanes != 0) {
        join_with_own(into, &track.past, warp, state.clock);
    }
    state.is_published = true;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_orders_those_that_wait() {
        let mut order = Clockwork::new(1, 96);
        (0..3).for_each(|warp| order.enter(warp, u32::MAX));
        let before = (1, 7, order.clock(1));
        assert!(!order.is_before(before, (0, 0)));
        for warp in 0..2 {
            order.arrive(0, 3, warp, u32::MAX);
        }
        for warp in 0..2 {
            order.release(0, 3, warp, u32::MAX);
        }
        order.finish(0, 3);
        assert!(order.is_before(before, (0, 0)));
        assert!(!order.is_before(before, (2, 0)), "it was not at the barrier");
        order.enter(1, u32::MAX);
        assert!(!order.is_before((1, 7, order.clock(1)), (0, 0)), "it happened after the barrier");
    }

    #[test]
    fn lanes_that_parted_are_not_ordered_until_they_meet() {
        let mut order = Clockwork::new(1, 32);
        order.enter(0, u32::MAX);
        let together = (0, 20, order.clock(0));
        order.enter(0, 0xffff);
        assert!(order.is_before(together, (0, 0)));
        order.enter(0, 0xffff_0000);
        let apart = (0, 20, order.clock(0));
        assert!(!order.is_before(apart, (0, 0)));
        assert!(order.is_before(apart, (0, 21)));
        order.enter(0, u32::MAX);
        assert!(order.is_before(apart, (0, 0)));
    }

    #[test]
    fn a_place_passes_on_the_past_before_a_fence() {
        let mut order = Clockwork::new(1, 64);
        let key = (0, 8);
        order.enter(0, u32::MAX);
        let data = (0, 0, order.clock(0));
        order.publish_at(0, 0, key, false);
        order.learn_at(1, 5, key);
        assert!(!order.is_before(data, (1, 5)), "without a fence");
        order.fence(0, 0);
        order.enter(0, u32::MAX);
        assert!(order.is_after_fence(0, 0));
        let late = (0, 0, order.clock(0));
        order.publish_at(0, 0, key, false);
        order.learn_at(1, 5, key);
        assert!(order.is_before(data, (1, 5)));
        assert!(!order.is_before(late, (1, 5)));
    }
}
