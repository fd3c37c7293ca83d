//! `xtask compare`: compares the compiler's code with ptxas's, kernel by kernel.
//!
//! The comparison covers the instructions of the kernel itself, without padding, its registers, its
//! spills, and the CPU time of the whole process that compiled the file, user and system (`ptxc
//! lower` writes SASS text, ptxas a cubin).
//!
//! Two things are reported separately, because they do not measure how well the same code was
//! chosen:
//!
//! - **Called routines**, such as the slow path of a division: their instructions have a separate
//!   column. The limit is for the kernel's own code; a second mean covers all code.
//! - **Kernels that ptxas unrolled**, where more instructions can mean faster code. ptxas does not
//!   say which kernels it unrolled. A kernel counts as unrolled if ptxas has more than 5/4 of the
//!   instructions in loops that ptxc has, or fewer loops and more code in all. Both conditions mean
//!   that ptxas's code is larger. They therefore never exclude a kernel where ptxc's code is too
//!   large, and excluding kernels only makes the means of the rest worse.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rayon::prelude::*;

use crate::cpu_time;
use crate::listing::Listing;
use crate::lowering::{Kernel, Measures, Reason, lower};
use crate::means::{Summary, ratio};
use crate::oracle::{Oracle, Theirs};
use crate::settings::Settings;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use ptxc_words::ptx_files;

/// The limit for the geometric means of instructions and of registers.
const LIMIT: f64 = 1.5;

/// ptxas reports the highest register plus one, plus two that the system reserves.
const KEPT_REGISTERS: u32 = 2;

/// How to compare.
pub(crate) struct Comparison<'a> {
    /// The folder of ptxas and nvdisasm, if not `ORACLE`.
    pub(crate) oracle: Option<&'a Path>,
    /// How to measure CPU times, if they are wanted.
    pub(crate) times: Option<Times>,
    /// Of how many files one is compared.
    pub(crate) stride: usize,
}

/// How to measure CPU times.
pub(crate) struct Times {
    /// The compiler's program.
    pub(crate) ptxc: PathBuf,
    /// How often each file is compiled; the least time counts.
    pub(crate) runs: u32,
}

/// The kernels of a file by both compilers.
struct Compiled {
    path: PathBuf,
    /// ptxas's target.
    arch: String,
    ours: Vec<Kernel>,
    /// By name; otherwise ptxas's first message.
    theirs: Result<HashMap<String, Theirs>, String>,
}

impl Compiled {
    fn new(oracle: &Oracle, settings: &Settings, path: PathBuf) -> Compiled {
        let arch = settings.arch.map_or_else(|| their_arch(&path), |arch| arch.to_string());
        let (ours, theirs) = (lower(&path, settings), oracle.compile(&path, &arch));
        Compiled { path, arch, ours, theirs }
    }
}

/// A kernel that both compilers compile.
struct Pair {
    file: String,
    entry: String,
    ours: Measures,
    theirs: Theirs,
}

impl Pair {
    fn instructions(&self) -> f64 {
        ratio(self.ours.code.instructions as f64, self.theirs.code.instructions as f64)
    }

    /// The ratio of all instructions, including called routines.
    fn with_called(&self) -> f64 {
        let all = |code: Listing| (code.instructions + code.called) as f64;
        ratio(all(self.ours.code), all(self.theirs.code))
    }

    /// Whether ptxc's code spills and ptxas's does not.
    fn spills_alone(&self) -> bool {
        self.ours.spills > 0 && self.theirs.spilled_words == 0
    }

    fn registers(&self) -> f64 {
        ratio(f64::from(self.ours.registers + KEPT_REGISTERS), f64::from(self.theirs.registers))
    }

    /// Whether ptxas probably unrolled a loop; see the head of this file.
    fn is_unrolled(&self) -> bool {
        let (ours, theirs) = (self.ours.code, self.theirs.code);
        4 * theirs.in_loops > 5 * ours.in_loops
            || theirs.loops < ours.loops && theirs.instructions > ours.instructions
    }
}

