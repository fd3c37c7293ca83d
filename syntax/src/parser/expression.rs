//! Constant expressions, by precedence climbing.
//!
//! Every level of the tree is counted, including those of a chain `1+1+1+…`, so that neither this
//! parser nor a walk of the tree can overflow the stack.

use super::cursor::{Parse, Parser};
use crate::ast::expression::MAX_EXPRESSION_HEIGHT;
use crate::ast::{BinaryOp, CastType, Expr, UnaryOp};
use crate::codes;
use crate::const_eval::Constant;
use crate::lexer::TokenKind;
use crate::span::Span;

/// The precedence of `?:`.
pub(super) const TERNARY: u8 = 1;
/// The precedence of an expression between `<` and `>`: nothing looser than a shift.
pub(super) const SHIFT: u8 = BinaryOp::Shl.precedence();

/// An expression and its height.
type Tall = (Expr, u32);

impl Parser<'_> {
    /// An expression whose operators bind at least as tightly as `least`.
    pub(super) fn expression(&mut self, least: u8) -> Parse<Expr> {
        if self.token.kind == TokenKind::Int
            && [b',', b';', b']'].into_iter().any(|end| self.lexer.touches(end))
        {
            return self.literal();
        }
        Ok(self.climb(least, 0)?.0)
    }

    /// A number where PTX has no expressions: a literal or `WARP_SZ`. An expression that has a value
    /// is reported and read.
    pub(super) fn number(&mut self, least: u8) -> Parse<Expr> {
        let first = self.token.span;
        let expr = self.expression(least)?;
        let value = if self.end > first.end { expr.evaluate().ok() } else { None };
        // Other checks report negative numbers.
        if let Some(value) = value.and_then(Constant::integer_bits).filter(|&value| value as i64 >= 0) {
            let span = Span::new(first.start, self.end);
            self.report(codes::EXPECTED_NUMBER, span, "expected a number, found an expression".to_owned());
            self.help(format!("write its value, `{value}`"));
        }
        Ok(expr)
    }

    /// The offset after a symbol, such as `+4-2`, if there is one: any expression after a `+`.
    /// `t+1<<2` is 4 bytes after `t`.
    pub(super) fn offset(&mut self) -> Parse<Option<Expr>> {
        if self.at(b'-') {
            self.error_here(codes::EXPECTED_OPERAND, "an offset begins with `+`");
            self.help("write `+-` instead of `-`");
        } else if !self.at(b'+') {
            return Ok(None);
        }
        self.advance();
        if self.token.kind == TokenKind::Int && self.lexer.touches(b']') {
            return self.literal().map(Some);
        }
        Ok(Some(self.climb(TERNARY, 0)?.0))
    }

    /// The height of a node with two children of these heights.
    fn taller(&mut self, left: u32, right: u32) -> Parse<u32> {
        let height = left.max(right) + 1;
        if height < MAX_EXPRESSION_HEIGHT { Ok(height) } else { Err(self.too_deep()) }
    }

    fn too_deep(&mut self) -> super::cursor::Reported {
        let message = format!("this nests more than {MAX_EXPRESSION_HEIGHT} levels deep");
        self.report(codes::EXPRESSION_TOO_DEEP, self.token.span, message)
    }

    fn climb(&mut self, least: u8, depth: u32) -> Parse<Tall> {
        let (mut left, mut height) = self.unary(depth)?;
        loop {
            if self.at(b'?') {
                if least > TERNARY {
                    return Ok((left, height));
                }
                self.advance();
                let (then, then_height) = self.climb(TERNARY, depth + 1)?;
                if !self.eat(b':') {
                    return Err(self.error_here(codes::EXPECTED_EXPRESSION, "expected `:`"));
                }
                let (otherwise, other_height) = self.climb(TERNARY, depth + 1)?;
                height = self.taller(height, then_height.max(other_height))?;
                left = Expr::Ternary(Box::new((left, then, otherwise)));
                continue;
            }
            let Some(op) = self.binary_op() else { return Ok((left, height)) };
            if op.precedence() < least {
                return Ok((left, height));
            }
            self.advance();
            let (right, right_height) = self.climb(op.precedence() + 1, depth + 1)?;
            height = self.taller(height, right_height)?;
            left = Expr::Binary(Box::new((op, left, right)));
        }
    }

    /// The binary operator at the cursor.
    fn binary_op(&self) -> Option<BinaryOp> {
        Some(match self.token.kind {
            TokenKind::Punct(b'*') => BinaryOp::Mul,
            TokenKind::Punct(b'/') => BinaryOp::Div,
            // Before a letter or digit, `%` is the start of a name, as in ptxas.
            TokenKind::Punct(b'%') => BinaryOp::Rem,
            TokenKind::Punct(b'+') => BinaryOp::Add,
            TokenKind::Punct(b'-') => BinaryOp::Sub,
            TokenKind::Shl => BinaryOp::Shl,
            TokenKind::Shr => BinaryOp::Shr,
            TokenKind::Punct(b'<') => BinaryOp::Lt,
            TokenKind::Punct(b'>') => BinaryOp::Gt,
            TokenKind::Le => BinaryOp::Le,
            TokenKind::Ge => BinaryOp::Ge,
            TokenKind::EqEq => BinaryOp::Eq,
            TokenKind::Ne => BinaryOp::Ne,
            TokenKind::Punct(b'&') => BinaryOp::BitAnd,
            TokenKind::Punct(b'^') => BinaryOp::BitXor,
            TokenKind::Punct(b'|') => BinaryOp::BitOr,
            TokenKind::AndAnd => BinaryOp::LogicalAnd,
            TokenKind::OrOr => BinaryOp::LogicalOr,
            _ => return None,
        })
    }

    fn unary(&mut self, depth: u32) -> Parse<Tall> {
        if depth >= MAX_EXPRESSION_HEIGHT {
            return Err(self.too_deep());
        }
        let op = match self.token.kind {
            TokenKind::Punct(b'+') => Some(UnaryOp::Plus),
            TokenKind::Punct(b'-') => Some(UnaryOp::Neg),
            TokenKind::Punct(b'!') => Some(UnaryOp::LogicalNot),
            TokenKind::Punct(b'~') => Some(UnaryOp::BitNot),
            _ => None,
        };
        if let Some(op) = op {
            self.advance();
            let (operand, height) = self.unary(depth + 1)?;
            return Ok((Expr::Unary(Box::new((op, operand))), self.taller(height, 0)?));
        }
        if self.at(b'(') {
            return self.parenthesised(depth);
        }
        if self.at_number() {
            return Ok((self.literal()?, 1));
        }
        if self.token.kind == TokenKind::Ident {
            if self.text() == "WARP_SZ" {
                self.advance();
                return Ok((Expr::WarpSize, 1));
            }
            let reported = self.error_here(codes::SYMBOL_IN_EXPRESSION, "expected a constant");
            self.help("write the symbol first, then the constant: `symbol+4`");
            return Err(reported);
        }
        Err(self.error_here(codes::EXPECTED_EXPRESSION, "expected a constant"))
    }

    fn parenthesised(&mut self, depth: u32) -> Parse<Tall> {
        let open = self.token.span;
        self.advance();
        let cast = match self.token.kind {
            TokenKind::Dotted if self.text() == ".s64" => Some(CastType::S64),
            TokenKind::Dotted if self.text() == ".u64" => Some(CastType::U64),
            _ => None,
        };
        if let Some(cast) = cast {
            self.advance();
            self.expect_closing(b')', open)?;
            let (operand, height) = self.unary(depth + 1)?;
            return Ok((Expr::Cast(Box::new((cast, operand))), self.taller(height, 0)?));
        }
        let inner = self.climb(TERNARY, depth + 1)?;
        self.expect_closing(b')', open)?;
        Ok(inner)
    }
}
