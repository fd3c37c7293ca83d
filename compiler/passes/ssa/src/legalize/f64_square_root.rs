//! Square roots in double precision, correctly rounded: a sequence of multiply-adds, and a routine
//! for operands outside its range.
//!
//! ```text
//! v2 = fsqrt.f64.rn v1    =>    y0 = fapprox.rsq.f64.ftz v1        // 20 bits
//!                               e = ffma.rn -v1, y0 y0, 1
//!                               y = ffma.rn e 3/8 + 1/2, e y0, y0
//!                               s0 = fmul.rn v1, y
//!                               r0 = ffma.rn -s0, s0, v1
//!                               s = ffma.rn r0, y 1/2, s0          // within one unit of the root
//!                               less, more = the numbers next to s
//!                               below = ffma.rn -s, less, v1 <= 0
//!                               above = ffma.rn -s, more, v1 > 0
//!                               fast = above ? more : below ? less : s
//!                               brif outside, block1, block2(fast)
//!                           block1:
//!                               slow = call.pure @f64.sqrt, v1, 0
//!                               jump block2(slow)
//!                           block2(v2):
//! ```
//!
//! This is Tuckerman's test: if `s` is within one unit of the root, it is the correctly rounded
//! root if and only if `s less < v1 <= s more`. (The square of the midpoint of `s` and `more` is
//! `s more` plus a quarter of the product of their units, and `v1` and `s more` are multiples of
//! four times that.) The signs of the multiply-adds are those of the exact differences. In the
//! other modes the sign of `v1 - s s` tells on which side of the root `s` is.
//!
//! `e` is at most 2^-17 if `MUFU.RSQ64H` is accurate to 18 bits. So `y` has an error of 2^-52.7
//! before it is rounded, `s0` has an error of less than two units, and the correction leaves
//! slightly more than half a unit. The range is 2^-960 up to the largest number, where none of
//! these values is subnormal.
//!
//! Cost: 11 instructions to `s`, about 12 for the test, and a branch. Linear.

use ptxc_ir::{Approx, FloatCond, Function, IntCond, Op, Rounding, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};
use super::f64_divide::{call, fma, high_word, minus, product};
use crate::runtime;

const TY: Type = Type::F64;

/// The high word of 2^-960.
const LEAST: u64 = 0x03f0_0000;

/// The high word of the least normal number.
pub(super) const LEAST_NORMAL: u64 = 0x0010_0000;

/// The high word of infinity.
const INFINITY: u64 = 0x7ff0_0000;

/// Rewrites exact square roots in double precision.
pub fn f64_square_root(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if !matches!(data.op, Op::Fsqrt(_)) {
            return false;
        }
        let data = data.clone();
        let (Op::Fsqrt(mode), &[a]) = (data.op, &data.args[..]) else { return false };
        if data.ty != TY || mode.sat {
            return false;
        }
        let fast = root(emitter, a, mode.round);
        let outside = outside_from(emitter, a, LEAST);
        emitter.slow_path(inst, outside, fast, |emitter| {
            let mode = emitter.constant(Type::B32, runtime::rounding_argument(mode.round));
            call(emitter, "f64.sqrt", &[a, mode])
        });
        true
    })
}

/// Whether `a` is outside the finite numbers from the one whose high word is `least` upwards.
pub(super) fn outside_from(emitter: &mut Emitter, a: Value, least: u64) -> Value {
    let ty = Type::B32;
    let high = high_word(emitter, a);
    let (least, size) = (emitter.constant(ty, least), emitter.constant(ty, INFINITY - least));
    let above = emitter.value(Op::Isub, ty, &[high, least]);
    emitter.value(Op::Icmp(IntCond::Uge), ty, &[above, size])
}

/// The reciprocal of the root of `a`, with an error of about one unit.
pub(super) fn reciprocal_root(emitter: &mut Emitter, a: Value) -> Value {
    let nearest = Rounding::Nearest;
    let [one, three_eighths, half] = [1.0f64, 0.375, 0.5].map(|value| emitter.constant(TY, value.to_bits()));
    let estimate = emitter.value(Op::Fapprox { function: Approx::Rsq, ftz: true }, TY, &[a]);
    let square = product(emitter, estimate, estimate);
    let minus_a = minus(emitter, a);
    let error = fma(emitter, nearest, minus_a, square, one);
    let slope = fma(emitter, nearest, error, three_eighths, half);
    let step = product(emitter, error, estimate);
    fma(emitter, nearest, slope, step, estimate)
}

fn root(emitter: &mut Emitter, a: Value, round: Rounding) -> Value {
    let nearest = Rounding::Nearest;
    let half = emitter.constant(TY, 0.5f64.to_bits());
    let reciprocal = reciprocal_root(emitter, a);
    let first = product(emitter, a, reciprocal);
    let slope = product(emitter, reciprocal, half);
    let minus_first = minus(emitter, first);
    let remainder = fma(emitter, nearest, minus_first, first, a);
    let close = fma(emitter, nearest, remainder, slope, first);
    let minus_close = minus(emitter, close);
    let bits = emitter.value(Op::Bitcast, Type::B64, &[close]);
    let unit = emitter.constant(Type::B64, 1);
    let zero = emitter.constant(TY, 0);
    // `other` if the difference of `a` and the product of `close` and `with` compares to zero as
    // given.
    let choose = |emitter: &mut Emitter, with, cond, other, otherwise| {
        let remainder = fma(emitter, nearest, minus_close, with, a);
        let holds = emitter.value(Op::Fcmp { cond, ftz: false }, TY, &[remainder, zero]);
        emitter.value(Op::Select, TY, &[holds, other, otherwise])
    };
    let beside = |emitter: &mut Emitter, op| {
        let bits = emitter.value(op, Type::B64, &[bits, unit]);
        emitter.value(Op::Bitcast, TY, &[bits])
    };
    match round {
        Rounding::Nearest => {
            let (less, more) = (beside(emitter, Op::Isub), beside(emitter, Op::Iadd));
            let low_or_same = choose(emitter, less, FloatCond::Le, less, close);
            choose(emitter, more, FloatCond::Gt, more, low_or_same)
        }
        Rounding::Zero | Rounding::Down => {
            let less = beside(emitter, Op::Isub);
            choose(emitter, close, FloatCond::Lt, less, close)
        }
        Rounding::Up => {
            let more = beside(emitter, Op::Iadd);
            choose(emitter, close, FloatCond::Gt, more, close)
        }
    }
}
