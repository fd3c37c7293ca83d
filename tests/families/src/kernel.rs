//! The kernel around a form: operands from memory or parameters, the instruction in its setting,
//! results to memory.
//!
//! The names of a form's operands define their kinds:
//!
//! | name | meaning |
//! |---|---|
//! | `w0` … `w7`, `x0`, `x1`, `q0`, `q1`, `h0` … `h7` | 32, 64, 128 and 16 bits that each thread loads |
//! | `uw`, `ux` | 32 and 64 bits that are the same for all threads, a parameter |
//! | `kw`, `kx`, `kp` | registers that hold a constant |
//! | `p0`, `up` | a predicate that depends on the thread, and one that does not |
//! | `bn`, `bc`, `ubn`, `ubc`, `kbn`, `kbc` | name and thread count of a barrier: loaded, parameter, constant |
//! | `m`, `um`, `km` | a mask of lanes: loaded, parameter, constant |
//! | `ga`, `gu`, `na`, `nu`, `sa`, `su` | addresses, of an element per thread and of one for all: global, generic, shared |
//! | `xa` | the generic address of a shared variable, which the compiler cannot tell from others |
//! | `tile`, `cell`, `phase` | variables: shared, global, an `mbarrier` in shared memory |
//! | `pol`, `fpol` | a cache policy: a parameter, made by `createpolicy` |
//! | `rw`, `rx`, `rh`, `rq`, `rp` (and `rw0` … `rw7`, `rh0` … `rh7`) | results that are stored |
//! | `dw`, `dx`, `dh`, `dq`, `dp` (and `dw0` …) | results that are not used |
//!
//! Thread `t` has its operands at `in + 256 t` and its elements at `mem + 64 t`, and stores its
//! results at `out + 256 t`. A kernel contains only the operands that its form names.

use std::collections::BTreeSet;
use std::fmt::Write;

use ptxc_machine::Arch;

use crate::form::{Form, Setting};

/// Bytes of operands, and of results, per thread.
pub const THREAD_BYTES: u32 = 256;
/// Bytes of memory per thread for atomics.
pub const ELEMENT_BYTES: u32 = 64;
/// The offset of the results of the second arm among the results.
const SECOND_ARM: u32 = 128;

/// The parameters of each kernel.
const PARAMETERS: &str = ".param .u64 in, .param .u64 mem, .param .u64 out, .param .u32 n, .param .u32 name, \
    .param .u32 count, .param .u32 mask, .param .u32 word, .param .u64 wide, .param .u64 policy";

/// The names in a text: identifiers that do not follow a dot or a digit.
fn names(text: &str) -> BTreeSet<&str> {
    let operands = text.split_once(' ').map_or("", |(_, operands)| operands);
    operands
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
        .collect()
}

/// The source of the bits of a numbered name: the byte offset in the thread's operands, and the
/// width.
fn loaded(name: &str) -> Option<(u32, u32)> {
    let (letters, digits) = name.split_at(name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len()));
    let number: u32 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    match letters {
        "w" => Some((4 * number, 32)),
        "bn" => Some((32, 32)),
        "bc" => Some((36, 32)),
        "m" => Some((40, 32)),
        "p" => Some((44 + 4 * number, 1)),
        "x" => Some((64 + 8 * number, 64)),
        "q" => Some((80 + 16 * number, 128)),
        "h" => Some((112 + 2 * number, 16)),
        _ => None,
    }
}

/// The width of a result, whether it is stored, and its offset.
fn result(name: &str) -> Option<(u32, bool, u32)> {
    let (kind, rest) = name.split_at_checked(1)?;
    let (letter, digits) = rest.split_at_checked(1)?;
    let number: u32 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let stored = match kind {
        "r" => true,
        "d" => false,
        _ => return None,
    };
    match letter {
        "w" => Some((32, stored, 4 * number)),
        "x" => Some((64, stored, 64 + 8 * number)),
        "q" => Some((128, stored, 80 + 16 * number)),
        "h" => Some((16, stored, 32 + 2 * number)),
        "p" => Some((1, stored, 48)),
        _ => None,
    }
}

