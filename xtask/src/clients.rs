//! `cargo xtask clients`: lowers what other code generators write.
//!
//! The scripts of `tests/clients` write PTX with Numba, Warp, tinygrad, Triton and CUTLASS, and random
//! pipelines of matrix products. ptxas and the compiler then get every module, each for the module's own
//! target. The command fails if ptxas accepts a module that the compiler does not lower. A module of
//! CUTLASS and a pipeline have an execution case, which both engines run, and the simulator with ptxas's
//! cubin.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Args;
use rayon::prelude::*;

use crate::build::{root, target_folder};
use crate::oracle::{Oracle, Refusal};
use crate::table::Align::{Left, Right};
use crate::table::Table;

/// The scripts, by the names of their packages.
const CLIENTS: [&str; 6] = ["numba", "warp", "tinygrad", "triton", CUTLASS, PIPELINES];

/// Random kernels with products of matrices, by their numbers.
const PIPELINES: &str = "pipelines";

/// It leaves out copies of rows outside of a matrix, and multiplies whatever is in their place.
const CUTLASS: &str = "cutlass";

/// The clients whose packages are installed apart from the others, and without the packages that they
/// depend on.
const APART: [&str; 2] = ["triton", CUTLASS];

/// The arguments of `clients`.
#[derive(Debug, Args)]
pub(crate) struct Clients {
    /// Only a few modules of each package.
    #[arg(long)]
    sample: bool,
    /// The number of the first random pipeline.
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    first: u64,
    /// The number of random pipelines.
    #[arg(long, value_name = "COUNT", default_value_t = 2000)]
    count: u64,
    /// The folder for the Python packages and the modules (default: `clients` in cargo's target folder).
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The folder with ptxas (default: ORACLE).
    #[arg(long, value_name = "DIR")]
    oracle: Option<PathBuf>,
    /// Only these packages: numba, warp, tinygrad, triton, cutlass or pipelines.
    #[arg(value_name = "PACKAGE")]
    only: Vec<String>,
}

/// What became of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// ptxas accepts it and the compiler lowers it.
    Lowered,
    /// ptxas refuses it: its first message.
    Refused(String),
    /// ptxas accepts it and the compiler does not lower it: the messages.
    Left(Vec<String>),
}

impl Clients {
    pub(crate) fn run(self) -> Result<(), String> {
        let Some(oracle) = Oracle::find(self.oracle.as_deref()) else {
            println!("SKIPPED: clients; neither --oracle nor ORACLE names a folder with ptxas");
            return Ok(());
        };
        if let Some(unknown) = self.only.iter().find(|name| !CLIENTS.contains(&name.as_str())) {
            return Err(format!("no package `{unknown}`; the packages are {}", CLIENTS.join(", ")));
        }
        let folder = self.folder.clone().unwrap_or_else(|| target_folder().join("clients"));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        // Python runs in the folder of the scripts.
        let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
        let python = match packages(&folder) {
            Ok(python) => python,
            Err(why) => {
                println!("SKIPPED: clients; {why}");
                return Ok(());
            }
        };
        let chosen =
            CLIENTS.iter().filter(|name| self.only.is_empty() || self.only.iter().any(|one| one == *name));
        let mut ready = Vec::new();
        for &client in chosen {
            if APART.contains(&client)
                && let Err(why) = install(&python, &["--no-deps"], &format!("requirements_{client}.txt"))
            {
                println!("SKIPPED: {client}; {why}");
                continue;
            }
            ready.push(client);
        }
        // A script uses one processor.
        let outcomes: Vec<(&str, BTreeMap<String, Outcome>)> = ready
            .into_par_iter()
            .map(|client| {
                let start = Instant::now();
                let modules = folder.join(client);
                self.write_modules(&python, client, &modules, &oracle)?;
                let written = start.elapsed().as_secs_f64();
                let outcomes = compare(&modules, &oracle, client != CUTLASS)?;
                let all = start.elapsed().as_secs_f64();
                println!("{client}: {written:.0} s for the modules, {all:.0} s in all");
                Ok((client, outcomes))
            })
            .collect::<Result<_, String>>()?;
        report(&outcomes)
    }

