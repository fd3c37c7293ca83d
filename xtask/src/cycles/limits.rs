//! `--limits`: how much worse than ptxas's the compiler's code may be in the simulator with time.
//!
//! Lanes per issue are limited in every case: they show whether the compiler keeps the lanes of a
//! warp together, which no other check does. Cycles are limited only in the cases that `limits.txt`
//! names.

use std::collections::BTreeSet;

use super::report::{Pair, Report};

/// The least lanes per issue, as a fraction of ptxas's.
const LEAST_LANES: f64 = 0.9;
/// The most cycles of the named cases, as a multiple of ptxas's.
const MOST_CYCLES: f64 = 1.3;

/// The cases whose cycles are limited, one per line; text after a `#` is a comment.
pub(crate) const NAMES: &str = include_str!("limits.txt");

/// The limits that are broken, a sentence each. A named case that was selected but could not be
/// compared breaks its limit.
///
/// # Errors
/// A name that occurs twice.
pub(crate) fn broken(report: &Report, names: &str) -> Result<Vec<String>, String> {
    let names = names_in(names)?;
    let mut broken = Vec::new();
    let mut compared = BTreeSet::new();
    for pair in report.pairs() {
        let Pair { name, ours, theirs } = pair;
        let ratios = pair.ratios();
        compared.insert(name);
        if ratios.lanes_per_issue < LEAST_LANES {
            broken.push(format!(
                "{name}: {:.1} lanes per issue are less than {LEAST_LANES} of ptxas's {:.1}",
                ours.lanes_per_issue, theirs.lanes_per_issue
            ));
        }
        if names.contains(name) && ratios.cycles > MOST_CYCLES {
            broken.push(format!(
                "{name}: {} cycles are more than {MOST_CYCLES} times ptxas's {}",
                ours.cycles, theirs.cycles
            ));
        }
    }
    let missing = names.iter().filter(|name| report.has(name) && !compared.contains(*name));
    broken.extend(missing.map(|name| format!("{name}: its cycles are limited, but it was not compared")));
    Ok(broken)
}

/// The names of a list.
pub(super) fn names_in(text: &str) -> Result<BTreeSet<&str>, String> {
    let mut names = BTreeSet::new();
    for line in text.lines() {
        let name = line.split('#').next().unwrap_or("").trim();
        if !name.is_empty() && !names.insert(name) {
            return Err(format!("limits.txt names {name} twice"));
        }
    }
    Ok(names)
}
