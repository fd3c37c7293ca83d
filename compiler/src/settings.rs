//! The settings that decide the code, as plain values.

use ptxc_machine::Arch;
use ptxc_object::cubin::Abi;

/// The settings of a compilation. The defaults are those of the command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// The architecture; `None` uses the file's `.target`.
    pub arch: Option<Arch>,
    /// The optimization level, 0 to 3.
    pub opt: u8,
    /// Whether a product and a sum without rounding modifiers are fused.
    pub fmad: bool,
    /// The name of the scheduling heuristic, one of
    /// [`HEURISTICS`](ptxc_codegen::schedule::HEURISTICS).
    pub heuristic: String,
    /// The most general registers of a thread, 16 to 255.
    pub max_regs: u32,
    /// Whether every instruction waits for all earlier ones.
    pub serial: bool,
    /// Whether PTX that ptxas rejects is an error even if it could be compiled.
    pub strict: bool,
    /// Whether updates that a warp makes at one address are aggregated.
    pub aggregate: bool,
    /// Whether a cubin says which source line each instruction comes from.
    pub line_info: bool,
    /// The layout of cubins.
    pub abi: Abi,
    /// Whether the result is a relocatable object, which a linker completes, instead of a program.
    pub relocatable: bool,
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
            relocatable: false,
        }
    }
}
