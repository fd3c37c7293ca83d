//! Printing diagnostics.

use ptxc_compiler::Located;
use ptxc_compiler::render::{Lines, human};
use ptxc_passes::diagnostic::Severity;
use serde_json::json;

use crate::cli::MessageFormat;
use crate::{Outcome, Streams};

/// Prints the findings in a file and a line that sums them up; [`Outcome::Failed`] if one is an error.
pub(crate) fn report(
    path: &str,
    text: &str,
    found: &[Located],
    format: MessageFormat,
    streams: &mut Streams<'_>,
) -> Outcome {
    let errors = found.iter().filter(|located| located.severity == Severity::Error).count();
    let lines = Lines::new(text);
    let written = match format {
        MessageFormat::Human => {
            let sum = match errors {
                0 => String::new(),
                1 => format!("1 error in {path}; nothing written\n"),
                _ => format!("{errors} errors in {path}; nothing written\n"),
            };
            write!(streams.err, "{}{sum}", human(path, text, found))
        }
        MessageFormat::Json => found.iter().try_for_each(|located| {
            let (line, column) = lines.line_column(located.primary.0.start);
            let severity = if located.severity == Severity::Error { "error" } else { "warning" };
            let object = json!({
                "file": path,
                "line": line,
                "column": column,
                "start": located.primary.0.start,
                "end": located.primary.0.end,
                "severity": severity,
                "code": located.code,
                "message": located.message,
                "label": located.primary.1,
                "notes": located.notes,
                "help": located.help,
            });
            writeln!(streams.err, "{object}")
        }),
    };
    if errors > 0 || written.is_err() { Outcome::Failed } else { Outcome::Done }
}
