//! Compares the instruction table with NVIDIA's ptxas: every form, with each of its modifiers, on
//! several targets.
//!
//! The tests make an instruction from every row, and one from every alternative of the row. The
//! checker and ptxas must agree on which of them a module of a given version and target may
//! contain. The tests are skipped, with a line on stderr, if neither `ORACLE` nor the usual folder
//! has ptxas.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use ptxc_ptx::check::check_with;
use ptxc_ptx::check::env::{ModuleEnv, PtxTarget, PtxVersion};
use ptxc_ptx::check::requirements::Strictness;
use ptxc_ptx::check::table::TABLE;
use ptxc_ptx::check::types::Scalar;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sample::{in_turn, stride};
use ptxc_syntax::ast::Function;
use ptxc_tests::edits::{Numbers, combinations, edited};
use ptxc_tests::instructions::{REGISTERS, Sample, register, samples};
use ptxc_tests::oracle::ptxas;
use rayon::prelude::*;

/// A module has one of this many instructions.
const STRIDE: usize = 12;

/// Instructions that ptxas rejects for reasons of its own.
const EXCEPTIONS: &[&str] = &[
    // ptxas expands this to an `add` that takes no variable; with a register as the address it is
    // accepted.
    "st.bulk.shared::cta [tile],",
];

fn module(version: PtxVersion, target: &str, lines: &[&str]) -> (String, usize) {
    let head = format!(
        ".version {version}\n.target {target}\n.address_size 64\n.entry k(.param .align 16 .b8 n[64])\n{{\n{REGISTERS}\n"
    );
    let before = head.matches('\n').count();
    (format!("{head}{}\nEND: ret;\n}}\n", lines.join("\n")), before)
}

/// The target that ptxas compiles for: it has no code generation for the oldest targets.
fn compiled_for(target: &str) -> &str {
    let parsed = PtxTarget::parse(target).expect("a target");
    if parsed.number < 75 { "sm_75" } else { target }
}

/// The lines that ptxas rejects, with its reasons. For the machine `sm_` it compiles, and for
/// `compute_` it only parses.
fn refused(
    ptxas: &Path,
    (version, target, machine): (PtxVersion, &str, &str),
    lines: &[&str],
) -> Vec<Option<String>> {
    let place = lines.as_ptr() as usize;
    let name = format!("check-{machine}{target}-{version}-{}-{place}.ptx", lines.len());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut verdict: Vec<Option<String>> = vec![None; lines.len()];
    loop {
        // Some errors hide others, so rejected lines are removed until no more are rejected.
        let left: Vec<&str> =
            lines.iter().zip(&verdict).map(|(line, bad)| if bad.is_some() { "" } else { *line }).collect();
        let (text, before) = module(version, target, &left);
        std::fs::write(&file, text).expect("the folder for tests can be written");
        let output = Command::new(ptxas)
            .args([
                &format!("-arch={}", compiled_for(target).replace("sm_", machine)),
                "-O0",
                "-o",
                "/dev/null",
            ])
            .arg(&file)
            .output()
            .expect("ptxas runs");
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut found = false;
        let own = file.display().to_string();
        // The error about 32-bit addresses names no line, and the warning before it names the first.
        let narrow = messages.lines().find_map(|line| line.split_once("uses 32-bit address on line '"));
        if let Some((_, rest)) = narrow {
            let number: usize = rest.split('\'').next().and_then(|n| n.parse().ok()).expect("a line number");
            let slot = &mut verdict[number - before - 1];
            found |= slot.is_none();
            slot.get_or_insert_with(|| "32-bit address".to_string());
        }
        for message in messages.lines().filter(|line| line.contains("error") || line.contains("fatal")) {
            // Some messages concern the macros that ptxas expands instructions to.
            if !message.contains(&own) {
                continue;
            }
            let Some((_, rest)) = message.split_once("line ") else { continue };
            let number: usize = rest.split(';').next().and_then(|n| n.parse().ok()).expect("a line number");
            let Some(slot) = number.checked_sub(before + 1).and_then(|index| verdict.get_mut(index)) else {
                panic!("{target} PTX {version}: {message}");
            };
            found |= slot.is_none();
            slot.get_or_insert_with(|| rest.to_string());
        }
        if !found {
            let _ = std::fs::remove_file(&file);
            // An error in the expansion of a macro has no line, and hides the errors after it.
            if machine == "compute_" && !output.status.success() {
                split(ptxas, (version, target, machine), lines, &mut verdict, &messages);
            }
            return verdict;
        }
    }
}

