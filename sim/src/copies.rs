//! The asynchronous copies that have been asked for and not been done yet.
//!
//! [`asynchronous`](crate::asynchronous) decides when each is done.

use std::ops::Range;

use ptxc_ir::{AtomicOp, TensorBox, TensorUpdate};

use crate::element_update::Update;
use crate::space::Space;
use crate::tensor_map::TensorMap;

/// Up to 16 bytes that a thread stores.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stored {
    bytes: [u8; 16],
    count: usize,
}

impl Stored {
    /// Appends the low bytes of a value.
    pub fn push(&mut self, value: u64, bytes: u32) {
        for byte in value.to_le_bytes().into_iter().take(bytes as usize) {
            self.bytes[self.count] = byte;
            self.count += 1;
        }
    }

    /// The bytes, in the order of memory.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.count]
    }
}

/// The kinds of copies; each kind is committed and awaited separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A copy of 4 to 16 bytes to shared memory.
    Element,
    /// A bulk copy from shared memory.
    BulkStore,
    /// A bulk copy, a store or an update to shared memory of the cluster; an mbarrier signals its
    /// end.
    Signalled,
}

/// A box of a tensor, as an instruction names it.
#[derive(Clone, Debug)]
pub(crate) struct Tile {
    /// The form.
    pub tile: TensorBox,
    /// The generic address of the tensor map.
    pub map: u64,
    /// The coordinates, the innermost first.
    pub coordinates: Vec<i32>,
    /// The offsets of an image's pixels.
    pub offsets: u32,
}

/// What is done with a box.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Copies it to shared memory of the cluster, in each of the CTAs, whose mbarrier counts the bytes.
    Load(Vec<Destination>),
    /// Copies it from shared memory of the CTA.
    Store(u64),
    /// Combines it with shared memory of the CTA.
    Update(u64, TensorUpdate),
}

/// A place in shared memory of the cluster and an mbarrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
    /// The place.
    pub to: u64,
    /// The mbarrier.
    pub tell: u64,
}

/// A requested copy of a box.
#[derive(Clone, Debug)]
pub(crate) struct TensorCopy {
    /// The tensor.
    pub map: TensorMap,
    /// The box.
    pub tile: Tile,
    /// What is done with it.
    pub action: Action,
}

/// An update in bulk: the elements of `from` are combined with those of `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkUpdate {
    /// The operands, in shared memory of the CTA.
    pub from: u64,
    /// The place that is updated.
    pub to: (Space, u64),
    /// The number of bytes.
    pub bytes: u32,
    /// The update of an element.
    pub update: Update,
    /// The mbarrier that counts the bytes.
    pub tell: Option<u64>,
}

/// The effect of a request.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// Copies bytes.
    Copy {
        /// The source.
        from: (Space, u64),
        /// The destination.
        to: (Space, u64),
        /// The number of bytes.
        bytes: u32,
        /// The number of zeros after them.
        zeros: u32,
        /// The mbarrier, in shared memory, that counts the bytes.
        tell: Option<u64>,
    },
    /// Writes values of a thread to shared memory of the cluster.
    Write {
        /// The address.
        to: u64,
        /// The values.
        stored: Stored,
        /// The mbarrier that counts the bytes.
        tell: u64,
    },
    /// Updates an integer in shared memory of the cluster.
    Update {
        /// The address.
        to: u64,
        /// The update.
        op: AtomicOp,
        /// The size in bytes.
        bytes: u32,
        /// The operand of the update.
        operand: u64,
        /// The mbarrier that counts the bytes.
        tell: u64,
    },
    /// Copies or updates a box of a tensor.
    Tensor(Box<TensorCopy>),
    /// Updates elements in bulk.
    Bulk(BulkUpdate),
    /// Arrives at an mbarrier in shared memory, after the element copies that the thread requested
    /// earlier.
    Arrive(u64),
    /// Reports one byte to an mbarrier, after the same copies.
    Complete(u64),
}

impl Effect {
    /// Whether an mbarrier counts it.
    pub fn tells(&self) -> bool {
        match self {
            Effect::Copy { tell, .. } => tell.is_some(),
            Effect::Bulk(update) => update.tell.is_some(),
            Effect::Tensor(copy) => matches!(copy.action, Action::Load(_)),
            Effect::Write { .. } | Effect::Update { .. } | Effect::Arrive(_) | Effect::Complete(_) => true,
        }
    }
}

/// A request that was made.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub thread: u32,
    pub kind: Kind,
    /// The number of its group, once it is committed.
    pub group: Option<u32>,
    /// The cycle when it is done, once a run in time has determined it.
    pub due: Option<u64>,
    pub effect: Effect,
}

/// The outstanding copies of a CTA.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    /// The requests in the order in which they were made.
    pub requests: Vec<Request>,
    /// The number of groups of each thread and kind that has committed.
    pub groups: Vec<(u32, Kind, u32)>,
}

impl Copies {
    /// Adds a request.
    pub fn ask(&mut self, thread: u32, kind: Kind, effect: Effect) {
        self.requests.push(Request { thread, kind, group: None, due: None, effect });
    }

    /// The indices of the requests that have no time yet: the last ones. A run in time determines their
    /// times right after the instruction that makes them.
    pub fn undated(&self) -> Range<usize> {
        let dated = self.requests.iter().rposition(|request| request.due.is_some());
        dated.map_or(0, |last| last + 1)..self.requests.len()
    }

    /// The cycle when the element copies are done that a thread has requested so far.
    pub fn elements_due(&self, thread: u32) -> u64 {
        let of_thread =
            self.requests.iter().filter(|request| (request.thread, request.kind) == (thread, Kind::Element));
        of_thread.filter_map(|request| request.due).max().unwrap_or(0)
    }

    /// Whether nothing is outstanding.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// Commits the requests of a thread since its last commit as a group.
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
