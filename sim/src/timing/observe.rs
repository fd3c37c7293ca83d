//! The events of a timed run, as they happen, for traces.
//!
//! Observers get every event when the model knows it. That is mostly, but not strictly, the order
//! of time: a stall is reported when it ends or when its end is known. With [`Silent`] there are no
//! reports and no cost.

use super::stalls::Cause;

/// A warp in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WarpId {
    /// The CTA, by its number in the grid.
    pub cta: u32,
    /// The warp in the CTA.
    pub warp: u32,
}

/// An instruction was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The cycle.
    pub cycle: u64,
    /// The sub-core.
    pub sub_core: u32,
    /// The warp that executes it.
    pub warp: WarpId,
    /// The instruction's index in the program.
    pub pc: u32,
    /// The lanes for which it has an effect, one bit each.
    pub lanes: u32,
    /// The time of its result, if the latency is not fixed.
    pub done: Option<u64>,
}

/// A warp did not issue from cycle `from` up to, but not including, cycle `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The first cycle.
    pub from: u64,
    /// The cycle after the last one.
    pub to: u64,
    /// The sub-core.
    pub sub_core: u32,
    /// The waiting warp.
    pub warp: WarpId,
    /// The instruction that cannot issue.
    pub pc: u32,
    /// The cause.
    pub cause: Cause,
}

/// Memory served an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEvent {
    /// The cycle of its issue.
    pub issued: u64,
    /// The cycle when it left the sub-core.
    pub sent: u64,
    /// The cycle of its result.
    pub done: u64,
    /// Its warp.
    pub warp: WarpId,
    /// The instruction.
    pub pc: u32,
}

/// Receives the events of a run.
pub trait Observer {
    /// Whether it wants any events.
    const LISTENS: bool = true;

    /// A warp starts.
    fn start(&mut self, cycle: u64, sub_core: u32, warp: WarpId) {
        let _ = (cycle, sub_core, warp);
    }

    /// A warp has ended.
    fn end(&mut self, cycle: u64, sub_core: u32, warp: WarpId) {
        let _ = (cycle, sub_core, warp);
    }

    /// An instruction was issued.
    fn issue(&mut self, issue: &Issue) {
        let _ = issue;
    }

    /// A warp waited.
    fn stall(&mut self, stall: &Stall) {
        let _ = stall;
    }

    /// Memory was used.
    fn memory(&mut self, event: &MemoryEvent) {
        let _ = event;
    }
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    const LISTENS: bool = false;
}
