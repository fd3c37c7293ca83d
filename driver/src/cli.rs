//! The command line, as clap reads it.

use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// An open compiler from NVIDIA PTX to SASS.
#[derive(Debug, Parser)]
#[command(name = "ptxc", version = env!("PTXC_VERSION"), about, propagate_version = true)]
pub struct Cli {
    /// What all commands have.
    #[command(flatten)]
    pub everywhere: Everywhere,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads a command line; the first word is the program's name.
    ///
    /// # Errors
    /// If it is none of this program, or asks for help. The text has colours, which whoever prints it may take off.
    pub fn read(args: &[String]) -> Result<Cli, clap::Error> {
        if let Some(cli) = Cli::read_alone(args) {
            return Ok(cli);
        }
        let command = Cli::command().color(ColorChoice::Always);
        command.try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches))
    }

    /// Reads a command line that begins with one of the commands of which thousands run one after another. To build the
    /// options of all the others takes a tenth of the time of a small kernel. `None` if it is anything else than that command
    /// used rightly, so that there is one place where wrong usage is explained.
    fn read_alone(args: &[String]) -> Option<Cli> {
        let behind = args.get(1..)?;
        let cli = |everywhere, command| Cli { everywhere, command };
        match behind.first()?.as_str() {
            "lower" => {
                let one = Alone::<LowerArgs>::try_parse_from(behind).ok()?;
                Some(cli(one.everywhere, Command::Lower(one.args)))
            }
            "check" => {
                let one = Alone::<CheckArgs>::try_parse_from(behind).ok()?;
                Some(cli(one.everywhere, Command::Check(one.args)))
            }
            _ => None,
        }
    }
}

/// What all commands have.
#[derive(Debug, Args)]
pub struct Everywhere {
    /// When diagnostics, tables and help have colours.
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN")]
    pub color: Color,
    /// Whether long work shows how far it is, on a terminal.
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN")]
    pub progress: WhenProgress,
}

/// A command as if it were a program of its own.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true, color = ColorChoice::Never)]
struct Alone<T: Args> {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(flatten)]
    args: T,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Lower PTX to scheduled SASS.
    Lower(LowerArgs),
    /// Report the errors in PTX files; write nothing.
    Check(CheckArgs),
    /// Explain the codes of diagnostics, with an example each and its repair.
    Explain(ExplainArgs),
    /// Run passes alone on IR text.
    Opt(OptArgs),
    /// Check the control codes of SASS text for hazards.
    Verify(VerifyArgs),
    /// Run a kernel or an execution case on a simulator.
    Run(RunArgs),
    /// Show the machine code in a file: instructions and their control fields.
    Decode(DecodeArgs),
    /// Assemble SASS text to a cubin.
    Asm(AsmArgs),
    /// Disassemble a cubin, or bare instructions, to SASS text.
    Disasm(DisasmArgs),
    /// Print what a shell needs to complete command lines.
    Completions(CompletionsArgs),
    /// Print the manual: a page for the program and one for each command.
    Man(ManArgs),
}

impl From<CubinAbi> for ptxc_object::cubin::Abi {
    fn from(abi: CubinAbi) -> ptxc_object::cubin::Abi {
        match abi {
            CubinAbi::V7 => ptxc_object::cubin::Abi::V7,
            CubinAbi::V8 => ptxc_object::cubin::Abi::V8,
        }
    }
}

/// How diagnostics are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

/// What `lower` writes.
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
    /// The flow of control, and what instructions depend on, as graphs for Graphviz.
    Dot,
}

/// The layout of a cubin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CubinAbi {
    /// That of CUDA 11 and 12.
    #[value(name = "7")]
    V7,
    /// That of CUDA 13.
    #[default]
    #[value(name = "8")]
    V8,
}

/// How control codes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Control {
    /// `[B01----:R0:W2:Y:S05]` in front of the instruction.
    #[default]
    Cuasm,
    /// `&req={0,1} &rd=0x0 &wr=0x2 ?trans5` behind it.
    Nv,
    /// The field as a number.
    Hex,
    /// Not at all.
    None,
}

