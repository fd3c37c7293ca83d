//! Development tasks: `cargo xtask bench`, `beside`, `bits`, `clients`, `corpus`, `compare`,
//! `exec`, `families`, `forms`, `fuzz`, `licences`, `mine`, `mutate`, `profile`, `shapes`, `verify`.

mod bench;
mod beside;
mod build;
mod cases;
mod ci;
mod clients;
mod compare;
mod corpus;
mod cpu_time;
mod cycles;
mod dist;
mod exec;
mod families;
mod forms;
mod fuzz;
mod gpu;
mod licences;
mod listing;
mod lowering;
mod means;
mod mine;
mod mutate;
mod oracle;
mod settings;
mod shapes;
mod table;
mod theirs;
mod trouble;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use ptxc_words::Bits;

use crate::bench::{Bench, Measure};
use crate::beside::BrokenKernels;
use crate::build::release_build;
use crate::ci::{Ci, Nightly};
use crate::clients::Clients;
use crate::compare::{Comparison, Times};
use crate::cycles::Cycles;
use crate::dist::Dist;
use crate::exec::Product;
use crate::families::Families;
use crate::forms::FormsArgs;
use crate::fuzz::Fuzz;
use crate::mine::Mine;
use crate::mutate::Mutate;
use crate::settings::Settings;
use crate::shapes::Shapes;

/// Development tasks of ptxc.
#[derive(Debug, Parser)]
#[command(name = "xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The tasks.
#[derive(Debug, Subcommand)]
enum Command {
    /// Lower a folder of PTX and print the result for each kernel: the compiler's checks,
    /// instructions, registers, spills, cycles, time.
    Corpus {
        /// A folder, searched recursively, or a file.
        path: PathBuf,
        #[command(flatten)]
        settings: Settings,
        /// Print a JSON object for each kernel.
        #[arg(long)]
        json: bool,
    },
    /// Write the page that shows the messages of ptxas and ptxc for broken kernels.
    Beside(BrokenKernels),
    /// Lower the PTX that Numba, Warp and tinygrad write, and compare with what ptxas accepts.
    Clients(Clients),
    /// Compare instructions, registers and CPU time with ptxas; or with `--cycles` execution cases
    /// in the simulator with time.
    Compare(Compare),
    /// Build the distributed program into `target/dist`: optimized across packages, with a profile
    /// of how often each part runs.
    Dist(Dist),
    /// Run execution cases on both engines with the code of many settings.
    Exec {
        /// The folder with `ptx/` and `exec/`.
        #[arg(long, default_value = "../shared/corpus")]
        corpus: PathBuf,
        /// The settings to try.
        #[arg(long, value_enum, default_value = "tiered")]
        product: Product,
        /// Only these cases: files, folders, or parts of their names.
        only: Vec<String>,
    },
    /// Run the execution cases on an NVIDIA GPU, with the compiler's code and with ptxas's.
    Gpu(gpu::Cases),
    /// Write a page with every figure of speed, and a plot of time against size.
    Bench(Bench),
    /// Run a command; print its CPU time in seconds and its memory in bytes.
    #[command(hide = true)]
    Measure(Measure),
    /// Compare random programs before and after the compiler. For long runs build it with
    /// `--release`.
    Fuzz(Fuzz),
    /// Compare every form of barriers, atomics and warp operations with ptxas.
    Families(Families),
    /// Try every form of every instruction, compare with ptxas, and count.
    Forms(FormsArgs),
    /// Run the checks that must pass before a change lands, or with `--fast` only the quick ones.
    Ci(Ci),
    /// Run the checks that take too long for every change.
    Nightly(Nightly),
    /// Check that every package has an allowed licence, and a line in docs/dependencies.md.
    Licences,
    /// Mine the distances that NVIDIA's assembler keeps between dependent instructions.
    Mine(Mine),
    /// Run `ptxc` on mutated kernels, and on inputs of extreme sizes. For long runs build it with
    /// `--release`.
    Mutate(Mutate),
    /// Convert every instruction that NVIDIA's assembler makes to text and back, and compare the
    /// text with its disassembler.
    Bits(Bits),
    /// Check that every shape of instruction in the compiler's code has a witness that the
    /// architecture has it.
    Shapes(Shapes),
    /// Run the checks before a change lands that need the corpus or NVIDIA's tools: `corpus` on all
    /// of it, `exec`, `shapes`, and `compare` on tier 1.
    Verify {
        /// The folder with `ptx/` and `exec/`.
        #[arg(long, default_value = "../shared/corpus")]
        corpus: PathBuf,
        #[command(flatten)]
        beside: Beside,
        /// The settings that `exec` tries.
        #[arg(long, value_enum, default_value = "tiered")]
        product: Product,
        /// Also `compare --cycles --limits`.
        #[arg(long)]
        limits: bool,
    },
}

