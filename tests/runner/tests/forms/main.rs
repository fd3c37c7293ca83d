//! Every form of every scalar and warp instruction, in a kernel of its own: it must lower and
//! compute the right results.
//!
//! The checker's instruction table defines the forms. Each becomes a small kernel that is compiled
//! and run three times on edge cases and random numbers: the SSA form as built, the simplified SSA
//! form, and the SASS. All must leave the same bytes, and those that `ptxc-semantics` computes if
//! it defines the instruction as a whole.
//!
//! A form that ends in `E0900` must match a line of `unlowered.txt`, and a form that lowers must
//! not match any: the list is exact. If `ORACLE` names the folder of ptxas, it must accept every
//! kernel, and its code for video instructions must compute the same. `PTXC_FORMS=shf` tries only
//! opcodes that contain the word, and prints the SASS of forms that disagree.

mod images;
mod kernel;
mod reference;
mod video;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::{built, ssa};
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_families::sample::{self, Sample};
use ptxc_fuzz::random::Random;
use ptxc_sim::{Case, run_sass, run_ssa};

use kernel::{Bound, GUARD, IN_BYTES, Kernel, OUT_BYTES, THREADS};

/// Opcodes that may end in `E0900`: `*` stands for any text.
const UNLOWERED: &str = include_str!("unlowered.txt");

/// The verdict on a form.
enum Verdict {
    /// Everything agrees.
    Agrees,
    /// It ends in `E0900`.
    Unlowered(String),
    /// Something is wrong.
    Wrong(String),
}

/// The content of the operands: values of all widths that are difficult for arithmetic.
fn operands(random: &mut Random) -> Vec<u8> {
    let singles: [u32; 22] = [
        0,
        0x8000_0000,
        1,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x3f00_0000,
        0x3f7f_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x4020_0000,
        0xbfc0_0000,
        0x4b00_0001,
        0x4eff_ffff,
        0x4f00_0000,
        0xcf00_0000,
        0x4f80_0000,
        0x5f00_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_1234,
    ];
    let halves: [u16; 14] = [
        0, 0x8000, 1, 0x03ff, 0x0400, 0x3800, 0x3c00, 0xbc00, 0x3f80, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x7fc0,
    ];
    let mut bytes = Vec::new();
    for _ in 0..THREADS * IN_BYTES / 8 {
        let bits = match random.below(6) {
            0 => u64::from(random.pick(&singles)),
            1 => u64::from(random.pick(&halves)) | u64::from(random.pick(&halves)) << 16,
            2 => random.word(16),
            3 => random.word(32),
            4 if random.chance(50) => random.bits() % 70,
            _ => random.word(64),
        };
        bytes.extend(bits.to_le_bytes());
    }
    bytes
}

