//! Compares the buffers after a launch with their expected content.

use std::fmt;

use ptxc_semantics::{BF16, F16, F32, F64, Format, Mode, convert};

use crate::case::{Buffer, Case, Elem, Tolerance};
use crate::checks::{Finding, show_findings};
use crate::error::SimError;
use crate::hazard::{Hazard, show_hazards};
use crate::memory::{Global, GridMemory, read_le};
use crate::printed;

/// The number of wrong elements of a buffer that a report shows.
const SHOWN: usize = 4;

/// A wrong element.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Its index.
    pub index: usize,
    /// The actual value.
    pub got: String,
    /// The expected value.
    pub expected: String,
}

/// The outcome for a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// Number of elements.
    pub elements: usize,
    /// Whether any content was expected.
    pub checked: bool,
    /// Number of wrong elements.
    pub wrong: usize,
    /// The first few wrong elements.
    pub mismatches: Vec<Mismatch>,
    /// The content after the launch.
    pub content: Vec<u8>,
}

/// The outcome of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The buffers, in the order of the arguments.
    pub outcomes: Vec<Outcome>,
    /// Warp instructions executed.
    pub steps: u64,
    /// The hazards, if [they](crate::Options::hazards) were checked.
    pub hazards: Vec<Hazard>,
    /// The reads of unwritten memory and the races, if [they](crate::Options::check_unwritten) were
    /// checked.
    pub findings: Vec<Finding>,
    /// The text that the kernel printed: the threads in order, and the texts of each in order.
    pub printed: String,
    /// The differences between the end of the run and the [expected](crate::case::Ending) one.
    pub differences: Vec<String>,
}

impl Report {
    /// Whether everything is as expected and there was neither a hazard nor a finding.
    pub fn passed(&self) -> bool {
        self.hazards.is_empty() && self.findings.is_empty() && self.is_as_expected()
    }

    /// Whether the end of the run and the content of all buffers are as expected.
    pub fn is_as_expected(&self) -> bool {
        self.differences.is_empty() && self.outcomes.iter().all(|outcome| outcome.wrong == 0)
    }

    /// The report of a run that ended after so many steps, or its error with all that came before it.
    /// If the case expects a fault, a fault ends the run.
    ///
    /// # Errors
    /// The error of the run.
    pub(crate) fn of_run(
        case: &Case,
        memory: GridMemory,
        result: Result<u64, SimError>,
        hazards: Vec<Hazard>,
        findings: Vec<Finding>,
    ) -> Result<Report, SimError> {
        let printed = printed::in_order(memory.printed);
        let (steps, fault) = match result {
            Ok(steps) => (steps, None),
            Err(fault @ SimError::Fault { .. }) if case.ending.fault.is_some() => {
                (memory.steps_before_fault, Some(fault))
            }
            Err(error) => return Err(error.after(hazards, findings, printed)),
        };
        let differences = case.ending.differences(fault.as_ref(), &printed);
        let report = Report::new(case, &memory.global, steps);
        Ok(Report { hazards, findings, printed, differences, ..report })
    }

    /// Compares memory after the launch with the case. The buffers are the first allocations.
    fn new(case: &Case, global: &Global, steps: u64) -> Report {
        let outcomes = case
            .buffers()
            .zip(&global.allocations)
            .map(|(buffer, allocation)| compare(buffer, &allocation.data))
            .collect();
        Report {
            outcomes,
            steps,
            hazards: Vec::new(),
            findings: Vec::new(),
            printed: String::new(),
            differences: Vec::new(),
        }
    }
}

/// Compares the content of a buffer after a launch with its expected content.
pub fn compare(buffer: &Buffer, content: &[u8]) -> Outcome {
    let size = buffer.elem.bytes() as usize;
    let mut outcome = Outcome {
        name: buffer.name.clone(),
        elements: content.len() / size,
        checked: buffer.expect.is_some(),
        wrong: 0,
        mismatches: Vec::new(),
        content: content.to_vec(),
    };
    let Some(expect) = &buffer.expect else { return outcome };
    for (index, (got, expected)) in content.chunks(size).zip(expect.chunks(size)).enumerate() {
        let (got, expected) = (read_le(got), read_le(expected));
        if !is_right(buffer.elem, buffer.tolerance, got, expected) {
            outcome.wrong += 1;
            if outcome.mismatches.len() < SHOWN {
                let (got, expected) = (show(buffer.elem, got), show(buffer.elem, expected));
                outcome.mismatches.push(Mismatch { index, got, expected });
            }
        }
    }
    outcome
}

