//! Names and counts that registers hold, and that are known to be none.
//!
//! What is written as a constant the checker refuses. What folding finds out may stand where the kernel never gets to,
//! so that it is a warning; the instruction keeps the bits that it has room for, as a register would give it, and as
//! NVIDIA's assembler does without a word.

use ptxc_ir::Function;
use ptxc_ir::op::BarrierKind;

use super::Barrier;
use crate::check::codes;
use crate::diagnostic::Diagnostic;

/// The greatest name.
const LAST_NAME: u64 = 15;

/// Counts are multiples of it: barriers count warps.
const WARP: u64 = 32;

/// The greatest count that the instruction has room for.
const LAST_COUNT: u64 = 0xfff;

pub(super) fn check(func: &Function, barriers: &[Barrier]) -> Vec<Diagnostic> {
    barriers.iter().filter_map(|barrier| of(func, barrier)).collect()
}

fn of(func: &Function, barrier: &Barrier) -> Option<Diagnostic> {
    let args = &func.insts[barrier.inst].args;
    let counted = args.len() == 2 + usize::from(barrier.kind.is_reduction());
    let count = if counted { func.constant(args[1]) } else { None };
    let (what, rule) = match (barrier.name, count) {
        (Some(name), _) if name > LAST_NAME => {
            (format!("the barrier is number {name}"), "a CTA has sixteen named barriers, 0 to 15")
        }
        (_, Some(count)) if count > LAST_COUNT => {
            (format!("the barrier awaits {count} threads"), "a CTA has 1024 threads at most")
        }
        (_, Some(count)) if count % WARP != 0 => (
            format!("the barrier awaits {count} threads"),
            "barriers count warps: a count is a multiple of 32",
        ),
        (_, Some(0)) if barrier.kind == BarrierKind::Arrive => (
            "the barrier awaits 0 threads".to_string(),
            "an arrival says how many threads the barrier awaits",
        ),
        _ => return None,
    };
    let message = format!("{what} whenever the kernel gets here");
    let warning = Diagnostic::warning(codes::BARRIER_NUMBER, barrier.node(func), message);
    Some(
        warning
            .note(format!("{rule} (PTX ISA, `barrier`)"))
            .help("the register holds a constant here: written in its place, it would be refused at once"),
    )
}
