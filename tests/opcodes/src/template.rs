//! Templates: PTX with alternatives, which expands to each choice among them.
//!
//! | in a template | meaning |
//! |---|---|
//! | `<a\|b\|c>` | `a`, `b` and `c` in turn; alternatives may be empty and contain others |
//! | `<T:a\|b>` | the same, and the choice gets the name `T` (a capital letter) |
//! | `<T>` | the text that was chosen for `T` |
//! | `<T?x\|y>` | `x` if `T` is its first alternative, `y` if it is its second |
//! | `rw*4` | `rw0, rw1, rw2, rw3`; `w4*2` is `w4, w5` |
//!
//! A template expands to all combinations of its alternatives. After a `~` it expands only to as
//! many texts as its longest list has alternatives: each alternative occurs at least once, next to
//! changing others.
//!
//! ```
//! use ptxc_opcodes::template::expand;
//! assert_eq!(expand("neg.<T:s32|s64> <T?rw|rx>, <T?w0|x0>").unwrap(), ["neg.s32 rw, w0", "neg.s64 rx, x0"]);
//! assert_eq!(expand("~ add.<s32|u32> rw, w0, <w1|7|uw0>").unwrap().len(), 3);
//! ```

use std::collections::BTreeMap;

/// The most texts that one template may expand to.
const MOST: usize = 20_000;

/// A part of a template.
#[derive(Clone, Debug)]
enum Part {
    Text(String),
    /// One of several, and the name of the choice.
    One(Option<char>, Vec<Vec<Part>>),
    /// The text that was chosen for a name.
    Again(char),
    /// One of several, by the choice for a name.
    With(char, Vec<Vec<Part>>),
}

/// Every instruction that a template expands to, in the order of its alternatives.
///
/// # Errors
/// The brackets do not match, a name has no earlier choice, or there are too many instructions.
pub fn expand(template: &str) -> Result<Vec<String>, String> {
    let (diagonal, text) = match template.strip_prefix('~') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, template),
    };
    let mut rest = text;
    let parts = parse(&mut rest, false)?;
    let states = if diagonal {
        let times = longest(&parts);
        (0..times).map(|turn| step(&parts, turn, &mut 0, State::default())).collect::<Result<Vec<_>, _>>()?
    } else {
        all(&parts, vec![State::default()])?
    };
    Ok(states.into_iter().map(|state| repeat(&state.text)).collect())
}

/// Parts up to the `|` or `>` that ends an alternative, or to the end of the text.
fn parse(rest: &mut &str, inside: bool) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut text = String::new();
    while let Some(c) = rest.chars().next() {
        if inside && (c == '|' || c == '>') {
            break;
        }
        *rest = &rest[c.len_utf8()..];
        match c {
            '<' => {
                parts.push(Part::Text(std::mem::take(&mut text)));
                parts.push(alternatives(rest)?);
            }
            '\\' => {
                let next = rest.chars().next().ok_or("nothing after a backslash")?;
                *rest = &rest[next.len_utf8()..];
                text.push(next);
            }
            _ => text.push(c),
        }
    }
    parts.push(Part::Text(text));
    Ok(parts)
}

/// The part between `<` and `>`.
fn alternatives(rest: &mut &str) -> Result<Part, String> {
    let mut front = rest.chars();
    let name = front.next().filter(char::is_ascii_uppercase);
    match (name, front.next()) {
        (Some(name), Some('>')) => {
            *rest = &rest[2..];
            Ok(Part::Again(name))
        }
        (Some(name), Some('?')) => {
            *rest = &rest[2..];
            Ok(Part::With(name, list(rest)?))
        }
        (Some(name), Some(':')) => {
            *rest = &rest[2..];
            Ok(Part::One(Some(name), list(rest)?))
        }
        _ => Ok(Part::One(None, list(rest)?)),
    }
}

fn list(rest: &mut &str) -> Result<Vec<Vec<Part>>, String> {
    let mut list = Vec::new();
    loop {
        list.push(parse(rest, true)?);
        let end = rest.chars().next().ok_or("a `<` without its `>`")?;
        *rest = &rest[1..];
        if end == '>' {
            return Ok(list);
        }
    }
}

/// The text written so far, and the choice for each name: the number of the alternative and its
/// text.
#[derive(Clone, Debug, Default)]
struct State {
    text: String,
    chosen: BTreeMap<char, (usize, String)>,
}

impl State {
    fn of(&self, name: char) -> Result<&(usize, String), String> {
        self.chosen.get(&name).ok_or_else(|| format!("nothing was chosen for {name}"))
    }

