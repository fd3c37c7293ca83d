//! The verdict on a form: whether this compiler does the same as ptxas, or what the list of
//! differences says.

use std::fmt::Write as _;

use ptxc_machine::Arch;

use crate::differences::{self, Difference};
use crate::form::Form;
use crate::outcome::Outcome;
use crate::refusals::{self, Meaning};

/// Whether two outcomes are the same: equal instructions in any order, or refusals with the same
/// meaning. Also returns the index of the meaning, if there is one.
fn same(meanings: &[Meaning], expected: &Outcome, ours: &Outcome) -> (Option<usize>, bool) {
    match (expected, ours) {
        (Outcome::Code(expected), Outcome::Code(ours)) => (None, expected.sorted() == ours.sorted()),
        (Outcome::Refused(theirs), Outcome::Refused(ours)) => {
            // An entry of the list names our code itself.
            let is_code = ours.split("; ").any(|error| error.split(':').next() == Some(theirs));
            let (meaning, is_same) = refusals::means_the_same(meanings, theirs, ours);
            (meaning, is_code || is_same)
        }
        _ => (None, false),
    }
}

/// The lists for the verdicts, and a record of the entries that were needed.
#[derive(Debug)]
pub struct Judge {
    differences: Vec<Difference>,
    meanings: Vec<Meaning>,
    needed: Vec<usize>,
    meant: Vec<usize>,
    /// The number of forms that were judged.
    pub forms: usize,
    /// The number of those that both compilers refuse.
    pub refused: usize,
    /// The errors, form by form.
    pub wrong: Vec<String>,
}

impl Judge {
    /// A judge with the lists of this crate.
    ///
    /// # Errors
    /// The errors in the lists.
    pub fn new() -> Result<Judge, String> {
        let differences = differences::parse(&crate::file(differences::FILE)?)?;
        let meanings = refusals::parse(&crate::file(refusals::FILE)?)?;
        let (needed, meant) = (vec![0; differences.len()], vec![0; meanings.len()]);
        Ok(Judge { differences, meanings, needed, meant, forms: 0, refused: 0, wrong: Vec::new() })
    }

    /// Judges the outcomes of one form. Returns whether they agree or differ as the list says.
    pub fn judge(&mut self, arch: Arch, form: &Form, theirs: &Outcome, ours: &Outcome) -> bool {
        self.forms += 1;
        let (expected, used) = differences::expected(&self.differences, arch, form, theirs);
        used.iter().for_each(|&index| self.needed[index] += 1);
        let (meaning, agrees) = same(&self.meanings, &expected, ours);
        if let Some(meaning) = meaning {
            self.meant[meaning] += 1;
        }
        if let (Outcome::Refused(_), Outcome::Refused(_)) = (theirs, ours) {
            self.refused += 1;
        }
        if !agrees {
            let mut what = format!("{arch} {form}\n    ptxas: {theirs}\n    ours:  {ours}");
            for &index in &used {
                // Writing to a string cannot fail.
                let _ = write!(what, "\n    by [{}]: {expected}", self.differences[index].name);
            }
            self.wrong.push(what);
        }
        agrees
    }

    /// The names of entries that no form needed. It is meaningful after all forms of all
    /// architectures have been judged.
    pub fn unused(&self) -> Vec<String> {
        let entries = self.differences.iter().zip(&self.needed).filter(|(_, count)| **count == 0);
        let entries = entries.map(|(difference, _)| format!("[{}] of differences.txt", difference.name));
        let meanings = self.meanings.iter().zip(&self.meant).filter(|(_, count)| **count == 0);
        entries.chain(meanings.map(|(meaning, _)| format!("`{}` of refusals.txt", meaning.message))).collect()
    }

    /// Entries that match no form on any architecture, and so can never be needed.
    pub fn about_nothing(&self, forms: &[Form]) -> Vec<String> {
        let names: Vec<String> = forms.iter().map(Form::to_string).collect();
        let is_about = |difference: &Difference| {
            Arch::ALL.iter().any(|&arch| names.iter().any(|name| difference.is_about(arch, name)))
        };
        let list = self.differences.iter().filter(|difference| !is_about(difference));
        list.map(|difference| difference.name.clone()).collect()
    }

    /// The number of times that each entry was needed.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{} forms, {} of them refused by both; {} unexplained",
            self.forms,
            self.refused,
            self.wrong.len()
        );
        for (difference, count) in self.differences.iter().zip(&self.needed).filter(|(_, count)| **count > 0)
        {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n  deliberate [{}] {count}: {}", difference.name, difference.why);
        }
        text
    }
}
