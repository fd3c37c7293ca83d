//! The log format of Konata, a viewer of pipelines, as Onikiri 2 and gem5 write it.
//!
//! Each issue of an instruction is a line of the picture, with a stage for each cause that it waited for, one for its
//! issue (`Is`), and one until its result is there (`Ex`), where a scoreboard announces that. Warps are threads.
//! Source: "Kanata log format version 0004", in the documentation of Konata.

use std::io::{self, BufWriter, Write};

use ptxc_sass::Program;
use rustc_hash::FxHashMap;

use crate::timing::Cause;
use crate::timing::observe::{Issue, Observer, Stall, WarpId};

/// Collects a trace; its format wants events in the order of time, so that it is written at the end.
#[derive(Debug)]
pub struct Konata<W: Write> {
    out: BufWriter<W>,
    texts: Vec<String>,
    /// The instructions that warps wait to issue.
    open: FxHashMap<WarpId, u64>,
    instructions: u64,
    /// What happens in a cycle; those of one cycle in the order in which they were told.
    events: Vec<(u64, Event)>,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// An instruction of a warp appears.
    Begin { id: u64, warp: WarpId, pc: u32 },
    /// It is in a stage from now on.
    Stage { id: u64, name: &'static str },
    /// It is done.
    End { id: u64 },
}

/// The short name of a stage in which an instruction waits.
fn stage(cause: Cause) -> &'static str {
    match cause {
        Cause::Dependence => "Dp",
        Cause::Scoreboard => "Sb",
        Cause::Fence => "Fn",
        Cause::Barrier => "Br",
        Cause::Convergence => "Cv",
        Cause::Sleep => "Sl",
        Cause::Fetch => "If",
        Cause::Constant => "Cc",
        Cause::Pipe => "Pb",
        Cause::Queue => "Qu",
        Cause::Port => "Rp",
        Cause::NotSelected => "Ns",
    }
}

impl<W: Write> Konata<W> {
    /// A trace of a run of the program.
    pub fn new(out: W, program: &Program) -> Konata<W> {
        let texts = program.insts.iter().map(|coded| coded.inst.to_string()).collect();
        let out = BufWriter::new(out);
        Konata { out, texts, open: FxHashMap::default(), instructions: 0, events: Vec::new() }
    }

    /// Writes the trace; where to.
    ///
    /// # Errors
    /// If that fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.events.sort_by_key(|&(cycle, _)| cycle);
        let mut now = self.events.first().map_or(0, |&(cycle, _)| cycle);
        writeln!(self.out, "Kanata\t0004\nC=\t{now}")?;
        let mut ended = 0;
        for (cycle, event) in self.events {
            if cycle > now {
                writeln!(self.out, "C\t{}", cycle - now)?;
                now = cycle;
            }
            match event {
                Event::Begin { id, warp, pc } => {
                    let text = self.texts.get(pc as usize).map_or("", |text| text);
                    writeln!(self.out, "I\t{id}\t{id}\t{}", u64::from(warp.cta) * 32 + u64::from(warp.warp))?;
                    writeln!(self.out, "L\t{id}\t0\t{:04x}: {text}", pc * Program::INST_BYTES)?;
                    writeln!(self.out, "L\t{id}\t1\tCTA {} warp {}", warp.cta, warp.warp)?;
                }
                Event::Stage { id, name } => writeln!(self.out, "S\t{id}\t0\t{name}")?,
                Event::End { id } => {
                    writeln!(self.out, "R\t{id}\t{ended}\t0")?;
                    ended += 1;
                }
            }
        }
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }

    /// The number of the instruction that a warp is about to issue; a new one appears at `cycle`.
    fn instruction(&mut self, warp: WarpId, pc: u32, cycle: u64) -> u64 {
        *self.open.entry(warp).or_insert_with(|| {
            let id = self.instructions;
            self.instructions += 1;
            self.events.push((cycle, Event::Begin { id, warp, pc }));
            id
        })
    }
}

impl<W: Write> Observer for Konata<W> {
    fn end(&mut self, cycle: u64, _: u32, warp: WarpId) {
        // What a warp waits behind its last instruction is not for another one.
        if let Some(id) = self.open.remove(&warp) {
            self.events.push((cycle, Event::End { id }));
        }
    }

    fn issue(&mut self, issue: &Issue) {
        let id = self.instruction(issue.warp, issue.pc, issue.cycle);
        self.open.remove(&issue.warp);
        self.events.push((issue.cycle, Event::Stage { id, name: "Is" }));
        let end = match issue.done {
            Some(done) if done > issue.cycle + 1 => {
                self.events.push((issue.cycle + 1, Event::Stage { id, name: "Ex" }));
                done
            }
            _ => issue.cycle + 1,
        };
        self.events.push((end, Event::End { id }));
    }

    fn stall(&mut self, stall: &Stall) {
        let id = self.instruction(stall.warp, stall.pc, stall.from);
        self.events.push((stall.from, Event::Stage { id, name: stage(stall.cause) }));
    }
}
