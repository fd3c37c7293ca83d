//! The log format of Konata, a viewer of processor pipelines (Shioya, "Konata", format
//! `Kanata 0004`).
//!
//! A row is an instruction of a warp, a thread is a warp. The stages of a row are the causes of
//! waits, issue, and execution:
//!
//! | stage | |
//! |---|---|
//! | `De` `Sc` `Fe` `Ba` `Co` `Sl` `In` `Cn` `Pi` `Qu` `Po` `No` | it waits: dependence, scoreboard, fence, barrier, convergence, sleep, instruction fetch, constant cache, pipe busy, queue full, register port, not selected |
//! | `Is` | it issues |
//! | `Ex` | it executes, until a result of variable latency is available |
//!
//! ```text
//! Kanata  0004
//! C=      10           the first cycle
//! I       0  0  0      instruction 0 of thread 0 appears
//! L       0  0  0000: LDG.E R0, desc[UR4][R2.64]
//! S       0  0  Is
//! C       1            a cycle later
//! ```

use std::io::{self, Write};

use super::{Lane, Listing, Trace};
use crate::timing::Cause;

/// The stage of a cause.
fn stage(cause: Cause) -> &'static str {
    match cause {
        Cause::Dependence => "De",
        Cause::Scoreboard => "Sc",
        Cause::Fence => "Fe",
        Cause::Barrier => "Ba",
        Cause::Cluster => "Cl",
        Cause::Mbarrier => "Mb",
        Cause::Convergence => "Co",
        Cause::Sleep => "Sl",
        Cause::Fetch => "In",
        Cause::Constant => "Cn",
        Cause::Pipe => "Pi",
        Cause::Queue => "Qu",
        Cause::Port => "Po",
        Cause::NotSelected => "No",
    }
}

/// An event of a row in a cycle; events of one cycle are written in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// The row appears.
    Appears,
    /// The row enters a stage.
    Stage(&'static str),
    /// The row leaves the pipeline.
    Retires,
}

/// A row of the log.
struct Row {
    /// The lane's number.
    lane: usize,
    pc: u32,
    lanes: u32,
}

/// The rows of a lane, and their events with their cycles.
fn rows(number: usize, lane: &Lane, rows: &mut Vec<Row>, changes: &mut Vec<(u64, usize, Change)>) {
    let mut waits = lane.waits.iter().peekable();
    for issued in &lane.issues {
        let row = rows.len();
        rows.push(Row { lane: number, pc: issued.pc, lanes: issued.lanes });
        let mut appears = issued.cycle;
        while let Some(wait) = waits.next_if(|wait| wait.from < issued.cycle) {
            appears = appears.min(wait.from);
            changes.push((wait.from, row, Change::Stage(stage(wait.cause))));
        }
        changes.push((appears, row, Change::Appears));
        changes.push((issued.cycle, row, Change::Stage("Is")));
        let end = match issued.done.filter(|&done| done > issued.cycle + 1) {
            Some(done) => {
                changes.push((issued.cycle + 1, row, Change::Stage("Ex")));
                done
            }
            None => issued.cycle + 1,
        };
        changes.push((end, row, Change::Retires));
    }
}

/// Writes a trace.
///
/// # Errors
/// Errors of the writer.
pub fn write(trace: &Trace, listing: &Listing, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let (mut all, mut changes) = (Vec::new(), Vec::new());
    for (number, lane) in trace.lanes().iter().enumerate() {
        rows(number, lane, &mut all, &mut changes);
    }
    changes.sort_unstable();
    let mut now = changes.first().map_or(0, |&(cycle, ..)| cycle);
    writeln!(out, "Kanata\t0004\nC=\t{now}")?;
    // Rows are numbered in the order in which they appear, as the viewer requires.
    let mut numbers = vec![0; all.len()];
    let (mut appeared, mut retired) = (0, 0);
    for (cycle, row, change) in changes {
        if cycle > now {
            writeln!(out, "C\t{}", cycle - now)?;
            now = cycle;
        }
        let Row { lane, pc, lanes } = all[row];
        match change {
            Change::Appears => {
                numbers[row] = appeared;
                appeared += 1;
                let (id, line) = (numbers[row], listing.line(pc));
                let warp = trace.lanes()[lane].warp;
                writeln!(out, "I\t{id}\t{id}\t{lane}")?;
                writeln!(out, "L\t{id}\t0\t{:04x}: {line}", u64::from(pc) * 16)?;
                writeln!(out, "L\t{id}\t1\t{warp}, lanes {lanes:#010x}")?;
            }
            Change::Stage(stage) => writeln!(out, "S\t{}\t0\t{stage}", numbers[row])?,
            Change::Retires => {
                writeln!(out, "R\t{}\t{retired}\t0", numbers[row])?;
                retired += 1;
            }
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn rows_go_through_their_stages_in_time() {
        let (trace, listing) = crate::trace::tests::example();
        let mut bytes = Vec::new();
        write(&trace, &listing, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let mut now = 0;
        let mut story: HashMap<&str, Vec<(u64, &str)>> = HashMap::new();
        for line in text.lines() {
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["C=", cycle] => now = cycle.parse().unwrap(),
                ["C", cycles] => now += cycles.parse::<u64>().unwrap(),
                ["I", row, ..] => story.entry(row).or_default().push((now, "I")),
                ["S", row, _, stage] => story.entry(row).or_default().push((now, stage)),
                ["R", row, ..] => story.entry(row).or_default().push((now, "R")),
                _ => {}
            }
        }
        assert_eq!(story["0"], [(10, "I"), (10, "Is"), (11, "Ex"), (40, "R")]);
        // Row 1 is the first one that appears in cycle 11: the addition, which waits; row 2 is the
        // other warp's load.
        assert_eq!(story["1"], [(11, "I"), (11, "De"), (12, "Sc"), (40, "Is"), (41, "R")]);
        assert_eq!(story["2"], [(11, "I"), (11, "Is"), (12, "Ex"), (38, "R")]);
        assert_eq!(story["3"], [(41, "I"), (41, "De"), (44, "Is"), (45, "R")]);
        assert!(text.starts_with("Kanata\t0004\nC=\t10\n"));
    }

    #[test]
    fn every_cause_has_a_stage_of_its_own() {
        let mut stages: Vec<_> = Cause::ALL.iter().map(|&cause| stage(cause)).collect();
        stages.sort_unstable();
        stages.dedup();
        assert_eq!(stages.len(), Cause::ALL.len());
    }
}
