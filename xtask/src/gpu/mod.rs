//! `xtask gpu`: runs the execution cases on a GPU, with the compiler's code and with ptxas's.
//!
//! Each case is compiled for the GPU's architecture, loaded and launched through the CUDA driver,
//! and its buffers are compared with the expected contents. The time of a launch is the median of
//! several, each with the same inputs, measured by events of the driver. For such small kernels it
//! is mostly the time of the launch itself, so only ratios far from 1 are significant.
//!
//! `--random` runs the fuzzer's kernels instead, whose expected results come from the SSA engine.

mod device;
mod random;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use ptxc_compiler::cubin::cubin;
use ptxc_compiler::{Database, Options, Settings, SourceFile, diagnostics};
use ptxc_machine::Arch;
use ptxc_object::cubin::Abi;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sim::Case;
use ptxc_sim::report::compare;

use crate::cases::{self, stem};
use crate::exec::TOO_OLD;
use crate::oracle::{Oracle, Refusal};
use crate::table::{Align, Table};
use crate::theirs::retargeted;
use device::{Device, Extra, Gpu, Launched};
use random::Way;

/// The first version of CUDA whose driver loads cubins of layout 8.
const CUDA_13: u32 = 13_000;

/// The options of `xtask gpu`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Cases {
    /// The folder with `ptx/` and `exec/`.
    #[arg(long, default_value = "../shared/corpus")]
    corpus: PathBuf,
    /// The Python that has PyTorch, CuPy or cuda-bindings.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// How often each kernel is launched; times are medians.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// The time limit of a kernel in seconds, for all its launches.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// The optimization level, 0 to 3.
    #[arg(long, value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    opt: u8,
    /// Run this many of the fuzzer's kernels instead.
    #[arg(long, value_name = "N", conflicts_with_all = ["only", "runs", "opt"])]
    random: Option<u64>,
    /// The first seed of these kernels.
    #[arg(long, requires = "random", default_value_t = 0)]
    seed: u64,
    /// The number of these kernels at once.
    #[arg(long, requires = "random", default_value = "1")]
    jobs: NonZeroUsize,
    /// Only these cases: files, folders, or parts of their names.
    only: Vec<String>,
}

/// The result of one program for a case.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// The buffers are right; the time of a launch in microseconds.
    Right(f64),
    /// The kernel needs a newer GPU.
    LeftOut,
    /// The program's compiler is not installed.
    Absent,
    /// The failure.
    Wrong(String),
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Outcome::Right(_) => "ok",
            Outcome::LeftOut => "left out",
            Outcome::Absent => "",
            Outcome::Wrong(_) => "wrong",
        }
    }

    fn micros(&self) -> Option<f64> {
        match self {
            Outcome::Right(micros) => Some(*micros),
            _ => None,
        }
    }
}

impl Cases {
    /// Runs the cases of the corpus and of this repository.
    ///
    /// # Errors
    /// If there is no GPU, or a case fails.
    pub(crate) fn run(&self) -> Result<(), String> {
        let gpu = Gpu::new(self.python.clone(), Vec::new(), Duration::from_secs(self.timeout));
        let oracle = Oracle::find(None);
        if oracle.is_none() {
            println!("SKIPPED: ptxas's code; ORACLE names the folder with ptxas");
        }
        let report = match self.random {
            Some(count) => check_random(&gpu, oracle.as_ref(), self.seed, count, self.jobs)?,
            None => {
                let paths = cases::find(&self.corpus, &self.only);
                check(&gpu, &paths, oracle.as_ref(), self.runs, self.opt)?
            }
        };
        print!("{}", report.text);
        match report.wrong {
            0 => Ok(()),
            wrong => Err(format!("{wrong} launches are wrong")),
        }
    }
}

/// The results of all cases.
struct Report {
    text: String,
    /// The number of wrong launches, of either code.
    wrong: usize,
}

