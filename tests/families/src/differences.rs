//! The deliberate differences: forms where this compiler does not do what ptxas does, and the
//! reasons.
//!
//! `differences.txt` is a list of entries:
//!
//! ```text
//! [uniform-shared-address]
//! why: an address is a register and a uniform register if the instruction accepts both.
//! archs: sm_90
//! forms: *.shared.*[sa*
//! theirs: ATOMS.$1 [R$2
//! ours: ATOMS.$1 [R+UR$2
//! ```
//!
//! An entry is a rule that rewrites ptxas's outcome. It applies to forms whose name matches one of
//! `forms` (separated by ` | `; `*` is any text), on one of `archs` (default: all). It replaces the
//! instructions `theirs` (separated by `; `) by `ours`, as often as they occur. `$1` to `$9` stand
//! for any text, the same everywhere in an entry. A side may be `refused: …` as a whole, and `-` is
//! nothing; `theirs: *` is any outcome. Entries apply in order, each to the result of the previous
//! ones.
//!
//! The result must be *equal* to our outcome. So an entry excuses exactly one difference: if it
//! applies and our outcome is that of ptxas after all, that is an error too. An entry that no form
//! needs is an error.
//!
//! Every entry has a reason, and gives the exact result.

use ptxc_machine::Arch;
use regex::Regex;

use crate::form::Form;
use crate::outcome::Outcome;
use crate::signature::Signature;

/// The name of the list.
pub const FILE: &str = "differences.txt";

/// A difference and its reason.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// The reason for the difference.
    pub why: String,
    archs: Vec<Arch>,
    forms: Vec<Regex>,
    theirs: Side,
    ours: Side,
}

/// One side of a difference.
#[derive(Clone, Debug)]
enum Side {
    Any,
    Refused(String),
    Instructions(Vec<String>),
}

/// A pattern with `*` as a regular expression for the whole text.
fn glob(pattern: &str) -> Result<Regex, String> {
    let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*"))).map_err(|error| error.to_string())
}

/// Values of `$1` to `$9`.
type Captures = [Option<String>; 10];

/// Inserts the known values into a pattern.
fn filled(pattern: &str, captures: &Captures) -> String {
    let mut text = pattern.to_string();
    for (number, value) in captures.iter().enumerate() {
        if let Some(value) = value {
            text = text.replace(&format!("${number}"), value);
        }
    }
    text
}

/// The values with which a pattern matches a text, in addition to the known values.
fn matched(pattern: &str, text: &str, captures: &Captures) -> Option<Captures> {
    let pattern = filled(pattern, captures);
    // To compile an expression takes longer than most patterns need to fail.
    if !text.starts_with(pattern.split('$').next().unwrap_or_default()) {
        return None;
    }
    let mut expression = String::from("^");
    let mut numbers = Vec::new();
    let mut rest = pattern.as_str();
    while let Some((literal, after)) = rest.split_once('$') {
        let number = after.chars().next().and_then(|digit| digit.to_digit(10))? as usize;
        expression += &regex::escape(literal);
        expression += "(.*?)";
        numbers.push(number);
        rest = &after[1..];
    }
    expression += &regex::escape(rest);
    expression.push('$');
    let found = Regex::new(&expression).ok()?.captures(text)?;
    let mut captures = captures.clone();
    for (group, number) in numbers.into_iter().enumerate() {
        let value = found.get(group + 1)?.as_str().to_string();
        if captures[number].as_ref().is_some_and(|known| *known != value) {
            return None;
        }
        captures[number] = Some(value);
    }
    Some(captures)
}

impl Side {
    fn parse(text: &str) -> Side {
        match text.strip_prefix("refused: ") {
            Some(why) => Side::Refused(why.to_string()),
            None if text == "-" => Side::Instructions(Vec::new()),
            None if text == "*" => Side::Any,
            None => Side::Instructions(text.split("; ").map(str::to_string).collect()),
        }
    }
}

impl Difference {
    /// Whether it applies to a form on an architecture.
    pub fn is_about(&self, arch: Arch, form: &str) -> bool {
        (self.archs.is_empty() || self.archs.contains(&arch))
            && self.forms.iter().any(|glob| glob.is_match(form))
    }

    /// The rewritten outcome of ptxas; `None` if the entry does not apply.
    pub fn apply(&self, theirs: &Outcome) -> Option<Outcome> {
        let none = Captures::default();
        match (&self.theirs, theirs) {
            (Side::Any, _) => Some(self.other_side(&none, Signature::default())),
            (Side::Refused(pattern), Outcome::Refused(why)) => {
                let captures = matched(pattern, why, &none)?;
                Some(self.other_side(&captures, Signature::default()))
            }
            (Side::Instructions(patterns), Outcome::Code(signature)) => {
                let mut left = signature.clone();
                let mut result: Option<Outcome> = None;
                while let Some((captures, places)) = find(patterns, &left.0) {
                    let mut at = 0;
                    left.0.retain(|_| {
                        at += 1;
                        !places.contains(&(at - 1))
                    });
                    let before = match result.take() {
                        Some(Outcome::Code(signature)) => signature,
                        _ => Signature::default(),
                    };
                    result = Some(self.other_side(&captures, before));
                    if patterns.is_empty() || matches!(result, Some(Outcome::Refused(_))) {
                        break;
                    }
                }
                match result? {
                    Outcome::Code(mut signature) => {
                        signature.0.extend(left.0);
                        Some(Outcome::Code(signature))
                    }
                    refused => Some(refused),
                }
            }
            _ => None,
        }
    }

