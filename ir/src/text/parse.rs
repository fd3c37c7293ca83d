//! Reads the text form.
//!
//! One pass over the tokens. Names of values and blocks get provisional numbers when they are first
//! mentioned; when a function is complete, `Names::numbers` decides the final numbers and the
//! instructions are rewritten once. After an error the reader continues at the next line.

use std::ops::Range;

use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::entities::{Block, FuncRef, Inst, Symbol, Value};
use crate::function::{BlockCall, Function, FunctionKind, InstData, SourceLoc, ValueDef};
use crate::memory::Spelled;
use crate::op::{ConvergenceBarrier, Op, Results};
use crate::signature::row;
use crate::text::ParseError;
use crate::text::field::OpReader;
use crate::text::lexer::{Kind, Lexer, Token, unquote};
use crate::text::names::Names;
use crate::text::operations::read_op;
use crate::types::Type;

/// Reads all functions of a text.
///
/// # Errors
/// All malformed lines, in order.
pub fn parse(text: &str) -> Result<Vec<Function>, Vec<ParseError>> {
    let mut parser = FunctionParser::new(text);
    let mut functions = Vec::new();
    loop {
        parser.skip_newlines();
        if parser.token.kind == Kind::End {
            break;
        }
        if let Some(func) = parser.function() {
            functions.push(func);
        }
    }
    if parser.errors.is_empty() { Ok(functions) } else { Err(parser.errors) }
}

/// Reads a text of exactly one function.
///
/// # Errors
/// As [`parse`], and if the text has no function or more than one.
pub fn parse_function(text: &str) -> Result<Function, Vec<ParseError>> {
    let mut functions = parse(text)?;
    match (functions.pop(), functions.len()) {
        (Some(func), 0) => Ok(func),
        (_, more) => {
            let count = if more == 0 { 0 } else { more + 1 };
            let message = format!("expected one function, found {count}");
            Err(vec![ParseError { span: 0..text.len(), message }])
        }
    }
}

/// An instruction and a block whose names are provisional.
pub(super) struct RawInst {
    data: InstData,
    results: SmallVec<[usize; 2]>,
}

pub(super) struct RawBlock {
    number: usize,
    params: Vec<(usize, Type)>,
    insts: Vec<RawInst>,
}

/// The state of the reader, with the function that it is reading.
pub(crate) struct FunctionParser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    pub(super) token: Token,
    pub(super) errors: Vec<ParseError>,
    values: Names<'t>,
    blocks: Names<'t>,
    pub(super) symbols: FxHashMap<String, Symbol>,
    pub(super) callees: FxHashMap<String, FuncRef>,
    pub(super) body: Vec<RawBlock>,
}

impl<'t> FunctionParser<'t> {
    pub(super) fn new(text: &'t str) -> FunctionParser<'t> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next();
        FunctionParser {
            text,
            lexer,
            token,
            errors: Vec::new(),
            values: Names::default(),
            blocks: Names::default(),
            symbols: FxHashMap::default(),
            callees: FxHashMap::default(),
            body: Vec::new(),
        }
    }

    /// An error at the next token.
    pub(crate) fn error_here(&self, message: String) -> ParseError {
        ParseError { span: self.token.span.clone(), message }
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T, ParseError> {
        Err(self.error_here(format!("expected {expected}, found {}", self.token.kind.describe())))
    }

    fn take(&mut self) -> Token {
        let next = self.lexer.next();
        std::mem::replace(&mut self.token, next)
    }

    pub(super) fn take_if(&mut self, kind: Kind) -> bool {
        let found = self.token.kind == kind;
        if found {
            self.take();
        }
        found
    }

    pub(super) fn expect(&mut self, kind: Kind) -> Result<Token, ParseError> {
        if self.token.kind == kind { Ok(self.take()) } else { self.unexpected(kind.describe()) }
    }

    pub(crate) fn expect_comma(&mut self) -> Result<(), ParseError> {
        self.expect(Kind::Comma).map(|_| ())
    }

    pub(super) fn word(&mut self, expected: &str) -> Result<(&'t str, Range<usize>), ParseError> {
        if self.token.kind != Kind::Word {
            return self.unexpected(expected);
        }
        let token = self.take();
        Ok((&self.text[token.span.clone()], token.span))
    }

    /// The next word, without consuming it.
    pub(super) fn peek_word(&self) -> Option<&'t str> {
        (self.token.kind == Kind::Word).then(|| &self.text[self.token.span.clone()])
    }

