//! Diagnostics with their place in a file, human-readable and machine-readable.

use codespan_reporting::diagnostic as codespan;
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term;
use codespan_reporting::term::termcolor::Ansi;
use ptxc_ptx::diagnostic::Severity;
use ptxc_syntax::Span;

/// A finding in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Located {
    /// The code, such as `E0107`.
    pub code: String,
    /// The severity.
    pub severity: Severity,
    /// One sentence.
    pub message: String,
    /// The place, in bytes of the file, with its label.
    pub primary: (Span, String),
    /// Other relevant places, with their labels.
    pub secondary: Vec<(Span, String)>,
    /// The rule.
    pub notes: Vec<String>,
    /// The fix.
    pub help: Option<String>,
}

/// A line with more bytes than this is not shown: it is unreadable, and a thousand findings in a
/// line of a megabyte would print a gigabyte.
const LONG_LINE: usize = 2000;

/// Renders the diagnostics of one file as human-readable text, in the order given; `colored` is for
/// terminals with colours.
pub fn human(path: &str, text: &str, diagnostics: &[Located], colored: bool) -> String {
    let file = SimpleFile::new(path, text);
    let config = term::Config::default();
    let mut out = String::new();
    let lines = Lines::new(text);
    for located in diagnostics {
        if lines.longest_of(located) > LONG_LINE {
            out.push_str(&lines.without_snippet(path, located));
            continue;
        }
        let clip = |span: Span| {
            let mut start = (span.start as usize).min(text.len());
            let mut end = (span.end as usize).clamp(start, text.len());
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            while !text.is_char_boundary(end) {
                end += 1;
            }
            start..end
        };
        let mut labels =
            vec![codespan::Label::primary((), clip(located.primary.0)).with_message(&located.primary.1)];
        for (span, message) in &located.secondary {
            labels.push(codespan::Label::secondary((), clip(*span)).with_message(message));
        }
        let mut notes = located.notes.clone();
        notes.extend(located.help.iter().map(|help| format!("help: {help}")));
        let diagnostic = match located.severity {
            Severity::Error => codespan::Diagnostic::error(),
            Severity::Warning => codespan::Diagnostic::warning(),
            Severity::Note => codespan::Diagnostic::note(),
        }
        .with_code(&located.code)
        .with_message(&located.message)
        .with_labels(labels)
        .with_notes(notes);
        // Spans are clipped to the text, so the only remaining error is one of writing to a string.
        let rendered = if colored {
            let mut bytes = Ansi::new(Vec::new());
            term::emit_to_write_style(&mut bytes, &config, &file, &diagnostic)
                .map(|()| String::from_utf8_lossy(&bytes.into_inner()).into_owned())
        } else {
            term::emit_into_string(&config, &file, &diagnostic)
        };
        match rendered {
            Ok(text) => out.push_str(&text),
            Err(error) => out.push_str(&format!("{}: {} ({error})\n", located.code, located.message)),
        }
    }
    out
}

/// The starts of the lines of a text.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Finds the lines of a text.
    pub fn new(text: &'a str) -> Lines<'a> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text, starts }
    }

    /// The line and column of a byte offset. Both count from 1, and columns count characters.
    pub fn line_column(&self, offset: u32) -> (usize, usize) {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts[line - 1];
        (line, self.text[start..offset].chars().count() + 1)
    }

    /// The length in bytes of the longest line that holds the start or the end of a place of a
    /// finding.
    fn longest_of(&self, located: &Located) -> usize {
        let spans = std::iter::once(located.primary.0).chain(located.secondary.iter().map(|(span, _)| *span));
        let places = spans.flat_map(|span| [span.start, span.end]);
        let length = |offset: u32| {
            let line = self.starts.partition_point(|&start| start <= offset as usize);
            self.starts.get(line).copied().unwrap_or(self.text.len()) - self.starts[line - 1]
        };
        places.map(length).max().unwrap_or(0)
    }

    /// A human-readable finding without the text that it is about.
    fn without_snippet(&self, path: &str, located: &Located) -> String {
        let severity = match located.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let (line, column) = self.line_column(located.primary.0.start);
        let mut text =
            format!("{severity}[{}]: {}\n  ┌─ {path}:{line}:{column}\n", located.code, located.message);
        let label = Some(&located.primary.1).filter(|label| !label.is_empty()).cloned();
        let help = located.help.iter().map(|help| format!("help: {help}"));
        for note in label.into_iter().chain(located.notes.iter().cloned()).chain(help) {
            text.push_str(&format!("  = {note}\n"));
        }
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_not_shown() {
        let text = format!("ab\n{}\n", "x".repeat(10_000));
        let found = Located {
            code: "E0030".into(),
            severity: Severity::Error,
            message: "expected a statement".into(),
            primary: (Span::new(5003, 5004), "this one".into()),
            secondary: Vec::new(),
            notes: vec!["the rule".into()],
            help: Some("the repair".into()),
        };
        assert_eq!(
            human("k.ptx", &text, &[found], false),
            "error[E0030]: expected a statement\n  ┌─ k.ptx:2:5001\n  = this one\n  = the rule\n  = help: the repair\n\n"
        );
    }

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let lines = Lines::new("ab\né x\n");
        let places = [0, 1, 2, 3, 4, 5, 7, 99].map(|offset| lines.line_column(offset));
        assert_eq!(places, [(1, 1), (1, 2), (1, 3), (2, 1), (2, 1), (2, 2), (2, 4), (3, 1)]);
    }
}
