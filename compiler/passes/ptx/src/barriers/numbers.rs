//! Known but invalid names and counts of barriers in registers.
//!
//! The checker rejects an invalid constant operand. A value that only folding finds may be in code
//! that the kernel never reaches, so it is a warning. The name stays in a register, because an
//! immediate has room for four bits, and 16 would become barrier 0. Of a count the instruction keeps
//! the bits that its field has room for.

use ptxc_ir::Function;
use ptxc_ir::op::BarrierKind;

use super::Barrier;
use crate::check::codes;
use crate::diagnostic::Diagnostic;

/// The greatest barrier name.
const LAST_NAME: u64 = 15;

/// Counts must be multiples of this number: barriers count warps.
const WARP: u64 = 32;

/// The greatest count that fits the field of the instruction.
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
            (format!("the barrier number is {name}"), "a CTA has sixteen named barriers, 0 to 15")
        }
        (_, Some(count)) if count > LAST_COUNT => {
            (format!("the barrier waits for {count} threads"), "a CTA has 1024 threads at most")
        }
        (_, Some(count)) if count % WARP != 0 => (
            format!("the barrier waits for {count} threads"),
            "barriers count warps, so a thread count must be a multiple of 32",
        ),
        (_, Some(0)) if barrier.kind == BarrierKind::Arrive => (
            "the barrier waits for 0 threads".to_string(),
            "an arrival must say how many threads the barrier waits for",
        ),
        _ => return None,
    };
    let message = format!("{what} whenever control gets here");
    let warning = Diagnostic::warning(codes::BARRIER_NUMBER, barrier.node(func), message);
    Some(
        warning
            .note(format!("{rule} (PTX ISA, `barrier`)"))
            .help("correct the value in the register; as a constant operand it would be an error"),
    )
}