    pub(super) fn skip_newlines(&mut self) {
        while self.take_if(Kind::Newline) {}
    }

    pub(super) fn skip_line(&mut self) {
        while !matches!(self.token.kind, Kind::Newline | Kind::End) {
            self.take();
        }
    }

    /// Whether the operands of a statement have ended.
    pub(crate) fn at_statement_end(&self) -> bool {
        matches!(self.token.kind, Kind::Newline | Kind::End | Kind::Bang)
    }

    pub(crate) fn number(&mut self) -> Result<u64, ParseError> {
        let token = self.expect(Kind::Number)?;
        let text = &self.text[token.span.clone()];
        let parsed = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        parsed.map_err(|_| ParseError {
            span: token.span,
            message: format!("`{text}` is not a number that fits into 64 bits"),
        })
    }

    pub(super) fn small_number(&mut self) -> Result<u32, ParseError> {
        let span = self.token.span.clone();
        let number = self.number()?;
        u32::try_from(number)
            .map_err(|_| ParseError { span, message: format!("{number} does not fit into 32 bits") })
    }

    pub(crate) fn offset(&mut self) -> Result<u32, ParseError> {
        self.expect(Kind::Plus)?;
        self.small_number()
    }

    pub(crate) fn spelled<S: Spelled>(&mut self, what: &str) -> Result<S, ParseError> {
        let (word, span) = self.word(what)?;
        let found = S::ALL.iter().copied().find(|variant| variant.name() == word);
        found.ok_or_else(|| ParseError { span, message: format!("expected {what}, found `{word}`") })
    }

    pub(crate) fn convergence_barrier(&mut self) -> Result<ConvergenceBarrier, ParseError> {
        let (word, span) = self.word("a convergence barrier")?;
        let number = word.strip_prefix('b').and_then(|digits| digits.parse().ok());
        number.map(ConvergenceBarrier).ok_or_else(|| ParseError {
            span,
            message: format!("expected a convergence barrier, `b0` to `b15`, found `{word}`"),
        })
    }

    pub(super) fn at_name(&mut self) -> Result<String, ParseError> {
        self.expect(Kind::At)?;
        match self.token.kind {
            Kind::String => self.string(),
            _ => Ok(self.word("a name")?.0.to_string()),
        }
    }

    pub(super) fn string(&mut self) -> Result<String, ParseError> {
        let token = self.expect(Kind::String)?;
        unquote(&self.text[token.span.clone()])
            .ok_or_else(|| ParseError { span: token.span, message: "malformed escape in a name".to_string() })
    }

    pub(crate) fn symbol(&mut self) -> Result<Symbol, ParseError> {
        let span = self.token.span.clone();
        let name = self.at_name()?;
        self.symbols
            .get(&name)
            .copied()
            .ok_or_else(|| ParseError { span, message: format!("no symbol `{name}` is declared above") })
    }

    pub(crate) fn callee(&mut self) -> Result<FuncRef, ParseError> {
        let span = self.token.span.clone();
        let name = self.at_name()?;
        self.callees
            .get(&name)
            .copied()
            .ok_or_else(|| ParseError { span, message: format!("no callee `{name}` is declared above") })
    }

    pub(crate) fn block_name(&mut self) -> Result<Block, ParseError> {
        let (name, span) = self.word("a block")?;
        Ok(Block::new(self.blocks.mention(name, span)))
    }

    fn value_name(&mut self) -> Result<Value, ParseError> {
        let (name, span) = self.word("a value")?;
        Ok(Value::new(self.values.mention(name, span)))
    }

