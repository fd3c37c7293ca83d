//! Proves that the hazard check can fail, and fails exactly when it should.
//!
//! In every kernel of tier 1, one control field at a time is weakened: a stall is reduced by one, a
//! wait is dropped, or a scoreboard is not set. A search of all paths ([`ptxc_search::paths`]),
//! which shares no code with the check, decides which of these mutants matter. The check must
//! report all that matter, and no others. For kernels with many control fields, a sample is tried,
//! which is the same in every run. In kernels with products of warpgroups, the instructions that order
//! them are weakened as well: arrivals and fences are dropped, groups are not closed, and waits are
//! dropped or leave one group more under way.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ptxc_compiler::output::kernels;
use ptxc_compiler::ptx::diagnostic::Severity;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_machine::Arch;
use ptxc_sample::stride;
use ptxc_sass::Program;
use ptxc_search::paths;
use ptxc_search::weaken::{Mutant, mutants, without_order};
use rayon::prelude::*;

/// The instructions that are too early according to the check.
fn reported(program: &Program) -> BTreeSet<u32> {
    match ptxc_sass::verify::check(program) {
        Ok(()) => BTreeSet::new(),
        Err(hazards) => hazards.iter().map(|hazard| hazard.consumer).collect(),
    }
}

/// The instructions that are too early according to the search.
fn searched(program: &Program) -> BTreeSet<u32> {
    paths::search(program).iter().map(|&(consumer, ..)| consumer as u32).collect()
}

/// Kernels with one barrier reduction after the other.
const BARRIERS: &str = "../lit/barriers/run-forms.ptx";

/// Kernels with products of warpgroups, of several groups under way, in loops and pipelines.
const PRODUCTS: [&str; 6] = [
    "../lit/warpgroup/in-flight.ptx",
    "../lit/warpgroup/waits-in-loop.ptx",
    "../lit/combine/uniform-operands.ptx",
    "../cases/pipelines/p103.ptx",
    "../cases/pipelines/p136.ptx",
    "../cases/pipelines/p23.ptx",
];

/// The number of mutants of a program that are tried.
const SAMPLE: usize = 200;

/// Tries the mutants of a program. Returns their number, and the number of those that matter.
fn count(name: &str, program: &Program) -> (usize, usize) {
    assert_eq!(reported(program), BTreeSet::new(), "{name}: the check rejects the program itself");
    assert_eq!(searched(program), BTreeSet::new(), "{name}: the search rejects the program itself");
    let (mut all, mut matter) = (0, 0);
    let mut mutant = program.clone();
    for Mutant { index, weakening, control } in mutants(program, SAMPLE) {
        let original = std::mem::replace(&mut mutant.insts[index].control, control);
        let (by_check, by_search) = (reported(&mutant), searched(&mutant));
        let inst = &program.insts[index].inst;
        assert_eq!(by_check, by_search, "{name}: {weakening:?} of /*{:04x}*/ {inst}", 16 * index);
        all += 1;
        matter += usize::from(!by_search.is_empty());
        mutant.insts[index].control = original;
    }
    for (index, coded) in without_order(program) {
        let weakened = coded.inst.to_string();
        let original = std::mem::replace(&mut mutant.insts[index], coded);
        let (by_check, by_search) = (reported(&mutant), searched(&mutant));
        let inst = &program.insts[index].inst;
        assert_eq!(by_check, by_search, "{name}: `{weakened}` for /*{:04x}*/ {inst}", 16 * index);
        all += 1;
        matter += usize::from(!by_search.is_empty());
        mutant.insts[index] = original;
    }
    (all, matter)
}

/// Kernels of this repository, including one with a call and one with barrier results, and those of
/// tier 1 if the corpus is there.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(root.join("../../../shared/corpus/ptx/t1")).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.to_string_lossy().ends_with(".sm_90.ptx")).collect();
    if files.is_empty() {
        println!("SKIPPED: the kernels of the corpus, which is absent");
    }
    files.push(root.join("../lit/kernels/saxpy.ptx"));
    files.push(root.join("../lit/kernels/division64.ptx"));
    files.push(root.join(BARRIERS));
    files.extend(PRODUCTS.map(|name| root.join(name)));
    files.sort();
    files
}

/// Tries the kernels of a file. Returns a report, the number of mutants, and the number of those
/// that matter.
fn check_file(path: &Path, arch: Option<Arch>, heuristic: &str) -> (String, usize, usize) {
    let text = std::fs::read_to_string(path).expect("the kernel can be read");
    let db = Database::default();
    let file = SourceFile::new(&db, path.display().to_string(), text);
    let options = Options::new(&db, arch, 3, true, heuristic.to_string(), 255, false);
    // A warning does not prevent a kernel from having code.
    let found = diagnostics(&db, file, options).into_iter().filter(|found| found.severity == Severity::Error);
    assert_eq!(found.collect::<Vec<_>>(), [], "{}", path.display());
    let (mut said, mut all, mut matter) = (Vec::new(), 0, 0);
    for (func, code) in kernels(&db, file, options) {
        let program = &code.expect("a kernel without diagnostics has code").program;
        let (of_all, that_matter) = count(func.name(&db), program);
        said.push(format!("{} {heuristic}: {that_matter} of {of_all} mutants matter", func.name(&db)));
        assert!(that_matter > 0, "{}: no mutant matters", func.name(&db));
        all += of_all;
        matter += that_matter;
    }
    (said.join("\n"), all, matter)
}

#[test]
fn exactly_the_weakened_controls_that_matter_are_reported() {
    // In a sample each kernel gets one of the heuristics, and the next kernel the other.
    let stride = stride(4);
    let mut jobs: Vec<(PathBuf, Option<Arch>, &str)> = Vec::new();
    for (turn, path) in files().into_iter().enumerate() {
        let chosen = ["balanced", "random:1"].into_iter().enumerate();
        let chosen = chosen.filter(|(number, _)| (turn + number) % stride == 0);
        jobs.extend(chosen.map(|(_, heuristic)| (path.clone(), None, heuristic)));
    }
    // The minimum distance of barriers differs between architectures.
    let barriers = Path::new(env!("CARGO_MANIFEST_DIR")).join(BARRIERS);
    jobs.extend([Arch::Sm86, Arch::Sm90].map(|arch| (barriers.clone(), Some(arch), "balanced")));
    let results: Vec<_> =
        jobs.par_iter().map(|(path, arch, heuristic)| check_file(path, *arch, heuristic)).collect();
    let (mut all, mut matter) = (0, 0);
    for (said, of_all, that_matter) in results {
        println!("{said}");
        all += of_all;
        matter += that_matter;
    }
    println!("{matter} of {all} mutants matter; each of them is reported, and no other");
}
