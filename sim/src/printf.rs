//! `vprintf`: the text that a kernel prints.
//!
//! In: the generic addresses of a format string and of the block of arguments, in which each
//! argument lies at the next multiple of its size: 4 bytes for `int`, 8 for `long`, `double` and
//! pointers. Out: the text, as glibc's `printf` writes it, and the number of arguments. Conversions
//! that the `printf` of a CUDA driver does not support (`%n`, `%ls`) are copied unchanged.
//!
//! ```text
//! "%d %5.2f %s\n", {07 00 00 00, 4 bytes of padding, 8 bytes of a double, address of "ok"}   =>   "7  1.50 ok\n"
//! ```

use crate::error::Fault;
use crate::memory::{AccessKind, Memory, Space, read_le};

/// The most bytes that a string may have.
const MOST_BYTES: u64 = 1 << 16;

/// Flags, width and precision of a conversion.
#[derive(Clone, Debug, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Whether the argument is an integer of 8 bytes.
    long: bool,
    /// The number of significant bits of a shorter integer.
    short: Option<u32>,
}

/// The arguments of one call.
struct Arguments<'a, 'b> {
    memory: &'a mut Memory<'b>,
    lane: u32,
    next: u64,
    count: u32,
}

impl Arguments<'_, '_> {
    fn take(&mut self, bytes: u32) -> Result<u64, Fault> {
        let at = self.next.next_multiple_of(bytes.into());
        self.next = at + u64::from(bytes);
        self.count += 1;
        Ok(read_le(self.memory.access(Space::Generic, self.lane, at, bytes, AccessKind::Read)?))
    }

    /// The bytes of a string up to its terminating zero.
    fn string(&mut self, address: u64) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        for at in 0..MOST_BYTES {
            match self.memory.access(
                Space::Generic,
                self.lane,
                address.wrapping_add(at),
                1,
                AccessKind::Read,
            )?[0]
            {
                0 => return Ok(bytes),
                byte => bytes.push(byte),
            }
        }
        Err(Fault::new(self.lane, format!("prints a string of more than {MOST_BYTES} bytes")))
    }
}