/// How instructions are made to wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sync {
    /// As long as their dependences ask for.
    #[default]
    Exact,
    /// After every instruction, for everything: to find out whether a schedule is wrong.
    Serial,
}

/// Options that decide what code comes out.
#[derive(Clone, Debug, Args)]
pub struct CodeArgs {
    /// The architecture to compile for (default: the oldest that runs code for the file's .target).
    #[arg(long)]
    pub arch: Option<String>,
    /// How much to optimise, 0 to 3.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub opt: u8,
    /// The scheduling heuristic: balanced, critical-path, pressure, source-order or random:SEED.
    #[arg(long, value_name = "NAME", default_value = "balanced")]
    pub heuristic: String,
    /// The most general registers that a thread may use.
    #[arg(long, value_name = "N", default_value_t = 255, value_parser = clap::value_parser!(u32).range(16..=255))]
    pub max_regs: u32,
    /// Whether a product and a sum without rounding modifiers become one fused operation.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub fmad: bool,
    /// Let one thread of a warp do the integer updates that all do at one address. Those of floats stay: their sums depend
    /// on the order.
    #[arg(long)]
    pub aggregate_atomics: bool,
    /// How instructions wait.
    #[arg(long, value_enum, default_value_t)]
    pub sync: Sync,
    /// Refuse what ptxas refuses, though it could be compiled: vector updates for targets that lack them.
    #[arg(long)]
    pub strict: bool,
}

/// `ptxc lower`.
#[derive(Debug, Args)]
pub struct LowerArgs {
    /// PTX files; `-` is standard input.
    #[arg(required = true)]
    pub files: Vec<String>,
    /// Where to write (default: FILE.sass or FILE.cubin beside each file); `-` is standard output, and a folder, or a
    /// path that ends with `/`, gets a file for each.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// How work is shared.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Options of the code.
    #[command(flatten)]
    pub code: CodeArgs,
    /// Lower this kernel only; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// What to write, in this order (default: what the extension of the output says, .cubin, .json or .dot; else sass).
    #[arg(long, value_enum, value_delimiter = ',')]
    pub emit: Vec<Emit>,
    /// Say in a cubin which source line, by `.loc`, each instruction comes from.
    #[arg(long)]
    pub lineinfo: bool,
    /// The layout of a cubin: 8 needs a driver for CUDA 13, 7 loads on older ones.
    #[arg(long, value_name = "N", value_enum, default_value_t)]
    pub cubin_abi: CubinAbi,
    /// How control codes are written.
    #[arg(long, value_enum, default_value_t)]
    pub control: Control,
    /// Say behind each line what forced its stall, wait and barriers.
    #[arg(long)]
    pub explain: bool,
    /// Go on, and lower the file again whenever it is saved, saying what was compiled again; until Ctrl-C.
    #[arg(long)]
    pub watch: bool,
    /// Print the code before these passes, or `all`.
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    pub print_before: Vec<String>,
    /// Print the code after these passes, or `all`.
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    pub print_after: Vec<String>,
    /// Stop after this pass and print what it left.
    #[arg(long, value_name = "PASS")]
    pub stop_after: Option<String>,
    /// Print how long each pass took.
    #[arg(long)]
    pub time_passes: bool,
    /// Print each kernel's resources.
    #[arg(short, long)]
    pub verbose: bool,
    /// How diagnostics are printed.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
}

/// `ptxc check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// PTX files; `-` is standard input.
    #[arg(required = true)]
    pub files: Vec<String>,
    /// How work is shared.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Report what needs more than this target too, where the file's own is newer.
    #[arg(long, value_name = "TARGET")]
    pub arch: Option<String>,
    /// Refuse what ptxas refuses, though it could be compiled: vector updates for targets that lack them.
    #[arg(long)]
    pub strict: bool,
    /// Look at the syntax alone: no names, no types, no instructions.
    #[arg(long, conflicts_with_all = ["arch", "strict"])]
    pub syntax: bool,
    /// How diagnostics are printed.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
}

