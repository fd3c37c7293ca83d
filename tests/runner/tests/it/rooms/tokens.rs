//! Rust text as words and signs, each with its line. Comments and literals are left out.

/// A word, `::`, or any other character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

impl Token {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(is_word_char)
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The tokens of a text, without items for tests.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    without_tests(&all_tokens(text))
}

fn all_tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = literal(rest) {
            length
        } else if is_word_char(first) {
            let length = rest.find(|c| !is_word_char(c)).unwrap_or(rest.len());
            tokens.push(Token { text: rest[..length].to_string(), line });
            length
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            let length = if rest.starts_with("::") { 2 } else { first.len_utf8() };
            tokens.push(Token { text: rest[..length].to_string(), line });
            length
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// The length of a comment that may hold others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// The length of a string, a character or a lifetime that begins the text.
fn literal(text: &str) -> Option<usize> {
    let opening = text.trim_start_matches(['b', 'c', 'r']);
    let prefix = &text[..text.len() - opening.len()];
    if ["r", "br", "cr"].contains(&prefix) && opening.starts_with(['"', '#']) {
        let content = opening.trim_start_matches('#');
        let marks = &opening[..opening.len() - content.len()];
        let content = content.strip_prefix('"')?;
        let end = format!("\"{marks}");
        let length = content.find(&end)? + end.len();
        return Some(text.len() - content.len() + length);
    }
    if !["", "b", "c"].contains(&prefix) {
        return None;
    }
    if let Some(content) = opening.strip_prefix('"') {
        return Some(text.len() - content.len() + closing(content, '"')?);
    }
    let content = opening.strip_prefix('\'')?;
    let mut chars = content.chars();
    let (first, second) = (chars.next()?, chars.next());
    if first == '\\' || second == Some('\'') {
        return Some(text.len() - content.len() + closing(content, '\'')?);
    }
    // A lifetime.
    let end = content.find(|c| !is_word_char(c)).unwrap_or(content.len());
    Some(text.len() - content.len() + end)
}

/// The length of a text up to and with a quotation mark that no backslash precedes.
fn closing(text: &str, mark: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if c == mark && !is_escaped {
            return Some(at + 1);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

/// Leaves out each item after `#[cfg(test)]` or `#[cfg(doctest)]`.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let attribute = || tokens[at..].iter().take(7).map(|token| token.text.as_str()).collect::<String>();
        if tokens[at].is("#") && ["#[cfg(test)]", "#[cfg(doctest)]"].contains(&attribute().as_str()) {
            at = end_of_item(tokens, at + 7);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// The place after an item: after its `;`, or after the braces that it ends with.
fn end_of_item(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0;
    let mut is_import = false;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        is_import |= token.is("use") && depth == 0;
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth -= 1,
            "}" => {
                depth -= 1;
                if depth == 0 && !is_import {
                    return at + 1;
                }
            }
            ";" | "," if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[test]
fn comments_literals_and_tests_are_left_out() {
    let text = "a /* b /* c */ */ 'x' '\\'' \"d\\\"e\" r#\"f\"g\"# &'h i\n// j\n#[cfg(test)]\nuse k::{l};\n\
                #[cfg(test)]\nmod tests {\n    m {}\n}\n#[cfg(test)]\nmod tests;\nrest::n";
    let found: Vec<String> = tokens(text).into_iter().map(|t| format!("{}:{}", t.text, t.line)).collect();
    assert_eq!(found, ["a:1", "&:1", "i:1", "rest:11", ":::11", "n:11"]);
}
