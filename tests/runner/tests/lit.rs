//! Finds the files of `tests/lit` and runs each as a test of its own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lit");
    let root = root.canonicalize().unwrap_or(root);
    let mut files = Vec::new();
    find(&root, &mut files);
    files.sort();
    let trials = files
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            Trial::test(name, move || ptxc_tests::script::run(&path).map_err(Into::into))
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Collects the test files below a folder: PTX and IR text with a RUN line.
fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|e| e == "ptx" || e == "ir" || e == "mir" || e == "sass") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if text.contains("RUN:") {
                files.push(path);
            }
        }
    }
}
