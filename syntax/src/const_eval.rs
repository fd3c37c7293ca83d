//! The value of a constant expression.
//!
//! The rules are those of section 4.5 of the PTX ISA: integers have 64 bits, a literal is signed
//! unless it has a `U` or needs all 64 bits, an operator on mixed signs computes unsigned,
//! comparisons and logical operators give a signed 0 or 1, and floats are computed in double
//! precision. A `0f…` literal must be the whole expression; no operator accepts it. Where that
//! section is silent, the rules are those of ptxas: the distance of a shift counts modulo 64, `?:`
//! takes integers only, and a float can't be divided by zero either.
//!
//! ```
//! use ptxc_syntax::ast::StatementKind;
//! use ptxc_syntax::const_eval::Constant;
//!
//! let parsed = ptxc_syntax::parse_function(".func f() { mov.u32 %r1, (1 << 4) | -1U % 7; }");
//! let body = parsed.value.body.unwrap();
//! let StatementKind::Instruction(mov) = &body[0].kind else { panic!() };
//! let value = mov.operands[1].as_immediate().unwrap().evaluate();
//! assert_eq!(value, Ok(Constant::U64(17)));
//! ```
//!
//! Linear in the size of the expression; the recursion is bounded by
//! [`MAX_EXPRESSION_HEIGHT`](crate::ast::expression::MAX_EXPRESSION_HEIGHT).

use std::fmt;

use crate::ast::{BinaryOp, CastType, Expr, UnaryOp};

/// The number of threads in a warp, `WARP_SZ`.
const WARP_SIZE: i64 = 32;

/// A value. Floats are stored as bits, so that equality compares bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Constant {
    /// A signed integer.
    S64(i64),
    /// An unsigned integer.
    U64(u64),
    /// The bits of a single-precision literal.
    F32(u32),
    /// The bits of a double-precision value.
    F64(u64),
}

impl Constant {
    /// The 64 bits of an integer, in two's complement; none for a float.
    pub fn integer_bits(self) -> Option<u64> {
        match self {
            Constant::S64(value) => Some(value as u64),
            Constant::U64(value) => Some(value),
            Constant::F32(_) | Constant::F64(_) => None,
        }
    }
}

/// Why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EvalError {
    /// `/` or `%` by zero.
    DivisionByZero,
    /// An operator that needs integers is applied to a float.
    NeedsInteger,
    /// One side is an integer and the other a float.
    MixedTypes,
    /// A `0f…` literal is part of a larger expression.
    SingleInExpression,
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EvalError::DivisionByZero => "division by zero",
            EvalError::NeedsInteger => "this operator needs integers",
            EvalError::MixedTypes => "an integer and a float can't be combined",
            EvalError::SingleInExpression => "a `0f` literal can't be part of an expression",
        })
    }
}

impl std::error::Error for EvalError {}

impl Expr {
    /// The value of the expression.
    ///
    /// # Errors
    ///
    /// An [`EvalError`] if an operator does not accept its operands, or for a division by zero.
    pub fn evaluate(&self) -> Result<Constant, EvalError> {
        match self {
            Expr::Int(literal) => Ok(match i64::try_from(literal.value) {
                Ok(value) if !literal.unsigned => Constant::S64(value),
                _ => Constant::U64(literal.value),
            }),
            Expr::F32(bits) => Ok(Constant::F32(*bits)),
            Expr::F64(bits) => Ok(Constant::F64(*bits)),
            // The parser accepts only text that Rust parses as a float.
            Expr::Decimal(text) => Ok(double(text.parse().unwrap_or(f64::NAN))),
            Expr::WarpSize => Ok(Constant::S64(WARP_SIZE)),
            Expr::Unary(operand) => unary(operand.0, operand.1.evaluate()?),
            Expr::Cast(cast) => {
                let bits = cast.1.evaluate()?.integer_bits().ok_or(EvalError::NeedsInteger)?;
                Ok(match cast.0 {
                    CastType::S64 => Constant::S64(bits as i64),
                    CastType::U64 => Constant::U64(bits),
                })
            }
            Expr::Binary(sides) => binary(sides.0, sides.1.evaluate()?, sides.2.evaluate()?),
            Expr::Ternary(parts) => {
                let condition = parts.0.evaluate()?.integer_bits().ok_or(EvalError::NeedsInteger)?;
                let sides = convert(parts.1.evaluate()?, parts.2.evaluate()?)?;
                let then = condition != 0;
                match sides {
                    Sides::Signed(a, b) => Ok(Constant::S64(if then { a } else { b })),
                    Sides::Unsigned(a, b) => Ok(Constant::U64(if then { a } else { b })),
                    Sides::Double(..) => Err(EvalError::NeedsInteger),
                }
            }
        }
    }
}

