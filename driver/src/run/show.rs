//! The printed results of a run.

use std::fmt::Write as _;

use ptxc_sass::Program;
use ptxc_sim::report::{self, Mismatch, element};
use ptxc_sim::timing::Timing;
use ptxc_sim::{Case, Finding, FindingKind, Hazard, Report, Side, SimError};
use serde_json::{Value, json};

use super::code::Code;
use crate::cli::Engine;
use crate::sass_text::count;
use crate::streams::Streams;

/// A run on one engine.
pub(crate) struct Run {
    /// The engine.
    pub(crate) engine: Engine,
    /// The result of the run.
    pub(crate) result: Result<Report, SimError>,
    /// The results of the model of one SM, if it was asked for.
    pub(crate) timing: Option<Timing>,
    /// Whether the buffers are those that the first engine left; `None` if nothing was compared.
    pub(crate) agrees: Option<bool>,
}

/// The differences of the end of a run, and its wrong elements: the first one of each buffer.
pub(crate) fn mismatches(report: &Report) -> String {
    let mut text = String::new();
    for difference in &report.differences {
        let _ = writeln!(text, "  {difference}");
    }
    for outcome in report.outcomes.iter().filter(|outcome| outcome.wrong > 0) {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "  {}: {} of {} elements are wrong",
            outcome.name, outcome.wrong, outcome.elements
        );
        for Mismatch { index, got, expected } in &outcome.mismatches {
            let _ = writeln!(text, "    [{index}] expected {expected}, got {got}");
        }
        if outcome.wrong > outcome.mismatches.len() {
            let _ = writeln!(text, "    and {} more", outcome.wrong - outcome.mismatches.len());
        }
    }
    text.truncate(text.trim_end().len());
    text
}

impl Run {
    /// Whether the run finished without hazards, with the expected content or that of another
    /// engine.
    pub(crate) fn is_fine(&self) -> bool {
        self.result.as_ref().is_ok_and(Report::passed)
    }

    /// The hazards that the control codes allow, and the final result.
    pub(crate) fn end(&self) -> (&[Hazard], Result<&Report, &SimError>) {
        match &self.result {
            Ok(report) => (&report.hazards, Ok(report)),
            Err(SimError::After { hazards, error, .. }) => (hazards, Err(error)),
            Err(error) => (&[], Err(error)),
        }
    }

    /// The text that the kernel printed, also before an error.
    pub(crate) fn printed(&self) -> &str {
        match &self.result {
            Ok(report) => &report.printed,
            Err(SimError::After { printed, .. }) => printed,
            Err(_) => "",
        }
    }

    /// The reads of unwritten memory and the races.
    pub(crate) fn findings(&self) -> &[Finding] {
        match &self.result {
            Ok(report) => &report.findings,
            Err(SimError::After { findings, .. }) => findings,
            Err(_) => &[],
        }
    }
}

/// Says how many findings of each kind there are.
pub(crate) fn summary(findings: &[Finding]) -> String {
    let of = |kind| findings.iter().filter(|finding| finding.kind == kind).count();
    let kinds = [
        (FindingKind::Unwritten, "read of unwritten memory", "reads of unwritten memory"),
        (FindingKind::Race, "race in shared memory", "races in shared memory"),
    ];
    let parts: Vec<String> = kinds
        .into_iter()
        .filter_map(|(kind, one, several)| match of(kind) {
            0 => None,
            1 => Some(format!("1 {one}")),
            more => Some(format!("{more} {several}")),
        })
        .collect();
    parts.join(", ")
}

/// The buffers that a launch changed, their first elements, and how much was executed.
pub(crate) fn changes(case: &Case, report: &Report, shown: usize) -> String {
    let mut text = String::new();
    let mut unchanged = Vec::new();
    for (buffer, outcome) in case.buffers().zip(&report.outcomes) {
        let size = buffer.elem.bytes() as usize;
        let changed =
            buffer.init.chunks(size).zip(outcome.content.chunks(size)).filter(|(old, new)| old != new);
        let changed = changed.count();
        if changed == 0 {
            unchanged.push(buffer.name.as_str());
            continue;
        }
        let elements = outcome.content.chunks(size).take(shown);
        let values: Vec<String> = elements.map(|bytes| element(buffer.elem, bytes)).collect();
        let more = if outcome.elements > shown { ", …" } else { "" };
        let _ = writeln!(
            text,
            "{}: {changed} of {} elements changed; contents: {}{more}",
            buffer.name,
            outcome.elements,
            values.join(", ")
        );
    }
    if !unchanged.is_empty() {
        let _ = writeln!(text, "unchanged: {}", unchanged.join(", "));
    }
    let steps = usize::try_from(report.steps).unwrap_or(usize::MAX);
    let _ = writeln!(text, "{}", count(steps, "warp instruction"));
    text
}

/// Prints one JSON object on standard output: see `docs/run.md`.
pub(crate) fn stats(input: &str, code: &Code, runs: &[Run], streams: &mut Streams<'_>) {
    let list: Vec<Value> = runs.iter().map(run).collect();
    let passed =
        runs.iter().all(|run| run.agrees != Some(false) && run.result.as_ref().is_ok_and(Report::passed));
    let object = json!({ "input": input, "kernel": code.entry, "passed": passed, "runs": list });
    let _ = writeln!(streams.out, "{object}");
}

fn run(run: &Run) -> Value {
    let mut object = json!({ "engine": run.engine.to_string() });
    let (hazards, end) = run.end();
    let hazards = hazards.iter().map(|hazard| {
        json!({
            "consumer": hazard.what.consumer * Program::INST_BYTES,
            "producer": hazard.what.producer * Program::INST_BYTES,
            "register": hazard.what.reg.map(|reg| reg.to_string()),
            "count": hazard.count,
            "text": hazard.to_string(),
        })
    });
    object["hazards"] = hazards.collect();
    object["findings"] = run.findings().iter().map(finding).collect();
    if !run.printed().is_empty() {
        object["printed"] = json!(run.printed());
    }
    match end {
        Err(error) => object["error"] = json!(error.to_string()),
        Ok(report) => {
            object["warp_instructions"] = json!(report.steps);
            if !report.differences.is_empty() {
                object["differences"] = json!(report.differences);
            }
            object["buffers"] = report.outcomes.iter().map(buffer).collect();
        }
    }
    if let Some(timing) = &run.timing {
        object["timing"] = json!(timing);
    }
    object
}

fn finding(finding: &Finding) -> Value {
    let side = |side: &Side| {
        json!({
            "access": side.role.to_string(),
            "cta": side.thread.cta,
            "thread": side.thread.tid,
            "instruction": side.text,
            "line": side.line,
        })
    };
    json!({
        "kind": finding.kind.name(),
        "memory": if finding.is_shared { "shared" } else { "local" },
        "cta": finding.cta,
        "address": finding.address,
        "bytes": finding.bytes,
        "variable": finding.variable.as_ref().map(|(name, _)| name),
        "offset": finding.variable.as_ref().map(|(_, offset)| offset),
        "sides": finding.sides.iter().map(side).collect::<Vec<_>>(),
        "count": finding.count,
        "text": finding.to_string(),
    })
}

fn buffer(outcome: &report::Outcome) -> Value {
    let first = outcome
        .mismatches
        .iter()
        .map(|Mismatch { index, got, expected }| json!({ "index": index, "got": got, "expected": expected }));
    json!({
        "name": outcome.name,
        "elements": outcome.elements,
        "checked": outcome.checked,
        "wrong": outcome.wrong,
        "first": first.collect::<Vec<_>>(),
    })
}
