//! Passes from SSA to SSA.

use ptxc_ir::Function;
use ptxc_machine::Arch;
use ptxc_ptx::diagnostic::{Code, Diagnostic};
use ptxc_ssa::simplify::{self, Effort};
use ptxc_ssa::uniformity::Uniformity;
use ptxc_ssa::{converge as lanes, gather as sites, legalize as rules, together};
use ptxc_syntax::NodeId;

use crate::halt::internal;
use crate::{Context, Halt, TARGETS, limits};

/// There is no code generation for the architecture.
pub const UNSUPPORTED_ARCH: Code = Code(902);

pub fn fuse_multiply_add(func: &mut Function, context: &mut Context<'_>) -> Result<(), Halt> {
    limits::check(func, limits::WRITTEN)?;
    if context.settings.fmad {
        rules::fuse_multiply_add(func, context.settings.arch);
    }
    Ok(())
}

pub fn simplify(func: &mut Function, context: &mut Context<'_>) -> Result<(), Halt> {
    let effort = if context.settings.opt > 0 { Effort::Full } else { Effort::Clean };
    simplify::simplify_in(func, effort, &mut context.known.flow);
    Ok(())
}

pub fn rematerialize(func: &mut Function, context: &mut Context<'_>) -> Result<(), Halt> {
    simplify::rematerialize(func, &mut context.known.flow);
    Ok(())
}

/// Aggregates all updates that a warp makes at one address if the settings ask for it; from level 1
/// on the ones that would otherwise be loops.
pub fn aggregate_atomics(func: &mut Function, context: &mut Context<'_>) -> Result<(), Halt> {
    if context.settings.aggregate {
        rules::aggregate_atomics(func, context.settings.arch);
    } else if context.settings.opt > 0 {
        rules::aggregate_loops(func, context.settings.arch);
    }
    Ok(())
}

pub fn legalize(func: &mut Function, context: &mut Context<'_>) -> Result<(), Halt> {
    let arch = context.settings.arch;
    if !TARGETS.contains(&arch) {
        let message = format!("code for {arch} is not supported yet");
        let known = TARGETS.iter().map(Arch::to_string).collect::<Vec<_>>().join(", ");
        let gate = Diagnostic::error(UNSUPPORTED_ARCH, NodeId(0), message);
        return Err(vec![
            gate.help(format!("set --arch to one of {known}, or omit it to use the `.target`")),
        ]);
    }
    rules::legalize(func, arch);
    limits::check(func, limits::LEGAL)
}

pub fn simplify_legal(func: &mut Function, context: &mut Context<'_>) -> Result<(), Halt> {
    let effort = if context.settings.opt > 0 { Effort::Light } else { Effort::Clean };
    simplify::simplify_in(func, effort, &mut context.known.flow);
    Ok(())
}

pub fn repeat_masks(func: &mut Function, context: &mut Context<'_>) -> Result<(), Halt> {
    simplify::repeat_masks(func, &mut context.known.flow);
    Ok(())
}

/// Puts parameters and results of calls that have no register on the stack.
pub fn stack_arguments(func: &mut Function, _: &mut Context<'_>) -> Result<(), Halt> {
    ptxc_codegen::abi::put_on_stack(func);
    Ok(())
}

pub fn converge(func: &mut Function, context: &mut Context<'_>) -> Result<(), Halt> {
    let converged = lanes::converge_in(func, &mut context.known.flow);
    context.known.uniformity = converged.uniformity;
    Ok(())
}

/// Lets lanes meet where an operation waits for them, and proves that they do.
pub fn gather(func: &mut Function, context: &mut Context<'_>) -> Result<(), Halt> {
    let known = &mut context.known;
    let for_any_lanes = together::verify::for_any_lanes(func);
    let gathered = sites::gather_in(func, context.settings.arch, &mut known.flow, known.uniformity.take());
    let uniformity =
        gathered.uniformity.unwrap_or_else(|| Uniformity::compute_converged_in(func, &known.flow));
    together::verify::check_in(func, &uniformity, &for_any_lanes, &known.flow)
        .map_err(|errors| internal("gather", errors))?;
    known.uniformity = Some(uniformity);
    Ok(())
}