/// A text in memory up to its terminating zero.
pub(crate) fn string(memory: &mut Memory<'_>, lane: u32, address: u64) -> Result<String, Fault> {
    let bytes = Arguments { memory, lane, next: 0, count: 0 }.string(address)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text that a lane prints, and the number of its arguments.
pub(crate) fn format(
    memory: &mut Memory<'_>,
    lane: u32,
    format: u64,
    block: u64,
) -> Result<(String, u32), Fault> {
    let mut arguments = Arguments { memory, lane, next: block, count: 0 };
    let format = arguments.string(format)?;
    let mut out: Vec<u8> = Vec::new();
    let mut at = 0;
    while at < format.len() {
        if format[at] != b'%' {
            out.push(format[at]);
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        let spec = read_spec(&format, &mut at, &mut arguments)?;
        let conversion = format.get(at).copied().unwrap_or(0);
        at += 1;
        match conversion {
            b'%' => out.push(b'%'),
            b'd' | b'i' => {
                let bits = integer(&spec, &mut arguments)?;
                let width = spec.short.unwrap_or(if spec.long { 64 } else { 32 });
                let value = (bits << (64 - width)) as i64 >> (64 - width);
                out.extend(number(&spec, value < 0, value.unsigned_abs().to_string(), ""));
            }
            b'u' | b'x' | b'X' | b'o' => {
                let mut bits = integer(&spec, &mut arguments)?;
                if let Some(width) = spec.short {
                    bits &= (1 << width) - 1;
                }
                let spec = Spec { plus: false, space: false, ..spec };
                let (digits, prefix) = match conversion {
                    b'u' => (bits.to_string(), ""),
                    b'x' => (format!("{bits:x}"), "0x"),
                    b'X' => (format!("{bits:X}"), "0X"),
                    _ => (format!("{bits:o}"), "0"),
                };
                let is_marked = spec.alternate && (bits != 0 || conversion == b'o');
                out.extend(number(&spec, false, digits, if is_marked { prefix } else { "" }));
            }
            b'p' => {
                let bits = arguments.take(8)?;
                out.extend(pad(
                    &spec,
                    if bits == 0 { b"(nil)".to_vec() } else { format!("{bits:#x}").into_bytes() },
                ));
            }
            b'c' => {
                let byte = arguments.take(4)? as u8;
                out.extend(pad(&spec, vec![byte]));
            }
            b's' => {
                let address = arguments.take(8)?;
                let mut text = arguments.string(address)?;
                text.truncate(spec.precision.unwrap_or(usize::MAX));
                out.extend(pad(&spec, text));
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(arguments.take(8)?);
                out.extend(float(&spec, value, conversion));
            }
            _ => out.extend(&format[start..at.min(format.len())]),
        }
    }
    Ok((String::from_utf8_lossy(&out).into_owned(), arguments.count))
}

fn read_spec(format: &[u8], at: &mut usize, arguments: &mut Arguments<'_, '_>) -> Result<Spec, Fault> {
    let mut spec = Spec::default();
    loop {
        match format.get(*at) {
            Some(b'-') => spec.left = true,
            Some(b'+') => spec.plus = true,
            Some(b' ') => spec.space = true,
            Some(b'#') => spec.alternate = true,
            Some(b'0') => spec.zero = true,
            _ => break,
        }
        *at += 1;
    }
    if let Some(width) = count(format, at, arguments)? {
        spec.left |= width < 0;
        spec.width = width.unsigned_abs() as usize;
    }
    if format.get(*at) == Some(&b'.') {
        *at += 1;
        let precision = count(format, at, arguments)?.unwrap_or(0);
        spec.precision = usize::try_from(precision).ok();
    }
    loop {
        match format.get(*at) {
            Some(b'h') => spec.short = Some(if spec.short.is_some() { 8 } else { 16 }),
            Some(b'l' | b'j' | b'z' | b't') => spec.long = true,
            _ => return Ok(spec),
        }
        *at += 1;
    }
}

/// A width or precision, at most 4096: a number, or `*` for an argument.
fn count(format: &[u8], at: &mut usize, arguments: &mut Arguments<'_, '_>) -> Result<Option<i32>, Fault> {
    const MOST: i32 = 4096;
    if format.get(*at) == Some(&b'*') {
        *at += 1;
        return Ok(Some((arguments.take(4)? as i32).clamp(-MOST, MOST)));
    }
    let mut value = None;
    while let Some(digit) = format.get(*at).filter(|byte| byte.is_ascii_digit()) {
        value = Some((value.unwrap_or(0) * 10 + i32::from(digit - b'0')).min(MOST));
        *at += 1;
    }
    Ok(value)
}

fn integer(spec: &Spec, arguments: &mut Arguments<'_, '_>) -> Result<u64, Fault> {
    arguments.take(if spec.long { 8 } else { 4 })
}

/// An integer: its digits padded to the precision, after the sign and the prefix, all padded to the
/// width. The prefix of octal numbers makes the first digit a zero, so digits that begin with a zero
/// have none.
fn number(spec: &Spec, negative: bool, digits: String, prefix: &str) -> Vec<u8> {
    let digits = match spec.precision {
        Some(0) if digits == "0" => String::new(),
        Some(precision) => format!("{digits:0>precision$}"),
        None => digits,
    };
    let prefix = if prefix == "0" && digits.starts_with('0') { "" } else { prefix };
    let spec = Spec { zero: spec.zero && spec.precision.is_none(), ..spec.clone() };
    signed(&spec, negative, prefix, &digits)
}

/// Sign, prefix, zeros up to the width if the flag asks for them, digits.
fn signed(spec: &Spec, negative: bool, prefix: &str, digits: &str) -> Vec<u8> {
    let sign = match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (.., true) => " ",
        _ => "",
    };
    let used = sign.len() + prefix.len() + digits.len();
    let zeros = if spec.zero && !spec.left { spec.width.saturating_sub(used) } else { 0 };
    pad(spec, format!("{sign}{prefix}{}{digits}", "0".repeat(zeros)).into_bytes())
}

/// Blanks up to the width.
fn pad(spec: &Spec, mut text: Vec<u8>) -> Vec<u8> {
    let blanks = vec![b' '; spec.width.saturating_sub(text.len())];
    if spec.left {
        text.extend(blanks);
        return text;
    }
    blanks.into_iter().chain(text).collect()
}

fn float(spec: &Spec, value: f64, conversion: u8) -> Vec<u8> {
    let upper = conversion.is_ascii_uppercase();
    let is_hexadecimal = conversion.eq_ignore_ascii_case(&b'a');
    let negative = value.is_sign_negative();
    let value = value.abs();
    let mut text = if value.is_nan() {
        "nan".to_string()
    } else if value.is_infinite() {
        "inf".to_string()
    } else {
        let precision = spec.precision.unwrap_or(6);
        match conversion.to_ascii_lowercase() {
            b'f' => format!("{value:.precision$}"),
            b'e' => exponential(value, precision),
            b'a' => hexadecimal(value, spec.precision),
            _ => general(value, precision.max(1), spec.alternate),
        }
    };
    if spec.alternate && value.is_finite() && !text.contains('.') {
        let exponent = if is_hexadecimal { 'p' } else { 'e' };
        let at = text.find(exponent).unwrap_or(text.len());
        text.insert(at, '.');
    }
    if upper {
        text.make_ascii_uppercase();
    }
    let prefix = match (is_hexadecimal && value.is_finite(), upper) {
        (false, _) => "",
        (true, false) => "0x",
        (true, true) => "0X",
    };
    let spec = Spec { zero: spec.zero && value.is_finite(), ..spec.clone() };
    signed(&spec, negative, prefix, &text)
}

/// One digit, a point, as many digits as the precision, and an exponent of two digits or more.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// `%a` without its prefix: the leading bit, a point, hexadecimal digits, and an exponent of two. All
/// digits of a number are printed if there is no precision. Rounding may make the first digit 2, and
/// the first digit of a subnormal number is 0, as in glibc.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    /// Digits of a fraction.
    const DIGITS: usize = 13;
    let fraction = value.to_bits() & ((1 << (4 * DIGITS)) - 1);
    let (leading, exponent) = match (value.to_bits() >> (4 * DIGITS) & 0x7ff) as i32 {
        0 if fraction == 0 => (0, 0),
        0 => (0, -1022),
        biased => (1, biased - 1023),
    };
    let mut bits = leading << (4 * DIGITS) | fraction;
    let kept = precision.unwrap_or(DIGITS).min(DIGITS);
    let dropped = 4 * (DIGITS - kept);
    if dropped > 0 {
        // Round to the nearest number, and to an even one in the middle between two.
        bits += (1 << (dropped - 1)) - 1 + (bits >> dropped & 1);
    }
    let first = bits >> (4 * DIGITS);
    let mut digits = format!("{:0DIGITS$x}", bits & ((1 << (4 * DIGITS)) - 1));
    digits.truncate(kept);
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(precision) => digits.extend(std::iter::repeat_n('0', precision - kept)),
    }
    let point = if digits.is_empty() { "" } else { "." };
    format!("{first:x}{point}{digits}p{exponent:+}")
}

