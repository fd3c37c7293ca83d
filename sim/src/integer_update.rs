//! Atomic updates of integers that are made later than they are requested, or outside of memory
//! that both engines address.

use ptxc_ir::AtomicOp;
use ptxc_semantics::{IntType, int};

/// The new content of a location of 4 or 8 bytes, from the old one and the operand; `None` for
/// swaps and updates of floats.
pub(crate) fn integer_update(op: AtomicOp, bytes: u32, old: u64, operand: u64) -> Option<u64> {
    let [unsigned, signed] = [false, true].map(|signed| IntType::new(8 * bytes, signed));
    Some(match op {
        AtomicOp::Add => int::add(unsigned, old, operand),
        AtomicOp::Inc => int::increment(unsigned, old, operand),
        AtomicOp::Dec => int::decrement(unsigned, old, operand),
        AtomicOp::Umin => int::min(unsigned, old, operand),
        AtomicOp::Umax => int::max(unsigned, old, operand),
        AtomicOp::Smin => int::min(signed, old, operand),
        AtomicOp::Smax => int::max(signed, old, operand),
        AtomicOp::And => old & operand,
        AtomicOp::Or => old | operand,
        AtomicOp::Xor => old ^ operand,
        AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Cast => return None,
        AtomicOp::Fadd | AtomicOp::FaddNoftz | AtomicOp::Fmin | AtomicOp::Fmax => return None,
    })
}
