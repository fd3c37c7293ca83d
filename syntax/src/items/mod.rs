//! Splits a file into its top-level items without parsing them.
//!
//! In: the text of a file. Out: the items in order, each with its kind, declared names and byte
//! range. An edit inside one function changes only the text of that function's range, which makes
//! incremental compilation cheap.
//!
//! ```
//! use ptxc_syntax::items::{ItemKind, split};
//!
//! let text = ".version 9.0\n.target sm_90\n.visible .entry k(.param .u64 x) { ret; }";
//! let items = split(text);
//! assert_eq!(items.len(), 3);
//! assert_eq!(items[2].kind, ItemKind::Entry);
//! assert_eq!(items[2].names[0], "k");
//! assert_eq!(&text[items[2].head.range()], ".visible .entry k(.param .u64 x) ");
//! ```
//!
//! One pass with a counter of open braces, over the tokens except in bodies that are
//! [`plain`]; linear, no recursion, any text. The splitter must find the end of a function
//! whose body is damaged, so it follows three rules. A `{` in the middle of an instruction opens a
//! vector, which ends at the next `;` at the latest. A `}` before `,` closes nothing. `.entry` and
//! `.func`, which are not allowed in a body, end an unclosed one. Text that is not an item becomes
//! an [`ItemKind::Unknown`] that ends at the next `;`, brace or item.

mod plain;
mod resplit;

use smallvec::SmallVec;

use crate::ast::{Linkage, Space};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::name::Name;
use crate::span::Span;

pub use resplit::{Resplit, resplit};

/// The kind of an item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ItemKind {
    /// `.version`
    Version,
    /// `.target`
    Target,
    /// `.address_size`
    AddressSize,
    /// `.file`
    File,
    /// `.section`
    Section,
    /// `.pragma`
    Pragma,
    /// `.alias`
    Alias,
    /// A variable, or several of one type.
    Variable,
    /// A kernel.
    Entry,
    /// A device function.
    Func,
    /// Text that is not an item; parsing it gives the error.
    Unknown,
}

/// One top-level item of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemText {
    /// The kind.
    pub kind: ItemKind,
    /// The names that the item declares: one for a function or an alias, one or more for variables,
    /// none for other items. Names can be missing in damaged text.
    pub names: SmallVec<[Name; 1]>,
    /// Its bytes.
    pub span: Span,
    /// The bytes of a function before its body or its `;`; the whole of any other item.
    pub head: Span,
    /// Whether it is a function with a body.
    pub has_body: bool,
}

/// The items of `text` in order. Only spaces and comments lie between them.
///
/// The text must be shorter than 4 GiB; a longer text gives no items.
pub fn split(text: &str) -> Vec<ItemText> {
    if u32::try_from(text.len()).is_err() {
        return Vec::new();
    }
    let mut lexer = Lexer::new(text);
    let token = lexer.next();
    let mut splitter = Splitter { lexer, token, end: 0, found: plain::Found::default() };
    let mut items = Vec::new();
    while !splitter.is_done() {
        items.push(splitter.item());
    }
    items
}

struct Splitter<'a> {
    lexer: Lexer<'a>,
    token: Token,
    /// The end of the token before `token`.
    end: u32,
    /// What the searches in bodies have found.
    found: plain::Found,
}

impl<'a> Splitter<'a> {
    fn is_done(&self) -> bool {
        self.token.kind == TokenKind::End
    }

