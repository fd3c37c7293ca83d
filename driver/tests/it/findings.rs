//! The execution cases read no unwritten memory, and all but two have no races: any other finding is a
//! false alarm.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptxc_sample::stride;
use rayon::prelude::*;

/// Kernels with a race that Triton makes: all lanes of a warp store their result of a reduction to one
/// place, and the last step rounds differently in each lane.
const RACY: [&str; 2] = ["layer_norm_backward: race", "welford: race"];

/// The cases in a folder.
fn cases(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths
}

/// Whether a case is one with a race.
fn is_racy(case: &Path) -> bool {
    let stem = case.file_stem().unwrap_or_default().to_string_lossy();
    RACY.iter().filter_map(|race| race.split(':').next()).any(|kernel| stem.ends_with(kernel))
}

/// The findings of the runs of some cases.
fn findings(paths: &[PathBuf], options: &[&str]) -> Vec<String> {
    let found = paths.par_iter().flat_map_iter(|case| {
        let output = Command::new(env!("CARGO_BIN_EXE_ptxc"))
            .arg("run")
            .arg(case)
            .args(["--racecheck", "--engine=both"])
            .args(options)
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        let is_finding = |line: &&str| line.contains(" memory: ");
        messages.lines().filter(is_finding).map(str::to_string).collect::<Vec<_>>()
    });
    found.collect()
}

#[test]
fn the_cases_have_none() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join("tests/cases");
    let all = cases(&folder);
    assert!(all.len() > 30, "the cases are in {}", folder.display());
    for (options, stride) in [(&[][..], stride(3)), (&["--seed=3", "-O0"], stride(9))] {
        let chosen = all.iter().enumerate().filter(|(index, case)| index % stride == 0 || is_racy(case));
        let chosen: Vec<PathBuf> = chosen.map(|(_, case)| case.clone()).collect();
        let (known, others): (Vec<String>, Vec<String>) = findings(&chosen, options)
            .into_iter()
            .partition(|finding| RACY.iter().any(|known| finding.starts_with(known)));
        assert_eq!(others, Vec::<String>::new());
        let is_found = |race: &&str| known.iter().any(|finding| finding.starts_with(race));
        assert!(RACY.iter().all(is_found), "{known:?}");
    }
    // The corpus is not part of the repository.
    assert_eq!(findings(&cases(&root.join("../shared/corpus/exec")), &[]), Vec::<String>::new());
}
