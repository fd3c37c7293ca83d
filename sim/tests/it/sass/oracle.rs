//! The execution cases on the code that NVIDIA's ptxas makes of their PTX: a test of the SASS
//! engine that does not depend on our own lowering.
//!
//! The test needs ptxas (in the folder that `ORACLE` names, or else in `~/.cache/ptxc-oracle`) and
//! the corpus next to the repository. Without them it reports that it was skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptxc_machine::Arch;
use ptxc_object::cubin::{program, read};
use ptxc_sim::{Case, Options, SimError, run_sass};

/// The folder of ptxas.
fn tools() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("ORACLE") {
        return Some(folder.into());
    }
    let python = Path::new(&std::env::var_os("HOME")?).join(".cache/ptxc-oracle/lib");
    let versions = std::fs::read_dir(python).ok()?;
    let folders = versions.flatten().map(|entry| entry.path().join("site-packages/nvidia/cu13/bin"));
    folders.into_iter().find(|folder| folder.join("ptxas").is_file())
}

enum Outcome {
    Right,
    /// The kernel is for another architecture.
    Elsewhere,
    Unsupported(String),
    Wrong(String),
}

/// The text with another target.
fn retargeted(text: &str, arch: Arch) -> String {
    let line = |line: &str| match line.strip_prefix(".target ") {
        // Code for a variant of the architecture needs that variant.
        Some(rest) if !(rest.starts_with(&format!("{arch}a"))) => {
            let options = rest.split_once(',').map_or(String::new(), |(_, options)| format!(",{options}"));
            format!(".target {arch}{options}\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Runs a case on the code that ptxas makes of its kernel, read from the cubin.
fn run(tools: &Path, case: &Case, arch: Arch, scratch: &Path) -> Outcome {
    let (ptx, cubin) = (scratch.with_extension("ptx"), scratch.with_extension("cubin"));
    let text = retargeted(&std::fs::read_to_string(&case.ptx).unwrap(), arch);
    std::fs::write(&ptx, &text).unwrap();
    let variant = if text.contains(&format!(".target {arch}a")) { "a" } else { "" };
    let assembled = Command::new(tools.join("ptxas"))
        .arg(format!("-arch={arch}{variant}"))
        .arg("-o")
        .args([&cubin, &ptx])
        .output()
        .expect("ptxas runs");
    if !assembled.status.success() {
        return Outcome::Elsewhere;
    }
    let bytes = std::fs::read(&cubin).unwrap();
    let program = match read(&bytes).and_then(|cubin| program(&cubin, &case.entry)) {
        Ok(program) => program,
        Err(error) => return Outcome::Unsupported(error.to_string()),
    };
    match run_sass(case, &program, &Options { holds_uniform: true, ..Options::default() }) {
        Ok(report) if report.passed() => Outcome::Right,
        Ok(report) => Outcome::Wrong(report.to_string()),
        Err(SimError::Unsupported { at, what }) => Outcome::Unsupported(format!("{at}: {what}")),
        Err(error) => Outcome::Wrong(error.to_string()),
    }
}

/// Runs the cases of one tier, or all, for some architectures, and returns how many gave the
/// expected values; `None` without the tools or the corpus.
fn run_cases(tier: Option<&str>, archs: &[Arch]) -> Option<usize> {
    let Some(tools) = tools() else {
        eprintln!("skipped: no ptxas; ORACLE names the folder that ../shared/oracle/install.sh prints");
        return None;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/exec");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there is no corpus at {}", folder.display());
        return None;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let scratch = format!("ptxc-sim-{}-{}", std::process::id(), tier.unwrap_or("all"));
    let scratch = std::env::temp_dir().join(scratch);
    let (mut right, mut elsewhere, mut wrong) = (0, 0, String::new());
    for path in &paths {
        let case = Case::load(path).unwrap();
        if tier.is_some_and(|tier| !case.ptx.iter().any(|part| part == tier)) {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        for &arch in archs {
            match run(&tools, &case, arch, &scratch) {
                Outcome::Right => right += 1,
                Outcome::Elsewhere => elsewhere += 1,
                Outcome::Unsupported(what) | Outcome::Wrong(what) => {
                    wrong.push_str(&format!("{name} {arch}: {what}\n"));
                }
            }
        }
    }
    for extension in ["ptx", "cubin"] {
        let _ = std::fs::remove_file(scratch.with_extension(extension));
    }
    assert!(wrong.is_empty(), "{wrong}");
    eprintln!("{right} runs give the expected values; {elsewhere} times ptxas takes it for another target");
    Some(right)
}

#[test]
fn ptxas_code_of_the_first_tier_gives_the_expected_values() {
    if let Some(right) = run_cases(Some("t1"), &[Arch::Sm90]) {
        assert!(right >= 35, "only {right} cases run at all");
    }
}

#[test]
#[ignore = "takes a minute: most of it is ptxas"]
fn ptxas_code_of_all_cases_gives_the_expected_values() {
    if let Some(right) = run_cases(None, &Arch::ALL) {
        assert!(right >= 380, "only {right} cases run at all");
    }
}
