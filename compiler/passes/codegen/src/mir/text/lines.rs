//! The lines of a text that is read, and the errors found in them.

use std::ops::Range;

use ptxc_ir::text::ParseError;

/// The lines of a text without comments and empty lines, and the errors in them.
pub(crate) struct Lines<'t> {
    text: &'t str,
    /// Where the next line starts, or the rest of the text.
    pub(super) at: usize,
    pub errors: Vec<ParseError>,
}

/// A line and its place in the text.
#[derive(Clone, Copy)]
pub(crate) struct Line<'t> {
    pub text: &'t str,
    start: usize,
}

impl Line<'_> {
    /// Its bytes in the text.
    pub(super) fn span(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

impl<'t> Lines<'t> {
    pub fn new(text: &'t str) -> Lines<'t> {
        Lines { text, at: 0, errors: Vec::new() }
    }

    /// The next line that is neither empty nor a comment, without consuming it.
    pub fn peek(&mut self) -> Option<Line<'t>> {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let whole = rest.split('\n').next().unwrap_or(rest);
            let code = without_comment(whole);
            let line = code.trim();
            if !line.is_empty() {
                let start = self.at + (code.len() - code.trim_start().len());
                return Some(Line { text: line, start });
            }
            self.at += whole.len() + 1;
        }
        None
    }

    pub fn next(&mut self) -> Option<Line<'t>> {
        let line = self.peek()?;
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
        Some(line)
    }

    /// The end of the text.
    pub fn end(&self) -> Line<'static> {
        Line { text: "", start: self.text.len() }
    }

    pub fn error(&mut self, line: Line<'_>, message: impl Into<String>) {
        self.errors.push(ParseError { span: line.span(), message: message.into() });
    }

    /// Skips lines up to the head of the next function.
    pub fn skip_function(&mut self) {
        while let Some(line) = self.next() {
            if line.text == "}" {
                return;
            }
        }
    }
}

/// A line up to `//`, unless that is part of a name in quotes.
fn without_comment(line: &str) -> &str {
    let mut is_quoted = false;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match c {
            '"' if before != '\\' => is_quoted = !is_quoted,
            '/' if before == '/' && !is_quoted => return &line[..at - 1],
            _ => {}
        }
        before = c;
    }
    line
}