/// Asks about each half of the lines that have no verdict, because ptxas rejects them together without
/// naming a line; a single line gets the messages.
fn split(
    ptxas: &Path,
    module: (PtxVersion, &str, &str),
    lines: &[&str],
    verdict: &mut [Option<String>],
    messages: &str,
) {
    let left: Vec<usize> = (0..lines.len()).filter(|&index| verdict[index].is_none()).collect();
    if let [only] = left[..] {
        verdict[only] = Some(messages.lines().next().unwrap_or("a failure without a message").to_string());
        return;
    }
    for half in left.chunks(left.len().div_ceil(2).max(1)) {
        let own: Vec<&str> = half.iter().map(|&index| lines[index]).collect();
        for (&index, answer) in half.iter().zip(refused(ptxas, module, &own)) {
            verdict[index] = answer;
        }
    }
}

/// A kernel around each line.
fn kernels(lines: &[&str]) -> Vec<Function> {
    let kernel = |line: &&str| {
        let text = format!(".entry k(.param .align 16 .b8 n[64]) {{ {REGISTERS} {line} END: ret; }}");
        let parsed = ptxc_syntax::parse_function(&text);
        assert!(parsed.errors.is_empty(), "{line}: {:?}", parsed.errors);
        parsed.value
    };
    lines.iter().map(kernel).collect()
}

/// The differences between the checker and ptxas for lines, on one version and target.
fn differences(
    ptxas: &Path,
    version: PtxVersion,
    target: &str,
    lines: &[&str],
    kernels: &[Function],
    out: &mut String,
) {
    let mut env = ModuleEnv::empty();
    env.version = version;
    env.target = PtxTarget::parse(target).expect("a target");
    // ptxas reads a module again after each group of errors, so several read parts of the lines.
    let theirs: Vec<_> = lines
        .par_chunks(500)
        .flat_map_iter(|lines| refused(ptxas, (version, target, "sm_"), lines))
        .collect();
    for ((line, kernel), theirs) in lines.iter().zip(kernels).zip(theirs) {
        let mut found = check_with(kernel, &env, Strictness::Strict);
        found.retain(|finding| finding.severity == Severity::Error);
        let except = EXCEPTIONS.iter().any(|except| line.starts_with(except));
        if theirs.is_some() == found.is_empty() && !except {
            let theirs = theirs.unwrap_or("accepts".into());
            let ours =
                found.first().map_or("accepts".into(), |found| format!("{} {}", found.code, found.message));
            writeln!(out, "{version} {target}: {line}\n    ptxas: {theirs}\n    ptxc:  {ours}")
                .expect("memory");
        }
    }
}

fn report(lines: usize, differences: &str) {
    println!("{lines} instructions");
    assert!(differences.is_empty(), "{} differences\n{differences}", differences.matches("ptxas:").count());
}

