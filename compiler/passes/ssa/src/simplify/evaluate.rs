//! Evaluates operations on constants with `ptxc_semantics`, which the interpreters also use.
//!
//! In: an operation, its controlling type, and the type and bits of each argument. Out: the bits of
//! its only result. The result is `None` if the operation is not a function of its arguments, if
//! the exact bits of the hardware's result are unknown (approximations, divisions by zero,
//! conversions of NaN to integers and to TF32), and for 128 bits.
#![deny(clippy::wildcard_enum_match_arm)]

use ptxc_ir::{Funnel, IntCond, Op, Type, not_arithmetic};
use ptxc_semantics::bits::{self, Limit};
use ptxc_semantics::float::{self, NanRule};
use ptxc_semantics::int;
use ptxc_semantics::packed::{self, Truth};
use ptxc_semantics::{F32, IntType, Mode, convert, narrow};
use smallvec::SmallVec;

/// The value of an operation on constants; each argument is a type, and bits that are zero above
/// its width.
pub fn evaluate(op: &Op, ty: Type, args: &[(Type, u64)]) -> Option<u64> {
    if ty.bits() > 64 || args.iter().any(|(ty, _)| ty.bits() > 64) {
        return None;
    }
    let bits: SmallVec<[u64; 4]> = args.iter().map(|&(_, bits)| bits).collect();
    match op {
        Op::And | Op::Or | Op::Xor | Op::Not => logic(op, ty, &bits),
        Op::Select => logic(op, ty, &bits),
        Op::Iadd | Op::Isub | Op::Ineg | Op::Iabs | Op::Imul | Op::Umulh => integer(op, ty, &bits),
        Op::Smulh | Op::UmulWide | Op::SmulWide | Op::UmadWide | Op::SmadWide => integer(op, ty, &bits),
        Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem | Op::Smin | Op::Smax => integer(op, ty, &bits),
        Op::Umin | Op::Umax | Op::IaddCarryIn | Op::Ipair(_) => integer(op, ty, &bits),
        Op::Shl | Op::Shr | Op::Sar | Op::Popc | Op::Clz | Op::Brev => integer(op, ty, &bits),
        Op::Bfind { .. } | Op::Bmsk { .. } | Op::Szext { .. } | Op::Prmt(_) => integer(op, ty, &bits),
        Op::Lop3 { .. } | Op::Dp4a { .. } | Op::Dp2a { .. } | Op::FunnelShl(_) => integer(op, ty, &bits),
        Op::FunnelShr(_) => integer(op, ty, &bits),
        Op::PackSaturated(_) => integer(op, ty, &bits),
        Op::Icmp(_) => integer(op, ty, &bits),
        Op::Zext | Op::Sext | Op::Trunc | Op::Bitcast | Op::SintToFloat(_) => conversion(op, ty, args),
        Op::UintToFloat(_) | Op::FloatToSint { .. } | Op::FloatToUint { .. } => conversion(op, ty, args),
        Op::FloatToFloat(_) | Op::FloatToHalf { .. } => conversion(op, ty, args),
        Op::FloatToTf32 { .. } | Op::FloatsToBytes { .. } => conversion(op, ty, args),
        Op::HalvesToBytes { .. } | Op::BytesToHalves { .. } => conversion(op, ty, args),
        Op::FloatsToHalves { .. } | Op::RoundToIntegral { .. } | Op::Pack => conversion(op, ty, args),
        Op::Fcmp { .. } | Op::Fset { .. } => floating(op, ty, &bits).or_else(|| pair(op, ty, &bits)),
        Op::Fadd(_) | Op::Fsub(_) | Op::Fmul(_) => floating(op, ty, &bits).or_else(|| pair(op, ty, &bits)),
        Op::FfmaOob => floating(op, ty, &bits).or_else(|| pair(op, ty, &bits)),
        Op::Ffma(_) | Op::Fneg { .. } => floating(op, ty, &bits).or_else(|| pair(op, ty, &bits)),
        Op::Fabs { .. } | Op::Fmin { .. } => floating(op, ty, &bits).or_else(|| pair(op, ty, &bits)),
        Op::Fmax { .. } => floating(op, ty, &bits).or_else(|| pair(op, ty, &bits)),
        // Two results, or a result that the hardware approximates.
        Op::IaddCarryOut | Op::IaddCarryInOut | Op::IsubCarryOut | Op::IsubCarryIn => None,
        Op::IsubCarryInOut => None,
        Op::FcmpPair { .. } => None,
        Op::Fdiv(_) | Op::Fsqrt(_) | Op::FdivApprox { .. } | Op::FdivCheck | Op::Fapprox { .. } => None,
        Op::Unpack => None,
        not_arithmetic!() => None,
    }
}