/// `%g`: `digits` significant digits, without trailing zeros, in the shorter form.
fn general(value: f64, digits: usize, keep_zeros: bool) -> String {
    let rounded = exponential(value, digits - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let strip = |text: &str| match text.contains('.') && !keep_zeros {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..digits as i32).contains(&exponent) {
        let places = (digits as i32 - 1 - exponent) as usize;
        return strip(&format!("{value:.places$}"));
    }
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "+00"));
    format!("{}e{exponent}", strip(mantissa))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{CtaMemory, GridMemory, Instruction};

    /// Prints with a block of arguments. A string among them is allocated, and zeros pad the block
    /// to its alignment.
    fn print(text: &str, block: &[u8]) -> String {
        let mut grid = GridMemory::default();
        let format_at = grid.global.allocate("format", [text.as_bytes(), &[0]].concat());
        let name = grid.global.allocate("name", b"ptx\0".to_vec());
        let mut block = block.to_vec();
        if text.contains("%s") || text.contains("s|") {
            block.extend(name.to_le_bytes());
        }
        let block_at = grid.global.allocate("block", block);
        let mut cta = [CtaMemory {
            shared: vec![],
            local: vec![],
            local_bytes: 0,
            written: None,
            race: None,
            id: [0; 3],
            copies: Default::default(),
            products: Default::default(),
        }];
        let (rank, first_thread, instruction, update) = (0, 0, Instruction::default(), None);
        let mut memory =
            Memory { grid: &mut grid, cluster: &mut cta, rank, first_thread, instruction, update };
        format(&mut memory, 0, format_at, block_at).unwrap().0
    }

    #[test]
    fn integers() {
        let minus = (-42i32).to_le_bytes();
        for (format, expected) in [
            ("[%d]", "[-42]"),
            ("[%6d|", "[   -42|"),
            ("[%-6d|", "[-42   |"),
            ("[%06d|", "[-00042|"),
            ("[%.4d|", "[-0042|"),
            ("%u", "4294967254"),
            ("%x", "ffffffd6"),
            ("%#X", "0XFFFFFFD6"),
            ("%hhu", "214"),
            ("%hd", "-42"),
            ("100%%", "100%"),
            ("%q", "%q"),
        ] {
            assert_eq!(print(format, &minus), expected, "{format}");
        }
        let mut mixed = 7u32.to_le_bytes().to_vec();
        mixed.extend([0; 4]);
        mixed.extend((-1i64).to_le_bytes());
        assert_eq!(print("%i %lld", &mixed), "7 -1", "the second one lies at its alignment");
        assert_eq!(print("%*d", &[5, 0, 0, 0, 1, 0, 0, 0]), "    1");
    }

    #[test]
    fn floats() {
        let value = 1234.5f64.to_le_bytes();
        for (format, expected) in [
            ("%f", "1234.500000"),
            ("%.0f", "1234"),
            ("%+.1f", "+1234.5"),
            ("%e", "1.234500e+03"),
            ("%g", "1234.5"),
            ("%.2g", "1.2e+03"),
            ("%G", "1234.5"),
            ("%010.1f", "00001234.5"),
        ] {
            assert_eq!(print(format, &value), expected, "{format}");
        }
        assert_eq!(
            print("%g %f", &[1e-5f64.to_le_bytes(), f64::NEG_INFINITY.to_le_bytes()].concat()),
            "1e-05 -inf"
        );
        assert_eq!(print("%g", &100000f64.to_le_bytes()), "100000");
        assert_eq!(print("%g", &1e6f64.to_le_bytes()), "1e+06");
    }

    #[test]
    fn octal_numbers_begin_with_a_zero() {
        let one = 1u32.to_le_bytes();
        for (format, expected) in [
            ("%#o", "01"),
            ("%#.1o", "01"),
            ("%#.3o", "001"),
            ("%#5.3o|", "  001|"),
            ("%#05o", "00001"),
            ("%#-4o|", "01  |"),
        ] {
            assert_eq!(print(format, &one), expected, "{format}");
        }
        for (format, expected) in [("%#o", "0"), ("%#.0o", "0"), ("%.0o", ""), ("%#.2o", "00"), ("%#x", "0")]
        {
            assert_eq!(print(format, &[0; 4]), expected, "{format}");
        }
    }

    /// The expected texts are those of glibc.
    #[test]
    fn hexadecimal_floats() {
        for (format, value, expected) in [
            ("%a", 2.5, "0x1.4p+1"),
            ("%A", -0.1, "-0X1.999999999999AP-4"),
            ("%a", 0.0, "0x0p+0"),
            ("%a", -0.0, "-0x0p+0"),
            ("%a", 5e-324, "0x0.0000000000001p-1022"),
            ("%.2a", f64::MAX, "0x2.00p+1023"),
            ("%.0a", 1.5, "0x2p+0"),
            ("%.1a", 1.03125, "0x1.0p+0"),
            ("%.1a", 1.09375, "0x1.2p+0"),
            ("%.15a", 2.5, "0x1.400000000000000p+1"),
            ("%#.0a", 2.5, "0x1.p+1"),
            ("%+12a|", 2.5, "   +0x1.4p+1|"),
            ("% -12a|", 2.5, " 0x1.4p+1   |"),
            ("%012a|", -2.5, "-0x0001.4p+1|"),
            ("%08A|", f64::INFINITY, "     INF|"),
            ("%a", f64::NAN, "nan"),
        ] {
            assert_eq!(print(format, &value.to_le_bytes()), expected, "{format} {value}");
        }
    }

    #[test]
    fn texts() {
        assert_eq!(print("<%s>", &[]), "<ptx>");
        assert_eq!(print("<%5s|", &[]), "<  ptx|");
        assert_eq!(print("<%-5.2s|", &[]), "<pt   |");
        assert_eq!(print("%c%c", &[b'o', 0, 0, 0, b'k', 0, 0, 0]), "ok");
        assert_eq!(print("%p", &0x7f0u64.to_le_bytes()), "0x7f0");
    }
}
