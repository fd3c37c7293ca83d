//! The last accesses of each byte of shared memory, and the races between them and the next one.
//!
//! A byte remembers its last write and up to two reads since then, of different warps if possible.
//! So a race of a write with reads of many threads is found, although not each of its pairs. The
//! memory is 24 bytes for each byte of shared memory, however long a program runs.
//!
//! | earlier access | later access | a race if they are not ordered |
//! |---|---|---|
//! | write | read, write | unless both are atomic or strong |
//! | read | write | unless both are atomic or strong |
//! | a pending copy to the byte | any | yes, also in the same thread |
//! | a pending copy from the byte | write | yes, also in the same thread |
//!
//! A store that writes the content that the byte has is no access, and an atomic update that leaves
//! it is only a read: the order does not matter.

use super::clocks::{Clockwork, Key, LAST_CLOCK};
use super::found::{Found, Place, Role, Touch};
use crate::space::Space;
use crate::warp::LANES;

/// The thread is the atomic unit, or the access is strong: two such accesses never race.
const ATOMIC: u8 = 1;
/// The store publishes the past of its thread, and even a load that looks plain learns it and is no
/// race: an operation on an mbarrier, or a store that is [guessed](Race::new) to be a release.
const RELEASE: u8 = 2;
/// The access is that of a copy that nothing has waited for.
const PENDING: u8 = 4;

/// The greatest instruction that a record can name.
const LAST_PC: u32 = (1 << 23) - 1;

/// An access of a byte, in 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Record(u64);

impl Record {
    fn new(thread: u32, pc: u32, clock: u32, flags: u8) -> Record {
        let thread = u64::from(thread & 0x3fff);
        let (pc, clock) = (u64::from(pc.min(LAST_PC)), u64::from(clock.min(LAST_CLOCK)));
        Record(thread | pc << 14 | clock << 37 | u64::from(flags) << 61)
    }

    /// No access: the clocks of accesses begin at 1.
    fn is_none(self) -> bool {
        self.0 == 0
    }

    fn thread(self) -> u32 {
        (self.0 & 0x3fff) as u32
    }

    fn pc(self) -> u32 {
        (self.0 >> 14) as u32 & LAST_PC
    }

    fn clock(self) -> u32 {
        (self.0 >> 37) as u32 & LAST_CLOCK
    }

    fn has(self, flag: u8) -> bool {
        (self.0 >> 61) as u8 & flag != 0
    }
}

/// The accesses of a byte.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Record,
    reads: [Record; 2],
}

/// The size of the records of a byte.
pub(crate) const BYTES_PER_BYTE: u64 = size_of::<Cell>() as u64;

/// An access by a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actor {
    /// The rank of its CTA.
    pub rank: usize,
    /// The index of the thread in the CTA.
    pub thread: u32,
    /// The instruction.
    pub pc: u32,
}

/// The nature of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nature {
    /// Whether it reads and writes.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
    /// Whether it is atomic or strong.
    pub atomic: bool,
    /// Whether it publishes the whole past of its thread.
    pub releases: bool,
    /// Whether it is an operation on an mbarrier, which defines by itself what it orders.
    pub mbarrier: bool,
}

/// The state of race detection for a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Race {
    /// What happened before what.
    pub order: Clockwork,
    cells: Vec<Vec<Cell>>,
    /// Whether releases are guessed.
    guesses: bool,
    /// Threads of a CTA.
    threads: u32,
    /// `%ctaid` of the started CTAs, by rank.
    ids: Vec<[u32; 3]>,
}

/// What an asynchronous copy, store or update does to a range of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It reads it.
    Source,
    /// It writes it.
    Target,
    /// It updates it atomically.
    Updated,
}

/// A range of shared memory of a CTA of the cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    /// The rank of the CTA.
    pub rank: usize,
    /// The first byte.
    pub start: usize,
    /// The number of bytes.
    pub bytes: usize,
}

impl Range {
    /// The place at which threads synchronize by an access of this range. Code may read only one half
    /// of an mbarrier, so both are one place.
    pub fn key(self) -> Key {
        (0, (self.rank as u64) << 32 | self.start as u64 & !7)
    }

