//! Any bytes may be input: every command answers with an exit code and clear errors.
//!
//! PTX of the tests and of the corpus, SASS made from it, IR text and execution cases are damaged
//! at random: bytes, words and lines are deleted, duplicated, swapped, and replaced by huge numbers
//! and deep nesting. The commands must not panic, must return 0, 1 or 2, must print a message
//! whenever they fail, and must never report an internal error.
//!
//! `PTXC_FUZZ_CASES` sets the number of inputs, and `PTXC_FUZZ_SEED` the number of the first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ptxc_fuzz::random::Random;

/// Inputs are cut to this number of bytes, so that an unoptimized build can try enough of them.
const LONGEST: usize = 12_000;

/// Words that are difficult for parsers.
const TROUBLE: &[&str] = &[
    "0xffffffffffffffff",
    "18446744073709551616",
    "-9223372036854775808",
    "4294967295",
    "-1",
    "0f7fc00000",
    "0",
    "%r1",
    "%p1",
    "%rd4",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "@",
    "!",
    "|",
    "_",
    ".",
    "\"",
    "/*",
    "//",
    ".reg .b32 %r<4294967295>;",
    ".shared .b8 big[4294967295];",
    ".align 3",
    "bra",
    "ret;",
    ".v4",
    ".f64",
    ".b128",
    "$L__BB0_1",
    "block0",
    "v0",
    "const.b64",
    "RZ",
    "R254",
    "UP6",
    ".L_x_0",
    "[B------:R-:W-:-:S01]",
    "?WAIT15_END_GROUP",
    "/*0010*/",
    "/* 0x000fe20000000800 */",
    ".text.k:",
    ".zero 4294967295",
    "*/",
    "jump block0",
    "\u{0}",
    "\u{7f}",
    "é",
    "\r",
    "\t",
    "((((((((",
    "- - -",
];

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The files with an extension below a folder, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn texts(folder: &str, extension: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    files(&folder, extension).iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// The start and end of each word of a text; delimiters are words too.
fn words(bytes: &[u8]) -> Vec<(usize, usize)> {
    let is_word =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'%' | b'$') || byte >= 0x80;
    let mut words = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        at = at.max(start + 1);
        if !bytes[start].is_ascii_whitespace() {
            words.push((start, at));
        }
    }
    words
}

fn lines(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        lines.push((start, at + 1));
        start = at + 1;
    }
    lines
}

/// Damages a text once.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        bytes.extend(random.pick(TROUBLE).bytes());
        return;
    }
    let parts = if random.chance(60) { words(bytes) } else { lines(bytes) };
    let parts = if parts.is_empty() { vec![(0, bytes.len())] } else { parts };
    let (start, end) = random.pick(&parts);
    match random.below(14) {
        0 => drop(bytes.drain(start..end)),
        1 => {
            let part = bytes[start..end].to_vec();
            bytes.splice(end..end, part);
        }
        2..=7 => {
            // Another part of the text replaces it: misplaced text gets further into the compiler
            // than garbage.
            let (from, to) = random.pick(&parts);
            let part = bytes[from..to].to_vec();
            bytes.splice(start..end, part);
        }
        8 => drop(bytes.splice(start..end, random.pick(TROUBLE).bytes())),
        9 => drop(bytes.splice(start..start, random.pick(TROUBLE).bytes())),
        10 => bytes[random.below(end - start) + start] ^= 1 << random.below(8),
        11 if random.chance(20) => bytes.truncate(start),
        11 if random.chance(20) => {
            let deep = random.pick(&["(", "{", "[", "-", "!", "@", "/*"]).repeat(2000);
            bytes.splice(start..start, deep.bytes());
        }
        _ => {
            let number = format!("{}", random.word(64));
            bytes.splice(start..end, number.bytes());
        }
    }
}

fn damaged(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    if bytes.len() > LONGEST {
        // The header stays, so that the rest is compiled.
        let start = random.below(bytes.len() - LONGEST);
        bytes.drain(LONGEST / 2..LONGEST / 2 + start);
        bytes.truncate(LONGEST);
    }
    for _ in 0..1 + random.below(2) * random.below(4) {
        damage(random, &mut bytes);
    }
    bytes
}

/// Runs a command, and returns the error in its answer, if there is one.
fn complaint(args: &[&str], input: &[u8]) -> Option<String> {
    let args: Vec<String> = std::iter::once("ptxc").chain(args.iter().copied()).map(String::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let result = catch_unwind(AssertUnwindSafe(|| ptxc::run(&args, &mut { input }, &mut out, &mut err)));
    let code = match result {
        Ok(code) => code,
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            return Some(format!("panic: {}", message.unwrap_or_default()));
        }
    };
    let err = String::from_utf8_lossy(&err);
    if !(0..=2).contains(&code) {
        return Some(format!("exit code {code}"));
    }
    // Lines with a bar quote the input, which may contain the codes that are checked here.
    let mut own = err.lines().filter(|line| !line.contains('│'));
    if let Some(line) = own.find(|line| line.contains("E099") || line.contains("this is an error in ptxc")) {
        return Some(line.to_string());
    }
    (code != 0 && err.trim().is_empty()).then(|| format!("exit code {code} without a word"))
}

