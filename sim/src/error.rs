//! The errors of a running program, and their locations.

use std::fmt;

use crate::checks::{Finding, show_findings};
use crate::hazard::{Hazard, show_hazards};
pub use crate::thread::Thread;

/// A part of a warp that cannot continue, for the report of a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The CTA.
    pub cta: [u32; 3],
    /// The warp in the CTA.
    pub warp: u32,
    /// Its lanes, one bit each.
    pub lanes: u32,
    /// The instruction where they wait, as text.
    pub at: String,
    /// The event that they wait for.
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

/// The reason why a run gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimError {
    /// The case cannot be read or does not fit the kernel.
    Case(String),
    /// The program uses something that the engine does not support.
    Unsupported {
        /// The instruction, as text.
        at: String,
        /// The unsupported part.
        what: String,
    },
    /// A thread did something that ends the grid, such as an access to a bad address, a trap, or a
    /// read of unwritten memory.
    Fault {
        /// The thread.
        thread: Thread,
        /// The instruction, as text.
        at: String,
        /// The fault.
        what: String,
    },
    /// No thread can continue.
    Deadlock(Vec<Waiting>),
    /// More instructions ran than the limit allows.
    StepLimit {
        /// The limit, in warp instructions.
        limit: u64,
        /// The positions of all threads.
        waiting: Vec<Waiting>,
    },
    /// The run failed after hazards or findings, which may be the reason, or after threads printed.
    After {
        /// The hazards.
        hazards: Vec<Hazard>,
        /// The reads of unwritten memory and the races.
        findings: Vec<Finding>,
        /// The text that the kernel printed: the threads in order, and the texts of each in order.
        printed: String,
        /// The error that followed.
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
                f.write_str("deadlock: no thread can continue")?;
                list(f, waiting)
            }
            SimError::StepLimit { limit, waiting } => {
                write!(f, "no end after {limit} warp instructions")?;
                list(f, waiting)
            }
            SimError::After { hazards, findings, error, .. } => {
                show_hazards(f, hazards)?;
                show_findings(f, findings)?;
                let is_first = hazards.is_empty() && findings.is_empty();
                write!(f, "{}{error}", if is_first { "" } else { "then " })
            }
        }
    }
}

impl SimError {
    /// The error, with the hazards, the findings and the text before it.
    pub(crate) fn after(self, hazards: Vec<Hazard>, findings: Vec<Finding>, printed: String) -> SimError {
        match hazards.is_empty() && findings.is_empty() && printed.is_empty() {
            true => self,
            false => SimError::After { hazards, findings, printed, error: Box::new(self) },
        }
    }
}

impl std::error::Error for SimError {}

/// A fault of one lane, before the grid adds its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The lane.
    pub lane: u32,
    /// The fault.
    pub what: String,
}

impl Fault {
    /// A fault of a lane.
    pub fn new(lane: u32, what: impl Into<String>) -> Fault {
        Fault { lane, what: what.into() }
    }

    /// A trap, or a breakpoint without a debugger, reported for the lowest of these lanes.
    pub fn trap(lanes: u32) -> Fault {
        Fault::new(lanes.trailing_zeros(), "a trap ends the grid")
    }
}
