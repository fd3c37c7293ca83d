//! The atomic updates that the machine has, by architecture and memory.
//!
//! | update | global | shared |
//! |---|---|---|
//! | exchange, compare-and-swap on 32 and 64 bits | all | all |
//! | the same on 128 bits | sm_90 | sm_90 |
//! | integers and bits, 32 bits | all | all |
//! | integers and bits, 64 bits | all | none |
//! | sum of `f32`, `f64`, `f16x2` | all | none |
//! | sum of `f32` that keeps subnormals; sum of `bf16x2`; minimum and maximum of `f16x2`, `bf16x2` | sm_90 | none |
//! | vectors | sm_90 | none |
//! | anything on 16 bits | none | none |
//!
//! A generic address may use an update of shared memory for any memory. For an update that only
//! global memory has, `ATOM` does it if the address lies there, and reports whether it did: see
//! `generic-atomics`. All other updates are loops around compare-and-swap: see `atomic-loops`.
//! Found by testing each combination on each architecture with ptxas 13.5.

use ptxc_ir::{AtomicOp, Type};
use ptxc_machine::{Arch, Feature};

/// Whether global memory has the update of one element.
pub(super) fn in_global(op: AtomicOp, ty: Type, arch: Arch) -> bool {
    match op {
        AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Cast => is_swap(ty, arch),
        AtomicOp::Fadd => {
            matches!(ty, Type::F32 | Type::F64 | Type::F16x2)
                || ty == Type::BF16x2 && arch.has(Feature::BrainPairSumAtomics)
        }
        AtomicOp::FaddNoftz => ty == Type::F32 && arch.has(Feature::SubnormalSumAtomics),
        AtomicOp::Fmin | AtomicOp::Fmax => {
            matches!(ty, Type::F16x2 | Type::BF16x2) && arch.has(Feature::HalfPairExtremeAtomics)
        }
        AtomicOp::Inc | AtomicOp::Dec => true,
        _ => matches!(ty, Type::B32 | Type::B64),
    }
}

/// Whether shared memory has it.
pub(super) fn in_shared(op: AtomicOp, ty: Type, arch: Arch) -> bool {
    match op {
        AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Cast => is_swap(ty, arch),
        AtomicOp::Inc | AtomicOp::Dec => true,
        _ => ty == Type::B32,
    }
}

fn is_swap(ty: Type, arch: Arch) -> bool {
    match ty.bits() {
        128 => arch.has(Feature::WideSwaps),
        bits => matches!(bits, 32 | 64),
    }
}
