//! The corners of the grammar: unusual text by compilers and people, and the tree that it parses
//! to.

use ptxc_syntax::ast::{BinaryOp, Expr, Instruction, Item, Linkage, OperandKind, StatementKind};
use ptxc_syntax::{parse_function, parse_module, print_function, print_module};

/// Parses `text` as the body of a function, and checks that printing it is a fixed point.
fn body(text: &str) -> Vec<StatementKind> {
    let parsed = parse_function(&format!(".func f()\n{{\n{text}\n}}"));
    assert!(parsed.errors.is_empty(), "{text}: {:?}", parsed.errors);
    let again = parse_function(&print_function(&parsed.value));
    assert_eq!(again.errors, []);
    assert_eq!(again.value, parsed.value);
    parsed.value.body.expect("there is a body").into_iter().map(|statement| statement.kind).collect()
}

fn instruction(text: &str) -> Instruction {
    match body(text).into_iter().next() {
        Some(StatementKind::Instruction(instruction)) => instruction,
        other => panic!("{text} is {other:?}"),
    }
}

/// The printed form of the only statement of `text`.
fn printed(text: &str) -> String {
    let statements = body(text);
    assert_eq!(statements.len(), 1, "{text}");
    statements[0].to_string()
}

#[test]
fn instructions_print_canonically() {
    for (text, canonical) in [
        ("ret ;", "ret;"),
        ("@ %p1 bra L ;", "@%p1 bra L;"),
        ("@!p  bra.uni\tL;", "@!p bra.uni L;"),
        ("add .u32 %r, %r, ( 1+2 );", "add.u32 %r, %r, 1 + 2;"),
        ("mov.f32 %f, 0f3f800000;", "mov.f32 %f, 0f3F800000;"),
        ("mov.f64 %f, 0D3ff0000000000000;", "mov.f64 %f, 0d3FF0000000000000;"),
        ("mov.b32 %r, 0XffU;", "mov.b32 %r, 0xFFU;"),
        ("mov.u32 %r, %tid.x;", "mov.u32 %r, %tid.x;"),
        ("mov.u32 %r, WARP_SZ;", "mov.u32 %r, WARP_SZ;"),
        ("ld.global.u32 %r1, [%rd1+-4];", "ld.global.u32 %r1, [%rd1+-4];"),
        ("ld.global.b32 { %r }, [ %rd + 0 ];", "ld.global.b32 {%r}, [%rd+0];"),
        ("ld.global.u32 %r, [16];", "ld.global.u32 %r, [16];"),
        ("ld.global.u32 %r, [a+4-8];", "ld.global.u32 %r, [a+4 - 8];"),
        ("ld.global.u32 %r, a[%r1+1];", "ld.global.u32 %r, a[%r1+1];"),
        ("ld.global.u32 %r, [%rd].unified, %pol;", "ld.global.u32 %r, [%rd].unified, %pol;"),
        (
            "ld.global.L1::evict_last.L2::128B.v4.b32 {a,b,_,d}, [x];",
            "ld.global.L1::evict_last.L2::128B.v4.b32 {a, b, _, d}, [x];",
        ),
        ("setp.lt.and.s32 p|q, a, -1, !r;", "setp.lt.and.s32 p|q, a, -1, !r;"),
        ("shfl.sync.up.b32 %r|_, %r, 1, 0x0, -1;", "shfl.sync.up.b32 %r|_, %r, 1, 0x0, -1;"),
        ("vmad.u32.u32.u32 d, -a.b0, b.h1, c;", "vmad.u32.u32.u32 d, -a.b0, b.h1, c;"),
        ("mov.b32 v.x, 1;", "mov.b32 v.x, 1;"),
        ("mov.u64 %rd, sym+8;", "mov.u64 %rd, sym+8;"),
        (
            "tex.2d.v4.f32.f32 {a,b,c,d}, [t, s, {x,y}], l;",
            "tex.2d.v4.f32.f32 {a, b, c, d}, [t, s, {x, y}], l;",
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [d], [m, {0, %r}], [b];",
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [d], [m, {0, %r}], [b];",
        ),
        ("call (r), f, (a, 1), p;", "call (r), f, (a, 1), p;"),
        (
            "call.uni\n(retval0),\nvprintf,\n(\nparam0\n,param1\n);",
            "call.uni (retval0), vprintf, (param0, param1);",
        ),
        ("call f, ();", "call f, ();"),
        ("call f;", "call f;"),
        ("mov.u32 %r, 5%(3);", "mov.u32 %r, 5 % 3;"),
        // A state space and `.weak` may stand on a line of their own.
        ("ld\n.global.u32 r, [d];", "ld.global.u32 r, [d];"),
        ("ld // c\n.weak.shared.u32 r, [d];", "ld.weak.shared.u32 r, [d];"),
        ("ld.relaxed.gpu\n.global.v2.u32 {a, b}, [d];", "ld.relaxed.gpu.global.v2.u32 {a, b}, [d];"),
        ("cvta\n.global.u64 d, e;", "cvta.global.u64 d, e;"),
        ("cvta.to\n.shared.u64 d, e;", "cvta.to.shared.u64 d, e;"),
        ("isspacep\n.local p, d;", "isspacep.local p, d;"),
        ("prefetch\n.global.L2 [d];", "prefetch.global.L2 [d];"),
        ("st\n.param.b32 [q], r;", "st.param.b32 [q], r;"),
        ("atom\n.shared.add.u32 p|q, [d], r;", "atom.shared.add.u32 p|q, [d], r;"),
        ("cp.async.ca.shared\n.global [r], [d], 4;", "cp.async.ca.shared.global [r], [d], 4;"),
    ] {
        assert_eq!(printed(text), canonical);
    }
}

