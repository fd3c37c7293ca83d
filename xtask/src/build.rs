//! Builds of the project, and where they are.

use std::path::{Path, PathBuf};
use std::process::Command as Process;

/// Builds the compiler's program as `cargo build --release` does; returns its path.
pub(crate) fn release_build() -> Result<PathBuf, String> {
    let status = cargo().args(["build", "--quiet", "--release", "--package", "ptxc"]).status();
    match status {
        Ok(status) if status.success() => Ok(program(&target_folder().join("release"))),
        Ok(status) => Err(format!("cargo build --release: {status}")),
        Err(error) => Err(format!("cargo: {error}")),
    }
}

/// Cargo, in the folder of the repository.
pub(crate) fn cargo() -> Process {
    let mut cargo = Process::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// The compiler's program in a folder.
pub(crate) fn program(folder: &Path) -> PathBuf {
    folder.join("ptxc").with_extension(std::env::consts::EXE_EXTENSION)
}

/// The folder that cargo builds into.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
