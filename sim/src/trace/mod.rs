//! Traces of a timed run: the activity of every warp in every cycle, for people.
//!
//! In: the events of a run, by way of [`Trace`], which is an [`Observer`]. Out: files for three
//! viewers.
//!
//! | writer | viewer | shows |
//! |---|---|---|
//! | [`perfetto`] | <https://ui.perfetto.dev>, `chrome://tracing` | a track per warp, grouped by sub-core: issues, stalls by cause, memory in flight |
//! | [`konata`] | Konata, the pipeline viewer | a row per instruction: waits by cause, issue, execution |
//! | [`html`] | any browser, no network | a lane per warp, coloured by cause, with zoom and the instruction under the pointer |
//!
//! ```no_run
//! # use ptxc_sim::trace::{Listing, Trace, html};
//! # fn timed(_: &mut Trace) {}
//! # fn program() -> ptxc_sass::Program { unreachable!() }
//! let mut trace = Trace::new();
//! timed(&mut trace); // a run that reports its events to the trace
//! let listing = Listing::new(&program());
//! html::write(&trace, &listing, &mut std::fs::File::create("timeline.html")?)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A trace keeps at most [`Trace::LIMIT`] events (about 100 MB) and reports the number of events
//! that it dropped. Equal runs give equal files.

pub mod html;
pub mod konata;
pub mod perfetto;

use std::fmt;

use ptxc_sass::Program;
use rustc_hash::FxHashMap;

use crate::timing::Cause;
use crate::timing::observe::{Issue, MemoryEvent, Observer, Stall, WarpId};

/// An instruction that a warp issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The cycle.
    pub cycle: u64,
    /// The time of its result, if the latency is not fixed.
    pub done: Option<u64>,
    /// The instruction's index in the program.
    pub pc: u32,
    /// The lanes for which it has an effect, one bit each.
    pub lanes: u32,
}

/// A period in which a warp did not issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The first cycle.
    pub from: u64,
    /// The cycle after the last one.
    pub to: u64,
    /// The instruction that could not issue.
    pub pc: u32,
    /// The cause.
    pub cause: Cause,
}

/// The life of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The warp.
    pub warp: WarpId,
    /// Its sub-core.
    pub sub_core: u32,
    /// Its first cycle.
    pub start: u64,
    /// The cycle after its last one; if the run was cut short, the cycle after the last known one.
    pub end: u64,
    /// Its issues, in order.
    pub issues: Vec<Issued>,
    /// Its waits, in order.
    pub waits: Vec<Waited>,
    /// Its memory accesses, in the order of issue.
    pub accesses: Vec<MemoryEvent>,
}

/// The events of a timed run.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    lanes: Vec<Lane>,
    places: FxHashMap<WarpId, usize>,
    kept: usize,
    lost: u64,
}

impl Trace {
    /// The most events that a trace keeps.
    pub const LIMIT: usize = 2_000_000;

    /// A trace without events.
    pub fn new() -> Trace {
        Trace::default()
    }

    /// The warps, in the order in which they started.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The number of events that were dropped.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The cycle after the last one of any warp.
    pub fn last_cycle(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.end).max().unwrap_or(0)
    }

    /// The lane of a warp, if there is room for another event in it.
    fn lane(&mut self, warp: WarpId) -> Option<&mut Lane> {
        if self.kept >= Trace::LIMIT {
            self.lost += 1;
            return None;
        }
        self.kept += 1;
        self.lanes.get_mut(*self.places.get(&warp)?)
    }
}

impl Observer for Trace {
    fn start(&mut self, cycle: u64, sub_core: u32, warp: WarpId) {
        self.places.insert(warp, self.lanes.len());
        let (issues, waits, accesses) = Default::default();
        self.lanes.push(Lane { warp, sub_core, start: cycle, end: cycle, issues, waits, accesses });
    }

