//! Finds machine code in files: [images](visit) in containers, and the [functions](Image) in an
//! image.
//!
//! | bytes | parts that are read |
//! |---|---|
//! | a cubin: an ELF file of NVIDIA's machine | its sections `.text.…` |
//! | a fatbin | each entry that is a cubin, compressed or not |
//! | an object, a shared object or a program of the host | the fatbins in `.nv_fatbin` and `__nv_relfatbin` |
//! | an archive | each member that is one of these |
//! | text of `nvdisasm -hex` or `cuobjdump -sass` | the encodings after the instructions |
//!
//! ```
//! use ptxc_object::container::{Found, visit};
//!
//! let mut messages = Vec::new();
//! visit(b"no such file", &mut |_, found| match found {
//!     Found::Image(image) => messages.push(format!("{} functions", image.functions.len())),
//!     Found::Skipped(content) => messages.push(format!("{content} left out")),
//!     Found::Broken(why) => messages.push(why.to_string()),
//! });
//! assert_eq!(messages, ["no machine code of a known kind was found"]);
//! ```
//!
//! Files are untrusted: any bytes give images or errors, and an error does not hide later images.
//! Memory stays within a small multiple of the file and the largest image, which [`MAX_IMAGE`]
//! limits. Images are visited one after the other, so that only one image of a library with
//! thousands is decompressed at a time. There is no recursion: an archive in an archive, or a
//! fatbin in a fatbin, is not an image. Linear in the bytes, except for sorting each image's
//! symbols.

mod code;
mod compression;
mod error;
mod fatbin;
mod host;
mod listing;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use ptxc_machine::Arch;

pub use error::ContainerError;

/// The greatest size of a decompressed image, in bytes.
pub const MAX_IMAGE: u64 = 1 << 29;

/// The greatest length of a function's name, in bytes.
pub const MAX_NAME: usize = 1 << 16;

/// Machine code of one architecture: the content of a cubin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// The architecture; `None` if a text does not name it.
    pub arch: Option<Arch>,
    /// Its functions, in the order of the file.
    pub functions: Vec<Function<'a>>,
    /// The bytes of the cubin, decompressed; none for the code of a text.
    pub cubin: &'a [u8],
}

/// The code of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its symbol.
    pub name: Cow<'a, str>,
    /// The function's start in its section, in bytes; targets of branches count from the start of
    /// the section.
    pub start: u32,
    /// The instructions, 16 bytes each.
    pub code: Cow<'a, [u8]>,
}

impl Function<'_> {
    /// The number of instructions.
    pub fn len(&self) -> usize {
        self.code.len() / 16
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words of some of its instructions, with their offsets in the section, in bytes.
    pub fn words(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = (u32, u128)> + '_ {
        let (chunks, _) = self.code.as_chunks::<16>();
        let range = range.start.min(chunks.len())..range.end.min(chunks.len());
        let first = self.start.wrapping_add(range.start as u32 * 16);
        let words = chunks[range].iter().map(|bytes| u128::from_le_bytes(*bytes));
        (0u32..).map(move |index| first.wrapping_add(index * 16)).zip(words)
    }
}

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The member of the archive.
    pub member: Option<String>,
    /// The number of the image, or of another entry, counted from 1 through the file; 0 is the file
    /// or the member itself.
    pub number: u32,
    /// The number of the architecture in the header of an entry of a fatbin, 90 for sm_90.
    pub arch: Option<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.member, self.number) {
            (None, 0) => f.write_str("the file"),
            (Some(member), 0) => write!(f, "member {member}"),
            (None, number) => write!(f, "image {number}"),
            (Some(member), number) => write!(f, "image {number} ({member})"),
        }
    }
}

/// The content at a place.
#[derive(Debug)]
pub enum Found<'a> {
    /// An image.
    Image(Image<'a>),
    /// Content that is intentionally not machine code.
    Skipped(Content),
    /// Content that cannot be read.
    Broken(ContainerError),
}

/// The content of a fatbin's entry that is not machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// PTX, to be compiled when the program runs.
    Ptx,
    /// An intermediate form, to be compiled when the program is linked.
    LinkTime,
    /// Another kind of content, by the number in the entry.
    Other(u16),
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Ptx => f.write_str("PTX"),
            Content::LinkTime => f.write_str("intermediate code for the linker"),
            Content::Other(kind) => write!(f, "an entry of kind {kind}"),
        }
    }
}

/// Counts places and passes the content of each to the caller.
struct Visit<'v> {
    place: Place,
    count: u32,
    each: &'v mut dyn FnMut(&Place, Found<'_>),
}

impl Visit<'_> {
    /// Passes on content at the next place.
    fn next(&mut self, found: Found<'_>) {
        self.count += 1;
        self.place.number = self.count;
        (self.each)(&self.place, found);
    }

    /// Visits the bytes of a cubin.
    fn cubin(&mut self, bytes: &[u8]) {
        let found = match code::image(bytes) {
            Ok(image) => Found::Image(image),
            Err(why) => Found::Broken(why),
        };
        self.next(found);
    }

    /// Reports an error of the file or member as a whole.
    fn broken(&mut self, why: ContainerError) {
        self.place.number = 0;
        self.place.arch = None;
        (self.each)(&self.place, Found::Broken(why));
    }
}

/// Calls a function with each image in a file, in the order of the file, and with each entry that
/// is not an image or is broken.
pub fn visit(bytes: &[u8], each: &mut dyn FnMut(&Place, Found<'_>)) {
    let mut visit = Visit { place: Place::default(), count: 0, each };
    if bytes.starts_with(host::ARCHIVE) {
        host::archive(bytes, &mut visit);
    } else if !object(bytes, &mut visit) {
        match listing::images(bytes) {
            Ok(images) => images
                .into_iter()
                .for_each(|image| visit.next(image.map_or_else(Found::Broken, Found::Image))),
            Err(why) => visit.broken(why),
        }
    }
}

/// Visits a file that is neither an archive nor a text; returns whether it is of a known kind.
fn object(bytes: &[u8], visit: &mut Visit<'_>) -> bool {
    if code::is_cubin(bytes) {
        visit.cubin(bytes);
    } else if fatbin::is_fatbin(bytes) {
        fatbin::entries(bytes, visit);
    } else if bytes.starts_with(&object::elf::ELFMAG) {
        host::fatbins(bytes, visit);
    } else {
        return false;
    }
    true
}