    fn place(self, id: [u32; 3]) -> Place {
        Place { space: Space::Shared, cta: id, start: self.start as u64, bytes: self.bytes as u32 }
    }
}

impl Race {
    /// The state for a cluster of `ctas` CTAs. In machine code of unknown source, accesses to shared
    /// memory do not show that they are strong. With `guesses`, the first store after a fence counts
    /// as a release, loads of its value as acquires, and loads beside atomic updates as strong.
    pub fn new(ctas: usize, threads: u32, shared_bytes: usize, guesses: bool) -> Race {
        let cells = vec![vec![Cell::default(); shared_bytes]; ctas];
        Race { order: Clockwork::new(ctas, threads), cells, guesses, threads, ids: Vec::with_capacity(ctas) }
    }

    /// Tells the coordinates of the CTA that starts next.
    pub fn start(&mut self, id: [u32; 3]) {
        self.ids.push(id);
    }

    fn number(&self, actor: Actor) -> u32 {
        actor.rank as u32 * self.threads + actor.thread
    }

    /// The warp in the cluster and the lane of a thread.
    fn lane_of(&self, number: u32) -> (usize, u32) {
        let (rank, thread) = (number / self.threads, number % self.threads);
        let warp = self.order.warp_of(rank as usize, thread as usize / LANES);
        (warp, thread % LANES as u32)
    }

    fn touch(&self, number: u32, pc: u32, role: Role) -> Touch {
        let rank = (number / self.threads) as usize;
        let cta = self.ids.get(rank).copied().unwrap_or_default();
        Touch { pc, role, cta, thread: number % self.threads }
    }

    /// Whether an earlier access is ordered before the next access of a thread.
    fn is_before(&self, record: Record, own: (usize, u32)) -> bool {
        if record.is_none() {
            return true;
        }
        let (warp, lane) = self.lane_of(record.thread());
        !record.has(PENDING) && self.order.is_before((warp, lane, record.clock()), own)
    }

    /// Records an access. `changed` has a bit for each byte whose content it changes.
    pub fn access(&mut self, found: &mut Found, actor: Actor, range: Range, nature: Nature, changed: u64) {
        let number = self.number(actor);
        let own = self.lane_of(number);
        let guessed = self.guesses && nature.writes && self.order.is_after_fence(own.0, own.1);
        let publishes = nature.writes && (nature.atomic || guessed) && !nature.mbarrier;
        let mut flags = 0;
        flags |= if nature.atomic { ATOMIC } else { 0 };
        flags |= if guessed || nature.mbarrier { RELEASE } else { 0 };
        let record = Record::new(number, actor.pc, self.order.clock(own.0), flags);
        let mut learns = nature.atomic && nature.reads && !nature.mbarrier;
        let mut raced: Option<Record> = None;
        for byte in 0..range.bytes {
            let Some(&cell) = self.cells.get(range.rank).and_then(|cells| cells.get(range.start + byte))
            else {
                break;
            };
            let Cell { write, mut reads } = cell;
            let changes = changed >> byte.min(63) & 1 == 1;
            if nature.writes && !nature.reads && !changes && !write.is_none() && !write.has(PENDING) {
                continue;
            }
            // An atomic update that changes nothing is only a read.
            let writes = nature.writes && (changes || !nature.reads);
            // A load of what a release stored waits for the value, although it looks plain.
            let waits = !nature.writes && (write.has(RELEASE) || self.guesses && write.has(ATOMIC));
            learns |= waits;
            let both_atomic = |other: Record| nature.atomic && other.has(ATOMIC);
            let races = |other: Record| !both_atomic(other) && !self.is_before(other, own);
            if !waits && races(write) {
                let role = if write.has(PENDING) { Role::Copy } else { role_of(write, true) };
                self.report(found, &mut raced, (write, role), (number, actor.pc, nature), range);
            }
            if writes {
                // Such a load may have come before the value.
                let is_awaited =
                    |read: Record| (guessed || self.guesses && nature.atomic) && !read.has(PENDING);
                for read in reads.into_iter().filter(|&read| !is_awaited(read) && races(read)) {
                    let role = if read.has(PENDING) { Role::CopyFrom } else { role_of(read, false) };
                    self.report(found, &mut raced, (read, role), (number, actor.pc, nature), range);
                }
                self.cells[range.rank][range.start + byte] =
                    Cell { write: record, reads: Default::default() };
                continue;
            }
            let is_free = |slot: &Record| {
                let is_own = |slot: Record| self.lane_of(slot.thread()).0 == own.0 && !slot.has(PENDING);
                self.is_before(*slot, own) || is_own(*slot) && (slot.has(ATOMIC) || !nature.atomic)
            };
            if let Some(index) = reads.iter().position(is_free) {
                reads[index] = record;
                self.cells[range.rank][range.start + byte].reads = reads;
            }
        }
        if learns {
            self.order.learn_at(own.0, own.1, range.key());
        }
        if publishes {
            self.order.publish_at(own.0, own.1, range.key(), nature.releases || guessed);
        }
    }

