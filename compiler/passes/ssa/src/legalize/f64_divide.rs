//! Quotients and reciprocals in double precision, correctly rounded: a sequence of multiply-adds,
//! and a routine for operands outside its range.
//!
//! ```text
//! v3 = fdiv.f64.rn v1, v2    =>    y0 = fapprox.rcp.f64.ftz v2       // 20 bits
//!                                  e0 = ffma.rn -v2, y0, 1
//!                                  c0 = ffma.rn e0, e0, e0
//!                                  y1 = ffma.rn y0, c0, y0           // within one unit of 1 / v2
//!                                  e1 = ffma.rn -v2, y1, 1           // exact
//!                                  c1 = ffma.rp e1, e1, e1
//!                                  y = ffma.rn y1, c1, y1            // 1 / v2, correctly rounded
//!                                  q0 = fmul.rn v1, y
//!                                  r0 = ffma.rn -v2, q0, v1
//!                                  q1 = ffma.rn r0, y, q0            // within one unit of the quotient
//!                                  r1 = ffma.rn -v2, q1, v1          // exact
//!                                  fast = ffma.rn r1, y, q1
//!                                  brif outside, block1, block2(fast)
//!                              block1:
//!                                  slow = call.pure @f64.div, v1, v2, 0
//!                                  jump block2(slow)
//!                              block2(v3):
//! ```
//!
//! In the other rounding modes one more remainder follows, whose sign is that of the error of
//! `fast`, and a last multiply-add that rounds as requested. A constant dividend of 1 makes a
//! reciprocal, which is `y`.
//!
//! # Why it is correctly rounded
//!
//! The result of `MUFU.RCP64H` has 20 bits after its leading one, and the last of them are unknown,
//! so `|e0| <= 2^-18`. The error of `y1` before its rounding is `e0^3`, at most 2^-54, so `y1` is
//! one of the two neighbours of the reciprocal. Markstein (*Computation of elementary functions on
//! the IBM RISC System/6000 processor*, 1990) showed two things. First, `y1 + y1 e1` then rounds to
//! the correctly rounded reciprocal unless all bits of the divisor's significand are ones. Second,
//! `q1 + r1 y` rounds correctly if `y` is the correctly rounded reciprocal and `q1` one of the two
//! neighbours of the quotient.
//!
//! The exception is the divisor `2 - 2^-52` with `y1 = 0.5`: the sum is half way between two
//! numbers, and the reciprocal is above it. `c1`, rounded up, is one unit of `e1` greater, which
//! gives the right result. This changes no other result. Let `u` be the unit of `y1` in [0.5, 1).
//! `y` would change if the sum passed the midpoint `y1 + u/2` (or `y1 - u/2`) while the reciprocal
//! does not pass it. At such a point `e1` differs from `b u/2`. Both are multiples of 2^-106, so
//! they are at most 2^-106 apart only if they are equal, while the unit of `c1` is at most 2^-106.
//!
//! # The range
//!
//! The last remainder is exact if the dividend is 2^-969 or more. Everything is normal if the
//! quotient is normal and the divisor is below 2^1017. Both tests read high words as if they were
//! binary32, whose order is the same. One compares the magnitude of the dividend's high word. The
//! other compares the quotient's high word plus zero times the divisor's high word, which is a NaN
//! for large divisors. Zeros, infinities and NaNs fail one of the tests.
//!
//! Cost: 13 instructions, three tests and a branch to nearest, 2 more in other modes; 7 and 5 for a
//! reciprocal. Linear.

use ptxc_ir::{Approx, FloatCond, FloatMode, Function, IntCond, Op, Rounding, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};
use crate::runtime;

const TY: Type = Type::F64;

/// The bits of 1.
const ONE: u64 = 0x3ff0_0000_0000_0000;

/// The high word of 2^-969.
const LEAST_DIVIDEND: u64 = 0x0360_0000;

/// The high word of the least normal number.
const LEAST_QUOTIENT: u64 = 0x0010_0000;

/// Rewrites exact quotients in double precision.
pub fn f64_divide(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if !matches!(data.op, Op::Fdiv(_)) {
            return false;
        }
        let data = data.clone();
        let (Op::Fdiv(mode), &[a, b]) = (data.op, &data.args[..]) else { return false };
        if data.ty != TY || mode.sat {
            return false;
        }
        let (outside, fast) = if emitter.func.constant(a) == Some(ONE) {
            (outside_of_reciprocals(emitter, b), reciprocal(emitter, a, b, mode.round))
        } else {
            quotient(emitter, a, b, mode.round)
        };
        emitter.slow_path(inst, outside, fast, |emitter| {
            let mode = emitter.constant(Type::B32, runtime::rounding_argument(mode.round));
            call(emitter, "f64.div", &[a, b, mode])
        });
        true
    })
}

/// The result of a routine.
pub(super) fn call(emitter: &mut Emitter, name: &str, args: &[Value]) -> Value {
    let callee = emitter.func.callee(&runtime::callee(name));
    let op = emitter.func.call(callee);
    emitter.value(op, Type::B32, args)
}

