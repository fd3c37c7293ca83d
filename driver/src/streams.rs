//! The streams of a command, and what it comes to.

use std::io::{Read, Write};
use std::path::Path;

use ptxc_compiler::render::plain;

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
    #[cfg(feature = "decoder")]
    pub(crate) fn out_has_colors(&self) -> bool {
        self.surroundings.has_colors(self.color, self.surroundings.out_is_terminal)
    }

    /// Whether `err` has colours.
    pub(crate) fn err_has_colors(&self) -> bool {
        self.surroundings.has_colors(self.color, self.surroundings.err_is_terminal)
    }

    /// Reports that the command was used wrongly.
    pub(crate) fn usage(&mut self, message: impl std::fmt::Display) -> Outcome {
        self.say("error", message);
        Outcome::Usage
    }

    /// Reports a failure outside the program.
    pub(crate) fn failed(&mut self, message: impl std::fmt::Display) -> Outcome {
        self.say("error", message);
        Outcome::Failed
    }

    /// Reports something that is no error.
    pub(crate) fn note(&mut self, message: impl std::fmt::Display) {
        self.say("note", message);
    }

    /// Reports that an output could not be written. The caller of the command reports an error of
    /// standard output, once.
    pub(crate) fn unwritten(&mut self, output: &Path, error: &std::io::Error) -> Outcome {
        match output == Path::new("-") {
            true => Outcome::Done,
            false => self.failed(format!("{}: {error}", output.display())),
        }
    }

    /// The result of writing an output.
    pub(crate) fn written(&mut self, output: &Path, result: std::io::Result<()>) -> Outcome {
        match result {
            Ok(()) => Outcome::Done,
            Err(error) => self.unwritten(output, &error),
        }
    }

    fn say(&mut self, severity: &str, message: impl std::fmt::Display) {
        // A failure to write messages cannot be reported anywhere.
        let _ = writeln!(self.err, "{severity}: {}", plain(&message.to_string()));
    }
}
