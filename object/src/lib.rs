//! Object files: the files that machine code is loaded from.
//!
//! [`cubin`] writes and reads the ELF files that the CUDA driver loads: sections, symbols,
//! attributes, relocations, source lines. [`container`] finds machine code in other files: fatbins
//! (compressed or not), objects, libraries, programs and archives. [`ptxc_sass`] encodes and
//! decodes instructions.

pub mod container;
pub mod cubin;
