//! Long words, long texts between words, and bytes that are not text.

use super::{Extreme, HEADER, each, kernel, module};

/// Lengths.
pub(super) const ALL: &[Extreme] = &[
    ("name of a kernel", 1_000_000, |n| module(&format!(".entry {}() {{ ret; }}\n", "k".repeat(n)))),
    ("name of a register", 1_000_000, |n| {
        let name = "%".to_string() + &"r".repeat(n);
        kernel(&format!(".reg .b32 {name}; mov.b32 {name}, 1; add.s32 {name}, {name}, {name};"))
    }),
    ("name of an undeclared register", 1_000_000, |n| {
        let name = "%".to_string() + &"r".repeat(n);
        kernel(&format!(".reg .b32 %r; mov.b32 %r, {name}; mov.b32 {name}, 1;"))
    }),
    ("names that differ at the end", 1000, |n| {
        let name = |at: usize| "%".to_string() + &"r".repeat(1000) + &at.to_string();
        let declared = each(n, |at| format!(".reg .b32 {};\n", name(at)));
        kernel(&(declared + &each(n, |at| format!("mov.b32 {}x, {};\n", name(at), name(at)))))
    }),
    ("name of a label", 1_000_000, |n| kernel(&format!("bra {0}; {0}:", "L".repeat(n)))),
    ("name of a variable", 1_000_000, |n| {
        let name = "v".repeat(n);
        let body = format!(".reg .b64 %a; mov.u64 %a, {name}; st.global.u64 [{name}], %a;");
        let mut text = module(&format!(".global .u64 {name};\n"));
        text.extend(&kernel(&body)[HEADER.len()..]);
        text
    }),
    ("name of a parameter", 1_000_000, |n| {
        let name = "p".repeat(n);
        module(&format!(".entry k(.param .u64 {name}) {{ .reg .b64 %a; ld.param.u64 %a, [{name}]; ret; }}\n"))
    }),
    ("name of a called function", 1_000_000, |n| {
        let name = "f".repeat(n);
        module(&format!(".func {name}() {{ ret; }}\n.entry k() {{ call {name}; ret; }}\n"))
    }),
    ("an unknown instruction", 1_000_000, |n| kernel(&format!("{} %r, %r;", "x".repeat(n)))),
    ("modifiers", 1_000_000, |n| kernel(&format!("add{} %r, %r, %r;", ".s32".repeat(n / 4)))),
    ("an unknown directive", 1_000_000, |n| module(&format!(".{} x;\n", "d".repeat(n)))),
    ("target", 1_000_000, |n| format!(".version 8.5\n.target {}\n", "sm_90, ".repeat(n / 7)).into_bytes()),
    ("name of a target", 1_000_000, |n| format!(".version 8.5\n.target {}\n", "s".repeat(n)).into_bytes()),
    ("version", 1_000_000, |n| format!(".version {0}.{0}\n", "9".repeat(n / 2)).into_bytes()),
    ("digits", 1_000_000, |n| value(&"9".repeat(n))),
    ("hexadecimal digits", 1_000_000, |n| value(&format!("0x{}", "f".repeat(n)))),
    ("octal digits", 1_000_000, |n| value(&format!("0{}", "7".repeat(n)))),
    ("binary digits", 1_000_000, |n| value(&format!("0b{}", "1".repeat(n)))),
    ("digits of a float", 1_000_000, |n| float(&format!("1.{}", "3".repeat(n)))),
    ("digits before a point", 1_000_000, |n| float(&format!("{}.5", "3".repeat(n)))),
    ("zeros after a point", 1_000_000, |n| float(&format!("0.{}1e{n}", "0".repeat(n)))),
    ("an exponent", 1_000_000, |n| float(&format!("1.0e{}", "9".repeat(n)))),
    ("digits of exact floats", 1_000_000, |n| float(&format!("0f{}", "3".repeat(n)))),
    ("a comment", 10_000_000, |n| module(&format!("/*{}*/ .entry k() {{ ret; }}\n", " * /".repeat(n / 4)))),
    ("an open comment", 10_000_000, |n| module(&format!("/*{}", "/*".repeat(n / 2)))),
    ("a comment on a line", 10_000_000, |n| module(&format!("//{}\n", "/".repeat(n)))),
    ("comments", 1_000_000, |n| kernel(&"/**/".repeat(n))),
    ("a string", 1_000_000, |n| kernel(&format!(".pragma \"{}\";", "s".repeat(n)))),
    ("an open string", 1_000_000, |n| kernel(&format!(".pragma \"{}", "s".repeat(n)))),
    ("name of a file", 1_000_000, |n| module(&format!(".file 1 \"{}\"\n", "f".repeat(n)))),
    ("a line with errors", 1_000_000, |n| kernel(&"x ".repeat(n / 2))),
    ("stray characters", 1_000_000, |n| module(&"\\".repeat(n))),
    ("stray characters in a body", 1_000_000, |n| kernel(&"^\\'?".repeat(n / 4))),
    ("dots", 1_000_000, |n| module(&".".repeat(n))),
    ("statements of nothing", 1_000_000, |n| kernel(&";".repeat(n))),
    ("guards", 1_000_000, |n| kernel(&"@%p ".repeat(n / 4))),
    ("empty lines", 10_000_000, |n| kernel(&"\n".repeat(n))),
    ("returns instead of line ends", 1_000_000, |n| kernel(&"membar.gl;\r".repeat(n / 100))),
    ("line ends of two characters", 1_000_000, |n| kernel(&"membar.gl;\r\n".repeat(n / 100))),
    ("zeros", 1_000_000, |n| vec![0; n]),
    ("bytes that are not text", 1_000_000, |n| vec![0xff; n]),
    ("zeros in a body", 1_000_000, |n| kernel(&"\0".repeat(n))),
    ("bytes that are not text in a comment", 1_000_000, |n| {
        let mut text = module("// ");
        text.extend(std::iter::repeat_n(0xc3, n));
        text.extend(kernel("").split_off(HEADER.len()));
        text
    }),
    ("letters that are not ASCII", 1_000_000, |n| kernel(&"ä\u{2028}\u{200f}𝕏".repeat(n / 12))),
    ("byte order marks", 1_000_000, |n| ("\u{feff}".repeat(n / 3) + HEADER).into_bytes()),
    ("nothing", 1, |_| Vec::new()),
    ("one brace", 1, |_| b"}".to_vec()),
];

fn value(number: &str) -> Vec<u8> {
    let mut text = module(&format!(".global .u64 x = {number};\n"));
    text.extend(&kernel(&format!(".reg .b32 %r; mov.b32 %r, {number};"))[HEADER.len()..]);
    text
}

fn float(number: &str) -> Vec<u8> {
    let mut text = module(&format!(".global .f64 x = {number};\n"));
    text.extend(&kernel(&format!(".reg .f32 %f; mov.f32 %f, {number};"))[HEADER.len()..]);
    text
}