/// All ones in a type.
pub(super) fn ones(ty: Type) -> u64 {
    IntType::new(ty.bits(), false).mask()
}

fn logic(op: &Op, ty: Type, args: &[u64]) -> Option<u64> {
    Some(match (op, args) {
        (Op::And, &[a, b]) => a & b,
        (Op::Or, &[a, b]) => a | b,
        (Op::Xor, &[a, b]) => a ^ b,
        (Op::Not, &[a]) => !a & ones(ty),
        (Op::Select, &[condition, a, b]) => bits::sel(condition != 0, a, b),
        _ => return None,
    })
}

fn integer(op: &Op, ty: Type, args: &[u64]) -> Option<u64> {
    if !ty.is_int() {
        return None;
    }
    let unsigned = IntType::new(ty.bits(), false);
    let signed = IntType::new(ty.bits(), true);
    Some(match (op, args) {
        (Op::Iadd, &[a, b]) => int::add(unsigned, a, b),
        (Op::Isub, &[a, b]) => int::sub(unsigned, a, b),
        (Op::Ineg, &[a]) => int::neg(unsigned, a),
        (Op::Iabs, &[a]) => int::abs(signed, a),
        (Op::Imul, &[a, b]) => int::mul_lo(unsigned, a, b),
        (Op::Umulh, &[a, b]) => int::mul_hi(unsigned, a, b),
        (Op::Smulh, &[a, b]) => int::mul_hi(signed, a, b),
        (Op::UmulWide, &[a, b]) => int::mul_wide(unsigned, a, b),
        (Op::SmulWide, &[a, b]) => int::mul_wide(signed, a, b),
        (Op::UmadWide, &[a, b, c]) => int::mad_wide(unsigned, a, b, c),
        (Op::SmadWide, &[a, b, c]) => int::mad_wide(signed, a, b, c),
        (Op::Udiv, &[a, b]) if b != 0 => int::div(unsigned, a, b),
        (Op::Sdiv, &[a, b]) if b != 0 => int::div(signed, a, b),
        (Op::Urem, &[a, b]) if b != 0 => int::rem(unsigned, a, b),
        (Op::Srem, &[a, b]) if b != 0 => int::rem(signed, a, b),
        (Op::Smin, &[a, b]) => int::min(signed, a, b),
        (Op::Smax, &[a, b]) => int::max(signed, a, b),
        (Op::Umin, &[a, b]) => int::min(unsigned, a, b),
        (Op::Umax, &[a, b]) => int::max(unsigned, a, b),
        (Op::Ipair(function), &[a, b]) => function.of(a as u32, b as u32).into(),
        (Op::IaddCarryIn, &[a, b, carry]) => int::add_carry(unsigned, a, b, carry != 0).0,
        (Op::Shl, &[a, count]) => bits::shl(unsigned, a, count as u32),
        (Op::Shr, &[a, count]) => bits::shr(unsigned, a, count as u32),
        (Op::Sar, &[a, count]) => bits::shr(signed, a, count as u32),
        (Op::Popc, &[a]) => bits::popc(unsigned, a).into(),
        (Op::Clz, &[a]) => bits::clz(unsigned, a).into(),
        (Op::Brev, &[a]) => bits::brev(unsigned, a),
        (Op::Bfind { signed, shift }, &[a]) => {
            bits::bfind(IntType::new(ty.bits(), *signed), a, *shift).into()
        }
        (Op::Bmsk { wrap }, &[a, b]) => bits::bmsk(a as u32, b as u32, limit(*wrap)).into(),
        (Op::Szext { signed, wrap }, &[a, b]) => {
            bits::szext(*signed, a as u32, b as u32, limit(*wrap)).into()
        }
        (Op::Prmt(pick), &[a, b, c]) => bits::prmt((*pick).into(), a as u32, b as u32, c as u32).into(),
        (Op::PackSaturated(to), &[a, b, c]) => {
            narrow::pack_saturated((*to).into(), a as u32, b as u32, c as u32).into()
        }
        (Op::Lop3 { table }, &[a, b, c]) => bits::lop3(a as u32, b as u32, c as u32, *table).into(),
        (Op::Dp4a { a_signed: x, b_signed: y }, &[a, b, c]) => {
            bits::dp4a(*x, *y, a as u32, b as u32, c as u32).into()
        }
        (Op::Dp2a { a_signed: x, b_signed: y, high }, &[a, b, c]) => {
            bits::dp2a(*x, *y, *high, a as u32, b as u32, c as u32).into()
        }
        (Op::FunnelShl(limit), &[a, b, count]) => {
            bits::shf_l(a as u32, b as u32, count as u32, funnel_limit(*limit)?).into()
        }
        (Op::FunnelShr(limit), &[a, b, count]) => {
            bits::shf_r(a as u32, b as u32, count as u32, funnel_limit(*limit)?).into()
        }
        (Op::Icmp(condition), &[a, b]) => u64::from(compare(*condition, ty, a, b)),
        _ => return None,
    })
}

