//! Division and remainder of integers of 16 and 32 bits, through the floating-point reciprocal.
//!
//! ```text
//! v3 = udiv.b32 v1, v2    =>    f = uint_to_float.f32.rp v2
//!                               y = fapprox.rcp.f32.ftz f
//!                               u = float_to_uint.b32.rz.ftz (y + 0x0ffffffc as bits)   // 2^32 / v2, a bit less
//!                               u' = u + umulh(u, -v2 * u)                              // one Newton step
//!                               q = umulh(u', v1);  r = v1 - q * v2
//!                               q, r = q + 1, r - v2 where r >= v2, twice
//!                               v3 = v2 == 0 ? 0xffffffff : q
//! ```
//!
//! Quotient and remainder of the same operands begin with the same operations, which value
//! numbering merges. Signed operands are divided by their magnitudes. Division by zero gives all
//! ones, as in `ptxc_semantics::int`.
//!
//! # Why it is exact
//!
//! Let `b` be the divisor. PTX bounds the relative error of `MUFU.RCP` by 2^-23; the proof allows 2
//! units in the last place, which is up to 2^-22.
//!
//! 32 bits: the sum on the bits subtracts four units from `y` and multiplies by 2^32. As `f >= b`,
//! the result is at most `1 / b`, and `u <= 2^32 / b`. All errors together, including that of
//! rounding `b`, are `e <= 2^-20 + b / 2^32`, where the second term is the truncation. After the
//! Newton step, which rounds down as well, `u' b / 2^32 >= 1 - e^2 - b / 2^32`. So `umulh(u', a)`
//! is below `a / b` by at most `1 + 1 + e^2 2^32 / b`, where the last term is below 1/2 for
//! `b <= 2^31`: the quotient is at most 2 too small. For larger `b` the quotient is at most 1
//! anyway.
//!
//! 16 bits: operands and their quotient fit the 24 bits of a float. Four more units make the
//! reciprocal at least `1 / b` and too large by at most 2^-20. So the product exceeds `a / b` by
//! less than `2^16 2^-20 / b`, which is less than `1 / b`, the distance of a fraction from the next
//! integer. The product is rounded towards zero.
//!
//! Cost: 18 instructions for 32 bits, 8 for 16, none of them a branch. Linear.

use ptxc_ir::{Approx, FloatMode, Function, IntCond, Op, Rounding, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};

/// Whether an integer division is signed, and whether it gives the remainder; `None` for other
/// operations.
pub(super) fn division(op: Op) -> Option<(bool, bool)> {
    match op {
        Op::Udiv => Some((false, false)),
        Op::Urem => Some((false, true)),
        Op::Sdiv => Some((true, false)),
        Op::Srem => Some((true, true)),
        _ => None,
    }
}

/// Rewrites division and remainder of at most 32 bits.
pub fn integer_division(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = emitter.func.insts[inst].clone();
        let Some((signed, remainder)) = division(data.op) else { return false };
        let &[a, b] = &data.args[..] else { return false };
        let (value, divisor) = match data.ty {
            Type::B16 => halves(emitter, a, b, signed, remainder),
            Type::B32 if signed => (signed_words(emitter, a, b, remainder), b),
            Type::B32 => {
                let (quotient, rest) = words(emitter, a, b);
                (if remainder { rest } else { quotient }, b)
            }
            _ => return false,
        };
        // Division by zero.
        let (zero, ones) = (emitter.constant(Type::B32, 0), emitter.constant(data.ty, u64::MAX));
        let undefined = emitter.value(Op::Icmp(IntCond::Eq), Type::B32, &[divisor, zero]);
        emitter.become_op(inst, Op::Select, data.ty, &[undefined, ones, value]);
        true
    })
}

/// `MUFU.RCP` of a float, adjusted by a number of units in the last place and by powers of two:
/// both are one sum on the bits.
fn adjusted_reciprocal(emitter: &mut Emitter, float: Value, adjustment: u32) -> Value {
    let reciprocal = emitter.value(Op::Fapprox { function: Approx::Rcp, ftz: true }, Type::F32, &[float]);
    let bits = emitter.value(Op::Bitcast, Type::B32, &[reciprocal]);
    let adjustment = emitter.constant(Type::B32, adjustment.into());
    let bits = emitter.value(Op::Iadd, Type::B32, &[bits, adjustment]);
    emitter.value(Op::Bitcast, Type::F32, &[bits])
}

