//! Every kernel, every optimisation level, every heuristic, with and without serial waits: lowered twice
//! to the same bytes, hazards and allocation checked on the way, and run on both engines.

use std::path::Path;
use std::time::Instant;

use ptxc_compiler::output::{kernels as lowered, program_text};
use ptxc_compiler::stages::ssa;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_sass::text::Style;
use ptxc_sim::{Case, Report, SimError, run_sass, run_ssa};

use crate::kernels::{Kernel, kernels};

const HEURISTICS: &[&str] =
    &["balanced", "critical-path", "pressure", "source-order", "random:1", "random:2"];

/// Runs the matrix; the error counts what failed.
pub(crate) fn run(corpus: &Path) -> Result<(), String> {
    let start = Instant::now();
    let (mut runs, mut failures) = (0u32, Vec::new());
    for kernel in kernels(corpus) {
        for opt in 0..=3 {
            for heuristic in HEURISTICS {
                for serial in [false, true] {
                    runs += 1;
                    if let Err(why) = check(&kernel, opt, heuristic, serial) {
                        let how = if serial { ", serial" } else { "" };
                        let line = format!("{} -O{opt} {heuristic}{how}: {why}", kernel.entry);
                        println!("FAILED {line}");
                        failures.push(line);
                    }
                }
            }
        }
        println!("{}: done after {:.1} s", kernel.entry, start.elapsed().as_secs_f64());
    }
    println!("matrix: {runs} combinations, {} failed", failures.len());
    if failures.is_empty() { Ok(()) } else { Err(format!("{} combinations failed", failures.len())) }
}

fn check(kernel: &Kernel, opt: u8, heuristic: &str, serial: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(&kernel.ptx).map_err(|error| error.to_string())?;
    let case = Case::load(&kernel.case).map_err(|error| error.to_string())?;
    let mut printed = Vec::new();
    for round in 0..2 {
        let db = Database::default();
        let file = SourceFile::new(&db, kernel.ptx.display().to_string(), text.clone());
        let options = Options::new(&db, None, opt, true, heuristic.to_string(), 255, serial);
        if let Some(first) = diagnostics(&db, file, options).first() {
            return Err(format!("{}: {}", first.code, first.message));
        }
        let found = lowered(&db, file, options).into_iter().find(|(func, _)| func.name(&db) == kernel.entry);
        let Some((func, Some(code))) = found else { return Err("no code".into()) };
        printed.push(program_text(code, &Style::default(), true));
        if round > 0 {
            break;
        }
        if code.program.resources.spills > 0 {
            return Err(format!("{} spills", code.program.resources.spills));
        }
        let settings = ptxc_sim::Options { check_uninitialised: true, ..ptxc_sim::Options::default() };
        let ssa = ssa(&db, func, options).value.as_ref().ok_or("no SSA")?;
        passed("SSA", run_ssa(&case, ssa, &[], &settings))?;
        passed("SASS", run_sass(&case, &code.program, &settings))?;
    }
    if printed[0] != printed[1] {
        return Err("lowering twice gives different text".into());
    }
    Ok(())
}

fn passed(engine: &str, result: Result<Report, SimError>) -> Result<(), String> {
    match result {
        Ok(report) if report.passed() => Ok(()),
        Ok(report) => Err(format!("{engine}: {report}")),
        Err(error) => Err(format!("{engine}: {error}")),
    }
}
