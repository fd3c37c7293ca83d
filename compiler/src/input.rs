//! The inputs of the query graph: files and options.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use ptxc_sass::Arch;
use ptxc_sass::cubin::Abi;

/// A PTX file.
#[salsa::input(debug)]
pub struct SourceFile {
    /// Its name in diagnostics.
    #[returns(ref)]
    pub path: String,
    /// Its text.
    #[returns(ref)]
    pub text: String,
}

/// The options that decide what code comes out. Each is a field of its own, so that a stage runs again
/// only if one that it reads has changed.
#[salsa::input(debug)]
pub struct Options {
    /// The architecture; `None` is what the file's `.target` says.
    #[returns(copy)]
    pub arch: Option<Arch>,
    /// How much to optimise, 0 to 3.
    #[returns(copy)]
    pub opt: u8,
    /// Whether a product and a sum without rounding modifiers are fused.
    #[returns(copy)]
    pub fmad: bool,
    /// The name of the scheduling heuristic.
    #[returns(ref)]
    pub heuristic: String,
    /// The most general registers a thread, 16 to 255.
    #[returns(copy)]
    pub max_regs: u32,
    /// Whether every instruction waits for everything.
    #[returns(copy)]
    pub serial: bool,
    /// Whether what ptxas refuses is an error, though it could be compiled.
    #[default]
    #[returns(copy)]
    pub strict: bool,
    /// Whether updates that a warp does at one address are aggregated.
    #[default]
    #[returns(copy)]
    pub aggregate: bool,
    /// Whether a cubin says which source line each instruction comes from.
    #[default]
    #[returns(copy)]
    pub line_info: bool,
    /// The layout of cubins.
    #[default]
    #[returns(copy)]
    pub abi: Abi,
}

impl Options {
    /// What the command line does when it is told nothing.
    pub fn defaults(db: &dyn crate::db::Db) -> Options {
        Options::new(db, None, 3, true, "balanced".to_string(), 255, false)
    }
}
