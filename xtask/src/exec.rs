//! `xtask exec`: runs the execution cases on both engines, with the code of many settings.
//!
//! The full product of a kernel is every optimization level with every built-in heuristic, with
//! exact and with serial waits; and at every level the least `--max-regs` for which there is code.
//! The thin product is the two outermost levels with the default heuristic, and the least registers
//! at the highest level. By default the kernels of tier 1 and those of this repository get the full
//! product and the others the thin one.
//!
//! The kernels of tier 1 and of this repository also get the thin product for every other
//! architecture that has code generation, and the others get the default setting. A kernel that
//! needs a newer architecture (E0111) is skipped there.
//!
//! The sample is for every change: the two outermost levels with the default heuristic and with one of
//! the other heuristics or serial waits, a different one for each case; the least registers of every
//! fourth case; and the default setting for one of the other architectures, a different one for
//! every second case. Code runs in time with one choice of latencies.
//!
//! A kernel that is not supported yet is listed and counted, but an unsupported kernel of tier 1 or
//! of this repository is a failure. A kernel that cannot be lowered yet runs only on the SSA
//! engine.
//!
//! Each code is checked as follows. There are no diagnostics, so the allocation checker and the
//! hazard check agree. The default heuristic does not spill in a kernel with the full product
//! unless registers are short. A second compilation in a fresh database gives the same bytes as the
//! first, which reuses everything that a change of options left valid. The values are the expected
//! ones.
//!
//! If ptxas is installed (`ORACLE`), its code for each architecture runs too, from its cubin as
//! `ptxc-object` reads it: a third answer that does not depend on the compiler. Its control codes
//! also take effect, with the order of returns that it relies on. Code that cannot be read or run
//! yet is listed; wrong values and hazards are failures. See `theirs.rs`.
//!
//! All code runs with its control codes: an instruction that issues too early reads poison and
//! fails the case, whatever it computes. The SSA form depends only on the level, so the SSA engine
//! runs once per level. The other engine runs once for each different program, not for each
//! setting, because a second run would only repeat the first. The code of the default heuristic
//! with exact waits also runs in time, with each choice of latencies, so that warps meet in other
//! orders.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Instant;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::callees::ssa_callees;
use ptxc_compiler::stages::ssa;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics, ssa_diagnostics};
use ptxc_machine::Arch;
use ptxc_passes::{TARGETS, TOO_FEW_REGISTERS};
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::Program;
use ptxc_sass::text::{Notation, Style, write_program};
use ptxc_sim::timing::{Latencies, TimingOptions, run_timed};
use ptxc_sim::{Case, run_sass, run_ssa};
use rayon::prelude::*;
use salsa::Setter;

use crate::cases::{self, stem, turn};
use crate::oracle::Oracle;
use crate::theirs::beside_ptxas;
use crate::trouble::{Trouble, passed};

/// Every built-in heuristic, and two of the random ones.
const HEURISTICS: [&str; 6] =
    ["balanced", "critical-path", "pressure", "source-order", "random:1", "random:2"];

/// The settings to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Product {
    /// All settings on tier 1, few on the rest.
    Tiered,
    /// Few settings and architectures on every case, different ones for each case.
    Sample,
    /// All settings on every case.
    Full,
    /// Few settings on every case.
    Thin,
}

/// The settings that a job tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Breadth {
    /// The default heuristic with exact waits.
    Default,
    /// The same, and the least registers at the highest level.
    Thin,
    /// Every heuristic with exact and with serial waits, and the least registers.
    Full,
}

/// Every heuristic, with exact and with serial waits; the default setting is the first.
fn code_settings() -> impl Iterator<Item = (&'static str, bool)> + Clone {
    HEURISTICS.into_iter().flat_map(|heuristic| [(heuristic, false), (heuristic, true)])
}

/// The sample tries the least registers of one of this many cases.
const LEAST: usize = 4;

/// The error for an instruction that needs a newer architecture.
pub(crate) const TOO_OLD: &str = "E0111";
/// A case at one level: the unit of parallel work.
struct Job<'a> {
    path: &'a Path,
    /// The architecture; `None` for that of the file's target.
    arch: Option<Arch>,
    opt: u8,
    breadth: Breadth,
    /// A heuristic, and whether waits are serial, in addition to those of the breadth.
    also: Option<(&'static str, bool)>,
    /// Whether the kernel is of tier 1 or of this repository; all of these must be supported.
    required: bool,
    /// The latencies with which the code of the default heuristic runs in time.
    latencies: &'static [Latencies],
}

/// Choices of latencies.
const LATENCIES: &[Latencies] =
    &[Latencies::Best, Latencies::Typical, Latencies::Worst, Latencies::Random(1)];

