//! Hardware convergence barriers.

/// A hardware convergence barrier, B0 to B15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConvergenceBarrier(pub u8);

macro_rules! convergence_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `()`: threads that continue together from here meet again at the `bsync` of the same
        /// barrier. Made by the converge pass.
        Bssy {
            /// The barrier.
            barrier: ConvergenceBarrier,
            /// Where the threads meet again.
            join: Block,
        } = "bssy" [] [barrier join] NONE () -> () { convergent, ordered };
        /// `()`: waits for all threads that executed `bssy` and neither left by `break` nor exited.
        Bsync(barrier: ConvergenceBarrier) = "bsync" [] [barrier] NONE ()
            -> () { convergent, ordered };
        /// `()`: leave the region of a barrier.
        Break(barrier: ConvergenceBarrier) = "break" [] [barrier] NONE ()
            -> () { convergent, ordered };
        /// `() -> b32`: the content of a barrier that the function's callers or an outer region
        /// use, so that an inner region can use the barrier. Made by the converge pass.
        SaveBarrier(barrier: ConvergenceBarrier) = "bsave" [] [barrier] NONE ()
            -> (B32) { convergent, ordered };
        /// `(a: b32)`: gives a barrier the content that it had when `a` was saved.
        RestoreBarrier(barrier: ConvergenceBarrier) = "brestore" [] [barrier] NONE (B32)
            -> () { convergent, ordered };
    } } };
}
