//! What decides the code that comes out, as plain values.

use ptxc_machine::Arch;
use ptxc_object::cubin::Abi;

/// How to compile. The default is what the command line does when it is told nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// The architecture; `None` is what the file's `.target` says.
    pub arch: Option<Arch>,
    /// How much to optimise, 0 to 3.
    pub opt: u8,
    /// Whether a product and a sum without rounding modifiers are fused.
    pub fmad: bool,
    /// The name of the scheduling heuristic, one of [`HEURISTICS`](ptxc_codegen::schedule::HEURISTICS).
    pub heuristic: String,
    /// The most general registers a thread, 16 to 255.
    pub max_regs: u32,
    /// Whether every instruction waits for everything.
    pub serial: bool,
    /// Whether what ptxas refuses is an error, though it could be compiled.
    pub strict: bool,
    /// Whether updates that a warp does at one address are aggregated.
    pub aggregate: bool,
    /// Whether a cubin says which source line each instruction comes from.
    pub line_info: bool,
    /// The layout of cubins.
    pub abi: Abi,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            arch: None,
            opt: 3,
            fmad: true,
            heuristic: "balanced".to_string(),
            max_regs: 255,
            serial: false,
            strict: false,
            aggregate: false,
            line_info: false,
            abi: Abi::default(),
        }
    }
}
