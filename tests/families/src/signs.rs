//! Every instruction that computes in registers, with a negated, absolute or complemented value as
//! each of its operands. The value comes from memory, a parameter or a constant variable.
//!
//! Selection folds such a sign into the instruction that reads the value if the machine instruction
//! has a bit for it. A [kernel] has all settings of one instruction. On each architecture it must
//! compile to machine code that nvdisasm can read, and leave the same memory as the SSA form as
//! built. An instruction that does not compile without signs is omitted.

mod kernel;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::built;
use ptxc_compiler::{Database, Options, SourceFile, cubin, diagnostics};
use ptxc_machine::Arch;
use ptxc_ptx::check::types::Scalar;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::bits;
use ptxc_sim::{Case, run_sass, run_ssa};
use rayon::prelude::*;

use crate::oracle::Oracle;
use crate::sample::{Sample, with_doubles_and_sequences};
use kernel::{Kernel, PARAMETERS, THREADS};

/// The results.
#[derive(Debug, Default)]
pub struct Report {
    /// The number of instructions, counted once per architecture.
    pub instructions: usize,
    /// The number of their settings.
    pub settings: usize,
    /// The number of instructions that do not compile without signs.
    pub left_out: usize,
    /// The errors.
    pub wrong: Vec<String>,
}

impl Report {
    /// A one-line summary.
    pub fn summary(&self) -> String {
        format!(
            "{} instructions with signs in {} settings, {} of them wrong; {} do not compile without signs",
            self.instructions - self.left_out,
            self.settings,
            self.wrong.len(),
            self.left_out
        )
    }
}

/// The verdict on one instruction.
enum Verdict {
    LeftOut,
    /// It is correct: the number of settings, and the machine code.
    Agrees(usize, Vec<u128>),
    Wrong(String),
}

/// Tries one out of `stride` instructions, starting with another one on each architecture. nvdisasm
/// reads the code if it is available.
pub fn run(archs: &[Arch], stride: usize, only: &str, oracle: Option<&Oracle>) -> Report {
    let mut samples = with_doubles_and_sequences();
    samples.retain(|sample| sample.opcode.contains(only));
    let mut report = Report::default();
    for &arch in archs {
        let first = Arch::ALL.iter().position(|&other| other == arch).unwrap_or(0);
        let chosen: Vec<&Sample> = ptxc_sample::in_turn(&samples, first, stride).collect();
        let verdicts: Vec<Verdict> = chosen.par_iter().map(|sample| verdict(sample, arch)).collect();
        let mut code = Vec::new();
        for (sample, verdict) in chosen.iter().zip(verdicts) {
            report.instructions += 1;
            match verdict {
                Verdict::LeftOut => report.left_out += 1,
                Verdict::Agrees(settings, words) => {
                    report.settings += settings;
                    code.extend(words);
                }
                Verdict::Wrong(what) => report.wrong.push(format!("{arch} {}: {what}", sample.opcode)),
            }
        }
        if let Some(Err(what)) = oracle.map(|oracle| oracle.read(&code, arch)) {
            report.wrong.push(what);
        }
    }
    report
}

fn verdict(sample: &Sample, arch: Arch) -> Verdict {
    let kernel = kernel::signed(sample);
    if kernel.settings == 0 || compile(&kernel::plain(sample).text, arch).is_err() {
        return Verdict::LeftOut;
    }
    let caught = catch_unwind(AssertUnwindSafe(|| agree(&kernel, arch)));
    match caught.unwrap_or_else(|_| Err("a panic".to_string())) {
        Ok(code) => Verdict::Agrees(kernel.settings, code),
        Err(what) => Verdict::Wrong(what),
    }
}

/// The reason why a kernel does not become a cubin.
fn compile(text: &str, arch: Arch) -> Result<(), String> {
    let (db, file, options) = inputs(text, arch);
    let found = diagnostics(&db, file, options);
    match found.iter().find(|found| found.severity == Severity::Error) {
        Some(error) => Err(format!("{}: {}; {}", error.code, error.message, error.notes.join("; "))),
        None => (**cubin::cubin(&db, file, options)).as_ref().map(drop).map_err(ToString::to_string),
    }
}

