//! The codes that the program can print, found in its source: tables with rules, and single
//! constants.

use std::collections::BTreeSet;
use std::path::Path;

use super::{read, repository};

/// The folders with the source of the program.
const SOURCES: [&str; 13] = [
    "syntax/src",
    "compiler/src",
    "compiler/interrupt/src",
    "compiler/passes/src",
    "compiler/passes/ptx/src",
    "compiler/passes/ssa/src",
    "compiler/passes/codegen/src",
    "machine/src",
    "object/src",
    "sass/src",
    "ir/src",
    "sim/src",
    "driver/src",
];

/// The codes that the program can print.
pub fn defined() -> BTreeSet<String> {
    let tables = ptxc_syntax::codes::ALL.iter().chain(ptxc_ptx::check::codes::ALL);
    let mut codes: BTreeSet<String> = tables.map(|(code, _)| code.to_string()).collect();
    for folder in SOURCES {
        scan(&repository(folder), &mut codes);
    }
    codes
}

/// The rule that a code stands for, if the source has one.
pub fn rule(code: &str) -> Option<&'static str> {
    let code = ptxc_syntax::codes::Code(code.strip_prefix('E')?.parse().ok()?);
    ptxc_syntax::codes::explain(code).or_else(|| ptxc_ptx::check::codes::explain(code))
}

fn scan(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            scan(&path, codes);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            codes.extend(in_source(&read(&path)));
        }
    }
}

/// Codes in the source: `Code(901)`, `"E0901"`, and in an enumeration whose numbers are codes,
/// `= 961,`.
fn in_source(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let is_enumeration = text.contains("Their numbers are codes of diagnostics");
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let after = |mark: &str| line.split_once(mark).map(|(_, rest)| rest);
        let marks = [("= Code(", ")"), ("\"E", "\""), ("= ", ",")];
        for (mark, end) in &marks[..if is_enumeration { 3 } else { 2 }] {
            let digits = after(mark).and_then(|rest| rest.split_once(end)).map_or("", |(digits, _)| digits);
            if (3..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                found.push(format!("E{digits:0>4}"));
            }
        }
    }
    found
}
