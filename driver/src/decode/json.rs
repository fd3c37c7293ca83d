//! JSON lines: one object per instruction.
//!
//! The fields and their types are known, so the JSON is written by hand. The part that all rows of
//! a function share is made once, and so is the text of each part of the control field for each of
//! its values. Nothing is allocated for a row.

use std::ops::Range;
use std::sync::LazyLock;

use ptxc_sass::Control;
use ptxc_sass::text::number::{all_hex_digits, decimal_digits};

use super::row::{Fields, Piece, Source, Undecoded};

/// Whether a byte needs no escape in a string.
fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

/// Writes a string in quotes.
fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    // Nearly all text consists of such bytes. To check all of it is faster than to stop at the
    // first exception.
    if text.iter().fold(true, |plain, &byte| plain & is_plain(byte)) {
        out.extend_from_slice(text);
    } else {
        for &byte in text {
            match byte {
                _ if is_plain(byte) => out.push(byte),
                0x20.. => out.extend([b'\\', byte]),
                _ => out.extend(format!("\\u{byte:04x}").bytes()),
            }
        }
    }
    out.push(b'"');
}

/// The texts of the control field, for each value of its bits.
struct Texts {
    /// The texts of stall, yield, and the scoreboards that are set: bits 0 to 10.
    front: Vec<Box<[u8]>>,
    /// The texts of the scoreboards that are waited for, bits 11 to 16, and of the reuse flags or a
    /// batch code (by the yield bit), bits 17 to 19.
    back: Vec<Box<[u8]>>,
}

impl Texts {
    fn new() -> Texts {
        let scoreboard = |index: Option<u8>| index.map_or("null".to_string(), |index| index.to_string());
        let stalls = texts(
            0..32,
            |value| value,
            |field| format!(",\"stall\":{},\"yield\":{}", field.stall, field.yields),
        );
        let set = texts(
            0..64,
            |value| value << 5,
            |field| format!(",\"read\":{},\"write\":{}", scoreboard(field.read), scoreboard(field.write)),
        );
        let waits = texts(0..64, |value| value << 11, |field| format!(",\"wait\":{}", field.wait));
        let upper = texts(
            0..16,
            |value| (value & 7) << 17 | (value >> 3) << 4,
            |field| format!(",\"reuse\":{},\"batch\":{},\"word\":\"0x", field.reuse, field.batch),
        );
        Texts { front: products(&stalls, &set), back: products(&waits, &upper) }
    }

    fn front(&self, word: u128) -> &[u8] {
        let field = (word >> Control::LOWEST_BIT) as usize;
        self.front.get(field & 0x7ff).map_or(&[], |text| text)
    }

    fn back(&self, word: u128) -> &[u8] {
        let field = (word >> Control::LOWEST_BIT) as usize;
        let index = field >> 11 & 0x1ff | (field >> 4 & 1) << 9;
        self.back.get(index).map_or(&[], |text| text)
    }
}

/// A text for each value of some bits, which `place` moves to their position.
fn texts(values: Range<u128>, place: impl Fn(u128) -> u128, text: impl Fn(Fields) -> String) -> Vec<String> {
    values.map(|value| text(Fields::of_word(place(value) << Control::LOWEST_BIT))).collect()
}

/// All combinations of two parts; `low` has the lower bits.
fn products(low: &[String], high: &[String]) -> Vec<Box<[u8]>> {
    let pairs = high.iter().flat_map(|high| low.iter().map(move |low| (low, high)));
    pairs.map(|(low, high)| [low.as_bytes(), high.as_bytes()].concat().into()).collect()
}

static TEXTS: LazyLock<Texts> = LazyLock::new(Texts::new);

/// Writes the rows of a piece.
pub(super) fn rows(source: &Source<'_>, piece: &Piece<'_>, out: &mut Vec<u8>) -> Undecoded {
    let mut head = b"{\"file\":".to_vec();
    string(&mut head, source.file.as_bytes());
    if let Some(member) = &source.place.member {
        head.extend_from_slice(b",\"member\":");
        string(&mut head, member.as_bytes());
    }
    head.extend(format!(",\"image\":{},\"arch\":\"{}\"", source.place.number, source.arch).bytes());
    head.extend_from_slice(b",\"function\":");
    string(&mut head, piece.function.name.as_bytes());
    head.extend_from_slice(b",\"offset\":");
    let texts = &*TEXTS;
    piece.rows(source.arch, |row| {
        out.extend_from_slice(&head);
        out.extend_from_slice(decimal_digits(u64::from(row.offset), &mut [0; 20]));
        out.extend_from_slice(b",\"instruction\":");
        string(out, row.text);
        out.extend_from_slice(texts.front(row.word));
        out.extend_from_slice(texts.back(row.word));
        out.extend_from_slice(&all_hex_digits(row.word));
        out.push(b'"');
        if let Some(note) = row.note {
            out.extend_from_slice(b",\"note\":");
            string(out, note.as_bytes());
        }
        out.extend_from_slice(b"}\n");
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_back() {
        for text in ["", "a", "\"x\\\n\u{1f}é\"", "BRX R2 (*\"BRANCH_TARGETS .L_x_0\"*)"] {
            let mut out = Vec::new();
            string(&mut out, text.as_bytes());
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
