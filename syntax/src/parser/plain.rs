//! Parses plain labels and instructions directly from their bytes, without making tokens.
//!
//! Nearly all statements are an opcode in one piece with registers, numbers, addresses and vectors
//! of these, on one line, without a comment. [`Plain::statement`] recognises such a statement in
//! one pass over its bytes. [`Plain::build`] then builds the same tree with the same nodes that the
//! other files of this parser would build from its tokens. Any other statement is left to the
//! tokens, so no mistake is reported here. A property test compares both.
//!
//! The recogniser reads at most the line of a statement, its `;` and the spaces after it, and reads
//! each place only once. The time is therefore linear, whatever the tokens are.

use super::cursor::Parser;
use super::operand::{NO_SYMBOL, is_special_vector};
use crate::ast::{
    Address, Expr, Guard, Instruction, IntLiteral, Opcode, Operand, OperandKind, Radix, Statement,
    StatementKind, SymbolOffset, UnaryOp,
};
use crate::lexer::{TokenKind, is_ident_byte, is_ident_start, is_space};
use crate::name::Name;
use crate::span::{Span, SpanMap};

/// The greatest number of operands and elements of a plain statement, so that the list of pieces
/// stays short for any text.
const MOST_PIECES: usize = 256;

/// The statement recognised last.
#[derive(Debug, Default)]
pub(super) struct Plain {
    /// The whole statement, without the `;` or the `:`.
    span: Span,
    guard: Option<PlainGuard>,
    /// The start of the opcode.
    opcode: u32,
    /// The ends of the mnemonic and of each modifier; empty for a label.
    parts: Vec<u32>,
    /// The number of operands of the instruction.
    operands: usize,
    /// The operands in the order of their nodes: the elements of a vector or a pair follow it.
    pieces: Vec<Piece>,
    /// The start of a statement that is not plain.
    refused: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct PlainGuard {
    span: Span,
    negated: bool,
    /// The start of the register.
    register: u32,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    span: Span,
    shape: Shape,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Sink,
    Symbol,
    /// A name with a selector, and the place of the dot.
    Dotted(u32),
    Constant(Constant),
    Address(Span, Option<Constant>),
    /// A vector, and the number of its elements.
    Vector(u32),
    /// A pair of the two pieces that follow.
    Pair,
}

#[derive(Clone, Copy, Debug)]
enum Constant {
    Int(IntLiteral),
    /// An integer after a minus.
    Negative(IntLiteral),
    F32(u32),
    F64(u64),
}

impl Parser<'_> {
    /// Reads statements from the cursor on as long as they are plain, at most `most`; returns their
    /// number.
    pub(super) fn plain_statements(&mut self, statements: &mut Vec<Statement>, most: usize) -> usize {
        let start = self.token.span.start;
        let may_be = matches!(self.token.kind, TokenKind::Ident | TokenKind::Punct(b'@'));
        if !may_be || self.plain.refused == Some(start) || self.by_tokens {
            return 0;
        }
        let text = self.lexer.text();
        let mut count = 0;
        let mut at = start as usize;
        while let Some(end) = self.plain.statement(text.as_bytes(), at) {
            if self.keeps_tree {
                statements.push(self.plain.build(text, &mut self.spans));
            }
            count += 1;
            self.end = end as u32;
            at = skip(text.as_bytes(), end, |byte| is_space(byte) || byte == b'\n');
            if count == most {
                break;
            }
        }
        if count > 0 {
            self.plain.refused = Some(at as u32);
            self.rewind(self.end);
        }
        count
    }
}

/// The byte at a place; 0 after the end.
#[inline]
fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// The place of the first byte from `at` on that fails the test.
#[inline]
fn skip(text: &[u8], mut at: usize, test: impl Fn(u8) -> bool) -> usize {
    while text.get(at).is_some_and(|&byte| test(byte)) {
        at += 1;
    }
    at
}

fn span(start: usize, end: usize) -> Span {
    Span::new(start as u32, end as u32)
}

