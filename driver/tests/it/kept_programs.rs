//! The kernels and functions of the tests, complete and cut off, go through the targets of `fuzz/`
//! that read programs. So they run in every test run, without a nightly compiler.

#[path = "../../../fuzz/src/programs.rs"]
mod programs;
#[path = "../../../fuzz/src/ways.rs"]
mod ways;

use std::path::{Path, PathBuf};

/// The files with an extension below a folder of `tests/lit`.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/lit").join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display())) {
            let path = entry.expect("the folder is read").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|own| own == extension) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// Runs a target on files and on their beginnings; there must be at least `at_least` files.
fn replay(files: &[PathBuf], at_least: usize, target: impl Fn(&[u8])) {
    assert!(files.len() >= at_least, "{} files", files.len());
    for file in files {
        let bytes = std::fs::read(file).expect("the file is read");
        for end in [bytes.len(), bytes.len() / 2, bytes.len().saturating_sub(1)] {
            target(&bytes[..end]);
        }
    }
}

#[test]
fn kernels_are_parsed_and_printed() {
    replay(&files("", "ptx"), 150, programs::parser);
}

#[test]
fn damaged_kernels_are_checked() {
    replay(&files("errors", "ptx"), 50, programs::check);
}

#[test]
fn damaged_kernels_are_lowered_in_all_ways() {
    let some: Vec<PathBuf> = files("build-ssa", "ptx").into_iter().take(8).collect();
    let ways = ways::ALWAYS.len() + ways::SOMETIMES.len();
    replay(&some, 5, |text| (0..ways).for_each(|way| programs::lower(&[&[way as u8], text].concat())));
}

#[test]
fn functions_are_read_and_printed() {
    replay(&files("", "ir"), 50, programs::ir_text);
}
