//! Small functions and their selected code.

use ptxc_ir::text::parse_function;
use ptxc_machine::Arch;
use ptxc_ssa::frequency::block_frequencies;
use ptxc_ssa::uniformity::Uniformity;

use super::{select, select_within};

/// The machine IR of a function, without its header.
fn selected(text: &str) -> String {
    let func = parse_function(text).expect("the test's function reads");
    let frequency = block_frequencies(&func);
    match select(&func, Arch::Sm90, &Uniformity::compute(&func), &frequency) {
        Ok(mir) => {
            crate::mir::verify(&mir).expect("the machine IR is well-formed");
            let text = mir.to_string();
            let blocks = text.lines().skip_while(|line| !line.starts_with("mb"));
            blocks.take_while(|line| *line != "}").map(|line| format!("{line}\n")).collect()
        }
        Err(errors) => errors.iter().map(|error| format!("{}: {}\n", error.op, error.why)).collect(),
    }
}

#[test]
fn a_function_that_takes_too_many_registers_is_refused() {
    let text = "func @k entry {\nblock0:\n    v0 = const.b64 0\n    v1 = load.global.volatile.b32 [v0]\n    \
                store.global.volatile.b32 [v0], v1\n    exit\n}\n";
    let func = parse_function(text).expect("the test's function reads");
    let (uniformity, frequency) = (Uniformity::compute(&func), block_frequencies(&func));
    let within = |most| select_within(&func, Arch::Sm90, &uniformity, &frequency, most);
    let taken = within(100).expect("it takes few").vregs.len();
    assert!(within(taken).is_ok());
    let errors = within(1).expect_err("it takes more than the return address");
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].why, "its function takes more than 1 virtual registers");
}

/// The selected code of instructions that can use `v0`, `v1` (unknown words), `v2`, `v3` (unknown
/// pairs), `v4` (a 32-bit parameter), `v5` (a 64-bit one), `v6` (an unknown predicate) and `v7` (an
/// address).
fn body(insts: &str) -> Vec<String> {
    let head = "func @k entry {
    param \"n\" 4 +0
    param \"p\" 8 +8
    symbol @s shared size 512 align 4 +16
block0:
    v7 = param.b64 +16
    v0 = load.global.volatile.b32 [v7]
    v1 = load.global.volatile.b32 [v7 + 4]
    v2 = load.global.volatile.b64 [v7 + 8]
    v3 = load.global.volatile.b64 [v7 + 16]
    v4 = param.b32 +0
    v5 = param.b64 +8
    v8 = load.global.volatile.b32 [v7 + 24]
    v99 = const.b32 0x7fffffff
    v6 = icmp.ugt.b32 v8, v99
";
    let text = selected(&format!("{head}{insts}    exit\n}}\n"));
    let lines = text.lines().map(str::trim).filter(|line| !line.contains("STRONG.SYS"));
    let lines = lines.filter(|line| *line != "mb0:" && *line != "exit" && !line.contains("0x7fffffff"));
    let lines = lines.filter(|line| !line.contains("c[0x0][0x220]") && !line.contains("c[0x0][0x208]"));
    lines.map(str::to_string).collect()
}

/// Registers are compared by the order of their first appearance: `%r12` is `a`, the next one `b`,
/// ….
#[track_caller]
fn check(insts: &str, expected: &[&str]) {
    let lines = body(insts);
    let mut names: Vec<String> = Vec::new();
    let mut renamed = Vec::new();
    for line in &lines {
        let mut out = String::new();
        let mut rest = line.as_str();
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..at]);
            let end =
                rest[at + 1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |e| at + 1 + e);
            let name = rest[at..end].to_string();
            let number = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            });
            let file = name.trim_start_matches('%').trim_end_matches(|c: char| c.is_ascii_digit());
            out.push_str(&format!("{file}.{}", char::from(b'a' + number as u8)));
            rest = &rest[end..];
        }
        out.push_str(rest);
        renamed.push(out);
    }
    assert_eq!(renamed, expected, "\n{}", lines.join("\n"));
}

const STORE: &str = "    store.global.b32 [v7], v20\n";
const STORE64: &str = "    store.global.b64 [v7], v20\n";

