//! All files on all architectures: shapes of our code without a witness, and new witnesses for the
//! list.

use std::collections::{BTreeMap, BTreeSet};

use ptxc_families::Oracle;
use ptxc_machine::{Arch, ByNumber};
use rayon::prelude::*;

use crate::source::Source;
use crate::witnesses::Witnesses;
use crate::{ours, theirs};

/// The optimization level of the code.
const OPT: u8 = 3;

/// The shapes of our code, each with the name of a file that has it.
pub type Ours = BTreeMap<(ByNumber, String), String>;

/// The shapes of our code for all files on all architectures, or for one out of `stride` pairs of
/// these.
///
/// # Errors
/// A file cannot be read.
pub fn ours(sources: &[Source], stride: usize) -> Result<Ours, String> {
    let of = |&arch: &Arch| {
        Source::of(sources, arch).into_iter().map(move |source| (source, arch)).collect::<Vec<_>>()
    };
    let jobs: Vec<_> = Arch::ALL.iter().flat_map(of).step_by(stride).collect();
    let found: Result<Vec<Ours>, String> = jobs
        .par_iter()
        .map(|&(source, arch)| {
            let shapes = ours::of(&source.name, &source.text(arch)?, arch, OPT);
            Ok(shapes.into_iter().map(|shape| ((ByNumber(arch), shape), source.name.clone())).collect())
        })
        .collect();
    Ok(found?.into_iter().flatten().collect())
}

/// The shapes without a witness, one line each, with the architectures and a file that has it.
pub fn without_witness(ours: &Ours, list: &Witnesses) -> Vec<String> {
    let known = list.known();
    let mut unknown: BTreeMap<&str, (Vec<String>, &str)> = BTreeMap::new();
    for ((arch, shape), source) in ours.iter().filter(|((arch, shape), _)| !known.contains(&(*arch, shape))) {
        unknown.entry(shape).or_insert((Vec::new(), source)).0.push(arch.to_string());
    }
    let line = |(shape, (archs, source)): (&str, (Vec<String>, &str))| {
        format!("{} | {shape} (in the code of {source})", archs.join(" "))
    };
    unknown.into_iter().map(line).collect()
}

/// New witnesses for our shapes. Among the files that ptxas compiles, it selects the fewest that
/// have them (with the greedy algorithm for set covers: always the file with the most missing
/// shapes), and from the old list the encodings that are still needed.
///
/// # Errors
/// A file cannot be read.
pub fn observe(
    oracle: &Oracle,
    sources: &[Source],
    ours: &Ours,
    old: &Witnesses,
) -> Result<Witnesses, String> {
    let of = |&arch: &Arch| {
        Source::of(sources, arch).into_iter().map(move |source| (source, arch)).collect::<Vec<_>>()
    };
    let jobs: Vec<_> = Arch::ALL.iter().flat_map(of).collect();
    let found: Result<Vec<_>, String> = jobs
        .par_iter()
        .map(|&(source, arch)| {
            let shapes = theirs::of(oracle, &source.text(arch)?, arch)
                .into_iter()
                .map(|shape| (ByNumber(arch), shape));
            Ok((source, shapes.filter(|pair| ours.contains_key(pair)).collect::<BTreeSet<_>>()))
        })
        .collect();
    let mut candidates: BTreeMap<&Source, BTreeSet<(ByNumber, String)>> = BTreeMap::new();
    found?.into_iter().for_each(|(source, shapes)| candidates.entry(source).or_default().extend(shapes));
    let mut missing: BTreeSet<(ByNumber, String)> = ours.keys().cloned().collect();
    let mut list = Witnesses::default();
    loop {
        candidates.values_mut().for_each(|shapes| shapes.retain(|pair| missing.contains(pair)));
        let best = candidates.iter().rev().max_by_key(|(_, shapes)| shapes.len());
        let Some((source, shapes)) = best.filter(|(_, shapes)| !shapes.is_empty()) else { break };
        let section = list.files.entry(source.name.clone()).or_default();
        for pair in shapes {
            section.entry(pair.1.clone()).or_default().insert(pair.0);
            missing.remove(pair);
        }
    }
    for (arch, shape) in missing {
        for (&code, archs) in old.encodings.get(&shape).into_iter().flatten() {
            if archs.contains(&arch) {
                list.encodings.entry(shape.clone()).or_default().entry(code).or_default().insert(arch);
            }
        }
    }
    Ok(list)
}
