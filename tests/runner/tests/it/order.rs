//! One order: passes that run alone, from the text of any form, give the same code as `ptxc lower`.

use std::path::{Path, PathBuf};

use ptxc_compiler::input::items::items;
use ptxc_compiler::stages::callees::{device_code, fill_lanes};
use ptxc_compiler::stages::{accelerated, arch, built, code};
use ptxc_compiler::{Database, Settings, SourceFile};
use ptxc_passes::{Form, PASSES, Stage};
use ptxc_sample::stride;
use rayon::prelude::*;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The PTX files of a folder, in order.
fn kernels(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ptx"));
    files.sort();
    assert!(!files.is_empty(), "{} holds kernels", folder.display());
    files
}

/// A file's functions as SSA text as built, the program that `lower` makes of each, and the
/// architecture.
struct Lowered {
    ssa: String,
    programs: String,
    arch: String,
}

/// `None` if the file has errors or is not supported.
fn lowered(file: &Path) -> Option<Lowered> {
    let text = std::fs::read_to_string(file).expect("the file can be read");
    let db = Database::default();
    let source = SourceFile::new(&db, file.to_string_lossy().into_owned(), text);
    let options = Settings::default().options(&db);
    let (mut ssa, mut programs) = (Vec::new(), Vec::new());
    for &func in &items(&db, source).functions {
        if !func.has_body(&db) {
            continue;
        }
        let mut function = built(&db, func).value.clone()?;
        fill_lanes(&db, func, &mut function, options);
        let program = match function.kind {
            ptxc_ir::FunctionKind::Entry => code(&db, func, options).value.clone()?,
            ptxc_ir::FunctionKind::Device => {
                device_code(&db, func, options, 255).value.as_deref().cloned()?
            }
        };
        ssa.push(function.to_string());
        programs.push(Form::from(program).to_string());
    }
    let suffix = if accelerated(&db, source, options) { "a" } else { "" };
    let arch = format!("{}{suffix}", arch(&db, source, options));
    Some(Lowered { ssa: ssa.join("\n"), programs: programs.join("\n"), arch })
}

/// The output of `ptxc opt` for a text; without passes, the text that it reads.
fn opt(text: &str, passes: &str, arch: &str) -> String {
    let mut args = ["ptxc", "opt", "-", "--arch", arch].map(String::from).to_vec();
    if !passes.is_empty() {
        args.push(format!("--passes={passes}"));
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = ptxc::run(&args, &mut text.as_bytes(), &mut out, &mut err);
    let said = String::from_utf8_lossy(&err);
    assert_eq!(code, 0, "--passes={passes}: {said}\n{text}");
    String::from_utf8(out).expect("text is UTF-8")
}

/// The first line in which two texts differ.
fn difference(left: &str, right: &str) -> String {
    let differ = left.lines().zip(right.lines()).enumerate().find(|(_, (left, right))| left != right);
    differ.map_or("one is longer".to_string(), |(number, (left, right))| {
        format!("line {}:\n  {left}\n  {right}", number + 1)
    })
}

#[test]
fn all_passes_alone_are_what_lower_runs() {
    let mut files = kernels(&repository().join("tests/lit/kernels"));
    files.extend(kernels(&repository().join("tests/cases/flow")));
    let corpus = repository().join("../shared/corpus/ptx/t1");
    if corpus.is_dir() {
        files.extend(kernels(&corpus));
    } else {
        eprintln!("skipped: there is no corpus at {}", corpus.display());
    }
    let compared: usize = files
        .par_iter()
        .map(|file| {
            let Some(lowered) = lowered(file) else { return 0 };
            let alone = opt(&lowered.ssa, "..", &lowered.arch);
            assert!(
                alone == lowered.programs,
                "{}: {}",
                file.display(),
                difference(&lowered.programs, &alone)
            );
            1
        })
        .sum();
    assert!(compared * 10 > files.len() * 9, "{compared} of {} files were compared", files.len());
}

#[test]
fn every_form_survives_as_text() {
    let mut files = kernels(&repository().join("tests/lit/kernels"));
    files.extend(kernels(&repository().join("tests/cases/flow")));
    let files: Vec<PathBuf> = files.into_iter().step_by(stride(2)).collect();
    files.par_iter().for_each(|file| {
        let Some(lowered) = lowered(file) else { return };
        let mut text = lowered.ssa.clone();
        for (index, pass) in PASSES.iter().enumerate() {
            if pass.step.leaves() == Stage::Program {
                break;
            }
            let next = PASSES[index + 1].name;
            text = opt(&text, pass.name, &lowered.arch);
            assert_eq!(opt(&text, "", &lowered.arch), text, "{} after {}", file.display(), pass.name);
            // Called functions are linked, so their programs come from the same text.
            let rest = opt(&text, &format!("{next}.."), &lowered.arch);
            assert!(
                rest == lowered.programs,
                "{} from the text after {}: {}",
                file.display(),
                pass.name,
                difference(&lowered.programs, &rest)
            );
        }
    });
}

#[test]
fn a_long_chain_of_calls_needs_no_deep_stack() {
    let last = 1500;
    let function = |number: usize| {
        let (kind, end) = if number == 0 { ("entry", "exit") } else { ("device", "ret") };
        let (callee, call) = match number {
            _ if number == last => (String::new(), String::new()),
            _ => (format!("    callee @f{} device ()\n", number + 1), format!("    call @f{}\n", number + 1)),
        };
        format!("func @f{number} {kind} {{\n{callee}block0:\n{call}    {end}\n}}\n")
    };
    let text: String = (0..=last).map(function).collect();
    let programs = opt(&text, "..", "sm_90");
    let kernel = programs.split("\n\n").next().unwrap_or_default();
    assert_eq!(kernel.matches("CALL.REL").count(), last, "the kernel is linked with all functions");
}
