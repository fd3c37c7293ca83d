//! ptxc reads back its own output: every kernel of the tests, and of the corpus if it is available,
//! with several settings and in every notation of control codes.

use std::path::{Path, PathBuf};

use ptxc_compiler::output::{kernels, lower};
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_sass::Program;
use ptxc_sass::text::{Notation, ReadOptions, Style, parse_programs};
use ptxc_sass::variable::{Variable, union};
use rayon::prelude::*;

/// `-O` level, heuristic, maximum registers, and whether everything waits for everything.
const SETTINGS: &[(u8, &str, u32, bool)] =
    &[(3, "balanced", 255, false), (0, "random:7", 24, false), (2, "pressure", 255, true)];

fn sources() -> Vec<PathBuf> {
    let folders = [
        "../lit/kernels",
        "../lit/memory",
        "../lit/select",
        "../../../shared/corpus/ptx/t1",
        "../../../shared/corpus/ptx/peers20",
    ];
    let mut files = Vec::new();
    for folder in folders {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let Ok(entries) = std::fs::read_dir(&folder) else {
            eprintln!("skipped: no {}", folder.display());
            continue;
        };
        files.extend(entries.flatten().map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".ptx") && !name.contains(".sm_75.") && !name.contains(".sm_80.")
        }));
    }
    files.sort();
    files
}

/// A program as its text describes it: without the facts that only the compiler has, with all
/// variables of its module, whose contents end with their last nonzero byte.
fn told(program: &Program, variables: &[Variable]) -> Program {
    let mut program = program.clone();
    program.frequency.clear();
    for coded in &mut program.insts {
        coded.loc = u32::MAX;
    }
    program.variables = variables.to_vec();
    program
}

fn without_zeros(variable: &Variable) -> Variable {
    let used = variable.bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    Variable { bytes: variable.bytes[..used].to_vec(), ..variable.clone() }
}

/// Checks a file at one setting, and returns the number of kernels.
fn check(path: &Path, (opt, heuristic, max_regs, serial): (u8, &str, u32, bool)) -> usize {
    let db = Database::default();
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let file = SourceFile::new(&db, path.display().to_string(), text);
    let options = Options::new(&db, None, opt, true, heuristic.to_string(), max_regs, serial);
    if !diagnostics(&db, file, options).is_empty() {
        return 0;
    }
    let programs: Vec<&Program> =
        kernels(&db, file, options).into_iter().filter_map(|(_, code)| Some(&code?.program)).collect();
    let variables: Vec<Variable> =
        union(programs.iter().map(|program| &program.variables[..])).into_iter().map(without_zeros).collect();
    let expected: Vec<Program> = programs.iter().map(|program| told(program, &variables)).collect();
    for (control, explain) in [(Notation::Bracket, true), (Notation::Nv, false), (Notation::Hex, false)] {
        let style = Style { control, ..Style::default() };
        let text = lower(&db, file, options, &style, explain);
        let read = parse_programs(&text, &ReadOptions::default());
        let read = read.unwrap_or_else(|errors| panic!("{}: {}\n{text}", path.display(), errors[0]));
        assert_eq!(read.len(), expected.len(), "{}", path.display());
        for (kernel, expected) in read.iter().zip(&expected) {
            assert!(kernel.has_parameters && kernel.program == *expected, "{}: {text}", path.display());
        }
    }
    programs.len()
}

#[test]
fn written_text_is_read_back() {
    let files = sources();
    let count: usize = files
        .par_iter()
        .map(|path| {
            // The larger kernels run at one setting.
            let count = if path.parent().is_some_and(|folder| folder.ends_with("peers20")) {
                1
            } else {
                SETTINGS.len()
            };
            SETTINGS[..count].iter().map(|&settings| check(path, settings)).sum::<usize>()
        })
        .sum();
    eprintln!("{count} programs of {} files", files.len());
    assert!(count > 60, "only {count} programs");
}
