//! Accesses that are announced by scoreboards and under way.

use super::state::VISIBLE;
use crate::control::Control;
use crate::register::PReg;

const SCOREBOARDS: usize = Control::SCOREBOARDS as usize;

/// The existing scoreboards, a bit each; any other scoreboard is ignored.
const ALL_SCOREBOARDS: u8 = (1 << SCOREBOARDS) - 1;

/// An unfinished access of an instruction that announces its end by scoreboards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    /// [`PReg::dense`] of the register.
    pub(super) reg: u16,
    /// Whether it is a result.
    pub(super) write: bool,
    /// The scoreboards that its instruction sets to announce the end of the access.
    pub(super) scoreboards: u8,
    /// The scoreboards that its instruction, or a later one that cannot overtake it, has set, but
    /// that do not count it yet: those of age 0 and of age 1.
    young: [u8; VISIBLE as usize],
    /// How often each scoreboard counts such instructions. All of them are under way as long as
    /// this access is.
    counts: [u8; SCOREBOARDS],
    /// The scoreboards that count it, or an instruction that cannot overtake it: those with a
    /// nonzero entry in `counts`.
    counted: u8,
    /// The instruction of the access.
    pub(super) producer: u32,
    /// Whether the predicate that guards it has not been written since; tracked for NVIDIA's code
    /// only.
    pub(super) is_guard_kept: bool,
}

impl Pending {
    /// An access of an instruction that issues now.
    pub(super) fn new(reg: u16, write: bool, scoreboards: u8, producer: u32, is_guard_kept: bool) -> Pending {
        let (young, counts) = ([scoreboards, 0], [0; SCOREBOARDS]);
        Pending { reg, write, scoreboards, young, counts, counted: 0, producer, is_guard_kept }
    }

    /// All fields except the counts and the instruction in one number, ordered by register first.
    fn key(&self) -> u64 {
        let [youngest, young] = self.young;
        let scoreboards = u32::from_be_bytes([self.scoreboards, youngest, young, self.counted]);
        let access = u64::from(self.reg) << 1 | u64::from(self.write);
        access << 33 | u64::from(scoreboards) << 1 | u64::from(self.is_guard_kept)
    }

    /// The scoreboards that count it, or were set too recently to count it yet.
    fn set(&self) -> u8 {
        self.young.into_iter().fold(self.counted, |mask, young| mask | young)
    }

    /// Whether waiting for these scoreboards ends it.
    pub(super) fn is_ended_by(&self, waits: u8) -> bool {
        self.counted & waits != 0
    }

    /// Whether one of these scoreboards was set for it too recently to count it yet.
    pub(super) fn is_young_by(&self, scoreboards: u8) -> bool {
        self.young.into_iter().any(|young| young & scoreboards != 0)
    }

    /// Whether it is over when `DEPBAR.LE` finds that the scoreboard counts at most `left`. If it
    /// were not over, the instructions counted after it would not be over either, and the count
    /// would be higher. `DEPBAR.LE` looks late enough to see all instructions issued before it.
    pub(super) fn is_ended_below(&self, scoreboard: u32, left: u32) -> bool {
        let Some(&count) = self.counts.get(scoreboard as usize) else { return false };
        let young = self.young.into_iter().filter(|young| young >> scoreboard & 1 != 0).count();
        usize::from(count) + young > left as usize
    }

    /// Whether passing cycles no longer change it.
    fn is_steady(&self) -> bool {
        self.young == [0; VISIBLE as usize]
    }

    /// Lets one cycle pass.
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

    /// Sorts by key, and merges entries with the same key: the merged entry counts the instructions
    /// that both count.
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

/// The accesses that are under way inside a block, in no order. In code that waits correctly, only
/// the sets of registers are read.
#[derive(Debug, Default)]
pub(super) struct PendingAccesses {
    list: Vec<Pending>,
    /// The registers of the results.
    written: Registers,
    /// The registers that are read.
    read: Registers,
    /// All entries before this index are steady.
    steady: usize,
}

impl PendingAccesses {
    /// Whether a register is still being written.
    pub(super) fn writes(&self, reg: u16) -> bool {
        self.written.contains(reg)
    }

    /// Replaces everything by the accesses that are under way at an entry.
    pub(super) fn restart(&mut self, entry: &[Pending]) {
        self.list.clear();
        self.list.extend_from_slice(entry);
        self.index();
    }

    /// Computes the fields that follow from the list.
    fn index(&mut self) {
        (self.written, self.read, self.steady) = (Registers::default(), Registers::default(), 0);
        for pending in &self.list {
            if pending.write { &mut self.written } else { &mut self.read }.insert(pending.reg);
        }
    }

    /// All accesses.
    pub(super) fn all(&self) -> &[Pending] {
        &self.list
    }

    /// The accesses that a read or write of a register must follow.
    pub(super) fn before(&self, reg: u16, writes: bool) -> impl Iterator<Item = &Pending> {
        let is_any = self.written.contains(reg) || writes && self.read.contains(reg);
        let list = if is_any { &self.list[..] } else { &[] };
        list.iter().filter(move |pending| pending.reg == reg && (pending.write || writes))
    }

    /// Adds an access that issues now; it replaces one with the same key.
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

    /// Drops the accesses that a wait for these scoreboards ends.
    pub(super) fn release(&mut self, waits: u8) {
        self.retain(|pending| !pending.is_ended_by(waits));
    }

    /// Forgets the accesses of a register.
    pub(super) fn forget(&mut self, reg: u16) {
        if self.written.contains(reg) || self.read.contains(reg) {
            self.retain(|pending| pending.reg != reg);
        }
    }

    /// Keeps the accesses that satisfy the predicate, and drops all others.
    pub(super) fn retain(&mut self, keep: impl Fn(&Pending) -> bool) {
        let before = self.list.len();
        self.list.retain(keep);
        if self.list.len() < before {
            self.index();
        }
    }

    /// Whether one of these scoreboards announces the end of any access.
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

    /// An instruction sets scoreboards that also announce the end of accesses that it cannot
    /// overtake; `follows` tells which.
    pub(super) fn follow(&mut self, follows: impl Fn(&Pending) -> u8) {
        for pending in &mut self.list {
            pending.young[0] |= follows(pending);
        }
        self.merge();
    }

    /// Records that the guards of these instructions have been overwritten.
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
