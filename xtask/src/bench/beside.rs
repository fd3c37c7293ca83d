//! Whole processes beside ptxas.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptxc_words::ptx_files;

use super::milliseconds;
use crate::cpu_time;

/// A program's CPU time for a command, in seconds; `None` if it fails.
fn time(command: &mut Command) -> Result<Option<f64>, String> {
    let (output, time) = cpu_time::run(command)?;
    let time = time.ok_or("this system does not tell what a process takes")?.as_secs_f64();
    Ok(output.status.success().then_some(time))
}

/// The architecture that ptxas is told for a file: its `.target`.
fn target(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(".target"));
    line.and_then(|line| line.split(',').next()).map_or("sm_90".into(), |name| name.trim().to_string())
}

struct Pair {
    ours: f64,
    theirs: f64,
}

/// Both programs on a file, in turns; `None` if one of them refuses it.
fn pair(ptxc: &Path, ptxas: &Path, path: &Path, runs: u32) -> Result<Option<Pair>, String> {
    let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..runs {
        let own = time(Command::new(ptxc).arg("lower").arg(path).args(["-o", "/dev/null"]))?;
        let other = time(
            Command::new(ptxas).arg(format!("-arch={}", target(path))).arg(path).args(["-o", "/dev/null"]),
        )?;
        let (Some(own), Some(other)) = (own, other) else { return Ok(None) };
        (ours, theirs) = (ours.min(own), theirs.min(other));
    }
    Ok(Some(Pair { ours, theirs }))
}

/// The table: an empty file, the first tier a file a process, all tiers in one process.
pub(super) fn table(ptxc: &Path, ptxas: &Path, corpus: &Path, runs: u32) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let empty = folder.path().join("empty.ptx");
    std::fs::write(&empty, ".version 9.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n")
        .map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    let mut row = |what: String, ours: f64, theirs: f64| {
        println!("{what}: {:.3}", ours / theirs);
        rows.push(format!(
            "| {what} | {} | {} | {:.3} |",
            milliseconds(ours),
            milliseconds(theirs),
            ours / theirs
        ));
    };
    if let Some(Pair { ours, theirs }) = pair(ptxc, ptxas, &empty, runs)? {
        row("an empty kernel".into(), ours, theirs);
    }
    let tier = corpus.join("t1");
    let mut pairs = Vec::new();
    for path in ptx_files(&tier)? {
        pairs.extend(pair(ptxc, ptxas, &path, runs)?);
    }
    if !pairs.is_empty() {
        let mean = |of: &dyn Fn(&Pair) -> f64| {
            (pairs.iter().map(|pair| of(pair).ln()).sum::<f64>() / pairs.len() as f64).exp()
        };
        let what = format!("tier 1, geometric mean of {} files, one process each", pairs.len());
        row(what, mean(&|pair| pair.ours), mean(&|pair| pair.theirs));
    }
    let files: Vec<PathBuf> = ptx_files(corpus)?;
    let mut theirs = 0.0;
    let mut taken = Vec::new();
    for path in &files {
        let mut command = Command::new(ptxas);
        if let Some(time) =
            time(command.arg(format!("-arch={}", target(path))).arg(path).args(["-o", "/dev/null"]))?
        {
            theirs += time;
            taken.push(path);
        }
    }
    let out = folder.path().join("out/");
    let mut ours = f64::INFINITY;
    for _ in 0..runs.min(2) {
        let mut command = Command::new(ptxc);
        command.args(["lower", "--jobs", "2", "--progress", "never", "-o"]).arg(&out).args(&taken);
        let (_, took) = cpu_time::run(&mut command)?;
        ours = ours.min(took.map_or(f64::INFINITY, |time| time.as_secs_f64()));
    }
    let what =
        format!("the corpus, {} files: ptxc in one process, `--jobs 2`; ptxas one process each", taken.len());
    row(what, ours, theirs);
    Ok(format!("CPU time.\n\n| | ptxc | ptxas | ratio |\n|---|---:|---:|---:|\n{}\n", rows.join("\n")))
}