fn case(input: &[u8]) -> Case {
    let hex = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    let buffer = |name: &str, content: String| {
        format!(
            r#"{{"kind": "buffer", "name": "{name}", "elem": "u8", "init": {content}, "expect": null, "tolerance": "exact"}}"#
        )
    };
    let input = buffer("in", format!(r#"{{"hex": "{}"}}"#, hex(input)));
    let output = buffer("out", format!(r#"{{"zeros": {}}}"#, THREADS * OUT_BYTES));
    let text = format!(
        r#"{{"ptx": "forms.ptx", "entry": "forms", "grid": [1, 1, 1], "block": [{THREADS}, 1, 1], "args": [{input}, {output}]}}"#
    );
    Case::parse(&text, Path::new("")).expect("the case is well-formed")
}

/// The little-endian bits at an offset.
fn bits_at(bytes: &[u8], at: usize, bits: u32) -> u64 {
    let bytes = &bytes[at..at + 8];
    let value = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    value & (u64::MAX >> (64 - bits))
}

/// The differences between the results and those of `ptxc-semantics`.
fn unexpected(sample: &Sample, kernel: &Kernel, input: &[u8], output: &[u8]) -> Option<String> {
    let parts = sample.parts();
    compare(kernel, input, output, |sources, carry| match video::expected(sample, sources) {
        Some(result) => Some(vec![result.into()]),
        None => reference::expected(&parts, sources, carry),
    })
}

/// The first difference between the results and those that a function gives for the sources and the
/// carry; `None` also if the function gives none.
fn compare(
    kernel: &Kernel,
    input: &[u8],
    output: &[u8],
    expected: impl Fn(&[u64], bool) -> Option<Vec<u64>>,
) -> Option<String> {
    for instance in &kernel.instances {
        for thread in 0..THREADS as usize {
            let memory = |place: usize| bits_at(input, thread * IN_BYTES as usize + 8 * place, 64);
            if instance.guarded && memory(GUARD) & 1 == 0 {
                continue;
            }
            let source = |&(ty, bound): &(ptxc_ptx::check::types::Scalar, Bound)| {
                let bits = match bound {
                    Bound::Memory(place) => memory(place),
                    Bound::Constant(bits) => bits,
                };
                bits & (u64::MAX >> (64 - ty.bits().max(1)))
            };
            let sources: Vec<u64> = instance.sources.iter().map(source).collect();
            let expected = expected(&sources, memory(5) & 1 == 1)?;
            for (&(ty, place), expected) in instance.results.iter().zip(expected) {
                let got = bits_at(output, thread * OUT_BYTES as usize + 8 * place, ty.bits().max(1));
                let expected = expected & (u64::MAX >> (64 - ty.bits().max(1)));
                if got != expected {
                    return Some(format!("{sources:x?} give {got:#x} instead of {expected:#x}"));
                }
            }
        }
    }
    None
}

/// The differences between two executions. All NaNs of a float are equal.
fn difference(kernel: &Kernel, input: &[u8], expected: &[u8], got: &[u8]) -> Option<String> {
    let results: Vec<_> = kernel.instances.iter().flat_map(|instance| &instance.results).collect();
    for thread in 0..THREADS as usize {
        for &&(ty, place) in &results {
            let value = |bytes| {
                let bits = bits_at(bytes, thread * OUT_BYTES as usize + 8 * place, ty.bits().max(16));
                canonical(ty.name(), bits)
            };
            let (expected, got) = (value(expected), value(got));
            if expected != got {
                let source = |n: usize| bits_at(input, thread * IN_BYTES as usize + 8 * n, 64);
                let sources: Vec<u64> = (0..8).map(source).collect();
                return Some(format!("result {place} of {sources:x?} is {got:#x} instead of {expected:#x}"));
            }
        }
    }
    None
}

/// The same value for all NaNs.
fn canonical(ty: &str, bits: u64) -> u64 {
    let format = match ty {
        "f32" => ptxc_semantics::F32,
        "f16" => ptxc_semantics::F16,
        "bf16" => ptxc_semantics::BF16,
        "tf32" => ptxc_semantics::F32,
        "f16x2" | "bf16x2" => {
            let half = |shift: u32| canonical(&ty[..ty.len() - 2], bits >> shift & 0xffff);
            return half(0) | half(16) << 16;
        }
        _ => return bits,
    };
    if format.is_nan(bits) { format.nan() } else { bits }
}

fn verdict(sample: &Sample, kernel: &Kernel, input: &[u8]) -> Verdict {
    let db = Database::default();
    let file = SourceFile::new(&db, "forms.ptx".into(), kernel.text.clone());
    let options = Options::defaults(&db);
    let found = diagnostics(&db, file, options);
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
    let all = || -> Result<(), String> {
        let reference = run("SSA", run_ssa(&case, as_built, &[], &simulator))?;
        if let Some(what) = unexpected(sample, kernel, input, &reference) {
            return Err(format!("SSA: {what}"));
        }
        for (who, result) in [
            ("simplified SSA", run_ssa(&case, simplified, &[], &simulator)),
            ("SASS", run_sass(&case, &code.program, &simulator)),
        ] {
            let content = run(who, result)?;
            if let Some(what) = difference(kernel, input, &reference, &content) {
                return Err(format!("{who}: {what}"));
            }
        }
        Ok(())
    };
    match all() {
        Ok(()) => Verdict::Agrees,
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

/// Whether a text matches a pattern with `*`.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            match rest.split_once(before) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
    }
    match last {
        None => rest.is_empty(),
        Some(end) => rest.ends_with(end),
    }
}

/// `ptxas`, if it is available.
fn ptxas() -> Option<PathBuf> {
    let program = PathBuf::from(std::env::var_os("ORACLE")?).join("ptxas");
    program.is_file().then_some(program)
}

/// The kernels in one module for that target; kernel `n` is called `forms` with its number.
fn joined<'a>(kernels: impl IntoIterator<Item = (usize, &'a Kernel)>, target: &str) -> String {
    let mut text = format!(".version {}\n.target {target}\n.address_size 64\n", sample::VERSION);
    for (index, kernel) in kernels {
        let body = kernel.text.find(".visible").expect("an entry");
        text.push_str(&kernel.text[body..].replacen("forms(", &format!("forms{index}("), 1));
    }
    text
}

/// The cubin that ptxas makes of a text, or its messages. Files with the stem hold both.
fn assembled(ptxas: &Path, arch: &str, stem: &str, text: &str) -> Result<Vec<u8>, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (file, cubin) = (folder.join(format!("{stem}.ptx")), folder.join(format!("{stem}.cubin")));
    std::fs::write(&file, text).expect("the folder for tests can be written");
    let output = Command::new(ptxas)
        .arg(format!("-arch={arch}"))
        .arg("-o")
        .args([&cubin, &file])
        .output()
        .expect("ptxas runs");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(std::fs::read(&cubin).expect("ptxas wrote it"))
}

/// ptxas's messages about kernels, joined into one file; `None` if it accepts them all.
fn refused(ptxas: &Path, kernels: &[Kernel]) -> Option<String> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forms.ptx");
    std::fs::write(&file, joined(kernels.iter().enumerate(), sample::TARGET))
        .expect("the folder for tests can be written");
    let output = Command::new(ptxas)
        .args(["-arch=sm_90", "-O0", "-o", "/dev/null"])
        .arg(&file)
        .output()
        .expect("ptxas runs");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The architectures before that of [`sample::TARGET`].
const OLDER: [&str; 4] = ["sm_75", "sm_80", "sm_86", "sm_89"];

/// Packed integers and conversions to and from formats of few bits have other code on older
/// architectures, or do not exist there.
#[test]
fn forms_of_few_bits_compute_what_they_should_on_older_architectures() {
    let mut samples = sample::all();
    samples.retain(|sample| {
        let of_few_bits = |part: &&str| matches!(*part, "tf32" | "e4m3x2" | "e5m2x2" | "pack");
        sample.mnemonic() == "cvt" && sample.parts().iter().any(of_few_bits)
    });
    let mut random = Random::new(2);
    let input = operands(&mut random);
    let (mut wrong, mut counts) = (Vec::new(), Vec::new());
    for arch in OLDER {
        let mut count = 0;
        for sample in &samples {
            let mut kernel = kernel::kernel(sample, &mut random);
            kernel.text = kernel.text.replacen(sample::TARGET, arch, 1);
            match verdict(sample, &kernel, &input) {
                Verdict::Agrees => count += 1,
                // The target lacks the instruction.
                Verdict::Wrong(what) if what.starts_with("E0111") => {}
                Verdict::Wrong(what) | Verdict::Unlowered(what) => {
                    wrong.push(format!("{arch}: {}: {what}", sample.opcode));
                }
            }
        }
        counts.push(count);
    }
    assert!(wrong.is_empty(), "{} problems\n{}", wrong.len(), wrong.join("\n"));
    // `cvt.pack` exists everywhere, TF32 from sm_80 on, and bytes from sm_89 on.
    assert_eq!(counts, [8, 10, 10, 22], "forms on {OLDER:?}");
}

/// Calls a function for each number below `count`, on all processors, and returns the results in
/// order.
fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let worker = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= count {
            return;
        }
        let result = work(index);
        results.lock().expect("no thread panics").push((index, result));
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(worker))));
    let mut results = results.into_inner().expect("no thread panics");
    results.sort_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[test]
