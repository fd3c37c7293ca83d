//! The reasons for each control field, for `--explain`.
//!
//! In: the scoreboards and stalls with their reasons. Out: for each instruction of the program a
//! list of [`Note`]s, which are printed after the instruction:
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

/// For each instruction of a program, the reasons for its control field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explain {
    /// The notes of all instructions, in the order of the text.
    notes: Vec<Note>,
    /// For each instruction, the number of notes up to it.
    ends: Vec<u32>,
}

impl Explain {
    /// An empty list, with room for `insts` instructions.
    pub(crate) fn with_capacity(insts: usize) -> Explain {
        Explain { notes: Vec::with_capacity(insts), ends: Vec::with_capacity(insts) }
    }

    /// Adds a note to the current instruction.
    pub(crate) fn push(&mut self, note: Note) {
        self.notes.push(note);
    }

    /// Ends the notes of the current instruction.
    pub(crate) fn finish(&mut self) {
        self.ends.push(self.notes.len() as u32);
    }

    /// Adds the notes of a function whose code begins at an instruction.
    pub(crate) fn append(&mut self, function: &Explain, start: usize) {
        let before = self.notes.len() as u32;
        self.notes.extend(function.notes.iter().map(|note| note.shifted(start)));
        self.ends.extend(function.ends.iter().map(|end| before + end));
    }

    /// The notes of an instruction, in the order of the text.
    pub fn notes(&self, inst: usize) -> &[Note] {
        let Some(&end) = self.ends.get(inst) else { return &[] };
        let start = inst.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.notes[start as usize..end as usize]
    }

    /// The notes of an instruction as a comment without its slashes; empty if there are none.
    pub fn line(&self, inst: usize) -> String {
        self.notes(inst).iter().map(Note::to_string).collect::<Vec<_>>().join("; ")
    }
}

/// The reason for a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A result, or an operand that is about to be overwritten.
    Register(PReg),
    /// A memory barrier.
    Fence,
    /// The data of earlier reads of memory, before the cache is emptied.
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

/// One reason for a control field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// It waits for scoreboards.
    Waits {
        /// A bit for each.
        scoreboards: u8,
        /// The reasons for the wait.
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
        /// The instruction that produces the result, by index; `None` if it is this one.
        from: Option<usize>,
        /// The mnemonic of the instruction that reads it; `None` for its guard.
        reader: Option<&'static str>,
        /// The register.
        reg: PReg,
    },
    /// Its stall keeps a register from being overwritten too soon.
    Overwrite {
        /// Cycles between the two instructions.
        cycles: u32,
        /// The instruction that reads or writes the register first, by index; `None` if it is this
        /// one.
        from: Option<usize>,
        /// The mnemonic of the instruction that overwrites it.
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
    /// Its stall lets accesses settle before another function runs.
    Settled {
        /// Cycles from the instruction that needs them.
        cycles: u32,
        /// That instruction, by index.
        from: usize,
    },
    /// Its stall keeps later instructions away from an earlier one, whatever their registers.
    Gap {
        /// Cycles from that instruction.
        cycles: u32,
        /// The kind of that instruction.
        ahead: Ahead,
    },
    /// It completes a stall that is too long for one control field.
    Padding,
}

impl Note {
    /// The same note if the function's code begins at another instruction.
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

/// The numbers of the bits that are set, in order.
fn bits(mask: u8) -> impl Iterator<Item = u8> {
    (0..8).filter(move |bit| mask >> bit & 1 != 0)
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
                write!(f, "waits {}", list(bits(*scoreboards).map(|sb| format!("SB{sb}")).collect()))?;
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
            Note::Gap { cycles, ahead } => {
                let name = match ahead {
                    Ahead::Barrier => "BAR",
                    Ahead::BarrierResult | Ahead::UnreadResult => "B2R",
                    Ahead::ClusterErrors => "CGAERRBAR",
                    Ahead::Arrival => "WARPGROUP.ARRIVE",
                    Ahead::Product => "a product",
                };
                write!(f, "{cycles} after {name}")
            }
            Note::Padding => f.write_str("fills up the stall"),
        }
    }
}
