//! Chrome's trace format, as <https://ui.perfetto.dev> and `chrome://tracing` read it.
//!
//! A sub-core is a process, a warp a thread of it. Instructions and stalls are complete events (`X`): the cycle of an
//! issue has the instruction's text, a stall the name of its cause; nothing else lies on the line of a warp, and every
//! cycle of its life is covered. Accesses to memory are asynchronous events (`b`, `e`) from issue to result. A cycle is
//! shown as a microsecond, the unit of the format. Source: "Trace Event Format", Google.

use std::io::{self, BufWriter, Write};

use ptxc_sass::Program;
use serde::Serialize;

use crate::timing::observe::{Issue, MemoryEvent, Observer, Stall, WarpId};

/// Writes a trace while it is told what happens.
#[derive(Debug)]
pub struct Perfetto<W: Write> {
    out: BufWriter<W>,
    /// The text of each instruction.
    texts: Vec<String>,
    /// The sub-core of each warp that has started, by its line.
    cores: rustc_hash::FxHashMap<u64, u32>,
    /// The sub-cores that have a name.
    named: Vec<u32>,
    /// Accesses so far: each has a number of its own.
    accesses: u64,
    written: bool,
    failed: Option<io::Error>,
}

#[derive(Serialize)]
struct Event<'a, A> {
    name: &'a str,
    cat: &'a str,
    ph: &'a str,
    ts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    pid: u32,
    tid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    args: A,
}

#[derive(Serialize)]
struct Name {
    name: String,
}

#[derive(Serialize)]
struct Instruction {
    offset: u32,
    lanes: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<u64>,
}

#[derive(Serialize)]
struct Waiting<'a> {
    offset: u32,
    instruction: &'a str,
}

/// The line of a warp. CTAs have at most 32 warps.
fn line(warp: WarpId) -> u64 {
    u64::from(warp.cta) * 32 + u64::from(warp.warp)
}

impl<W: Write> Perfetto<W> {
    /// A trace of a run of the program.
    pub fn new(out: W, program: &Program) -> Perfetto<W> {
        let texts = program.insts.iter().map(|coded| coded.inst.to_string()).collect();
        let out = BufWriter::new(out);
        Perfetto {
            out,
            texts,
            cores: Default::default(),
            named: Vec::new(),
            accesses: 0,
            written: false,
            failed: None,
        }
    }

    /// Ends the trace; where it was written to.
    ///
    /// # Errors
    /// If it could not be written, then or before.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if !self.written {
            write!(self.out, "{{\"traceEvents\":[")?;
        }
        writeln!(self.out, "\n],\"displayTimeUnit\":\"ns\"}}")?;
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }

    fn write(&mut self, event: &impl Serialize) {
        if self.failed.is_some() {
            return;
        }
        let start = if self.written { ",\n" } else { "{\"traceEvents\":[\n" };
        self.written = true;
        let outcome = self.out.write_all(start.as_bytes());
        let outcome = outcome.and_then(|()| Ok(serde_json::to_writer(&mut self.out, event)?));
        self.failed = outcome.err();
    }

    fn text(&self, pc: u32) -> String {
        self.texts.get(pc as usize).cloned().unwrap_or_default()
    }

    fn name(&mut self, what: &str, pid: u32, tid: u64, name: String) {
        let args = Name { name };
        self.write(&Event { name: what, cat: "", ph: "M", ts: 0, dur: None, pid, tid, id: None, args });
    }
}

impl<W: Write> Observer for Perfetto<W> {
    fn start(&mut self, _: u64, sub_core: u32, warp: WarpId) {
        if !self.named.contains(&sub_core) {
            self.named.push(sub_core);
            self.name("process_name", sub_core, 0, format!("sub-core {sub_core}"));
        }
        self.cores.insert(line(warp), sub_core);
        self.name("thread_name", sub_core, line(warp), format!("CTA {} warp {}", warp.cta, warp.warp));
    }

    fn issue(&mut self, issue: &Issue) {
        let text = self.text(issue.pc);
        let args = Instruction {
            offset: issue.pc * Program::INST_BYTES,
            lanes: format!("{:#010x}", issue.lanes),
            done: issue.done,
        };
        let (ts, pid, tid) = (issue.cycle, issue.sub_core, line(issue.warp));
        self.write(&Event { name: &text, cat: "issue", ph: "X", ts, dur: Some(1), pid, tid, id: None, args });
    }

    fn stall(&mut self, stall: &Stall) {
        let text = self.text(stall.pc);
        let args = Waiting { offset: stall.pc * Program::INST_BYTES, instruction: &text };
        let (name, pid, tid) = (stall.cause.name(), stall.sub_core, line(stall.warp));
        let dur = Some(stall.to - stall.from);
        self.write(&Event { name, cat: "stall", ph: "X", ts: stall.from, dur, pid, tid, id: None, args });
    }

    fn memory(&mut self, event: &MemoryEvent) {
        let text = self.text(event.pc);
        let tid = line(event.warp);
        let pid = self.cores.get(&tid).copied().unwrap_or(0);
        self.accesses += 1;
        let id = Some(self.accesses);
        for (ph, ts) in [("b", event.issued), ("e", event.done)] {
            let args = Waiting { offset: event.pc * Program::INST_BYTES, instruction: &text };
            self.write(&Event { name: "memory", cat: "memory", ph, ts, dur: None, pid, tid, id, args });
        }
    }
}
