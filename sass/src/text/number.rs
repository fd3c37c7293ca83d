//! Numbers as text without `write!`, whose set-up costs more than the digits.
//!
//! ```text
//! 1234 => 1234    4d2    004d2
//! ```

use std::fmt::{self, Write};

/// The most digits of a number of 128 bits in base 16.
const DIGITS: usize = 32;

/// Writes a number in base 10.
///
/// # Errors
/// If the writer fails.
pub fn decimal(out: &mut (impl Write + ?Sized), value: u64) -> fmt::Result {
    ascii(out, decimal_digits(value, &mut [0; DECIMAL_DIGITS]))
}

/// The most digits of a number of 64 bits in base 10.
pub const DECIMAL_DIGITS: usize = 20;

/// The digits of a number in base 10: the last bytes of the buffer.
pub fn decimal_digits(mut value: u64, buffer: &mut [u8; DECIMAL_DIGITS]) -> &[u8] {
    let mut at = buffer.len();
    for (place, digit) in buffer.iter_mut().enumerate().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
        at = place;
        if value == 0 {
            break;
        }
    }
    &buffer[at..]
}

/// The eight digits of a number in base 16, the first in the highest byte.
pub const fn hex_digits(value: u32) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Each digit in a byte of its own.
    let wide = value as u64;
    let wide = (wide | wide << 16) & 0x0000_ffff_0000_ffff;
    let wide = (wide | wide << 8) & 0x00ff_00ff_00ff_00ff;
    let wide = (wide | wide << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // For digits of ten and more, there is a carry into bit 4.
    let letters = (wide + 6 * ONES) >> 4 & ONES;
    wide + b'0' as u64 * ONES + letters * (b'a' - b'0' - 10) as u64
}

/// All digits of a number in base 16, leading zeros included.
pub const fn all_hex_digits(value: u128) -> [u8; DIGITS] {
    let high = (hex_digits((value >> 96) as u32) as u128) << 64 | hex_digits((value >> 64) as u32) as u128;
    let low = (hex_digits((value >> 32) as u32) as u128) << 64 | hex_digits(value as u32) as u128;
    let (high, low) = (high.to_be_bytes(), low.to_be_bytes());
    let mut digits = [0; DIGITS];
    let mut at = 0;
    while at < DIGITS / 2 {
        digits[at] = high[at];
        digits[at + DIGITS / 2] = low[at];
        at += 1;
    }
    digits
}

/// Writes a number in base 16 with at least `width` digits, and at least one, without a prefix.
///
/// # Errors
/// If the writer fails.
pub fn hex(out: &mut (impl Write + ?Sized), value: u128, width: usize) -> fmt::Result {
    let count = DIGITS - (value.leading_zeros() / 4) as usize;
    ascii(out, &all_hex_digits(value)[DIGITS - count.max(width.clamp(1, DIGITS))..])
}

fn ascii(out: &mut (impl Write + ?Sized), digits: &[u8]) -> fmt::Result {
    // Checking a few bytes costs next to nothing.
    out.write_str(std::str::from_utf8(digits).map_err(|_| fmt::Error)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn as_the_standard_library(wide: u128, value: u64, shift in 0u32..32, width in 0usize..33) {
            let mut text = String::new();
            decimal(&mut text, value >> shift).unwrap();
            text.push(' ');
            hex(&mut text, wide >> (4 * shift), width).unwrap();
            let expected = format!("{} {:0width$x}", value >> shift, wide >> (4 * shift));
            prop_assert_eq!(text, expected);
            let all = all_hex_digits(wide >> (4 * shift));
            prop_assert_eq!(std::str::from_utf8(&all).unwrap(), format!("{:032x}", wide >> (4 * shift)));
        }
    }

    #[test]
    fn zero_has_a_digit() {
        let mut text = String::new();
        decimal(&mut text, 0).unwrap();
        hex(&mut text, 0, 1).unwrap();
        hex(&mut text, 0, 0).unwrap();
        assert_eq!(text, "000");
    }
}
