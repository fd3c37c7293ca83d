//! Splits the text form into tokens. Linear, never fails: a byte that cannot start a token becomes
//! [`Kind::Unknown`].

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A word, which may contain dots: `icmp.slt.b32`, `v3`, `block1`, `tid.x`.
    Word,
    /// A number, decimal or `0x` hexadecimal.
    Number,
    /// A text in double quotes.
    String,
    /// `@`.
    At,
    /// `!`.
    Bang,
    /// `,`.
    Comma,
    /// `:`.
    Colon,
    /// `=`.
    Equals,
    /// `+`.
    Plus,
    /// `-`.
    Minus,
    /// `->`.
    Arrow,
    /// `(`.
    LeftParen,
    /// `)`.
    RightParen,
    /// `[`.
    LeftBracket,
    /// `]`.
    RightBracket,
    /// `{`.
    LeftBrace,
    /// `}`.
    RightBrace,
    /// The end of a line, which ends a statement.
    Newline,
    /// The end of the text.
    End,
    /// Anything else.
    Unknown,
}

impl Kind {
    /// A description for error messages.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Kind::Word => "a word",
            Kind::Number => "a number",
            Kind::String => "a text in quotes",
            Kind::At => "`@`",
            Kind::Bang => "`!`",
            Kind::Comma => "`,`",
            Kind::Colon => "`:`",
            Kind::Equals => "`=`",
            Kind::Plus => "`+`",
            Kind::Minus => "`-`",
            Kind::Arrow => "`->`",
            Kind::LeftParen => "`(`",
            Kind::RightParen => "`)`",
            Kind::LeftBracket => "`[`",
            Kind::RightBracket => "`]`",
            Kind::LeftBrace => "`{`",
            Kind::RightBrace => "`}`",
            Kind::Newline => "the end of the line",
            Kind::End => "the end of the text",
            Kind::Unknown => "a byte that starts nothing",
        }
    }
}

/// A token and where it lies.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Range<usize>,
}

/// The text, and the place up to which it is read.
pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%')
}

fn continues_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// Whether a name can be written without quotes.
pub(crate) fn is_word(name: &str) -> bool {
    name.bytes().next().is_some_and(starts_word) && name.bytes().all(continues_word)
}

impl<'t> Lexer<'t> {
    /// A lexer at the start of a text.
    pub(crate) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0 }
    }

    /// The next token; at the end of the text always [`Kind::End`].
    pub(crate) fn next(&mut self) -> Token {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if matches!(byte, b' ' | b'\t' | b'\r') {
                self.at += 1;
            } else if bytes[self.at..].starts_with(b"//") {
                self.skip_while(|byte| byte != b'\n');
            } else {
                break;
            }
        }
        let start = self.at;
        let Some(&byte) = bytes.get(start) else {
            return Token { kind: Kind::End, span: start..start };
        };
        self.at += 1;
        let kind = match byte {
            b'\n' => Kind::Newline,
            b'@' => Kind::At,
            b'!' => Kind::Bang,
            b',' => Kind::Comma,
            b':' => Kind::Colon,
            b'=' => Kind::Equals,
            b'+' => Kind::Plus,
            b'-' if bytes.get(self.at) == Some(&b'>') => {
                self.at += 1;
                Kind::Arrow
            }
            b'-' => Kind::Minus,
            b'(' => Kind::LeftParen,
            b')' => Kind::RightParen,
            b'[' => Kind::LeftBracket,
            b']' => Kind::RightBracket,
            b'{' => Kind::LeftBrace,
            b'}' => Kind::RightBrace,
            b'"' => self.string(),
            b'0'..=b'9' => {
                self.skip_while(|byte| byte.is_ascii_alphanumeric());
                Kind::Number
            }
            byte if starts_word(byte) => {
                self.skip_while(continues_word);
                Kind::Word
            }
            _ => {
                self.skip_while(|byte| !byte.is_ascii());
                Kind::Unknown
            }
        };
        Token { kind, span: start..self.at }
    }

    /// The rest of a text in quotes, which ends at the end of its line at the latest.
    fn string(&mut self) -> Kind {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Kind::String;
                }
                Some(b'\\') if bytes.get(self.at + 1).is_some_and(u8::is_ascii_graphic) => self.at += 2,
                Some(b'\n') | None => return Kind::Unknown,
                Some(_) => self.at += 1,
            }
        }
    }

    fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.text.as_bytes().get(self.at).is_some_and(|&byte| keep(byte)) {
            self.at += 1;
        }
    }
}

/// A name in quotes, with `"` and `\` escaped, and control characters as `\xNN`.
pub(crate) fn quote(name: &str, out: &mut String) {
    out.push('"');
    for character in name.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control.is_ascii_control() => out.push_str(&format!("\\x{:02x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// The name in a token with quotes; `None` if an escape is malformed.
pub(crate) fn unquote(token: &str) -> Option<String> {
    let mut rest = token.strip_prefix('"')?.strip_suffix('"')?;
    let mut name = String::new();
    while let Some(at) = rest.find('\\') {
        name.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(escaped) = rest.strip_prefix('x') {
            let code = u8::from_str_radix(escaped.get(..2)?, 16).ok().filter(u8::is_ascii)?;
            name.push(code as char);
            rest = &escaped[2..];
        } else {
            let escaped = rest.chars().next().filter(|escaped| matches!(escaped, '"' | '\\'))?;
            name.push(escaped);
            rest = &rest[1..];
        }
    }
    name.push_str(rest);
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_undone() {
        for name in ["", "plain", "a\"b\\c", "\\x41", "tab\tnew\nline", "ünïcode"] {
            let mut quoted = String::new();
            quote(name, &mut quoted);
            assert!(!quoted.contains('\n'));
            assert_eq!(unquote(&quoted).as_deref(), Some(name));
        }
        assert_eq!(unquote(r#""\q""#), None);
        assert_eq!(unquote(r#""\x4""#), None);
    }
}
