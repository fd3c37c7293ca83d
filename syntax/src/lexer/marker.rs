//! Line markers: `# 12 "kernel.cu"` and `#line 12 "kernel.cu"`, which preprocessors leave.
//!
//! A marker occupies the rest of its line. It says that the next line is line 12 of `kernel.cu`.
//! ptxas accepts a marker wherever it accepts a comment, and names that place in its messages. The
//! file name is required, and numbers (the flags of a preprocessor) may follow it.

use super::{Lexer, TokenKind};
use crate::search;
use crate::span::Span;

/// A line marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMarker {
    /// Its place, without the line break after it.
    pub span: Span,
    /// The number of the line after it.
    pub line: u32,
    /// The name of the file.
    pub file: String,
}

/// The line markers of a text, in order. Linear, and faster than reading tokens for a text without
/// any `#`.
///
/// ```
/// let markers = ptxc_syntax::line_markers("# 7 \"k.cu\" 1\nadd.s32 %r1, %r2, 5;\n");
/// assert_eq!((markers[0].line, &*markers[0].file), (7, "k.cu"));
/// ```
pub fn line_markers(text: &str) -> Vec<LineMarker> {
    let mut list = Vec::new();
    if search::byte(b'#', text.as_bytes()).is_none() {
        return list;
    }
    // Markers inside comments and strings do not count, so the tokens are needed.
    let mut lexer = Lexer::new(text);
    loop {
        let start = lexer.position() as usize;
        let token = lexer.next();
        // A gap of spaces, comments and markers precedes each token.
        let gap = &text[start..token.span.start as usize];
        if gap.contains('#') {
            in_gap(gap, start, &mut list);
        }
        if token.kind == TokenKind::End {
            return list;
        }
    }
}

/// The markers in a gap between two tokens that begins at `start`.
fn in_gap(gap: &str, start: usize, list: &mut Vec<LineMarker>) {
    let bytes = gap.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest[0] {
            b'/' if rest.get(1) == Some(&b'*') => {
                search::word(b"*/", &rest[2..]).map_or(rest.len(), |length| length + 4)
            }
            b'/' => search::byte(b'\n', rest).unwrap_or(rest.len()),
            b'#' => {
                let Some(found) = parse(rest) else { return };
                let place = start + at;
                list.push(LineMarker {
                    span: Span::new(place as u32, (place + found.length) as u32),
                    line: found.line,
                    file: String::from_utf8_lossy(found.file).into_owned(),
                });
                found.length
            }
            _ => 1,
        };
    }
}

/// The parts of a marker.
struct Parts<'a> {
    length: usize,
    line: u32,
    file: &'a [u8],
}

/// The length of the marker at the start of the bytes, if there is one.
pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
    parse(bytes).map(|parts| parts.length)
}

fn parse(bytes: &[u8]) -> Option<Parts<'_>> {
    let length = search::byte(b'\n', bytes).unwrap_or(bytes.len());
    let rest = spaces(bytes[..length].strip_prefix(b"#")?);
    let rest = match rest.strip_prefix(b"line") {
        Some(after) if after.first().is_some_and(|byte| is_space(*byte)) => spaces(after),
        Some(_) => return None,
        None => rest,
    };
    let (digits, rest) = digits(rest)?;
    // A number that does not fit names no real line; any line will do.
    let line =
        digits.iter().fold(0u32, |sum, digit| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
    let rest = spaces(rest).strip_prefix(b"\"")?;
    let quote = search::byte(b'"', rest)?;
    let (file, mut rest) = (&rest[..quote], spaces(&rest[quote + 1..]));
    while !rest.is_empty() {
        rest = spaces(self::digits(rest)?.1);
    }
    Some(Parts { length, line, file })
}

/// The digits at the start of some bytes, and the rest.
fn digits(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then(|| bytes.split_at(count))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn spaces(bytes: &[u8]) -> &[u8] {
    let count = bytes.iter().take_while(|byte| is_space(**byte)).count();
    &bytes[count..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(u32, String)> {
        line_markers(text).into_iter().map(|marker| (marker.line, marker.file)).collect()
    }

    #[test]
    fn markers_of_every_spelling() {
        for text in ["# 7 \"f\"", "#7 \"f\"", "#\tline \t7 \"f\"\r", "#line 7 \"f\" 1 3", "ret; # 7 \"f\"\n"]
        {
            assert_eq!(found(text), [(7, "f".to_string())], "{text}");
        }
        assert_eq!(found("# 99999999999 \"\""), [(u32::MAX, String::new())]);
        assert_eq!(found("/* a */ # 1 \"a\"\n// b\n# 2 \"b/*\"\nadd"), [(1, "a".into()), (2, "b/*".into())]);
    }

    #[test]
    fn other_lines_with_a_hash_are_no_markers() {
        for text in [
            "#7",
            "#line 7",
            "#line7 \"f\"",
            "# 7 f",
            "# 7 \"f",
            "# 7 \"f\" x",
            "#define N 7",
            "#",
            "// # 7 \"f\"",
            "/* # 7 \"f\"\n*/",
            "\"# 7 \"",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
