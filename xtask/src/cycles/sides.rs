//! Both programs of a case: compiled, run in time, and compared with the case.

use std::path::Path;

use ptxc_machine::Arch;
use ptxc_sass::Program;
use ptxc_sim::timing::{TimingOptions, run_timed};
use ptxc_sim::{Case, Options, Report, SimError};
use serde::Serialize;

use crate::lowering::{self, Reason};
use crate::oracle::{Oracle, Refusal};
use crate::settings::Settings;
use crate::{exec, theirs};

/// The figures of a program's run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Figures {
    /// From the first instruction to the end of the last warp.
    pub(crate) cycles: u64,
    /// Warp instructions issued.
    pub(crate) issued: u64,
    /// The mean number of active lanes of an issued instruction.
    pub(crate) lanes_per_issue: f64,
    /// The mean number of active lanes whose guard holds.
    pub(crate) effective_lanes_per_issue: f64,
    /// Registers per thread that a launch reserves.
    pub(crate) registers: u32,
    /// Warps of this kernel that an SM has room for, whatever the size of the grid.
    pub(crate) warps: u32,
    /// The resource that limits the number of warps.
    pub(crate) limited_by: &'static str,
    /// Registers that are spilled to local memory.
    pub(crate) spills: u32,
}

/// The result of one program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Side {
    /// It met the case's expectation.
    Ran(Figures),
    /// It cannot be compiled, read or run yet.
    NotRun(String),
    /// It did not meet the case's expectation.
    Wrong(String),
}

impl Side {
    /// Its figures, if it ran and was right.
    pub(crate) fn figures(&self) -> Option<&Figures> {
        match self {
            Side::Ran(figures) => Some(figures),
            _ => None,
        }
    }
}

/// The results of a case with both programs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// The name of the case.
    pub(crate) name: String,
    /// The result of the compiler's code.
    pub(crate) ours: Side,
    /// The result of ptxas's code.
    pub(crate) theirs: Side,
}

/// A program and the number of registers that it spills, or the reason why there is no program.
type Compiled = Result<(Program, u32), Side>;

/// Compiles and runs both programs of a case.
pub(crate) fn both(name: String, path: &Path, arch: Arch, settings: &Settings, oracle: &Oracle) -> Row {
    let (case, text) = match load(path) {
        Ok(loaded) => loaded,
        Err(why) => return Row { name, ours: Side::Wrong(why.clone()), theirs: Side::Wrong(why) },
    };
    let (theirs, left) = run(&case, their_program(&text, &case, arch, oracle), &theirs::simulator());
    let case = match left {
        // The case has no expectation: the values that ptxas's program leaves become the
        // expectation.
        Some(left) if case.buffers().all(|buffer| buffer.expect.is_none()) => case.expecting(&left),
        _ => case,
    };
    let (ours, _) = run(&case, our_program(text, &case, settings), &exec::simulator());
    Row { name, ours, theirs }
}

fn load(path: &Path) -> Result<(Case, String), String> {
    let case = Case::load(path).map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(&case.ptx);
    text.map_err(|error| format!("{}: {error}", case.ptx.display())).map(|text| (case, text))
}

pub(super) fn our_program(text: String, case: &Case, settings: &Settings) -> Compiled {
    let file = case.ptx.display().to_string();
    match lowering::program(&file, text, &case.entry, settings) {
        Ok(program) => {
            let spills = program.resources.spills;
            Ok((program, spills))
        }
        Err(missing) if matches!(missing.reason, Reason::Unsupported | Reason::NewerArch) => {
            Err(Side::NotRun(missing.message))
        }
        Err(missing) => Err(Side::Wrong(missing.message)),
    }
}

fn their_program(text: &str, case: &Case, arch: Arch, oracle: &Oracle) -> Compiled {
    let (text, target) = theirs::retargeted(text, arch);
    oracle.program_and_spills(&text, &target, &case.entry).map_err(|refusal| match refusal {
        Refusal::Refused(why) => Side::NotRun(format!("refused: {why}")),
        Refusal::Unreadable(why) => Side::NotRun(why),
        Refusal::Unusable(why) => Side::Wrong(why),
    })
}

/// Runs a program; returns its result, and its report if it ran to its end.
pub(super) fn run(case: &Case, compiled: Compiled, options: &Options) -> (Side, Option<Report>) {
    if case.ending.fault.is_some() {
        return (Side::NotRun("the case expects a fault, so it has no time".to_string()), None);
    }
    let (program, spills) = match compiled {
        Ok(compiled) => compiled,
        Err(side) => return (side, None),
    };
    let (report, timing) = match run_timed(case, &program, options, &TimingOptions::default()) {
        Ok(ended) => ended,
        Err(error @ SimError::Unsupported { .. }) => return (Side::NotRun(error.to_string()), None),
        Err(error) => return (Side::Wrong(error.to_string()), None),
    };
    if !report.passed() {
        return (Side::Wrong(report.to_string()), Some(report));
    }
    let figures = Figures {
        cycles: timing.cycles,
        issued: timing.issued,
        lanes_per_issue: timing.lanes_per_issue(),
        effective_lanes_per_issue: timing.effective_lanes_per_issue(),
        registers: program.resources.launch_registers(program.arch),
        warps: timing.occupancy.warps,
        limited_by: timing.occupancy.limited_by,
        spills,
    };
    (Side::Ran(figures), Some(report))
}
