//! Both engines on the same random straight-line code: each step is an operation of the SSA IR and
//! the equivalent SASS.

use proptest::prelude::*;
use ptxc_ir::text::parse_function;
use ptxc_sim::case::{Argument, Buffer};
use ptxc_sim::{Case, Options, run_sass, run_ssa};

use crate::assemble::{buffer, case, program};

/// A step: SSA text and SASS text. `D` is the result, `A`, `B`, `C` are operands.
const STEPS: &[(&str, &str)] = &[
    ("iadd.b32 A, B", "IADD3 D, A, B, RZ"),
    ("isub.b32 A, B", "IADD3 D, A, -B, RZ"),
    ("isub.b32 A, B", "IADD3 D, -B, A, RZ"),
    ("iadd.b32 A, B", "IMAD.IADD D, A, 0x1, B"),
    ("ineg.b32 A", "IADD3 D, RZ, -A, RZ"),
    ("iabs.b32 A", "IABS D, A"),
    ("imul.b32 A, B", "IMAD D, A, B, RZ"),
    ("umulh.b32 A, B", "IMAD.HI.U32 D, A, B, RZ"),
    ("smulh.b32 A, B", "IMAD.HI D, A, B, RZ"),
    ("smin.b32 A, B", "VIMNMX D, A, B, PT"),
    ("umin.b32 A, B", "VIMNMX.U32 D, A, B, PT"),
    ("smax.b32 A, B", "VIMNMX D, A, B, !PT"),
    ("umax.b32 A, B", "VIMNMX.U32 D, A, B, !PT"),
    ("and.b32 A, B", "LOP3.LUT D, A, B, RZ, 0xc0, !PT"),
    ("or.b32 A, B", "LOP3.LUT D, A, B, RZ, 0xfc, !PT"),
    ("xor.b32 A, B", "LOP3.LUT D, A, B, RZ, 0x3c, !PT"),
    ("not.b32 A", "LOP3.LUT D, RZ, A, RZ, 0x33, !PT"),
    ("shl.b32 A, B", "SHF.L.U32 D, A, B, RZ"),
    ("shr.b32 A, B", "SHF.R.U32.HI D, RZ, B, A"),
    ("sar.b32 A, B", "SHF.R.S32.HI D, RZ, B, A"),
    ("funnel_shl.wrap.b32 A, B, C", "SHF.L.W.U32.HI D, A, C, B"),
    ("funnel_shr.wrap.b32 A, B, C", "SHF.R.W.U32 D, A, C, B"),
    ("popc.b32 A", "POPC D, A"),
    ("clz.b32 A", "FLO.U32.SH D, A; VIMNMX.U32 D, D, 0x20, PT"),
    ("brev.b32 A", "BREV D, A"),
    ("prmt.index.b32 A, B, C", "PRMT D, A, C, B"),
    ("prmt.f4e.b32 A, B, C", "PRMT.F4E D, A, C, B"),
    ("prmt.rc16.b32 A, B, C", "PRMT.RC16 D, A, C, B"),
    ("lop3.b32 0xe8, A, B, C", "LOP3.LUT D, A, B, C, 0xe8, !PT"),
    ("bfind.b32 A", "FLO.U32 D, A"),
    ("bfind.b32.signed.shift A", "FLO.SH D, A"),
    ("bmsk.b32.wrap A, B", "BMSK.W D, A, B"),
    ("szext.b32.signed A, B", "SGXT D, A, B"),
    ("szext.b32.wrap A, B", "SGXT.W.U32 D, A, B"),
    ("dp4a.b32.a_signed A, B, C", "IDP.4A.S8.U8 D, A, B, C"),
    ("dp2a.b32.b_signed.high A, B, C", "IDP.2A.HI.U16.S8 D, A, B, C"),
    ("ipair.add.b32 A, B", "VIADD.16x2 D, A, B"),
    ("ipair.smin.b32 A, B", "VIMNMX.S16x2 D, A, B, PT"),
    ("ipair.umax.b32 A, B", "VIMNMX.U16x2 D, A, B, !PT"),
    ("pack_saturated.u8.b32 A, B, C", "I2IP.U8.S32.SAT D, A, B, C"),
    ("pack_saturated.s16.b32 A, B, C", "I2IP.S16.S32.SAT D, A, B, RZ"),
    ("fadd.f32.rn A, B", "FADD D, A, B"),
    ("fmul.f32.rn A, B", "FMUL D, A, B"),
    ("ffma.f32.rn A, B, C", "FFMA D, A, B, C"),
    ("fmin.f32 A, B", "FMNMX D, A, B, PT"),
    ("fmax.f32 A, B", "FMNMX D, A, B, !PT"),
];

/// Comparisons, each followed by a selection between `A` and `C`.
const COMPARISONS: &[(&str, &str)] = &[
    ("icmp.slt.b32 A, B", "ISETP.LT.AND P0, PT, A, B, PT"),
    ("icmp.uge.b32 A, B", "ISETP.GE.U32.AND P0, PT, A, B, PT"),
    ("icmp.eq.b32 A, B", "ISETP.NE.AND PT, P0, A, B, PT"),
];

/// The number of registers and values that the steps use.
const VARIABLES: usize = 6;

fn fill(text: &str, names: [(&str, String); 4]) -> String {
    text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.')
        .map(|word| {
            let (name, end) = word.split_at(word.trim_end_matches([',', ' ', ';']).len());
            let bare = name.trim_start_matches('-');
            match names.iter().find(|(letter, _)| *letter == bare) {
                Some((_, full)) => format!("{}{full}{end}", &name[..name.len() - bare.len()]),
                None => word.to_string(),
            }
        })
        .collect()
}

