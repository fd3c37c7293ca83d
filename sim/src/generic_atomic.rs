//! Generic addresses: in which memory one lies, and which atomic updates are done there.
//!
//! In: the memory, the update, its size. Out: whether the memory does it; the machine says so in a predicate, and
//! the program goes another way where it is false.
//!
//! | memory | does |
//! |---|---|
//! | global | everything |
//! | shared | exchange and compare-and-swap of any size; on 32 bits what integers and bits have |
//! | local | on 32 bits what integers and bits have, exchange and compare-and-swap; nothing on 64 bits, no float |
//!
//! The source is what ptxas has behind each `ATOM`: where the predicate is not read, every memory does it; where it
//! is read, the code for the others follows. Of the shared memory of another CTA of the cluster ptxas holds that it does
//! integers on 64 bits; here it does not, which asks more of a program.

use ptxc_ir::AtomicOp;

use crate::memory::{self, Memory, RANK_SHIFT, Space};

/// What kind of update it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    /// Exchange, compare-and-swap, compare-and-store.
    Swap,
    /// Integer arithmetic and logic.
    Integer,
    /// Float arithmetic.
    Float,
}

impl Update {
    /// The kind of an atomic operation.
    pub(crate) const fn of(op: AtomicOp) -> Update {
        match op {
            AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Cast => Update::Swap,
            AtomicOp::Fadd | AtomicOp::FaddNoftz | AtomicOp::Fmin | AtomicOp::Fmax => Update::Float,
            AtomicOp::Add | AtomicOp::Inc | AtomicOp::Dec => Update::Integer,
            AtomicOp::Smin | AtomicOp::Smax | AtomicOp::Umin | AtomicOp::Umax => Update::Integer,
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => Update::Integer,
        }
    }
}

/// Whether the memory that an address lies in does an update of so many bytes.
pub(crate) fn is_done(space: Space, update: Update, bytes: u32) -> bool {
    match (space, update) {
        (Space::Shared | Space::Cluster, Update::Swap) => true,
        (Space::Local, Update::Swap) => bytes != 8,
        (Space::Shared | Space::Cluster | Space::Local, Update::Integer) => bytes == 4,
        (Space::Shared | Space::Cluster | Space::Local, Update::Float) => false,
        _ => true,
    }
}

/// Whether a generic address lies in a space: shared memory is that of the accessing thread's CTA.
pub(crate) fn lies_in(memory: &Memory<'_>, space: Space, address: u64) -> bool {
    match (memory::resolve(Space::Generic, address), space) {
        ((Space::Shared, offset), Space::Shared) => offset >> RANK_SHIFT == memory.rank as u64,
        ((Space::Shared, _), Space::Cluster) => true,
        ((found, _), _) => found == space,
    }
}

/// What a thread finds in the registers of an update that was not done: nothing that a program could use.
pub(crate) const NOT_DONE: u64 = 0xdead_0a70_dead_0a70;
