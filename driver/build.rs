//! Tells the program which commit it is built from: `0.1.0 (abcdef123456 2026-11-23)`, with the date of the commit, so that the
//! same commit makes the same program.
//!
//! `PTXC_COMMIT` says it where there is no git, as for those who build from an archive; without either the version stands alone.

use std::path::Path;
use std::process::Command;

/// The folder of this package in the repository.
const FOLDER: &str = "driver/";

fn main() {
    println!("cargo::rerun-if-env-changed=PTXC_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let given = std::env::var("PTXC_COMMIT").ok();
    let commit = given.or_else(commit).filter(|commit| !commit.is_empty());
    let version = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=PTXC_VERSION={version}");
}

/// What git says of the commit, if this is a checkout of the project and not a copy inside of another one.
fn commit() -> Option<String> {
    if git(&["rev-parse", "--show-prefix"])? != FOLDER {
        return None;
    }
    // What changes when another commit is checked out, or one is made.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name]);
        // Cargo takes a path that is not there for one that has changed.
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["show", "--no-patch", "--abbrev=12", "--format=%h %cs", "HEAD"])
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
