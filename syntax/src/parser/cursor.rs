//! The token under the cursor, errors, and recovery.

use std::borrow::Cow;

use super::operand::NO_SYMBOL;
use super::plain::Plain;
use crate::ast::{Ident, Operand};
use crate::codes::{self, Code};
use crate::error::{Parsed, SyntaxError};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::name::Name;
use crate::span::{NodeId, Span, SpanMap};

/// An error was reported, and the caller must recover.
#[derive(Debug)]
pub(super) struct Reported;

/// The result of parsing a part.
pub(super) type Parse<T> = Result<T, Reported>;

/// At most this many errors are kept for one item.
const MAX_ERRORS: usize = 1000;

pub(super) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    pub(super) token: Token,
    /// The end of the token before `token`.
    pub(super) end: u32,
    pub(super) spans: SpanMap,
    pub(super) errors: Vec<SyntaxError>,
    /// The text of statements that were skipped after an error.
    pub(super) lost: Vec<Span>,
    /// The operands of the instruction that is being read.
    pub(super) operands: Vec<Operand>,
    /// How many more labels may be expanded from ranges.
    pub(super) label_budget: u32,
    /// The plain statement that is being read.
    pub(super) plain: Plain,
    /// Whether the plain path is off, so that a test can compare it with the tokens.
    pub(super) by_tokens: bool,
    /// Whether the caller needs the statements of bodies, not only their errors.
    pub(super) keeps_tree: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let token = lexer.next();
        Parser {
            lexer,
            token,
            end: 0,
            spans: SpanMap::default(),
            errors: Vec::new(),
            lost: Vec::new(),
            operands: Vec::new(),
            label_budget: text.len() as u32,
            plain: Plain::default(),
            by_tokens: false,
            keeps_tree: true,
        }
    }

    pub(super) fn finish<T>(self, value: T) -> Parsed<T> {
        Parsed { value, spans: self.spans, errors: self.errors, lost: self.lost }
    }

    /// The characters of the current token.
    pub(super) fn text(&self) -> &'a str {
        &self.lexer.text()[self.token.span.range()]
    }

    pub(super) fn advance(&mut self) {
        self.end = self.token.span.end;
        self.token = self.lexer.next();
    }

    /// Reads the text again from byte `at`, as if the token before ended there.
    pub(super) fn rewind(&mut self, at: u32) {
        self.end = at;
        self.lexer.rewind(at);
        self.token = self.lexer.next();
    }

    /// The token after the current one.
    pub(super) fn peek(&self) -> Token {
        self.lexer.clone().next()
    }

    pub(super) fn at(&self, punct: u8) -> bool {
        self.token.is(punct)
    }

    pub(super) fn at_end(&self) -> bool {
        self.token.kind == TokenKind::End
    }

    pub(super) fn eat(&mut self, punct: u8) -> bool {
        let found = self.at(punct);
        if found {
            self.advance();
        }
        found
    }

    /// Whether the current token is `.word`.
    pub(super) fn at_dotted(&self, word: &str) -> bool {
        self.token.kind == TokenKind::Dotted && &self.text()[1..] == word
    }

    /// A new node that starts at the current token; [`close`](Self::close) sets its end.
    pub(super) fn open(&mut self) -> NodeId {
        self.open_at(self.token.span.start)
    }

    pub(super) fn open_at(&mut self, start: u32) -> NodeId {
        self.spans.push(Span::new(start, start))
    }

    /// Ends node `id` after the last token.
    pub(super) fn close(&mut self, id: NodeId) {
        self.spans.set_end(id, self.end);
    }

    /// Consumes the current token, of any kind, as a name with a node.
    pub(super) fn take_ident(&mut self) -> Ident {
        let id = self.spans.push(self.token.span);
        let name = Name::new(self.text());
        self.advance();
        Ident { id, name }
    }

    /// An identifier other than `_`.
    pub(super) fn expect_ident(&mut self, what: &str) -> Parse<Ident> {
        if self.token.kind == TokenKind::Ident && !["_", NO_SYMBOL].contains(&self.text()) {
            Ok(self.take_ident())
        } else {
            Err(self.error_here(codes::EXPECTED_NAME, &format!("expected {what}")))
        }
    }

    /// The raw text of a string literal.
    pub(super) fn expect_string(&mut self) -> Parse<Name> {
        if self.token.kind != TokenKind::String {
            return Err(self.error_here(codes::EXPECTED_STRING, "expected a string"));
        }
        let text = self.text();
        let name = Name::new(&text[1..text.len() - 1]);
        self.advance();
        Ok(name)
    }

    /// The bracket that closes the one at `open`.
    pub(super) fn expect_closing(&mut self, closing: u8, open: Span) -> Parse<()> {
        if self.eat(closing) {
            return Ok(());
        }
        let message = format!("expected `{}`", closing as char);
        let reported = self.error_here(codes::UNCLOSED_BRACKET, &message);
        if let Some(error) = self.errors.last_mut().filter(|error| error.code == codes::UNCLOSED_BRACKET) {
            error.related = Some((open, "opened here".into()));
        }
        Err(reported)
    }

    /// The `;` that ends a statement. If it is missing at the end of a line, it is reported there
    /// and parsing continues as if it were present.
    pub(super) fn expect_semicolon(&mut self) -> Parse<()> {
        if self.eat(b';') {
            return Ok(());
        }
        let ends_line =
            self.token.first_on_line || matches!(self.token.kind, TokenKind::Punct(b'}') | TokenKind::End);
        if ends_line && !self.at_broken_token() && !self.at(b',') {
            self.missing_semicolon();
            return Ok(());
        }
        Err(self.error_here(codes::EXPECTED_SEMICOLON, "expected `;`"))
    }

    pub(super) fn missing_semicolon(&mut self) {
        let found = self.describe();
        let span = Span::new(self.end, self.end);
        self.report(codes::EXPECTED_SEMICOLON, span, format!("expected `;`, found {found}"));
        self.help("end the statement with `;`");
    }

    /// Whether the current token is itself an error.
    pub(super) fn at_broken_token(&self) -> bool {
        matches!(
            self.token.kind,
            TokenKind::Unknown | TokenKind::Dwarf | TokenKind::OpenString | TokenKind::OpenComment
        )
    }

    /// Reports the text that is left after an item, unless the item already had an error.
    pub(super) fn expect_end(&mut self) {
        if self.errors.is_empty() && !self.at_end() {
            let _ = self.error_here(codes::EXPECTED_ITEM, "expected the end of the item");
        }
    }

    /// Describes the current token for a message.
    pub(super) fn describe(&self) -> String {
        match self.token.kind {
            TokenKind::End => "the end of the text".to_owned(),
            TokenKind::String => "a string".to_owned(),
            _ => {
                let text = self.text();
                match text.char_indices().nth(40) {
                    Some((cut, _)) => format!("`{}…`", &text[..cut]),
                    None => format!("`{text}`"),
                }
            }
        }
    }

    /// Reports that `expected` was not found, and what was found instead. A token that is itself an
    /// error is reported as that error.
    pub(super) fn error_here(&mut self, code: Code, expected: &str) -> Reported {
        let span = self.token.span;
        match self.token.kind {
            TokenKind::Unknown if self.token.first_on_line && self.text() == "#" => self.preprocessor_line(),
            TokenKind::Unknown => {
                let found = self.describe();
                self.report(codes::UNKNOWN_CHARACTER, span, format!("unknown character {found}"))
            }
            TokenKind::Dwarf => {
                let message = "`@@DWARF` lines are no longer PTX".to_owned();
                self.report(codes::UNKNOWN_DIRECTIVE, span, message);
                self.help("put debugging data into a `.section` (PTX 2.0 and later)");
                Reported
            }
            TokenKind::OpenString => {
                self.report(
                    codes::UNTERMINATED_STRING,
                    span,
                    "this string does not end on its line".to_owned(),
                );
                self.help("close it with `\"`");
                Reported
            }
            TokenKind::OpenComment => {
                let span = Span::new(span.start, span.start + 2);
                self.report(codes::UNTERMINATED_COMMENT, span, "this comment has no end".to_owned());
                self.help("close it with `*/`");
                Reported
            }
            _ => {
                let message = format!("{expected}, found {}", self.describe());
                self.report(code, span, message)
            }
        }
    }

    /// Reports a line for a preprocessor.
    fn preprocessor_line(&mut self) -> Reported {
        let next = self.peek();
        let is_word = next.kind == TokenKind::Ident && !next.first_on_line;
        let end = if is_word { next.span.end } else { self.token.span.end };
        let span = Span::new(self.token.span.start, end);
        let word = if is_word { &self.lexer.text()[next.span.range()] } else { "" };
        let message = match word {
            "" | "line" => "this is not a line marker such as `# 7 \"k.cu\"`".to_owned(),
            _ => format!("`#{word}` is for a C preprocessor, which PTX does not have"),
        };
        self.report(codes::PREPROCESSOR, span, message);
        self.help("run the file through a C preprocessor first");
        Reported
    }

    /// The name of something that is declared. If it has dots, they are reported, and the whole is
    /// taken as its name.
    pub(super) fn declared_name(&mut self, what: &str) -> Parse<Ident> {
        let mut ident = self.expect_ident(what)?;
        let word = self.spans.get(ident.id);
        let whole = self.rest_of_name(word);
        if whole != word {
            self.close(ident.id);
            ident.name = Name::new(&self.lexer.text()[whole.range()]);
        }
        Ok(ident)
    }

    /// The place of a declared name whose first word has been read. Dots and the words after
    /// them are reported.
    pub(super) fn rest_of_name(&mut self, word: Span) -> Span {
        while self.token.span.start == self.end
            && matches!(self.token.kind, TokenKind::Dotted | TokenKind::Ident)
        {
            self.advance();
        }
        let whole = Span::new(word.start, self.end);
        if whole != word {
            self.dotted_name(whole, &self.lexer.text()[whole.range()]);
        }
        whole
    }

    /// Reports a name with dots.
    pub(super) fn dotted_name(&mut self, span: Span, name: &str) {
        self.report(codes::DOTTED_NAME, span, format!("the name `{name}` has a dot"));
        self.help(format!("write `{}`", name.replace('.', "_")));
    }

    /// Reports an error at any place.
    pub(super) fn report(&mut self, code: Code, span: Span, message: String) -> Reported {
        let (code, message) = match self.errors.len() {
            MAX_ERRORS => {
                (codes::TOO_MANY_ERRORS, format!("more than {MAX_ERRORS} errors; the others are not listed"))
            }
            _ => (code, message),
        };
        if self.errors.len() <= MAX_ERRORS {
            let note = codes::explain(code).map(Cow::Borrowed);
            self.errors.push(SyntaxError { code, span, message, related: None, note, help: None });
        }
        Reported
    }

    /// Adds a help text to the last reported error.
    pub(super) fn help(&mut self, help: impl Into<Cow<'static, str>>) {
        if let Some(error) = self.errors.last_mut().filter(|error| error.code != codes::TOO_MANY_ERRORS) {
            error.help = Some(help.into());
        }
    }

    /// Skips the rest of a statement: to the place after its `;`, or to a token that clearly starts
    /// another statement or ends the scope. `start` is the start of the statement, from which its
    /// open braces are counted.
    pub(super) fn skip_statement(&mut self, start: u32) {
        let mut vectors = self.open_vectors(start);
        loop {
            match self.token.kind {
                TokenKind::End => return,
                TokenKind::Punct(b';') => {
                    self.advance();
                    return;
                }
                TokenKind::Punct(b'{') => vectors += 1,
                TokenKind::Punct(b'}') if vectors > 0 => vectors -= 1,
                TokenKind::Punct(b'}') if !self.peek().is(b',') => return,
                // The token that could not be read may be the first of its line.
                _ if self.token.span.start > start && self.starts_statement() => return,
                _ => {}
            }
            self.advance();
        }
    }

    /// Counts the braces that are open between byte `start` and the cursor.
    fn open_vectors(&self, start: u32) -> u32 {
        let mut lexer = self.lexer.clone();
        lexer.rewind(start);
        let mut open = 0u32;
        loop {
            let token = lexer.next();
            if token.kind == TokenKind::End || token.span.start >= self.token.span.start {
                return open;
            }
            match token.kind {
                TokenKind::Punct(b'{') => open += 1,
                TokenKind::Punct(b'}') => open = open.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Whether the current token is the first of its line and looks like the start of a statement:
    /// a guard, a directive, or a word followed by a modifier or a colon.
    #[inline]
    pub(super) fn starts_statement(&self) -> bool {
        self.token.first_on_line && self.looks_like_statement()
    }

    /// Whether the current token is the first of its line and can start a statement: as
    /// [`starts_statement`](Self::starts_statement), or a word alone.
    pub(super) fn starts_statement_on_line(&self) -> bool {
        let next = self.peek();
        let is_alone = self.token.kind == TokenKind::Ident
            && !self.text().starts_with('%')
            && (next.is(b';') || next.is(b'}') || next.first_on_line);
        self.token.first_on_line && (is_alone || self.at(b'{') || self.looks_like_statement())
    }

    fn looks_like_statement(&self) -> bool {
        match self.token.kind {
            TokenKind::Dotted => super::body::is_statement_directive(&self.text()[1..]),
            TokenKind::Ident => {
                let next = self.peek();
                !self.text().starts_with('%')
                    && next.span.start == self.token.span.end
                    && (next.kind == TokenKind::Dotted || next.is(b':'))
            }
            _ => self.at(b'@'),
        }
    }
}
