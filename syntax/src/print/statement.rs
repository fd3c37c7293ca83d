//! Statements and debugging data.

use std::fmt;

use super::expression::{write_expr, write_offset};
use super::list;
use crate::ast::{
    BinaryOp, File, Instruction, Location, Prototype, Section, SectionLine, SectionTerm, SectionValue,
    StatementKind, TargetList,
};

impl fmt::Display for StatementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatementKind::Instruction(instruction) => write!(f, "{instruction}"),
            StatementKind::Label(name) => write!(f, "{name}:"),
            StatementKind::Open => f.write_str("{"),
            StatementKind::Close => f.write_str("}"),
            StatementKind::Declaration(declaration) => write!(f, "{declaration}"),
            StatementKind::Location(location) => write!(f, "{location}"),
            StatementKind::Pragma(pragma) => write!(f, "{pragma}"),
            StatementKind::BranchTargets(list) => write_targets(f, "branchtargets", list),
            StatementKind::CallTargets(list) => write_targets(f, "calltargets", list),
            StatementKind::CallPrototype(prototype) => write!(f, "{prototype}"),
            StatementKind::File(file) => write!(f, "{file}"),
            StatementKind::Section(section) => write!(f, "{section}"),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(guard) = &self.guard {
            write!(f, "@{}{} ", if guard.negated { "!" } else { "" }, guard.register)?;
        }
        write!(f, "{}", self.opcode)?;
        if !self.operands.is_empty() {
            f.write_str(" ")?;
            list(f, &self.operands, |f, operand| write!(f, "{operand}"))?;
        }
        f.write_str(";")
    }
}

fn write_targets(f: &mut fmt::Formatter<'_>, directive: &str, targets: &TargetList) -> fmt::Result {
    write!(f, "{}: .{directive} ", targets.name.name)?;
    list(f, &targets.targets, |f, target| f.write_str(&target.name))?;
    f.write_str(";")
}

impl fmt::Display for Prototype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: .callprototype ", self.name.name)?;
        if !self.returns.is_empty() {
            f.write_str("(")?;
            list(f, &self.returns, |f, parameter| write!(f, "{parameter}"))?;
            f.write_str(") ")?;
        }
        f.write_str("_ (")?;
        list(f, &self.parameters, |f, parameter| write!(f, "{parameter}"))?;
        f.write_str(")")?;
        for directive in &self.directives {
            write!(f, " {directive}")?;
        }
        f.write_str(";")
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".loc {} {} {}", self.file, self.line, self.column)?;
        let Some(inlined) = &self.inlined else { return Ok(()) };
        write!(f, ", function_name {}", inlined.function_name.name)?;
        write_offset(f, inlined.offset.as_ref())?;
        write!(f, ", inlined_at {} {} {}", inlined.file, inlined.line, inlined.column)
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".file {} \"{}\"", self.index, self.name)?;
        match self.stamp {
            Some((time, Some(size))) => write!(f, ", {time}, {size}"),
            Some((time, None)) => write!(f, ", {time}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, ".section {} {{", self.name)?;
        for line in &self.lines {
            match line {
                SectionLine::Label(name) => writeln!(f, "{name}:")?,
                SectionLine::Data { width, values } => {
                    write!(f, "    .b{} ", u32::from(*width) * 8)?;
                    list(f, values, |f, value| write!(f, "{value}"))?;
                    writeln!(f)?;
                }
            }
        }
        f.write_str("}")
    }
}

impl fmt::Display for SectionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        for (subtracted, term) in &self.rest {
            write!(f, "{}{term}", if *subtracted { "-" } else { "+" })?;
        }
        Ok(())
    }
}

impl fmt::Display for SectionTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SectionTerm::Constant(expr) => write_expr(f, expr, BinaryOp::Mul.precedence()),
            SectionTerm::Symbol(name) => f.write_str(name),
        }
    }
}
