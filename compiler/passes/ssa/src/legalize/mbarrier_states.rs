//! The number of arrivals that the phase of an mbarrier's state expects, from the bits of the
//! state.
//!
//! ```text
//! v1 = mbarrier_pending v0    =>    v2, v3 = unpack.b64 v0           // sm_90
//!                                   v4 = shr.b32 v3, 11
//!                                   v5 = and.b32 v4, 0xfffff
//!                                   v1 = isub.b32 0x100000, v5
//! ```
//!
//! The upper word counts up to the completion of the phase: in 20 bits from bit 11 on for sm_90, in
//! its lower 31 bits before. Found from the code that ptxas emits. Linear.

use ptxc_ir::{Function, Op, Type};
use ptxc_machine::{Arch, Mbarriers};

use super::emitter::rewrite;

/// Extracts fields from the states of mbarriers.
pub fn mbarrier_states(func: &mut Function, arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = emitter.func.insts[inst].clone();
        if data.op != Op::MbarrierPending {
            return false;
        }
        let Some(Mbarriers { arrivals_shift: shift, arrivals_bits: bits, .. }) = arch.facts().mbarriers
        else {
            return false;
        };
        let (_, upper) = emitter.pair(Op::Unpack, Type::B64, &[data.args[0]]);
        let shift = emitter.constant(Type::B32, shift.into());
        let field = emitter.value(Op::Shr, Type::B32, &[upper, shift]);
        let mask = emitter.constant(Type::B32, (1 << bits) - 1);
        let came = emitter.value(Op::And, Type::B32, &[field, mask]);
        let full = emitter.constant(Type::B32, 1 << bits);
        emitter.become_op(inst, Op::Isub, Type::B32, &[full, came]);
        true
    })
}
