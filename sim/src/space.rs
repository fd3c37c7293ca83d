//! The spaces of memory.

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Told apart by the address.
    Generic,
    /// Global memory.
    Global,
    /// Shared memory of the CTA.
    Shared,
    /// Shared memory of any CTA of the cluster.
    Cluster,
    /// Memory of the thread.
    Local,
    /// The kernel parameters.
    Param,
    /// The constant bank of that number.
    Constant(u8),
}
