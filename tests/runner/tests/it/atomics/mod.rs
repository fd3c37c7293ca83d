//! Every scalar `red` and `atom`, in every memory that it may name, on every architecture. Many
//! threads update few locations on both engines, and the values that they read must come from
//! updates in some sequential order.
//!
//! The forms are a [table](forms), the kernels are [made from it](kernel), and [order] decides
//! whether an order of the updates explains the values that every thread read and the final content
//! of memory.

mod forms;
mod kernel;
mod order;

use ptxc_machine::Arch;
use rayon::prelude::*;

use forms::{Form, forms};
use kernel::{Place, Run};

/// One out of this many combinations of form and memory is run on each architecture. Each
/// architecture starts with another one, so that every combination runs on some. With
/// `PTXC_EVERY_ATOMIC` in the environment all run on all.
const STRIDE: usize = 4;

fn check(filter: impl Fn(&Form) -> bool + Sync) {
    let stride = if std::env::var_os("PTXC_EVERY_ATOMIC").is_some() { 1 } else { STRIDE };
    let of_arch = |(first, &arch): (usize, &Arch)| {
        let forms = forms(arch).into_iter().filter(&filter);
        let runs =
            forms.flat_map(|form| Place::all(arch).into_iter().map(move |place| Run { arch, form, place }));
        ptxc_sample::in_turn(runs, first, stride).collect::<Vec<_>>()
    };
    let runs: Vec<Run> = Arch::ALL.iter().enumerate().flat_map(of_arch).collect();
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