/// `ptxc explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Codes such as E0101; without one, all are listed.
    #[arg(value_name = "CODE")]
    pub codes: Vec<String>,
}

/// `ptxc opt`.
#[derive(Debug, Args)]
pub struct OptArgs {
    /// IR text; `-` is standard input.
    pub file: String,
    /// Passes to run, in order: names, or spans such as `legalize..select`; `..` is all that the text is before. Without
    /// passes the text is printed back.
    #[arg(long, value_delimiter = ',')]
    pub passes: Vec<String>,
    /// Where to write; `-` is standard output.
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    /// The architecture to compile for.
    #[arg(long, default_value = "sm_90")]
    pub arch: String,
    /// The optimization level, 0 to 3: a span leaves out the passes above it.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub opt: u8,
    /// The scheduling heuristic.
    #[arg(long, default_value = "balanced")]
    pub heuristic: String,
    /// Whether a product and a sum without rounding modifiers become one fused operation.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub fmad: bool,
    /// Whether `aggregate-atomics` aggregates all updates that a warp makes at one address.
    #[arg(long)]
    pub aggregate_atomics: bool,
    /// How instructions wait.
    #[arg(long, value_enum, default_value_t)]
    pub sync: Sync,
    /// The most general registers that a thread may use.
    #[arg(long, value_name = "N", default_value_t = 255, value_parser = clap::value_parser!(u32).range(16..=255))]
    pub max_regs: u32,
}

/// `ptxc verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// SASS text with control codes: of ptxc, `nvdisasm -hex` or `cuobjdump -sass`; `-` is standard input.
    #[arg(required = true)]
    pub files: Vec<String>,
    /// How work is shared.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// The architecture, where the text does not say it.
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// Count only waits for scoreboards that an instruction sets itself, as for code that ptxc makes: not those
    /// of a later memory access that can't overtake it.
    #[arg(long)]
    pub strict: bool,
    /// How diagnostics are printed.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
}

/// How decoded instructions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DecodeFormat {
    /// Aligned columns for people.
    Table,
    /// A JSON object a line.
    Json,
    /// Comma-separated values.
    Csv,
    /// A data frame.
    Parquet,
    /// A page for a browser.
    Html,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// When it is shown how far work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WhenProgress {
    /// On a terminal, when it takes long.
    #[default]
    Auto,
    /// Never.
    Never,
}

/// How work is shared.
#[derive(Clone, Debug, Args)]
pub struct JobArgs {
    /// How many files and functions are worked on at once (default: one a processor). The output does not depend on it.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
}

/// `ptxc decode`.
#[derive(Debug, Args)]
pub struct DecodeArgs {
    /// Cubins, fatbins, objects, shared objects, programs and archives that contain them, or text of `nvdisasm -hex` or
    /// `cuobjdump -sass`; `-` is standard input.
    #[arg(required = true)]
    pub files: Vec<String>,
    /// Where to write; `-` is standard output.
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    /// How to write (default: by the extension of OUT: .json, .jsonl, .csv, .parquet or .html; else table).
    #[arg(long, value_enum)]
    pub format: Option<DecodeFormat>,
    /// Only code of this architecture; for a text that does not name its own, that architecture.
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// Only the function of this name; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub function: Vec<String>,
}

/// `ptxc asm`.
#[derive(Debug, Args)]
pub struct AsmArgs {
    /// SASS text with control codes, in any notation, or of `nvdisasm -hex` or `cuobjdump -sass`; `-` is standard input.
    #[arg(required = true)]
    pub files: Vec<String>,
    /// Where to write (default: FILE.cubin beside each file, or FILE.bin); `-` is standard output, and a folder, or a path
    /// that ends with `/`, gets a file for each.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// How work is shared.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Write the bare instructions of a single kernel, as into any file called `.bin`.
    #[arg(long)]
    pub bare: bool,
    /// The architecture, where the text does not say it.
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// The layout of the cubin: 8 needs a driver for CUDA 13, 7 loads on older ones.
    #[arg(long, value_name = "N", value_enum, default_value_t)]
    pub cubin_abi: CubinAbi,
    /// How diagnostics are printed.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
}

