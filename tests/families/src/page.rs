//! The page of the book that shows the forms: the observed results of ptxas, and the differences of
//! this compiler with their reasons.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ptxc_machine::Arch;

use crate::differences;
use crate::enumerate;
use crate::form::{Family, Form};
use crate::observed;
use crate::outcome::Outcome;

/// The text before the tables.
const HEAD: &str = "# Instruction families

This page lists forms of barriers, fences, atomics and warp operations, with the code that `ptxas`
makes of each. `ptxc` makes the same code, except for the [differences](#differences).
`cargo xtask families --write` generates the page from `tests/families`, and a test fails if it is
out of date. [Tests](tests.md#families) describes the comparison. It covers many more forms than
this page shows: other operands, settings, orders, versions, and invalid forms.

`tests/families/src/kernel.rs` explains the names of the operands. `w0`, `x0`, `h0`, `q0` are 32,
64, 16 and 128 bits that a thread loads. `rw` and similar names are results. `ga`, `na`, `sa` are
global, generic and shared addresses. `bn` and `bc` are a barrier's name and count, and `um` is a
mask. `@divergent` stands for code under a condition that depends on the thread, and `@arms` for
both arms of a branch on such a condition. The SASS shows registers by their kind, and only
instructions of the families.
";

/// `sm_75`–`sm_89` for neighbours.
fn archs(list: &[Arch]) -> String {
    match (list, list.first(), list.last()) {
        (list, ..) if list.len() == Arch::ALL.len() => String::new(),
        ([only], ..) => format!("`{only}`: "),
        (list, Some(first), Some(last)) => {
            let start = Arch::ALL.iter().position(|arch| arch == first).unwrap_or(0);
            if Arch::ALL[start..].starts_with(list) {
                format!("`{first}`–`{last}`: ")
            } else {
                list.iter().map(|arch| format!("`{arch}`")).collect::<Vec<_>>().join(", ") + ": "
            }
        }
        _ => String::new(),
    }
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Code(signature) if signature.0.is_empty() => "nothing".to_string(),
        Outcome::Code(_) => format!("`{outcome}`"),
        Outcome::Refused(why) => format!("*refused: {why}*"),
    }
}

/// The text of the page.
///
/// # Errors
/// One of the files cannot be read.
pub fn text() -> Result<String, String> {
    let (version, observations) = observed::read(&crate::file(observed::FILE)?)?;
    let forms: BTreeMap<String, Form> =
        enumerate::all().into_iter().map(|form| (form.to_string(), form)).collect();
    let count = forms.len();
    let mut text = HEAD.to_string();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n{count} forms are compared on each architecture; ptxas is *{version}*.");
    for family in Family::ALL {
        let of = |name: &str| forms.get(name).is_some_and(|form| form.family == family);
        let (count, name) = (forms.values().filter(|form| form.family == family).count(), family.name());
        let _ = write!(
            text,
            "\n## {name}\n\n{count} forms. This page shows these:\n\n| PTX | SASS |\n|---|---|\n"
        );
        for observation in observations.iter().filter(|observation| of(&observation.form)) {
            let list = observation.by_outcome();
            let list: Vec<String> =
                list.iter().map(|(on, seen)| format!("{}{}", archs(on), outcome(seen))).collect();
            let _ = writeln!(text, "| `{}` | {} |", cell(&observation.form), cell(&list.join("<br>")));
        }
    }
    let list = differences::parse(&crate::file(differences::FILE)?)?;
    let _ = write!(text, "\n## Differences\n\n| difference | reason |\n|---|---|\n");
    for difference in list {
        let _ = writeln!(text, "| `{}` | {} |", difference.name, cell(&difference.why));
    }
    Ok(text)
}