fn nan_rule(nan: bool) -> NanRule {
    if nan { NanRule::Propagate } else { NanRule::Number }
}

fn limit(wrap: bool) -> Limit {
    if wrap { Limit::Wrap } else { Limit::Clamp }
}

fn funnel_limit(limit: Funnel) -> Option<Limit> {
    match limit {
        Funnel::Wrap => Some(Limit::Wrap),
        Funnel::Clamp => Some(Limit::Clamp),
        Funnel::Wide | Funnel::WideSigned => None,
    }
}

/// Whether an integer comparison holds.
pub(super) fn compare(condition: IntCond, ty: Type, a: u64, b: u64) -> bool {
    let (ty, cmp) = condition.comparison(ty.bits());
    int::compare(ty, cmp, a, b)
}

fn conversion(op: &Op, ty: Type, args: &[(Type, u64)]) -> Option<u64> {
    let int = |ty: Type, signed| IntType::new(ty.bits(), signed);
    Some(match (op, args) {
        (Op::Zext | Op::Trunc, &[(from, a)]) => convert::int_to_int(int(from, false), int(ty, false), a),
        (Op::Sext, &[(from, a)]) => convert::int_to_int(int(from, true), int(ty, true), a),
        (Op::Bitcast, &[(_, a)]) => a,
        (Op::Pack, &[(half, low), (_, high)]) => low | high << half.bits(),
        (Op::SintToFloat(round), &[(from, a)]) => {
            convert::int_to_float(int(from, true), ty.float_format()?, a, Mode::new((*round).into()))
        }
        (Op::UintToFloat(round), &[(from, a)]) => {
            convert::int_to_float(int(from, false), ty.float_format()?, a, Mode::new((*round).into()))
        }
        (Op::FloatToSint { round, ftz } | Op::FloatToUint { round, ftz }, &[(from, a)]) => {
            let from = from.float_format().filter(|from| !from.is_nan(a))?;
            let to = int(ty, matches!(op, Op::FloatToSint { .. }));
            convert::float_to_int(from, to, a, (*round).into(), *ftz)
        }
        (Op::FloatToFloat(mode), &[(from, a)]) => {
            convert::float_to_float(from.float_format()?, ty.float_format()?, a, (*mode).into())
        }
        (Op::FloatToHalf { round, relu, finite }, &[(_, a)]) => {
            convert::single_to_half(ty.float_format()?, a, (*round).into(), *relu, *finite)
        }
        (Op::FloatsToHalves { round, relu, finite }, &[(_, a), (_, b)]) => {
            let to = ty.pair_format()?;
            packed::of_singles(to, a as u32, b as u32, (*round).into(), *relu, *finite).into()
        }
        (Op::FloatToTf32 { round, relu }, &[(_, a)]) if !F32.is_nan(a) => {
            narrow::single_to_tf32(a as u32, (*round).into(), *relu).into()
        }
        (Op::FloatsToBytes { format, relu }, &[(_, a), (_, b)]) => {
            narrow::bytes_of_singles((*format).into(), a as u32, b as u32, *relu).into()
        }
        (Op::HalvesToBytes { format, relu }, &[(_, a)]) => {
            narrow::bytes_of_halves((*format).into(), a as u32, *relu).into()
        }
        (Op::BytesToHalves { format, relu }, &[(_, a)]) => {
            narrow::halves_of_bytes((*format).into(), a as u32, *relu).into()
        }
        (Op::RoundToIntegral { round, ftz }, &[(_, a)]) => {
            convert::round_to_integral(ty.float_format()?, a, Mode::new((*round).into()).with_ftz(*ftz))
        }
        _ => return None,
    })
}

