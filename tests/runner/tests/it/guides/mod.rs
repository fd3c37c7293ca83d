//! The guides in `docs/` are applied: each listing goes to the file that its sentence names, the result is built, and the
//! tests that the guides write are run with it.
//!
//! All guides are applied to one copy of the sources, below the folder of the build. Packages of others are built once and shared
//! with the usual build. The test that builds is ignored by default; run it with
//! `cargo test -p ptxc-tests --test it guides -- --ignored`.

mod copy;
mod page;

use std::path::{Path, PathBuf};
use std::process::Command;

use page::{Edit, What, edits};
use ptxc_tests::filecheck;

const GUIDES: [&str; 4] = [
    "docs/add-a-pass.md",
    "docs/add-an-instruction.md",
    "docs/add-an-architecture.md",
    "docs/write-a-heuristic.md",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The edits of all guides.
fn all_edits() -> Vec<Edit> {
    let mut all = Vec::new();
    for guide in GUIDES {
        let text = std::fs::read_to_string(repository().join(guide)).expect("the guide is read");
        let (edits, unplaced) = edits(guide, &text);
        assert!(unplaced.is_empty(), "a listing without a file: {}", unplaced.join(", "));
        assert!(!edits.is_empty(), "{guide} describes no change");
        all.extend(edits);
    }
    all
}

#[test]
fn every_listing_has_a_place() {
    let mut files = copy::files(&repository());
    let complaints = copy::edit(&mut files, &all_edits());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Cargo in the copy. What it builds of packages of others is that of the usual build; programs go to a folder of their own.
fn cargo(source: &Path, build: &Path, output: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(source).env("CARGO_TARGET_DIR", output).env("CARGO_BUILD_BUILD_DIR", build);
    // Nothing here runs long enough to be worth optimizing.
    for package in ["ptxc-sass", "ptxc-sim", "ptxc-semantics"] {
        cargo.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
    }
    cargo
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => {
            Err(format!("{command:?}: {}\n{}{}", output.status, text(&output.stdout), text(&output.stderr)))
        }
    }
}

/// Runs the `RUN` lines of a file of `tests/lit` with the built program: `[not] ptxc ARGUMENTS [2>&1] | FileCheck %s`.
fn run_lit(source: &Path, program: &Path, path: &str, text: &str) {
    let checks = filecheck::parse(text, &["CHECK"]).expect("the check lines are read");
    let runs: Vec<&str> =
        text.lines().filter_map(|line| line.split_once("RUN: ").map(|(_, run)| run)).collect();
    assert!(!runs.is_empty(), "{path} has no RUN line");
    for line in runs {
        let command = line.strip_suffix(" | FileCheck %s").expect("the output goes to FileCheck");
        let (command, fails) = command.strip_prefix("not ").map_or((command, false), |rest| (rest, true));
        let (command, with_errors) =
            command.strip_suffix(" 2>&1").map_or((command, false), |rest| (rest, true));
        let words = command.strip_prefix("ptxc ").expect("the program is ptxc").split_whitespace();
        let words = words.map(|word| if word == "%s" { path } else { word });
        let output =
            Command::new(program).current_dir(source).args(words).output().expect("the program runs");
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        if with_errors {
            printed += &errors;
        }
        assert_eq!(output.status.success(), !fails, "{path}: {line}\n{printed}\n{errors}");
        if let Err(failure) = filecheck::check(&checks, &printed) {
            panic!("{path}: {failure}\n{printed}");
        }
    }
}

#[test]
#[ignore = "builds the compiler once more, which takes two minutes of CPU time"]
fn the_guides_do_what_they_promise() {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
    let (source, output) = (build.join("guides/source"), build.join("guides/target"));
    let edits = all_edits();
    let mut files = copy::files(&repository());
    copy::edit(&mut files, &edits);
    // Packages of another version: cargo keeps what it builds of them apart from the usual build.
    let manifest = files.get_mut(Path::new("Cargo.toml")).expect("the workspace has a manifest");
    *manifest =
        String::from_utf8_lossy(manifest).replace(r#"version = "0.1.0""#, r#"version = "0.1.1""#).into();
    copy::write(&source, &files);
    let built =
        run(cargo(&source, &build, &output).args(["build", "--quiet", "--offline", "--package", "ptxc"]));
    built.unwrap_or_else(|error| panic!("the guides do not build: {error}"));
    let program = output.join("debug/ptxc").with_extension(std::env::consts::EXE_EXTENSION);
    let mut count = 0;
    for edit in &edits {
        if let (true, What::New(text)) = (edit.path.starts_with("tests/lit/"), &edit.what) {
            run_lit(&source, &program, &edit.path, text);
            count += 1;
        }
    }
    assert!(count >= GUIDES.len(), "{count} tests");
    // The example keeps figures of the invented architecture, and the tests of the facts must notice that.
    let facts = run(cargo(&source, &build, &output).args([
        "test",
        "--quiet",
        "--offline",
        "--package",
        "ptxc-machine",
    ]));
    let complaint = facts.expect_err("copied figures are no facts");
    assert!(complaint.contains("sm_95: figure"), "{complaint}");
}
