//! Approximations in single precision: scaling around the special function unit.
//!
//! `MUFU` treats subnormal operands as zeros and flushes subnormal results. If PTX keeps them, a
//! small operand is scaled into the normal range by a power of two, and the result is scaled back.
//! Angles are measured in turns.
//!
//! ```text
//! v2 = fapprox.rsq.f32 v1     =>    v3 = fabs.f32 v1
//!                                   v4 = fcmp.lt.f32 v3, 0x00800000      // 2^-126
//!                                   v5 = fmul.f32.rn v1, 0x4b800000      // 2^24
//!                                   v6 = select.f32 v4, v5, v1
//!                                   v7 = fapprox.rsq.f32.ftz v6
//!                                   v8 = fmul.f32.rn v7, 0x45800000      // 2^12
//!                                   v2 = select.f32 v4, v8, v7
//! ```
//!
//! | function | where | operand | result |
//! |---|---|---|---|
//! | `rcp` | below 2^-126; above 2^126 | times 2^24; times 2^-2 | likewise |
//! | `rsq` | below 2^-126 | times 2^24 | times 2^12 |
//! | `sqrt` | below 2^-126 | times 2^24 | times 2^-12 |
//! | `lg2` | below 2^-126 | times 2^24 | less 24 |
//! | `ex2` | below -126 | halved | squared |
//! | `sin`, `cos` | everywhere | times 1/2pi, towards zero | unchanged |
//!
//! `fdiv_approx` is a product with the reciprocal of the divisor. Dividend and divisor are scaled
//! alike if the divisor is below 2^-126 (without `.ftz`) or above 2^126 (`.full`).
//!
//! These are the sequences of NVIDIA's compiler, and `ptxc_semantics::mufu` rounds at the same
//! points, so the rule changes no result. Linear.

use ptxc_ir::{Approx, FloatCond, FloatMode, Function, Inst, Op, Rounding, Type, Value};
use ptxc_machine::Arch;
use ptxc_semantics::mufu::{EX2_LEAST, LARGE_DIVISOR, TURN, TWO_12, TWO_24};

use super::emitter::{Emitter, rewrite};

const TY: Type = Type::F32;

/// Scales the operands of approximations, and turns quotients into products with reciprocals.
pub fn f32_approximations(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if !matches!(data.op, Op::FdivApprox { .. } | Op::Fapprox { .. }) {
            return false;
        }
        let data = data.clone();
        if data.ty != TY {
            return false;
        }
        match (data.op, &data.args[..]) {
            (Op::FdivApprox { full, ftz }, &[a, b]) => quotient(emitter, inst, [a, b], full, ftz),
            (Op::Fapprox { function: Approx::Sin, .. }, &[a]) => angle(emitter, inst, a, Approx::SinTurns),
            (Op::Fapprox { function: Approx::Cos, .. }, &[a]) => angle(emitter, inst, a, Approx::CosTurns),
            (Op::Fapprox { function, ftz: false }, &[a]) => match function {
                Approx::Rcp => reciprocal(emitter, inst, a),
                Approx::Rsq => scaled(emitter, inst, a, function, Op::Fmul(FloatMode::RN), TWO_12),
                Approx::Sqrt => scaled(emitter, inst, a, function, Op::Fmul(FloatMode::RN), 1.0 / TWO_12),
                Approx::Lg2 => scaled(emitter, inst, a, function, Op::Fadd(FloatMode::RN), -24.0),
                Approx::Ex2 => power(emitter, inst, a),
                // These keep subnormals, or this rule made them.
                _ => return false,
            },
            _ => return false,
        }
        true
    })
}

fn constant(emitter: &mut Emitter, value: f32) -> Value {
    emitter.constant(TY, value.to_bits().into())
}

fn multiply(emitter: &mut Emitter, a: Value, b: f32, ftz: bool) -> Value {
    let b = constant(emitter, b);
    emitter.value(Op::Fmul(FloatMode { ftz, ..FloatMode::RN }), TY, &[a, b])
}

