//! How the payload of an operation is written and read: dotted modifiers, and operands that are not
//! values.

use std::fmt::Write;

use crate::condition::{FloatCond, IntCond};
use crate::entities::{Block, FuncRef, Symbol};
use crate::function::Function;
use crate::image::{Dimension, Fetch, Outside, Sampling, Shape, SurfaceAccess};
use crate::matrix::{Element, Product, Size, Sum};
use crate::memory::{Access, AtomicOp, CacheOp, Eviction, LineAction, MemType, Order, Scope, Space, Spelled};
use crate::op::{
    Approx, BarrierKind, ByteFormat, BytePick, ConvergenceBarrier, FloatMode, Funnel, GridDependency,
    MatchMode, MbarrierArrive, MbarrierUpdate, MbarrierWait, NarrowInt, PairFunction, Prefetch, Proxy,
    ReduxOp, Rounding, ShflMode, SpecialReg, VoteMode,
};
use crate::tensor_copy::{TensorBox, TensorUpdate};
use crate::text::ParseError;
use crate::text::parse::FunctionParser;
use crate::types::Type;
use crate::warpgroup::{Count, GroupOptions, GroupProduct, Groups};

/// Writes one operation.
pub(crate) struct OpWriter<'a> {
    pub(crate) out: &'a mut String,
    pub(crate) func: &'a Function,
    ty: Type,
    /// The type that may be omitted after an access.
    implied: Option<Type>,
    /// Whether an operand has been written.
    operands: bool,
}

impl<'a> OpWriter<'a> {
    /// A writer for an operation with the controlling type `ty`.
    pub(crate) fn new(out: &'a mut String, func: &'a Function, ty: Type) -> OpWriter<'a> {
        OpWriter { out, func, ty, implied: None, operands: false }
    }

    pub(crate) fn mnemonic(&mut self, word: &str) {
        self.out.push_str(word);
    }

    pub(crate) fn word(&mut self, word: &str) {
        self.out.push('.');
        self.out.push_str(word);
    }

    pub(crate) fn controlling_type(&mut self) {
        if self.implied != Some(self.ty) {
            self.word(self.ty.name());
        }
    }

    pub(crate) fn modifier(&mut self, field: &impl Modifier) {
        field.write(self);
    }

    /// Writes the separator before the next operand.
    pub(crate) fn separator(&mut self) {
        self.out.push_str(if self.operands { ", " } else { " " });
        self.operands = true;
    }

    pub(crate) fn operand(&mut self, field: &impl Operand) {
        self.separator();
        field.write(self);
    }
}

/// Reads one operation.
pub(crate) struct OpReader<'p, 't> {
    pub(crate) parser: &'p mut FunctionParser<'t>,
    mnemonic: &'t str,
    /// The words that are not read yet, with dots between them.
    rest: &'t str,
    /// Where the rest ends in the text.
    end: usize,
    pub(crate) ty: Option<Type>,
    implied: Option<Type>,
    operands: bool,
}

impl<'p, 't> OpReader<'p, 't> {
    /// A reader for a token with a mnemonic and modifiers that ends at byte `end`.
    pub(crate) fn new(parser: &'p mut FunctionParser<'t>, words: &'t str, end: usize) -> OpReader<'p, 't> {
        let (mnemonic, rest) = words.split_once('.').unwrap_or((words, ""));
        OpReader { parser, mnemonic, rest, end, ty: None, implied: None, operands: false }
    }

