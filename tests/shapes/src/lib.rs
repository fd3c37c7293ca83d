//! Every shape of instruction in our code exists on the architecture.
//!
//! In: the code that this compiler generates for the files of `tests/lit` and of the corpus, on
//! each architecture. Out: the [shapes](shape) in it that have no witness. A witness is a file for
//! which ptxas emits an instruction of that shape on that architecture, or an encoding that
//! nvdisasm reads as that shape. `witnesses.txt` lists them, so our code can be checked without
//! NVIDIA's tools; [`theirs::check`] checks the list against the tools if they are installed.
//!
//! ```
//! use ptxc_shapes::shape::shapes;
//! assert_eq!(shapes("@P0 IADD3 R4, R5, -R6, RZ"), ["IADD3 R, R, R, R", "IADD3 R, R, R, R: 3 -R"]);
//! ```
//!
//! The modules: [`shape`] reads instructions, [`source`] finds the files, [`ours`] and [`theirs`]
//! compile them, [`witnesses`] is the list, and [`campaign`] combines them.

use std::path::{Path, PathBuf};

pub mod campaign;
pub mod ours;
pub mod shape;
pub mod source;
pub mod theirs;
pub mod witnesses;

pub use source::Source;
pub use witnesses::Witnesses;

/// The path of the list.
pub fn list_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("witnesses.txt")
}

/// The list of this crate.
///
/// # Errors
/// The list cannot be read, or is malformed.
pub fn list() -> Result<Witnesses, String> {
    let text = std::fs::read_to_string(list_path()).map_err(|error| format!("witnesses.txt: {error}"))?;
    Witnesses::parse(&text).map_err(|error| format!("witnesses.txt: {error}"))
}
