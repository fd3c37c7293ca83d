//! A line of text under construction: short pieces, gathered in a buffer of its own.
//!
//! An instruction is written in about twenty pieces of a few bytes. Pieces that are known in
//! advance are copied by sixteen or eight bytes at once, and only the bytes of the text are kept.
//! The underlying writer gets the whole line at once.

use std::fmt::{self, Write};

use super::number::hex_digits;
use crate::register::RegFile;

/// The size of the buffer in bytes. A longer line is written in parts.
const SIZE: usize = 128;

/// A text that is copied in one step if it is short.
#[derive(Clone, Copy)]
pub(super) struct Text {
    text: &'static str,
    /// Its first bytes.
    head: [u8; HEAD],
}

const HEAD: usize = 16;

impl Text {
    pub(super) const fn new(text: &'static str) -> Text {
        let mut head = [0; HEAD];
        let len = if text.len() < HEAD { text.len() } else { HEAD };
        head.split_at_mut(len).0.copy_from_slice(text.as_bytes().split_at(len).0);
        Text { text, head }
    }

    /// Whether it has no bytes.
    pub(super) const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// The name of a register, with its length in the last byte.
type Name = [u8; 8];

/// The names of all registers by file and number; the number after the last one is the constant
/// register.
static REGISTERS: [[Name; 256]; 4] = {
    let mut names = [[[0; 8]; 256]; 4];
    let mut file = 0;
    while file < names.len() {
        let mut number = 0;
        while number < 256 {
            names[file][number] = match RegFile::ALL[file] {
                file if number == file.count() as usize => letters(file.constant_name().as_bytes()),
                file => name(file.prefix().as_bytes(), number),
            };
            number += 1;
        }
        file += 1;
    }
    names
};

const fn letters(text: &[u8]) -> Name {
    let mut name = [0; 8];
    let mut len = 0;
    while len < text.len() {
        name[len] = text[len];
        len += 1;
    }
    name[7] = len as u8;
    name
}

const fn name(prefix: &[u8], number: usize) -> Name {
    let mut name = letters(prefix);
    let mut len = prefix.len();
    let mut unit = 100;
    while unit > 0 {
        if number >= unit || unit == 1 {
            name[len] = b'0' + (number / unit % 10) as u8;
            len += 1;
        }
        unit /= 10;
    }
    name[7] = len as u8;
    name
}

/// A receiver of the bytes of a text.
pub(super) trait Sink {
    /// Takes some bytes, which contain only whole characters.
    fn put(&mut self, bytes: &[u8]) -> fmt::Result;
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) -> fmt::Result {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// A writer of text.
pub(super) struct Writer<'w, W>(pub(super) &'w mut W);

impl<W: Write> Sink for Writer<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> fmt::Result {
        self.0.write_str(std::str::from_utf8(bytes).map_err(|_| fmt::Error)?)
    }
}

/// The line, and its receiver.
pub(super) struct Line<'o, W> {
    out: &'o mut W,
    bytes: [u8; SIZE],
    len: usize,
    /// The result of the writer so far.
    written: fmt::Result,
}

impl<'o, W: Sink> Line<'o, W> {
    pub(super) fn new(out: &'o mut W) -> Line<'o, W> {
        Line { out, bytes: [0; SIZE], len: 0, written: Ok(()) }
    }

    /// Writes what has been gathered.
    ///
    /// # Errors
    /// If the writer failed at any time.
    pub(super) fn finish(mut self) -> fmt::Result {
        self.flush();
        self.written
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.flush();
    }

    fn flush(&mut self) {
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        self.written = self.written.and(self.out.put(bytes));
        self.len = 0;
    }

    /// Adds some bytes, which contain only whole characters.
    #[inline]
    pub(super) fn bytes<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.padded(bytes, N);
    }

