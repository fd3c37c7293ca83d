//! Scalar, warp and video instructions, each in a kernel of its own: it must lower and compute the
//! right results.
//!
//! The checker's instruction table defines the forms. Each becomes a small kernel that is compiled
//! and run three times on edge cases and random numbers: the SSA form as built, the simplified SSA
//! form, and the SASS. All must leave the same bytes, and those that `ptxc-semantics` computes if
//! it defines the instruction as a whole.
//!
//! A form that ends in `E0900` must match a line of `unlowered.txt`, and a form that lowers must
//! not match any: the list is exact.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::{built, ssa};
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_families::sample::{self, Sample};
use ptxc_fuzz::random::Random;
use ptxc_ptx::check::table::TABLE;
use ptxc_sass::Program;
use ptxc_sim::{run_sass, run_ssa};

use super::kernel::{Kernel, kernel};
use super::{case, compare, difference, in_parallel, matches, operands, reference, video};

/// Opcodes that may end in `E0900`: `*` stands for any text.
const UNLOWERED: &str = include_str!("unlowered.txt");

/// The verdict on a form.
pub enum Verdict {
    /// Everything agrees: the bytes that the kernel leaves, and its code.
    Agrees(Vec<u8>, Box<Program>),
    /// The target lacks the instruction.
    Absent,
    /// It ends in `E0900`.
    Unlowered(String),
    /// Something is wrong.
    Wrong(String),
}

/// The family of an instruction in the table.
pub fn family(mnemonic: &str) -> &'static str {
    TABLE.rows().iter().find(|row| row.mnemonic == mnemonic).map_or("", |row| row.family)
}

/// The forms, each with its kernel, and the operands of all.
pub struct Forms {
    /// The instructions.
    pub samples: Vec<Sample>,
    /// Their kernels for [`sample::TARGET`].
    pub kernels: Vec<Kernel>,
    /// The content of the operands.
    pub input: Vec<u8>,
}

impl Forms {
    /// The forms of scalar and warp instructions and of video instructions whose opcodes contain a
    /// text: one of `stride` of them.
    pub fn of(only: &str, stride: usize) -> Forms {
        let mut random = Random::new(1);
        let mut samples = sample::all();
        samples.extend(video::samples(&mut random));
        samples.retain(|sample| sample.opcode.contains(only));
        let samples: Vec<Sample> = samples.into_iter().step_by(stride).collect();
        let input = operands(&mut random);
        let kernels = samples.iter().map(|sample| kernel(sample, &mut random)).collect();
        Forms { samples, kernels, input }
    }

    /// What becomes of each form on an architecture.
    pub fn execute(&self, arch: &str) -> Vec<Verdict> {
        in_parallel(self.samples.len(), |index| {
            let mut kernel = self.kernels[index].clone();
            kernel.text = kernel.text.replacen(sample::TARGET, arch, 1);
            verdict(&self.samples[index], &kernel, &self.input)
        })
    }

    /// The forms that are wrong on an architecture, and those that do not lower without being listed.
    /// Adds the lines of the list that are needed to `used`.
    pub fn problems(&self, arch: &str, verdicts: &[Verdict], used: &mut BTreeSet<usize>) -> Vec<String> {
        let patterns = patterns();
        let mut wrong = Vec::new();
        for (sample, verdict) in self.samples.iter().zip(verdicts) {
            let opcode = &sample.opcode;
            let here = format!("{arch} {opcode}");
            let listed =
                patterns.iter().position(|pattern| matches(pattern, opcode) || matches(pattern, &here));
            match (verdict, listed) {
                (Verdict::Agrees(..), None) | (Verdict::Absent, _) => {}
                (Verdict::Unlowered(_), Some(pattern)) => {
                    used.insert(pattern);
                }
                (Verdict::Agrees(..), Some(pattern)) => {
                    wrong.push(format!("{here} lowers, but `{}` is listed", patterns[pattern]));
                }
                (Verdict::Unlowered(what), None) => wrong.push(format!("{here} is not listed: {what}")),
                (Verdict::Wrong(what), _) => wrong.push(format!("{here}: {what}")),
            }
        }
        wrong
    }
}

/// The lines of the list of forms that do not lower; some begin with an architecture.
fn patterns() -> Vec<&'static str> {
    UNLOWERED.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// The lines of the list that nothing needed.
pub fn unused(used: &BTreeSet<usize>) -> Vec<String> {
    let all = patterns().into_iter().enumerate();
    let unused = all.filter(|(index, _)| !used.contains(index));
    unused.map(|(_, line)| format!("`{line}` is listed, but nothing of that name fails")).collect()
}

/// The differences between the results and those of `ptxc-semantics`.
fn unexpected(sample: &Sample, kernel: &Kernel, input: &[u8], output: &[u8]) -> Option<String> {
    let parts = sample.parts();
    compare(kernel, input, output, |sources, carry| match video::expected(sample, sources) {
        Some(result) => Some(vec![result.into()]),
        None => reference::expected(&parts, sources, carry),
    })
}

/// What becomes of a form.
pub fn verdict(sample: &Sample, kernel: &Kernel, input: &[u8]) -> Verdict {
    let db = Database::default();
    let file = SourceFile::new(&db, "forms.ptx".into(), kernel.text.clone());
    let options = Options::defaults(&db);
    let found = diagnostics(&db, file, options);
    if found.iter().any(|found| found.code == "E0111") {
        return Verdict::Absent;
    }
    if let Some(other) = found.iter().find(|found| found.code != "E0900") {
        return Verdict::Wrong(format!("{}: {}", other.code, other.message));
    }
    if let Some(first) = found.first() {
        return Verdict::Unlowered(first.message.clone());
    }
    let kernels = kernels(&db, file, options);
    let [(func, Some(code))] = kernels[..] else { return Verdict::Wrong("no code".into()) };
    let (Some(as_built), Some(simplified)) = (&built(&db, func).value, &ssa(&db, func, options).value) else {
        return Verdict::Wrong("code without SSA".into());
    };
    let (case, simulator) = (case(input), ptxc_sim::Options::default());
    let run = |who: &str, result: Result<ptxc_sim::Report, ptxc_sim::SimError>| match result {
        Ok(report) => Ok(report.outcomes[1].content.clone()),
        Err(error) => Err(format!("{who}: {error}")),
    };
    let all = || -> Result<Vec<u8>, String> {
        let reference = run("SSA", run_ssa(&case, as_built, &[], &simulator))?;
        if let Some(what) = unexpected(sample, kernel, input, &reference) {
            return Err(format!("SSA: {what}"));
        }
        for (who, result) in [
            ("simplified SSA", run_ssa(&case, simplified, &[], &simulator)),
            ("SASS", run_sass(&case, &code.program, &simulator)),
        ] {
            let content = run(who, result)?;
            if let Some(what) = difference(kernel, input, (&reference, &content), |_| true) {
                return Err(format!("{who}: {what}"));
            }
        }
        Ok(reference)
    };
    match all() {
        Ok(bytes) => Verdict::Agrees(bytes, Box::new(code.program.clone())),
        Err(what) => {
            let mut what = what;
            if std::env::var_os("PTXC_FORMS").is_some() {
                let style = ptxc_sass::text::Style::default();
                let text = ptxc_compiler::output::program_text(code, &style, false);
                let _ = write!(what, "\n{}\n{text}", kernel.text);
            }
            Verdict::Wrong(what)
        }
    }
}