/// The result of a job.
#[derive(Default)]
struct Verdict {
    /// The number of compilations.
    settings: u32,
    /// The number of runs of an engine.
    runs: u32,
    /// The least registers for which there is code.
    least_registers: Option<u32>,
    /// The failures.
    failures: Vec<String>,
    /// Whether the architecture is too old for the kernel.
    left_out: bool,
    /// The reason why the kernel cannot be compiled or run yet.
    unsupported: Option<String>,
    /// Whether the SSA engine nevertheless ran it with the expected values.
    ssa_holds: bool,
}

/// Runs the cases, or [the named ones](cases::find). The error counts the failures.
pub(crate) fn run(corpus: &Path, product: Product, only: &[String]) -> Result<(), String> {
    let start = Instant::now();
    let paths = cases::find(corpus, only);
    if paths.is_empty() {
        return Err("no case has that name".to_string());
    }
    let mut jobs = Vec::new();
    let mut others = code_settings().skip(1).cycle();
    // A sample takes turns: one choice of latencies for each job.
    let mut turns = LATENCIES.chunks(1).cycle();
    let mut latencies = || match product {
        Product::Sample => turns.next().unwrap_or_default(),
        Product::Tiered | Product::Full | Product::Thin => LATENCIES,
    };
    for (index, path) in paths.iter().enumerate() {
        let required = is_first_tier(path);
        let full = match product {
            Product::Full => true,
            Product::Thin | Product::Sample => false,
            Product::Tiered => required,
        };
        // For a sample, the architectures below have code of the highest level.
        let levels: &[u8] = match product {
            Product::Sample if index % LEAST != 0 => &[0],
            _ if full => &[0, 1, 2, 3],
            _ => &[0, 3],
        };
        let breadth = match product {
            Product::Sample if index % LEAST != 0 => Breadth::Default,
            _ if full => Breadth::Full,
            _ => Breadth::Thin,
        };
        jobs.extend(levels.iter().map(|&opt| {
            let also = if product == Product::Sample { others.next() } else { None };
            Job { path, arch: None, opt, breadth, also, required, latencies: latencies() }
        }));
        let archs = match product {
            Product::Thin => Vec::new(),
            Product::Sample if index % 2 == 1 => Vec::new(),
            Product::Sample => vec![turn(TARGETS, index / 2)],
            Product::Tiered | Product::Full => TARGETS.to_vec(),
        };
        let breadth = if required && product != Product::Sample { Breadth::Thin } else { Breadth::Default };
        jobs.extend(archs.into_iter().map(|arch| Job {
            path,
            arch: Some(arch),
            opt: 3,
            breadth,
            also: None,
            required,
            latencies: latencies(),
        }));
    }
    let verdicts: Vec<Verdict> = jobs.par_iter().map(check).collect();
    let wrong_of_ptxas = match Oracle::find(None) {
        Some(oracle) => beside_ptxas(&oracle, &paths, product == Product::Sample),
        None => {
            println!("SKIPPED: ptxas's code, the third answer; ORACLE names the folder with ptxas");
            0
        }
    };

    let mut reasons: BTreeMap<&str, BTreeMap<&str, ()>> = BTreeMap::new();
    let mut least: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    let (mut failures, mut settings, mut runs, mut left_out) = (0, 0, 0, 0);
    for (job, verdict) in jobs.iter().zip(&verdicts) {
        let name = stem(job.path);
        settings += verdict.settings;
        runs += verdict.runs;
        failures += verdict.failures.len();
        left_out += u32::from(verdict.left_out);
        let arch = job.arch.map_or(String::new(), |arch| format!(" {arch}"));
        verdict.failures.iter().for_each(|why| println!("FAILED {name}{arch} -O{} {why}", job.opt));
        if let Some(why) = &verdict.unsupported {
            reasons.entry(why).or_default().insert(name, ());
        }
        if let (3, None, Some(registers)) = (job.opt, job.arch, verdict.least_registers) {
            least.entry(registers).or_default().push(name);
        }
    }
    let unsupported: HashSet<&str> = reasons.values().flat_map(|names| names.keys().copied()).collect();
    let failed: HashSet<&str> = jobs
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| !verdict.failures.is_empty())
        .map(|(job, _)| stem(job.path))
        .collect();
    let alone: HashSet<&str> = jobs
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| verdict.ssa_holds && verdict.failures.is_empty())
        .map(|(job, _)| stem(job.path))
        .filter(|name| !failed.contains(name))
        .collect();
    let hold = paths.iter().filter(|path| !unsupported.contains(stem(path)) && !failed.contains(stem(path)));
    println!(
        "exec: {} of {} cases hold on both engines ({settings} compilations, {runs} runs, {:.0} s)",
        hold.count(),
        paths.len(),
        start.elapsed().as_secs_f64()
    );
    println!("exec: {} more hold on the SSA engine, and are not lowered yet", alone.len());
    println!("exec: {left_out} times a kernel needs a newer architecture");
    for (registers, names) in least {
        println!("least --max-regs at -O3: {registers:3} for {} cases", names.len());
    }
    for (why, names) in reasons {
        let names: Vec<&str> = names.into_keys().collect();
        println!("{:6}  {why} ({})", names.len(), names.join(", "));
    }
    match failures + wrong_of_ptxas {
        0 => Ok(()),
        failures => Err(format!("{failures} combinations failed")),
    }
}

