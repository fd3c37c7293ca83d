//! What a file contains, and where.

use std::fmt;

use crate::error::ContainerError;
use crate::image::Image;

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
