//! Templates of statements: lines of the files in `templates/`.
//!
//! ```text
//! [fuses] [approximates] [disputed] [unguarded] [everyone] [whole] [sm_N] instruction [; instruction]…
//! ```
//!
//! In an instruction, `!r` is a register that is written, `=r` a register that is read, and `?r` a
//! register or constant that is read. `r` is a word of 32 bits, `d` of 64, `h` of 16; `f` and `e`
//! have single and double precision, `p` are predicates. A flavour before the class (`!wr`, `!up`)
//! makes a destination the same in all threads of a warp or CTA. `<a|b>` is a choice, `@4` an
//! address aligned for 4 bytes, and `$s` its space with a dot. `$m` is the mask of the current
//! lanes, `$l` one of them, and `$g` the mask of the current lanes if they know each other. `$j` is a
//! label of the statement. A word after `&` is an [abbreviation](ABBREVIATIONS). Every instance of a
//! template is well-defined wherever a statement of its file may occur.

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
    /// The label of the statement.
    Label,
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
    /// Whether its last instruction cannot have a guard.
    pub whole: bool,
    /// The least number of a target that has its instructions.
    pub least: u32,
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
/// Integers in parts of registers.
pub static PACKED: Templates = LazyLock::new(|| read(include_str!("../templates/packed.txt")));
/// Conversions of floats to and from parts of registers.
pub static CONVERTED: Templates = LazyLock::new(|| read(include_str!("../templates/converted.txt")));
/// Parameters of the kernel by address.
pub static PARAMETERS: Templates = LazyLock::new(|| read(include_str!("../templates/parameters.txt")));
/// Parameters of a function by address.
pub static ARGUMENTS: Templates = LazyLock::new(|| read(include_str!("../templates/arguments.txt")));
/// Services of the driver.
pub static SERVICES: Templates = LazyLock::new(|| read(include_str!("../templates/services.txt")));
/// Textures.
pub static TEXTURES: Templates = LazyLock::new(|| read(include_str!("../templates/textures.txt")));
/// Matrices that a warp holds.
pub static MATRICES: Templates = LazyLock::new(|| read(include_str!("../templates/matrices.txt")));
/// Surfaces.
pub static SURFACES: Templates = LazyLock::new(|| read(include_str!("../templates/surfaces.txt")));

/// Words that stand for longer texts.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("&type", "<u32|s32>"),
    ("&compare", "<eq|ne|lt|le|gt|ge>"),
    // A word or a part of it, and only a part.
    ("&any", "<|.b0|.b1|.b2|.b3|.h0|.h1>"),
    ("&part", "<.b0|.b1|.b2|.b3|.h0|.h1>"),
    // The halves and bytes of two registers, and those of the result that are written.
    ("&halves", "<|.h00|.h01|.h10|.h13|.h20|.h23|.h32|.h33>"),
    ("&bytes", "<|.b3210|.b7654|.b0123|.b0000|.b7531|.b4567|.b6240|.b5514>"),
    ("&masked2", "<|.h0|.h1|.h10>"),
    ("&masked4", "<|.b0|.b1|.b2|.b3|.b10|.b21|.b31|.b320|.b310|.b3210>"),
    (
        "&print",
        "cvta.global.u64 %fm, %fm ; { .param .b64 pf ; st.param.b64 [pf], %fm ; .param .b64 pa ; \
         st.param.b64 [pa], %vg ; .param .b32 pr ; call<|.uni> (pr), vprintf, (pf, pa) ; \
         ld.param.b32 !r, [pr] ; }",
    ),
    (
        "&malloc",
        "{ .param .b64 pn ; st.param.b64 [pn], %hn ; .param .b64 pb ; call<|.uni> (pb), malloc, (pn) ; \
         ld.param.b64 %hb, [pb] ; }",
    ),
    ("&free", "{ .param .b64 pb ; st.param.b64 [pb], %hb ; call<|.uni> free, (pb) ; }"),
    (
        "&assert",
        "mov.u64 %a0, condition ; cvta.global.u64 %a0, %a0 ; mov.u64 %a1, file ; \
         cvta.global.u64 %a1, %a1 ; { .param .b64 pc ; st.param.b64 [pc], %a0 ; .param .b64 pf ; \
         st.param.b64 [pf], %a1 ; .param .b32 pl ; st.param.b32 [pl], 7 ; .param .b64 pg ; \
         st.param.b64 [pg], %a1 ; .param .b64 ps ; st.param.b64 [ps], 1 ; \
         call<|.uni> __assertfail, (pc, pf, pl, pg, ps) ; }",
    ),
    // A float coordinate from 0 to 16.
    ("&coordinate", "and.b32 %t0, =r, 255 ; cvt.rn.f32.u32 %ya, %t0 ; mul.rn.f32 %ya, %ya, 0f3d800000"),
    (
        "&coordinates",
        "&coordinate ; and.b32 %t1, =r, 127 ; cvt.rn.f32.u32 %yb, %t1 ; mul.rn.f32 %yb, %yb, 0f3d800000",
    ),
    // Four floats, and four words.
    ("&floats", "{!f, !f, !f, !f}"),
    ("&words", "{!r, !r, !r, !r}"),
];

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
            whole: false,
            least: 0,
        };
        let mut text = line;
        while let Some((mark, rest)) = text.split_once(' ') {
            if let Some(number) = mark.strip_prefix("sm_").and_then(|number| number.parse().ok()) {
                template.least = number;
                text = rest;
                continue;
            }
            let flag = match mark {
                "fuses" => &mut template.contracts,
                "approximates" => &mut template.approximates,
                "disputed" => &mut template.disputed,
                "unguarded" => &mut template.disputed_if_guarded,
                "everyone" => &mut template.everyone,
                "whole" => &mut template.whole,
                _ => break,
            };
            *flag = true;
            text = rest;
        }
        // A block ends with its brace.
        let text = spelled_out(text).replace(" ; } ; ", ";\n}\n").replace(" ; ", ";\n");
        template.tokens = tokens(&text);
        template
    }
}

/// The text without abbreviations.
fn spelled_out(text: &str) -> String {
    let mut text = text.to_string();
    // An abbreviation may contain another one.
    while text.contains('&') {
        // The longest name that fits.
        let (at, name, long) = ABBREVIATIONS
            .iter()
            .filter_map(|&(name, long)| Some((text.find(name)?, name, long)))
            .max_by_key(|(_, name, _)| name.len())
            .unwrap_or_else(|| panic!("an unknown abbreviation in {text:?}"));
        text.replace_range(at..at + name.len(), long);
    }
    text
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
                    Some(b'j') => Some(Token::Label),
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
