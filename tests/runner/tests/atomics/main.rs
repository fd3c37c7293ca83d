//! Every scalar `red` and `atom`, in every memory that it may name, on every architecture: many threads update few
//! locations, in both engines, and what they saw must come from updates that happened one after another.
//!
//! The forms are a [table](forms), the kernels are [made from it](kernel), and [order] tells whether there is an order
//! of the updates that explains what every thread saw and what is left in memory.

mod forms;
mod kernel;
mod order;

use forms::{Form, forms};
use kernel::{Place, Run};
use ptxc_sass::Arch;
use rayon::prelude::*;

/// The architectures whose code the simulator runs here.
const ARCHS: &[Arch] = &[Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90];

fn check(filter: impl Fn(&Form) -> bool + Sync) {
    let runs: Vec<Run> = ARCHS
        .iter()
        .flat_map(|&arch| forms(arch).into_iter().map(move |form| (arch, form)))
        .filter(|(_, form)| filter(form))
        .flat_map(|(arch, form)| Place::all(arch).into_iter().map(move |place| Run { arch, form, place }))
        .collect();
    assert!(runs.len() > 30, "the table has forms");
    let wrong: Vec<String> = runs.par_iter().filter_map(|run| run.check().err()).collect();
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), runs.len(), wrong.join("\n"));
}

#[test]
fn integers_and_bits() {
    check(|form| !form.is_swap() && !form.ty.is_float());
}

#[test]
fn floats() {
    check(|form| form.ty.is_float());
}

#[test]
fn swaps() {
    check(Form::is_swap);
}
