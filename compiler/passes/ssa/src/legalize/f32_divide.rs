//! Quotients and reciprocals in single precision, correctly rounded: a sequence of multiply-adds,
//! and a routine for operands outside its range.
//!
//! ```text
//! v3 = fdiv.f32.rn v1, v2    =>    y = fapprox.rcp.f32.ftz v2
//!                                  e = ffma.rn -v2, y, 1
//!                                  c = ffma.rp e, e, e               // e + e^2
//!                                  y' = ffma.rn y, c, y              // 1 / v2, nearly
//!                                  q = fmul.rn v1, y'
//!                                  r = ffma.rn -v2, q, v1            // exact
//!                                  fast = ffma.rn r, y', q
//!                                  brif fdiv_check v1, v2, block1, block2(fast)
//!                              block1:
//!                                  slow = call.pure @f32.div, v1, v2, 0
//!                                  jump block2(slow)
//!                              block2(v3):
//! ```
//!
//! In the other rounding modes one more remainder follows, and the last multiply-add rounds as
//! requested. A constant dividend of 1 makes a reciprocal, whose range is a test of the exponent: a
//! step `y + y e`, and another one with `e + e^2`; in the other modes the latter comes first.
//!
//! # Why it is correctly rounded
//!
//! In the range of the sequence nothing overflows, and remainders are exact, so only significands
//! matter. The last bits of `MUFU.RCP` are unknown; PTX promises a relative error of 2^-23, up to 2
//! units in the last place. Markstein (*Computation of elementary functions on the IBM RISC
//! System/6000 processor*, 1990) showed that the last step rounds correctly if `y'` is the
//! correctly rounded reciprocal and `q` one of the two neighbours of the quotient. The usual step
//! `y + y e` misses that: for the divisor `2 - 2^-23` and `y = 0.5` it is a tie, whatever the next
//! steps are. Rounding `e + e^2` up avoids it. A trial of all 2^23 significands with errors of up
//! to 2 units on both sides leaves five divisors with a `y'` that is one unit off; for these, and
//! for the 24 largest, all 2^23 dividends give the right quotient. The reciprocal's sequence was
//! tried, in all modes, for all significands and errors.
//!
//! With `.ftz`, operands and result are flushed on the slow path; in the range of the sequence all
//! are normal. Cost: 7 instructions and a branch to nearest, 2 more in other modes. Linear.

use ptxc_ir::{Approx, FloatMode, Function, IntCond, Op, Rounding, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};
use crate::runtime;

const TY: Type = Type::F32;

/// The bits of 1.
const ONE: u64 = 0x3f80_0000;

/// Rewrites exact quotients in single precision.
pub fn f32_divide(func: &mut Function, _arch: Arch) -> bool {
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
            (emitter.value(Op::FdivCheck, TY, &[a, b]), quotient(emitter, a, b, mode.round))
        };
        emitter.slow_path(inst, outside, fast, |emitter| call_rounded(emitter, "f32.div", &[a, b], mode));
        true
    })
}

/// Calls a routine for binary32 whose last parameter is the rounding mode; with `.ftz` its operands
/// are flushed.
pub(super) fn call_rounded(emitter: &mut Emitter, name: &str, operands: &[Value], mode: FloatMode) -> Value {
    let zero = emitter.constant(TY, 1 << 31);
    // Adding -0 changes only subnormals.
    let flush = |emitter: &mut Emitter, value| match mode.ftz {
        true => emitter.value(Op::Fadd(FloatMode { ftz: true, ..FloatMode::RN }), TY, &[value, zero]),
        false => value,
    };
    let mut args: Vec<Value> = operands.iter().map(|&value| flush(emitter, value)).collect();
    args.push(emitter.constant(Type::B32, runtime::rounding_argument(mode.round)));
    let callee = emitter.func.callee(&runtime::callee(name));
    let op = emitter.func.call(callee);
    let result = emitter.value(op, Type::B32, &args);
    flush(emitter, result)
}

/// `a * b + c`.
pub(super) fn fma(emitter: &mut Emitter, round: Rounding, a: Value, b: Value, c: Value) -> Value {
    emitter.value(Op::Ffma(FloatMode { round, ..FloatMode::RN }), TY, &[a, b, c])
}

/// The approximation of `1 / b` and its error `1 - b y`, which is exact.
fn estimate(emitter: &mut Emitter, one: Value, minus_b: Value, b: Value) -> (Value, Value) {
    let estimate = emitter.value(Op::Fapprox { function: Approx::Rcp, ftz: true }, TY, &[b]);
    (estimate, fma(emitter, Rounding::Nearest, minus_b, estimate, one))
}

/// The reciprocal of `b`, correctly rounded except for five significands, for which it may be one
/// unit off.
fn nearly_rounded(emitter: &mut Emitter, one: Value, minus_b: Value, b: Value) -> Value {
    let (estimate, error) = estimate(emitter, one, minus_b, b);
    let correction = fma(emitter, Rounding::Up, error, error, error);
    fma(emitter, Rounding::Nearest, estimate, correction, estimate)
}

fn quotient(emitter: &mut Emitter, a: Value, b: Value, round: Rounding) -> Value {
    let one = emitter.constant(TY, ONE);
    let minus_b = emitter.value(Op::Fneg { ftz: false }, TY, &[b]);
    let reciprocal = nearly_rounded(emitter, one, minus_b, b);
    let first = emitter.value(Op::Fmul(FloatMode::RN), TY, &[a, reciprocal]);
    let remainder = fma(emitter, Rounding::Nearest, minus_b, first, a);
    let nearest = fma(emitter, Rounding::Nearest, remainder, reciprocal, first);
    if round == Rounding::Nearest {
        return nearest;
    }
    let remainder = fma(emitter, Rounding::Nearest, minus_b, nearest, a);
    fma(emitter, round, remainder, reciprocal, nearest)
}

fn reciprocal(emitter: &mut Emitter, one: Value, b: Value, round: Rounding) -> Value {
    let minus_b = emitter.value(Op::Fneg { ftz: false }, TY, &[b]);
    if round != Rounding::Nearest {
        let close = nearly_rounded(emitter, one, minus_b, b);
        let error = fma(emitter, Rounding::Nearest, minus_b, close, one);
        return fma(emitter, round, close, error, close);
    }
    let (estimate, error) = estimate(emitter, one, minus_b, b);
    let close = fma(emitter, Rounding::Nearest, estimate, error, estimate);
    let error = fma(emitter, Rounding::Nearest, minus_b, close, one);
    let correction = fma(emitter, Rounding::Up, error, error, error);
    fma(emitter, Rounding::Nearest, close, correction, close)
}

/// Whether `b` or its reciprocal is not a normal number: the exponent field is outside 1 to 252.
fn outside_of_reciprocals(emitter: &mut Emitter, b: Value) -> Value {
    let ty = Type::B32;
    let bits = emitter.value(Op::Bitcast, ty, &[b]);
    // Adding three makes 253 to 255 wrap around to 0 to 2, next to 3, which was 0.
    let three = emitter.constant(ty, 3 << 23);
    let field = emitter.constant(ty, 0xff << 23);
    let moved = emitter.value(Op::Iadd, ty, &[bits, three]);
    let exponent = emitter.value(Op::And, ty, &[moved, field]);
    let four = emitter.constant(ty, 4 << 23);
    emitter.value(Op::Icmp(IntCond::Ult), ty, &[exponent, four])
}
