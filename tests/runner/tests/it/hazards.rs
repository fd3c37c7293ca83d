//! Agreement on hazards: the simulator, a search of the executed steps, the static check, and a
//! search of all paths.
//!
//! The kernels of the execution cases run with their control codes. Unchanged, they have no hazards
//! according to all four. Then one control field at a time is weakened ([`ptxc_search::weaken`]),
//! and the mutant runs, with random values for reads that are too early. For each mutant:
//!
//! - the simulator finds exactly the pairs of instructions and registers that a search of the
//!   executed steps finds ([`ptxc_search::traces`]), which shares no code with it;
//! - the search of all paths finds all of them ([`ptxc_search::paths`]), and the static check
//!   reports the instructions that are too early;
//! - if the simulator finds nothing, the kernel computes the right results;
//! - a hazard that only the static side finds lies on no path of the run: either an instruction or
//!   an edge was never executed, which a search of the executed edges confirms, or all were
//!   executed, but by no lane one after the other.
//!
//! Large runs are omitted. A sample of the mutants of a kernel is tried, which is the same in every
//! run, and the mutants of every eighth kernel only, unless `PTXC_STRIDE=1` asks for all kernels.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use ptxc_compiler::output::kernels;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_passes::TOO_FEW_REGISTERS;
use ptxc_sample::stride;
use ptxc_sass::Program;
use ptxc_sass::verify::{HazardKind, check};
use ptxc_search::paths::{self, Culprit};
use ptxc_search::traces::{Search, Step, taken};
use ptxc_search::weaken::{Mutant, mutants};
use ptxc_sim::{Case, Hazard, Report, SimError, run_sass_observed};
use rayon::prelude::*;

/// The mutants of one of this many kernels are tried.
const STRIDE: usize = 12;
/// The number of mutants of a program that are tried.
const SAMPLE: usize = 20;
/// The most warp instructions of a run that is not omitted.
const LONGEST: u64 = 60_000;

/// The options to compile a kernel.
#[derive(Clone, Copy, Debug)]
struct Setting {
    opt: u8,
    heuristic: &'static str,
    max_regs: u32,
    /// Whether its mutants are tried too.
    weaken: bool,
}

const SETTINGS: [Setting; 5] = [
    Setting { opt: 3, heuristic: "balanced", max_regs: 255, weaken: true },
    Setting { opt: 3, heuristic: "random:1", max_regs: 255, weaken: true },
    Setting { opt: 3, heuristic: "pressure", max_regs: 16, weaken: false },
    Setting { opt: 1, heuristic: "critical-path", max_regs: 255, weaken: false },
    Setting { opt: 0, heuristic: "source-order", max_regs: 255, weaken: false },
];

/// The mutants by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    programs: usize,
    mutants: usize,
    /// Those with a hazard on some path.
    matter: usize,
    /// Those whose hazard the run met.
    met: usize,
    /// Those of them with wrong values or no end.
    wrong: usize,
    /// Those with hazards on edges that the run did not execute.
    elsewhere: usize,
    /// Those with hazards on edges that were all executed, but not one after the other by the same
    /// lanes.
    apart: usize,
}

impl std::ops::Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        Counts {
            programs: self.programs + other.programs,
            mutants: self.mutants + other.mutants,
            matter: self.matter + other.matter,
            met: self.met + other.met,
            wrong: self.wrong + other.wrong,
            elsewhere: self.elsewhere + other.elsewhere,
            apart: self.apart + other.apart,
        }
    }
}

/// The cases of this repository, and those of the first tier if the corpus is there.
fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of_corpus = json_in(&root.join("../../../shared/corpus/exec"));
    if of_corpus.is_empty() {
        println!("SKIPPED: the cases of the corpus, which is absent");
    }
    let paths = json_in(&root.join("../cases")).into_iter().chain(of_corpus);
    let cases =
        paths.map(|path| Case::load(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    let other_tier = |case: &Case| {
        ["t2", "t3", "peers20", "triton"].iter().any(|tier| case.ptx.iter().any(|part| part == *tier))
    };
    cases.filter(|case| !other_tier(case)).collect()
}

fn json_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths
}

