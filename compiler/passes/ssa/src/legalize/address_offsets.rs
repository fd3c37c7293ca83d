//! Moves the constant part of an address into the access.
//!
//! ```text
//! v2 = const.b64 8
//! v3 = iadd.b64 v1, v2
//! v4 = load.b32.global v3 + 4      =>    v4 = load.b32.global v1 + 12
//! ```
//!
//! For every address the rule finds a base and a constant distance from it, in one walk: the base
//! and distance of a sum follow from those of its terms. So a chain of additions costs no more than
//! its length. A 64-bit sum with a constant inside is rearranged, which brings index and base
//! together for [`wide_multiply_add`](super::wide_multiply_add()):
//!
//! ```text
//! v3 = iadd.b64 v1, 8              v5 = iadd.b64 v1, v2
//! v4 = iadd.b64 v3, v2      =>     v4 = iadd.b64 v5, 8
//! ```
//!
//! A 32-bit sum is rearranged only if only accesses use it, since elsewhere the constant costs an
//! addition. Arrays in one window that the same index walks then share one sum, and the scheduler
//! sees that their accesses are disjoint.
//!
//! The offset of an access of sm_75 to sm_90 has 24 bits with sign. The offset of an access to a
//! constant bank has 16 bits with sign, and so has the source of a copy to shared memory with 12
//! bits.

use std::ops::Range;

use ptxc_ir::{Function, Op, Space, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite, use_counts};

/// The offsets of the source of a copy to shared memory: 12 bits with sign.
pub(super) const COPY_OFFSETS: Range<i64> = -(1 << 11)..1 << 11;

/// `base + offset` in the arithmetic of the base's type.
#[derive(Clone, Copy)]
struct Place {
    base: Value,
    offset: i64,
}

/// Folds constant parts of addresses into the accesses.
pub fn address_offsets(func: &mut Function, _arch: Arch) -> bool {
    let mut places: Vec<Option<Place>> = vec![None; func.num_values()];
    let only_addresses = only_addresses(func, use_counts(func));
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        match data.op {
            Op::Iadd if matches!(data.ty, Type::B32 | Type::B64) => {
                let (a, b) = (data.args[0], data.args[1]);
                let result = emitter.func.result(inst);
                let ty = data.ty;
                let may_turn = ty == Type::B64 || only_addresses[result.as_u32() as usize];
                let (place, changed) = sum(emitter, &places, [a, b], may_turn);
                places[result.as_u32() as usize] = place;
                if let (true, Some(place)) = (changed, place) {
                    let offset = emitter.constant(ty, place.offset as u64);
                    emitter.become_op(inst, Op::Iadd, ty, &[place.base, offset]);
                }
                changed
            }
            // The remainder of an extension if only the low word is wanted.
            Op::Bitcast if data.ty == Type::B32 && emitter.func.ty(data.args[0]) == Type::B32 => {
                let result = emitter.func.result(inst);
                places[result.as_u32() as usize] =
                    places.get(data.args[0].as_u32() as usize).copied().flatten();
                false
            }
            // A hint concerns the access, wherever the constant part is.
            Op::CacheHint => {
                let at = place(&places, data.args[0]);
                let (policy, result) = (data.args[1], emitter.func.result(inst));
                if at.offset == 0 {
                    return false;
                }
                let base = emitter.value(Op::CacheHint, Type::B32, &[at.base, policy]);
                places[result.as_u32() as usize] = Some(Place { base, offset: at.offset });
                false
            }
            Op::Load(mut access)
            | Op::Store(mut access)
            | Op::Atomic { mut access, .. }
            | Op::Red { mut access, .. }
            | Op::TryAtomic { mut access, .. }
            | Op::LoadReduce { mut access, .. }
            | Op::AsyncFill { mut access, .. } => {
                let place = place(&places, data.args[0]);
                let total = place.offset + i64::from(access.offset);
                let holds = match data.op {
                    Op::AsyncFill { .. } => COPY_OFFSETS.contains(&total),
                    _ => fits(access.space, total),
                };
                if place.base == data.args[0] || !holds {
                    return false;
                }
                access.offset = total as i32;
                let data = &mut emitter.func.insts[inst];
                data.args[0] = place.base;
                data.op = match data.op {
                    Op::Load(_) => Op::Load(access),
                    Op::Store(_) => Op::Store(access),
                    Op::Atomic { op, .. } => Op::Atomic { op, access },
                    Op::Red { op, .. } => Op::Red { op, access },
                    Op::TryAtomic { op, .. } => Op::TryAtomic { op, access },
                    Op::LoadReduce { op, wide, .. } => Op::LoadReduce { op, wide, access },
                    Op::AsyncFill { prefetch, zfill, .. } => Op::AsyncFill { access, prefetch, zfill },
                    other => other,
                };
                emitter.keep(inst);
                true
            }
            _ => false,
        }
    })
}

/// The values that are used only as addresses of accesses with room for an offset, given the number
/// of uses of each value.
pub(crate) fn only_addresses(func: &Function, mut other_uses: Vec<u32>) -> Vec<bool> {
    let mut is_address = vec![false; other_uses.len()];
    for &block in &func.layout {
        for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
            let data = &func.insts[inst];
            if let Op::Load(_)
            | Op::Store(_)
            | Op::Atomic { .. }
            | Op::Red { .. }
            | Op::TryAtomic { .. }
            | Op::LoadReduce { .. } = data.op
            {
                let address = data.args[0].as_u32() as usize;
                other_uses[address] -= 1;
                is_address[address] = true;
            }
        }
    }
    is_address.iter_mut().zip(other_uses).for_each(|(is_address, others)| *is_address &= others == 0);
    is_address
}