impl Plain {
    /// Recognises the statement at `start`; returns the place after its `;` or `:`.
    fn statement(&mut self, text: &[u8], start: usize) -> Option<usize> {
        self.guard = None;
        self.parts.clear();
        let mut at = start;
        if byte(text, at) == b'@' {
            at = self.read_guard(text, at)?;
        }
        if !is_name_start(text, at) {
            return None;
        }
        self.opcode = at as u32;
        at = skip(text, at + 1, is_ident_byte);
        if byte(text, at) == b':' && self.guard.is_none() {
            self.span = span(start, at);
            return is_plain_after_label(text, at + 1).then_some(at + 1);
        }
        self.parts.push(at as u32);
        while byte(text, at) == b'.' && is_ident_byte(byte(text, at + 1)) {
            at = skip(text, at + 2, is_ident_byte);
            while byte(text, at) == b':' && byte(text, at + 1) == b':' && is_ident_byte(byte(text, at + 2)) {
                at = skip(text, at + 3, is_ident_byte);
            }
            self.parts.push(at as u32);
        }
        let end = self.read_operands(text, at)?;
        self.span.start = start as u32;
        Some(end)
    }

    /// Recognises `@p ` or `@!p `; returns the start of the opcode.
    fn read_guard(&mut self, text: &[u8], start: usize) -> Option<usize> {
        let negated = byte(text, start + 1) == b'!';
        let register = start + 1 + usize::from(negated);
        let end = skip_name(text, register)?;
        if &text[register..end] == b"_" {
            return None;
        }
        self.guard = Some(PlainGuard { span: span(start, end), negated, register: register as u32 });
        Some(skip(text, end, is_space))
    }

    /// Recognises operands and the `;` after them, and sets the end of the statement; returns the
    /// place after the `;`.
    fn read_operands(&mut self, text: &[u8], opcode_end: usize) -> Option<usize> {
        self.pieces.clear();
        self.operands = 0;
        self.span.end = opcode_end as u32;
        let mut at = skip(text, opcode_end, is_space);
        if byte(text, at) == b';' {
            return Some(at + 1);
        }
        loop {
            let first = byte(text, at);
            at = match first {
                b'[' => self.read_address(text, at)?,
                b'{' => self.read_vector(text, at)?,
                _ => self.read_element(text, at)?,
            };
            self.operands += 1;
            let mut end = at;
            at = skip(text, end, is_space);
            // After a vector, the last piece is an element.
            if byte(text, at) == b'|' && first != b'{' {
                end = self.read_second(text, at)?;
                at = skip(text, end, is_space);
            }
            match byte(text, at) {
                b',' if self.pieces.len() < MOST_PIECES => at = skip(text, at + 1, is_space),
                b';' => {
                    self.span.end = end as u32;
                    return Some(at + 1);
                }
                _ => return None,
            }
        }
    }

    /// Recognises `|b` after a name. The name is the last piece so far and becomes the first of a
    /// pair. Returns the place after `b`.
    fn read_second(&mut self, text: &[u8], bar: usize) -> Option<usize> {
        let is_name = |piece: &&Piece| matches!(piece.shape, Shape::Sink | Shape::Symbol | Shape::Dotted(_));
        let first = *self.pieces.last().filter(is_name)?;
        let end = self.read_element(text, skip(text, bar + 1, is_space))?;
        self.pieces.last().filter(is_name)?;
        let pair = Piece { span: Span::new(first.span.start, end as u32), shape: Shape::Pair };
        self.pieces.insert(self.pieces.len() - 2, pair);
        Some(end)
    }

