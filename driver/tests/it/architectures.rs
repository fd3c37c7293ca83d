//! Nothing outside `machine/` compares architectures by name: a new architecture must not get a
//! default by accident.
//!
//! The test reads the sources of the compiler, the assembler, the simulator and the command,
//! without their tests.

use std::path::{Path, PathBuf};

/// The folders whose sources must ask for features and facts.
const FOLDERS: [&str; 5] = ["object/src", "sass/src", "compiler", "sim/src", "driver/src"];

/// The Rust files below a folder, except for folders of tests, benchmarks and examples.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        match path.is_dir() {
            true if ["tests", "benches", "examples", "target"].contains(&&*name) => {}
            true => sources(&path, found),
            false if name.ends_with(".rs") && name != "tests.rs" => found.push(path),
            false => {}
        }
    }
}

/// The numbered lines of a source that are neither comments nor in a test module. rustfmt puts the
/// end of a module at the start of a line.
fn code(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut in_tests = false;
    let mut before = "";
    for (number, line) in text.lines().enumerate() {
        in_tests |= before == "#[cfg(test)]" && line.contains("mod ") && line.ends_with('{');
        if !in_tests && !line.trim_start().starts_with("//") {
            lines.push((number + 1, line));
        }
        in_tests &= line != "}";
        before = line;
    }
    lines
}

#[test]
fn architectures_are_not_compared_by_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    FOLDERS.iter().for_each(|folder| sources(&root.join(folder), &mut files));
    assert!(files.len() > 400, "{} files", files.len());
    let mut named = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("the file is read");
        for (number, line) in code(&text) {
            if ["Arch::Sm", "arch as ", "Arch::ALL["].iter().any(|text| line.contains(text)) {
                named.push(format!("{}:{number}: {}", file.display(), line.trim()));
            }
        }
    }
    assert!(
        named.is_empty(),
        "an architecture by name: ask for a feature (`arch.has(Feature::…)`) or a fact (`arch.facts()`) of machine/ \
         instead\n{}",
        named.join("\n")
    );
}

#[test]
fn lines_of_tests_and_comments_are_left_out() {
    let text = "a\n// b\n#[cfg(test)]\nmod tests {\n    c\n}\nd\n#[cfg(test)]\nmod tests;\ne\n";
    let kept: Vec<&str> = code(text).into_iter().map(|(_, line)| line).collect();
    assert_eq!(kept, ["a", "#[cfg(test)]", "d", "#[cfg(test)]", "mod tests;", "e"]);
}
