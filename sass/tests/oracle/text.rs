//! Every instruction of which the table has a row is readable, and printed again character by character.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ptxc_sass::text::{ParseError, parse_inst, write_inst};
use ptxc_sass::{Arch, Control};

use crate::is_usual;
use crate::tools::{Line, Oracle, oracle};

/// An instruction is read by itself, so that the function that it names has a number.
fn number_function(line: String) -> String {
    match line.split_once("`(") {
        Some((front, name)) if !name.starts_with(".L_x_") => format!("{front}`($0)"),
        _ => line,
    }
}

#[derive(Default)]
struct Findings {
    checked: usize,
    missing: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

const WORKERS: usize = 4;

fn check_all(oracle: &Oracle, kernels: &[PathBuf]) -> Findings {
    let mut found = Findings::default();
    for kernel in kernels {
        for Line { text: line, high, .. } in oracle.disassemble(kernel, Arch::Sm90) {
            let line = number_function(line);
            match parse_inst(&line, Arch::Sm90) {
                Ok((inst, reuse)) => {
                    let mut back = String::new();
                    write_inst(&mut back, &inst, reuse, &[], Arch::Sm90).unwrap();
                    if back.trim_end() != line {
                        found.wrong.push(format!("{line}  ->  {back}"));
                    }
                    if let Err(why) = inst.check_form() {
                        found.wrong.push(format!("{line}: {why}"));
                    }
                    match Control::of_word(high) {
                        Ok(control) if control.reuse == reuse => {}
                        Ok(control) => found.wrong.push(format!("{line}: reuse is {:#b}", control.reuse)),
                        Err(why) => found.wrong.push(format!("{line}: {why}")),
                    }
                    found.checked += 1;
                }
                Err(ParseError::Mnemonic(mnemonic)) => *found.missing.entry(mnemonic).or_default() += 1,
                Err(why) => found.wrong.push(format!("{line}: {why}")),
            }
        }
    }
    found
}

/// Checks the kernels whose name the filter takes; how many instructions were checked.
fn check(oracle: &Oracle, filter: impl Fn(&str) -> bool) -> usize {
    let kernels = oracle.kernels(&["t1"], Arch::Sm90, filter);
    let (mut checked, mut missing, mut wrong) = (0, BTreeMap::<String, usize>::new(), Vec::new());
    std::thread::scope(|scope| {
        let share = kernels.len().div_ceil(WORKERS).max(1);
        let workers: Vec<_> =
            kernels.chunks(share).map(|part| scope.spawn(|| check_all(oracle, part))).collect();
        for worker in workers {
            let found = worker.join().expect("a worker panicked");
            checked += found.checked;
            wrong.extend(found.wrong);
            for (mnemonic, times) in found.missing {
                *missing.entry(mnemonic).or_default() += times;
            }
        }
    });
    eprintln!("{checked} instructions of {} kernels checked; no row for {missing:?}", kernels.len());
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
    checked
}

#[test]
fn text_of_some_kernels_survives() {
    let Some(oracle) = oracle() else { return };
    let checked = check(&oracle, is_usual);
    assert!(checked > 800, "only {checked} instructions");
}

#[test]
#[ignore = "compiles the whole corpus, which takes half a minute"]
fn text_of_the_corpus_survives() {
    let Some(oracle) = oracle() else { return };
    let checked = check(&oracle, |_| true);
    assert!(checked > 5000, "only {checked} instructions");
}