/// The place of `a + b`, and whether a new sum of two bases was made for it, as `may_turn` allows.
fn sum(
    emitter: &mut Emitter,
    places: &[Option<Place>],
    [a, b]: [Value; 2],
    may_turn: bool,
) -> (Option<Place>, bool) {
    let ty = emitter.func.ty(a);
    let constant = |emitter: &Emitter, value| {
        let bits = emitter.func.constant(value)?;
        Some(if ty == Type::B32 { i64::from(bits as u32 as i32) } else { bits as i64 })
    };
    for (term, other) in [(a, b), (b, a)] {
        if let Some(distance) = constant(emitter, other) {
            let at = place(places, term);
            let offset = at.offset.checked_add(distance).filter(|&offset| fits(Space::Global, offset));
            return (offset.map(|offset| Place { base: at.base, offset }), false);
        }
    }
    let (at_a, at_b) = (place(places, a), place(places, b));
    let offset = at_a.offset + at_b.offset;
    if !may_turn || (at_a.offset == 0 && at_b.offset == 0) || !fits(Space::Global, offset) {
        return (None, false);
    }
    let base = emitter.value(Op::Iadd, ty, &[at_a.base, at_b.base]);
    (Some(Place { base, offset }), true)
}

/// A value that no sum defines is its own base, and so is a value that the rule made.
fn place(places: &[Option<Place>], value: Value) -> Place {
    places.get(value.as_u32() as usize).copied().flatten().unwrap_or(Place { base: value, offset: 0 })
}

/// Whether an access to the space can hold the offset.
fn fits(space: Space, offset: i64) -> bool {
    let bits = if matches!(space, Space::Const | Space::Param) { 15 } else { 23 };
    (-(1 << bits)..1 << bits).contains(&offset)
}

#[cfg(test)]
mod tests {
    use ptxc_ir::{Access, MemType};

    use super::*;
    use crate::legalize::emitter::tests::Build;

    fn load(b: &mut Build, address: Value, offset: i32) -> ptxc_ir::Inst {
        let access = Access { offset, ..Access::weak(Space::Global, MemType::B32) };
        b.inst(Op::Load(access), Type::B32, &[address])
    }

    fn offset(func: &Function, inst: ptxc_ir::Inst) -> i32 {
        match func.insts[inst].op {
            Op::Load(access) => access.offset,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn chains_fold_up_to_the_limit() {
        let mut b = Build::new();
        let base = b.value(Op::Param { offset: 0 }, Type::B64, &[]);
        let step = b.value(Op::Const(0x40_0000), Type::B64, &[]);
        let near = b.value(Op::Iadd, Type::B64, &[base, step]);
        let far = b.value(Op::Iadd, Type::B64, &[step, near]);
        let back = b.value(Op::Const(-4i64 as u64), Type::B64, &[]);
        let before = b.value(Op::Iadd, Type::B64, &[near, back]);
        let (l0, l1, l2) = (load(&mut b, near, 4), load(&mut b, far, 0), load(&mut b, before, 0));
        let mut func = b.finish();
        assert!(address_offsets(&mut func, Arch::Sm90));
        assert_eq!((func.insts[l0].args[0], offset(&func, l0)), (base, 0x40_0004));
        assert_eq!((func.insts[l1].args[0], offset(&func, l1)), (far, 0));
        assert_eq!((func.insts[l2].args[0], offset(&func, l2)), (base, 0x3f_fffc));
    }

    #[test]
    fn a_copy_of_an_address_stays() {
        let mut b = Build::new();
        let base = b.value(Op::Param { offset: 0 }, Type::B32, &[]);
        let copy = b.value(Op::Bitcast, Type::B32, &[base]);
        let access = Access { offset: 4, ..Access::weak(Space::Shared, MemType::B32) };
        b.inst(Op::Load(access), Type::B32, &[copy]);
        let mut func = b.finish();
        let before = func.clone();
        assert!(!address_offsets(&mut func, Arch::Sm90));
        assert_eq!(func, before);
    }

    #[test]
    fn a_constant_inside_a_sum_moves_out() {
        let mut b = Build::new();
        let base = b.value(Op::Param { offset: 0 }, Type::B64, &[]);
        let index = b.value(Op::Param { offset: 8 }, Type::B64, &[]);
        let eight = b.value(Op::Const(8), Type::B64, &[]);
        let inner = b.value(Op::Iadd, Type::B64, &[index, eight]);
        let outer = b.value(Op::Iadd, Type::B64, &[base, inner]);
        let access = load(&mut b, outer, 0);
        let mut func = b.finish();
        assert!(address_offsets(&mut func, Arch::Sm90));
        assert_eq!(offset(&func, access), 8);
        let sum = func.def_inst(func.insts[access].args[0]).unwrap();
        assert_eq!((sum.op, &sum.args[..]), (Op::Iadd, &[base, index][..]));
    }
}
