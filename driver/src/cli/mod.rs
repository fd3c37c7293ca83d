//! The command line.

mod common;
#[cfg(feature = "decoder")]
mod decode;
#[cfg(feature = "simulator")]
mod run;

use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

use crate::input::{self, Input};

#[cfg(feature = "decoder")]
pub use decode::{DecodeArgs, DecodeFormat};
#[cfg(feature = "simulator")]
pub use run::{Engine, Latencies, PRINTED, RunArgs, StatsFormat};

/// The optimization level, unless a command line names one.
const LEVEL: u8 = 3;

/// The scheduling heuristic, unless a command line names one.
const HEURISTIC: &str = "balanced";

/// The maximum number of general registers, unless a command line names one.
const MAX_REGS: u32 = 255;

/// An open compiler from NVIDIA PTX to SASS.
#[derive(Debug, Parser)]
#[command(name = "ptxc", version = env!("PTXC_VERSION"), about, propagate_version = true)]
pub struct Cli {
    /// Options that all commands share.
    #[command(flatten)]
    pub everywhere: Everywhere,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Parses a command line; its first word is the name of the program.
    ///
    /// # Errors
    /// The command line is not valid, or asks for help. The text of the error has colours, which
    /// the code that prints it may remove.
    pub fn read(args: &[OsString]) -> Result<Cli, clap::Error> {
        match args.get(1..).and_then(common::parse) {
            Some((everywhere, command)) => Ok(Cli { everywhere, command }),
            None => Cli::read_with_clap(args),
        }
    }

    /// Parses any command line.
    fn read_with_clap(args: &[OsString]) -> Result<Cli, clap::Error> {
        let command = Cli::command().color(ColorChoice::Always);
        command.try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches))
    }
}

/// Options that all commands share.
#[derive(Debug, Args)]
pub struct Everywhere {
    /// When to use colours in diagnostics, tables and help.
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN", display_order = 900)]
    pub color: Color,
    /// When to show a progress bar for long runs.
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN", display_order = 901)]
    pub progress: WhenProgress,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Lower PTX to scheduled SASS.
    Lower(LowerArgs),
    /// Report the errors in PTX files without writing output.
    Check(CheckArgs),
    /// Explain the codes of diagnostics, each with an example and its repair.
    Explain(ExplainArgs),
    /// Run chosen passes on IR text.
    Opt(OptArgs),
    /// Check the control codes of SASS text for hazards.
    Verify(VerifyArgs),
    /// Run a kernel or an execution case on the simulator.
    #[cfg(feature = "simulator")]
    Run(RunArgs),
    #[cfg(not(feature = "simulator"))]
    #[command(hide = true)]
    Run(AnyArgs),
    /// Show the machine code in a file: instructions and their control fields.
    #[cfg(feature = "decoder")]
    Decode(DecodeArgs),
    #[cfg(not(feature = "decoder"))]
    #[command(hide = true)]
    Decode(AnyArgs),
    /// Assemble SASS text to a cubin.
    Asm(AsmArgs),
    /// Disassemble a cubin, or bare instructions, to SASS text.
    Disasm(DisasmArgs),
    /// Print a script for a shell to complete command lines.
    #[cfg(feature = "manual")]
    Completions(CompletionsArgs),
    /// Print the manual, with a page for the program and one for each command.
    #[cfg(feature = "manual")]
    Man(ManArgs),
    #[cfg(not(feature = "manual"))]
    #[command(hide = true)]
    Completions(AnyArgs),
    #[cfg(not(feature = "manual"))]
    #[command(hide = true)]
    Man(AnyArgs),
}

impl Command {
    /// Whether the command prints text that may contain bytes of its input, without colours.
    pub fn prints_input(&self) -> bool {
        match self {
            Command::Lower(_)
            | Command::Check(_)
            | Command::Opt(_)
            | Command::Verify(_)
            | Command::Run(_)
            | Command::Asm(_)
            | Command::Disasm(_) => true,
            // The table of `decode` has colours, and escapes the names in it.
            Command::Explain(_) | Command::Decode(_) | Command::Completions(_) | Command::Man(_) => false,
        }
    }
}

impl From<CubinAbi> for ptxc_object::cubin::Abi {
    fn from(abi: CubinAbi) -> ptxc_object::cubin::Abi {
        match abi {
            CubinAbi::V7 => ptxc_object::cubin::Abi::V7,
            CubinAbi::V8 => ptxc_object::cubin::Abi::V8,
        }
    }
}

/// How to print diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Text for people.
    #[default]
    Human,
    /// One JSON object per line.
    Json,
}

/// The form that `lower` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// The syntax tree, printed back as PTX.
    Ast,
    /// SSA IR before legalization.
    Ir,
    /// Machine IR before allocation.
    Mir,
    /// SASS text.
    Sass,
    /// A cubin, which the CUDA driver loads.
    Cubin,
    /// Blocks, instructions, control fields, dependences and explanations as JSON.
    Json,
    /// Control flow and dependences as graphs for Graphviz.
    Dot,
}

