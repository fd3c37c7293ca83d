//! The arithmetic of the SSA operations in one lane.
//!
//! [`arithmetic`] turns an operation with its types into a function from the bits of up to three
//! arguments to the bits of up to two results, once per instruction of the program. Everything is a
//! composition of `ptxc_semantics`. Operations that use more than their arguments are elsewhere.

use ptxc_ir::op::{Approx, FloatMode, Funnel};
use ptxc_ir::{AtomicOp, Op, Type, not_arithmetic};
use ptxc_semantics::bits::{self, Limit};
use ptxc_semantics::float::{self, FloatCmp, NanRule};
use ptxc_semantics::int;
use ptxc_semantics::{BF16, F16, F32, F64, Format, IntType, Mode, U64, convert, mufu, narrow, packed};

use crate::warp::{LANES, lanes_of};

/// A word of each lane.
pub(crate) type Words = [u64; LANES];

/// The computation of a lane, and of a whole warp: a loop around that of one lane, which is inlined
/// there.
pub(crate) trait Compute {
    /// The results of one lane.
    fn one(&self, args: [u64; 3]) -> [u64; 2];

    /// The results of all lanes, or at least of `lanes`.
    fn all(&self, args: [&Words; 3], lanes: u32, results: &mut [Words; 2]);
}

impl<F: Fn([u64; 3]) -> [u64; 2]> Compute for F {
    fn one(&self, args: [u64; 3]) -> [u64; 2] {
        self(args)
    }

    fn all(&self, [a, b, c]: [&Words; 3], lanes: u32, [first, second]: &mut [Words; 2]) {
        let mut lane = |n: usize| [first[n], second[n]] = self([a[n], b[n], c[n]]);
        match lanes {
            u32::MAX => (0..LANES).for_each(&mut lane),
            _ => lanes_of(lanes).for_each(|n| lane(n as usize)),
        }
    }
}

/// The computation of one lane.
pub(crate) type Lane = Box<dyn Compute>;

/// The function of a lane, from up to three arguments to up to two results.
pub(crate) fn lane(f: impl Fn([u64; 3]) -> [u64; 2] + 'static) -> Lane {
    Box::new(f)
}

fn one(f: impl Fn(u64) -> u64 + 'static) -> Option<Lane> {
    Some(lane(move |[a, _, _]| [f(a), 0]))
}

fn two(f: impl Fn(u64, u64) -> u64 + 'static) -> Option<Lane> {
    Some(lane(move |[a, b, _]| [f(a, b), 0]))
}

fn three(f: impl Fn(u64, u64, u64) -> u64 + 'static) -> Option<Lane> {
    Some(lane(move |[a, b, c]| [f(a, b, c), 0]))
}

fn with_carry(f: impl Fn(u64, u64, bool) -> (u64, bool) + 'static) -> Option<Lane> {
    Some(lane(move |[a, b, c]| {
        let (result, carry) = f(a, b, c & 1 == 1);
        [result, u64::from(carry)]
    }))
}

