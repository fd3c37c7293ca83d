//! A timeline as one self-contained HTML page.
//!
//! The page is `timeline.html`, with the data of the run inserted as JSON: the listing, the causes
//! with their colours, and the segments of each lane. A segment is four numbers: the cycles since
//! the start of the previous segment, its length, its kind (0 is an issue, `n` the cause number
//! `n - 1`), and the instruction.

use std::io::{self, Write};

use serde::Serialize;

use super::{Lane, Listing, Trace};
use crate::timing::Cause;

const PAGE: &str = include_str!("timeline.html");

/// The placeholder for the data.
const PLACE: &str = "@DATA@";

/// The colour of a cause: warm for memory and synchronization, cool for the pipes.
fn color(cause: Cause) -> &'static str {
    match cause {
        Cause::Dependence => "#f2c14e",
        Cause::Scoreboard => "#d9480f",
        Cause::Fence => "#a61e4d",
        Cause::Barrier => "#862e9c",
        Cause::Cluster => "#5f3dc4",
        Cause::Mbarrier => "#9c36b5",
        Cause::Convergence => "#c2255c",
        Cause::Sleep => "#868e96",
        Cause::Fetch => "#0b7285",
        Cause::Constant => "#66a80f",
        Cause::Pipe => "#1971c2",
        Cause::Queue => "#4263eb",
        Cause::Port => "#74c0fc",
        Cause::NotSelected => "#b5b9c0",
    }
}

#[derive(Serialize)]
struct Kind {
    name: &'static str,
    color: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LaneData {
    name: String,
    sub_core: u32,
    first: u64,
    segments: Vec<u64>,
}

#[derive(Serialize)]
struct Data<'a> {
    name: &'a str,
    begin: u64,
    end: u64,
    lost: u64,
    causes: Vec<Kind>,
    lines: &'a [String],
    lanes: Vec<LaneData>,
}

/// The segments of a lane in the order of time.
fn segments(lane: &Lane) -> Vec<u64> {
    let issues = lane.issues.iter().map(|issued| (issued.cycle, 1, 0, issued.pc));
    let waits =
        lane.waits.iter().map(|wait| (wait.from, wait.to - wait.from, wait.cause as u64 + 1, wait.pc));
    let mut list: Vec<_> = issues.chain(waits).collect();
    list.sort_unstable();
    let mut before = lane.start;
    let mut numbers = Vec::with_capacity(4 * list.len());
    for (start, length, kind, pc) in list {
        numbers.extend([start - before, length, kind, pc.into()]);
        before = start;
    }
    numbers
}

/// Writes a trace.
///
/// # Errors
/// Errors of the writer.
pub fn write(trace: &Trace, listing: &Listing, out: &mut dyn Write) -> io::Result<()> {
    let lanes = trace.lanes().iter().map(|lane| LaneData {
        name: lane.warp.to_string(),
        sub_core: lane.sub_core,
        first: lane.start,
        segments: segments(lane),
    });
    let data = Data {
        name: &listing.name,
        begin: trace.lanes().iter().map(|lane| lane.start).min().unwrap_or(0),
        end: trace.last_cycle(),
        lost: trace.lost(),
        causes: Cause::ALL.iter().map(|&cause| Kind { name: cause.name(), color: color(cause) }).collect(),
        lines: &listing.lines,
        lanes: lanes.collect(),
    };
    // Inside a script element only `</` and `<!` could end the data early.
    let json = serde_json::to_string(&data)?.replace('<', "\\u003c");
    let (before, after) = PAGE.split_once(PLACE).unwrap_or((PAGE, ""));
    out.write_all(before.as_bytes())?;
    out.write_all(json.as_bytes())?;
    out.write_all(after.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_the_data_and_nothing_can_end_it_early() {
        let (trace, listing) = crate::trace::tests::example();
        let mut bytes = Vec::new();
        write(&trace, &listing, &mut bytes).unwrap();
        let page = String::from_utf8(bytes).unwrap();
        let data = page.split_once("application/json\">").unwrap().1.split_once("</script>").unwrap().0;
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["lines"][1], "FADD R0, R0, \"1\" </script>");
        assert_eq!((data["begin"].as_u64(), data["end"].as_u64()), (Some(10), Some(49)));
        let scoreboard = Cause::Scoreboard as u64 + 1;
        let numbers: Vec<u64> = serde_json::from_value(data["lanes"][0]["segments"].clone()).unwrap();
        assert_eq!(numbers[..12], [0, 1, 0, 0, 1, 1, 1, 1, 1, 28, scoreboard, 1]);
        assert!(!page.contains("src=") && !page.contains("href="), "the page asks for nothing else");
    }
}