#[test]
fn directives_of_bodies() {
    for (text, canonical) in [
        (".reg .b32 %r<9>, a , b;", ".reg .b32 %r<9>, a, b;"),
        (".reg.pred p;", ".reg .pred p;"),
        (".reg .v2 .f32 v;", ".reg .v2 .f32 v;"),
        (".shared .align 4 .b8 s[2][4];", ".shared .align 4 .b8 s[2][4];"),
        (".global .u32 g[2] = { 1, -2 };", ".global .u32 g[2] = {1, -2};"),
        (".loc 1 20 5", ".loc 1 20 5"),
        (
            ".loc 1 2 3, function_name $L+4, inlined_at 1 9 8",
            ".loc 1 2 3, function_name $L+4, inlined_at 1 9 8",
        ),
        (".pragma \"nounroll\" , \"x\";", ".pragma \"nounroll\", \"x\";"),
        ("ts: .branchtargets L0 , L1;", "ts: .branchtargets L0, L1;"),
        ("ts: .branchtargets A, L<2>, B;", "ts: .branchtargets A, L0, L1, B;"),
        ("fs :.calltargets f;", "fs: .calltargets f;"),
        (
            "p : .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[8]) .noreturn;",
            "p: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[8]) .noreturn;",
        ),
        ("p: .callprototype _ .abi_preserve 4;", "p: .callprototype _ () .abi_preserve 4;"),
    ] {
        assert_eq!(printed(text), canonical);
    }
}

#[test]
fn module_items_print_canonically() {
    for text in [
        ".version 9.5\n",
        ".target sm_90a, texmode_independent, debug\n",
        ".address_size 64\n",
        ".file 1 \"a b.cu\", 12, 34\n",
        ".file 4294967295 \"a b.cu\", 12\n",
        ".pragma \"x\";\n",
        ".alias a, b;\n",
        ".visible .global .attribute(.managed) .align 16 .v4 .f32 x[] = {{1.5, 2, 0f3F800000, 1e-3}};\n",
        ".global .attribute(.unified(19, 95)) .u32 x;\n",
        ".extern .shared .align 16 .b8 smem[];\n",
        ".weak .const .u64 p[5] = {f, x+4, generic(x)+4, 0xFF(x), 0xFF00(generic(y)+8)};\n",
        ".common .global .s32 c;\n",
        ".const[2] .u32 bank;\n",
        ".global .texref t;\n",
        ".global .samplerref s[2] = {{filter_mode = nearest}, {width = 1.5}};\n",
        ".extern .func (.param .b32 r) printf(\n    .param .b64 a,\n    .param .b8 b[]\n);\n",
        ".func (.reg .v2 .f32 r, .reg .u32 s) f(\n    .reg .b64 a\n)\n.noreturn;\n",
        ".weak .func .attribute(.unified(1, 2)) g()\n.abi_preserve 3\n.abi_preserve_control 1;\n",
        ".visible .entry k(\n    .param .u64 .ptr .global .align 8 x,\n    .param .u64 .ptr y,\n    .param .align 4 .b8 z[12]\n)\n\
         .maxntid 256, 1, 1\n.reqntid 32\n.minnctapersm 2\n.maxnctapersm 3\n.maxnreg 64\n.local_maxnreg 32\n.explicitcluster\n\
         .reqnctapercluster 2, 1\n.maxclusterrank 8\n.blocksareclusters\n.language 1\n.language \"Tile IR\"\n.pragma \"nounroll\";\n{\n    ret;\n}\n",
        ".section .debug_info {\n    .b8 1, 2\nL:\n    .b64 end-start, L+4\n    .b32 .debug_abbrev\n}\n",
        ".section .debug_macinfo {\n}\n",
    ] {
        let parsed = parse_module(text);
        assert_eq!(parsed.errors, [], "{text}");
        assert_eq!(parsed.value.items.len(), 1, "{text}");
        assert_eq!(print_module(&parsed.value), text);
    }
}

