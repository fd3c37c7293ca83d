//! The accesses in flight at a point: for each unit, the scoreboards that protect a result in it,
//! or operand reads of it.
//!
//! The scoreboards of the hardware are counters: an instruction that sets a scoreboard adds one,
//! its completion subtracts one, and a wait is for zero. So several may share one, and a wait ends
//! everything that it protects.

use ptxc_sass::Op;

use super::super::stream::{ARRIVAL, Stream, UNITS};

/// The scoreboards that an instruction sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Sets {
    /// For its results; they also end its operand reads.
    pub(in super::super) write: Option<u8>,
    /// For its operand reads.
    pub(in super::super) read: Option<u8>,
}

/// The abstract state of the dataflow. Scoreboards are a bit each.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// For each unit, the scoreboards that protect its content.
    results: [u8; UNITS],
    /// For each unit, the scoreboards that protect it from being overwritten.
    reads: [u8; UNITS],
    /// The scoreboards that protect anything.
    busy: u8,
    /// The scoreboards that protect results.
    with_results: u8,
    /// The [marks](super::super::stream::Touch::mark) of all protected units, and possibly of more.
    marks: u64,
}

impl Default for Pending {
    fn default() -> Pending {
        Pending { results: [0; UNITS], reads: [0; UNITS], busy: 0, with_results: 0, marks: 0 }
    }
}

impl Pending {
    /// The scoreboards that protect anything, a bit each.
    pub(super) fn busy(&self) -> u8 {
        self.busy
    }

    /// The scoreboards that an instruction must wait for: those of results that it reads or
    /// overwrites, and those of reads of units that it overwrites; for `CCTL.IVALL` those of all
    /// results; for an instruction that leaves the function all of them. Calls `found` with each
    /// unit and its scoreboard.
    pub(super) fn waits(&self, stream: &Stream<'_>, index: usize, mut found: impl FnMut(u16, u8)) -> u8 {
        if self.busy == 0 {
            return 0;
        }
        let entry = &stream.entries[index];
        if entry.leaves_function {
            return self.busy;
        }
        // Most instructions do not touch units in flight.
        let empties_cache = entry.op == Op::CCTL_IVALL;
        if entry.marks & self.marks == 0 && !empties_cache {
            return 0;
        }
        let mut mask = 0;
        let mut wait = |unit: u16, scoreboards: u8| {
            mask |= scoreboards;
            bits(scoreboards).for_each(|sb| found(unit, sb));
        };
        for touch in stream.touches(index).iter().filter(|touch| touch.comes_after()) {
            let unit = usize::from(touch.unit);
            let reads = if touch.write { self.reads[unit] } else { 0 };
            wait(touch.unit, self.results[unit] | reads);
        }
        // Reads after the cache was emptied must come after the earlier reads.
        if empties_cache {
            wait(ARRIVAL, self.with_results);
        }
        mask
    }

    /// The scoreboards that an instruction must wait for.
    pub(super) fn scoreboards(&self, stream: &Stream<'_>, index: usize) -> u8 {
        self.waits(stream, index, |_, _| {})
    }

    /// Releases these scoreboards after a wait.
    pub(super) fn release(&mut self, mask: u8) {
        if mask & self.busy == 0 {
            return;
        }
        self.results.iter_mut().for_each(|scoreboards| *scoreboards &= !mask);
        self.reads.iter_mut().for_each(|scoreboards| *scoreboards &= !mask);
        self.busy &= !mask;
        self.with_results &= !mask;
        if self.busy == 0 {
            self.marks = 0;
        }
    }

    /// Issues an instruction that sets scoreboards.
    pub(super) fn issue(&mut self, stream: &Stream<'_>, index: usize, sets: Sets) {
        if sets == Sets::default() {
            return;
        }
        for touch in stream.touches(index).iter().filter(|touch| touch.late) {
            let unit = usize::from(touch.unit);
            let sb = if touch.write { sets.write } else { sets.read.or(sets.write) };
            let bit = sb.map_or(0, |sb| 1 << sb);
            self.busy |= bit;
            self.marks |= touch.mark();
            if touch.write {
                self.results[unit] |= bit;
                self.with_results |= bit;
            } else {
                self.reads[unit] |= bit;
            }
        }
    }

    /// Joins the state of another path; returns whether anything is new.
    pub(super) fn join(&mut self, other: &Pending) -> bool {
        if other.busy == 0 {
            return false;
        }
        let mut new = 0;
        for (mine, theirs) in [(&mut self.results, &other.results), (&mut self.reads, &other.reads)] {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                new |= theirs & !*mine;
                *mine |= theirs;
            }
        }
        self.busy |= other.busy;
        self.with_results |= other.with_results;
        self.marks |= other.marks;
        new != 0
    }
}

/// The scoreboards of a mask, in order.
pub(in super::super) fn bits(mask: u8) -> impl Iterator<Item = u8> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lowest = rest.trailing_zeros() as u8;
        (rest != 0).then(|| {
            rest &= rest - 1;
            lowest
        })
    })
}
