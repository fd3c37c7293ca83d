//! `xtask corpus`: lowers a folder of PTX and prints the result for each kernel and in total.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::Serialize;

use crate::lowering::{Kernel, Measures, Missing, Reason, lower};
use crate::settings::Settings;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use ptxc_words::ptx_files;

/// A kernel as `--json` prints it, one per line.
#[derive(Serialize)]
struct Line<'a> {
    file: String,
    entry: &'a str,
    #[serde(flatten)]
    measures: Option<&'a Measures>,
    #[serde(flatten)]
    missing: Option<&'a Missing>,
    milliseconds: f64,
}

/// Lowers the files below `root` in parallel and prints the results. The error counts kernels whose
/// code one of the compiler's checks rejects; an unsupported kernel is not an error.
pub(crate) fn run(root: &Path, settings: &Settings, json: bool) -> Result<(), String> {
    let start = Instant::now();
    let files = ptx_files(root)?;
    let results: Vec<(PathBuf, Vec<Kernel>)> =
        files.into_par_iter().map(|path| (path.clone(), lower(&path, settings))).collect();
    let kernels =
        || results.iter().flat_map(|(path, list)| list.iter().map(|kernel| (path.as_path(), kernel)));
    let failed = kernels().filter(|(_, kernel)| is_failure(kernel)).count();
    if json {
        for (path, kernel) in kernels() {
            let line = Line {
                file: name(root, path),
                entry: &kernel.entry,
                measures: kernel.result.as_ref().ok(),
                missing: kernel.result.as_ref().err(),
                milliseconds: milliseconds(kernel.time),
            };
            println!("{}", serde_json::to_string(&line).map_err(|error| error.to_string())?);
        }
    } else {
        print!("{}", table(root, kernels()));
        print!("{}", summary(&results, start.elapsed()));
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} kernels fail a check of the compiler")) }
}

fn is_failure(kernel: &Kernel) -> bool {
    kernel.result.as_ref().is_err_and(|missing| missing.reason.is_failure())
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 100.0
}

/// The path below the folder, or the file's own name.
fn name(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
    below.unwrap_or(Path::new(path.file_name().unwrap_or_default())).display().to_string()
}

fn table<'a>(root: &Path, kernels: impl Iterator<Item = (&'a Path, &'a Kernel)>) -> Table {
    let mut table = Table::new(&[
        ("file", Left),
        ("kernel", Left),
        ("hazards", Left),
        ("allocation", Left),
        ("insts", Right),
        ("called", Right),
        ("regs", Right),
        ("spills", Right),
        ("cycles", Right),
        ("ms", Right),
        ("result", Left),
    ]);
    let mut total = (0, 0, 0, 0, 0, Duration::ZERO);
    for (path, kernel) in kernels {
        let verdict = |failed: Reason| match &kernel.result {
            Ok(_) => "ok",
            Err(missing) if missing.reason == failed => "FAILED",
            // Allocation is checked before control codes are made.
            Err(missing) if missing.reason == Reason::Hazard && failed == Reason::Allocation => "ok",
            Err(_) => "-",
        };
        let mut row = vec![
            name(root, path),
            kernel.entry.clone(),
            verdict(Reason::Hazard).to_string(),
            verdict(Reason::Allocation).to_string(),
        ];
        match &kernel.result {
            Ok(found) => {
                total.0 += found.code.instructions;
                total.1 += found.code.called;
                total.2 = total.2.max(found.registers);
                total.3 += found.spills;
                total.4 += found.static_cycles;
                row.extend([
                    found.code.instructions.to_string(),
                    found.code.called.to_string(),
                    found.registers.to_string(),
                    found.spills.to_string(),
                    found.static_cycles.to_string(),
                ]);
            }
            Err(_) => row.extend(std::iter::repeat_n(String::new(), 5)),
        }
        total.5 += kernel.time;
        row.push(format!("{:.1}", milliseconds(kernel.time)));
        row.push(kernel.result.as_ref().err().map_or("lowered".into(), |missing| missing.message.clone()));
        table.row(row);
    }
    let (instructions, called, registers, spills, cycles, time) = total;
    table.row([
        "total (registers: most)".to_string(),
        String::new(),
        String::new(),
        String::new(),
        instructions.to_string(),
        called.to_string(),
        registers.to_string(),
        spills.to_string(),
        cycles.to_string(),
        format!("{:.1}", milliseconds(time)),
    ]);
    table
}

fn summary(results: &[(PathBuf, Vec<Kernel>)], elapsed: Duration) -> String {
    let kernels = || results.iter().flat_map(|(_, list)| list).filter(|kernel| !kernel.entry.is_empty());
    let lowered = kernels().filter(|kernel| kernel.result.is_ok()).count();
    let whole = results.iter().filter(|(_, list)| list.iter().all(|kernel| kernel.result.is_ok())).count();
    let mut text = format!(
        "{lowered} of {} kernels lower; {whole} of {} files lower whole; {:.1} s\n",
        kernels().count(),
        results.len(),
        elapsed.as_secs_f64()
    );
    let mut reasons: BTreeMap<(Reason, &str), usize> = BTreeMap::new();
    for missing in results.iter().flat_map(|(_, list)| list).filter_map(|kernel| kernel.result.as_ref().err())
    {
        *reasons.entry((missing.reason, &missing.message)).or_default() += 1;
    }
    for ((_, message), count) in reasons {
        text.push_str(&format!("{count:6}  {message}\n"));
    }
    text
}