/// The kernel of a case; `None` if it needs more registers than the setting allows.
fn compile(case: &Case, setting: Setting) -> Option<Program> {
    let text = std::fs::read_to_string(&case.ptx).expect("the kernel can be read");
    let db = Database::default();
    let file = SourceFile::new(&db, case.ptx.display().to_string(), text);
    let heuristic = setting.heuristic.to_string();
    let options = Options::new(&db, None, setting.opt, true, heuristic, setting.max_regs, false);
    let mut found = diagnostics(&db, file, options);
    // A hint that the compiler may ignore.
    found.retain(|found| found.code != "E0120");
    if found.iter().any(|found| found.code == TOO_FEW_REGISTERS.to_string()) {
        return None;
    }
    assert_eq!(found, [], "{}", case.ptx.display());
    let list = kernels(&db, file, options);
    let (_, code) =
        list.into_iter().find(|(func, _)| *func.name(&db) == *case.entry).expect("there is the kernel");
    Some(code.expect("a kernel without diagnostics has code").program.clone())
}

/// The findings of a run, and its steps.
struct Run {
    result: Result<Report, SimError>,
    hazards: Vec<Hazard>,
    /// The steps of each warp; equal warps only once.
    warps: Vec<Vec<Step>>,
}

fn run(case: &Case, program: &Program, step_limit: u64) -> Run {
    let options = ptxc_sim::Options { hazards: true, step_limit, ..ptxc_sim::Options::default() };
    let mut warps: BTreeMap<([u32; 3], u32), Vec<Step>> = BTreeMap::new();
    let result = run_sass_observed(case, program, &options, &mut |executed| {
        let (place, active) = (executed.place, executed.active);
        let step = Step { pc: executed.pc, lanes: place.lanes, active };
        warps.entry((place.cta, place.warp)).or_default().push(step);
    });
    let hazards = match &result {
        Ok(report) => report.hazards.clone(),
        Err(SimError::After { hazards, .. }) => hazards.clone(),
        Err(_) => Vec::new(),
    };
    let mut seen = HashSet::new();
    let warps = warps.into_values().filter(|steps| seen.insert(steps.clone())).collect();
    Run { result, hazards, warps }
}

fn culprits(hazards: &[Hazard]) -> BTreeSet<Culprit> {
    let dependences = hazards.iter().filter(|hazard| {
        let by_itself = [HazardKind::Format, HazardKind::StaleReuse, HazardKind::FallsOff];
        !by_itself.contains(&hazard.what.kind)
    });
    let culprit = |hazard: &Hazard| {
        let what = &hazard.what;
        (what.consumer as usize, what.producer as usize, what.reg)
    };
    dependences.map(culprit).collect()
}

/// Checks that all four find the same hazards in a program, and returns the outcome of a mutant.
fn agree(name: &str, case: &Case, program: &Program, step_limit: u64) -> Counts {
    let run = run(case, program, step_limit);
    let simulated = culprits(&run.hazards);
    let search = Search::new(program);
    let mut searched = BTreeSet::new();
    run.warps.iter().for_each(|steps| search.add(steps, &mut searched));
    assert_eq!(simulated, searched, "{name}: the simulator, and a search of what it executed");

    let possible = paths::search(program);
    let unknown: Vec<_> = simulated.difference(&possible).collect();
    assert!(unknown.is_empty(), "{name}: {unknown:?} on no path");
    // The searches know registers, and neither groups of copies nor how many registers a warp has.
    let of_registers = |hazard: &ptxc_sass::verify::Hazard| {
        !matches!(hazard.kind, HazardKind::LostGroup | HazardKind::Ungranted)
    };
    let reported: BTreeSet<u32> = check(program)
        .err()
        .into_iter()
        .flatten()
        .filter(of_registers)
        .map(|hazard| hazard.consumer)
        .collect();
    let consumers: BTreeSet<u32> = possible.iter().map(|&(consumer, ..)| consumer as u32).collect();
    assert_eq!(reported, consumers, "{name}: the static check, and a search of all paths");

    let mut counts = Counts { programs: 0, mutants: 1, ..Counts::default() };
    let passed =
        run.result.as_ref().is_ok_and(|report| report.outcomes.iter().all(|outcome| outcome.wrong == 0));
    if simulated.is_empty() {
        assert!(passed, "{name}: no hazard, and {}", shown(&run.result));
    } else {
        counts.met = 1;
        counts.wrong = usize::from(!passed);
    }
    counts.matter = usize::from(!possible.is_empty());
    if simulated.is_empty() && !possible.is_empty() {
        let taken = paths::search_taken(program, &taken(run.warps.iter().map(Vec::as_slice)));
        match taken.is_empty() {
            true => counts.elsewhere = 1,
            false => counts.apart = 1,
        }
    }
    counts
}

