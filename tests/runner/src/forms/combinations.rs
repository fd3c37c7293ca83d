//! Every combination of the modifiers of every row of the instruction table: what the check accepts
//! for a target must lower, or match a line of `unlowered.txt` of the tests. The list is exact: a
//! line that matches nothing is wrong too.
//!
//! That the check accepts what ptxas accepts is the subject of `tests/it/check_oracle.rs`; here ptxas
//! is asked again about what the check accepts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ptxc_compiler::{Database, Settings, SourceFile, diagnostics};
use ptxc_ptx::check::check_with;
use ptxc_ptx::check::env::{ModuleEnv, PtxTarget, PtxVersion};
use ptxc_ptx::check::requirements::Strictness;
use ptxc_ptx::check::table::TABLE;
use ptxc_ptx::diagnostic::Severity;

use super::{assembled, in_parallel, matches};
use crate::edits::combinations;
use crate::instructions::REGISTERS;

/// The targets: the architectures, and the one that has all instructions of its architecture.
pub const TARGETS: [&str; 6] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"];

/// Opcodes that end in `E0900`: `*` stands for any text.
const UNLOWERED: &str = include_str!("../../tests/it/unlowered.txt");

/// Instructions in a kernel of their own each, in a module.
const A_MODULE: usize = 20;

/// The instructions, each with its family: at most about `most` of each row.
pub fn lines(most: usize) -> BTreeMap<String, &'static str> {
    let of_row = |row: &'static _| combinations(row, most).into_iter().filter_map(|one| one.text());
    TABLE.rows().iter().flat_map(|row| of_row(row).map(|text| (text, row.family))).collect()
}

/// The instructions that the check accepts for a target.
pub fn accepted<'a>(lines: impl Iterator<Item = &'a String>, target: &str) -> Vec<&'a str> {
    let mut env = ModuleEnv::empty();
    env.version = PtxVersion::NEWEST;
    env.target = PtxTarget::parse(target).expect("a target");
    let is_accepted = |line: &&String| {
        let text = format!(".entry k(.param .align 16 .b8 n[64]) {{ {REGISTERS} {line} END: ret; }}");
        let parsed = ptxc_syntax::parse_function(&text);
        let found = check_with(&parsed.value, &env, Strictness::Strict);
        parsed.errors.is_empty() && found.iter().all(|finding| finding.severity != Severity::Error)
    };
    lines.filter(is_accepted).map(String::as_str).collect()
}

/// A module with a kernel for each instruction, and the number of lines before the first.
fn module(lines: &[&str], target: &str) -> (String, usize) {
    let mut text = format!(".version {}\n.target {target}\n.address_size 64\n", PtxVersion::NEWEST);
    let before = text.lines().count();
    for (number, line) in lines.iter().enumerate() {
        text.push_str(&format!(
            ".entry k{number}(.param .align 16 .b8 n[64]) {{ {REGISTERS} {line} END: ret; }}\n"
        ));
    }
    (text, before)
}

/// The instructions that do not lower for a target, each with the message.
pub fn unlowered<'a>(lines: &[&'a str], target: &str) -> Vec<(&'a str, String)> {
    // So few that all findings are listed.
    let chunks: Vec<&[&str]> = lines.chunks(A_MODULE).collect();
    let found = in_parallel(chunks.len(), |index| unlowered_of(chunks[index], target));
    found
        .into_iter()
        .zip(chunks)
        .flat_map(|(found, chunk)| found.into_iter().map(move |(line, message)| (chunk[line], message)))
        .collect()
}

fn unlowered_of(lines: &[&str], target: &str) -> BTreeMap<usize, String> {
    let (text, before) = module(lines, target);
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
    found
}

/// The instructions that ptxas refuses for a target.
pub fn refused<'a>(ptxas: &Path, lines: &[&'a str], target: &str) -> Vec<&'a str> {
    let chunks: Vec<&[&str]> = lines.chunks(10 * A_MODULE).collect();
    let found = in_parallel(chunks.len(), |index| refused_of(ptxas, chunks[index], target));
    found.into_iter().flatten().collect()
}

fn refused_of<'a>(ptxas: &Path, lines: &[&'a str], target: &str) -> Vec<&'a str> {
    let (text, before) = module(lines, target);
    let Err(messages) = assembled(ptxas, target, &["-O0", "-w"], &text) else { return Vec::new() };
    // `ptxas k.ptx, line 12; error : …`
    let places = messages.lines().filter_map(|line| line.split_once(", line ")?.1.split_once(';'));
    let numbers: BTreeSet<usize> = places.filter_map(|(number, _)| number.parse().ok()).collect();
    let wrong: Vec<&str> =
        numbers.iter().filter_map(|line| lines.get(line.checked_sub(before + 1)?).copied()).collect();
    match (wrong.is_empty(), lines) {
        (false, _) => wrong,
        (true, &[only]) => vec![only],
        // The message names no line.
        (true, _) => {
            let (first, second) = lines.split_at(lines.len() / 2);
            [first, second].into_iter().flat_map(|half| refused_of(ptxas, half, target)).collect()
        }
    }
}

/// What does not lower on some target without being listed, and what is listed in vain.
#[derive(Default)]
pub struct Problems {
    found: BTreeMap<(String, String), Vec<String>>,
}

impl Problems {
    /// Adds what does not lower for a target.
    pub fn add(&mut self, unlowered: &[(&str, String)], target: &str) {
        for (line, message) in unlowered {
            self.found.entry((line.to_string(), message.clone())).or_default().push(target.to_string());
        }
    }

    /// The number of different instructions that do not lower somewhere.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether everything lowers.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The problems. `is_whole` says that all instructions were tried on all targets.
    pub fn list(&self, is_whole: bool) -> Vec<String> {
        let patterns = || UNLOWERED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let is_listed = |line: &str, message: &str| {
            message.starts_with("E0900") && patterns().any(|pattern| matches(pattern, line))
        };
        let new = self.found.iter().filter(|((line, message), _)| !is_listed(line, message));
        let new = new.map(|((line, message), targets)| format!("{line}  {message}  {}", targets.join(" ")));
        let is_stale =
            |pattern: &&str| is_whole && !self.found.keys().any(|(line, _)| matches(pattern, line));
        let stale = patterns().filter(is_stale).map(|pattern| format!("`{pattern}` is listed, but lowers"));
        new.chain(stale).collect()
    }
}