/// The two programs: the first variable starts as the thread's index, the others as the words of
/// `start`.
fn programs(start: &[u32], steps: &[(usize, [usize; 4])]) -> (String, String) {
    let mut ssa = String::from("func @k entry {\n    param \"out\" 8 +0\nblock0:\n    p = param.b64 +0\n");
    let mut sass = String::from("S2R R0, SR_TID.X\n");
    ssa.push_str("    t0 = sreg.b32 tid.x\n");
    for (n, word) in start.iter().enumerate() {
        ssa.push_str(&format!("    t{} = const.b32 {word:#x}\n", n + 1));
        sass.push_str(&format!("MOV R{}, {word:#x}\n", n + 1));
    }
    // The current SSA name of each variable.
    let mut names: Vec<String> = (0..VARIABLES).map(|n| format!("t{n}")).collect();
    for (count, &(kind, [d, a, b, c])) in steps.iter().enumerate() {
        let float = STEPS.get(kind).is_some_and(|(ssa, _)| ssa.contains("f32"));
        let mut operand = |n: usize| match float {
            false => names[n].clone(),
            true => {
                ssa.push_str(&format!("    f{count}_{n} = bitcast.f32 {}\n", names[n]));
                format!("f{count}_{n}")
            }
        };
        let mut distinct = [a, b, c].to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let operands: Vec<(usize, String)> = distinct.into_iter().map(|n| (n, operand(n))).collect();
        let value = |n: usize| operands.iter().find(|(other, _)| *other == n).unwrap().1.clone();
        let in_ssa = |text: &str| {
            fill(text, [("D", String::new()), ("A", value(a)), ("B", value(b)), ("C", value(c))])
        };
        let register = |n: usize| format!("R{n}");
        let in_sass = |text: &str| {
            // D may be A, B or C, so compute into a separate register first.
            let filled =
                fill(text, [("D", "R20".into()), ("A", register(a)), ("B", register(b)), ("C", register(c))]);
            filled.split("; ").map(|line| format!("{line}\n")).collect::<String>()
        };
        let result = format!("r{count}");
        match STEPS.get(kind) {
            Some((ssa_step, sass_step)) => {
                let raw = if float { format!("g{count}") } else { result.clone() };
                ssa.push_str(&format!("    {raw} = {}\n", in_ssa(ssa_step)));
                if float {
                    ssa.push_str(&format!("    {result} = bitcast.b32 {raw}\n"));
                }
                sass.push_str(&in_sass(sass_step));
            }
            None => {
                let (ssa_step, sass_step) = COMPARISONS[kind - STEPS.len()];
                ssa.push_str(&format!("    c{count} = {}\n", in_ssa(ssa_step)));
                ssa.push_str(&format!("    {result} = select.b32 c{count}, {}, {}\n", value(a), value(c)));
                sass.push_str(&in_sass(sass_step));
                sass.push_str(&format!("SEL R20, R{a}, R{c}, P0\n"));
            }
        }
        sass.push_str(&format!("MOV R{d}, R20\n"));
        names[d] = result;
    }
    ssa.push_str("    x0 = sreg.b32 tid.x\n    x1 = const.b32 0x20\n");
    ssa.push_str("    x2 = umul_wide.b32 x0, x1\n    x3 = iadd.b64 p, x2\n");
    sass.push_str("S2R R21, SR_TID.X\nLDC.64 R10, c[0x0][0x210]\nULDC.64 UR4, c[0x0][0x208]\n");
    sass.push_str("IMAD.WIDE.U32 R10, R21, 0x20, R10\n");
    for (n, name) in names.iter().enumerate() {
        ssa.push_str(&format!("    store.global.b32 [x3 + {}], {name}\n", 4 * n));
        sass.push_str(&format!("STG.E desc[UR4][R10.64+{:#x}], R{n}\n", 4 * n));
    }
    ssa.push_str("    exit\n}\n");
    sass.push_str("EXIT\n");
    (ssa, sass)
}

/// The content of the buffer after a run without expectations.
fn unchecked(case: Case) -> Case {
    let args = case.args.into_iter().map(|arg| match arg {
        Argument::Buffer(buffer) => Argument::Buffer(Buffer { expect: None, ..buffer }),
        scalar => scalar,
    });
    Case { args: args.collect(), ..case }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn engines_agree(
        start in prop::collection::vec(prop_oneof![any::<u32>(), 0u32..40, Just(0x8000_0000)], VARIABLES - 1),
        steps in prop::collection::vec(
            (0..STEPS.len() + COMPARISONS.len(), prop::array::uniform4(0..VARIABLES)),
            1..40,
        ),
    ) {
        let (ssa, sass) = programs(&start, &steps);
        let case = unchecked(case(1, 33, vec![buffer("out", &[0; 33 * 8], &[0; 33 * 8])]));
        let func = parse_function(&ssa).unwrap_or_else(|errors| panic!("{errors:?}\n{ssa}"));
        let one = run_ssa(&case, &func, &[], &Options::default()).unwrap_or_else(|error| panic!("{error}\n{ssa}"));
        let options = Options { check_uninitialised: true, ..Options::default() };
        let two = run_sass(&case, &program(&sass, &case), &options);
        let two = two.unwrap_or_else(|error| panic!("{error}\n{sass}"));
        prop_assert_eq!(&one.outcomes[0].content, &two.outcomes[0].content, "{}\n{}", ssa, sass);
    }
}
