//! Constant expressions, kept as a tree.
//!
//! The parser limits the height of a tree ([`MAX_EXPRESSION_HEIGHT`]), so a recursive walk is safe.
//! [`Expr::evaluate`](crate::const_eval) computes its value.

use crate::name::Name;

/// The greatest number of levels of an expression or an initialiser that the parser accepts.
pub const MAX_EXPRESSION_HEIGHT: u32 = 200;

/// A constant expression. Parentheses are not kept; the printer writes the necessary ones.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// An integer literal.
    Int(IntLiteral),
    /// The bits of a `0f…` literal.
    F32(u32),
    /// The bits of a `0d…` literal.
    F64(u64),
    /// A decimal float literal such as `1.5e-3`, as written; `.5` is `0.5`.
    Decimal(Box<Name>),
    /// The predefined constant `WARP_SZ`.
    WarpSize,
    /// `- x`, `! x`, …
    Unary(Box<(UnaryOp, Expr)>),
    /// `(.s64) x`
    Cast(Box<(CastType, Expr)>),
    /// `x + y`, …
    Binary(Box<(BinaryOp, Expr, Expr)>),
    /// `x ? y : z`
    Ternary(Box<(Expr, Expr, Expr)>),
}

impl Expr {
    /// The signed decimal literal `value`; a negative value is written as a negation.
    pub fn int(value: i64) -> Expr {
        let literal =
            Expr::Int(IntLiteral { value: value.unsigned_abs(), radix: Radix::Decimal, unsigned: false });
        if value < 0 { Expr::Unary(Box::new((UnaryOp::Neg, literal))) } else { literal }
    }
}

/// An integer literal. PTX literals have no sign; `-4` is a [`UnaryOp::Neg`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IntLiteral {
    /// Its value.
    pub value: u64,
    /// How it was written.
    pub radix: Radix,
    /// Whether it has the suffix `U`.
    pub unsigned: bool,
}

/// The radix an integer literal is written in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Radix {
    /// `0b101`
    Binary,
    /// `017`
    Octal,
    /// `15`
    Decimal,
    /// `0xF`
    Hexadecimal,
}

/// An operator with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `+`
    Plus,
    /// `-`
    Neg,
    /// `!`: 1 for zero, 0 for everything else.
    LogicalNot,
    /// `~`
    BitNot,
}

impl UnaryOp {
    /// As written.
    pub const fn spelling(self) -> &'static str {
        match self {
            UnaryOp::Plus => "+",
            UnaryOp::Neg => "-",
            UnaryOp::LogicalNot => "!",
            UnaryOp::BitNot => "~",
        }
    }
}

/// The type of a cast.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CastType {
    /// `(.s64)`
    S64,
    /// `(.u64)`
    U64,
}

/// An operator with two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is documented by its spelling")]
pub enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    BitAnd,
    BitXor,
    BitOr,
    LogicalAnd,
    LogicalOr,
}

impl BinaryOp {
    /// As written.
    pub const fn spelling(self) -> &'static str {
        match self {
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Lt => "<",
            BinaryOp::Gt => ">",
            BinaryOp::Le => "<=",
            BinaryOp::Ge => ">=",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitXor => "^",
            BinaryOp::BitOr => "|",
            BinaryOp::LogicalAnd => "&&",
            BinaryOp::LogicalOr => "||",
        }
    }

    /// How tightly the operator binds; the same order as in C. `?:` is 1, a unary operator 12.
    pub const fn precedence(self) -> u8 {
        match self {
            BinaryOp::LogicalOr => 2,
            BinaryOp::LogicalAnd => 3,
            BinaryOp::BitOr => 4,
            BinaryOp::BitXor => 5,
            BinaryOp::BitAnd => 6,
            BinaryOp::Eq | BinaryOp::Ne => 7,
            BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge => 8,
            BinaryOp::Shl | BinaryOp::Shr => 9,
            BinaryOp::Add | BinaryOp::Sub => 10,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 11,
        }
    }
}
