//! Diagnostics with their place in a file, human-readable and machine-readable.

mod lines;
mod plain;

use codespan_reporting::diagnostic as codespan;
use codespan_reporting::files;
use codespan_reporting::term;
use codespan_reporting::term::termcolor::Ansi;
use ptxc_ptx::diagnostic::Severity;
use ptxc_syntax::Span;

pub use lines::{Lines, Position};
use plain::Source;
pub use plain::{is_unsafe, plain, plain_line};

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
/// terminals with colours. Characters that a terminal would obey are replaced.
pub fn human(path: &str, text: &str, diagnostics: &[Located], colored: bool) -> String {
    let source = Source::new(text);
    let (lines, shown_lines) = (Lines::new(text), Lines::new(&source.text));
    let snippets = Snippets { path, source: &source.text, lines: &shown_lines };
    let config = term::Config::default();
    let mut out = String::new();
    for located in diagnostics {
        if !can_show(&lines, located) {
            out.push_str(&without_snippet(path, &lines, located));
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
            let place = source.place(start..end);
            (shown_lines.file(place.start), place)
        };
        let (file, place) = clip(located.primary.0);
        let mut labels = vec![codespan::Label::primary(file, place).with_message(plain(&located.primary.1))];
        for (span, message) in &located.secondary {
            let (file, place) = clip(*span);
            labels.push(codespan::Label::secondary(file, place).with_message(plain(message)));
        }
        let help = located.help.iter().map(|help| format!("help: {help}"));
        let notes = located.notes.iter().cloned().chain(help);
        let diagnostic = match located.severity {
            Severity::Error => codespan::Diagnostic::error(),
            Severity::Warning => codespan::Diagnostic::warning(),
            Severity::Note => codespan::Diagnostic::note(),
        }
        .with_code(&located.code)
        .with_message(plain(&located.message))
        .with_labels(labels)
        .with_notes(notes.map(|note| plain(&note).into_owned()).collect());
        // Spans are clipped to the text, so the only remaining error is one of writing to a string.
        let rendered = if colored {
            let mut bytes = Ansi::new(Vec::new());
            term::emit_to_write_style(&mut bytes, &config, &snippets, &diagnostic)
                .map(|()| String::from_utf8_lossy(&bytes.into_inner()).into_owned())
        } else {
            term::emit_into_string(&config, &snippets, &diagnostic)
        };
        match rendered {
            Ok(text) => out.push_str(&text),
            Err(error) => out.push_str(&format!("{}: {} ({error})\n", located.code, plain(&located.message))),
        }
    }
    out
}

/// A text as codespan reads it: its lines have the numbers and files of line markers.
struct Snippets<'a> {
    path: &'a str,
    source: &'a str,
    lines: &'a Lines<'a>,
}

impl<'a> codespan_reporting::files::Files<'a> for Snippets<'a> {
    /// The file that a line marker names; `None` is the file that was read.
    type FileId = Option<&'a str>;
    type Name = String;
    type Source = &'a str;

    fn name(&'a self, file: Option<&'a str>) -> Result<String, files::Error> {
        Ok(plain_line(file.unwrap_or(self.path)).into_owned())
    }

    fn source(&'a self, _: Option<&'a str>) -> Result<&'a str, files::Error> {
        Ok(self.source)
    }

    fn line_index(&'a self, _: Option<&'a str>, byte_index: usize) -> Result<usize, files::Error> {
        Ok(self.lines.index(byte_index))
    }

    fn line_number(&'a self, _: Option<&'a str>, line_index: usize) -> Result<usize, files::Error> {
        Ok(self.lines.number(line_index))
    }

    fn line_range(
        &'a self,
        _: Option<&'a str>,
        line_index: usize,
    ) -> Result<std::ops::Range<usize>, files::Error> {
        match line_index < self.lines.count() {
            true => Ok(self.lines.range(line_index)),
            false => Err(files::Error::LineTooLarge { given: line_index, max: self.lines.count() - 1 }),
        }
    }
}

/// Whether the lines of a finding can be shown. A line marker may give a line the number 0, which
/// codespan cannot print.
fn can_show(lines: &Lines<'_>, located: &Located) -> bool {
    let spans = std::iter::once(located.primary.0).chain(located.secondary.iter().map(|(span, _)| *span));
    let mut places = spans.flat_map(|span| [span.start, span.end]);
    places.all(|offset| {
        let index = lines.index(offset as usize);
        lines.range(index).len() <= LONG_LINE && lines.number(index) != 0
    })
}

/// A human-readable finding without the text that it is about.
fn without_snippet(path: &str, lines: &Lines<'_>, located: &Located) -> String {
    let severity = match located.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let Position { file, line, column } = lines.position(located.primary.0.start);
    let path = plain_line(file.unwrap_or(path));
    let message = plain(&located.message);
    let mut text = format!("{severity}[{}]: {message}\n  ┌─ {path}:{line}:{column}\n", located.code);
    let label = Some(&located.primary.1).filter(|label| !label.is_empty()).cloned();
    let help = located.help.iter().map(|help| format!("help: {help}"));
    for note in label.into_iter().chain(located.notes.iter().cloned()).chain(help) {
        text.push_str(&format!("  = {}\n", plain(&note)));
    }
    text + "\n"
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
}