#[test]
fn opcode_parts_and_operands_have_spans() {
    let text = ".func f() { @!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8]; }";
    let parsed = parse_function(text);
    let body = parsed.value.body.expect("there is a body");
    let StatementKind::Instruction(load) = &body[0].kind else { panic!("{body:?}") };
    let at = |id| &text[parsed.spans.get(id).range()];
    assert_eq!(at(body[0].id), "@!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8]");
    assert_eq!(load.guard.as_ref().map(|guard| at(guard.id)), Some("@!%p1"));
    assert_eq!(at(load.opcode.part_id(0)), "ld");
    assert_eq!(at(load.opcode.part_id(2)), ".v2");
    assert_eq!(at(load.operands[0].id), "{%f1, %f2}");
    assert_eq!(load.operands[0].elements().map(|e| at(e[1].id)), Some("%f2"));
    assert_eq!(at(load.operands[1].id), "[%rd1+8]");
}

#[test]
fn operands_have_the_right_kinds() {
    let call = instruction("call (r), f, (a);");
    assert!(matches!(call.operands[0].kind, OperandKind::Arguments(_)));
    let mov = instruction("mov.u32 %r, -(1 | 2);");
    let Some(Expr::Unary(inner)) = mov.operands[1].as_immediate() else { panic!("{mov:?}") };
    assert!(matches!(&inner.1, Expr::Binary(sides) if sides.0 == BinaryOp::BitOr));
    let load = instruction("ld.u32 %r, [x+-8];");
    let OperandKind::Address(address) = &load.operands[1].kind else { panic!("{load:?}") };
    assert_eq!(address.place.offset, Some(Expr::int(-8)));
    let set = instruction("setp.eq.s32 p|q, a, b;");
    let OperandKind::Pair(pair) = &set.operands[0].kind else { panic!("{set:?}") };
    assert_eq!(pair.1.as_symbol().map(|name| name.as_str()), Some("q"));
    let mask = instruction("mov.u32 %r, 1|2;");
    assert!(mask.operands[1].as_immediate().is_some());
}

#[test]
fn blocks_are_flat_and_balanced() {
    let statements = body("{ { ret; } L: { } }");
    let depth: Vec<i32> = statements
        .iter()
        .scan(0, |depth, statement| {
            *depth += match statement {
                StatementKind::Open => 1,
                StatementKind::Close => -1,
                _ => 0,
            };
            Some(*depth)
        })
        .collect();
    assert_eq!(depth, [1, 2, 2, 1, 1, 2, 1, 0]);
}

#[test]
fn linkage_and_declarators() {
    let parsed = parse_module(".extern .global .u32 a, b[2], c = 5;");
    let [Item::Declaration(declaration)] = &parsed.value.items[..] else { panic!("{parsed:?}") };
    assert_eq!(declaration.linkage, Some(Linkage::Extern));
    assert_eq!(declaration.declarators.len(), 3);
}

/// Forms that only ptxas and few compilers know.
#[test]
fn unusual_layouts() {
    for text in [
        ".version 9.0\n.target // c\n sm_90\n, debug\n.address_size\n64\n.file 1\n\"a\"\n",
        ".extern .func f()\n.extern .func g(.param .b32 a) .noreturn\n.global .u32 x;",
        ".entry k(.hidden .param .u64 a, .param .u64 .ptr .texref t) { ret; }",
        ".global .samplerref s = {addr_mode_0 = wrap, filter_mode = linear};",
        ".global .texref t = {width = 4, height = 2 * 3};",
        ".global .u64 p = t+1<<2;",
        ".entry k() { ld.u32 r, [t+1<<2]; ld.u32 r, [t+-1-2]; ld.u32 r, [t+4 ? 1 : 2]; mov.f32 f, 1.e-3; }",
        ".entry k() { mov.u32 r, %tid /* c */ .x; mov.u32 r, v\n.y; }",
    ] {
        let parsed = parse_module(text);
        assert!(parsed.errors.is_empty(), "{text}: {:?}", parsed.errors);
        let printed = ptxc_syntax::print_module(&parsed.value);
        assert_eq!(parse_module(&printed).value, parsed.value, "{printed}");
    }
    let texts = [
        (".entry k()", "E0032"),
        (".global .u32 .v2 x;", "E0020"),
        (".section debug { .b8 1 }", "E0013"),
        (".global .f64 x = 1e400;", "E0009"),
        (".global .f64 x = 1e-310;", "E0009"),
        (".global .samplerref s = {addr_mode_0 = };", "E0040"),
        (".global .u64 p = t-4;", "E0031"),
        (".entry k() { ld.u32 r, [t-4]; }", "E0031"),
        (".entry k() { .reg .u32 WARP_SZ; }", "E0013"),
        (".global .u32 $;", "E0001"),
        (".global .u64 p = generic(t+4);", "E0034"),
        (".global .u32 g[2] = {1, };", "E0024"),
    ];
    for (text, code) in texts {
        let codes: Vec<String> =
            parse_module(text).errors.iter().map(|error| error.code.to_string()).collect();
        assert_eq!(codes, [code], "{text}");
    }
}

