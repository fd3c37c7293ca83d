//! Bodies: labels, instructions, blocks and directives.

use super::cursor::{Parse, Parser};
use crate::ast::{
    FunctionKind, Guard, Ident, Instruction, Linkage, Opcode, Pragma, Prototype, Space, Statement,
    StatementKind, TargetList,
};
use crate::codes;
use crate::lexer::{Lexer, TokenKind};
use crate::name::Name;
use crate::span::{NodeId, Span};

/// The greatest number of statements in a body. A larger body needs tens of seconds and gigabytes
/// to compile, and none is known.
const MOST_STATEMENTS: usize = 500_000;

/// The bytes of text per statement and per tree node in code that compilers write. In denser code
/// the lists grow.
const STATEMENT_BYTES: usize = 24;
const NODE_BYTES: usize = 7;

/// The number of errors in an item up to which the whole text is searched for the reason of one.
const MOST_SEARCHES: usize = 20;

/// The number of words of a declaration up to its name that are read to tell it from modifiers.
const LONGEST_DECLARATION: usize = 12;

/// Whether a word has characters that no mnemonic has, and that compilers write into labels.
fn is_label_like(word: &str) -> bool {
    !word.starts_with('%') && word.contains(|c: char| c.is_ascii_uppercase() || matches!(c, '_' | '$'))
}

/// Whether `.word` can start a statement.
pub(super) fn is_statement_directive(word: &str) -> bool {
    matches!(word, "loc" | "pragma" | "branchtargets" | "calltargets" | "callprototype" | "file" | "section")
        || Linkage::ALL.iter().any(|linkage| linkage.spelling() == word)
        || Space::ALL.iter().any(|space| space.spelling() == word)
}

