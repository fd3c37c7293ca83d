//! After an edit only the results that the edit affects are computed again. Each test counts, in
//! the database's event log, how often each query ran.

use std::collections::BTreeMap;

use ptxc_compiler::{Database, File, Options, SourceFile, diagnostics, lower};
use ptxc_sass::text::Style;
use salsa::Setter;

/// The queries from the tree without positions to the code, which these tests call lowering.
const LOWERING: &[&str] = &["flow_warnings", "built", "barrier_warnings", "ssa", "mir", "code"];

fn kernel(name: &str, addend: u32) -> String {
    format!(
        ".visible .entry {name}(.param .u64 p, .param .u32 n)\n{{\n\
         \t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n\
         \tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [n];\n\
         \tadd.s32 %r2, %r1, {addend};\n\
         \tcvta.to.global.u64 %rd2, %rd1;\n\tst.global.u32 [%rd2], %r2;\n\tret;\n}}\n"
    )
}

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A file of a hundred kernels.
fn hundred() -> Vec<String> {
    (0..100).map(|n| kernel(&format!("k{n}"), n)).collect()
}

fn file_of(kernels: &[String]) -> String {
    format!("{HEADER}\n{}", kernels.join("\n"))
}

struct Session {
    db: Database,
    file: File,
    options: Options,
}

impl Session {
    /// Compiles a file, and starts counting.
    fn new(text: &str) -> Session {
        let session = Session::uncompiled(text);
        session.compile();
        session.db.start_log();
        session
    }

    fn uncompiled(text: &str) -> Session {
        let db = Database::with_log();
        let file = File::new(&db, "k.ptx", text);
        let options = Options::defaults(&db);
        Session { db, file, options }
    }

    fn compile(&self) -> String {
        diagnostics(&self.db, self.file.source(), self.options);
        lower(&self.db, self.file.source(), self.options, &Style::default(), false)
    }

    /// Compiles again after an edit; returns how often each query ran.
    fn edit(&mut self, text: &str) -> BTreeMap<String, usize> {
        self.file.replace(&mut self.db, text);
        self.recompile()
    }

    fn recompile(&mut self) -> BTreeMap<String, usize> {
        self.compile();
        let mut counts = BTreeMap::new();
        for query in self.db.take_log() {
            let name = query.split('(').next().unwrap_or("").to_string();
            *counts.entry(name).or_insert(0) += 1;
        }
        counts
    }
}

fn of(counts: &BTreeMap<String, usize>, query: &str) -> usize {
    counts.get(query).copied().unwrap_or(0)
}

#[test]
fn the_first_compilation_runs_every_stage_for_every_kernel() {
    let mut session = Session::uncompiled(&file_of(&hundred()));
    session.db.start_log();
    let counts = session.recompile();
    for stage in ["tree", "checked"].iter().chain(LOWERING) {
        assert_eq!(of(&counts, stage), 100, "{stage}: {counts:?}");
    }
}

#[test]
fn an_edit_inside_one_kernel_of_a_hundred_runs_its_queries_alone() {
    let mut kernels = hundred();
    let mut session = Session::new(&file_of(&kernels));
    kernels[41] = kernel("k41", 7777);
    let counts = session.edit(&file_of(&kernels));
    for stage in ["tree", "mentioned", "checked"].iter().chain(LOWERING) {
        assert_eq!(of(&counts, stage), 1, "{stage}: {counts:?}");
    }
}

#[test]
fn comments_run_nothing() {
    let mut kernels = hundred();
    let mut session = Session::new(&file_of(&kernels));
    let before = session.compile();
    kernels[3] = kernels[3].replace("\tadd.s32", "\t// one\n\t// two\n\t/* three */ add.s32");
    kernels.insert(0, "// a comment between the functions\n".into());
    let counts = session.edit(&file_of(&kernels));
    assert!(counts.is_empty(), "{counts:?}");
    assert_eq!(session.compile(), before);
}

#[test]
fn moving_a_kernel_runs_nothing_of_the_lowering() {
    let mut kernels = hundred();
    let mut session = Session::new(&file_of(&kernels));
    let moved = kernels.remove(10);
    kernels.push(moved);
    let counts = session.edit(&file_of(&kernels));
    for stage in ["tree", "checked"].iter().chain(LOWERING) {
        assert_eq!(of(&counts, stage), 0, "{stage}: {counts:?}");
    }
}