fn double(value: f64) -> Constant {
    Constant::F64(value.to_bits())
}

fn truth(value: bool) -> Constant {
    Constant::S64(i64::from(value))
}

/// Two operands, converted to the type of the computation.
enum Sides {
    Signed(i64, i64),
    Unsigned(u64, u64),
    Double(f64, f64),
}

/// The usual conversions: unsigned if either is unsigned, and floats only with floats.
fn convert(left: Constant, right: Constant) -> Result<Sides, EvalError> {
    match (left, right) {
        (Constant::F32(_), _) | (_, Constant::F32(_)) => Err(EvalError::SingleInExpression),
        (Constant::F64(a), Constant::F64(b)) => Ok(Sides::Double(f64::from_bits(a), f64::from_bits(b))),
        (Constant::F64(_), _) | (_, Constant::F64(_)) => Err(EvalError::MixedTypes),
        (Constant::S64(a), Constant::S64(b)) => Ok(Sides::Signed(a, b)),
        (Constant::S64(a), Constant::U64(b)) => Ok(Sides::Unsigned(a as u64, b)),
        (Constant::U64(a), Constant::S64(b)) => Ok(Sides::Unsigned(a, b as u64)),
        (Constant::U64(a), Constant::U64(b)) => Ok(Sides::Unsigned(a, b)),
    }
}

fn unary(op: UnaryOp, operand: Constant) -> Result<Constant, EvalError> {
    if matches!(operand, Constant::F32(_)) {
        return Err(EvalError::SingleInExpression);
    }
    match (op, operand) {
        (UnaryOp::Plus, value) => Ok(value),
        (UnaryOp::Neg, Constant::S64(value)) => Ok(Constant::S64(value.wrapping_neg())),
        (UnaryOp::Neg, Constant::U64(value)) => Ok(Constant::U64(value.wrapping_neg())),
        (UnaryOp::Neg, Constant::F64(bits)) => Ok(double(-f64::from_bits(bits))),
        (UnaryOp::LogicalNot, value) => Ok(truth(value.integer_bits().ok_or(EvalError::NeedsInteger)? == 0)),
        (UnaryOp::BitNot, value) => Ok(Constant::U64(!value.integer_bits().ok_or(EvalError::NeedsInteger)?)),
        (UnaryOp::Neg, Constant::F32(_)) => Err(EvalError::SingleInExpression),
    }
}

fn binary(op: BinaryOp, left: Constant, right: Constant) -> Result<Constant, EvalError> {
    let sides = convert(left, right)?;
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => arithmetic(op, sides),
        BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne => {
            let order = match sides {
                Sides::Signed(a, b) => Some(a.cmp(&b)),
                Sides::Unsigned(a, b) => Some(a.cmp(&b)),
                Sides::Double(a, b) => a.partial_cmp(&b),
            };
            Ok(truth(match op {
                BinaryOp::Lt => order.is_some_and(|order| order.is_lt()),
                BinaryOp::Gt => order.is_some_and(|order| order.is_gt()),
                BinaryOp::Le => order.is_some_and(|order| order.is_le()),
                BinaryOp::Ge => order.is_some_and(|order| order.is_ge()),
                BinaryOp::Eq => order.is_some_and(|order| order.is_eq()),
                _ => order.is_none_or(|order| order.is_ne()),
            }))
        }
        _ => {
            let a = left.integer_bits().ok_or(EvalError::NeedsInteger)?;
            let b = right.integer_bits().ok_or(EvalError::NeedsInteger)?;
            bitwise(op, left, a, b)
        }
    }
}

fn arithmetic(op: BinaryOp, sides: Sides) -> Result<Constant, EvalError> {
    Ok(match sides {
        Sides::Signed(_, 0) | Sides::Unsigned(_, 0) if op == BinaryOp::Div => {
            return Err(EvalError::DivisionByZero);
        }
        Sides::Double(_, 0.0) if op == BinaryOp::Div => return Err(EvalError::DivisionByZero),
        Sides::Signed(a, b) => Constant::S64(match op {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            _ => a.wrapping_div(b),
        }),
        Sides::Unsigned(a, b) => Constant::U64(match op {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            _ => a / b,
        }),
        Sides::Double(a, b) => double(match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            _ => a / b,
        }),
    })
}