/// Runs cases on a GPU, one after another.
///
/// # Errors
/// If there is no GPU, if the compiler has no code for it, or if there is no case.
fn check(
    gpu: &Gpu,
    paths: &[PathBuf],
    oracle: Option<&Oracle>,
    runs: u32,
    opt: u8,
) -> Result<Report, String> {
    let device = gpu.device().map_err(|why| format!("no GPU can be used: {why}"))?;
    let arch = arch_of(&device)?;
    if paths.is_empty() {
        return Err("no case has that name".to_string());
    }
    let mut table = Table::new(&[
        ("case", Align::Left),
        ("ours", Align::Left),
        ("ptxas", Align::Left),
        ("ours µs", Align::Right),
        ("ptxas µs", Align::Right),
        ("ratio", Align::Right),
    ]);
    let (mut wrong, mut right, mut findings, mut logs) = (0, 0, String::new(), Vec::new());
    for path in paths {
        let name = stem(path);
        let launch = |cubin: Result<Vec<u8>, Outcome>| match cubin {
            Ok(cubin) => launch(gpu, path, &cubin, runs),
            Err(outcome) => outcome,
        };
        let ours = launch(our_cubin(path, arch, abi(&device), opt));
        let theirs = oracle.map_or(Outcome::Absent, |oracle| launch(their_cubin(path, arch, oracle)));
        for (whose, outcome) in [("our", &ours), ("ptxas's", &theirs)] {
            if let Outcome::Wrong(why) = outcome {
                wrong += 1;
                findings.push_str(&format!("FAILED {name}, {whose} code: {why}\n"));
            }
        }
        right += usize::from(ours.micros().is_some());
        let ratio = ours.micros().zip(theirs.micros()).map(|(ours, theirs)| ours / theirs);
        logs.extend(ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0).map(f64::ln));
        let number =
            |value: Option<f64>, digits| value.map_or(String::new(), |value| format!("{value:.digits$}"));
        table.row([
            name.to_string(),
            ours.word().to_string(),
            theirs.word().to_string(),
            number(ours.micros(), 1),
            number(theirs.micros(), 1),
            number(ratio, 2),
        ]);
    }
    let mut text = format!(
        "{}, {arch}, CUDA {}.{}, by {}\n{table}{findings}",
        device.device,
        device.driver / 1000,
        device.driver % 1000 / 10,
        device.by
    );
    text.push_str(&format!("gpu: {right} of {} cases hold, {wrong} launches are wrong\n", paths.len()));
    if !logs.is_empty() {
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        text.push_str(&format!("gpu: our time over ptxas's, geometric mean of {}: {mean:.2}\n", logs.len()));
    }
    Ok(Report { text, wrong })
}

/// Runs the fuzzer's kernels of `count` seeds on a GPU.
///
/// # Errors
/// If there is no GPU, or if the compiler has no code for it.
fn check_random(
    gpu: &Gpu,
    oracle: Option<&Oracle>,
    first: u64,
    count: u64,
    jobs: NonZeroUsize,
) -> Result<Report, String> {
    let device = gpu.device().map_err(|why| format!("no GPU can be used: {why}"))?;
    let way = Way { gpu, arch: arch_of(&device)?, abi: abi(&device), oracle, jobs };
    let found = random::check(&way, first, count);
    let wrong = found.wrong.len();
    let mut text: String = found.wrong.iter().map(|what| format!("FAILED {what}\n")).collect();
    text.push_str(&format!(
        "gpu: {count} random kernels from seed {first}: {} hold, {} are left out, {wrong} are wrong\n",
        found.right, found.left_out
    ));
    Ok(Report { text, wrong })
}

/// The layout of cubins that the GPU's driver loads.
fn abi(device: &Device) -> Abi {
    if device.driver >= CUDA_13 { Abi::V8 } else { Abi::V7 }
}

/// The newest architecture whose code the GPU runs: one of the GPU's generation that is not newer
/// than the GPU.
fn arch_of(device: &Device) -> Result<Arch, String> {
    let (major, minor) = device.capability;
    let number = major * 10 + minor;
    let fits = |arch: &Arch| arch.number() / 10 == major && arch.number() <= number;
    Arch::ALL
        .into_iter()
        .rev()
        .find(fits)
        .ok_or_else(|| format!("{}: there is no code for compute capability {major}.{minor}", device.device))
}

