//! The streams of a command, and what it comes to.

use std::io::{Read, Write};

use crate::cli::Color;
use crate::surroundings::Surroundings;

/// The outcome of a command; its number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Done.
    Done = 0,
    /// Errors in the input, or expectations that did not hold.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
}

/// The streams of a command.
pub(crate) struct Streams<'a> {
    pub(crate) stdin: &'a mut dyn Read,
    pub(crate) out: &'a mut dyn Write,
    pub(crate) err: &'a mut dyn Write,
    /// The properties of the streams.
    pub(crate) surroundings: Surroundings,
    /// When output has colours.
    pub(crate) color: Color,
    /// Whether the user sees the progress of long work on `err`.
    pub(crate) shows_progress: bool,
}

impl Streams<'_> {
    /// Whether `out` has colours.
    pub(crate) fn out_has_colors(&self) -> bool {
        self.surroundings.has_colors(self.color, self.surroundings.out_is_terminal)
    }

    /// Whether `err` has colours.
    pub(crate) fn err_has_colors(&self) -> bool {
        self.surroundings.has_colors(self.color, self.surroundings.err_is_terminal)
    }

    /// Reports that the command was used wrongly.
    pub(crate) fn usage(&mut self, message: impl std::fmt::Display) -> Outcome {
        // A failure to write messages cannot be reported anywhere.
        let _ = writeln!(self.err, "error: {message}");
        Outcome::Usage
    }

    /// Reports a failure outside the program.
    pub(crate) fn failed(&mut self, message: impl std::fmt::Display) -> Outcome {
        let _ = writeln!(self.err, "error: {message}");
        Outcome::Failed
    }
}
