//! Proof that the hazard check can fail, and fails exactly where it should.
//!
//! Of every kernel that lowers, one control field at a time is weakened: a stall made one less, a wait
//! dropped, a scoreboard not set. Which of these mutants matter is decided by a search of all paths
//! ([`ptxc_tests::paths`]) that shares no code with the check. All that matter must be reported, and no
//! other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ptxc_compiler::output::kernels;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_sass::{Control, Program};
use ptxc_tests::paths;

/// What was weakened.
#[derive(Clone, Copy, Debug)]
enum Weakening {
    Stall,
    Wait,
    WriteBarrier,
    ReadBarrier,
}

/// The weakened controls of an instruction that the hardware accepts.
fn weakenings(control: Control) -> Vec<(Weakening, Control)> {
    let mut list = Vec::new();
    if control.stall > 0 {
        list.push((Weakening::Stall, Control { stall: control.stall - 1, ..control }));
    }
    for scoreboard in control.waits() {
        let wait_mask = control.wait_mask & !(1 << scoreboard);
        list.push((Weakening::Wait, Control { wait_mask, ..control }));
    }
    if control.write_barrier.is_some() {
        list.push((Weakening::WriteBarrier, Control { write_barrier: None, ..control }));
    }
    if control.read_barrier.is_some() {
        list.push((Weakening::ReadBarrier, Control { read_barrier: None, ..control }));
    }
    list.retain(|(_, weakened)| weakened.check().is_ok());
    list
}

/// Who comes too early, by the check.
fn reported(program: &Program) -> BTreeSet<u32> {
    match ptxc_sass::verify::check(program) {
        Ok(()) => BTreeSet::new(),
        Err(hazards) => hazards.iter().map(|hazard| hazard.consumer).collect(),
    }
}

/// Who comes too early, by the search.
fn searched(program: &Program) -> BTreeSet<u32> {
    paths::search(program).iter().map(|&(consumer, ..)| consumer as u32).collect()
}

/// Counts the mutants of a program: all, and those that matter.
fn count(name: &str, program: &Program) -> (usize, usize) {
    assert_eq!(reported(program), BTreeSet::new(), "{name}: the check rejects the program itself");
    assert_eq!(searched(program), BTreeSet::new(), "{name}: the search rejects the program itself");
    let (mut all, mut matter) = (0, 0);
    let mut mutant = program.clone();
    for index in 0..program.insts.len() {
        let original = program.insts[index].control;
        for (weakening, weakened) in weakenings(original) {
            mutant.insts[index].control = weakened;
            let (by_check, by_search) = (reported(&mutant), searched(&mutant));
            let inst = &program.insts[index].inst;
            assert_eq!(by_check, by_search, "{name}: {weakening:?} of /*{:04x}*/ {inst}", 16 * index);
            all += 1;
            matter += usize::from(!by_search.is_empty());
        }
        mutant.insts[index].control = original;
    }
    (all, matter)
}

fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("../lit/kernels/saxpy.ptx")];
    let corpus = root.join("../../../shared/corpus/ptx/t1");
    if corpus.is_dir() {
        let names = [
            "reduce_shared",
            "matmul_tiled",
            "histogram_shared",
            "warp_votes",
            "mandelbrot",
            "spmv_csr",
            "switch_vm",
        ];
        files.extend(names.map(|name| corpus.join(format!("{name}.sm_90.ptx"))));
    } else {
        println!("SKIPPED: the kernels of the corpus, which is absent");
    }
    files
}

#[test]
fn exactly_the_weakened_controls_that_matter_are_reported() {
    let (mut all, mut matter) = (0, 0);
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("the kernel can be read");
        for heuristic in ["balanced", "random:1"] {
            let db = Database::default();
            let file = SourceFile::new(&db, path.display().to_string(), text.clone());
            let options = Options::new(&db, None, 3, true, heuristic.to_string(), 255, false);
            assert_eq!(diagnostics(&db, file, options), [], "{}", path.display());
            for (func, code) in kernels(&db, file, options) {
                let program = &code.expect("a kernel without diagnostics has code").program;
                let (of_all, that_matter) = count(func.name(&db), program);
                println!("{} {heuristic}: {that_matter} of {of_all} mutants matter", func.name(&db));
                assert!(that_matter > 0, "{}: no mutant matters", func.name(&db));
                all += of_all;
                matter += that_matter;
            }
        }
    }
    println!("{matter} of {all} mutants matter; each of them is reported, and no other");
}