/// `ptxc disasm`.
#[derive(Debug, Args)]
pub struct DisasmArgs {
    /// Cubins, or bare instructions of 16 bytes each; `-` is standard input.
    #[arg(required = true)]
    pub files: Vec<String>,
    /// The architecture of bare instructions; a cubin says its own.
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// Where to write; `-` is standard output, and a folder, or a path that ends with `/`, gets a file for each.
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    /// How work is shared.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Disassemble this kernel of a cubin only; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// How control codes are written.
    #[arg(long, value_enum, default_value_t)]
    pub control: Control,
}

/// `ptxc completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `ptxc man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a file for each page into this folder (default: all pages to standard output).
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// What executes a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The SSA IR, simplified.
    Ssa,
    /// The final SASS program.
    #[default]
    Sass,
    /// One after the other; they must agree.
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
    /// The least.
    Best,
    /// The usual.
    #[default]
    Typical,
    /// The greatest.
    Worst,
    /// Any, by the seed.
    Drawn,
}

/// How a run's numbers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsFormat {
    /// One JSON object on standard output, in place of everything else there.
    Json,
}

/// How many elements of a buffer are printed, unless told otherwise.
pub const PRINTED: usize = 8;

/// `ptxc run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A case (CASE.json): kernel, launch, inputs and expected outputs; or a kernel as PTX or SASS text
    /// (FILE.sass).
    pub input: String,
    /// What executes it.
    #[arg(long, value_enum, default_value_t)]
    pub engine: Engine,
    /// Run a case on the SASS text of this file in place of what its PTX compiles to.
    #[arg(long, value_name = "FILE", conflicts_with = "cubin")]
    pub sass: Option<String>,
    /// Run a case on the kernel of this cubin, of ours or another compiler's.
    #[arg(long, value_name = "FILE")]
    pub cubin: Option<String>,
    /// Take SASS text without control codes: each instruction waits for all before it.
    #[arg(long)]
    pub without_control: bool,
    /// The kernel of a file with several.
    #[arg(long, value_name = "NAME", help_heading = "Launch of a kernel")]
    pub entry: Option<String>,
    /// CTAs in the grid (default: 1).
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a kernel")]
    pub grid: Option<String>,
    /// Threads in a CTA (default: 1).
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a kernel")]
    pub block: Option<String>,
    /// Dynamic shared memory, in bytes.
    #[arg(long, value_name = "BYTES", help_heading = "Launch of a kernel")]
    pub smem: Option<u32>,
    /// An argument, in the order of the parameters: TYPE:VALUE, or buf:TYPE:COUNT:INIT for a buffer, where INIT
    /// is zero, iota, rand, rand:SEED, a number or @FILE.
    #[arg(long, value_name = "ARG", help_heading = "Launch of a kernel")]
    pub arg: Vec<String>,
    /// How many elements of each changed buffer are printed.
    #[arg(long, value_name = "N", default_value_t = PRINTED, help_heading = "Launch of a kernel")]
    pub print: usize,
    /// Let control codes count: who reads a result before they guarantee that it is there gets a random value, and
    /// is reported (SASS).
    #[arg(long, help_heading = "Time")]
    pub hazards: bool,
    /// Run on the model of one SM, and print its cycles and what warps waited for; with --hazards (SASS).
    #[arg(long, help_heading = "Time")]
    pub timing: bool,
    /// The latencies of loads and the like: the best, the typical, the worst, or drawn from in between.
    #[arg(long, value_enum, default_value_t, help_heading = "Time")]
    pub latencies: Latencies,
    /// Write what every warp did in every cycle, with --timing: FILE.json for Perfetto, FILE.html for a browser, any
    /// other name for Konata; may be given several times.
    #[arg(long, value_name = "FILE", help_heading = "Time")]
    pub trace: Vec<PathBuf>,
    /// Print one JSON object about the run.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub stats: Option<StatsFormat>,
    /// Options of the code.
    #[command(flatten)]
    pub code: CodeArgs,
    /// Seed of the order in which warps take turns.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}
