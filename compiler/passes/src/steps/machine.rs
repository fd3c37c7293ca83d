//! Passes from SSA to machine IR, and over virtual registers.

use ptxc_codegen::mir::{Mir, VReg};
use ptxc_codegen::schedule::pre_ra;
use ptxc_codegen::select::{self as selection, Unsupported};
use ptxc_codegen::{combine as rules, link};
use ptxc_ir::Function;
use ptxc_machine::Arch;
use ptxc_ptx::diagnostic::Diagnostic;
pub use ptxc_ptx::diagnostic::TOO_MUCH_SHARED;
use ptxc_ssa::frequency::block_frequencies_in;
use ptxc_ssa::together::Together;
use ptxc_ssa::uniformity::Uniformity;
use ptxc_syntax::NodeId;

use crate::halt::{illegal_order, unsupported};
use crate::{Context, Halt};

/// Machine IR over virtual registers.
pub type Virtual = Mir<VReg>;

pub fn select(func: Function, context: &mut Context<'_>) -> Result<Virtual, Halt> {
    let arch = context.settings.arch;
    let known = &mut context.known;
    let uniformity =
        known.uniformity.take().unwrap_or_else(|| Uniformity::compute_converged_in(&func, &known.flow));
    ptxc_interrupt::poll();
    let frequency = block_frequencies_in(&func, &known.flow);
    ptxc_interrupt::poll();
    let mut mir = selection::select(&func, arch, &uniformity, &frequency)
        .map_err(|list| list.into_iter().map(unsupported).collect::<Halt>())?;
    mir.header.returns_together = Together::returns_together(&func, &uniformity, &known.flow);
    let limit = arch.facts().limits.static_shared;
    if mir.header.shared_bytes > limit {
        let message = format!("{} bytes of static shared memory; a CTA has {limit}", mir.header.shared_bytes);
        let finding = Diagnostic::error(TOO_MUCH_SHARED, NodeId(0), message);
        return Err(vec![
            finding.help("use an `.extern .shared` array, whose size is set at launch and may be larger"),
        ]);
    }
    let lacking = lacking(&mir, arch);
    if lacking.is_empty() { Ok(mir) } else { Err(lacking) }
}

/// The selected instructions that the architecture lacks.
fn lacking(mir: &Virtual, arch: Arch) -> Halt {
    let mut halt = Halt::new();
    for inst in mir.insts() {
        ptxc_interrupt::poll();
        if let Err(why) = inst.inst.check_arch(arch) {
            halt.push(unsupported(Unsupported { op: inst.inst.to_string(), loc: inst.loc, why }));
        }
    }
    halt.dedup();
    halt
}

pub fn combine(mir: &mut Virtual, context: &mut Context<'_>) -> Result<(), Halt> {
    rules::combine(mir, context.settings.arch);
    Ok(())
}

/// Replaces what the calling convention assumes about known callees by what their code does.
pub fn call_clobbers(mir: &mut Virtual, context: &mut Context<'_>) -> Result<(), Halt> {
    link::fill_clobbers(mir, &context.summaries(), context.settings.max_regs);
    Ok(())
}

pub fn schedule_pre_ra(mir: &mut Virtual, context: &mut Context<'_>) -> Result<(), Halt> {
    let (arch, max_regs) = (context.settings.arch, context.settings.max_regs);
    let (heuristic, known) = context.heuristic()?;
    let Some(live) = &known.liveness else { unreachable!("the pass needs liveness") };
    pre_ra(mir, live, arch, max_regs, heuristic).map_err(|error| illegal_order("schedule-pre-ra", &error))
}