macro_rules! cases {
    ($($name:ident: $insts:expr => $expected:expr;)*) => { $(
        #[test]
        fn $name() {
            check($insts, &$expected);
        }
    )* };
}

fn with(insts: &str) -> String {
    format!("{insts}{STORE}")
}

fn with64(insts: &str) -> String {
    format!("{insts}{STORE64}")
}

cases! {
    three_terms_are_one_addition:
        &with("    v10 = iadd.b32 v0, v1\n    v20 = isub.b32 v10, v8\n") => [
            "IADD3 r.a, r.b, r.c, -r.d",
            "STG.E desc[ur.e][r.f.64], r.a",
        ];
    one_of_two_negated_terms_is_the_last_operand:
        &with("    v10 = ineg.b32 v0\n    v11 = isub.b32 v10, v1\n    v20 = iadd.b32 v11, v8\n") => [
            "IADD3 r.a, -r.b, r.c, -r.d",
            "STG.E desc[ur.e][r.f.64], r.a",
        ];
    two_negated_terms_leave_the_middle_operand_to_rz:
        &with("    v10 = ineg.b32 v0\n    v20 = isub.b32 v10, v1\n") => [
            "IADD3 r.a, -r.b, RZ, -r.c",
            "STG.E desc[ur.d][r.e.64], r.a",
        ];
    a_negated_uniform_term_stays_in_the_middle:
        &with("    v10 = ineg.b32 v0\n    v20 = isub.b32 v10, v4\n") => [
            "ULDC ur.a, c[0x0][0x210]",
            "IADD3 r.b, RZ, -ur.a, -r.c",
            "STG.E desc[ur.d][r.e.64], r.b",
        ];
    three_negated_terms_are_two_additions:
        &with("    v10 = ineg.b32 v0\n    v11 = isub.b32 v10, v1\n    v20 = isub.b32 v11, v8\n") => [
            "IADD3 r.a, -r.b, RZ, -r.c",
            "IADD3 r.d, -r.e, r.a, RZ",
            "STG.E desc[ur.f][r.g.64], r.d",
        ];
    a_product_takes_an_addend:
        &with("    v10 = imul.b32 v0, v4\n    v20 = iadd.b32 v1, v10\n") => [
            "ULDC ur.a, c[0x0][0x210]",
            "IMAD r.b, r.c, ur.a, r.d",
            "STG.E desc[ur.e][r.f.64], r.b",
        ];
    a_negative_product_of_a_constant:
        &with("    v9 = const.b32 7\n    v10 = imul.b32 v0, v9\n    v20 = isub.b32 v1, v10\n") => [
            "IMAD r.a, r.b, -0x7, r.c",
            "STG.E desc[ur.d][r.e.64], r.a",
        ];
    one_operand_is_no_general_register:
        &with("    v9 = const.b32 7\n    v10 = imul.b32 v0, v9\n    v20 = iadd.b32 v4, v10\n") => [
            "LDC r.a, c[0x0][0x210]",
            "IMAD r.b, r.c, 0x7, r.a",
            "STG.E desc[ur.d][r.e.64], r.b",
        ];
    a_shifted_term_is_lea:
        &with("    v9 = const.b32 2\n    v10 = shl.b32 v0, v9\n    v11 = symbol.b32 @s\n    v20 = iadd.b32 v11, v10\n") => [
            "S2UR ur.a, SR_CgaCtaId",
            "UMOV ur.b, 0x410",
            "ULEA ur.c, ur.a, ur.b, 0x18",
            "LEA r.d, r.e, ur.c, 0x2",
            "STG.E desc[ur.f][r.g.64], r.d",
        ];
    a_product_with_two_users_stands_alone:
        &with("    v10 = imul.b32 v0, v1\n    v11 = iadd.b32 v10, v8\n    v20 = iadd.b32 v10, v11\n") => [
            "IMAD r.a, r.b, r.c, RZ",
            "IADD3 r.d, r.a, r.a, r.e",
            "STG.E desc[ur.f][r.g.64], r.d",
        ];
    a_select_of_neighbours_is_a_carry:
        &with("    v9 = const.b32 0\n    v10 = const.b32 0xffffffff\n    v11 = select.b32 v6, v10, v9\n    v20 = iadd.b32 v0, v11\n") => [
            "IADD3.X r.a, r.b, -0x1, RZ, !p.c, !PT",
            "STG.E desc[ur.d][r.e.64], r.a",
        ];
    a_logic_tree_is_one_lop3:
        &with("    v10 = and.b32 v0, v1\n    v11 = not.b32 v8\n    v20 = xor.b32 v10, v11\n") => [
            "LOP3.LUT r.a, r.b, r.c, r.d, 0x95, !PT",
            "STG.E desc[ur.e][r.f.64], r.a",
        ];
    a_fourth_input_is_too_many:
        &with("    v10 = and.b32 v0, v1\n    v11 = or.b32 v8, v4\n    v20 = xor.b32 v10, v11\n") => [
            "ULDC ur.a, c[0x0][0x210]",
            "LOP3.LUT r.b, r.c, ur.a, RZ, 0xfc, !PT",
            "LOP3.LUT r.d, r.b, r.e, r.f, 0x78, !PT",
            "STG.E desc[ur.g][r.h.64], r.d",
        ];
    a_bit_test_makes_a_predicate:
        &with("    v9 = const.b32 4\n    v10 = and.b32 v0, v9\n    v11 = icmp.eq.b32 v10, v9\n    v20 = select.b32 v11, v0, v1\n") => [
            "LOP3.LUT p.a, RZ, r.b, 0x4, RZ, 0xc0, !PT",
            "SEL r.c, r.b, r.d, p.a",
            "STG.E desc[ur.e][r.f.64], r.c",
        ];
    a_test_for_zero_is_kept_as_its_complement:
        &with("    v9 = const.b32 3\n    v12 = const.b32 0\n    v10 = and.b32 v0, v9\n    v11 = icmp.eq.b32 v10, v12\n    v20 = select.b32 v11, v0, v1\n") => [
            "LOP3.LUT p.a, RZ, r.b, 0x3, RZ, 0xc0, !PT",
            "SEL r.c, r.b, r.d, !p.a",
            "STG.E desc[ur.e][r.f.64], r.c",
        ];
    a_comparison_takes_the_other_predicate:
        &with("    v10 = icmp.sge.b32 v0, v4\n    v11 = not.pred v10\n    v12 = and.pred v11, v6\n    v13 = select.b32 v12, v0, v1\n    v20 = select.b32 v6, v13, v8\n") => [
            "ULDC ur.a, c[0x0][0x210]",
            "ISETP.LT.AND p.b, PT, r.c, ur.a, p.d",
            "SEL r.e, r.c, r.f, p.b",
            "SEL r.g, r.e, r.h, p.d",
            "STG.E desc[ur.i][r.j.64], r.g",
        ];
    a_constant_goes_to_the_right:
        &with("    v9 = const.b32 5\n    v10 = icmp.ult.b32 v9, v0\n    v20 = select.b32 v10, v9, v1\n") => [
            "ISETP.GT.U32.AND p.a, PT, r.b, 0x5, PT",
            "SEL r.c, r.d, 0x5, !p.a",
            "STG.E desc[ur.e][r.f.64], r.c",
        ];
    long_addition_writes_one_pair:
        &with64("    v10, v11 = unpack.b64 v2\n    v12, v13 = unpack.b64 v3\n    v14, v15 = iadd_cout.b32 v10, v12\n    v16 = iadd_cin.b32 v11, v13, v15\n    v20 = pack.b64 v14, v16\n") => [
            "IADD3 r.a, p.b, r.c, r.d, RZ",
            "IADD3.X r.a#1, r.c#1, r.d#1, RZ, p.b, !PT",
            "STG.E.64 desc[ur.e][r.f.64], r.a",
        ];
    long_subtraction_complements:
        &with64("    v10, v11 = unpack.b64 v2\n    v12, v13 = unpack.b64 v5\n    v14, v15 = isub_cout.b32 v12, v10\n    v16 = isub_cin.b32 v13, v11, v15\n    v20 = pack.b64 v14, v16\n") => [
            "ULDC ur.a, c[0x0][0x218]",
            "IADD3 r.b, p.c, -r.d, ur.a, RZ",
            "ULDC ur.e, c[0x0][0x21c]",
            "IADD3.X r.b#1, ~r.d#1, ur.e, RZ, p.c, !PT",
            "STG.E.64 desc[ur.f][r.g.64], r.b",
        ];
    a_shifted_index_is_lea_and_lea_hi:
        &with64("    v9 = const.b32 2\n    v10, v11 = unpack.b64 v2\n    v12, v13 = unpack.b64 v5\n    v17 = shl.b32 v10, v9\n    v18 = funnel_shl.wide.b32 v10, v11, v9\n    v14, v15 = iadd_cout.b32 v17, v12\n    v16 = iadd_cin.b32 v18, v13, v15\n    v20 = pack.b64 v14, v16\n") => [
            "ULDC ur.a, c[0x0][0x218]",
            "LEA r.b, p.c, r.d, ur.a, 0x2",
            "ULDC ur.e, c[0x0][0x21c]",
            "LEA.HI.X r.b#1, r.d, ur.e, r.d#1, 0x2, p.c",
            "STG.E.64 desc[ur.f][r.g.64], r.b",
        ];
    a_word_of_two_pairs_is_copied:
        &format!("    v10 = pack.b64 v0, v1\n    v20 = pack.b64 v0, v8\n    store.global.b64 [v7], v10\n{STORE64}") => [
            "MOV r.a, r.b",
            "STG.E.64 desc[ur.c][r.d.64], r.a",
            "STG.E.64 desc[ur.c][r.d.64], r.b",
        ];
    wide_multiply_add_takes_a_parameter:
        &with64("    v9 = const.b32 4\n    v10 = smad_wide.b32 v0, v9, v5\n    v20 = umad_wide.b32 v0, v1, v10\n") => [
            "LDC.64 r.a, c[0x0][0x218]",
            "IMAD.WIDE r.b, r.c, 0x4, r.a",
            "IMAD.WIDE.U32 r.d, r.c, r.e, r.b",
            "STG.E.64 desc[ur.f][r.g.64], r.d",
        ];
    a_pair_is_selected_by_words:
        &with64("    v20 = select.b64 v6, v2, v3\n") => [
            "SEL r.a, r.b, r.c, p.d",
            "SEL r.a#1, r.b#1, r.c#1, p.d",
            "STG.E.64 desc[ur.e][r.f.64], r.a",
        ];
    long_comparison:
        &with("    v10 = icmp.slt.b64 v2, v3\n    v20 = select.b32 v10, v0, v1\n") => [
            "ISETP.LT.U32.AND p.a, PT, r.b, r.c, PT",
            "ISETP.LT.AND.EX p.d, PT, r.b#1, r.c#1, PT, p.a",
            "SEL r.e, r.f, r.g, p.d",
            "STG.E desc[ur.h][r.i.64], r.e",
        ];
    signs_of_floats_are_flags:
        &with("    v10 = bitcast.f32 v0\n    v11 = bitcast.f32 v1\n    v12 = fneg.f32 v10\n    v9 = const.f32 0x3f000000\n    v13 = ffma.f32.rn v12, v11, v9\n    v14 = fabs.f32 v11\n    v15 = fsub.f32.rn v13, v14\n    v20 = bitcast.b32 v15\n") => [
            "FFMA r.a, -r.b, r.c, 0.5",
            "FADD r.d, r.a, -|r.c|",
            "STG.E desc[ur.e][r.f.64], r.d",
        ];
    shared_address_in_parts:
        "    v9 = symbol.b32 @s\n    v10 = iadd.b32 v9, v0\n    store.shared.b32 [v10 + 4], v1\n    store.shared.b32 [v9], v1\n" => [
            "S2UR ur.a, SR_CgaCtaId",
            "UMOV ur.b, 0x400",
            "ULEA ur.c, ur.a, ur.b, 0x18",
            "STS [r.d+ur.c+0x14], r.e",
            "STS [ur.c+0x10], r.e",
        ];
    vector_load_and_store:
        "    v10, v11 = load.shared.b32.v2 [v0]\n    store.shared.b32.v2 [v0 + 8], v11, v10\n" => [
            "LDS.64 r.a, [r.b]",
            "MOV r.c, r.a#1",
            "MOV r.c#1, r.a",
            "STS.64 [r.b+0x8], r.c",
        ];
    atomics_without_a_reader:
        "    v9 = const.b32 1\n    v10 = atomic.add.shared.relaxed.gpu.b32 [v0], v9\n    v11 = atomic.add.global.relaxed.gpu.b32 [v3], v1\n    v12 = atomic.smax.global.relaxed.cta.b32 [v3], v1\n    store.shared.b32 [v0], v12\n" => [
            "ATOMS.POPC.INC.32 RZ, [r.a+URZ]",
            "REDG.E.ADD.STRONG.GPU desc[ur.b][r.c.64], r.d",
            "ATOMG.E.MAX.S32.STRONG.SM PT, r.e, desc[ur.b][r.c.64], r.d",
            "STS [r.a], r.e",
        ];
    votes_in_converged_code_need_no_mask:
        "    v9 = const.b32 0xffffffff\n    v10 = vote.ballot v6, v9\n    v11 = vote.all v6, v9\n    v12 = select.b32 v11, v10, v0\n    store.shared.b32 [v1], v12\n" => [
            "VOTE.ANY r.a, PT, p.b",
            "VOTE.ALL p.c, p.b",
            "SEL r.d, r.a, r.e, p.c",
            "STS [r.f], r.d",
        ];
    barriers:
        "    v9 = const.b32 1\n    v10 = const.b32 0x40\n    barrier.sync.aligned v9\n    barrier.arrive.aligned v9, v10\n    v11 = barrier.red.popc.aligned v9, v10, v6\n    store.shared.b32 [v1], v11\n" => [
            "BAR.SYNC.DEFER_BLOCKING 0x1",
            "BAR.ARV 0x1, 0x40",
            "BAR.RED.POPC.DEFER_BLOCKING 0x1, 0x40, p.a",
            "B2R.RESULT r.b",
            "STS [r.c], r.b",
        ];
    words_change_places:
        &with64("    v10, v11 = unpack.b64 v2\n    v20 = pack.b64 v11, v10\n") => [
            "MOV r.a, r.b#1",
            "MOV r.a#1, r.b",
            "STG.E.64 desc[ur.c][r.d.64], r.a",
        ];
    a_wide_constant_is_added_from_a_pair:
        &with64("    v9 = const.b64 0x100000002\n    v20 = umad_wide.b32 v0, v1, v9\n") => [
            "MOV r.a, 0x2",
            "MOV r.a#1, 0x1",
            "IMAD.WIDE.U32 r.b, r.c, r.d, r.a",
            "STG.E.64 desc[ur.e][r.f.64], r.b",
        ];
    an_address_that_nobody_wrote_is_some_address:
        "    v9 = undef.b64\n    store.global.b32 [v9 + 4], v0\n" => [
            "MOV r.a, RZ",
            "MOV r.a#1, RZ",
            "STG.E desc[ur.b][r.a.64+0x4], r.c",
        ];
    a_barrier_of_two_registers_has_them_packed_in_one:
        "    barrier.sync.aligned.packed v0\n" => [
            "BAR.SYNC.DEFER_BLOCKING r.a, r.a",
        ];
    a_packed_word_that_is_known_is_two_immediates:
        "    v9 = const.b32 0x400003\n    barrier.arrive.packed v9\n" => [
            "BAR.ARV 0x3, 0x40",
        ];
    a_barrier_with_one_register_is_raw:
        "    v9 = const.b32 0x40\n    barrier.sync.aligned v0\n    barrier.sync.aligned v0, v9\n    barrier.arrive.aligned v9, v0\n" => [
            "BAR.SYNC.DEFER_BLOCKING r.a",
            "BAR.SYNC.DEFER_BLOCKING r.a, 0x40",
            "BAR.ARV 0x0, r.a",
        ];
    a_byte_of_the_parameters:
        "    v9 = const.b32 0x9\n    v10 = load.param.b8.b32 [v9 + 1]\n    store.shared.b32 [v0], v10\n" => [
            "LDC.U8 r.a, c[0x0][0x21a]",
            "STS [r.b], r.a",
        ];
    what_has_no_instruction_is_named:
        &with64("    v20 = udiv.b64 v2, v3\n") => [
            "udiv: no instruction for it at type b64",
        ];
}
