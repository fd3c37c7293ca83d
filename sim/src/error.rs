//! What can go wrong while a program runs, and where.

use std::fmt;

use crate::hazard::{Hazard, show_hazards};

/// A thread of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// `%ctaid`.
    pub cta: [u32; 3],
    /// `%tid`.
    pub tid: [u32; 3],
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([cx, cy, cz], [x, y, z]) = (self.cta, self.tid);
        write!(f, "thread ({x}, {y}, {z}) of CTA ({cx}, {cy}, {cz})")
    }
}

/// A part of a warp that can't go on, for the report of a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The CTA.
    pub cta: [u32; 3],
    /// The warp in the CTA.
    pub warp: u32,
    /// Its lanes, a bit each.
    pub lanes: u32,
    /// The instruction at which they stand, as text.
    pub at: String,
    /// What they wait for.
    pub on: String,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.cta;
        write!(
            f,
            "CTA ({x}, {y}, {z}) warp {} lanes {:#010x} at `{}`: {}",
            self.warp, self.lanes, self.at, self.on
        )
    }
}

/// Why a run gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimError {
    /// The case can't be read or doesn't fit the kernel.
    Case(String),
    /// The program has something that the engine doesn't know.
    Unsupported {
        /// The instruction, as text.
        at: String,
        /// What is not known about it.
        what: String,
    },
    /// A thread did something that ends the grid: a bad address, a trap, a read of nothing.
    Fault {
        /// The thread.
        thread: Thread,
        /// The instruction, as text.
        at: String,
        /// What it did.
        what: String,
    },
    /// No thread can go on.
    Deadlock(Vec<Waiting>),
    /// More instructions ran than the limit allows.
    StepLimit {
        /// The limit, in warp instructions.
        limit: u64,
        /// Where everybody was.
        waiting: Vec<Waiting>,
    },
    /// The run failed after instructions had come too early by the control codes, which may be why.
    AfterHazards {
        /// What came too early.
        hazards: Vec<Hazard>,
        /// What happened then.
        error: Box<SimError>,
    },
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, waiting: &[Waiting]| {
            waiting.iter().try_for_each(|waiting| write!(f, "\n  {waiting}"))
        };
        match self {
            SimError::Case(what) => f.write_str(what),
            SimError::Unsupported { at, what } => write!(f, "`{at}` is not supported: {what}"),
            SimError::Fault { thread, at, what } => write!(f, "{thread} at `{at}`: {what}"),
            SimError::Deadlock(waiting) => {
                f.write_str("deadlock: no thread can go on")?;
                list(f, waiting)
            }
            SimError::StepLimit { limit, waiting } => {
                write!(f, "no end after {limit} warp instructions")?;
                list(f, waiting)
            }
            SimError::AfterHazards { hazards, error } => {
                show_hazards(f, hazards)?;
                write!(f, "then {error}")
            }
        }
    }
}

impl std::error::Error for SimError {}

/// A fault of one lane, before the grid adds where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The lane.
    pub lane: u32,
    /// What it did.
    pub what: String,
}

impl Fault {
    /// A fault of a lane.
    pub fn new(lane: u32, what: impl Into<String>) -> Fault {
        Fault { lane, what: what.into() }
    }

    /// A trap, or a breakpoint without a debugger, which the lowest of these lanes reports.
    pub fn trap(lanes: u32) -> Fault {
        Fault::new(lanes.trailing_zeros(), "a trap ends the grid")
    }
}
