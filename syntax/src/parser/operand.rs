//! Operands of instructions.

use super::cursor::{Parse, Parser};
use super::expression::TERNARY;
use crate::ast::{Address, Expr, Ident, Operand, OperandKind, SymbolOffset};
use crate::codes;
use crate::lexer::TokenKind;
use crate::name::Name;
use crate::span::NodeId;

/// Special registers with components, each of which is a register: `%tid.x` is one name.
const VECTOR_SPECIAL_REGISTERS: [&str; 8] =
    ["%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"];

/// The parts of vectors and, for video instructions, of registers.
const SELECTORS: [&str; 14] = ["x", "y", "z", "w", "r", "g", "b", "a", "b0", "b1", "b2", "b3", "h0", "h1"];

/// A name that is a constant.
pub(super) const NO_SYMBOL: &str = "WARP_SZ";

/// Whether a register and the selector after it are one name.
pub(super) fn is_special_vector(register: &str) -> bool {
    VECTOR_SPECIAL_REGISTERS.contains(&register)
}

/// Which operands a list in brackets may contain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allow {
    /// Every operand, and lists of arguments: in a `call`.
    Call,
    /// Every operand.
    Operand,
    /// Operands without brackets: in a vector.
    Element,
}

impl Parser<'_> {
    /// An operand of an instruction; `(…)` is a list of arguments in a `call`, otherwise an
    /// expression.
    pub(super) fn operand(&mut self, in_call: bool) -> Parse<Operand> {
        self.operand_allowing(if in_call { Allow::Call } else { Allow::Operand })
    }

    fn operand_allowing(&mut self, allow: Allow) -> Parse<Operand> {
        if self.at_plain_register() {
            let Ident { id, name } = self.take_ident();
            return Ok(Operand { id, kind: OperandKind::Symbol(name) });
        }
        let id = self.open();
        let start = self.token.span.start;
        let kind = match self.token.kind {
            TokenKind::Ident if self.text() == NO_SYMBOL => OperandKind::Immediate(self.expression(TERNARY)?),
            TokenKind::Ident => self.symbol()?,
            TokenKind::String => OperandKind::String(self.expect_string()?),
            TokenKind::Punct(b'[') if allow != Allow::Element => {
                OperandKind::Address(Box::new(self.address()?))
            }
            TokenKind::Punct(b'{') if allow != Allow::Element => {
                OperandKind::Vector(self.list(b'}', Allow::Element)?)
            }
            TokenKind::Punct(b'(') if allow == Allow::Call => {
                OperandKind::Arguments(self.list(b')', Allow::Operand)?)
            }
            TokenKind::Punct(b'!') if self.prefixes_symbol() => OperandKind::Not(self.prefixed()?),
            TokenKind::Punct(b'-') if self.prefixes_symbol() => OperandKind::Minus(self.prefixed()?),
            TokenKind::Punct(b'+' | b'-' | b'!' | b'~' | b'(') => {
                OperandKind::Immediate(self.expression(TERNARY)?)
            }
            _ if self.at_number() => OperandKind::Immediate(self.expression(TERNARY)?),
            _ => return Err(self.error_here(codes::EXPECTED_OPERAND, "expected an operand")),
        };
        self.close(id);
        let is_single = matches!(
            kind,
            OperandKind::Symbol(_) | OperandKind::Selected(..) | OperandKind::Sink | OperandKind::Vector(_)
        );
        if !(is_single && self.at(b'|')) {
            return Ok(Operand { id, kind });
        }
        let first = Operand { id: self.renumber(start), kind };
        self.advance();
        let second = self.simple()?;
        self.close(id);
        Ok(Operand { id, kind: OperandKind::Pair(Box::new((first, second))) })
    }

    /// Whether the whole operand is the name of a register, as most operands are.
    fn at_plain_register(&self) -> bool {
        self.token.kind == TokenKind::Ident
            && (self.lexer.touches(b',') || self.lexer.touches(b';'))
            && self.text().starts_with('%')
    }

    /// A new node for text that ends here and is the first part of a larger operand.
    fn renumber(&mut self, start: u32) -> NodeId {
        let id = self.open_at(start);
        self.close(id);
        id
    }

    /// Whether the sign at the cursor precedes a register rather than a constant.
    fn prefixes_symbol(&self) -> bool {
        let next = self.peek();
        next.kind == TokenKind::Ident && &self.lexer.text()[next.span.range()] != NO_SYMBOL
    }

    /// The operand after `!` or `-`.
    fn prefixed(&mut self) -> Parse<Box<Operand>> {
        self.advance();
        Ok(Box::new(self.simple()?))
    }

    /// A register, a part of one, or `_`; also `!p`, as the second of a pair.
    fn simple(&mut self) -> Parse<Operand> {
        let id = self.open();
        let kind = match self.token.kind {
            TokenKind::Ident => self.register(),
            TokenKind::Punct(b'!') if self.peek().kind == TokenKind::Ident => {
                self.advance();
                let inner = self.open();
                let kind = self.register();
                self.close(inner);
                OperandKind::Not(Box::new(Operand { id: inner, kind }))
            }
            _ => return Err(self.error_here(codes::EXPECTED_OPERAND, "expected a register")),
        };
        self.close(id);
        Ok(Operand { id, kind })
    }

    /// The identifier at the cursor with its selector.
    fn register(&mut self) -> OperandKind {
        let text = self.text();
        let start = self.token.span;
        self.advance();
        if text == "_" {
            return OperandKind::Sink;
        }
        let glued = self.token.kind == TokenKind::Dotted && self.token.span.start == start.end;
        // A space or a comment may precede a selector.
        let apart = self.token.kind == TokenKind::Dotted && SELECTORS.contains(&&self.text()[1..]);
        if !glued && !apart {
            return OperandKind::Symbol(Name::new(text));
        }
        let selector = self.text();
        self.advance();
        if is_special_vector(text) {
            OperandKind::Symbol(Name::new(&format!("{text}{selector}")))
        } else {
            OperandKind::Selected(Box::new((Name::new(text), Name::new(&selector[1..]))))
        }
    }

    /// A register, or a symbol with an index or an offset.
    fn symbol(&mut self) -> Parse<OperandKind> {
        let base = match self.register() {
            OperandKind::Symbol(name) => name,
            other => return Ok(other),
        };
        if self.at(b'[') {
            let open = self.token.span;
            self.advance();
            let index = self.place()?;
            self.expect_closing(b']', open)?;
            return Ok(OperandKind::Element(Box::new((base, index))));
        }
        Ok(match self.offset()? {
            None => OperandKind::Symbol(base),
            offset => OperandKind::SymbolOffset(Box::new(SymbolOffset { base: Some(base), offset })),
        })
    }

    /// `base+offset`, `base` or a constant.
    fn place(&mut self) -> Parse<SymbolOffset> {
        if self.token.kind == TokenKind::Ident && !matches!(self.text(), "_" | NO_SYMBOL) {
            let base = Some(Name::new(self.text()));
            self.advance();
            return Ok(SymbolOffset { base, offset: self.offset()? });
        }
        if matches!(self.token.kind, TokenKind::Punct(b',' | b']' | b';' | b'{' | b'[') | TokenKind::End) {
            return Err(self.error_here(codes::EXPECTED_OPERAND, "expected an address"));
        }
        let offset: Option<Expr> = Some(self.expression(TERNARY)?);
        Ok(SymbolOffset { base: None, offset })
    }

    fn address(&mut self) -> Parse<Address> {
        let open = self.token.span;
        self.advance();
        let place = self.place()?;
        let mut rest = Vec::new();
        while self.eat(b',') {
            rest.push(self.address_part()?);
        }
        self.expect_closing(b']', open)?;
        let mut property = None;
        if self.token.kind == TokenKind::Dotted && self.token.span.start == self.end {
            property = Some(Name::new(&self.text()[1..]));
            self.advance();
        }
        Ok(Address { place, rest, property })
    }

    /// A sampler, or coordinates in braces.
    fn address_part(&mut self) -> Parse<Operand> {
        if !self.at(b'{') {
            return self.operand_allowing(Allow::Element);
        }
        let id = self.open();
        let elements = self.list(b'}', Allow::Element)?;
        self.close(id);
        Ok(Operand { id, kind: OperandKind::Vector(elements) })
    }

    /// Operands separated by commas up to `closing`; the list may be empty.
    fn list(&mut self, closing: u8, allow: Allow) -> Parse<Box<[Operand]>> {
        let open = self.token.span;
        self.advance();
        let mut elements = Vec::new();
        if self.eat(closing) {
            return Ok(elements.into_boxed_slice());
        }
        loop {
            elements.push(self.operand_allowing(allow)?);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect_closing(closing, open)?;
        Ok(elements.into_boxed_slice())
    }
}
