//! The accesses that were issued in a block and may still be too young for some consumer.
//!
//! Accesses are kept by unit, writes apart from reads, in the order of their issue. All lists are
//! in one vector, linked by index, so the lists of a block need no memory of their own, and
//! forgetting one costs nothing.

use ptxc_sass::PReg;
use ptxc_sass::latency::Side;

use super::super::stream::{Stream, Touch, UNITS};
use super::HORIZON;

/// An access that was issued in the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    pub(super) inst: u32,
    pub(super) touch: Touch,
    /// Cycles from the start of the block.
    pub(super) time: u32,
}

impl Issued {
    /// The access as an end of a dependence.
    pub(super) fn side<'a>(&self, stream: &Stream<'a>) -> Side<'a, PReg> {
        let inst = stream.entries[self.inst as usize].inst;
        Side { inst, slot: self.touch.slot, component: self.touch.component }
    }
}

/// Marks a missing access.
const NONE: u32 = u32::MAX;

/// The first and the last of a list.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

const EMPTY: Ends = Ends { first: NONE, last: NONE };

/// The accesses of a unit.
#[derive(Clone, Copy, Debug)]
struct Lists {
    writes: Ends,
    reads: Ends,
    /// Whether the unit has been accessed.
    is_used: bool,
}

const UNUSED: Lists = Lists { writes: EMPTY, reads: EMPTY, is_used: false };

/// The accesses that were issued in a block, by unit.
#[derive(Debug)]
pub(super) struct IssuedAccesses {
    /// The accesses, each with the index of the next one of its list.
    accesses: Vec<(Issued, u32)>,
    units: Box<[Lists]>,
    /// The units that have been accessed, in the order of their first access.
    used: Vec<u16>,
}

impl IssuedAccesses {
    pub(super) fn new() -> IssuedAccesses {
        IssuedAccesses { accesses: Vec::new(), units: vec![UNUSED; UNITS].into(), used: Vec::new() }
    }

    /// Forgets all accesses.
    pub(super) fn clear(&mut self) {
        for unit in self.used.drain(..) {
            self.units[usize::from(unit)] = UNUSED;
        }
        self.accesses.clear();
    }

    /// Forgets the accesses of a unit.
    pub(super) fn forget(&mut self, unit: u16) {
        let unit = &mut self.units[usize::from(unit)];
        (unit.writes, unit.reads) = (EMPTY, EMPTY);
    }

    /// Appends an access, which must not be older than the others, and drops those that are old
    /// enough for every consumer.
    pub(super) fn add(&mut self, issued: Issued) {
        let unit = &mut self.units[usize::from(issued.touch.unit)];
        if !std::mem::replace(&mut unit.is_used, true) {
            self.used.push(issued.touch.unit);
        }
        let list = if issued.touch.write { &mut unit.writes } else { &mut unit.reads };
        while let Some((oldest, next)) = self.accesses.get(list.first as usize)
            && oldest.time + HORIZON <= issued.time
        {
            list.first = *next;
        }
        let place = self.accesses.len() as u32;
        self.accesses.push((issued, NONE));
        match self.accesses.get_mut(list.last as usize).filter(|_| list.first != NONE) {
            Some((_, next)) => *next = place,
            None => list.first = place,
        }
        list.last = place;
    }

    /// Whether a unit has been accessed at all.
    pub(super) fn has(&self, unit: u16) -> bool {
        self.units[usize::from(unit)].is_used
    }

    /// The writes of a unit, the oldest first.
    pub(super) fn writes(&self, unit: u16) -> impl Iterator<Item = &Issued> {
        self.list(self.units[usize::from(unit)].writes)
    }

    /// The reads of a unit, the oldest first.
    pub(super) fn reads(&self, unit: u16) -> impl Iterator<Item = &Issued> {
        self.list(self.units[usize::from(unit)].reads)
    }

    /// Every access, by unit.
    pub(super) fn all(&self) -> impl Iterator<Item = &Issued> {
        self.used.iter().flat_map(|&unit| self.writes(unit).chain(self.reads(unit)))
    }

    fn list(&self, list: Ends) -> impl Iterator<Item = &Issued> {
        let mut at = list.first;
        std::iter::from_fn(move || {
            let (issued, next) = self.accesses.get(at as usize)?;
            at = *next;
            Some(issued)
        })
    }
}
