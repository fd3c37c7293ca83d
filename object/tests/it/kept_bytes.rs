//! Runs the targets of the fuzzer in `fuzz/` on the files that it kept, in every run of the tests,
//! without a nightly compiler.

#[path = "../../../fuzz/src/machine_code.rs"]
mod targets;

use std::path::Path;

/// Runs a target on its files, and on prefixes of them; there must be at least `at_least` files.
fn replay(name: &str, at_least: usize, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/kept").join(name);
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display())) {
        let bytes = entry.and_then(|entry| std::fs::read(entry.path())).expect("the file is read");
        target(&bytes);
        target(&bytes[..bytes.len() / 2]);
        target(&bytes[..bytes.len().saturating_sub(1)]);
        count += 1;
    }
    assert!(count >= at_least, "{}: {count} files", folder.display());
}

#[test]
fn cubins() {
    replay("cubin", 80, targets::module);
}

#[test]
fn containers() {
    replay("container", 100, targets::container);
}

#[test]
fn words() {
    replay("word", 300, targets::words);
}

#[test]
fn texts() {
    replay("text", 50, targets::text);
}
