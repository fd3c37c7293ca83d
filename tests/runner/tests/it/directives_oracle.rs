//! Compares the table of directives, `check/features.rs`, with NVIDIA's ptxas.
//!
//! Each sample is a module with one directive or one form of a declaration. For each, the test
//! looks for the versions and the targets where the verdict of the check changes, and asks ptxas on
//! both sides of each change and at both ends. The test is skipped, with a line on stderr, if
//! neither `ORACLE` nor the usual folder has ptxas.

use std::path::Path;
use std::process::Command;

use ptxc_compiler::output::check_text;
use ptxc_compiler::{Database, SourceFile};
use ptxc_ptx::check::env::{PtxTarget, PtxVersion};
use ptxc_ptx::check::targets;
use ptxc_ptx::diagnostic::Severity;
use ptxc_tests::oracle::ptxas;
use rayon::prelude::*;

/// One sample a line; `option:` makes it an option of `.target`. `@` stands for a line break.
const SAMPLES: &str = r#"
.weak .func f(){ret;}
.weak .global .u32 g;
.common .global .u32 g;
.func f(){ret;} .visible .func h(); .alias h,f;
.global .attribute(.managed) .u32 g;
.entry e .maxnreg 32 {exit;}
.entry e .maxntid 32 {exit;}
.entry e .reqntid 32 {exit;}
.entry e .minnctapersm 2 {exit;}
.entry e .maxnctapersm 2 {exit;}
.entry e .local_maxnreg 3 {exit;}
.entry e .language 1 {exit;}
.entry e .reqnctapercluster 2 {exit;}
.entry e .maxclusterrank 2 {exit;}
.entry e .explicitcluster {exit;}
.entry e .reqntid 32 .reqnctapercluster 2 .blocksareclusters {exit;}
.func f() .noreturn {exit;}
.func f() .abi_preserve 4 {ret;}
.func f() .abi_preserve_control 1 {ret;}
.func f() .local_maxnreg 3 {ret;}
.func f() .language 1 {ret;}
.pragma "nounroll";
.pragma "used_bytes_mask 1";
.func f(){ .pragma "used_bytes_mask 0xff"; ret;}
.func f(){ .pragma "frequency 5"; ret;}
.func f(){ .pragma "anything"; ret;}
.entry e{ .pragma "enable_smem_spilling"; exit;}
.func f(.param .b32 a){ret;}
.func (.param .b32 r) f(){ret;}
.func f(.reg .b32 a){ret;}
.func f(.param .b8 a[]){ret;}
.entry e(){exit;}
.entry e(.param .u32 a){exit;}
.entry e{.param .u32 a; exit;}
.entry e(.param .u64 .ptr .global a){exit;}
.entry e(.param .u64 .ptr .texref a){exit;}
.entry e(.hidden .param .u64 a){exit;}
.entry e(.param .texref a){exit;}
.entry e(.param .samplerref a){exit;}
texmode_independent: .entry e(.param .samplerref a){exit;}
.entry e; .entry e{exit;}
.global .texref t;
.global .surfref t;
texmode_independent: .global .samplerref t;
.tex .u32 t;
.const[0] .u32 c;
.const[1] .u32 c;
.extern .const[1] .u32 c[];
.extern .const[11] .u32 c[];
.global .u32 g; .global .u64 p=g;
.global .u32 g; .global .u64 p=generic(g);
.global .u32 g; .global .u8 p[2]={0xff(g),0xff00(g)};
.func f(){ret;} .global .u64 p=f;
.entry e{exit;} .global .u64 p=e;
.func f(){P:.callprototype _ (); ret;}
.func g(){ret;} .func f(){T:.calltargets g; ret;}
.func f(){T:.branchtargets L; L: ret;}
@.file 1 "x"
@.file 1 "x",1,2
@.file 1 "x",12
@.section .debug_str {.b8 0}
@.section .debug_str {@.b32 .debug_abbrev@}
@.section .debug_str {@.b32 .debug_abbrev+4@}
debug: @.section .debug_str {.b8 0}
debug: .entry e{exit;}
.global .texref t={channel_data_type=1};
.global .surfref t={channel_order=1};
texmode_independent: .global .samplerref t={force_unnormalized_coords=1};
.global .f16x2 g;
.func f(){.reg .b128 q; ret;}
"#;

