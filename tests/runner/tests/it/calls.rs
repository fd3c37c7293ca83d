//! A kernel with calls gives the same values on both engines, with any options of the compiler.

use std::path::Path;

use ptxc_codegen::schedule::HEURISTICS;
use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::ssa;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_machine::Arch;
use ptxc_sim::{Case, run_sass, run_ssa};
use ptxc_ssa::{legalize, runtime};

/// Operands that need carries, large divisors, and divisors that are larger than their dividends.
const PAIRS: [(u64, u64); 8] = [
    (0, 1),
    (1 << 63, 3),
    (u64::MAX, 1),
    (u64::MAX, u64::MAX - 1),
    (0x0123_4567_89ab_cdef, 0x1_0000_0001),
    (7, 1 << 40),
    (u64::MAX - 5, 0x8000_0000_0000_0001),
    (1000, 10),
];

/// A launch of `tests/lit/kernels/division64.ptx`, which stores `(a / b + b) / a ^ a / b`.
fn case() -> Case {
    let hex = |words: &[u64]| {
        words.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let quotient = |a: u64, b: u64| a.checked_div(b).unwrap_or(u64::MAX);
    let (a, b): (Vec<u64>, Vec<u64>) = PAIRS.iter().copied().unzip();
    let expected = PAIRS.map(|(a, b)| {
        let q = quotient(a, b);
        quotient(q.wrapping_add(b), a) ^ q
    });
    let buffer = |name: &str, init: &[u64], expect: String| {
        format!(
            r#"{{"kind": "buffer", "name": "{name}", "elem": "u64", "init": {{"hex": "{}"}}, "expect": {expect}, "tolerance": "exact"}}"#,
            hex(init)
        )
    };
    let promised = format!(r#"{{"hex": "{}"}}"#, hex(&expected));
    let text = format!(
        r#"{{"ptx": "k.ptx", "entry": "division64", "grid": [1, 1, 1], "block": [40, 1, 1], "args": [{}, {}, {},
            {{"kind": "scalar", "elem": "u32", "value": {}}}]}}"#,
        buffer("a", &a, "null".into()),
        buffer("b", &b, "null".into()),
        buffer("q", &[0; PAIRS.len()], promised),
        PAIRS.len()
    );
    Case::parse(&text, Path::new("")).expect("the case is well-formed")
}

#[test]
fn values_do_not_depend_on_how_calls_are_compiled() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lit/kernels/division64.ptx");
    let text = std::fs::read_to_string(path).expect("the kernel can be read");
    let case = case();
    let settings =
        ptxc_sim::Options { check_uninitialised: true, loses_saved: true, ..ptxc_sim::Options::default() };
    let heuristics: Vec<String> = HEURISTICS.iter().map(|name| name.replace("SEED", "7")).collect();
    let serial = heuristics.iter().map(|name| (name, 3, 255, true));
    let few = heuristics.iter().map(|name| (name, 3, 16, false));
    let plain = heuristics.iter().flat_map(|name| (0..=3).map(move |opt| (name, opt, 255, false)));
    for (heuristic, opt, max_regs, serial) in plain.chain(few).chain(serial) {
        let who = format!("{heuristic} -O{opt} --max-regs {max_regs} serial={serial}");
        let db = Database::default();
        let file = SourceFile::new(&db, "k.ptx".into(), text.clone());
        let options = Options::new(&db, None, opt, true, heuristic.clone(), max_regs, serial);
        assert_eq!(diagnostics(&db, file, options), [], "{who}");
        let [(func, Some(code))] = kernels(&db, file, options)[..] else { panic!("{who}: no code") };
        let report =
            run_sass(&case, &code.program, &settings).unwrap_or_else(|error| panic!("{who}: {error}"));
        assert!(report.passed(), "{who}: {report}");

        // With the callees and the routines, as the SSA engine sees them.
        let mut called = ssa(&db, func, options).value.clone().expect("the kernel has SSA");
        legalize::legalize(&mut called, Arch::Sm90);
        let callees = runtime::callees(&called);
        assert!(!callees.is_empty(), "{who}: there is no call");
        let report =
            run_ssa(&case, &called, &callees, &settings).unwrap_or_else(|error| panic!("{who}: {error}"));
        assert!(report.passed(), "{who}: {report}");
    }
}
