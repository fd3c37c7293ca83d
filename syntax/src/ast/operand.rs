//! Operands of instructions.

use super::expression::Expr;
use crate::name::Name;
use crate::span::NodeId;

/// One operand, or one element of a vector or an argument list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operand {
    /// The position.
    pub id: NodeId,
    /// The kind, with its content.
    pub kind: OperandKind,
}

/// The kinds of operands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OperandKind {
    /// `_`: the result is discarded, or the source is omitted.
    Sink,
    /// A register, special register (`%tid.x` is one name), variable, label or function.
    Symbol(Name),
    /// A part of a register, `v.x` or, for video instructions, `a.b0` and `b.h1`; the selector has no dot.
    Selected(Box<(Name, Name)>),
    /// A constant without symbols.
    Immediate(Expr),
    /// `sym+4`, the address of a variable and an offset.
    SymbolOffset(Box<SymbolOffset>),
    /// `sym[2]`, `sym[%r1]` or `sym[%r1+1]`: an element of an array; the index counts elements.
    Element(Box<(Name, SymbolOffset)>),
    /// `[…]`
    Address(Box<Address>),
    /// `{a, b}`
    Vector(Box<[Operand]>),
    /// `p|q`: two destinations.
    Pair(Box<(Operand, Operand)>),
    /// `!p`, around a [`Symbol`](OperandKind::Symbol) or [`Selected`](OperandKind::Selected).
    Not(Box<Operand>),
    /// `-a`, around a symbol or a selected part; only video instructions have it.
    Minus(Box<Operand>),
    /// `(a, b)`: the arguments or results of a `call`.
    Arguments(Box<[Operand]>),
    /// A string literal, raw text between the quotes.
    String(Name),
}

/// A symbol, a constant, or their sum.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SymbolOffset {
    /// The register or variable; none in `[16]`.
    pub base: Option<Name>,
    /// The offset; `-4` in `x-4`.
    pub offset: Option<Expr>,
}

/// An operand in brackets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Address {
    /// The byte address: `%rd1+8` in `[%rd1+8]`; the texture, surface or tensor in `[tex, {x, y}]`.
    pub place: SymbolOffset,
    /// The operands after a comma: a sampler, then coordinates in braces.
    pub rest: Vec<Operand>,
    /// A property written after the bracket, without its dot: `unified` in `[%rd1].unified`.
    pub property: Option<Name>,
}

impl Operand {
    /// The name of a plain register, variable, label or function.
    pub fn as_symbol(&self) -> Option<&Name> {
        match &self.kind {
            OperandKind::Symbol(name) => Some(name),
            _ => None,
        }
    }

    /// The expression of an immediate.
    pub fn as_immediate(&self) -> Option<&Expr> {
        match &self.kind {
            OperandKind::Immediate(expr) => Some(expr),
            _ => None,
        }
    }

    /// The elements of a vector or of an argument list.
    pub fn elements(&self) -> Option<&[Operand]> {
        match &self.kind {
            OperandKind::Vector(elements) | OperandKind::Arguments(elements) => Some(elements),
            _ => None,
        }
    }
}
