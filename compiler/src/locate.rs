//! Findings of an item get their place in the file.

use ptxc_ptx::diagnostic::{Diagnostic, Severity};
use ptxc_syntax::{NodeId, Span, SpanMap, SyntaxError};

use crate::render::Located;

/// The most findings of a file that are listed.
pub(crate) const MOST_FINDINGS: usize = 1000;

/// Gives a syntax error of an item its place in the file.
pub(crate) fn syntax_error(error: &SyntaxError, offset: u32) -> Located {
    let related = error.related.iter().map(|(span, text)| (span.shifted(offset), text.to_string()));
    Located {
        code: error.code.to_string(),
        severity: Severity::Error,
        message: error.message.to_string(),
        primary: (error.span.shifted(offset), String::new()),
        secondary: related.collect(),
        notes: error.note.iter().map(ToString::to_string).collect(),
        help: error.help.as_ref().map(ToString::to_string),
    }
}

/// Gives a diagnostic of an item with these spans, which begins at an offset, its place in the file.
pub(crate) fn locate_in(spans: &SpanMap, offset: u32, diagnostic: &Diagnostic) -> Located {
    let span = |node: NodeId| -> Span { spans.get(node).shifted(offset) };
    Located {
        code: diagnostic.code.to_string(),
        severity: diagnostic.severity,
        message: diagnostic.message.clone(),
        primary: (span(diagnostic.primary.node), diagnostic.primary.message.clone()),
        secondary: diagnostic.secondary.iter().map(|l| (span(l.node), l.message.clone())).collect(),
        notes: diagnostic.notes.clone(),
        help: diagnostic.help.clone(),
    }
}
