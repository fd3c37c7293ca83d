//! The runner: takes a function through a span of the order.

use std::fmt;

use ptxc_codegen::mir::{Mir, VReg};
use ptxc_codegen::{encodable, mir};
use ptxc_ir::Function;
use ptxc_ir::verify::{Level, verify};
use ptxc_machine::Arch;

use crate::existence::exists;
use crate::halt::internal;
use crate::{Context, Form, Halt, Pass, Span};

/// Sees the code between passes.
pub trait Observer {
    /// Called before a pass.
    fn before(&mut self, _pass: &'static str, _code: &dyn fmt::Display) {}

    /// Called after a pass; `false` stops the run.
    fn after(&mut self, _pass: &'static str, _code: &dyn fmt::Display) -> bool {
        true
    }
}

/// An observer that does nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Takes a function through the passes of a span. A pass above the optimization level is left out.
///
/// # Errors
/// The diagnostics of the pass that failed; none if the observer stopped the run. A form that the
/// first pass does not take is an internal error.
pub fn run(
    form: Form,
    span: Span,
    context: &mut Context<'_>,
    observer: &mut dyn Observer,
) -> Result<Form, Halt> {
    let mut form = form;
    for pass in span.passes() {
        observer.before(pass.name, &form);
        if context.settings.opt >= pass.level {
            form = run_pass(form, pass, context)?;
        }
        ptxc_interrupt::poll();
        if !observer.after(pass.name, &form) {
            return Err(Halt::new());
        }
    }
    Ok(form)
}

/// Runs one pass at any optimization level. The verifier of the resulting form runs after it in
/// debug builds, and if the [context](Context::verifying) asks for it. The allocation checker, the
/// convergence check, the check that every instruction exists, and the hazard check are parts of
/// their passes and run in all builds, since wrong code must never be written.
///
/// # Errors
/// As [`run`].
pub fn run_pass(form: Form, pass: &Pass, context: &mut Context<'_>) -> Result<Form, Halt> {
    let stage = form.stage();
    for &analysis in pass.needs {
        context.known.find(analysis, &form);
    }
    let Some(result) = pass.step.apply(form, context) else {
        return Err(internal(pass.name, [format!("the pass takes {}, not {stage}", pass.step.takes())]));
    };
    let form = result?;
    context.known.keep(pass.keeps);
    match &form {
        _ if !context.verifies => {}
        Form::Ssa(func) => verified_ssa(pass.name, func, pass.leaves)?,
        Form::Machine(mir) => verified_mir(pass.name, mir, context.settings.arch)?,
        Form::Allocated(_) | Form::LaidOut(_) | Form::Program(_) => {}
    }
    Ok(form)
}

/// Verifies SSA after a pass.
pub(crate) fn verified_ssa(pass: &str, func: &Function, level: Level) -> Result<(), Halt> {
    verify(func, level).map_err(|errors| internal(pass, errors))
}

/// Verifies machine IR after a pass.
fn verified_mir(pass: &str, mir: &Mir<VReg>, arch: Arch) -> Result<(), Halt> {
    mir::verify(mir).map_err(|errors| internal(pass, errors))?;
    exists(pass, mir.insts().map(|inst| &inst.inst), arch)?;
    let refused = mir.insts().find_map(|inst| encodable::check(&inst.inst, arch).err());
    refused.map_or(Ok(()), |why| Err(internal(pass, [why])))
}
