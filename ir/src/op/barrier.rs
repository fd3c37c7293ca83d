//! Barriers of the CTA and of the cluster, and dependencies between grids.

use super::results::Results;
use crate::memory::spelled;
use crate::types::Type;

spelled! {
    /// The kind of a CTA barrier.
    BarrierKind {
        /// Arrive and wait.
        Sync = "sync",
        /// Arrive only.
        Arrive = "arrive",
        /// Arrive, wait, and count the threads whose predicate holds.
        RedPopc = "red.popc",
        /// Arrive, wait, and learn whether all predicates hold.
        RedAnd = "red.and",
        /// Arrive, wait, and learn whether one predicate holds.
        RedOr = "red.or",
    }
}

spelled! {
    /// How a kernel orders itself among dependent kernels.
    GridDependency {
        /// Lets the kernels that wait for this kernel start.
        Launch = "launch",
        /// Waits for the kernels that this kernel depends on, and for their memory.
        Wait = "wait",
    }
}

impl BarrierKind {
    /// Whether the barrier combines predicates and has a result.
    pub const fn is_reduction(self) -> bool {
        matches!(self, BarrierKind::RedPopc | BarrierKind::RedAnd | BarrierKind::RedOr)
    }

    /// The results of a barrier of this kind.
    pub(super) const fn results(self) -> Results {
        match self {
            BarrierKind::Sync | BarrierKind::Arrive => Results::None,
            BarrierKind::RedPopc => Results::One(Type::B32),
            BarrierKind::RedAnd | BarrierKind::RedOr => Results::One(Type::Pred),
        }
    }
}

macro_rules! barrier_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(name: b32 [, count: b32] [, p: pred])`, reductions `-> b32` or `pred`: PTX `bar`,
        /// which every thread of the warp executes together. Legalization turns it into
        /// [`Op::Barrier`].
        Bar(kind: BarrierKind) = "bar" [kind] [] NONE (B32)
            -> [kind.results()] { reads, writes, convergent, ordered };
        /// The same arguments and results as [`Op::Bar`]: PTX `barrier`. Legalization sets
        /// `packed`; the arguments are then `(packed: b32 [, p: pred])`, one word with the name in
        /// bits 3:0 and the count in bits 27:16. A count of 0 means all threads.
        Barrier {
            /// The action of the thread at the barrier.
            kind: BarrierKind,
            /// Whether all threads of the warp execute it together (PTX `.aligned`).
            aligned: bool,
            /// Whether one word holds the name and the count.
            packed: bool,
        } = "barrier" [kind (aligned) (packed)] [] NONE (B32)
            -> [kind.results()] { reads, writes, convergent, ordered };
        /// `()`: the thread arrives at the barrier of its cluster.
        ClusterArrive {
            /// `release` or `relaxed`.
            order: Order,
            /// Whether all threads of the warp execute it together (PTX `.aligned`).
            aligned: bool,
        } = "cluster_arrive" [order (aligned)] [] NONE ()
            -> () { reads, writes, convergent, ordered };
        /// `()`: the thread waits until all threads of its cluster have arrived.
        ClusterWait {
            /// `acquire` or, after legalization, `relaxed`.
            order: Order,
            /// Whether all threads of the warp execute it together (PTX `.aligned`).
            aligned: bool,
        } = "cluster_wait" [order (aligned)] [] NONE ()
            -> () { reads, writes, convergent, ordered };
        /// `()`: synchronizes with kernels that run before and after this one.
        GridDependency(what: GridDependency) = "grid_dependency" [what] [] NONE ()
            -> () { reads, writes, ordered };
    } } };
}
