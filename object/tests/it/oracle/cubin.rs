//! NVIDIA's tools and `readelf` accept the files that this crate writes, and find the same in them
//! as in NVIDIA's own.
//!
//! The test reads the assembler's output for a kernel and writes it again. The code is therefore
//! correct, and everything around it was written by this crate.

use std::path::Path;
use std::process::Command;

use ptxc_object::cubin::{Abi, read, write};

use super::FOLDERS;
use super::tools::{Oracle, architectures, oracle};

/// The output of a tool. The tool must succeed; a tool other than `readelf` must not print warnings
/// either, because `readelf` calls the fields that the machine defines unexpected.
fn output(tool: &Path, args: &[&str], file: &Path) -> String {
    let output = Command::new(tool).args(args).arg(file).output().expect("the tool runs");
    let messages = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<_> = messages
        .lines()
        .filter(|line| !line.contains("Unexpected value") && !line.trim().is_empty())
        .collect();
    let name = tool.file_name().unwrap_or_default();
    assert!(complaints.is_empty() && output.status.success(), "{name:?} {args:?} {file:?}: {complaints:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The lines of resource usage, one for each function, sorted.
fn usage(oracle: &Oracle, file: &Path) -> Vec<String> {
    let text = output(&oracle.tool("cuobjdump"), &["-res-usage"], file);
    let mut lines = Vec::new();
    let mut function = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("Function") {
            function = line.to_string();
        } else if line.contains(':') && !line.ends_with("usage:") {
            lines.push(format!("{function} {line}"));
        }
    }
    lines.sort();
    lines
}

/// The encodings in a disassembly.
fn words(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.rsplit_once("/* 0x").map(|(_, word)| word)).collect()
}

/// The targets of the branches that use tables.
fn targets(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_once("BRANCH_TARGETS").map(|(_, targets)| targets)).collect()
}

#[test]
fn tools_find_the_same_in_our_files() {
    let Some(oracle) = oracle() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for arch in architectures() {
        let kernels = oracle.sample(FOLDERS, arch);
        for ptx in kernels.iter().step_by(40) {
            let name = ptx.file_stem().unwrap_or_default().to_string_lossy();
            let theirs = folder.join(format!("{name}.{arch}.theirs.cubin"));
            oracle.assemble(ptx, arch, &["-lineinfo"], &theirs);
            let mut cubin = read(&std::fs::read(&theirs).expect("the file is there")).expect("ours to read");
            let ours = folder.join(format!("{name}.{arch}.ours.cubin"));
            std::fs::write(&ours, write(&cubin).expect("ours to write")).expect("the folder takes files");

            assert_eq!(usage(&oracle, &ours), usage(&oracle, &theirs), "{name} {arch}");
            output(&oracle.tool("cuobjdump"), &["-elf"], &ours);
            output(&oracle.tool("cuobjdump"), &["-sass"], &ours);
            output(Path::new("readelf"), &["-aW"], &ours);
            output(&oracle.tool("nvdisasm"), &["-cfg"], &ours);
            output(&oracle.tool("nvdisasm"), &["-c", "-plr"], &ours);
            let [own, other] =
                [&ours, &theirs].map(|file| output(&oracle.tool("nvdisasm"), &["-c", "-hex"], file));
            // Kernels have the order of the file, which is not that of the listing.
            let [mut own_words, mut other_words] = [words(&own), words(&other)];
            own_words.sort_unstable();
            other_words.sort_unstable();
            assert!(!own_words.is_empty());
            assert_eq!(own_words, other_words, "{name} {arch}");
            assert_eq!(targets(&own).len(), targets(&other).len(), "{name} {arch}");

            cubin.abi = Abi::V7;
            std::fs::write(&ours, write(&cubin).expect("ours to write")).expect("the folder takes files");
            assert_eq!(usage(&oracle, &ours), usage(&oracle, &theirs), "{name} {arch}, older layout");
            output(&oracle.tool("cuobjdump"), &["-elf"], &ours);
            for file in [theirs, ours] {
                std::fs::remove_file(file).expect("the file is there");
            }
        }
    }
}
