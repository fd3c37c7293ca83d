//! Kernels and device functions.

use std::fmt;

use super::declaration::write_attributes;
use super::list;
use crate::ast::{Directive, DirectiveKind, Function, FunctionKind, Parameter, Statement, StatementKind};

/// Deeper scopes are not indented further, so that the output stays linear in the size of the tree.
const MAX_INDENT: usize = 16;

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(linkage) = self.linkage {
            write!(f, ".{} ", linkage.spelling())?;
        }
        f.write_str(match self.kind {
            FunctionKind::Entry => ".entry ",
            FunctionKind::Func => ".func ",
        })?;
        if !self.attributes.is_empty() {
            write_attributes(f, &self.attributes)?;
            f.write_str(" ")?;
        }
        if !self.returns.is_empty() {
            f.write_str("(")?;
            list(f, &self.returns, |f, parameter| write!(f, "{parameter}"))?;
            f.write_str(") ")?;
        }
        write!(f, "{}(", self.name.name)?;
        write_parameters(f, &self.parameters)?;
        f.write_str(")")?;
        for directive in &self.directives {
            write!(f, "\n{directive}")?;
        }
        match &self.body {
            Some(body) => {
                f.write_str("\n{\n")?;
                write_body(f, body)?;
                f.write_str("}\n")
            }
            // A `.pragma` ends with its own semicolon, but the declaration needs another one.
            None => f.write_str(";\n"),
        }
    }
}

fn write_parameters(f: &mut fmt::Formatter<'_>, parameters: &[Parameter]) -> fmt::Result {
    for (index, parameter) in parameters.iter().enumerate() {
        write!(f, "{}\n    {parameter}", if index > 0 { "," } else { "" })?;
    }
    if parameters.is_empty() { Ok(()) } else { f.write_str("\n") }
}

fn write_body(f: &mut fmt::Formatter<'_>, body: &[Statement]) -> fmt::Result {
    let mut depth = 1usize;
    for statement in body {
        if matches!(statement.kind, StatementKind::Close) {
            depth = depth.saturating_sub(1);
        }
        let indent = match statement.kind {
            StatementKind::Label(_) => depth.saturating_sub(1),
            _ => depth,
        };
        for _ in 0..indent.min(MAX_INDENT) {
            f.write_str("    ")?;
        }
        writeln!(f, "{}", statement.kind)?;
        if matches!(statement.kind, StatementKind::Open) {
            depth += 1;
        }
    }
    Ok(())
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.kind.spelling())?;
        if !self.strings.is_empty() {
            f.write_str(" ")?;
            list(f, &self.strings, |f, string| write!(f, "\"{string}\""))?;
        }
        if self.kind == DirectiveKind::Pragma {
            return f.write_str(";");
        }
        if !self.values.is_empty() {
            f.write_str(" ")?;
            list(f, &self.values, |f, value| write!(f, "{value}"))?;
        }
        Ok(())
    }
}
