//! Kernels of steps: the operands that the steps name are loaded, and their results are stored.
//!
//! | name | meaning |
//! |---|---|
//! | `w0` …, `x0` …, `q0` …, `h0` …, `p0` … | 32, 64, 128 and 16 bits and predicates that each thread loads |
//! | `uw0` …, `ux0` …, `uh0` … | 32, 64 and 16 bits that are parameters |
//! | `vw0` …, `vx0` …, `vp0` … | 32 and 64 bits and predicates that are computed from parameters |
//! | `ga`, `na`, `sa`, `la`, `ka` | addresses that depend on the thread: global, generic, shared, local, constant |
//! | `gu`, `nu`, `su`, `lu`, `ku` | addresses of these spaces that do not depend on the thread |
//! | `pu`, `nb` | the address of the parameter `blob`: in parameter space, and generic |
//! | `cell`, `tile`, `phase`, `loc`, `cc`, `blob` | variables: global, shared, an `mbarrier`, local, constant, a parameter |
//! | `rw`, `rx`, `rq`, `rh`, `rp` and `rw0` … | results, which are stored |
//! | `aw0` …, `ax0` …, `ah0` …, `ap0` … | results that have a loaded value before the step |
//! | `dw`, `dx`, `dq`, `dh`, `dp` and `dw0` … | results that are not used |
//!
//! Thread `t` has its operands at `in + 4096 t` and stores its results at `out + 65536 t`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::target::Target;

/// Bytes of operands per thread.
const OPERANDS: u32 = 4096;
/// Bytes of results per thread.
const RESULTS: u32 = 65536;

/// The parameters of each kernel.
const PARAMETERS: &str = ".param .u64 in, .param .u64 mem, .param .u64 out, .param .align 8 .b32 words[16], \
    .param .align 8 .b64 doubles[8], .param .align 8 .b16 halves[16], .param .align 64 .b8 blob[128]";

/// The variables that kernels share.
const VARIABLES: &str =
    ".visible .global .align 128 .b8 cell[8192];\n.visible .const .align 128 .b8 cc[8192];\n";

/// The words in a text that may be names, except for parts of an opcode or a number.
fn names(text: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut start = None;
    let bytes = text.as_bytes();
    for at in 0..=bytes.len() {
        let is_word = bytes.get(at).is_some_and(|&c| c.is_ascii_alphanumeric() || b"_%$".contains(&c));
        match (start, is_word) {
            (None, true) => start = Some(at),
            (Some(first), false) => {
                let follows_dot = first > 0 && bytes[first - 1] == b'.';
                if !follows_dot && bytes[first].is_ascii_alphabetic() {
                    names.insert(&text[first..at]);
                }
                start = None;
            }
            _ => {}
        }
    }
    names
}

/// The letters of a name and its number, 0 if it has none.
fn numbered(name: &str) -> Option<(&str, u32)> {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[letters.len()..];
    Some((letters, if digits.is_empty() { 0 } else { digits.parse().ok()? }))
}

/// The width that a letter stands for, 1 for a predicate.
fn width(letter: &str) -> Option<u32> {
    Some(match letter {
        "w" => 32,
        "x" => 64,
        "q" => 128,
        "h" => 16,
        "p" => 1,
        _ => return None,
    })
}

/// A register of `bits` bits.
fn declare(bits: u32, name: &str) -> String {
    match bits {
        1 => format!(".reg .pred {name};\n"),
        _ => format!(".reg .b{bits} {name};\n"),
    }
}

/// Lines that define `name` with bits from memory.
fn load(letter: &str, number: u32, name: &str) -> Option<String> {
    let bits = width(letter)?;
    let at = match bits {
        32 => 4 * number,
        64 => 1024 + 8 * number,
        128 => 2048 + 16 * number,
        16 => 3072 + 2 * number,
        _ => 3584 + 4 * number,
    };
    let declared = declare(bits, name);
    Some(match bits {
        1 => format!(
            "{declared}.reg .b32 v_{name};\nld.global.b32 v_{name}, [own+{at}];\nsetp.ne.u32 {name}, v_{name}, 0;\n"
        ),
        128 => format!(
            "{declared}.reg .b64 l_{name}, m_{name};\nld.global.v2.b64 {{l_{name}, m_{name}}}, [own+{at}];\n\
             mov.b128 {name}, {{l_{name}, m_{name}}};\n"
        ),
        _ => format!("{declared}ld.global.b{bits} {name}, [own+{at}];\n"),
    })
}

