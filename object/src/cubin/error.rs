//! Why a cubin can't be read or written.

use std::fmt;

/// An error about a cubin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CubinError {
    /// The bytes are no cubin at all: no ELF file of 64 bits for the CUDA machine. Says what they are or lack.
    NotACubin(String),
    /// A cubin for an architecture, by the number in its name, whose instructions have another format.
    Arch(u32),
    /// An architecture for which it is not known what a cubin says.
    NoFormat(ptxc_machine::Arch),
    /// The file contradicts itself or ends too early. Says where and how.
    Malformed(String),
    /// Parts of the file overlap so often that reading it would take far more memory than it has bytes.
    Overlapping,
    /// What was asked for is not there: a kernel by its name.
    Missing(String),
    /// An instruction can't be encoded or decoded: the kernel, the byte offset in it, and why.
    Code {
        /// The kernel.
        function: String,
        /// The byte offset of the instruction from the start of the kernel.
        offset: u32,
        /// What is wrong with it.
        why: String,
    },
    /// The programs need what a cubin of ours can't express. Names it.
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
                write!(f, "cannot write a cubin for {arch}: what its cubins say is not known")
            }
            CubinError::Malformed(what) => write!(f, "malformed cubin: {what}"),
            CubinError::Overlapping => f.write_str("malformed cubin: its parts overlap over and over"),
            CubinError::Missing(name) => write!(f, "the cubin has no kernel `{name}`"),
            CubinError::Code { function, offset, why } => write!(f, "`{function}` at {offset:#06x}: {why}"),
            CubinError::Unsupported(what) => write!(f, "{what} is not supported in a cubin yet"),
        }
    }
}

impl std::error::Error for CubinError {}
