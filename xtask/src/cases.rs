//! Every execution case of the corpus whose kernel lowers gives its expected values on both engines; a
//! kernel that can't be lowered yet says which instruction it is for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::ssa;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_sim::{Case, SimError, run_sass, run_ssa};

/// What became of a case.
enum Outcome {
    /// Both engines give the expected values.
    Holds,
    /// It needs what is not there yet; why.
    Unsupported(String),
}

/// Runs all cases; the error counts what failed.
pub(crate) fn run(corpus: &Path) -> Result<(), String> {
    let folder = corpus.join("exec");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("SKIPPED: the cases of {}, which is absent", folder.display());
        return Ok(());
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let (mut hold, mut failed) = (0, 0);
    let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
    for path in &paths {
        match check(path) {
            Ok(Outcome::Holds) => hold += 1,
            Ok(Outcome::Unsupported(why)) => *reasons.entry(why).or_default() += 1,
            Err(why) => {
                failed += 1;
                println!("FAILED {}: {why}", path.display());
            }
        }
    }
    println!("cases: {hold} of {} hold on both engines, {failed} fail; the others need", paths.len());
    for (why, count) in &reasons {
        println!("{count:6}  {why}");
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} cases failed")) }
}

fn check(path: &Path) -> Result<Outcome, String> {
    let case = Case::load(path).map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(&case.ptx).map_err(|error| error.to_string())?;
    let db = Database::default();
    let file = SourceFile::new(&db, case.ptx.display().to_string(), text);
    let options = Options::defaults(&db);
    if let Some(first) = diagnostics(&db, file, options).first() {
        let known = ["E0900", "E0902"].contains(&first.code.as_str());
        let line = format!("{}: {}", first.code, first.message);
        return if known { Ok(Outcome::Unsupported(line)) } else { Err(line) };
    }
    let found = kernels(&db, file, options).into_iter().find(|(func, _)| *func.name(&db) == *case.entry);
    let Some((func, Some(code))) = found else { return Err("the kernel has no code".into()) };
    let ssa = ssa(&db, func, options).value.as_ref().ok_or("the kernel has no SSA")?;
    let settings = ptxc_sim::Options { check_uninitialised: true, ..ptxc_sim::Options::default() };
    for (engine, result) in
        [("SSA", run_ssa(&case, ssa, &[], &settings)), ("SASS", run_sass(&case, &code.program, &settings))]
    {
        match result {
            Ok(report) if report.passed() => {}
            Ok(report) => return Err(format!("{engine}: {report}")),
            Err(SimError::Unsupported { what, .. }) => {
                return Ok(Outcome::Unsupported(format!("the {engine} engine: {what}")));
            }
            Err(error) => return Err(format!("{engine}: {error}")),
        }
    }
    Ok(Outcome::Holds)
}
