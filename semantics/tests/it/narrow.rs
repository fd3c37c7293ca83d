//! Conversions to and from narrow formats, against searches among all values of the format.

use ptxc_semantics::narrow::{self, ByteFormat};
use ptxc_semantics::{F16, F32, IntType, Rounding, convert, pairs};

/// The number of a code, from the definition of the format; `None` for a NaN.
fn number(format: ByteFormat, code: u8) -> Option<f64> {
    let (exponent_bits, fraction_bits, bias) = match format {
        ByteFormat::E4m3 => (4, 3, 7),
        ByteFormat::E5m2 => (5, 2, 15),
    };
    let exponent = i32::from(code >> fraction_bits & ((1 << exponent_bits) - 1));
    let fraction = f64::from(code & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
    let magnitude = match (format, exponent) {
        (ByteFormat::E4m3, 15) if fraction == 0.875 => return None,
        (ByteFormat::E5m2, 31) if fraction == 0.0 => f64::INFINITY,
        (ByteFormat::E5m2, 31) => return None,
        (_, 0) => fraction * 2f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
    };
    Some(if code & 0x80 == 0 { magnitude } else { -magnitude })
}

/// The code whose number is nearest, the even one of two; never an infinity.
fn nearest(format: ByteFormat, value: f64) -> u8 {
    let mut finite = (0..0x7f).filter(|&code| number(format, code).is_some_and(f64::is_finite));
    let distance = |code: u8| (number(format, code).unwrap_or(f64::NAN) - value.abs().min(1e6)).abs();
    let best = match value.is_infinite() {
        true => finite.next_back().unwrap_or_default(),
        false => finite
            .reduce(|best, code| match distance(code).total_cmp(&distance(best)) {
                std::cmp::Ordering::Less => code,
                std::cmp::Ordering::Equal if code % 2 == 0 => code,
                _ => best,
            })
            .unwrap_or_default(),
    };
    if value.is_sign_negative() { best | 0x80 } else { best }
}

fn half_as_f64(half: u16) -> f64 {
    f64::from_bits(convert::float_to_float(F16, ptxc_semantics::F64, half.into(), Default::default()))
}

/// Simple numbers that depend on each other in no obvious way.
fn random(seed: &mut u64) -> u32 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 16) as u32
}

const FORMATS: [ByteFormat; 2] = [ByteFormat::E4m3, ByteFormat::E5m2];

#[test]
fn every_byte_has_its_number_as_a_half() {
    for format in FORMATS {
        for code in 0..=u8::MAX {
            let half = narrow::of_byte(format, code, false);
            match number(format, code) {
                None => assert_eq!(half, 0x7fff, "{format:?} {code:#x}"),
                Some(value) => {
                    assert_eq!(half_as_f64(half).to_bits(), value.to_bits(), "{format:?} {code:#x}");
                    // The way back is exact, except for infinities.
                    if value.is_finite() {
                        assert_eq!(narrow::to_byte(F16, format, half.into(), false), code);
                    }
                    let limited = if value.is_sign_negative() { 0 } else { half };
                    assert_eq!(narrow::of_byte(format, code, true), limited);
                }
            }
        }
        assert_eq!(narrow::halves_of_bytes(format, 0x1234_38bc, false) >> 16, {
            u32::from(narrow::of_byte(format, 0x38, false))
        });
    }
}

#[test]
fn every_half_rounds_to_the_nearest_byte() {
    for format in FORMATS {
        for half in 0..=u16::MAX {
            let byte = narrow::to_byte(F16, format, half.into(), false);
            let limited = narrow::to_byte(F16, format, half.into(), true);
            if F16.is_nan(half.into()) {
                assert_eq!((byte, limited), (0x7f, 0x7f), "{format:?} {half:#x}");
                continue;
            }
            let value = half_as_f64(half);
            let expected = nearest(format, value);
            assert_eq!(byte, expected, "{format:?} {value}");
            assert_eq!(limited, if value.is_sign_negative() { 0 } else { expected }, "{format:?} {value}");
        }
    }
}

#[test]
fn singles_round_to_the_nearest_byte() {
    let mut seed = 7;
    for format in FORMATS {
        let check = |value: f32| {
            let byte = narrow::to_byte(F32, format, value.to_bits().into(), false);
            assert_eq!(byte, nearest(format, value.into()), "{format:?} {value}");
        };
        for code in 0..0x7f {
            // Each number, each tie, and their neighbours.
            let (Some(low), Some(high)) = (number(format, code), number(format, code + 1)) else { continue };
            for value in [low, (low + high.min(1e9)) / 2.0] {
                let value = value as f32;
                for value in [value.next_down(), value, value.next_up()] {
                    check(value);
                    check(-value);
                }
            }
        }
        for _ in 0..2000 {
            // Exponents around the range of the formats.
            let bits = random(&mut seed) & 0x807f_ffff | (100 + random(&mut seed) % 50) << 23;
            check(f32::from_bits(bits));
        }
        check(f32::MAX);
        check(f32::NEG_INFINITY);
        assert_eq!(narrow::bytes_of_singles(format, 0xffc0_0000, 0, true), 0x7f);
        assert_eq!(narrow::bytes_of_singles(format, 0, 0x7f80_0001, false), 0x7f00);
    }
    assert_eq!(narrow::bytes_of_singles(ByteFormat::E4m3, 0xbf80_0000, 0x7f80_0000, false), 0x7eb8);
    assert_eq!(narrow::bytes_of_singles(ByteFormat::E5m2, 0xbf80_0000, 0x7f80_0000, false), 0x7bbc);
}

