//! Barriers in shared memory.

use super::results::Results;
use crate::memory::{Space, spelled};
use crate::types::Type;

spelled! {
    /// The change of an mbarrier by an operation without a result.
    MbarrierUpdate {
        /// Makes an mbarrier that expects that many arrivals per phase.
        Init = "init",
        /// Expects that many more bytes of asynchronous copies in this phase.
        ExpectTx = "expect_tx",
        /// Counts that many bytes as arrived.
        CompleteTx = "complete_tx",
    }
}

spelled! {
    /// How threads arrive at an mbarrier.
    MbarrierArrive {
        /// That many arrivals.
        Count = "count",
        /// That many arrivals, which must not complete the phase.
        NoComplete = "no_complete",
        /// One arrival, after that many more bytes are expected.
        ExpectTx = "expect_tx",
        /// That many arrivals, which later phases do not expect.
        Drop = "drop",
        /// As `Drop`, but the arrivals must not complete the phase.
        DropNoComplete = "drop_no_complete",
        /// One arrival that later phases do not expect, after that many more bytes are expected.
        DropExpectTx = "drop_expect_tx",
    }
}

spelled! {
    /// How an operation asks whether an mbarrier's phase is complete.
    MbarrierWait {
        /// Returns immediately.
        Test = "test",
        /// May wait for a limited time first.
        Try = "try",
        /// May wait for at most that many nanoseconds: one more argument.
        TryFor = "try_for",
    }
}

/// The results of an arrival: only an mbarrier of the CTA returns its state.
pub(super) const fn arrival_results(space: Space) -> Results {
    match space {
        Space::SharedCluster => Results::None,
        Space::Generic | Space::Global | Space::Shared | Space::Local | Space::Const | Space::Param => {
            Results::One(Type::B64)
        }
        Space::Texture | Space::Sampler | Space::Surface => Results::One(Type::B64),
    }
}

macro_rules! mbarrier_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: b32, n: b32)`: changes the mbarrier at the address `a`.
        MbarrierUpdate {
            /// The change.
            update: MbarrierUpdate,
            /// The memory of the CTA or of the cluster.
            space: Space,
        } = "mbarrier_update" [update space] [] NONE (B32, B32) -> () { reads, writes, ordered };
        /// `(a: b32)`: invalidates the mbarrier at this shared address.
        MbarrierInval = "mbarrier_inval" [] [] NONE (B32) -> () { reads, writes, ordered };
        /// `(a: b32, n: b32) -> b64`: arrives at an mbarrier. The result is its state before; an
        /// mbarrier in another CTA's memory gives no result.
        MbarrierArrive {
            /// How the thread arrives.
            kind: MbarrierArrive,
            /// The memory of the CTA or of the cluster.
            space: Space,
            /// `release` or `relaxed`.
            order: Order,
            /// The threads that observe the order.
            scope: Scope,
        } = "mbarrier_arrive" [kind space order scope] [] NONE (B32, B32)
            -> [arrival_results(space)] { reads, writes, ordered };
        /// `(a: b32, s: b64 [, t: b32]) -> pred`: whether the phase of the state `s` is complete.
        MbarrierState {
            /// How long the thread waits.
            wait: MbarrierWait,
            /// `acquire` or `relaxed`.
            order: Order,
            /// The threads that observe the order.
            scope: Scope,
        } = "mbarrier_state" [wait order scope] [] NONE (B32, B64)
            -> (Pred) { reads, writes, ordered };
        /// `(a: b32, n: b32 [, t: b32]) -> pred`: whether the last phase with the parity `n` is
        /// complete.
        MbarrierParity {
            /// How long the thread waits.
            wait: MbarrierWait,
            /// `acquire` or `relaxed`.
            order: Order,
            /// The threads that observe the order.
            scope: Scope,
        } = "mbarrier_parity" [wait order scope] [] NONE (B32, B32)
            -> (Pred) { reads, writes, ordered };
        /// `(s: b64) -> b32`: the arrivals that the phase of a state awaited.
        MbarrierPending = "mbarrier_pending" [] [] NONE (B64) -> (B32) {};
    } } };
}