/// Whether a value, or its magnitude, satisfies a comparison with a constant.
fn compare(
    emitter: &mut Emitter,
    cond: FloatCond,
    a: Value,
    magnitude: bool,
    bound: f32,
    ftz: bool,
) -> Value {
    let a = if magnitude { emitter.value(Op::Fabs { ftz: false }, TY, &[a]) } else { a };
    let bound = constant(emitter, bound);
    emitter.value(Op::Fcmp { cond, ftz }, TY, &[a, bound])
}

fn below_normal(emitter: &mut Emitter, a: Value) -> Value {
    compare(emitter, FloatCond::Lt, a, true, f32::MIN_POSITIVE, false)
}

fn angle(emitter: &mut Emitter, inst: Inst, a: Value, function: Approx) {
    let turn = constant(emitter, TURN);
    let mode = FloatMode { round: Rounding::Zero, ..FloatMode::RN };
    let turns = emitter.value(Op::Fmul(mode), TY, &[a, turn]);
    emitter.become_op(inst, Op::Fapprox { function, ftz: true }, TY, &[turns]);
}

/// Scales a subnormal operand by 2^24, and corrects its result by `op` with a constant.
fn scaled(emitter: &mut Emitter, inst: Inst, a: Value, function: Approx, op: Op, correction: f32) {
    let small = below_normal(emitter, a);
    let larger = multiply(emitter, a, TWO_24, false);
    let operand = emitter.value(Op::Select, TY, &[small, larger, a]);
    let result = emitter.value(Op::Fapprox { function, ftz: true }, TY, &[operand]);
    let correction = constant(emitter, correction);
    let corrected = emitter.value(op, TY, &[result, correction]);
    emitter.become_op(inst, Op::Select, TY, &[small, corrected, result]);
}

fn power(emitter: &mut Emitter, inst: Inst, a: Value) {
    let small = compare(emitter, FloatCond::Lt, a, false, EX2_LEAST, false);
    let half = multiply(emitter, a, 0.5, false);
    let operand = emitter.value(Op::Select, TY, &[small, half, a]);
    let result = emitter.value(Op::Fapprox { function: Approx::Ex2, ftz: true }, TY, &[operand]);
    let square = emitter.value(Op::Fmul(FloatMode::RN), TY, &[result, result]);
    emitter.become_op(inst, Op::Select, TY, &[small, square, result]);
}

/// One factor for operand and result.
fn reciprocal(emitter: &mut Emitter, inst: Inst, a: Value) {
    let small = below_normal(emitter, a);
    let large = compare(emitter, FloatCond::Gt, a, true, LARGE_DIVISOR, false);
    let (up, one, down) = (constant(emitter, TWO_24), constant(emitter, 1.0), constant(emitter, 0.25));
    let factor = emitter.value(Op::Select, TY, &[small, up, one]);
    let factor = emitter.value(Op::Select, TY, &[large, down, factor]);
    let operand = emitter.value(Op::Fmul(FloatMode::RN), TY, &[a, factor]);
    let result = emitter.value(Op::Fapprox { function: Approx::Rcp, ftz: true }, TY, &[operand]);
    emitter.become_op(inst, Op::Fmul(FloatMode::RN), TY, &[result, factor]);
}

fn quotient(emitter: &mut Emitter, inst: Inst, operands: [Value; 2], full: bool, ftz: bool) {
    let [mut a, mut b] = operands;
    let mut ranges = Vec::new();
    if full {
        ranges.push((compare(emitter, FloatCond::Gt, b, true, LARGE_DIVISOR, ftz), 0.25));
    }
    if !ftz {
        ranges.push((below_normal(emitter, b), TWO_24));
    }
    for (outside, factor) in ranges {
        for value in [&mut a, &mut b] {
            let product = multiply(emitter, *value, factor, ftz);
            *value = emitter.value(Op::Select, TY, &[outside, product, *value]);
        }
    }
    let reciprocal = emitter.value(Op::Fapprox { function: Approx::Rcp, ftz: true }, TY, &[b]);
    emitter.become_op(inst, Op::Fmul(FloatMode { ftz, ..FloatMode::RN }), TY, &[a, reciprocal]);
}
