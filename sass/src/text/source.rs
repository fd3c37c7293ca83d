//! A text without its comments, line by line.
//!
//! In: any text. Out: lines with blanks instead of comments, so that byte offsets stay those of the
//! text. Two parts of disassemblers' comments are kept: the offset of an instruction (`/*0040*/`
//! before it) and its encoding (`/* 0x0000000407077c24 */`, 64 bits per comment, the low half
//! first). Comments are `//` to the end of the line and `/*` to `*/`, possibly over several lines;
//! neither begins between double quotes. Linear in the text.

use std::ops::Range;

use smallvec::SmallVec;

/// A comment.
struct Comment {
    /// The bytes of the text that it takes, delimiters included.
    span: Range<usize>,
    /// Whether it is closed.
    closed: bool,
}

/// A text with its comments blanked.
pub struct Source<'a> {
    text: &'a str,
    blank: String,
    comments: Vec<Comment>,
}

/// A line of it.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// The text outside of comments, without blanks around it.
    pub code: &'a str,
    /// The start of `code` in the text, in bytes.
    pub start: usize,
    /// The number in a comment such as `/*0040*/`, if there is one.
    pub offset: Option<u32>,
    /// The 64-bit words in comments such as `/* 0x000fe20000000800 */`.
    pub words: SmallVec<[u64; 2]>,
}

impl Line<'_> {
    /// The place of the code in the text.
    pub fn span(&self) -> Range<usize> {
        self.start..self.start + self.code.len()
    }
}

impl<'a> Source<'a> {
    /// Finds the comments.
    pub fn new(text: &'a str) -> Source<'a> {
        let bytes = text.as_bytes();
        let mut comments = Vec::new();
        let mut blank = String::with_capacity(text.len());
        let mut kept = 0;
        let mut quoted = false;
        let mut at = 0;
        while at < bytes.len() {
            let end = match (bytes[at], bytes.get(at + 1)) {
                (b'"', _) => {
                    quoted = !quoted;
                    None
                }
                (b'\n', _) => {
                    quoted = false;
                    None
                }
                (b'/', Some(b'/')) if !quoted => Some((text[at..].find('\n'), 0, true)),
                (b'/', Some(b'*')) if !quoted => {
                    let end = text[at + 2..].find("*/");
                    Some((end, 4, end.is_some()))
                }
                _ => None,
            };
            let Some((length, delimiters, closed)) = end else {
                at += 1;
                continue;
            };
            let end = length.map_or(bytes.len(), |length| at + length + delimiters);
            blank.push_str(&text[kept..at]);
            blank.extend(bytes[at..end].iter().map(|&byte| if byte == b'\n' { '\n' } else { ' ' }));
            comments.push(Comment { span: at..end, closed });
            (kept, at) = (end, end);
        }
        blank.push_str(&text[kept..]);
        Source { text, blank, comments }
    }

    /// The comment that has no end.
    pub fn unclosed(&self) -> Option<Range<usize>> {
        let last = self.comments.last().filter(|comment| !comment.closed)?;
        Some(last.span.start..last.span.start + 2)
    }

    /// The lines that have code, an offset or an encoding.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut comments = self.comments.iter().peekable();
        let mut start = 0;
        self.blank.split_inclusive('\n').filter_map(move |line| {
            let end = start + line.len();
            let code = line.trim();
            let mut found = Line {
                code,
                start: start + (line.len() - line.trim_start().len()),
                offset: None,
                words: SmallVec::new(),
            };
            start = end;
            while let Some(comment) = comments.next_if(|comment| comment.span.start < end) {
                let content = &self.text[comment.span.clone()];
                let content = content.strip_prefix("/*").and_then(|content| content.strip_suffix("*/"));
                let Some(content) = content else { continue };
                let word = content.trim().strip_prefix("0x").filter(|digits| digits.len() == 16);
                if let Some(word) = word.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
                    found.words.push(word);
                } else if content.len() >= 4 && content.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    found.offset = u32::from_str_radix(content, 16).ok();
                }
            }
            (!code.is_empty() || !found.words.is_empty()).then_some(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_blank_and_their_numbers_known() {
        let text =
            "a // b\n  /*0010*/  X; /* 0x0000000000000001 */\n/* 0x0000000000000002 */\n/* x\ny */ z \"//\"";
        let source = Source::new(text);
        let lines: Vec<_> = source.lines().collect();
        let codes: Vec<_> = lines.iter().map(|line| line.code).collect();
        assert_eq!(codes, ["a", "X;", "", "z \"//\""]);
        assert!(lines.iter().all(|line| text[line.span()] == *line.code));
        assert_eq!(
            (lines[1].offset, &lines[1].words[..], &lines[2].words[..]),
            (Some(16), &[1][..], &[2][..])
        );
        assert_eq!(source.unclosed(), None);
        assert_eq!(Source::new("x /* é\n").unclosed(), Some(2..4));
    }
}
