//! Kernels and device functions.

use super::cursor::{Parse, Parser};
use super::expression::TERNARY;
use crate::ast::{Directive, DirectiveKind, Function, FunctionKind, Ident};
use crate::codes;
use crate::error::Parsed;
use crate::lexer::TokenKind;
use crate::span::{NodeId, Span};

/// Parses the text of one function, as [`split`](crate::items::split) cuts it out.
///
/// Spans count from the start of `text`.
///
/// ```
/// let parsed = ptxc_syntax::parse_function(".entry k(.param .u64 x) { @%p bra L; L: ret; }");
/// assert!(parsed.errors.is_empty());
/// assert_eq!(parsed.value.name.name, "k");
/// assert_eq!(parsed.value.body.map(|body| body.len()), Some(3));
/// ```
pub fn parse_function(text: &str) -> Parsed<Function> {
    let mut parser = Parser::new(text);
    let function = parser.function(true);
    parser.expect_end();
    parser.finish(function)
}

/// Parses the head of a function and stops at the `{` of its body; [`Function::body`] is always none.
///
/// The node ids are those that [`parse_function`] gives to the same parts.
pub fn parse_signature(text: &str) -> Parsed<Function> {
    let mut parser = Parser::new(text);
    let function = parser.function(false);
    parser.finish(function)
}

impl Parser<'_> {
    /// A function. The head is read up to its first error; the body is read even if the head has
    /// one.
    pub(super) fn function(&mut self, with_body: bool) -> Function {
        let id = self.open();
        let mut function = Function {
            id,
            linkage: None,
            kind: FunctionKind::Func,
            attributes: Vec::new(),
            returns: Vec::new(),
            name: Ident { id, name: "".into() },
            parameters: Vec::new(),
            directives: Vec::new(),
            body: None,
        };
        let sound = self.function_head(&mut function);
        if sound.is_err() {
            let start = self.spans.get(id).start;
            self.skip_head();
            self.lost.push(Span::new(start, self.end));
        }
        self.close(id);
        if !with_body {
            return function;
        }
        if self.at(b'{') {
            function.body = Some(self.body());
        } else if sound.is_ok() && !self.eat(b';') && !self.ends_prototype(&function) {
            let _ = self.error_here(codes::EXPECTED_SEMICOLON, "expected a body or `;`");
            self.skip_head();
        }
        function
    }

    /// Whether a declaration without a body may end here without `;`. Old compilers (nvopencc of CUDA
    /// 2 to 4) write device functions so; the next item ends the declaration.
    fn ends_prototype(&self, function: &Function) -> bool {
        function.kind == FunctionKind::Func && self.at_end()
    }

    fn skip_head(&mut self) {
        while !matches!(self.token.kind, TokenKind::End | TokenKind::Punct(b'{')) {
            self.advance();
        }
    }

    fn function_head(&mut self, function: &mut Function) -> Parse<()> {
        function.linkage = self.linkage()?;
        function.kind = match self.text() {
            ".entry" => FunctionKind::Entry,
            ".func" => FunctionKind::Func,
            _ => return Err(self.error_here(codes::EXPECTED_ITEM, "expected `.entry` or `.func`")),
        };
        self.advance();
        while function.kind == FunctionKind::Func && self.at_dotted("attribute") {
            self.attributes(&mut function.attributes)?;
        }
        if function.kind == FunctionKind::Func && self.at(b'(') {
            function.returns = self.parameters()?;
        }
        function.name = self.declared_name("the name of the function")?;
        if self.at(b'(') {
            function.parameters = self.parameters()?;
        }
        function.directives = self.function_directives(function.kind)?;
        self.misplaced_directives(function);
        if !matches!(self.token.kind, TokenKind::Punct(b'{' | b';') | TokenKind::End) {
            return Err(self.error_here(codes::EXPECTED_SEMICOLON, "expected a body or `;`"));
        }
        Ok(())
    }

    /// Reports directives that are allowed only with a body, or only without one.
    fn misplaced_directives(&mut self, function: &Function) {
        let is_pragma = |directive: &&Directive| directive.kind == DirectiveKind::Pragma;
        let found = match function.kind {
            // Without a body it belongs to the module.
            FunctionKind::Func if self.at(b'{') => function.directives.iter().find(is_pragma),
            FunctionKind::Entry if self.at(b';') => function.directives.first(),
            _ => None,
        };
        if let Some(directive) = found {
            let message = match function.kind {
                FunctionKind::Entry => "a declaration of a kernel has no directives",
                FunctionKind::Func => "`.pragma` must be inside the body of a device function",
            };
            self.report(codes::UNKNOWN_DIRECTIVE, self.spans.get(directive.id), message.to_owned());
        }
    }

    /// `.maxntid 256, 1, 1` and the like.
    pub(super) fn function_directives(&mut self, function: FunctionKind) -> Parse<Vec<Directive>> {
        let mut directives: Vec<Directive> = Vec::new();
        let mut seen = 0u32;
        while self.token.kind == TokenKind::Dotted {
            let word = &self.text()[1..];
            let Some(kind) = DirectiveKind::ALL.into_iter().find(|kind| kind.spelling() == word) else {
                let message = format!("`.{word}` is not a directive of a function");
                return Err(self.report(codes::UNKNOWN_DIRECTIVE, self.token.span, message));
            };
            if !kind.is_of(function) {
                let whose = if function == FunctionKind::Entry { "kernel" } else { "device function" };
                let message = format!("`.{word}` is not a directive of a {whose}");
                self.report(codes::UNKNOWN_DIRECTIVE, self.token.span, message);
            } else if kind == DirectiveKind::NoReturn && !directives.is_empty() {
                let message = "`.noreturn` must be the first directive of a function".to_owned();
                self.report(codes::UNKNOWN_DIRECTIVE, self.token.span, message);
            } else if function == FunctionKind::Func && seen & 1 << kind as u32 != 0 {
                let message = format!("`.{word}` is written twice");
                self.report(codes::DUPLICATE_SPECIFIER, self.token.span, message);
            }
            if kind != DirectiveKind::Pragma {
                seen |= 1 << kind as u32;
            }
            let id = self.open();
            directives.push(self.function_directive(id, kind)?);
        }
        Ok(directives)
    }

    fn function_directive(&mut self, id: NodeId, kind: DirectiveKind) -> Parse<Directive> {
        if kind == DirectiveKind::Pragma {
            let strings = self.pragma(id)?.strings;
            return Ok(Directive { id, kind, values: Vec::new(), strings });
        }
        self.advance();
        if kind == DirectiveKind::Language && self.token.kind == TokenKind::String {
            let strings = vec![self.expect_string()?];
            self.close(id);
            return Ok(Directive { id, kind, values: Vec::new(), strings });
        }
        let (least, most) = kind.arity();
        let mut values = Vec::new();
        if most > 0 {
            values.push(self.number(TERNARY)?);
            while self.eat(b',') {
                values.push(self.number(TERNARY)?);
            }
        }
        self.close(id);
        if values.len() < least || values.len() > most {
            let message =
                format!("`.{}` expects {least} to {most} numbers, found {}", kind.spelling(), values.len());
            self.report(codes::DIRECTIVE_ARGUMENTS, self.spans.get(id), message);
            values.truncate(most);
        }
        Ok(Directive { id, kind, values, strings: Vec::new() })
    }
}