/// The definition of an operand: its width in bits (1 for a predicate), and the lines.
fn definition(name: &str) -> Option<(u32, String)> {
    if let Some((at, bits)) = loaded(name) {
        let lines = match bits {
            1 => format!("ld.global.b32 v_{name}, [own+{at}];\nsetp.ne.u32 {name}, v_{name}, 0;"),
            128 => format!(
                "ld.global.v2.b64 {{l_{name}, m_{name}}}, [own+{at}];\nmov.b128 {name}, {{l_{name}, m_{name}}};"
            ),
            _ => format!("ld.global.b{bits} {name}, [own+{at}];"),
        };
        return Some((bits, lines));
    }
    let parameter = |bits: u32, from: &str| Some((bits, format!("ld.param.b{bits} {name}, [{from}];")));
    let plain = |bits: u32, lines: &str| Some((bits, lines.to_string()));
    match name {
        "uw" => parameter(32, "word"),
        "ux" => parameter(64, "wide"),
        "ubn" => parameter(32, "name"),
        "ubc" => parameter(32, "count"),
        "um" => parameter(32, "mask"),
        "pol" => parameter(64, "policy"),
        "up" => plain(1, "ld.param.u32 v_up, [word];\nsetp.gt.u32 up, v_up, 7;"),
        "kw" => plain(32, "mov.u32 kw, 5;"),
        "kx" => plain(64, "mov.u64 kx, 5;"),
        "kp" => plain(1, "setp.eq.u32 kp, 0, 0;"),
        "kbn" => plain(32, "mov.u32 kbn, 3;"),
        "kbc" => plain(32, "mov.u32 kbc, 64;"),
        "km" => plain(32, "mov.u32 km, -1;"),
        "gu" | "nu" => parameter(64, "mem"),
        "ga" | "na" => Some((
            64,
            format!("ld.param.u64 b_{name}, [mem];\nmad.wide.u32 {name}, t, {ELEMENT_BYTES}, b_{name};"),
        )),
        "su" => plain(32, "mov.u32 su, tile;"),
        "sa" => Some((32, format!("mov.u32 b_sa, tile;\nmad.lo.u32 sa, t, {ELEMENT_BYTES}, b_sa;"))),
        "xa" => Some((
            64,
            format!(
                "mov.u32 b_xa, tile;\nmad.lo.u32 b_xa, t, {ELEMENT_BYTES}, b_xa;\ncvt.u64.u32 c_xa, b_xa;\ncvta.shared.u64 xa, c_xa;"
            ),
        )),
        "fpol" => plain(64, "createpolicy.fractional.L2::evict_last.b64 fpol, 0.5;"),
        _ => None,
    }
}

fn register(bits: u32) -> String {
    match bits {
        1 => ".reg .pred".to_string(),
        _ => format!(".reg .b{bits}"),
    }
}

/// Lines that store the stored results of a text.
fn stores(text: &str, at: u32) -> String {
    let mut lines = String::new();
    for name in names(text) {
        let Some((bits, true, place)) = result(name) else { continue };
        let place = place + at;
        // Writing to a string cannot fail.
        let _ = match bits {
            1 => {
                write!(lines, "selp.u32 s_{name}, 1, 0, {name};\nst.global.u32 [place+{place}], s_{name};\n")
            }
            128 => write!(
                lines,
                "mov.b128 {{l_{name}, m_{name}}}, {name};\nst.global.v2.b64 [place+{place}], {{l_{name}, m_{name}}};\n"
            ),
            _ => writeln!(lines, "st.global.b{bits} [place+{place}], {name};"),
        };
    }
    lines
}

/// The lines before a module's kernels.
pub fn header(version: (u32, u32), arch: Arch) -> String {
    let (major, minor) = version;
    format!(
        ".version {major}.{minor}\n.target {arch}\n.address_size 64\n.visible .global .align 16 .b32 cell[64];\n"
    )
}

/// A module with a single form that can be run: shared memory starts as a copy of `mem`, and is
/// copied back.
pub fn runnable(form: &Form, arch: Arch) -> String {
    let (text, _) = entry(form, "k");
    let shared = ["sa", "su", "xa", "tile"];
    let header = header(form.version, arch);
    if !names(&form.text).iter().any(|name| shared.contains(name)) {
        return header + &text;
    }
    let copy = |from: &str, from_space: &str, to: &str, to_space: &str| {
        (0..ELEMENT_BYTES).step_by(16).fold(String::new(), |mut lines, at| {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "ld.{from_space}.v4.b32 {{e0, e1, e2, e3}}, [{from}+{at}];");
            let _ = writeln!(lines, "st.{to_space}.v4.b32 [{to}+{at}], {{e0, e1, e2, e3}};");
            lines
        })
    };
    let declared = format!(
        ".reg .b32 e0, e1, e2, e3, inside, first;\n.reg .b64 outside;\nmov.u32 t, %tid.x;\nld.param.u64 outside, [mem];\n\
         mad.wide.u32 outside, t, {ELEMENT_BYTES}, outside;\nmov.u32 first, tile;\n\
         mad.lo.u32 inside, t, {ELEMENT_BYTES}, first;\n{}bar.sync 0;\n",
        copy("outside", "global", "inside", "shared"),
    );
    let back = format!("bar.sync 0;\n{}ret;\n", copy("inside", "shared", "outside", "global"));
    // The first line that computes, and the last.
    let text = text.replacen("mov.u32 t, %tid.x;\n", &declared, 1);
    let (body, end) = text.rsplit_once("ret;\n").unwrap_or((&text, ""));
    header + body + &back + end
}

