//! The result of a parse: always a tree, and the errors found.

use std::borrow::Cow;

use crate::codes::Code;
use crate::span::{Span, SpanMap};

/// One syntax error, as data; the caller renders it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// The code of the broken rule, see [`codes`](crate::codes).
    pub code: Code,
    /// The offending bytes, counted from the start of the parsed text.
    pub span: Span,
    /// The expectation, and what was found instead.
    pub message: String,
    /// Another place that matters, such as the bracket that is not closed, and the message about
    /// it.
    pub related: Option<(Span, Cow<'static, str>)>,
    /// The broken rule, in the words of [`codes::explain`](crate::codes::explain).
    pub note: Option<Cow<'static, str>>,
    /// How to correct the mistake, if that is clear.
    pub help: Option<Cow<'static, str>>,
}

impl SyntaxError {
    /// The same error in a text with `base` more bytes before this one.
    pub(crate) fn shifted(mut self, base: u32) -> Self {
        self.span = self.span.shifted(base);
        self.related = self.related.map(|(span, message)| (span.shifted(base), message));
        self
    }
}

/// The result of a parse, which never fails: a tree of the parts that were understood, and errors
/// for the rest.
///
/// `S` is [`SpanMap`] for a single item and [`ModuleSpans`](crate::span::ModuleSpans) for a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parsed<T, S = SpanMap> {
    /// The tree. Statements with an error are omitted; everything else is present.
    pub value: T,
    /// The positions of its nodes.
    pub spans: S,
    /// The errors in order of appearance; empty if and only if the whole text was understood.
    pub errors: Vec<SyntaxError>,
    /// The text that was skipped after errors: statements, and the rest of a function's head.
    pub lost: Vec<Span>,
}