fn every_form_lowers_and_computes_what_it_should_or_is_listed() {
    let only = std::env::var("PTXC_FORMS").ok();
    let mut random = Random::new(1);
    let mut samples = sample::all();
    samples.extend(video::samples(&mut random));
    samples.retain(|sample| only.as_ref().is_none_or(|only| sample.opcode.contains(only)));
    let input = operands(&mut random);
    let kernels: Vec<Kernel> = samples.iter().map(|sample| kernel::kernel(sample, &mut random)).collect();
    if let Some(ptxas) = ptxas()
        && let Some(what) = refused(&ptxas, &kernels)
    {
        panic!("ptxas refuses some of the kernels:\n{what}");
    }
    let verdicts = in_parallel(samples.len(), |index| verdict(&samples[index], &kernels[index], &input));
    let patterns: Vec<&str> =
        UNLOWERED.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut used = vec![false; patterns.len()];
    let (mut wrong, mut unlowered) = (Vec::new(), 0);
    for (sample, verdict) in samples.iter().zip(&verdicts) {
        let opcode = &sample.opcode;
        let listed = patterns.iter().position(|pattern| matches(pattern, opcode));
        match (verdict, listed) {
            (Verdict::Agrees, None) => {}
            (Verdict::Unlowered(_), Some(pattern)) => {
                unlowered += 1;
                used[pattern] = true;
            }
            (Verdict::Agrees, Some(pattern)) => {
                wrong.push(format!("{opcode} lowers, but `{}` is listed", patterns[pattern]));
            }
            (Verdict::Unlowered(what), None) => wrong.push(format!("{opcode} is not listed: {what}")),
            (Verdict::Wrong(what), _) => wrong.push(format!("{opcode}: {what}")),
        }
    }
    if only.is_none() {
        let unused = patterns.iter().zip(&used).filter(|(_, used)| !**used);
        wrong.extend(
            unused.map(|(pattern, _)| format!("`{pattern}` is listed, but nothing of that name fails")),
        );
    }
    // Prints to standard error directly, because the test harness hides the output of `println!`.
    let _ = writeln!(std::io::stderr(), "{} forms, {unlowered} of them do not lower", samples.len());
    assert!(wrong.is_empty(), "{} problems\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn images_are_accessed_as_by_ptxas_code() {
    let found = images::check(ptxas().as_deref());
    let _ = writeln!(std::io::stderr(), "textures and surfaces: {found}");
}

/// ptxas's code for video instructions, in the simulator: it shares nothing with ptxc's lowering.
#[test]
fn video_instructions_compute_what_ptxas_code_computes() {
    let Some(ptxas) = ptxas() else {
        // Prints to standard error directly, because the test harness hides the output of `println!`.
        let _ = writeln!(std::io::stderr(), "skipped: no ptxas; ORACLE names its folder");
        return;
    };
    let mut random = Random::new(2);
    let input = operands(&mut random);
    let samples = video::samples(&mut random);
    let kernels: Vec<Kernel> = samples.iter().map(|sample| kernel::kernel(sample, &mut random)).collect();
    let found = video::compare_with_ptxas(&ptxas, &samples, &kernels, &input);
    let _ = writeln!(std::io::stderr(), "{} kernels of ptxas, {}", samples.len(), found);
}
