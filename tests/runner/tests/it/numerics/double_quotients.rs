//! Quotients, reciprocals and roots in double precision, correctly rounded.

use ptxc_semantics::{F64, Mode, float};

use super::doubles::ROUNDINGS;
use super::kernel::Instruction;
use super::operands::{Random, float_triples, random_cases};

/// The smallest significand of 53 bits.
const LEAST: u64 = 1 << 52;

fn check(body: &str, operands: &[[u64; 3]], reference: impl Fn([u64; 3]) -> u64) {
    Instruction { body, from: 64, to: 64 }.check_floats(F64, operands, reference);
}

/// A significand, scaled by a random power of two that keeps quotients normal.
fn double(random: &mut Random, significand: u64) -> u64 {
    ((significand as f64) * 2f64.powi((random.bits() % 600) as i32 - 300)).to_bits()
}

/// The inverse of an odd number modulo 2^64.
fn inverse(odd: u64) -> u64 {
    // Each step doubles the number of correct bits, which is three at the start.
    (0..5).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}

/// Dividends and divisors whose quotients are as close as possible to numbers and to midpoints
/// between two numbers: `a 2^n = b m + k` for a small `k` and a quotient `m` of 53 or 54 bits.
fn hard_quotients() -> Vec<[u64; 3]> {
    let mut random = Random(13);
    let mut pairs = Vec::new();
    for n in 0..random_cases() as u64 {
        let b = LEAST | (random.bits() % LEAST) | 1;
        let k = [1, u64::MAX, 0, 3, 3u64.wrapping_neg()][n as usize % 5];
        for bits in [53, 54] {
            // m is k / b modulo 2^bits, negated; then b m + k is a multiple of 2^bits.
            let m = k.wrapping_neg().wrapping_mul(inverse(b)) & ((1 << bits) - 1);
            let a = (u128::from(b) * u128::from(m)).wrapping_add_signed(i128::from(k as i64)) >> bits;
            if a != 0 && a < 2 * u128::from(LEAST) {
                pairs.push([double(&mut random, a as u64), double(&mut random, b), 0]);
            }
        }
    }
    // Exact quotients, and divisors of all ones.
    for _ in 0..random_cases() / 4 {
        let (b, q) = (random.bits() >> 38, random.bits() >> 38);
        pairs.push([double(&mut random, b * q), double(&mut random, b.max(1)), 0]);
        let a = (random.bits() % LEAST) >> (random.bits() % 53);
        let b = 2 * LEAST - 1 - random.bits() % 3;
        pairs.push([double(&mut random, LEAST | a), double(&mut random, b), 0]);
    }
    pairs
}

/// The same with quotients that are subnormal or nearly subnormal.
fn small_quotients() -> Vec<[u64; 3]> {
    let mut random = Random(17);
    let mut scaled = |[a, b, _]: [u64; 3]| {
        let exponent = 1 + random.bits() % 900;
        let divisor_exponent = exponent + 1021 + random.bits() % 60;
        let with = |value: u64, exponent: u64| value & F64.fraction_mask() | exponent << 52;
        [with(a, exponent), with(b, divisor_exponent), 0]
    };
    hard_quotients().into_iter().map(&mut scaled).collect()
}

#[test]
fn quotients() {
    let mut operands = float_triples(F64);
    operands.extend(hard_quotients());
    operands.extend(small_quotients());
    for (name, rounding) in ROUNDINGS {
        let mode = Mode::new(rounding);
        check(&format!("div.{name}.f64 %d, %a, %b;"), &operands, |[a, b, _]| float::div(F64, a, b, mode));
    }
}

#[test]
fn reciprocals() {
    let mut operands = float_triples(F64);
    operands.extend(hard_quotients().iter().map(|&[_, b, _]| [b; 3]));
    for (name, rounding) in ROUNDINGS {
        let mode = Mode::new(rounding);
        check(&format!("rcp.{name}.f64 %d, %a;"), &operands, |[a, ..]| float::div(F64, F64.one(), a, mode));
    }
}

/// Squares of numbers and of midpoints between two numbers, truncated or rounded up to 53 bits.
fn hard_radicands() -> Vec<[u64; 3]> {
    let mut random = Random(19);
    let mut radicands = Vec::new();
    for n in 0..random_cases() {
        let root = LEAST | (random.bits() % LEAST);
        let root = if n % 4 == 0 { root & !0x3ff_ffff } else { root };
        for half in [0, 1] {
            let point = u128::from(2 * root + half);
            let square = point * point;
            let shift = 128 - square.leading_zeros() - 53;
            let shift = shift + (shift & 1);
            for up in [0, 1] {
                let radicand = (square >> shift) as u64 + up;
                // Even powers of two keep the significand of the root.
                let scale = 2f64.powi(2 * (random.bits() % 400) as i32 - 400);
                radicands.push([(radicand as f64 * scale).to_bits(); 3]);
            }
        }
    }
    // Next to even powers of two, where the unit of the root changes.
    for exponent in 0..8 {
        let power = 4f64.powi(exponent - 4).to_bits();
        radicands.extend((power - 3..=power + 3).map(|a| [a; 3]));
    }
    radicands
}

#[test]
fn roots() {
    let mut operands = float_triples(F64);
    operands.extend(hard_radicands());
    for (name, rounding) in ROUNDINGS {
        let mode = Mode::new(rounding);
        check(&format!("sqrt.{name}.f64 %d, %a;"), &operands, |[a, ..]| float::sqrt(F64, a, mode));
    }
}

#[test]
fn reciprocals_of_roots() {
    let mut operands = float_triples(F64);
    operands.extend(hard_radicands());
    check("rsqrt.approx.f64 %d, %a;", &operands, |[a, ..]| float::rsqrt(F64, a, Mode::IEEE));
}
