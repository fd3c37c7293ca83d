//! The checker has no findings in programs that real compilers wrote.

use std::io::Write;
use std::path::{Path, PathBuf};

use ptxc_ptx::check::check_function;
use ptxc_ptx::check::env::{self, ModuleEnv, PtxTarget, PtxVersion};
use ptxc_ptx::diagnostic::{Diagnostic, Severity};
use ptxc_syntax::ast::{Item, Module};
use ptxc_syntax::{ModuleSpans, Span, parse_module};

/// Everything that a module declares; the compiler restricts it to the names that a function
/// mentions.
fn environment(module: &Module) -> ModuleEnv {
    let mut env = ModuleEnv::empty();
    for item in &module.items {
        match item {
            Item::Version(version) => env.version = PtxVersion(version.major, version.minor),
            Item::Target(target) => env.target = PtxTarget::parse(&target.names[0].name).expect("a target"),
            Item::AddressSize(size) => env.address_bits = size.bits,
            Item::Declaration(declaration) => {
                for found in env::variables(declaration, &mut 0) {
                    env.variables.insert(found.name, found.variable.expect("a size"));
                }
            }
            Item::Function(function) => {
                env.signatures.insert(function.name.name.clone(), env::signature(function));
            }
            _ => {}
        }
    }
    env
}

/// The findings in a file except for notes, which report no mistake, each as
/// `line: code message (source)`.
fn findings(text: &str) -> Vec<String> {
    let parsed = parse_module(text);
    assert!(parsed.errors.is_empty());
    let env = environment(&parsed.value);
    let mut all = Vec::new();
    for (index, item) in parsed.value.items.iter().enumerate() {
        let Item::Function(function) = item else { continue };
        all.extend(
            check_function(function, &env)
                .iter()
                .filter(|found| found.severity != Severity::Note)
                .map(|found| describe(text, &parsed.spans, index, found)),
        );
    }
    all
}

fn describe(text: &str, spans: &ModuleSpans, item: usize, found: &Diagnostic) -> String {
    let span: Span = spans.get(item, found.primary.node);
    let start = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let line = text[..start].matches('\n').count() + 1;
    let source = text[start..].lines().next().unwrap_or("").trim();
    format!("{line}: {} {} ({}) in {source}", found.code, found.message, found.primary.message)
}

fn files(tier: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/corpus/ptx").join(tier);
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "ptx")).collect();
    files.sort();
    if files.is_empty() {
        // The test harness hides the output of `println!`.
        let _ = writeln!(std::io::stderr(), "skipped: no corpus at {}", folder.display());
    }
    files
}

/// Asserts that no file of a tier has a finding.
fn clean(tier: &str) {
    let files = files(tier);
    let (mut passed, mut complaints) = (0, String::new());
    for path in &files {
        let found = findings(&std::fs::read_to_string(path).expect("the corpus is readable"));
        passed += usize::from(found.is_empty());
        for finding in found {
            complaints.push_str(&format!("{}:{finding}\n", path.display()));
        }
    }
    assert!(complaints.is_empty(), "{passed} of {} files pass\n{complaints}", files.len());
}

#[test]
fn tier_1() {
    clean("t1");
}

#[test]
fn tier_2() {
    clean("t2");
}

#[test]
fn tier_3() {
    clean("t3");
}

#[test]
fn triton() {
    clean("triton");
}

#[test]
fn peers() {
    clean("peers20");
}
