//! The runtime routines as functions, on operands of all kinds, not only on those that the fast
//! paths leave to them.

use ptxc_ir::text::parse_function;
use ptxc_semantics::{F32, F64, Format, Mode, float};
use ptxc_sim::{Options, run_ssa};

use super::doubles::ROUNDINGS;
use super::kernel::{THREADS, launch};
use super::operands::float_triples;

/// The number of a rounding mode in the interface of routines: its index in [`ROUNDINGS`].
fn check(
    routine: &str,
    format: Format,
    arity: usize,
    operands: &[[u64; 3]],
    reference: impl Fn([u64; 3], Mode) -> u64,
) {
    let bytes = format.bits() as usize / 8;
    let ty = format!("f{}", format.bits());
    let elem = format!("b{}.{ty}", format.bits());
    let callee = parse_function(routine).expect("the routine is well-formed");
    let args = ["a", "b"][..arity].join(", ");
    for (number, (_, rounding)) in ROUNDINGS.into_iter().enumerate() {
        let text = format!(
            "func @k entry {{\n    callee @{name} routine ({types}, b32) -> ({ty})\n    param \"in\" 8 +0\n    param \"out\" 8 +8\n\
             block0:\n    tid = sreg.b32 tid.x\n    cta = sreg.b32 ctaid.x\n    n = const.b32 {THREADS:#x}\n    base = imul.b32 cta, n\n    \
             i = iadd.b32 base, tid\n    w = const.b32 {step:#x}\n    in_offset = umul_wide.b32 i, w\n    in = param.b64 +0\n    \
             out = param.b64 +8\n    from = iadd.b64 in, in_offset\n    o = const.b32 {bytes:#x}\n    out_offset = umul_wide.b32 i, o\n    \
             to = iadd.b64 out, out_offset\n    a = load.global.{elem} [from]\n    b = load.global.{elem} [from + {bytes}]\n    \
             mode = const.b32 {number:#x}\n    q = call.pure @{name}, {args}, mode\n    store.global.{elem} [to], q\n    exit\n}}\n",
            name = callee.name,
            types = vec![ty.as_str(); arity].join(", "),
            step = 2 * bytes,
        );
        let func = parse_function(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let count = operands.len().next_multiple_of(THREADS as usize);
        let input = (0..count).flat_map(|n| operands.get(n).copied().unwrap_or_default()[..2].to_vec());
        let input = input.flat_map(|a| a.to_le_bytes().into_iter().take(bytes)).collect();
        let case = launch(count as u32, input, count * bytes);
        let options = Options { step_limit: u64::MAX, ..Options::default() };
        let report = run_ssa(&case, &func, std::slice::from_ref(&callee), &options).expect("it runs");
        for (&operands, word) in operands.iter().zip(report.outcomes[1].content.chunks(bytes)) {
            let got = word.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            let expected = reference(operands, Mode::new(rounding));
            let nans = format.is_nan(got) && format.is_nan(expected);
            assert!(got == expected || nans, "{rounding:?} {operands:x?}: {got:#x}, not {expected:#x}");
        }
    }
}

#[test]
fn quotients_in_single_precision() {
    let text = include_str!("../../../../../compiler/passes/ssa/src/runtime/f32.div.ir");
    check(text, F32, 2, &float_triples(F32), |[a, b, _], mode| float::div(F32, a, b, mode));
}

#[test]
fn roots_in_single_precision() {
    let text = include_str!("../../../../../compiler/passes/ssa/src/runtime/f32.sqrt.ir");
    let least = u64::from((2f32.powi(-101)).to_bits());
    let mut operands = float_triples(F32);
    operands.extend(operands.clone().iter().map(|[a, ..]| [a % least; 3]));
    operands.retain(|&[a, ..]| a < least || a >= F32.infinity(false));
    check(text, F32, 1, &operands, |[a, ..], mode| float::sqrt(F32, a, mode));
}

#[test]
fn quotients_in_double_precision() {
    let text = include_str!("../../../../../compiler/passes/ssa/src/runtime/f64.div.ir");
    check(text, F64, 2, &float_triples(F64), |[a, b, _], mode| float::div(F64, a, b, mode));
}

#[test]
fn roots_in_double_precision() {
    let text = include_str!("../../../../../compiler/passes/ssa/src/runtime/f64.sqrt.ir");
    let least = 2f64.powi(-960).to_bits();
    let mut operands = float_triples(F64);
    operands.extend(operands.clone().iter().map(|[a, ..]| [a % least; 3]));
    operands.retain(|&[a, ..]| a < least || a >= F64.infinity(false));
    check(text, F64, 1, &operands, |[a, ..], mode| float::sqrt(F64, a, mode));
}
