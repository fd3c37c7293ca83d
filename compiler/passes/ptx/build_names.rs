//! Writes the instructions and modifiers of the table as enums: `check::table::names`.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::FITS;
use crate::check::table::row::Row;

/// The most groups of a row: the translation has one bit for each modifier.
const MOST_GROUPS: usize = 32;

/// The source of the enums for these rows, with the kinds of modifiers of `modifiers.txt`.
pub fn source(rows: &[Row], kinds: &str) -> Result<String, String> {
    if let Some(row) = rows.iter().find(|row| row.groups.len() > MOST_GROUPS) {
        return Err(format!("`{row}` has more than {MOST_GROUPS} modifiers"));
    }
    let instructions = variants(rows.iter().map(|row| row.instruction.0))?;
    let choices = rows.iter().flat_map(|row| row.groups).flat_map(|group| group.choices);
    let modifiers = variants(choices.filter_map(|choice| choice.modifier).map(|modifier| modifier.0))?;
    let mut out = String::new();
    declare(&mut out, "Mnemonic", "An instruction, with all its forms.", &instructions);
    declare(&mut out, "Modifier", "A modifier that names no type.", &modifiers);
    writeln!(out, "/// Modifiers by their kinds.\npub mod modifiers {{\n    use super::{{Class, Modifier}};")
        .expect(FITS);
    for (number, line) in (1..).zip(kinds.lines()) {
        let place = |wrong: String| format!("modifiers.txt:{number}: {wrong}");
        let (line, meaning) = line.split_once('#').unwrap_or((line, ""));
        if line.trim().is_empty() {
            continue;
        }
        let (name, list) = line.split_once('=').ok_or_else(|| place("a kind is NAME = MODIFIERS".into()))?;
        let mut members = BTreeMap::new();
        for text in list.split(',').map(str::trim) {
            let name = variant(text);
            if !modifiers.contains_key(&name) {
                return Err(place(format!("no row has the modifier {text}")));
            }
            members.insert(name, text);
        }
        kind(&mut out, name.trim(), meaning.trim(), &members);
    }
    out.push_str("}\n");
    Ok(out)
}

/// The variant for a name: `MbarrierTestWait` for `mbarrier.test_wait`. A name that begins with a
/// digit gets an `X`.
pub fn variant(name: &str) -> String {
    let mut out = String::new();
    for word in name.split(['.', ':', '_']) {
        let mut chars = word.chars();
        let Some(first) = chars.next() else { continue };
        if first.is_ascii_digit() {
            // Otherwise two numbers would read as one.
            out.push_str(match out.chars().last() {
                None => "X",
                Some(last) if last.is_ascii_digit() => "_",
                Some(_) => "",
            });
        }
        out.push(first.to_ascii_uppercase());
        out.push_str(chars.as_str());
    }
    out
}

/// The variants of some names, each with its name.
fn variants(names: impl Iterator<Item = &'static str>) -> Result<BTreeMap<String, &'static str>, String> {
    let mut found = BTreeMap::new();
    for name in names {
        let other = found.insert(variant(name), name);
        if let Some(other) = other.filter(|&other| other != name) {
            return Err(format!("{other} and {name} have one variant"));
        }
    }
    Ok(found)
}

fn list(out: &mut String, indent: &str, variants: &BTreeMap<String, &str>) {
    for (variant, name) in variants {
        writeln!(out, "{indent}/// `{name}`\n{indent}{variant},").expect(FITS);
    }
}

fn declare(out: &mut String, name: &str, meaning: &str, variants: &BTreeMap<String, &str>) {
    writeln!(out, "/// {meaning}\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum {name} {{")
        .expect(FITS);
    list(out, "    ", variants);
    writeln!(out, "}}\n\nimpl {name} {{").expect(FITS);
    let names: Vec<String> = variants.keys().map(|variant| format!("{name}::{variant}")).collect();
    let (count, names) = (names.len(), names.join(", "));
    writeln!(out, "    /// All of them.\n    pub const ALL: [{name}; {count}] = [{names}];").expect(FITS);
    writeln!(
        out,
        "\n    /// As PTX writes it.\n    pub const fn name(self) -> &'static str {{\n        match self {{"
    )
    .expect(FITS);
    for (variant, text) in variants {
        writeln!(out, "            {name}::{variant} => {text:?},").expect(FITS);
    }
    out.push_str("        }\n    }\n}\n\n");
}

fn kind(out: &mut String, name: &str, meaning: &str, members: &BTreeMap<String, &str>) {
    writeln!(
        out,
        "\n    /// {meaning}\n    #[derive(Clone, Copy, Debug, PartialEq, Eq)]\n    pub enum {name} {{"
    )
    .expect(FITS);
    list(out, "        ", members);
    writeln!(out, "    }}\n\n    impl Class for {name} {{").expect(FITS);
    writeln!(out, "        fn of(modifier: Modifier) -> Option<Self> {{\n            match modifier {{")
        .expect(FITS);
    for variant in members.keys() {
        writeln!(out, "                Modifier::{variant} => Some({name}::{variant}),").expect(FITS);
    }
    out.push_str("                _ => None,\n            }\n        }\n    }\n");
}
