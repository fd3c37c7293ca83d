//! The trace event format of Chrome, which Perfetto reads (Google, "Trace Event Format", 2016).
//!
//! A process is a sub-core, a thread is a warp; a cycle is a microsecond, the unit of the format.
//! Issues and stalls are complete events (`X`). Memory accesses in flight are asynchronous events
//! (`b`, `e`), because they overlap.
//!
//! ```json
//! {"traceEvents":[
//! {"ph":"M","pid":0,"name":"process_name","args":{"name":"sub-core 0"}},
//! {"ph":"X","pid":0,"tid":0,"ts":40,"dur":1,"cat":"issue","name":"FADD R0, R0, 1","args":{"address":"0x10","lanes":"0xffffffff"}},
//! …
//! ```

use std::io::{self, Write};

use serde_json::json;

use super::{Listing, Trace};

/// Writes a trace.
///
/// # Errors
/// Errors of the writer.
pub fn write(trace: &Trace, listing: &Listing, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let about = json!({ "kernel": listing.name, "unit": "1 us is 1 cycle", "events lost": trace.lost() });
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
    let mut separator = "";
    let mut event = |event: serde_json::Value| {
        let result = write!(out, "{separator}\n{event}");
        separator = ",";
        result
    };
    let mut sub_cores: Vec<u32> = trace.lanes().iter().map(|lane| lane.sub_core).collect();
    sub_cores.sort_unstable();
    sub_cores.dedup();
    for pid in sub_cores {
        let args = json!({ "name": format!("sub-core {pid}") });
        event(json!({ "ph": "M", "pid": pid, "name": "process_name", "args": args }))?;
    }
    let mut flight = 0;
    for (tid, lane) in trace.lanes().iter().enumerate() {
        let pid = lane.sub_core;
        let args = json!({ "name": lane.warp.to_string() });
        event(json!({ "ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": args }))?;
        let address = |pc: u32| format!("{:#x}", u64::from(pc) * 16);
        for issued in &lane.issues {
            let args = json!({ "address": address(issued.pc), "lanes": format!("{:#010x}", issued.lanes) });
            event(json!({
                "ph": "X", "pid": pid, "tid": tid, "ts": issued.cycle, "dur": 1, "cat": "issue",
                "name": listing.line(issued.pc), "args": args,
            }))?;
        }
        for waited in &lane.waits {
            let args = json!({ "address": address(waited.pc), "instruction": listing.line(waited.pc) });
            event(json!({
                "ph": "X", "pid": pid, "tid": tid, "ts": waited.from, "dur": waited.to - waited.from,
                "cat": "stall", "name": waited.cause.name(), "args": args,
            }))?;
        }
        for access in &lane.accesses {
            let name = listing.line(access.pc);
            for (ph, ts) in [("b", access.issued), ("e", access.done)] {
                let args = json!({ "address": address(access.pc), "sent": access.sent });
                event(json!({
                    "ph": ph, "pid": pid, "tid": tid, "ts": ts, "id": flight, "cat": "memory", "name": name,
                    "args": args,
                }))?;
            }
            flight += 1;
        }
    }
    writeln!(out, "\n]}}")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_json_with_every_event() {
        let (trace, listing) = crate::trace::tests::example();
        let mut bytes = Vec::new();
        write(&trace, &listing, &mut bytes).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let events = value["traceEvents"].as_array().unwrap();
        let count = |ph: &str, cat: &str| {
            events.iter().filter(|event| event["ph"] == ph && (cat.is_empty() || event["cat"] == cat)).count()
        };
        assert_eq!((count("M", ""), count("X", "issue"), count("X", "stall")), (4, 4, 3));
        assert_eq!((count("b", "memory"), count("e", "memory")), (1, 1));
        let wait = events.iter().find(|event| event["name"] == "scoreboard").unwrap();
        assert_eq!(
            (wait["ts"].as_u64(), wait["dur"].as_u64(), wait["tid"].as_u64()),
            (Some(12), Some(28), Some(0))
        );
    }
}
