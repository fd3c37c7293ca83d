//! Runs the execution cases on ptxas's code, for each architecture: a third answer that does not
//! depend on the compiler.
//!
//! `ptxc-object` reads the cubin. The program runs with its control codes, in program order and in
//! time, with the order of returns that it relies on. It must compute the expected values, and
//! neither `verify` nor the engines may find a hazard. A sample of the programs that are short
//! enough is weakened, one control field at a time ([`ptxc_search::weaken`]). The static check must
//! find every hazard within a function that the engine finds then, and a program without a finding
//! must still compute the expected values.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use ptxc_machine::Arch;
use ptxc_sass::verify::{Order, check_with};
use ptxc_sass::{Coded, Program};
use ptxc_search::weaken::{Mutant, mutants};
use ptxc_sim::timing::{TimingOptions, run_timed};
use ptxc_sim::{Case, Hazard, Options, SimError, run_sass};
use rayon::prelude::*;

use crate::cases::{stem, turn};
use crate::oracle::{Oracle, Refusal};
use crate::trouble::{Trouble, passed};

/// The number of weakened programs per program.
const SAMPLE: usize = 2;
/// A program is weakened only if its run has at most this many warp instructions.
const LONGEST: u64 = 10_000;

/// The result of ptxas's code for a case and an architecture.
enum Theirs {
    Holds(Weakened),
    /// ptxas refuses it for this architecture.
    LeftOut,
    NotRun(String),
    Wrong(String),
}

/// The number of weakened programs, of those with a hazard by `verify`, and of those with a hazard
/// in the run.
#[derive(Clone, Copy, Debug, Default)]
struct Weakened {
    tried: usize,
    matter: usize,
    met: usize,
}

/// The sample runs one of this many cases. It is prime to the number of architectures, so that neighbours in
/// the sample have different ones.
const STRIDE: usize = 3;

/// Runs the cases on ptxas's code for each architecture, or some of them for one [in turn](turn), prints
/// the results, and returns the number of failures.
pub(crate) fn beside_ptxas(oracle: &Oracle, paths: &[PathBuf], is_sample: bool) -> usize {
    let archs = |index: usize| match is_sample {
        true if index.is_multiple_of(STRIDE) => vec![turn(&Arch::ALL, index)],
        true => Vec::new(),
        false => Arch::ALL.to_vec(),
    };
    let jobs: Vec<(&Path, Arch)> = paths
        .iter()
        .enumerate()
        .flat_map(|(index, path)| archs(index).into_iter().map(|arch| (path.as_path(), arch)))
        .collect();
    let outcomes: Vec<Theirs> = jobs.par_iter().map(|(path, arch)| theirs(oracle, path, *arch)).collect();
    let (mut hold, mut left_out, mut wrong) = (0, 0, 0);
    let mut cases = BTreeSet::new();
    let mut weakened = Weakened::default();
    for ((path, arch), outcome) in jobs.iter().zip(&outcomes) {
        let name = stem(path);
        match outcome {
            Theirs::Holds(of_it) => {
                hold += 1;
                cases.insert(name);
                weakened.tried += of_it.tried;
                weakened.matter += of_it.matter;
                weakened.met += of_it.met;
            }
            Theirs::LeftOut => left_out += 1,
            Theirs::NotRun(why) => println!("ptxas's code not run: {name} {arch}: {why}"),
            Theirs::Wrong(why) => {
                wrong += 1;
                println!("FAILED {name} {arch} ptxas's SASS: {why}");
            }
        }
    }
    println!(
        "exec: ptxas's code of {} cases holds, {hold} runs on {} architectures; {left_out} times ptxas has none",
        cases.len(),
        Arch::ALL.len()
    );
    let Weakened { tried, matter, met } = weakened;
    println!(
        "exec: of {tried} weakened programs of ptxas's {matter} have a hazard by `verify`, {met} of them met in the run"
    );
    if tried > 100 && met == 0 {
        println!("FAILED: no weakened program of ptxas's shows");
        wrong += 1;
    }
    wrong
}

fn theirs(oracle: &Oracle, path: &Path, arch: Arch) -> Theirs {
    let case = match Case::load(path) {
        Ok(case) => case,
        Err(error) => return Theirs::Wrong(error.to_string()),
    };
    let text = match std::fs::read_to_string(&case.ptx) {
        Ok(text) => text,
        Err(error) => return Theirs::Wrong(error.to_string()),
    };
    let (text, target) = retargeted(&text, arch);
    let program = match oracle.program(&text, &target, &[], &case.entry) {
        Ok(program) => program,
        Err(Refusal::Refused(_)) => return Theirs::LeftOut,
        Err(Refusal::Unreadable(why)) => return Theirs::NotRun(why),
        Err(Refusal::Unusable(why)) => return Theirs::Wrong(why),
    };
    match holds(&case, &program) {
        Ok(weakened) => Theirs::Holds(weakened),
        Err(Trouble::Unsupported(why)) => Theirs::NotRun(why),
        Err(Trouble::Wrong(why)) => Theirs::Wrong(why),
    }
}