    /// Runs a script, which writes the modules of one package.
    fn write_modules(
        &self,
        python: &Path,
        client: &str,
        modules: &Path,
        oracle: &Oracle,
    ) -> Result<(), String> {
        // Modules of an earlier run must not count.
        if modules.is_dir() {
            std::fs::remove_dir_all(modules).map_err(|error| format!("{}: {error}", modules.display()))?;
        }
        let mut script = Command::new(python);
        script
            .current_dir(root().join("tests/clients"))
            .args(["-W", "ignore"])
            .arg(format!("with_{client}.py"));
        script.arg(modules).args(self.sample.then_some("--sample"));
        if client == PIPELINES {
            script.args(["--first", &self.first.to_string(), "--count", &self.count.to_string()]);
        }
        // CUTLASS's templates are compiled with nvcc.
        script.env("ORACLE", oracle.folder());
        // The caches of the packages would otherwise depend on earlier runs.
        script.env("PYTHONDONTWRITEBYTECODE", "1");
        succeed(&mut script)
    }
}

/// Installs the packages into a virtual environment in the folder. Returns its Python.
fn packages(folder: &Path) -> Result<PathBuf, String> {
    let environment = folder.join("python");
    let python = environment.join("bin/python3");
    if !python.is_file() {
        let base = std::env::var_os("PTXC_PYTHON").unwrap_or_else(|| "python3".into());
        succeed(Command::new(base).args(["-m", "venv"]).arg(&environment))?;
    }
    install(&python, &[], "requirements.txt")?;
    Ok(python)
}

/// Installs the packages of a list of `tests/clients`.
fn install(python: &Path, options: &[&str], list: &str) -> Result<(), String> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(options);
    succeed(pip.arg("-r").arg(root().join("tests/clients").join(list)))
}

/// Runs a command that must succeed. Its error is the last line that it prints.
fn succeed(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    let failed: Vec<&str> = messages.lines().filter(|line| line.starts_with("FAILED")).take(20).collect();
    let last = messages.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(format!("{}{last}", failed.into_iter().map(|line| format!("{line}\n")).collect::<String>()))
}

/// Gives every module of a folder to ptxas and to the compiler. Cases may be checked for reads of
/// unwritten memory.
fn compare(modules: &Path, oracle: &Oracle, initcheck: bool) -> Result<BTreeMap<String, Outcome>, String> {
    let list = std::fs::read_dir(modules).map_err(|error| format!("{}: {error}", modules.display()))?;
    let paths = list.filter_map(|entry| Some(entry.ok()?.path()));
    let paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "ptx")).collect();
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let outcome = outcome(path, &scratch.path().join(&name), oracle, initcheck)?;
        Ok((name, outcome))
    };
    paths.par_iter().map(one).collect()
}

fn outcome(path: &Path, scratch: &Path, oracle: &Oracle, initcheck: bool) -> Result<Outcome, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let target = text.lines().find_map(|line| line.trim().strip_prefix(".target ")).unwrap_or_default();
    let target = target.split(',').next().unwrap_or_default().trim();
    let mut options: &[&str] = if text.contains(".entry") { &[] } else { &["-c"] };
    let mut theirs = oracle.cubin(&text, target, options);
    // The module calls functions of another one.
    if matches!(&theirs, Err(Refusal::Refused(message)) if message.contains("Unresolved extern")) {
        options = &["-c"];
        theirs = oracle.cubin(&text, target, options);
    }
    match theirs {
        Err(Refusal::Refused(message)) => Ok(Outcome::Refused(message)),
        Err(Refusal::Unreadable(message) | Refusal::Unusable(message)) => Err(message),
        Ok(cubin) => {
            let output = scratch.with_extension("cubin");
            let [input, output] = [path, &output].map(|path| path.display().to_string());
            let mut words = vec!["lower", &input, "--arch", target, "-j", "1", "-o", &output];
            words.extend(options);
            if let Err(messages) = ptxc_says(&words) {
                return Ok(Outcome::Left(messages));
            }
            run_case(path, &scratch.with_extension("theirs"), &cubin, initcheck)
        }
    }
}

