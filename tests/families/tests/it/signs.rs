//! A sample of the instructions compiles with signs on each operand and computes the right results.
//! `cargo xtask families` tries all.

use std::io::Write as _;

use ptxc_families::{Oracle, signs};
use ptxc_machine::Arch;

/// One out of this many instructions is tried here.
const STRIDE: usize = 160;

#[test]
fn a_sample_of_the_instructions_takes_signs_on_all_operands() {
    let stride = ptxc_sample::stride(STRIDE);
    let only = std::env::var("PTXC_FORMS").unwrap_or_default();
    let report = signs::run(&Arch::ALL, stride, &only, Oracle::find().as_ref());
    // Prints to standard error directly, because the test harness hides the output of `println!`.
    let _ = writeln!(std::io::stderr(), "{}", report.summary());
    assert!(report.settings > 0);
    assert!(report.wrong.is_empty(), "{} problems\n{}", report.wrong.len(), report.wrong.join("\n"));
}
