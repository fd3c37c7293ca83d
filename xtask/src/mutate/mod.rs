//! `xtask mutate`: runs `ptxc` on kernels with small changes, and on inputs in which one property
//! is extreme.
//!
//! For no input may `ptxc` panic, overflow the stack or exceed the limits of time and memory, and
//! its exit code must be 0 or 1. Workers try many inputs in one process ([`worker`]). An input that
//! fails there is tried again in a whole process of `ptxc`, whose figures count; it is then reduced
//! and written to a folder. A seed and a number determine an input, as long as the kernels are the
//! same; the number of threads does not matter.

mod extremes;
mod input;
mod kernels;
mod measure;
mod mutation;
mod process;
mod reduce;
mod report;
#[path = "../../../fuzz/src/ways.rs"]
mod ways;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;

use self::input::{Input, Source};
use self::process::{Answer, Limits, Worker, whole};
use self::reduce::reduced;
use self::report::Report;
use self::ways::{ALWAYS, SOMETIMES, Way};

/// The interval between progress reports.
const TELL: Duration = Duration::from_secs(10);
/// The folder of the corpus, if it exists.
const CORPUS: &str = "../shared/corpus/ptx";

/// The options of `xtask mutate`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Mutate {
    /// The number of inputs, the largest ones first.
    #[arg(long, default_value_t = 2000)]
    count: u64,
    /// The seed of all random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of workers.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    jobs: u8,
    /// Only the input of this number.
    #[arg(long, value_name = "NUMBER")]
    only: Option<u64>,
    /// Start with the input of this number.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    from: u64,
    /// The limit of CPU time for an input, in seconds.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// The limit of memory for an input, in MB.
    #[arg(long, default_value_t = 500)]
    megabytes: u64,
    /// The folder for inputs that fail.
    #[arg(long, value_name = "DIR", default_value = "target/mutate")]
    failures: PathBuf,
    /// The program to confirm failures with (default: next to this one, else built in release
    /// mode).
    #[arg(long, value_name = "FILE")]
    ptxc: Option<PathBuf>,
    /// Folders with kernels (default: the corpus if it exists, and the kernels of the repository's
    /// tests).
    folders: Vec<PathBuf>,
    /// Run as a worker.
    #[arg(long, hide = true)]
    worker: bool,
    /// Run this program with the words after `--`, and measure it.
    #[arg(long, hide = true, value_name = "FILE")]
    measure: Option<PathBuf>,
    /// The words after `--`.
    #[arg(last = true, hide = true)]
    words: Vec<String>,
}

/// The way of that number.
fn way(number: u8) -> &'static Way {
    let number = usize::from(number) % (ALWAYS.len() + SOMETIMES.len());
    ALWAYS.get(number).unwrap_or_else(|| &SOMETIMES[number - ALWAYS.len()])
}

impl Mutate {
    /// Runs the task that the options describe; returns the exit code.
    pub(crate) fn run(&self) -> Result<ExitCode, String> {
        if self.worker {
            return Ok(worker::serve(Duration::from_secs_f64(self.seconds)));
        }
        if let Some(program) = &self.measure {
            return Ok(process::measured(program, &self.words, self.seconds as u64));
        }
        self.campaign().map(|()| ExitCode::SUCCESS)
    }

    fn limits(&self) -> Limits {
        // A megabyte is a million bytes, as in the requirement.
        Limits { time: Duration::from_secs_f64(self.seconds), memory: self.megabytes * 1_000_000 / 1024 }
    }

