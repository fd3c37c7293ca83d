//! The kernels that must lower, with their execution cases.

use std::path::{Path, PathBuf};

/// A kernel and its case.
pub(crate) struct Kernel {
    /// The name of the entry.
    pub(crate) entry: &'static str,
    /// The PTX file.
    pub(crate) ptx: PathBuf,
    /// The case.
    pub(crate) case: PathBuf,
}

/// Entry, and file below `ptx/t1`.
const CORPUS: &[(&str, &str)] = &[
    ("reduce_shared", "reduce_shared"),
    ("matmul_tiled_f32", "matmul_tiled"),
    ("matmul_tiled_s32", "matmul_tiled"),
    ("histogram_shared", "histogram_shared"),
    ("warp_votes", "warp_votes"),
    ("mandelbrot", "mandelbrot"),
    ("spmv_csr", "spmv_csr"),
    ("switch_vm", "switch_vm"),
];

/// Our own kernel, and those of the corpus if it is there.
pub(crate) fn kernels(corpus: &Path) -> Vec<Kernel> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests");
    let mut list = vec![Kernel {
        entry: "saxpy",
        ptx: tests.join("lit/kernels/saxpy.ptx"),
        case: tests.join("cases/saxpy.json"),
    }];
    if !corpus.is_dir() {
        println!("SKIPPED: the kernels of {}, which is absent", corpus.display());
        return list;
    }
    list.extend(CORPUS.iter().map(|(entry, file)| Kernel {
        entry,
        ptx: corpus.join(format!("ptx/t1/{file}.sm_90.ptx")),
        case: corpus.join(format!("exec/{entry}.json")),
    }));
    list
}