#[test]
fn a_changed_signature_recompiles_only_its_callers() {
    let callee = |ty: &str| format!(".func callee(.param .{ty} x)\n{{\n\tret;\n}}\n");
    let caller = |name: &str| {
        format!(
            ".visible .entry {name}()\n{{\n\t.param .b32 a;\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, 1;\n\
             \tst.param.b32 [a], %r1;\n\tcall callee, (a);\n\tret;\n}}\n"
        )
    };
    let text = |ty: &str| file_of(&[callee(ty), caller("one"), caller("two"), kernel("other", 1)]);
    let mut session = Session::new(&text("b32"));
    let counts = session.edit(&text("b64"));
    // The callee itself, and its two callers.
    assert_eq!(of(&counts, "checked"), 3, "{counts:?}");
    assert_eq!(of(&counts, "tree"), 1, "{counts:?}");
    assert!(of(&counts, "built") <= 3, "{counts:?}");
    for stage in ["ssa", "mir", "code"] {
        assert!(of(&counts, stage) <= 3, "{stage}: {counts:?}");
    }
    // A change in the callee's body affects no other function.
    let inner = text("b64").replace("(.param .b64 x)\n{\n", "(.param .b64 x)\n{\n\t.reg .b32 %r<2>;\n");
    let counts = session.edit(&inner);
    assert_eq!(of(&counts, "checked"), 1, "{counts:?}");
}

#[test]
fn another_heuristic_runs_the_last_stage_alone() {
    let mut session = Session::new(&file_of(&hundred()));
    session.options.set_heuristic(&mut session.db).to("source-order".into());
    let counts = session.recompile();
    assert_eq!(of(&counts, "code"), 100, "{counts:?}");
    for stage in ["tree", "flow_warnings", "built", "barrier_warnings", "ssa", "mir"] {
        assert_eq!(of(&counts, stage), 0, "{stage}: {counts:?}");
    }
}

#[test]
fn threads_do_not_change_the_output() {
    let text = file_of(&hundred());
    let one = Session::new(&text).compile();
    let db = Database::default();
    let file = SourceFile::new(&db, "k.ptx".into(), text);
    let options = Options::defaults(&db);
    ptxc_compiler::compile_in_parallel(&db, file, options);
    assert_eq!(lower(&db, file, options, &Style::default(), false), one);
}

#[test]
fn a_routine_is_compiled_once_for_all_kernels_and_edits() {
    let divides = |name: &str, addend: u32| {
        kernel(name, addend).replace(
            "\tcvta.to",
            "\tcvt.u64.u32 %rd3, %r2;\n\tdiv.u64 %rd3, %rd1, %rd3;\n\tcvt.u32.u64 %r2, %rd3;\n\tcvta.to",
        )
    };
    let text = |addend| format!("{HEADER}\n{}{}", divides("a", 1), divides("b", addend));
    let mut session = Session::uncompiled(&text(2));
    session.db.start_log();
    let first = session.recompile();
    assert_eq!((of(&first, "routine_code"), of(&first, "code")), (1, 2), "{first:?}");
    assert_eq!(session.compile().matches("$u64.divrem:").count(), 2);
    let after = session.edit(&text(3));
    assert_eq!((of(&after, "routine_code"), of(&after, "code")), (0, 1), "{after:?}");
}

/// A kernel that updates a vector, for a target without that feature.
fn vector_kernel(name: &str, offset: u32) -> String {
    format!(
        ".visible .entry {name}(.param .u64 p)\n{{\n\t.reg .f32 %f<3>;\n\t.reg .b64 %rd<2>;\n\
         \tld.param.u64 %rd1, [p];\n\tld.global.v2.f32 {{%f1, %f2}}, [%rd1+16];\n\
         \tred.global.add.v2.f32 [%rd1+{offset}], {{%f1, %f2}};\n\tret;\n}}\n"
    )
}

