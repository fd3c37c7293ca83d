//! Runtime routines: functions in IR text that come with the compiler.

use ptxc_codegen::mir::{Mir, VReg};
use ptxc_ssa::runtime;

use crate::halt::internal;
use crate::run::{Silent, run};
use crate::{CodeSettings, Context, Form, Halt, Span};

/// Machine IR of a runtime routine. Its functions, except for the first, are the symbols of the
/// routines that it calls.
///
/// # Errors
/// As [`run`]; a name that no routine has.
pub fn routine_machine(name: &str, settings: &CodeSettings) -> Result<Mir<VReg>, Halt> {
    let missing = || internal("link", [format!("there is no routine `{name}`")]);
    let func = runtime::routine(name).ok_or_else(missing)?;
    // A routine says itself which products and sums are fused, and it has no atomics to aggregate.
    let settings = CodeSettings { fmad: false, aggregate: false, ..settings.clone() };
    run(func.into(), Span::TO_MACHINE, &mut Context::new(&settings), &mut Silent).map(Form::into_machine)
}
