//! Accesses that are announced by scoreboards and under way.

use super::state::VISIBLE;
use crate::control::Control;
use crate::register::PReg;

const SCOREBOARDS: usize = Control::SCOREBOARDS as usize;

/// Those that there are, a bit each; what names another counts nowhere.
const ALL_SCOREBOARDS: u8 = (1 << SCOREBOARDS) - 1;

/// An unfinished access of an instruction that announces the end of it by scoreboards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    /// [`PReg::dense`] of the register.
    pub(super) reg: u16,
    /// Whether it is a result.
    pub(super) write: bool,
    /// The scoreboards that its instruction sets to announce the end of it.
    pub(super) scoreboards: u8,
    /// Those that its instruction, or a later one that can't overtake it, has set, but that do not count it yet: of
    /// age 0 and of age 1.
    young: [u8; VISIBLE as usize],
    /// How often each scoreboard counts such instructions, which are all under way as long as it is.
    counts: [u8; SCOREBOARDS],
    /// The scoreboards that count it, or what can't overtake it: those of which `counts` is not 0.
    counted: u8,
    /// Such an access's instruction.
    pub(super) producer: u32,
    /// Whether the predicate that guards it has not been written since; told of NVIDIA's code alone.
    pub(super) is_guard_kept: bool,
}

impl Pending {
    /// An access of an instruction that issues now.
    pub(super) fn new(reg: u16, write: bool, scoreboards: u8, producer: u32, is_guard_kept: bool) -> Pending {
        let (young, counts) = ([scoreboards, 0], [0; SCOREBOARDS]);
        Pending { reg, write, scoreboards, young, counts, counted: 0, producer, is_guard_kept }
    }

    /// All but the counts and the instruction in one number, which orders them by register first.
    fn key(&self) -> u64 {
        let [youngest, young] = self.young;
        let scoreboards = u32::from_be_bytes([self.scoreboards, youngest, young, self.counted]);
        let access = u64::from(self.reg) << 1 | u64::from(self.write);
        access << 33 | u64::from(scoreboards) << 1 | u64::from(self.is_guard_kept)
    }

    /// The scoreboards that count it, or have been set too lately to.
    fn set(&self) -> u8 {
        self.young.into_iter().fold(self.counted, |mask, young| mask | young)
    }

    /// Whether waiting for these scoreboards ends it.
    pub(super) fn is_ended_by(&self, waits: u8) -> bool {
        self.counted & waits != 0
    }

    /// Whether it is over when `DEPBAR.LE` finds that the scoreboard counts no more than `left`: were it not, neither would
    /// be the others that are counted behind it. That instruction looks late enough to see all that were issued before it.
    pub(super) fn is_ended_below(&self, scoreboard: u32, left: u32) -> bool {
        let Some(&count) = self.counts.get(scoreboard as usize) else { return false };
        let young = self.young.into_iter().filter(|young| young >> scoreboard & 1 != 0).count();
        usize::from(count) + young > left as usize
    }

    /// Whether no cycle that passes changes it.
    fn is_steady(&self) -> bool {
        self.young == [0; VISIBLE as usize]
    }

    /// A cycle passes.
    fn pass(&mut self) {
        let [youngest, young] = self.young;
        let mut rest = young & ALL_SCOREBOARDS;
        self.counted |= rest;
        while rest != 0 {
            let count = &mut self.counts[rest.trailing_zeros() as usize];
            *count = count.saturating_add(1);
            rest &= rest - 1;
        }
        self.young = [0, youngest];
    }

    /// Sorts by key, and makes one of those with the same: what both count is under way in each.
    pub(super) fn merge(pending: &mut Vec<Pending>) {
        pending.sort_by_key(|p| (p.key(), p.producer));
        pending.dedup_by(|next, kept| {
            let is_same = next.key() == kept.key();
            if is_same {
                kept.counts.iter_mut().zip(next.counts).for_each(|(kept, next)| *kept = next.min(*kept));
            }
            is_same
        });
    }
}

/// A set of registers of all files.
#[derive(Clone, Copy, Debug, Default)]
struct Registers([u64; PReg::COUNT.div_ceil(64)]);

