//! The reasons why a cubin cannot be read or written.

use std::fmt;

/// An error about a cubin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CubinError {
    /// The bytes are not a cubin: not a 64-bit ELF file for the CUDA machine. Says what they are or
    /// lack.
    NotACubin(String),
    /// A cubin for an architecture with another instruction format, by the number in its name.
    Arch(u32),
    /// An architecture whose constants in cubins are unknown.
    NoFormat(ptxc_machine::Arch),
    /// The file is inconsistent or ends too early. Says where and how.
    Malformed(String),
    /// Parts of the file overlap so much that reading it would take far more memory than its size.
    Overlapping,
    /// The requested kernel, by its name, is not in the cubin.
    Missing(String),
    /// An instruction cannot be encoded or decoded: the kernel, the byte offset in it, and the
    /// reason.
    Code {
        /// The kernel.
        function: String,
        /// The byte offset of the instruction from the start of the kernel.
        offset: u32,
        /// The reason.
        why: String,
    },
    /// The text of an object for a linker.
    Relocatable,
    /// A text with code for several architectures.
    Architectures,
    /// The programs need something that this writer cannot express. Names it.
    Unsupported(String),
}

impl CubinError {
    pub(super) fn malformed(what: impl Into<String>) -> CubinError {
        CubinError::Malformed(what.into())
    }
}

impl fmt::Display for CubinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CubinError::NotACubin(why) => write!(f, "not a cubin: {why}"),
            CubinError::Arch(number) => {
                let known = ptxc_machine::Arch::ALL.map(|arch| arch.to_string()).join(", ");
                write!(f, "a cubin for sm_{number}; there are {known}")
            }
            CubinError::NoFormat(arch) => {
                write!(f, "cannot write a cubin for {arch}: the contents of its cubins are not known")
            }
            CubinError::Malformed(what) => write!(f, "malformed cubin: {what}"),
            CubinError::Overlapping => f.write_str("malformed cubin: its parts overlap too often"),
            CubinError::Missing(name) => write!(f, "the cubin has no kernel `{name}`"),
            CubinError::Code { function, offset, why } => write!(f, "`{function}` at {offset:#06x}: {why}"),
            CubinError::Relocatable => f.write_str(
                "a relocatable object cannot be assembled again, because its text lacks parts that a linker needs; \
                 link it first, and disassemble the result",
            ),
            CubinError::Architectures => {
                f.write_str("there are kernels for several architectures, but a cubin is for one")
            }
            CubinError::Unsupported(what) => write!(f, "{what} is not supported in a cubin yet"),
        }
    }
}

impl std::error::Error for CubinError {}
