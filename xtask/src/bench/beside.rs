//! Compares whole processes with ptxas.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptxc_words::ptx_files;

use super::milliseconds;
use crate::cpu_time;

/// A program's CPU time for a command, in seconds; `None` if it fails.
fn time(command: &mut Command) -> Result<Option<f64>, String> {
    let (output, time) = cpu_time::run(command)?;
    let time = time.ok_or("this system does not report the CPU time of a process")?.as_secs_f64();
    Ok(output.status.success().then_some(time))
}

/// The architecture that ptxas gets for a file: its `.target`.
fn target(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(".target"));
    line.and_then(|line| line.split(',').next()).map_or("sm_90".into(), |name| name.trim().to_string())
}

/// The CPU times of a file: two builds of the compiler, and ptxas.
struct Times {
    plain: f64,
    dist: f64,
    theirs: f64,
}

/// Runs all programs on a file, in turns; `None` if one of them refuses it.
fn times([plain, dist]: [&Path; 2], ptxas: &Path, path: &Path, runs: u32) -> Result<Option<Times>, String> {
    let mut least = Times { plain: f64::INFINITY, dist: f64::INFINITY, theirs: f64::INFINITY };
    let lower = |ptxc: &Path| time(Command::new(ptxc).arg("lower").arg(path).args(["-o", "/dev/null"]));
    for _ in 0..runs {
        let (plain, dist) = (lower(plain)?, lower(dist)?);
        let theirs = time(
            Command::new(ptxas).arg(format!("-arch={}", target(path))).arg(path).args(["-o", "/dev/null"]),
        )?;
        let (Some(plain), Some(dist), Some(theirs)) = (plain, dist, theirs) else { return Ok(None) };
        least = Times {
            plain: least.plain.min(plain),
            dist: least.dist.min(dist),
            theirs: least.theirs.min(theirs),
        };
    }
    Ok(Some(least))
}

/// The table: an empty file, the first tier with a process for each file, all tiers in one process.
pub(super) fn table(builds: [&Path; 2], ptxas: &Path, corpus: &Path, runs: u32) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let empty = folder.path().join("empty.ptx");
    std::fs::write(&empty, ".version 9.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n")
        .map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    let mut row = |what: String, Times { plain, dist, theirs }: Times| {
        println!("{what}: plain {:.3}, dist {:.3}", plain / theirs, dist / theirs);
        rows.push(format!(
            "| {what} | {} | {} | {} | {:.3} | {:.3} | {:.2} |",
            milliseconds(plain),
            milliseconds(dist),
            milliseconds(theirs),
            plain / theirs,
            dist / theirs,
            plain / dist,
        ));
    };
    if let Some(times) = times(builds, ptxas, &empty, runs)? {
        row("an empty kernel".into(), times);
    }
    let tier = corpus.join("t1");
    let mut all = Vec::new();
    for path in ptx_files(&tier)? {
        all.extend(times(builds, ptxas, &path, runs)?);
    }
    if !all.is_empty() {
        let mean = |of: &dyn Fn(&Times) -> f64| {
            (all.iter().map(|times| of(times).ln()).sum::<f64>() / all.len() as f64).exp()
        };
        let what = format!("tier 1, geometric mean of {} files, one process each", all.len());
        let (plain, dist) = (mean(&|times| times.plain), mean(&|times| times.dist));
        row(what, Times { plain, dist, theirs: mean(&|times| times.theirs) });
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
    let mut ours = [f64::INFINITY; 2];
    for _ in 0..runs.min(2) {
        for (ours, ptxc) in ours.iter_mut().zip(builds) {
            let mut command = Command::new(ptxc);
            command.args(["lower", "--jobs", "2", "--progress", "never", "-o"]).arg(&out).args(&taken);
            let (_, took) = cpu_time::run(&mut command)?;
            *ours = ours.min(took.map_or(f64::INFINITY, |time| time.as_secs_f64()));
        }
    }
    let what =
        format!("the corpus, {} files: ptxc in one process, `--jobs 2`; ptxas one process each", taken.len());
    let [plain, dist] = ours;
    row(what, Times { plain, dist, theirs });
    let head = "| | plain | dist | ptxas | plain to ptxas | dist to ptxas | plain to dist |";
    Ok(format!("CPU time.\n\n{head}\n|---|---:|---:|---:|---:|---:|---:|\n{}\n", rows.join("\n")))
}
