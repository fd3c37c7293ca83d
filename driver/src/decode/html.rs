//! One self-contained HTML page, with a column for each scoreboard, that shows what each wait waits
//! for.
//!
//! The page is `page.html`, with the functions inserted as JSON. Each function has its rows, and
//! for each wait the rows that may have taken the scoreboard, as found by [`waits`]. The page draws
//! only the rows in view, so functions of any length can be scrolled.

use std::io::{self, Write};

use ptxc_container::Function;
use ptxc_sass::Control;
use ptxc_sass::waits::{Step, waits};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::row::{Fields, Piece, Source, Undecoded};

const PAGE: &str = include_str!("page.html");

/// The placeholder for the data.
const PLACE: &str = "@DATA@";

/// A partly written page.
pub(super) struct Page {
    is_first: bool,
}

/// JSON that is safe inside a script element: nothing in it ends the script.
fn safe(text: &str) -> String {
    text.replace('<', "\\u003c")
}

impl Page {
    /// Begins a page.
    pub(super) fn begin(out: &mut dyn Write) -> io::Result<Page> {
        let (head, _) = PAGE.split_once(PLACE).expect("the page has a place for its data");
        out.write_all(head.as_bytes())?;
        out.write_all(b"[")?;
        Ok(Page { is_first: true })
    }

    /// Adds an image.
    pub(super) fn image(
        &mut self,
        source: &Source<'_>,
        functions: &[Function<'_>],
        out: &mut dyn Write,
        note: &mut dyn FnMut(&Function<'_>, Undecoded),
    ) -> io::Result<()> {
        /// The number of functions that are converted to JSON before they are written.
        const WINDOW: usize = 256;
        for window in functions.chunks(WINDOW) {
            let data: Vec<(Value, Undecoded)> =
                window.par_iter().map(|function| function_data(source, function)).collect();
            for (function, (data, undecoded)) in window.iter().zip(data) {
                if !std::mem::take(&mut self.is_first) {
                    out.write_all(b",\n")?;
                }
                out.write_all(safe(&data.to_string()).as_bytes())?;
                note(function, undecoded);
            }
        }
        Ok(())
    }

    /// Ends the page.
    pub(super) fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        let (_, tail) = PAGE.split_once(PLACE).expect("the page has a place for its data");
        out.write_all(b"]")?;
        out.write_all(tail.as_bytes())
    }
}

/// A function in the format of the page. Each row is an array: offset, instruction, stall, yield,
/// read, write, wait, reuse, batch, and a note if there is one. An absent scoreboard is -1.
fn function_data(source: &Source<'_>, function: &Function<'_>) -> (Value, Undecoded) {
    let mut rows = Vec::with_capacity(function.len());
    let mut insts: Vec<Step> = Vec::with_capacity(function.len());
    let piece = Piece { function, index: 0, range: 0..function.len() };
    let undecoded = piece.rows(source.arch, |row| {
        let Fields { stall, yields, read, write, wait, reuse, batch } = row.fields;
        let scoreboard = |index: Option<u8>| index.map_or(-1, i32::from);
        let (read, write) = (scoreboard(read), scoreboard(write));
        let mut values =
            json!([row.offset, row.text(), stall, u8::from(yields), read, write, wait, reuse, batch]);
        if let (Some(note), Some(values)) = (row.note, values.as_array_mut()) {
            values.push(note.into());
        }
        rows.push(values);
        insts.push(match row.coded {
            Some(coded) => (Some(coded.inst.clone()), coded.control),
            None => (None, Control::of_word((row.word >> 64) as u64).unwrap_or_default()),
        });
    });
    // The waiting row, the scoreboard, and the rows that may have taken it.
    let waits: Vec<Value> = waits(&insts, function.start)
        .into_iter()
        .map(|wait| json!([wait.inst, wait.scoreboard, wait.setters.to_vec()]))
        .collect();
    let data = json!({
        "name": function.name,
        "arch": source.arch.to_string(),
        "file": source.file,
        "member": source.place.member,
        "image": source.place.number,
        "rows": rows,
        "waits": waits,
    });
    (data, undecoded)
}
