//! Double-precision operations that the machine has instructions for.

use ptxc_semantics::float::{self, FloatCmp, NanRule};
use ptxc_semantics::{F16, F32, F64, Format, IntType, Mode, Rounding, convert};

use super::kernel::Instruction;
use super::operands::{Random, float_edges, float_triples, integer_edges, random_cases};

pub const ROUNDINGS: [(&str, Rounding); 4] =
    [("rn", Rounding::Nearest), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)];

fn check(body: &str, reference: impl Fn([u64; 3]) -> u64) {
    Instruction { body, from: 64, to: 64 }.check_floats(F64, &float_triples(F64), reference);
}

#[test]
fn arithmetic() {
    for (name, rounding) in ROUNDINGS {
        let mode = Mode::new(rounding);
        check(&format!("add.{name}.f64 %d, %a, %b;"), |[a, b, _]| float::add(F64, a, b, mode));
        check(&format!("sub.{name}.f64 %d, %a, %b;"), |[a, b, _]| float::sub(F64, a, b, mode));
        check(&format!("mul.{name}.f64 %d, %a, %b;"), |[a, b, _]| float::mul(F64, a, b, mode));
        check(&format!("fma.{name}.f64 %d, %a, %b, %c;"), |[a, b, c]| float::fma(F64, a, b, c, mode));
    }
}

#[test]
fn constants_and_signs() {
    let constant = |value: f64| value.to_bits();
    check("add.rn.f64 %d, %a, 0d3FB999999999999A;", |[a, ..]| float::add(F64, a, constant(0.1), Mode::IEEE));
    check("fma.rn.f64 %d, %a, 0d4008000000000000, %c;", |[a, _, c]| {
        float::fma(F64, a, constant(3.0), c, Mode::IEEE)
    });
    check("neg.f64 %b, %b; abs.f64 %c, %c; fma.rn.f64 %d, %a, %b, %c;", |[a, b, c]| {
        float::fma(F64, a, float::neg(F64, b), float::abs(F64, c), Mode::IEEE)
    });
    check("abs.f64 %b, %b; neg.f64 %b, %b; sub.rn.f64 %d, %b, %a;", |[a, b, _]| {
        float::sub(F64, float::neg(F64, float::abs(F64, b)), a, Mode::IEEE)
    });
    check("neg.f64 %d, %a;", |[a, ..]| float::neg(F64, a));
    check("abs.f64 %d, %a;", |[a, ..]| float::abs(F64, a));
    check("copysign.f64 %d, %a, %b;", |[a, b, _]| float::copysign(F64, a, b));
}

#[test]
fn extremes() {
    check("min.f64 %d, %a, %b;", |[a, b, _]| float::min(F64, a, b, NanRule::Number, false));
    check("max.f64 %d, %a, %b;", |[a, b, _]| float::max(F64, a, b, NanRule::Number, false));
    check("neg.f64 %b, %b; max.f64 %d, %b, 0d3FF0000000000000;", |[_, b, _]| {
        float::max(F64, float::neg(F64, b), F64.one(), NanRule::Number, false)
    });
    check("cvt.sat.f64.f64 %d, %a;", |[a, ..]| {
        let least = float::max(F64, a, 0, NanRule::Number, false);
        float::min(F64, least, F64.one(), NanRule::Number, false)
    });
}

#[test]
fn comparisons() {
    for (name, cmp) in [
        ("eq", FloatCmp::Eq),
        ("ne", FloatCmp::Ne),
        ("lt", FloatCmp::Lt),
        ("le", FloatCmp::Le),
        ("gt", FloatCmp::Gt),
        ("ge", FloatCmp::Ge),
        ("equ", FloatCmp::Equ),
        ("neu", FloatCmp::Neu),
        ("ltu", FloatCmp::Ltu),
        ("leu", FloatCmp::Leu),
        ("gtu", FloatCmp::Gtu),
        ("geu", FloatCmp::Geu),
        ("num", FloatCmp::Num),
        ("nan", FloatCmp::Nan),
    ] {
        let body = format!("setp.{name}.f64 %p, %a, %b; selp.f64 %d, %c, %b, %p;");
        check(&body, |[a, b, c]| if float::compare(F64, cmp, a, b, false) { c } else { b });
    }
    let body =
        "setp.ge.f64 %p, %b, %c; setp.lt.and.f64 %p, 0d3FB999999999999A, %a, %p; selp.f64 %d, %a, %b, %p;";
    check(body, |[a, b, c]| {
        let less = float::compare(F64, FloatCmp::Lt, 0.1f64.to_bits(), a, false);
        if less && float::compare(F64, FloatCmp::Ge, b, c, false) { a } else { b }
    });
}

