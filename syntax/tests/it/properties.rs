//! Properties of every text, however broken: no panic, termination, spans inside the text, and a
//! printed form that can be parsed.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use ptxc_syntax::items::split;
use ptxc_syntax::{item_errors, parse_function, parse_item, parse_module, print_function, print_module};

/// A small module with every kind of item and statement, to be mutated.
const SEED: &str = r#"//
.version 9.0
.target sm_90a, debug
.address_size 64
.file 1 "a.cu"
.global .align 4 .u32 table[2][2] = {{1, 0xFF(x)}, {generic(x)+4, -1}};
.extern .func (.param .b32 r) f(.param .b64 a);
.visible .entry k(.param .u64 .ptr .global .align 8 p0, .param .b8 p1[4])
.maxntid 32, 1, 1
.pragma "nounroll";
{
    .reg .pred %p<4>;
    .shared .align 4 .b8 s[16];
    .loc 1 2 3, function_name L+1, inlined_at 1 2 3
    ld.param.u64 %rd1, [p0]; /* } */
    @!%p1 bra $L; // {
    { .reg .b32 t; mov.b64 {t, _}, %rd1; }
    setp.lt.and.s32 %p1|%p2, %r1, -(3+4)*2, !%p3;
$L: tex.2d.v4.f32.f32 {a,b,c,d}, [t, {x, y}];
    call (r), f, (%rd1, 0f3F800000), proto;
proto: .callprototype (.param .b32 _) _ (.param .b64 _);
ts: .branchtargets $L;
    ret;
}
.alias g, f;
.section .debug_info { .b8 1, 2 L: .b32 .debug_abbrev, a-b }
"#;

/// Pieces for random sequences of tokens.
const PIECES: [&str; 48] = [
    "{", "}", "(", ")", "[", "]", "<", ">", ",", ";", ":", "=", "+", "-", "*", "|", "!", "?", "@", "%", ".",
    "\n", " ", "\"", "\"s\"", "//", "/*", "*/", ".entry", ".func", ".visible", ".reg", ".param", ".b32",
    ".global", ".section", ".loc", ".version", ".target", ".pragma", "add.s32", "%r1", "L:", "1", "0x", ".5",
    "call", "é",
];

/// Checks all properties for `text`.
fn check(text: &str) -> Result<(), TestCaseError> {
    let mut end = 0;
    for item in split(text) {
        prop_assert!(end <= item.span.start && item.span.start < item.span.end, "{item:?}");
        prop_assert!(item.span.start <= item.head.start && item.head.end <= item.span.end, "{item:?}");
        end = item.span.end;
        let own = &text[item.span.range()];
        prop_assert_eq!(item_errors(own, item.kind), parse_item(own, item.kind).errors);
    }
    prop_assert!(end as usize <= text.len());
    let parsed = parse_module(text);
    for error in &parsed.errors {
        prop_assert!(text.get(error.span.range()).is_some(), "{error:?}");
    }
    for (base, map) in &parsed.spans.items {
        for id in 0..map.len() {
            let span = map.get(ptxc_syntax::NodeId(id as u32)).shifted(*base);
            prop_assert!(text.get(span.range()).is_some(), "node {id}");
        }
    }
    if parsed.errors.is_empty() {
        let printed = print_module(&parsed.value);
        let again = parse_module(&printed);
        prop_assert_eq!(&again.errors, &[]);
        prop_assert_eq!(&again.value, &parsed.value);
        prop_assert_eq!(print_module(&again.value), printed);
    }
    Ok(())
}

/// A constant expression.
fn expression() -> impl Strategy<Value = String> {
    let leaf =
        select(&["0", "7", "0x1FU", "017", "0b11", "1.5", ".5", "2e-3", "WARP_SZ", "0d3FF0000000000000"][..])
            .prop_map(str::to_owned);
    leaf.prop_recursive(5, 24, 3, |inner| {
        let binary = select(
            &[
                "+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "^", "|", "&&",
                "||",
            ][..],
        );
        let unary = select(&["-", "+", "!", "~", "(.s64)", "(.u64)"][..]);
        prop_oneof![
            (inner.clone(), binary, inner.clone()).prop_map(|(a, op, b)| format!("{a}{op} {b}")),
            (unary, inner.clone()).prop_map(|(op, a)| format!("{op}{a}")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("{a}?{b}:{c}")),
            inner.prop_map(|a| format!("({a})")),
        ]
    })
}

