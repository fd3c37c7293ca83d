//! Every selection of packages builds the same dependencies: `cargo test -p ptxc-ir` compiles nothing
//! that `cargo test` has compiled already.
//!
//! Cargo unites the features of a package over the packages that a command selects. The crate
//! `ptxc-features` asks for the union of all selections; this test says what the union lacks.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// A package with its version, and its features as cargo prints them.
type Features = BTreeSet<(String, String)>;

/// What `cargo tree` prints for a selection of packages.
fn features(selection: &[&str]) -> Features {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--prefix=none", "--no-dedupe", "--format={p}|{f}"])
        .args(selection)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("names of packages are text");
    lines.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('|')).map(own).collect()
}

/// A line of `cargo tree` as two strings. Procedural macros are marked in the first mention only.
fn own((package, features): (&str, &str)) -> (String, String) {
    (package.replace(" (proc-macro)", ""), features.to_string())
}

/// The packages of the workspace, by their names.
fn members() -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--workspace", "--depth=0", "--prefix=none", "--format={p}"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("cargo runs");
    let lines = String::from_utf8(output.stdout).expect("names of packages are text");
    lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_string).collect()
}

#[test]
fn every_selection_has_the_same_features() {
    let all = features(&["--workspace", "--edges=normal,build,dev"]);
    let mut selections: BTreeMap<String, Features> = BTreeMap::new();
    for member in members().into_iter().step_by(ptxc_sample::stride(3)) {
        // The crate is its own reason to exist, and has build scripts of its own.
        if member != "ptxc-features" {
            let found = features(&["--package", &member, "--edges=normal,build,dev"]);
            selections.insert(format!("cargo test -p {member}"), found);
        }
    }
    assert!(selections.len() > 5, "{selections:?}");
    for tool in ["xtask", "ptxc"] {
        let found = features(&["--package", tool, "--edges=normal,build"]);
        selections.insert(format!("cargo run -p {tool}"), found);
    }
    let mut wrong = String::new();
    for (command, found) in &selections {
        for (package, features) in found.difference(&all) {
            // Their features are chosen: Parquet is optional, and only tests need all packages.
            if !["ptxc v", "ptxc-features v"].iter().any(|name| package.starts_with(name)) {
                wrong += &format!("\n{command}: {package} has the features {features:?}");
            }
        }
    }
    assert!(wrong.is_empty(), "tests/features/Cargo.toml lacks features:{wrong}");
}
