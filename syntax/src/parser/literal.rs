//! Converts number tokens to values.

use super::cursor::{Parse, Parser};
use crate::ast::{Expr, IntLiteral, Radix};
use crate::codes;
use crate::lexer::TokenKind;
use crate::name::Name;

impl Parser<'_> {
    /// Whether a number starts here; `.5` is scanned as a modifier but is a number.
    pub(super) fn at_number(&self) -> bool {
        match self.token.kind {
            TokenKind::Int | TokenKind::Float | TokenKind::F32 | TokenKind::F64 => true,
            TokenKind::Dotted => self.text().as_bytes()[1].is_ascii_digit(),
            _ => false,
        }
    }

    /// The literal at the cursor.
    pub(super) fn literal(&mut self) -> Parse<Expr> {
        let expr = match self.token.kind {
            TokenKind::Int => Expr::Int(self.int_literal()?),
            TokenKind::F32 => Expr::F32(self.float_bits(8)? as u32),
            TokenKind::F64 => Expr::F64(self.float_bits(16)?),
            _ => return self.decimal(),
        };
        self.advance();
        Ok(expr)
    }

    /// The value of the integer token at the cursor, without consuming it.
    fn int_literal(&mut self) -> Parse<IntLiteral> {
        let text = self.text();
        if text.len() < 10 && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let value = text.bytes().fold(0, |value, digit| 10 * value + u64::from(digit - b'0'));
            return Ok(IntLiteral { value, radix: Radix::Decimal, unsigned: false });
        }
        let unsigned = text.len() > 1 && text.ends_with('U');
        let digits = if unsigned { &text[..text.len() - 1] } else { text };
        let (radix, base, digits) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (Radix::Hexadecimal, 16, &digits[2..]),
            [b'0', b'b' | b'B', ..] => (Radix::Binary, 2, &digits[2..]),
            [b'0', _, ..] => (Radix::Octal, 8, &digits[1..]),
            _ => (Radix::Decimal, 10, digits),
        };
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
            let message = format!("{} is not a number", self.describe());
            return Err(self.report(codes::MALFORMED_NUMBER, self.token.span, message));
        }
        match u64::from_str_radix(digits, base) {
            Ok(value) => Ok(IntLiteral { value, radix, unsigned }),
            Err(_) => {
                let message = format!("{} does not fit into 64 bits", self.describe());
                Err(self.report(codes::NUMBER_TOO_LARGE, self.token.span, message))
            }
        }
    }

    /// The bits of a `0f…` or `0d…` token at the cursor, without consuming it.
    fn float_bits(&mut self, digits: usize) -> Parse<u64> {
        let text = &self.text()[2..];
        let well_formed = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if let Some(bits) = well_formed.then(|| u64::from_str_radix(text, 16).ok()).flatten() {
            return Ok(bits);
        }
        let message = format!("{} needs {digits} hexadecimal digits", self.describe());
        Err(self.report(codes::MALFORMED_NUMBER, self.token.span, message))
    }

    fn decimal(&mut self) -> Parse<Expr> {
        if self.token.kind == TokenKind::Dotted {
            // `.5e-3` was scanned as a modifier up to the sign: find its real end.
            let start = self.token.span.start;
            self.lexer.rewind(start + 1);
            self.lexer.scan_number();
            self.token.span.end = self.lexer.position();
        }
        let text = self.text();
        let Ok(value) = text.parse::<f64>() else {
            let message = format!("{} is not a number", self.describe());
            return Err(self.report(codes::MALFORMED_NUMBER, self.token.span, message));
        };
        let mut mantissa = text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E'));
        let is_zero = !mantissa.any(|byte| matches!(byte, b'1'..=b'9'));
        if !is_zero && !value.is_normal() {
            let message = format!("{} is outside the range of double precision", self.describe());
            let reported = self.report(codes::FLOAT_OUT_OF_RANGE, self.token.span, message);
            self.help(format!("write the bits of the value: `0d{:016X}`", value.to_bits()));
            return Err(reported);
        }
        // Without its zero, `.5` after an opcode would be read as a modifier.
        let expr = match text.strip_prefix('.') {
            Some(fraction) => Expr::Decimal(Box::new(Name::new(&format!("0.{fraction}")))),
            None => Expr::Decimal(Box::new(Name::new(text))),
        };
        self.advance();
        Ok(expr)
    }

    /// A plain integer, as in directives.
    pub(super) fn expect_int(&mut self, what: &str) -> Parse<u64> {
        if self.token.kind != TokenKind::Int {
            return Err(self.error_here(codes::EXPECTED_NUMBER, &format!("expected {what}")));
        }
        let value = self.int_literal()?.value;
        self.advance();
        Ok(value)
    }
}
