//! What a parse returns: always a tree, and the errors met on the way.

use std::borrow::Cow;

use crate::codes::Code;
use crate::span::{Span, SpanMap};

/// One syntax error, as data; rendering is the caller's business.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// Which rule is broken, see [`codes`](crate::codes).
    pub code: Code,
    /// The offending bytes, counted from the start of the text that was given to the parser.
    pub span: Span,
    /// What was expected and what was found.
    pub message: String,
    /// Another place that matters, such as the bracket that is not closed, with what to say of it.
    pub related: Option<(Span, Cow<'static, str>)>,
    /// The rule that is broken, as [`codes::explain`](crate::codes::explain) words it.
    pub note: Option<Cow<'static, str>>,
    /// How to put it right, where that is clear.
    pub help: Option<Cow<'static, str>>,
}

impl SyntaxError {
    /// The same error in a text that has `base` more bytes in front.
    pub(crate) fn shifted(mut self, base: u32) -> Self {
        self.span = self.span.shifted(base);
        self.related = self.related.map(|(span, message)| (span.shifted(base), message));
        self
    }
}

/// The result of a parse, which never fails: what could be understood, and what could not.
///
/// `S` is [`SpanMap`] for a single item and [`ModuleSpans`](crate::span::ModuleSpans) for a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parsed<T, S = SpanMap> {
    /// The tree. Statements with an error are left out; everything else is there.
    pub value: T,
    /// Where its nodes stand.
    pub spans: S,
    /// The errors in order of appearance; empty if and only if the whole text was understood.
    pub errors: Vec<SyntaxError>,
}