/// The operators that accept only integers; `left` still tells whether `a` is signed.
fn bitwise(op: BinaryOp, left: Constant, a: u64, b: u64) -> Result<Constant, EvalError> {
    Ok(match op {
        BinaryOp::Rem => Constant::S64(a.checked_rem(b).ok_or(EvalError::DivisionByZero)? as i64),
        BinaryOp::Shl | BinaryOp::Shr => {
            let distance = (b % 64) as u32;
            match left {
                Constant::S64(value) if op == BinaryOp::Shr => Constant::S64(value >> distance),
                Constant::S64(value) => Constant::S64(value << distance),
                _ if op == BinaryOp::Shr => Constant::U64(a >> distance),
                _ => Constant::U64(a << distance),
            }
        }
        BinaryOp::BitAnd => Constant::U64(a & b),
        BinaryOp::BitXor => Constant::U64(a ^ b),
        BinaryOp::BitOr => Constant::U64(a | b),
        BinaryOp::LogicalAnd => truth(a != 0 && b != 0),
        _ => truth(a != 0 || b != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Initialiser, Item};
    use crate::items::ItemKind;

    fn evaluate(text: &str) -> Result<Constant, EvalError> {
        let parsed = crate::parse_item(&format!(".global .u64 x = {text};"), ItemKind::Variable);
        assert!(parsed.errors.is_empty(), "{text}: {:?}", parsed.errors);
        let Some(Item::Declaration(declaration)) = parsed.value else { panic!("{text} is no declaration") };
        match &declaration.declarators[0].initialiser {
            Some(Initialiser::Constant(expr)) => expr.evaluate(),
            other => panic!("{text} is {other:?}"),
        }
    }

    #[test]
    fn types_and_precedence() {
        use Constant::{S64, U64};
        for (text, value) in [
            ("2+3*4", S64(14)),
            ("(2+3)*4", S64(20)),
            ("10-4-3", S64(3)),
            ("-7/2", S64(-3)),
            ("-7/2U", U64((-7i64 as u64) / 2)),
            ("-1 % 10", S64((u64::MAX % 10) as i64)),
            ("5 % 3", S64(2)),
            ("0xFFFFFFFFFFFFFFFF", U64(u64::MAX)),
            ("017 + 0b11", S64(18)),
            ("-8 >> 1", S64(-4)),
            ("-8U >> 1", U64((8u64.wrapping_neg()) >> 1)),
            ("1 << 64", S64(1)),
            ("1 << 65", S64(2)),
            ("1 << -1", S64(i64::MIN)),
            ("1 << (1 << 40)", S64(1)),
            ("5 >> 64", S64(5)),
            ("5U >> 66", U64(1)),
            ("~0", U64(u64::MAX)),
            ("!5 + !0", S64(1)),
            ("-1 < 0U", S64(0)),
            ("(.s64)(-1U) < 0", S64(1)),
            ("1 ? 2 : 3U", U64(2)),
            ("0 ? 1 : 0 ? 2 : 3", S64(3)),
            ("6 & 3 | 8 ^ 1", U64(11)),
            ("2 && 0 || 4", S64(1)),
            ("WARP_SZ * 2", S64(64)),
        ] {
            assert_eq!(evaluate(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn floats_are_double_and_do_not_mix() {
        assert_eq!(evaluate("1.5 + .5 * 1e1"), Ok(double(6.5)));
        assert_eq!(evaluate("0d3FF0000000000000 < 2."), Ok(Constant::S64(1)));
        assert_eq!(evaluate("0f3F800000"), Ok(Constant::F32(0x3F80_0000)));
        assert_eq!(evaluate("-0f3F800000"), Err(EvalError::SingleInExpression));
        assert_eq!(evaluate("1 + 1.0"), Err(EvalError::MixedTypes));
        assert_eq!(evaluate("1.0 & 1.0"), Err(EvalError::NeedsInteger));
        assert_eq!(evaluate("1 / (3-3)"), Err(EvalError::DivisionByZero));
        assert_eq!(evaluate("1.0 / 0.0"), Err(EvalError::DivisionByZero));
        assert_eq!(evaluate("1.0 / -0.0"), Err(EvalError::DivisionByZero));
        assert_eq!(evaluate("1 ? 0.5 : 2.0"), Err(EvalError::NeedsInteger));
        assert_eq!(evaluate("1.0 ? 1 : 2"), Err(EvalError::NeedsInteger));
    }
}
