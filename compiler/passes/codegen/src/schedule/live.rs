//! The live registers at one point, during a walk from the end of a block to its start.

use ptxc_sass::RegFile;

use super::accesses::{Access, Role};

/// A set of single registers by their dense numbers, with the number of registers of each file.
#[derive(Clone, Debug)]
pub(super) struct LiveSet {
    words: Vec<u64>,
    /// The words that may have bits: a block touches few words of a large function's set.
    touched: Vec<u32>,
    counts: [i32; RegFile::ALL.len()],
}

impl LiveSet {
    /// An empty set for this number of registers.
    pub(super) fn new(registers: usize) -> LiveSet {
        LiveSet {
            words: vec![0; registers.div_ceil(64)],
            touched: Vec::new(),
            counts: [0; RegFile::ALL.len()],
        }
    }

    pub(super) fn clear(&mut self) {
        self.touched.drain(..).for_each(|word| self.words[word as usize] = 0);
        self.counts = [0; RegFile::ALL.len()];
    }

    /// The number of live registers of each file.
    pub(super) fn counts(&self) -> [i32; RegFile::ALL.len()] {
        self.counts
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.words[number as usize / 64] >> (number % 64) & 1 != 0
    }

    pub(super) fn insert(&mut self, number: u32, file: RegFile) {
        let (word, bit) = (&mut self.words[number as usize / 64], 1 << (number % 64));
        if *word == 0 {
            self.touched.push(number / 64);
        }
        self.counts[file as usize] += i32::from(*word & bit == 0);
        *word |= bit;
    }

    /// Removes a register; returns whether it was in the set.
    pub(super) fn remove(&mut self, number: u32, file: RegFile) -> bool {
        let (word, bit) = (&mut self.words[number as usize / 64], 1 << (number % 64));
        let was_live = *word & bit != 0;
        self.counts[file as usize] -= i32::from(was_live);
        *word &= !bit;
        was_live
    }

    /// Takes the set from after an instruction to before it. Returns the number of general
    /// registers that the instruction defines and that are not read.
    pub(super) fn step_back(&mut self, accesses: &[Access]) -> i32 {
        let mut unread = 0;
        for access in accesses.iter().rev() {
            match access.role {
                Role::Def => {
                    for number in access.numbers() {
                        let was_live = self.remove(number, access.file);
                        unread += i32::from(!was_live && access.file == RegFile::Gpr);
                    }
                }
                Role::GuardedDef => {}
                Role::Use | Role::Tied => {
                    access.numbers().for_each(|number| self.insert(number, access.file));
                }
            }
        }
        unread
    }
}