/// Lines that define an operand that is the same in the whole kernel.
fn operand(name: &str) -> Option<String> {
    let (letters, number) = numbered(name)?;
    if let Some(lines) = load(letters, number, name) {
        return Some(lines);
    }
    let parameter = |bits: u32, of: &str| {
        format!("{}ld.param.b{bits} {name}, [{of}+{}];\n", declare(bits, name), number * bits / 8)
    };
    let address = |bits: u32, lines: &str| Some(declare(bits, name) + lines);
    match letters {
        "uw" => Some(parameter(32, "words")),
        "ux" => Some(parameter(64, "doubles")),
        "uh" => Some(parameter(16, "halves")),
        "vw" => Some(format!(
            "{}.reg .b32 a_{name}, b_{name};\nld.param.b32 a_{name}, [words+{}];\nld.param.b32 b_{name}, [words+32];\n\
             mad.lo.u32 {name}, a_{name}, b_{name}, {number};\n",
            declare(32, name),
            4 * number
        )),
        "vx" => Some(format!(
            "{}.reg .b32 a_{name}, b_{name};\nld.param.b32 a_{name}, [words+{}];\nld.param.b32 b_{name}, [words+36];\n\
             add.u32 a_{name}, a_{name}, b_{name};\nmov.b64 {name}, {{a_{name}, b_{name}}};\n",
            declare(64, name),
            4 * number
        )),
        "vp" => Some(format!(
            "{}.reg .b32 a_{name}, b_{name};\nld.param.b32 a_{name}, [words+{}];\nld.param.b32 b_{name}, [words+40];\n\
             setp.lt.u32 {name}, a_{name}, b_{name};\n",
            declare(1, name),
            4 * number
        )),
        "gu" | "nu" => address(64, &format!("ld.param.u64 {name}, [mem];\n")),
        "ga" | "na" => address(
            64,
            &format!(
                ".reg .b64 b_{name};\nld.param.u64 b_{name}, [mem];\nmad.wide.u32 {name}, t, 256, b_{name};\n"
            ),
        ),
        "su" => address(32, "mov.u32 su, tile;\n"),
        "sa" => address(32, ".reg .b32 b_sa;\nmov.u32 b_sa, tile;\nmad.lo.u32 sa, t, 256, b_sa;\n"),
        "lu" => address(64, "mov.u64 lu, loc;\n"),
        "la" => address(64, ".reg .b64 b_la;\nmov.u64 b_la, loc;\nmad.wide.u32 la, t, 16, b_la;\n"),
        "ku" => address(64, "mov.u64 ku, cc;\n"),
        "ka" => address(64, ".reg .b64 b_ka;\nmov.u64 b_ka, cc;\nmad.wide.u32 ka, t, 256, b_ka;\n"),
        "pu" => address(64, "mov.b64 pu, blob;\n"),
        "nb" => address(64, "mov.b64 nb, blob;\ncvta.param.u64 nb, nb;\n"),
        _ => None,
    }
}

/// The lines before and after a step that writes the result.
fn result(name: &str, place: &mut u32) -> Option<(String, String)> {
    let (kind, rest) = name.split_at_checked(1)?;
    let (letter, number) = numbered(rest)?;
    let bits = width(letter)?;
    let before = match kind {
        "r" | "d" => declare(bits, name),
        "a" => load(letter, number, name)?,
        _ => return None,
    };
    if kind == "d" {
        return Some((before, String::new()));
    }
    let bytes = (bits / 8).max(4);
    *place = place.next_multiple_of(bytes);
    let at = *place;
    *place += bytes;
    let after = match bits {
        1 => format!(
            ".reg .b32 s_{name};\nselp.u32 s_{name}, 1, 0, {name};\nst.global.b32 [place+{at}], s_{name};\n"
        ),
        128 => format!(
            ".reg .b64 y_{name}, z_{name};\nmov.b128 {{y_{name}, z_{name}}}, {name};\n\
             st.global.v2.b64 [place+{at}], {{y_{name}, z_{name}}};\n"
        ),
        _ => format!("st.global.b{bits} [place+{at}], {name};\n"),
    };
    Some((before, after))
}

/// The text before a module's kernels.
pub fn header(version: &str, target: Target, independent: bool) -> String {
    let mode = if independent { ", texmode_independent" } else { "" };
    format!(".version {version}\n.target {target}{mode}\n.address_size 64\n{VARIABLES}")
}

/// A kernel of steps, and the first and last line of each step, counted from 0 at the kernel's
/// first line.
pub fn entry(name: &str, directives: &str, steps: &[String]) -> (String, Vec<(usize, usize)>) {
    let mut words = BTreeSet::new();
    let mut body = String::new();
    let mut ranges = Vec::new();
    let mut place = 0;
    let mut lines = 0;
    for step in steps {
        let named = names(step);
        let (mut before, mut after) = (String::new(), String::new());
        for name in &named {
            if let Some((front, suffix)) = result(name, &mut place) {
                before += &front;
                after += &suffix;
            }
        }
        let text = format!("{{\n{before}{};\n{after}}}\n", step.replace("; ", ";\n").trim_end_matches(';'));
        let first = lines;
        lines += text.matches('\n').count();
        ranges.push((first, lines - 1));
        body += &text;
        words.extend(named);
    }
    let mut head = format!(".visible .entry {name}({PARAMETERS})\n{directives}{{\n");
    if ["sa", "su", "tile"].iter().any(|name| words.contains(name)) {
        head += ".shared .align 1024 .b8 tile[16384];\n";
    }
    if words.contains("phase") {
        head += ".shared .align 8 .b64 phase[4];\n";
    }
    if ["la", "lu", "loc"].iter().any(|name| words.contains(name)) {
        head += ".local .align 16 .b8 loc[256];\n";
    }
    let _ = write!(
        head,
        ".reg .b32 t;\n.reg .b64 own, place;\nmov.u32 t, %tid.x;\nld.param.u64 own, [in];\n\
         mad.wide.u32 own, t, {OPERANDS}, own;\nld.param.u64 place, [out];\n\
         mad.wide.u32 place, t, {RESULTS}, place;\n"
    );
    for name in &words {
        head.push_str(&operand(name).unwrap_or_default());
    }
    let before = head.matches('\n').count();
    for (first, last) in &mut ranges {
        *first += before;
        *last += before;
    }
    (format!("{head}{body}ret;\n}}\n"), ranges)
}