    /// A function; `None`, with errors, if it is malformed. Ends after the function's last line.
    fn function(&mut self) -> Option<Function> {
        let errors = self.errors.len();
        (self.values, self.blocks) = Default::default();
        self.symbols.clear();
        self.callees.clear();
        self.body.clear();
        let mut func = match self.function_head() {
            Ok(func) => func,
            Err(error) => {
                self.errors.push(error);
                self.skip_line();
                self.skip_newlines();
                // Skip the lines of a function whose head is malformed: their errors would be
                // meaningless.
                while !matches!(self.peek_word(), Some("func")) && self.token.kind != Kind::End {
                    self.skip_line();
                    self.skip_newlines();
                }
                return None;
            }
        };
        loop {
            self.skip_newlines();
            match self.token.kind {
                Kind::RightBrace => {
                    self.take();
                    if !matches!(self.token.kind, Kind::Newline | Kind::End) {
                        let error = self.error_here("expected a new line after `}`".to_string());
                        self.errors.push(error);
                        self.skip_line();
                    }
                    break;
                }
                Kind::End => {
                    let error = self.error_here("the function lacks its `}`".to_string());
                    self.errors.push(error);
                    break;
                }
                _ if self.peek_word() == Some("func") => {
                    let error = self.error_here("the previous function lacks its `}`".to_string());
                    self.errors.push(error);
                    break;
                }
                _ => self.whole_line(&mut func),
            }
        }
        if self.errors.len() == errors {
            let undefined = self.values.undefined().chain(self.blocks.undefined());
            self.errors.extend(undefined.map(|name| ParseError {
                span: name.span.clone(),
                message: format!("`{}` is used and never defined", name.text),
            }));
            self.errors[errors..].sort_by_key(|error| error.span.start);
        }
        (self.errors.len() == errors).then(|| self.assemble(func))
    }

    fn function_head(&mut self) -> Result<Function, ParseError> {
        let (word, span) = self.word("`func`")?;
        if word != "func" {
            return Err(ParseError { span, message: format!("expected `func`, found `{word}`") });
        }
        let name = self.at_name()?;
        let (word, span) = self.word("`entry` or `device`")?;
        let kind = match word {
            "entry" => FunctionKind::Entry,
            "device" => FunctionKind::Device,
            _ => {
                let message = format!("expected `entry` or `device`, found `{word}`");
                return Err(ParseError { span, message });
            }
        };
        let mut func = Function::new(name, kind);
        if self.peek_word() == Some("platform") {
            self.keyword("platform")?;
            func.platform = Some(Box::new(self.layouts()?));
        }
        func.returns = self.result_types()?;
        self.expect(Kind::LeftBrace)?;
        Ok(func)
    }

    /// A line of the body, to its end. An error skips the rest of the line.
    pub(super) fn whole_line(&mut self, func: &mut Function) {
        let line = self.line(func).and_then(|()| match self.token.kind {
            Kind::Newline | Kind::End => Ok(()),
            _ => self.unexpected("the end of the line"),
        });
        if let Err(error) = line {
            self.errors.push(error);
            self.skip_line();
        }
    }

    /// A line of the body: a header line before the first block, a block's head, or an instruction.
    fn line(&mut self, func: &mut Function) -> Result<(), ParseError> {
        let (word, span) = self.word("an instruction, a block or `}`")?;
        match word {
            "param" if self.body.is_empty() => return self.param_line(func),
            "callee" if self.body.is_empty() => return self.callee_line(func),
            "elsewhere" if self.body.is_empty() => {
                func.elsewhere.push(self.at_name()?);
                return Ok(());
            }
            "symbol" if self.body.is_empty() => return self.symbol_line(func),
            "word" if self.body.is_empty() => return self.word_line(func),
            "bounds" if self.body.is_empty() => return self.bounds_line(func),
            _ => {}
        }
        match self.token.kind {
            Kind::Colon | Kind::LeftParen => self.block_head(word, span),
            Kind::Comma | Kind::Equals => {
                let mut results = SmallVec::from_slice(&[self.values.define(word, span)?]);
                while self.take_if(Kind::Comma) {
                    let (name, span) = self.word("a value")?;
                    results.push(self.values.define(name, span)?);
                }
                self.expect(Kind::Equals)?;
                let (word, span) = self.word("an operation")?;
                self.instruction(func, results, word, span)
            }
            _ => self.instruction(func, SmallVec::new(), word, span),
        }
    }