/// The two multiples of the least bit around a number, and the rules in words.
#[test]
fn singles_round_to_tf32() {
    let mut seed = 11;
    let specials =
        [0, 0x8000_0000, 1, 0x1000, 0x0fff, 0x3000, 0x7f7f_ffff, 0x7f7f_efff, 0x3f80_1000, 0xbf80_3000];
    for n in 0..4000 {
        let bits = specials.get(n).copied().unwrap_or_else(|| random(&mut seed));
        if !f32::from_bits(bits).is_finite() {
            continue;
        }
        let (down, rest) = (bits & !0x1fff, bits & 0x1fff);
        let up = down + 0x2000;
        let even = if down & 0x2000 == 0 { down } else { up };
        let (to_even, away) = match rest.cmp(&0x1000) {
            std::cmp::Ordering::Less => (down, down),
            std::cmp::Ordering::Equal => (even, up),
            std::cmp::Ordering::Greater => (up, up),
        };
        let rounded = |rounding, relu| narrow::single_to_tf32(bits, rounding, relu);
        assert_eq!(rounded(Rounding::Nearest, false), to_even, "{bits:#x}");
        assert_eq!(rounded(Rounding::Zero, false), down, "{bits:#x}");
        assert_eq!(rounded(Rounding::Nearest, true), if bits >> 31 == 1 { 0 } else { to_even }, "{bits:#x}");
        assert_eq!(narrow::single_to_tf32_away(bits, false), away, "{bits:#x}");
        let finite = if away & 0x7fff_ffff == 0x7f80_0000 { away - 0x2000 } else { away };
        assert_eq!(narrow::single_to_tf32_away(bits, true), finite, "{bits:#x}");
    }
    for nan in [0x7fc0_0000, 0xffc0_1234, 0x7f80_2000] {
        assert!(F32.is_nan(narrow::single_to_tf32(nan, Rounding::Zero, true).into()));
        assert!(F32.is_nan(narrow::single_to_tf32_away(nan, true).into()));
    }
    assert_eq!(narrow::single_to_tf32(0xff80_0000, Rounding::Nearest, false), 0xff80_0000);
    assert_eq!(narrow::single_to_tf32_away(0xff80_0000, false), 0xff80_0000);
    assert_eq!(narrow::single_to_tf32_away(0xff80_0000, true), 0xff7f_e000);
}

#[test]
fn packed_integers_are_limited() {
    let types =
        [(2, false), (2, true), (4, false), (4, true), (8, false), (8, true), (16, false), (16, true)];
    let mut seed = 3;
    for (bits, signed) in types {
        for _ in 0..500 {
            let [a, b, c] = [0; 3].map(|_: u32| (random(&mut seed) as i32) >> (random(&mut seed) % 32));
            let packed = narrow::pack_saturated(IntType::new(bits, signed), a as u32, b as u32, c as u32);
            let (least, greatest) = match signed {
                true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
                false => (0, (1 << bits) - 1),
            };
            let mut expected = 0u64;
            for (value, place) in [(b, 0), (a, bits)] {
                expected |= (u64::from(value.clamp(least, greatest) as u32) & ((1 << bits) - 1)) << place;
            }
            expected |= u64::from(c as u32) << (2 * bits);
            assert_eq!(u64::from(packed), expected & 0xffff_ffff, "{bits} {signed} {a} {b} {c:#x}");
        }
    }
}

#[test]
fn pairs_do_not_carry() {
    let mut seed = 5;
    for _ in 0..2000 {
        let (a, b) = (random(&mut seed), random(&mut seed));
        let each = |f: fn(i16, i16) -> i16| {
            let (low, high) = (f(a as i16, b as i16), f((a >> 16) as i16, (b >> 16) as i16));
            u32::from(high as u16) << 16 | u32::from(low as u16)
        };
        assert_eq!(pairs::add(a, b), each(i16::wrapping_add));
        assert_eq!(pairs::sub(a, b), each(i16::wrapping_sub));
        assert_eq!(pairs::min(true, a, b), each(i16::min));
        assert_eq!(pairs::max(true, a, b), each(i16::max));
        assert_eq!(pairs::min(false, a, b), each(|a, b| (a as u16).min(b as u16) as i16));
        assert_eq!(pairs::max(false, a, b), each(|a, b| (a as u16).max(b as u16) as i16));
        assert_eq!(pairs::relu(a), each(|a, _| a.max(0)));
    }
}