/// The layout of a cubin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CubinAbi {
    /// The layout of CUDA 11 and 12.
    #[value(name = "7")]
    V7,
    /// The layout of CUDA 13.
    #[default]
    #[value(name = "8")]
    V8,
}

/// How to write control codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Control {
    /// `[B01----:R0:W2:Y:S05]` before the instruction.
    #[default]
    Cuasm,
    /// `&req={0,1} &rd=0x0 &wr=0x2 ?trans5` after the instruction.
    Nv,
    /// The field as a hexadecimal number.
    Hex,
    /// No control codes.
    None,
}

/// How to make instructions wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sync {
    /// As long as the dependences require.
    #[default]
    Exact,
    /// For everything, after every instruction: shows whether a schedule is wrong.
    Serial,
}

/// Options for code generation.
#[derive(Clone, Debug, Args)]
pub struct CodeArgs {
    /// The target architecture (default: the oldest that runs code for the file's .target).
    #[arg(long)]
    pub arch: Option<String>,
    /// The optimization level, 0 to 3.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = LEVEL, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub opt: u8,
    /// The scheduling heuristic: balanced, critical-path, pressure, source-order or random:SEED.
    #[arg(long, value_name = "NAME", default_value = HEURISTIC)]
    pub heuristic: String,
    /// The maximum number of general registers per thread.
    #[arg(long, value_name = "N", default_value_t = MAX_REGS, value_parser = clap::value_parser!(u32).range(16..=255))]
    pub max_regs: u32,
    /// Whether to fuse a product and a sum without rounding modifiers into one operation.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub fmad: bool,
    /// Let one thread of a warp make the integer updates that all make at one address.
    ///
    /// Updates of floats stay, because their sums depend on the order.
    #[arg(long)]
    pub aggregate_atomics: bool,
    /// How to make instructions wait for each other.
    #[arg(long, value_enum, default_value_t)]
    pub sync: Sync,
    /// Also refuse code that only ptxas refuses: vector updates for targets that lack them.
    #[arg(long)]
    pub strict: bool,
}

/// `ptxc lower`.
#[derive(Clone, Debug, Args)]
pub struct LowerArgs {
    /// PTX files; `-` is standard input.
    #[arg(required = true, value_parser = input::parser())]
    pub files: Vec<Input>,
    /// The output (default: `-`, standard output).
    ///
    /// A folder, or a path that ends with `/`, gets a file for each input. The extension of a file
    /// selects the form: .sass, .cubin, .json, .dot, .ir or .mir.
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    /// Options for parallel work.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Options for code generation.
    #[command(flatten)]
    pub code: CodeArgs,
    /// Lower only this kernel; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Write the kernels that compile, even if others do not; the exit status is still 1.
    #[arg(long, conflicts_with_all = ["print_before", "print_after", "stop_after", "time_passes"])]
    pub keep_going: bool,
    /// The forms to write, in order (default: by OUT's extension; else sass).
    #[arg(long, value_enum, value_delimiter = ',')]
    pub emit: Vec<Emit>,
    /// Make a relocatable object, which a linker such as nvlink completes: functions keep their names, and
    /// calls of functions of other files are allowed.
    #[arg(short = 'c', long)]
    pub compile_only: bool,
    /// Add line information to the cubin: the source line of each instruction, from `.loc`.
    #[arg(long)]
    pub lineinfo: bool,
    /// The layout of the cubin: 8 needs a driver for CUDA 13, 7 also loads on older drivers.
    #[arg(long, value_name = "N", value_enum, default_value_t)]
    pub cubin_abi: CubinAbi,
    /// How to write control codes.
    #[arg(long, value_enum, default_value_t)]
    pub control: Control,
    /// Annotate each line with the reason for its stall, wait and barriers.
    #[arg(long)]
    pub explain: bool,
    /// Lower the file again whenever it is saved, and report what was recompiled, until Ctrl-C.
    #[arg(long)]
    pub watch: bool,
    /// Print the code before these passes, or before `all`.
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    pub print_before: Vec<String>,
    /// Print the code after these passes, or after `all`.
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    pub print_after: Vec<String>,
    /// Stop after this pass and print the code that it leaves.
    #[arg(long, value_name = "PASS")]
    pub stop_after: Option<String>,
    /// Print the time of each pass.
    #[arg(long)]
    pub time_passes: bool,
    /// Print the resources of each kernel.
    #[arg(short, long)]
    pub verbose: bool,
    /// How to print diagnostics.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
}