/// Quotient and remainder of unsigned words.
fn words(emitter: &mut Emitter, a: Value, b: Value) -> (Value, Value) {
    let ty = Type::B32;
    let float = emitter.value(Op::UintToFloat(Rounding::Up), Type::F32, &[b]);
    // 32 more in the exponent, and 4 units less.
    let scaled = adjusted_reciprocal(emitter, float, (32 << 23) - 4);
    let estimate = emitter.value(Op::FloatToUint { round: Rounding::Zero, ftz: true }, ty, &[scaled]);
    let minus_b = emitter.value(Op::Ineg, ty, &[b]);
    let error = emitter.value(Op::Imul, ty, &[minus_b, estimate]);
    let correction = emitter.value(Op::Umulh, ty, &[estimate, error]);
    let estimate = emitter.value(Op::Iadd, ty, &[estimate, correction]);
    let mut quotient = emitter.value(Op::Umulh, ty, &[estimate, a]);
    let product = emitter.value(Op::Imul, ty, &[quotient, minus_b]);
    let mut rest = emitter.value(Op::Iadd, ty, &[product, a]);
    let zero = emitter.constant(ty, 0);
    for _ in 0..2 {
        let (less, fits) = emitter.pair(Op::IsubCarryOut, ty, &[rest, b]);
        quotient = emitter.value(Op::IaddCarryIn, ty, &[quotient, zero, fits]);
        rest = emitter.value(Op::Select, ty, &[fits, less, rest]);
    }
    (quotient, rest)
}

/// Quotient or remainder of signed words.
fn signed_words(emitter: &mut Emitter, a: Value, b: Value, remainder: bool) -> Value {
    let ty = Type::B32;
    let magnitude_a = emitter.value(Op::Iabs, ty, &[a]);
    let magnitude_b = emitter.value(Op::Iabs, ty, &[b]);
    let (quotient, rest) = words(emitter, magnitude_a, magnitude_b);
    let (value, sign) = if remainder { (rest, a) } else { (quotient, emitter.value(Op::Xor, ty, &[a, b])) };
    let zero = emitter.constant(ty, 0);
    let negative = emitter.value(Op::Icmp(IntCond::Slt), ty, &[sign, zero]);
    let negated = emitter.value(Op::Ineg, ty, &[value]);
    emitter.value(Op::Select, ty, &[negative, negated, value])
}

/// Quotient or remainder of half words, and the divisor as a word.
fn halves(emitter: &mut Emitter, a: Value, b: Value, signed: bool, remainder: bool) -> (Value, Value) {
    let (extend, to_float, to_int) = if signed {
        (Op::Sext, Op::SintToFloat(Rounding::Nearest), Op::FloatToSint { round: Rounding::Zero, ftz: false })
    } else {
        (Op::Zext, Op::UintToFloat(Rounding::Nearest), Op::FloatToUint { round: Rounding::Zero, ftz: false })
    };
    let [a, b] = [a, b].map(|value| emitter.value(extend, Type::B32, &[value]));
    let [dividend, divisor] = [a, b].map(|value| emitter.value(to_float, Type::F32, &[value]));
    let reciprocal = adjusted_reciprocal(emitter, divisor, 4);
    let towards_zero = FloatMode { round: Rounding::Zero, ..FloatMode::RN };
    let product = emitter.value(Op::Fmul(towards_zero), Type::F32, &[dividend, reciprocal]);
    let mut value = emitter.value(to_int, Type::B32, &[product]);
    if remainder {
        let taken = emitter.value(Op::Imul, Type::B32, &[value, b]);
        value = emitter.value(Op::Isub, Type::B32, &[a, taken]);
    }
    (emitter.value(Op::Trunc, Type::B16, &[value]), b)
}
