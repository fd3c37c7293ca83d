//! Operands.

use std::fmt;

use super::expression::write_offset;
use super::list;
use crate::ast::{Address, Operand, OperandKind, SymbolOffset};

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            OperandKind::Sink => f.write_str("_"),
            OperandKind::Symbol(name) => f.write_str(name),
            OperandKind::Selected(selected) => write!(f, "{}.{}", selected.0, selected.1),
            OperandKind::Immediate(expr) => write!(f, "{expr}"),
            OperandKind::SymbolOffset(place) => write!(f, "{place}"),
            OperandKind::Element(element) => write!(f, "{}[{}]", element.0, element.1),
            OperandKind::Address(address) => write!(f, "{address}"),
            OperandKind::Vector(elements) => bracketed(f, "{", elements, "}"),
            OperandKind::Pair(sides) => write!(f, "{}|{}", sides.0, sides.1),
            OperandKind::Not(operand) => write!(f, "!{operand}"),
            OperandKind::Minus(operand) => write!(f, "-{operand}"),
            OperandKind::Arguments(elements) => bracketed(f, "(", elements, ")"),
            OperandKind::String(text) => write!(f, "\"{text}\""),
        }
    }
}

fn bracketed(f: &mut fmt::Formatter<'_>, open: &str, elements: &[Operand], close: &str) -> fmt::Result {
    f.write_str(open)?;
    list(f, elements, |f, element| write!(f, "{element}"))?;
    f.write_str(close)
}

impl fmt::Display for SymbolOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.base, &self.offset) {
            (Some(base), offset) => {
                f.write_str(base)?;
                write_offset(f, offset.as_ref())
            }
            (None, Some(offset)) => write!(f, "{offset}"),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.place)?;
        for part in &self.rest {
            write!(f, ", {part}")?;
        }
        f.write_str("]")?;
        match &self.property {
            Some(property) => write!(f, ".{property}"),
            None => Ok(()),
        }
    }
}
