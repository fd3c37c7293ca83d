//! Small images, rendered in groups.
//!
//! A library has thousands of images of a few hundred instructions. Each alone is too small to be
//! divided among processors. The images are kept until they have some thousand instructions
//! together. Then the rows of all of them are rendered in parallel and written in order.

use std::io::Write;

use ptxc_container::{Function, Place};
use ptxc_machine::Arch;
use rayon::prelude::*;

use super::pieces::{BATCH, Text};
use super::row::{Piece, Source, Undecoded};

/// The number of instructions that are gathered before they are written.
const MOST: usize = 16 * BATCH;

/// The number of texts that they are rendered to.
const TEXTS: usize = 16;

/// An image that waits for others.
pub(super) struct Gathered {
    place: Place,
    arch: Arch,
    /// Its functions.
    pub(super) functions: Vec<Function<'static>>,
}

impl Gathered {
    /// The properties that all rows of the image share; `path` is the path of the file.
    pub(super) fn source<'a>(&'a self, path: &'a str) -> Source<'a> {
        Source { file: path, place: &self.place, arch: self.arch }
    }
}

/// The waiting images, in the order of the file.
#[derive(Default)]
pub(super) struct Gathering {
    images: Vec<Gathered>,
    insts: usize,
}

impl Gathering {
    /// Whether an image is so small that it should wait for others.
    pub(super) fn wants(functions: &[Function<'_>]) -> bool {
        functions.iter().map(Function::len).sum::<usize>() < BATCH
    }

    /// Adds an image, and returns whether there are now enough of them.
    pub(super) fn push(&mut self, place: &Place, arch: Arch, functions: Vec<Function<'_>>) -> bool {
        self.insts += functions.iter().map(Function::len).sum::<usize>();
        let functions = functions.into_iter().map(|function| Function {
            name: function.name.into_owned().into(),
            start: function.start,
            code: function.code.into_owned().into(),
        });
        self.images.push(Gathered { place: place.clone(), arch, functions: functions.collect() });
        self.insts >= MOST
    }

    /// Takes all waiting images.
    pub(super) fn take(&mut self) -> Vec<Gathered> {
        self.insts = 0;
        std::mem::take(&mut self.images)
    }
}

/// Renders all functions of all images and writes the text in order. Returns, for each function of
/// each image, the words that are not instructions. The texts are reused: allocating memory for
/// each image costs more than rendering its rows.
pub(super) fn write<T: Text>(
    path: &str,
    images: &[Gathered],
    texts: &mut Vec<T>,
    out: &mut dyn Write,
    rows: impl Fn(&Source<'_>, &Piece<'_>, &mut T) -> Undecoded + Sync,
) -> std::io::Result<Vec<Vec<Undecoded>>> {
    let render = |image: &Gathered, text: &mut T| -> Vec<Undecoded> {
        let source = image.source(path);
        let of_function = |(index, function): (usize, &Function<'_>)| {
            rows(&source, &Piece { function, index, range: 0..function.len() }, text)
        };
        image.functions.iter().enumerate().map(of_function).collect()
    };
    texts.resize_with(TEXTS, T::default);
    let share = images.len().div_ceil(TEXTS).max(1);
    let said: Vec<Vec<Vec<Undecoded>>> = images
        .par_chunks(share)
        .zip(texts.par_iter_mut())
        .map(|(images, text)| {
            text.clear();
            images.iter().map(|image| render(image, text)).collect()
        })
        .collect();
    for (text, _) in texts.iter().zip(&said) {
        out.write_all(text.as_ref())?;
    }
    Ok(said.into_iter().flatten().collect())
}
