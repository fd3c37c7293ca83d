//! The page of the book agrees with the files, and the files agree with this compiler and, in a
//! sample, with ptxas. `PTXC_STRIDE=1` asks ptxas about all of them.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;

use ptxc_families::{Campaign, Form, Judge, Oracle, file, observed, ours, page};
use ptxc_sample::stride;
use rayon::prelude::*;

/// ptxas answers again for one out of this many observations, unless the environment sets another
/// number.
const STRIDE: usize = 32;

#[test]
fn the_page_of_the_book_is_not_stale() {
    let text = page::text().expect("the files can be read");
    let page = file("../../docs/families.md").expect("the page can be read");
    assert!(text == page, "run `cargo xtask families --write`");
}

/// Needs no ptxas: our outcomes are the observed ones of ptxas, except for the listed differences.
#[test]
fn we_do_what_was_observed() {
    let (_, observations) =
        file(observed::FILE).and_then(|text| observed::read(&text)).expect("the file can be read");
    let forms = observed::candidates();
    let forms: HashMap<String, &Form> = forms.iter().map(|form| (form.to_string(), form)).collect();
    let seen: Vec<_> = observations
        .iter()
        .map(|seen| {
            let form = forms.get(&seen.form).unwrap_or_else(|| panic!("no form {}", seen.form));
            (*form, &seen.outcomes)
        })
        .collect();
    let outcomes: Vec<Vec<_>> = seen
        .par_iter()
        .map(|(form, outcomes)| outcomes.iter().map(|(arch, _)| ours::outcome(form, *arch)).collect())
        .collect();
    let mut judge = Judge::new().expect("the lists can be read");
    for ((form, theirs), ours) in seen.iter().zip(&outcomes) {
        for ((arch, theirs), ours) in theirs.iter().zip(ours) {
            judge.judge(*arch, form, theirs, ours);
        }
    }
    assert!(judge.forms > 1000);
    assert!(judge.wrong.is_empty(), "{}", judge.wrong.join("\n"));
}

#[test]
fn observations_agree_with_ptxas() {
    let Some(oracle) = Oracle::find() else {
        // Prints to standard error directly, because the test harness hides the output of
        // `eprintln!`.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the observations beside ptxas; ORACLE names no folder with it"
        );
        return;
    };
    let stride = stride(STRIDE);
    let forms: Vec<Form> = observed::candidates().into_iter().step_by(stride).collect();
    let names: HashSet<String> = forms.iter().map(Form::to_string).collect();
    let observations = file(observed::FILE).expect("the file can be read");
    let (version, mut stored) = observed::read(&observations).expect("the file is in order");
    assert!(observed::write(&version, &stored) == observations, "run `cargo xtask families --observe`");
    let all = stored.len();
    stored.retain(|seen| names.contains(&seen.form));
    assert!(stored.len() * stride * 2 > all, "{} of {all} observations", stored.len());
    let text = Campaign::all().observe(&oracle, &forms).expect("ptxas answers");
    assert_eq!(text, observed::write(&version, &stored), "run `cargo xtask families --observe`");
}