#[test]
fn classes() {
    type Class = (&'static str, fn(Format, u64) -> bool);
    let classes: [Class; 6] = [
        ("finite", Format::is_finite),
        ("infinite", Format::is_infinite),
        ("number", |format, a| !format.is_nan(a)),
        ("notanumber", Format::is_nan),
        // Zeros are among them.
        ("normal", |format, a| format.is_finite(a) && !format.is_subnormal(a)),
        ("subnormal", Format::is_subnormal),
    ];
    for (name, class) in classes {
        for format in [F32, F64] {
            let bits = format.bits();
            let body = format!("testp.{name}.f{bits} %p, %a; selp.b{bits} %d, 1, 0, %p;");
            let instruction = Instruction { body: &body, from: bits, to: bits };
            instruction.check(&float_triples(format), |[a, ..]| class(format, a).into());
        }
    }
}

#[test]
fn to_and_from_other_floats() {
    for (name, rounding) in ROUNDINGS {
        let mode = Mode::new(rounding);
        let narrow = |body: &str, mode| {
            let instruction = Instruction { body, from: 64, to: 32 };
            instruction
                .check_floats(F32, &float_triples(F64), |[a, ..]| convert::float_to_float(F64, F32, a, mode));
        };
        narrow(&format!("cvt.{name}.f32.f64 %d, %a;"), mode);
        narrow(&format!("cvt.{name}.ftz.f32.f64 %d, %a;"), mode.with_ftz(true));
        narrow(&format!("cvt.{name}.sat.f32.f64 %d, %a;"), mode.with_sat(true));
        let body = format!("cvt.{name}.f16.f64 %d, %a;");
        let instruction = Instruction { body: &body, from: 64, to: 16 };
        instruction
            .check_floats(F16, &float_triples(F64), |[a, ..]| convert::float_to_float(F64, F16, a, mode));
        let integral = format!("cvt.{name}i.f64.f64 %d, %a;");
        check(&integral, |[a, ..]| convert::round_to_integral(F64, a, mode));
    }
    for (from, body, ftz) in [
        (F32, "cvt.f64.f32 %d, %a;", false),
        (F32, "cvt.ftz.f64.f32 %d, %a;", true),
        (F16, "cvt.f64.f16 %d, %a;", false),
    ] {
        let instruction = Instruction { body, from: from.bits(), to: 64 };
        let mode = Mode::IEEE.with_ftz(ftz);
        instruction
            .check_floats(F64, &float_triples(from), |[a, ..]| convert::float_to_float(from, F64, a, mode));
    }
}

#[test]
fn to_and_from_integers() {
    for bits in [16, 32, 64] {
        for signed in [false, true] {
            let ty = IntType::new(bits, signed);
            let sign = if signed { 's' } else { 'u' };
            let mut random = Random(7);
            let mut integers: Vec<[u64; 3]> = integer_edges(bits).iter().map(|&a| [a; 3]).collect();
            integers.extend((0..random_cases()).map(|_| [random.integer(bits); 3]));
            let mut doubles = float_triples(F64);
            // Doubles in and around the range of the integers.
            doubles.extend(integers.iter().map(|&[a, ..]| {
                let near = convert::int_to_float(ty, F64, a, Mode::IEEE);
                [float::add(F64, near, ((random.bits() % 9) as f64 / 4.0 - 1.0).to_bits(), Mode::IEEE); 3]
            }));
            doubles.extend(float_edges(F64).iter().map(|&a| [a; 3]));
            for (name, rounding) in ROUNDINGS {
                let body = format!("cvt.{name}.f64.{sign}{bits} %d, %a;");
                let instruction = Instruction { body: &body, from: bits, to: 64 };
                instruction
                    .check(&integers, |[a, ..]| convert::int_to_float(ty, F64, a, Mode::new(rounding)));
                let body = format!("cvt.{name}i.{sign}{bits}.f64 %d, %a;");
                let instruction = Instruction { body: &body, from: 64, to: bits };
                let reference = |[a, ..]: [u64; 3]| convert::float_to_int(F64, ty, a, rounding, false);
                if bits > 16 {
                    instruction.check(&doubles, reference);
                } else {
                    // PTX does not define the 16-bit result for a NaN.
                    let numbers: Vec<_> = doubles.iter().copied().filter(|a| !F64.is_nan(a[0])).collect();
                    instruction.check(&numbers, reference);
                }
            }
        }
    }
}
