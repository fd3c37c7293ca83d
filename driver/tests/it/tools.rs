//! NVIDIA's tools and `readelf` accept ptxc's cubins without complaint, and find in them the
//! resources that the text of the program names.
//!
//! The test needs ptxas, nvdisasm and cuobjdump, in the folder that `ORACLE` names, or else in
//! `~/.cache/ptxc-oracle`. Without them the test reports that it was skipped, and checks nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ptxc_sample::stride;
use rayon::prelude::*;

/// Bytes of shared memory that the system reserves on sm_90 in a kernel that uses any.
const RESERVED_SHARED: u64 = 1024;
/// The start of the parameters in constant bank 0 of sm_90.
const PARAMETERS: u64 = 0x210;
/// The number of registers that are announced beyond those that the code names.
const EXTRA_REGISTERS: u64 = 2;

fn oracle() -> Option<PathBuf> {
    let folder = match std::env::var_os("ORACLE") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let python = Path::new(&std::env::var_os("HOME")?).join(".cache/ptxc-oracle/lib");
            let version = std::fs::read_dir(python).ok()?.flatten().next()?.path();
            version.join("site-packages/nvidia/cu13/bin")
        }
    };
    folder.join("ptxas").is_file().then_some(folder)
}

fn ptxc(words: &[&str]) -> String {
    let words: Vec<String> = std::iter::once("ptxc").chain(words.iter().copied()).map(String::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let outcome = ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err);
    let said = String::from_utf8_lossy(&err);
    assert!(outcome == 0 && !said.contains("error"), "{words:?}: {said}");
    String::from_utf8(out).expect("the output is text")
}

fn ran(tool: &Path, words: &[&str], file: &Path) -> Output {
    Command::new(tool).args(words).arg(file).output().expect("the tool runs")
}

/// The output of a tool on a file that it accepts without complaint.
fn printed(tool: &Path, words: &[&str], file: &Path) -> String {
    let output = ran(tool, words, file);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{tool:?} {words:?} {file:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The warnings of `readelf` without numbers, because section numbers differ.
fn warnings(file: &Path) -> BTreeSet<String> {
    let output = ran(Path::new("readelf"), &["-aW"], file);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let plain = |line: &str| line.chars().filter(|c| !c.is_ascii_digit()).collect();
    text.lines().filter(|line| !line.trim().is_empty()).map(plain).collect()
}

/// The resources of each kernel: registers, stack, shared memory, constant bank 0.
type Needs = BTreeMap<String, [u64; 4]>;

/// The resources of each kernel according to `cuobjdump -res-usage`.
fn found(text: &str) -> Needs {
    let mut list = Needs::new();
    let mut kernel = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("Function ").and_then(|name| name.strip_suffix(':')) {
            kernel = name.to_string();
        } else if line.starts_with("REG:") {
            let number = |name: &str| -> u64 {
                let field = line.split_whitespace().find_map(|field| field.strip_prefix(name));
                field.unwrap_or_else(|| panic!("{name} in {line}")).parse().expect("a number")
            };
            let needs = [number("REG:"), number("STACK:"), number("SHARED:"), number("CONSTANT[0]:")];
            list.insert(kernel.clone(), needs);
        }
    }
    list
}

/// The resources of each kernel according to ptxc's text.
fn said(text: &str) -> Needs {
    let mut list = Needs::new();
    let (mut resources, mut end) = ([0; 3], 0);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix(".resources") {
            let number = |name: &str| -> u64 {
                let field =
                    rest.split(',').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('='));
                field.map_or(0, |number| number.parse().expect("a number"))
            };
            resources = [number("registers"), number("local"), number("shared")];
        } else if let Some(rest) = line.strip_prefix(".parameters") {
            let list = rest.split("//").next().unwrap_or_default().split(',');
            end = list.filter(|one| !one.trim().is_empty()).map(parameter_end).max().unwrap_or(0);
        } else if let Some(name) = line.strip_prefix(".text.").and_then(|name| name.strip_suffix(':')) {
            let [registers, local, shared] = resources;
            let shared = if shared == 0 { 0 } else { shared + RESERVED_SHARED };
            let needs = [registers + EXTRA_REGISTERS, local, shared, PARAMETERS + end];
            list.insert(name.to_string(), needs);
        }
    }
    list
}

