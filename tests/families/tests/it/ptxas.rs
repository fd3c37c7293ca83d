//! The lists are right, and this compiler agrees with ptxas on a sample of the forms.
//! `cargo xtask families` compares all of them.

use std::io::Write as _;

use ptxc_families::{Campaign, Judge, Oracle, enumerate};

/// One out of this many forms is compared here.
const STRIDE: usize = 128;

#[test]
fn every_entry_is_about_some_form() {
    let judge = Judge::new().expect("the lists can be read");
    assert_eq!(judge.about_nothing(&enumerate::all()), Vec::<String>::new());
}

#[test]
fn a_sample_of_the_forms_does_what_ptxas_does_or_what_the_list_says() {
    let Some(oracle) = Oracle::find() else {
        // Prints to standard error directly, because the test harness hides the output of
        // `eprintln!`.
        let _ = writeln!(std::io::stderr(), "SKIPPED: forms beside ptxas; ORACLE names no folder with it");
        return;
    };
    let campaign = Campaign { stride: STRIDE, ..Campaign::all() };
    let judge = campaign.run(&oracle, &mut |_, _, _, _, _| {}).expect("ptxas answers");
    let _ = writeln!(std::io::stderr(), "{}", judge.summary());
    assert!(judge.forms > 500);
    assert!(judge.wrong.is_empty(), "{}", judge.wrong.join("\n"));
}