/// A module with a sample. The kernel at its end has no list of parameters, which old versions lack.
fn module(sample: &str, version: PtxVersion, target: PtxTarget) -> String {
    let (option, items) = match sample.split_once(": ") {
        Some((option, items)) => (format!(", {option}"), items),
        None => (String::new(), sample),
    };
    let size = if version < PtxVersion(2, 3) { "" } else { ".address_size 64\n" };
    let kernel = if items.contains(".entry e") { "" } else { ".entry k{exit;}" };
    let items = items.replace('@', "\n");
    format!(".version {version}\n.target {target}{option}\n{size}{items}\n{kernel}\n")
}

/// Whether the check accepts a module.
fn is_accepted(text: &str) -> bool {
    let db = Database::default();
    let file = SourceFile::new(&db, "sample.ptx".to_string(), text.to_string());
    check_text(&db, file).iter().all(|finding| finding.severity != Severity::Error)
}

/// The messages of ptxas about a module, unless it accepts the module.
fn refused(ptxas: &Path, text: &str, target: PtxTarget, name: &str) -> Option<String> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("directive-{name}.ptx"));
    std::fs::write(&file, text).expect("the folder for tests can be written");
    // ptxas has no code generation for the oldest targets.
    let arch = if target.number < 75 { "sm_75".to_string() } else { target.to_string() };
    let output = Command::new(ptxas)
        .args([&format!("-arch={arch}"), "-O0", "-o", "/dev/null"])
        .arg(&file)
        .output()
        .expect("ptxas runs");
    let _ = std::fs::remove_file(&file);
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Every version, each with the newest baseline target that it has up to sm_90.
fn by_version() -> Vec<(PtxVersion, PtxTarget)> {
    let versions = (1..=9).flat_map(|major| (0..=8).map(move |minor| PtxVersion(major, minor)));
    let newest = |version: PtxVersion| {
        let has = |target: &PtxTarget| targets::first_version(*target).is_some_and(|first| first <= version);
        let known = targets::all().filter(|target| target.number <= 90).filter(has);
        let is_plain =
            |target: &PtxTarget| target.to_string().trim_start_matches("sm_").parse::<u32>().is_ok();
        known.filter(is_plain).last()
    };
    let known = versions.filter(|version| version.is_known());
    known.filter_map(|version| Some((version, newest(version)?))).collect()
}

/// The newest version, with every baseline target up to sm_90.
fn by_target() -> Vec<(PtxVersion, PtxTarget)> {
    let is_plain = |target: &PtxTarget| target.to_string().trim_start_matches("sm_").parse::<u32>().is_ok();
    let known = targets::all().filter(|target| target.number <= 90).filter(is_plain);
    known.map(|target| (PtxVersion(9, 4), target)).collect()
}

#[test]
fn directives_exist_where_ptxas_has_them() {
    let Some(ptxas) = ptxas() else { return };
    let samples: Vec<&str> = SAMPLES.lines().filter(|line| !line.is_empty()).collect();
    let differences: Vec<String> = samples
        .par_iter()
        .enumerate()
        .flat_map_iter(|(index, sample)| {
            let mut found = Vec::new();
            for line in [by_version(), by_target()] {
                let verdicts: Vec<bool> = line
                    .iter()
                    .map(|&(version, target)| is_accepted(&module(sample, version, target)))
                    .collect();
                for (at, &(version, target)) in line.iter().enumerate() {
                    let changes = |other: Option<&bool>| other != Some(&verdicts[at]);
                    if !changes(verdicts.get(at.wrapping_sub(1))) && !changes(verdicts.get(at + 1)) {
                        continue;
                    }
                    let text = module(sample, version, target);
                    let messages = refused(&ptxas, &text, target, &index.to_string());
                    if messages.is_none() != verdicts[at] {
                        let ours = if verdicts[at] { "accepts" } else { "refuses" };
                        found.push(format!("{sample}\n  PTX {version}, {target}: ptxc {ours}; {messages:?}"));
                    }
                }
            }
            found
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
