//! One instruction as every format shows it.

use std::ops::Range;

use ptxc_machine::Arch;
use ptxc_object::container::{Function, Place};
use ptxc_sass::text::number::all_hex_digits;
use ptxc_sass::text::push_inst;
use ptxc_sass::{Coded, Control, bits};

/// What the rows of an image have in common.
pub(super) struct Source<'a> {
    /// The file, as it was named.
    pub(super) file: &'a str,
    /// The image in it.
    pub(super) place: &'a Place,
    /// The architecture.
    pub(super) arch: Arch,
}

/// Some neighbours in a function.
pub(super) struct Piece<'a> {
    /// The function.
    pub(super) function: &'a Function<'a>,
    /// Which of the image's functions that is.
    pub(super) index: usize,
    /// The indices of the instructions.
    pub(super) range: Range<usize>,
}

/// The control field as its bits are, legal or not.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    /// Cycles until the warp's next instruction may issue.
    pub(super) stall: u8,
    /// Whether the scheduler should turn to another warp.
    pub(super) yields: bool,
    /// The scoreboard that is released when the operands have been read.
    pub(super) read: Option<u8>,
    /// The scoreboard that is released when the results are there.
    pub(super) write: Option<u8>,
    /// The scoreboards that are waited for, a bit each.
    pub(super) wait: u8,
    /// Operands that the next instruction reads too, a bit each.
    pub(super) reuse: u8,
    /// The batch code.
    pub(super) batch: u8,
}

impl Fields {
    /// Those of a word.
    pub(super) fn of_word(word: u128) -> Fields {
        let field = (word >> Control::LOWEST_BIT) as u32;
        let bits = |lo: u32, len: u32| (field >> lo & ((1 << len) - 1)) as u8;
        let scoreboard = |index: u8| (index != 7).then_some(index);
        let yields = bits(4, 1) == 0;
        let upper = bits(17, 3);
        Fields {
            stall: bits(0, 4),
            yields,
            write: scoreboard(bits(5, 3)),
            read: scoreboard(bits(8, 3)),
            wait: bits(11, 6),
            reuse: if yields { 0 } else { upper },
            batch: if yields { upper } else { 0 },
        }
    }
}

/// An instruction.
pub(super) struct Row<'t> {
    /// Where it lies in its section, in bytes.
    pub(super) offset: u32,
    /// Its bits.
    pub(super) word: u128,
    /// Its control field.
    pub(super) fields: Fields,
    /// Its text; the word as data where it is no instruction.
    pub(super) text: &'t [u8],
    /// Why it is none.
    pub(super) note: Option<&'t str>,
    /// The instruction itself.
    pub(super) coded: Option<&'t Coded>,
}

impl<'t> Row<'t> {
    /// Its text.
    pub(super) fn text(&self) -> &'t str {
        std::str::from_utf8(self.text).unwrap_or_default()
    }
}

/// Words that are no instructions.
#[derive(Clone, Debug, Default)]
pub(super) struct Undecoded {
    /// How many.
    pub(super) count: usize,
    /// The offset of the first, and why.
    pub(super) first: Option<(u32, String)>,
}

impl Undecoded {
    /// Adds those of code that follows.
    pub(super) fn extend(&mut self, other: Undecoded) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }
}

impl Piece<'_> {
    /// Shows each instruction; those that are none.
    pub(super) fn rows(&self, arch: Arch, mut each: impl FnMut(&Row<'_>)) -> Undecoded {
        let mut undecoded = Undecoded::default();
        // One buffer for all: nothing is allocated for an instruction.
        let (mut text, mut note, mut coded) = (Vec::new(), String::new(), bits::blank());
        for (offset, word) in self.function.words(self.range.clone()) {
            text.clear();
            note.clear();
            let coded = match bits::decode_into(word, offset, arch, &mut coded) {
                Ok(()) => {
                    push_inst(&mut text, &coded.inst, coded.control.reuse, &[], arch);
                    Some(&coded)
                }
                Err(why) => {
                    data(&mut text, word);
                    note.push_str(&why.to_string());
                    undecoded.count += 1;
                    undecoded.first.get_or_insert_with(|| (offset, note.clone()));
                    None
                }
            };
            let note = coded.is_none().then_some(&*note);
            each(&Row { offset, word, fields: Fields::of_word(word), text: &text, note, coded });
        }
        undecoded
    }
}

/// A word that is no instruction, as two of 64 bits.
fn data(text: &mut Vec<u8>, word: u128) {
    let digits = all_hex_digits(word);
    let (high, low) = digits.split_at(digits.len() / 2);
    text.extend([b".dword 0x", low, b", 0x", high].concat());
}
