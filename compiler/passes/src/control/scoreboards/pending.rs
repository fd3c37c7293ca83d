//! What is in flight at a point: for each scoreboard the results and the operand reads that it protects.
//!
//! The scoreboards of the hardware are counters: an instruction that sets one adds one, its completion takes
//! one away, a wait is for zero. So several may share one, and a wait ends everything that it protects.

use ptxc_sass::{Control, Op};

use super::super::stream::{ARRIVAL, Entry};
use super::super::units::Units;

const COUNT: usize = Control::SCOREBOARDS as usize;

/// The scoreboards that an instruction sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Sets {
    /// For its results; they also end its operand reads.
    pub(in super::super) write: Option<u8>,
    /// For its operand reads.
    pub(in super::super) read: Option<u8>,
}

/// The abstract state of the dataflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending {
    results: [Units; COUNT],
    reads: [Units; COUNT],
    /// The scoreboards that protect anything, a bit each.
    busy: u8,
}

impl Pending {
    /// The scoreboards that protect anything, a bit each.
    pub(super) fn busy(&self) -> u8 {
        self.busy
    }

    /// The scoreboards that an instruction must wait for: those of results that it reads or overwrites, and
    /// of reads of what it overwrites; for `CCTL.IVALL` all those of results; for what leaves the function all.
    /// Calls `found` with each unit and its scoreboard.
    pub(super) fn waits(&self, entry: &Entry<'_>, mut found: impl FnMut(u16, u8)) -> u8 {
        let mut mask = 0;
        for sb in bits(self.busy) {
            if entry.leaves_function() {
                mask |= 1 << sb;
                continue;
            }
            for touch in entry.touches.iter().filter(|touch| touch.comes_after()) {
                let unfinished = self.results[usize::from(sb)].contains(touch.unit)
                    || (touch.write && self.reads[usize::from(sb)].contains(touch.unit));
                if unfinished {
                    mask |= 1 << sb;
                    found(touch.unit, sb);
                }
            }
            // What is read again after the cache was emptied must come after what was read before.
            if entry.inst.op == Op::CCTL_IVALL && !self.results[usize::from(sb)].is_empty() {
                mask |= 1 << sb;
                found(ARRIVAL, sb);
            }
        }
        mask
    }

    /// A wait for these scoreboards.
    pub(super) fn release(&mut self, mask: u8) {
        for sb in bits(mask & self.busy) {
            self.results[usize::from(sb)] = Units::default();
            self.reads[usize::from(sb)] = Units::default();
        }
        self.busy &= !mask;
    }

    /// An instruction issues that sets scoreboards.
    pub(super) fn issue(&mut self, entry: &Entry<'_>, sets: Sets) {
        for touch in entry.touches.iter().filter(|touch| touch.late) {
            let (sb, protected) = if touch.write {
                (sets.write, &mut self.results)
            } else {
                (sets.read.or(sets.write), &mut self.reads)
            };
            if let Some(sb) = sb {
                protected[usize::from(sb)].insert(touch.unit);
                self.busy |= 1 << sb;
            }
        }
    }

    /// Takes in what another path has in flight; whether that is anything new.
    pub(super) fn join(&mut self, other: &Pending) -> bool {
        let mut grown = false;
        for sb in bits(other.busy) {
            grown |= self.results[usize::from(sb)].extend(&other.results[usize::from(sb)]);
            grown |= self.reads[usize::from(sb)].extend(&other.reads[usize::from(sb)]);
        }
        self.busy |= other.busy;
        grown
    }
}

/// The scoreboards of a mask, in order.
pub(in super::super) fn bits(mask: u8) -> impl Iterator<Item = u8> {
    (0..Control::SCOREBOARDS).filter(move |sb| mask & (1 << sb) != 0)
}
