//! The settings that decide the code of a function.

use ptxc_machine::Arch;

/// The architectures that ptxc generates code for, oldest first.
pub const TARGETS: &[Arch] = &Arch::ALL;

/// Everything besides the function itself that decides its code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodeSettings {
    /// The architecture.
    pub arch: Arch,
    /// Whether the code runs on that architecture alone, as `.target sm_90a` demands.
    pub accelerated: bool,
    /// The optimization level, 0 to 3.
    pub opt: u8,
    /// Whether a product and a sum without rounding modifiers become one fused operation.
    pub fmad: bool,
    /// Whether updates that the lanes of a warp make at one address are aggregated.
    pub aggregate: bool,
    /// The name of the scheduling heuristic, see
    /// [`heuristic_by_name`](ptxc_codegen::schedule::heuristic_by_name).
    pub heuristic: String,
    /// The most general registers that a thread may use, 16 to 255.
    pub max_regs: u32,
    /// Whether every instruction waits for all earlier ones.
    pub serial: bool,
}

impl Default for CodeSettings {
    /// The settings of `ptxc lower` without options, for the default architecture.
    fn default() -> CodeSettings {
        CodeSettings {
            arch: Arch::DEFAULT,
            accelerated: false,
            opt: 3,
            fmad: true,
            aggregate: false,
            heuristic: "balanced".to_string(),
            max_regs: 255,
            serial: false,
        }
    }
}
