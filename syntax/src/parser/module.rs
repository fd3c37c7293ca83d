//! Whole files, and top-level items other than functions.

use super::cursor::{Parse, Parser};
use crate::ast::{AddressSize, Alias, Item, Module, Target, Version};
use crate::codes;
use crate::error::{Parsed, SyntaxError};
use crate::items::{ItemKind, split};
use crate::lexer::TokenKind;
use crate::span::{ModuleSpans, NodeId, Span};

/// Parses a whole file.
///
/// [`split`] cuts out each item, which is then parsed separately, so that its nodes are the same as
/// those of [`parse_function`](super::parse_function) or [`parse_item`] on its text. The spans of
/// the errors count from the start of the file.
///
/// ```
/// let parsed = ptxc_syntax::parse_module(".version 9.0\n.target sm_90\n.global .u32 x = ;");
/// assert_eq!(parsed.errors.len(), 1);
/// assert_eq!(parsed.errors[0].code.to_string(), "E0024");
/// assert_eq!(parsed.value.items.len(), 2);
/// ```
pub fn parse_module(text: &str) -> Parsed<Module, ModuleSpans> {
    let mut parsed = Parsed {
        value: Module::default(),
        spans: ModuleSpans::default(),
        errors: Vec::new(),
        lost: Vec::new(),
    };
    if u32::try_from(text.len()).is_err() {
        parsed.errors.push(SyntaxError {
            code: codes::FILE_TOO_LARGE,
            span: Span::default(),
            message: "this file has 4 GiB or more".to_owned(),
            related: None,
            note: codes::explain(codes::FILE_TOO_LARGE).map(Into::into),
            help: None,
        });
        return parsed;
    }
    for item in split(text) {
        let one = parse_item(&text[item.span.range()], item.kind);
        let base = item.span.start;
        parsed.errors.extend(one.errors.into_iter().map(|error| error.shifted(base)));
        if let Some(value) = one.value {
            parsed.value.items.push(value);
            parsed.spans.items.push((base, one.spans));
        }
    }
    parsed
}

/// Parses the text of one item of the kind that [`split`] found; none if nothing of it is
/// understood.
pub fn parse_item(text: &str, kind: ItemKind) -> Parsed<Option<Item>> {
    let mut parser = Parser::new(text);
    let item = parser.item(kind).ok();
    parser.expect_end();
    parser.finish(item)
}

/// The errors of [`parse_item`], without the tree of a function's body, which costs most of the
/// time and memory.
///
/// ```
/// use ptxc_syntax::{item_errors, items::ItemKind};
///
/// assert!(item_errors(".entry k() { ret; }", ItemKind::Entry).is_empty());
/// assert_eq!(item_errors(".entry k() { add.s32 %r1 %r2; }", ItemKind::Entry).len(), 1);
/// ```
pub fn item_errors(text: &str, kind: ItemKind) -> Vec<SyntaxError> {
    let mut parser = Parser::new(text);
    parser.keeps_tree = false;
    // An item that is not understood has been reported.
    let _ = parser.item(kind);
    parser.expect_end();
    parser.errors
}

impl Parser<'_> {
    fn item(&mut self, kind: ItemKind) -> Parse<Item> {
        if matches!(kind, ItemKind::Entry | ItemKind::Func) {
            return Ok(Item::Function(self.function(true)));
        }
        let id = self.open();
        match kind {
            ItemKind::Version => self.version(id),
            ItemKind::Target => self.target(id),
            ItemKind::AddressSize => self.address_size(id),
            ItemKind::File => Ok(Item::File(self.file(id)?)),
            ItemKind::Section => Ok(Item::Section(self.section(id)?)),
            ItemKind::Pragma => Ok(Item::Pragma(self.pragma(id)?)),
            ItemKind::Alias => self.alias(id),
            ItemKind::Variable => {
                let linkage = self.linkage()?;
                Ok(Item::Declaration(self.declaration(id, linkage)?))
            }
            ItemKind::Entry | ItemKind::Func | ItemKind::Unknown => Err(self.unknown_item()),
        }
    }

    fn unknown_item(&mut self) -> super::cursor::Reported {
        if self.token.kind == TokenKind::Dotted {
            let message = format!("{} is not a directive of a module", self.describe());
            return self.report(codes::UNKNOWN_DIRECTIVE, self.token.span, message);
        }
        if self.at(b'}') {
            let message = "this `}` closes nothing".to_owned();
            return self.report(codes::UNMATCHED_BRACE, self.token.span, message);
        }
        self.error_here(codes::EXPECTED_ITEM, "expected a variable, a function or a directive")
    }

    fn version(&mut self, id: NodeId) -> Parse<Item> {
        self.advance();
        let text = self.text();
        let parts = text.split_once('.').and_then(|(major, minor)| {
            let digits =
                |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok());
            Some((digits(major)??, digits(minor)??))
        });
        let Some((major, minor)) = parts else {
            return Err(self.error_here(codes::MALFORMED_HEADER, "expected a version such as `9.0`"));
        };
        self.advance();
        self.close(id);
        Ok(Item::Version(Version { id, major, minor }))
    }

    fn target(&mut self, id: NodeId) -> Parse<Item> {
        self.advance();
        let mut names = Vec::new();
        loop {
            if self.token.kind != TokenKind::Ident {
                return Err(self.error_here(codes::MALFORMED_HEADER, "expected a target such as `sm_90`"));
            }
            names.push(self.take_ident());
            if !self.eat(b',') {
                break;
            }
        }
        self.close(id);
        Ok(Item::Target(Target { id, names }))
    }

    fn address_size(&mut self, id: NodeId) -> Parse<Item> {
        self.advance();
        let span = self.token.span;
        let bits = self.expect_int("32 or 64")?;
        self.close(id);
        match bits {
            32 | 64 => Ok(Item::AddressSize(AddressSize { id, bits: bits as u32 })),
            _ => {
                let message = format!("expected an address size of 32 or 64 bits, found {bits}");
                Err(self.report(codes::MALFORMED_HEADER, span, message))
            }
        }
    }

    fn alias(&mut self, id: NodeId) -> Parse<Item> {
        self.advance();
        let name = self.declared_name("the new name")?;
        if !self.eat(b',') {
            return Err(self.error_here(codes::EXPECTED_COMMA, "expected `,`"));
        }
        let aliasee = self.expect_ident("the name of a function")?;
        self.close(id);
        self.expect_semicolon()?;
        Ok(Item::Alias(Alias { id, name, aliasee }))
    }
}
