//! Approximations against series summed in fixed point, and the special values of each function.

mod oracle;

use num_bigint::{BigInt, Sign};
use oracle::Random;
use ptxc_semantics::mufu;

/// Fraction bits of the fixed-point numbers: every binary32 value of magnitude above 2^-230 is exact.
const POINT: u32 = 256;

fn one() -> BigInt {
    BigInt::from(1) << POINT
}

/// A finite binary32 value in fixed point.
fn fixed(a: u32) -> BigInt {
    let biased = (a >> 23 & 255).max(1);
    let significand = (a & 0x7f_ffff) | if a >> 23 & 255 == 0 { 0 } else { 0x80_0000 };
    let magnitude = BigInt::from(significand) << (POINT + biased - 150);
    if a >> 31 == 1 { -magnitude } else { magnitude }
}

fn times(a: &BigInt, b: &BigInt) -> BigInt {
    (a * b) >> POINT
}

/// The sum of `x^k / k!` over every `step`-th k from `first`, each with the previous sign times `sign`.
fn series(x: &BigInt, first: u32, step: u32, sign: i32) -> BigInt {
    let mut term = if first == 0 { one() } else { x.clone() };
    let (mut sum, mut k) = (BigInt::from(0), first);
    while term.sign() != Sign::NoSign && k < 800 {
        sum += &term;
        for _ in 0..step {
            k += 1;
            term = times(&term, x) / k;
        }
        term *= sign;
    }
    sum
}

/// The natural logarithm of 2: the sum of `1 / (k 2^k)`.
fn ln2() -> BigInt {
    (1..POINT).map(|k| (one() >> k) / k).sum()
}

/// The logarithm to base 2 of a positive number, one bit for each squaring.
fn log2(a: &BigInt) -> BigInt {
    let integer = a.bits() as i64 - 1 - i64::from(POINT);
    let mut mantissa = if integer >= 0 { a >> integer } else { a << -integer };
    let mut log = BigInt::from(integer) << POINT;
    for bit in 1..100 {
        mantissa = times(&mantissa, &mantissa);
        if mantissa >= one() << 1u32 {
            mantissa >>= 1;
            log += one() >> bit;
        }
    }
    log
}

/// Asserts that `ours` is the exact value with a relative error of at most half a unit in the last place.
fn assert_close(name: &str, a: u32, ours: u32, exact: &BigInt) {
    let error = BigInt::from((fixed(ours) - exact).magnitude().clone());
    let allowed = BigInt::from(exact.magnitude().clone()) >> 24u32;
    let shown = (f32::from_bits(a), f32::from_bits(ours));
    assert!(error <= &allowed + (&allowed >> 20u32), "{name}({}) = {}", shown.0, shown.1);
}

/// Values of magnitude from `2^low` to `2^high`, positive and negative.
fn values(random: &mut Random, low: i32, high: i32) -> Vec<u32> {
    let exponent = |random: &mut Random| (127 + low + (random.next() % (high - low) as u64) as i32) as u32;
    (0..150).map(|_| (random.next() as u32 & 0x807f_ffff) | exponent(random) << 23).collect()
}

#[test]
fn transcendental_functions_match_their_series() {
    let mut random = Random(40);
    let ln2 = ln2();
    for a in values(&mut random, -20, 6) {
        let x = fixed(a);
        assert_close("ex2", a, mufu::ex2(a, false), &series(&times(&x, &ln2), 0, 1, 1));
        let positive = a & 0x7fff_ffff;
        assert_close("lg2", positive, mufu::lg2(positive, false), &log2(&fixed(positive)));
    }
    for a in values(&mut random, -20, 1) {
        let x = fixed(a);
        for (name, ours, exact) in
            [("sin", mufu::sin(a), series(&x, 1, 2, -1)), ("cos", mufu::cos(a), series(&x, 0, 2, -1))]
        {
            // PTX's bound is 2^-20.5; the angle in turns is cut off at a relative 2^-23.
            let error = BigInt::from((fixed(ours) - exact).magnitude().clone());
            assert!(error <= one() >> 21u32, "{name}({})", f32::from_bits(a));
        }
    }
    for a in values(&mut random, -20, 4) {
        let exponential = series(&(fixed(a) << 1u32), 0, 1, 1);
        let exact = ((&exponential - one()) << POINT) / (&exponential + one());
        assert_close("tanh", a, mufu::tanh(a), &exact);
    }
}