/// Prints the comparison of the files below `root`. It is an error if a mean is above the limit, or
/// if a kernel spills that ptxas compiles without spills.
pub(crate) fn run(root: &Path, settings: &Settings, how: &Comparison<'_>) -> Result<(), String> {
    let Some(oracle) = Oracle::find(how.oracle) else {
        println!("SKIPPED: the comparison with ptxas; neither --oracle nor ORACLE names a folder with ptxas");
        return Ok(());
    };
    let sample: Vec<PathBuf> = ptx_files(root)?.into_iter().step_by(how.stride).collect();
    let files: Vec<Compiled> =
        sample.into_par_iter().map(|path| Compiled::new(&oracle, settings, path)).collect();
    let (mut pairs, mut times) = (Vec::new(), Vec::new());
    let mut without: BTreeMap<String, usize> = BTreeMap::new();
    for Compiled { path, arch, ours, theirs } in files {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let theirs = match theirs {
            Ok(found) => found,
            Err(why) => {
                *without.entry(format!("ptxas refuses {file}: {why}")).or_default() += 1;
                continue;
            }
        };
        let whole = ours.iter().all(|kernel| kernel.result.is_ok());
        for kernel in ours {
            match (kernel.result, theirs.get(&kernel.entry)) {
                (Ok(ours), Some(theirs)) => {
                    pairs.push(Pair { file: file.clone(), entry: kernel.entry, ours, theirs: theirs.clone() })
                }
                (Ok(_), None) => return Err(format!("{file}: ptxas has no kernel {}", kernel.entry)),
                (Err(missing), _) => {
                    if missing.reason != Reason::Unsupported {
                        return Err(format!("{file}: {}: {}", kernel.entry, missing.message));
                    }
                    *without.entry(missing.message).or_default() += 1;
                }
            }
        }
        if let Some(how) = how.times.as_ref().filter(|_| whole) {
            times.push((file, our_time(how, settings, &path)?, oracle.time(&path, &arch, how.runs)?));
        }
    }
    if pairs.is_empty() {
        return Err("there is no kernel to compare".into());
    }
    let (unrolled, straight): (Vec<Pair>, Vec<Pair>) = pairs.into_iter().partition(Pair::is_unrolled);
    println!("Kernels with the same loops:");
    let within = print_pairs(&straight);
    println!("\nKernels that ptxas unrolled:");
    let within_unrolled = print_pairs(&unrolled);
    println!("\nAll {}: {}", straight.len() + unrolled.len(), Means::of(straight.iter().chain(&unrolled)));
    let alone = straight.iter().chain(&unrolled).filter(|pair| pair.spills_alone());
    let spilled: Vec<&str> = alone.map(|pair| pair.entry.as_str()).collect();
    let names = if spilled.is_empty() { "none".to_string() } else { spilled.join(", ") };
    println!("Kernels that spill where ptxas has no spills: {names}");
    if how.times.is_some() {
        print_times(&times);
    }
    if !without.is_empty() {
        println!("\nnot compared:");
        without.iter().for_each(|(why, count)| println!("{count:6}  {why}"));
    }
    if !spilled.is_empty() {
        return Err(format!("spills where ptxas has none: {names}"));
    }
    if within && within_unrolled { Ok(()) } else { Err(format!("a geometric mean is above {LIMIT}")) }
}

/// The target for ptxas if the options do not name one: sm_90a if that is the file's target,
/// because ptxas compiles such a file for nothing else; otherwise sm_90.
fn their_arch(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let target = text.lines().find_map(|line| line.trim().strip_prefix(".target"));
    let is_special = target.is_some_and(|names| names.split(',').any(|name| name.trim() == "sm_90a"));
    if is_special { "sm_90a".to_string() } else { "sm_90".to_string() }
}

/// Prints kernels with their ratios; returns whether the means are within the limit.
fn print_pairs(pairs: &[Pair]) -> bool {
    let mut table = Table::new(&[
        ("file", Left),
        ("kernel", Left),
        ("insts", Right),
        ("ptxas", Right),
        ("ratio", Right),
        ("called", Right),
        ("ptxas", Right),
        ("loops", Right),
        ("ptxas", Right),
        ("regs", Right),
        ("ptxas", Right),
        ("ratio", Right),
        ("spills", Right),
        ("ptxas", Right),
    ]);
    for pair in pairs {
        let (ours, theirs) = (&pair.ours, &pair.theirs);
        let in_loops = |code: Listing| format!("{}:{}", code.loops, code.in_loops);
        table.row([
            pair.file.clone(),
            pair.entry.clone(),
            ours.code.instructions.to_string(),
            theirs.code.instructions.to_string(),
            format!("{:.2}", pair.instructions()),
            ours.code.called.to_string(),
            theirs.code.called.to_string(),
            in_loops(ours.code),
            in_loops(theirs.code),
            (ours.registers + KEPT_REGISTERS).to_string(),
            theirs.registers.to_string(),
            format!("{:.2}", pair.registers()),
            ours.spills.to_string(),
            theirs.spilled_words.to_string(),
        ]);
    }
    print!("{table}");
    if pairs.is_empty() {
        println!("none");
        return true;
    }
    let means = Means::of(pairs.iter());
    println!("{} kernels: {means}", pairs.len());
    means.are_within(LIMIT)
}