    pub(crate) fn mnemonic(&self) -> &'t str {
        self.mnemonic
    }

    /// An error at the words that are not read yet.
    pub(crate) fn error(&self, message: String) -> ParseError {
        let length = if self.rest.is_empty() { self.mnemonic.len() } else { self.rest.len() };
        ParseError { span: self.end - length..self.end, message }
    }

    /// The next word, or the next words that make up one spelling, if that spelling is one of the
    /// alternatives.
    pub(crate) fn optional<S: Spelled>(&mut self) -> Option<S> {
        let rest = self.rest;
        let matches = |name: &&str| {
            rest.strip_prefix(*name).is_some_and(|after| after.is_empty() || after.starts_with('.'))
        };
        let variant = S::ALL.iter().copied().filter(|v| matches(&v.name())).max_by_key(|v| v.name().len())?;
        self.advance(variant.name().len());
        Some(variant)
    }

    fn advance(&mut self, length: usize) {
        let rest = &self.rest[length..];
        self.rest = rest.strip_prefix('.').unwrap_or(rest);
    }

    fn word(&self) -> &'t str {
        self.rest.split('.').next().unwrap_or("")
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let found = self.word() == name;
        if found {
            self.advance(name.len());
        }
        found
    }

    pub(crate) fn controlling_type(&mut self) -> Result<(), ParseError> {
        self.ty = match self.word().parse() {
            Ok(ty) => {
                self.advance(self.word().len());
                Some(ty)
            }
            Err(()) => self.implied,
        };
        match self.ty {
            Some(_) => Ok(()),
            None => Err(self.error(format!("`{}` needs a type here", self.mnemonic))),
        }
    }

    pub(crate) fn modifier<M: Modifier>(&mut self) -> Result<M, ParseError> {
        M::read(self)
    }

    pub(crate) fn end_of_modifiers(&mut self) -> Result<(), ParseError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.error(format!("`{}` does not accept `{}` here", self.mnemonic, self.word())))
        }
    }

    /// Whether an operand follows; also reads the comma before it.
    pub(crate) fn next_operand(&mut self) -> Result<bool, ParseError> {
        if self.parser.at_statement_end() {
            return Ok(false);
        }
        if self.operands {
            self.parser.expect_comma()?;
        }
        self.operands = true;
        Ok(true)
    }

    pub(crate) fn operand<O: Operand>(&mut self) -> Result<O, ParseError> {
        if !self.next_operand()? {
            return Err(self.parser.error_here(format!("`{}` needs an operand here", self.mnemonic)));
        }
        O::read(self)
    }
}

/// A payload that is spelled as dotted words.
pub(crate) trait Modifier: Sized {
    fn write(&self, out: &mut OpWriter<'_>);
    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError>;
}

/// Modifiers of one spelled word.
macro_rules! spelled_modifiers {
    ($($name:ident),*) => {
        $(impl Modifier for $name {
            fn write(&self, out: &mut OpWriter<'_>) {
                out.word(self.name());
            }

            fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
                input.optional().ok_or_else(|| {
                    let names: Vec<_> = $name::ALL.iter().map(|variant| variant.name()).collect();
                    input.error(format!("expected one of `{}` here", names.join("`, `")))
                })
            }
        })*
    };
}
spelled_modifiers!(
    IntCond,
    FloatCond,
    Rounding,
    Approx,
    Funnel,
    VoteMode,
    ShflMode,
    ByteFormat,
    BytePick,
    NarrowInt,
    PairFunction,
    MatchMode,
    MbarrierArrive,
    MbarrierUpdate,
    MbarrierWait,
    LineAction,
    Proxy,
    GridDependency,
    MemType,
    ReduxOp,
    BarrierKind,
    AtomicOp,
    Order,
    Scope,
    Space,
    Fetch,
    Shape,
    Dimension,
    Outside,
    Element,
    Sum,
    TensorUpdate
);

impl Modifier for FloatMode {
    fn write(&self, out: &mut OpWriter<'_>) {
        out.modifier(&self.round);
        for (set, name) in [(self.ftz, "ftz"), (self.sat, "sat"), (self.contract, "contract")] {
            if set {
                out.word(name);
            }
        }
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        Ok(FloatMode {
            round: input.modifier()?,
            ftz: input.flag("ftz"),
            sat: input.flag("sat"),
            contract: input.flag("contract"),
        })
    }
}

/// A hint that is omitted if it has its default.
impl Modifier for Prefetch {
    fn write(&self, out: &mut OpWriter<'_>) {
        if *self != Prefetch::Needed {
            out.word(self.name());
        }
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        Ok(input.optional().unwrap_or(Prefetch::Needed))
    }
}

