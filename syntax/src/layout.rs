//! Whether two texts are equal except for spaces, line breaks and comments.

use crate::lexer::{Lexer, TokenKind};

/// Whether a parser builds the same tree from both texts, except for positions: they have the same
/// tokens, the same tokens touch each other, and the same tokens begin a line. Linear, without
/// allocation; stops at the first difference.
///
/// ```
/// # use ptxc_syntax::same_but_layout;
/// assert!(same_but_layout("add.s32 %r1, %r2, 1;", "add.s32 %r1,  %r2, /* one */ 1; // more"));
/// assert!(!same_but_layout("add.s32 %r1, %r2, 1;", "add.s32 %r1, %r2, 2;"));
/// assert!(!same_but_layout("add.s32", "add .s32"));
/// ```
pub fn same_but_layout(one: &str, other: &str) -> bool {
    let (mut first, mut second) = (Lexer::new(one), Lexer::new(other));
    let mut ends = (0, 0);
    loop {
        let (a, b) = (first.next(), second.next());
        let touching = (a.span.start == ends.0, b.span.start == ends.1);
        if a.kind == TokenKind::End && b.kind == TokenKind::End {
            return true;
        }
        if a.kind != b.kind
            || a.first_on_line != b.first_on_line
            || touching.0 != touching.1
            || one[a.span.range()] != other[b.span.range()]
        {
            return false;
        }
        ends = (a.span.end, b.span.end);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parse_function;

    const PIECES: &[&str] = &[
        ".entry",
        "k",
        "(",
        ")",
        "{",
        "}",
        ";",
        ",",
        "add",
        ".s32",
        "%r1",
        "[",
        "]",
        "+",
        "5",
        "<",
        ">",
        "L:",
        "L",
        "@",
        "!",
        ".reg",
        ".b32",
        " ",
        "\n",
        "// a\n",
        "/* b */",
        "/* c\n */",
        "\t",
        ".section",
        "\"s\"",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn texts_that_differ_only_in_layout_parse_to_the_same_tree(
            pieces in prop::collection::vec((prop::sample::select(PIECES), prop::sample::select(PIECES)), 0..40),
            changed in prop::collection::vec(any::<bool>(), 40),
        ) {
            // Pieces of layout are replaced by other pieces of layout.
            let is_layout = |piece: &str| piece.trim().is_empty() || piece.starts_with('/');
            let one: String = pieces.iter().map(|(piece, _)| *piece).collect();
            let other = pieces.iter().zip(changed).map(|(&(piece, instead), changed)| {
                if changed && is_layout(piece) && is_layout(instead) { instead } else { piece }
            });
            let other: String = other.collect();
            let heads = [format!(".entry k() {{ {one} }}"), format!(".entry k() {{ {other} }}")];
            for (one, other) in [(&one, &other), (&heads[0], &heads[1])] {
                if same_but_layout(one, other) {
                    let (one, other) = (parse_function(one), parse_function(other));
                    prop_assert_eq!(one.value, other.value);
                    let messages = |errors: &[crate::SyntaxError]| {
                        errors.iter().map(|error| (error.code, error.message.to_string())).collect::<Vec<_>>()
                    };
                    prop_assert_eq!(messages(&one.errors), messages(&other.errors));
                }
            }
        }
    }
}
