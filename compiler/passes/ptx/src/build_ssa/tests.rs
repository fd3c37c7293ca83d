//! Whole functions through parsing and construction.

use std::path::{Path, PathBuf};

use ptxc_ir::{Function, Level, Op, Type, verify};
use ptxc_syntax::ast::{Item, Module};

use super::build;
use crate::check::env::{ModuleEnv, variables};
use crate::check::examine;
use crate::diagnostic::Diagnostic;

/// Builds every kernel of a module.
fn build_all(module: &Module) -> Vec<Result<Function, Vec<Diagnostic>>> {
    let mut env = ModuleEnv::empty();
    let mut functions = Vec::new();
    for item in &module.items {
        match item {
            Item::Declaration(declaration) => {
                let named = variables(declaration, &mut 0).into_iter();
                env.variables.extend(named.filter_map(|found| Some((found.name, found.variable?))));
            }
            Item::Function(function) => functions.push(function),
            _ => {}
        }
    }
    functions
        .into_iter()
        .map(|function| build(function, &env, &examine(function, &env).resolved).map(|built| built.function))
        .collect()
}

fn one(text: &str) -> Result<Function, Vec<Diagnostic>> {
    let parsed = ptxc_syntax::parse_module(text);
    assert_eq!(parsed.errors, []);
    build_all(&parsed.value).pop().expect("one kernel")
}

/// A kernel with some registers around a body.
fn kernel(body: &str) -> Result<Function, Vec<Diagnostic>> {
    let function = one(&format!(
        ".entry k(.param .u64 p, .param .u32 n) {{
            .reg .pred %p<4>; .reg .b16 %rs<8>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
            {body}
        }}"
    ))?;
    if let Err(errors) = verify(&function, Level::Built) {
        panic!("{errors:?}\n{function}");
    }
    Ok(function)
}

fn ops(func: &Function) -> Vec<Op> {
    let insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    insts.map(|&inst| func.insts[inst].op).collect()
}

fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(4)?;
    let folder = root.join("shared/corpus/ptx/t1");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no corpus at {}", folder.display());
    None
}

#[test]
fn the_kernels_of_the_first_slice_build_and_verify() {
    let saxpy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/lit/kernels/saxpy.ptx");
    let mut files = vec![saxpy];
    if let Some(folder) = corpus() {
        let names = [
            "reduce_shared",
            "matmul_tiled",
            "histogram_shared",
            "warp_votes",
            "mandelbrot",
            "spmv_csr",
            "switch_vm",
        ];
        files.extend(names.iter().map(|name| folder.join(format!("{name}.sm_90.ptx"))));
    }
    for file in files {
        let text = std::fs::read_to_string(&file).expect("readable");
        let parsed = ptxc_syntax::parse_module(&text);
        assert_eq!(parsed.errors, [], "{}", file.display());
        let functions = build_all(&parsed.value);
        assert!(!functions.is_empty());
        for function in functions {
            let function = function.unwrap_or_else(|errors| panic!("{}: {errors:#?}", file.display()));
            if let Err(errors) = verify(&function, Level::Built) {
                panic!("{}: {errors:?}\n{function}", file.display());
            }
        }
    }
}

#[test]
fn a_loop_has_parameters_only_for_changed_registers() {
    let func = kernel(
        "ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u32 %r3, 7;
         L: add.s32 %r2, %r2, %r3; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;
         ret;",
    )
    .unwrap();
    let params: Vec<usize> = func.layout.iter().map(|&block| func.blocks[block].params.len()).collect();
    assert_eq!(params, [0, 1, 0], "{func}");
}

#[test]
fn a_guarded_computation_is_a_select_and_a_guarded_access_a_block() {
    let pure = kernel(
        "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 1;
         @%p1 add.u32 %r2, %r2, %r1; st.shared.u32 [0], %r2;",
    )
    .unwrap();
    assert_eq!(pure.layout.len(), 1);
    assert!(ops(&pure).contains(&Op::Select));
    let access = kernel(
        "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 1;
         @!%p1 ld.shared.u32 %r2, [%r1]; st.shared.u32 [0], %r2;",
    )
    .unwrap();
    assert_eq!(access.layout.len(), 3);
    let join = access.layout[2];
    assert_eq!(access.blocks[join].params.len(), 1, "{access}");
}

