//! Replaces arithmetic on pairs of halves that the target lacks with arithmetic that it has.
//!
//! ```text
//! sm_80…sm_89                               v4 = const.bf16x2 0x3f803f80              // 1.0, 1.0
//! v3 = fadd.bf16x2.rn v1, v2          =>    v3 = ffma.bf16x2.rn v1, v4, v2
//!
//! sm_75                                     v4 = float_to_float.f32 …                 // each half, exactly
//! v3 = fmin.f16x2 v1, v2              =>    v5 = fmin.f32 …
//!                                           v3 = …                                    // rounded, packed
//! ```
//!
//! PTX has these operations only on later targets; here they come from vector updates that were
//! split for earlier targets ([`split_vector_atomics`](super::split_vector_atomics())).
//!
//! | target | `f16x2` min, max | `bf16x2` add | `bf16x2` min, max |
//! |---|---|---|---|
//! | sm_75 | in single precision | in single precision | in single precision |
//! | sm_80 to sm_89 | native | multiply-add by one | native |
//!
//! Each replacement gives the same bits as the operation itself. A product with one is exact and
//! keeps the sign of a zero. The smaller of two halves is one of them. A sum of two `bf16` that is
//! rounded to 24 bits and then to 8 is correctly rounded, since 24 is at least 2·8 + 2 (Figueroa,
//! "When is double rounding innocuous?", SIGNUM Newsletter 30, 1995). A NaN becomes 0x7fff. Linear.

use ptxc_ir::{BytePick, FloatCond, FloatMode, Function, Op, Type, Value};
use ptxc_machine::{Arch, Feature};

use super::emitter::{Emitter, rewrite};

/// Rewrites what the target lacks.
pub fn half_arithmetic(func: &mut Function, arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = emitter.func.insts[inst].clone();
        let is_extreme = matches!(data.op, Op::Fmin { .. } | Op::Fmax { .. });
        let made = match (data.op, data.ty) {
            (Op::Fadd(_), Type::BF16x2) if arch.has(Feature::BrainPairSums) => return false,
            (Op::Fadd(mode), Type::BF16x2) if arch.has(Feature::BrainPairProducts) => {
                let one = emitter.constant(Type::BF16x2, 0x3f80_3f80);
                emitter.value(Op::Ffma(mode), Type::BF16x2, &[data.args[0], one, data.args[1]])
            }
            (Op::Fadd(FloatMode::RN), Type::BF16x2) => brain_halves(emitter, data.op, &data.args),
            (_, Type::BF16x2) if is_extreme && !arch.has(Feature::BrainPairExtremes) => {
                brain_halves(emitter, data.op, &data.args)
            }
            (_, Type::F16x2) if is_extreme && !arch.has(Feature::HalfPairExtremes) => {
                halves(emitter, data.op, &data.args)
            }
            _ => return false,
        };
        let result = emitter.func.result(inst);
        emitter.rename(result, made);
        true
    })
}

/// Each half separately: `f16` has conversions on every target.
fn halves(emitter: &mut Emitter, op: Op, pairs: &[Value]) -> Value {
    let mut sides = [Vec::new(), Vec::new()];
    for &pair in pairs {
        let word = emitter.value(Op::Bitcast, Type::B32, &[pair]);
        let (low, high) = emitter.pair(Op::Unpack, Type::B32, &[word]);
        for (side, bits) in sides.iter_mut().zip([low, high]) {
            let half = emitter.value(Op::Bitcast, Type::F16, &[bits]);
            side.push(emitter.value(Op::FloatToFloat(FloatMode::RN), Type::F32, &[half]));
        }
    }
    let bits = sides.map(|side| {
        let single = emitter.value(op, Type::F32, &side);
        let half = emitter.value(Op::FloatToFloat(FloatMode::RN), Type::F16, &[single]);
        emitter.value(Op::Bitcast, Type::B16, &[half])
    });
    let word = emitter.value(Op::Pack, Type::B32, &bits);
    emitter.value(Op::Bitcast, Type::F16x2, &[word])
}

