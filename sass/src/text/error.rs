//! Errors in a text of SASS, with their places.

use std::fmt;
use std::ops::Range;

/// The kinds of errors. Their numbers are codes of diagnostics, `E0960` and so on, which keep their
/// meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorCode {
    /// A line that is neither instruction, label nor directive, or is in a wrong place.
    Line = 960,
    /// No row of the instruction table has the mnemonic.
    Mnemonic = 961,
    /// The rows of the mnemonic lack the modifiers, or take other operands.
    Form = 962,
    /// A control field that can't be read or that the machine does not take.
    Control = 963,
    /// An instruction without control field.
    NoControl = 964,
    /// A label or function that is not defined, or is defined twice.
    Name = 965,
    /// A directive whose arguments are wrong.
    Directive = 966,
    /// Data of a constant bank or of global memory that can't be read.
    Data = 967,
    /// Two parts of the text contradict each other.
    Contradiction = 968,
    /// The text does not name its architecture.
    NoArch = 969,
}

/// An error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The kind of the error.
    pub code: ErrorCode,
    /// The place, in bytes of the text.
    pub span: Range<usize>,
    /// One sentence.
    pub message: String,
    /// A short message about the place.
    pub label: String,
    /// Related places.
    pub secondary: Vec<(Range<usize>, String)>,
    /// The rule, or the forms that exist.
    pub notes: Vec<String>,
    /// A way to repair it.
    pub help: Option<String>,
}

impl TextError {
    pub(super) fn new(code: ErrorCode, span: Range<usize>, message: impl Into<String>) -> TextError {
        TextError {
            code,
            span,
            message: message.into(),
            label: String::new(),
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    pub(super) fn label(mut self, label: impl Into<String>) -> TextError {
        self.label = label.into();
        self
    }

    pub(super) fn also(mut self, span: Range<usize>, label: impl Into<String>) -> TextError {
        self.secondary.push((span, label.into()));
        self
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> TextError {
        self.notes.push(note.into());
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> TextError {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{:04}", *self as u16)
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: byte {}: {}", self.code, self.span.start, self.message)
    }
}

impl std::error::Error for TextError {}