fn floating(op: &Op, ty: Type, args: &[u64]) -> Option<u64> {
    let format = ty.float_format()?;
    let flush = |ftz: bool, a: u64| if ftz { format.flush(a) } else { a };
    Some(match (op, args) {
        (Op::Fadd(mode), &[a, b]) => float::add(format, a, b, (*mode).into()),
        (Op::Fsub(mode), &[a, b]) => float::sub(format, a, b, (*mode).into()),
        (Op::Fmul(mode), &[a, b]) => float::mul(format, a, b, (*mode).into()),
        (Op::Ffma(mode), &[a, b, c]) => float::fma(format, a, b, c, (*mode).into()),
        (Op::FfmaOob, &[a, b, c]) => float::fma_oob(format, a, b, c),
        // The sign of a NaN is not specified.
        (Op::Fneg { ftz }, &[a]) if !format.is_nan(a) => float::neg(format, flush(*ftz, a)),
        (Op::Fabs { ftz }, &[a]) if !format.is_nan(a) => float::abs(format, flush(*ftz, a)),
        (Op::Fmin { ftz, nan, xorsign }, &[a, b]) => {
            let min = if *xorsign { float::min_xorsign } else { float::min };
            min(format, a, b, nan_rule(*nan), *ftz)
        }
        (Op::Fmax { ftz, nan, xorsign }, &[a, b]) => {
            let max = if *xorsign { float::max_xorsign } else { float::max };
            max(format, a, b, nan_rule(*nan), *ftz)
        }
        (Op::Fcmp { cond: condition, ftz }, &[a, b]) => {
            u64::from(float::compare(format, (*condition).into(), a, b, *ftz))
        }
        _ => return None,
    })
}

/// Two halves.
fn pair(op: &Op, ty: Type, args: &[u64]) -> Option<u64> {
    let format = ty.pair_format()?;
    if let Op::Fset { cond: condition, ftz, ones } = op
        && let &[a, b] = args
    {
        let truth = if *ones { Truth::Ones } else { Truth::One };
        return Some(packed::set(format, (*condition).into(), a as u32, b as u32, *ftz, truth).into());
    }
    let half = if ty == Type::F16x2 { Type::F16 } else { Type::BF16 };
    let element = |shift: u32| {
        let args: SmallVec<[u64; 3]> = args.iter().map(|arg| arg >> shift & 0xffff).collect();
        floating(op, half, &args)
    };
    Some(element(0)? | element(16)? << 16)
}

#[cfg(test)]
mod tests {
    use ptxc_ir::{FloatMode, Rounding};

    use super::*;

    fn float(value: f32) -> (Type, u64) {
        (Type::F32, value.to_bits().into())
    }

    #[test]
    fn values() {
        let b32 = |bits| (Type::B32, bits);
        assert_eq!(evaluate(&Op::Iadd, Type::B32, &[b32(u32::MAX.into()), b32(2)]), Some(1));
        assert_eq!(evaluate(&Op::Sar, Type::B16, &[(Type::B16, 0x8000), b32(99)]), Some(0xffff));
        assert_eq!(evaluate(&Op::Not, Type::Pred, &[(Type::Pred, 0)]), Some(1));
        assert_eq!(evaluate(&Op::Sext, Type::B64, &[b32(0xffff_fffe)]), Some(u64::MAX - 1));
        assert_eq!(evaluate(&Op::Pack, Type::B64, &[b32(1), b32(2)]), Some(2 << 32 | 1));
        assert_eq!(evaluate(&Op::Icmp(IntCond::Slt), Type::B32, &[b32(u32::MAX.into()), b32(0)]), Some(1));
        let sum = evaluate(&Op::Fadd(FloatMode::RN), Type::F32, &[float(1.5), float(0.25)]);
        assert_eq!(sum, Some(float(1.75).1));
    }

    #[test]
    fn halves_of_a_pair_are_computed_apart() {
        let pair = |bits| (Type::F16x2, bits);
        let sum = evaluate(&Op::Fadd(FloatMode::RN), Type::F16x2, &[pair(0x3c00_4000), pair(0x4000_3c00)]);
        assert_eq!(sum, Some(0x4200_4200));
        let less = Op::Fset { cond: ptxc_ir::FloatCond::Lt, ftz: false, ones: false };
        assert_eq!(evaluate(&less, Type::F16x2, &[pair(0x3c00_4000), pair(0x4000_3c00)]), Some(0x3c00_0000));
        assert_eq!(
            evaluate(&Op::Fneg { ftz: false }, Type::F16x2, &[pair(0x7e00_3c00)]),
            None,
            "the sign of a NaN"
        );
    }

    #[test]
    fn operations_that_the_hardware_decides_stay() {
        let b32 = |bits| (Type::B32, bits);
        assert_eq!(evaluate(&Op::Udiv, Type::B32, &[b32(1), b32(0)]), None);
        assert_eq!(
            evaluate(&Op::Fapprox { function: ptxc_ir::Approx::Rcp, ftz: false }, Type::F32, &[float(3.0)]),
            None
        );
        assert_eq!(
            evaluate(&Op::FloatToSint { round: Rounding::Zero, ftz: false }, Type::B32, &[float(f32::NAN)]),
            None
        );
        assert_eq!(evaluate(&Op::SpecialReg(ptxc_ir::SpecialReg::TidX), Type::B32, &[]), None);
    }
}
