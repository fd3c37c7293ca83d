//! What happens in a timed run, as it happens: for traces.
//!
//! Observers get every event in the order in which the model comes to know it. That is mostly, but not strictly, the
//! order of time: a stall is told when it ends or when its end is known. With [`Silent`] nothing is told and nothing is
//! paid.

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
    /// Who executes it.
    pub warp: WarpId,
    /// The instruction's index in the program.
    pub pc: u32,
    /// The lanes for which it has an effect, a bit each.
    pub lanes: u32,
    /// When its result is there, where that is not a fixed latency.
    pub done: Option<u64>,
}

/// A warp did not issue from cycle `from` up to cycle `to`, that one not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The first cycle.
    pub from: u64,
    /// The cycle behind the last one.
    pub to: u64,
    /// The sub-core.
    pub sub_core: u32,
    /// Who waits.
    pub warp: WarpId,
    /// The instruction that can't issue.
    pub pc: u32,
    /// Why.
    pub cause: Cause,
}

/// Memory served an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEvent {
    /// When it was issued.
    pub issued: u64,
    /// When it left the sub-core.
    pub sent: u64,
    /// When the result is there.
    pub done: u64,
    /// Whose it is.
    pub warp: WarpId,
    /// The instruction.
    pub pc: u32,
}

/// Someone who wants to know.
pub trait Observer {
    /// Whether anything is to be told at all.
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

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    const LISTENS: bool = false;
}
