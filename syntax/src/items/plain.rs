//! Finds the end of a body that is in order, without reading its tokens.
//!
//! In: the text and the place of the `{`. Out: the place behind the `}` that closes it; `None` where anything is unusual, and
//! then only the [tokens](super::Splitter::body) tell. Braces, strings and comments are searched for several bytes at a
//! time, so that an edit in a large file costs little more than reading it once.
//!
//! What it says is what the tokens say, for every text: where one of their rules for damaged bodies could apply, it
//! gives up. A property compares both.

use memchr::{memchr, memchr3, memmem};

use crate::lexer::is_ident_byte;

/// What ends an unclosed body, or hides the rest of a line.
const STRANGERS: [&[u8]; 3] = [b".entry", b".func", b"@@DWARF"];

/// The end of the body whose `{` stands at `start`. `slash` is the first slash in the text behind some place before `start`, or
/// 0; it is kept from body to body, for in a text without comments each search for one goes to the end of the file.
pub(super) fn end_of_body(text: &[u8], start: usize, slash: &mut usize) -> Option<usize> {
    let mut scan = Scan { text, at: start + 1, brace: 0, slash: *slash, gap: Gap::default() };
    let end = scan.closing();
    *slash = scan.slash;
    let end = end?;
    let body = &text[start..end];
    STRANGERS.iter().all(|stranger| memmem::find(body, stranger).is_none()).then_some(end)
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// The next brace or quote, and the next slash, if they lie behind `at`.
    brace: usize,
    slash: usize,
    gap: Gap,
}

/// Comments with nothing but spaces between them.
#[derive(Clone, Copy, Default)]
struct Gap {
    start: usize,
    end: usize,
}

impl Scan<'_> {
    /// The place behind the brace that closes the body.
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
            let found = memchr3(b'{', b'}', b'"', &self.text[self.at..]);
            self.brace = found.map_or(end, |found| self.at + found);
        }
        if self.slash < self.at {
            let found = memchr(b'/', &self.text[self.at..]);
            self.slash = found.map_or(end, |found| self.at + found);
        }
        let first = self.brace.min(self.slash);
        (first < end).then_some(first)
    }

    /// Steps over the comment that may begin with the slash at `start`.
    fn comment(&mut self, start: usize) -> Option<()> {
        let Some(end) = comment_end(self.text, start)? else { return Some(()) };
        let joins = self.gap.end > 0 && self.text[self.gap.end..start].iter().all(u8::is_ascii_whitespace);
        self.gap = Gap { start: if joins { self.gap.start } else { start }, end };
        self.at = end;
        Some(())
    }

    /// Steps over the string whose first quote has been read.
    fn string(&mut self) -> Option<()> {
        loop {
            let rest = &self.text[self.at..];
            let found = self.at + memchr3(b'"', b'\\', b'\n', rest)?;
            self.at = found + 1;
            match self.text[found] {
                b'"' => return Some(()),
                // What is escaped is no line break, and more than a byte only where it is no quote either.
                b'\\' if *self.text.get(self.at)? != b'\n' => self.at += 1,
                _ => return None,
            }
        }
    }

    /// Whether the brace at `place` stands where an operand or an initialiser does.
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
                // A number is no operand that a vector could stand behind.
                (!self.text[start].is_ascii_digit()).then_some(true)
            }
            _ => Some(false),
        }
    }

    /// Steps over a vector whose `{` has been read.
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

    /// Whether the next token from `at` on is a comma.
    fn is_followed_by_comma(&self, mut at: usize) -> Option<bool> {
        loop {
            match self.text.get(at) {
                Some(&byte) if is_space(byte) => at += 1,
                Some(b'/') => match comment_end(self.text, at)? {
                    Some(end) => at = end,
                    None => return Some(false),
                },
                byte => return Some(byte == Some(&b',')),
            }
        }
    }
}

/// The end of the comment at `start`, or that there is none; `None` if it does not end.
fn comment_end(text: &[u8], start: usize) -> Option<Option<usize>> {
    let rest = &text[start + 1..];
    match rest.first() {
        Some(b'/') => Some(Some(memchr(b'\n', rest).map_or(text.len(), |found| start + 1 + found))),
        Some(b'*') => memmem::find(&rest[1..], b"*/").map(|found| Some(start + found + 4)),
        _ => Some(None),
    }
}

/// Whether the lexer steps over a byte.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c)
}