fn inputs(text: &str, arch: Arch) -> (Database, SourceFile, Options) {
    let db = Database::default();
    let file = SourceFile::new(&db, "signs.ptx".into(), text.to_string());
    let options = Options::new(&db, Some(arch), 3, true, "balanced".to_string(), 255, false);
    (db, file, options)
}

/// The machine code of a kernel that has the same results on both engines.
fn agree(kernel: &Kernel, arch: Arch) -> Result<Vec<u128>, String> {
    compile(&kernel.text, arch)?;
    let (db, file, options) = inputs(&kernel.text, arch);
    let [(func, Some(code))] = kernels(&db, file, options)[..] else { return Err("no code".to_string()) };
    let built = built(&db, func).value.as_ref().ok_or("code without SSA")?;
    let case = case(kernel)?;
    let simulator = ptxc_sim::Options::default();
    let result = |who: &str, result: Result<ptxc_sim::Report, ptxc_sim::SimError>| {
        let report = result.map_err(|error| format!("{who}: {error}"))?;
        report.outcomes.last().map(|outcome| outcome.content.clone()).ok_or(format!("{who} has no results"))
    };
    let expected = result("SSA", run_ssa(&case, built, &[], &simulator))?;
    let got = result("SASS", run_sass(&case, &code.program, &simulator))?;
    if let Some(what) = difference(kernel, &expected, &got) {
        return Err(what);
    }
    let place = |label: ptxc_sass::Label| code.program.labels.get(label.0 as usize).map(|index| index * 16);
    let words = code.program.insts.iter().zip((0..).step_by(16));
    words.map(|(coded, at)| bits::encode(coded, at, arch, place).map_err(|error| error.to_string())).collect()
}

fn case(kernel: &Kernel) -> Result<Case, String> {
    let mut arguments = vec![buffer("in", &format!(r#"{{"hex": "{}"}}"#, hex(&kernel.input())))];
    for number in 0..PARAMETERS {
        let value = kernel.parameter(number);
        arguments.push(format!(r#"{{"kind": "scalar", "elem": "u64", "value": {value}}}"#));
    }
    arguments.push(buffer("out", &format!(r#"{{"zeros": {}}}"#, THREADS * kernel.out_bytes())));
    let text = format!(
        r#"{{"ptx": "signs.ptx", "entry": "signs", "grid": [1, 1, 1], "block": [{THREADS}, 1, 1], "args": [{}]}}"#,
        arguments.join(", ")
    );
    Case::parse(&text, Path::new("")).map_err(|error| error.to_string())
}

fn buffer(name: &str, content: &str) -> String {
    format!(
        r#"{{"kind": "buffer", "name": "{name}", "elem": "u8", "init": {content}, "expect": null, "tolerance": "exact"}}"#
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The first difference between results. All NaNs of a float are equal.
fn difference(kernel: &Kernel, expected: &[u8], got: &[u8]) -> Option<String> {
    for thread in 0..THREADS as usize {
        for (number, (ty, line)) in kernel.results.iter().enumerate() {
            let at = thread * kernel.out_bytes() as usize + 8 * number;
            let value = |bytes: &[u8]| {
                let word = bytes[at..at + 8].try_into().expect("eight bytes");
                canonical(*ty, u64::from_le_bytes(word))
            };
            let (expected, got) = (value(expected), value(got));
            if expected != got {
                return Some(format!("`{line}` gives {got:#x} instead of {expected:#x} in thread {thread}"));
            }
        }
    }
    None
}

/// The same value for all NaNs.
fn canonical(ty: Scalar, bits: u64) -> u64 {
    let format = match ty.name() {
        "f64" => ptxc_semantics::F64,
        "f32" => ptxc_semantics::F32,
        "f16" => ptxc_semantics::F16,
        "bf16" => ptxc_semantics::BF16,
        "f16x2" | "bf16x2" => {
            let single = Scalar::parse(&ty.name()[..ty.name().len() - 2]).expect("a type");
            return canonical(single, bits & 0xffff) | canonical(single, bits >> 16 & 0xffff) << 16;
        }
        _ => return bits,
    };
    if format.is_nan(bits) { format.nan() } else { bits }
}
