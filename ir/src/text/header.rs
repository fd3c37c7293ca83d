//! The lines before the first block: launch bounds, parameters, callees and symbols, for the
//! printer and the reader.
//!
//! Machine IR has the same lines for the facts that it shares with SSA: see [`Header`].

use std::fmt::{self, Write};

use crate::function::{
    Callee, CalleeKind, CalleeLanes, CalleeStack, External, Function, FunctionKind, LaunchBounds, Layout,
    Layouts, Param,
};
use crate::memory::Space;
use crate::symbol::{ImageWord, Initial, InitialAddress, SymbolData};
use crate::text::ParseError;
use crate::text::lexer::{Kind, is_word, quote, unquote};
use crate::text::parse::FunctionParser;
use crate::text::print::at_name;
use crate::types::Type;

/// The parameters, symbols and launch bounds of a function, which are printed and read as the lines
/// of a function's text.
///
/// ```
/// use ptxc_ir::text::Header;
///
/// let text = "    bounds maxntid 64 1 1\n    param \"n\" 4 +0\n    symbol @tile shared size 64 align 4 +0\n";
/// let header = Header::parse(text)?;
/// assert_eq!(header.params[0].name, "n");
/// assert_eq!(header.to_string(), text);
/// # Ok::<(), Vec<ptxc_ir::text::ParseError>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// A kernel's requirements for a launch.
    pub bounds: LaunchBounds,
    /// The parameters.
    pub params: Vec<Param>,
    /// The variables.
    pub symbols: Vec<SymbolData>,
}

impl Header {
    /// Reads lines that begin with `bounds`, `param` and `symbol`.
    ///
    /// # Errors
    /// Every line that is not one of these, with its place in the text.
    pub fn parse(text: &str) -> Result<Header, Vec<ParseError>> {
        let func = FunctionParser::header_lines(text)?;
        let symbols = func.symbols.values().cloned().collect();
        Ok(Header { bounds: func.bounds, params: func.params, symbols })
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        write_bounds(&self.bounds, &mut out)?;
        write_params(&self.params, &mut out)?;
        write_symbols(self.symbols.iter(), &mut out)?;
        f.write_str(&out)
    }
}

/// A name as the text writes it: `@saxpy`, or `@"a name"` if it is not a word.
pub fn quoted_name(name: &str) -> String {
    let mut out = String::new();
    at_name(name, &mut out);
    out
}

/// The name at the start of a text, and the rest of the text without leading blanks: the inverse of
/// [`quoted_name`].
pub fn unquoted_name(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start().strip_prefix('@')?;
    if !text.starts_with('"') {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        return is_word(name).then(|| (name.to_string(), rest.trim_start()));
    }
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let (name, rest) = text.split_at(end?.0 + 1);
    Some((unquote(name)?, rest.trim_start()))
}

pub(super) fn write_bounds(bounds: &LaunchBounds, out: &mut String) -> fmt::Result {
    if *bounds == Default::default() {
        return Ok(());
    }
    out.push_str("    bounds");
    let sizes =
        [("reqntid", bounds.required_threads), ("maxntid", bounds.max_threads), ("cluster", bounds.cluster)];
    for (name, size) in sizes {
        if let Some([x, y, z]) = size {
            write!(out, " {name} {x} {y} {z}")?;
        }
    }
    for (name, count) in [("maxnreg", bounds.max_registers), ("minnctapersm", bounds.min_ctas)] {
        if let Some(count) = count {
            write!(out, " {name} {count}")?;
        }
    }
    if bounds.explicit_cluster {
        out.push_str(" explicit_cluster");
    }
    out.push('\n');
    Ok(())
}

pub(super) fn write_params(params: &[Param], out: &mut String) -> fmt::Result {
    for param in params {
        out.push_str("    param ");
        quote(&param.name, out);
        write!(out, " {} +{}", param.size, param.offset)?;
        if let Some(image) = param.image {
            write!(out, " {image}")?;
        }
        out.push('\n');
    }
    Ok(())
}