impl Parser<'_> {
    /// The statements between braces, with the cursor on the `{` of the body.
    ///
    /// Blocks are not nested calls: `open` holds the braces that are not closed yet.
    pub(super) fn body(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        if self.keeps_tree {
            let left = self.lexer.text().len() - self.lexer.position() as usize;
            statements.reserve(left / STATEMENT_BYTES);
            self.spans.reserve(left / NODE_BYTES);
        }
        let mut open = vec![self.token.span];
        // The number of statements that were read and dropped, if only the errors are needed.
        let mut dropped = 0;
        let nodes = self.spans.len();
        self.advance();
        while !self.at_end() {
            if !self.keeps_tree {
                dropped += statements.len();
                statements.clear();
                self.spans.truncate(nodes);
            }
            if dropped + statements.len() > MOST_STATEMENTS {
                self.report(
                    codes::BODY_TOO_LARGE,
                    self.token.span,
                    format!("this body has more than {MOST_STATEMENTS} statements"),
                );
                self.help("split it into several functions");
                self.skip_blocks(open.len());
                return statements;
            }
            if self.at(b'{') {
                open.push(self.token.span);
                statements.push(self.brace(StatementKind::Open));
            } else if self.at(b'}') && self.peek().is(b',') {
                // The splitter relies on this rule: such a brace is the rest of a vector and does
                // not close a block.
                let start = self.token.span.start;
                self.report(codes::UNMATCHED_BRACE, self.token.span, "this `}` closes nothing".to_owned());
                self.skip_statement(start);
            } else if self.at(b'}') {
                open.pop();
                if open.is_empty() {
                    self.advance();
                    return statements;
                }
                statements.push(self.brace(StatementKind::Close));
            } else {
                let most = MOST_STATEMENTS + 1 - dropped - statements.len();
                match self.plain_statements(&mut statements, most) {
                    0 => self.statement(&mut statements),
                    plain if !self.keeps_tree => dropped += plain,
                    _ => {}
                }
            }
        }
        // Innermost first; the outermost brace belongs to the body and has no statement.
        let cut_off = self.errors.last().is_some_and(|error| error.code == codes::UNTERMINATED_COMMENT);
        if let Some(&innermost) = open.last().filter(|_| !cut_off) {
            self.report(codes::UNCLOSED_BODY, innermost, "this `{` is never closed".to_owned());
            self.help("close it with `}`");
        }
        for _ in 1..open.len() {
            let id = self.open_at(self.end);
            statements.push(Statement { id, kind: StatementKind::Close });
        }
        statements
    }

    /// Skips to the place after the brace that closes `open` blocks.
    fn skip_blocks(&mut self, mut open: usize) {
        while open > 0 && !self.at_end() {
            match self.token.kind {
                TokenKind::Punct(b'{') => open += 1,
                TokenKind::Punct(b'}') => open -= 1,
                _ => {}
            }
            self.advance();
        }
    }

    fn brace(&mut self, kind: StatementKind) -> Statement {
        let id = self.spans.push(self.token.span);
        self.advance();
        Statement { id, kind }
    }

    /// One statement. If it has an error, nothing is added and the cursor moves to the next
    /// statement.
    fn statement(&mut self, statements: &mut Vec<Statement>) {
        let start = self.token.span.start;
        let nodes = self.spans.len();
        let ends_with_line = self.at_dotted("loc") || self.at_dotted("file");
        let id = self.open();
        match self.statement_kind(id) {
            Ok(kind) => statements.push(Statement { id, kind }),
            Err(_) => {
                self.operands.clear();
                self.spans.truncate(nodes);
                if ends_with_line {
                    self.skip_line();
                } else {
                    self.skip_statement(start);
                }
                self.lost.push(Span::new(start, self.end.max(start)));
            }
        }
    }

    fn statement_kind(&mut self, id: NodeId) -> Parse<StatementKind> {
        match self.token.kind {
            TokenKind::Ident => {
                // Most instructions continue with a modifier.
                if !self.lexer.touches(b'.') && self.peek().is(b':') {
                    return self.label(id);
                }
                self.instruction(id, None)
            }
            TokenKind::Punct(b'@') => {
                let guard = self.guard()?;
                if self.token.kind != TokenKind::Ident {
                    return Err(self.error_here(codes::EXPECTED_STATEMENT, "expected an instruction"));
                }
                self.instruction(id, Some(guard))
            }
            TokenKind::Dotted => self.directive(id),
            TokenKind::Punct(b';') => {
                let span = self.token.span;
                Err(self.report(codes::EXPECTED_STATEMENT, span, "this `;` ends nothing".to_owned()))
            }
            _ => Err(self.error_here(codes::EXPECTED_STATEMENT, "expected a statement")),
        }
    }

    fn label(&mut self, id: NodeId) -> Parse<StatementKind> {
        let name = Name::new(self.text());
        self.advance();
        self.close(id);
        self.advance();
        if self.token.kind != TokenKind::Dotted {
            return Ok(StatementKind::Label(name));
        }
        let word = &self.text()[1..];
        if !matches!(word, "branchtargets" | "calltargets" | "callprototype") {
            return Ok(StatementKind::Label(name));
        }
        // The label names the list and belongs to it.
        let ident = Ident { id: self.spans.push(self.spans.get(id)), name };
        self.advance();
        let kind = match word {
            "branchtargets" => StatementKind::BranchTargets(self.target_list(ident)?),
            "calltargets" => StatementKind::CallTargets(self.target_list(ident)?),
            _ => StatementKind::CallPrototype(Box::new(self.prototype(ident)?)),
        };
        self.close(id);
        self.expect_semicolon()?;
        Ok(kind)
    }

    fn target_list(&mut self, name: Ident) -> Parse<TargetList> {
        let mut targets = Vec::new();
        loop {
            let target = self.expect_ident("a label or a function")?;
            if self.at(b'<') {
                self.label_range(target, &mut targets)?;
            } else {
                targets.push(target);
            }
            if !self.eat(b',') {
                return Ok(TargetList { name, targets });
            }
        }
    }

    /// Expands `L<3>`. Every label must be defined in the same text, so a range is wrong if it has
    /// more labels than the rest of the text has bytes to define them; the check also keeps the
    /// tree linear in the text.
    fn label_range(&mut self, stem: Ident, targets: &mut Vec<Ident>) -> Parse<()> {
        let open = self.token.span;
        self.advance();
        let number = self.token.span;
        let count = self.expect_int("the number of labels")?;
        self.expect_closing(b'>', open)?;
        self.close(stem.id);
        if count == 0 || count > u64::from(self.label_budget) {
            let message = format!("the number of labels can't be {count}");
            return Err(self.report(codes::DIRECTIVE_ARGUMENTS, number, message));
        }
        self.label_budget -= count as u32;
        let span = self.spans.get(stem.id);
        for index in 0..count {
            let id = if index == 0 { stem.id } else { self.spans.push(span) };
            targets.push(Ident { id, name: Name::new(&format!("{}{index}", stem.name)) });
        }
        Ok(())
    }

    fn prototype(&mut self, name: Ident) -> Parse<Prototype> {
        let returns = if self.at(b'(') { self.parameters()? } else { Vec::new() };
        if !(self.token.kind == TokenKind::Ident && self.text() == "_") {
            return Err(self.error_here(codes::EXPECTED_NAME, "expected `_`"));
        }
        self.advance();
        let parameters = if self.at(b'(') { self.parameters()? } else { Vec::new() };
        let directives = self.function_directives(FunctionKind::Func)?;
        Ok(Prototype { name, returns, parameters, directives })
    }

    /// `@p` or `@!p`.
    fn guard(&mut self) -> Parse<Guard> {
        let id = self.open();
        self.advance();
        let negated = self.eat(b'!');
        if self.token.kind != TokenKind::Ident || self.text() == "_" {
            return Err(self.error_here(codes::MALFORMED_GUARD, "expected a predicate register"));
        }
        let register = Name::new(self.text());
        self.advance();
        self.close(id);
        Ok(Guard { id, negated, register })
    }

    fn instruction(&mut self, id: NodeId, guard: Option<Guard>) -> Parse<StatementKind> {
        let start = self.token.span;
        let opcode = self.opcode();
        if guard.is_none() && self.is_label_without_colon(start) {
            return Ok(self.label_without_colon(id, start, &opcode));
        }
        let in_call = opcode.mnemonic() == "call";
        let first = self.operands.len();
        if !self.at(b';') && !self.starts_statement() && !self.at(b'}') && !self.at_end() {
            loop {
                let operand = self.operand(in_call)?;
                self.operands.push(operand);
                if !self.eat(b',') {
                    break;
                }
            }
        }
        self.close(id);
        let operands = self.operands.split_off(first).into_boxed_slice();
        let instruction = StatementKind::Instruction(Instruction { guard, opcode, operands });
        if self.eat(b';') {
            return Ok(instruction);
        }
        if self.token.first_on_line && !self.at_broken_token() {
            self.missing_semicolon();
            return Ok(instruction);
        }
        if self.at(b'}') && !self.peek().is(b',') || self.at_end() {
            self.missing_semicolon();
            return Ok(instruction);
        }
        Err(self.error_here(codes::EXPECTED_COMMA, "expected `,` or `;`"))
    }

    /// Whether the word that was just read is a label, although no colon follows it. The word
    /// `start` and its modifiers have been read.
    fn is_label_without_colon(&self, start: Span) -> bool {
        if self.at(b':') {
            return true;
        }
        let is_glued =
            self.lexer.touches(b'.') && self.token.kind == TokenKind::Ident && !self.token.first_on_line;
        if self.end == start.end && is_glued && !self.text().starts_with('%') {
            return is_label_like(&self.lexer.text()[start.range()]) && self.at_opcode_and_operand();
        }
        let is_alone = self.end == start.end
            && (self.token.first_on_line || self.at(b'}') || self.at_end())
            && !self.at(b';');
        // An instruction with operands continues on the next line.
        if !is_alone || !(self.at(b'}') || self.at_end() || self.starts_statement_on_line()) {
            return false;
        }
        let word = &self.lexer.text()[start.range()];
        is_label_like(word) || self.errors.len() < MOST_SEARCHES && self.is_target(word)
    }

    /// Whether the words from the cursor on are an opcode and, in the same line, its first operand.
    fn at_opcode_and_operand(&self) -> bool {
        let (mut lexer, mut end) = (self.lexer.clone(), self.token.span.end);
        loop {
            let token = lexer.next();
            if token.kind != TokenKind::Dotted || token.span.start != end {
                let is_operand =
                    matches!(token.kind, TokenKind::Ident | TokenKind::Int | TokenKind::Punct(b'[' | b'{'));
                return is_operand && !token.first_on_line;
            }
            end = token.span.end;
        }
    }

    /// Whether some instruction has this word as its only operand.
    fn is_target(&self, word: &str) -> bool {
        let text = self.lexer.text();
        let mut lexer = Lexer::new(text);
        // The two tokens before the next one, without modifiers.
        let (mut opcode, mut operand) = (false, "");
        loop {
            let token = lexer.next();
            match token.kind {
                TokenKind::Punct(b';') if opcode && operand == word => return true,
                TokenKind::Ident => {
                    opcode = operand.starts_with(|c: char| c.is_ascii_lowercase());
                    operand = &text[token.span.range()];
                }
                TokenKind::End => return false,
                TokenKind::Dotted => {}
                _ => (opcode, operand) = (false, ""),
            }
        }
    }

    /// Reports a label whose colon is missing, or whose name has dots before the colon. The name
    /// may have gaps, which the message does not show: they are layout.
    fn label_without_colon(&mut self, id: NodeId, start: Span, opcode: &Opcode) -> StatementKind {
        let span = Span::new(start.start, self.end);
        let name = opcode.as_str();
        if self.at(b':') {
            self.dotted_name(span, name);
            self.advance();
        } else {
            self.report(codes::MISSING_COLON, span, format!("the label `{name}` has no colon"));
            self.help(format!("write `{name}:`"));
        }
        self.close(id);
        StatementKind::Label(Name::new(name))
    }

    fn opcode(&mut self) -> Opcode {
        let id = self.spans.push(self.token.span);
        let start = self.token.span;
        let mut end = start.end;
        // The parts of an opcode with spaces in it are joined; nearly all opcodes are in one piece.
        let mut joined: Option<String> = None;
        self.advance();
        while self.token.kind == TokenKind::Dotted && !(self.starts_statement() && self.at_declaration()) {
            self.spans.push(self.token.span);
            if joined.is_none() && self.token.span.start != end {
                joined = Some(self.lexer.text()[start.start as usize..end as usize].to_owned());
            }
            if let Some(joined) = &mut joined {
                joined.push_str(self.text());
            }
            end = self.token.span.end;
            self.advance();
        }
        let text = match &joined {
            Some(joined) => joined,
            None => &self.lexer.text()[start.start as usize..end as usize],
        };
        Opcode::new(id, Name::new(text))
    }

    /// Whether the words after an opcode start a statement. Their first one can, but a state space
    /// and `.weak` are also modifiers, which may follow the opcode on the next line.
    ///
    /// A declaration of one variable ends in its name, and no instruction with a state space has
    /// a name as its only operand. `cvta⏎.global.u64 %rd1, %rd2;` could declare two variables, but
    /// an opcode that lacks its operands and its semicolon is less likely.
    fn at_declaration(&self) -> bool {
        let mut lexer = self.lexer.clone();
        let mut word = self.token;
        for _ in 0..LONGEST_DECLARATION {
            match word.kind {
                TokenKind::Dotted => {
                    let text = &lexer.text()[word.span.range()][1..];
                    let is_modifier = text == Linkage::Weak.spelling()
                        || Space::ALL.iter().any(|space| {
                            !matches!(space, Space::Reg | Space::Sreg | Space::Tex)
                                && space.spelling() == text
                        })
                        || !is_statement_directive(text) && !matches!(text, "align" | "func" | "entry");
                    if !is_modifier {
                        return true;
                    }
                }
                TokenKind::Ident => {
                    let next = lexer.next();
                    return !next.is(b',') && !next.is(b'|');
                }
                _ => return false,
            }
            word = lexer.next();
        }
        false
    }

    fn directive(&mut self, id: NodeId) -> Parse<StatementKind> {
        let word = &self.text()[1..];
        match word {
            "loc" => {
                let location = self.location()?;
                self.close(id);
                Ok(StatementKind::Location(Box::new(location)))
            }
            "file" => Ok(StatementKind::File(Box::new(self.file(id)?))),
            "section" => Ok(StatementKind::Section(self.section(id)?)),
            "pragma" => Ok(StatementKind::Pragma(self.pragma(id)?)),
            "branchtargets" | "calltargets" | "callprototype" => {
                let message = format!("`.{word}` needs a label before it");
                let reported = self.report(codes::EXPECTED_LABEL, self.token.span, message);
                self.help(format!("write `name: .{word} …`"));
                Err(reported)
            }
            _ if is_statement_directive(word) => {
                let linkage = self.linkage()?;
                Ok(StatementKind::Declaration(Box::new(self.declaration(id, linkage)?)))
            }
            _ => {
                let message = format!("`.{word}` is not a directive of a function body");
                Err(self.report(codes::UNKNOWN_DIRECTIVE, self.token.span, message))
            }
        }
    }

    /// `.pragma "a", "b";` with the cursor on `.pragma`.
    pub(super) fn pragma(&mut self, id: NodeId) -> Parse<Pragma> {
        self.advance();
        let mut strings = vec![self.expect_string()?];
        while self.eat(b',') {
            strings.push(self.expect_string()?);
        }
        self.close(id);
        self.expect_semicolon()?;
        Ok(Pragma { id, strings })
    }
}