/// The computation of an operation with controlling type `ty`, whose first argument has the type
/// `from`. `None` if it is not arithmetic, or does not exist for that type.
#[deny(clippy::wildcard_enum_match_arm)]
pub(crate) fn arithmetic(op: &Op, ty: Type, from: Type) -> Option<Lane> {
    if ty == Type::B128 || from == Type::B128 {
        return None;
    }
    let u = IntType::new(ty.bits(), false);
    let s = IntType::new(ty.bits(), true);
    match *op {
        Op::Iadd => two(move |a, b| int::add(u, a, b)),
        Op::Isub => two(move |a, b| int::sub(u, a, b)),
        Op::Ineg => one(move |a| int::neg(u, a)),
        Op::Iabs => one(move |a| int::abs(s, a)),
        Op::Imul => two(move |a, b| int::mul_lo(u, a, b)),
        Op::Umulh => two(move |a, b| int::mul_hi(u, a, b)),
        Op::Smulh => two(move |a, b| int::mul_hi(s, a, b)),
        Op::UmulWide => two(move |a, b| int::mul_wide(u, a, b)),
        Op::SmulWide => two(move |a, b| int::mul_wide(s, a, b)),
        Op::UmadWide => three(move |a, b, c| int::mad_wide(u, a, b, c)),
        Op::SmadWide => three(move |a, b, c| int::mad_wide(s, a, b, c)),
        Op::Udiv => two(move |a, b| int::div(u, a, b)),
        Op::Sdiv => two(move |a, b| int::div(s, a, b)),
        Op::Urem => two(move |a, b| int::rem(u, a, b)),
        Op::Srem => two(move |a, b| int::rem(s, a, b)),
        Op::Smin => two(move |a, b| int::min(s, a, b)),
        Op::Smax => two(move |a, b| int::max(s, a, b)),
        Op::Umin => two(move |a, b| int::min(u, a, b)),
        Op::Umax => two(move |a, b| int::max(u, a, b)),
        Op::Ipair(function) => two(move |a, b| function.of(a as u32, b as u32).into()),
        Op::IaddCarryOut => with_carry(move |a, b, _| int::add_carry(u, a, b, false)),
        Op::IaddCarryIn | Op::IaddCarryInOut => with_carry(move |a, b, c| int::add_carry(u, a, b, c)),
        Op::IsubCarryOut => with_carry(move |a, b, _| int::add_carry(u, a, !b, true)),
        Op::IsubCarryIn | Op::IsubCarryInOut => with_carry(move |a, b, c| int::add_carry(u, a, !b, c)),

        Op::And => two(|a, b| a & b),
        Op::Or => two(|a, b| a | b),
        Op::Xor => two(|a, b| a ^ b),
        Op::Not => one(move |a| !a & u.mask()),
        Op::Shl => two(move |a, b| bits::shl(u, a, b as u32)),
        Op::Shr => two(move |a, b| bits::shr(u, a, b as u32)),
        Op::Sar => two(move |a, b| bits::shr(s, a, b as u32)),
        Op::Popc => one(move |a| bits::popc(u, a).into()),
        Op::Clz => one(move |a| bits::clz(u, a).into()),
        Op::Brev => one(move |a| bits::brev(u, a)),
        Op::Bfind { signed, shift } => {
            let ty = IntType::new(ty.bits(), signed);
            one(move |a| bits::bfind(ty, a, shift).into())
        }
        Op::Bmsk { wrap } => two(move |a, b| bits::bmsk(a as u32, b as u32, limit(wrap)).into()),
        Op::Szext { signed, wrap } => {
            two(move |a, b| bits::szext(signed, a as u32, b as u32, limit(wrap)).into())
        }
        Op::Prmt(pick) => three(move |a, b, c| bits::prmt(pick.into(), a as u32, b as u32, c as u32).into()),
        Op::PackSaturated(to) => {
            three(move |a, b, c| narrow::pack_saturated(to.into(), a as u32, b as u32, c as u32).into())
        }
        Op::Lop3 { table } => three(move |a, b, c| bits::lop3(a as u32, b as u32, c as u32, table).into()),
        Op::Dp4a { a_signed: x, b_signed: y } => {
            three(move |a, b, c| bits::dp4a(x, y, a as u32, b as u32, c as u32).into())
        }
        Op::Dp2a { a_signed: x, b_signed: y, high } => {
            three(move |a, b, c| bits::dp2a(x, y, high, a as u32, b as u32, c as u32).into())
        }
        Op::FunnelShl(kind) => three(move |a, b, c| funnel_left(kind, a as u32, b as u32, c as u32).into()),
        Op::FunnelShr(kind) => three(move |a, b, c| funnel_right(kind, a as u32, b as u32, c as u32).into()),

        Op::Icmp(cond) => {
            let (ty, cmp) = cond.comparison(ty.bits());
            two(move |a, b| int::compare(ty, cmp, a, b).into())
        }
        Op::Fcmp { cond, ftz } => {
            let (format, cmp) = (ty.float_format()?, FloatCmp::from(cond));
            two(move |a, b| float::compare(format, cmp, a, b, ftz).into())
        }
        Op::FcmpPair { cond, ftz } => {
            let (format, cmp) = (ty.pair_format()?, FloatCmp::from(cond));
            Some(lane(move |[a, b, _]| packed::compare(format, cmp, a as u32, b as u32, ftz).map(u64::from)))
        }
        Op::Fset { cond, ftz, ones } => {
            let (format, cmp) = (ty.pair_format()?, FloatCmp::from(cond));
            let truth = if ones { packed::Truth::Ones } else { packed::Truth::One };
            two(move |a, b| packed::set(format, cmp, a as u32, b as u32, ftz, truth).into())
        }
        Op::Select => three(|a, b, c| bits::sel(a & 1 == 1, b, c)),

        Op::Zext | Op::Trunc => one(move |a| a & u.mask()),
        Op::Sext => {
            let from = IntType::new(from.bits(), true);
            one(move |a| convert::int_to_int(from, u, a))
        }
        Op::Bitcast => one(|a| a),
        Op::SintToFloat(round) => {
            let (from, to) = (IntType::new(from.bits(), true), ty.float_format()?);
            one(move |a| convert::int_to_float(from, to, a, Mode::new(round.into())))
        }
        Op::UintToFloat(round) => {
            let (from, to) = (IntType::new(from.bits(), false), ty.float_format()?);
            one(move |a| convert::int_to_float(from, to, a, Mode::new(round.into())))
        }
        Op::FloatToSint { round, ftz } => {
            let from = from.float_format()?;
            one(move |a| convert::float_to_int(from, s, a, round.into(), ftz))
        }
        Op::FloatToUint { round, ftz } => {
            let from = from.float_format()?;
            one(move |a| convert::float_to_int(from, u, a, round.into(), ftz))
        }
        Op::FloatToFloat(mode) => {
            let (from, to) = (from.float_format()?, ty.float_format()?);
            one(move |a| convert::float_to_float(from, to, a, mode.into()))
        }
        Op::FloatToHalf { round, relu, finite } => {
            let to = ty.float_format()?;
            one(move |a| convert::single_to_half(to, a, round.into(), relu, finite))
        }
        Op::FloatsToHalves { round, relu, finite } => {
            let to = ty.pair_format()?;
            two(move |a, b| packed::of_singles(to, a as u32, b as u32, round.into(), relu, finite).into())
        }
        Op::FloatToTf32 { round, relu } => {
            one(move |a| narrow::single_to_tf32(a as u32, round.into(), relu).into())
        }
        Op::FloatsToBytes { format, relu } => {
            two(move |a, b| narrow::bytes_of_singles(format.into(), a as u32, b as u32, relu).into())
        }
        Op::HalvesToBytes { format, relu } => {
            one(move |a| narrow::bytes_of_halves(format.into(), a as u32, relu).into())
        }
        Op::BytesToHalves { format, relu } => {
            one(move |a| narrow::halves_of_bytes(format.into(), a as u32, relu).into())
        }
        Op::RoundToIntegral { round, ftz } => {
            let format = ty.float_format()?;
            one(move |a| convert::round_to_integral(format, a, Mode::new(round.into()).with_ftz(ftz)))
        }
        Op::Pack => {
            let half = ty.bits() / 2;
            two(move |a, b| b << half | a)
        }
        Op::Unpack => {
            let half = ty.bits() / 2;
            Some(lane(move |[a, _, _]| [a & ((1 << half) - 1), a >> half]))
        }

        Op::Fadd(_) | Op::Fsub(_) | Op::Fmul(_) | Op::Ffma(_) | Op::FfmaOob => float_arithmetic(op, ty),
        Op::Fneg { .. } => float_arithmetic(op, ty),
        Op::Fabs { .. } | Op::Fmin { .. } | Op::Fmax { .. } | Op::Fdiv(_) | Op::Fsqrt(_) => {
            float_arithmetic(op, ty)
        }
        Op::FdivApprox { .. } | Op::FdivCheck | Op::Fapprox { .. } => float_arithmetic(op, ty),
        not_arithmetic!() => None,
    }
}