impl Modifier for Access {
    fn write(&self, out: &mut OpWriter<'_>) {
        out.modifier(&self.space);
        if self.order != Order::Weak {
            out.modifier(&self.order);
        }
        if self.scope != Scope::Sys {
            out.modifier(&self.scope);
        }
        if self.cache != CacheOp::Default {
            out.word(self.cache.name());
        }
        if self.eviction != Eviction::Normal {
            out.word(self.eviction.name());
        }
        out.modifier(&self.prefetch);
        out.word(self.elem.name());
        if self.lanes != 1 {
            out.word(&format!("v{}", self.lanes));
        }
        out.implied = implied_type(self.elem);
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        let space = input.modifier()?;
        let order = input.optional().unwrap_or(Order::Weak);
        let scope = input.optional().unwrap_or(Scope::Sys);
        let cache = input.optional().unwrap_or(CacheOp::Default);
        let eviction = input.optional().unwrap_or(Eviction::Normal);
        let prefetch = input.modifier()?;
        let elem = input.optional().ok_or_else(|| {
            input.error("expected an order, a scope, a cache operator or an element here".to_string())
        })?;
        let lanes = match [8, 4, 2].into_iter().find(|lanes| input.word() == format!("v{lanes}")) {
            Some(lanes) => {
                input.advance(2);
                lanes
            }
            None => 1,
        };
        input.implied = implied_type(elem);
        Ok(Access { space, elem, lanes, order, scope, cache, eviction, prefetch, offset: 0 })
    }
}

impl Modifier for Sampling {
    fn write(&self, out: &mut OpWriter<'_>) {
        out.modifier(&self.fetch);
        out.modifier(&self.shape);
        let flags = [
            (self.half, "half"),
            (self.sampler, "sampler"),
            (self.offset, "offset"),
            (self.compare, "compare"),
        ];
        for (set, name) in flags {
            if set {
                out.word(name);
            }
        }
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        Ok(Sampling {
            fetch: input.modifier()?,
            shape: input.modifier()?,
            half: input.flag("half"),
            sampler: input.flag("sampler"),
            offset: input.flag("offset"),
            compare: input.flag("compare"),
        })
    }
}

impl Modifier for SurfaceAccess {
    fn write(&self, out: &mut OpWriter<'_>) {
        out.modifier(&self.shape);
        out.modifier(&self.outside);
        if self.cache != CacheOp::Default {
            out.word(self.cache.name());
        }
        out.word(&format!("{}{}", if self.texel { 'r' } else { 'b' }, self.size));
        if self.guarded {
            out.word("guarded");
        }
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        let (shape, outside) = (input.modifier()?, input.modifier()?);
        let cache = input.optional().unwrap_or(CacheOp::Default);
        let word = input.word();
        let size = word.get(1..).and_then(|digits| digits.parse().ok());
        let texel = match word.as_bytes().first() {
            Some(b'r') => Some(true),
            Some(b'b') => Some(false),
            _ => None,
        };
        let (Some(texel), Some(size)) = (texel, size) else {
            let what = "expected a number of bytes or components here, such as `b4` or `r2`";
            return Err(input.error(what.to_string()));
        };
        input.advance(word.len());
        Ok(SurfaceAccess { shape, outside, texel, size, cache, guarded: input.flag("guarded") })
    }
}

impl Modifier for Product {
    fn write(&self, out: &mut OpWriter<'_>) {
        out.word(&self.size.to_string());
        for element in [self.sum_type, self.a, self.b] {
            out.modifier(&element);
        }
        if self.sum != Sum::Plain {
            out.modifier(&self.sum);
        }
        if let Some(lanes) = self.sparse {
            out.word(&format!("sparse{lanes}"));
        }
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        let word = input.word();
        let Some(size) = Size::parse(word) else {
            return Err(input.error("expected a size here, such as `m16n8k16`".to_string()));
        };
        input.advance(word.len());
        let (sum_type, a, b) = (input.modifier()?, input.modifier()?, input.modifier()?);
        let sum = input.optional().unwrap_or(Sum::Plain);
        let word = input.word();
        let sparse = word.strip_prefix("sparse").and_then(|lanes| lanes.parse().ok());
        if sparse.is_some() {
            input.advance(word.len());
        }
        Ok(Product { size, sum_type, a, b, sum, sparse })
    }
}

