//! Generic addresses: the memory that an address lies in, and the atomic updates that this memory
//! can do.
//!
//! In: the memory, the update, its size. Out: whether the memory does it. The machine returns the
//! answer in a predicate, and the program takes another path where it is false.
//!
//! | memory | supported updates |
//! |---|---|
//! | global | all |
//! | shared | exchange and compare-and-swap of any size; on 32 bits, integer and bit operations |
//! | local | on 32 bits, integer and bit operations, exchange and compare-and-swap; nothing on 64 bits, no float |
//!
//! The source is the code of ptxas after each `ATOM`: if the predicate is not read, every memory
//! supports the update; if it is read, the code for the other memories follows. ptxas assumes that
//! the shared memory of another CTA of the cluster supports integers of 64 bits. The simulator does
//! not, which is stricter.

use ptxc_ir::AtomicOp;

use crate::memory::{self, Memory, RANK_SHIFT, Space};

/// The kind of an update.
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

/// Whether the memory that an address lies in supports an update of `bytes` bytes.
pub(crate) fn is_done(space: Space, update: Update, bytes: u32) -> bool {
    match (space, update) {
        (Space::Shared | Space::Cluster, Update::Swap) => true,
        (Space::Local, Update::Swap) => bytes != 8,
        (Space::Shared | Space::Cluster | Space::Local, Update::Integer) => bytes == 4,
        (Space::Shared | Space::Cluster | Space::Local, Update::Float) => false,
        _ => true,
    }
}

/// Whether a generic address lies in a space. Shared memory is that of the accessing thread's CTA.
pub(crate) fn lies_in(memory: &Memory<'_>, space: Space, address: u64) -> bool {
    match (memory::resolve(Space::Generic, address), space) {
        ((Space::Shared, offset), Space::Shared) => offset >> RANK_SHIFT == memory.rank as u64,
        ((Space::Shared, _), Space::Cluster) => true,
        // ISA, `isspacep`: the window of kernel parameters is part of the global window.
        ((Space::Param, _), Space::Global) => true,
        ((found, _), _) => found == space,
    }
}

/// The value in the result registers of an update that was not done: useless for a program.
pub(crate) const NOT_DONE: u64 = 0xdead_0a70_dead_0a70;