#[test]
fn inner_scopes_hide_outer_names() {
    let func = kernel(
        "mov.u32 %r1, 1;
         { .reg .b32 %r1; mov.u32 %r1, 2; { .reg .b32 t; mov.u32 t, %r1; st.shared.u32 [4], t; } }
         st.shared.u32 [0], %r1;",
    )
    .unwrap();
    let stored: Vec<_> = func.blocks[func.entry()]
        .insts
        .iter()
        .filter(|&&inst| matches!(func.insts[inst].op, Op::Store(_)))
        .map(|&inst| func.constant(func.insts[inst].args[1]))
        .collect();
    assert_eq!(stored, [Some(2), Some(1)]);
}

#[test]
fn code_that_nothing_leads_to_is_left_out() {
    let func = kernel("bra L; mov.u32 %r1, 1; M: add.u32 %r1, %r1, 1; bra M; L: ret;").unwrap();
    assert_eq!(ops(&func), [Op::Jump, Op::Exit], "{func}");
}

#[test]
fn widths_follow_registers() {
    let func = kernel(
        "ld.shared.s8 %r1, [0]; ld.shared.u8 %rs1, [1]; ld.shared.u32 %rd1, [4]; st.shared.u8 [0], %r1;
         cvt.s32.s8 %r2, %rs1; cvt.u16.u32 %rs2, %r2; mov.b64 {%r3, %r4}, %rd1; mov.b32 %r5, {%rs1, %rs2};
         mov.u64 %rd2, %tid.x; st.shared.v2.u32 [8], {%r3, %r5}; st.shared.u64 [16], %rd2;",
    )
    .unwrap();
    let loads: Vec<Type> = func.blocks[func.entry()]
        .insts
        .iter()
        .filter(|&&inst| matches!(func.insts[inst].op, Op::Load(_)))
        .map(|&inst| func.insts[inst].ty)
        .collect();
    assert_eq!(loads, [Type::B32, Type::B16, Type::B32]);
}

#[test]
fn everything_unsupported_is_reported_by_name() {
    let errors =
        kernel("txq.width.b32 %r1, [t]; tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f1,%f2}];").unwrap_err();
    let messages: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
    assert_eq!(messages.len(), 2);
    for (message, name) in messages.iter().zip(["`txq.width.b32`", "`tex.2d.v4.f32.f32`"]) {
        assert!(message.contains(name), "{message}");
    }
}

/// The elements of a vector of 256 bits that are `_` are not stored.
#[test]
fn masked_elements_are_not_stored() {
    let func = kernel("st.global.v8.b32 [%rd1+16], {%r1, _, %r2, _, _, _, _, %r3};").unwrap();
    let stores = func.insts.values().filter_map(|inst| match &inst.op {
        Op::Store(access) => Some((access.offset, access.lanes)),
        _ => None,
    });
    assert_eq!(stores.collect::<Vec<_>>(), [(16, 1), (24, 1), (44, 1)]);
}

/// Thousands of diamonds in a row, with registers that pass through all of them.
#[test]
fn long_chains_of_joins_need_no_recursion() {
    let mut body = String::from("mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, %r1;\n");
    for n in 0..5_000 {
        body.push_str(&format!("@%p1 bra L{n}; st.shared.u32 [%r1], %r1; L{n}:\n"));
    }
    body.push_str("st.shared.u32 [%r1], %r2;");
    let func = kernel(&body).unwrap();
    assert!(func.layout.iter().all(|&block| func.blocks[block].params.is_empty()));
}

mod any_instruction {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::build_ssa::Built;

