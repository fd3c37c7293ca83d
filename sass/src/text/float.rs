//! Float immediates as the disassembler prints them, and back.
//!
//! The value is exact up to twenty significant digits: `%.20g` below 10⁹ (`4`, `0.5`,
//! `9.9999997473787516356e-05`), `%.20e` with its zeros for larger numbers, `-0.0`, `+INF`,
//! `-QNAN`, `+SNAN` with a space after them. The disassembler does not print the fraction of a NaN.
//! So that no bit is lost, we print the fraction unless it is the canonical one (all ones for a
//! quiet NaN, 1 for a signalling one): `+QNAN(0x400000) `.

use std::fmt::{self, Write};

use super::number;

/// The least number that is always printed with an exponent.
const EXPONENT_FROM: f64 = 1e9;
const DIGITS: usize = 20;

/// The sizes of exponent and fraction, in bits, of a format or of the half of it that an immediate
/// holds.
#[derive(Clone, Copy)]
struct Format {
    exponent: u32,
    fraction: u32,
}

const F32: Format = Format { exponent: 8, fraction: 23 };
const F64_HIGH: Format = Format { exponent: 11, fraction: 20 };
const F16: Format = Format { exponent: 5, fraction: 10 };
const BF16: Format = Format { exponent: 8, fraction: 7 };

impl Format {
    fn fraction_mask(self) -> u32 {
        (1 << self.fraction) - 1
    }

    fn is_negative(self, bits: u32) -> bool {
        bits >> (self.exponent + self.fraction) != 0
    }

    fn is_quiet(self, fraction: u32) -> bool {
        fraction >> (self.fraction - 1) != 0
    }

    /// The fraction of the NaN that is written without one.
    fn canonical(self, quiet: bool) -> u32 {
        if quiet { self.fraction_mask() } else { 1 }
    }

    /// A value whose exponent is all ones.
    fn special(self, negative: bool, fraction: u32) -> u32 {
        let exponent = (1 << self.exponent) - 1;
        (u32::from(negative) << self.exponent | exponent) << self.fraction | fraction
    }
}

/// A binary32.
pub(super) fn print_f32(out: &mut impl fmt::Write, bits: u32) -> fmt::Result {
    print(out, f64::from(f32::from_bits(bits)), bits, F32)
}

/// The upper half of a binary64 whose lower half is zero.
pub(super) fn print_f64_high(out: &mut impl fmt::Write, bits: u32) -> fmt::Result {
    print(out, f64::from_bits(u64::from(bits) << 32), bits, F64_HIGH)
}

/// A binary16.
pub(super) fn print_f16(out: &mut impl fmt::Write, bits: u16) -> fmt::Result {
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
    };
    print(out, if bits >> 15 != 0 { -magnitude } else { magnitude }, u32::from(bits), F16)
}

/// A bfloat16: the upper half of a binary32.
pub(super) fn print_bf16(out: &mut impl fmt::Write, bits: u16) -> fmt::Result {
    print(out, f64::from(f32::from_bits(u32::from(bits) << 16)), u32::from(bits), BF16)
}

