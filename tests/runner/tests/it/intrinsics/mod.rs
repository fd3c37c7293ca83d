//! What LLVM's NVPTX backend writes is lowered if ptxas accepts it.
//!
//! Three kinds of LLVM IR become PTX through `llc-22` (Debian's package `llvm-22`; `LLC` may name
//! another program). The tests are skipped, with a line on stderr, if there is no such program.
//!
//! - `tests/intrinsics/list.txt` names intrinsics with arguments (`list.rs`). A test compares it with
//!   LLVM's own table, if the package `llvm-22-dev` is installed.
//! - `tests/intrinsics/features.txt` has instructions with alternatives (`features.rs`).
//! - `tests/intrinsics/llvm/*.ll` are whole modules.
//!
//! `cargo test` tries a sample of the first two; `PTXC_STRIDE=1`, as in `cargo xtask nightly`, tries
//! everything. `unlowered.txt` lists the instructions that end in E0900. Each must occur in a run of
//! everything.

mod features;
mod list;
mod llc;

use std::collections::BTreeSet;
use std::path::Path;

use rayon::prelude::*;

use llc::{Llc, Module, Verdict};

/// The instructions that are not lowered: patterns, one a line.
const UNLOWERED: &str = include_str!("../../../../intrinsics/unlowered.txt");

/// The most kernels of one module: few enough that all processors have work.
const MOST: usize = 40;

/// Of how many kernels one is tried.
fn stride() -> usize {
    ptxc_sample::stride(16)
}

/// Whether a pattern, in which `*` stands for any text at its end, describes an opcode.
fn describes(pattern: &str, opcode: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => opcode.starts_with(start),
        None => pattern == opcode,
    }
}

/// The lines of `unlowered.txt`.
fn patterns() -> impl Iterator<Item = &'static str> {
    UNLOWERED.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

/// The pattern of a message about an instruction that is not lowered.
fn known(message: &str) -> Option<&'static str> {
    let opcode = message.strip_prefix("error[E0900]: `")?.split('`').next()?;
    patterns().find(|pattern| describes(pattern, opcode))
}

/// Tries modules. Returns the failures, and the patterns that were needed.
fn tried(llc: &Llc, modules: &[Module]) -> (Vec<String>, BTreeSet<&'static str>) {
    let verdicts: Vec<(String, Verdict)> =
        modules.par_iter().flat_map_iter(|module| llc.verdicts(module)).collect();
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for (name, verdict) in verdicts {
        match verdict {
            Verdict::Lowered | Verdict::Refused => {}
            Verdict::Left(messages) if messages.is_empty() => wrong.push(format!("{name}: no message")),
            Verdict::Left(messages) => {
                used.extend(messages.iter().filter_map(|message| known(message)));
                wrong.extend(
                    messages
                        .iter()
                        .filter(|message| known(message).is_none())
                        .map(|why| format!("{name}: {why}")),
                );
            }
            Verdict::Invalid(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    (wrong, used)
}

/// The modules of `tests/intrinsics/llvm`, for each target and two levels of optimization.
fn whole_modules() -> Vec<Module> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../intrinsics/llvm");
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut modules = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a module");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let settings =
            features::TARGETS.iter().flat_map(|target| ["-O0", "-O2"].map(|level| (target, level)));
        modules.extend(
            settings.map(|(&(target, version), level)| Module::whole(&name, &text, target, version, level)),
        );
    }
    modules
}

#[test]
fn intrinsics_and_whole_modules_are_lowered() {
    let Some(llc) = Llc::find() else { return };
    let mut modules = list::modules(stride(), MOST);
    modules.extend(whole_modules());
    let (wrong, used) = tried(&llc, &modules);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if stride() == 1 && llc.has_ptxas() {
        let unused: Vec<&str> = patterns().filter(|pattern| !used.contains(pattern)).collect();
        assert!(unused.is_empty(), "no instruction needs these lines of unlowered.txt: {unused:#?}");
    }
}

#[test]
fn features_are_lowered() {
    let Some(llc) = Llc::find() else { return };
    let modules = features::modules(stride(), MOST);
    let (wrong, _) = tried(&llc, &modules);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn patterns_describe_opcodes() {
    assert!(describes("mma.*", "mma.sync.aligned") && describes("a.b", "a.b"));
    assert!(!describes("a.b", "a.b.c") && !describes("mma.*", "wmma.load"));
}
