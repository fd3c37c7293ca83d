//! Deep nesting: braces, parentheses, operators, initialisers.

use super::{Extreme, each, kernel, module};

/// Depths.
pub(super) const ALL: &[Extreme] = &[
    ("blocks in blocks", 100_000, |n| kernel(&format!("{}{}", "{".repeat(n), "}".repeat(n)))),
    ("blocks in blocks with declarations", 100_000, |n| {
        let open = each(n, |at| format!("{{ .reg .b32 %r{at}; mov.b32 %r{at}, {at};\n"));
        kernel(&(open + &"}".repeat(n)))
    }),
    ("blocks that hide a name", 100_000, |n| {
        kernel(&("{ .reg .b32 %r; mov.b32 %r, 1;\n".repeat(n) + &"}".repeat(n)))
    }),
    ("open blocks", 1_000_000, |n| kernel(&"{".repeat(n))),
    ("closed blocks", 1_000_000, |n| kernel(&"}".repeat(n))),
    ("parentheses", 100_000, |n| value(&format!("{}1{}", "(".repeat(n), ")".repeat(n)))),
    ("open parentheses", 1_000_000, |n| value(&"(".repeat(n))),
    ("signs", 1_000_000, |n| value(&("- ".repeat(n) + "1"))),
    ("complements", 1_000_000, |n| value(&("~!".repeat(n / 2) + "1"))),
    ("casts", 100_000, |n| value(&("(.s64)".repeat(n) + "1"))),
    ("sums", 1_000_000, |n| value(&("1+".repeat(n) + "1"))),
    ("sums to the right", 100_000, |n| value(&("1+(".repeat(n) + "1" + &")".repeat(n)))),
    ("operators of rising precedence", 1_000_000, |n| {
        value(&("1||1&&1|1^1&1==1<1<<1+1*".repeat(n / 10) + "1"))
    }),
    ("choices", 100_000, |n| value(&("1?1:".repeat(n) + "1"))),
    ("choices in the middle", 100_000, |n| value(&("1?".repeat(n) + "1" + &":1".repeat(n)))),
    ("an expression as operand", 100_000, |n| {
        kernel(&format!(".reg .b32 %r; mov.b32 %r, {}1{};", "(".repeat(n), ")".repeat(n)))
    }),
    ("a long expression as operand", 1_000_000, |n| {
        kernel(&format!(".reg .b32 %r; mov.b32 %r, {}1;", "1+".repeat(n)))
    }),
    ("initialisers in initialisers", 100_000, |n| {
        module(&format!(".global .u32 x[1] = {}1{};\n", "{".repeat(n), "}".repeat(n)))
    }),
    ("open initialisers", 1_000_000, |n| module(&format!(".global .u32 x[1] = {}", "{".repeat(n)))),
    ("dimensions", 100_000, |n| module(&format!(".global .u32 x{};\n", "[1]".repeat(n)))),
    ("brackets in an address", 1_000_000, |n| {
        kernel(&format!(".reg .b32 %r; ld.global.u32 %r, {}x{};", "[".repeat(n), "]".repeat(n)))
    }),
    ("vectors in vectors", 100_000, |n| {
        kernel(&format!(".reg .b32 %r; mov.b64 {}%r{}, 1;", "{".repeat(n), "}".repeat(n)))
    }),
    ("negated operands", 1_000_000, |n| kernel(&format!(".reg .pred %p; @{}%p bra L; L:", "!".repeat(n)))),
    ("parentheses in a call", 1_000_000, |n| kernel(&format!("call {}f;", "(".repeat(n)))),
    ("generic of generic", 100_000, |n| {
        let address = "generic(".repeat(n) + "y" + &")".repeat(n);
        module(&format!(".global .u32 y;\n.global .u64 x = {address};\n"))
    }),
    ("masks of masks", 100_000, |n| {
        let mask = "0xff(".repeat(n) + "y" + &")".repeat(n);
        module(&format!(".global .u32 y;\n.global .u8 x[1] = {{{mask}}};\n"))
    }),
];

fn value(expression: &str) -> Vec<u8> {
    module(&format!(".global .s64 x = {expression};\n.visible .entry k() {{ ret; }}\n"))
}
