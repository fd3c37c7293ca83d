//! `--limits`: how much worse than ptxas's the compiler's code may be in the simulator with time.
//!
//! Lanes per issue are limited in every case: they show whether the compiler keeps the lanes of a
//! warp together, which no other check does. Cycles are limited only in the cases that `limits.txt`
//! names. A name with `turns` after it is that of a case in which lanes execute an instruction one
//! after the other, because it needs a uniform register: ptxc's code branches there, and ptxas's code
//! has predicates instead, so that all lanes count as active. There only cycles are limited. A number
//! after `turns` is a limit of its own.

use std::collections::{BTreeMap, BTreeSet};

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
        let limit = names.get(name);
        let takes_turns = limit.is_some_and(|limit| limit.lanes == Lanes::TakeTurns);
        if ratios.lanes_per_issue < LEAST_LANES && !takes_turns {
            broken.push(format!(
                "{name}: {:.1} lanes per issue are less than {LEAST_LANES} of ptxas's {:.1}",
                ours.lanes_per_issue, theirs.lanes_per_issue
            ));
        }
        if let Some(limit) = limit
            && ratios.cycles > limit.most_cycles
        {
            let (most, ours, theirs) = (limit.most_cycles, ours.cycles, theirs.cycles);
            broken.push(format!("{name}: {ours} cycles are more than {most} times ptxas's {theirs}"));
        }
    }
    let missing = names.keys().filter(|name| report.has(name) && !compared.contains(**name));
    broken.extend(missing.map(|name| format!("{name}: its cycles are limited, but it was not compared")));
    Ok(broken)
}

/// What the lanes of a warp do in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// They may stay together as long as ptxas's do.
    Stay,
    /// They execute an instruction one after the other.
    TakeTurns,
}

/// The limit of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    /// What the lanes of a warp do.
    pub(super) lanes: Lanes,
    /// The most cycles, as a multiple of ptxas's.
    pub(super) most_cycles: f64,
}

/// The names of a list.
pub(super) fn names_in(text: &str) -> Result<BTreeMap<&str, Limit>, String> {
    let mut names = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or("").split_whitespace();
        let Some(name) = words.next() else { continue };
        let lanes = match words.next() {
            None => Lanes::Stay,
            Some("turns") => Lanes::TakeTurns,
            Some(word) => return Err(format!("limits.txt says `{word}` of {name}, which means nothing")),
        };
        let most_cycles = match words.next().map(str::parse) {
            None => MOST_CYCLES,
            Some(Ok(most)) => most,
            Some(Err(_)) => return Err(format!("limits.txt has no number after `turns` of {name}")),
        };
        if names.insert(name, Limit { lanes, most_cycles }).is_some() {
            return Err(format!("limits.txt names {name} twice"));
        }
    }
    Ok(names)
}