fn operand() -> impl Strategy<Value = String> {
    let register =
        || select(&["%r1", "a", "$x", "%tid.x", "v.w", "_f", "%envreg0"][..]).prop_map(str::to_owned);
    let simple = prop_oneof![register(), expression(), Just("_".to_owned())].boxed();
    prop_oneof![
        simple.clone(),
        (register(), register()).prop_map(|(a, b)| format!("{a}|!{b}")),
        register().prop_map(|a| format!("!{a}")),
        register().prop_map(|a| format!("-{a}")),
        expression().prop_map(|e| format!("sym + -({e})")),
        expression().prop_map(|e| format!("sym[%r1+({e})]")),
        expression().prop_map(|e| format!("[{e}]")),
        (expression(), vec(simple.clone(), 0..3))
            .prop_map(|(e, c)| format!("[%rd1 + ({e}) - 4, t, {{{}}}].unified", c.join(","))),
        vec(simple, 0..4).prop_map(|elements| format!("{{ {} }}", elements.join(" ,"))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..300)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn any_tokens(pieces in vec(select(&PIECES[..]), 0..200), close in any::<bool>()) {
        check(&pieces.join(if close { "" } else { " " }))?;
    }

    #[test]
    fn a_damaged_module(cuts in vec((any::<prop::sample::Index>(), 0usize..20, select(&PIECES[..])), 1..6)) {
        let mut text = SEED.to_owned();
        for (at, length, piece) in cuts {
            let mut start = at.index(text.len().max(1)).min(text.len());
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + length).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            text.replace_range(start..end, piece);
        }
        check(&text)?;
    }

    #[test]
    fn instructions_print_to_a_fixed_point(
        lines in vec((any::<bool>(), select(&["add.s32", "call f,", "ld.global.L2::128B.v4", "x"][..]), vec(operand(), 0..5)), 1..8)
    ) {
        let mut text = ".func f()\n{".to_owned();
        for (guarded, opcode, operands) in &lines {
            let guard = if *guarded { "@!%p " } else { "" };
            // An expression cannot start with a parenthesis in a `call` outside its arguments, nor
            // with a point directly after an opcode.
            let (open, close) = if opcode.starts_with("call") { ("(d", ")") } else { ("d", "") };
            let _ = write!(text, "{guard}{opcode} {open}");
            for operand in operands {
                let _ = write!(text, ",{operand}");
            }
            let _ = write!(text, "{close};");
        }
        text.push('}');
        let parsed = parse_function(&text);
        prop_assert_eq!(&parsed.errors, &[], "{}", text);
        let printed = print_function(&parsed.value);
        let again = parse_function(&printed);
        prop_assert_eq!(&again.errors, &[], "{}", printed);
        prop_assert_eq!(&again.value, &parsed.value, "{} became {}", text, printed);
        prop_assert_eq!(print_function(&again.value), printed);
    }
}

#[test]
fn the_seed_is_sound() {
    let parsed = parse_module(SEED);
    assert_eq!(parsed.errors, []);
    assert!(check(SEED).is_ok());
}

#[test]
fn every_prefix_of_a_module_is_survived() {
    for end in (0..SEED.len()).filter(|&end| SEED.is_char_boundary(end)) {
        assert!(check(&SEED[..end]).is_ok(), "prefix of {end} bytes");
    }
}

/// Nesting of every kind, much deeper than a stack would allow.
#[test]
fn deep_nesting_does_not_overflow() {
    const DEPTH: usize = 200_000;
    for (open, inside, close) in [("{", "ret;", "}"), ("{", "", "")] {
        let text = format!(".func f() {{{}{inside}{}}}", open.repeat(DEPTH), close.repeat(DEPTH));
        let parsed = parse_function(&text);
        assert_eq!(
            print_function(&parsed.value).lines().count(),
            3 + 2 * DEPTH + usize::from(!inside.is_empty())
        );
    }
    for (open, leaf, close) in [
        ("(", "1", ")"),
        ("-", "1", ""),
        ("1+", "1", ""),
        ("1?", "1", ":1"),
        ("1?1:", "1", ""),
        ("{", "1", "}"),
        ("[", "1", "]"),
        ("1<(", "1", ")"),
        ("(.s64)", "1", ""),
        ("sym+", "1", ""),
        ("!", "x", ""),
    ] {
        let value = format!("{}{leaf}{}", open.repeat(DEPTH), close.repeat(DEPTH));
        assert_eq!(parse_function(&format!(".func f() {{ x {value}; ret; }}")).errors.len(), 1, "{open}");
        assert_eq!(parse_module(&format!(".global .u32 x = {value};")).errors.len(), 1, "{open}");
    }
}