/// Removes lines and words as long as the complaint stays the same.
fn reduce(args: &[&str], mut input: Vec<u8>, what: &str) -> Vec<u8> {
    let kind = |what: &str| what.chars().take(40).collect::<String>();
    for parts in [lines, words] {
        let mut index = parts(&input).len();
        while index > 0 {
            index -= 1;
            let Some(&(start, end)) = parts(&input).get(index) else { continue };
            let mut smaller = input.clone();
            smaller.drain(start..end);
            if complaint(args, &smaller).is_some_and(|still| kind(&still) == kind(what)) {
                input = smaller;
            }
        }
    }
    input
}

/// Tries damaged inputs, each with a command made for it.
fn try_all(seeds: &[Vec<u8>], default: u64, command: impl Fn(&mut Random) -> Vec<String> + Sync) {
    assert!(!seeds.is_empty(), "there is something to damage");
    let (cases, first) = (number("PTXC_FUZZ_CASES", default), number("PTXC_FUZZ_SEED", 0));
    let next = AtomicU64::new(first);
    let failures = Mutex::new(0);
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= first + cases {
            return;
        }
        let mut random = Random::new(seed);
        let input = damaged(&mut random, seeds);
        let args = command(&mut random);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        if let Some(what) = complaint(&args, &input) {
            let input = reduce(&args, input, &what);
            eprintln!("seed {seed}: {args:?}: {what}\n{}\n", String::from_utf8_lossy(&input));
            *failures.lock().expect("no thread panics") += 1;
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    assert_eq!(failures.into_inner().expect("no thread panics"), 0, "of {cases} inputs");
}

#[test]
fn damaged_ptx() {
    let mut seeds = texts("../lit", "ptx");
    seeds.extend(texts("../../../shared/corpus/ptx/t1", "ptx"));
    try_all(&seeds, 400, |random| {
        let command: &[&str] = match random.below(6) {
            0 => &["check", "-"],
            1 => &["lower", "-", "-o", "-", "--emit=ast,ir,mir,sass"],
            2 => &["lower", "-", "-o", "-", "--max-regs=16", "--explain"],
            3 => &["lower", "-", "-o", "-", "-O0", "--message-format=json"],
            _ => &["lower", "-", "-o", "-"],
        };
        command.iter().map(ToString::to_string).collect()
    });
}

/// SASS text of the tests' kernels, in the notations that `lower` writes.
fn sass() -> Vec<Vec<u8>> {
    let kernels = texts("../lit/kernels", "ptx").into_iter().chain(texts("../lit/select", "ptx"));
    let kernels = kernels.chain(texts("../lit/memory", "ptx"));
    let mut seeds = texts("../lit", "sass");
    for (number, kernel) in kernels.enumerate() {
        let control = format!("--control={}", ["cuasm", "nv", "hex"][number % 3]);
        let args = ["ptxc", "lower", "-", "-o", "-", &control].map(String::from);
        let mut out = Vec::new();
        if ptxc::run(&args, &mut &kernel[..], &mut out, &mut Vec::new()) == 0 {
            seeds.push(out);
        }
    }
    seeds
}

#[test]
fn damaged_sass() {
    try_all(&sass(), 800, |random| {
        let command: &[&str] = match random.below(4) {
            0 => &["verify", "-", "--arch=sm_90", "--message-format=json"],
            1 => &["verify", "-", "--arch=sm_80"],
            _ => &["verify", "-"],
        };
        command.iter().map(ToString::to_string).collect()
    });
}

#[test]
fn damaged_ir() {
    const PASSES: &[&str] = &[
        "verify",
        "fuse-multiply-add",
        "simplify",
        "legalize",
        "simplify-legal",
        "converge",
        "gather",
        "select",
        "schedule-pre-ra",
        "allocate",
        "layout",
        "schedule-post-ra",
        "control",
        "gvn",
        "licm",
        "dce",
        "fold",
        "if-convert",
        "branches",
        "params",
        "wide-integers",
        "narrow-integers",
        "address-offsets",
    ];
    try_all(&texts("../lit", "ir"), 400, |random| {
        let passes = match random.below(3) {
            0 => PASSES[2..12].join(","),
            1 => "legalize,converge,select,allocate,layout,control".to_string(),
            _ => (0..1 + random.below(6)).map(|_| random.pick(PASSES)).collect::<Vec<_>>().join(","),
        };
        vec!["opt".into(), "-".into(), format!("--passes={passes}")]
    });
}
