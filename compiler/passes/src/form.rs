//! The forms that a function takes on its way to code.

use std::fmt;

use ptxc_codegen::func_code::FuncCode;
use ptxc_codegen::layout::Code;
use ptxc_codegen::mir::{Mir, VReg};
use ptxc_ir::{Function, FunctionKind};
use ptxc_sass::PReg;
use ptxc_sass::text::{Style, write_program};

/// A function between two passes. It prints as the text that `ptxc opt` reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// SSA IR.
    Ssa(Box<Function>),
    /// Machine IR over virtual registers.
    Machine(Box<Mir<VReg>>),
    /// Machine IR over physical registers.
    Allocated(Box<Mir<PReg>>),
    /// Machine code without control fields, its blocks in their final order.
    LaidOut(Box<Code>),
    /// A finished program.
    Program(Box<FuncCode>),
}

/// The stage of a [`Form`]: what a pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// See [`Form::Ssa`].
    Ssa,
    /// See [`Form::Machine`].
    Machine,
    /// See [`Form::Allocated`].
    Allocated,
    /// See [`Form::LaidOut`].
    LaidOut,
    /// See [`Form::Program`].
    Program,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Ssa => "SSA IR",
            Stage::Machine => "machine IR over virtual registers",
            Stage::Allocated => "machine IR over physical registers",
            Stage::LaidOut => "laid-out code",
            Stage::Program => "a finished program",
        })
    }
}

impl Form {
    /// Whether it is a kernel, which is linked with the functions that it calls.
    pub(crate) fn is_kernel(&self) -> bool {
        match self {
            Form::Ssa(func) => func.kind == FunctionKind::Entry,
            Form::Machine(mir) => mir.header.kind == FunctionKind::Entry,
            Form::Allocated(mir) => mir.header.kind == FunctionKind::Entry,
            Form::LaidOut(code) => code.header.kind == FunctionKind::Entry,
            Form::Program(code) => code.summary.is_none(),
        }
    }

    /// The stage of this form.
    pub fn stage(&self) -> Stage {
        match self {
            Form::Ssa(_) => Stage::Ssa,
            Form::Machine(_) => Stage::Machine,
            Form::Allocated(_) => Stage::Allocated,
            Form::LaidOut(_) => Stage::LaidOut,
            Form::Program(_) => Stage::Program,
        }
    }

    /// The name of the function.
    pub fn name(&self) -> &str {
        match self {
            Form::Ssa(func) => &func.name,
            Form::Machine(mir) => &mir.header.name,
            Form::Allocated(mir) => &mir.header.name,
            Form::LaidOut(code) => &code.header.name,
            Form::Program(code) => &code.program.name,
        }
    }

    /// The SSA form.
    ///
    /// # Panics
    /// If this is another form: a [`Span`](crate::Span) decides the form that its last pass leaves.
    pub fn into_ssa(self) -> Function {
        match self {
            Form::Ssa(func) => *func,
            other => panic!("expected SSA IR, found {}", other.stage()),
        }
    }

    /// The machine IR over virtual registers.
    ///
    /// # Panics
    /// As [`into_ssa`](Self::into_ssa).
    pub fn into_machine(self) -> Mir<VReg> {
        match self {
            Form::Machine(mir) => *mir,
            other => panic!("expected machine IR, found {}", other.stage()),
        }
    }

    /// The finished program.
    ///
    /// # Panics
    /// As [`into_ssa`](Self::into_ssa).
    pub fn into_program(self) -> FuncCode {
        match self {
            Form::Program(code) => *code,
            other => panic!("expected a program, found {}", other.stage()),
        }
    }
}

impl From<Function> for Form {
    fn from(func: Function) -> Form {
        Form::Ssa(Box::new(func))
    }
}

impl From<Mir<VReg>> for Form {
    fn from(mir: Mir<VReg>) -> Form {
        Form::Machine(Box::new(mir))
    }
}

impl From<Mir<PReg>> for Form {
    fn from(mir: Mir<PReg>) -> Form {
        Form::Allocated(Box::new(mir))
    }
}

impl From<Code> for Form {
    fn from(code: Code) -> Form {
        Form::LaidOut(Box::new(code))
    }
}

impl From<FuncCode> for Form {
    fn from(code: FuncCode) -> Form {
        Form::Program(Box::new(code))
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Ssa(func) => func.fmt(f),
            Form::Machine(mir) => mir.fmt(f),
            Form::Allocated(mir) => mir.fmt(f),
            Form::LaidOut(code) => code.fmt(f),
            Form::Program(code) => {
                let mut text = String::new();
                write_program(&code.program, &Style::default(), None, &mut text)?;
                f.write_str(&text)
            }
        }
    }
}
