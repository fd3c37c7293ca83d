//! Traces of real runs have every cycle of every warp.

use ptxc_sass::Program;
use ptxc_sim::timing::report::WarpTiming;
use ptxc_sim::timing::{Timing, TimingOptions, run_observed};
use ptxc_sim::trace::{Listing, Trace, konata};
use ptxc_sim::{Case, Options};

use super::{check, control};
use crate::assemble::{case, program};

/// Two CTAs of five warps that store to shared memory, meet, and load.
fn example() -> (Case, Program) {
    let case = case(2, 150, Vec::new());
    let text = "
        S2R R1, SR_TID.X
        SHF.L.U32 R2, R1, 0x2, RZ
        STS [R2+0x400], R1
        BAR.SYNC.DEFER_BLOCKING 0x0
        LDS R3, [R2+0x400]
        IADD3 R4, R3, R1, RZ
        EXIT
    ";
    let mut program = program(text, &case);
    control(&mut program, 0, |control| (control.write_barrier, control.stall) = (Some(0), 2));
    control(&mut program, 1, |control| (control.wait_mask, control.stall) = (1, 5));
    control(&mut program, 3, |control| control.stall = 6);
    control(&mut program, 4, |control| (control.write_barrier, control.stall) = (Some(0), 2));
    control(&mut program, 5, |control| control.wait_mask = 1);
    control(&mut program, 6, |control| control.stall = 5);
    (case, program)
}

fn traced() -> (Timing, Trace, Listing) {
    let (case, program) = example();
    let mut trace = Trace::new();
    let run = run_observed(&case, &program, &Options::default(), &TimingOptions::default(), &mut trace);
    let (_, timing) = run.unwrap_or_else(|error| panic!("{error}"));
    check(&timing);
    (timing, trace, Listing::new(&program))
}

#[test]
fn a_trace_covers_the_life_of_each_warp() {
    let (timing, trace, _) = traced();
    assert_eq!((trace.lanes().len(), trace.lost()), (timing.warps.len(), 0));
    for lane in trace.lanes() {
        let is_same = |warp: &&WarpTiming| (warp.cta, warp.warp) == (lane.warp.cta, lane.warp.warp);
        let warp = timing.warps.iter().find(is_same).unwrap();
        assert_eq!((lane.start, lane.end, lane.sub_core), (warp.start, warp.end, warp.sub_core));
        let issues = lane.issues.iter().map(|issue| (issue.cycle, issue.cycle + 1));
        let mut spans: Vec<_> = issues.chain(lane.waits.iter().map(|wait| (wait.from, wait.to))).collect();
        spans.sort_unstable();
        assert_eq!((spans[0].0, spans.last().unwrap().1), (warp.start, warp.end));
        assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "no gap, no overlap: {spans:?}");
        assert_eq!(lane.accesses.len(), 2);
    }
}

#[test]
fn a_konata_log_ends_what_it_begins() {
    let (timing, trace, listing) = traced();
    let mut log = Vec::new();
    konata::write(&trace, &listing, &mut log).unwrap();
    let text = String::from_utf8(log).unwrap();
    let (mut begun, mut ended, mut issues) = (Vec::new(), Vec::new(), 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let id = || fields[1].parse::<u64>().unwrap();
        match fields[0] {
            "I" => begun.push(id()),
            "R" => ended.push(id()),
            "S" => {
                assert!(begun.contains(&id()) && !ended.contains(&id()), "{line}");
                issues += u64::from(fields[3] == "Is");
            }
            _ => {}
        }
    }
    assert_eq!(issues, timing.issued);
    begun.sort_unstable();
    ended.sort_unstable();
    assert_eq!(begun, ended);
}
