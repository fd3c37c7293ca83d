//! Every form of every instruction: what the check accepts must become code, and the code must
//! compute what it should, as ptxas's code does.
//!
//! | module | what it tries |
//! |---|---|
//! | [`combinations`] | every combination of the modifiers of every row of the instruction table: does it lower? |
//! | [`execute`] | scalar, warp and video instructions in kernels, in three executions and against references |
//! | [`cores`] | the same kernels as ptxas compiles them: results, and the instructions that do the work |
//! | [`images`] | textures and surfaces |
//! | [`report`] | the page of the book with the counts |
//!
//! `cargo xtask forms` runs all of them; the tests run samples. [`kernel`] makes a kernel of a form,
//! [`reference`](mod@reference) and [`video`] compute the expected results.

pub mod combinations;
pub mod cores;
pub mod execute;
pub mod image_functions;
pub mod images;
pub mod kernel;
mod reference;
pub mod report;
pub mod video;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptxc_families::sample;
use ptxc_fuzz::random::Random;
use ptxc_sim::Case;

use kernel::{Bound, GUARD, IN_BYTES, Instance, Kernel, OUT_BYTES, THREADS};

/// The content of the operands: values of all widths that are difficult for arithmetic.
pub fn operands(random: &mut Random) -> Vec<u8> {
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

pub(crate) fn case(input: &[u8]) -> Case {
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
pub(crate) fn bits_at(bytes: &[u8], at: usize, bits: u32) -> u64 {
    let bytes = &bytes[at..at + 8];
    let value = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    value & (u64::MAX >> (64 - bits))
}

/// The first difference between the results and those that a function gives for the sources and the
/// carry; `None` also if the function gives none.
pub(crate) fn compare(
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

/// The differences between two executions, in the instances that are compared. All NaNs of a float
/// are equal.
pub(crate) fn difference(
    kernel: &Kernel,
    input: &[u8],
    (expected, got): (&[u8], &[u8]),
    is_compared: impl Fn(&Instance) -> bool,
) -> Option<String> {
    let instances = kernel.instances.iter().filter(|&instance| is_compared(instance));
    let results: Vec<_> = instances.flat_map(|instance| &instance.results).collect();
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
pub(crate) fn canonical(ty: &str, bits: u64) -> u64 {
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

/// Whether a text matches a pattern with `*`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
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

/// The kernels in one module for that target; kernel `n` is called `forms` with its number.
pub(crate) fn joined<'a>(kernels: impl IntoIterator<Item = (usize, &'a Kernel)>, target: &str) -> String {
    let mut text = format!(".version {}\n.target {target}\n.address_size 64\n", sample::VERSION);
    for (index, kernel) in kernels {
        let body = kernel.text.find(".visible").expect("an entry");
        text.push_str(&kernel.text[body..].replacen("forms(", &format!("forms{index}("), 1));
    }
    text
}

/// The cubin that ptxas makes of a text, or its messages.
///
/// # Panics
/// ptxas or the temporary folder cannot be used.
pub(crate) fn assembled(ptxas: &Path, arch: &str, options: &[&str], text: &str) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, cubin) = (folder.path().join("forms.ptx"), folder.path().join("forms.cubin"));
    std::fs::write(&file, text).expect("the folder can be written");
    let mut command = Command::new(ptxas);
    let output = command.arg(format!("-arch={arch}")).args(options).arg("-o").args([&cubin, &file]).output();
    let output = output.expect("ptxas runs");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(std::fs::read(&cubin).expect("ptxas wrote it"))
}

/// Calls a function for each number below `count`, on all processors, and returns the results in
/// order.
pub(crate) fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
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
