//! `setmaxnreg`: a hint that ptxc follows where it knows how many registers a warp starts with.
//!
//! ```text
//! .entry k() .maxntid 384 .minnctapersm 1 { … setmaxnreg.dec.sync.aligned.u32 40; … }
//! .entry k() { … setmaxnreg.dec.sync.aligned.u32 40; … }        // note[E0120]
//! ```
//!
//! As ptxas does, ptxc takes the number at the start from `.maxnreg`, or from the size of a CTA
//! together with `.minnctapersm`. In a kernel that calls functions of its module it ignores the hint: they
//! may use any registers. Functions of the driver (`__assertfail`) manage with those of their caller; ptxas
//! follows the hint in kernels that call them, too.

use ptxc_syntax::ast::{DirectiveKind, Function, FunctionKind, Instruction};

use super::codes;
use super::env::ModuleEnv;
use super::forms::Form;
use super::table::Mnemonic;
use crate::diagnostic::Diagnostic;

/// Why a kernel's hints are ignored; `None` if they are followed.
pub fn obstacle(function: &Function, env: &ModuleEnv) -> Option<&'static str> {
    let has = |kind: DirectiveKind| function.directives.iter().any(|directive| directive.kind == kind);
    let has_size = has(DirectiveKind::MaxNTid) || has(DirectiveKind::ReqNTid);
    let is_known = has(DirectiveKind::MaxNReg) || has_size && has(DirectiveKind::MinNCtaPerSm);
    if function.kind != FunctionKind::Entry {
        Some("a function that is called has the registers of its kernel")
    } else if !is_known {
        Some("the number of registers at the start of the kernel is not known")
    } else if env.signatures.keys().any(|name| !env.external.contains_key(name)) {
        Some("functions that the kernel calls may use any registers")
    } else {
        None
    }
}

/// Reports that a hint on the number of registers is ignored, for that reason.
pub fn check(
    form: &Form,
    instruction: &Instruction,
    obstacle: Option<&'static str>,
    out: &mut Vec<Diagnostic>,
) {
    let opcode = &instruction.opcode;
    if form.row.instruction == Mnemonic::Setmaxnreg
        && let Some(obstacle) = obstacle
    {
        let message = format!("ptxc ignores the hint `{opcode}`");
        out.push(
            Diagnostic::remark(codes::REGISTERS_STAY, opcode.part_id(0), message)
                .label("each warp keeps the registers that its kernel is launched with")
                .note(obstacle)
                .help("give the kernel `.maxntid` and `.minnctapersm`, or `.maxnreg`"),
        );
    }
}
