//! Floating-point arithmetic and the approximations of special functions.
//!
//! `add`, `sub` and `mul` without a rounding modifier round to nearest and may be fused later
//! ([`FloatMode::contract`]); with one they stay as they are.

use ptxc_ir::{Approx, FloatMode, Op, Rounding};

use super::form::{Form, Translated, Unsupported};
use super::scalar::Scalar;
use super::translator::Translator;

pub(super) const ROUNDINGS: &[(&str, Rounding)] =
    &[("rn", Rounding::Nearest), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)];

pub(super) fn translate(t: &mut Translator, form: &mut Form) -> Option<Translated> {
    if form.types.iter().any(|ty| !ty.is_float()) {
        return None;
    }
    Some(match form.mnemonic {
        "add" => arithmetic(t, form, Op::Fadd, 2),
        "sub" => arithmetic(t, form, Op::Fsub, 2),
        "mul" => arithmetic(t, form, Op::Fmul, 2),
        "fma" | "mad" => arithmetic(t, form, Op::Ffma, 3),
        "neg" => simple(t, form, Op::Fneg, 1),
        "abs" => simple(t, form, Op::Fabs, 1),
        "min" => simple(t, form, Op::Fmin, 2),
        "max" => simple(t, form, Op::Fmax, 2),
        "rcp" => approximate(t, form, Approx::Rcp),
        "rsqrt" => approximate(t, form, Approx::Rsq),
        "sqrt" => approximate(t, form, Approx::Sqrt),
        "sin" => approximate(t, form, Approx::Sin),
        "cos" => approximate(t, form, Approx::Cos),
        "lg2" => approximate(t, form, Approx::Lg2),
        "ex2" => approximate(t, form, Approx::Ex2),
        "tanh" => approximate(t, form, Approx::Tanh),
        _ => return None,
    })
}

fn arithmetic(t: &mut Translator, form: &mut Form, op: fn(FloatMode) -> Op, sources: usize) -> Translated {
    let round = form.choose(ROUNDINGS);
    let mode = FloatMode {
        round: round.unwrap_or(Rounding::Nearest),
        ftz: form.take("ftz"),
        sat: form.take("sat"),
        contract: round.is_none() && sources == 2,
    };
    compute(t, form, op(mode), sources)
}

fn simple(t: &mut Translator, form: &mut Form, op: fn(bool) -> Op, sources: usize) -> Translated {
    let ftz = form.take("ftz");
    compute(t, form, op(ftz), sources)
}

/// Only the hardware's approximations in single precision; the correctly rounded forms are sequences.
fn approximate(t: &mut Translator, form: &mut Form, function: Approx) -> Translated {
    let single = form.ty()?.ir() == Some(ptxc_ir::Type::F32);
    if !form.take("approx") || !single {
        return Err(Unsupported);
    }
    let ftz = form.take("ftz");
    compute(t, form, Op::Fapprox(function, ftz), 1)
}

fn compute(t: &mut Translator, form: &mut Form, op: Op, sources: usize) -> Translated {
    form.expect_operands(1 + sources)?;
    let scalar: Scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let mut args = smallvec::SmallVec::<[_; 3]>::new();
    for index in 1..=sources {
        args.push(t.read(form.operand(index)?, scalar)?);
    }
    let value = t.emit(op, ty, &args);
    t.write(form.operand(0)?, value)
}
