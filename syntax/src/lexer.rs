//! Splits text into tokens.
//!
//! A hand-written scanner without lookahead beyond two bytes and without allocation: a token is a
//! kind and a byte range. It never fails; bytes that are not a token become an error kind that the
//! parser reports. Linear in the length of the text, except that [`Lexer::rewind`] lets the parser
//! read some bytes again.
//!
//! `%` directly before a letter or digit is the start of an identifier, never an operator. One
//! ambiguity of PTX needs context and is left to the parser: `.5` is scanned as a modifier.

mod marker;

use crate::search;
use crate::span::Span;

pub use marker::{LineMarker, line_markers};

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenKind {
    /// `foo`, `%r1`, `$L__1`, `_`
    Ident,
    /// `.foo`, `.2d`, `.shared::cta`
    Dotted,
    /// An integer literal, possibly malformed.
    Int,
    /// A decimal float literal.
    Float,
    /// `0f…`
    F32,
    /// `0d…`
    F64,
    /// `"…"`
    String,
    /// `@@DWARF` and the rest of its line.
    Dwarf,
    /// One punctuation character.
    Punct(u8),
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `==`
    EqEq,
    /// `!=`
    Ne,
    /// `&&`
    AndAnd,
    /// `||`
    OrOr,
    /// A character that PTX does not have.
    Unknown,
    /// A string without a closing quote.
    OpenString,
    /// A comment without an end; it extends to the end of the text.
    OpenComment,
    /// The end of the text.
    End,
}

/// A token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    /// Whether there is a line break between this token and the previous one. The end of the text
    /// is always the first of its line, so that spaces before it are layout.
    pub(crate) first_on_line: bool,
}

impl Token {
    pub(crate) fn is(self, punct: u8) -> bool {
        self.kind == TokenKind::Punct(punct)
    }
}

/// The spans of the tokens of a text, in order: identifiers, words after a dot, numbers, strings,
/// punctuation. Text that is not a token of PTX has a span too; spaces and comments have none.
///
/// ```
/// let text = "add.s32 %r1, 5; // five";
/// let tokens: Vec<&str> = ptxc_syntax::tokens(text).map(|token| &text[token.range()]).collect();
/// assert_eq!(tokens, ["add", ".s32", "%r1", ",", "5", ";"]);
/// ```
pub fn tokens(text: &str) -> impl Iterator<Item = Span> + '_ {
    let mut lexer = Lexer::new(text);
    std::iter::from_fn(move || {
        Some(lexer.next()).filter(|token| token.kind != TokenKind::End).map(|token| token.span)
    })
}

/// The class of a byte at the start of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// A letter, `_` or `$`.
    Letter,
    Digit,
    /// A space that is not a line break.
    Space,
    Newline,
    Dot,
    Percent,
    Slash,
    Quote,
    At,
    /// One of `<>=!&|`, which may be the first of a pair.
    Pair,
    /// Any other punctuation of PTX.
    Punct,
    /// A byte that PTX does not use outside of strings and comments.
    Foreign,
}

const fn class(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => Class::Letter,
        b'0'..=b'9' => Class::Digit,
        b' ' | b'\t' | b'\r' | 0x0b | 0x0c => Class::Space,
        b'\n' => Class::Newline,
        b'.' => Class::Dot,
        b'%' => Class::Percent,
        b'/' => Class::Slash,
        b'"' => Class::Quote,
        b'@' => Class::At,
        b'<' | b'>' | b'=' | b'!' | b'&' | b'|' => Class::Pair,
        b'{' | b'}' | b'(' | b')' | b'[' | b']' | b',' | b';' | b':' | b'+' | b'-' | b'*' | b'^' | b'~'
        | b'?' => Class::Punct,
        _ => Class::Foreign,
    }
}

static CLASSES: [Class; 256] = {
    let mut classes = [Class::Foreign; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = class(byte as u8);
        byte += 1;
    }
    classes
};

/// Whether `byte` can continue an identifier.
pub(crate) fn is_ident_byte(byte: u8) -> bool {
    matches!(CLASSES[usize::from(byte)], Class::Letter | Class::Digit)
}

/// Whether `byte` can start an identifier; `%` can, too, but is not included.
pub(crate) fn is_ident_start(byte: u8) -> bool {
    CLASSES[usize::from(byte)] == Class::Letter
}