    /// Recognises an element of a vector; returns the place after it.
    #[inline]
    fn read_element(&mut self, text: &[u8], start: usize) -> Option<usize> {
        let (shape, end) = if let Some(end) = skip_name(text, start) {
            if byte(text, end) == b'.' && is_ident_byte(byte(text, end + 1)) {
                (Shape::Dotted(end as u32), skip(text, end + 2, is_ident_byte))
            } else {
                let is_sink = end == start + 1 && byte(text, start) == b'_';
                (if is_sink { Shape::Sink } else { Shape::Symbol }, end)
            }
        } else {
            let (constant, end) = constant(text, start)?;
            (Shape::Constant(constant), end)
        };
        self.pieces.push(Piece { span: span(start, end), shape });
        Some(end)
    }

    /// Recognises `[a]`, `[a+4]` or `[a+-4]`; returns the place after it.
    fn read_address(&mut self, text: &[u8], start: usize) -> Option<usize> {
        let base = skip(text, start + 1, is_space);
        let base_end = skip_name(text, base)?;
        let mut at = skip(text, base_end, is_space);
        let mut offset = None;
        if byte(text, at) == b'+' {
            at = skip(text, at + 1, is_space);
            let (found, end) = constant(text, at)?;
            (offset, at) = (Some(found), skip(text, end, is_space));
        }
        // A dot after the bracket starts a property.
        if byte(text, at) != b']' || byte(text, at + 1) == b'.' || &text[base..base_end] == b"_" {
            return None;
        }
        let shape = Shape::Address(span(base, base_end), offset);
        self.pieces.push(Piece { span: span(start, at + 1), shape });
        Some(at + 1)
    }

    /// Recognises `{a, b}`; returns the place after it.
    fn read_vector(&mut self, text: &[u8], start: usize) -> Option<usize> {
        let place = self.pieces.len();
        self.pieces.push(Piece { span: Span::default(), shape: Shape::Sink });
        let mut count = 0;
        let mut at = start;
        loop {
            at = skip(text, at + 1, is_space);
            at = self.read_element(text, at)?;
            count += 1;
            at = skip(text, at, is_space);
            match byte(text, at) {
                b',' if self.pieces.len() < MOST_PIECES => {}
                b'}' => break,
                _ => return None,
            }
        }
        self.pieces[place] = Piece { span: span(start, at + 1), shape: Shape::Vector(count) };
        Some(at + 1)
    }

    /// Builds the statement recognised last; `text` must be the text in which it was recognised.
    fn build(&self, text: &str, spans: &mut SpanMap) -> Statement {
        let id = spans.push(self.span);
        let Some(&opcode_end) = self.parts.last() else {
            return Statement { id, kind: StatementKind::Label(Name::new(&text[self.span.range()])) };
        };
        let guard = self.guard.map(|guard| Guard {
            id: spans.push(guard.span),
            negated: guard.negated,
            register: Name::new(&text[guard.register as usize..guard.span.end as usize]),
        });
        let opcode_id = spans.push(Span::new(self.opcode, self.parts[0]));
        for ends in self.parts.windows(2) {
            spans.push(Span::new(ends[0], ends[1]));
        }
        let opcode = Opcode::new(opcode_id, Name::new(&text[Span::new(self.opcode, opcode_end).range()]));
        let mut pieces = self.pieces.iter();
        let mut operands = Vec::with_capacity(self.operands);
        while let Some(piece) = pieces.next() {
            let id = spans.push(piece.span);
            let kind = match piece.shape {
                Shape::Vector(count) => {
                    let elements = pieces.by_ref().take(count as usize);
                    OperandKind::Vector(elements.map(|piece| piece.element(text, spans)).collect())
                }
                Shape::Pair => {
                    let mut part = || pieces.next().map(|piece| piece.element(text, spans));
                    let (Some(first), Some(second)) = (part(), part()) else { break };
                    OperandKind::Pair(Box::new((first, second)))
                }
                _ => piece.kind(text),
            };
            operands.push(Operand { id, kind });
        }
        let operands = operands.into_boxed_slice();
        Statement { id, kind: StatementKind::Instruction(Instruction { guard, opcode, operands }) }
    }
}

impl Piece {
    fn element(&self, text: &str, spans: &mut SpanMap) -> Operand {
        Operand { id: spans.push(self.span), kind: self.kind(text) }
    }

