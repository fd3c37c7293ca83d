//! The reason for each control field: the text of `--explain`, in parts.

use ptxc_codegen::explain::Note;
use ptxc_sass::Control;
use serde::Serialize;

/// A reason, with its text.
#[derive(Serialize)]
pub(super) struct Explanation {
    #[serde(flatten)]
    reason: Reason,
    text: String,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Reason {
    Waits {
        scoreboards: Vec<u8>,
        #[serde(rename = "for")]
        awaited: Vec<String>,
    },
    SetsResult {
        scoreboard: u8,
    },
    SetsRead {
        scoreboard: u8,
    },
    Latency {
        cycles: u32,
        from: Option<usize>,
        reader: Option<&'static str>,
        register: String,
    },
    Overwrite {
        cycles: u32,
        from: Option<usize>,
        writer: &'static str,
        register: String,
    },
    Visible {
        cycles: u32,
        scoreboard: u8,
    },
    Settled {
        cycles: u32,
        from: usize,
    },
    Gap {
        cycles: u32,
    },
    Padding,
}

impl Explanation {
    pub(super) fn new(note: &Note) -> Explanation {
        let reason = match note {
            Note::Waits { scoreboards, awaited } => Reason::Waits {
                scoreboards: (0..Control::SCOREBOARDS).filter(|sb| scoreboards >> sb & 1 != 0).collect(),
                awaited: awaited.iter().map(ToString::to_string).collect(),
            },
            &Note::SetsResult(scoreboard) => Reason::SetsResult { scoreboard },
            &Note::SetsRead(scoreboard) => Reason::SetsRead { scoreboard },
            &Note::Latency { cycles, from, reader, reg } => {
                Reason::Latency { cycles, from, reader, register: reg.to_string() }
            }
            &Note::Overwrite { cycles, from, writer, reg } => {
                Reason::Overwrite { cycles, from, writer, register: reg.to_string() }
            }
            &Note::Visible { cycles, scoreboard } => Reason::Visible { cycles, scoreboard },
            &Note::Settled { cycles, from } => Reason::Settled { cycles, from },
            &Note::Gap { cycles, .. } => Reason::Gap { cycles },
            Note::Padding => Reason::Padding,
        };
        Explanation { reason, text: note.to_string() }
    }
}
