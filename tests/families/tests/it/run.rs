//! A sample of the forms, on every architecture, leaves the same memory on both engines of the
//! simulator, without hazards. `PTXC_STRIDE=1` runs all of them.

use std::collections::BTreeMap;
use std::io::Write as _;

use ptxc_families::simulate::{Verdict, simulate};
use ptxc_families::{Campaign, Form};
use ptxc_machine::Arch;
use ptxc_sample::stride;
use rayon::prelude::*;

/// One out of this many forms is run, unless the environment sets another number.
const STRIDE: usize = 200;
/// The orders in which warps take turns.
const SEEDS: [u64; 3] = [0, 1, 7];

fn forms() -> Vec<(Arch, Form)> {
    let only = std::env::var("PTXC_FAMILIES_ONLY").unwrap_or_default();
    let campaign = Campaign { stride: stride(STRIDE), only, ..Campaign::all() };
    let of = |arch: &Arch| campaign.forms(*arch).into_iter().map(|form| (*arch, form)).collect::<Vec<_>>();
    Arch::ALL.iter().flat_map(of).collect()
}

#[test]
fn both_engines_leave_the_same_memory() {
    let forms = forms();
    let verdicts: Vec<Verdict> = forms.par_iter().map(|(arch, form)| simulate(form, *arch, &SEEDS)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for ((arch, form), verdict) in forms.iter().zip(verdicts) {
        let sort = match verdict {
            Verdict::Agrees => "agree",
            Verdict::LeftOut(why) => why,
            Verdict::Wrong(what) => {
                wrong.push(format!("{arch} {form}: {what}"));
                "wrong"
            }
        };
        *counts.entry(sort).or_default() += 1;
    }
    // Prints to standard error directly, because the test harness hides the output of `println!`.
    let _ = writeln!(std::io::stderr(), "{} forms: {counts:?}", forms.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(forms.len() < 100 || counts["agree"] * 4 > forms.len(), "{counts:?}");
}
