//! The reasons why a container or an image cannot be read.

use std::fmt;

use crate::image::MAX_IMAGE;

/// The reason why bytes are not images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerError {
    /// The bytes start like no known format.
    Unknown,
    /// A file of the host without fatbins.
    NoFatbin,
    /// A text without encodings of instructions.
    NoEncoding,
    /// A part extends beyond the end of its container.
    Truncated(&'static str),
    /// A part breaks a rule of its format.
    Malformed(String),
    /// Two parts name the same bytes.
    Overlapping(&'static str),
    /// An image claims more than [`MAX_IMAGE`] bytes.
    TooLarge(u64),
    /// An image claims more bytes than its compressed bytes can expand to: the first number is the
    /// claim, the second the limit.
    Expands(u64, u64),
    /// Compressed bytes are malformed.
    Compression(String),
    /// Code of an unknown architecture, by its number.
    Arch(u32),
}

impl fmt::Display for ContainerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContainerError::Unknown => f.write_str("no machine code of a known kind was found"),
            ContainerError::NoFatbin => f.write_str("it has no section `.nv_fatbin` or `__nv_relfatbin`"),
            ContainerError::NoEncoding => f.write_str("the text has no encodings of instructions"),
            ContainerError::Truncated(what) => write!(f, "{what} reaches beyond the end"),
            ContainerError::Malformed(what) => f.write_str(what),
            ContainerError::Overlapping(what) => write!(f, "two {what} overlap"),
            ContainerError::TooLarge(size) => {
                write!(
                    f,
                    "an image claims {size} bytes, more than it can have: ptxc reads at most {MAX_IMAGE}"
                )
            }
            ContainerError::Expands(size, most) => {
                write!(
                    f,
                    "an image claims {size} bytes, more than its compressed bytes expand to: at most {most}"
                )
            }
            ContainerError::Compression(why) => write!(f, "its compressed bytes are malformed: {why}"),
            ContainerError::Arch(number) => {
                write!(f, "the instructions of sm_{number} are not known here")
            }
        }
    }
}

impl std::error::Error for ContainerError {}
