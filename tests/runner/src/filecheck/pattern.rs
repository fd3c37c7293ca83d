//! Check lines: recognized in the check file and compiled to regular expressions.

use std::collections::BTreeMap;

use regex::Regex;

/// The kind of a check line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Somewhere after the last match.
    Plain,
    /// On the line after the last match.
    Next,
    /// Later on the line of the last match.
    Same,
    /// Nowhere before the next match.
    Not,
    /// Somewhere after the last match, in any order among its neighbours.
    Dag,
    /// A cut: found before all others, which must match between two cuts.
    Label,
    /// The line after the last match is empty.
    Empty,
    /// This number of times, one after the other.
    Count(usize),
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Literal text.
    Literal(String),
    /// A regular expression.
    Regex(String),
    /// A regular expression whose match is stored in the variable.
    Define(String, String),
    /// The value of the variable.
    Use(String),
}

/// A check line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Its kind.
    pub kind: Kind,
    /// Its line in the check file, from 1.
    pub line: usize,
    /// The pattern as written.
    pub text: String,
    pieces: Vec<Piece>,
}

impl Directive {
    /// The regular expression, given the values of the variables.
    pub(super) fn regex(&self, variables: &BTreeMap<String, String>) -> Result<Regex, String> {
        let mut source = String::from("(?m)");
        let mut defined: Vec<&str> = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => source.push_str(&regex::escape(text)),
                Piece::Regex(regex) => source.push_str(&format!("(?:{regex})")),
                Piece::Define(name, regex) => {
                    defined.push(name);
                    source.push_str(&format!("(?P<{name}>{regex})"));
                }
                Piece::Use(name) => match variables.get(name) {
                    _ if defined.contains(&name.as_str()) => {
                        return Err(format!("`{name}` is used in the line that defines it"));
                    }
                    Some(value) => source.push_str(&regex::escape(value)),
                    None => return Err(format!("`{name}` has no value yet")),
                },
            }
        }
        Regex::new(&source).map_err(|error| error.to_string())
    }

    /// The variables that a match sets.
    pub(super) fn defines(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Define(name, _) => Some(name.as_str()),
            _ => None,
        })
    }
}

/// Replaces each run of blanks by one blank, and removes those at the ends of a line.
pub(super) fn squeeze(line: &str) -> String {
    line.split([' ', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The check lines of a file whose prefix is one of `prefixes`.
pub fn parse(file: &str, prefixes: &[&str]) -> Result<Vec<Directive>, String> {
    let mut directives = Vec::new();
    for (index, line) in file.lines().enumerate() {
        let found = prefixes.iter().find_map(|prefix| directive(line, prefix).transpose());
        let Some((kind, text)) = found.transpose().map_err(|why| format!("line {}: {why}", index + 1))?
        else {
            continue;
        };
        let text = squeeze(text);
        let pieces = pieces(&text).map_err(|why| format!("line {}: {why}", index + 1))?;
        if text.is_empty() && kind != Kind::Empty {
            return Err(format!("line {}: an empty check", index + 1));
        }
        directives.push(Directive { kind, line: index + 1, text, pieces });
    }
    if directives.is_empty() {
        return Err(format!("no check line with the prefix {}", prefixes.join(" or ")));
    }
    Ok(directives)
}

/// The check on a line, if there is one. A line that looks like a check but is not one is an error,
/// so that a misspelled check cannot pass.
fn directive<'a>(line: &'a str, prefix: &str) -> Result<Option<(Kind, &'a str)>, String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let Some((start, _)) = line.match_indices(prefix).find(|(at, _)| !line[..*at].ends_with(is_word)) else {
        return Ok(None);
    };
    let Some((suffix, text)) = line[start + prefix.len()..].split_once(':') else { return Ok(None) };
    let kind = match suffix {
        "" => Kind::Plain,
        "-NEXT" => Kind::Next,
        "-SAME" => Kind::Same,
        "-NOT" => Kind::Not,
        "-DAG" => Kind::Dag,
        "-LABEL" => Kind::Label,
        "-EMPTY" => Kind::Empty,
        _ => match suffix.strip_prefix("-COUNT-").and_then(|count| count.parse().ok()) {
            Some(count) => Kind::Count(count),
            None if suffix.starts_with('-') && suffix.chars().all(is_word) => {
                return Err(format!("there is no check `{prefix}{suffix}`"));
            }
            None => return Ok(None),
        },
    };
    Ok(Some((kind, text)))
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let next = [rest.find("{{"), rest.find("[[")].into_iter().flatten().min();
        let Some(mut start) = next else {
            pieces.push(Piece::Literal(rest.to_string()));
            break;
        };
        // In `[[[R]]]` the outer brackets are literal.
        while rest[start..].starts_with("[[[") {
            start += 1;
        }
        if start > 0 {
            pieces.push(Piece::Literal(rest[..start].to_string()));
        }
        let is_regex = rest[start..].starts_with("{{");
        let body = &rest[start + 2..];
        let end = if is_regex { end_of_regex(body) } else { end_of_variable(body) };
        let end = end.ok_or_else(|| format!("`{}` is not closed", &rest[start..start + 2]))?;
        let inner = &body[..end];
        pieces.push(match (is_regex, inner.split_once(':')) {
            (true, _) => Piece::Regex(inner.to_string()),
            (_, Some((name, regex))) => Piece::Define(variable(name)?, regex.to_string()),
            (_, None) => Piece::Use(variable(inner)?),
        });
        rest = &body[end + 2..];
    }
    Ok(pieces)
}

/// The end of a regular expression: the last `}}` of a row of braces, the first of which may end a
/// count.
fn end_of_regex(body: &str) -> Option<usize> {
    let end = body.find("}}")?;
    let braces = body[end..].chars().take_while(|&c| c == '}').count();
    Some(end + braces - 2)
}

/// The end of a variable: the first `]]` outside a character class.
fn end_of_variable(body: &str) -> Option<usize> {
    let (mut in_class, mut escaped) = (false, false);
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' if in_class => in_class = false,
            ']' if body[at..].starts_with("]]") => return Some(at),
            _ => {}
        }
    }
    None
}

fn variable(name: &str) -> Result<String, String> {
    let ok = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if ok { Ok(name.to_string()) } else { Err(format!("`{name}` is not a variable name")) }
}
