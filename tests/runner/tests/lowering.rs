//! Every combination of the modifiers of every row of the instruction table, on every architecture:
//! what the check accepts must lower, or match a line of `unlowered.txt`. The list is exact: a line
//! that matches nothing is wrong too.
//!
//! `PTXC_COMBINATIONS=400` tries more combinations of a row than the usual number.

use std::collections::{BTreeMap, BTreeSet};

use ptxc_compiler::{Database, Settings, SourceFile, diagnostics};
use ptxc_ptx::check::check_with;
use ptxc_ptx::check::env::{ModuleEnv, PtxTarget, PtxVersion};
use ptxc_ptx::check::requirements::Strictness;
use ptxc_ptx::check::table::TABLE;
use ptxc_ptx::diagnostic::Severity;
use ptxc_tests::edits::combinations;
use ptxc_tests::instructions::REGISTERS;

const TARGETS: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"];

/// Opcodes that end in `E0900`: `*` stands for any text.
const UNLOWERED: &str = include_str!("unlowered.txt");

/// Whether a text matches a pattern whose `*` stand for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(first) else { return false };
    (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| matches(rest, &text[at..]))
}

/// The lines that the check accepts for a target.
fn accepted<'a>(lines: &BTreeSet<String>, target: &str, out: &'a mut Vec<String>) -> &'a [String] {
    let mut env = ModuleEnv::empty();
    env.version = PtxVersion::NEWEST;
    env.target = PtxTarget::parse(target).expect("a target");
    let is_accepted = |line: &&String| {
        let text = format!(".entry k(.param .align 16 .b8 n[64]) {{ {REGISTERS} {line} END: ret; }}");
        let parsed = ptxc_syntax::parse_function(&text);
        let found = check_with(&parsed.value, &env, Strictness::Strict);
        parsed.errors.is_empty() && found.iter().all(|finding| finding.severity != Severity::Error)
    };
    out.extend(lines.iter().filter(is_accepted).cloned());
    out
}

/// The lines among some that do not lower, each with the message. They are few enough that all findings
/// are listed.
fn unlowered(lines: &[String], target: &str) -> Vec<(String, String)> {
    let head = format!(".version {}\n.target {target}\n.address_size 64\n", PtxVersion::NEWEST);
    let before = head.lines().count();
    let mut text = head;
    for (number, line) in lines.iter().enumerate() {
        text.push_str(&format!(
            ".entry k{number}(.param .align 16 .b8 n[64]) {{ {REGISTERS} {line} END: ret; }}\n"
        ));
    }
    let db = Database::default();
    let file = SourceFile::new(&db, "k.ptx".into(), text.clone());
    // The results are not read, and nothing else may remove the instructions.
    let options = Settings { opt: 0, ..Settings::default() }.options(&db);
    let mut found: BTreeMap<usize, String> = BTreeMap::new();
    for finding in diagnostics(&db, file, options) {
        if finding.severity == Severity::Error {
            let at = text[..finding.primary.0.start as usize].matches('\n').count();
            found.entry(at - before).or_insert_with(|| format!("{} {}", finding.code, finding.message));
        }
    }
    found.into_iter().map(|(line, message)| (lines[line].clone(), message)).collect()
}

#[test]
fn the_table_lowers_or_is_listed() {
    let most = std::env::var("PTXC_COMBINATIONS").ok().and_then(|most| most.parse().ok()).unwrap_or(24);
    let lines: BTreeSet<String> =
        TABLE.rows().iter().flat_map(|row| combinations(row, most)).filter_map(|one| one.text()).collect();
    let mut found: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for target in TARGETS {
        let mut list = Vec::new();
        for lines in accepted(&lines, target, &mut list).chunks(20) {
            for one in unlowered(lines, target) {
                found.entry(one).or_default().push(target);
            }
        }
    }
    let patterns = || UNLOWERED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_listed = |line: &str, message: &str| {
        message.starts_with("E0900") && patterns().any(|pattern| matches(pattern, line))
    };
    let new: Vec<String> = found
        .iter()
        .filter(|((line, message), _)| !is_listed(line, message))
        .map(|((line, message), targets)| format!("{line}  {message}  {}", targets.join(" ")))
        .collect();
    let stale: Vec<&str> =
        patterns().filter(|pattern| !found.keys().any(|(line, _)| matches(pattern, line))).collect();
    println!("{} instructions, {} do not lower somewhere", lines.len(), found.len());
    assert!(new.is_empty(), "{} new\n{}", new.len(), new.join("\n"));
    assert!(stale.is_empty(), "these lines match nothing\n{}", stale.join("\n"));
}