#[test]
fn each_split_instruction_has_one_note_and_only_edited_functions_are_noted_again() {
    let header = ".version 8.1\n.target sm_80\n.address_size 64\n";
    let text = |kernels: &[String]| format!("{header}\n{}", kernels.join("\n"));
    let mut kernels: Vec<String> = (0..10).map(|n| vector_kernel(&format!("k{n}"), 0)).collect();
    let mut session = Session::new(&text(&kernels));
    let notes = |session: &Session| {
        let found = diagnostics(&session.db, session.file.source(), session.options);
        found.into_iter().map(|note| (note.code, note.primary.0.start)).collect::<Vec<_>>()
    };
    let before = notes(&session);
    assert_eq!(before.len(), 10);
    assert!(before.iter().all(|(code, _)| code == "E0119"));

    // The notes move with the text and are not recomputed.
    let moved = session.edit(&format!("// A comment.\n{}", text(&kernels)));
    assert_eq!(of(&moved, "splits"), 0);
    let comment = "// A comment.\n".len() as u32;
    let shifted: Vec<_> = before.iter().map(|(code, start)| (code.clone(), start + comment)).collect();
    assert_eq!(notes(&session), shifted);

    kernels[3] = vector_kernel("k3", 8);
    let edited = session.edit(&text(&kernels));
    assert_eq!(of(&edited, "splits"), 1);
    assert_eq!(notes(&session), before);

    // In strict mode they are errors instead.
    session.options.extras(&session.db).set_strict(&mut session.db).to(true);
    let strict = notes(&session);
    assert_eq!(strict.len(), 10);
    assert!(strict.iter().all(|(code, _)| code == "E0111"));
}

#[test]
fn aggregation_is_a_setting_of_the_code() {
    let kernel = ".visible .entry k(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\
                  \tred.global.add.u32 [%rd1], 1;\n\tret;\n}\n";
    let mut session = Session::new(&file_of(&[kernel.to_string()]));
    let each = session.compile();
    session.options.extras(&session.db).set_aggregate(&mut session.db).to(true);
    let runs = session.recompile();
    assert_eq!([of(&runs, "built"), of(&runs, "ssa"), of(&runs, "code")], [0, 1, 1]);
    assert_ne!(session.compile(), each);
}

/// Kernels that call a function in one arm of a branch; the function decides how lanes meet after
/// the branch.
fn callers_of(body: &str) -> String {
    let function = format!(
        ".func (.param .b32 r) f(.param .b32 a)\n{{\n\t.reg .b32 %r<4>;\n\t.reg .pred %p<2>;\n\tld.param.b32 %r1, [a];\n\
         {body}\tst.param.b32 [r], %r1;\n\tret;\n}}\n"
    );
    let caller = |n: usize| {
        format!(
            ".visible .entry k{n}(.param .u64 p)\n{{\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<2>;\n\t.reg .pred %p;\n\
             \tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n\tsetp.gt.u32 %p, %r1, {n};\n\t@%p bra DONE;\n\
             \t{{\n\t.param .b32 x, y;\n\tst.param.b32 [x], %r1;\n\tcall (y), f, (x);\n\tld.param.b32 %r1, [y];\n\t}}\n\
             DONE:\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}}\n"
        )
    };
    let callers: String = (0..10).map(caller).collect();
    format!("{HEADER}\n{function}{callers}")
}

#[test]
fn an_edit_in_a_callee_that_leaves_its_summary_compiles_no_caller() {
    let mut session = Session::new(&callers_of("\tadd.u32 %r1, %r1, 5;\n"));
    let after = session.edit(&callers_of("\tadd.u32 %r1, %r1, 6;\n"));
    // Only the callee is compiled again; its callers are linked again.
    assert_eq!((of(&after, "mir"), of(&after, "device_code")), (1, 1), "{after:?}");
    assert_eq!((of(&after, "own_code"), of(&after, "code")), (0, 10), "{after:?}");

    // Its lanes now wait for lanes that may be elsewhere, so callers reconverge in another way.
    let vote = "\tsetp.gt.u32 %p1, %r1, 3;\n\tvote.sync.ballot.b32 %r1, %p1, -1;\n";
    let after = session.edit(&callers_of(vote));
    assert_eq!((of(&after, "mir"), of(&after, "own_code")), (11, 10), "{after:?}");
}

