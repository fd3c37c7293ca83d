//! Every instruction that has a row in the table can be read, and is printed again character by
//! character.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ptxc_machine::{Arch, Feature};
use ptxc_sass::Control;
use ptxc_sass::text::{ParseError, parse_inst, write_inst};

use super::tools::{Line, Oracle, oracle};

/// The instruction is read by itself, so the function that it names gets a number. A call names a
/// function; if the oracle calls a place in the same function, the name is its label.
fn number_function(line: String) -> String {
    match line.split_once("`(") {
        Some((front, name)) if front.contains("CALL.") || !name.starts_with(".L_x_") => {
            format!("{front}`($0)")
        }
        _ => line,
    }
}

#[derive(Default)]
struct Findings {
    checked: usize,
    missing: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

/// Instructions that the compiler never needs and that have no row: `P2R` and `R2P`. ptxas uses
/// them to keep several predicates in one register; this compiler keeps one predicate in each
/// register.
const WITHOUT_ROW: &[&str] = &["P2R", "R2P"];

fn check_all(oracle: &Oracle, arch: Arch, kernels: &[PathBuf]) -> Findings {
    let mut found = Findings::default();
    for kernel in kernels {
        for Line { text: line, high, .. } in oracle.disassemble(kernel, arch) {
            let line = number_function(line);
            match parse_inst(&line, arch) {
                Ok((inst, reuse)) => {
                    let mut back = String::new();
                    write_inst(&mut back, &inst, reuse, &[], arch).unwrap();
                    if back.trim_end() != without_hidden_descriptors(&line, arch) {
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

/// The line without the descriptor's `.64`: from sm_80 to sm_89 nvdisasm shows a descriptor only by
/// the `.64`, and the reader does not know the descriptor.
fn without_hidden_descriptors(line: &str, arch: Arch) -> String {
    if !arch.has(Feature::HiddenDescriptors) || line.contains("desc[") {
        return line.to_string();
    }
    line.replace(".64]", "]").replace(".64+", "+")
}

/// Checks kernels of tier 1; returns how many instructions were checked, and of how many kernels.
fn check(oracle: &Oracle, arch: Arch) -> (usize, usize) {
    let kernels = oracle.listed_sample(&["t1"], arch);
    let Findings { checked, mut missing, mut wrong } = check_all(oracle, arch, &kernels);
    eprintln!("{arch}: {checked} instructions of {} kernels checked; no row for {missing:?}", kernels.len());
    missing.retain(|mnemonic, _| !WITHOUT_ROW.contains(&mnemonic.as_str()));
    assert!(missing.is_empty(), "{arch}: no row for {missing:?}");
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{arch}, {} lines:\n{}", wrong.len(), wrong.join("\n"));
    (checked, kernels.len())
}

#[test]
fn text_of_tier_1_survives() {
    let Some(oracle) = oracle() else { return };
    for arch in Arch::ALL {
        let (checked, kernels) = check(&oracle, arch);
        let is_whole = kernels == oracle.kernels(&["t1"], arch).len();
        let least = if is_whole { 5000 } else { 50 * kernels };
        assert!(checked > least, "only {checked} instructions of {kernels} kernels for {arch}");
        assert!(kernels > 2, "only {kernels} kernels for {arch}");
    }
}