#[test]
fn the_table_agrees_with_ptxas() {
    let Some(ptxas) = ptxas() else { return };
    let mut texts = BTreeSet::new();
    for row in TABLE.rows() {
        texts.extend(samples(row).iter().filter_map(Sample::text));
    }
    let lines: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut found = String::new();
    let modules = [
        (PtxVersion(6, 3), "sm_75"),
        (PtxVersion(6, 5), "sm_75"),
        (PtxVersion(7, 0), "sm_80"),
        (PtxVersion(7, 4), "sm_80"),
        (PtxVersion(7, 8), "sm_90"),
        (PtxVersion(8, 1), "sm_90"),
        (PtxVersion(8, 6), "sm_100"),
        (PtxVersion(9, 0), "sm_75"),
        (PtxVersion(9, 0), "sm_80"),
        (PtxVersion(9, 0), "sm_90"),
        (PtxVersion(9, 0), "sm_90a"),
        (PtxVersion(8, 8), "sm_100f"),
        (PtxVersion(9, 0), "sm_100a"),
        (PtxVersion(9, 0), "sm_103a"),
        (PtxVersion(9, 0), "sm_110f"),
        (PtxVersion(9, 5), "sm_90"),
        (PtxVersion(9, 5), "sm_120a"),
    ];
    for (turn, (version, target)) in modules.into_iter().enumerate() {
        let lines: Vec<&str> = in_turn(lines.iter().copied(), turn, stride(STRIDE)).collect();
        differences(&ptxas, version, target, &lines, &kernels(&lines), &mut found);
    }
    report(lines.len(), &found);
}

/// Every type of register, and constants, for every type of operand.
///
/// Left out are `.f16x2` registers, which ptxas accepts as integers and even as predicates, against
/// the manual.
#[test]
fn types_agree_as_in_ptxas() {
    let Some(ptxas) = ptxas() else { return };
    let operands = [
        "p1",
        "b8r1",
        "b16r1",
        "b32r1",
        "b64r1",
        "u16r1",
        "u32r1",
        "u64r1",
        "f32r1",
        "f64r1",
        "f16r1",
        "vector",
        "1",
        "-1",
        "1.5",
        "0f3F800000",
        "0d3FF0000000000000",
        "%tid.x",
        "%clock64",
        "tile",
        "_",
        "!p1",
        "n",
        "END",
        "{b16r1, b16r2}",
    ];
    let types = [
        "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2",
        "f32", "f64", "bf16", "bf16x2", "pred",
    ];
    let mut texts = BTreeSet::new();
    for ty in types {
        let good = Scalar::parse(ty).map(|ty| register(ty, 2)).expect("a type");
        let good = good.replace("u8r", "b8r").replace("f16r", "b16r");
        for operand in operands {
            for template in [
                "add.T O, G, G;",
                "add.T G, O, G;",
                "fma.rn.T G, G, G, O;",
                "min.T G, G, O;",
                "and.T G, G, O;",
                "not.T O, G;",
                "mov.T O, G;",
                "mov.T G, O;",
                "selp.T G, O, G, p1;",
                "selp.T G, G, G, O;",
                "setp.eq.T p1, O, G;",
                "ld.global.T O, [b64r1];",
                "st.global.T [b64r1], O;",
                "shl.T G, G, O;",
                "cvt.T.u32 O, u32r1;",
                "cvt.rn.T.u32 O, u32r1;",
                "cvt.u32.T u32r1, O;",
                "cvt.rni.u32.T u32r1, O;",
                "atom.global.add.T O, [b64r1], G;",
                "atom.global.exch.T G, [b64r1], O;",
                "red.global.add.T [b64r1], O;",
            ] {
                texts.insert(template.replace('T', ty).replace('O', operand).replace('G', &good));
            }
        }
    }
    let lines: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut found = String::new();
    differences(&ptxas, PtxVersion(9, 0), "sm_90", &lines, &kernels(&lines), &mut found);
    report(lines.len(), &found);
}

/// Modifiers of free order, written in reverse.
#[test]
fn modifiers_stand_in_any_order_as_in_ptxas() {
    let Some(ptxas) = ptxas() else { return };
    let mut texts = BTreeSet::new();
    for row in TABLE.rows() {
        let backwards = samples(row).into_iter().map(Sample::backwards);
        // Products of bits accept `.and.popc` only in this order; the reverse order has no other
        // meaning.
        let is_known = |text: &String| text.contains(".popc.and") || text.contains(".popc.xor");
        texts.extend(backwards.filter_map(|sample| sample.text()).filter(|text| !is_known(text)));
    }
    let lines: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut found = String::new();
    for (turn, target) in ["sm_90a", "sm_100a", "sm_120a"].into_iter().enumerate() {
        let lines: Vec<&str> = in_turn(lines.iter().copied(), turn, stride(STRIDE)).collect();
        differences(&ptxas, PtxVersion::NEWEST, target, &lines, &kernels(&lines), &mut found);
    }
    report(lines.len(), &found);
}