    /// The operand, if it has no elements.
    fn kind(&self, text: &str) -> OperandKind {
        match self.shape {
            // Their elements are in other pieces.
            Shape::Sink | Shape::Vector(_) | Shape::Pair => OperandKind::Sink,
            Shape::Symbol => OperandKind::Symbol(Name::new(&text[self.span.range()])),
            Shape::Dotted(dot) => {
                let all = &text[self.span.range()];
                let (name, selector) = all.split_at((dot - self.span.start) as usize);
                if is_special_vector(name) {
                    OperandKind::Symbol(Name::new(all))
                } else {
                    OperandKind::Selected(Box::new((Name::new(name), Name::new(&selector[1..]))))
                }
            }
            Shape::Constant(constant) => OperandKind::Immediate(constant.expr()),
            Shape::Address(base, offset) => {
                let base = Some(Name::new(&text[base.range()]));
                let place = SymbolOffset { base, offset: offset.map(Constant::expr) };
                OperandKind::Address(Box::new(Address { place, rest: Vec::new(), property: None }))
            }
        }
    }
}

impl Constant {
    fn expr(self) -> Expr {
        match self {
            Constant::Int(literal) => Expr::Int(literal),
            Constant::Negative(literal) => Expr::Unary(Box::new((UnaryOp::Neg, Expr::Int(literal)))),
            Constant::F32(bits) => Expr::F32(bits),
            Constant::F64(bits) => Expr::F64(bits),
        }
    }
}

/// Whether the text after a label is not a directive that the label could name.
fn is_plain_after_label(text: &[u8], at: usize) -> bool {
    let next = skip(text, at, |byte| is_space(byte) || byte == b'\n');
    !matches!(byte(text, next), b'.' | b'/')
}

/// Whether a name without `%` begins at `at`.
fn is_name_start(text: &[u8], at: usize) -> bool {
    is_ident_start(byte(text, at)) && (byte(text, at) != b'$' || is_ident_byte(byte(text, at + 1)))
}

/// The end of the name that begins at `start`; `None` if there is no name, or if the name has a
/// special meaning.
#[inline(always)]
fn skip_name(text: &[u8], start: usize) -> Option<usize> {
    let first = byte(text, start);
    if first == b'%' {
        return is_ident_byte(byte(text, start + 1)).then(|| skip(text, start + 2, is_ident_byte));
    }
    if !is_name_start(text, start) {
        return None;
    }
    let end = skip(text, start + 1, is_ident_byte);
    let name = &text[start..end];
    (name != NO_SYMBOL.as_bytes() && !(name == b"_" && byte(text, end) == b'.')).then_some(end)
}

/// The constant at `start`, if it has one of the usual forms, and the place after it.
fn constant(text: &[u8], start: usize) -> Option<(Constant, usize)> {
    let digits = start + 2;
    match (byte(text, start), byte(text, start + 1)) {
        (b'-', _) => decimal(text, start + 1).map(|(value, end)| (Constant::Negative(value), end)),
        (b'0', b'x' | b'X') => {
            let (value, end) = hexadecimal(text, digits, 1..=16)?;
            Some((Constant::Int(IntLiteral { value, radix: Radix::Hexadecimal, unsigned: false }), end))
        }
        (b'0', b'f' | b'F') => {
            let (bits, end) = hexadecimal(text, digits, 8..=8)?;
            Some((Constant::F32(bits as u32), end))
        }
        (b'0', b'd' | b'D') => {
            let (bits, end) = hexadecimal(text, digits, 16..=16)?;
            Some((Constant::F64(bits), end))
        }
        _ => decimal(text, start).map(|(value, end)| (Constant::Int(value), end)),
    }
}

