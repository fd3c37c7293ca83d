//! Printing diagnostics.

use ptxc_compiler::Located;
use ptxc_compiler::render::{Lines, Position, human, is_unsafe};
use ptxc_ptx::diagnostic::Severity;
use ptxc_syntax::Span;
use serde_json::{Map, Value, json};

use crate::cli::MessageFormat;
use crate::streams::{Outcome, Streams};

/// Prints the findings in a file and a summary line. Returns [`Outcome::Failed`] if one of them is
/// an error.
pub(crate) fn report(
    path: &str,
    text: &str,
    found: &[Located],
    format: MessageFormat,
    streams: &mut Streams<'_>,
) -> Outcome {
    report_with(path, text, found, format, "nothing written", streams)
}

/// As [`report`]; `written` says what the errors leave of the output.
pub(crate) fn report_with(
    path: &str,
    text: &str,
    found: &[Located],
    format: MessageFormat,
    written: &str,
    streams: &mut Streams<'_>,
) -> Outcome {
    let mut errors = found.iter().filter(|located| located.severity == Severity::Error);
    let first = errors.next();
    let printed = print(path, text, found, format, streams);
    let Some(first) = first else { return printed };
    let count = match errors.count() {
        0 => "1 error".to_string(),
        more => format!("{} errors", more + 1),
    };
    let more = format!("`ptxc explain {}` says more", first.code);
    sum(&format!("{count} in {path}; {written}; {more}"), format, streams);
    Outcome::Failed
}

/// Prints the summary line, for people.
pub(crate) fn sum(line: &str, format: MessageFormat, streams: &mut Streams<'_>) {
    if format == MessageFormat::Human {
        // A failure to write messages cannot be reported anywhere.
        let _ = writeln!(streams.err, "{line}");
    }
}

/// Prints the findings in a file. Returns [`Outcome::Failed`] if they cannot be printed.
pub(crate) fn print(
    path: &str,
    text: &str,
    found: &[Located],
    format: MessageFormat,
    streams: &mut Streams<'_>,
) -> Outcome {
    // Most files have no findings, and counting the lines of a large file takes a tenth of the time
    // of parsing it.
    if found.is_empty() {
        return Outcome::Done;
    }
    let lines = Lines::new(text);
    let written = match format {
        MessageFormat::Human => write!(streams.err, "{}", human(path, text, found, streams.err_has_colors())),
        MessageFormat::Json => found.iter().try_for_each(|located| {
            let mut object = place(&lines, located.primary.0, &located.primary.1);
            let file = lines.position(located.primary.0.start).file.unwrap_or(path);
            let severity = match located.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            let others: Vec<Value> =
                located.secondary.iter().map(|(span, label)| place(&lines, *span, label).into()).collect();
            for (name, value) in [
                ("file", json!(file)),
                ("severity", json!(severity)),
                ("code", json!(located.code)),
                ("message", json!(located.message)),
                ("secondary", json!(others)),
                ("notes", json!(located.notes)),
                ("help", json!(located.help)),
            ] {
                object.insert(name.to_string(), value);
            }
            writeln!(streams.err, "{}", json_text(&Value::from(object)))
        }),
    };
    if written.is_err() { Outcome::Failed } else { Outcome::Done }
}

/// JSON with an escape for each character that a terminal would obey.
pub(crate) fn json_text(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(is_unsafe) {
        return text;
    }
    let escaped = |c: char| match is_unsafe(c) {
        true => format!("\\u{:04x}", c as u32),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// A location and its label.
fn place(lines: &Lines<'_>, span: Span, label: &str) -> Map<String, Value> {
    let Position { line, column, .. } = lines.position(span.start);
    let parts = [
        ("line", json!(line)),
        ("column", json!(column)),
        ("start", json!(span.start)),
        ("end", json!(span.end)),
        ("label", json!(label)),
    ];
    parts.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}
