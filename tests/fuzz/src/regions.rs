//! Regions of convergence barriers that lanes leave by a branch.
//!
//! In graphs of blocks, ptxas lets lanes leave a region without `BREAK` while others wait for them
//! at its `BSYNC`. In the simulator a lane belongs to a barrier until it reaches the barrier,
//! breaks out of it or exits. See `docs/facts/ptxas.md`.

use std::collections::HashMap;

use ptxc_sass::{Op, OperandKind, Program};
use ptxc_sim::{Case, run_sass_observed};

/// Whether a lane in a run reaches the `BSSY` of a barrier to which it still belongs.
pub(crate) fn entered_twice(case: &Case, program: &Program, options: &ptxc_sim::Options) -> bool {
    // The lanes of each warp and barrier.
    let mut members: HashMap<([u32; 3], u32, u8), u32> = HashMap::new();
    let mut found = false;
    // The result of the run is known.
    let _ = run_sass_observed(case, program, options, &mut |executed| {
        let Some(coded) = program.insts.get(executed.pc as usize) else { return };
        let barrier = coded.inst.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Convergence(barrier) => Some(barrier),
            _ => None,
        });
        let Some(barrier) = barrier else { return };
        let lanes = members.entry((executed.place.cta, executed.place.warp, barrier)).or_default();
        match coded.inst.op {
            Op::BSSY => {
                found |= *lanes & executed.active != 0;
                *lanes |= executed.active;
            }
            _ => *lanes &= !executed.active,
        }
    });
    found
}
