//! The results of cargo's benchmarks.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::milliseconds;
use crate::build::{cargo, root};

/// The benchmarks of the page: package and name.
const BENCHMARKS: &[(&str, &str)] = &[
    ("ptxc-syntax", "parse"),
    ("ptxc-compiler", "lower"),
    ("ptxc-compiler", "edit"),
    ("ptxc-object", "bits"),
];

/// Runs the benchmarks.
pub(super) fn run() -> Result<(), String> {
    for &(package, bench) in BENCHMARKS {
        let mut cargo = cargo();
        cargo.args(["bench", "-p", package, "--bench", bench, "--", "--quick", "--noplot"]);
        let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
        if !status.success() {
            return Err(format!("cargo bench -p {package} --bench {bench}: {status}"));
        }
    }
    Ok(())
}

/// A table of the latest results.
pub(super) fn table() -> Result<String, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let mut rows = Vec::new();
    let mut folders = vec![target.join("criterion")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        folders.extend(entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()));
        if folder.ends_with("new") {
            rows.extend(row(&folder));
        }
    }
    rows.sort();
    if rows.is_empty() {
        return Ok("None were run; `cargo xtask bench --criterion` runs them.".to_string());
    }
    let mut text =
        String::from("Mean times of `cargo bench`.\n\n| benchmark | time | throughput |\n|---|---:|---:|\n");
    for (name, time, throughput) in rows {
        let _ = writeln!(text, "| {name} | {time} | {throughput} |");
    }
    Ok(text)
}

/// Name, time and throughput of a benchmark, from the folder with its last results.
fn row(folder: &Path) -> Option<(String, String, String)> {
    let read = |name: &str| -> Option<Value> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(name)).ok()?).ok()
    };
    let (benchmark, estimates) = (read("benchmark.json")?, read("estimates.json")?);
    let seconds = estimates["mean"]["point_estimate"].as_f64()? * 1e-9;
    let name = benchmark["full_id"].as_str()?.to_string();
    let amount = |what: &str| benchmark["throughput"][what].as_f64();
    let throughput = match (amount("Bytes"), amount("Elements")) {
        (Some(bytes), _) => format!("{:.0} MB/s", bytes / seconds / 1e6),
        (_, Some(elements)) => format!("{:.2} million/s", elements / seconds / 1e6),
        _ => String::new(),
    };
    let time = if seconds < 1e-5 { format!("{:.0} ns", seconds * 1e9) } else { milliseconds(seconds) };
    Some((name, time, throughput))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_exist() {
        let metadata = cargo().args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).output();
        let metadata: Value = serde_json::from_slice(&metadata.unwrap().stdout).unwrap();
        for &(package, bench) in BENCHMARKS {
            let package = metadata["packages"].as_array().unwrap().iter().find(|one| one["name"] == package);
            let targets = package.unwrap()["targets"].as_array().unwrap();
            assert!(
                targets.iter().any(|target| target["name"] == bench && target["kind"][0] == "bench"),
                "{bench}"
            );
        }
    }
}
