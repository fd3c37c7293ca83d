//! Numbers as text without the machinery of `write!`, whose set-up costs more than the digits.
//!
//! ```text
//! 1234 => 1234    0x4d2    004d2
//! ```

use std::fmt::{self, Write};

/// The most digits of a number of 128 bits in base 16, and more than those of one of 64 bits in base 10.
const DIGITS: usize = 32;

/// Writes a number in base 10.
///
/// # Errors
/// If the writer fails.
pub fn decimal(out: &mut (impl Write + ?Sized), mut value: u64) -> fmt::Result {
    let mut digits = [0; DIGITS];
    let mut at = DIGITS;
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return ascii(out, &digits[at..]);
        }
    }
}

/// Writes a number in base 16 with at least `width` digits and nothing in front.
///
/// # Errors
/// If the writer fails.
pub fn hex(out: &mut (impl Write + ?Sized), mut value: u128, width: usize) -> fmt::Result {
    let mut digits = [b'0'; DIGITS];
    let mut at = DIGITS;
    while value != 0 {
        at -= 1;
        digits[at] = b"0123456789abcdef"[(value & 0xf) as usize];
        value >>= 4;
    }
    ascii(out, &digits[at.min(DIGITS - width.min(DIGITS))..])
}

/// Writes a number as `0x1f`.
///
/// # Errors
/// If the writer fails.
pub fn prefixed_hex(out: &mut (impl Write + ?Sized), value: u32) -> fmt::Result {
    let mut digits = *b"0x00000000";
    let count = (35 - (value | 1).leading_zeros() as usize) / 4;
    for place in 0..count {
        digits[1 + count - place] = b"0123456789abcdef"[(value >> (4 * place) & 0xf) as usize];
    }
    ascii(out, &digits[..2 + count])
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
        fn as_the_standard_library(wide: u128, value: u64, narrow: u32, shift in 0u32..32, width in 0usize..33) {
            let mut text = String::new();
            decimal(&mut text, value >> shift).unwrap();
            text.push(' ');
            hex(&mut text, wide >> (4 * shift), width).unwrap();
            text.push(' ');
            prefixed_hex(&mut text, narrow >> shift).unwrap();
            let expected = format!("{} {:0width$x} {:#x}", value >> shift, wide >> (4 * shift), narrow >> shift);
            prop_assert_eq!(text, expected);
        }
    }

    #[test]
    fn zero_has_a_digit() {
        let mut text = String::new();
        decimal(&mut text, 0).unwrap();
        hex(&mut text, 0, 1).unwrap();
        prefixed_hex(&mut text, 0).unwrap();
        assert_eq!(text, "000x0");
    }
}
