//! Operations on constants, computed with the arithmetic that the simulators use too.

use ptxc_ir::{FloatCond, FloatMode, IntCond, Op, Rounding, Type};
use ptxc_semantics as sem;
use ptxc_semantics::{Format, IntType, Mode};

use super::rewriter::mask;

fn unsigned(ty: Type) -> Option<IntType> {
    (ty.is_int() && ty.bits() <= 64).then(|| IntType::new(ty.bits(), false))
}

fn signed(ty: Type) -> Option<IntType> {
    (ty.is_int() && ty.bits() <= 64).then(|| IntType::new(ty.bits(), true))
}

fn format(ty: Type) -> Option<Format> {
    match ty {
        Type::F16 => Some(sem::F16),
        Type::BF16 => Some(sem::BF16),
        Type::F32 => Some(sem::F32),
        Type::F64 => Some(sem::F64),
        _ => None,
    }
}

fn rounding(round: Rounding) -> sem::Rounding {
    match round {
        Rounding::Nearest => sem::Rounding::Nearest,
        Rounding::Zero => sem::Rounding::Zero,
        Rounding::Down => sem::Rounding::Down,
        Rounding::Up => sem::Rounding::Up,
    }
}

fn mode(mode: FloatMode) -> Mode {
    Mode::new(rounding(mode.round)).with_ftz(mode.ftz).with_sat(mode.sat)
}

/// The value of an integer comparison of the low bits of two constants.
pub(crate) fn compare(cond: IntCond, ty: Type, a: u64, b: u64) -> bool {
    let (a, b) = (a & mask(ty), b & mask(ty));
    let shift = 64 - ty.bits().min(64);
    let (sa, sb) = (((a << shift) as i64) >> shift, ((b << shift) as i64) >> shift);
    match cond {
        IntCond::Eq => a == b,
        IntCond::Ne => a != b,
        IntCond::Slt => sa < sb,
        IntCond::Sle => sa <= sb,
        IntCond::Sgt => sa > sb,
        IntCond::Sge => sa >= sb,
        IntCond::Ult => a < b,
        IntCond::Ule => a <= b,
        IntCond::Ugt => a > b,
        IntCond::Uge => a >= b,
    }
}

fn float_cmp(cond: FloatCond) -> sem::float::FloatCmp {
    use sem::float::FloatCmp as To;
    match cond {
        FloatCond::Eq => To::Eq,
        FloatCond::Ne => To::Ne,
        FloatCond::Lt => To::Lt,
        FloatCond::Le => To::Le,
        FloatCond::Gt => To::Gt,
        FloatCond::Ge => To::Ge,
        FloatCond::Equ => To::Equ,
        FloatCond::Neu => To::Neu,
        FloatCond::Ltu => To::Ltu,
        FloatCond::Leu => To::Leu,
        FloatCond::Gtu => To::Gtu,
        FloatCond::Geu => To::Geu,
        FloatCond::Num => To::Num,
        FloatCond::Nan => To::Nan,
    }
}

