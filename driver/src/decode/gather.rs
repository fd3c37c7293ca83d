//! Small images, some of them at a time.
//!
//! A library has thousands of images of a few hundred instructions, of which each alone is too small to be divided among
//! processors. They are kept until they are some thousand instructions together; then each becomes rows, all at once, and they
//! are written one after the other.

use std::io::Write;

use ptxc_sass::Arch;
use ptxc_sass::container::{Function, Place};
use rayon::prelude::*;

use super::pieces::{BATCH, Text};
use super::row::{Piece, Source, Undecoded};

/// Instructions that are gathered before they are written.
const MOST: usize = 16 * BATCH;

/// An image that waits.
pub(super) struct Gathered {
    place: Place,
    arch: Arch,
    /// Its functions.
    pub(super) functions: Vec<Function<'static>>,
}

impl Gathered {
    /// What its rows have in common; `path` is that of the file.
    pub(super) fn source<'a>(&'a self, path: &'a str) -> Source<'a> {
        Source { file: path, place: &self.place, arch: self.arch }
    }
}

/// The images that wait, in the order of the file.
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

    /// Adds an image; whether there are enough of them now.
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

    /// Those that wait; then none does.
    pub(super) fn take(&mut self) -> Vec<Gathered> {
        self.insts = 0;
        std::mem::take(&mut self.images)
    }
}

/// Renders all functions of all images and writes what comes out, in order; for each image, what is said of the words of each
/// function that are no instructions.
pub(super) fn write<T: Text>(
    path: &str,
    images: &[Gathered],
    out: &mut dyn Write,
    rows: impl Fn(&Source<'_>, &Piece<'_>, &mut T) -> Undecoded + Sync,
) -> std::io::Result<Vec<Vec<Undecoded>>> {
    let render = |image: &Gathered| {
        let (source, mut text) = (image.source(path), T::default());
        let of_function = |(index, function): (usize, &Function<'_>)| {
            rows(&source, &Piece { function, index, range: 0..function.len() }, &mut text)
        };
        let undecoded: Vec<Undecoded> = image.functions.iter().enumerate().map(of_function).collect();
        (text, undecoded)
    };
    let rendered: Vec<(T, Vec<Undecoded>)> = images.par_iter().map(render).collect();
    rendered.into_iter().map(|(text, undecoded)| out.write_all(text.as_ref()).map(|()| undecoded)).collect()
}