    /// Reports a race of an access with an earlier one, once for all its bytes.
    fn report(
        &self,
        found: &mut Found,
        raced: &mut Option<Record>,
        (earlier, role): (Record, Role),
        (number, pc, nature): (u32, u32, Nature),
        range: Range,
    ) {
        if raced.is_some_and(|other| (other.pc(), other.thread()) == (earlier.pc(), earlier.thread())) {
            return;
        }
        *raced = Some(earlier);
        let later = match (nature.reads, nature.writes) {
            _ if nature.atomic && nature.writes => Role::Atomic,
            (_, true) => Role::Write,
            _ => Role::Read,
        };
        let sides = [self.touch(earlier.thread(), earlier.pc(), role), self.touch(number, pc, later)];
        let id = self.ids.get(range.rank).copied().unwrap_or_default();
        found.race(sides, range.place(id));
    }

    /// Reports two lanes that write different values to the same bytes in one instruction.
    pub fn report_same_store(&self, found: &mut Found, actors: [Actor; 2], range: Range) {
        let sides = actors.map(|actor| self.touch(self.number(actor), actor.pc, Role::Write));
        let id = self.ids.get(range.rank).copied().unwrap_or_default();
        found.race(sides, range.place(id));
    }

    /// Records that a thread requests a copy from or to a range, or an update of it.
    pub fn request(&mut self, found: &mut Found, actor: Actor, range: Range, end: End) {
        let (reads, writes) = (end != End::Target, end != End::Source);
        let nature = Nature { reads, writes, atomic: end == End::Updated, releases: false, mbarrier: false };
        self.access(found, actor, range, nature, u64::MAX);
        let number = self.number(actor);
        let clock = self.order.clock(self.lane_of(number).0);
        let record = Record::new(number, actor.pc, clock, PENDING | atomic_flag(end));
        for cell in self.range(range) {
            match end {
                End::Source => cell.reads[0] = record,
                End::Target | End::Updated => cell.write = record,
            }
        }
    }

    /// Records that a copy or an update that a thread requested has been made.
    pub fn complete(&mut self, rank: usize, thread: u32, range: Range, end: End) {
        let number = rank as u32 * self.threads + thread;
        let clock = self.order.clock(self.lane_of(number).0);
        for cell in self.range(range) {
            let record = if end == End::Source { &mut cell.reads[0] } else { &mut cell.write };
            if record.has(PENDING) && record.thread() == number {
                *record = Record::new(number, record.pc(), clock, atomic_flag(end));
            }
        }
    }

    fn range(&mut self, range: Range) -> impl Iterator<Item = &mut Cell> {
        let cells = self.cells.get_mut(range.rank).map_or(&mut [][..], |cells| cells);
        cells.iter_mut().skip(range.start).take(range.bytes)
    }
}

const fn atomic_flag(end: End) -> u8 {
    if matches!(end, End::Updated) { ATOMIC } else { 0 }
}

/// The role of a recorded access.
fn role_of(record: Record, writes: bool) -> Role {
    match (writes, record.has(ATOMIC)) {
        (true, true) => Role::Atomic,
        (true, false) => Role::Write,
        (false, _) => Role::Read,
    }
}