fn wrong(why: impl std::fmt::Display) -> Outcome {
    Outcome::Wrong(why.to_string())
}

/// The case, and the text of its PTX.
fn load(path: &Path) -> Result<(Case, String), Outcome> {
    let case = Case::load(path).map_err(wrong)?;
    let text = std::fs::read_to_string(&case.ptx).map_err(wrong)?;
    Ok((case, text))
}

fn our_cubin(path: &Path, arch: Arch, abi: Abi, opt: u8) -> Result<Vec<u8>, Outcome> {
    let (case, text) = load(path)?;
    let db = Database::default();
    let file = SourceFile::new(&db, case.ptx.display().to_string(), text);
    let options = Settings { arch: Some(arch), opt, abi, ..Settings::default() }.options(&db);
    kernel_cubin(&db, file, options)
}

/// Our cubin, if the file has no errors.
fn kernel_cubin(db: &Database, file: SourceFile, options: Options) -> Result<Vec<u8>, Outcome> {
    let found = diagnostics(db, file, options).into_iter().find(|found| found.severity == Severity::Error);
    match found {
        Some(found) if found.code == TOO_OLD => return Err(Outcome::LeftOut),
        Some(found) => return Err(wrong(format!("{}: {}", found.code, found.message))),
        None => {}
    }
    cubin(db, file, options).as_ref().as_ref().cloned().map_err(wrong)
}

fn their_cubin(path: &Path, arch: Arch, oracle: &Oracle) -> Result<Vec<u8>, Outcome> {
    let (_, text) = load(path)?;
    let (text, target) = retargeted(&text, arch);
    oracle.cubin(&text, &target, &[]).map_err(|refusal| match refusal {
        Refusal::Refused(_) => Outcome::LeftOut,
        Refusal::Unreadable(why) | Refusal::Unusable(why) => Outcome::Wrong(why),
    })
}

fn launch(gpu: &Gpu, path: &Path, cubin: &[u8], runs: u32) -> Outcome {
    let read = || {
        let case = Case::load(path).map_err(wrong)?;
        let text = std::fs::read_to_string(path).map_err(wrong)?;
        let extra: Extra = serde_json::from_str(&text).map_err(wrong)?;
        Ok((case, extra))
    };
    match read() {
        // The driver reports a fault without its text and thread.
        Ok((case, _)) if case.ending.fault.is_some() => Outcome::LeftOut,
        Ok((case, extra)) => launch_case(gpu, &case, &extra, cubin, runs),
        Err(outcome) => outcome,
    }
}

fn launch_case(gpu: &Gpu, case: &Case, extra: &Extra, cubin: &[u8], runs: u32) -> Outcome {
    let launched = || -> Result<Launched, String> {
        let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        std::fs::write(file.path(), cubin).map_err(|error| error.to_string())?;
        gpu.launch(case, extra, file.path(), runs)
    };
    match launched() {
        Ok(launched) => judge(case, &launched),
        Err(why) => Outcome::Wrong(why),
    }
}

/// Compares the buffers after a launch with those that the case expects.
fn judge(case: &Case, launched: &Launched) -> Outcome {
    let contents = launched.contents().filter(|contents| {
        let sizes = case.buffers().map(|buffer| buffer.init.len());
        contents.iter().map(Vec::len).eq(sizes)
    });
    let (Some(contents), Some(micros)) = (contents, launched.micros()) else {
        return wrong("the answer has other buffers, or no times");
    };
    for (buffer, content) in case.buffers().zip(&contents) {
        let outcome = compare(buffer, content);
        if let Some(first) = outcome.mismatches.first() {
            return Outcome::Wrong(format!(
                "{}: {} of {} elements, first [{}]: {} instead of {}",
                outcome.name, outcome.wrong, outcome.elements, first.index, first.got, first.expected
            ));
        }
    }
    Outcome::Right(micros)
}
