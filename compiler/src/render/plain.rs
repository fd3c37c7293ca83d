//! Text that is safe to print on a terminal.
//!
//! The input decides the names and lines that messages contain. A terminal obeys escape sequences,
//! which can change its title, its clipboard or text that it already shows. Characters that hide or
//! reorder text can make a message show another name than it has.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

/// Whether a terminal may do anything else than show this character: control characters, and
/// characters that reorder or hide text.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Text with an escape such as `\u{1b}` for each unsafe character; line breaks and tabs stay.
///
/// ```
/// # use ptxc_compiler::render::plain;
/// assert_eq!(plain("no kernel `\u{1b}[2J`\n"), "no kernel `\\u{1b}[2J`\n");
/// ```
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_unsafe(c) && !matches!(c, '\n' | '\t'))
}

/// The same for text that stays in one line, such as a file name: line breaks and tabs too are
/// escaped.
pub fn plain_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_escaped(c) {
            // Writing to a string does not fail.
            true => drop(write!(safe, "{}", c.escape_unicode())),
            false => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Source text with one visible character for each unsafe one, so that columns stay the same.
pub(super) struct Source<'a> {
    pub(super) text: Cow<'a, str>,
    /// The places after each replaced character in the original text, with the number of bytes that
    /// the text has grown by up to there.
    growth: Vec<(usize, usize)>,
}

impl Source<'_> {
    pub(super) fn new(text: &str) -> Source<'_> {
        let is_replaced = |(at, c): (usize, char)| {
            let ends_line = c == '\n' || c == '\r' && text[at + 1..].starts_with('\n');
            is_unsafe(c) && c != '\t' && !ends_line
        };
        let mut places = text.char_indices().filter(|&place| is_replaced(place)).peekable();
        if places.peek().is_none() {
            return Source { text: Cow::Borrowed(text), growth: Vec::new() };
        }
        let (mut safe, mut growth, mut end) = (String::with_capacity(text.len() + 8), Vec::new(), 0);
        for (at, c) in places {
            safe.push_str(&text[end..at]);
            safe.push(picture(c));
            end = at + c.len_utf8();
            growth.push((end, safe.len() - end));
        }
        safe.push_str(&text[end..]);
        Source { text: Cow::Owned(safe), growth }
    }

    /// The place of a range of the original text.
    pub(super) fn place(&self, range: Range<usize>) -> Range<usize> {
        let moved = |at: usize| {
            let before = self.growth.partition_point(|&(place, _)| place <= at);
            at + before.checked_sub(1).map_or(0, |last| self.growth[last].1)
        };
        moved(range.start)..moved(range.end)
    }
}

/// A visible character for one that is not; never shorter than it.
fn picture(c: char) -> char {
    match c as u32 {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_text() {
        let original = "a\x1bb\u{9b}c\u{202e}d\r\n\te";
        let source = Source::new(original);
        assert_eq!(source.text, "a␛b\u{fffd}c\u{fffd}d\r\n\te");
        for word in ["a", "b", "c", "d", "e"] {
            let at = original.find(word).unwrap_or_default();
            assert_eq!(&source.text[source.place(at..at + 1)], word);
        }
    }

    #[test]
    fn nothing_unsafe_remains() {
        let all: String = (0..0x3000).filter_map(char::from_u32).collect();
        assert!(!plain(&all).contains(|c| is_unsafe(c) && c != '\n' && c != '\t'));
        assert!(!plain_line(&all).contains(is_unsafe));
        assert!(matches!(plain("a\n\tb é"), Cow::Borrowed(_)));
    }
}
