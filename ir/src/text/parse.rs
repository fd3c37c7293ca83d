//! Reads the text form.
//!
//! One pass over the tokens. Names of values and blocks get provisional numbers where they are first
//! mentioned; when a function is complete, `Names::numbers` decides the final ones and the instructions
//! are rewritten once. Each error ends its line and no more.

use std::ops::Range;

use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::entities::{Block, FuncRef, Inst, Symbol, Value};
use crate::function::{
    BlockCall, Callee, CalleeKind, CalleeLanes, Function, FunctionKind, InstData, Param, SourceLoc, ValueDef,
};
use crate::memory::{Space, Spelled};
use crate::op::{ConvergenceBarrier, Op, Results};
use crate::signature::{read_op, row};
use crate::symbol::{Initial, InitialAddress, SymbolData};
use crate::text::ParseError;
use crate::text::field::OpReader;
use crate::text::lexer::{Kind, Lexer, Token, unquote};
use crate::types::Type;

/// Reads all functions of a text.
///
/// # Errors
/// All lines that make no sense, in order.
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
/// As [`parse`], and if there is none or more than one.
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

/// The names of values or blocks in a function.
#[derive(Default)]
struct Names<'t> {
    numbers: FxHashMap<&'t str, usize>,
    names: Vec<Name<'t>>,
    definitions: usize,
}

struct Name<'t> {
    text: &'t str,
    /// Where it is first mentioned.
    span: Range<usize>,
    /// Its place among the definitions.
    defined: Option<usize>,
}

impl<'t> Names<'t> {
    /// The provisional number of a name.
    fn mention(&mut self, text: &'t str, span: Range<usize>) -> usize {
        *self.numbers.entry(text).or_insert_with(|| {
            self.names.push(Name { text, span, defined: None });
            self.names.len() - 1
        })
    }

    fn define(&mut self, text: &'t str, span: Range<usize>) -> Result<usize, ParseError> {
        let number = self.mention(text, span.clone());
        let name = &mut self.names[number];
        if name.defined.is_some() {
            return Err(ParseError { span, message: format!("`{text}` is defined twice") });
        }
        name.defined = Some(self.definitions);
        self.definitions += 1;
        Ok(number)
    }

    /// The names that are used and never defined.
    fn undefined(&self) -> impl Iterator<Item = &Name<'t>> {
        self.names.iter().filter(|name| name.defined.is_none())
    }

    /// The final number of each provisional one. A name that is `prefix` and a number keeps it, unless
    /// the greatest number is far beyond the count of names; the others follow in order of definition.
    fn numbers(&self, prefix: &str) -> Vec<usize> {
        let canonical = |name: &Name<'_>| {
            let digits = name.text.strip_prefix(prefix)?;
            let number: u32 = digits.parse().ok()?;
            (number.to_string() == digits).then_some(number as usize)
        };
        let mut fixed: Vec<Option<usize>> = self.names.iter().map(canonical).collect();
        let mut next = fixed.iter().flatten().max().map_or(0, |greatest| greatest + 1);
        if next > 64 * self.names.len() + 4096 {
            fixed.fill(None);
            next = 0;
        }
        let mut others: Vec<usize> = (0..self.names.len()).filter(|&n| fixed[n].is_none()).collect();
        others.sort_by_key(|&n| self.names[n].defined);
        for n in others {
            fixed[n] = Some(next);
            next += 1;
        }
        fixed.into_iter().flatten().collect()
    }
}

/// An instruction and a block whose names are provisional.
struct RawInst {
    data: InstData,
    results: SmallVec<[usize; 2]>,
}

struct RawBlock {
    number: usize,
    params: Vec<(usize, Type)>,
    insts: Vec<RawInst>,
}

/// The state of reading, with the function that is under way.
pub(crate) struct FunctionParser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    token: Token,
    errors: Vec<ParseError>,
    values: Names<'t>,
    blocks: Names<'t>,
    symbols: FxHashMap<String, Symbol>,
    callees: FxHashMap<String, FuncRef>,
    body: Vec<RawBlock>,
}

