//! Tries every form of every instruction, compares with ptxas, and counts.

use std::collections::BTreeSet;
use std::io::Write as _;

use ptxc_tests::forms::combinations::{self, Problems, TARGETS};
use ptxc_tests::forms::cores;
use ptxc_tests::forms::execute::{self, Forms, Verdict};
use ptxc_tests::forms::images;
use ptxc_tests::forms::report::Report;
use ptxc_tests::oracle::ptxas;

use crate::families::{Families, save};

/// The architectures on which forms are executed.
const ARCHS: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"];

/// The options of `xtask forms`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FormsArgs {
    /// Try at most about this many combinations of the modifiers of a row.
    #[arg(long, default_value_t = 400)]
    most: usize,
    /// Only opcodes that contain this.
    #[arg(long, default_value = "")]
    only: String,
    /// Write the page of the book with the counts.
    #[arg(long)]
    write: bool,
}

impl FormsArgs {
    /// Tries all forms; a problem is an error.
    pub(crate) fn run(&self) -> Result<(), String> {
        let oracle = ptxas();
        let is_whole = self.only.is_empty();
        if self.write && (oracle.is_none() || !is_whole) {
            return Err("the page needs ptxas and all forms".to_string());
        }
        let mut wrong = Vec::new();
        let mut report = Report { most: self.most, ..Report::default() };
        let say = |what: String| {
            // Progress that nobody reads is not an error.
            let _ = writeln!(std::io::stderr(), "{what}");
        };

        let mut lines = combinations::lines(self.most);
        lines.retain(|line, _| line.contains(&self.only));
        let mut problems = Problems::default();
        for (index, target) in TARGETS.iter().enumerate() {
            let accepted = combinations::accepted(lines.keys(), target);
            let unlowered = combinations::unlowered(&accepted, target);
            let refused = oracle.as_ref().map(|ptxas| combinations::refused(ptxas, &accepted, target));
            problems.add(&unlowered, target);
            let mut count = |line: &str, change: fn(&mut ptxc_tests::forms::report::Count)| {
                change(&mut report.combinations.entry(lines[line]).or_default()[index]);
            };
            for line in &accepted {
                count(line, |count| {
                    count.accepted += 1;
                    count.lowered += 1;
                });
            }
            unlowered.iter().for_each(|(line, _)| count(line, |count| count.lowered -= 1));
            refused.iter().flatten().for_each(|line| count(line, |count| count.refused += 1));
            let theirs = refused.map_or("not asked".to_string(), |list| format!("refuses {}", list.len()));
            say(format!(
                "{target}: {} combinations, {} do not lower; ptxas {theirs}",
                accepted.len(),
                unlowered.len()
            ));
        }
        wrong.extend(problems.list(is_whole));

        let forms = Forms::of(&self.only, 1);
        let mut used = BTreeSet::new();
        for arch in ARCHS {
            let verdicts = forms.execute(arch);
            wrong.extend(forms.problems(arch, &verdicts, &mut used));
            let agreeing = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Agrees(..))).count();
            say(format!("{arch}: {agreeing} forms agree with the references"));
            report.executed.push((arch.to_string(), agreeing));
            if let Some(ptxas) = &oracle {
                let mut compared = cores::compare_with_ptxas(ptxas, arch, &forms, &verdicts);
                say(format!("{arch}: {} kernels of ptxas leave the same", compared.ran));
                wrong.append(&mut compared.wrong);
                report.compared.push((arch.to_string(), compared));
            }
        }
        if is_whole {
            wrong.extend(execute::unused(&used));
        }
        if oracle.is_some() && is_whole {
            let all: Vec<_> = report.compared.iter().map(|(_, compared)| compared).collect();
            wrong.extend(cores::unused(&all));
        }
        if is_whole {
            report.images = images::check(oracle.as_deref(), 1);
            say(format!("textures and surfaces: {}", report.images));
        }
        for what in &wrong {
            println!("{what}");
        }
        if !wrong.is_empty() {
            return Err(format!("{} problems", wrong.len()));
        }
        if self.write {
            save("docs/forms.md", &report.page())?;
        }
        if is_whole { Families::all().run() } else { Ok(()) }
    }
}
