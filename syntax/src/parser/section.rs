//! `.file`, `.loc` and debug sections.

use super::cursor::{Parse, Parser};
use crate::ast::{Expr, File, Inlined, Location, Section, SectionLine, SectionTerm, SectionValue, UnaryOp};
use crate::codes;
use crate::lexer::TokenKind;
use crate::name::Name;
use crate::span::{NodeId, Span};

impl Parser<'_> {
    /// `.file 1 "name", timestamp, size` with the cursor on `.file`.
    pub(super) fn file(&mut self, id: NodeId) -> Parse<File> {
        self.advance();
        let number = self.token.span;
        let index = self.expect_int("the number of the file")?;
        if index > u32::MAX.into() {
            let message = format!("expected the number of a file, at most {}, found {index}", u32::MAX);
            self.report(codes::EXPECTED_NUMBER, number, message);
        }
        let name = self.expect_string()?;
        let mut stamp = None;
        if self.eat(b',') {
            let time = self.expect_int("the time of the file's last change")?;
            let size = if self.eat(b',') { Some(self.expect_int("the size of the file")?) } else { None };
            stamp = Some((time, size));
        }
        self.close(id);
        Ok(File { id, index, name, stamp })
    }

    /// `.loc 1 2 3, function_name L, inlined_at 1 2 3` with the cursor on `.loc`.
    pub(super) fn location(&mut self) -> Parse<Location> {
        self.advance();
        let (file, line, column) = self.position()?;
        let mut inlined = None;
        if self.eat(b',') {
            self.expect_word("function_name")?;
            let function_name = self.expect_ident("the label of the function's name")?;
            let offset = self.offset()?;
            if !self.eat(b',') {
                return Err(self.error_here(codes::DIRECTIVE_ARGUMENTS, "expected `, inlined_at`"));
            }
            self.expect_word("inlined_at")?;
            let (file, line, column) = self.position()?;
            inlined = Some(Inlined { function_name, offset, file, line, column });
        }
        Ok(Location { file, line, column, inlined })
    }

    fn position(&mut self) -> Parse<(u64, u64, u64)> {
        Ok((
            self.expect_int("the number of a file")?,
            self.expect_int("a line number")?,
            self.expect_int("a column number")?,
        ))
    }

    fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.token.kind == TokenKind::Ident && self.text() == word {
            self.advance();
            return Ok(());
        }
        Err(self.error_here(codes::DIRECTIVE_ARGUMENTS, &format!("expected `{word}`")))
    }

    /// Skips the rest of a directive that ends with its line.
    pub(super) fn skip_line(&mut self) {
        while !self.token.first_on_line
            && !matches!(self.token.kind, TokenKind::End | TokenKind::Punct(b';' | b'}'))
        {
            self.advance();
        }
        self.eat(b';');
    }

    /// `.section NAME { … }` with the cursor on `.section`. Errors inside are reported one by one.
    pub(super) fn section(&mut self, id: NodeId) -> Parse<Section> {
        self.advance();
        if self.token.kind != TokenKind::Dotted {
            return Err(self.error_here(codes::EXPECTED_NAME, "expected the name of a section"));
        }
        let name = Name::new(self.text());
        self.advance();
        let open = self.token.span;
        if !self.eat(b'{') {
            return Err(self.error_here(codes::MALFORMED_SECTION, "expected `{`"));
        }
        let mut lines = Vec::new();
        while !self.at(b'}') {
            if self.at_end() {
                self.report(codes::UNCLOSED_BODY, open, "this section has no `}`".to_owned());
                break;
            }
            match self.section_line() {
                Ok(line) => lines.push(line),
                Err(_) => self.skip_section_line(),
            }
        }
        self.eat(b'}');
        self.close(id);
        Ok(Section { id, name, lines })
    }

    fn skip_section_line(&mut self) {
        // Skip at least the token that did not fit, unless it ends the section.
        while !matches!(self.token.kind, TokenKind::End | TokenKind::Punct(b'}')) {
            self.advance();
            if self.token.first_on_line {
                return;
            }
        }
    }

    fn section_line(&mut self) -> Parse<SectionLine> {
        if self.token.kind == TokenKind::Ident {
            let name = Name::new(self.text());
            self.advance();
            if !self.eat(b':') {
                return Err(self.error_here(codes::MALFORMED_SECTION, "expected `:`"));
            }
            return Ok(SectionLine::Label(name));
        }
        let width = match self.text() {
            ".b8" => 1,
            ".b16" => 2,
            ".b32" => 4,
            ".b64" => 8,
            _ => return Err(self.error_here(codes::MALFORMED_SECTION, "expected data or a label")),
        };
        self.advance();
        let mut values = vec![self.section_value()?];
        while self.eat(b',') {
            values.push(self.section_value()?);
        }
        Ok(SectionLine::Data { width, values })
    }

    fn section_value(&mut self) -> Parse<SectionValue> {
        let start = self.token.span.start;
        let first = self.section_term()?;
        let mut rest = Vec::new();
        loop {
            let subtracted = self.at(b'-');
            if !subtracted && !self.at(b'+') {
                return Ok(SectionValue { first, rest });
            }
            self.advance();
            rest.push((subtracted, self.section_term()?));
            if !is_sum(&first, &rest) {
                return Err(self.report(
                    codes::MALFORMED_SECTION,
                    Span::new(start, self.end),
                    "expected a number, a label, `label+number` or `label-label`".to_owned(),
                ));
            }
        }
    }

    fn section_term(&mut self) -> Parse<SectionTerm> {
        let is_symbol = match self.token.kind {
            TokenKind::Dotted => !self.at_number(),
            TokenKind::Ident => self.text() != "WARP_SZ",
            _ => false,
        };
        if !is_symbol {
            return Ok(SectionTerm::Constant(self.section_number()?));
        }
        let name = Name::new(self.text());
        self.advance();
        Ok(SectionTerm::Symbol(name))
    }
    /// A number with an optional `-`.
    fn section_number(&mut self) -> Parse<Expr> {
        let is_number =
            |kind| matches!(kind, TokenKind::Int | TokenKind::Float | TokenKind::F32 | TokenKind::F64);
        let is_negated = self.at(b'-') && is_number(self.peek().kind);
        if !is_negated && !self.at_number() {
            return Err(self.error_here(codes::MALFORMED_SECTION, "expected a number or a label"));
        }
        if is_negated {
            self.advance();
        }
        let literal = self.literal()?;
        Ok(if is_negated { Expr::Unary(Box::new((UnaryOp::Neg, literal))) } else { literal })
    }
}

/// Whether a section may contain a value of these terms.
fn is_sum(first: &SectionTerm, rest: &[(bool, SectionTerm)]) -> bool {
    match rest {
        [] => true,
        [(subtracted, term)] if matches!(first, SectionTerm::Symbol(_)) => {
            *subtracted == matches!(term, SectionTerm::Symbol(_))
                && !matches!(term, SectionTerm::Constant(Expr::Unary(_)))
        }
        _ => false,
    }
}