/// Arithmetic on one float or on two halves.
fn float_arithmetic(op: &Op, ty: Type) -> Option<Lane> {
    match ty.pair_format() {
        Some(format) => packed_float(op, format),
        None => scalar_float(op, ty.float_format()?),
    }
}

/// Arithmetic on one float.
fn scalar_float(op: &Op, format: Format) -> Option<Lane> {
    let flush = move |ftz: bool, a: u64| if ftz { format.flush(a) } else { a };
    match *op {
        // The most common operations, with constants that allow vector code.
        Op::Fadd(mode) if format == F32 && Mode::from(mode) == Mode::IEEE => {
            two(|a, b| float::add(F32, a, b, Mode::IEEE))
        }
        Op::Fmul(mode) if format == F32 && Mode::from(mode) == Mode::IEEE => {
            two(|a, b| float::mul(F32, a, b, Mode::IEEE))
        }
        Op::Ffma(mode) if format == F32 && Mode::from(mode) == Mode::IEEE => {
            three(|a, b, c| float::fma(F32, a, b, c, Mode::IEEE))
        }
        Op::Fadd(mode) => two(move |a, b| float::add(format, a, b, mode.into())),
        Op::Fsub(mode) => two(move |a, b| float::sub(format, a, b, mode.into())),
        Op::Fmul(mode) => two(move |a, b| float::mul(format, a, b, mode.into())),
        Op::Ffma(mode) => three(move |a, b, c| float::fma(format, a, b, c, mode.into())),
        Op::FfmaOob => three(move |a, b, c| float::fma_oob(format, a, b, c)),
        Op::Fneg { ftz } => one(move |a| flush(ftz, float::neg(format, a))),
        Op::Fabs { ftz } => one(move |a| flush(ftz, float::abs(format, a))),
        Op::Fmin { ftz, nan, xorsign } => {
            let min = if xorsign { float::min_xorsign } else { float::min };
            two(move |a, b| min(format, a, b, nan_rule(nan), ftz))
        }
        Op::Fmax { ftz, nan, xorsign } => {
            let max = if xorsign { float::max_xorsign } else { float::max };
            two(move |a, b| max(format, a, b, nan_rule(nan), ftz))
        }
        Op::Fdiv(mode) => two(move |a, b| float::div(format, a, b, mode.into())),
        Op::Fsqrt(mode) => one(move |a| float::sqrt(format, a, mode.into())),
        Op::FdivApprox { full, ftz } if format == F32 => {
            two(move |a, b| mufu::div(a as u32, b as u32, full, ftz).into())
        }
        Op::FdivCheck if format == F32 => two(|a, b| mufu::division_check(a as u32, b as u32).into()),
        Op::Fapprox { function, ftz } if format == F32 => {
            let function: fn(u32, bool) -> u32 = match function {
                Approx::Rcp => mufu::rcp,
                Approx::Rsq => mufu::rsqrt,
                Approx::Sqrt => mufu::sqrt,
                Approx::Sin => |a, _| mufu::sin(a),
                Approx::Cos => |a, _| mufu::cos(a),
                Approx::Lg2 => mufu::lg2,
                Approx::Ex2 => mufu::ex2,
                Approx::Tanh => |a, _| mufu::tanh(a),
                Approx::SinTurns => |a, _| mufu::sin_turns(a),
                Approx::CosTurns => |a, _| mufu::cos_turns(a),
            };
            one(move |a| function(a as u32, ftz).into())
        }
        Op::Fapprox { function: Approx::Rcp, ftz: true } if format == F64 => {
            one(|a| join(0, mufu::rcp64h((a >> 32) as u32)))
        }
        Op::Fapprox { function: Approx::Rsq, ftz: true } if format == F64 => {
            one(|a| join(0, mufu::rsqrt64h((a >> 32) as u32)))
        }
        Op::Fapprox { function: Approx::Rsq, ftz: false } if format == F64 => {
            one(|a| float::rsqrt(F64, a, Mode::IEEE))
        }
        Op::Fapprox { function: Approx::Ex2, ftz } if format.bits() == 16 => {
            one(move |a| mufu::half_ex2(format, a, ftz))
        }
        Op::Fapprox { function: Approx::Tanh, .. } if format.bits() == 16 => {
            one(move |a| mufu::half_tanh(format, a))
        }
        _ => None,
    }
}