/// Each half separately: a `bf16` is the upper half of a binary32, and sm_75 has no conversion for
/// it.
fn brain_halves(emitter: &mut Emitter, op: Op, pairs: &[Value]) -> Value {
    let ty = Type::B32;
    let mut sides = [Vec::new(), Vec::new()];
    for &pair in pairs {
        let word = emitter.value(Op::Bitcast, ty, &[pair]);
        let (sixteen, upper) = (emitter.constant(ty, 16), emitter.constant(ty, 0xffff_0000));
        let low = emitter.value(Op::Shl, ty, &[word, sixteen]);
        let high = emitter.value(Op::And, ty, &[word, upper]);
        for (side, bits) in sides.iter_mut().zip([low, high]) {
            side.push(emitter.value(Op::Bitcast, Type::F32, &[bits]));
        }
    }
    let [low, high] = sides.map(|side| {
        let single = emitter.value(op, Type::F32, &side);
        match op {
            Op::Fadd(_) => rounded(emitter, single),
            _ => emitter.value(Op::Bitcast, ty, &[single]),
        }
    });
    let upper_halves = emitter.constant(ty, 0x7632);
    let word = emitter.value(Op::Prmt(BytePick::Index), ty, &[low, high, upper_halves]);
    emitter.value(Op::Bitcast, Type::BF16x2, &[word])
}

/// A binary32 whose upper half is the nearest `bf16`: half of the last kept place is added, less
/// one bit if a tie rounds down to an even number. An overflow carries into the exponent and
/// becomes infinite.
fn rounded(emitter: &mut Emitter, single: Value) -> Value {
    let ty = Type::B32;
    let bits = emitter.value(Op::Bitcast, ty, &[single]);
    let (sixteen, one) = (emitter.constant(ty, 16), emitter.constant(ty, 1));
    let (almost_half, nan) = (emitter.constant(ty, 0x7fff), emitter.constant(ty, 0x7fff_ffff));
    let shifted = emitter.value(Op::Shr, ty, &[bits, sixteen]);
    let odd = emitter.value(Op::And, ty, &[shifted, one]);
    let sum = emitter.value(Op::Iadd, ty, &[bits, almost_half]);
    let sum = emitter.value(Op::Iadd, ty, &[sum, odd]);
    let is_nan = emitter.value(Op::Fcmp { cond: FloatCond::Nan, ftz: false }, Type::F32, &[single, single]);
    emitter.value(Op::Select, ty, &[is_nan, nan, sum])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legalize::emitter::tests::Build;

    #[test]
    fn only_operations_that_the_target_lacks_are_rewritten() {
        let cases = [
            (Op::Fadd(FloatMode::RN), Type::BF16x2, &Arch::ALL[..4]),
            (Op::Fmin { ftz: false, nan: false, xorsign: false }, Type::BF16x2, &Arch::ALL[..1]),
            (Op::Fmax { ftz: false, nan: false, xorsign: false }, Type::F16x2, &Arch::ALL[..1]),
            (Op::Fadd(FloatMode::RN), Type::F16x2, &[]),
        ];
        for (op, ty, lacking) in cases {
            for arch in Arch::ALL {
                let mut b = Build::new();
                let x = b.value(Op::Undef, ty, &[]);
                b.value(op, ty, &[x, x]);
                let mut func = b.finish();
                assert_eq!(half_arithmetic(&mut func, arch), lacking.contains(&arch), "{op:?} {ty} {arch}");
                let is_left = |inst: &ptxc_ir::InstData| inst.op == op && inst.ty == ty;
                let left = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
                let left = left.filter(|&&inst| is_left(&func.insts[inst])).count();
                assert_eq!(left, usize::from(!lacking.contains(&arch)), "{op:?} {ty} {arch}");
            }
        }
    }
}