    const MNEMONICS: &[&str] = &[
        "add",
        "sub",
        "mul",
        "mad",
        "fma",
        "div",
        "rem",
        "min",
        "max",
        "abs",
        "neg",
        "sad",
        "popc",
        "clz",
        "brev",
        "bfe",
        "bfi",
        "and",
        "or",
        "xor",
        "not",
        "cnot",
        "shl",
        "shr",
        "shf",
        "prmt",
        "setp",
        "set",
        "selp",
        "slct",
        "rcp",
        "sin",
        "cvt",
        "cvta",
        "mov",
        "ld",
        "st",
        "atom",
        "red",
        "bar",
        "barrier",
        "membar",
        "fence",
        "vote",
        "shfl",
        "activemask",
        "bra",
        "brx",
        "ret",
        "exit",
        "trap",
        "brkpt",
    ];
    const MODIFIERS: &[&str] = &[
        "",
        ".lo",
        ".hi",
        ".wide",
        ".rn",
        ".rzi",
        ".ftz",
        ".sat",
        ".approx",
        ".eq",
        ".lt",
        ".and",
        ".or",
        ".add",
        ".cas",
        ".global",
        ".shared",
        ".param",
        ".const",
        ".v2",
        ".v4",
        ".volatile",
        ".nc",
        ".to",
        ".sync",
        ".red",
        ".popc",
        ".warp",
        ".ballot",
        ".down",
        ".l",
        ".wrap",
        ".cta",
        ".gl",
        ".idx",
        ".uni",
    ];
    const TYPES: &[&str] = &[
        "", ".pred", ".b8", ".s8", ".b16", ".u16", ".s16", ".f16", ".bf16", ".f16x2", ".b32", ".u32", ".s32",
        ".f32", ".b64", ".u64", ".s64", ".f64", ".b128",
    ];
    const OPERANDS: &[&str] = &[
        "%p1",
        "!%p2",
        "%p1|%p2",
        "%rs1",
        "%r1",
        "%r2",
        "%rd1",
        "%rd2",
        "%f1",
        "%q1",
        "%d1",
        "_",
        "1",
        "-1",
        "64",
        "0f3F800000",
        "1.5",
        "[%r1]",
        "[%rd1+8]",
        "[n]",
        "[p+4]",
        "[s+4]",
        "[0]",
        "s",
        "s+4",
        "%tid.x",
        "{%r1, %r2}",
        "{%rs1, %rs2}",
        "{%rs1, _, %rs2, %rs3}",
        "{}",
        "L",
        "nothing",
        "%r1|%p1",
    ];

    fn instruction() -> impl Strategy<Value = String> {
        let guard = select(&["", "@%p1 ", "@!%p2 ", "@%r1 "][..]);
        let modifiers = proptest::collection::vec(select(MODIFIERS), 0..4);
        let types = proptest::collection::vec(select(TYPES), 1..3);
        let operands = proptest::collection::vec(select(OPERANDS), 0..6);
        (guard, select(MNEMONICS), modifiers, types, operands).prop_map(
            |(guard, mnemonic, modifiers, types, operands)| {
                format!("{guard}{mnemonic}{}{} {};", modifiers.concat(), types.concat(), operands.join(", "))
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Every text that parses becomes SSA that verifies, or is reported: no panic, no malformed
        /// function.
        #[test]
        fn builds_or_is_reported(instructions in proptest::collection::vec(instruction(), 1..3)) {
            let body = instructions.join("\n");
            let text = format!(
                ".entry k(.param .u64 p, .param .u32 n) {{
                    .reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
                    .reg .b128 %q<2>; .reg .f64 %d<2>; .shared .align 4 .b8 s[64];
                    L: {body}
                }}"
            );
            let parsed = ptxc_syntax::parse_function(&text);
            let env = ModuleEnv::empty();
            let resolved = examine(&parsed.value, &env).resolved;
            if let Ok(Built { function, .. }) = build(&parsed.value, &env, &resolved) {
                let verified = verify(&function, Level::Built);
                prop_assert!(verified.is_ok(), "{verified:?}\n{function}");
            }
        }
    }
}
