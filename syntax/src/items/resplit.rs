//! Splits a text again after an edit, only around the edit.

use std::ops::Range;

use super::plain::Found;
use super::{ItemText, Splitter};
use crate::lexer::Lexer;
use crate::span::Span;

/// The changes that [`resplit`] made in a list of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resplit {
    /// The indices of the new items. The items before them are unchanged; the items after them have
    /// moved with their text.
    pub new: Range<usize>,
    /// The items that the new ones replace, with their old places.
    pub old: Vec<ItemText>,
}

/// Updates the items of a text after an edit, which replaced the old bytes `range` by `inserted`
/// bytes; `text` is the text after the edit. The result is what [`split`](super::split) would
/// return, but the text is read only from a few items before the edit up to a place where an old
/// item begins.
///
/// A text of 4 GiB or more has no items, before or after.
pub fn resplit(items: &mut Vec<ItemText>, text: &str, range: Range<usize>, inserted: usize) -> Resplit {
    let old_length = text.len() + range.len() - inserted;
    let is_long = |length: usize| u32::try_from(length).is_err();
    if is_long(text.len()) || is_long(old_length) {
        let old = std::mem::replace(items, super::split(text));
        return Resplit { new: 0..items.len(), old };
    }
    let (start, end) = (range.start as u32, range.end as u32);
    let shift = (inserted as u32).wrapping_sub(end - start);
    // The end of an item depends on the first tokens after it. Those are in the two items that
    // follow, because an item has at least one token.
    let untouched = items.partition_point(|item| item.span.end < start);
    let head = untouched.saturating_sub(2);
    let from = head.checked_sub(1).map_or(0, |last| items[last].span.end);

    let mut lexer = Lexer::new(text);
    lexer.rewind(from);
    let token = lexer.next();
    let mut splitter = Splitter { lexer, token, end: from, found: Found::default() };
    let mut new = Vec::new();
    // The first item after the edit whose start the splitter has not passed.
    let mut rest = items.partition_point(|item| item.span.start <= end);
    while !splitter.is_done() {
        let at = splitter.token.span.start;
        while items.get(rest).is_some_and(|item| item.span.start.wrapping_add(shift) < at) {
            rest += 1;
        }
        if items.get(rest).is_some_and(|item| item.span.start.wrapping_add(shift) == at) {
            break;
        }
        new.push(splitter.item());
    }
    if splitter.is_done() {
        rest = items.len();
    }
    if shift != 0 {
        for item in &mut items[rest..] {
            item.span = moved(item.span, shift);
            item.head = moved(item.head, shift);
        }
    }
    let count = new.len();
    let old = items.splice(head..rest, new).collect();
    Resplit { new: head..head + count, old }
}

fn moved(span: Span, shift: u32) -> Span {
    Span::new(span.start.wrapping_add(shift), span.end.wrapping_add(shift))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::items::split;

    const PIECES: &[&str] = &[
        ".version 9.0\n",
        ".target sm_90\n",
        ".entry k() { ret; }\n",
        ".entry k() {",
        ".func f();\n",
        ".global .u32 x = {1, 2};\n",
        "{",
        "}",
        ";",
        "(",
        ")",
        "/*",
        "*/",
        "//",
        "\n",
        " ",
        "\"",
        ".pragma \"a\";\n",
        ".alias a, b;\n",
        ".section .s { .b8 1 }\n",
        ".visible ",
        "x",
        ",",
        "=",
        ".file 1 \"a\"",
        "é",
        "5",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn the_items_are_those_of_the_whole_text(
            pieces in prop::collection::vec(prop::sample::select(PIECES), 0..30),
            at in any::<prop::sample::Index>(),
            length in prop_oneof![0usize..4, 0usize..60],
            inserted in prop::collection::vec(prop::sample::select(PIECES), 0..4),
        ) {
            let mut text = pieces.concat();
            let (mut from, inserted) = (at.index(text.len() + 1), inserted.concat());
            let mut to = (from + length).min(text.len());
            while !text.is_char_boundary(from) { from -= 1; }
            while !text.is_char_boundary(to) { to += 1; }
            let before = split(&text);
            let mut items = before.clone();
            text.replace_range(from..to, &inserted);
            let done = resplit(&mut items, &text, from..to, inserted.len());
            prop_assert_eq!(&items, &split(&text), "{}", text);
            let tail = items.len() - done.new.end;
            prop_assert_eq!(&items[..done.new.start], &before[..done.new.start]);
            prop_assert_eq!(&done.old[..], &before[done.new.start..before.len() - tail]);
            prop_assert!(items[..done.new.start].iter().all(|item| (item.span.end as usize) < from));
        }
    }
}
