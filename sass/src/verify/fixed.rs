//! Accesses of fixed latency that are under way.

use super::state::HORIZON;
use crate::register::PReg;

/// An access of an instruction of fixed latency that may still be too young for some consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    /// [`PReg::dense`] of the register.
    pub(super) reg: u16,
    /// Whether it is a result.
    pub(super) write: bool,
    /// Its instruction.
    pub(super) producer: u32,
    /// The slot; the number of slots for the guard.
    pub(super) slot: u8,
    /// The number of the register among the slot's neighbouring registers.
    pub(super) component: u8,
    /// Cycles since issue on the shortest path.
    pub(super) age: u8,
    /// The age from which it is old enough for every consumer.
    pub(super) settled: u8,
    /// Whether the predicate that guards it has not been written since; tracked for NVIDIA's code
    /// only.
    pub(super) is_guard_kept: bool,
}

impl Fixed {
    /// All fields except the ages in one number, ordered by register first.
    fn key(&self) -> u64 {
        let place =
            u64::from(self.slot) << 9 | u64::from(self.component) << 1 | u64::from(self.is_guard_kept);
        u64::from(self.reg) << 50 | u64::from(self.write) << 49 | u64::from(self.producer) << 17 | place
    }

    /// Sorts by key; of several entries with one key the youngest stays.
    pub(super) fn merge(list: &mut Vec<Fixed>) {
        list.sort_by_key(|fixed| (fixed.key(), fixed.age));
        list.dedup_by_key(|fixed| fixed.key());
    }
}

/// An access that was added in a block.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// The access, with its age at that time.
    access: Fixed,
    /// The time at which it was added.
    added: u64,
    /// The number of the previous access of the same register.
    before: u64,
}

impl UnderWay {
    /// The access with its age, if it is still too young for some consumer.
    fn at(&self, now: u64) -> Option<Fixed> {
        let age = self.age(now);
        (age < u64::from(self.access.settled)).then_some(Fixed { age: age as u8, ..self.access })
    }

    fn age(&self, now: u64) -> u64 {
        now - self.added + u64::from(self.access.age)
    }

    /// Whether it and all accesses added earlier are old enough for every consumer.
    fn is_behind_horizon(&self, now: u64) -> bool {
        self.added + u64::from(HORIZON) <= now
    }
}

/// The accesses that are under way inside a block. Accesses are numbered as they are added, and
/// those of a register are linked, so that nothing moves while time passes. Numbers continue from
/// block to block, so entries left by an earlier block are recognised.
#[derive(Debug)]
pub(super) struct FixedAccesses {
    list: Vec<UnderWay>,
    /// The number of the first in the list.
    first: u64,
    /// By register, the number of its last access; below `first` if it has none.
    last: Box<[u64]>,
    /// Cycles since the start.
    now: u64,
}

impl FixedAccesses {
    pub(super) fn new() -> FixedAccesses {
        FixedAccesses { list: Vec::new(), first: 1, last: vec![0; PReg::COUNT].into(), now: 0 }
    }

    /// Replaces everything by the accesses that are under way at an entry.
    pub(super) fn restart(&mut self, entry: &[Fixed]) {
        self.first += self.list.len() as u64;
        self.list.clear();
        entry.iter().for_each(|&access| self.add(access));
    }

    /// Adds an access with the age in its field.
    pub(super) fn add(&mut self, access: Fixed) {
        if self.list.len() == self.list.capacity() {
            self.forget_old();
        }
        let number = self.first + self.list.len() as u64;
        let before = std::mem::replace(&mut self.last[usize::from(access.reg)], number);
        self.list.push(UnderWay { access, added: self.now, before });
    }

    /// Drops accesses that are old enough for every consumer, so that a long block takes no more
    /// memory than a short one.
    #[cold]
    fn forget_old(&mut self) {
        let old = self.list.partition_point(|access| access.is_behind_horizon(self.now));
        self.list.drain(..old);
        self.first += old as u64;
        self.list.reserve(self.list.len().max(64));
    }

    /// Lets cycles pass.
    pub(super) fn pass(&mut self, cycles: u8) {
        self.now += u64::from(cycles);
    }

    /// Forgets the accesses of a register.
    pub(super) fn forget(&mut self, reg: u16) {
        let mut number = std::mem::take(&mut self.last[usize::from(reg)]);
        while let Some(at) = number.checked_sub(self.first) {
            let UnderWay { access, before, .. } = &mut self.list[at as usize];
            // From then on it counts as old enough for every consumer.
            access.settled = 0;
            number = *before;
        }
    }

    /// The accesses of a register that are too young for some consumer.
    pub(super) fn of(&self, reg: u16) -> impl Iterator<Item = Fixed> {
        let mut number = self.last[usize::from(reg)];
        let chain = std::iter::from_fn(move || {
            let access = &self.list[number.checked_sub(self.first)? as usize];
            number = access.before;
            Some(access)
        });
        self.too_young(chain)
    }

    /// All accesses.
    pub(super) fn all(&self) -> impl Iterator<Item = Fixed> {
        self.too_young(self.list.iter().rev())
    }

    /// The accesses in a list, youngest first, that are too young for some consumer.
    fn too_young<'a>(&self, list: impl Iterator<Item = &'a UnderWay>) -> impl Iterator<Item = Fixed> {
        let now = self.now;
        list.take_while(move |access| !access.is_behind_horizon(now)).filter_map(move |access| access.at(now))
    }

    /// Records that the guards of these instructions have been overwritten.
    pub(super) fn change_guards(&mut self, is_guarded: impl Fn(u32) -> bool) {
        let now = self.now;
        for recent in self.list.iter_mut().rev().take_while(|access| !access.is_behind_horizon(now)) {
            recent.access.is_guard_kept &= !is_guarded(recent.access.producer);
        }
    }
}
