//! Measures the parser alone, as a process.

use std::path::Path;

use super::process::measure;
use super::shapes;

/// Speed and memory of `ptxc check --syntax` on one file with kernels of all shapes, minus the
/// figures for an empty file.
pub(super) fn table(ptxc: &Path, runs: u32) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (path, empty) = (folder.path().join("k.ptx"), folder.path().join("empty.ptx"));
    let kernels: String = (0..40).map(|_| shapes::straight(10_000) + &shapes::branches(10_000)).collect();
    let write = |path: &Path, text: &str| std::fs::write(path, text).map_err(|error| error.to_string());
    write(&path, &kernels)?;
    write(&empty, "")?;
    let took = measure(ptxc, &["check", "--syntax", &path.to_string_lossy()], runs)?;
    let base = measure(ptxc, &["check", "--syntax", &empty.to_string_lossy()], runs)?;
    let bytes = kernels.len() as f64;
    Ok(format!(
        "`ptxc check --syntax` on a file of {:.0} MB: {:.0} MB/s on one core, at most {:.1} bytes of memory per byte\nof input, including the program.",
        bytes / 1e6,
        bytes / 1e6 / (took.cpu - base.cpu),
        took.memory / bytes,
    ))
}
