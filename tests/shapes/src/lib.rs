//! Every shape of instruction in our code is one that the architecture has.
//!
//! In: the code that this compiler makes of the files of `tests/lit` and of the corpus, on each architecture. Out: the
//! [shapes](shape) in it that have no witness. A witness is a file of which ptxas makes an instruction of that shape for
//! that architecture, or an encoding that nvdisasm reads so; `witnesses.txt` lists them, so that nothing of NVIDIA's is needed
//! to compare our code with it, and [`theirs::check`] holds the list against the programs where they are installed.
//!
//! ```
//! use ptxc_shapes::shape::shapes;
//! assert_eq!(shapes("@P0 IADD3 R4, R5, -R6, RZ"), ["IADD3 R, R, R, R", "IADD3 R, R, R, R: 3 -R"]);
//! ```
//!
//! The rooms: [`shape`] reads instructions, [`source`] finds the files, [`ours`] and [`theirs`] compile them, [`witnesses`] is the
//! list, [`campaign`] puts them together.

use std::path::{Path, PathBuf};

pub mod campaign;
pub mod ours;
pub mod shape;
pub mod source;
pub mod theirs;
pub mod witnesses;

pub use source::Source;
pub use witnesses::Witnesses;

/// Where the list is.
pub fn list_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("witnesses.txt")
}

/// The list of this crate.
///
/// # Errors
/// It can't be read, or is malformed.
pub fn list() -> Result<Witnesses, String> {
    let text = std::fs::read_to_string(list_path()).map_err(|error| format!("witnesses.txt: {error}"))?;
    Witnesses::parse(&text).map_err(|error| format!("witnesses.txt: {error}"))
}
