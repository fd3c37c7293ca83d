//! Small changes to a text: bytes, tokens, numbers, lines, pieces of another text. An input gets a
//! few of them.

use std::ops::Range;

use fastrand::Rng;

/// The most changes to an input.
const MOST_CHANGES: u32 = 8;
/// Numbers at the limits of something.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "31",
    "32",
    "33",
    "63",
    "64",
    "127",
    "128",
    "255",
    "256",
    "65535",
    "65536",
    "1048576",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "0xffffffff",
    "0x7fffffffffffffff",
    "0xffffffffffffffffU",
    "0b1",
    "017777777777777777777777",
    "0f7F800000",
    "0f7FC00000",
    "0f00000001",
    "0f80000000",
    "0d7FF0000000000000",
    "0d7FF8000000000000",
    "1.5",
    "1e400",
];
/// Bytes with a meaning, or with none at all.
const BYTES: &[u8] = b"{}[]()<>;:,.@!%$-+*/|\"'\\#\n\r\t \0\x7f\x80\xc3\xe2\xf0\xff09aZ_";

/// Changes a text; returns a description of the changes.
pub(super) fn mutate(text: &mut Vec<u8>, other: &[u8], rng: &mut Rng) -> String {
    let mut done = Vec::new();
    loop {
        done.push(change(text, other, rng));
        if rng.bool() || done.len() as u32 >= MOST_CHANGES {
            return done.join(", ");
        }
    }
}

fn change(text: &mut Vec<u8>, other: &[u8], rng: &mut Rng) -> &'static str {
    match rng.u32(..24) {
        0 => flip(text, rng),
        1 => overwrite(text, rng),
        2 => insert(text, rng),
        3 => remove(text, rng),
        4 => truncate(text, rng),
        5..=7 => swap_tokens(text, rng),
        8 => remove_token(text, rng),
        9 => repeat_token(text, rng),
        10..=12 => foreign_token(text, other, rng),
        13..=15 => number(text, rng),
        16 | 17 => swap_lines(text, rng),
        18 => repeat_lines(text, rng),
        19 | 20 => remove_lines(text, rng),
        21 => foreign_lines(text, other, rng),
        22 => splice(text, other, rng),
        _ => rename(text, rng),
    }
}

fn place(text: &[u8], rng: &mut Rng) -> usize {
    rng.usize(..=text.len())
}

/// A range of at most that length.
fn range(length: usize, most: usize, rng: &mut Rng) -> Range<usize> {
    let start = rng.usize(..=length);
    start..(start + rng.usize(..=most)).min(length)
}

fn flip(text: &mut [u8], rng: &mut Rng) -> &'static str {
    for _ in 0..rng.u32(1..8) {
        if !text.is_empty() {
            let at = rng.usize(..text.len());
            text[at] ^= 1 << rng.u32(..8);
        }
    }
    "bits flipped"
}

fn overwrite(text: &mut [u8], rng: &mut Rng) -> &'static str {
    if !text.is_empty() {
        let at = rng.usize(..text.len());
        text[at] = BYTES[rng.usize(..BYTES.len())];
    }
    "a byte replaced"
}

fn insert(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    let (at, byte) = (place(text, rng), BYTES[rng.usize(..BYTES.len())]);
    let count = if rng.u32(..8) == 0 { rng.usize(1..1000) } else { 1 };
    text.splice(at..at, std::iter::repeat_n(byte, count));
    "bytes inserted"
}

fn remove(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    let most = if rng.bool() { 4 } else { 400 };
    text.drain(range(text.len(), most, rng));
    "bytes removed"
}

fn truncate(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    let at = place(text, rng);
    match rng.u32(..4) {
        0 => drop(text.drain(..at)),
        _ => text.truncate(at),
    }
    "cut off"
}

/// The token around a random byte: a word with its dots, or a single character; `None` between tokens.
fn token(text: &[u8], rng: &mut Rng) -> Option<Range<usize>> {
    // Most bytes may be spaces, so several attempts are made.
    (0..16).find_map(|_| {
        let at = rng.usize(..text.len().max(1));
        let byte = *text.get(at)?;
        if byte.is_ascii_whitespace() {
            return None;
        }
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%".contains(byte);
        if !is_word(&byte) {
            return Some(at..at + 1);
        }
        let start = text[..at].iter().rposition(|byte| !is_word(byte)).map_or(0, |before| before + 1);
        let end = text[at..].iter().position(|byte| !is_word(byte)).map_or(text.len(), |more| at + more);
        Some(start..end)
    })
}