    fn end(&mut self, cycle: u64, _sub_core: u32, warp: WarpId) {
        if let Some(&place) = self.places.get(&warp) {
            self.lanes[place].end = cycle;
        }
    }

    fn issue(&mut self, &Issue { cycle, warp, pc, lanes, done, .. }: &Issue) {
        if let Some(lane) = self.lane(warp) {
            lane.end = lane.end.max(cycle + 1);
            lane.issues.push(Issued { cycle, done, pc, lanes });
        }
    }

    fn stall(&mut self, &Stall { from, to, warp, pc, cause, .. }: &Stall) {
        if let Some(lane) = self.lane(warp) {
            lane.end = lane.end.max(to);
            lane.waits.push(Waited { from, to, pc, cause });
        }
    }

    fn memory(&mut self, event: &MemoryEvent) {
        if let Some(lane) = self.lane(event.warp) {
            lane.accesses.push(*event);
        }
    }
}

/// The text of every instruction of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The name of the program.
    pub name: String,
    /// The instructions, by their index.
    pub lines: Vec<String>,
}

impl Listing {
    /// The instructions of a program.
    pub fn new(program: &Program) -> Listing {
        let lines = program.insts.iter().map(|coded| coded.inst.to_string()).collect();
        Listing { name: program.name.clone(), lines }
    }

    /// An instruction's text; empty for an index that the program does not have.
    pub fn line(&self, pc: u32) -> &str {
        self.lines.get(pc as usize).map_or("", |line| line)
    }
}

impl fmt::Display for WarpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CTA {} warp {}", self.cta, self.warp)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two warps on two sub-cores; the first waits for memory, the second is cut short.
    pub(crate) fn example() -> (Trace, Listing) {
        let [first, second] = [0, 1].map(|warp| WarpId { cta: 3, warp });
        let mut trace = Trace::new();
        trace.start(10, 0, first);
        trace.start(10, 1, second);
        let issue = |cycle, warp: WarpId, pc, done| Issue {
            cycle,
            sub_core: warp.warp,
            warp,
            pc,
            lanes: 0xffff_ffff,
            done,
        };
        let stall =
            |from, to, warp: WarpId, pc, cause| Stall { from, to, sub_core: warp.warp, warp, pc, cause };
        trace.issue(&issue(10, first, 0, Some(40)));
        trace.memory(&MemoryEvent { issued: 10, sent: 14, done: 40, warp: first, pc: 0 });
        trace.stall(&stall(11, 12, first, 1, Cause::Dependence));
        trace.stall(&stall(12, 40, first, 1, Cause::Scoreboard));
        trace.issue(&issue(40, first, 1, None));
        trace.stall(&stall(41, 44, first, 2, Cause::Dependence));
        trace.issue(&issue(44, first, 2, None));
        trace.end(49, 0, first);
        trace.issue(&issue(11, second, 0, Some(38)));
        let lines = ["LDG.E R0, desc[UR4][R2.64]", "FADD R0, R0, \"1\" </script>", "EXIT"];
        (trace, Listing { name: "k".into(), lines: lines.map(String::from).to_vec() })
    }

    #[test]
    fn a_trace_keeps_what_each_warp_did() {
        let (trace, _) = example();
        let [first, second] = trace.lanes() else { panic!("{trace:?}") };
        assert_eq!((first.start, first.end, first.issues.len(), first.waits.len()), (10, 49, 3, 3));
        assert_eq!((second.end, second.sub_core), (12, 1));
        assert_eq!((trace.last_cycle(), trace.lost()), (49, 0));
    }

    #[test]
    fn a_trace_has_a_limit() {
        let (mut trace, _) = example();
        trace.kept = Trace::LIMIT;
        let warp = trace.lanes[0].warp;
        trace.issue(&Issue { cycle: 50, sub_core: 0, warp, pc: 0, lanes: 1, done: None });
        assert_eq!((trace.lost(), trace.lanes()[0].issues.len()), (1, 3));
    }
}
