//! The kernels of the forms as ptxas compiles them: they must leave the same bytes, and the
//! instructions that do the work must be the same, or there is a reason in `cores.txt`.
//!
//! The *core* of a kernel is the set of its mnemonics without those of [`ORDINARY`] instructions:
//! accesses of operands and results, moves, and integer instructions that any compiler combines in
//! its own way. What remains is the work of a unit that the form needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use ptxc_object::cubin::{program, read};
use ptxc_sass::table::Role;
use ptxc_sass::{Inst, PReg, Program, RegFile, Register};
use ptxc_sim::{Options, run_sass};

use super::execute::{Forms, Verdict, family};
use super::kernel::{Bound, Instance, Kernel};
use super::{assembled, case, difference, in_parallel, joined, matches};

/// `pattern | ptxas's mnemonics | ours | reason`: the mnemonics that only one of the cores has.
const REASONS: &str = include_str!("cores.txt");

/// Mnemonics that are no part of a core.
pub const ORDINARY: [&str; 40] = [
    "BAR", "BMOV", "BRA", "BREAK", "BSSY", "BSYNC", "CS2R", "EXIT", "IADD3", "IMAD", "IMNMX", "ISETP", "LDC",
    "LDG", "LEA", "LOP3", "MOV", "NOP", "P2R", "PLOP3", "PRMT", "R2P", "R2UR", "S2R", "S2UR", "SEL", "SHF",
    "STG", "UIADD3", "ULDC", "ULEA", "ULOP3", "UMOV", "UPRMT", "USEL", "USHF", "VIADD", "VOTEU", "WARPSYNC",
    "UISETP",
];

/// Mnemonics with which ptxas also makes constants.
const MOVING: [&str; 2] = ["HADD2", "HFMA2"];

/// Kernels in a file for ptxas.
const A_FILE: usize = 400;

/// A line of the list of reasons.
struct Reason {
    pattern: &'static str,
    theirs: &'static str,
    ours: &'static str,
    why: &'static str,
}

fn reasons() -> Vec<Reason> {
    let lines = REASONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let reason = |line: &'static str| {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[pattern, theirs, ours, why] = &parts[..] else { panic!("four parts in `{line}`") };
        Reason { pattern, theirs, ours, why }
    };
    lines.map(reason).collect()
}

/// `pattern | instances | reason`: results of ptxas's code that are known to be wrong.
const RESULTS: &str = include_str!("results.txt");

/// A line of that list.
struct Known {
    pattern: &'static str,
    instances: &'static str,
}

impl Known {
    fn is_about(&self, opcode: &str, instance: &Instance) -> bool {
        let has_constant = || instance.sources.iter().any(|(_, bound)| matches!(bound, Bound::Constant(_)));
        let fits = match self.instances {
            "guard" => instance.guarded,
            "constant" => has_constant(),
            _ => true,
        };
        fits && matches(self.pattern, opcode)
    }
}

fn results() -> &'static [Known] {
    static LIST: LazyLock<Vec<Known>> = LazyLock::new(|| {
        let lines = RESULTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let known = |line: &'static str| {
            let mut parts = line.split('|').map(str::trim);
            let (pattern, instances) = (parts.next(), parts.next());
            Known { pattern: pattern.unwrap_or_default(), instances: instances.unwrap_or_default() }
        };
        lines.map(known).collect()
    });
    &LIST
}

/// The result for an architecture.
#[derive(Default)]
pub struct Comparison {
    /// The kernels of ptxas that ran and left the same bytes.
    pub ran: usize,
    /// Those with the same core.
    pub same: usize,
    /// The others by their reasons.
    pub reasons: BTreeMap<&'static str, usize>,
    /// The kernels that the simulator cannot run.
    pub not_run: usize,
    /// The problems.
    pub wrong: Vec<String>,
    /// The lines of the list that were needed.
    used: BTreeSet<usize>,
}

/// The lines of the list of reasons that none of the comparisons needed.
pub fn unused(comparisons: &[&Comparison]) -> Vec<String> {
    let is_used = |index: &usize| comparisons.iter().any(|one| one.used.contains(index));
    let all = reasons().into_iter().enumerate();
    let unused = all.filter(|(index, _)| !is_used(index));
    unused
        .map(|(_, reason)| {
            format!("`{} | {} | {}` of cores.txt is not needed", reason.pattern, reason.theirs, reason.ours)
        })
        .collect()
}

/// The mnemonics of a program's core. An instruction of [`MOVING`] that reads no register makes a
/// constant.
fn core(program: &Program) -> BTreeSet<&'static str> {
    let reads = |inst: &Inst<PReg>| {
        let slots = inst.row().slots.iter().zip(&inst.operands);
        let mut sources = slots.filter(|(slot, _)| slot.role == Role::Use);
        sources.any(|(_, operand)| operand.as_reg().is_some_and(|reg| reg.file() != RegFile::Pred))
    };
    let working = program.insts.iter().filter(|coded| {
        !MOVING.iter().any(|name| coded.inst.row().mnemonic.starts_with(name)) || reads(&coded.inst)
    });
    let mnemonics = working.map(|coded| coded.inst.row().mnemonic);
    let first = mnemonics.map(|mnemonic| mnemonic.split('.').next().unwrap_or(mnemonic));
    first.filter(|mnemonic| !ORDINARY.contains(mnemonic)).collect()
}

