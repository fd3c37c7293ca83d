//! A table for people: aligned columns, with colours if wanted.
//!
//! ```text
//! saxpy                                              image 1 of saxpy.fatbin, sm_90
//! offset  instruction          stall  yield  read  write  wait    reuse  batch
//!   0000  S2R R0, SR_TID.X         1      -     -      0  ------  ---
//!   0010  IMAD R6, R0, R1, R2      5      Y     -      -  0-----  ---
//! ```
//!
//! Each scoreboard has a colour of its own, which leads the eye from a wait to the instruction that
//! sets the scoreboard.

use std::fmt::Write;

use ptxc_container::Function;
use ptxc_sass::Control;
use ptxc_sass::text::number::hex;
use rayon::prelude::*;

use super::row::{Fields, Piece, Row, Source, Undecoded};

/// The widths that the instruction column may have.
const WIDTHS: std::ops::RangeInclusive<usize> = 24..=64;

const RESET: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const YIELD: &str = "\x1b[35m";
/// A colour for each scoreboard: 256-colour codes that differ in hue and are readable on black and
/// on white.
const SCOREBOARDS: [&str; 6] =
    ["\x1b[38;5;33m", "\x1b[38;5;166m", "\x1b[38;5;64m", "\x1b[38;5;162m", "\x1b[38;5;136m", "\x1b[38;5;37m"];

/// The layout of a table.
pub(super) struct Table {
    /// Whether the table has colours.
    colored: bool,
    /// The width of the instruction column of each function.
    widths: Vec<usize>,
}

impl Table {
    /// The table of an image. Its instructions are rendered once beforehand to find their widths.
    pub(super) fn new(source: &Source<'_>, functions: &[Function<'_>], colored: bool) -> Table {
        let width = |function: &Function<'_>| {
            let mut width = *WIDTHS.start();
            let piece = Piece { function, index: 0, range: 0..function.len() };
            piece.rows(source.arch, |row| width = width.max(row.text.len()));
            width.min(*WIDTHS.end())
        };
        Table { colored, widths: functions.par_iter().map(width).collect() }
    }

    fn paint(&self, out: &mut String, color: &str, text: &str) {
        if self.colored {
            out.push_str(color);
        }
        out.push_str(text);
        if self.colored {
            out.push_str(RESET);
        }
    }

    /// Writes the rows of a piece, with the head of the function before its first row.
    pub(super) fn rows(&self, source: &Source<'_>, piece: &Piece<'_>, out: &mut String) -> Undecoded {
        let width = self.widths[piece.index];
        if piece.range.start == 0 {
            self.head(source, piece.function, width, out);
        }
        let undecoded = piece.rows(source.arch, |row| self.row(row, width, out));
        if piece.range.end == piece.function.len() {
            out.push('\n');
        }
        undecoded
    }

    fn head(&self, source: &Source<'_>, function: &Function<'_>, width: usize, out: &mut String) {
        self.paint(out, BOLD, &function.name);
        let place = match &source.place.member {
            Some(member) => format!("{}({member})", source.file),
            None => source.file.to_string(),
        };
        self.paint(out, DIM, &format!("  {}, image {} of {place}", source.arch, source.place.number));
        out.push('\n');
        let names =
            format!("offset  {:width$}  stall  yield  read  write  wait    reuse  batch", "instruction",);
        self.paint(out, DIM, &names);
        out.push('\n');
    }

    fn row(&self, row: &Row<'_>, width: usize, out: &mut String) {
        let mut offset = String::new();
        let _ = hex(&mut offset, u128::from(row.offset), 4);
        self.paint(out, DIM, &format!("{offset:>6}"));
        out.push_str("  ");
        if row.note.is_some() {
            self.paint(out, RED, row.text());
        } else {
            self.instruction(row.text(), out);
        }
        let pad = width.saturating_sub(row.text.len());
        let Fields { stall, yields, read, write, wait, reuse, batch } = row.fields;
        let _ = write!(out, "{:pad$}  {stall:>5}  ", "");
        if yields {
            self.paint(out, YIELD, "    Y");
        } else {
            out.push_str("    -");
        }
        for (scoreboard, pad) in [(read, 5), (write, 6)] {
            out.push_str(&" ".repeat(pad));
            self.scoreboard(scoreboard, out);
        }
        out.push_str("  ");
        for index in 0..Control::SCOREBOARDS {
            self.scoreboard((wait >> index & 1 != 0).then_some(index), out);
        }
        out.push_str("  ");
        for (index, letter) in ['a', 'b', 'c'].into_iter().enumerate() {
            out.push(if reuse >> index & 1 != 0 { letter } else { '-' });
        }
        if batch != 0 {
            let _ = write!(out, "    {batch:>5}");
        }
        if let Some(note) = row.note {
            out.push_str("  ");
            self.paint(out, RED, note);
        }
        out.push('\n');
    }

    /// An instruction with its mnemonic in bold.
    fn instruction(&self, text: &str, out: &mut String) {
        if !self.colored {
            return out.push_str(text);
        }
        let guard = if text.starts_with('@') { text.find(' ').map_or(0, |at| at + 1) } else { 0 };
        let end = text[guard..].find(' ').map_or(text.len(), |at| guard + at);
        self.paint(out, DIM, &text[..guard]);
        self.paint(out, BOLD, &text[guard..end]);
        out.push_str(&text[end..]);
    }

    fn scoreboard(&self, index: Option<u8>, out: &mut String) {
        match index {
            None => out.push('-'),
            Some(index) => {
                let color = SCOREBOARDS.get(usize::from(index)).unwrap_or(&RED);
                self.paint(out, color, char::from(b'0' + index).encode_utf8(&mut [0; 4]));
            }
        }
    }
}