    fn block_head(&mut self, name: &'t str, span: Range<usize>) -> Result<(), ParseError> {
        let number = self.blocks.define(name, span)?;
        self.body.push(RawBlock { number, params: Vec::new(), insts: Vec::new() });
        let mut params = Vec::new();
        if self.take_if(Kind::LeftParen) {
            loop {
                let (name, span) = self.word("a value")?;
                let value = self.values.define(name, span)?;
                self.expect(Kind::Colon)?;
                params.push((value, self.type_name()?));
                if !self.take_if(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::RightParen)?;
        }
        self.expect(Kind::Colon)?;
        if let Some(block) = self.body.last_mut() {
            block.params = params;
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        func: &Function,
        results: SmallVec<[usize; 2]>,
        words: &'t str,
        span: Range<usize>,
    ) -> Result<(), ParseError> {
        if self.body.is_empty() {
            return Err(ParseError { span, message: "an instruction before the first block".to_string() });
        }
        let mut reader = OpReader::new(self, words, span.end);
        let mut op = read_op(&mut reader)?;
        let ty = reader.ty.unwrap_or(Type::B32);
        let value_count = row(&op).args.len();
        let has_targets = op.is_terminator() && op != Op::Return;
        let mut args = SmallVec::new();
        let mut targets = Vec::new();
        while reader.next_operand()? {
            let address = args.is_empty() && op.access().is_some();
            if address {
                let (base, offset) = reader.parser.address()?;
                args.push(base);
                if let Some(access) = op.access_mut() {
                    access.offset = offset;
                }
            } else if has_targets && args.len() >= value_count {
                targets.push(reader.parser.target()?);
            } else {
                args.push(reader.parser.value_name()?);
            }
        }
        let loc = if self.take_if(Kind::Bang) { SourceLoc(self.small_number()?) } else { SourceLoc::NONE };
        if op.results(ty) == Results::Invalid {
            let message = format!("`{}` can't have the type {ty}", op.mnemonic());
            return Err(ParseError { span, message });
        }
        let expected = func.result_types(&op, ty).len();
        if expected != results.len() {
            let message = format!("`{}` has {expected} results, not {}", op.mnemonic(), results.len());
            return Err(ParseError { span, message });
        }
        let data = InstData { op, ty, args, targets, loc };
        if let Some(block) = self.body.last_mut() {
            block.insts.push(RawInst { data, results });
        }
        Ok(())
    }

    /// `[v1 + 8]`.
    fn address(&mut self) -> Result<(Value, i32), ParseError> {
        self.expect(Kind::LeftBracket)?;
        let base = self.value_name()?;
        let negative = self.token.kind == Kind::Minus;
        let offset = if negative || self.token.kind == Kind::Plus {
            self.take();
            let span = self.token.span.clone();
            let magnitude = i64::from(self.small_number()?);
            let offset = if negative { -magnitude } else { magnitude };
            let message = format!("{offset} does not fit into 32 bits with a sign");
            i32::try_from(offset).map_err(|_| ParseError { span, message })?
        } else {
            0
        };
        self.expect(Kind::RightBracket)?;
        Ok((base, offset))
    }

    /// `block1(v2, v3)`.
    fn target(&mut self) -> Result<BlockCall, ParseError> {
        let block = self.block_name()?;
        let mut args = SmallVec::new();
        if self.take_if(Kind::LeftParen) {
            loop {
                args.push(self.value_name()?);
                if !self.take_if(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::RightParen)?;
        }
        Ok(BlockCall { block, args })
    }

    /// Puts the function together, with final numbers for all names.
    fn assemble(&mut self, mut func: Function) -> Function {
        let values = self.values.numbers("v");
        let blocks = self.blocks.numbers("block");
        let value = |provisional: Value| Value::new(values[provisional.index()]);
        let block = |provisional: Block| Block::new(blocks[provisional.index()]);
        if let Some(&greatest) = blocks.iter().max() {
            while func.blocks.len() <= greatest {
                func.blocks.push(Default::default());
            }
        }
        for raw in self.body.drain(..) {
            let this = Block::new(blocks[raw.number]);
            func.layout.push(this);
            for (index, (number, ty)) in raw.params.into_iter().enumerate() {
                let param = Value::new(values[number]);
                func.define(param, ty, ValueDef::Param(this, index as u32));
                func.blocks[this].params.push(param);
            }
            for RawInst { mut data, results } in raw.insts {
                for arg in &mut data.args {
                    *arg = value(*arg);
                }
                for target in &mut data.targets {
                    target.block = block(target.block);
                    for arg in &mut target.args {
                        *arg = value(*arg);
                    }
                }
                if let Op::Bssy { join: continuation, .. } = &mut data.op {
                    *continuation = block(*continuation);
                }
                let types = func.result_types(&data.op, data.ty);
                let inst: Inst = func.insts.push(data);
                for (index, (&number, ty)) in results.iter().zip(types).enumerate() {
                    func.define(Value::new(values[number]), ty, ValueDef::Result(inst, index as u16));
                }
                func.blocks[this].insts.push(inst);
            }
        }
        func
    }
}
