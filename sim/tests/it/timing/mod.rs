//! The model of time on programs in SASS text.

mod machine;
mod straight_line;
mod traces;

use ptxc_sass::{Control, Program};
use ptxc_sim::timing::{Cause, Timing, TimingOptions, run_timed};
use ptxc_sim::{Case, Options};

/// Sets the control field of an instruction.
pub fn control(program: &mut Program, index: usize, change: impl FnOnce(&mut Control)) {
    change(&mut program.insts[index].control);
}

/// Runs a program, and checks that every cycle of every warp is accounted for.
pub fn run(case: &Case, program: &Program) -> Timing {
    run_with(case, program, &TimingOptions::default())
}

/// The same with options.
pub fn run_with(case: &Case, program: &Program, options: &TimingOptions) -> Timing {
    let (report, timing) =
        run_timed(case, program, &Options::default(), options).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.passed(), "{report}");
    check(&timing);
    timing
}

/// Checks the properties of every run.
pub fn check(timing: &Timing) {
    for warp in &timing.warps {
        assert_eq!(warp.issued + warp.stalls.total(), warp.end - warp.start, "{warp:?}");
    }
    let issued: u64 = timing.sub_cores.iter().map(|core| core.issued).sum();
    assert_eq!(issued, timing.issued);
    for core in &timing.sub_cores {
        assert_eq!(core.issued + core.no_eligible_warp, core.active);
        assert!(core.active <= timing.cycles);
    }
    for &cause in Cause::ALL {
        let warps: u64 = timing.warps.iter().map(|warp| warp.stalls[cause]).sum();
        assert_eq!(warps, timing.stalls[cause], "{cause:?}");
        let insts: u64 = timing.insts.iter().map(|inst| inst.stalls[cause]).sum();
        // After its last instruction a warp waits for no other warp.
        assert!(insts <= warps, "{cause:?}: {insts} of {warps}");
    }
}
