//! The shapes in ptxas's code, and the texts of nvdisasm: checks that the witnesses are right.

use std::collections::{BTreeMap, BTreeSet};

use ptxc_families::Oracle;
use ptxc_machine::{Arch, ByNumber};
use rayon::prelude::*;

use crate::shape::shapes;
use crate::source::Source;
use crate::witnesses::Witnesses;

/// A version of PTX that knows all architectures.
const VERSION: &str = "8.0";

/// The text with a version that ptxas accepts for the architecture: any version works for sm_75.
fn with_version(text: &str, arch: Arch) -> String {
    let line = |line: &str| match line.trim().strip_prefix(".version") {
        Some(version) if version.trim() < VERSION && arch != Arch::Sm75 => format!(".version {VERSION}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The shapes in ptxas's code for a file's text; none if it refuses the file for the architecture.
pub fn of(oracle: &Oracle, text: &str, arch: Arch) -> BTreeSet<String> {
    let instructions = oracle.instructions(&with_version(text, arch), arch).unwrap_or_default();
    instructions.iter().flat_map(|text| shapes(text)).collect()
}

/// The errors in the list: files whose code from ptxas no longer has the listed shapes, and
/// encodings that nvdisasm reads differently. Files that are not available are omitted, such as the
/// corpus. Of the others, one out of `stride` pairs with an architecture is compiled.
///
/// # Errors
/// The tools do not run, or a file cannot be read.
pub fn check(
    oracle: &Oracle,
    list: &Witnesses,
    sources: &[Source],
    stride: usize,
) -> Result<Vec<String>, String> {
    let named = sources.iter().filter_map(|source| Some((source, list.files.get(&source.name)?)));
    let jobs: Vec<_> = named
        .flat_map(|(source, shapes)| {
            let archs: BTreeSet<ByNumber> = shapes.values().flatten().copied().collect();
            archs.into_iter().map(move |ByNumber(arch)| (source, shapes, arch))
        })
        .step_by(stride)
        .collect();
    let wrong: Result<Vec<Vec<String>>, String> = jobs
        .par_iter()
        .map(|(source, shapes, arch)| {
            let found = of(oracle, &source.text(*arch)?, *arch);
            let missing = shapes
                .iter()
                .filter(|(shape, archs)| archs.contains(&ByNumber(*arch)) && !found.contains(*shape));
            Ok(missing
                .map(|(shape, _)| format!("{arch} {}: ptxas makes no `{shape}`", source.name))
                .collect())
        })
        .collect();
    let mut wrong = wrong?.concat();
    let mut codes: BTreeMap<ByNumber, Vec<(&str, u128)>> = BTreeMap::new();
    for (shape, list) in &list.encodings {
        for (&code, archs) in list {
            archs.iter().for_each(|&arch| codes.entry(arch).or_default().push((shape, code)));
        }
    }
    for (ByNumber(arch), codes) in codes {
        let read = oracle.read(&codes.iter().map(|(_, code)| *code).collect::<Vec<_>>(), arch)?;
        for ((shape, code), text) in codes.iter().zip(read) {
            if !shapes(&text).iter().any(|found| found == shape) {
                wrong.push(format!("{arch} {code:032x}: nvdisasm reads `{text}`, which is not a `{shape}`"));
            }
        }
    }
    Ok(wrong)
}
