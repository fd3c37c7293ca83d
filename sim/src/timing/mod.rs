//! A model of the machine in time: of one SM, or of as many as a cluster has CTAs.
//!
//! In: a [`Case`], a [`Program`] with its control codes, and options. Out: the values that the
//! launch leaves, as from [`run_sass`](crate::run_sass), and a [`Timing`]: the cycles, and the
//! reason for each cycle in which a warp did not issue.
//!
//! ```no_run
//! use ptxc_sim::timing::{TimingOptions, run_timed};
//! use ptxc_sim::{Case, Options};
//! # fn lower(_: &ptxc_sim::Case) -> ptxc_sass::Program { unreachable!() }
//! let case = Case::load("corpus/exec/saxpy.json")?;
//! let (report, timing) = run_timed(&case, &lower(&case), &Options::default(), &TimingOptions::default())?;
//! assert!(report.passed());
//! println!("{timing}");
//! # Ok::<(), ptxc_sim::SimError>(())
//! ```
//!
//! Instructions take effect when they issue, one after the other, in the order in which the model
//! issues them. So values do not depend on latencies, except through the order of warps. Asynchronous
//! copies take effect when they are done. One SM runs the whole grid; CTAs that do not fit wait for a
//! place. The CTAs of a cluster run on one SM each, which share the second-level cache and device memory.
//!
//! A warp issues its next instruction when the stall count of the previous one has passed, the
//! scoreboards of its wait mask are free, the instruction is fetched, and the sub-core has room for
//! it ([`ptxc_sass::issue`]). Of several such warps, the one that issued last continues, else the
//! youngest begins. [`Cause`] lists the conditions in the order in which they count. The book
//! describes the model, its figures and its limits (`docs/timing.md`).
//!
//! The modules: `machine` is the machine, `issue` the issue of an instruction, `warp` one warp, `code`
//! the program. `memory` with `coalesce` and `cache` computes when data arrive, `copies` when asynchronous copies
//! do, `fetch` when instructions do. `params` has
//! the figures, [`report`] the results, and [`observe`] passes events to traces.
//!
//! Cost: an instruction costs as much as in the functional engine, plus a scan of the warps of one
//! sub-core.

mod cache;
mod coalesce;
mod code;
mod copies;
mod fetch;
mod issue;
mod machine;
mod memory;
pub mod observe;
mod params;
pub mod report;
mod residency;
mod stalls;
mod warp;

use ptxc_sass::Program;

use crate::case::Case;
use crate::engine::{Engine, Scheduler};
use crate::error::SimError;
use crate::grid::Grid;
use crate::launch::{Options, Shape};
use crate::memory::GridMemory;
use crate::report::Report;
use crate::sass;
pub use memory::MemoryCounts;
pub use observe::{Observer, Silent};
pub use params::{Latencies, Param, Range, parameters};
pub use report::Timing;
pub use stalls::{Cause, Stalls};

/// The options of the model of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimingOptions {
    /// Which of the possible latencies instructions of variable latency have.
    pub latencies: Latencies,
}

/// Runs a program on a case with the model of time.
///
/// # Errors
/// Those of [`run_sass`](crate::run_sass), and an error if a CTA or a cooperative grid does not fit on an
/// SM.
pub fn run_timed(
    case: &Case,
    program: &Program,
    options: &Options,
    timing: &TimingOptions,
) -> Result<(Report, Timing), SimError> {
    run_observed(case, program, options, timing, &mut Silent)
}

/// The same with an observer of the events.
///
/// # Errors
/// Those of [`run_timed`].
pub fn run_observed(
    case: &Case,
    program: &Program,
    options: &Options,
    timing: &TimingOptions,
    observer: &mut impl Observer,
) -> Result<(Report, Timing), SimError> {
    let mut found = None;
    let scheduler = Timed { program, options, latencies: timing.latencies, observer, found: &mut found };
    let report = sass::launch(case, program, options, scheduler)?;
    let timing = found.ok_or_else(|| SimError::Case("nothing ran".to_string()))?;
    Ok((report, timing))
}

/// The scheduler of a run with the model of time.
struct Timed<'a, O> {
    program: &'a Program,
    options: &'a Options,
    latencies: Latencies,
    observer: &'a mut O,
    found: &'a mut Option<Timing>,
}

impl<O: Observer> Scheduler for Timed<'_, O> {
    fn run<E: Engine>(self, engine: &E, shape: &Shape, memory: &mut GridMemory) -> Result<u64, SimError> {
        let Timed { program, options, latencies, observer, found } = self;
        let params = params::params(program.arch);
        let room = residency::room(program, shape, params)?;
        let sms = shape.cluster_size();
        let place = if sms == 1 { "the SM of the model of time" } else { "the SMs of the model of time" };
        shape.check_residency(room.occupancy.ctas * sms, place)?;
        let code = code::nodes(program, params);
        let draw = params::Draw::new(latencies);
        let setup = machine::Setup { code: &code, params, residency: room.residency, shape, options, draw };
        let mut machine = machine::Machine::new(Grid::new(engine, shape, memory), setup, observer);
        let result = machine.run();
        *found = Some(summary(program, room, machine));
        result
    }
}

fn summary<E: Engine, O: Observer>(
    program: &Program,
    room: residency::Room,
    mut machine: machine::Machine<'_, E, O>,
) -> Timing {
    machine.warps.sort_by_key(|warp| (warp.start, warp.cta, warp.warp));
    let mut stalls = Stalls::default();
    for warp in &machine.warps {
        stalls += &warp.stalls;
    }
    let insts = program.insts.iter().zip(&machine.insts).enumerate().map(|(index, (coded, counts))| {
        report::InstTiming {
            offset: index as u32 * Program::INST_BYTES,
            text: coded.inst.to_string(),
            issued: counts.issued,
            lanes: counts.lanes,
            threads: counts.threads,
            stalls: counts.stalls,
        }
    });
    Timing {
        arch: program.arch.to_string(),
        cycles: machine.cycles,
        static_cycles: program.static_cycles(),
        issued: machine.insts.iter().map(|inst| inst.issued).sum(),
        lanes: machine.insts.iter().map(|inst| inst.lanes).sum(),
        threads: machine.insts.iter().map(|inst| inst.threads).sum(),
        residency: room.residency,
        occupancy: room.occupancy,
        sub_cores: machine.sub_core_timings(),
        stalls,
        memory: machine.memory.counts,
        insts: insts.collect(),
        warps: machine.warps,
    }
}