    fn text(&self) -> &'a str {
        &self.lexer.text()[self.token.span.range()]
    }

    fn advance(&mut self) {
        self.end = self.token.span.end;
        self.token = self.lexer.next();
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.token.kind == kind;
        if found {
            self.advance();
        }
        found
    }

    fn eat_punct(&mut self, punct: u8) -> bool {
        self.eat(TokenKind::Punct(punct))
    }

    /// The kind of item that the current token starts, if it can start one. Linkage counts as `Variable`.
    fn starts(&self) -> Option<ItemKind> {
        if self.token.kind != TokenKind::Dotted {
            return None;
        }
        item_kind(self.text())
    }

    fn item(&mut self) -> ItemText {
        let start = self.token.span.start;
        let mut item = ItemText {
            kind: ItemKind::Unknown,
            names: SmallVec::new(),
            span: Span::new(start, start),
            head: Span::new(start, start),
            has_body: false,
        };
        match self.starts() {
            None => self.unknown(),
            Some(kind) => {
                item.kind = kind;
                match kind {
                    ItemKind::Version => self.line(false),
                    ItemKind::Target | ItemKind::AddressSize | ItemKind::File => self.line(true),
                    ItemKind::Section => self.section(),
                    ItemKind::Pragma => self.statement(),
                    ItemKind::Alias => {
                        let next = self.lexer.clone().next();
                        if next.kind == TokenKind::Ident {
                            item.names.push(Name::new(&self.lexer.text()[next.span.range()]));
                        }
                        self.statement();
                    }
                    ItemKind::Variable | ItemKind::Entry | ItemKind::Func | ItemKind::Unknown => {
                        self.declaration(&mut item);
                    }
                }
            }
        }
        item.span.end = self.end;
        if item.head.is_empty() {
            item.head = item.span;
        }
        item
    }

    /// Skips at least one token, up to the next item.
    fn unknown(&mut self) {
        loop {
            let ends = matches!(self.token.kind, TokenKind::Punct(b';' | b'}'));
            self.advance();
            if ends || self.token.kind == TokenKind::End || self.starts().is_some() {
                return;
            }
        }
    }

    /// Skips a directive that ends with its line. It continues on the next line after a comma, and
    /// before a comma or the string of a `.file`; most also do so after their name.
    fn line(&mut self, continues_after_name: bool) {
        let mut continues = continues_after_name;
        loop {
            self.advance();
            continues |= self.token.is(b',') || self.token.kind == TokenKind::String;
            if self.token.kind == TokenKind::End
                || (self.token.first_on_line && !continues)
                || self.starts().is_some()
            {
                return;
            }
            continues = self.token.is(b',');
        }
    }

    /// Skips the current token, and then all tokens up to and including the next `;` outside
    /// braces, or up to the next item.
    fn statement(&mut self) {
        self.advance();
        let mut depth = 0u32;
        loop {
            match self.token.kind {
                TokenKind::End => return,
                TokenKind::Punct(b';') => {
                    self.advance();
                    return;
                }
                TokenKind::Punct(b'{') => depth += 1,
                TokenKind::Punct(b'}') if depth == 0 => return,
                TokenKind::Punct(b'}') => depth -= 1,
                TokenKind::Dotted if self.token.first_on_line && self.starts().is_some() => return,
                _ => {}
            }
            self.advance();
        }
    }

    fn section(&mut self) {
        self.advance();
        self.eat(TokenKind::Dotted);
        self.eat(TokenKind::Ident);
        if !self.token.is(b'{') {
            return;
        }
        while !matches!(self.token.kind, TokenKind::End | TokenKind::Punct(b'}')) {
            if matches!(self.starts(), Some(ItemKind::Entry | ItemKind::Func | ItemKind::Section)) {
                return;
            }
            self.advance();
        }
        self.eat_punct(b'}');
    }

    /// A variable or a function, from its linkage on.
    fn declaration(&mut self, item: &mut ItemText) {
        // Names inside brackets of any kind do not count; `initial` marks names after a `=`, which
        // do not count either.
        let mut depth = 0u32;
        let mut initial = false;
        let mut is_function = false;
        loop {
            match self.token.kind {
                TokenKind::End => break,
                TokenKind::Dotted => {
                    let kind = self.starts();
                    match kind {
                        Some(ItemKind::Entry | ItemKind::Func) if !is_function && item.names.is_empty() => {
                            item.kind = kind.unwrap_or(item.kind);
                            is_function = true;
                        }
                        // A new item begins before this one has ended.
                        Some(ItemKind::Variable) if depth > 0 || (item.names.is_empty() && !is_function) => {}
                        Some(ItemKind::Pragma) if is_function => {}
                        Some(_) => break,
                        None => {}
                    }
                }
                TokenKind::Ident if depth == 0 && !initial && (!is_function || item.names.is_empty()) => {
                    let start = self.token.span.start as usize;
                    self.advance();
                    // A dot in a name is an error, but it belongs to the name.
                    while self.token.kind == TokenKind::Dotted && self.token.span.start == self.end {
                        self.advance();
                    }
                    item.names.push(Name::new(&self.lexer.text()[start..self.end as usize]));
                    continue;
                }
                TokenKind::Punct(b'=') => initial = true,
                TokenKind::Punct(b',') if depth == 0 => initial = false,
                TokenKind::Punct(b'(' | b'[') => depth += 1,
                TokenKind::Punct(b')' | b']') => depth = depth.saturating_sub(1),
                TokenKind::Punct(b'{') if is_function => {
                    item.head.end = self.token.span.start;
                    item.has_body = true;
                    self.body();
                    return;
                }
                TokenKind::Punct(b'{') => depth += 1,
                TokenKind::Punct(b'}') if depth == 0 => break,
                TokenKind::Punct(b'}') => depth -= 1,
                TokenKind::Punct(b';') => {
                    // The strings of a `.pragma` between parameters and body end with a semicolon.
                    item.head.end = self.token.span.start;
                    self.advance();
                    let continues = is_function
                        && item.names.len() == 1
                        && self.pragma_ended(item.head.end)
                        && (self.token.is(b'{') || self.token.kind == TokenKind::Dotted);
                    if !continues {
                        return;
                    }
                    continue;
                }
                _ => {}
            }
            self.advance();
        }
        item.head.end = self.end;
    }

    /// Whether the `;` at byte `semicolon` follows a string, which is so only in a `.pragma`.
    fn pragma_ended(&self, semicolon: u32) -> bool {
        self.lexer.text()[..semicolon as usize].trim_ascii_end().ends_with('"')
    }

    /// Skips a body, from its `{` to after its `}`.
    fn body(&mut self) {
        let start = self.token.span.start as usize;
        match plain::end_of_body(self.lexer.text().as_bytes(), start, &mut self.found) {
            Some(end) => {
                self.end = end as u32;
                self.lexer.rewind(self.end);
                self.token = self.lexer.next();
            }
            None => self.damaged_body(),
        }
    }

    /// Skips a body token by token.
    fn damaged_body(&mut self) {
        let mut scopes = 0u32;
        let mut vectors = 0u32;
        let mut in_operands = false;
        // The start of the linkage before a possible `.entry`: the next item begins there.
        let mut linkage: Option<(Lexer<'a>, Token, u32)> = None;
        while self.token.kind != TokenKind::End {
            let token = self.token;
            let mut is_linkage = false;
            match token.kind {
                TokenKind::Punct(b'{') if vectors > 0 || in_operands => vectors += 1,
                TokenKind::Punct(b'{') => scopes += 1,
                TokenKind::Punct(b'}') if vectors > 0 => vectors -= 1,
                TokenKind::Punct(b'}') => {
                    linkage = None;
                    self.advance();
                    if self.token.is(b',') {
                        continue;
                    }
                    scopes -= 1;
                    if scopes == 0 {
                        return;
                    }
                    in_operands = false;
                    continue;
                }
                TokenKind::Punct(b';') => vectors = 0,
                TokenKind::Dotted => match self.starts() {
                    Some(ItemKind::Entry | ItemKind::Func) => {
                        if let Some((lexer, token, end)) = linkage {
                            (self.lexer, self.token, self.end) = (lexer, token, end);
                        }
                        return;
                    }
                    Some(ItemKind::Variable) if is_linkage_word(self.text()) => {
                        is_linkage = true;
                        if linkage.is_none() {
                            linkage = Some((self.lexer.clone(), token, self.end));
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
            if !is_linkage {
                linkage = None;
            }
            // A brace after one of these opens an operand or an initialiser; any other brace opens
            // a block.
            in_operands = matches!(
                token.kind,
                TokenKind::Ident | TokenKind::Dotted | TokenKind::Punct(b',' | b'=' | b'[' | b'(')
            );
            self.advance();
        }
    }
}

fn is_linkage_word(dotted: &str) -> bool {
    Linkage::ALL.iter().any(|linkage| linkage.spelling() == &dotted[1..])
}

/// The kind of item that the directive `dotted` starts.
pub(crate) fn item_kind(dotted: &str) -> Option<ItemKind> {
    Some(match &dotted[1..] {
        "version" => ItemKind::Version,
        "target" => ItemKind::Target,
        "address_size" => ItemKind::AddressSize,
        "file" => ItemKind::File,
        "section" => ItemKind::Section,
        "pragma" => ItemKind::Pragma,
        "alias" => ItemKind::Alias,
        "entry" => ItemKind::Entry,
        "func" => ItemKind::Func,
        word if Linkage::ALL.iter().any(|linkage| linkage.spelling() == word) => ItemKind::Variable,
        word if Space::ALL.iter().any(|space| space.spelling() == word) => ItemKind::Variable,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The end of the body that begins the text, found by its tokens.
    fn by_tokens(text: &str) -> u32 {
        let mut lexer = Lexer::new(text);
        let token = lexer.next();
        let mut splitter = Splitter { lexer, token, end: 0, found: plain::Found::default() };
        splitter.damaged_body();
        splitter.end
    }

    #[test]
    fn bodies_in_order_are_found_without_tokens() {
        for text in [
            "{}",
            "{ a: { b; } // }\n }",
            "{ ld.v2.u32 {%r1, %r2}, [%rd1]; }",
            "{ .pragma \"}{\\\"\"; /* } */ ret; }",
            "{ call (r), f, ({%r1}); } // , not after it",
            "{ .reg .b32 x; // a comment, and a block\n { mov.b64 {%r1, %r2}, %rd1; } }",
        ] {
            assert_eq!(
                plain::end_of_body(text.as_bytes(), 0, &mut plain::Found::default()),
                Some(by_tokens(text) as usize),
                "{text}"
            );
        }
    }

    #[test]
    fn an_unclosed_body_hides_no_comment_of_the_next() {
        let text = ".func a() { .entry b() {*//* } */ ret; }\n.entry c() { ret; }";
        let ends: Vec<u32> = split(text).iter().map(|item| item.span.end).collect();
        assert_eq!(ends, [11, 25, text.len() as u32]);
        let text = ".entry a() { {} // .entry\n, } }";
        assert_eq!(split(text).len(), 1);
    }

    #[test]
    fn linkage_belongs_to_the_function_that_follows_it() {
        let text = ".entry a() { { .visible .entry b() { ret; }";
        let begins = |text| split(text).iter().map(|item| item.span.start).collect::<Vec<u32>>();
        assert_eq!(begins(text), [0, 15]);
        // Not with a brace between them: an item ends where the tokens of the next two items decide it.
        let text = ".entry a() { { .visible } .entry b() { ret; }";
        assert_eq!(begins(text), [0, 26]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Bodies of pieces that can affect where a body ends.
        #[test]
        fn the_search_agrees_with_the_tokens(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "{", "}", ";", ",", " ", "\n", "# 1 \"{", "\" 2\n", "//", "/*", "*/", "/", "\"", "\\", "=", "==", "<", "[", "(", ":",
                    "a", ".v4", "%r1", "5", "1.", ".5", "0f", "$L", ".entry", ".visible", "@@DWARF", "é", "ret;", "{%r1, %r2}",
                ]),
                0..40,
            ),
        ) {
            let text = format!("{{{}}}", pieces.concat());
            if let Some(end) = plain::end_of_body(text.as_bytes(), 0, &mut plain::Found::default()) {
                prop_assert_eq!(end as u32, by_tokens(&text), "{}", text);
            }
        }
    }
}
