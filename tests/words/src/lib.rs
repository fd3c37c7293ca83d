//! Every instruction that NVIDIA's assembler emits, decoded and encoded again, and compared with
//! NVIDIA's disassembler.
//!
//! In: PTX files, compiled with ptxas for each architecture that their target allows. Each distinct
//! instruction word of the cubins is decoded, printed, parsed and encoded again, which must give
//! the same word. Its text must be the text that nvdisasm prints for it. Out: one line per
//! architecture, and every form that fails.
//!
//! The words and nvdisasm's texts are stored in `target/bits`, one file per architecture;
//! `--observe` regenerates them.

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
