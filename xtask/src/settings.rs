//! The command-line options that determine the generated code.

use clap::Args;
use ptxc_codegen::schedule::{HEURISTICS, heuristic_by_name};
use ptxc_compiler::{Database, Options};
use ptxc_machine::Arch;

/// The options for lowering kernels.
#[derive(Clone, Debug, Args)]
pub(crate) struct Settings {
    /// The architecture (default: that of each file's .target).
    #[arg(long, value_parser = arch)]
    pub(crate) arch: Option<Arch>,
    /// The optimization level, 0 to 3.
    #[arg(long, value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub(crate) opt: u8,
    /// The scheduling heuristic.
    #[arg(long, value_name = "NAME", default_value = "balanced", value_parser = heuristic)]
    pub(crate) heuristic: String,
    /// The greatest number of general registers that a thread may use.
    #[arg(long, value_name = "N", default_value_t = 255, value_parser = clap::value_parser!(u32).range(16..=255))]
    pub(crate) max_regs: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { arch: None, opt: 3, heuristic: "balanced".to_string(), max_regs: 255 }
    }
}

impl Settings {
    /// The compiler's options.
    pub(crate) fn options(&self, db: &Database) -> Options {
        Options::new(db, self.arch, self.opt, true, self.heuristic.clone(), self.max_regs, false)
    }
}

fn arch(name: &str) -> Result<Arch, String> {
    let known = Arch::ALL.map(|arch| arch.to_string()).join(", ");
    name.parse().map_err(|()| format!("there are {known}"))
}

fn heuristic(name: &str) -> Result<String, String> {
    match heuristic_by_name(name) {
        Some(_) => Ok(name.to_string()),
        None => Err(format!("there are {}", HEURISTICS.join(", "))),
    }
}
