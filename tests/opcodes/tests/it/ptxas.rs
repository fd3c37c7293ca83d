//! ptxas accepts a sample of the modules: one per family, for every third of the targets, a different one
//! for each family; `PTXC_STRIDE=1` takes one per family and target.
//! `cargo run -p ptxc-opcodes -- DIR` tries all of them.

use std::io::Write as _;

use ptxc_opcodes::{FAMILIES, Module, Oracle, Target, modules};
use ptxc_sample::{in_turn, stride};
use rayon::prelude::*;

/// One of this many targets is tried for a family.
const STRIDE: usize = 5;

/// One of a family's modules for one of `stride` targets, a different one for each.
fn sample(stride: usize) -> Vec<Module> {
    let mut found = Vec::new();
    for (number, family) in FAMILIES.iter().enumerate() {
        for (turn, target) in in_turn(Target::ALL.into_iter().enumerate(), number, stride) {
            let made = modules(family, target).expect(family.name);
            let count = made.len();
            found.extend(made.into_iter().nth(turn * count / Target::ALL.len()));
        }
    }
    found
}

#[test]
fn ptxas_takes_a_sample() {
    let Some(oracle) = Oracle::find() else {
        // Prints to standard error directly, because the test harness hides the output of
        // `eprintln!`.
        let _ = writeln!(std::io::stderr(), "SKIPPED: modules by ptxas; ORACLE names no folder with it");
        return;
    };
    let stride = stride(STRIDE);
    let sample = sample(stride);
    assert!(sample.len() * stride > 60);
    let refused = sample.par_iter().flat_map_iter(|module| {
        let compiled = oracle.compile(module).expect("ptxas answers");
        assert_eq!(compiled.cubin.is_none(), compiled.module.steps.is_empty());
        compiled.refused.into_iter().map(|(step, message)| format!("{}: {step}: {message}", module.name))
    });
    let refused: Vec<String> = refused.collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