/// Whether a case's kernel belongs to tier 1 or to this repository.
fn is_first_tier(path: &Path) -> bool {
    let Ok(case) = Case::load(path) else { return true };
    let folder = case.ptx.parent().and_then(Path::file_name);
    !folder.is_some_and(|folder| ["t2", "t3", "peers20", "triton"].iter().any(|tier| folder == *tier))
}

/// A case's kernel in a database, with options that change.
struct Bench<'a> {
    case: &'a Case,
    text: String,
    db: Database,
    file: SourceFile,
    options: Options,
}

impl<'a> Bench<'a> {
    fn new(case: &'a Case, text: String, arch: Option<Arch>, opt: u8) -> Bench<'a> {
        let db = Database::default();
        let file = SourceFile::new(&db, case.ptx.display().to_string(), text.clone());
        let options = Options::new(&db, arch, opt, true, HEURISTICS[0].to_string(), 255, false);
        Bench { case, text, db, file, options }
    }

    /// The program of the kernel, or the code and message of the first diagnostic other than a
    /// note.
    fn program(&self) -> Result<&Program, (String, String)> {
        let found = diagnostics(&self.db, self.file, self.options);
        // A note, such as about an instruction that is split for an older architecture, is not a
        // failure.
        if let Some(first) = found.iter().find(|found| found.severity == Severity::Error) {
            return Err((first.code.clone(), format!("{}: {}", first.code, first.message)));
        }
        let list = kernels(&self.db, self.file, self.options);
        let found = list.into_iter().find(|(func, _)| *func.name(&self.db) == *self.case.entry);
        match found {
            Some((_, Some(code))) => Ok(&code.program),
            _ => Err((String::new(), format!("no code for {}", self.case.entry))),
        }
    }

    /// The same kernel and options in a fresh database.
    fn afresh(&self) -> Bench<'a> {
        let mut fresh =
            Bench::new(self.case, self.text.clone(), self.options.arch(&self.db), self.options.opt(&self.db));
        fresh.set(
            self.options.heuristic(&self.db).clone(),
            self.options.serial(&self.db),
            self.options.max_regs(&self.db),
        );
        fresh
    }

    fn set(&mut self, heuristic: String, serial: bool, max_regs: u32) {
        self.options.set_heuristic(&mut self.db).to(heuristic);
        self.options.set_serial(&mut self.db).to(serial);
        self.options.set_max_regs(&mut self.db).to(max_regs);
    }

    fn run_ssa(&self) -> Result<(), Trouble> {
        let functions = kernels(&self.db, self.file, self.options);
        let func = functions.into_iter().find(|(func, _)| *func.name(&self.db) == *self.case.entry);
        let (func, _) = func.ok_or(Trouble::Wrong("the kernel is not there".into()))?;
        let callees = ssa_callees(&self.db, func, self.options);
        let (Some(func), Some(callees)) = (&ssa(&self.db, func, self.options).value, callees) else {
            return Err(Trouble::Wrong("the kernel has no SSA".into()));
        };
        passed("SSA", run_ssa(self.case, func, &callees, &simulator()))
    }
}

/// The options of the simulator for the compiler's code.
pub(crate) fn simulator() -> ptxc_sim::Options {
    ptxc_sim::Options { check_uninitialised: true, hazards: true, ..ptxc_sim::Options::default() }
}

fn check(job: &Job<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    match check_case(job, &mut verdict) {
        Ok(()) => {}
        Err(Trouble::Wrong(why)) => verdict.failures.push(why),
        Err(Trouble::Unsupported(why)) if job.required => verdict.failures.push(why),
        Err(Trouble::Unsupported(why)) => verdict.unsupported = Some(why),
    }
    verdict
}

