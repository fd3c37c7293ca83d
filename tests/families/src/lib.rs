//! Every form of barriers, fences, atomics and warp operations, compared with the code of ptxas.
//!
//! In: only the lists in [`enumerate`]. Out: for each form and architecture, whether this compiler
//! does the same as ptxas: the same instructions of the family, with the same modifiers and kinds
//! of operands, or a refusal with the same meaning.
//!
//! ```
//! use ptxc_families::{Family, Form, ours};
//! let form = Form::new(Family::Warp, "shfl.sync.up.b32 rw, w0, 1, 0, 0xffffffff");
//! assert_eq!(ours::outcome(&form, ptxc_machine::Arch::Sm90).to_string(), "SHFL.UP PT, R, R, 0x1, RZ");
//! ```
//!
//! The modules: [`form`] is one instruction with its operands in one setting, [`enumerate`] lists
//! them, and [`kernel`] puts one into a kernel. [`signature`] is the text that is compared,
//! [`oracle`] runs ptxas, [`ours`] runs this compiler, and [`compare`] judges by the lists of
//! [`differences`] and [`refusals`].

pub mod campaign;
pub mod compare;
pub mod differences;
pub mod enumerate;
pub mod form;
pub mod kernel;
pub mod observed;
pub mod oracle;
pub mod ours;
pub mod outcome;
pub mod page;
pub mod refusals;
pub mod sample;
pub mod signature;
pub mod signs;
pub mod simulate;

pub use campaign::Campaign;
pub use compare::Judge;
pub use form::{Family, Form, Setting};
pub use oracle::Oracle;
pub use outcome::Outcome;
pub use signature::Signature;

/// The text of a file next to this crate's sources. The files are lists for people and are read at
/// run time, so that a change does not recompile anything.
///
/// # Errors
/// The file cannot be read.
pub fn file(name: &str) -> Result<String, String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))
}