/// Runs the case of a module, if it has one: on both engines, and with ptxas's cubin.
fn run_case(path: &Path, scratch: &Path, cubin: &[u8], initcheck: bool) -> Result<Outcome, String> {
    let name = path.file_name().unwrap_or_default();
    let case = path.with_file_name("cases").join(name).with_extension("json");
    if !case.is_file() {
        return Ok(Outcome::Lowered);
    }
    std::fs::write(scratch, cubin).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let [case, theirs] = [&case, scratch].map(|path| path.display().to_string());
    let unwritten = if initcheck { "--initcheck=on" } else { "--initcheck=off" };
    let runs: [&[&str]; 2] = [
        &["run", &case, "--engine=both", "--hazards", unwritten],
        &["run", &case, "--cubin", &theirs, unwritten],
    ];
    for words in runs {
        if let Err(messages) = ptxc_says(words) {
            return Ok(Outcome::Left(messages));
        }
    }
    Ok(Outcome::Lowered)
}

/// Runs a command of the compiler; returns its errors.
fn ptxc_says(words: &[&str]) -> Result<(), Vec<String>> {
    let words: Vec<String> = std::iter::once(&"ptxc").chain(words).map(|word| (*word).to_string()).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let run = catch_unwind(AssertUnwindSafe(|| ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err)));
    match run {
        Ok(0) => Ok(()),
        Ok(_) => {
            let messages = String::from_utf8_lossy(&err).into_owned();
            let errors: BTreeSet<&str> = messages.lines().filter(|line| line.starts_with("error")).collect();
            Err(errors.into_iter().map(str::to_string).collect())
        }
        Err(_) => Err(vec!["panicked".to_string()]),
    }
}

/// A message without the names in it, which differ from module to module.
fn group(message: &str) -> String {
    let parts = message.split('`').enumerate();
    let is_opcode = |part: &str| part.len() < 80 && part.contains('.') && !part.contains(['/', '$']);
    let kept = parts.map(|(index, part)| if index % 2 == 0 || is_opcode(part) { part } else { "…" });
    kept.collect::<Vec<&str>>().join("`")
}

/// Prints the counts and the reasons; fails if a module is left.
fn report(outcomes: &[(&str, BTreeMap<String, Outcome>)]) -> Result<(), String> {
    let titles = ["modules", "ptxas accepts", "lowered", "left"];
    let mut columns = vec![("package", Left)];
    columns.extend(titles.map(|title| (title, Right)));
    let mut table = Table::new(&columns);
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut left = 0;
    for (client, modules) in outcomes {
        let [mut accepted, mut lowered, mut failed] = [0; 3];
        for (name, outcome) in modules {
            accepted += usize::from(!matches!(outcome, Outcome::Refused(_)));
            let place = format!("{client}/{name}");
            match outcome {
                Outcome::Lowered => lowered += 1,
                Outcome::Refused(message) => {
                    let message = message.split_once(';').map_or(message.as_str(), |(_, text)| text.trim());
                    groups.entry(format!("ptxas refuses: {message}")).or_default().push(place);
                }
                Outcome::Left(messages) => {
                    failed += 1;
                    let none = || "neither code nor a message".to_string();
                    let text = messages.first().map_or_else(none, |message| group(message));
                    groups.entry(text).or_default().push(place);
                }
            }
        }
        left += failed;
        let counts = [modules.len(), accepted, lowered, failed].map(|count| count.to_string());
        table.row(std::iter::once((*client).to_string()).chain(counts));
    }
    print!("{table}");
    for (text, places) in &groups {
        println!(
            "{} × {text}\n    {}",
            places.len(),
            places.iter().take(3).cloned().collect::<Vec<_>>().join(", ")
        );
    }
    if left == 0 { Ok(()) } else { Err(format!("{left} modules that ptxas accepts are not lowered")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_split_groups() {
        let message = "error[E0900]: a call of `_Z3foov`, `mma.sync.aligned` and `a/b.c`";
        assert_eq!(group(message), "error[E0900]: a call of `…`, `mma.sync.aligned` and `…`");
    }

    #[test]
    fn a_module_that_is_left_fails() {
        let modules = |outcome| BTreeMap::from([("k.ptx".to_string(), outcome)]);
        let left = Outcome::Left(vec!["error[E0900]: `mma.sync.a` is not supported yet".to_string()]);
        assert!(report(&[("numba", modules(left))]).is_err());
        assert_eq!(report(&[("numba", modules(Outcome::Lowered))]), Ok(()));
        assert_eq!(report(&[("numba", modules(Outcome::Refused("no".to_string())))]), Ok(()));
        assert!(report(&[("numba", modules(Outcome::Left(Vec::new())))]).is_err(), "no message");
    }
}
