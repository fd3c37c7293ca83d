//! The arguments of `ptxc run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::CodeArgs;
use crate::input::{self, Input};

/// The engine that executes a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The SSA IR, simplified.
    Ssa,
    /// The final SASS program.
    #[default]
    Sass,
    /// Both in turn; their results must agree.
    Both,
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Engine::Ssa => "ssa",
            Engine::Sass => "sass",
            Engine::Both => "both",
        })
    }
}

/// Which of the possible latencies instructions of variable latency have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Latencies {
    /// The shortest.
    Best,
    /// The typical.
    #[default]
    Typical,
    /// The longest.
    Worst,
    /// Random, by the seed.
    Drawn,
}

/// Whether a check is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

impl Switch {
    /// Whether it is on.
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

/// How to print the numbers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsFormat {
    /// One JSON object on standard output instead of everything else there.
    Json,
}

/// The default number of printed elements per buffer.
pub const PRINTED: usize = 8;

/// `ptxc run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// A case (CASE.json), or a kernel as PTX, SASS text or a cubin.
    ///
    /// A case contains the kernel, the launch, the inputs and the expected outputs.
    #[arg(value_parser = input::parser())]
    pub input: Input,
    /// The engine to run on.
    #[arg(long, value_enum, default_value_t)]
    pub engine: Engine,
    /// Run a case on the SASS text in this file instead of compiling its PTX.
    #[arg(long, value_name = "FILE", conflicts_with = "cubin", value_parser = input::parser())]
    pub sass: Option<Input>,
    /// Run a case on its kernel in this cubin, from ptxc or another compiler.
    #[arg(long, value_name = "FILE", value_parser = input::parser())]
    pub cubin: Option<Input>,
    /// Accept SASS text without control codes: each instruction waits for all earlier ones.
    #[arg(long)]
    pub without_control: bool,
    /// The kernel to run, if the file has several.
    #[arg(long, value_name = "NAME", help_heading = "Launch of a kernel")]
    pub entry: Option<String>,
    /// CTAs in the grid (default: 1).
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a kernel")]
    pub grid: Option<String>,
    /// Threads per CTA (default: 1).
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a kernel")]
    pub block: Option<String>,
    /// Dynamic shared memory in bytes.
    #[arg(long, value_name = "BYTES", help_heading = "Launch of a kernel")]
    pub smem: Option<u32>,
    /// Launch a cooperative grid, whose CTAs may wait for each other (`grid.sync()` in CUDA C++).
    #[arg(long, help_heading = "Launch of a kernel")]
    pub cooperative: bool,
    /// An argument, in parameter order: TYPE:VALUE, bytes:HEX or buf:TYPE:COUNT:INIT.
    ///
    /// INIT is zero, iota, rand, rand:SEED, a number or @FILE.
    #[arg(long, value_name = "ARG", help_heading = "Launch of a kernel")]
    pub arg: Vec<String>,
    /// The number of elements to print of each changed buffer.
    #[arg(long, value_name = "N", default_value_t = PRINTED, help_heading = "Launch of a kernel")]
    pub print: usize,
    /// Respect control codes, and report instructions that read a result too early (SASS).
    ///
    /// Such an instruction gets a random value.
    #[arg(long, help_heading = "Time")]
    pub hazards: bool,
    /// Run on the model of one SM, or of one for each CTA of a cluster, and print its cycles and the reasons for
    /// waits (SASS).
    ///
    /// It includes --hazards.
    #[arg(long, help_heading = "Time")]
    pub timing: bool,
    /// The latencies of loads and similar instructions: best, typical, worst, or random.
    #[arg(long, value_enum, default_value_t, help_heading = "Time")]
    pub latencies: Latencies,
    /// Write the activity of every warp in every cycle, with --timing; may be repeated.
    ///
    /// FILE.json is for Perfetto, FILE.html for a browser, and FILE.kanata or FILE.log for Konata.
    #[arg(long, value_name = "FILE", help_heading = "Time")]
    pub trace: Vec<PathBuf>,
    /// Report uses of shared and local memory that no thread has written.
    #[arg(long, value_name = "on|off", value_enum, default_value_t = Switch::On,
          num_args = 0..=1, require_equals = true, default_missing_value = "on", help_heading = "Checks")]
    pub initcheck: Switch,
    /// Report pairs of accesses to shared memory that nothing orders, if one of them is a write.
    ///
    /// A run with this check takes several times as long.
    #[arg(long, value_name = "on|off", value_enum, default_value_t = Switch::Off,
          num_args = 0..=1, require_equals = true, default_missing_value = "on", help_heading = "Checks")]
    pub racecheck: Switch,
    /// Print one JSON object about the run.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub stats: Option<StatsFormat>,
    /// Options for code generation.
    #[command(flatten)]
    pub code: CodeArgs,
    /// The seed for the order in which warps take turns.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}
