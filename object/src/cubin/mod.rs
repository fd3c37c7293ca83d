//! Cubins: the ELF files that the CUDA driver loads.
//!
//! [`write()`] makes a file of [contents](Cubin), and [`read()`] reads one. Both handle ELF and
//! NVIDIA's additions to it, but not instructions: code is bytes to them. [`assemble()`] makes
//! contents from [programs](ptxc_sass::Program), and [`program()`] makes a program from a kernel in
//! them.

mod assemble;
mod attribute;
mod contents;
mod elf;
mod error;
mod frame;
mod kernel_info;
mod line;
mod link;
mod note;
mod notes;
mod program;
mod read;
mod relocation;
mod shared;
mod text;
mod write;

pub use assemble::{Module, Source, assemble, encode, sampler_attributes};
pub use contents::{
    Abi, Bank, Binding, Cubin, Function, GlobalVariable, Image, IndirectBranch, Launch, Line,
    OutsideVariable, Param, Part, Prototype,
};
pub use error::CubinError;
pub use link::{LinkError, link};
pub use program::program;
pub use read::read;
pub use relocation::{Relocation, RelocationKind};
pub use text::{assemble_text, kept, write_text};
pub use write::write;