pub(super) fn write_symbols<'a>(
    symbols: impl Iterator<Item = &'a SymbolData>,
    out: &mut String,
) -> fmt::Result {
    for symbol in symbols {
        out.push_str("    symbol ");
        at_name(&symbol.name, out);
        write!(out, " {} size {} align {}", symbol.space, symbol.size, symbol.align)?;
        if let Some(offset) = symbol.offset {
            write!(out, " +{offset}")?;
        }
        if let Some(initial) = &symbol.initial {
            write_initial(initial, out)?;
        }
        out.push('\n');
    }
    Ok(())
}

fn write_initial(initial: &Initial, out: &mut String) -> fmt::Result {
    out.push_str(" = \"");
    for byte in &initial.bytes {
        write!(out, "{byte:02x}")?;
    }
    out.push('"');
    for address in &initial.addresses {
        write!(out, " {}", address.bytes)?;
        if address.shift != 0 {
            write!(out, " shift {}", address.shift)?;
        }
        out.push_str(if address.generic { " generic " } else { " " });
        at_name(&address.symbol, out);
        let sign = if address.addend < 0 { '-' } else { '+' };
        write!(out, " {sign}{} at {}", address.addend.unsigned_abs(), address.at)?;
    }
    Ok(())
}

impl FunctionParser<'_> {
    /// A function that consists only of these lines.
    fn header_lines(text: &str) -> Result<Function, Vec<ParseError>> {
        let mut parser = FunctionParser::new(text);
        let mut func = Function::new(String::new(), FunctionKind::Entry);
        loop {
            parser.skip_newlines();
            match parser.peek_word() {
                None if parser.token.kind == Kind::End => break,
                Some("param" | "symbol" | "bounds") => parser.whole_line(&mut func),
                _ => {
                    let error = parser.error_here("expected `param`, `symbol` or `bounds`".to_string());
                    parser.errors.push(error);
                    parser.skip_line();
                }
            }
        }
        if parser.errors.is_empty() { Ok(func) } else { Err(parser.errors) }
    }

    pub(super) fn param_line(&mut self, func: &mut Function) -> Result<(), ParseError> {
        let name = self.string()?;
        let size = self.small_number()?;
        let offset = self.offset()?;
        let is_image = self.token.kind == Kind::Word;
        let image = if is_image { Some(self.spelled("`texture`, `sampler` or `surface`")?) } else { None };
        func.params.push(Param { name, size, offset, image });
        Ok(())
    }

    pub(super) fn symbol_line(&mut self, func: &mut Function) -> Result<(), ParseError> {
        let span = self.token.span.clone();
        let name = self.at_name()?;
        let space: Space = self.spelled("a space")?;
        self.keyword("size")?;
        let size = if space == Space::Global { self.number()? } else { self.small_number()?.into() };
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

    /// `+16 @t`: the word of a texture, sampler or surface.
    pub(super) fn word_line(&mut self, func: &mut Function) -> Result<(), ParseError> {
        let offset = self.offset()?;
        let span = self.token.span.clone();
        let name = self.at_name()?;
        let symbol = self.symbols.get(&name).copied();
        match symbol.filter(|&symbol| func.symbols[symbol].space.is_image()) {
            Some(symbol) => func.image_words.push(ImageWord { offset, symbol }),
            None => {
                let message = format!("`{name}` is no texture, sampler or surface");
                return Err(ParseError { span, message });
            }
        }
        Ok(())
    }

    pub(super) fn callee_line(&mut self, func: &mut Function) -> Result<(), ParseError> {
        let span = self.token.span.clone();
        let name = self.at_name()?;
        let (word, at) = self.word("`routine`, `device`, `prototype` or `external`")?;
        let kind = match word {
            "routine" => CalleeKind::Routine,
            "device" => CalleeKind::Device,
            "prototype" => CalleeKind::Prototype(Box::new(match self.token.kind {
                Kind::LeftBracket => self.layouts()?,
                _ => Layouts::default(),
            })),
            "external" => CalleeKind::External(Box::new(self.external()?)),
            _ => {
                let message =
                    format!("expected `routine`, `device`, `prototype` or `external`, found `{word}`");
                return Err(ParseError { span: at, message });
            }
        };
        let mut lanes = match &kind {
            CalleeKind::Routine => CalleeLanes::PURE,
            CalleeKind::Device | CalleeKind::Prototype(_) | CalleeKind::External(_) => CalleeLanes::default(),
        };
        let mut stack = CalleeStack::default();
        while self.token.kind == Kind::Word {
            let expected =
                "`together`, `independent`, `inside`, `stack`, `moves_stack` or the types of the parameters";
            let (word, at) = self.word(expected)?;
            match word {
                "together" => lanes.together = true,
                "independent" => lanes.independent = true,
                "inside" => lanes.inside = true,
                "stack" => stack.bytes = self.small_number()?,
                "moves_stack" => stack.moves = true,
                _ => {
                    let message = format!("expected {expected}, found `{word}`");
                    return Err(ParseError { span: at, message });
                }
            }
        }
        let params = self.types()?;
        let results = self.result_types()?;
        let callee = func.callees.push(Callee { name: name.clone(), kind, params, results, lanes, stack });
        match self.callees.insert(name.clone(), callee) {
            Some(_) => Err(ParseError { span, message: format!("callee `{name}` is declared twice") }),
            None => Ok(()),
        }
    }

    /// `+8 [8:8, 4:4] -> [4:4]`.
    fn external(&mut self) -> Result<External, ParseError> {
        let address = if self.token.kind == Kind::Plus { Some(self.offset()?) } else { None };
        Ok(External { address, layouts: self.layouts()? })
    }

    /// `[8:8, 4:4] -> [4:4]`.
    pub(super) fn layouts(&mut self) -> Result<Layouts, ParseError> {
        let params = self.layout_list()?;
        let results = if self.take_if(Kind::Arrow) { self.layout_list()? } else { Vec::new() };
        Ok(Layouts { params, results })
    }

    /// `[8:8, 4:4]`.
    fn layout_list(&mut self) -> Result<Vec<Layout>, ParseError> {
        let mut layouts = Vec::new();
        self.expect(Kind::LeftBracket)?;
        while self.token.kind != Kind::RightBracket {
            if !layouts.is_empty() {
                self.expect_comma()?;
            }
            let bytes = self.small_number()?;
            self.expect(Kind::Colon)?;
            let span = self.token.span.clone();
            let align = self.small_number()?;
            if !align.is_power_of_two() {
                return Err(ParseError { span, message: format!("{align} is not a power of two") });
            }
            layouts.push(Layout { bytes, align });
        }
        self.expect(Kind::RightBracket)?;
        Ok(layouts)
    }

    /// `-> (b32, pred)`, or nothing.
    pub(super) fn result_types(&mut self) -> Result<Vec<Type>, ParseError> {
        if self.take_if(Kind::Arrow) { self.types() } else { Ok(Vec::new()) }
    }

    /// `(b32, pred)`.
    pub(super) fn types(&mut self) -> Result<Vec<Type>, ParseError> {
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

    pub(super) fn type_name(&mut self) -> Result<Type, ParseError> {
        let (word, span) = self.word("a type")?;
        word.parse().map_err(|()| ParseError { span, message: format!("there is no type `{word}`") })
    }

    /// `"0700" 8 @other +0 at 8`: bytes in hexadecimal, then addresses. An address has its size,
    /// the shift of a part, its target, and its place.
    pub(super) fn initial(&mut self) -> Result<Initial, ParseError> {
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
            let message = "expected an address of 8 or 4 bytes, or 1 byte of it".to_string();
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

    pub(super) fn keyword(&mut self, expected: &str) -> Result<(), ParseError> {
        let (word, span) = self.word(&format!("`{expected}`"))?;
        if word == expected {
            return Ok(());
        }
        Err(ParseError { span, message: format!("expected `{expected}`, found `{word}`") })
    }

    pub(super) fn bounds_line(&mut self, func: &mut Function) -> Result<(), ParseError> {
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

    pub(super) fn three_numbers(&mut self) -> Result<[u32; 3], ParseError> {
        Ok([self.small_number()?, self.small_number()?, self.small_number()?])
    }
}