/// The means of some kernels.
struct Means<'a> {
    instructions: Summary<'a>,
    with_called: Summary<'a>,
    registers: Summary<'a>,
}

impl<'a> Means<'a> {
    fn of(pairs: impl Iterator<Item = &'a Pair> + Clone) -> Means<'a> {
        let of = |measure: fn(&Pair) -> f64| {
            Summary::of(pairs.clone().map(|pair| (measure(pair), pair.entry.as_str())))
        };
        Means {
            instructions: of(Pair::instructions),
            with_called: of(Pair::with_called),
            registers: of(Pair::registers),
        }
    }

    /// Whether the means of the kernels' own instructions and of registers are within the limit.
    fn are_within(&self, limit: f64) -> bool {
        self.instructions.mean <= limit && self.registers.mean <= limit
    }
}

impl std::fmt::Display for Means<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Means { instructions, with_called, registers } = self;
        writeln!(f, "own instructions: {instructions}")?;
        writeln!(f, "    with called routines: {with_called}")?;
        write!(f, "    registers: {registers}")
    }
}

/// The CPU time of `ptxc lower`: the least of several runs.
fn our_time(how: &Times, settings: &Settings, path: &PathBuf) -> Result<Option<Duration>, String> {
    let mut least: Option<Duration> = None;
    for _ in 0..how.runs {
        let mut ptxc = Command::new(&how.ptxc);
        ptxc.arg("lower").arg(path).args(["-o", "-"]).arg(format!("-O{}", settings.opt));
        ptxc.args(["--heuristic", &settings.heuristic, "--max-regs", &settings.max_regs.to_string()]);
        if let Some(arch) = settings.arch {
            ptxc.args(["--arch", &arch.to_string()]);
        }
        let (output, time) = cpu_time::run(&mut ptxc)?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("{} lower {}: {messages}", how.ptxc.display(), path.display()));
        }
        least = [least, time].into_iter().flatten().min();
    }
    Ok(least)
}

fn print_times(times: &[(String, Option<Duration>, Option<Duration>)]) {
    println!("\nCPU time of the whole process, for files that lower whole:");
    let mut table = Table::new(&[("file", Left), ("ptxc ms", Right), ("ptxas ms", Right), ("ratio", Right)]);
    let mut ratios = Vec::new();
    for (file, ours, theirs) in times {
        let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
        let (ours, theirs) = (ours.as_secs_f64() * 1e3, theirs.as_secs_f64() * 1e3);
        let ratio = ours.max(0.1) / theirs.max(0.1);
        ratios.push((ratio, file.as_str()));
        table.row([file.clone(), format!("{ours:.1}"), format!("{theirs:.1}"), format!("{ratio:.2}")]);
    }
    print!("{table}");
    if !ratios.is_empty() {
        println!("{} files; CPU time: {}", ratios.len(), Summary::of(ratios));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with these numbers of own instructions, called instructions, registers, and spills.
    fn pair(ours: [usize; 4], theirs: [usize; 4]) -> Pair {
        let code =
            |[instructions, called, ..]: [usize; 4]| Listing { instructions, called, ..Listing::default() };
        Pair {
            file: "k.ptx".into(),
            entry: "k".into(),
            ours: Measures {
                code: code(ours),
                registers: ours[2] as u32,
                spills: ours[3] as u32,
                static_cycles: 0,
            },
            theirs: Theirs {
                code: code(theirs),
                registers: theirs[2] as u32,
                spilled_words: theirs[3] as u32,
            },
        }
    }

    #[test]
    fn called_routines_are_in_a_mean_of_their_own() {
        let pairs = [pair([20, 80, 14, 0], [10, 0, 16, 0]), pair([10, 10, 14, 0], [20, 20, 16, 0])];
        let means = Means::of(pairs.iter());
        assert!((means.instructions.mean - 1.0).abs() < 1e-9);
        assert!((means.with_called.mean - 5f64.sqrt()).abs() < 1e-9);
        assert!(means.are_within(1.5));
        assert!(!Means::of(pairs[..1].iter()).are_within(1.5), "twice the instructions");
        assert!(
            !Means::of([pair([10, 0, 30, 0], [10, 0, 16, 0])].iter()).are_within(1.5),
            "twice the registers"
        );
    }

    #[test]
    fn spills_count_only_where_ptxas_has_none() {
        assert!(pair([9, 0, 255, 3], [9, 0, 200, 0]).spills_alone());
        assert!(!pair([9, 0, 255, 3], [9, 0, 255, 1]).spills_alone());
        assert!(!pair([9, 0, 255, 0], [9, 0, 255, 0]).spills_alone());
    }
}
