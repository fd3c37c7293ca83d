//! Each rule of legalization lists the kinds of operations that it starts from, and `legalize` skips the rule in functions
//! that lack them. Here every rule runs on every function: where `legalize` would skip it, it must change nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ptxc_compiler::input::items::items;
use ptxc_compiler::stages::callees::fill_lanes;
use ptxc_compiler::stages::{arch, built};
use ptxc_compiler::{Database, Settings, SourceFile};
use ptxc_ir::Function;
use ptxc_ir::verify::{Level, verify};
use ptxc_machine::Arch;
use ptxc_passes::TARGETS;
use ptxc_ssa::legalize::RULES;
use ptxc_ssa::simplify::{Effort, simplify};
use rayon::prelude::*;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below a folder with that extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found
}

/// The functions of an IR text that legalization accepts.
fn read(file: &Path) -> Vec<Function> {
    let text = std::fs::read_to_string(file).expect("the file can be read");
    let functions = ptxc_ir::text::parse(&text).unwrap_or_default();
    functions.into_iter().filter(|func| verify(func, Level::Built).is_ok()).collect()
}

/// The functions of a PTX file as they are built, and the architecture of its target.
fn build(file: &Path) -> (Vec<Function>, Arch) {
    let text = std::fs::read_to_string(file).expect("the file can be read");
    let db = Database::default();
    let source = SourceFile::new(&db, file.to_string_lossy().into_owned(), text);
    let options = Settings::default().options(&db);
    let mut functions = Vec::new();
    for &func in items(&db, source).functions.iter().filter(|func| func.has_body(&db)) {
        let Some(mut function) = built(&db, func).value.clone() else { continue };
        fill_lanes(&db, func, &mut function, options);
        functions.push(function);
    }
    (functions, arch(&db, source, options))
}

/// Applies all rules to a function as it is and simplified. Counts the changes by each rule.
fn apply_rules(file: &Path, function: &Function, arch: Arch, changes: &mut BTreeMap<&str, usize>) {
    let mut simplified = function.clone();
    simplify(&mut simplified, Effort::Full);
    for mut func in [function.clone(), simplified] {
        for rule in RULES {
            let before = func.clone();
            if let Err(incomplete) = rule.apply_alone(&mut func, arch) {
                panic!("{}: @{} for {arch}: {incomplete}\n{before}", file.display(), function.name);
            }
            *changes.entry(rule.name).or_default() += usize::from(func != before);
        }
    }
}

#[test]
fn a_rule_changes_no_function_that_lacks_its_kinds() {
    let lit = repository().join("tests/lit");
    let mut kernels = files(&lit, "ptx");
    let corpus = repository().join("../shared/corpus/ptx/t1");
    if corpus.is_dir() {
        kernels.extend(files(&corpus, "ptx"));
    } else {
        eprintln!("skipped: there is no corpus at {}", corpus.display());
    }
    let of_texts = files(&lit, "ir").into_par_iter().map(|file| {
        let mut changes = BTreeMap::new();
        for function in read(&file) {
            for &arch in TARGETS {
                apply_rules(&file, &function, arch, &mut changes);
            }
        }
        changes
    });
    let of_kernels = kernels.into_par_iter().map(|file| {
        let mut changes = BTreeMap::new();
        let (functions, arch) = build(&file);
        for function in &functions {
            apply_rules(&file, function, arch, &mut changes);
        }
        changes
    });
    let changes = of_texts.chain(of_kernels).reduce(BTreeMap::new, |mut all, some| {
        for (rule, count) in some {
            *all.entry(rule).or_default() += count;
        }
        all
    });
    for rule in RULES {
        let count = changes.get(rule.name).copied().unwrap_or_default();
        assert!(count > 0, "no function of the tests has anything for {}", rule.name);
    }
}