/// The only result of an operation on constants; `types` are those of the arguments. `None` where the
/// operation is not a function of them or is left to the machine (approximations, b128).
pub(crate) fn evaluate(op: Op, ty: Type, types: &[Type], args: &[u64]) -> Option<u64> {
    let arg = |n: usize| args.get(n).copied();
    if ty == Type::Pred {
        let (a, b) = (arg(0)?, arg(1).unwrap_or(0));
        return Some(match op {
            Op::And => a & b,
            Op::Or => a | b,
            Op::Xor => a ^ b,
            Op::Not => a ^ 1,
            Op::Select => if a != 0 { b } else { arg(2)? },
            _ => return None,
        });
    }
    let bits = match op {
        Op::Iadd => sem::int::add(unsigned(ty)?, arg(0)?, arg(1)?),
        Op::Isub => sem::int::sub(unsigned(ty)?, arg(0)?, arg(1)?),
        Op::Ineg => sem::int::neg(signed(ty)?, arg(0)?),
        Op::Iabs => sem::int::abs(signed(ty)?, arg(0)?),
        Op::Imul => sem::int::mul_lo(unsigned(ty)?, arg(0)?, arg(1)?),
        Op::Umulh => sem::int::mul_hi(unsigned(ty)?, arg(0)?, arg(1)?),
        Op::Smulh => sem::int::mul_hi(signed(ty)?, arg(0)?, arg(1)?),
        Op::UmulWide if ty.bits() <= 32 => arg(0)?.wrapping_mul(arg(1)?),
        Op::SmulWide if ty.bits() <= 32 => {
            let shift = 64 - ty.bits();
            let extend = |bits: u64| ((bits << shift) as i64) >> shift;
            let product = extend(arg(0)?).wrapping_mul(extend(arg(1)?));
            product as u64 & mask(Type::int(ty.bits() * 2)?)
        }
        Op::Smin => sem::int::min(signed(ty)?, arg(0)?, arg(1)?),
        Op::Smax => sem::int::max(signed(ty)?, arg(0)?, arg(1)?),
        Op::Umin => sem::int::min(unsigned(ty)?, arg(0)?, arg(1)?),
        Op::Umax => sem::int::max(unsigned(ty)?, arg(0)?, arg(1)?),
        Op::And => arg(0)? & arg(1)?,
        Op::Or => arg(0)? | arg(1)?,
        Op::Xor => arg(0)? ^ arg(1)?,
        Op::Not => !arg(0)?,
        Op::Shl => arg(0)?.checked_shl(arg(1)?.min(64) as u32).unwrap_or(0),
        Op::Shr => arg(0)?.checked_shr(arg(1)?.min(64) as u32).unwrap_or(0),
        Op::Sar => {
            let shift = 64 - ty.bits();
            let wide = ((arg(0)? << shift) as i64) >> shift;
            (wide >> arg(1)?.min(63)) as u64
        }
        Op::Popc => u64::from(arg(0)?.count_ones()),
        Op::Clz => u64::from(arg(0)?.leading_zeros()) - u64::from(64 - ty.bits()),
        Op::Brev => arg(0)?.reverse_bits() >> (64 - ty.bits()),
        Op::Icmp(cond) => u64::from(compare(cond, ty, arg(0)?, arg(1)?)),
        Op::Fcmp(cond, ftz) => {
            u64::from(sem::float::compare(format(ty)?, float_cmp(cond), arg(0)?, arg(1)?, ftz))
        }
        Op::Select => if arg(0)? != 0 { arg(1)? } else { arg(2)? },
        Op::Fadd(how) => sem::float::add(format(ty)?, arg(0)?, arg(1)?, mode(how)),
        Op::Fsub(how) => sem::float::sub(format(ty)?, arg(0)?, arg(1)?, mode(how)),
        Op::Fmul(how) => sem::float::mul(format(ty)?, arg(0)?, arg(1)?, mode(how)),
        Op::Ffma(how) => sem::float::fma(format(ty)?, arg(0)?, arg(1)?, arg(2)?, mode(how)),
        Op::Zext => arg(0)?,
        Op::Sext => {
            let shift = 64 - types.first()?.bits();
            (((arg(0)? << shift) as i64) >> shift) as u64
        }
        Op::Trunc | Op::Bitcast => arg(0)?,
        Op::SintToFloat(round) => {
            let from = signed(*types.first()?)?;
            sem::convert::int_to_float(from, format(ty)?, arg(0)?, Mode::new(rounding(round)))
        }
        Op::UintToFloat(round) => {
            let from = unsigned(*types.first()?)?;
            sem::convert::int_to_float(from, format(ty)?, arg(0)?, Mode::new(rounding(round)))
        }
        Op::Pack if ty.bits() <= 64 => arg(0)? | arg(1)? << (ty.bits() / 2),
        _ => return None,
    };
    let result = match op {
        Op::Popc | Op::Clz => Type::B32,
        Op::Icmp(_) | Op::Fcmp(..) => Type::Pred,
        Op::UmulWide | Op::SmulWide => Type::int(ty.bits() * 2)?,
        _ => ty,
    };
    Some(bits & mask(result))
}
