//! `xtask bench`: every figure of speed in one page, `docs/benchmarks.md`, and a plot of time against size.
//!
//! Programs are compared as whole processes in one run, in turns, because machines differ and may
//! be busy with other work. The ratios are therefore the most reliable figures. Memory is the
//! greatest resident set that the system saw.

mod beside;
mod criterion;
mod growth;
mod parsing;
mod plot;
mod process;
mod shapes;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::dist::Dist;
pub(crate) use process::Measured;

/// `xtask bench`.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// The folder with ptxas (default: ORACLE).
    #[arg(long, value_name = "DIR")]
    oracle: Option<PathBuf>,
    /// The plain build of the compiler (default: built with `cargo build --release`).
    #[arg(long, value_name = "FILE")]
    plain: Option<PathBuf>,
    /// The distributed build (default: built as by `cargo xtask dist`).
    #[arg(long, value_name = "FILE")]
    dist: Option<PathBuf>,
    /// The folder with PTX of several tiers.
    #[arg(long, default_value = "../shared/corpus/ptx")]
    corpus: PathBuf,
    /// Also run cargo's benchmarks; otherwise their last results are used.
    #[arg(long)]
    criterion: bool,
    /// How often each program runs; the least time counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// The greatest kernel for time against size, in instructions.
    #[arg(long, default_value_t = 300_000)]
    largest: usize,
    /// Where to write the page; the plot is written next to it.
    #[arg(long, default_value = "docs/benchmarks.md")]
    page: PathBuf,
}

/// `xtask measure`: runs one command and prints its CPU time and memory. Each measurement needs a
/// separate process, because the system reports only the greatest memory of all children.
#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// The command.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl Measure {
    pub(crate) fn run(&self) -> Result<(), String> {
        println!("{}", process::measure_here(&self.command)?);
        Ok(())
    }
}

impl Bench {
    pub(crate) fn run(&self) -> Result<(), String> {
        let plain = match &self.plain {
            Some(program) => program.clone(),
            None => crate::build::release_build()?,
        };
        let dist = match &self.dist {
            Some(program) => program.clone(),
            None => Dist::default().run()?,
        };
        // Copies, as `cargo install` makes them: a file that the linker has just written is
        // scattered over the system's cache, and each start takes a seventh longer than that of a
        // copy.
        let installed = tempfile::tempdir().map_err(|error| error.to_string())?;
        let copy = |program: &Path, name: &str| {
            let copy = installed.path().join(name);
            std::fs::copy(program, &copy).map_err(|error| format!("{}: {error}", program.display()))?;
            Ok::<PathBuf, String>(copy)
        };
        let (plain, dist) = (copy(&plain, "plain")?, copy(&dist, "dist")?);
        if self.criterion {
            criterion::run()?;
        }
        let ptxas = self.oracle.clone().or_else(|| std::env::var_os("ORACLE").map(PathBuf::from));
        let ptxas = ptxas.map(|folder| folder.join("ptxas")).filter(|path| path.is_file());
        let mut page = String::from(HEAD);
        let mut section = |title: &str, text: String| {
            let _ = writeln!(page, "\n## {title}\n\n{}", text.trim_end());
        };
        match (&ptxas, self.corpus.is_dir()) {
            (Some(ptxas), true) => {
                section(
                    "Comparison with ptxas",
                    beside::table([&plain, &dist], ptxas, &self.corpus, self.runs)?,
                );
            }
            _ => println!("SKIPPED: the comparison with ptxas, which needs the corpus and ORACLE"),
        }
        section("Parsing", parsing::table(&dist, self.runs)?);
        let (growth, curves) = growth::table(&dist, self.largest, self.runs)?;
        section("Growth", growth);
        section("Stages, edits and formats", criterion::table()?);
        write(&self.page, &page)?;
        write(&self.page.with_file_name("growth.svg"), &plot::svg(&curves)?)
    }
}

const HEAD: &str = "# Benchmarks

`cargo xtask bench --criterion` writes this page, and [Performance](performance.md) explains the
figures. CPU time is the user and system time of whole processes, the minimum of several alternating
runs.

Two builds are measured. *plain* is `cargo build --release`. *dist* is `cargo xtask dist`, the
program for distribution: it is optimized across packages, with a profile of the kernels in
`tests/lit`. If a section does not name the build, it is *dist*.
";

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Milliseconds with three significant digits.
fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1000.0;
    match value {
        value if value >= 100.0 => format!("{value:.0} ms"),
        value if value >= 10.0 => format!("{value:.1} ms"),
        value => format!("{value:.2} ms"),
    }
}