/// Prints a value that has these bits in that format.
fn print(out: &mut impl fmt::Write, value: f64, bits: u32, format: Format) -> fmt::Result {
    let negative = format.is_negative(bits);
    let sign = if negative { '-' } else { '+' };
    if value.is_nan() {
        let fraction = bits & format.fraction_mask();
        let quiet = format.is_quiet(fraction);
        write!(out, "{sign}{}", if quiet { "QNAN" } else { "SNAN" })?;
        if fraction != format.canonical(quiet) {
            write!(out, "({fraction:#x})")?;
        }
        return out.write_str(" ");
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
    if value < EXPONENT_FROM && value.fract() == 0.0 {
        // Most constants are small whole numbers, and these need no search for digits.
        return number::decimal(out, value as u64);
    }
    if let Some((digits, len)) = fixed(value) {
        return out
            .write_str(std::str::from_utf8(digits.get(..len).unwrap_or_default()).map_err(|_| fmt::Error)?);
    }
    let mut text = Short::default();
    if value >= EXPONENT_FROM {
        write!(text, "{value:.*e}", DIGITS)?;
        let (mantissa, exponent) = text.parts()?;
        out.write_str(mantissa)?;
        out.write_str(if exponent < 10 { "e+0" } else { "e+" })?;
        return number::decimal(out, exponent.unsigned_abs().into());
    }
    write!(text, "{value:.*e}", DIGITS - 1)?;
    let (mantissa, exponent) = text.parts()?;
    if exponent < -4 {
        out.write_str(mantissa.trim_end_matches('0').trim_end_matches('.'))?;
        out.write_str(if exponent > -10 { "e-0" } else { "e-" })?;
        return number::decimal(out, exponent.unsigned_abs().into());
    }
    let decimals = (DIGITS as i32 - 1 - exponent).max(0) as usize;
    let mut fixed = Short::default();
    write!(fixed, "{value:.decimals$}")?;
    let fixed = fixed.text()?;
    out.write_str(if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.') } else { fixed })
}

/// The digits of a number below [`EXPONENT_FROM`] that is not whole, at most [`DIGITS`] from the
/// first nonzero one, without zeros at the end, and their number of bytes. `None` if this fast
/// method is not enough: the number is too small, has too many bits, or rounding carries too far.
///
/// The fraction is a whole number over a power of two, so each digit is a product and a shift.
fn fixed(value: f64) -> Option<([u8; 40], usize)> {
    /// The smallest number whose first digit is surely among the first four after the point.
    const SMALLEST: f64 = 1.0 / (1 << 13) as f64;
    if !(SMALLEST..EXPONENT_FROM).contains(&value) {
        return None;
    }
    const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = value.to_bits();
    let mantissa = bits & ((1 << FRACTION) - 1) | 1 << FRACTION;
    let unused = mantissa.trailing_zeros();
    let mantissa = mantissa >> unused;
    // The bits of the mantissa after the point.
    let below_point = (1023 + FRACTION).checked_sub((bits >> FRACTION) as u32 + unused)?;
    if !(1..=60).contains(&below_point) {
        return None;
    }
    let (whole, mut rest) = (mantissa >> below_point, mantissa & ((1 << below_point) - 1));
    let mut digits = [0; 40];
    let mut buffer = [0; number::DECIMAL_DIGITS];
    let front = number::decimal_digits(whole, &mut buffer);
    digits.get_mut(..front.len())?.copy_from_slice(front);
    *digits.get_mut(front.len())? = b'.';
    let first = front.len() + 1;
    let (mut len, mut counted) = (first, if whole == 0 { 0 } else { front.len() });
    while counted < DIGITS && rest != 0 {
        rest *= 10;
        let digit = (rest >> below_point) as u8;
        rest &= (1 << below_point) - 1;
        *digits.get_mut(len)? = b'0' + digit;
        len += 1;
        counted += usize::from(counted > 0 || digit > 0);
    }
    let half = 1 << (below_point - 1);
    let is_odd = digits.get(len - 1)? & 1 != 0;
    if rest > half || (rest == half && is_odd) {
        let raised = digits.get(first..len)?.iter().rposition(|&digit| digit != b'9')?;
        len = first + raised + 1;
        *digits.get_mut(len - 1)? += 1;
    }
    let zeros = digits.get(first..len)?.iter().rev().take_while(|&&digit| digit == b'0').count();
    Some((digits, len - zeros))
}

/// The digits of a float, without allocation: at most [`DIGITS`] plus one, a point, and an exponent
/// or leading zeros.
#[derive(Default)]
struct Short {
    bytes: [u8; 32],
    len: usize,
}

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

impl Short {
    fn text(&self) -> Result<&str, fmt::Error> {
        let bytes = self.bytes.get(..self.len).ok_or(fmt::Error)?;
        std::str::from_utf8(bytes).map_err(|_| fmt::Error)
    }

    /// Mantissa and exponent of a number that was written with an exponent.
    fn parts(&self) -> Result<(&str, i32), fmt::Error> {
        let (mantissa, exponent) = self.text()?.split_once('e').ok_or(fmt::Error)?;
        Ok((mantissa, exponent.parse().map_err(|_| fmt::Error)?))
    }
}

/// Reads a binary32.
pub(super) fn parse_f32(text: &str) -> Option<u32> {
    if let Some(bits) = special(text, F32) {
        return bits;
    }
    decimal(text).map(|value| (value as f32).to_bits())
}

/// Reads the upper half of a binary64; only values whose lower half is zero.
pub(super) fn parse_f64_high(text: &str) -> Option<u32> {
    if let Some(bits) = special(text, F64_HIGH) {
        return bits;
    }
    let bits = decimal(text)?.to_bits();
    (bits as u32 == 0).then_some((bits >> 32) as u32)
}

/// Reads a binary16; only values that it holds exactly.
pub(super) fn parse_f16(text: &str) -> Option<u16> {
    if let Some(bits) = special(text, F16) {
        return bits.map(|bits| bits as u16);
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
    if let Some(bits) = special(text, BF16) {
        return bits.map(|bits| bits as u16);
    }
    let bits = parse_f32(text)?;
    (bits & 0xffff == 0).then_some((bits >> 16) as u16)
}

/// Reads an infinity or NaN: `None` if the text is neither, `Some(None)` if the fraction does not
/// fit the kind of NaN.
fn special(text: &str, format: Format) -> Option<Option<u32>> {
    let (negative, name) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => return None,
    };
    if name == "INF" {
        return Some(Some(format.special(negative, 0)));
    }
    let quiet = name.starts_with("QNAN");
    let rest = name.strip_prefix(if quiet { "QNAN" } else { "SNAN" })?;
    if rest.is_empty() {
        return Some(Some(format.special(negative, format.canonical(quiet))));
    }
    let digits = rest.strip_prefix("(0x").and_then(|rest| rest.strip_suffix(')'));
    let fraction = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let fits = |&fraction: &u32| {
        fraction != 0 && fraction <= format.fraction_mask() && format.is_quiet(fraction) == quiet
    };
    Some(fraction.filter(fits).map(|fraction| format.special(negative, fraction)))
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
            (0xffc0_0000, "-QNAN(0x400000) "),
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
    fn digits_are_those_of_the_standard_library() {
        let mut seen = 0;
        for bits in (0..0x4e6e_6b28u32).step_by(0xff1).chain((1..1 << 16).map(|upper| upper << 16)) {
            let value = f64::from(f32::from_bits(bits));
            for value in [value, value + value * 2f64.powi(-20), value + value * 2f64.powi(-31)] {
                let Some((digits, len)) = fixed(value) else { continue };
                seen += 1;
                let exponent = value.log10().floor() as i32;
                let exponent = exponent - i32::from(10f64.powi(exponent) > value);
                let expected = format!("{value:.*}", (DIGITS as i32 - 1 - exponent) as usize);
                let expected = expected.trim_end_matches('0').trim_end_matches('.');
                let digits = std::str::from_utf8(&digits[..len]).unwrap();
                assert_eq!(digits.trim_end_matches('.'), expected);
            }
        }
        assert!(seen > 100_000);
        // A tie.
        let (digits, len) = fixed(1.0 + 2f64.powi(-20)).unwrap();
        assert_eq!(&digits[..len], b"1.0000009536743164062");
    }

    #[test]
    fn doubles_survive() {
        for bits in (0..=u32::MAX).step_by(0x1_0f0f) {
            let mut out = String::new();
            print_f64_high(&mut out, bits).unwrap();
            let back = parse_f64_high(out.trim_end()).unwrap();
            assert_eq!(back, bits, "{out}");
        }
    }

    #[test]
    fn halves_survive() {
        for bits in 0..=u16::MAX {
            let mut out = String::new();
            print_f16(&mut out, bits).unwrap();
            let back = parse_f16(out.trim_end()).unwrap();
            assert_eq!(back, bits, "{out}");
            let mut out = String::new();
            print_bf16(&mut out, bits).unwrap();
            assert_eq!(parse_bf16(out.trim_end()), Some(bits), "{out}");
        }
    }

    #[test]
    fn fractions_fit_their_names() {
        for wrong in ["+QNAN(0x1)", "+SNAN(0x400000)", "+SNAN(0x0)", "+QNAN(0x800000)", "+QNAN(4)", "+QNAN()"]
        {
            assert_eq!(parse_f32(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn values_survive(bits: u32) {
            let back = parse_f32(text(bits).trim_end()).unwrap();
            prop_assert_eq!(back, bits);
        }
    }
}
