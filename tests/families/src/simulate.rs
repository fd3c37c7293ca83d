//! Runs forms on both engines of the simulator. The SASS must leave the same memory as the SSA form
//! as built, with its control codes, whatever the order in which warps take turns.
//!
//! PTX does not define the result of many forms for some operands: which thread is last at an
//! address that all write, or the value from a lane that does not exist. [`launch`] chooses
//! operands and a number of threads for which the result is defined, or reports that there are
//! none. All numbers are finite as halves, singles and doubles: the bit below the sign is zero in
//! every half word.

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::{built, ssa};
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_machine::Arch;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sim::case::{Argument, Buffer, Elem, Tolerance};
use ptxc_sim::{Case, Report, SimError, run_sass, run_ssa};

use crate::form::{Family, Form, Setting};
use crate::kernel::{ELEMENT_BYTES, THREAD_BYTES, runnable};

/// Bytes after the elements, for addresses with offsets.
const PADDING: usize = 8192;
/// The most warp instructions of a run.
const STEP_LIMIT: u64 = 400_000;

/// The verdict on a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything agrees.
    Agrees,
    /// It has no code, or PTX does not define its result.
    LeftOut(&'static str),
    /// Something is wrong.
    Wrong(String),
}

/// The launch of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Launch {
    /// Threads of the only CTA.
    threads: u32,
    /// Threads with smaller numbers take the condition.
    below: u32,
    /// The mask that is loaded or a parameter.
    mask: u32,
    /// Whether the results depend on the order of threads, so that only memory is compared.
    only_memory: bool,
}

/// The launch of a form, or the reason why there is none.
fn launch(form: &Form) -> Result<Launch, &'static str> {
    let usual = Launch { threads: 64, below: 32, mask: u32::MAX, only_memory: false };
    match form.family {
        Family::Barrier => barrier(form, usual),
        Family::Warp => warp(form, usual),
        Family::Atomic | Family::Vector => atomic(form, usual),
        Family::Fence if form.text.contains('[') => Err("it needs a descriptor in memory"),
        Family::Fence => Ok(usual),
        Family::Mbarrier => Err("it needs a barrier that was initialised, and a phase of it"),
    }
}

fn operands(form: &Form) -> Vec<&str> {
    form.text.split_once(' ').map_or(Vec::new(), |(_, operands)| operands.split(", ").collect())
}

fn barrier(form: &Form, usual: Launch) -> Result<Launch, &'static str> {
    if form.opcode().starts_with("bar.warp") {
        return match operands(form)[..] {
            ["0xffffffff" | "m" | "um" | "km"] => Ok(usual),
            _ => Err("not all threads are in the mask"),
        };
    }
    let mut left = operands(form);
    left.retain(|operand| !operand.starts_with(['r', 'd', 'p', '!', 'k']) || operand.starts_with("kb"));
    left.retain(|operand| *operand != "up");
    match left[..] {
        [id] | [id, "64" | "bc" | "ubc" | "kbc"] if ["0", "1", "15", "bn", "ubn", "kbn"].contains(&id) => {}
        _ => return Err("the count of threads is not that of the launch"),
    }
    // All threads, in one arm or in either; both arms of a warp only if that is allowed.
    match form.setting {
        Setting::Divergent => Ok(Launch { below: usual.threads, ..usual }),
        _ => Ok(usual),
    }
}

fn warp(form: &Form, usual: Launch) -> Result<Launch, &'static str> {
    let operands = operands(form);
    let mask = operands.last().copied().unwrap_or_default();
    let is_masked = form.opcode().contains(".sync");
    let is_half = mask == "0xffff";
    if is_masked && is_half && form.opcode().starts_with("shfl") {
        return Err("lanes are read that are not there");
    }
    if is_masked && mask == "0" {
        return Err("no thread is in the mask");
    }
    let usual = if is_half { Launch { threads: 16, below: 16, mask: 0xffff, ..usual } } else { usual };
    Ok(match form.setting {
        // Threads of one warp in both arms meet by their mask.
        Setting::BothArms if is_masked => Launch { below: usual.threads.min(32) / 2, ..usual },
        _ => usual,
    })
}

fn atomic(form: &Form, usual: Launch) -> Result<Launch, &'static str> {
    let parts: Vec<&str> = form.opcode().split('.').collect();
    let is = |names: &[&str]| names.iter().any(|name| parts.contains(name));
    let place =
        form.text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(place, _)| place);
    let is_one = ["gu", "nu", "su", "tile", "cell"].iter().any(|one| place.starts_with(one));
    if is_one && is(&["exch", "cas", "inc", "dec", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64"]) {
        return Err("the result depends on the order of threads");
    }
    if place.contains("-16") || (place.contains("+4096") && place.starts_with('s')) {
        return Err("the address lies outside");
    }
    Ok(Launch { only_memory: is_one, ..usual })
}

/// A pseudo-random number, with the bit below the sign zero in each half word: the finalizer of
/// SplitMix64 (Steele, Lea, Flood 2014).
fn word(number: u64) -> u32 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 32) as u32 & 0xbfff_bfff
}