#[test]
fn another_barrier_in_a_callee_compiles_no_caller() {
    let barrier = |number: u32| callers_of(&format!("\tbarrier.sync {number};\n"));
    let mut session = Session::new(&barrier(3));
    let count = |text: &str, barriers: u32| text.matches(&format!(", {barriers} barriers,")).count();
    assert_eq!(count(&session.compile(), 4), 10);
    let after = session.edit(&barrier(11));
    // Only the callee is compiled again. Its callers are linked again, and count its barriers.
    assert_eq!((of(&after, "mir"), of(&after, "device_code")), (1, 1), "{after:?}");
    assert_eq!((of(&after, "own_code"), of(&after, "code")), (0, 10), "{after:?}");
    assert_eq!(count(&session.compile(), 12), 10);
}

#[test]
fn kernels_with_indirect_calls_depend_only_on_the_number_of_barriers() {
    let file = |number: u32, addend: u32| {
        let function = format!(
            ".func f()\n{{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, %clock;\n\tadd.u32 %r1, %r1, {addend};\n\
             \tst.volatile.shared.u32 [word], %r1;\n\tbarrier.sync {number};\n\tret;\n}}\n"
        );
        let stores = ".visible .entry stores(.param .u64 p)\n{\n\t.reg .b64 %rd<3>;\n\tld.param.u64 %rd1, [p];\n\
                      \tmov.u64 %rd2, f;\n\tst.global.u64 [%rd1], %rd2;\n\tret;\n}\n";
        let calls = ".visible .entry calls(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\
                     \tP: .callprototype _ ();\n\tcall %rd1, (), P;\n\tret;\n}\n";
        format!("{HEADER}\n.shared .b32 word;\n{function}{stores}{calls}")
    };
    let mut session = Session::new(&file(3, 1));
    assert_eq!(session.compile().matches(", 4 barriers,").count(), 2);
    // The kernel that stores the address is linked again, the one with the call is not.
    let after = session.edit(&file(3, 2));
    assert_eq!((of(&after, "device_code"), of(&after, "device_barriers"), of(&after, "code")), (1, 1, 1));
    // Another number changes both.
    let after = session.edit(&file(11, 2));
    assert_eq!((of(&after, "own_code"), of(&after, "code")), (0, 2), "{after:?}");
    assert_eq!(session.compile().matches(", 12 barriers,").count(), 2);
}

#[test]
fn where_lanes_meet_is_compiled_again_only_if_they_may_meet_elsewhere() {
    let vote = |mode: &str| {
        format!(
            "\tsetp.gt.u32 %p1, %r1, 3;\n\tvote.sync.{mode}.pred %p1, %p1, -1;\n\tselp.u32 %r1, 1, 2, %p1;\n"
        )
    };
    // One of the kernels votes in an arm, too.
    let file = |body: &str| {
        let voting = ".visible .entry voting(.param .u64 p)\n{\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<2>;\n\t.reg .pred %p<3>;\n\
             \tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n\tsetp.gt.u32 %p1, %r1, 9;\n\t@%p1 bra OTHER;\n\
             \tvote.sync.any.pred %p2, %p1, -1;\n\tselp.u32 %r1, 3, 4, %p2;\n\tbra DONE;\nOTHER:\n\
             \t{\n\t.param .b32 x, y;\n\tst.param.b32 [x], %r1;\n\tcall (y), f, (x);\n\tld.param.b32 %r1, [y];\n\t}\n\
             DONE:\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n";
        callers_of(body) + voting
    };
    let mut session = Session::new(&file(&vote("all")));
    // The function, and the kernel that now executes the same operation; the other kernels have no
    // waits of their own.
    let after = session.edit(&file(&vote("any")));
    assert_eq!((of(&after, "elsewhere"), of(&after, "mir")), (2, 2), "{after:?}");

    // Another vote of the same kind: the common kinds of each function stay the same.
    let after = session.edit(&file(&(vote("any") + &vote("any"))));
    assert_eq!((of(&after, "elsewhere"), of(&after, "mir"), of(&after, "own_code")), (1, 1, 0), "{after:?}");

    // An edit that does not affect lanes.
    let after = session.edit(&file(&(vote("any") + &vote("any") + "\tadd.u32 %r1, %r1, 6;\n")));
    assert_eq!(
        (of(&after, "common_kinds"), of(&after, "mir"), of(&after, "own_code")),
        (0, 1, 0),
        "{after:?}"
    );
}