/// Whether `byte` is a space but not a line break.
pub(crate) fn is_space(byte: u8) -> bool {
    CLASSES[usize::from(byte)] == Class::Space
}

/// A position in a text.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Lexer { text, at: 0 }
    }

    /// Continues at byte `at`.
    pub(crate) fn rewind(&mut self, at: u32) {
        self.at = at as usize;
    }

    /// The place up to which the text has been read.
    pub(crate) fn position(&self) -> u32 {
        self.at as u32
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The byte at a place; 0 after the end.
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    #[inline]
    fn skip_while(&mut self, test: impl Fn(u8) -> bool) {
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() && test(bytes[self.at]) {
            self.at += 1;
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += search::byte(b'\n', rest).unwrap_or(rest.len());
    }

    /// Whether the next token is this punctuation and directly follows the text read so far;
    /// cheaper than reading the token.
    #[inline]
    pub(crate) fn touches(&self, punct: u8) -> bool {
        self.byte(self.at) == punct
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Token {
        let mut first_on_line = self.at == 0;
        loop {
            match CLASSES[usize::from(self.byte(self.at))] {
                Class::Newline => {
                    first_on_line = true;
                    self.at += 1;
                }
                Class::Space => self.at += 1,
                Class::Slash if self.byte(self.at + 1) == b'/' => self.skip_line(),
                Class::Slash if self.byte(self.at + 1) == b'*' => {
                    let body = &self.text.as_bytes()[self.at + 2..];
                    let Some(length) = search::word(b"*/", body) else {
                        let start = self.at;
                        self.at = self.text.len();
                        return self.token(TokenKind::OpenComment, start, first_on_line);
                    };
                    first_on_line |= search::byte(b'\n', &body[..length]).is_some();
                    self.at += length + 4;
                }
                Class::Foreign if self.byte(self.at) == b'#' => {
                    match marker::length(&self.text.as_bytes()[self.at..]) {
                        Some(length) => self.at += length,
                        None => break,
                    }
                }
                _ => break,
            }
        }
        let start = self.at;
        let kind = self.scan();
        self.token(kind, start, first_on_line || kind == TokenKind::End)
    }

    fn token(&self, kind: TokenKind, start: usize, first_on_line: bool) -> Token {
        Token { kind, span: Span::new(start as u32, self.at as u32), first_on_line }
    }

    #[inline]
    fn scan(&mut self) -> TokenKind {
        if self.at >= self.text.len() {
            return TokenKind::End;
        }
        let byte = self.byte(self.at);
        match CLASSES[usize::from(byte)] {
            // A name needs another character after it.
            Class::Letter if byte == b'$' && !is_ident_byte(self.byte(self.at + 1)) => {
                self.at += 1;
                TokenKind::Unknown
            }
            Class::Letter => {
                self.at += 1;
                self.skip_while(is_ident_byte);
                TokenKind::Ident
            }
            Class::Percent if is_ident_byte(self.byte(self.at + 1)) => {
                self.at += 2;
                self.skip_while(is_ident_byte);
                TokenKind::Ident
            }
            Class::Dot if is_ident_byte(self.byte(self.at + 1)) => {
                self.at += 2;
                self.skip_while(is_ident_byte);
                while self.byte(self.at) == b':'
                    && self.byte(self.at + 1) == b':'
                    && is_ident_byte(self.byte(self.at + 2))
                {
                    self.at += 2;
                    self.skip_while(is_ident_byte);
                }
                TokenKind::Dotted
            }
            Class::Punct | Class::Percent | Class::Slash => {
                self.at += 1;
                TokenKind::Punct(byte)
            }
            Class::Digit => self.scan_number(),
            Class::Quote => self.scan_string(),
            Class::At if self.text.as_bytes()[self.at..].starts_with(b"@@DWARF") => {
                self.skip_line();
                TokenKind::Dwarf
            }
            Class::At => {
                self.at += 1;
                TokenKind::Punct(byte)
            }
            Class::Pair => {
                let pair = match (byte, self.byte(self.at + 1)) {
                    (b'<', b'<') => TokenKind::Shl,
                    (b'>', b'>') => TokenKind::Shr,
                    (b'<', b'=') => TokenKind::Le,
                    (b'>', b'=') => TokenKind::Ge,
                    (b'=', b'=') => TokenKind::EqEq,
                    (b'!', b'=') => TokenKind::Ne,
                    (b'&', b'&') => TokenKind::AndAnd,
                    (b'|', b'|') => TokenKind::OrOr,
                    _ => {
                        self.at += 1;
                        return TokenKind::Punct(byte);
                    }
                };
                self.at += 2;
                pair
            }
            Class::Dot | Class::Foreign | Class::Space | Class::Newline => {
                // Report one error for a run of foreign characters, such as a word in another
                // script.
                if byte.is_ascii() {
                    self.at += 1;
                } else {
                    self.skip_while(|byte| !byte.is_ascii());
                }
                TokenKind::Unknown
            }
        }
    }

    /// Scans a number that starts with a digit. Letters and digits that do not fit stay part of the
    /// token, so that `12ab` is one malformed number, not two tokens.
    pub(crate) fn scan_number(&mut self) -> TokenKind {
        if self.byte(self.at) == b'0' {
            let kind = match self.byte(self.at + 1) {
                b'f' | b'F' => Some(TokenKind::F32),
                b'd' | b'D' => Some(TokenKind::F64),
                b'x' | b'X' | b'b' | b'B' => Some(TokenKind::Int),
                _ => None,
            };
            if let Some(kind) = kind {
                self.skip_while(is_ident_byte);
                return kind;
            }
        }
        let mut kind = TokenKind::Int;
        self.skip_while(|byte| byte.is_ascii_digit());
        let after_point = self.byte(self.at + 1);
        if self.byte(self.at) == b'.'
            && (after_point.is_ascii_digit()
                || !is_ident_byte(after_point)
                || self.exponent(self.at + 1).is_some())
        {
            kind = TokenKind::Float;
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if let Some(digits) = self.exponent(self.at) {
            kind = TokenKind::Float;
            self.at = digits;
        }
        self.skip_while(is_ident_byte);
        kind
    }

    /// The place of the digits of the exponent at `at`, if there is one: `e3`, `E-3`.
    fn exponent(&self, at: usize) -> Option<usize> {
        let signed = matches!(self.byte(at + 1), b'+' | b'-');
        let digits = at + 1 + usize::from(signed);
        (matches!(self.byte(at), b'e' | b'E') && self.byte(digits).is_ascii_digit()).then_some(digits)
    }

    fn scan_string(&mut self) -> TokenKind {
        self.at += 1;
        loop {
            self.skip_while(|byte| !matches!(byte, b'"' | b'\\' | b'\n'));
            match self.byte(self.at) {
                b'"' => {
                    self.at += 1;
                    return TokenKind::String;
                }
                b'\\' if self.at + 1 < self.text.len() && self.byte(self.at + 1) != b'\n' => {
                    self.at += 1;
                    // The escaped character may have several bytes.
                    self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
                }
                _ => {
                    // A backslash before the end of the line belongs to the string.
                    self.skip_line();
                    return TokenKind::OpenString;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next();
            if token.kind == TokenKind::End {
                return tokens;
            }
            tokens.push((token.kind, &text[token.span.range()]));
        }
    }

    #[test]
    fn numbers_of_every_spelling() {
        use TokenKind::{F32, F64, Float, Int};
        let text = "0 017 0x1FU 0b101 42U 0f3F800000 0d3FF0000000000000 1.5 1. 2e-3 1.5E+3 1.e3 1.e-3 12ab";
        let expected = [Int, Int, Int, Int, Int, F32, F64, Float, Float, Float, Float, Float, Float, Int];
        assert_eq!(kinds(text).into_iter().map(|token| token.0).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn identifiers_and_modifiers() {
        let text = "ld.global.L2::128B %tid.x $L__BB0_1: _ a%b 1.b8";
        let words: Vec<&str> = kinds(text).into_iter().map(|token| token.1).collect();
        assert_eq!(
            words,
            ["ld", ".global", ".L2::128B", "%tid", ".x", "$L__BB0_1", ":", "_", "a", "%b", "1", ".b8"]
        );
    }

    #[test]
    fn comments_and_strings_hide_their_content() {
        let words: Vec<&str> =
            kinds("a // ; \"\n/* { \n */ \"}\\\"//\" b").into_iter().map(|token| token.1).collect();
        assert_eq!(words, ["a", "\"}\\\"//\"", "b"]);
        assert_eq!(kinds("a /* b").last().map(|token| token.0), Some(TokenKind::OpenComment));
        assert_eq!(kinds("\"ab\nc").first(), Some(&(TokenKind::OpenString, "\"ab")));
    }
}