impl Modifier for GroupProduct {
    fn write(&self, out: &mut OpWriter<'_>) {
        out.modifier(&self.product);
        for (option, word) in GroupOptions::ALL {
            if self.options.has(option) {
                out.word(word);
            }
        }
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        let product = input.modifier()?;
        let options = GroupOptions::ALL
            .into_iter()
            .fold(GroupOptions::default(), |options, (option, word)| options.with(option, input.flag(word)));
        Ok(GroupProduct { product, options })
    }
}

impl Modifier for Count {
    fn write(&self, out: &mut OpWriter<'_>) {
        out.word(&format!("x{}", self.0));
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        let word = input.word();
        let Some(count) = word.strip_prefix('x').and_then(|count| count.parse().ok()) else {
            return Err(input.error("expected a number of values here, such as `x4`".to_string()));
        };
        input.advance(word.len());
        Ok(Count(count))
    }
}

impl Modifier for TensorBox {
    fn write(&self, out: &mut OpWriter<'_>) {
        out.word(&format!("{}d", self.dimensions));
        if self.im2col {
            out.word("im2col");
        }
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        let word = input.word();
        let Some(dimensions) = word.strip_suffix('d').and_then(|count| count.parse().ok()) else {
            return Err(input.error("expected a number of dimensions here, such as `2d`".to_string()));
        };
        input.advance(word.len());
        Ok(TensorBox { dimensions, im2col: input.flag("im2col") })
    }
}

/// The type of a value that has the same form in a register as in memory.
fn implied_type(elem: MemType) -> Option<Type> {
    match elem {
        MemType::S8 | MemType::S16 => None,
        other => Type::int(other.bytes() * 8),
    }
}

/// A payload that is written among the operands.
pub(crate) trait Operand: Sized {
    fn write(&self, out: &mut OpWriter<'_>);
    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError>;
}

/// The bits of a constant.
impl Operand for u64 {
    fn write(&self, out: &mut OpWriter<'_>) {
        let _ = write!(out.out, "{self:#x}");
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        input.parser.number()
    }
}

/// A truth table.
impl Operand for u8 {
    fn write(&self, out: &mut OpWriter<'_>) {
        let _ = write!(out.out, "{self:#x}");
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        let number = input.parser.number()?;
        let wrong = || input.parser.error_here(format!("a truth table has 8 bits, unlike {number:#x}"));
        u8::try_from(number).map_err(|_| wrong())
    }
}

/// An offset.
impl Operand for Groups {
    fn write(&self, out: &mut OpWriter<'_>) {
        let _ = write!(out.out, "{}", self.0);
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        u8::read(input).map(Groups)
    }
}

impl Operand for u32 {
    fn write(&self, out: &mut OpWriter<'_>) {
        let _ = write!(out.out, "+{self}");
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        input.parser.offset()
    }
}

impl Operand for SpecialReg {
    fn write(&self, out: &mut OpWriter<'_>) {
        out.out.push_str(self.name());
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        input.parser.spelled("a special register")
    }
}

impl Operand for ConvergenceBarrier {
    fn write(&self, out: &mut OpWriter<'_>) {
        let _ = write!(out.out, "b{}", self.0);
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        input.parser.convergence_barrier()
    }
}

impl Operand for Block {
    fn write(&self, out: &mut OpWriter<'_>) {
        let _ = write!(out.out, "{self}");
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        input.parser.block_name()
    }
}

impl Operand for FuncRef {
    fn write(&self, out: &mut OpWriter<'_>) {
        crate::text::print::at_name(&out.func.callees[*self].name, out.out);
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        input.parser.callee()
    }
}

impl Operand for Symbol {
    fn write(&self, out: &mut OpWriter<'_>) {
        crate::text::print::at_name(&out.func.symbols[*self].name, out.out);
    }

    fn read(input: &mut OpReader<'_, '_>) -> Result<Self, ParseError> {
        input.parser.symbol()
    }
}
