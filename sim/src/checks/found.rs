//! The findings of a run, each pair of instructions once.

use std::collections::BTreeMap;

use super::finding::{Finding, FindingKind, Side};
use crate::space::Space;
use crate::thread::Thread;

/// The most different findings that are kept; more are only counted.
const MOST: usize = 1 << 12;

pub(crate) use super::finding::Role;

/// An access that is part of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    /// The instruction.
    pub pc: u32,
    /// The role.
    pub role: Role,
    /// `%ctaid` of the thread.
    pub cta: [u32; 3],
    /// The thread in the CTA.
    pub thread: u32,
}

/// The bytes of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The space: shared or local.
    pub space: Space,
    /// `%ctaid` of the CTA that the memory belongs to.
    pub cta: [u32; 3],
    /// The address of the first byte in the space.
    pub start: u64,
    /// The number of bytes.
    pub bytes: u32,
}

/// The identity of a finding: the kind, whether the memory is shared, and the roles and instructions
/// of both sides.
type Identity = (FindingKind, bool, [(Role, u32); 2]);

#[derive(Clone, Debug)]
struct Entry {
    sides: [Touch; 2],
    place: Place,
    count: u64,
}

/// The findings so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    list: BTreeMap<Identity, Entry>,
}

impl Found {
    /// Adds two accesses that are not ordered.
    pub fn race(&mut self, mut sides: [Touch; 2], place: Place) {
        // The same pair in the other order is the same finding.
        sides.sort_by_key(|side| (side.role, side.pc));
        self.add(FindingKind::Race, sides, place);
    }

    /// Adds a read of bytes that were never written, and the use of the value. If the read is a use
    /// itself, both are the same.
    pub fn unwritten(&mut self, read: Touch, used: Touch, place: Place) {
        self.add(FindingKind::Unwritten, [read, used], place);
    }

    fn add(&mut self, kind: FindingKind, sides: [Touch; 2], place: Place) {
        let identity = (kind, place.space == Space::Shared, sides.map(|side| (side.role, side.pc)));
        if self.list.len() >= MOST && !self.list.contains_key(&identity) {
            return;
        }
        self.list.entry(identity).or_insert(Entry { sides, place, count: 0 }).count += 1;
    }

    /// The findings, reads of unwritten memory first, each kind in the order of the instructions.
    /// `side` completes a side with the text of its instruction.
    pub fn list(&self, side: impl Fn(u32) -> Side, tid: impl Fn(u32) -> [u32; 3]) -> Vec<Finding> {
        let complete = |touch: &Touch| Side {
            role: touch.role,
            thread: Thread { cta: touch.cta, tid: tid(touch.thread) },
            ..side(touch.pc)
        };
        let one = |(&(kind, ..), Entry { sides, place, count }): (&Identity, &Entry)| Finding {
            kind,
            is_shared: place.space == Space::Shared,
            cta: place.cta,
            address: place.start,
            bytes: place.bytes,
            variable: None,
            sides: match kind {
                FindingKind::Unwritten if sides[1].role != Role::Use => vec![complete(&sides[0])],
                FindingKind::Unwritten | FindingKind::Race => sides.iter().map(complete).collect(),
            },
            count: *count,
        };
        self.list.iter().map(one).collect()
    }
}