/// The kernel of a form, and the offset from its first line to the (first) line of the form.
pub fn entry(form: &Form, kernel: &str) -> (String, usize) {
    let text = &form.text;
    let names = names(text);
    let mut declarations = String::new();
    let mut body = String::new();
    let declare = |declarations: &mut String, bits: u32, name: &str| {
        let _ = writeln!(declarations, "{} {name};", register(bits));
    };
    let mut define = |name: &str| {
        if let Some((bits, lines)) = definition(name) {
            declare(&mut declarations, bits, name);
            for (prefix, bits) in
                [("v_", 32), ("b_", if name.starts_with(['s', 'x']) { 32 } else { 64 }), ("c_", 64)]
            {
                if lines.contains(&format!("{prefix}{name}")) {
                    declare(&mut declarations, bits, &format!("{prefix}{name}"));
                }
            }
            if bits == 128 {
                declare(&mut declarations, 64, &format!("l_{name}"));
                declare(&mut declarations, 64, &format!("m_{name}"));
            }
            let _ = writeln!(body, "{lines}");
        }
        if let Some((bits, stored, _)) = result(name) {
            declare(&mut declarations, bits, name);
            match bits {
                1 if stored => declare(&mut declarations, 32, &format!("s_{name}")),
                128 if stored => {
                    declare(&mut declarations, 64, &format!("l_{name}"));
                    declare(&mut declarations, 64, &format!("m_{name}"));
                }
                _ => {}
            }
        }
    };
    names.iter().for_each(|name| define(name));
    let shared = if names.iter().any(|name| ["sa", "su", "xa", "tile"].contains(name)) {
        ".shared .align 16 .b8 tile[16384];\n"
    } else {
        ""
    };
    let phase = if names.contains("phase") { ".shared .align 8 .b64 phase;\n" } else { "" };
    let head = format!(
        ".visible .entry {kernel}({PARAMETERS})\n{{\n{shared}{phase}.reg .b32 t, n_t;\n.reg .b64 own, place;\n.reg .pred below;\n\
         {declarations}mov.u32 t, %tid.x;\nld.param.u32 n_t, [n];\nld.param.u64 own, [in];\n\
         mad.wide.u32 own, t, {THREAD_BYTES}, own;\nld.param.u64 place, [out];\n\
         mad.wide.u32 place, t, {THREAD_BYTES}, place;\nsetp.lt.u32 below, t, n_t;\n{body}"
    );
    let (before, after) = match form.setting {
        Setting::Converged => (String::new(), stores(text, 0)),
        Setting::Divergent => ("@!below bra JOIN;\n".to_string(), format!("{}JOIN:\n", stores(text, 0))),
        Setting::BothArms => (
            "@!below bra OTHER;\nst.global.u32 [place+252], 1;\n".to_string(),
            format!(
                "{}bra.uni JOIN;\nOTHER:\nst.global.u32 [place+248], 2;\n{text};\n{}JOIN:\n",
                stores(text, 0),
                stores(text, SECOND_ARM)
            ),
        ),
    };
    let line = (head.matches('\n').count()) + before.matches('\n').count();
    (format!("{head}{before}{text};\n{after}st.global.u32 [place+244], 3;\nret;\n}}\n"), line)
}

/// A module with a single form.
pub fn module(form: &Form, arch: Arch) -> String {
    format!("{}{}", header(form.version, arch), entry(form, "k").0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Family;

    #[test]
    fn a_kernel_has_what_its_form_names_and_nothing_else() {
        let form = Form::new(Family::Atomic, "atom.global.add.u32 rw, [ga+4], w1").at(Setting::Divergent);
        let (text, line) = entry(&form, "k");
        assert_eq!(text.lines().nth(line), Some("atom.global.add.u32 rw, [ga+4], w1;"));
        assert!(text.contains("ld.global.b32 w1, [own+4];"));
        assert!(text.contains("st.global.b32 [place+0], rw;"));
        assert!(!text.contains("tile") && !text.contains("w0"));
    }
}