fn swap_tokens(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    if let (Some(one), Some(other)) = (token(text, rng), token(text, rng))
        && (one.end <= other.start || other.end <= one.start)
    {
        let (first, second) = if one.start < other.start { (one, other) } else { (other, one) };
        let (left, right) = (text[first.clone()].to_vec(), text[second.clone()].to_vec());
        text.splice(second, left);
        text.splice(first, right);
    }
    "tokens swapped"
}

fn remove_token(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    if let Some(token) = token(text, rng) {
        text.drain(token);
    }
    "a token removed"
}

fn repeat_token(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    if let Some(token) = token(text, rng) {
        let copy = text[token.clone()].to_vec();
        let count = if rng.u32(..8) == 0 { rng.usize(1..1000) } else { 1 };
        text.splice(token.end..token.end, copy.repeat(count));
    }
    "a token repeated"
}

fn foreign_token(text: &mut Vec<u8>, other: &[u8], rng: &mut Rng) -> &'static str {
    if let (Some(own), Some(theirs)) = (token(text, rng), token(other, rng)) {
        text.splice(own, other[theirs].iter().copied());
    }
    "a token of another text"
}

fn number(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    let starts = |text: &[u8], at: usize| {
        text[at].is_ascii_digit()
            && at.checked_sub(1).is_none_or(|before| !text[before].is_ascii_alphanumeric())
    };
    let from = rng.usize(..text.len().max(1));
    if let Some(start) = (from..text.len()).find(|&at| starts(text, at)) {
        let end = (start..text.len()).find(|&at| !text[at].is_ascii_alphanumeric()).unwrap_or(text.len());
        text.splice(start..end, NUMBERS[rng.usize(..NUMBERS.len())].bytes());
    }
    "a number replaced"
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

fn swap_lines(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    let mut all = lines(text);
    if !all.is_empty() {
        let (one, other) = (rng.usize(..all.len()), rng.usize(..all.len()));
        all.swap(one, other);
        *text = all.concat();
    }
    "lines swapped"
}

fn repeat_lines(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    let all = lines(text);
    let chosen = range(all.len(), 8, rng);
    let count = if rng.u32(..8) == 0 { rng.usize(2..50) } else { 2 };
    let middle = all[chosen.clone()].concat().repeat(count);
    *text = [all[..chosen.start].concat(), middle, all[chosen.end..].concat()].concat();
    "lines repeated"
}

fn remove_lines(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    let mut all = lines(text);
    let most = if rng.bool() { 1 } else { 10 };
    all.drain(range(all.len(), most, rng));
    *text = all.concat();
    "lines removed"
}

fn foreign_lines(text: &mut Vec<u8>, other: &[u8], rng: &mut Rng) -> &'static str {
    let (mut all, theirs) = (lines(text), lines(other));
    let at = rng.usize(..=all.len());
    all.splice(at..at, theirs[range(theirs.len(), 8, rng)].iter().copied());
    *text = all.concat();
    "lines of another text"
}

fn splice(text: &mut Vec<u8>, other: &[u8], rng: &mut Rng) -> &'static str {
    text.truncate(place(text, rng));
    text.extend(&other[place(other, rng)..]);
    "the end of another text"
}

/// Replaces all uses of a word by another word of the text: registers of wrong types, labels that
/// are variables.
fn rename(text: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    if let (Some(from), Some(to)) = (token(text, rng), token(text, rng))
        && from.len() > 1
    {
        let (from, to) = (text[from].to_vec(), text[to].to_vec());
        let mut result = Vec::with_capacity(text.len());
        let mut rest = text.as_slice();
        while !rest.is_empty() {
            match rest.strip_prefix(from.as_slice()) {
                Some(after) => {
                    result.extend(&to);
                    rest = after;
                }
                None => {
                    result.push(rest[0]);
                    rest = &rest[1..];
                }
            }
        }
        *text = result;
    }
    "a word renamed"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_changes() {
        let text = b".entry k() { add.s32 %r1, %r2, 17; ret; }\n".repeat(4);
        let of = |seed: u64| {
            let (mut changed, mut rng) = (text.clone(), Rng::with_seed(seed));
            let said = mutate(&mut changed, &text, &mut rng);
            (said, changed)
        };
        assert!((0..200).all(|seed| of(seed) == of(seed)));
        assert!((0..200).filter(|&seed| of(seed).1 != text).count() > 150);
    }

    #[test]
    fn an_empty_text_can_be_changed() {
        for seed in 0..500 {
            mutate(&mut Vec::new(), b"", &mut Rng::with_seed(seed));
        }
    }
}
