//! Traces have every cycle, in the form that their tools read.

use std::collections::BTreeMap;

use ptxc_sass::Program;
use ptxc_sim::timing::{Timing, TimingOptions, run_observed};
use ptxc_sim::trace::{Konata, Perfetto};
use ptxc_sim::{Case, Options};
use serde_json::Value;

use crate::assemble::{case, program};
use crate::{check, control};

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

fn traced() -> (Timing, Vec<u8>, Vec<u8>) {
    let (case, program) = example();
    let mut observer = (Perfetto::new(Vec::new(), &program), Some(Konata::new(Vec::new(), &program)));
    let run = run_observed(&case, &program, &Options::default(), &TimingOptions::default(), &mut observer);
    let (_, timing) = run.unwrap_or_else(|error| panic!("{error}"));
    let (perfetto, konata) = observer;
    check(&timing);
    (timing, perfetto.finish().unwrap(), konata.unwrap().finish().unwrap())
}

#[test]
fn a_chrome_trace_covers_the_life_of_each_warp() {
    let (timing, json, _) = traced();
    let trace: Value = serde_json::from_slice(&json).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let mut lines: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let number = |name: &str| event[name].as_u64().unwrap();
        lines.entry(number("tid")).or_default().push((number("ts"), number("ts") + number("dur")));
    }
    assert_eq!(lines.len(), timing.warps.len());
    for warp in &timing.warps {
        let spans = lines.get_mut(&u64::from(warp.cta * 32 + warp.warp)).unwrap();
        spans.sort_unstable();
        assert_eq!((spans[0].0, spans.last().unwrap().1), (warp.start, warp.end));
        assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "no gap, no overlap: {spans:?}");
    }
    let count = |ph: &str, cat: &str| {
        events.iter().filter(|event| event["ph"] == ph && event["cat"] == cat).count() as u64
    };
    assert_eq!(count("X", "issue"), timing.issued);
    assert_eq!((count("b", "memory"), count("e", "memory")), (20, 20));
    let names = events.iter().filter(|event| event["name"] == "process_name").count();
    assert_eq!(names, 4, "sub-cores");
}

#[test]
fn a_konata_log_is_in_order_and_ends_what_it_begins() {
    let (timing, _, log) = traced();
    let text = String::from_utf8(log).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Kanata\t0004"));
    assert_eq!(lines.next(), Some("C=\t0"));
    let (mut begun, mut ended, mut cycle) = (Vec::new(), Vec::new(), 0u64);
    let mut issues = 0;
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let id = || fields[1].parse::<u64>().unwrap();
        match fields[0] {
            "C" => cycle += id(),
            "I" => begun.push(id()),
            "R" => ended.push(id()),
            "S" => {
                assert!(begun.contains(&id()) && !ended.contains(&id()), "{line}");
                issues += u64::from(fields[3] == "Is");
            }
            "L" => assert!(begun.contains(&id())),
            other => panic!("{other}"),
        }
    }
    assert!(cycle <= timing.cycles);
    assert_eq!(issues, timing.issued);
    begun.sort_unstable();
    ended.sort_unstable();
    assert_eq!(begun, ended);
}
