//! Why a container or an image can't be read.

use std::fmt;

use super::MAX_IMAGE;

/// Why bytes are no images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerError {
    /// Nothing that is known begins like this.
    Unknown,
    /// A file of the host without fatbins.
    NoFatbin,
    /// A text without encodings of instructions.
    NoEncoding,
    /// Something reaches beyond the end of what it is in.
    Truncated(&'static str),
    /// Something is not as it has to be.
    Malformed(String),
    /// Two parts name the same bytes.
    Overlapping(&'static str),
    /// An image would have more than [`MAX_IMAGE`] bytes, or more than its compressed bytes can become.
    TooLarge(u64),
    /// Compressed bytes are not what a compressor makes.
    Compression(String),
    /// Code of an architecture whose instructions are not known, by its number.
    Arch(u32),
}

impl fmt::Display for ContainerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContainerError::Unknown => f.write_str("there is no machine code of a kind that is known here"),
            ContainerError::NoFatbin => f.write_str("it has no section `.nv_fatbin` or `__nv_relfatbin`"),
            ContainerError::NoEncoding => f.write_str("the text has no encodings of instructions"),
            ContainerError::Truncated(what) => write!(f, "{what} reaches beyond the end"),
            ContainerError::Malformed(what) => f.write_str(what),
            ContainerError::Overlapping(what) => write!(f, "two {what} overlap"),
            ContainerError::TooLarge(size) => {
                write!(f, "an image claims {size} bytes, more than it can have (at most {MAX_IMAGE})")
            }
            ContainerError::Compression(why) => write!(f, "its compressed bytes are malformed: {why}"),
            ContainerError::Arch(number) => {
                write!(f, "the instructions of sm_{number} are not known here")
            }
        }
    }
}

impl std::error::Error for ContainerError {}
