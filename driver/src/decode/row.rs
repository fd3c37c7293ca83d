//! One instruction, with the fields that every format shows.

use std::ops::Range;

use ptxc_container::{Function, Place};
use ptxc_machine::Arch;
use ptxc_sass::text::number::all_hex_digits;
use ptxc_sass::text::push_inst;
use ptxc_sass::{Coded, Control, bits};

/// The properties that the rows of an image share.
pub(super) struct Source<'a> {
    /// The path of the file as given on the command line.
    pub(super) file: &'a str,
    /// The place of the image in the file.
    pub(super) place: &'a Place,
    /// The architecture.
    pub(super) arch: Arch,
}

/// A range of instructions of a function.
pub(super) struct Piece<'a> {
    /// The function.
    pub(super) function: &'a Function<'a>,
    /// The index of that function in the image.
    pub(super) index: usize,
    /// The indices of the instructions.
    pub(super) range: Range<usize>,
}

/// The control field exactly as encoded, legal or not.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    /// Cycles until the warp's next instruction may issue.
    pub(super) stall: u8,
    /// Whether the scheduler should switch to another warp.
    pub(super) yields: bool,
    /// The scoreboard that is released when the operands have been read.
    pub(super) read: Option<u8>,
    /// The scoreboard that is released when the results are written.
    pub(super) write: Option<u8>,
    /// The scoreboards that are waited for, one bit each.
    pub(super) wait: u8,
    /// The operands that the next instruction reads too, one bit each.
    pub(super) reuse: u8,
    /// The batch code.
    pub(super) batch: u8,
}

impl Fields {
    /// The control field of a word.
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
    /// The offset in its section, in bytes.
    pub(super) offset: u32,
    /// Its bits.
    pub(super) word: u128,
    /// Its control field.
    pub(super) fields: Fields,
    /// Its text, or the word as data if it is not an instruction.
    pub(super) text: &'t [u8],
    /// The reason why it is not an instruction.
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

/// Words that are not instructions.
#[derive(Clone, Debug, Default)]
pub(super) struct Undecoded {
    /// The number of such words.
    pub(super) count: usize,
    /// The offset of the first, and the reason.
    pub(super) first: Option<(u32, String)>,
}

impl Undecoded {
    /// Adds the words of the code that follows.
    pub(super) fn extend(&mut self, other: Undecoded) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }
}

impl Piece<'_> {
    /// Calls `each` for each instruction, and returns the words that are not instructions.
    pub(super) fn rows(&self, arch: Arch, mut each: impl FnMut(&Row<'_>)) -> Undecoded {
        let mut undecoded = Undecoded::default();
        // One buffer serves all rows: nothing is allocated for an instruction.
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

/// A word that is not an instruction, as two words of 64 bits.
fn data(text: &mut Vec<u8>, word: u128) {
    let digits = all_hex_digits(word);
    let (high, low) = digits.split_at(digits.len() / 2);
    text.extend([b".dword 0x", low, b", 0x", high].concat());
}
