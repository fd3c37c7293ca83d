//! Object files: the files that machine code is loaded from.
//!
//! [`cubin`] writes and reads the ELF files that the CUDA driver loads: sections, symbols,
//! attributes, relocations, source lines. `ptxc_container` finds machine code in other files, and
//! [`ptxc_sass`] encodes and decodes instructions.

pub mod cubin;
