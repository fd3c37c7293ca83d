//! The model of time on the code of the compiler.
//!
//! Kernels of the corpus: the values are right and no hazard is found whatever the latencies, and
//! every cycle is accounted for. Random straight-line kernels: one warp takes exactly the static
//! sum if it waits for no scoreboard, and otherwise the difference is the waiting time.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ptxc_compiler::output::kernels;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_sass::Program;
use ptxc_sim::Case;
use ptxc_sim::timing::{Cause, Latencies, Timing, TimingOptions, run_timed};
use rayon::prelude::*;

/// The code of a kernel; `None` if the compiler does not lower it yet.
pub fn lower(text: String, entry: &str) -> Option<Program> {
    let db = Database::default();
    let file = SourceFile::new(&db, "k.ptx".into(), text);
    let options = Options::new(&db, None, 3, true, "balanced".into(), 255, false);
    if !diagnostics(&db, file, options).is_empty() {
        return None;
    }
    let found = kernels(&db, file, options).into_iter().find(|(func, _)| *func.name(&db) == *entry);
    found.and_then(|(_, code)| code.map(|code| code.program.clone()))
}

fn timed(case: &Case, program: &Program, latencies: Latencies, hazards: bool) -> Timing {
    let options = ptxc_sim::Options { hazards, ..ptxc_sim::Options::default() };
    let who = &case.entry;
    let (report, timing) = run_timed(case, program, &options, &TimingOptions { latencies })
        .unwrap_or_else(|error| panic!("{who}: {error}"));
    assert!(report.passed(), "{who}: {report}");
    for warp in &timing.warps {
        assert_eq!(warp.issued + warp.stalls.total(), warp.end - warp.start, "{who}: {warp:?}");
    }
    assert_eq!(timing.issued, report.steps, "{who}");
    timing
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/exec");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut list: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .collect();
    list.sort();
    list
}

#[test]
fn cases_of_the_corpus_are_right_and_accounted_for() {
    let cases = cases();
    if cases.is_empty() {
        println!("SKIPPED: the cases of the corpus, which is absent");
        return;
    }
    let lines: Vec<Option<String>> = cases
        .par_iter()
        .map(|path| {
            let case = Case::load(path).unwrap_or_else(|error| panic!("{error}"));
            let text = std::fs::read_to_string(&case.ptx).unwrap_or_else(|error| panic!("{error}"));
            let program = lower(text, &case.entry)?;
            let [best, worst] =
                [Latencies::Best, Latencies::Worst].map(|latencies| timed(&case, &program, latencies, true));
            let random = timed(&case, &program, Latencies::Random(1), false);
            Some(format!("{}: {} to {}, {}", case.entry, best.cycles, worst.cycles, random.cycles))
        })
        .collect();
    let run: Vec<String> = lines.into_iter().flatten().collect();
    println!("{}", run.join("\n"));
    assert!(run.len() >= 50, "{} cases ran", run.len());
}

/// An operation on the values so far: its text, in which `{d}` is the result, and `{a}`, `{b}`,
/// `{c}` are operands.
const OPS: &[&str] = &[
    "add.u32 {d}, {a}, {b};",
    "sub.u32 {d}, {a}, {b};",
    "mad.lo.u32 {d}, {a}, {b}, {c};",
    "mul.hi.u32 {d}, {a}, {b};",
    "xor.b32 {d}, {a}, {b};",
    "and.b32 {d}, {a}, {b};",
    "shl.b32 {d}, {a}, 5;",
    "shr.u32 {d}, {a}, 3;",
    "min.s32 {d}, {a}, {b};",
    "max.u32 {d}, {a}, {b};",
    "setp.lt.s32 %p, {a}, {b}; selp.b32 {d}, {a}, {c}, %p;",
    "popc.b32 {d}, {a};",
    "cvt.rn.f32.u32 %f, {a}; fma.rn.f32 %f, %f, 0f3F000000, %f; mov.b32 {d}, %f;",
    "prmt.b32 {d}, {a}, {b}, 0x2143;",
    "mul.wide.u32 %l, {a}, {b}; add.u64 %l, %l, %q; cvt.u32.u64 {d}, %l;",
];

/// A kernel that computes with its parameters and stores the results.
fn kernel(ops: &[(usize, [usize; 3])]) -> String {
    let mut body = String::new();
    for (n, &(op, operands)) in ops.iter().enumerate() {
        let mut line = OPS[op % OPS.len()].replace("{d}", &format!("%r{}", n + 3));
        for (name, operand) in ["{a}", "{b}", "{c}"].iter().zip(operands) {
            line = line.replace(name, &format!("%r{}", operand % (n + 3)));
        }
        body += &format!("{line}\n");
    }
    let last = ops.len() + 2;
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 p, .param .u32 a, .param .u32 b, .param .u32 c)\n{{\n\
         .reg .b32 %r<{}>; .reg .b64 %q, %l; .reg .f32 %f; .reg .pred %p;\n\
         ld.param.u64 %q, [p]; ld.param.u32 %r0, [a]; ld.param.u32 %r1, [b]; ld.param.u32 %r2, [c];\n\
         cvta.to.global.u64 %q, %q;\n{body}\
         st.global.u32 [%q], %r{last};\nst.global.u32 [%q+4], %r{};\nret;\n}}\n",
        last + 1,
        last - 1
    )
}

fn launch() -> Case {
    let scalar = |value: u32| format!(r#"{{"kind": "scalar", "elem": "u32", "value": {value}}}"#);
    let text = format!(
        r#"{{"ptx": "k.ptx", "entry": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [
            {{"kind": "buffer", "name": "p", "elem": "u32", "init": {{"zeros": 8}}, "expect": null, "tolerance": "exact"}},
            {}, {}, {}]}}"#,
        scalar(0x1234_5678),
        scalar(77),
        scalar(0x8000_0001)
    );
    Case::parse(&text, Path::new("")).expect("the case is well-formed")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn one_warp_takes_the_static_sum(
        ops in prop::collection::vec((any::<usize>(), any::<[usize; 3]>()), 1..60),
    ) {
        let case = launch();
        let mut program = lower(kernel(&ops), "k").expect("the kernel lowers");
        let waiting = timed(&case, &program, Latencies::Typical, true);
        let sum = program.static_cycles();
        let waited = waiting.stalls[Cause::Scoreboard];
        prop_assert!(waiting.cycles - waited <= sum && sum <= waiting.cycles, "{sum}\n{waiting}");
        for coded in &mut program.insts {
            coded.control.wait_mask = 0;
        }
        let timing = timed(&case, &program, Latencies::Typical, false);
        prop_assert_eq!(timing.cycles, program.static_cycles(), "{}", timing);
    }
}
