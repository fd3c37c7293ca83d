//! Listings of whole kernels can be read. The hazard check finds nothing in code of NVIDIA's
//! assembler, but finds a hazard once a stall or a wait that a result needs is removed.

use std::collections::BTreeMap;

use ptxc_machine::Arch;
use ptxc_sass::text::{ErrorCode, Kernel, ReadOptions, parse_programs};
use ptxc_sass::verify::{Hazard, Order, check_with};
use ptxc_sass::{Access, AccessRole, Completion, Control, Op, Operand, PReg, Program, slot};

use super::FOLDERS;
use super::tools::{Oracle, oracle};

/// The number of weakenings tried per kernel.
const WEAKENINGS: usize = 6;

/// Calls `look` with each kernel of the sample whose instructions are all in the table; returns the
/// number of kernels. Other files are counted by the rows that the table lacks.
fn each(oracle: &Oracle, arch: Arch, mut look: impl FnMut(&str, &Kernel)) -> usize {
    let options = ReadOptions { arch: Some(arch), ..ReadOptions::default() };
    let mut missing: BTreeMap<String, usize> = BTreeMap::new();
    let (mut files, mut unread, mut kernels) = (0, 0, 0);
    for path in oracle.listed_sample(FOLDERS, arch) {
        files += 1;
        match parse_programs(&oracle.listing(&path, arch), &options) {
            Ok(read) => {
                kernels += read.len();
                let file = path.display().to_string();
                read.iter().for_each(|kernel| look(&file, kernel));
            }
            Err(errors) => {
                unread += 1;
                for error in errors {
                    let is_missing = matches!(error.code, ErrorCode::Mnemonic | ErrorCode::Form);
                    let is_tier_1 = path.parent().is_some_and(|folder| folder.ends_with("t1"));
                    assert!(is_missing || !is_tier_1, "{}: {error}", path.display());
                    *missing.entry(error.message).or_default() += 1;
                }
            }
        }
    }
    eprintln!(
        "{arch}: {kernels} kernels of {files} files; {unread} files have what the table lacks: {missing:#?}"
    );
    kernels
}

fn hazards(program: &Program) -> Vec<Hazard> {
    check_with(program, Order::InOrder).err().unwrap_or_default()
}

#[test]
fn ptxas_leaves_no_hazard() {
    let Some(oracle) = oracle() else { return };
    for arch in Arch::ALL {
        let mut found = Vec::new();
        let kernels = each(&oracle, arch, |file, kernel| {
            let program = &kernel.program;
            found.extend(hazards(program).into_iter().map(|hazard| {
                let [from, to] =
                    [hazard.producer, hazard.consumer].map(|index| &program.insts[index as usize]);
                format!("{file}, {}: {hazard}: {} -> {}", program.name, from.inst, to.inst)
            }));
        });
        assert!(found.is_empty(), "{arch}: {found:#?}");
        assert!(kernels >= 5, "only {kernels} kernels for {arch}");
    }
}

#[test]
fn a_stall_or_a_wait_that_lacks_is_found() {
    let Some(oracle) = oracle() else { return };
    for arch in Arch::ALL {
        let mut tried = 0;
        each(&oracle, arch, |file, kernel| {
            let weakened = weakenings(&kernel.program);
            let step = weakened.len().div_ceil(WEAKENINGS).max(1);
            for (consumer, program) in
                weakened.into_iter().step_by(step).map(|weaken| weaken.apply(&kernel.program))
            {
                let is_found = hazards(&program).iter().any(|hazard| hazard.consumer as usize == consumer);
                let inst = &program.insts[consumer].inst;
                assert!(is_found, "{arch}, {file}, {}: /*{:04x}*/ {inst}", program.name, consumer * 16);
                tried += 1;
            }
        });
        eprintln!("{arch}: {tried} weakenings found");
        assert!(tried >= 20, "only {tried} weakenings for {arch}");
    }
}

/// A result, its first reader further down the same line, and the protection that is removed
/// between them: all stalls except one cycle each, or the waits, including those of `DEPBAR.LE`.
struct Weakening {
    producer: usize,
    consumer: usize,
    is_wait: bool,
}

impl Weakening {
    /// The consumer, and the program without the protection.
    fn apply(&self, program: &Program) -> (usize, Program) {
        let mut program = program.clone();
        for coded in &mut program.insts[self.producer..=self.consumer] {
            if self.is_wait {
                coded.control.wait_mask = 0;
                if coded.inst.op == Op::DEPBAR_LE {
                    // The number of outstanding operations never reaches 63.
                    coded.inst = coded.inst.clone().slot(slot!(DEPBAR_LE, "n"), Operand::imm(63));
                    coded.inst = coded.inst.clone().slot(slot!(DEPBAR_LE, "scoreboards"), Operand::imm(0));
                }
            } else {
                coded.control = Control { stall: 1, ..coded.control };
            }
        }
        (self.consumer, program)
    }
}

/// The weakenings that must cause a hazard: results that are read before anything else happens to
/// them. Stalls are weakened only if the reader is the next instruction, so that the one cycle that
/// is left never suffices.
fn weakenings(program: &Program) -> Vec<Weakening> {
    let mut found = Vec::new();
    for (producer, coded) in program.insts.iter().enumerate().filter(|(_, coded)| coded.inst.guard.is_none())
    {
        let is_wait = coded.inst.completion(program.arch) == Completion::Variable;
        let results = registers(&coded.inst.accesses(), |role| role == AccessRole::Def);
        // Uniform values need at least two cycles, all others more.
        let reach = if is_wait { 12 } else { 1 };
        let later = program.insts.iter().enumerate().skip(producer + 1).take(reach);
        for (consumer, next) in later {
            let accesses = next.inst.accesses();
            if registers(&accesses, |role| role != AccessRole::Def).iter().any(|reg| results.contains(reg)) {
                found.push(Weakening { producer, consumer, is_wait });
                break;
            }
            let effects = next.inst.row().effects;
            let overwrites =
                registers(&accesses, |role| role == AccessRole::Def).iter().any(|reg| results.contains(reg));
            if effects.branch || effects.exit || effects.boundary || effects.convergent || overwrites {
                break;
            }
        }
    }
    found
}

fn registers(accesses: &[Access<PReg>], wanted: impl Fn(AccessRole) -> bool) -> Vec<PReg> {
    let wanted = accesses.iter().filter(|access| wanted(access.role));
    wanted.flat_map(|access| (0..access.width).filter_map(|component| access.reg.offset(component))).collect()
}