fn listed(only: &[&str]) -> String {
    if only.is_empty() { "–".to_string() } else { only.join(" ") }
}

/// Compares the forms that agree with ptxas's code for an architecture. Results of video
/// instructions are compared [elsewhere](super::video::compare_with_ptxas), because some of ptxas's
/// are wrong.
pub fn compare_with_ptxas(ptxas: &Path, arch: &str, forms: &Forms, verdicts: &[Verdict]) -> Comparison {
    let agreeing: Vec<usize> =
        (0..verdicts.len()).filter(|&index| matches!(verdicts[index], Verdict::Agrees(..))).collect();
    let chunks: Vec<&[usize]> = agreeing.chunks(A_FILE).collect();
    let results = in_parallel(chunks.len(), |index| of_file(ptxas, arch, forms, verdicts, chunks[index]));
    let list = reasons();
    let mut all = Comparison::default();
    for (index, result) in results.into_iter().flatten() {
        let opcode = &forms.samples[index].opcode;
        let result = match result {
            Ok(result) => result,
            Err(what) => {
                all.wrong.push(format!("{arch} {opcode}: {what}"));
                continue;
            }
        };
        match result.ran {
            Ok(()) => all.ran += 1,
            Err(what) if what.contains("is not supported") => all.not_run += 1,
            Err(what) => all.wrong.push(format!("{arch} {opcode}: {what}")),
        }
        let Some([theirs, ours]) = result.differing else {
            all.same += 1;
            continue;
        };
        let fits = |pattern: &str, text: &str| pattern == "*" || pattern == text;
        let reason = list.iter().position(|reason| {
            matches(reason.pattern, opcode) && fits(reason.theirs, &theirs) && fits(reason.ours, &ours)
        });
        match reason {
            Some(line) => {
                all.used.insert(line);
                *all.reasons.entry(list[line].why).or_default() += 1;
            }
            None => all.wrong.push(format!("{arch} {opcode}: `{theirs}` of ptxas, `{ours}` of ptxc")),
        }
    }
    all
}

struct Compared {
    /// Whether ptxas's code ran and left the same bytes.
    ran: Result<(), String>,
    /// The mnemonics that only ptxas's core has and those that only ours has, unless they are the
    /// same.
    differing: Option<[String; 2]>,
}

fn of_file(
    ptxas: &Path,
    arch: &str,
    forms: &Forms,
    verdicts: &[Verdict],
    indices: &[usize],
) -> Vec<(usize, Result<Compared, String>)> {
    let kernels = indices.iter().map(|&index| (index, &forms.kernels[index]));
    let bytes = match assembled(ptxas, arch, &[], &joined(kernels, arch)) {
        Ok(bytes) => bytes,
        Err(messages) => return vec![(indices[0], Err(messages))],
    };
    let cubin = match read(&bytes) {
        Ok(cubin) => cubin,
        Err(error) => return vec![(indices[0], Err(error.to_string()))],
    };
    let case = case(&forms.input);
    let options = Options { holds_uniform: true, ..Options::default() };
    let compared = indices.iter().map(|&index| {
        let Verdict::Agrees(expected, ours) = &verdicts[index] else { return (index, Err("no code".into())) };
        let theirs = match program(&cubin, &format!("forms{index}")) {
            Ok(theirs) => theirs,
            Err(error) => return (index, Err(error.to_string())),
        };
        let kernel: &Kernel = &forms.kernels[index];
        let is_video = family(forms.samples[index].mnemonic()) == "video";
        let ran = run_sass(&case, &theirs, &options).map_err(|error| error.to_string()).and_then(|report| {
            let content = &report.outcomes[1].content;
            let opcode = &forms.samples[index].opcode;
            let is_compared =
                |instance: &Instance| !results().iter().any(|known| known.is_about(opcode, instance));
            let found = difference(kernel, &forms.input, (expected, content), is_compared);
            found.filter(|_| !is_video).map_or(Ok(()), |what| Err(format!("ptxas's code: {what}")))
        });
        let [theirs, ours] = [core(&theirs), core(ours)];
        let only = |these: &BTreeSet<&'static str>, others: &BTreeSet<&'static str>| {
            listed(&these.difference(others).copied().collect::<Vec<_>>())
        };
        let differing = (theirs != ours).then(|| [only(&theirs, &ours), only(&ours, &theirs)]);
        (index, Ok(Compared { ran, differing }))
    });
    compared.collect()
}
