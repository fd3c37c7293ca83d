//! Check lines: recognised in the check file and compiled to regular expressions.

use std::collections::BTreeMap;

use regex::Regex;

/// What a check line asks for.
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
    /// A cut: found before all others, and the others stay between two cuts.
    Label,
    /// The line after the last match is empty.
    Empty,
    /// That many times, one after the other.
    Count(usize),
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Text that stands for itself.
    Literal(String),
    /// A regular expression.
    Regex(String),
    /// A regular expression whose match the variable keeps.
    Define(String, String),
    /// What the variable kept.
    Use(String),
}

/// A check line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// What it asks for.
    pub kind: Kind,
    /// Its line in the check file, from 1.
    pub line: usize,
    /// The pattern as written.
    pub text: String,
    pieces: Vec<Piece>,
}

impl Directive {
    /// The regular expression, given what the variables hold.
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

/// One blank for each run of blanks, none at the ends of a line.
pub(super) fn squeeze(line: &str) -> String {
    line.split([' ', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The check lines of a file whose prefix is one of `prefixes`.
pub fn parse(file: &str, prefixes: &[&str]) -> Result<Vec<Directive>, String> {
    let mut directives = Vec::new();
    for (index, line) in file.lines().enumerate() {
        let Some((kind, text)) = prefixes.iter().find_map(|prefix| directive(line, prefix)) else { continue };
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

fn directive<'a>(line: &'a str, prefix: &str) -> Option<(Kind, &'a str)> {
    let start = line.find(prefix)?;
    let before = line[..start].chars().next_back();
    if before.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_') {
        return None;
    }
    let rest = &line[start + prefix.len()..];
    let (suffix, text) = rest.split_once(':')?;
    let kind = match suffix {
        "" => Kind::Plain,
        "-NEXT" => Kind::Next,
        "-SAME" => Kind::Same,
        "-NOT" => Kind::Not,
        "-DAG" => Kind::Dag,
        "-LABEL" => Kind::Label,
        "-EMPTY" => Kind::Empty,
        _ => Kind::Count(suffix.strip_prefix("-COUNT-")?.parse().ok()?),
    };
    Some((kind, text))
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let next = [rest.find("{{"), rest.find("[[")].into_iter().flatten().min();
        let Some(start) = next else {
            pieces.push(Piece::Literal(rest.to_string()));
            break;
        };
        if start > 0 {
            pieces.push(Piece::Literal(rest[..start].to_string()));
        }
        let close = if rest[start..].starts_with("{{") { "}}" } else { "]]" };
        let body = &rest[start + 2..];
        let mut end = body.find(close).ok_or_else(|| format!("`{}` is not closed", &rest[start..start + 2]))?;
        // A character class may end right before the closing brackets: `[[R:[0-9]]]`.
        while close == "]]" && body[end + 2..].starts_with(']') {
            end += 1;
        }
        let inner = &body[..end];
        pieces.push(match (close, inner.split_once(':')) {
            ("}}", _) => Piece::Regex(inner.to_string()),
            (_, Some((name, regex))) => Piece::Define(variable(name)?, regex.to_string()),
            (_, None) => Piece::Use(variable(inner)?),
        });
        rest = &body[end + 2..];
    }
    Ok(pieces)
}

fn variable(name: &str) -> Result<String, String> {
    let ok = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if ok { Ok(name.to_string()) } else { Err(format!("`{name}` is no variable name")) }
}