/// A decimal number without leading zeros that fits into 64 bits.
fn decimal(text: &[u8], start: usize) -> Option<(IntLiteral, usize)> {
    let mut value = 0u64;
    let mut at = start;
    while let Some(digit) = Some(byte(text, at).wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    let next = byte(text, at);
    let is_whole = !is_ident_byte(next) && next != b'.';
    let fits = (1..19).contains(&(at - start)) && (byte(text, start) != b'0' || at == start + 1);
    let literal = IntLiteral { value, radix: Radix::Decimal, unsigned: false };
    (fits && is_whole).then_some((literal, at))
}

/// The value of the hexadecimal digits at `start`, if their number is in `allowed` and no other
/// word character follows.
fn hexadecimal(text: &[u8], start: usize, allowed: std::ops::RangeInclusive<usize>) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let mut at = start;
    while let Some(digit) = char::from(byte(text, at)).to_digit(16) {
        value = value << 4 | u64::from(digit);
        at += 1;
    }
    (allowed.contains(&(at - start)) && !is_ident_byte(byte(text, at))).then_some((value, at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ast::Function;
    use crate::error::Parsed;
    use crate::parse_function;

    /// The function parsed only from tokens.
    fn by_tokens(text: &str) -> Parsed<Function> {
        let mut parser = Parser::new(text);
        parser.by_tokens = true;
        let function = parser.function(true);
        parser.expect_end();
        parser.finish(function)
    }

    /// The number of statements of a body before the first that is not plain.
    fn plain(body: &str) -> usize {
        let text = format!(" {body}");
        let mut parser = Parser::new(&text);
        parser.plain_statements(&mut Vec::new(), usize::MAX)
    }

    #[test]
    fn code_of_compilers_is_plain() {
        let body = "ld.global.L2::128B.v2.f32 {%f1, %f2}, [%rd1+-4];\nL:\n\t@!%p1 bra \tL;\n\
            mov.u32 %r1, %tid.x; shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1; st.b8 [ %rd1 + -4 ], a; fma.rn.f32 %f1, %f2, 0f3F800000, -1 ; add.s64 %rd1, _, 0xFF;\nret;";
        assert_eq!(plain(body), 9);
        assert_eq!(plain("a: .branchtargets L;"), 0);
        assert_eq!(plain("add.s32 %r1, WARP_SZ, %r2;"), 0);
        assert_eq!(plain("add.s32 %r1, 5%r2;"), 0);
        assert_eq!(plain("add.s32 %r1, 017;"), 0);
    }

    /// The pieces of bodies, separated by `~`.
    const PIECES: &str = "add~.s32~%r1~,~,~,~;~;~;\n~;\n\t~ ~ ~\n~\t~[~]~{~}~+~-~!~@~@%p1 ~L:~:~::~.~%~_~WARP_SZ~0~17~\
        0x1F~0f3F800000~0d3FF0000000000000~1.5~017~99999999999999999999~5U~call~(~)~%tid.x~.b0~// c\n~\
        /* c */~.branchtargets~.reg .b32 a;~.loc 1 2 3\n~é~<~|~?~\"s\"~bra~L~mov.u32 ~%r1, ~[%rd1+4]~\
        [a]~$~$1~{%r1, %r2}~{_, 1}~%r1.x~-4~0x~12ab~@@DWARF~%r1, %r2, 5;\n~{%r1, %r2}|~|%p1~%r1|~!%p1~||~\
        [ %rd1 + 4 ]~[a-4]~- ~[%rd1~@p ";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30_000))]

        #[test]
        fn the_tokens_say_the_same(
            pieces in prop::collection::vec(prop::sample::select(PIECES.split('~').collect::<Vec<_>>()), 0..30),
            mnemonic in prop::sample::select(&["", "add.s32 ", "mov.b64 %rd1, ", "st.u32 [%rd1], "][..]),
        ) {
            let text = format!(".entry k() {{ {mnemonic}{} }}", pieces.concat());
            prop_assert_eq!(&parse_function(&text), &by_tokens(&text), "{}", text);
            prop_assert_eq!(crate::item_errors(&text, crate::items::ItemKind::Entry), by_tokens(&text).errors, "{}", text);
        }
    }
}
