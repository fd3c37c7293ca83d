//! Quotients, reciprocals and roots in single precision, correctly rounded.

use ptxc_semantics::{F32, Mode, float};

use super::doubles::ROUNDINGS;
use super::kernel::Instruction;
use super::operands::{Random, float_triples, random_cases};

fn check(body: &str, operands: &[[u64; 3]], reference: impl Fn([u64; 3]) -> u64) {
    Instruction { body, from: 32, to: 32 }.check_floats(F32, operands, reference);
}

/// The names and modes of the four rounding directions, with and without flushing.
fn modes() -> impl Iterator<Item = (String, Mode)> {
    ROUNDINGS.into_iter().flat_map(|(name, rounding)| {
        let mode = Mode::new(rounding);
        [(name.to_string(), mode), (format!("{name}.ftz"), mode.with_ftz(true))]
    })
}

/// Operands for division whose quotients are close to a rounding boundary: a representable number,
/// or a midpoint.
fn close_quotients() -> Vec<[u64; 3]> {
    let mut random = Random(11);
    let mut significand = || f64::from(random.bits() as u32 >> 8 | 1 << 23);
    let mut triples = Vec::new();
    for _ in 0..random_cases() {
        let (b, q) = (significand(), significand());
        for (quotient, offset) in [(q, 0.0), (q + 0.5, 0.0), (q, 1.0), (q + 0.5, -1.0)] {
            let a = (b * quotient + offset) as f32;
            triples.push([a, b as f32, 0.0].map(|x| x.to_bits().into()));
        }
    }
    triples
}

#[test]
fn quotients() {
    let mut operands = float_triples(F32);
    operands.extend(close_quotients());
    for (name, mode) in modes() {
        check(&format!("div.{name}.f32 %d, %a, %b;"), &operands, |[a, b, _]| float::div(F32, a, b, mode));
    }
}

#[test]
fn reciprocals() {
    for (name, mode) in modes() {
        let operands = float_triples(F32);
        check(&format!("rcp.{name}.f32 %d, %a;"), &operands, |[a, ..]| float::div(F32, F32.one(), a, mode));
    }
}

#[test]
fn roots() {
    let mut operands = float_triples(F32);
    // Squares, and their neighbours.
    operands.extend(close_quotients().iter().map(|&[_, b, _]| {
        let square = float::mul(F32, b & !0xfff, b & !0xfff, Mode::IEEE);
        [square + b % 3 - 1; 3]
    }));
    for (name, mode) in modes() {
        check(&format!("sqrt.{name}.f32 %d, %a;"), &operands, |[a, ..]| float::sqrt(F32, a, mode));
    }
}
