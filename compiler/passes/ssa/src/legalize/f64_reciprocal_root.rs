//! Reciprocals of square roots in double precision (`rsqrt.approx.f64`, which keeps subnormals): a
//! sequence of multiply-adds, and a routine for operands outside its range.
//!
//! ```text
//! v2 = fapprox.rsq.f64 v1    =>    y = …                              // as for a square root: within about one unit
//!                                  s = fmul.rn v1, y
//!                                  s' = ffma.rn v1, y, -s             // what is missing of the product
//!                                  d = ffma.rn -s', y, ffma.rn -s, y, 1
//!                                  c = ffma.rp d 3/4, d, d
//!                                  fast = ffma.rn y 1/2, c, y
//!                                  brif outside, block1, block2(fast)
//!                              block1:
//!                                  slow = call.pure @f64.rsqrt, v1
//!                                  jump block2(slow)
//!                              block2(v2):
//! ```
//!
//! PTX only asks for an approximation. `d` is `1 - v1 y y` up to an error of about 2^-104. So the
//! result is correctly rounded unless the exact result is about that close to the middle between
//! two numbers: the unknown last bits of `MUFU.RSQ64H` have no effect, and the engines of the
//! simulator agree. `c` is rounded up for operands just below a power of four, with `y` a power of
//! two: these results are that close to the middle, and above it. The range is all positive normal
//! numbers. Linear.

use ptxc_ir::{Approx, Function, Op, Rounding, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};
use super::f64_divide::{call, fma, minus, product};
use super::f64_square_root::{LEAST_NORMAL, outside_from, reciprocal_root};

const TY: Type = Type::F64;

/// Rewrites reciprocals of square roots in double precision.
pub fn f64_reciprocal_root(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if !matches!(data.op, Op::Fapprox { function: Approx::Rsq, ftz: false }) {
            return false;
        }
        let data = data.clone();
        let (Op::Fapprox { function: Approx::Rsq, ftz: false }, TY, &[a]) =
            (data.op, data.ty, &data.args[..])
        else {
            return false;
        };
        let fast = refined(emitter, a);
        let outside = outside_from(emitter, a, LEAST_NORMAL);
        emitter.slow_path(inst, outside, fast, |emitter| call(emitter, "f64.rsqrt", &[a]));
        true
    })
}

fn refined(emitter: &mut Emitter, a: Value) -> Value {
    let nearest = Rounding::Nearest;
    let [one, three_quarters, half] = [1.0f64, 0.75, 0.5].map(|value| emitter.constant(TY, value.to_bits()));
    let close = reciprocal_root(emitter, a);
    let root = product(emitter, a, close);
    let minus_root = minus(emitter, root);
    let rest = fma(emitter, nearest, a, close, minus_root);
    let minus_rest = minus(emitter, rest);
    let distance = fma(emitter, nearest, minus_root, close, one);
    let distance = fma(emitter, nearest, minus_rest, close, distance);
    let bend = product(emitter, distance, three_quarters);
    let correction = fma(emitter, Rounding::Up, bend, distance, distance);
    let slope = product(emitter, close, half);
    fma(emitter, nearest, slope, correction, close)
}