/// The options of `xtask compare`.
#[derive(Debug, Args)]
struct Compare {
    /// A folder of PTX, searched recursively, or a file. With `--cycles`: cases by file, folder or
    /// a part of their names (default: all).
    #[arg(required_unless_present = "cycles")]
    what: Vec<String>,
    /// Run the execution cases in the simulator with time, with the compiler's code and with
    /// ptxas's.
    #[arg(long)]
    cycles: bool,
    /// Print a JSON object for each case.
    #[arg(long, requires = "cycles")]
    json: bool,
    /// Fail if lanes per issue, or the cycles of the cases that `xtask/src/cycles/limits.txt` names, are too far from ptxas's.
    #[arg(long, requires = "cycles")]
    limits: bool,
    /// The folder with `exec/`, for `--cycles`.
    #[arg(long, default_value = "../shared/corpus")]
    corpus: PathBuf,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    beside: Beside,
}

impl Compare {
    fn run(self) -> Result<(), String> {
        let Compare { what, cycles, json, limits, corpus, settings, beside } = self;
        if cycles {
            return Cycles { corpus, names: &what, settings, oracle: beside.oracle, json, limits }.run();
        }
        match what.as_slice() {
            [path] => beside.compare(Path::new(path), &settings, 1),
            _ => Err("without --cycles, name exactly one folder or file".to_string()),
        }
    }
}

/// The programs that a comparison uses.
#[derive(Clone, Debug, Args)]
struct Beside {
    /// The folder with ptxas and nvdisasm (default: ORACLE).
    #[arg(long, value_name = "DIR")]
    oracle: Option<PathBuf>,
    /// The compiler's program for the comparison of CPU time (default: built in release mode).
    #[arg(long, value_name = "FILE")]
    ptxc: Option<PathBuf>,
    /// How often each file is compiled for its CPU time; the least time counts. With 0, times are
    /// not measured.
    #[arg(long, default_value_t = 3)]
    runs: u32,
}

impl Beside {
    fn compare(&self, path: &Path, settings: &Settings, stride: usize) -> Result<(), String> {
        let times = match (self.runs, &self.ptxc) {
            (0, _) => None,
            (runs, Some(program)) => Some(Times { ptxc: program.clone(), runs }),
            (runs, None) => Some(Times { ptxc: release_build()?, runs }),
        };
        let how = Comparison { oracle: self.oracle.as_deref(), times, stride };
        compare::run(path, settings, &how)
    }
}

fn verify(corpus: &Path, product: Product, beside: &Beside, limits: bool) -> Result<(), String> {
    let settings = Settings::default();
    if corpus.join("ptx").is_dir() {
        corpus::run(&corpus.join("ptx"), &settings, false)?;
    }
    exec::run(corpus, product, &[])?;
    Shapes::sample().run()?;
    if corpus.join("ptx/t1").is_dir() {
        // Neighbours are one kernel for the three architectures of the corpus, so each of these has its turn.
        let stride = if product == Product::Sample { 8 } else { 1 };
        beside.compare(&corpus.join("ptx/t1"), &settings, stride)?;
    }
    if limits {
        let oracle = beside.oracle.clone();
        Cycles { corpus: corpus.to_path_buf(), names: &[], settings, oracle, json: false, limits }.run()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Beside(kernels) => kernels.run(),
        Command::Corpus { path, settings, json } => corpus::run(&path, &settings, json),
        Command::Clients(clients) => clients.run(),
        Command::Compare(compare) => compare.run(),
        Command::Exec { corpus, product, only } => exec::run(&corpus, product, &only),
        Command::Bench(bench) => bench.run(),
        Command::Measure(measure) => measure.run(),
        Command::Dist(dist) => dist.run().map(drop),
        Command::Families(families) => families.run(),
        Command::Forms(forms) => forms.run(),
        Command::Gpu(cases) => cases.run(),
        Command::Fuzz(fuzz) => fuzz.run(),
        Command::Ci(ci) => ci.run(),
        Command::Nightly(nightly) => nightly.run(),
        Command::Licences => licences::run(),
        Command::Mine(mine) => mine.run(),
        Command::Mutate(mutate) => match mutate.run() {
            Ok(code) => return code,
            Err(message) => Err(message),
        },
        Command::Shapes(shapes) => shapes.run(),
        Command::Bits(bits) => bits.run(),
        Command::Verify { corpus, product, beside, limits } => verify(&corpus, product, &beside, limits),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
