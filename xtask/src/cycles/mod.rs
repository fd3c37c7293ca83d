//! `xtask compare --cycles`: compares the compiler's code with ptxas's in the simulator with time.
//!
//! ```text
//! cases ──▶ sides: both programs of each case, run and checked ──▶ report: worst first, and means ──▶ limits, if asked for
//! ```
//!
//! Both programs run with their control codes on the model of one SM (`ptxc_sim::timing`), with
//! typical latencies. The compiler's program is run by the waits that it writes, ptxas's by the
//! order of returns that it relies on, as in `exec`. A program fails if its values differ from the
//! case's expectation, or if it faults, hangs, or reads a result too early. If a case has no
//! expectation, both programs must leave the same values. If one of the programs cannot be
//! compiled, read or run yet, the case is listed with the reason.
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

/// The options of the comparison.
pub(crate) struct Cycles<'a> {
    /// The folder with `exec/`.
    pub(crate) corpus: PathBuf,
    /// The selected cases; all cases if empty.
    pub(crate) names: &'a [String],
    /// The options of the compiler.
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
    /// A program that does not meet its case's expectation, and limits that are broken.
    pub(crate) fn run(mut self) -> Result<(), String> {
        let Some(oracle) = Oracle::find(self.oracle.as_deref()) else {
            eprintln!("SKIPPED: cycles beside ptxas; neither --oracle nor ORACLE names a folder with ptxas");
            return Ok(());
        };
        let arch = *self.settings.arch.get_or_insert(Arch::Sm90);
        let paths = cases::find(&self.corpus, self.names);
        if paths.is_empty() {
            return Err("no case has that name".to_string());
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
            (failures, _) => Err(format!("{failures} programs do not meet the expectation of their case")),
        }
    }
}