    /// The alternative of `list` that belongs to the choice for a name.
    fn with<'a>(&self, name: char, list: &'a [Vec<Part>]) -> Result<&'a [Part], String> {
        let at = self.of(name)?.0;
        list.get(at).map(Vec::as_slice).ok_or_else(|| format!("no alternative {at} for {name}"))
    }

    /// Records the text written since `start`.
    fn choose(&mut self, name: Option<char>, at: usize, start: usize) {
        if let Some(name) = name {
            self.chosen.insert(name, (at, self.text[start..].to_string()));
        }
    }
}

/// All combinations.
fn all(parts: &[Part], mut states: Vec<State>) -> Result<Vec<State>, String> {
    for part in parts {
        let mut next = Vec::new();
        for mut state in states {
            match part {
                Part::Text(text) => {
                    state.text += text;
                    next.push(state);
                }
                Part::Again(name) => {
                    let text = state.of(*name)?.1.clone();
                    state.text += &text;
                    next.push(state);
                }
                Part::With(name, list) => {
                    let parts = state.with(*name, list)?;
                    next.extend(all(parts, vec![state])?);
                }
                Part::One(name, list) => {
                    let start = state.text.len();
                    for (at, parts) in list.iter().enumerate() {
                        for mut state in all(parts, vec![state.clone()])? {
                            state.choose(*name, at, start);
                            next.push(state);
                        }
                    }
                }
            }
            if next.len() > MOST {
                return Err(format!("stands for more than {MOST}"));
            }
        }
        states = next;
    }
    Ok(states)
}

/// One combination of a diagonal. Lists of the same length go out of step after a round, so that
/// their alternatives meet others.
fn step(parts: &[Part], turn: usize, number: &mut usize, mut state: State) -> Result<State, String> {
    for part in parts {
        match part {
            Part::Text(text) => state.text += text,
            Part::Again(name) => {
                let text = state.of(*name)?.1.clone();
                state.text += &text;
            }
            Part::With(name, list) => {
                let parts = state.with(*name, list)?;
                state = step(parts, turn, number, state)?;
            }
            Part::One(name, list) => {
                let at = (turn + *number * (turn / list.len())) % list.len();
                *number += 1;
                let start = state.text.len();
                state = step(&list[at], turn / list.len(), number, state)?;
                state.choose(*name, at, start);
            }
        }
    }
    Ok(state)
}

/// The number of turns that show each alternative: the length of the longest list, including nested
/// lists.
fn longest(parts: &[Part]) -> usize {
    let of = |part: &Part| match part {
        Part::One(_, list) => list.len() * list.iter().map(|parts| longest(parts)).max().unwrap_or(1),
        Part::With(_, list) => list.iter().map(|parts| longest(parts)).max().unwrap_or(1),
        Part::Text(_) | Part::Again(_) => 1,
    };
    parts.iter().map(of).max().unwrap_or(1)
}

/// Writes `rw*3` as `rw0, rw1, rw2`.
fn repeat(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(star) = rest.find('*') {
        let (front, after) = (&rest[..star], &rest[star + 1..]);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let start = front.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
        let name = front[start..].trim_end_matches(|c: char| c.is_ascii_digit());
        let first: usize = front[start + name.len()..].parse().unwrap_or(0);
        let count: usize = after[..digits].parse().unwrap_or(0);
        out.push_str(&front[..start]);
        let names: Vec<String> = (first..first + count).map(|number| format!("{name}{number}")).collect();
        out.push_str(&names.join(", "));
        rest = &after[digits..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_hold_others_and_may_be_empty() {
        assert_eq!(expand("a<|.b<c|d>>").unwrap(), ["a", "a.bc", "a.bd"]);
        assert_eq!(expand("<A:x|y> <B:1|2> <A><B>").unwrap(), ["x 1 x1", "x 2 x2", "y 1 y1", "y 2 y2"]);
        assert_eq!(expand(r"setp rp\|dp").unwrap(), ["setp rp|dp"]);
        assert_eq!(expand("{w4*3}, rh*2").unwrap(), ["{w4, w5, w6}, rh0, rh1"]);
    }

    #[test]
    fn a_diagonal_shows_each_alternative() {
        let made = expand("~ <a|b> <c|d|e> <f|g>").unwrap();
        assert_eq!(made.len(), 3);
        for one in ["a", "b", "c", "d", "e", "f", "g"] {
            assert!(made.iter().any(|text| text.contains(one)), "{one}");
        }
        assert_eq!(expand("~ <a|b<x|y|z>>").unwrap().len(), 6);
    }

    #[test]
    fn errors_are_reported() {
        assert!(expand("<a|b").is_err());
        assert!(expand("<T>").is_err());
        assert!(expand("<T:a|b|c><T?x|y>").is_err());
        assert!(expand(&"<a|b|c|d>".repeat(10)).is_err());
    }
}