/// Arithmetic on two halves.
fn packed_float(op: &Op, format: Format) -> Option<Lane> {
    let flush = move |ftz: bool, a: u32| if ftz { packed::flush(format, a) } else { a };
    let on_words = |f: fn(Format, u32, u32, Mode) -> u32, mode: FloatMode| {
        two(move |a, b| f(format, a as u32, b as u32, mode.into()).into())
    };
    match *op {
        Op::Fadd(mode) => on_words(packed::add, mode),
        Op::Fsub(mode) => on_words(packed::sub, mode),
        Op::Fmul(mode) => on_words(packed::mul, mode),
        Op::Ffma(mode) => {
            three(move |a, b, c| packed::fma(format, a as u32, b as u32, c as u32, mode.into()).into())
        }
        Op::FfmaOob => three(move |a, b, c| packed::fma_oob(format, a as u32, b as u32, c as u32).into()),
        Op::Fneg { ftz } => one(move |a| flush(ftz, packed::neg(format, a as u32)).into()),
        Op::Fabs { ftz } => one(move |a| flush(ftz, packed::abs(format, a as u32)).into()),
        Op::Fmin { ftz, nan, xorsign } => {
            let min = if xorsign { packed::min_xorsign } else { packed::min };
            two(move |a, b| min(format, a as u32, b as u32, nan_rule(nan), ftz).into())
        }
        Op::Fmax { ftz, nan, xorsign } => {
            let max = if xorsign { packed::max_xorsign } else { packed::max };
            two(move |a, b| max(format, a as u32, b as u32, nan_rule(nan), ftz).into())
        }
        _ => None,
    }
}

