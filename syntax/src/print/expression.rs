//! Constant expressions, with the parentheses that precedence requires.

use std::fmt;

use crate::ast::{CastType, Expr, IntLiteral, Radix};

/// The precedence of a unary operator, which binds tighter than every binary operator.
const UNARY: u8 = 12;
/// The precedence of `?:`.
const TERNARY: u8 = 1;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_expr(f, self, TERNARY)
    }
}

impl fmt::Display for IntLiteral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.radix {
            Radix::Binary => write!(f, "0b{:b}", self.value)?,
            Radix::Octal => write!(f, "0{:o}", self.value)?,
            Radix::Decimal => write!(f, "{}", self.value)?,
            Radix::Hexadecimal => write!(f, "0x{:X}", self.value)?,
        }
        if self.unsigned { f.write_str("U") } else { Ok(()) }
    }
}

/// The offset of a symbol: the `+4` of `sym+4`.
pub(super) fn write_offset(f: &mut fmt::Formatter<'_>, offset: Option<&Expr>) -> fmt::Result {
    let Some(offset) = offset else { return Ok(()) };
    f.write_str("+")?;
    write_expr(f, offset, TERNARY)
}

/// Writes `expr` in a place where operators looser than `least` need parentheses.
pub(super) fn write_expr(f: &mut fmt::Formatter<'_>, expr: &Expr, least: u8) -> fmt::Result {
    let parenthesised = precedence(expr) < least;
    if parenthesised {
        f.write_str("(")?;
    }
    match expr {
        Expr::Int(literal) => write!(f, "{literal}")?,
        Expr::F32(bits) => write!(f, "0f{bits:08X}")?,
        Expr::F64(bits) => write!(f, "0d{bits:016X}")?,
        Expr::Decimal(text) => f.write_str(text)?,
        Expr::WarpSize => f.write_str("WARP_SZ")?,
        Expr::Unary(operand) => {
            f.write_str(operand.0.spelling())?;
            write_expr(f, &operand.1, UNARY)?;
        }
        Expr::Cast(operand) => {
            f.write_str(match operand.0 {
                CastType::S64 => "(.s64)",
                CastType::U64 => "(.u64)",
            })?;
            write_expr(f, &operand.1, UNARY)?;
        }
        Expr::Binary(sides) => {
            let op = sides.0;
            write_expr(f, &sides.1, op.precedence())?;
            write!(f, " {} ", op.spelling())?;
            write_expr(f, &sides.2, op.precedence() + 1)?;
        }
        Expr::Ternary(parts) => {
            write_expr(f, &parts.0, TERNARY + 1)?;
            f.write_str(" ? ")?;
            write_expr(f, &parts.1, TERNARY)?;
            f.write_str(" : ")?;
            write_expr(f, &parts.2, TERNARY)?;
        }
    }
    if parenthesised { f.write_str(")") } else { Ok(()) }
}

/// How tightly the outermost operator binds; literals bind tightest.
fn precedence(expr: &Expr) -> u8 {
    match expr {
        Expr::Ternary(_) => TERNARY,
        Expr::Binary(sides) => sides.0.precedence(),
        Expr::Unary(..) | Expr::Cast(..) => UNARY,
        Expr::Int(_) | Expr::F32(_) | Expr::F64(_) | Expr::Decimal(_) | Expr::WarpSize => UNARY + 1,
    }
}
