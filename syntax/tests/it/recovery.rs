//! One mistake gives one error, at the place of the mistake; the rest of the text is understood.

use ptxc_syntax::items::{ItemKind, split};
use ptxc_syntax::{parse_function, parse_module};

/// Mistakes in the middle of a body, each with its code and the text that the error points at.
const MISTAKES: [(&str, &str, &str); 30] = [
    ("add.s32 %r1, , %r3;", "E0031", ","),
    ("add.s32 %r1, %r2 %r3;", "E0033", "%r3"),
    ("add.s32 %r1, %r2, %r3", "E0032", ""),
    ("ld.global.u32 %r1, [%rd1;", "E0034", ";"),
    ("ld.global.u32 %r1, [];", "E0031", "]"),
    ("ld.global.u32 %r1, [%rd1+];", "E0040", "]"),
    ("ld.global.u32 %r1, [4+%rd1];", "E0042", "%rd1"),
    ("mov.b64 {%r1, %r2, %rd1;", "E0034", ";"),
    ("mov.b64 {%r1 %r2}, %rd1;", "E0034", "%r2"),
    ("mov.b64 %r1, %r2}, %rd1;", "E0033", "}"),
    ("mov.f32 %f1, 0f3F8;", "E0004", "0f3F8"),
    ("mov.f64 %f1, 0d3FF;", "E0004", "0d3FF"),
    ("mov.u32 %r1, 12ab;", "E0004", "12ab"),
    ("mov.u32 %r1, 089;", "E0004", "089"),
    ("mov.u64 %r1, 0x1FFFFFFFFFFFFFFFF;", "E0005", "0x1FFFFFFFFFFFFFFFF"),
    ("mov.u32 %r1, (1+2;", "E0034", ";"),
    ("mov.u32 %r1, 1 ? 2;", "E0040", ";"),
    ("mov.u32 %r1, #4;", "E0001", "#"),
    ("mov.u32 %r1, é;", "E0001", "é"),
    ("@5 bra L;", "E0038", "5"),
    ("@%p1 { }", "E0030", "{"),
    (";", "E0030", ";"),
    (".reg .b32;", "E0013", ";"),
    (".reg .foo %r1;", "E0020", ".foo"),
    (".reg .b32 .b64 %r1;", "E0022", ".b64"),
    (".shared .align .b8 s[4];", "E0040", ".b8"),
    (".loc 1 two 3", "E0015", "two"),
    (".pragma nounroll;", "E0016", "nounroll"),
    (".branchtargets L0;", "E0037", ".branchtargets"),
    (".frobnicate 3;", "E0011", ".frobnicate"),
];

#[test]
fn each_mistake_alone_is_one_error_and_spares_its_neighbours() {
    for (mistake, code, place) in MISTAKES {
        let text =
            format!(".func f()\n{{\n    mov.u32 %a, 1;\n    {mistake}\n    mov.u32 %b, 2;\nL:  ret;\n}}\n");
        let parsed = parse_function(&text);
        assert_eq!(parsed.errors.len(), 1, "{mistake}: {:?}", parsed.errors);
        let error = &parsed.errors[0];
        assert_eq!((error.code.to_string().as_str(), &text[error.span.range()]), (code, place), "{mistake}");
        let printed = ptxc_syntax::print_function(&parsed.value);
        assert!(printed.contains("mov.u32 %a, 1;\n"), "{mistake} spoils the statement before it");
        assert!(
            printed.contains("mov.u32 %b, 2;\nL:\n    ret;\n}"),
            "{mistake} spoils the statement after it: {printed}"
        );
    }
}

#[test]
fn a_declaration_after_an_opcode_without_semicolon_is_none_of_its_modifiers() {
    for declaration in [
        ".shared .b32 x;",
        ".shared .align 16 .b8 x[32];",
        ".local .v2 .f32 x[2], y;",
        ".const .u32 x = 1;",
        ".param .b64 x;",
        ".reg .b32 x, y;",
        ".weak .global .u32 x;",
        ".extern .shared .b8 x[];",
    ] {
        for opcode in ["ret", "bar.sync", "membar.gl"] {
            let text = format!(".func f()\n{{\n    {opcode}\n    {declaration}\n    mov.u32 %b, 2;\n}}\n");
            let parsed = parse_function(&text);
            let codes: Vec<String> = parsed.errors.iter().map(|error| error.code.to_string()).collect();
            assert_eq!(codes, ["E0032"], "{text}");
            let declared = parsed.value.body.unwrap();
            assert_eq!(declared.len(), 3, "{text}");
        }
    }
}

