//! The comparison as a table, and as JSON.

use std::fmt;

use ptxc_machine::Arch;
use serde::Serialize;

use super::sides::{Figures, Row, Side};
use crate::means::{Summary, ratio};
use crate::table::Align::{Left, Right};
use crate::table::Table;

/// A case that both programs ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) name: &'a str,
    pub(crate) ours: &'a Figures,
    pub(crate) theirs: &'a Figures,
}

impl Pair<'_> {
    /// The compiler's figures divided by ptxas's.
    pub(crate) fn ratios(&self) -> Ratios {
        let (ours, theirs) = (self.ours, self.theirs);
        Ratios {
            cycles: ratio(ours.cycles as f64, theirs.cycles as f64),
            issued: ratio(ours.issued as f64, theirs.issued as f64),
            lanes_per_issue: ratio(ours.lanes_per_issue, theirs.lanes_per_issue),
            registers: ratio(f64::from(ours.registers), f64::from(theirs.registers)),
            warps: ratio(f64::from(ours.warps), f64::from(theirs.warps)),
        }
    }
}

/// The compiler's figures divided by ptxas's. More is better for lanes and warps, less for the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Ratios {
    pub(crate) cycles: f64,
    pub(crate) issued: f64,
    pub(crate) lanes_per_issue: f64,
    pub(crate) registers: f64,
    pub(crate) warps: f64,
}

/// All cases: first those that both programs ran, by the ratio of cycles, the worst first; then the
/// others by name.
pub(crate) struct Report(Vec<Row>);

impl Row {
    fn pair(&self) -> Option<Pair<'_>> {
        let (ours, theirs) = (self.ours.figures()?, self.theirs.figures()?);
        Some(Pair { name: &self.name, ours, theirs })
    }

    /// Both sides, each with the name of its compiler.
    fn sides(&self) -> [(&'static str, &Side); 2] {
        [("our", &self.ours), ("ptxas's", &self.theirs)]
    }
}

impl Report {
    /// The cases in their order.
    pub(crate) fn new(mut rows: Vec<Row>) -> Report {
        let cycles = |row: &Row| row.pair().map(|pair| pair.ratios().cycles);
        rows.sort_by(|one, other| {
            let (first, second) = (cycles(one), cycles(other));
            let worst_first = second.unwrap_or(0.0).total_cmp(&first.unwrap_or(0.0));
            worst_first.then_with(|| one.name.cmp(&other.name))
        });
        Report(rows)
    }

    /// The cases that both programs ran.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = Pair<'_>> {
        self.0.iter().filter_map(Row::pair)
    }

    /// Whether the report has a case of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|row| row.name == name)
    }

    /// The number of programs that do not meet their case's expectation.
    pub(crate) fn failures(&self) -> usize {
        let sides = self.0.iter().flat_map(Row::sides);
        sides.filter(|(_, side)| matches!(side, Side::Wrong(_))).count()
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("case", Left),
            ("cycles", Right),
            ("ptxas", Right),
            ("ratio", Right),
            ("issued", Right),
            ("ptxas", Right),
            ("ratio", Right),
            ("lanes", Right),
            ("ptxas", Right),
            ("ratio", Right),
            ("regs", Right),
            ("ptxas", Right),
            ("ratio", Right),
            ("warps", Right),
            ("ptxas", Right),
            ("ratio", Right),
            ("spills", Right),
            ("ptxas", Right),
        ]);
        for pair in self.pairs() {
            let (ours, theirs, ratios) = (pair.ours, pair.theirs, pair.ratios());
            let two = |value: f64| format!("{value:.2}");
            let one = |value: f64| format!("{value:.1}");
            table.row([
                pair.name.to_string(),
                ours.cycles.to_string(),
                theirs.cycles.to_string(),
                two(ratios.cycles),
                ours.issued.to_string(),
                theirs.issued.to_string(),
                two(ratios.issued),
                one(ours.lanes_per_issue),
                one(theirs.lanes_per_issue),
                two(ratios.lanes_per_issue),
                ours.registers.to_string(),
                theirs.registers.to_string(),
                two(ratios.registers),
                ours.warps.to_string(),
                theirs.warps.to_string(),
                two(ratios.warps),
                ours.spills.to_string(),
                theirs.spills.to_string(),
            ]);
        }
        table
    }

    /// The means of the cases that both programs ran: the name of each figure, and a summary of its
    /// ratios.
    pub(crate) fn means(&self) -> [(&'static str, Summary<'_>); 5] {
        let of =
            |measure: fn(Ratios) -> f64| self.pairs().map(move |pair| (measure(pair.ratios()), pair.name));
        [
            ("cycles", Summary::of(of(|ratios| ratios.cycles))),
            ("issued", Summary::of(of(|ratios| ratios.issued))),
            ("lanes per issue", Summary::of_gains(of(|ratios| ratios.lanes_per_issue))),
            ("registers", Summary::of(of(|ratios| ratios.registers))),
            ("warps", Summary::of_gains(of(|ratios| ratios.warps))),
        ]
    }

    /// A JSON object for each case, one per line.
    pub(crate) fn json(&self, arch: Arch, opt: u8) -> Result<String, String> {
        let mut text = String::new();
        for row in &self.0 {
            let because = |is_meant: fn(&Side) -> Option<&String>| {
                let whose = |(whose, side)| is_meant(side).map(|why| format!("{whose} code: {why}"));
                row.sides().into_iter().filter_map(whose).collect()
            };
            let line = Line {
                case: &row.name,
                arch: arch.to_string(),
                opt,
                ours: row.ours.figures(),
                ptxas: row.theirs.figures(),
                ratios: row.pair().map(|pair| pair.ratios()),
                not_run: because(not_run),
                failed: because(wrong),
            };
            text.push_str(&serde_json::to_string(&line).map_err(|error| error.to_string())?);
            text.push('\n');
        }
        Ok(text)
    }
}

fn not_run(side: &Side) -> Option<&String> {
    match side {
        Side::NotRun(why) => Some(why),
        _ => None,
    }
}

fn wrong(side: &Side) -> Option<&String> {
    match side {
        Side::Wrong(why) => Some(why),
        _ => None,
    }
}

/// A case as `--json` prints it.
#[derive(Serialize)]
struct Line<'a> {
    case: &'a str,
    arch: String,
    opt: u8,
    ours: Option<&'a Figures>,
    ptxas: Option<&'a Figures>,
    ratios: Option<Ratios>,
    not_run: Vec<String>,
    failed: Vec<String>,
}

/// The table, then the cases that were not run and those that failed, then the means.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.table())?;
        let sides =
            || self.0.iter().flat_map(|row| row.sides().map(|(whose, side)| (&row.name, whose, side)));
        for (name, whose, side) in sides() {
            if let Some(why) = not_run(side) {
                writeln!(f, "not run: {name}, {whose} code: {why}")?;
            }
        }
        for (name, whose, side) in sides() {
            if let Some(why) = wrong(side) {
                writeln!(f, "FAILED {name}, {whose} code: {why}")?;
            }
        }
        writeln!(f, "cycles: {} of {} cases compared", self.pairs().count(), self.0.len())?;
        for (what, summary) in self.means() {
            writeln!(f, "{what}: {summary}")?;
        }
        Ok(())
    }
}
