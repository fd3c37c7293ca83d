//! The results of a campaign: counts, faults, and the inputs with the greatest figures.

use std::collections::BTreeMap;
use std::fmt;

use super::input::Input;
use super::process::{Answer, End};
use super::ways::Way;

/// The number of inputs with the greatest figures that are named.
const NAMED: usize = 8;
/// The number of inputs per fault that are studied.
const STUDIED: u64 = 1;

/// The counts so far.
#[derive(Debug, Default)]
pub(super) struct Report {
    runs: u64,
    accepted: u64,
    faults: BTreeMap<String, u64>,
    slowest: Vec<(u64, String)>,
    largest: Vec<(u64, String)>,
}

impl Report {
    /// Whether a fault has been studied often enough.
    pub(super) fn is_known(&self, fault: &str) -> bool {
        // Each input that exceeds a limit has its own reason.
        !fault.starts_with("too ") && self.faults.get(fault).is_some_and(|&count| count >= STUDIED)
    }

    /// Counts a run.
    pub(super) fn count(&mut self, input: &Input, way: &Way, answer: Answer, fault: Option<String>) {
        self.runs += 1;
        self.accepted += u64::from(answer.end == End::Code(0));
        if let Some(fault) = fault {
            *self.faults.entry(fault).or_default() += 1;
        }
        let label = || format!("{}, {}", input.label(), way.name);
        keep(&mut self.slowest, answer.time.as_millis() as u64, label);
        keep(&mut self.largest, answer.memory * 1024 / 1_000_000, label);
    }

    /// The number of failed runs.
    pub(super) fn failures(&self) -> u64 {
        self.faults.values().sum()
    }

    /// A short text for progress reports.
    pub(super) fn state(&self) -> String {
        let most = |list: &[(u64, String)]| list.first().map_or(0, |(most, _)| *most);
        format!(
            "{} failures, at most {} ms and {} MB",
            self.failures(),
            most(&self.slowest),
            most(&self.largest)
        )
    }
}

/// Keeps the largest figures, in order.
fn keep(list: &mut Vec<(u64, String)>, figure: u64, label: impl FnOnce() -> String) {
    let place = list.partition_point(|(other, _)| *other >= figure);
    if place < NAMED {
        list.insert(place, (figure, label()));
        list.truncate(NAMED);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} runs, {} with exit code 0, {} failures", self.runs, self.accepted, self.failures())?;
        for (fault, count) in &self.faults {
            writeln!(f, "{count:6} {fault}")?;
        }
        writeln!(f, "slowest:")?;
        for (figure, label) in &self.slowest {
            writeln!(f, "{figure:6} ms  {label}")?;
        }
        writeln!(f, "largest:")?;
        self.largest.iter().try_for_each(|(figure, label)| writeln!(f, "{figure:6} MB  {label}"))
    }
}