/// `ptxc check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// PTX files; `-` is standard input.
    #[arg(required = true, value_parser = input::parser())]
    pub files: Vec<Input>,
    /// Options for parallel work.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Also report what needs more than this target, if the file's own target is newer.
    #[arg(long, value_name = "TARGET")]
    pub arch: Option<String>,
    /// Also refuse code that only ptxas refuses: vector updates for targets that lack them.
    #[arg(long)]
    pub strict: bool,
    /// Check only the syntax: no names, no types, no instructions.
    #[arg(long, conflicts_with_all = ["arch", "strict"])]
    pub syntax: bool,
    /// How to print diagnostics.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
}

/// `ptxc explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Codes such as E0101; without a code, list all codes.
    #[arg(value_name = "CODE")]
    pub codes: Vec<String>,
}

/// `ptxc opt`.
#[derive(Debug, Args)]
pub struct OptArgs {
    /// IR text; `-` is standard input.
    #[arg(value_parser = input::parser())]
    pub file: Input,
    /// The passes to run, in order: names, or spans such as `legalize..select`.
    ///
    /// `..` is every pass that the text has not been through yet.
    ///
    /// Without passes, print the text back.
    #[arg(long, value_delimiter = ',')]
    pub passes: Vec<String>,
    /// The output; `-` is standard output.
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    /// The architecture to compile for.
    #[arg(long, default_value = "sm_90")]
    pub arch: String,
    /// The optimization level, 0 to 3: a span omits the passes of higher levels.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = LEVEL, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub opt: u8,
    /// The scheduling heuristic.
    #[arg(long, default_value = HEURISTIC)]
    pub heuristic: String,
    /// Whether to fuse a product and a sum without rounding modifiers into one operation.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub fmad: bool,
    /// Let `aggregate-atomics` combine all integer updates that a warp makes at one address.
    #[arg(long)]
    pub aggregate_atomics: bool,
    /// How to make instructions wait for each other.
    #[arg(long, value_enum, default_value_t)]
    pub sync: Sync,
    /// The maximum number of general registers per thread.
    #[arg(long, value_name = "N", default_value_t = MAX_REGS, value_parser = clap::value_parser!(u32).range(16..=255))]
    pub max_regs: u32,
}

/// `ptxc verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// SASS text from ptxc, `nvdisasm -hex` or `cuobjdump -sass`; `-` is standard input.
    ///
    /// It must have control codes.
    #[arg(required = true, value_parser = input::parser())]
    pub files: Vec<Input>,
    /// Options for parallel work.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// The architecture, if the text does not name it.
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// Count only waits for scoreboards that an instruction sets itself, as in code from ptxc.
    ///
    /// Waits for a later memory access that cannot overtake it do not count.
    #[arg(long)]
    pub strict: bool,
    /// How to print diagnostics.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// If the stream is a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// When to show a progress bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WhenProgress {
    /// On a terminal, if the work is long.
    #[default]
    Auto,
    /// Never.
    Never,
}

/// Options for parallel work.
#[derive(Clone, Debug, Args)]
pub struct JobArgs {
    /// The number of files and functions to process in parallel (default: one per processor).
    ///
    /// The output does not depend on it.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
}

/// `ptxc asm`.
#[derive(Debug, Args)]
pub struct AsmArgs {
    /// SASS text from ptxc, `nvdisasm -hex` or `cuobjdump -sass`; `-` is standard input.
    ///
    /// It must have control codes, in any notation.
    #[arg(required = true, value_parser = input::parser())]
    pub files: Vec<Input>,
    /// The output: FILE.cubin, or FILE.bin for bare instructions (default: `-`, standard output).
    ///
    /// A folder, or a path that ends with `/`, gets a file for each input.
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    /// Options for parallel work.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Write the bare instructions of a single kernel, as into a file called `.bin`.
    #[arg(long)]
    pub bare: bool,
    /// The architecture, if the text does not name it.
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// The layout of the cubin: 8 needs a driver for CUDA 13, 7 also loads on older drivers.
    #[arg(long, value_name = "N", value_enum, default_value_t)]
    pub cubin_abi: CubinAbi,
    /// How to print diagnostics.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
}

/// `ptxc disasm`.
#[derive(Debug, Args)]
pub struct DisasmArgs {
    /// Cubins, or bare instructions of 16 bytes each; `-` is standard input.
    #[arg(required = true, value_parser = input::parser())]
    pub files: Vec<Input>,
    /// The architecture of bare instructions; a cubin names its own.
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// The output: FILE.sass (default: `-`, standard output).
    ///
    /// A folder, or a path that ends with `/`, gets a file for each input.
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    /// Options for parallel work.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Disassemble only this kernel of a cubin; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// How to write control codes.
    #[arg(long, value_enum, default_value_t)]
    pub control: Control,
}

/// The arguments of a command that the program was built without.
#[cfg(not(all(feature = "decoder", feature = "manual", feature = "simulator")))]
#[derive(Debug, Args)]
pub struct AnyArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _args: Vec<OsString>,
}

/// `ptxc completions`.
#[cfg(feature = "manual")]
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `ptxc man`.
#[cfg(feature = "manual")]
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write one file per page into this folder (default: all pages to standard output).
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
