//! NVIDIA's assembler compiles the corpus, its disassembler prints the result, and the tables are held
//! against what comes out.
//!
//! Needs the two tools (`ORACLE` names their folder, else `~/.cache/ptxc-oracle` is looked at) and the
//! corpus beside the repository; without them the tests say so and check nothing. Distances and hazards are looked at
//! in every fourth kernel, on each architecture in others; `PTXC_ORACLE_STRIDE=1` looks at all.

mod control;
mod cubin;
mod latency;
mod program;
mod relocation;
mod text;
mod tools;

/// The corpus.
const FOLDERS: &[&str] = &["t1", "t2", "t3", "peers20"];