impl Registers {
    fn insert(&mut self, reg: u16) {
        self.0[usize::from(reg / 64)] |= 1 << (reg % 64);
    }

    fn contains(&self, reg: u16) -> bool {
        self.0[usize::from(reg / 64)] >> (reg % 64) & 1 != 0
    }
}

/// What is under way inside a block, in no order. In code that waits as it should nobody looks at it but for the sets of registers.
#[derive(Debug, Default)]
pub(super) struct PendingAccesses {
    list: Vec<Pending>,
    /// The registers of the results.
    written: Registers,
    /// Those that are read.
    read: Registers,
    /// All before this place are steady.
    steady: usize,
}

impl PendingAccesses {
    /// Begins with what is under way at an entry in place of everything.
    pub(super) fn restart(&mut self, entry: &[Pending]) {
        self.list.clear();
        self.list.extend_from_slice(entry);
        self.index();
    }

    /// Computes what follows from the list.
    fn index(&mut self) {
        (self.written, self.read, self.steady) = (Registers::default(), Registers::default(), 0);
        for pending in &self.list {
            if pending.write { &mut self.written } else { &mut self.read }.insert(pending.reg);
        }
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Pending] {
        &self.list
    }

    /// Those that a read of a register, or a write, must come behind.
    pub(super) fn before(&self, reg: u16, writes: bool) -> impl Iterator<Item = &Pending> {
        let is_any = self.written.contains(reg) || writes && self.read.contains(reg);
        let list = if is_any { &self.list[..] } else { &[] };
        list.iter().filter(move |pending| pending.reg == reg && (pending.write || writes))
    }

    /// Adds one that issues now, in place of one with the same key.
    pub(super) fn add(&mut self, new: Pending) {
        let registers = if new.write { &mut self.written } else { &mut self.read };
        if registers.contains(new.reg)
            && let Some(same) = self.list.iter_mut().find(|p| p.reg == new.reg && p.key() == new.key())
        {
            *same = new;
            return;
        }
        registers.insert(new.reg);
        self.list.push(new);
    }

    /// Drops what a wait for these scoreboards ends.
    pub(super) fn release(&mut self, waits: u8) {
        self.retain(|pending| !pending.is_ended_by(waits));
    }

    /// Forgets those of a register.
    pub(super) fn forget(&mut self, reg: u16) {
        if self.written.contains(reg) || self.read.contains(reg) {
            self.retain(|pending| pending.reg != reg);
        }
    }

    /// Drops all others.
    pub(super) fn retain(&mut self, keep: impl Fn(&Pending) -> bool) {
        let before = self.list.len();
        self.list.retain(keep);
        if self.list.len() < before {
            self.index();
        }
    }

    /// Whether the end of any shows in one of these scoreboards.
    pub(super) fn sets(&self, scoreboards: u8) -> bool {
        self.list.iter().any(|pending| pending.set() & scoreboards != 0)
    }

    /// Lets cycles pass.
    pub(super) fn pass(&mut self, cycles: u8) {
        for pending in self.list[self.steady..].iter_mut().filter(|pending| !pending.is_steady()) {
            for _ in 0..cycles.min(VISIBLE) {
                pending.pass();
            }
        }
        let steady = self.list[self.steady..].iter().take_while(|pending| pending.is_steady()).count();
        self.steady += steady;
    }

    /// An instruction sets scoreboards that announce, too, the end of what it can't overtake, as `follows` tells.
    pub(super) fn follow(&mut self, follows: impl Fn(&Pending) -> u8) {
        for pending in &mut self.list {
            pending.young[0] |= follows(pending);
        }
        self.merge();
    }

    /// The guards of these instructions are no longer those that they had.
    pub(super) fn change_guards(&mut self, is_guarded: impl Fn(u32) -> bool) {
        for pending in &mut self.list {
            pending.is_guard_kept &= !is_guarded(pending.producer);
        }
        self.merge();
    }

    fn merge(&mut self) {
        Pending::merge(&mut self.list);
        self.steady = 0;
    }
}
