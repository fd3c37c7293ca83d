//! Why each control field is what it is, for `--explain`.
//!
//! In: the scoreboards and stalls with their reasons. Out: for each instruction of the program a list of
//! [`Note`]s, whose text stands behind the line:
//!
//! ```text
//! S2R R5, SR_TID.X                   // sets SB0
//! IMAD R5, R0, R2, R5                // waits SB0, SB1: R5, R0; 5 to ISETP R5
//! ISETP.GE.AND P0, PT, R5, UR4, PT   // 13 to the guard P0
//! @P0 EXIT
//! ```

use std::fmt;

use ptxc_sass::PReg;
use ptxc_sass::latency::Ahead;

/// For each instruction of a program, what forced its control field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explain {
    /// The notes of each instruction, in the order of the text.
    pub notes: Vec<Vec<Note>>,
}

impl Explain {
    /// The notes of an instruction as a comment without its slashes; empty if there are none.
    pub fn line(&self, inst: usize) -> String {
        let notes = self.notes.get(inst).map_or(&[][..], Vec::as_slice);
        notes.iter().map(Note::to_string).collect::<Vec<_>>().join("; ")
    }
}

/// What a wait protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A result, or an operand that is about to be overwritten.
    Register(PReg),
    /// A memory barrier.
    Fence,
    /// What reads of memory bring, before the cache is emptied.
    Arrival,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Awaited::Register(reg) => write!(f, "{reg}"),
            Awaited::Fence => f.write_str("the memory barrier"),
            Awaited::Arrival => f.write_str("what memory was read"),
        }
    }
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// It waits for scoreboards.
    Waits {
        /// Their numbers.
        scoreboards: Vec<u8>,
        /// What for.
        awaited: Vec<Awaited>,
    },
    /// It sets a scoreboard for its results.
    SetsResult(u8),
    /// It sets a scoreboard for the reading of its operands.
    SetsRead(u8),
    /// Its stall completes the fixed latency of a result.
    Latency {
        /// Cycles between the two instructions.
        cycles: u32,
        /// The instruction that produces it, by index; `None` where it is this one.
        from: Option<usize>,
        /// The mnemonic of the one that reads it; `None` for its guard.
        reader: Option<&'static str>,
        /// The register.
        reg: PReg,
    },
    /// Its stall keeps an overwriting from coming too soon.
    Overwrite {
        /// Cycles between the two instructions.
        cycles: u32,
        /// The instruction that reads or writes it first, by index; `None` where it is this one.
        from: Option<usize>,
        /// The mnemonic of the one that overwrites it.
        writer: &'static str,
        /// The register.
        reg: PReg,
    },
    /// Its stall makes a scoreboard visible to its first waiter.
    Visible {
        /// Cycles from the instruction that sets it.
        cycles: u32,
        /// Its number.
        scoreboard: u8,
    },
    /// Its stall settles what is under way before another function runs.
    Settled {
        /// Cycles from the instruction that needs them.
        cycles: u32,
        /// That instruction, by index.
        from: usize,
    },
    /// Its stall keeps what follows away from an instruction, whatever their registers.
    Behind {
        /// Cycles from that instruction.
        cycles: u32,
        /// What it is.
        ahead: Ahead,
    },
    /// It fills up a stall that is longer than one control field can say.
    Padding,
}

impl Note {
    /// The same where the function's code begins at another instruction.
    pub fn shifted(&self, start: usize) -> Note {
        let mut note = self.clone();
        match &mut note {
            Note::Latency { from, .. } | Note::Overwrite { from, .. } => {
                *from = from.map(|from| from + start);
            }
            Note::Settled { from, .. } => *from += start,
            _ => {}
        }
        note
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: Vec<String>| items.join(", ");
        let origin = |from: &Option<usize>| match from {
            Some(index) => format!(" from {:04x}", index * 16),
            None => String::new(),
        };
        match self {
            Note::Waits { scoreboards, awaited } => {
                write!(f, "waits {}", list(scoreboards.iter().map(|sb| format!("SB{sb}")).collect()))?;
                match awaited.is_empty() {
                    true => Ok(()),
                    false => write!(f, ": {}", list(awaited.iter().map(Awaited::to_string).collect())),
                }
            }
            Note::SetsResult(sb) => write!(f, "sets SB{sb}"),
            Note::SetsRead(sb) => write!(f, "sets SB{sb} when read"),
            Note::Latency { cycles, from, reader, reg } => {
                write!(f, "{cycles}{} to {} {reg}", origin(from), reader.unwrap_or("the guard"))
            }
            Note::Overwrite { cycles, from, writer, reg } => {
                write!(f, "{cycles}{} until {writer} overwrites {reg}", origin(from))
            }
            Note::Visible { cycles, scoreboard } => write!(f, "{cycles} to the wait for SB{scoreboard}"),
            Note::Settled { cycles, from } => {
                write!(f, "{cycles} from {:04x} to another function", from * 16)
            }
            Note::Behind { cycles, ahead } => {
                let name = match ahead {
                    Ahead::Barrier => "BAR",
                    Ahead::BarrierResult | Ahead::UnreadResult => "B2R",
                    Ahead::ClusterErrors => "CGAERRBAR",
                };
                write!(f, "{cycles} after {name}")
            }
            Note::Padding => f.write_str("fills up the stall"),
        }
    }
}