/// The options of the simulator for ptxas's code.
pub(crate) fn simulator() -> Options {
    Options { hazards: true, order: Order::InOrder, holds_uniform: true, ..Options::default() }
}

/// Checks a program statically, by a run and by a run in time; and checks weakened programs.
fn holds(case: &Case, program: &Program) -> Result<Weakened, Trouble> {
    if let Err(hazards) = check_with(program, Order::InOrder) {
        let first = hazards.first().map(ToString::to_string).unwrap_or_default();
        return Err(Trouble::Wrong(format!("verify: {first}")));
    }
    let options = simulator();
    let result = run_sass(case, program, &options);
    let steps = result.as_ref().map_or(0, |report| report.steps);
    passed("SASS", result)?;
    // The model of time has no clusters.
    match run_timed(case, program, &options, &TimingOptions::default()) {
        Err(SimError::Unsupported { .. }) | Err(SimError::Case(_)) => {}
        result => passed("timed", result.map(|(report, _)| report))?,
    }
    if steps > LONGEST {
        return Ok(Weakened::default());
    }
    let options = Options { step_limit: 4 * steps + 1000, ..options };
    weakened(case, program, &options).map_err(Trouble::Wrong)
}

/// Whether a call or a return may be on the path between the two instructions.
fn crosses_boundary(program: &Program, hazard: &Hazard) -> bool {
    let (from, to) = (hazard.what.producer as usize, hazard.what.consumer as usize);
    let boundary = |coded: &Coded| coded.inst.row().effects.boundary;
    match from < to {
        true => program.insts[from..to].iter().any(boundary),
        false => program.insts.iter().any(boundary),
    }
}

/// Weakens the program, and compares the engine with the static check.
fn weakened(case: &Case, program: &Program, options: &Options) -> Result<Weakened, String> {
    let mut counts = Weakened::default();
    let mut weak = program.clone();
    for Mutant { index, weakening, control } in mutants(program, SAMPLE) {
        let original = std::mem::replace(&mut weak.insts[index].control, control);
        let name = format!("{weakening:?} of /*{:04x}*/ {}", 16 * index, program.insts[index].inst);
        let found: HashSet<u32> = check_with(&weak, Order::InOrder)
            .err()
            .into_iter()
            .flatten()
            .map(|hazard| hazard.consumer)
            .collect();
        let (met, holds) = match run_sass(case, &weak, options) {
            Ok(report) => {
                let holds = report.outcomes.iter().all(|outcome| outcome.wrong == 0);
                (report.hazards, holds)
            }
            Err(SimError::After { hazards, .. }) => (hazards, false),
            Err(error) => return Err(format!("{name}: {error}")),
        };
        // The static check does not know the outstanding operations after a call or a return.
        let unknown =
            |hazard: &&Hazard| !found.contains(&hazard.what.consumer) && !crosses_boundary(program, hazard);
        if let Some(hazard) = met.iter().find(unknown) {
            return Err(format!("{name}: `verify` does not find that {hazard}"));
        }
        if met.is_empty() && !holds {
            return Err(format!("{name}: wrong values, and no hazard"));
        }
        counts.tried += 1;
        counts.matter += usize::from(!found.is_empty());
        counts.met += usize::from(!met.is_empty());
        weak.insts[index].control = original;
    }
    Ok(counts)
}

/// A module's text for another architecture, and the resulting target. A target with a suffix keeps
/// its suffix.
pub(crate) fn retargeted(text: &str, arch: Arch) -> (String, String) {
    let mut target = arch.to_string();
    let mut lines = String::with_capacity(text.len());
    for line in text.lines() {
        match line.trim_start().strip_prefix(".target") {
            Some(rest) if rest.starts_with([' ', '\t']) => {
                let (name, others) = match rest.split_once(',') {
                    Some((name, others)) => (name.trim(), format!(",{others}")),
                    None => (rest.trim(), String::new()),
                };
                if name.trim_end_matches(['a', 'f']) == target {
                    target = name.to_string();
                }
                lines.push_str(&format!(".target {target}{others}\n"));
            }
            _ => {
                lines.push_str(line);
                lines.push('\n');
            }
        }
    }
    (lines, target)
}
