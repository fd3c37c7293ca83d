//! Declarations and parameters.

use std::fmt;

use super::expression::{write_expr, write_offset};
use super::list;
use crate::ast::{
    Attribute, BinaryOp, Declaration, Declarator, Expr, FieldValue, Initialiser, Parameter, Specifiers,
    SymbolAddress,
};

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(linkage) = self.linkage {
            write!(f, ".{} ", linkage.spelling())?;
        }
        write!(f, "{} ", self.specifiers)?;
        list(f, &self.declarators, |f, declarator| write!(f, "{declarator}"))?;
        f.write_str(";")
    }
}

impl fmt::Display for Specifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.space.spelling())?;
        if let Some(bank) = &self.bank {
            write!(f, "[{bank}]")?;
        }
        if !self.attributes.is_empty() {
            f.write_str(" ")?;
            write_attributes(f, &self.attributes)?;
        }
        if let Some(align) = &self.align {
            write!(f, " .align {align}")?;
        }
        if let Some(vector) = self.vector {
            write!(f, " .{}", vector.spelling())?;
        }
        write!(f, " .{}", self.ty.spelling())?;
        if let Some(pointer) = &self.pointer {
            f.write_str(" .ptr")?;
            if let Some(space) = pointer.space {
                write!(f, " .{}", space.spelling())?;
            }
            if let Some(reference) = pointer.reference {
                write!(f, " .{}", reference.spelling())?;
            }
            if let Some(align) = &pointer.align {
                write!(f, " .align {align}")?;
            }
        }
        Ok(())
    }
}

/// `.attribute(.managed)`
pub(super) fn write_attributes(f: &mut fmt::Formatter<'_>, attributes: &[Attribute]) -> fmt::Result {
    f.write_str(".attribute(")?;
    list(f, attributes, |f, attribute| {
        write!(f, ".{}", attribute.name.name)?;
        if attribute.arguments.is_empty() {
            return Ok(());
        }
        f.write_str("(")?;
        list(f, &attribute.arguments, |f, argument| write!(f, "{argument}"))?;
        f.write_str(")")
    })?;
    f.write_str(")")
}

fn write_dimensions(f: &mut fmt::Formatter<'_>, dimensions: &[Option<Expr>]) -> fmt::Result {
    for dimension in dimensions {
        match dimension {
            Some(dimension) => write!(f, "[{dimension}]")?,
            None => f.write_str("[]")?,
        }
    }
    Ok(())
}

impl fmt::Display for Declarator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name.name)?;
        if let Some(range) = &self.range {
            f.write_str("<")?;
            // A comparison could end the brackets early.
            write_expr(f, range, BinaryOp::Shl.precedence())?;
            f.write_str(">")?;
        }
        write_dimensions(f, &self.dimensions)?;
        match &self.initialiser {
            Some(initialiser) => write!(f, " = {initialiser}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Initialiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Initialiser::Constant(expr) => write!(f, "{expr}"),
            Initialiser::Address(address) => write!(f, "{address}"),
            Initialiser::List(values) => {
                f.write_str("{")?;
                list(f, values, |f, value| write!(f, "{value}"))?;
                f.write_str("}")
            }
            Initialiser::Fields(fields) => {
                f.write_str("{")?;
                list(f, fields, |f, field| match &field.value {
                    FieldValue::Name(value) => write!(f, "{} = {}", field.name.name, value.name),
                    FieldValue::Constant(value) => write!(f, "{} = {value}", field.name.name),
                })?;
                f.write_str("}")
            }
        }
    }
}

impl fmt::Display for SymbolAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(mask) = &self.mask {
            write!(f, "{mask}(")?;
        }
        if self.generic {
            write!(f, "generic({})", self.symbol.name)?;
        } else {
            f.write_str(&self.symbol.name)?;
        }
        write_offset(f, self.offset.as_ref())?;
        if self.mask.is_some() { f.write_str(")") } else { Ok(()) }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hidden {
            f.write_str(".hidden ")?;
        }
        write!(f, "{} {}", self.specifiers, self.name)?;
        write_dimensions(f, &self.dimensions)
    }
}