/// The end of the parameter `name b64 +8` or `name b8[12] +8`.
fn parameter_end(text: &str) -> u64 {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, kind, offset] = words[..] else { panic!("a parameter: {text}") };
    let bytes: u64 = match kind.strip_prefix("b8[").and_then(|rest| rest.strip_suffix(']')) {
        Some(bytes) => bytes.parse().expect("a size"),
        None => kind.trim_start_matches('b').parse::<u64>().expect("bits") / 8,
    };
    bytes + offset.trim_start_matches('+').parse::<u64>().expect("an offset")
}

#[test]
fn tools_take_our_cubins() {
    let Some(oracle) = oracle() else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: no ptxas, nvdisasm and cuobjdump; ORACLE names their folder"
        );
        return;
    };
    // Each file must still contain the text that it is meant to test.
    let files = [
        ("accelerated", "sm_90a", ".target sm_90a", 1),
        ("switch", "sm_90", "BRANCH_TARGETS", 1),
        ("calls", "sm_90", "CALL.REL.NOINC", 2),
        ("data", "sm_90", ".dword generic(counter)", 1),
        ("lines", "sm_90", "MUFU.RSQ", 1),
        ("cluster", "sm_90", "cluster-x=2", 1),
    ];
    // NVIDIA's tools take half a second to start, and one of them runs on one processor.
    files.into_par_iter().for_each(|(name, arch, must, kernels)| {
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tools").join(name).with_extension("ptx");
        let text = ptxc(&["lower", path_text(&source), "-o", "-"]);
        assert!(text.contains(must), "{name}: {must}");
        let mut kinds = vec![("plain", &[][..]), ("lines", &["--lineinfo"])];
        // In a sample, one file has a table of lines.
        kinds.truncate(if name == "lines" || stride(2) == 1 { 2 } else { 1 });
        kinds.into_par_iter().for_each(|(kind, options)| {
            let ours = scratch(name, kind, "ours");
            ptxc(&[&["lower", path_text(&source), "-o", path_text(&ours)], options].concat());
            tools_accept(&oracle, &ours, name, kernels);
            let needs = found(&printed(&oracle.join("cuobjdump"), &["-res-usage"], &ours));
            assert_eq!(needs.len(), kernels, "{name}");
            assert_eq!(needs, said(&text), "{name}: registers, stack, shared, constant bank 0");
            if name == "lines" {
                let listed = printed(&oracle.join("nvdisasm"), &["-c", "-g"], &ours);
                let line = listed.contains("lines.cu\", line 4");
                assert_eq!(line, kind == "lines", "{name} {kind}");
            }
            let theirs = scratch(name, kind, "theirs");
            let lines = if options.is_empty() { &[][..] } else { &["-lineinfo"] };
            let words = [&["-w", "-arch", arch, "-o", path_text(&theirs)], lines].concat();
            let ptxas = ran(&oracle.join("ptxas"), &words, &source);
            assert!(ptxas.status.success(), "ptxas refuses {name}");
            if Command::new("readelf").arg("--version").output().is_ok() {
                let (own, other) = (warnings(&ours), warnings(&theirs));
                assert!(
                    own.is_subset(&other),
                    "{name}: readelf warns of {own:?}, and of {other:?} in theirs"
                );
            }
            for file in [ours, theirs] {
                std::fs::remove_file(file).expect("the file is there");
            }
        });
    });
}

/// Each tool prints something for a cubin, without complaint, and cuobjdump lists its functions.
fn tools_accept(oracle: &Path, cubin: &Path, name: &str, functions: usize) {
    for (tool, option) in
        [("nvdisasm", "-c"), ("nvdisasm", "-plr"), ("nvdisasm", "-cfg"), ("cuobjdump", "-elf")]
    {
        let printed = printed(&oracle.join(tool), &[option], cubin);
        assert!(!printed.trim().is_empty(), "{name}: {tool} {option}");
    }
    let listed = printed(&oracle.join("cuobjdump"), &["-sass"], cubin);
    assert_eq!(listed.matches("Function :").count(), functions, "{name}");
}

/// A file of the test's own folder.
fn scratch(name: &str, kind: &str, whose: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{kind}.{whose}.cubin"))
}

fn path_text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}
