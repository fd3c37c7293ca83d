//! Accesses with checks: of written bytes, and of the order of accesses to shared memory.

use smallvec::SmallVec;

use super::{AccessKind, Memory, Reach, Update};
use crate::checks::{Actor, End, Key, Nature, Race, Range};
use crate::error::Fault;
use crate::space::Space;
use crate::warp::{LANES, lanes_of};

impl Memory<'_> {
    /// The state of race detection, if races are checked.
    pub fn race(&mut self) -> Option<&mut Race> {
        self.cluster.first_mut()?.race.as_deref_mut()
    }

    /// The index of the warp in the CTA.
    fn warp(&self) -> usize {
        self.first_thread as usize / LANES
    }

    /// [`each`](Self::each), lane by lane, for a run that is checked for races.
    #[cold]
    pub(super) fn each_watched<const BYTES: usize>(
        &mut self,
        space: Space,
        lanes: u32,
        addresses: &[u64; LANES],
        kind: AccessKind,
        mut each: impl FnMut(usize, &mut [u8; BYTES]),
    ) -> Result<(), Fault> {
        let mut before: SmallVec<[(Reach, u32); LANES]> = SmallVec::new();
        for lane in lanes_of(lanes) {
            let reach = self.reach(space, lane, addresses[lane as usize], BYTES as u32, kind)?;
            self.note_written(lane, reach, kind)?;
            let mut changed = 0;
            if let Some(bytes) = self.bytes(reach).first_chunk_mut() {
                let old = *bytes;
                each(lane as usize, bytes);
                for (n, (old, new)) in old.iter().zip(bytes).enumerate() {
                    changed |= u64::from(old != new) << n.min(63);
                }
            }
            if kind == AccessKind::Write && reach.space == Space::Shared {
                self.note_same_store(&before, (reach, lane), changed);
                before.push((reach, lane));
            }
            self.note_order(lane, reach, kind, changed);
        }
        Ok(())
    }

    /// Reports that a lane changes bytes that another lane wrote in the same instruction.
    fn note_same_store(&mut self, before: &[(Reach, u32)], (own, lane): (Reach, u32), changed: u64) {
        if changed == 0 {
            return;
        }
        let overlaps = |other: &&(Reach, u32)| {
            let other = other.0;
            other.owner == own.owner
                && (0..own.bytes).any(|n| {
                    changed >> n.min(63) & 1 == 1
                        && (other.start..other.start + other.bytes).contains(&(own.start + n))
                })
        };
        let Some(&(_, other)) = before.iter().rev().find(overlaps) else { return };
        let actors = [other, lane].map(|lane| self.actor(self.rank, self.first_thread + lane));
        let range = Range { rank: own.owner, start: own.start, bytes: own.bytes };
        let (Some(race), found) =
            (self.cluster.first_mut().and_then(|cta| cta.race.as_deref_mut()), &mut self.grid.found)
        else {
            return;
        };
        race.report_same_store(found, actors, range);
    }

    fn actor(&self, rank: usize, thread: u32) -> Actor {
        Actor { rank, thread, pc: self.instruction.pc }
    }

    /// Marks the bytes of an access as written, and reports a read of bytes that are not.
    ///
    /// # Errors
    /// Such a read, if it is a fault.
    pub(super) fn note_written(&mut self, lane: u32, reach: Reach, kind: AccessKind) -> Result<(), Fault> {
        let Some(cta) = self.cluster.get_mut(reach.owner) else { return Ok(()) };
        let Some(written) = &mut cta.written else { return Ok(()) };
        let bits = match reach.space {
            Space::Shared => &mut written.shared,
            Space::Local => &mut written.local,
            _ => return Ok(()),
        };
        if kind != AccessKind::Write && !bits.has(reach.start, reach.bytes) {
            self.read_unwritten(lane, reach, kind)?;
        }
        if kind != AccessKind::Read
            && let Some(written) = self.cluster.get_mut(reach.owner).and_then(|cta| cta.written.as_mut())
        {
            let bits = if reach.space == Space::Shared { &mut written.shared } else { &mut written.local };
            bits.add(reach.start, reach.bytes);
        }
        Ok(())
    }

    /// Begins an atomic update, whose order is checked when its effect is known.
    #[inline]
    pub(super) fn begin_update(&mut self, lane: u32, reach: Reach) {
        if self.cluster[0].race.is_some() {
            self.end_update();
            let before = SmallVec::from_slice(self.bytes(reach));
            self.update = Some(Update { lane, reach, before });
        }
    }

    /// Checks the order of the last atomic update.
    #[inline]
    pub fn end_update(&mut self) {
        if let Some(Update { lane, reach, before }) = self.update.take() {
            let after = self.bytes(reach);
            let mut changed = 0;
            for (n, (old, new)) in before.iter().zip(after).enumerate() {
                changed |= u64::from(old != new) << n.min(63);
            }
            self.note_order(lane, reach, AccessKind::Atomic, changed);
        }
    }

    /// Checks the order of an access. `changed` has a bit for each byte whose content changes.
    #[inline]
    pub(super) fn note_order(&mut self, lane: u32, reach: Reach, kind: AccessKind, changed: u64) {
        if self.cluster[0].race.is_some() {
            self.check_order(lane, reach, kind, changed);
        }
    }

    #[cold]
    fn check_order(&mut self, lane: u32, reach: Reach, kind: AccessKind, changed: u64) {
        let instruction = self.instruction;
        let actor = self.actor(self.rank, self.first_thread + lane);
        let update = matches!(kind, AccessKind::Atomic | AccessKind::Mbarrier);
        let nature = Nature {
            reads: kind != AccessKind::Write,
            writes: kind != AccessKind::Read,
            atomic: update || instruction.strong,
            releases: instruction.releases,
            mbarrier: kind == AccessKind::Mbarrier,
        };
        let warp = self.warp();
        let Some(race) = self.cluster[0].race.as_deref_mut() else { return };
        match reach.space {
            Space::Shared => {
                let range = Range { rank: reach.owner, start: reach.start, bytes: reach.bytes };
                race.access(&mut self.grid.found, actor, range, nature, changed);
            }
            Space::Global => {
                // Only its effect on the order counts.
                let own = race.order.warp_of(actor.rank, warp);
                let key: Key = (1, reach.offset);
                if nature.reads {
                    race.order.learn_at(own, lane, key);
                }
                if nature.writes && nature.atomic {
                    race.order.publish_at(own, lane, key, nature.releases);
                }
            }
            _ => {}
        }
    }

    /// Records that lanes execute a fence.
    pub fn fence(&mut self, lanes: u32) {
        let (rank, warp) = (self.rank, self.warp());
        if let Some(race) = self.race() {
            let warp = race.order.warp_of(rank, warp);
            race.order.fence(warp, lanes.trailing_zeros() % LANES as u32);
        }
    }

    /// Records that lanes have waited for each other.
    pub fn meet(&mut self, lanes: u32) {
        let (rank, warp) = (self.rank, self.warp());
        if let Some(race) = self.race() {
            let warp = race.order.warp_of(rank, warp);
            race.order.enter(warp, lanes);
        }
    }

    /// Records that a lane arrives at the mbarrier at an address in shared memory of the cluster.
    pub fn publish_to_mbarrier(&mut self, lane: u32, address: u64) {
        self.synchronize(lane, address, true);
    }

    /// Records that a lane has learned that a phase of an mbarrier is complete.
    pub fn learn_from_mbarrier(&mut self, lane: u32, address: u64) {
        self.synchronize(lane, address, false);
    }

    fn synchronize(&mut self, lane: u32, address: u64, publishes: bool) {
        if self.cluster[0].race.is_none() {
            return;
        }
        let Some(key) = self.mbarrier_key(lane, address) else { return };
        let (rank, warp) = (self.rank, self.warp());
        let Some(race) = self.race() else { return };
        let warp = race.order.warp_of(rank, warp);
        match publishes {
            true => race.order.publish_at(warp, lane, key, true),
            false => race.order.learn_at(warp, lane, key),
        }
    }

    fn mbarrier_key(&mut self, lane: u32, address: u64) -> Option<Key> {
        let reach = self.reach(Space::Cluster, lane, address, 8, AccessKind::Mbarrier).ok()?;
        Some(Range { rank: reach.owner, start: reach.start, bytes: reach.bytes }.key())
    }

    /// Checks one end of a copy when it is requested: that it lies in memory, that its source is
    /// written, and its order. The effect of the copy comes later.
    ///
    /// # Errors
    /// A fault of the address, or an unwritten source, if that is a fault.
    pub fn request_copy(
        &mut self,
        lane: u32,
        (space, address): (Space, u64),
        bytes: u32,
        end: End,
    ) -> Result<(), Fault> {
        let reach = self.reach(space, lane, address, bytes, kind_of(end))?;
        if end == End::Source {
            self.note_copied(lane, reach)?;
        }
        let actor = self.actor(self.rank, self.first_thread + lane);
        if reach.space == Space::Shared
            && let Some(race) = self.cluster[0].race.as_deref_mut()
        {
            let range = Range { rank: reach.owner, start: reach.start, bytes: reach.bytes };
            race.request(&mut self.grid.found, actor, range, end);
        }
        Ok(())
    }

    /// The byte at one end of a copy that a thread of the CTA requested. The destination counts as
    /// written.
    ///
    /// # Errors
    /// A fault of the address.
    pub fn copied_byte(
        &mut self,
        (thread, lane): (u32, u32),
        (space, address): (Space, u64),
        end: End,
    ) -> Result<&mut u8, Fault> {
        let kind = kind_of(end);
        let reach = self.reach(space, lane, address, 1, kind)?;
        if end != End::Source {
            self.note_written(lane, reach, kind)?;
        }
        let rank = self.rank;
        if reach.space == Space::Shared
            && let Some(race) = self.race()
        {
            let range = Range { rank: reach.owner, start: reach.start, bytes: reach.bytes };
            race.complete(rank, thread, range, end);
        }
        let byte = self.bytes(reach).first_mut();
        byte.ok_or_else(|| Fault::new(lane, "a copy without a byte"))
    }

    /// Records that a copy that a thread requested arrives at an mbarrier.
    pub fn copy_arrives(&mut self, (thread, lane): (u32, u32), address: u64) {
        if self.cluster[0].race.is_none() {
            return;
        }
        let Some(key) = self.mbarrier_key(lane, address) else { return };
        let rank = self.rank;
        let Some(race) = self.race() else { return };
        let warp = race.order.warp_of(rank, thread as usize / LANES);
        race.order.publish_copy(warp, key);
    }
}

const fn kind_of(end: End) -> AccessKind {
    match end {
        End::Source => AccessKind::Read,
        End::Target => AccessKind::Write,
        End::Updated => AccessKind::Atomic,
    }
}
