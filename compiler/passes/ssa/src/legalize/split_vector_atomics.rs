//! Splits atomic updates of vectors into one update for each element if the target has none for the
//! whole vector.
//!
//! ```text
//! red.fadd.global…b32.v2.f32          =>   red.fadd.global…b32.f32 [v0 + 8], v1
//!     [v0 + 8], v1, v2                     red.fadd.global…b32.f32 [v0 + 12], v2
//!
//! v5, v6 = atomic.fmax…b32.v2.f16x2   =>   v5 = atomic.fmax…b32.f16x2 [v0], v1     // a loop: see `atomic-loops`
//!     [v0], v1, v2                         v6 = atomic.fmax…b32.f16x2 [v0 + 4], v2
//! ```
//!
//! PTX promises atomicity for each element of a vector, not for the vector, so updates of other
//! threads may come between the parts. sm_90 updates up to 16 bytes at once and keeps its vectors.
//! Earlier targets update 32 bits of these types:
//!
//! | elements | operation | parts below sm_90 |
//! |---|---|---|
//! | `f32` | add | one native update for each element |
//! | `f32` | add that keeps subnormals | one loop around compare-and-swap for each element |
//! | `f16`, in pairs | add | one native update for each pair |
//! | `f16`, in pairs | min, max | one loop around compare-and-swap for each pair |
//! | `bf16`, in pairs | add, min, max | one loop around compare-and-swap for each pair |
//!
//! `packed-atomics` has packed the halves. A vector at a generic address is in global memory, the
//! only memory with vector updates, so its parts are global: the target may lack the generic form
//! of an update that global memory has. Linear.

use ptxc_ir::{Access, AtomicOp, Function, MemType, Op, Space, Type};
use ptxc_machine::{Arch, Feature};

use super::emitter::rewrite;
use super::native_atomics::in_global;

/// The parts that an update of a vector is split into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The number of parts.
    pub parts: u8,
    /// The type of a part, 32 bits wide.
    pub ty: Type,
    /// Whether the target has an instruction for a part; otherwise the part is a loop around
    /// compare-and-swap.
    pub is_native: bool,
}

/// The parts of an update of `lanes` elements of type `ty`; `None` if it stays whole.
pub fn split(op: AtomicOp, ty: Type, lanes: u8, arch: Arch) -> Option<Split> {
    if lanes < 2 || arch.has(Feature::VectorAtomics) {
        return None;
    }
    let parts = if ty.bits() == 16 { lanes / 2 } else { lanes };
    let ty = match ty {
        Type::F16 => Type::F16x2,
        Type::BF16 => Type::BF16x2,
        whole => whole,
    };
    Some(Split { parts, ty, is_native: in_global(op, ty, arch) })
}

/// Splits the updates that the target lacks.
pub fn split_vector_atomics(func: &mut Function, arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if !matches!(data.op, Op::Atomic { .. } | Op::Red { .. }) {
            return false;
        }
        let data = data.clone();
        let (Op::Atomic { op, access } | Op::Red { op, access }) = data.op else { return false };
        if data.ty.bits() != 32 || split(op, data.ty, access.lanes, arch).is_none() {
            return false;
        }
        let results = emitter.func.results(inst).to_vec();
        let address = match access.space {
            Space::Generic => emitter.value(Op::FromGeneric(Space::Global), Type::B64, &data.args[..1]),
            _ => data.args[0],
        };
        let mut part = Access { space: Space::Global, lanes: 1, elem: MemType::B32, ..access };
        for (lane, &operand) in data.args[1..].iter().enumerate() {
            part.offset = access.offset.wrapping_add(4 * lane as i32);
            if matches!(data.op, Op::Red { .. }) {
                emitter.inst(Op::Red { op, access: part }, data.ty, &[address, operand]);
            } else {
                let old = emitter.value(Op::Atomic { op, access: part }, data.ty, &[address, operand]);
                emitter.rename(results[lane], old);
            }
        }
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vector_of_ptx_is_whole_or_has_parts_that_cover_it() {
        let halves = [Type::F16, Type::BF16].map(|ty| [2, 4, 8].map(|lanes| (ty, lanes)));
        let words = [Type::F32, Type::F16x2, Type::BF16x2].map(|ty| [2, 4, 4].map(|lanes| (ty, lanes)));
        for (ty, lanes) in halves.into_iter().chain(words).flatten() {
            for op in [AtomicOp::Fadd, AtomicOp::Fmin, AtomicOp::Fmax] {
                assert_eq!(split(op, ty, lanes, Arch::Sm90), None);
                for arch in [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89] {
                    let split = split(op, ty, lanes, arch).expect("no target before sm_90 has vectors");
                    assert_eq!(u32::from(split.parts) * split.ty.bits(), u32::from(lanes) * ty.bits());
                }
            }
        }
    }
}
