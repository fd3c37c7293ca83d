//! All combinations of the modifiers of a row, and random edits of instructions.
//!
//! Both are deterministic. A row with very many combinations gives an even selection of them, which
//! contains every modifier.

use ptxc_ptx::check::table::{Group, Presence, Row, TABLE};

use crate::instructions::Sample;

/// A generator of numbers that are random enough to choose edits.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// A sequence that depends only on the seed.
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as usize).checked_rem(end).unwrap_or(0)
    }

    /// An element of a list, which must have one.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// The choices of a group: its modifiers, and none if it is not required.
fn choices(group: &Group) -> Vec<Option<&'static str>> {
    let absent = (group.presence != Presence::Required).then_some(None);
    absent.into_iter().chain(group.choices.iter().map(|choice| Some(choice.text))).collect()
}

/// The combinations of the modifiers of a row, at most about `most`.
pub fn combinations(row: &Row, most: usize) -> Vec<Sample<'_>> {
    let lists: Vec<_> = row.groups.iter().map(choices).collect();
    let count = lists.iter().fold(1usize, |count, list| count.saturating_mul(list.len()));
    let longest = lists.iter().map(Vec::len).max().unwrap_or(1);
    let of = |number: usize| {
        let mut rest = number;
        let chosen = lists.iter().map(|list| {
            let choice = list[rest % list.len()];
            rest /= list.len();
            choice
        });
        Sample::of(row, chosen.collect())
    };
    if count <= most {
        return (0..count).filter_map(of).collect();
    }
    let mut numbers = Numbers::new(count as u64);
    let selected = (0..most.max(longest)).map(|turn| {
        let chosen = lists.iter().map(|list| match turn < longest {
            // Every modifier of the longest list comes once, and those of shorter lists more often.
            true => list[turn % list.len()],
            false => *numbers.pick(list),
        });
        Sample::of(row, chosen.collect())
    });
    selected.flatten().collect()
}

/// The operands that an edit puts in place of another one.
const OPERANDS: &[&str] = &[
    "p1",
    "!p1",
    "b16r1",
    "b32r1",
    "b64r1",
    "u16r1",
    "u32r1",
    "u64r1",
    "f32r1",
    "f64r1",
    "vector",
    "1",
    "-1",
    "300",
    "1.5",
    "0f3F800000",
    "0d3FF0000000000000",
    "%tid.x",
    "%clock64",
    "_",
    "{b32r1, b32r2}",
    "{f32r1, f32r2, f32r3, f32r4}",
    "[b64r1]",
    "[b64r1+8]",
    "[tile]",
    "[tile+4]",
    "b32r1+4",
    "END",
    "{b16r1, b16r2}",
    "{b64r1, b64r2}",
];

/// An instruction with one random edit: a modifier that is removed, repeated, moved or replaced, or an
/// operand that is removed, repeated, swapped or replaced.
pub fn edited(text: &str, numbers: &mut Numbers) -> String {
    let (opcode, operands) = text.trim_end_matches(';').split_once(' ').unwrap_or((text, ""));
    let mut parts: Vec<&str> = opcode.split('.').collect();
    let mut list = split(operands);
    let modifiers = parts.len() - 1;
    match numbers.below(8) {
        0 if modifiers > 0 => drop(parts.remove(1 + numbers.below(modifiers))),
        1 if modifiers > 0 => parts[1 + numbers.below(modifiers)] = modifier(numbers),
        2 => parts.insert(1 + numbers.below(modifiers + 1), modifier(numbers)),
        3 if modifiers > 1 => {
            let at = 1 + numbers.below(modifiers - 1);
            parts.swap(at, at + 1);
        }
        4 if !list.is_empty() => drop(list.remove(numbers.below(list.len()))),
        5 if list.len() > 1 => {
            let at = numbers.below(list.len() - 1);
            list.swap(at, at + 1);
        }
        6 => list.insert(numbers.below(list.len() + 1), OPERANDS[numbers.below(OPERANDS.len())]),
        _ if !list.is_empty() => {
            let at = numbers.below(list.len());
            list[at] = OPERANDS[numbers.below(OPERANDS.len())];
        }
        _ => {}
    }
    format!("{} {};", parts.join("."), list.join(", ")).replace(" ;", ";")
}

/// A modifier of any instruction.
fn modifier(numbers: &mut Numbers) -> &'static str {
    loop {
        let row = numbers.pick(TABLE.rows());
        if !row.groups.is_empty() {
            let group = &row.groups[numbers.below(row.groups.len())];
            return numbers.pick(group.choices).text;
        }
    }
}

/// The operands, which commas separate outside of brackets.
fn split(operands: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = operands.split(|letter: char| {
        depth += i32::from(matches!(letter, '{' | '[' | '(')) - i32::from(matches!(letter, '}' | ']' | ')'));
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_separated_outside_of_brackets() {
        assert_eq!(split("{a, b}, [c], d"), ["{a, b}", "[c]", "d"]);
        assert_eq!(split(""), [""; 0]);
    }

    #[test]
    fn combinations_contain_every_modifier() {
        for row in TABLE.rows() {
            let texts: Vec<String> = combinations(row, 40).iter().filter_map(Sample::text).collect();
            if texts.is_empty() || row.groups.iter().any(|group| matches!(group.presence, Presence::With(_)))
            {
                continue;
            }
            for choice in row.groups.iter().flat_map(|group| group.choices) {
                let dotted = format!(".{}", choice.text);
                assert!(texts.iter().any(|text| text.contains(&dotted)), "{row}: {dotted}");
            }
        }
    }
}
