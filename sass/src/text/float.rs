//! Float immediates as the disassembler prints them, and back.
//!
//! The value is exact up to twenty significant digits: `%.20g` below 10⁹ (`4`, `0.5`,
//! `9.9999997473787516356e-05`), `%.20e` with its zeros from there on, `-0.0`, `+INF`, `-QNAN`, `+SNAN`
//! with a space behind. A NaN loses its payload: it is read back with the canonical one.

use std::fmt;

/// From where on the exponent is always printed.
const EXPONENT_FROM: f64 = 1e9;
const DIGITS: usize = 20;

/// A binary32.
pub(super) fn print_f32(out: &mut impl fmt::Write, bits: u32) -> fmt::Result {
    let value = f32::from_bits(bits);
    print(out, f64::from(value), value.is_sign_negative(), bits & 0x0040_0000 != 0)
}

/// The upper half of a binary64 whose lower half is zero.
pub(super) fn print_f64_high(out: &mut impl fmt::Write, bits: u32) -> fmt::Result {
    let value = f64::from_bits(u64::from(bits) << 32);
    print(out, value, value.is_sign_negative(), bits & 0x0008_0000 != 0)
}

/// A binary16.
pub(super) fn print_f16(out: &mut impl fmt::Write, bits: u16) -> fmt::Result {
    let negative = bits >> 15 != 0;
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
    };
    print(out, if negative { -magnitude } else { magnitude }, negative, bits & 0x200 != 0)
}

/// A bfloat16: the upper half of a binary32.
pub(super) fn print_bf16(out: &mut impl fmt::Write, bits: u16) -> fmt::Result {
    print_f32(out, u32::from(bits) << 16)
}

fn print(out: &mut impl fmt::Write, value: f64, negative: bool, quiet: bool) -> fmt::Result {
    let sign = if negative { '-' } else { '+' };
    if value.is_nan() {
        return write!(out, "{sign}{} ", if quiet { "QNAN" } else { "SNAN" });
    }
    if value.is_infinite() {
        return write!(out, "{sign}INF ");
    }
    if value == 0.0 {
        return out.write_str(if negative { "-0.0 " } else { "0" });
    }
    if negative {
        out.write_str("-")?;
    }
    let value = value.abs();
    if value >= EXPONENT_FROM {
        let text = format!("{value:.*e}", DIGITS);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return write!(out, "{mantissa}e+{exponent:0>2}");
    }
    let text = format!("{value:.*e}", DIGITS - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 {
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        return write!(out, "{mantissa}e-{:02}", -exponent);
    }
    let decimals = (DIGITS as i32 - 1 - exponent).max(0) as usize;
    let fixed = format!("{value:.decimals$}");
    out.write_str(if fixed.contains('.') {
        fixed.trim_end_matches('0').trim_end_matches('.')
    } else {
        &fixed
    })
}

/// Reads a binary32.
pub(super) fn parse_f32(text: &str) -> Option<u32> {
    if let Some((negative, quiet_nan)) = special(text) {
        let magnitude = match quiet_nan {
            None => 0x7f80_0000,
            Some(true) => 0x7fff_ffff,
            Some(false) => 0x7f80_0001,
        };
        return Some(u32::from(negative) << 31 | magnitude);
    }
    decimal(text).map(|value| (value as f32).to_bits())
}

/// Reads the upper half of a binary64; only values whose lower half is zero.
pub(super) fn parse_f64_high(text: &str) -> Option<u32> {
    if let Some((negative, quiet_nan)) = special(text) {
        let magnitude = match quiet_nan {
            None => 0x7ff0_0000,
            Some(true) => 0x7fff_ffff,
            Some(false) => 0x7ff0_0001,
        };
        return Some(u32::from(negative) << 31 | magnitude);
    }
    let bits = decimal(text)?.to_bits();
    (bits as u32 == 0).then_some((bits >> 32) as u32)
}

/// Reads a binary16; only values that it holds exactly.
pub(super) fn parse_f16(text: &str) -> Option<u16> {
    if let Some((negative, quiet_nan)) = special(text) {
        let magnitude = match quiet_nan {
            None => 0x7c00,
            Some(true) => 0x7fff,
            Some(false) => 0x7c01,
        };
        return Some(u16::from(negative) << 15 | magnitude);
    }
    let value = decimal(text)?;
    let sign = u16::from(value.is_sign_negative()) << 15;
    let value = value.abs();
    let bits = if value < 2f64.powi(-14) {
        value * 2f64.powi(24)
    } else {
        let exponent = value.log2().floor();
        (exponent + 14.0) * 1024.0 + value / 2f64.powi(exponent as i32 - 10)
    };
    (bits.fract() == 0.0 && bits < f64::from(0x7c00)).then_some(sign | bits as u16)
}

/// Reads a bfloat16; only values that it holds exactly.
pub(super) fn parse_bf16(text: &str) -> Option<u16> {
    let bits = parse_f32(text)?;
    match special(text) {
        // A signalling NaN has to keep a bit.
        Some((_, Some(false))) => Some((bits >> 16) as u16 | 1),
        Some(_) => Some((bits >> 16) as u16),
        None => (bits & 0xffff == 0).then_some((bits >> 16) as u16),
    }
}

/// Sign, and `Some(quiet)` for a NaN, of a value that is not a number with digits.
fn special(text: &str) -> Option<(bool, Option<bool>)> {
    let (negative, name) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => return None,
    };
    match name {
        "INF" => Some((negative, None)),
        "QNAN" => Some((negative, Some(true))),
        "SNAN" => Some((negative, Some(false))),
        _ => None,
    }
}

fn decimal(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(bits: u32) -> String {
        let mut out = String::new();
        print_f32(&mut out, bits).unwrap();
        out
    }

    #[test]
    fn as_the_disassembler() {
        for (bits, expected) in [
            (0, "0"),
            (0x8000_0000, "-0.0 "),
            (0x3f80_0000, "1"),
            (0xff80_0000, "-INF "),
            (0x7fff_ffff, "+QNAN "),
            (0x7f80_0001, "+SNAN "),
            (1, "1.4012984643248170709e-45"),
            (0x0080_0000, "1.175494350822287508e-38"),
            (0x3ecc_422a, "0.3989422917366027832"),
            (0x7f7f_ffff, "3.40282346638528859812e+38"),
            (0x4b40_0001, "12582913"),
            (0x4e6e_6b28, "1.00000000000000000000e+09"),
            (0x38d1_b717, "9.9999997473787516356e-05"),
            (0x3a83_126f, "0.0010000000474974513054"),
        ] {
            assert_eq!(text(bits), expected);
        }
    }

    #[test]
    fn doubles_survive() {
        for bits in (0..=u32::MAX).step_by(0x1_0f0f) {
            let mut out = String::new();
            print_f64_high(&mut out, bits).unwrap();
            let back = parse_f64_high(out.trim_end()).unwrap();
            assert!(back == bits || bits & 0x7fff_ffff > 0x7ff0_0000, "{out}");
        }
    }

    #[test]
    fn halves_survive() {
        for bits in 0..=u16::MAX {
            let mut out = String::new();
            print_f16(&mut out, bits).unwrap();
            let back = parse_f16(out.trim_end()).unwrap();
            let is_nan = bits & 0x7fff > 0x7c00;
            assert!(back == bits || (is_nan && back & 0x7e00 == bits & 0x7e00 | 0x7c00 & back), "{out}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn values_survive(bits: u32) {
            let back = parse_f32(text(bits).trim_end()).unwrap();
            prop_assert!(back == bits || f32::from_bits(bits).is_nan() && f32::from_bits(back).is_nan());
        }
    }
}
