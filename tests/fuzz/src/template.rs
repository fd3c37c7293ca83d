//! Templates of statements: lines of the files in `templates/`.
//!
//! ```text
//! [fuses] [approximates] [disputed] [unguarded] [everyone] instruction [; instruction]…
//! ```
//!
//! In an instruction `!r` is a register that is written, `=r` one that is read, `?r` a register or constant that is read;
//! `r` is a word of 32 bits, `d` of 64, `h` of 16, `f` and `e` are of single and double precision, `p` predicates. A flavour in front of the class (`!wr`, `!up`) makes a
//! destination one that is the same in all threads of a warp or CTA. `<a|b>` is a choice, `@4` an address for so many bytes,
//! `$s` its space with a dot, `$m` the lanes that are here, `$l` one of them, `$g` the mask of the lanes that are here and know of each other. All that a template allows is
//! well-defined, wherever a statement of its file may stand.

use std::sync::LazyLock;

/// What happens to an operand.
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
    /// Itself.
    Text(String),
    /// One of several.
    Choice(Vec<Vec<Token>>),
    /// An operand: what happens to it, its flavour if it has one of its own, its class.
    Operand(Role, Option<char>, char),
    /// An address aligned for so many bytes.
    Address(u32),
    /// The space of the address, with its dot.
    Space,
    /// The lanes that are here.
    Lanes,
    /// A lane that is here.
    Lane,
    /// The mask of the lanes that are here and know of each other.
    Group,
}

/// A statement with blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its parts.
    pub tokens: Vec<Token>,
    /// Whether it has a sum or product that may be fused with another.
    pub contracts: bool,
    /// Whether only bounds are known of its result.
    pub approximates: bool,
    /// Whether ptxas is known to do otherwise than the PTX ISA says.
    pub disputed: bool,
    /// Whether it does so where there is a guard.
    pub disputed_if_guarded: bool,
    /// Whether no thread may have ended.
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
/// Lanes of a warp together.
pub static WARP: Templates = LazyLock::new(|| read(include_str!("../templates/warp.txt")));
/// All lanes of a warp together.
pub static SHUFFLE: Templates = LazyLock::new(|| read(include_str!("../templates/shuffle.txt")));
/// Lanes of a warp together that know of each other.
pub static GROUP: Templates = LazyLock::new(|| read(include_str!("../templates/group.txt")));
/// All threads of a CTA together.
pub static CTA: Templates = LazyLock::new(|| read(include_str!("../templates/cta.txt")));

fn read(file: &str) -> Vec<Template> {
    let lines = file.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(Template::parse).collect()
}

impl Template {
    /// Whether its text has one of the words.
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
            '<' => rest.split_once('>').map(|(choices, behind)| {
                let choices = choices[1..].split('|').map(tokens).collect();
                (Token::Choice(choices), behind)
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
            Some((token, behind)) => {
                list.push(token);
                rest = behind;
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

/// The operand at the beginning of a text and what is behind it.
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
