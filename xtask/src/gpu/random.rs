//! Random kernels on a GPU: the SSA engine's results are the expected ones ([`ptxc_fuzz`]).
//!
//! The check leaves out kernels whose exact results are not known, because they use approximations.

use std::num::NonZeroUsize;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::built;
use ptxc_compiler::stages::callees::device_callees;
use ptxc_compiler::{Database, SourceFile};
use ptxc_fuzz::campaign::{Campaign, Finding};
use ptxc_fuzz::execute::{Failure, NOT_RUN, Settings, Who};
use ptxc_fuzz::program::Family;
use ptxc_fuzz::{Trial, campaign, launch};
use ptxc_machine::Arch;
use ptxc_object::cubin::Abi;
use ptxc_sim::{Case, run_ssa};

use super::device::{Extra, Gpu};
use super::{Outcome, kernel_cubin, launch_case};
use crate::oracle::Oracle;
use crate::theirs::retargeted;

/// The number of the kernels' target.
const TARGET: u32 = 90;

/// How the kernels are compiled and run.
pub(super) struct Way<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) arch: Arch,
    pub(super) abi: Abi,
    pub(super) oracle: Option<&'a Oracle>,
    pub(super) jobs: NonZeroUsize,
}

/// The counts, and the report of each kernel with a wrong result.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) right: usize,
    pub(super) left_out: usize,
    pub(super) wrong: Vec<String>,
}

/// Runs the kernels of some seeds, the families in turn. A kernel with a wrong result is made
/// smaller; then ptxas's code for it runs too.
pub(super) fn check(way: &Way<'_>, first: u64, count: u64) -> Found {
    let mut found = Found::default();
    // The other families print texts or have images.
    let families = vec![Family::Plain, Family::Calls, Family::Flow, Family::Packed, Family::Parameters];
    let campaign =
        Campaign { families, targets: vec![TARGET], orders: 1, first, count, jobs: way.jobs, time: None };
    campaign.run(&|_, trial| test(way, trial), &mut |seed, outcome| match outcome {
        campaign::Outcome::Agreed => found.right += 1,
        campaign::Outcome::Unsupported(_) => found.left_out += 1,
        campaign::Outcome::Failed(finding) => {
            let Finding { whole, trial, failure, .. } = *finding;
            let family = trial.program.family.name();
            let mut report = format!("seed {seed} of {family}: {whole}\nreduced: {failure}\n");
            if let Some(theirs) = theirs(way, &trial) {
                report.push_str(&format!("ptxas's code for it: {theirs}\n"));
            }
            report.push_str(&format!("{}\n{}", trial.conditions(), trial.text()));
            found.wrong.push(report);
        }
    });
    found
}

/// Runs our code for a kernel.
fn test(way: &Way<'_>, trial: &Trial) -> Result<(), Failure> {
    if trial.program.approximates {
        let what = "functions of which only bounds are known".to_string();
        return Err(Failure { who: Who::TheirSass, sort: NOT_RUN.to_string(), what });
    }
    let (case, cubin) = compiled(way, trial)?;
    match launch_case(way.gpu, &case, &Extra::default(), &cubin, 1) {
        Outcome::Wrong(what) => {
            let sort = if what.contains("instead of") { "differs".to_string() } else { what.clone() };
            Err(Failure { who: Who::Sass, sort, what })
        }
        _ => Ok(()),
    }
}

/// The case with the SSA engine's results as the expected ones, and our cubin.
fn compiled(way: &Way<'_>, trial: &Trial) -> Result<(Case, Vec<u8>), Failure> {
    let Settings { opt, heuristic, max_regs, serial, fmad, seed, .. } = trial.settings.clone();
    let failed = |who: Who| move |what: String| Failure { who, sort: what.clone(), what };
    let db = Database::default();
    let file = SourceFile::new(&db, "fuzz.ptx".to_string(), trial.text());
    let options = ptxc_compiler::Settings {
        arch: Some(way.arch),
        opt,
        fmad,
        heuristic,
        max_regs,
        serial,
        abi: way.abi,
        ..Default::default()
    }
    .options(&db);
    let cubin = kernel_cubin(&db, file, options).map_err(|outcome| match outcome {
        Outcome::Wrong(what) => failed(Who::Compiler)(what),
        outcome => failed(Who::Compiler)(outcome.word().to_string()),
    })?;
    let kernel = kernels(&db, file, options).first().map(|&(func, _)| func);
    let ssa = kernel.and_then(|func| {
        let called = device_callees(&db, func).iter().map(|&callee| built(&db, callee).value.clone());
        Some((built(&db, func).value.as_ref()?, called.collect::<Option<Vec<_>>>()?))
    });
    let (ssa, called) = ssa.ok_or_else(|| failed(Who::Compiler)("code without SSA".to_string()))?;
    let mut case = launch::case(&trial.program, trial.data);
    let simulator = ptxc_sim::Options { seed, check_uninitialised: false, ..ptxc_sim::Options::default() };
    let report = run_ssa(&case, ssa, &called, &simulator);
    let report = report.map_err(|error| failed(Who::AsBuilt)(error.to_string()))?;
    for (buffer, outcome) in case.buffers_mut().into_iter().zip(report.outcomes) {
        buffer.expect = Some(outcome.content);
    }
    Ok((case, cubin))
}

/// The result of ptxas's code, if ptxas is there.
fn theirs(way: &Way<'_>, trial: &Trial) -> Option<String> {
    let oracle = way.oracle?;
    let (case, _) = compiled(way, trial).ok()?;
    let (text, target) = retargeted(&trial.text(), way.arch);
    let level = format!("-O{}", trial.settings.opt);
    let fmad = format!("-fmad={}", trial.settings.fmad);
    let cubin = oracle.cubin(&text, &target, &[&level, &fmad]).ok()?;
    Some(match launch_case(way.gpu, &case, &Extra::default(), &cubin, 1) {
        Outcome::Wrong(why) => why,
        outcome => outcome.word().to_string(),
    })
}
