//! The forms of an instruction in words, for messages: `FADD{.FTZ} Rd, [-|]Ra, …`.
//!
//! In: a mnemonic. Out: a line for each row that the mnemonic may mean. Modifiers are between
//! braces, operands have their names and the kinds of operands that fit.

use std::fmt::Write;

use ptxc_machine::Arch;

use super::parse::{first_word, rows};
use crate::table::{Halves, Kinds, Modifier, Op, Slot, Stand};

/// The most rows that are shown.
const MOST: usize = 8;

/// A line for each row whose mnemonic has the same first word.
pub(super) fn forms(mnemonic: &str, arch: Arch) -> Vec<String> {
    let rows = rows(arch).get(first_word(mnemonic)).map_or(&[][..], Vec::as_slice);
    rows.iter().rev().take(MOST).map(|&op| form(op, arch)).collect()
}

/// A row in words, without what the architecture lacks: `FADD{.FTZ} d:R, a:[-|]R, …`, all values of
/// a modifier between braces if the modifier is optional, between parentheses if not.
pub fn form(op: Op, arch: Arch) -> String {
    let row = op.row();
    let mut text = row.mnemonic_on(arch).to_string();
    for modifier in row.mods.iter().filter(|modifier| modifier.stand == Stand::Mnemonic) {
        text.push_str(&values(modifier, arch));
    }
    for (position, slot) in row.slots.iter().enumerate() {
        let separator = match (position, slot.spaced) {
            (0, _) | (_, true) => " ",
            _ => ", ",
        };
        let after = row.mods.iter().filter(|modifier| modifier.follows(slot));
        let shown = operand(slot, arch) + &after.map(|modifier| values(modifier, arch)).collect::<String>();
        let _ = match slot.hidden || slot.hidden_with.is_some() {
            true => write!(text, "{{{separator}{shown}}}"),
            false => write!(text, "{separator}{shown}"),
        };
    }
    for modifier in row.mods.iter().filter(|modifier| modifier.stand == Stand::Last) {
        let _ = write!(text, ", {}", values(modifier, arch));
    }
    text
}

/// The values of a modifier: `{.FTZ}`, `(.LT|.EQ)`.
fn values(modifier: &Modifier, arch: Arch) -> String {
    // More values would hide the rest of the line.
    const MOST: usize = 20;
    let known = modifier.values.iter().copied().filter(|value| modifier.exists(value, arch));
    let texts: Vec<&str> = known.map(|value| modifier.text(value, arch)).collect();
    let values: Vec<&str> = texts.iter().copied().filter(|value| !value.is_empty()).collect();
    let (open, close) = if values.len() < texts.len() { ('{', '}') } else { ('(', ')') };
    let (shown, rest) = values.split_at(values.len().min(MOST));
    let rest = if rest.is_empty() { "" } else { "|…" };
    format!("{open}{}{rest}{close}", shown.join("|"))
}

/// A slot in words: `b:R|UR|imm`, preceded by the signs that it takes.
fn operand(slot: &Slot, arch: Arch) -> String {
    const NAMES: &[(Kinds, &str)] = &[
        (Kinds::R, "R"),
        (Kinds::UR, "UR"),
        (Kinds::P, "P"),
        (Kinds::UP, "UP"),
        (Kinds::IMM, "immediate"),
        (Kinds::CONST, "c[][]"),
        (Kinds::CONST_AT_R, "c[][R]"),
        (Kinds::CONST_AT_UR, "c[][UR]"),
        (Kinds::MEM, "[address]"),
        (Kinds::MEM_AT_UR, "[address+UR]"),
        (Kinds::MEM_SCALED, "[address.X4]"),
        (Kinds::LABEL, "label"),
        (Kinds::FUNCTION, "function"),
        (Kinds::SPECIAL, "SR"),
        (Kinds::CONVERGENCE, "B"),
        (Kinds::PREDICATES, "PR"),
    ];
    let kinds = NAMES.iter().filter(|(kind, _)| slot.accepts(*kind, arch)).map(|(_, name)| *name);
    let mut signs = String::new();
    for (is_taken, sign) in [(slot.neg, '-'), (slot.not, '!'), (slot.abs, '|')] {
        signs.extend(is_taken.then_some(sign));
    }
    let signs = if signs.is_empty() { signs } else { format!("[{signs}]") };
    let halves = match slot.halves {
        Halves::None => "",
        Halves::Any => "{.H0_H0|.H1_H1}",
        Halves::One => "(.H0_H0|.H1_H1)",
        Halves::Upper | Halves::LowOrHigh => "{.H1}",
        Halves::High => ".H1",
        Halves::Single => ".F32",
        Halves::Bytes => "(.B1|.B2|.B3)",
    };
    format!("{}:{signs}{}{halves}", slot.name, kinds.collect::<Vec<_>>().join("|"))
}

/// The mnemonic in the table that is most similar to the given one; `None` if none is similar
/// enough.
pub(super) fn similar(mnemonic: &str, arch: Arch) -> Option<&'static str> {
    let word = first_word(mnemonic);
    if word.len() > 16 {
        return None;
    }
    let candidates = rows(arch).keys().map(|&known| (distance(word, known), known));
    candidates.min().filter(|&(distance, _)| distance <= word.len() / 3).map(|(_, known)| known)
}

/// The number of letters to insert, delete or replace to get from one word to the other (Wagner and
/// Fischer, 1974).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_name_modifiers_and_operands() {
        let list = forms("BSSY.X", Arch::Sm90);
        assert_eq!(list, ["BSSY barrier:B, target:label"]);
        let add = &forms("FADD", Arch::Sm90)[0];
        assert!(
            add.starts_with("FADD{.FTZ}") && add.contains(" d:R, a:[-|]R, b:[-|]R|UR|immediate"),
            "{add}"
        );
    }

    #[test]
    fn misspelled_words_have_a_neighbour() {
        assert_eq!(
            (similar("FAD.FTZ", Arch::Sm90), similar("IADD33", Arch::Sm90), similar("XYZZY", Arch::Sm90)),
            (Some("FADD"), Some("IADD3"), None)
        );
    }
}
