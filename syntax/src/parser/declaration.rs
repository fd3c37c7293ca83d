//! Registers, variables and parameters.

use super::cursor::{Parse, Parser, Reported};
use super::expression::{SHIFT, TERNARY};
use crate::ast::expression::MAX_EXPRESSION_HEIGHT;
use crate::ast::{
    Attribute, Declaration, Declarator, Expr, Field, FieldValue, Ident, Initialiser, Linkage, Parameter,
    Pointer, Space, Specifiers, SymbolAddress, Type, Vector,
};
use crate::codes;
use crate::lexer::TokenKind;
use crate::name::Name;
use crate::span::{NodeId, Span};

impl Parser<'_> {
    /// The linkage at the cursor.
    pub(super) fn at_linkage(&self) -> Option<Linkage> {
        if self.token.kind != TokenKind::Dotted {
            return None;
        }
        Linkage::ALL.into_iter().find(|linkage| linkage.spelling() == &self.text()[1..])
    }

    /// `.visible` and the like, if present.
    pub(super) fn linkage(&mut self) -> Parse<Option<Linkage>> {
        let found = self.at_linkage();
        if found.is_some() {
            self.advance();
            if self.at_linkage().is_some() {
                return Err(self.duplicate("linkage"));
            }
        }
        Ok(found)
    }

    fn duplicate(&mut self, what: &str) -> Reported {
        let message = format!("{} is a second {what}", self.describe());
        self.report(codes::DUPLICATE_SPECIFIER, self.token.span, message)
    }

    /// A declaration up to and including its `;`.
    pub(super) fn declaration(&mut self, id: NodeId, linkage: Option<Linkage>) -> Parse<Declaration> {
        let specifiers = self.specifiers()?;
        let mut declarators = vec![self.declarator()?];
        while self.eat(b',') {
            declarators.push(self.declarator()?);
        }
        self.close(id);
        self.expect_semicolon()?;
        Ok(Declaration { id, linkage, specifiers, declarators })
    }

    /// The words before the names, in any order.
    pub(super) fn specifiers(&mut self) -> Parse<Specifiers> {
        let mut space = None;
        let mut bank = None;
        let mut align = None;
        let mut attributes = Vec::new();
        let mut vector = None;
        let mut ty = None;
        let mut pointer: Option<Pointer> = None;
        while self.token.kind == TokenKind::Dotted {
            let word = &self.text()[1..];
            if let Some(found) = Space::ALL.into_iter().find(|space| space.spelling() == word) {
                if pointer.as_ref().is_some_and(|pointer| !pointer.may_be_in(found)) {
                    return Err(self.error_here(codes::EXPECTED_TYPE, "expected a name"));
                }
                let slot = pointer.as_mut().map_or(&mut space, |pointer| &mut pointer.space);
                if slot.replace(found).is_some() {
                    return Err(self.duplicate("state space"));
                }
                self.advance();
                if found == Space::Const && self.at(b'[') {
                    bank = Some(self.bracketed()?);
                }
            } else if let Some(found) = Type::ALL.into_iter().find(|ty| ty.spelling() == word) {
                let opaque = matches!(found, Type::Texref | Type::Samplerref | Type::Surfref);
                let pointee = pointer
                    .as_mut()
                    .filter(|pointer| opaque && pointer.space.is_none() && pointer.align.is_none());
                let slot = pointee.map_or(&mut ty, |pointer| &mut pointer.reference);
                if slot.replace(found).is_some() {
                    return Err(self.duplicate("type"));
                }
                self.advance();
            } else if let Some(found) = Vector::ALL.into_iter().find(|vector| vector.spelling() == word) {
                if vector.replace(found).is_some() {
                    return Err(self.duplicate("vector size"));
                }
                if ty.is_some() {
                    let reported = self.error_here(codes::EXPECTED_TYPE, "expected a name");
                    self.help("write the vector size before the type");
                    return Err(reported);
                }
                self.advance();
            } else if word == "align" {
                if pointer.as_ref().map_or(&align, |pointer| &pointer.align).is_some() {
                    return Err(self.duplicate("alignment"));
                }
                self.advance();
                let value = Some(self.number(TERNARY)?);
                *pointer.as_mut().map_or(&mut align, |pointer| &mut pointer.align) = value;
            } else if word == "ptr" && pointer.is_none() {
                pointer = Some(Pointer { space: None, reference: None, align: None });
                self.advance();
            } else if word == "attribute" {
                self.attributes(&mut attributes)?;
            } else {
                let known = if ty.is_none() { "expected a type" } else { "expected a name" };
                return Err(self.error_here(codes::EXPECTED_TYPE, known));
            }
        }
        let Some(ty) = ty else {
            return Err(self.error_here(codes::EXPECTED_TYPE, "expected a type"));
        };
        let Some(space) = space else {
            return Err(self.error_here(codes::EXPECTED_SPACE, "expected a state space"));
        };
        Ok(Specifiers { space, bank, align, attributes, vector, ty, pointer })
    }

    fn bracketed(&mut self) -> Parse<Expr> {
        let open = self.token.span;
        self.advance();
        let expr = self.number(TERNARY)?;
        self.expect_closing(b']', open)?;
        Ok(expr)
    }

    /// `.attribute(.managed, .unified(19, 95))` with the cursor on `.attribute`.
    pub(super) fn attributes(&mut self, attributes: &mut Vec<Attribute>) -> Parse<()> {
        self.advance();
        let open = self.token.span;
        if !self.eat(b'(') {
            return Err(self.error_here(codes::DIRECTIVE_ARGUMENTS, "expected `(`"));
        }
        loop {
            if self.token.kind != TokenKind::Dotted {
                return Err(self.error_here(codes::DIRECTIVE_ARGUMENTS, "expected an attribute"));
            }
            let id = self.open();
            let name = Ident { id, name: Name::new(&self.text()[1..]) };
            self.advance();
            self.close(id);
            let mut arguments = Vec::new();
            let open = self.token.span;
            if self.eat(b'(') {
                loop {
                    arguments.push(self.number(TERNARY)?);
                    if !self.eat(b',') {
                        break;
                    }
                }
                self.expect_closing(b')', open)?;
            }
            attributes.push(Attribute { name, arguments });
            if !self.eat(b',') {
                break;
            }
        }
        self.expect_closing(b')', open)
    }

    fn declarator(&mut self) -> Parse<Declarator> {
        let name = self.declared_name("a name")?;
        let mut range = None;
        let open = self.token.span;
        if self.eat(b'<') {
            range = Some(self.number(SHIFT)?);
            self.expect_closing(b'>', open)?;
        }
        let dimensions = self.dimensions()?;
        let mut initialiser = None;
        if self.eat(b'=') {
            initialiser = Some(self.initialiser(0)?);
        }
        Ok(Declarator { name, range, dimensions, initialiser })
    }

    fn dimensions(&mut self) -> Parse<Vec<Option<Expr>>> {
        let mut dimensions = Vec::new();
        while self.at(b'[') {
            if self.peek().is(b']') {
                self.advance();
                self.advance();
                dimensions.push(None);
            } else {
                dimensions.push(Some(self.bracketed()?));
            }
        }
        Ok(dimensions)
    }

    fn initialiser(&mut self, depth: u32) -> Parse<Initialiser> {
        if self.at(b'{') {
            if self.starts_fields() {
                return Ok(Initialiser::Fields(self.fields()?));
            }
            return Ok(Initialiser::List(self.initialiser_list(depth)?));
        }
        if self.token.kind == TokenKind::Ident && self.text() != "WARP_SZ" {
            return Ok(Initialiser::Address(Box::new(self.symbol_address()?)));
        }
        if !self.at_number()
            && !matches!(
                self.token.kind,
                TokenKind::Ident | TokenKind::Punct(b'+' | b'-' | b'!' | b'~' | b'(')
            )
        {
            return Err(self.error_here(codes::MALFORMED_INITIALISER, "expected a value"));
        }
        let constant = self.expression(TERNARY)?;
        let open = self.token.span;
        if !self.eat(b'(') {
            return Ok(Initialiser::Constant(constant));
        }
        let mut address = self.symbol_address()?;
        self.expect_closing(b')', open)?;
        address.mask = Some(constant);
        Ok(Initialiser::Address(Box::new(address)))
    }

    /// Whether the brace at the cursor opens fields, `{name = …`.
    fn starts_fields(&self) -> bool {
        let mut lexer = self.lexer.clone();
        lexer.next().kind == TokenKind::Ident && lexer.next().is(b'=')
    }

    /// The fields of an opaque object, with the cursor on `{`.
    fn fields(&mut self) -> Parse<Vec<Field>> {
        let open = self.token.span;
        self.advance();
        let mut fields = Vec::new();
        loop {
            let name = self.expect_ident("the name of a field")?;
            if !self.eat(b'=') {
                return Err(self.error_here(codes::MALFORMED_INITIALISER, "expected `=` and a value"));
            }
            let is_name = self.token.kind == TokenKind::Ident && self.text() != "WARP_SZ";
            let value = if is_name {
                FieldValue::Name(self.take_ident())
            } else {
                FieldValue::Constant(self.expression(TERNARY)?)
            };
            fields.push(Field { name, value });
            if !self.eat(b',') {
                break;
            }
        }
        self.expect_closing(b'}', open)?;
        Ok(fields)
    }

    fn initialiser_list(&mut self, depth: u32) -> Parse<Vec<Initialiser>> {
        let open = self.token.span;
        if depth >= MAX_EXPRESSION_HEIGHT {
            let message = format!("this initialiser nests more than {MAX_EXPRESSION_HEIGHT} levels deep");
            return Err(self.report(codes::EXPRESSION_TOO_DEEP, open, message));
        }
        self.advance();
        let mut values = Vec::new();
        if self.eat(b'}') {
            return Ok(values);
        }
        loop {
            values.push(self.initialiser(depth + 1)?);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect_closing(b'}', open)?;
        Ok(values)
    }

    /// `sym+4` or `generic(sym)+4`.
    fn symbol_address(&mut self) -> Parse<SymbolAddress> {
        let generic = self.token.kind == TokenKind::Ident && self.text() == "generic" && self.peek().is(b'(');
        let symbol = if generic {
            self.advance();
            let open = self.token.span;
            self.advance();
            let symbol = self.expect_ident("a variable or a function")?;
            self.expect_closing(b')', open)?;
            symbol
        } else {
            self.expect_ident("a variable or a function")?
        };
        let offset = self.offset()?;
        Ok(SymbolAddress { mask: None, generic, symbol, offset })
    }

    /// Parameters in parentheses with the cursor on `(`. A malformed parameter is reported and
    /// omitted.
    pub(super) fn parameters(&mut self) -> Parse<Vec<Parameter>> {
        let open = self.token.span;
        self.advance();
        let mut parameters = Vec::new();
        if self.eat(b')') {
            return Ok(parameters);
        }
        loop {
            let nodes = self.spans.len();
            match self.parameter() {
                Ok(parameter) => parameters.push(parameter),
                Err(Reported) => {
                    self.spans.truncate(nodes);
                    self.skip_parameter();
                    if !matches!(self.token.kind, TokenKind::Punct(b',' | b')')) {
                        return Err(Reported);
                    }
                }
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.expect_closing(b')', open)?;
        Ok(parameters)
    }

    fn skip_parameter(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.token.kind {
                TokenKind::End | TokenKind::Punct(b'{' | b'}' | b';') => return,
                TokenKind::Punct(b',' | b')') if depth == 0 => return,
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth -= 1,
                _ => {}
            }
            self.advance();
        }
    }

    fn parameter(&mut self) -> Parse<Parameter> {
        let id = self.open();
        let hidden = self.at_dotted("hidden");
        if hidden {
            self.advance();
        }
        let specifiers = self.specifiers()?;
        if !matches!(specifiers.space, Space::Param | Space::Reg) {
            let span = Span::new(self.spans.get(id).start, self.end);
            let message = format!("expected `.param` or `.reg`, found `.{}`", specifiers.space.spelling());
            return Err(self.report(codes::MALFORMED_PARAMETER, span, message));
        }
        if self.token.kind != TokenKind::Ident {
            return Err(self.error_here(codes::MALFORMED_PARAMETER, "expected the parameter's name"));
        }
        let word = self.token.span;
        self.advance();
        let name = Name::new(&self.lexer.text()[self.rest_of_name(word).range()]);
        let dimensions = self.dimensions()?;
        if !matches!(self.token.kind, TokenKind::Punct(b',' | b')')) {
            return Err(self.error_here(codes::MALFORMED_PARAMETER, "expected `,` or `)`"));
        }
        self.close(id);
        Ok(Parameter { id, hidden, specifiers, name, dimensions })
    }
}
