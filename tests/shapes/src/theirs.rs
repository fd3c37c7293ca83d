//! The shapes in ptxas's code, and the readings of nvdisasm: are the witnesses right?

use std::collections::{BTreeMap, BTreeSet};

use ptxc_families::Oracle;
use ptxc_machine::{Arch, ByNumber};
use rayon::prelude::*;

use crate::shape::shapes;
use crate::source::Source;
use crate::witnesses::Witnesses;

/// A version of PTX that knows all architectures.
const VERSION: &str = "8.0";

/// The text with a version that ptxas takes for the architecture: any version works for sm_75.
fn with_version(text: &str, arch: Arch) -> String {
    let line = |line: &str| match line.trim().strip_prefix(".version") {
        Some(version) if version.trim() < VERSION && arch != Arch::Sm75 => format!(".version {VERSION}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The shapes that ptxas makes of a file's text; none where it refuses the file for the architecture.
pub fn of(oracle: &Oracle, text: &str, arch: Arch) -> BTreeSet<String> {
    let instructions = oracle.instructions(&with_version(text, arch), arch).unwrap_or_default();
    instructions.iter().flat_map(|text| shapes(text)).collect()
}

/// What is wrong with the list: files of which ptxas no longer makes what it says, and encodings that nvdisasm reads
/// otherwise. Files that are not here are left out, with the corpus; of the others, every so-manieth pair with an
/// architecture is compiled.
///
/// # Errors
/// The programs don't run, or a file can't be read.
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
                wrong.push(format!("{arch} {code:032x}: nvdisasm reads `{text}`, which is no `{shape}`"));
            }
        }
    }
    Ok(wrong)
}