/// `a * b + c`.
pub(super) fn fma(emitter: &mut Emitter, round: Rounding, a: Value, b: Value, c: Value) -> Value {
    emitter.value(Op::Ffma(FloatMode { round, ..FloatMode::RN }), TY, &[a, b, c])
}

/// `a * b`, to nearest.
pub(super) fn product(emitter: &mut Emitter, a: Value, b: Value) -> Value {
    emitter.value(Op::Fmul(FloatMode::RN), TY, &[a, b])
}

/// The negated value.
pub(super) fn minus(emitter: &mut Emitter, a: Value) -> Value {
    emitter.value(Op::Fneg { ftz: false }, TY, &[a])
}

/// The upper word.
pub(super) fn high_word(emitter: &mut Emitter, a: Value) -> Value {
    let bits = emitter.value(Op::Bitcast, Type::B64, &[a]);
    emitter.pair(Op::Unpack, Type::B64, &[bits]).1
}

/// The reciprocal of `b`, to nearest.
fn nearest_reciprocal(emitter: &mut Emitter, one: Value, minus_b: Value, b: Value) -> Value {
    let nearest = Rounding::Nearest;
    let estimate = emitter.value(Op::Fapprox { function: Approx::Rcp, ftz: true }, TY, &[b]);
    let error = fma(emitter, nearest, minus_b, estimate, one);
    let correction = fma(emitter, nearest, error, error, error);
    let close = fma(emitter, nearest, estimate, correction, estimate);
    let error = fma(emitter, nearest, minus_b, close, one);
    let correction = fma(emitter, Rounding::Up, error, error, error);
    fma(emitter, nearest, close, correction, close)
}

fn reciprocal(emitter: &mut Emitter, one: Value, b: Value, round: Rounding) -> Value {
    let minus_b = minus(emitter, b);
    let close = nearest_reciprocal(emitter, one, minus_b, b);
    if round == Rounding::Nearest {
        return close;
    }
    let error = fma(emitter, Rounding::Nearest, minus_b, close, one);
    fma(emitter, round, close, error, close)
}

/// Whether the operands are out of range, and the quotient if they are not.
fn quotient(emitter: &mut Emitter, a: Value, b: Value, round: Rounding) -> (Value, Value) {
    let nearest = Rounding::Nearest;
    let one = emitter.constant(TY, ONE);
    let minus_b = minus(emitter, b);
    let reciprocal = nearest_reciprocal(emitter, one, minus_b, b);
    let first = product(emitter, a, reciprocal);
    let remainder = fma(emitter, nearest, minus_b, first, a);
    let close = fma(emitter, nearest, remainder, reciprocal, first);
    let remainder = fma(emitter, nearest, minus_b, close, a);
    let quotient = fma(emitter, nearest, remainder, reciprocal, close);
    let outside = outside_of_quotients(emitter, a, b, quotient);
    if round == nearest {
        return (outside, quotient);
    }
    let remainder = fma(emitter, nearest, minus_b, quotient, a);
    (outside, fma(emitter, round, remainder, reciprocal, quotient))
}

fn outside_of_quotients(emitter: &mut Emitter, a: Value, b: Value, quotient: Value) -> Value {
    let ty = Type::F32;
    let [a, b, quotient] = [a, b, quotient].map(|value| {
        let high = high_word(emitter, value);
        emitter.value(Op::Bitcast, ty, &[high])
    });
    let zero = emitter.constant(ty, 0);
    let sum = emitter.value(Op::Ffma(FloatMode::RN), ty, &[zero, b, quotient]);
    let below = |emitter: &mut Emitter, cond, value, least| {
        let magnitude = emitter.value(Op::Fabs { ftz: false }, ty, &[value]);
        let least = emitter.constant(ty, least);
        emitter.value(Op::Fcmp { cond, ftz: false }, ty, &[magnitude, least])
    };
    let small_dividend = below(emitter, FloatCond::Lt, a, LEAST_DIVIDEND);
    let bad_quotient = below(emitter, FloatCond::Leu, sum, LEAST_QUOTIENT);
    emitter.value(Op::Or, Type::Pred, &[small_dividend, bad_quotient])
}

/// Whether `b` or its reciprocal is not a normal number: the exponent field is outside 1 to 2044.
fn outside_of_reciprocals(emitter: &mut Emitter, b: Value) -> Value {
    let ty = Type::B32;
    let high = high_word(emitter, b);
    // Adding three makes 2045 to 2047 wrap around to 0 to 2, next to 3, which was 0.
    let three = emitter.constant(ty, 3 << 20);
    let field = emitter.constant(ty, 0x7ff << 20);
    let moved = emitter.value(Op::Iadd, ty, &[high, three]);
    let exponent = emitter.value(Op::And, ty, &[moved, field]);
    let four = emitter.constant(ty, 4 << 20);
    emitter.value(Op::Icmp(IntCond::Ult), ty, &[exponent, four])
}