    fn other_side(&self, captures: &Captures, mut before: Signature) -> Outcome {
        match &self.ours {
            Side::Refused(why) => Outcome::Refused(filled(why, captures)),
            Side::Any => Outcome::Code(before),
            Side::Instructions(patterns) => {
                before.0.extend(patterns.iter().map(|pattern| filled(pattern, captures)));
                Outcome::Code(before)
            }
        }
    }
}

/// The indices of instructions that the patterns match, in the order of the patterns, and the
/// matched values. Patterns are tried from the left, each with the first instruction that matches.
fn find(patterns: &[String], instructions: &[String]) -> Option<(Captures, Vec<usize>)> {
    let mut captures = Captures::default();
    let mut places = Vec::new();
    for pattern in patterns {
        let fits = instructions.iter().enumerate().filter(|(place, _)| !places.contains(place));
        let (place, found) =
            fits.into_iter().find_map(|(place, text)| Some((place, matched(pattern, text, &captures)?)))?;
        places.push(place);
        captures = found;
    }
    Some((captures, places))
}

/// Reads a list.
///
/// # Errors
/// The error, with the name of its entry.
pub fn parse(text: &str) -> Result<Vec<Difference>, String> {
    let mut list: Vec<Difference> = Vec::new();
    let mut names = std::collections::HashSet::new();
    for block in text.split("\n[").skip(1) {
        let (name, body) = block.split_once("]\n").ok_or_else(|| format!("no name: {block}"))?;
        let wrong = |what: &str| format!("[{name}]: {what}");
        if !names.insert(name) {
            return Err(wrong("the name is taken"));
        }
        let mut fields = std::collections::HashMap::new();
        for line in body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (field, value) = line.split_once(": ").ok_or_else(|| wrong(line))?;
            if fields.insert(field, value).is_some() || !FIELDS.contains(&field) {
                return Err(wrong(line));
            }
        }
        let field = |field: &str| fields.get(field).copied().ok_or_else(|| wrong(&format!("no {field}")));
        let archs = fields.get("archs").map_or(Ok(Vec::new()), |archs| {
            archs.split(' ').map(|arch| arch.parse().map_err(|()| wrong(arch))).collect()
        })?;
        if field("ours")? == "*" {
            return Err(wrong("our side is anything"));
        }
        list.push(Difference {
            name: name.to_string(),
            why: field("why")?.to_string(),
            archs,
            forms: field("forms")?.split(" | ").map(glob).collect::<Result<_, _>>()?,
            theirs: Side::parse(field("theirs")?),
            ours: Side::parse(field("ours")?),
        });
    }
    Ok(list)
}

/// The fields of an entry.
const FIELDS: [&str; 5] = ["why", "archs", "forms", "theirs", "ours"];

/// The expected outcome of our compiler for a form, given ptxas's outcome, and the entries that
/// applied.
pub fn expected(list: &[Difference], arch: Arch, form: &Form, theirs: &Outcome) -> (Outcome, Vec<usize>) {
    let name = form.to_string();
    let mut outcome = theirs.clone();
    let mut used = Vec::new();
    for (index, difference) in list.iter().enumerate() {
        if difference.is_about(arch, &name)
            && let Some(changed) = difference.apply(&outcome)
        {
            outcome = changed;
            used.push(index);
        }
    }
    (outcome, used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Family;

    const LIST: &str = "\n[one]\nwhy: a reason.\nforms: atom.shared.*\ntheirs: ATOMS.$1, [R$2\nours: ATOMS.$1, [R+UR$2\n\
        [two]\nwhy: another.\narchs: sm_80\nforms: *\ntheirs: refused: $1\nours: MOV R\n";

    #[test]
    fn entries_rewrite_what_they_name_and_nothing_else() {
        let list = parse(LIST).unwrap();
        let form = Form::new(Family::Atomic, "atom.shared.add.u32 rw, [sa], w0");
        let theirs = Outcome::parse("ATOMS.ADD R, [R+0x4], R; LDS R, [R]");
        let (outcome, used) = expected(&list, Arch::Sm90, &form, &theirs);
        assert_eq!(outcome.to_string(), "ATOMS.ADD R, [R+UR+0x4], R; LDS R, [R]");
        assert_eq!(used, [0]);
        let other = Form::new(Family::Atomic, "atom.global.add.u32 rw, [ga], w0");
        assert_eq!(expected(&list, Arch::Sm90, &other, &theirs), (theirs, Vec::new()));
        let refused = Outcome::Refused("x".into());
        assert!(expected(&list, Arch::Sm90, &form, &refused).1.is_empty());
        assert_eq!(expected(&list, Arch::Sm80, &form, &refused).0.to_string(), "MOV R");
    }

    #[test]
    fn malformed_entries_are_refused() {
        for wrong in [
            "\n[a]\nforms: *\ntheirs: -\nours: -\n",
            "\n[a]\nwhy: x\nforms: *\ntheirs: -\n",
            "\n[a]\nwhy x\n",
            "\n[a]\nwhy: x\nforms: *\ntheirs: -\nours: *\n",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
