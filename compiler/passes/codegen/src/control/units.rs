//! Sets of units: registers of all files, and the two units of order.

use super::stream::UNITS;

const WORDS: usize = UNITS.div_ceil(64);

/// A set of units as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Units([u64; WORDS]);

impl Units {
    /// All units.
    pub(super) const ALL: Units = Units([u64::MAX; WORDS]);

    pub(super) fn insert(&mut self, unit: u16) {
        self.0[usize::from(unit) / 64] |= 1 << (unit % 64);
    }

    pub(super) fn contains(&self, unit: u16) -> bool {
        self.0[usize::from(unit) / 64] >> (unit % 64) & 1 != 0
    }

    /// Adds the other set; returns whether anything is new.
    pub(super) fn extend(&mut self, other: &Units) -> bool {
        let before = *self;
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
        *self != before
    }
}
