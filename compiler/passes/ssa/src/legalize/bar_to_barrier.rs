//! `bar` is `barrier` with the promise that all threads of the warp execute it together.
//!
//! ```text
//! bar.sync v1    =>    barrier.sync.aligned v1
//! ```

use ptxc_ir::{Function, Op};
use ptxc_machine::Arch;

use super::emitter::rewrite;

/// Turns every `bar` into an aligned `barrier`.
pub fn bar_to_barrier(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let Op::Bar(kind) = emitter.func.insts[inst].op else { return false };
        emitter.func.insts[inst].op = Op::Barrier { kind, aligned: true, packed: false };
        emitter.keep(inst);
        true
    })
}
