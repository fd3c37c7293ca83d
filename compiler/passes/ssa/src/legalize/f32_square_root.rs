//! Square roots in single precision, correctly rounded: a sequence of multiply-adds, and a routine
//! for operands outside its range.
//!
//! ```text
//! v2 = fsqrt.f32.rn v1    =>    y = fapprox.rsq.f32.ftz v1
//!                               s = fmul.rn v1, y;  h = fmul.rn y, 0.5
//!                               e = ffma.rn -s, h, 0.5
//!                               s' = ffma.rn s, e, s
//!                               r = ffma.rn -s', s', v1               // exact
//!                               h' = ffma.rn h, e, h
//!                               fast = ffma.rn r, h', s'
//!                               brif outside, block1, block2(fast)
//!                           block1:
//!                               slow = call.pure @f32.sqrt, v1, 0
//!                               jump block2(slow)
//!                           block2(v2):
//! ```
//!
//! In the other rounding modes `h` is enough instead of `h'`, and the last multiply-add rounds as
//! requested.
//!
//! The range is 2^-101 up to the largest number, where remainders are exact, so only the
//! significand and the exponent's last bit matter. PTX promises a relative error of 2^-22.9 for
//! `MUFU.RSQ`, up to 2 units in the last place; its last bits are unknown. All 2^24 cases with
//! errors of up to 3 units on both sides give the right result in every rounding mode. (Without
//! `h'` some are wrong to nearest.)
//!
//! Cost: 10 instructions and a branch. Linear.

use ptxc_ir::{Approx, FloatMode, Function, IntCond, Op, Rounding, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};
use super::f32_divide::{call_rounded, fma};

const TY: Type = Type::F32;

/// The bits of 2^-101.
const LEAST: u64 = 0x0d00_0000;

/// The bits of infinity.
const INFINITY: u64 = 0x7f80_0000;

/// Rewrites exact square roots in single precision.
pub fn f32_square_root(func: &mut Function, _arch: Arch) -> bool {
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
        let ty = Type::B32;
        let bits = emitter.value(Op::Bitcast, ty, &[a]);
        let (least, size) = (emitter.constant(ty, LEAST), emitter.constant(ty, INFINITY - LEAST));
        let above = emitter.value(Op::Isub, ty, &[bits, least]);
        let outside = emitter.value(Op::Icmp(IntCond::Uge), ty, &[above, size]);
        emitter.slow_path(inst, outside, fast, |emitter| call_rounded(emitter, "f32.sqrt", &[a], mode));
        true
    })
}

fn root(emitter: &mut Emitter, a: Value, round: Rounding) -> Value {
    let nearest = Rounding::Nearest;
    let half = emitter.constant(TY, 0.5f32.to_bits().into());
    let estimate = emitter.value(Op::Fapprox { function: Approx::Rsq, ftz: true }, TY, &[a]);
    let first = emitter.value(Op::Fmul(FloatMode::RN), TY, &[a, estimate]);
    let slope = emitter.value(Op::Fmul(FloatMode::RN), TY, &[estimate, half]);
    let minus_first = emitter.value(Op::Fneg { ftz: false }, TY, &[first]);
    let error = fma(emitter, nearest, minus_first, slope, half);
    let close = fma(emitter, nearest, first, error, first);
    let minus_close = emitter.value(Op::Fneg { ftz: false }, TY, &[close]);
    let remainder = fma(emitter, nearest, minus_close, close, a);
    let slope = if round == nearest { fma(emitter, nearest, slope, error, slope) } else { slope };
    fma(emitter, round, remainder, slope, close)
}
