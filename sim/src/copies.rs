//! The asynchronous copies that have been asked for and not been done yet.
//!
//! [`asynchronous`](crate::asynchronous) decides when each is done.

use crate::space::Space;

/// The kinds of copies; each is committed and awaited by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of 4 to 16 bytes, to shared memory.
    Element,
    /// From shared memory.
    BulkStore,
    /// To shared memory of the cluster: an mbarrier tells when.
    BulkLoad,
}

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    /// Copies bytes.
    Copy {
        /// From where.
        from: (Space, u64),
        /// To where.
        to: (Space, u64),
        /// How many.
        bytes: u32,
        /// How many zeros follow.
        zeros: u32,
        /// The mbarrier that learns of the bytes, in shared memory.
        tell: Option<u64>,
    },
    /// Arrives at an mbarrier in shared memory, after the element copies that the thread asked for earlier.
    Arrive(u64),
    /// Tells an mbarrier of one byte, after the same copies.
    Complete(u64),
}

/// Something that has been asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub thread: u32,
    pub kind: Kind,
    /// The number of its group, once it is committed.
    pub group: Option<u32>,
    pub effect: Effect,
}

/// The copies that are under way in a CTA.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    /// In the order of the asking.
    pub requests: Vec<Request>,
    /// For each thread and kind that has committed, the number of groups.
    pub groups: Vec<(u32, Kind, u32)>,
}

impl Copies {
    /// Asks for something.
    pub fn ask(&mut self, thread: u32, kind: Kind, effect: Effect) {
        self.requests.push(Request { thread, kind, group: None, effect });
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// Makes a group of what a thread has asked for since its last one.
    pub fn commit(&mut self, thread: u32, kind: Kind) {
        let known = self.groups.iter().position(|group| (group.0, group.1) == (thread, kind));
        let index = known.unwrap_or_else(|| {
            self.groups.push((thread, kind, 0));
            self.groups.len() - 1
        });
        let number = self.groups[index].2;
        self.groups[index].2 += 1;
        for request in &mut self.requests {
            if request.thread == thread && request.kind == kind && request.group.is_none() {
                request.group = Some(number);
            }
        }
    }
}
