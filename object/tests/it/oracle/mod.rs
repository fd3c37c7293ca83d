//! NVIDIA's assembler compiles the corpus, its disassembler prints the result, and the tests
//! compare the tables with the output.
//!
//! The tests need the two tools (in the folder `ORACLE`, or else in `~/.cache/ptxc-oracle`) and the
//! corpus next to the repository; without them the tests print a note and check nothing. Every twelfth
//! kernel is checked, different ones on each architecture; `PTXC_STRIDE=1`, as in
//! `cargo xtask nightly`, checks all kernels.

mod control;
mod cubin;
mod latency;
mod program;
mod relocation;
mod text;
mod tools;
mod whole_file;

/// The corpus.
const FOLDERS: &[&str] = &["t1", "t2", "t3", "peers20", "triton"];
