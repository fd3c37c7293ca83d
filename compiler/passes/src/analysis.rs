//! The analyses that passes share.

/// An analysis that passes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// The control-flow graph of SSA, its dominators and loops.
    Flow,
    /// Which values are equal in all lanes of a warp, in converged SSA.
    Uniformity,
    /// The registers that are live, in machine IR over virtual registers.
    Liveness,
}
