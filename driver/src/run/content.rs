//! The initial content of buffers, and scalars.
//!
//! | INIT | content |
//! |---|---|
//! | `zero` | zeros |
//! | `iota` | 0, 1, 2 and so on, in the type of the elements |
//! | `rand`, `rand:SEED` | integers: any bits; floats: from -1 to 1, evenly |
//! | a number | that number everywhere |
//! | `@FILE` | the bytes of a file; zeros after its end |

use std::io::Read as _;

use ptxc_semantics::{BF16, F16, F32, F64, Format, Mode, convert};
use ptxc_sim::case::Elem;

/// The initial content of a buffer.
pub(crate) enum Init {
    /// Zeros.
    Zero,
    /// Counting from 0.
    Iota,
    /// Pseudo-random, from a seed.
    Random(u64),
    /// The same bits in every element.
    Value(u64),
    /// The content of a file.
    File(String),
}

impl Init {
    /// Parses the text of the command line.
    pub(crate) fn parse(elem: Elem, text: &str) -> Result<Init, String> {
        Ok(match text.split_once(':').unwrap_or((text, "")) {
            ("zero", "") => Init::Zero,
            ("iota", "") => Init::Iota,
            ("rand", "") => Init::Random(0),
            ("rand", seed) => Init::Random(seed.parse().map_err(|_| format!("`{seed}` is not a seed"))?),
            _ => match text.strip_prefix('@') {
                Some(path) => Init::File(path.to_string()),
                None => Init::Value(scalar(elem, text).map_err(|why| {
                    format!("{why}; INIT can also be zero, iota, rand, rand:SEED or @FILE")
                })?),
            },
        })
    }

    /// The bytes of `count` elements.
    pub(crate) fn content(&self, elem: Elem, count: usize) -> Result<Vec<u8>, String> {
        let size = elem.bytes() as usize;
        if let Init::File(path) = self {
            let named = |error: std::io::Error| format!("{path}: {error}");
            let mut bytes = Vec::new();
            // One byte more than the buffer holds shows that the file is too large.
            let file = std::fs::File::open(path).map_err(named)?;
            file.take((count * size) as u64 + 1).read_to_end(&mut bytes).map_err(named)?;
            if bytes.len() > count * size {
                return Err(format!("{path} has more than the {} bytes of the buffer", count * size));
            }
            bytes.resize(count * size, 0);
            return Ok(bytes);
        }
        let mut random = match self {
            Init::Random(seed) => *seed,
            _ => 0,
        };
        let mut bytes = Vec::with_capacity(count * size);
        for index in 0..count {
            let bits = match self {
                Init::Zero | Init::File(_) => 0,
                Init::Value(bits) => *bits,
                Init::Iota => match format(elem) {
                    Some(format) => float(format, index as f64),
                    None => index as u64,
                },
                Init::Random(_) => {
                    let bits = next(&mut random);
                    match format(elem) {
                        // A binary64 holds 53 bits.
                        Some(format) => float(format, (bits >> 11) as f64 * 2f64.powi(-52) - 1.0),
                        None => bits,
                    }
                }
            };
            bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
        }
        Ok(bytes)
    }
}

/// The next number of a sequence: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The format of a float type.
fn format(elem: Elem) -> Option<Format> {
    match elem {
        Elem::F16 => Some(F16),
        Elem::Bf16 => Some(BF16),
        Elem::F32 => Some(F32),
        Elem::F64 => Some(F64),
        _ => None,
    }
}

/// A number in a format, rounded to nearest.
fn float(format: Format, value: f64) -> u64 {
    convert::float_to_float(F64, format, value.to_bits(), Mode::IEEE)
}

/// The bits of a number of type `elem`, written in decimal or, for integers, also in hexadecimal.
pub(crate) fn scalar(elem: Elem, text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a value of type {}", elem.name());
    if let Some(format) = format(elem) {
        return text.parse().map(|value| float(format, value)).map_err(|_| wrong());
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = match digits.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let magnitude = magnitude.ok().filter(|magnitude| *magnitude >= 0).ok_or_else(wrong)?;
    let value = if negative { -magnitude } else { magnitude };
    let bits = 8 * elem.bytes();
    let fits = value >= -(1 << (bits - 1)) && value < 1 << bits;
    fits.then_some(value as u64 & (u64::MAX >> (64 - bits))).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(elem: Elem, init: &str, count: usize) -> Vec<u8> {
        Init::parse(elem, init).and_then(|init| init.content(elem, count)).unwrap()
    }

    #[test]
    fn contents() {
        assert_eq!(content(Elem::U16, "iota", 3), [0, 0, 1, 0, 2, 0]);
        assert_eq!(content(Elem::F32, "iota", 2), [0, 0, 0, 0, 0, 0, 0x80, 0x3f]);
        assert_eq!(content(Elem::S8, "-2", 2), [0xfe, 0xfe]);
        assert_eq!(content(Elem::Bf16, "1.5", 1), [0xc0, 0x3f]);
        assert_eq!(content(Elem::F64, "rand:3", 100), content(Elem::F64, "rand:3", 100));
        assert_ne!(content(Elem::F64, "rand:3", 4), content(Elem::F64, "rand:4", 4));
        for value in content(Elem::F64, "rand", 100).chunks(8) {
            let value = f64::from_le_bytes(value.try_into().unwrap());
            assert!((-1.0..=1.0).contains(&value));
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert_eq!(scalar(Elem::U8, "0xff"), Ok(255));
        assert_eq!(scalar(Elem::U64, "-1"), Ok(u64::MAX));
        for (elem, text) in
            [(Elem::U8, "256"), (Elem::S32, "1.5"), (Elem::F32, "one"), (Elem::U32, "--1"), (Elem::U8, "")]
        {
            assert!(scalar(elem, text).is_err(), "{text}");
        }
    }
}
