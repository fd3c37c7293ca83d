//! One kernel, one launch, three executions that must leave the same bytes.

use std::fmt::Write;
use std::path::Path;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::{built, ssa};
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_sim::{Case, Report, SimError, run_sass, run_ssa};

use crate::kernel::{DUMP_BYTES, OWN_BYTES};
use crate::random::Random;

/// How a kernel is compiled.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `-O`.
    pub opt: u8,
    /// `--heuristic`.
    pub heuristic: String,
    /// `--max-regs`.
    pub max_regs: u32,
    /// `--sync=serial`.
    pub serial: bool,
    /// The seed of the simulator.
    pub seed: u64,
}

impl Settings {
    /// Random settings.
    pub fn random(random: &mut Random) -> Settings {
        let seed = random.bits() % 1000;
        let heuristic = match random.below(6) {
            3 => "balanced".to_string(),
            0 => "critical-path".to_string(),
            1 => "pressure".to_string(),
            2 => "source-order".to_string(),
            _ => format!("random:{seed}"),
        };
        let max_regs = random.pick(&[255, 255, 64, 40, 32, 24, 16]);
        Settings { opt: random.below(4) as u8, heuristic, max_regs, serial: random.chance(10), seed }
    }
}

/// What became of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All executions agree.
    Agree,
    /// Something is wrong: the compiler refuses the kernel, or an execution differs.
    Wrong(String),
}

/// A random launch: threads a CTA, CTAs, arguments.
pub fn case(random: &mut Random) -> Case {
    let (threads, ctas) = (random.pick(&[32u32, 64, 96]), random.pick(&[1u32, 2]));
    let mut args = Vec::new();
    let all = threads * ctas;
    for (name, bytes) in [("in", 256), ("acc", 64), ("own", all * OWN_BYTES), ("dump", all * DUMP_BYTES)] {
        let mut hex = String::new();
        for _ in 0..bytes / 4 {
            let word = if name == "dump" { 0 } else { random.word(32) as u32 };
            for byte in word.to_le_bytes() {
                // Writing to a string can't fail.
                let _ = write!(hex, "{byte:02x}");
            }
        }
        args.push(format!(
            r#"{{"kind": "buffer", "name": "{name}", "elem": "u32", "init": {{"hex": "{hex}"}}, "expect": null, "tolerance": "exact"}}"#
        ));
    }
    args.push(format!(r#"{{"kind": "scalar", "elem": "u32", "value": {}}}"#, random.word(32)));
    args.push(format!(r#"{{"kind": "scalar", "elem": "u64", "value": {}}}"#, random.word(64)));
    args.push(format!(r#"{{"kind": "scalar", "elem": "f32", "value": {}.5}}"#, random.below(100)));
    let text = format!(
        r#"{{"ptx": "fuzz.ptx", "entry": "fuzz", "grid": [{ctas}, 1, 1], "block": [{threads}, 1, 1], "args": [{}]}}"#,
        args.join(", ")
    );
    Case::parse(&text, Path::new("")).expect("the case is well-formed")
}

/// A random launch of a kernel of `tests/flow`.
pub fn flow_case(random: &mut Random) -> Case {
    let mut hex = String::new();
    for _ in 0..4096 {
        for byte in (random.word(32) as u32).to_le_bytes() {
            // Writing to a string can't fail.
            let _ = write!(hex, "{byte:02x}");
        }
    }
    let (threads, n) = (random.pick(&[32u32, 64, 96]), random.below(100));
    let text = format!(
        r#"{{"ptx": "flow.ptx", "entry": "k", "grid": [1, 1, 1], "block": [{threads}, 1, 1], "args": [
            {{"kind": "buffer", "name": "p", "elem": "u32", "init": {{"hex": "{hex}"}}, "expect": null, "tolerance": "exact"}},
            {{"kind": "scalar", "elem": "u32", "value": {n}}}]}}"#
    );
    Case::parse(&text, Path::new("")).expect("the case is well-formed")
}

/// Where two executions leave different bytes.
fn difference(expected: &Report, got: &Report) -> Option<String> {
    for (expected, got) in expected.outcomes.iter().zip(&got.outcomes) {
        let place = expected.content.iter().zip(&got.content).position(|(a, b)| a != b);
        if let Some(place) = place {
            let word = |content: &[u8]| {
                let at = place & !3;
                content[at..at + 4].iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>()
            };
            return Some(format!(
                "{}+{}: {} instead of {}",
                expected.name,
                place & !3,
                word(&got.content),
                word(&expected.content)
            ));
        }
    }
    None
}

/// Compiles and executes a kernel.
pub fn verdict(text: &str, case: &Case, settings: &Settings) -> Verdict {
    let db = Database::default();
    let file = SourceFile::new(&db, "fuzz.ptx".into(), text.into());
    let Settings { opt, heuristic, max_regs, serial, seed } = settings.clone();
    let options = Options::new(&db, None, opt, true, heuristic, max_regs, serial);
    let found = diagnostics(&db, file, options);
    if !found.is_empty() {
        let all: Vec<String> =
            found.iter().map(|found| format!("{}: {}", found.code, found.message)).collect();
        return Verdict::Wrong(all.join("; "));
    }
    let kernels = kernels(&db, file, options);
    let [(func, Some(code))] = kernels[..] else {
        return Verdict::Wrong("no diagnostics and no code".into());
    };
    let (Some(as_built), Some(simplified)) = (&built(&db, func).value, &ssa(&db, func, options).value) else {
        return Verdict::Wrong("code without SSA".into());
    };
    let simulator = ptxc_sim::Options { seed, step_limit: 2_000_000, ..ptxc_sim::Options::default() };
    let reference = match run_ssa(case, as_built, &[], &simulator) {
        Ok(report) => report,
        Err(error) => return Verdict::Wrong(format!("the kernel itself: {error}")),
    };
    let wrong = |who: &str, result: Result<Report, SimError>| match result {
        Err(error) => Some(format!("{who}: {error}")),
        Ok(report) => difference(&reference, &report).map(|what| format!("{who}: {what}")),
    };
    wrong("simplified SSA", run_ssa(case, simplified, &[], &simulator))
        .or_else(|| wrong("SASS", run_sass(case, &code.program, &simulator)))
        .map_or(Verdict::Agree, Verdict::Wrong)
}
