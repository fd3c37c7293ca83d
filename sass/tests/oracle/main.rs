//! NVIDIA's assembler compiles the corpus, its disassembler prints the result, and the tables are held
//! against what comes out.
//!
//! Needs the two tools (`ORACLE` names their folder, else `~/.cache/ptxc-oracle` is looked at) and the
//! corpus beside the repository; without them the tests say so and check nothing. By default a handful
//! of kernels is looked at, with `--ignored` the whole corpus.

mod latency;
mod program;
mod text;
mod tools;

/// The corpus.
const FOLDERS: &[&str] = &["t1", "t2", "t3", "peers20"];

/// Whether a kernel is among those that are always looked at.
fn is_usual(file: &str) -> bool {
    ["mandelbrot", "matmul_tiled", "reduce_shared", "spmv_csr", "switch_vm", "warp_votes"]
        .iter()
        .any(|name| file.starts_with(name))
}
