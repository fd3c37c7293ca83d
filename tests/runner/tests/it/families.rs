//! The hazard check on the forms of the families: of a sample on each architecture, exactly the
//! weakened control codes that matter are reported.
//!
//! It is like `mutation`, but for barriers, fences, atomics, shuffles and votes in every form.
//! `PTXC_STRIDE=1` tries all forms.

use std::collections::BTreeSet;
use std::io::Write as _;

use ptxc_families::{Campaign, Form, ours};
use ptxc_machine::Arch;
use ptxc_sample::stride;
use ptxc_sass::Program;
use ptxc_search::paths;
use ptxc_search::weaken::{Mutant, mutants};
use rayon::prelude::*;

/// One out of this many forms is tried, unless the environment sets another number.
const STRIDE: usize = 120;
/// The number of mutants of a program that are tried.
const SAMPLE: usize = 20;

/// The instructions that are too early according to the check.
fn reported(program: &Program) -> BTreeSet<u32> {
    match ptxc_sass::verify::check(program) {
        Ok(()) => BTreeSet::new(),
        Err(hazards) => hazards.iter().map(|hazard| hazard.consumer).collect(),
    }
}

/// The instructions that are too early according to the search.
fn searched(program: &Program) -> BTreeSet<u32> {
    paths::search(program).iter().map(|&(consumer, ..)| consumer as u32).collect()
}

/// The number of mutants of a form, the number that matter, and the errors; `None` if the form has
/// no code.
fn weaken(arch: Arch, form: &Form) -> Option<(usize, usize, Vec<String>)> {
    let program = ours::program(form, arch).ok()?;
    let mut wrong = Vec::new();
    let (by_check, by_search) = (reported(&program), searched(&program));
    if !by_check.is_empty() || !by_search.is_empty() {
        wrong.push(format!(
            "{arch} {form}: hazards at {by_check:?} by the check, {by_search:?} by the search"
        ));
    }
    let (mut all, mut matter) = (0, 0);
    let mut mutant = program.clone();
    for Mutant { index, weakening, control } in mutants(&program, SAMPLE) {
        let original = std::mem::replace(&mut mutant.insts[index].control, control);
        let (by_check, by_search) = (reported(&mutant), searched(&mutant));
        if by_check != by_search {
            let inst = &program.insts[index].inst;
            wrong.push(format!(
                "{arch} {form}: {weakening:?} of /*{:04x}*/ {inst}: {by_check:?} by the check, {by_search:?} by the search",
                16 * index
            ));
        }
        all += 1;
        matter += usize::from(!by_search.is_empty());
        mutant.insts[index].control = original;
    }
    Some((all, matter, wrong))
}

#[test]
fn exactly_the_weakened_controls_that_matter_are_reported() {
    let campaign = Campaign { stride: stride(STRIDE), ..Campaign::all() };
    let of = |arch: &Arch| campaign.forms(*arch).into_iter().map(|form| (*arch, form)).collect::<Vec<_>>();
    let forms: Vec<(Arch, Form)> = Arch::ALL.iter().flat_map(of).collect();
    let results: Vec<_> = forms.par_iter().filter_map(|(arch, form)| weaken(*arch, form)).collect();
    let (all, matter) = results.iter().fold((0, 0), |sum, result| (sum.0 + result.0, sum.1 + result.1));
    // Prints to standard error directly, because the test harness hides the output of `println!`.
    let _ =
        writeln!(std::io::stderr(), "{} forms with code: {matter} of {all} mutants matter", results.len());
    let wrong: Vec<String> = results.into_iter().flat_map(|(.., wrong)| wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(matter > 100);
}