fn shown(result: &Result<Report, SimError>) -> String {
    match result {
        Ok(report) => report.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Checks a kernel, and a sample of its mutants.
fn check_kernel(case: &Case, setting: Setting) -> Counts {
    let Some(program) = compile(case, setting) else { return Counts::default() };
    let name = format!("{} {setting:?}", case.entry);
    let options = ptxc_sim::Options { hazards: true, ..ptxc_sim::Options::default() };
    let report =
        ptxc_sim::run_sass(case, &program, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(report.passed(), "{name}: {report}");
    // The searches know no groups of products: mutants of such programs are not compared.
    let has_groups =
        program.insts.iter().any(|coded| coded.inst.row().completion == ptxc_sass::Completion::Group);
    if !setting.weaken || report.steps > LONGEST || has_groups {
        return Counts { programs: 1, ..Counts::default() };
    }
    let limit = 4 * report.steps + 1000;
    let clean = agree(&name, case, &program, limit);
    assert_eq!(
        clean,
        Counts { mutants: 1, ..Counts::default() },
        "{name}: hazards in what the compiler made"
    );
    let mut counts = Counts { programs: 1, ..Counts::default() };
    let mut mutant = program.clone();
    for Mutant { index, weakening, control } in mutants(&program, SAMPLE) {
        let original = std::mem::replace(&mut mutant.insts[index].control, control);
        let name = format!("{name}: {weakening:?} of /*{:04x}*/ {}", 16 * index, program.insts[index].inst);
        counts = counts + agree(&name, case, &mutant, limit);
        mutant.insts[index].control = original;
    }
    counts
}

#[test]
fn simulator_and_checks_agree_on_hazards() {
    let cases = cases();
    let stride = stride(STRIDE);
    // A sample has the mutants of some kernels, and every kernel with one or two of the other settings.
    let jobs: Vec<(&Case, Setting)> = cases
        .iter()
        .enumerate()
        .flat_map(|(index, case)| {
            let of_kernel = move |(number, setting): &(usize, Setting)| match setting.weaken {
                true => index % stride == 0,
                false => (index + number) % stride.min(4) == 0,
            };
            let settings = SETTINGS.into_iter().enumerate().filter(of_kernel);
            settings.map(move |(_, setting)| (case, setting))
        })
        .collect();
    let counts = jobs.par_iter().map(|&(case, setting)| check_kernel(case, setting));
    let counts = counts.reduce(Counts::default, std::ops::Add::add);
    let Counts { programs, mutants, matter, met, wrong, elsewhere, apart } = counts;
    println!("{programs} programs without a hazard; of {mutants} mutants {matter} have one on some path:");
    println!("  {met} met it ({wrong} of them did not compute what they should),");
    println!("  {elsewhere} have it where the run did not go,");
    println!("  {apart} on ways that were taken, but not one after the other by the same lanes");
    assert_eq!(matter, met + elsewhere + apart);
    assert!(met > matter / 2 && wrong > met / 2, "runs hardly meet what they are to find: {counts:?}");
}