fn check_case(job: &Job<'_>, verdict: &mut Verdict) -> Result<(), Trouble> {
    let wrong = |error: &dyn std::fmt::Display| Trouble::Wrong(error.to_string());
    let case = Case::load(job.path).map_err(|error| wrong(&error))?;
    let text = std::fs::read_to_string(&case.ptx).map_err(|error| wrong(&error))?;
    let mut bench = Bench::new(&case, text, job.arch, job.opt);
    verdict.settings += 1;
    if let Err((code, message)) = bench.program() {
        verdict.left_out = job.arch.is_some() && code == TOO_OLD;
        if verdict.left_out {
            return Ok(());
        }
        let known = ["E0900", "E0902"].contains(&code.as_str());
        if known
            && ssa_diagnostics(&bench.db, bench.file, bench.options)
                .iter()
                .all(|found| found.severity != Severity::Error)
        {
            verdict.runs += 1;
            bench.run_ssa()?;
            verdict.ssa_holds = true;
        }
        return Err(if known { Trouble::Unsupported(message) } else { Trouble::Wrong(message) });
    }
    verdict.runs += 1;
    bench.run_ssa()?;

    let mut seen = HashSet::new();
    let full = job.breadth == Breadth::Full;
    let settings = code_settings().take(if full { usize::MAX } else { 1 });
    for (heuristic, serial) in settings.chain(job.also) {
        bench.set(heuristic.to_string(), serial, 255);
        verdict.settings += 2;
        let how = if serial { "serial" } else { "exact" };
        if let Err(why) = check_setting(&bench, job, &mut seen, verdict) {
            verdict.failures.push(format!("{heuristic} {how}: {}", unexpected(why)));
        }
    }
    if full || (job.breadth == Breadth::Thin && job.opt == 3) {
        let registers = least_registers(&mut bench, verdict)?;
        verdict.least_registers = Some(registers);
        if let Err(why) = check_setting(&bench, job, &mut seen, verdict) {
            verdict.failures.push(format!("--max-regs {registers}: {}", unexpected(why)));
        }
    }
    Ok(())
}

/// If one setting is supported, all others must be.
fn unexpected(why: Trouble) -> String {
    match why {
        Trouble::Wrong(why) | Trouble::Unsupported(why) => why,
    }
}

/// Tries increasing numbers of registers from the least allowed number on, and leaves the options
/// at the first that has code.
fn least_registers(bench: &mut Bench<'_>, verdict: &mut Verdict) -> Result<u32, Trouble> {
    for registers in 16..=255 {
        bench.set(HEURISTICS[0].to_string(), false, registers);
        verdict.settings += 1;
        match bench.program() {
            Ok(_) => return Ok(registers),
            Err((code, _)) if code == TOO_FEW_REGISTERS.to_string() => {}
            Err((_, message)) => return Err(Trouble::Wrong(format!("--max-regs {registers}: {message}"))),
        }
    }
    Err(Trouble::Wrong("not even 255 registers are enough".into()))
}

fn check_setting(
    bench: &Bench<'_>,
    job: &Job<'_>,
    seen: &mut HashSet<String>,
    verdict: &mut Verdict,
) -> Result<(), Trouble> {
    let compiled = |bench: &Bench<'_>| bench.program().cloned().map_err(|(_, why)| Trouble::Wrong(why));
    let program = compiled(bench)?;
    if program != compiled(&bench.afresh())? {
        return Err(Trouble::Wrong("compiling again from nothing gives another program".into()));
    }
    let is_default = bench.options.heuristic(&bench.db) == HEURISTICS[0];
    // A callee about which nothing is known before it is compiled clobbers all registers.
    let short = bench.options.max_regs(&bench.db) < 255 || program.resources.open_stack != 0;
    if job.breadth == Breadth::Full && is_default && !short && program.resources.spills > 0 {
        return Err(Trouble::Wrong(format!("{} spills with 255 registers", program.resources.spills)));
    }
    if seen.insert(text_of(&program)) {
        verdict.runs += 1;
        let strict = ptxc_sim::Options { loses_saved: true, ..simulator() };
        passed("SASS", run_sass(bench.case, &program, &strict))?;
    }
    let is_exact = !bench.options.serial(&bench.db) && bench.options.max_regs(&bench.db) == 255;
    // The model of time covers one multiprocessor, and therefore no clusters.
    if is_default && is_exact && program.resources.cluster().is_none() {
        for &latencies in job.latencies {
            verdict.runs += 1;
            let timing = TimingOptions { latencies };
            let result = run_timed(bench.case, &program, &simulator(), &timing);
            passed(&format!("timed SASS, {latencies:?}"), result.map(|(report, _)| report))?;
        }
    }
    Ok(())
}

/// The part of a program that determines the simulation: its instructions with their control codes.
fn text_of(program: &Program) -> String {
    let style = Style { control: Notation::Bracket, header: false, offsets: false };
    let mut text = format!("{} bytes local\n", program.resources.local_bytes);
    // Writing to a string fails only if a formatter does, and these do not.
    let written = write_program(program, &style, None, &mut text);
    debug_assert!(written.is_ok());
    text
}
