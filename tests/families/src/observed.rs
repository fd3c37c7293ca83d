//! The observed results of ptxas for the forms that the book shows: facts that can be read without
//! ptxas.
//!
//! `observed.txt` begins with the version of ptxas. Then follows each form, with a line after a tab
//! for every outcome and the architectures that have it:
//!
//! ```text
//! atom.shared.add.u32 rw, [sa], w0
//!     sm_75 sm_80 sm_86 sm_89 sm_90: ATOMS.ADD R, [R], R
//! ```
//!
//! `cargo xtask families --observe` writes it.

use std::fmt::Write as _;

use ptxc_machine::Arch;

use crate::enumerate;
use crate::form::{Family, Form, Setting};
use crate::outcome::Outcome;

/// The name of the file.
pub const FILE: &str = "observed.txt";

/// A form with its outcome on each architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The form's name.
    pub form: String,
    /// An outcome for each architecture, oldest first.
    pub outcomes: Vec<(Arch, Outcome)>,
}

impl Observation {
    /// The outcomes, each with the architectures that have it.
    pub fn by_outcome(&self) -> Vec<(Vec<Arch>, &Outcome)> {
        let mut list: Vec<(Vec<Arch>, &Outcome)> = Vec::new();
        for (arch, outcome) in &self.outcomes {
            match list.iter_mut().find(|(_, known)| *known == outcome) {
                Some((archs, _)) => archs.push(*arch),
                None => list.push((vec![*arch], outcome)),
            }
        }
        list
    }
}

/// Operands that represent the others in the book: constants, values that threads load, an address
/// of each kind.
const SHOWN: [&str; 32] = [
    "1",
    "64",
    "bn",
    "bc",
    "p0",
    "w0",
    "w1",
    "w2",
    "w3",
    "x0",
    "x1",
    "h0",
    "h1",
    "q0",
    "q1",
    "rw",
    "rx",
    "rh",
    "rq",
    "rp",
    "_",
    "[ga]",
    "[na]",
    "[sa]",
    "[phase]",
    "0x1f",
    "0xffffffff",
    "128",
    "96",
    "um",
    "rw|rp",
    "pol",
];

/// Whether the book shows a form. It shows every opcode with typical operands, with orders and
/// scopes where they add information, and no near misses.
pub fn is_shown(form: &Form) -> bool {
    let operands = form.text.split_once(' ').map_or("", |(_, operands)| operands);
    let is_vector = form.family == Family::Vector;
    let usual =
        operands.is_empty() || is_vector || operands.split(", ").all(|operand| SHOWN.contains(&operand));
    let parts: Vec<&str> = form.opcode().split('.').collect();
    let has = |names: &[&str]| names.iter().any(|name| parts.contains(name));
    let ordered = has(&["relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys"]);
    let in_setting = form.setting == Setting::Converged;
    let is_plain = match form.family {
        Family::Barrier => {
            let listed = ["1", "64", "bn", "bc", "p0", "rw", "rp", "um"];
            let is_listed = operands.split(", ").all(|operand| listed.contains(&operand));
            !has(&["cta", "or"]) && is_listed && (in_setting || operands.ends_with("bn, bc"))
        }
        Family::Fence => in_setting,
        Family::Mbarrier => {
            let is_usual = has(&["shared::cta", "shared::cluster"]) && !has(&["arrive_drop", "relaxed"]);
            in_setting && is_usual && !form.opcode().contains("noinc")
        }
        Family::Atomic => {
            let is_common = form.opcode().ends_with(".add.u32") && has(&["global"]);
            let hinted = operands.ends_with("pol");
            in_setting
                && !has(&["shared::cta"])
                && (is_common || !(ordered || hinted || operands.starts_with('_')))
        }
        Family::Vector => {
            in_setting
                && !ordered
                && has(&["global"])
                && operands.contains("[ga]")
                && !operands.contains("{d")
        }
        Family::Warp if form.opcode().starts_with("shfl") => {
            let is_short =
                ["rw|rp, w0, 1, 0x1f, 0xffffffff", "rw, w0, w1, w2, 0xffffffff", "rw, w0, 1, 0x1f, um"];
            is_short.contains(&operands) && (in_setting || operands.ends_with("um"))
        }
        Family::Warp => in_setting || operands.ends_with("um"),
    };
    // The sums of `f32` that keep subnormals need newer modules.
    let version = if has(&["noftz"]) && has(&["f32"]) { enumerate::NOFTZ } else { Form::VERSION };
    form.version == version && usual && is_plain
}

/// The forms that the book may show: some of them are legal nowhere, which only ptxas can tell.
pub fn candidates() -> Vec<Form> {
    enumerate::all().into_iter().filter(is_shown).collect()
}

/// Writes observations.
pub fn write(version: &str, observations: &[Observation]) -> String {
    let mut text = format!("{version}\n");
    for observation in observations {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", observation.form);
        for (archs, outcome) in observation.by_outcome() {
            let archs: Vec<String> = archs.iter().map(Arch::to_string).collect();
            let _ = writeln!(text, "\t{}: {outcome}", archs.join(" "));
        }
    }
    text
}

/// Reads observations: the version of ptxas, and the forms in order.
///
/// # Errors
/// The line that cannot be read.
pub fn read(text: &str) -> Result<(String, Vec<Observation>), String> {
    let mut lines = text.lines();
    let version = lines.next().unwrap_or_default().to_string();
    let mut list: Vec<Observation> = Vec::new();
    for line in lines {
        let Some(rest) = line.strip_prefix('\t') else {
            list.push(Observation { form: line.to_string(), outcomes: Vec::new() });
            continue;
        };
        let wrong = || format!("observed.txt: {line}");
        let (archs, outcome) = rest.split_once(": ").ok_or_else(wrong)?;
        let last = list.last_mut().ok_or_else(wrong)?;
        for arch in archs.split(' ') {
            last.outcomes.push((arch.parse().map_err(|()| wrong())?, Outcome::parse(outcome)));
        }
        last.outcomes.sort_by_key(|(arch, _)| arch.number());
    }
    Ok((version, list))
}

/// Joins the outcomes of the architectures, and omits forms that all refuse.
pub fn join(forms: &[Form], outcomes: &[(Arch, Vec<Outcome>)]) -> Vec<Observation> {
    let of = |index: usize| outcomes.iter().map(|(arch, list)| (*arch, list[index].clone())).collect();
    let list = forms
        .iter()
        .enumerate()
        .map(|(index, form)| Observation { form: form.to_string(), outcomes: of(index) });
    list.filter(|seen| seen.outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Code(_)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_survive_the_text() {
        let outcomes =
            vec![(Arch::Sm75, Outcome::parse("refused: a: b")), (Arch::Sm90, Outcome::parse("A R; B"))];
        let list = vec![Observation { form: "red x".into(), outcomes }];
        assert_eq!(read(&write("13.5", &list)), Ok(("13.5".to_string(), list)));
    }
}