/// PTX has expressions in operands and initialisers, and only numbers elsewhere.
#[test]
fn sizes_are_numbers() {
    for (expression, number) in
        [("1 << 3", "8"), ("(8)", "8"), ("4 + 4", "8"), ("+8", "8"), ("WARP_SZ", "WARP_SZ")]
    {
        for form in [
            ".global .b8 g[N];",
            ".global .align N .b8 g;",
            ".const[N] .b8 g[];",
            ".global .attribute(.unified(N, 1)) .b8 g;",
            ".entry k(.param .u64 .ptr .align N p) { ret; }",
            ".entry k() .maxntid N { .reg .b32 %r<N>; .local .align N .b8 x[2][N]; ret; }",
        ] {
            let text = form.replace('N', expression);
            let parsed = parse_module(&text);
            let errors: Vec<(String, &str)> = parsed
                .errors
                .iter()
                .map(|error| (error.code.to_string(), error.help.as_deref().unwrap_or_default()))
                .collect();
            let expected = ("E0015".to_string(), &*format!("write its value, `{number}`"));
            let count = if expression == number { 0 } else { form.matches('N').count() };
            assert_eq!(errors, vec![expected; count], "{text}");
        }
    }
}

#[test]
fn functions_have_the_directives_of_their_kind() {
    for (text, codes) in [
        (".func f() .maxntid 32 { ret; }", &["E0011"][..]),
        (".entry k() .noreturn { ret; }", &["E0011"]),
        (".func f() .noreturn .noreturn { exit; }", &["E0011"]),
        (".func f() .abi_preserve 1 .abi_preserve 1 { exit; }", &["E0022"]),
        (".entry k() .maxntid 1 .maxntid 2 { exit; }", &[]),
        (".func f() .abi_preserve 1 .noreturn { exit; }", &["E0011"]),
        (".func f() .noreturn .abi_preserve 1 .language 1 .local_maxnreg 8 { exit; }", &[]),
        (".entry k() .maxntid 32;", &["E0011"]),
        (".func f() .pragma \"nounroll\"; { ret; }", &["E0011"]),
        (".func f() .pragma \"nounroll\"; .func g() { ret; }", &[]),
        (".entry .attribute(.managed) k() { ret; }", &["E0013"]),
        (".entry k() { P: .callprototype _ () .maxnreg 8; ret; }", &["E0011"]),
    ] {
        let found: Vec<String> =
            parse_module(text).errors.iter().map(|error| error.code.to_string()).collect();
        assert_eq!(found, codes, "{text}");
    }
}

#[test]
fn pointers_name_the_memory_before_its_alignment() {
    for (pointer, count) in [
        (".ptr .global .align 8", 0),
        (".ptr .texref .align 8", 0),
        (".ptr .align 8 .texref", 1),
        (".ptr .align 8 .global", 1),
        (".ptr .param", 1),
    ] {
        let text = format!(".entry k(.param .u64 {pointer} p) {{ ret; }}");
        assert_eq!(parse_module(&text).errors.len(), count, "{text}");
    }
}

#[test]
fn sections_hold_numbers_labels_and_their_sums() {
    for (value, count) in [
        ("-1", 0),
        ("L+4", 0),
        ("E-L", 0),
        ("1+1", 1),
        ("(1)", 1),
        ("~1", 1),
        ("WARP_SZ", 1),
        ("L+1+1", 1),
        ("E-L+1", 1),
        ("L-1", 1),
        ("L+-1", 1),
    ] {
        let text = format!(".section .debug_str {{\nL:\nE:\n.b32 {value}\n}}");
        assert_eq!(parse_module(&text).errors.len(), count, "{text}");
    }
}
