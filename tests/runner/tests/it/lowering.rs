//! What the check accepts must lower, or match a line of `unlowered.txt`: a sample of the
//! combinations that `cargo xtask forms` tries.
//!
//! `PTXC_COMBINATIONS=400` tries more combinations of a row than the usual number.

use ptxc_sample::{in_turn, stride};
use ptxc_tests::forms::combinations::{Problems, TARGETS, accepted, lines, unlowered};

/// One of this many combinations is tried for each target, different ones for the next target.
const STRIDE: usize = 3;

#[test]
fn the_table_lowers_or_is_listed() {
    let most = std::env::var("PTXC_COMBINATIONS").ok().and_then(|most| most.parse().ok()).unwrap_or(24);
    let lines = lines(most);
    let mut problems = Problems::default();
    let stride = stride(STRIDE);
    for (turn, target) in TARGETS.into_iter().enumerate() {
        let lines = in_turn(lines.keys(), turn, stride);
        problems.add(&unlowered(&accepted(lines, target), target), target);
    }
    println!("{} instructions, {} do not lower somewhere", lines.len(), problems.len());
    let list = problems.list(stride == 1);
    assert!(list.is_empty(), "{} problems\n{}", list.len(), list.join("\n"));
}