fn nan_rule(nan: bool) -> NanRule {
    if nan { NanRule::Propagate } else { NanRule::Number }
}

fn limit(wrap: bool) -> Limit {
    if wrap { Limit::Wrap } else { Limit::Clamp }
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn funnel_left(kind: Funnel, low: u32, high: u32, count: u32) -> u32 {
    match kind {
        Funnel::Wrap => bits::shf_l(low, high, count, Limit::Wrap),
        Funnel::Clamp => bits::shf_l(low, high, count, Limit::Clamp),
        Funnel::Wide | Funnel::WideSigned => (bits::shl(U64, join(low, high), count) >> 32) as u32,
    }
}

fn funnel_right(kind: Funnel, low: u32, high: u32, count: u32) -> u32 {
    let wide = |signed| bits::shr(IntType::new(64, signed), join(low, high), count) as u32;
    match kind {
        Funnel::Wrap => bits::shf_r(low, high, count, Limit::Wrap),
        Funnel::Clamp => bits::shf_r(low, high, count, Limit::Clamp),
        Funnel::Wide => wide(false),
        Funnel::WideSigned => wide(true),
    }
}

/// The new content of an atomic's location, from the old content and the operation's one or two
/// arguments; `None` if the operation does not exist for the type. `ftz` flushes subnormals of
/// binary32.
pub(crate) fn atomic(op: AtomicOp, ty: Type, ftz: bool) -> Option<Lane> {
    if ty == Type::B128 {
        return None;
    }
    let u = IntType::new(ty.bits(), false);
    let s = IntType::new(ty.bits(), true);
    match op {
        AtomicOp::Add => two(move |old, b| int::add(u, old, b)),
        AtomicOp::Smin => two(move |old, b| int::min(s, old, b)),
        AtomicOp::Smax => two(move |old, b| int::max(s, old, b)),
        AtomicOp::Umin => two(move |old, b| int::min(u, old, b)),
        AtomicOp::Umax => two(move |old, b| int::max(u, old, b)),
        AtomicOp::And => two(|old, b| old & b),
        AtomicOp::Or => two(|old, b| old | b),
        AtomicOp::Xor => two(|old, b| old ^ b),
        AtomicOp::Inc => two(move |old, limit| int::increment(u, old, limit)),
        AtomicOp::Dec => two(move |old, limit| int::decrement(u, old, limit)),
        AtomicOp::Exch => two(|_, b| b),
        AtomicOp::Cas | AtomicOp::Cast => three(|old, expected, new| if old == expected { new } else { old }),
        AtomicOp::Fmin | AtomicOp::Fmax => {
            let number = NanRule::Number;
            let halves = match ty {
                Type::F16x2 => Some(F16),
                Type::BF16x2 => Some(BF16),
                _ => None,
            };
            match (op, halves) {
                (AtomicOp::Fmin, Some(format)) => {
                    two(move |old, b| packed::min(format, old as u32, b as u32, number, false).into())
                }
                (_, Some(format)) => {
                    two(move |old, b| packed::max(format, old as u32, b as u32, number, false).into())
                }
                (AtomicOp::Fmin, None) => {
                    let format = ty.float_format()?;
                    two(move |old, b| float::min(format, old, b, number, false))
                }
                (_, None) => {
                    let format = ty.float_format()?;
                    two(move |old, b| float::max(format, old, b, number, false))
                }
            }
        }
        AtomicOp::FaddNoftz => {
            (ty == Type::F32).then(|| two(|old, b| float::add(F32, old, b, Mode::IEEE))).flatten()
        }
        AtomicOp::Fadd => match ty {
            Type::F16x2 => two(|old, b| packed::add(F16, old as u32, b as u32, Mode::IEEE).into()),
            Type::BF16x2 => two(|old, b| packed::add(BF16, old as u32, b as u32, Mode::IEEE).into()),
            _ => {
                let (format, mode) = (ty.float_format()?, Mode::IEEE.with_ftz(ftz && ty == Type::F32));
                two(move |old, b| float::add(format, old, b, mode))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(op: Op, ty: Type, args: [u64; 3]) -> [u64; 2] {
        arithmetic(&op, ty, ty).unwrap().one(args)
    }

    #[test]
    fn subtraction_carries_where_nothing_is_borrowed() {
        assert_eq!(eval(Op::IsubCarryOut, Type::B32, [5, 3, 0]), [2, 1]);
        assert_eq!(eval(Op::IsubCarryOut, Type::B32, [3, 5, 0]), [0xffff_fffe, 0]);
        assert_eq!(eval(Op::IsubCarryIn, Type::B32, [7, 1, 0])[0], 5);
        assert_eq!(eval(Op::IsubCarryInOut, Type::B32, [0, 0, 1]), [0, 1]);
    }

    #[test]
    fn wide_funnels_make_a_64_bit_shift() {
        let value = 0x8123_4567_89ab_cdef_u64;
        let (low, high) = (value & 0xffff_ffff, value >> 32);
        for count in [0, 1, 31, 32, 33, 63, 64, 200] {
            let shifted = bits::shr(IntType::new(64, true), value, count as u32);
            let word = eval(Op::FunnelShr(Funnel::WideSigned), Type::B32, [low, high, count])[0];
            assert_eq!(word, shifted & 0xffff_ffff);
            let shifted = bits::shl(U64, value, count as u32);
            assert_eq!(eval(Op::FunnelShl(Funnel::Wide), Type::B32, [low, high, count])[0], shifted >> 32);
        }
    }

    #[test]
    fn predicates_are_one_bit() {
        assert_eq!(eval(Op::Not, Type::Pred, [1, 0, 0])[0], 0);
        assert_eq!(eval(Op::Not, Type::Pred, [0, 0, 0])[0], 1);
        assert_eq!(eval(Op::Select, Type::Pred, [1, 0, 1])[0], 0);
    }

    #[test]
    fn types_that_an_operation_lacks_are_none() {
        assert!(arithmetic(&Op::Iadd, Type::B128, Type::B128).is_none());
        assert!(
            arithmetic(&Op::Fapprox { function: Approx::Sin, ftz: true }, Type::F64, Type::F64).is_none()
        );
        assert!(arithmetic(&Op::Exit, Type::B32, Type::B32).is_none());
        assert_eq!(eval(Op::Popc, Type::B32, [u64::MAX, 0, 0])[0], 32);
    }
}
