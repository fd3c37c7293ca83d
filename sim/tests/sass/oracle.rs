//! The execution cases on what NVIDIA's ptxas makes of their PTX: a yardstick for the SASS engine that owes
//! nothing to our own lowering.
//!
//! Needs the two tools (`ORACLE` names their folder, else `~/.cache/ptxc-oracle` is looked at) and the
//! corpus beside the repository; skips visibly without.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptxc_sim::{Case, Options, SimError, run_sass};

use crate::assemble::{case_program, try_program};

/// The folder of ptxas and nvdisasm.
fn tools() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("ORACLE") {
        return Some(folder.into());
    }
    let python = Path::new(&std::env::var_os("HOME")?).join(".cache/ptxc-oracle/lib");
    let versions = std::fs::read_dir(python).ok()?;
    let folders = versions.flatten().map(|entry| entry.path().join("site-packages/nvidia/cu13/bin"));
    folders.into_iter().find(|folder| folder.join("ptxas").is_file())
}

/// The instructions and labels of a kernel in a cubin's disassembly.
fn kernel_text(disassembly: &str, entry: &str) -> String {
    let begin = format!(".text.{entry}:");
    let lines = disassembly.lines().map(str::trim).skip_while(|line| *line != begin).skip(1);
    let mut text = String::new();
    for line in lines.take_while(|line| !line.starts_with("//---") && !line.starts_with(".section")) {
        let inst = line.split_once("*/").map_or(line, |(_, inst)| inst);
        text.push_str(inst.trim().trim_end_matches(';').trim());
        text.push('\n');
    }
    text
}

enum Outcome {
    Right,
    Unsupported(String),
    Wrong(String),
}

fn run(tools: &Path, case: &Case, cubin: &Path) -> Outcome {
    let assembled = Command::new(tools.join("ptxas"))
        .args(["-arch=sm_90", "-o"])
        .arg(cubin)
        .arg(&case.ptx)
        .output()
        .expect("ptxas runs");
    if !assembled.status.success() {
        return Outcome::Unsupported("ptxas takes it for another target".to_string());
    }
    let disassembly =
        Command::new(tools.join("nvdisasm")).arg("-c").arg(cubin).output().expect("nvdisasm runs");
    let text = kernel_text(&String::from_utf8_lossy(&disassembly.stdout), &case.entry);
    let program = match try_program(&text) {
        Ok(insts) => case_program(insts, case),
        Err(line) => return Outcome::Unsupported(line),
    };
    match run_sass(case, &program, &Options::default()) {
        Ok(report) if report.passed() => Outcome::Right,
        Ok(report) => Outcome::Wrong(report.to_string()),
        Err(SimError::Unsupported { at, what }) => Outcome::Unsupported(format!("{at}: {what}")),
        Err(error) => Outcome::Wrong(error.to_string()),
    }
}

/// Runs the cases of one tier, or all, and returns how many gave the expected values; `None` without the
/// tools or the corpus.
fn run_cases(tier: Option<&str>) -> Option<usize> {
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
    let cubin = format!("ptxc-sim-{}-{}.cubin", std::process::id(), tier.unwrap_or("all"));
    let cubin = std::env::temp_dir().join(cubin);
    let (mut right, mut wrong) = (0, String::new());
    for path in &paths {
        let case = Case::load(path).unwrap();
        if tier.is_some_and(|tier| !case.ptx.iter().any(|part| part == tier)) {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match run(&tools, &case, &cubin) {
            Outcome::Right => right += 1,
            Outcome::Unsupported(what) => eprintln!("{name}: not supported: {what}"),
            Outcome::Wrong(what) => wrong.push_str(&format!("{name}: {what}\n")),
        }
    }
    let _ = std::fs::remove_file(&cubin);
    assert!(wrong.is_empty(), "{wrong}");
    eprintln!("{right} cases give the expected values");
    Some(right)
}

#[test]
fn ptxas_code_of_the_first_tier_gives_the_expected_values() {
    if let Some(right) = run_cases(Some("t1")) {
        assert!(right >= 30, "only {right} cases run at all");
    }
}

#[test]
#[ignore = "takes a minute: most of it is ptxas"]
fn ptxas_code_of_all_cases_gives_the_expected_values() {
    if let Some(right) = run_cases(None) {
        assert!(right >= 45, "only {right} cases run at all");
    }
}
