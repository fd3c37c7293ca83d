//! A CTA while it runs: its warps and barriers.

use crate::barrier::Barrier;
use crate::engine::CTA_BARRIERS;
use crate::warp::Control;

/// A CTA that has started.
pub(crate) struct Cta<R> {
    /// `%ctaid`.
    pub id: [u32; 3],
    /// Its rank in its cluster.
    pub rank: u32,
    /// Its warps.
    pub warps: Vec<Warp<R>>,
    /// Its barriers.
    pub barriers: [Barrier; CTA_BARRIERS],
}

/// A warp.
pub(crate) struct Warp<R> {
    /// The positions of its lanes.
    pub control: Control,
    /// The registers of its lanes.
    pub registers: R,
}