/// `shfl` and `vote` without `.sync`, and the forms that replaced them, on every pair of version
/// and target around the removal of the old forms.
#[test]
fn exchanges_without_sync_end_as_in_ptxas() {
    let Some(ptxas) = ptxas() else { return };
    let lines = [
        "shfl.up.b32 b32r1, b32r2, 1, 0;",
        "shfl.down.b32 b32r1|p1, b32r2, 1, 31;",
        "shfl.bfly.b32 b32r1, b32r2, b32r3, b32r4;",
        "shfl.idx.b32 b32r1|p1, b32r2, 1, b32r4;",
        "vote.all.pred p1, p2;",
        "vote.any.pred p1, !p2;",
        "vote.uni.pred p1, p2;",
        "vote.ballot.b32 b32r1, p2;",
        "shfl.sync.idx.b32 b32r1|p1, b32r2, 1, 31, -1;",
        "vote.sync.ballot.b32 b32r1, p2, -1;",
        "bar.warp.sync -1;",
        "activemask.b32 b32r1;",
        "match.any.sync.b32 b32r1, b32r2, -1;",
    ];
    let kernels = kernels(&lines);
    let mut found = String::new();
    let mut pairs = 0;
    for target in ["sm_35", "sm_60", "sm_62", "sm_70", "sm_72", "sm_75", "sm_80", "sm_90"] {
        let first = [("sm_70", 60), ("sm_72", 61), ("sm_75", 63), ("sm_80", 70), ("sm_90", 78)];
        let first = first.iter().find(|(name, _)| *name == target).map_or(50, |(_, version)| *version);
        for version in [50, 60, 61, 62, 63, 64, 65, 70, 78, 90].into_iter().filter(|&v| v >= first) {
            let version = PtxVersion(version / 10, version % 10);
            differences(&ptxas, version, target, &lines, &kernels, &mut found);
            pairs += 1;
        }
    }
    report(pairs * lines.len(), &found);
}

/// The differences that are meant, each with its reason: `ptxas` or `ptxc` (the one that accepts), a
/// part of the instruction, a part of the other's message, the reason; separated by `|`.
const KNOWN: &str = include_str!("check_differences.txt");

/// Whether a difference is a known one.
fn is_known(accepts: &str, line: &str, message: &str) -> bool {
    KNOWN.lines().filter(|known| !known.starts_with('#') && !known.is_empty()).any(|known| {
        let mut fields = known.split('|').map(str::trim);
        let mut next = || fields.next().unwrap_or_default();
        let (by, part, said) = (next(), next(), next());
        assert!(!next().is_empty(), "{known}: a difference needs a reason");
        by == accepts && line.contains(part) && message.contains(said)
    })
}

/// The differences for lines, on one version and target, that are not known.
fn new_differences(ptxas: &Path, version: PtxVersion, target: &str, lines: &[&str]) -> Vec<String> {
    let mut env = ModuleEnv::empty();
    env.version = version;
    env.target = PtxTarget::parse(target).expect("a target");
    let mut found = Vec::new();
    let theirs = refused(ptxas, (version, target, "compute_"), lines);
    for (line, theirs) in lines.iter().zip(theirs) {
        let text = format!(".entry k(.param .align 16 .b8 n[64]) {{ {REGISTERS} {line} END: ret; }}");
        let parsed = ptxc_syntax::parse_function(&text);
        let mut ours = parsed.errors.first().map(|error| format!("{} {}", error.code, error.message));
        if ours.is_none() {
            let wrong = check_with(&parsed.value, &env, Strictness::Strict);
            let wrong = wrong.into_iter().find(|finding| finding.severity == Severity::Error);
            ours = wrong.map(|wrong| format!("{} {}", wrong.code, wrong.message));
        }
        let (accepts, message) = match (&ours, &theirs) {
            (Some(ours), None) => ("ptxas", ours),
            (None, Some(theirs)) => ("ptxc", theirs),
            _ => continue,
        };
        if !is_known(accepts, line, message) {
            found.push(format!(
                "{version} {target}: {line}\n    {accepts} accepts; the other says: {message}"
            ));
        }
    }
    found
}