impl<'t> FunctionParser<'t> {
    fn new(text: &'t str) -> FunctionParser<'t> {
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

    fn take_if(&mut self, kind: Kind) -> bool {
        let found = self.token.kind == kind;
        if found {
            self.take();
        }
        found
    }

    fn expect(&mut self, kind: Kind) -> Result<Token, ParseError> {
        if self.token.kind == kind { Ok(self.take()) } else { self.unexpected(kind.describe()) }
    }

    pub(crate) fn expect_comma(&mut self) -> Result<(), ParseError> {
        self.expect(Kind::Comma).map(|_| ())
    }

    fn word(&mut self, expected: &str) -> Result<(&'t str, Range<usize>), ParseError> {
        if self.token.kind != Kind::Word {
            return self.unexpected(expected);
        }
        let token = self.take();
        Ok((&self.text[token.span.clone()], token.span))
    }

    /// The word that comes next, left in place.
    fn peek_word(&self) -> Option<&'t str> {
        (self.token.kind == Kind::Word).then(|| &self.text[self.token.span.clone()])
    }

    fn skip_newlines(&mut self) {
        while self.take_if(Kind::Newline) {}
    }

    fn skip_line(&mut self) {
        while !matches!(self.token.kind, Kind::Newline | Kind::End) {
            self.take();
        }
    }

    /// Whether the operands of a statement are over.
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
            message: format!("`{text}` is no number that fits into 64 bits"),
        })
    }

    fn small_number(&mut self) -> Result<u32, ParseError> {
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

    fn at_name(&mut self) -> Result<String, ParseError> {
        self.expect(Kind::At)?;
        match self.token.kind {
            Kind::String => self.string(),
            _ => Ok(self.word("a name")?.0.to_string()),
        }
    }

    fn string(&mut self) -> Result<String, ParseError> {
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

    /// A function; `None`, with errors, if it makes no sense. Ends behind its last line.
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
                // The lines of a function whose head is unknown say nothing.
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
                        let error = self.error_here("expected a new line behind `}`".to_string());
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
                    let error = self.error_here("the function in front lacks its `}`".to_string());
                    self.errors.push(error);
                    break;
                }
                _ => {
                    let line = self.line(&mut func).and_then(|()| match self.token.kind {
                        Kind::Newline | Kind::End => Ok(()),
                        _ => self.unexpected("the end of the line"),
                    });
                    if let Err(error) = line {
                        self.errors.push(error);
                        self.skip_line();
                    }
                }
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
        let returns = self.result_types()?;
        self.expect(Kind::LeftBrace)?;
        let mut func = Function::new(name, kind);
        func.returns = returns;
        Ok(func)
    }

    /// A line of the body: of the header, in front of the first block, a block's head, or an instruction.
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

    fn param_line(&mut self, func: &mut Function) -> Result<(), ParseError> {
        let name = self.string()?;
        let size = self.small_number()?;
        let offset = self.offset()?;
        func.params.push(Param { name, size, offset });
        Ok(())
    }

    fn symbol_line(&mut self, func: &mut Function) -> Result<(), ParseError> {
        let span = self.token.span.clone();
        let name = self.at_name()?;
        let space: Space = self.spelled("a space")?;
        self.keyword("size")?;
        let size = self.small_number()?;
        self.keyword("align")?;
        let align = self.small_number()?;
        let offset = if self.token.kind == Kind::Plus { Some(self.offset()?) } else { None };
        let initial = if self.take_if(Kind::Equals) { Some(self.initial()?) } else { None };
        let symbol =
            func.symbols.push(SymbolData { name: name.clone(), space, size, align, offset, initial });
        match self.symbols.insert(name.clone(), symbol) {
            Some(_) => Err(ParseError { span, message: format!("symbol `{name}` is declared twice") }),
            None => Ok(()),
        }
    }

    fn callee_line(&mut self, func: &mut Function) -> Result<(), ParseError> {
        let span = self.token.span.clone();
        let name = self.at_name()?;
        let (word, at) = self.word("`routine`, `device` or `prototype`")?;
        let kind = match word {
            "routine" => CalleeKind::Routine,
            "device" => CalleeKind::Device,
            "prototype" => CalleeKind::Prototype,
            _ => {
                let message = format!("expected `routine`, `device` or `prototype`, found `{word}`");
                return Err(ParseError { span: at, message });
            }
        };
        let mut lanes = match kind {
            CalleeKind::Routine => CalleeLanes::PURE,
            CalleeKind::Device | CalleeKind::Prototype => CalleeLanes::default(),
        };
        while self.token.kind == Kind::Word {
            let (word, at) = self.word("`together`, `independent` or the types of the parameters")?;
            match word {
                "together" => lanes.together = true,
                "independent" => lanes.independent = true,
                _ => {
                    let message = format!("expected `together` or `independent`, found `{word}`");
                    return Err(ParseError { span: at, message });
                }
            }
        }
        let params = self.types()?;
        let results = self.result_types()?;
        let callee = func.callees.push(Callee { name: name.clone(), kind, params, results, lanes });
        match self.callees.insert(name.clone(), callee) {
            Some(_) => Err(ParseError { span, message: format!("callee `{name}` is declared twice") }),
            None => Ok(()),
        }
    }

    /// `-> (b32, pred)`, or nothing.
    fn result_types(&mut self) -> Result<Vec<Type>, ParseError> {
        if self.take_if(Kind::Arrow) { self.types() } else { Ok(Vec::new()) }
    }

    /// `(b32, pred)`.
    fn types(&mut self) -> Result<Vec<Type>, ParseError> {
        let mut types = Vec::new();
        self.expect(Kind::LeftParen)?;
        while self.token.kind != Kind::RightParen {
            if !types.is_empty() {
                self.expect_comma()?;
            }
            types.push(self.type_name()?);
        }
        self.expect(Kind::RightParen)?;
        Ok(types)
    }

    fn type_name(&mut self) -> Result<Type, ParseError> {
        let (word, span) = self.word("a type")?;
        word.parse().map_err(|()| ParseError { span, message: format!("there is no type `{word}`") })
    }

    /// `"0700" 8 @other +0 at 8`: bytes in hexadecimal, then addresses: their size, the shift of a part, what
    /// they point to, and where they stand.
    fn initial(&mut self) -> Result<Initial, ParseError> {
        let span = self.token.span.clone();
        let digits = self.string()?;
        let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|p| u8::from_str_radix(p, 16).ok());
        let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
        let even = digits.len().is_multiple_of(2);
        let bytes = bytes.filter(|_| even).ok_or_else(|| ParseError {
            span,
            message: "the content of a variable is pairs of hexadecimal digits".to_string(),
        })?;
        let mut addresses = Vec::new();
        while self.token.kind == Kind::Number {
            let span = self.token.span.clone();
            let bytes = self.small_number()?;
            let bytes = u8::try_from(bytes).ok().filter(|bytes| [1, 4, 8].contains(bytes));
            let message = "an address takes 8 bytes, 4, or 1 for a part of it".to_string();
            let bytes = bytes.ok_or(ParseError { span, message })?;
            let mut shift = 0;
            let mut generic = false;
            while self.token.kind == Kind::Word {
                let (word, span) = self.word("`shift` or `generic`")?;
                match word {
                    "generic" => generic = true,
                    "shift" => shift = self.small_number()?.min(63) as u8,
                    _ => {
                        let message = format!("expected `shift` or `generic`, found `{word}`");
                        return Err(ParseError { span, message });
                    }
                }
            }
            let symbol = self.at_name()?;
            let negative = self.take_if(Kind::Minus);
            if !negative {
                self.expect(Kind::Plus)?;
            }
            let addend = self.number()? as i64;
            let addend = if negative { addend.wrapping_neg() } else { addend };
            self.keyword("at")?;
            let at = self.small_number()?;
            addresses.push(InitialAddress { at, bytes, shift, symbol, generic, addend });
        }
        Ok(Initial { bytes, addresses })
    }

    fn keyword(&mut self, expected: &str) -> Result<(), ParseError> {
        let (word, span) = self.word(&format!("`{expected}`"))?;
        if word == expected {
            return Ok(());
        }
        Err(ParseError { span, message: format!("expected `{expected}`, found `{word}`") })
    }

    fn bounds_line(&mut self, func: &mut Function) -> Result<(), ParseError> {
        while self.token.kind == Kind::Word {
            let (word, span) = self.word("a bound")?;
            match word {
                "reqntid" => func.bounds.required_threads = Some(self.three_numbers()?),
                "maxntid" => func.bounds.max_threads = Some(self.three_numbers()?),
                "maxnreg" => func.bounds.max_registers = Some(self.small_number()?),
                "minnctapersm" => func.bounds.min_ctas = Some(self.small_number()?),
                "cluster" => func.bounds.cluster = Some(self.three_numbers()?),
                "explicit_cluster" => func.bounds.explicit_cluster = true,
                _ => return Err(ParseError { span, message: format!("there is no bound `{word}`") }),
            }
        }
        Ok(())
    }

    fn three_numbers(&mut self) -> Result<[u32; 3], ParseError> {
        Ok([self.small_number()?, self.small_number()?, self.small_number()?])
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
            return Err(ParseError {
                span,
                message: "an instruction in front of the first block".to_string(),
            });
        }
        let mut reader = OpReader::new(self, words, span.end);
        let mut op = read_op(&mut reader)?;
        let ty = reader.ty.unwrap_or(Type::B32);
        let value_count = row(&op).args.len();
        let has_targets = op.effects().terminator && op != Op::Return;
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
                if let Op::Bssy(_, continuation) = &mut data.op {
                    *continuation = block(*continuation);
                }
                let types = func.result_types(&data.op, data.ty);
                let inst: Inst = func.insts.push(data);
                for (index, (&number, ty)) in results.iter().zip(types).enumerate() {
                    func.define(Value::new(values[number]), ty, ValueDef::Result(inst, index as u8));
                }
                func.blocks[this].insts.push(inst);
            }
        }
        func
    }
}
