//! Every instruction that NVIDIA's assembler makes, there and back, and beside its disassembler.
//!
//! In: PTX files, compiled with ptxas for each architecture that their target allows. Each distinct instruction word of
//! the cubins is decoded, printed, parsed and encoded again, which must give the same word; and its text must be what
//! nvdisasm prints for it. Out: a line an architecture, and every form that fails.
//!
//! The words and nvdisasm's texts are kept in `target/bits`, a file an architecture, and made anew with `--observe`.

mod command;
mod generate;
mod oracle;
pub mod page;
mod ptx_files;
mod survive;

pub use command::Bits;
pub use generate::{edges, random};
pub use oracle::{Oracle, Words};
pub use ptx_files::ptx_files;
pub use survive::{Failure, form, normal, survive, without_guard};
