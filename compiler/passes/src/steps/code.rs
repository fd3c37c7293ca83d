//! Passes from machine IR to a program.

use ptxc_codegen::allocate as allocation;
use ptxc_codegen::control as codes;
pub use ptxc_codegen::func_code::FuncCode;
use ptxc_codegen::layout as blocks;
pub use ptxc_codegen::layout::Code;
use ptxc_codegen::mir::Mir;
use ptxc_codegen::schedule::post_ra;
use ptxc_codegen::select::Unsupported;
use ptxc_codegen::{encodable, link as linker};
use ptxc_ir::{FunctionKind, SourceLoc};
use ptxc_ptx::diagnostic::Diagnostic;
use ptxc_sass::verify::{Order, check, check_polling};
use ptxc_sass::{Coded, PReg};
use ptxc_syntax::NodeId;

use super::machine::Virtual;
use crate::existence::exists;
use crate::halt::{HAZARD, WRONG_ALLOCATION, contradiction, illegal_order, internal, unsupported};
use crate::register_limit::too_few;
use crate::{Context, Halt};

/// Machine IR over physical registers.
pub type Physical = Mir<PReg>;

/// Allocates, and checks the allocation.
pub fn allocate(mir: Virtual, context: &mut Context<'_>) -> Result<Physical, Halt> {
    let settings = context.settings;
    let Some(live) = context.known.liveness.take() else { unreachable!("the pass needs liveness") };
    let options = allocation::Options { max_regs: settings.max_regs as u16, arch: settings.arch };
    let allocation = allocation::allocate(&mir, &live, &options)
        .map_err(|error| vec![too_few(&error, &mir, settings.arch, settings.max_regs)])?;
    allocation::check(&mir, &live, &allocation, &options)
        .map_err(|violations| contradiction(WRONG_ALLOCATION, "allocate", violations))?;
    Ok(allocation.mir)
}

pub fn layout(mir: Physical, context: &mut Context<'_>) -> Result<Code, Halt> {
    Ok(blocks::layout(mir, context.settings.arch))
}

/// Copies the routines in which lanes meet to their calls, and checks that convergence barriers
/// nest.
pub fn inline_collectives(code: &mut Code, context: &mut Context<'_>) -> Result<(), Halt> {
    blocks::inline_collectives(code, context.settings.arch, context.callees)
        .map_err(|missing| internal("layout", [format!("`{missing}` has no code that can be copied")]))?;
    blocks::check_convergence(code).map_err(|errors| internal("layout", errors))
}

pub fn schedule_post_ra(code: &mut Code, context: &mut Context<'_>) -> Result<(), Halt> {
    let arch = context.settings.arch;
    let (heuristic, _) = context.heuristic()?;
    post_ra(code, arch, heuristic).map_err(|error| illegal_order("schedule-post-ra", &error))
}

pub fn space_copies(code: &mut Code, context: &mut Context<'_>) -> Result<(), Halt> {
    blocks::space_copies(code, context.settings.arch);
    Ok(())
}

/// Computes control fields, checks that every instruction has an encoding, and summarizes a
/// function that is called.
pub fn control(code: Code, context: &mut Context<'_>) -> Result<FuncCode, Halt> {
    let settings = context.settings;
    let is_kernel = code.header.kind == FunctionKind::Entry;
    let returns_together = code.header.returns_together;
    let sync = if settings.serial { codes::Sync::Serial } else { codes::Sync::Dataflow };
    let (mut program, explain) = codes::assign(code, settings.arch, codes::Options { sync });
    program.accelerated = settings.accelerated;
    program.number_labels();
    let without_bits = |(index, why): (usize, String)| {
        let Coded { inst, loc, .. } = &program.insts[index];
        unsupported(Unsupported { op: inst.to_string(), loc: SourceLoc(*loc), why })
    };
    let refused: Halt = encodable::refused(&program).into_iter().map(without_bits).collect();
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut summary = None;
    if !is_kernel {
        if !linker::keeps_warp_registers(&program) {
            return Err(internal("select", ["a function that is called writes uniform registers"]));
        }
        if !program.tables.is_empty() {
            let message = "a jump table in a function that is called";
            return Err(vec![Diagnostic::unsupported(NodeId(0), message)]);
        }
        summary = Some(linker::summary(&program, &context.summaries(), returns_together));
    }
    Ok(FuncCode { program, explain, summary })
}

/// Proves that every dependence in the function's own code is protected, and that the architecture has
/// every instruction. Nothing is under way where functions call and return, so the proofs of the
/// functions of a program are a proof of the program.
pub fn hazard_check(code: FuncCode, context: &mut Context<'_>) -> Result<FuncCode, Halt> {
    let program = &code.program;
    exists("control", program.insts.iter().map(|coded| &coded.inst), context.settings.arch)?;
    check_polling(program, Order::Own, &ptxc_interrupt::poll)
        .map_err(|hazards| contradiction(HAZARD, "control", hazards))?;
    Ok(code)
}

/// Puts a kernel and its callees together. In an object, a function is a program of its own, and gets the routines that it
/// calls. Otherwise a function that is called stays alone, and so does a program that was read with the code of its
/// callees.
pub fn link(code: FuncCode, context: &mut Context<'_>) -> Result<FuncCode, Halt> {
    let FuncCode { program, explain, summary } = code;
    let callees = program.functions.get(1..).unwrap_or_default();
    let is_linked = !callees.is_empty() && callees.iter().all(|function| function.start.is_some());
    if (summary.is_some() && !program.device_function) || is_linked {
        return Ok(FuncCode { program, explain, summary });
    }
    let (program, explain) = linker::link(program, explain, context.callees)
        .map_err(|missing| internal("link", [format!("`{missing}` has no code that can be copied")]))?;
    debug_assert_eq!(check(&program), Ok(()), "each function is proved");
    Ok(FuncCode { program, explain, summary })
}