    fn folders(&self) -> Vec<PathBuf> {
        if !self.folders.is_empty() {
            return self.folders.clone();
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut folders = vec![root.join("tests")];
        folders.extend(Some(root.join(CORPUS)).filter(|corpus| corpus.is_dir()));
        folders
    }

    fn program(&self) -> Result<PathBuf, String> {
        if let Some(program) = &self.ptxc {
            return Ok(program.clone());
        }
        let beside = std::env::current_exe().ok();
        let beside =
            beside.map(|own| own.with_file_name("ptxc").with_extension(std::env::consts::EXE_EXTENSION));
        beside.filter(|program| program.is_file()).map_or_else(crate::build::release_build, Ok)
    }

    fn campaign(&self) -> Result<(), String> {
        let folders = self.folders();
        let source = Source { kernels: kernels::read(&folders)?, seed: self.seed };
        let numbers = match self.only {
            Some(number) => number..number + 1,
            None => self.from..self.count.max(self.from),
        };
        println!(
            "inputs {} to {} of seed {}, from {} files; limits: {} s, {} MB",
            numbers.start,
            numbers.end.saturating_sub(1),
            self.seed,
            source.kernels.len(),
            self.seconds,
            self.megabytes,
        );
        let report = Mutex::new(Report::default());
        let next = AtomicU64::new(numbers.start);
        let trouble: Mutex<Option<String>> = Mutex::new(None);
        let (start, told) = (Instant::now(), Mutex::new(Instant::now()));
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    let mut worker = Worker::new(self.limits());
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= numbers.end || lock(&trouble).is_some() {
                            return;
                        }
                        if let Err(message) = self.one(&source.input(number), &mut worker, &report) {
                            *lock(&trouble) = Some(message);
                        }
                        let mut told = lock(&told);
                        if told.elapsed() > TELL {
                            *told = Instant::now();
                            let done = number - numbers.start + 1;
                            let rate = done as f64 / start.elapsed().as_secs_f64();
                            eprintln!("{done} inputs, {rate:.0} a second, {}", lock(&report).state());
                        }
                    }
                });
            }
        });
        if let Some(message) = lock(&trouble).take() {
            return Err(message);
        }
        let report = lock(&report);
        print!("{report}");
        match report.failures() {
            0 => Ok(()),
            failures => Err(format!("{failures} runs failed; see {}", self.failures.display())),
        }
    }

    /// Tries an input in each of its ways.
    fn one(&self, input: &Input, worker: &mut Worker, report: &Mutex<Report>) -> Result<(), String> {
        for &number in &input.ways {
            let mut answer = worker.ask(number, &input.text)?;
            let mut fault = answer.fault(self.limits());
            if let Some(found) = &fault {
                // An input that fails like many before is counted, but not reduced.
                if lock(report).is_known(found) {
                    lock(report).count(input, way(number), answer, fault);
                    continue;
                }
                (answer, fault) = self.confirm(input, number, answer)?;
                if let Some(found) = &fault {
                    println!("{}, {}: {found}: {:?}", input.label(), way(number).name, answer);
                    if !input.is_extreme {
                        self.reduce(input, number, found, worker)?;
                    }
                }
            }
            lock(report).count(input, way(number), answer, fault);
        }
        Ok(())
    }

    /// Runs an input that failed in a whole process; returns the answer that counts. A panic or a
    /// death counts in either process.
    fn confirm(&self, input: &Input, number: u8, found: Answer) -> Result<(Answer, Option<String>), String> {
        let path = self.write(&input.file_name(""), &input.text)?;
        let again = whole(&self.program()?, way(number).words, &path, self.limits())?;
        let limits = self.limits();
        let fault = again.fault(limits);
        if fault.is_none() && !found.is_by_figures(limits) {
            let fault = found.fault(limits);
            return Ok((found, fault));
        }
        if fault.is_none() {
            // The failure did not repeat: the machine was busy, or the worker kept memory of
            // earlier inputs.
            let _ = std::fs::remove_file(path);
        }
        Ok((again, fault))
    }

    fn reduce(&self, input: &Input, number: u8, fault: &str, worker: &mut Worker) -> Result<(), String> {
        let limits = self.limits();
        let small = reduced(&input.text, &mut |text| {
            worker.ask(number, text).is_ok_and(|answer| answer.fault(limits).as_deref() == Some(fault))
        });
        self.write(&input.file_name(".reduced"), &small).map(drop)
    }

    fn write(&self, name: &str, text: &[u8]) -> Result<PathBuf, String> {
        let path = self.failures.join(name);
        std::fs::create_dir_all(&self.failures)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