/// Twelve targets, and for each the versions from the one that introduced it on.
fn modules() -> Vec<(PtxVersion, &'static str)> {
    let targets = [
        "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a", "sm_103a",
        "sm_110a", "sm_120a",
    ];
    let versions = [(6, 5), (7, 1), (7, 8), (8, 1), (8, 6), (8, 8), (9, 0), (9, 5)]
        .map(|(major, minor)| PtxVersion(major, minor));
    let has = |version, target| {
        let target = PtxTarget::parse(target).expect("a target");
        ptxc_ptx::check::targets::first_version(target).is_some_and(|first| first <= version)
    };
    let pairs = targets.iter().flat_map(|&target| versions.iter().map(move |&version| (version, target)));
    pairs.filter(|&(version, target)| has(version, target)).collect()
}

/// Compares lines on all modules, several at once, and reports the differences.
fn sweep(ptxas: &Path, modules: &[(PtxVersion, &str)], lines: &[&str]) {
    // An error hides others of its kind, and a fatal one all others, so each module is small.
    let jobs: Vec<_> =
        modules.iter().flat_map(|module| lines.chunks(200).map(move |lines| (*module, lines))).collect();
    let found = jobs
        .par_iter()
        .flat_map_iter(|((version, target), lines)| new_differences(ptxas, *version, target, lines));
    let mut found: Vec<String> = found.collect();
    found.sort();
    println!("{} instructions on {} modules", lines.len(), modules.len());
    assert!(found.is_empty(), "{} differences\n{}", found.len(), found.join("\n"));
}

/// Every combination of the modifiers of every row, as far as there are not too many.
fn all_combinations(most: usize) -> BTreeSet<String> {
    TABLE.rows().iter().flat_map(|row| combinations(row, most)).filter_map(|sample| sample.text()).collect()
}

/// Random edits of instructions that the table accepts.
fn random_edits(count: usize) -> BTreeSet<String> {
    let samples: Vec<String> =
        TABLE.rows().iter().flat_map(samples).filter_map(|sample| sample.text()).collect();
    let mut numbers = Numbers::new(20_000);
    let mut edit = |_| {
        let sample = &samples[numbers.below(samples.len())];
        edited(sample, &mut numbers)
    };
    (0..count).map(&mut edit).collect()
}

/// A sample for every run; `cargo xtask nightly` runs all.
#[test]
fn combinations_and_edits_agree_with_ptxas() {
    let Some(ptxas) = ptxas() else { return };
    let mut texts = all_combinations(4);
    texts.extend(random_edits(400));
    let lines: Vec<&str> = texts.iter().map(String::as_str).collect();
    sweep(&ptxas, &[(PtxVersion::NEWEST, "sm_90a")], &lines);
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn all_combinations_agree_with_ptxas() {
    let Some(ptxas) = ptxas() else { return };
    let most = std::env::var("PTXC_COMBINATIONS").ok().and_then(|most| most.parse().ok());
    let texts = all_combinations(most.unwrap_or(200));
    let lines: Vec<&str> = texts.iter().map(String::as_str).collect();
    sweep(&ptxas, &modules(), &lines);
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn twenty_thousand_edits_agree_with_ptxas() {
    let Some(ptxas) = ptxas() else { return };
    let texts = random_edits(20_000);
    let lines: Vec<&str> = texts.iter().map(String::as_str).collect();
    sweep(&ptxas, &[(PtxVersion::NEWEST, "sm_90a"), (PtxVersion::NEWEST, "sm_100a")], &lines);
}
