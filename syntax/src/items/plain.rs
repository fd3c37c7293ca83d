//! Finds the end of a body without reading its tokens, if the body is plain.
//!
//! In: the text and the place of the `{`. Out: the place after the `}` that closes it, or `None` if
//! anything is unusual; the caller must then read the [tokens](super::Splitter::body). The search
//! for braces, strings and comments reads several bytes at a time, so that an edit in a large file
//! costs little more than reading the file once.
//!
//! For every text, a result agrees with the tokens: the search gives up wherever a rule of theirs
//! for damaged bodies could apply. A property test compares both.

use crate::lexer::is_ident_byte;
use crate::search;

/// Words that end an unclosed body.
const FUNCTIONS: [&[u8]; 2] = [b".entry", b".func"];

/// What the searches in earlier bodies have found. Each place is the first of its kind after some
/// place in the text that the bodies still to come are after; 0 is unknown. Without this, the search
/// for a slash in a text without comments would run to the end of the file for each body.
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    slash: usize,
    functions: [usize; 2],
}

impl Found {
    /// The first word after `start` that ends an unclosed body, or the end of the text.
    fn next_function(&mut self, text: &[u8], start: usize) -> usize {
        for (place, word) in self.functions.iter_mut().zip(FUNCTIONS) {
            if *place <= start {
                *place = search::word(word, &text[start..]).map_or(text.len(), |found| start + found);
            }
        }
        self.functions[0].min(self.functions[1])
    }
}

/// The end of the body whose `{` is at `start`.
pub(super) fn end_of_body(text: &[u8], start: usize, found: &mut Found) -> Option<usize> {
    // The next body begins after this place, so no byte is searched for two bodies.
    let limit = found.next_function(text, start);
    let mut scan =
        Scan { text: &text[..limit], whole: text, at: start + 1, brace: 0, found, gap: Gap::default() };
    let end = scan.closing()?;
    let body = &text[start..end];
    // They may hide the rest of a line.
    (search::word(b"@@DWARF", body).is_none() && search::byte(b'#', body).is_none()).then_some(end)
}

struct Scan<'a> {
    /// The text up to the next function.
    text: &'a [u8],
    whole: &'a [u8],
    at: usize,
    /// The next brace or quote, if it is after `at`.
    brace: usize,
    found: &'a mut Found,
    gap: Gap,
}

/// Comments with only spaces between them.
#[derive(Clone, Copy, Default)]
struct Gap {
    start: usize,
    end: usize,
}

impl Scan<'_> {
    /// The place after the brace that closes the body.
    fn closing(&mut self) -> Option<usize> {
        let mut depth = 1u32;
        loop {
            let found = self.next()?;
            self.at = found + 1;
            match self.text[found] {
                b'/' => self.comment(found)?,
                b'"' => self.string()?,
                b'{' if self.opens_vector(found)? => self.vector()?,
                b'{' => depth += 1,
                _ => {
                    if self.is_followed_by_comma(found + 1)? {
                        return None;
                    }
                    depth -= 1;
                    if depth == 0 {
                        return Some(found + 1);
                    }
                }
            }
        }
    }

    /// The next brace, quote or slash.
    fn next(&mut self) -> Option<usize> {
        let end = self.text.len();
        if self.brace < self.at {
            let found = search::any_of(*b"{}\"", &self.text[self.at..]);
            self.brace = found.map_or(end, |found| self.at + found);
        }
        if self.found.slash < self.at {
            let found = search::byte(b'/', &self.whole[self.at..]);
            self.found.slash = found.map_or(self.whole.len(), |found| self.at + found);
        }
        let first = self.brace.min(self.found.slash);
        (first < end).then_some(first)
    }

    /// Skips the comment, if one begins with the slash at `start`.
    fn comment(&mut self, start: usize) -> Option<()> {
        let Some(end) = comment_end(self.text, start)? else { return Some(()) };
        let joins = self.gap.end > 0 && self.text[self.gap.end..start].iter().all(u8::is_ascii_whitespace);
        self.gap = Gap { start: if joins { self.gap.start } else { start }, end };
        self.at = end;
        Some(())
    }

    /// Skips the rest of the string whose first quote has been read.
    fn string(&mut self) -> Option<()> {
        loop {
            let rest = &self.text[self.at..];
            let found = self.at + search::any_of(*b"\"\\\n", rest)?;
            self.at = found + 1;
            match self.text[found] {
                b'"' => return Some(()),
                // An escaped character is not a line break. If it has several bytes, none of them
                // is a quote.
                b'\\' if *self.text.get(self.at)? != b'\n' => self.at += 1,
                _ => return None,
            }
        }
    }

    /// Whether the brace at `place` opens an operand or an initialiser.
    fn opens_vector(&self, place: usize) -> Option<bool> {
        let last = |end: usize| self.text[..end].iter().rposition(|byte| !is_space(*byte));
        let mut before = last(place)?;
        if self.gap.end > 0 && before < self.gap.end {
            before = last(self.gap.start)?;
        }
        match self.text[before] {
            b',' | b'[' | b'(' => Some(true),
            b'=' => match self.text[before.checked_sub(1)?] {
                b'=' | b'<' | b'>' | b'!' => None,
                _ => Some(true),
            },
            byte if is_ident_byte(byte) => {
                let start = self.text[..before].iter().rposition(|&byte| !is_ident_byte(byte))? + 1;
                // A vector cannot follow a number.
                (!self.text[start].is_ascii_digit()).then_some(true)
            }
            _ => Some(false),
        }
    }

    /// Skips the rest of a vector whose `{` has been read.
    fn vector(&mut self) -> Option<()> {
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'}' => return Some(()),
                b'{' | b';' | b'"' | b'/' => return None,
                _ => {}
            }
        }
    }

    /// Whether the next token from `at` on is a comma. A comment before it may name a function.
    fn is_followed_by_comma(&self, mut at: usize) -> Option<bool> {
        loop {
            match self.whole.get(at) {
                Some(&byte) if is_space(byte) => at += 1,
                Some(b'/') => match comment_end(self.whole, at)? {
                    Some(end) => at = end,
                    None => return Some(false),
                },
                // Perhaps a line marker, with a comma after it.
                Some(b'#') => return None,
                byte => return Some(byte == Some(&b',')),
            }
        }
    }
}

/// The end of the comment at `start`; `Some(None)` if no comment begins there, `None` if the
/// comment does not end.
fn comment_end(text: &[u8], start: usize) -> Option<Option<usize>> {
    let rest = &text[start + 1..];
    match rest.first() {
        Some(b'/') => Some(Some(search::byte(b'\n', rest).map_or(text.len(), |found| start + 1 + found))),
        Some(b'*') => search::word(b"*/", &rest[1..]).map(|found| Some(start + found + 4)),
        _ => Some(None),
    }
}

/// Whether the lexer skips a byte.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c)
}
