//! After an edit in one of several files of a program, only what the edit affects is compiled, and the
//! program is linked again only if an object has changed.

use std::collections::BTreeMap;

use ptxc_compiler::whole::{Whole, whole};
use ptxc_compiler::{Database, File, Options, Settings, diagnostics};
use salsa::Setter;

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";
const FILES: usize = 3;
const FUNCTIONS: usize = 40;
/// The stages of a function, from its tree to its code.
const STAGES: &[&str] = &["checked", "built", "ssa", "mir", "own_code", "code"];

/// A file of functions. Each calls the function of the same number in the next file.
fn functions(file: usize) -> Vec<String> {
    let function = |n: usize| {
        let call = match file + 1 < FILES {
            true => format!(
                "\t{{\n\t.param .b32 x, y;\n\tst.param.b32 [x], %r1;\n\tcall (y), f{}_{n}, (x);\n\
                 \tld.param.b32 %r1, [y];\n\t}}\n",
                file + 1
            ),
            false => String::new(),
        };
        format!(
            ".visible .func (.param .b32 r) f{file}_{n}(.param .b32 a)\n{{\n\t.reg .b32 %r<4>;\n\
             \tld.param.b32 %r1, [a];\n\tadd.u32 %r1, %r1, {n};\n{call}\tst.param.b32 [r], %r1;\n\tret;\n}}\n"
        )
    };
    (0..FUNCTIONS).map(function).collect()
}

/// The first file also has a kernel for each of its functions.
fn text(file: usize, functions: &[String]) -> String {
    let declared = |n: usize| format!(".extern .func (.param .b32 r) f{}_{n}(.param .b32 a);\n", file + 1);
    let declared: String = match file + 1 < FILES {
        true => (0..FUNCTIONS).map(declared).collect(),
        false => String::new(),
    };
    let kernel = |n: usize| {
        format!(
            ".visible .entry k{n}(.param .u64 p)\n{{\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<2>;\n\
             \tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n\t{{\n\t.param .b32 x, y;\n\
             \tst.param.b32 [x], %r1;\n\tcall (y), f0_{n}, (x);\n\tld.param.b32 %r1, [y];\n\t}}\n\
             \tst.global.u32 [%rd1], %r1;\n\tret;\n}}\n"
        )
    };
    let kernels: String = if file == 0 { (0..FUNCTIONS).map(kernel).collect() } else { String::new() };
    format!("{HEADER}{declared}{}{kernels}", functions.concat())
}

struct Program {
    db: Database,
    files: Vec<File>,
    whole: Whole,
    options: Options,
}

impl Program {
    /// Links the files, and starts counting.
    fn new() -> Program {
        let db = Database::with_log();
        let files: Vec<File> = (0..FILES)
            .map(|file| File::new(&db, format!("{file}.ptx"), text(file, &functions(file))))
            .collect();
        let whole = Whole::new(&db, files.iter().map(File::source).collect());
        let options = Settings { relocatable: true, ..Settings::default() }.options(&db);
        let program = Program { db, files, whole, options };
        program.link();
        program.db.start_log();
        program
    }

    fn link(&self) -> Vec<u8> {
        for file in &self.files {
            let found = diagnostics(&self.db, file.source(), self.options);
            assert!(found.is_empty(), "{}", found[0].message);
        }
        whole(&self.db, self.whole, self.options).as_ref().clone().expect("a program")
    }

    /// Links after an edit. Returns the program, and how often each query ran.
    fn edit(&mut self, file: usize, functions: &[String]) -> (Vec<u8>, BTreeMap<String, usize>) {
        self.files[file].replace(&mut self.db, &text(file, functions));
        let bytes = self.link();
        let mut counts = BTreeMap::new();
        for query in self.db.take_log() {
            *counts.entry(query.split('(').next().unwrap_or("").to_string()).or_insert(0) += 1;
        }
        (bytes, counts)
    }
}

fn of(counts: &BTreeMap<String, usize>, query: &str) -> usize {
    counts.get(query).copied().unwrap_or(0)
}

#[test]
fn an_edit_in_one_of_three_files_compiles_one_function_and_links() {
    for file in 0..FILES {
        let mut program = Program::new();
        let before = program.link();
        let mut edited = functions(file);
        edited[7] = edited[7].replace("%r1, 7;", "%r1, 70;");
        let (after, counts) = program.edit(file, &edited);
        assert_ne!(before, after);
        for stage in STAGES {
            assert_eq!(of(&counts, stage), 1, "file {file}, {stage}: {counts:?}");
        }
        assert_eq!((of(&counts, "object"), of(&counts, "whole")), (1, 1), "file {file}: {counts:?}");

        // The same program as one that is compiled from nothing.
        let mut fresh = Program::new();
        assert_eq!(fresh.edit(file, &edited).0, after);
    }
}

#[test]
fn an_edit_that_leaves_the_object_links_nothing() {
    let mut program = Program::new();
    let before = program.link();
    let mut edited = functions(1);
    edited[7] = edited[7].replace("add.u32 %r1, %r1, 7;", "add.s32 %r1, 7, %r1;");
    let (after, counts) = program.edit(1, &edited);
    assert_eq!(before, after);
    assert_eq!((of(&counts, "checked"), of(&counts, "whole")), (1, 0), "{counts:?}");

    edited.insert(3, "// a comment\n".into());
    let (after, counts) = program.edit(1, &edited);
    assert_eq!(before, after);
    assert!(counts.is_empty(), "{counts:?}");
}

#[test]
fn another_file_is_compiled_and_the_others_are_not() {
    let mut program = Program::new();
    let more = text(FILES - 1, &functions(FILES - 1)).replace(&format!("f{}_", FILES - 1), "g_");
    program.files.push(File::new(&program.db, "more.ptx", more));
    let sources = program.files.iter().map(File::source).collect();
    program.whole.set_files(&mut program.db).to(sources);
    program.link();
    let log = program.db.take_log();
    let count = |query: &str| log.iter().filter(|ran| ran.split('(').next() == Some(query)).count();
    assert_eq!((count("code"), count("object"), count("whole")), (FUNCTIONS, 1, 1));
}