/// Whether an element has the expected value. Any NaN equals any other; an infinity is near only
/// itself.
fn is_right(elem: Elem, tolerance: Tolerance, got: u64, expected: u64) -> bool {
    if got == expected {
        return true;
    }
    let (got, expected) = match format(elem) {
        Some(format) => (float(format, got), float(format, expected)),
        None => (integer(elem, got) as f64, integer(elem, expected) as f64),
    };
    if got.is_nan() || expected.is_nan() {
        return got.is_nan() && expected.is_nan();
    }
    match tolerance {
        Tolerance::Exact => elem.is_float() && got == expected,
        Tolerance::Near { .. } if got.is_infinite() || expected.is_infinite() => got == expected,
        Tolerance::Near { abs, rel } => (got - expected).abs() <= abs + rel * expected.abs(),
    }
}

fn format(elem: Elem) -> Option<Format> {
    match elem {
        Elem::F16 => Some(F16),
        Elem::Bf16 => Some(BF16),
        Elem::F32 => Some(F32),
        Elem::F64 => Some(F64),
        _ => None,
    }
}

fn float(format: Format, bits: u64) -> f64 {
    f64::from_bits(convert::float_to_float(format, F64, bits, Mode::IEEE))
}

fn integer(elem: Elem, bits: u64) -> i128 {
    let signed = matches!(elem, Elem::S8 | Elem::S16 | Elem::S32 | Elem::S64);
    ptxc_semantics::IntType::new(elem.bytes() * 8, signed).value(bits)
}

/// An element of a buffer as a decimal number, given its bytes.
pub fn element(elem: Elem, bytes: &[u8]) -> String {
    number(elem, read_le(bytes))
}

fn number(elem: Elem, bits: u64) -> String {
    match format(elem) {
        Some(format) => float(format, bits).to_string(),
        None => integer(elem, bits).to_string(),
    }
}

fn show(elem: Elem, bits: u64) -> String {
    format!("{} ({bits:#0width$x})", number(elem, bits), width = 2 + 2 * elem.bytes() as usize)
}

impl Case {
    /// The same launch, which must leave the same content as another run.
    pub fn expecting(&self, report: &Report) -> Case {
        let mut case = self.clone();
        for (buffer, outcome) in case.buffers_mut().into_iter().zip(&report.outcomes) {
            buffer.expect = Some(outcome.content.clone());
        }
        case
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for outcome in &self.outcomes {
            let Outcome { name, elements, wrong, .. } = outcome;
            match (outcome.checked, wrong) {
                (false, _) => writeln!(f, "{name}: {elements} elements, nothing expected")?,
                (true, 0) => writeln!(f, "{name}: {elements} elements, all as expected")?,
                (true, _) => writeln!(f, "{name}: {wrong} of {elements} elements are wrong")?,
            }
            for Mismatch { index, got, expected } in &outcome.mismatches {
                writeln!(f, "  [{index}] is {got}, expected {expected}")?;
            }
        }
        self.differences.iter().try_for_each(|difference| writeln!(f, "{difference}"))?;
        show_hazards(f, &self.hazards)?;
        show_findings(f, &self.findings)?;
        write!(f, "{} warp instructions", self.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_compare_as_values() {
        let bits = |value: f32| u64::from(value.to_bits());
        let exact = |a, b| is_right(Elem::F32, Tolerance::Exact, a, b);
        assert!(exact(bits(-0.0), bits(0.0)));
        assert!(exact(0x7fff_ffff, bits(f32::NAN)));
        assert!(!exact(bits(f32::NAN), bits(1.0)));
        assert!(!exact(bits(1.0), bits(1.0 + f32::EPSILON)));
        assert!(is_right(Elem::F16, Tolerance::Exact, 0x8000, 0));
    }

    #[test]
    fn tolerance_is_absolute_plus_relative() {
        let bits = |value: f32| u64::from(value.to_bits());
        let near = |a, b| is_right(Elem::F32, Tolerance::Near { abs: 0.5, rel: 0.25 }, bits(a), bits(b));
        assert!(near(4.5, 4.0) && near(5.5, 4.0) && !near(5.75, 4.0));
        assert!(near(f32::INFINITY, f32::INFINITY) && !near(f32::INFINITY, 1.0) && !near(1.0, f32::INFINITY));
        assert!(!is_right(Elem::U64, Tolerance::Exact, u64::MAX, u64::MAX - 1), "no rounding of integers");
    }
}