/// Writes a word at an offset.
fn put(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

fn case(form: &Form, launch: Launch) -> Case {
    let threads = launch.threads as usize;
    let (own, element) = (THREAD_BYTES as usize, ELEMENT_BYTES as usize);
    let mut input: Vec<u8> = (0..threads * own / 4).flat_map(|n| word(n as u64 + 1).to_le_bytes()).collect();
    let elements = threads * element + PADDING;
    let mut memory: Vec<u8> = (0..elements / 4).flat_map(|n| word(n as u64 + 99_991).to_le_bytes()).collect();
    for thread in 0..threads {
        let start = thread * own;
        for (at, value) in [(32, 5), (36, launch.threads), (40, launch.mask), (44, word(thread as u64) & 1)] {
            put(&mut input, start + at, value);
        }
        // For every other thread, memory holds the value that it compares with.
        let source = ["q0", "x0", "h0"].iter().position(|name| form.text.contains(name));
        let source = start + source.map_or(0, |index| [80, 64, 112][index]);
        if thread % 2 == 0 {
            let found: Vec<u8> = input[source..source + 16].to_vec();
            memory[thread * element..thread * element + 16].copy_from_slice(&found);
        }
    }
    let buffer = |name: &str, init: Vec<u8>| {
        let name = name.to_string();
        Argument::Buffer(Buffer { name, elem: Elem::U8, init, expect: None, tolerance: Tolerance::Exact })
    };
    let scalar = |elem, bits| Argument::Scalar { elem, bits };
    Case {
        images: Vec::new(),
        ptx: "form.ptx".into(),
        entry: "k".into(),
        grid: [1, 1, 1],
        block: [launch.threads, 1, 1],
        dynamic_smem: 0,
        ending: Default::default(),
        cluster: None,
        cooperative: false,
        args: vec![
            buffer("in", input),
            buffer("mem", memory),
            buffer("out", vec![0; threads * own]),
            scalar(Elem::U32, u64::from(launch.below)),
            scalar(Elem::U32, 5),
            scalar(Elem::U32, u64::from(launch.threads)),
            scalar(Elem::U32, u64::from(launch.mask)),
            scalar(Elem::U32, 9),
            scalar(Elem::U64, 0x0123_4567_89ab_cdef),
            scalar(Elem::U64, 0x14f0_0000_0000_0000),
        ],
    }
}

/// The first difference of the second run; `only_memory` ignores the results of the threads.
fn difference(expected: &Report, got: &Report, only_memory: bool) -> Option<String> {
    let outcomes = expected.outcomes.iter().zip(&got.outcomes);
    for (expected, got) in outcomes.filter(|(expected, _)| !(only_memory && expected.name == "out")) {
        let place = expected.content.iter().zip(&got.content).position(|(a, b)| a != b);
        if let Some(at) = place {
            let bytes = |content: &[u8]| format!("{:02x?}", &content[at & !3..(at & !3) + 4]);
            let (got, wanted) = (bytes(&got.content), bytes(&expected.content));
            return Some(format!("{}+{}: {got} instead of {wanted}", expected.name, at & !3));
        }
    }
    None
}

/// Compiles a form and runs it on both engines, once for each seed.
pub fn simulate(form: &Form, arch: Arch, seeds: &[u64]) -> Verdict {
    let launch = match launch(form) {
        Ok(launch) => launch,
        Err(why) => return Verdict::LeftOut(why),
    };
    let db = Database::default();
    let file = SourceFile::new(&db, "form.ptx".into(), runnable(form, arch));
    let options = Options::defaults(&db);
    if diagnostics(&db, file, options).iter().any(|found| found.severity == Severity::Error) {
        return Verdict::LeftOut("it has no code");
    }
    let kernels = kernels(&db, file, options);
    let [(func, Some(code))] = kernels[..] else { return Verdict::Wrong("neither code nor errors".into()) };
    let (Some(built), Some(simplified)) = (&built(&db, func).value, &ssa(&db, func, options).value) else {
        return Verdict::Wrong("code without SSA".into());
    };
    if let Err(hazards) = ptxc_sass::verify::check(&code.program) {
        return Verdict::Wrong(format!("hazards: {hazards:?}"));
    }
    let case = case(form, launch);
    for &seed in seeds {
        let simulator =
            ptxc_sim::Options { seed, step_limit: STEP_LIMIT, hazards: true, ..Default::default() };
        let failed = |who: &str, error: SimError| Verdict::Wrong(format!("seed {seed}, {who}: {error}"));
        let reference = match run_ssa(&case, built, &[], &simulator) {
            Ok(report) => report,
            Err(error) => return failed("SSA as built", error),
        };
        let others = [
            ("simplified SSA", run_ssa(&case, simplified, &[], &simulator)),
            ("SASS", run_sass(&case, &code.program, &simulator)),
        ];
        for (who, result) in others {
            let report = match result {
                Ok(report) => report,
                Err(error) => return failed(who, error),
            };
            if let Some(hazard) = report.hazards.first() {
                return Verdict::Wrong(format!("seed {seed}, {who}: {hazard}"));
            }
            if let Some(what) = difference(&reference, &report, launch.only_memory) {
                return Verdict::Wrong(format!("seed {seed}, {who}: {what}"));
            }
        }
    }
    Verdict::Agrees
}