    /// Copies `N` bytes and keeps the first `len`.
    #[inline]
    fn padded<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        if self.len + N > SIZE {
            self.make_room();
        }
        if let Some(room) = self.bytes.get_mut(self.len..self.len + N) {
            room.copy_from_slice(bytes);
            self.len += len;
        }
    }

    /// Adds a text that is known in advance.
    #[inline]
    pub(super) fn text(&mut self, text: &Text) {
        if text.text.len() <= HEAD {
            self.padded(&text.head, text.text.len());
        } else {
            self.str(text.text);
        }
    }

    /// Adds the separator before an operand: a space, or a comma and a space.
    #[inline]
    pub(super) fn separator(&mut self, is_space: bool) {
        let (bytes, len) = if is_space { (b"  ", 1) } else { (b", ", 2) };
        self.padded(bytes, len);
    }

    /// Adds a text.
    #[inline]
    pub(super) fn str(&mut self, text: &str) {
        if self.len + text.len() > SIZE {
            self.make_room();
        }
        match self.bytes.get_mut(self.len..self.len + text.len()) {
            Some(room) => {
                room.copy_from_slice(text.as_bytes());
                self.len += text.len();
            }
            None => self.written = self.written.and(self.out.put(text.as_bytes())),
        }
    }

    /// Adds a physical register, or the constant register, whose number is the one after the last.
    #[inline]
    pub(super) fn register(&mut self, file: RegFile, number: u8) {
        let name = &REGISTERS[file as usize][usize::from(number)];
        self.padded(name, usize::from(name[7]));
    }

    /// Adds a number in base 10.
    pub(super) fn decimal(&mut self, value: u32) {
        if value < 10 {
            return self.padded(&[b'0' + value as u8], 1);
        }
        let mut digits = [b'0'; 10];
        let (mut rest, mut at) = (value, digits.len());
        while let Some(digit) = digits[..at].last_mut().filter(|_| rest != 0) {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            at -= 1;
        }
        for &digit in &digits[at..] {
            self.padded(&[digit], 1);
        }
    }

    /// Adds a number as `0x1f`.
    #[inline]
    pub(super) fn prefixed_hex(&mut self, value: u32) {
        self.padded(b"0x", 2);
        let count = (35 - (value | 1).leading_zeros()) / 4;
        let digits = hex_digits(value) << (64 - 8 * count);
        self.padded(&digits.to_be_bytes(), count as usize);
    }

    /// Adds a number with sign as `0x10` or `-0x10`.
    #[inline]
    pub(super) fn signed_hex(&mut self, value: i32) {
        if value < 0 {
            self.str("-");
        }
        self.prefixed_hex(value.unsigned_abs());
    }
}

impl<W: Sink> Write for Line<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.str(text);
        self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register::{PReg, Register};
    use proptest::prelude::*;

    fn line(write: impl FnOnce(&mut Line<'_, Vec<u8>>)) -> String {
        let mut text = Vec::new();
        let mut line = Line::new(&mut text);
        write(&mut line);
        line.finish().unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn registers_have_their_names() {
        for file in RegFile::ALL {
            for number in 0..file.count() {
                let reg = PReg::numbered(file, number).unwrap();
                assert_eq!(line(|line| line.register(file, number)), reg.to_string());
            }
            assert_eq!(line(|line| line.register(file, file.count())), file.constant_name());
        }
    }

    #[test]
    fn a_failing_writer_is_reported() {
        struct Full;
        impl Write for Full {
            fn write_str(&mut self, _: &str) -> fmt::Result {
                Err(fmt::Error)
            }
        }
        let mut full = Writer(&mut Full);
        let mut line = Line::new(&mut full);
        (0..100).for_each(|_| line.str("0123456789"));
        assert_eq!(line.finish(), Err(fmt::Error));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn pieces_of_any_length_come_out_in_order(pieces in prop::collection::vec((0usize..5, any::<u32>(), 0usize..200), 0..40)) {
            const LONG: Text = Text::new("seventeen letters");
            const SHORT: Text = Text::new("sixteen letters.");
            let (mut expected, mut text) = (String::new(), String::new());
            let mut writer = Writer(&mut text);
            let mut line = Line::new(&mut writer);
            for (kind, value, len) in pieces {
                let value = value >> (len % 32);
                match kind {
                    0 => {
                        line.text(if value % 2 == 0 { &LONG } else { &SHORT });
                        expected.push_str(if value % 2 == 0 { LONG.text } else { SHORT.text });
                    }
                    1 => {
                        let piece = "é".repeat(len);
                        line.str(&piece);
                        expected.push_str(&piece);
                    }
                    2 => {
                        line.decimal(value);
                        expected.push_str(&value.to_string());
                    }
                    3 => {
                        line.prefixed_hex(value);
                        expected.push_str(&format!("{value:#x}"));
                    }
                    _ => {
                        let value = value as i32;
                        line.signed_hex(value);
                        let sign = if value < 0 { "-" } else { "" };
                        expected.push_str(&format!("{sign}{:#x}", value.unsigned_abs()));
                    }
                }
            }
            prop_assert_eq!(line.finish(), Ok(()));
            prop_assert_eq!(text, expected);
        }
    }
}
