//! Templates of statements: lines of the files in `templates/`.
//!
//! ```text
//! [fuses] [approximates] [disputed] [unguarded] [everyone] instruction [; instruction]…
//! ```
//!
//! In an instruction, `!r` is a register that is written, `=r` a register that is read, and `?r` a
//! register or constant that is read. `r` is a word of 32 bits, `d` of 64, `h` of 16; `f` and `e`
//! have single and double precision, `p` are predicates. A flavour before the class (`!wr`, `!up`)
//! makes a destination the same in all threads of a warp or CTA. `<a|b>` is a choice, `@4` an
//! address aligned for 4 bytes, and `$s` its space with a dot. `$m` is the mask of the current
//! lanes, `$l` one of them, and `$g` the mask of the current lanes if they know each other. Every
//! instance of a template is well-defined wherever a statement of its file may occur.

use std::sync::LazyLock;

/// The role of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A register that is written.
    Write,
    /// A register that is read.
    Register,
    /// A register or constant that is read.
    Value,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// Literal text.
    Text(String),
    /// One of several alternatives.
    Choice(Vec<Vec<Token>>),
    /// An operand: its role, its own flavour if it has one, its class.
    Operand(Role, Option<char>, char),
    /// An address aligned for this number of bytes.
    Address(u32),
    /// The space of the address, with its dot.
    Space,
    /// The mask of the current lanes.
    Lanes,
    /// A current lane.
    Lane,
    /// The mask of the current lanes, which know each other.
    Group,
}

/// A statement with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its parts.
    pub tokens: Vec<Token>,
    /// Whether it has a sum or product that may be fused with another.
    pub contracts: bool,
    /// Whether its result is only known within bounds.
    pub approximates: bool,
    /// Whether ptxas is known to deviate from the PTX ISA.
    pub disputed: bool,
    /// Whether ptxas does so if there is a guard.
    pub disputed_if_guarded: bool,
    /// Whether it requires that no thread has ended.
    pub everyone: bool,
}

/// A file of templates.
pub type Templates = LazyLock<Vec<Template>>;

/// Integers and predicates.
pub static INTEGER: Templates = LazyLock::new(|| read(include_str!("../templates/integer.txt")));
/// Single precision.
pub static FLOAT: Templates = LazyLock::new(|| read(include_str!("../templates/float.txt")));
/// Double precision.
pub static DOUBLE: Templates = LazyLock::new(|| read(include_str!("../templates/double.txt")));
/// Special registers.
pub static SPECIAL: Templates = LazyLock::new(|| read(include_str!("../templates/special.txt")));
/// Memory of the thread.
pub static MEMORY: Templates = LazyLock::new(|| read(include_str!("../templates/memory.txt")));
/// Atomics and orders in memory of the thread.
pub static ATOMIC: Templates = LazyLock::new(|| read(include_str!("../templates/atomic.txt")));
/// Computed addresses.
pub static COMPUTED: Templates = LazyLock::new(|| read(include_str!("../templates/computed.txt")));
/// Updates by all threads.
pub static SHARED_BY_ALL: Templates = LazyLock::new(|| read(include_str!("../templates/shared_by_all.txt")));
/// Operations of the lanes of a warp together.
pub static WARP: Templates = LazyLock::new(|| read(include_str!("../templates/warp.txt")));
/// Operations of all lanes of a warp together.
pub static SHUFFLE: Templates = LazyLock::new(|| read(include_str!("../templates/shuffle.txt")));
/// Operations of lanes of a warp that know each other.
pub static GROUP: Templates = LazyLock::new(|| read(include_str!("../templates/group.txt")));
/// Operations of all threads of a CTA together.
pub static CTA: Templates = LazyLock::new(|| read(include_str!("../templates/cta.txt")));

fn read(file: &str) -> Vec<Template> {
    let lines = file.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(Template::parse).collect()
}

impl Template {
    /// Whether its text contains one of the words.
    pub fn names(&self, words: &[&str]) -> bool {
        self.tokens.iter().any(|token| match token {
            Token::Text(text) => {
                let in_word = |c: char| c.is_ascii_alphanumeric() || c == '%' || c == '_';
                text.split(|c| !in_word(c)).any(|word| words.contains(&word))
            }
            _ => false,
        })
    }

    fn parse(line: &str) -> Template {
        let mut template = Template {
            tokens: Vec::new(),
            contracts: false,
            approximates: false,
            disputed: false,
            disputed_if_guarded: false,
            everyone: false,
        };
        let mut text = line;
        while let Some((mark, rest)) = text.split_once(' ') {
            let flag = match mark {
                "fuses" => &mut template.contracts,
                "approximates" => &mut template.approximates,
                "disputed" => &mut template.disputed,
                "unguarded" => &mut template.disputed_if_guarded,
                "everyone" => &mut template.everyone,
                _ => break,
            };
            *flag = true;
            text = rest;
        }
        template.tokens = tokens(&text.replace(" ; ", ";\n"));
        template
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut list = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '<' => rest.split_once('>').map(|(choices, after)| {
                let choices = choices[1..].split('|').map(tokens).collect();
                (Token::Choice(choices), after)
            }),
            '!' | '=' | '?' => operand(rest),
            '@' => {
                let digits = rest[1..].chars().take_while(char::is_ascii_digit).count();
                rest[1..=digits].parse().ok().map(|bytes| (Token::Address(bytes), &rest[digits + 1..]))
            }
            '$' => {
                let token = match rest.as_bytes().get(1) {
                    Some(b's') => Some(Token::Space),
                    Some(b'm') => Some(Token::Lanes),
                    Some(b'l') => Some(Token::Lane),
                    Some(b'g') => Some(Token::Group),
                    _ => None,
                };
                token.map(|token| (token, &rest[2..]))
            }
            _ => None,
        };
        match taken {
            Some((token, after)) => {
                list.push(token);
                rest = after;
            }
            None => {
                let length = first.len_utf8();
                match list.last_mut() {
                    Some(Token::Text(text)) => text.push(first),
                    _ => list.push(Token::Text(first.to_string())),
                }
                rest = &rest[length..];
            }
        }
    }
    list
}

/// The operand at the beginning of a text, and the rest of the text.
fn operand(text: &str) -> Option<(Token, &str)> {
    let mut chars = text.chars();
    let role = match chars.next()? {
        '!' => Role::Write,
        '=' => Role::Register,
        _ => Role::Value,
    };
    let mut class = chars.next()?;
    let mut flavour = None;
    if matches!(class, 'u' | 'w') {
        flavour = Some(class);
        class = chars.next()?;
    }
    matches!(class, 'r' | 'd' | 'h' | 'f' | 'e' | 'p')
        .then(|| (Token::Operand(role, flavour, class), chars.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_choices_and_addresses() {
        let parsed = Template::parse("fuses vote<|.x> !wp, <=p|!=p>, [@16], $m ; a");
        let text = |text: &str| Token::Text(text.to_string());
        let predicate = Token::Operand(Role::Register, None, 'p');
        let expected = vec![
            text("vote"),
            Token::Choice(vec![vec![], vec![text(".x")]]),
            text(" "),
            Token::Operand(Role::Write, Some('w'), 'p'),
            text(", "),
            Token::Choice(vec![vec![predicate.clone()], vec![text("!"), predicate]]),
            text(", ["),
            Token::Address(16),
            text("], "),
            Token::Lanes,
            text(";\na"),
        ];
        assert_eq!((parsed.tokens, parsed.contracts, parsed.approximates), (expected, true, false));
        assert!(!parsed.disputed && Template::parse("disputed bfe").disputed);
    }
}
