//! The spaces of memory.

/// The memory space of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Determined by the address.
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
    /// The constant bank with this number.
    Constant(u8),
}
