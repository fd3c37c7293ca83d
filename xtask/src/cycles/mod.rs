//! `xtask compare --cycles`: our code beside ptxas's in the simulator with time.
//!
//! ```text
//! cases ──▶ sides: both programs of each case, run and checked ──▶ report: worst first, and means ──▶ limits, if asked for
//! ```
//!
//! Both programs run with their control codes on the model of one SM (`ptxc_sim::timing`), with typical latencies: ours by the
//! waits that it writes, ptxas's by the order of returns that it relies on, as in `exec`. A program that leaves other values than
//! the case promises, faults, hangs, or reads a result too early is a failure. Of a case that promises nothing, both programs
//! must leave the same. A case of which one program can't be compiled, read or run yet is listed with the reason.
//!
//! ptxas compiles at its own default level, whatever `--opt` says.

mod limits;
mod report;
mod sides;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use ptxc_machine::Arch;
use rayon::prelude::*;

use crate::cases::{self, stem};
use crate::oracle::Oracle;
use crate::settings::Settings;
use report::Report;
use sides::both;

/// What is compared, and how it is printed.
pub(crate) struct Cycles<'a> {
    /// The folder with `exec/`.
    pub(crate) corpus: PathBuf,
    /// The cases that are meant; none: all.
    pub(crate) names: &'a [String],
    /// How our code is compiled.
    pub(crate) settings: Settings,
    /// The folder of ptxas, if not `ORACLE`.
    pub(crate) oracle: Option<PathBuf>,
    /// Whether to print JSON.
    pub(crate) json: bool,
    /// Whether the limits count.
    pub(crate) limits: bool,
}

impl Cycles<'_> {
    /// Runs the cases in parallel and prints the comparison.
    ///
    /// # Errors
    /// A program that does something else than its case says, and limits that do not hold.
    pub(crate) fn run(mut self) -> Result<(), String> {
        let Some(oracle) = Oracle::find(self.oracle.as_deref()) else {
            eprintln!("SKIPPED: cycles beside ptxas; neither --oracle nor ORACLE names a folder with ptxas");
            return Ok(());
        };
        let arch = *self.settings.arch.get_or_insert(Arch::Sm90);
        let paths = cases::find(&self.corpus, self.names);
        if paths.is_empty() {
            return Err("there is no case of that name".to_string());
        }
        let rows = paths
            .par_iter()
            .map(|path| both(stem(path).to_string(), path, arch, &self.settings, &oracle))
            .collect();
        let report = Report::new(rows);
        match self.json {
            true => print!("{}", report.json(arch, self.settings.opt)?),
            false => print!("{report}"),
        }
        let broken = if self.limits { limits::broken(&report, limits::NAMES)? } else { Vec::new() };
        broken.iter().for_each(|limit| eprintln!("LIMIT {limit}"));
        match (report.failures(), broken.len()) {
            (0, 0) => Ok(()),
            (0, broken) => Err(format!("{broken} limits are broken")),
            (failures, _) => Err(format!("{failures} programs do not do what their case says")),
        }
    }
}
