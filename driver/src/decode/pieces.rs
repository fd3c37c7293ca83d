//! Rows in parallel, written in order.
//!
//! The code of an image is cut into batches of a few thousand instructions, from one function or
//! many. All processors render some batches at a time, which are then written one after the other.
//! So memory is limited to the text of these batches.

use std::io::Write;

use ptxc_container::Function;
use rayon::prelude::*;

use super::row::{Piece, Undecoded};

/// Instructions in a batch.
pub(super) const BATCH: usize = 1 << 12;
/// The number of batches that are rendered before they are written; the next batches reuse their
/// memory.
const WINDOW: usize = 64;

/// Cuts functions into batches.
pub(super) fn batches<'a>(functions: &'a [Function<'a>]) -> Vec<Vec<Piece<'a>>> {
    let mut batches = Vec::new();
    let mut batch = Vec::new();
    let mut filled = 0;
    for (index, function) in functions.iter().enumerate() {
        let mut start = 0;
        loop {
            let end = function.len().min(start + BATCH - filled);
            batch.push(Piece { function, index, range: start..end });
            filled += end - start;
            if filled == BATCH {
                batches.push(std::mem::take(&mut batch));
                filled = 0;
            }
            start = end;
            if start == function.len() {
                break;
            }
        }
    }
    batches.push(batch);
    batches
}

/// Renders all pieces and writes the text in order. Returns the words of each piece that are not
/// instructions.
pub(super) fn write<'a, T>(
    functions: &'a [Function<'a>],
    out: &mut dyn Write,
    render: impl Fn(&Piece<'_>, &mut T) -> Undecoded + Sync,
    note: &mut dyn FnMut(&Function<'_>, Undecoded),
) -> std::io::Result<()>
where
    T: Text,
{
    let batches = batches(functions);
    let mut window: Vec<(T, Vec<Undecoded>)> = Vec::new();
    window.resize_with(batches.len().min(WINDOW), Default::default);
    for batches in batches.chunks(WINDOW) {
        let render = |(batch, (text, undecoded)): (&Vec<Piece<'_>>, &mut (T, Vec<Undecoded>))| {
            text.clear();
            undecoded.extend(batch.iter().map(|piece| render(piece, text)));
        };
        match batches {
            // A single batch needs no other thread.
            [batch] => window.iter_mut().take(1).for_each(|into| render((batch, into))),
            _ => batches.par_iter().zip(&mut window).for_each(render),
        }
        for (batch, (text, undecoded)) in batches.iter().zip(&mut window) {
            out.write_all(text.as_ref())?;
            for (piece, undecoded) in batch.iter().zip(undecoded.drain(..)) {
                note(piece.function, undecoded);
            }
        }
    }
    Ok(())
}

/// The text that rows are rendered to.
pub(super) trait Text: AsRef<[u8]> + Default + Send {
    /// Empties it and keeps its memory.
    fn clear(&mut self);
}

impl Text for String {
    fn clear(&mut self) {
        self.clear();
    }
}

impl Text for Vec<u8> {
    fn clear(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_cover_every_instruction_once_and_in_order() {
        let sizes = [0, 5, BATCH, 0, 3 * BATCH + 7, 1];
        let functions: Vec<Function<'_>> = sizes
            .iter()
            .map(|&size| Function { name: "f".into(), start: 0, code: vec![0; 16 * size].into() })
            .collect();
        let batches = batches(&functions);
        assert!(
            batches.iter().all(|batch| batch.iter().map(|piece| piece.range.len()).sum::<usize>() <= BATCH)
        );
        let mut ends = vec![0; sizes.len()];
        for piece in batches.iter().flatten() {
            let place = functions.iter().position(|function| std::ptr::eq(function, piece.function)).unwrap();
            assert_eq!(piece.range.start, ends[place]);
            ends[place] = piece.range.end;
        }
        assert_eq!(ends, sizes);
    }
}