#[test]
fn thirty_mistakes_are_thirty_errors() {
    let mut text = ".version 9.0\n.target sm_90\n.entry k()\n{\n".to_owned();
    for (mistake, ..) in MISTAKES {
        text.push_str(&format!("    mov.u32 %a, 1;\n    {mistake}\n    mov.u32 %b, 2;\n"));
    }
    text.push_str("}\n.entry after() { ret; }\n");
    let parsed = parse_module(&text);
    let codes: Vec<String> = parsed.errors.iter().map(|error| error.code.to_string()).collect();
    assert_eq!(codes, MISTAKES.map(|mistake| mistake.1.to_owned()));
    assert_eq!(parsed.value.items.len(), 4);
}

#[test]
fn mistakes_between_functions_are_one_error_each() {
    for (mistake, code) in [
        (".version nine", "E0012"),
        (".target 90", "E0012"),
        (".address_size 48", "E0012"),
        (".global .u32 x", "E0032"),
        (".global x;", "E0020"),
        (".global .u32 x[2;", "E0034"),
        (".global .u32 x[2] = {1, 2;", "E0034"),
        (".global .u32 x = ;", "E0024"),
        (".visible .visible .global .u32 x;", "E0022"),
        (".maxntid 3;", "E0011"),
        ("hello world;", "E0010"),
        ("}", "E0036"),
        (".entry (.param .u64 x) { ret; }", "E0013"),
        (".entry f(.param .u64) { ret; }", "E0023"),
        (".entry f(.global .u64 x) { ret; }", "E0023"),
        (".entry f(.param .u64 x { ret; }", "E0023"),
        (".entry f(.param .u64 x) .maxntid { ret; }", "E0040"),
        (".entry f(.param .u64 x) .maxntid 1,2,3,4 { ret; }", "E0014"),
        (".entry f(.param .u64 x) .wrong { ret; }", "E0011"),
        (".entry f()", "E0032"),
        (".section { .b8 1 }", "E0013"),
        (".section .x { .b8 one two }", "E0050"),
        (".alias a;", "E0033"),
        (".file one \"x\"", "E0015"),
        (".pragma \"open;", "E0003"),
    ] {
        let text =
            format!(".version 9.0\n.entry before() {{ ret; }}\n{mistake}\n.entry after() {{ ret; }}\n");
        let parsed = parse_module(&text);
        let codes: Vec<String> = parsed.errors.iter().map(|error| error.code.to_string()).collect();
        assert_eq!(codes, [code], "{mistake}: {:?}", parsed.errors);
        let printed = ptxc_syntax::print_module(&parsed.value);
        assert!(
            printed.contains("before()") && printed.contains("after()"),
            "{mistake} spoils its neighbours"
        );
    }
}

#[test]
fn an_unclosed_body_ends_at_the_next_function() {
    let text = ".entry a() { { ret;\n.visible .entry b() { ret; }\n.extern .func c();";
    let items = split(text);
    assert_eq!(items.iter().map(|item| item.names[0].as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(items[1].span.start as usize, text.find(".visible").unwrap_or(0));
    let parsed = parse_module(text);
    assert_eq!(parsed.errors.len(), 1);
    assert_eq!(parsed.errors[0].code.to_string(), "E0035");
}

#[test]
fn a_comment_without_end_is_one_error() {
    let parsed = parse_module(".version 9.0\n.entry a() {\n/* ret; }");
    assert_eq!(parsed.errors.len(), 1, "{:?}", parsed.errors);
    assert_eq!(parsed.errors[0].code.to_string(), "E0002");
}

#[test]
fn a_range_of_labels_is_limited_by_the_text() {
    for count in ["0", "4000000000", "0xFFFFFFFFFFFFFFFF"] {
        let parsed = parse_function(&format!(".func f() {{ ts: .branchtargets L<{count}>; ret; }}"));
        assert_eq!(parsed.errors.len(), 1);
        assert_eq!(parsed.errors[0].code.to_string(), "E0014");
    }
}

#[test]
fn old_debugging_data_is_one_error() {
    let parsed = parse_module("@@DWARF .section x\n@@DWARF .byte 1\n.version 9.0\n");
    assert_eq!(parsed.errors.len(), 1, "{:?}", parsed.errors);
    assert!(parsed.errors[0].help.is_some());
    assert_eq!(parsed.value.items.len(), 1);
}

#[test]
fn garbage_is_covered_by_items() {
    let items = split("abc ; } .version 9.0 { ] ;");
    let kinds: Vec<ItemKind> = items.iter().map(|item| item.kind).collect();
    assert_eq!(kinds, [ItemKind::Unknown, ItemKind::Unknown, ItemKind::Version]);
}