#[test]
fn algebraic_functions_match_exact_quotients_and_roots() {
    let mut random = Random(41);
    for a in values(&mut random, -60, 60) {
        assert_close("rcp", a, mufu::rcp(a, false), &((one() << POINT) / fixed(a)));
        let positive = a & 0x7fff_ffff;
        let root = (fixed(positive) << POINT).sqrt();
        assert_close("sqrt", positive, mufu::sqrt(positive, false), &root);
        assert_close("rsqrt", positive, mufu::rsqrt(positive, false), &((one() << POINT) / &root));
    }
}

#[test]
fn angles_in_turns() {
    let quarters = [0.0f32, 1.0, 0.0, -1.0];
    for quarter in -9..9i32 {
        let angle = (quarter as f32 / 4.0).to_bits();
        let at = |shift: i32| quarters[(quarter + shift).rem_euclid(4) as usize];
        assert_eq!(f32::from_bits(mufu::sin_turns(angle)), at(0), "{quarter}");
        assert_eq!(f32::from_bits(mufu::cos_turns(angle)), at(1), "{quarter}");
    }
    assert_eq!(mufu::sin_turns(0x8000_0000), 0x8000_0000);
    let half_root = 0.5f32.sqrt().to_bits();
    assert_eq!([mufu::sin_turns(0.375f32.to_bits()), mufu::cos_turns((-0.125f32).to_bits())], [half_root; 2]);
}

#[test]
fn special_values() {
    let [zero, infinity, one] = [0.0, f32::INFINITY, 1.0].map(f32::to_bits);
    let nan = 0x7fff_ffff;
    let minus = |a: u32| a | 0x8000_0000;
    for (name, f, expected) in [
        // The results for +0, -0, +inf, -inf and -1.
        (
            "rcp",
            mufu::rcp as fn(u32, bool) -> u32,
            [infinity, minus(infinity), zero, minus(zero), minus(one)],
        ),
        ("rsqrt", mufu::rsqrt, [infinity, minus(infinity), zero, nan, nan]),
        ("sqrt", mufu::sqrt, [zero, minus(zero), infinity, nan, nan]),
        ("ex2", mufu::ex2, [one, one, infinity, zero, 0.5f32.to_bits()]),
        ("lg2", mufu::lg2, [minus(infinity), minus(infinity), infinity, nan, nan]),
    ] {
        let ours = [zero, minus(zero), infinity, minus(infinity), minus(one)].map(|a| f(a, false));
        assert_eq!(ours, expected, "{name}");
        assert_eq!(f(0xffc0_1234, false), nan, "{name}");
    }
    assert_eq!([zero, minus(zero), infinity, 0xffc0_1234].map(mufu::sin), [zero, minus(zero), nan, nan]);
    assert_eq!([zero, minus(zero), infinity, 0xffc0_1234].map(mufu::cos), [one, one, nan, nan]);
    assert_eq!([infinity, minus(infinity), minus(zero)].map(mufu::tanh), [one, minus(one), minus(zero)]);
    assert_eq!(mufu::rcp(1, true), infinity, "a flushed subnormal is zero");
    assert_eq!(mufu::rcp(f32::MAX.to_bits(), true), zero, "a subnormal result is flushed");
    assert_eq!(mufu::ex2((-130f32).to_bits(), false), 0x0008_0000);
}

#[test]
fn quotients_by_reciprocals() {
    let div = |a: f32, b: f32, full, ftz| f32::from_bits(mufu::div(a.to_bits(), b.to_bits(), full, ftz));
    let (tiny, huge) = (f32::from_bits(3), f32::MAX);
    assert_eq!(div(6.0, 2.0, false, true), 3.0);
    assert_eq!(div(tiny, tiny, false, false), 1.0, "both are scaled");
    assert!(div(tiny, tiny, true, true).is_nan(), "flushed to 0 / 0");
    assert_eq!(div(huge, huge, false, true), 0.0, "the reciprocal is flushed");
    assert_eq!([div(huge, huge, true, true), div(huge, huge, true, false)], [1.0; 2]);
}

#[test]
fn double_precision_seeds() {
    let upper = |a: f64| (a.to_bits() >> 32) as u32;
    assert_eq!(mufu::rcp64h(upper(-4.0)), upper(-0.25));
    assert_eq!(mufu::rcp64h(upper(3.0)), upper(1.0 / 3.0));
    assert_eq!(mufu::rcp64h(0x8000_0001), upper(f64::NEG_INFINITY));
    assert_eq!(mufu::rsqrt64h(upper(16.0)), upper(0.25));
    assert_eq!(mufu::rsqrt64h(upper(-1.0)), 0xfff8_0000);
}
