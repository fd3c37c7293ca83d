//! One warp of straight-line code that waits for nothing takes exactly the static sum.

use proptest::prelude::*;
use ptxc_sass::Control;

use super::{control, run};
use crate::assemble::{case, program};

/// Instructions of every pipe, without effects on memory and without operands that matter.
const INSTS: &[&str] = &[
    "IADD3 R{d}, R{a}, R{b}, R{c}",
    "LOP3.LUT R{d}, R{a}, R{b}, R{c}, 0x96, !PT",
    "SHF.L.U32 R{d}, R{a}, 0x3, RZ",
    "ISETP.GE.AND P0, PT, R{a}, R{b}, PT",
    "@P0 SEL R{d}, R{a}, R{b}, P1",
    "IMAD R{d}, R{a}, R{b}, R{c}",
    "IMAD.WIDE R{e}, R{a}, R{b}, R{f}",
    "FFMA R{d}, R{a}, R{b}, R{c}",
    "FADD R{d}, R{a}, R{b}",
    "DFMA R{e}, R{f}, R{g}, R{f}",
    "MUFU.RCP R{d}, R{a}",
    "POPC R{d}, R{a}",
    "UIADD3 UR4, UR5, UR6, URZ",
    "ULDC UR7, c[0x0][0x210]",
    "S2R R{d}, SR_TID.X",
    "LDC R{d}, c[0x0][0x0]",
    "VOTE.ANY R{d}, PT, P0",
    "SHFL.BFLY PT, R{d}, R{a}, 0x1, 0x1f",
    "CS2R R{e}, SRZ",
    "NOP",
];

prop_compose! {
    fn inst()(
        text in proptest::sample::select(INSTS),
        d in 0u8..60, a in 0u8..60, b in 0u8..60, c in 0u8..60, e in 0u8..20, f in 0u8..20, g in 0u8..20,
        stall in 1u8..16, long: bool, yields: bool, reuse in 0u8..8,
    ) -> (String, Control) {
        let pair = |n: u8| (2 * n).to_string();
        let text = text.replace("{d}", &d.to_string()).replace("{a}", &a.to_string());
        let text = text.replace("{b}", &b.to_string()).replace("{c}", &c.to_string());
        let text = text.replace("{e}", &pair(e)).replace("{f}", &pair(f)).replace("{g}", &pair(g));
        let stall = if long { stall } else { 1 };
        let yield_hint = yields || stall > Control::MAX_STALL_WITHOUT_YIELD;
        let reuse = if yield_hint { 0 } else { reuse };
        (text, Control { stall, yield_hint, reuse, ..Control::plain() })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn takes_the_static_sum(insts in prop::collection::vec(inst(), 1..300), end in 1u8..6) {
        let case = case(1, 32, vec![crate::assemble::buffer("p", &[0], &[0])]);
        let text: String = insts.iter().map(|(text, _)| format!("{text}\n")).collect();
        let mut program = program(&format!("{text}EXIT\n"), &case);
        for (index, (_, field)) in insts.iter().enumerate() {
            control(&mut program, index, |control| *control = *field);
        }
        control(&mut program, insts.len(), |control| control.stall = end);
        let timing = run(&case, &program);
        prop_assert_eq!(timing.cycles, program.static_cycles(), "{}", timing);
        prop_assert_eq!(timing.issued, insts.len() as u64 + 1);
    }
}

#[test]
fn the_sum_of_stalls_where_nothing_is_in_the_way() {
    let case = case(1, 32, Vec::new());
    let mut program = program("IADD3 R0, R1, R2, RZ\nFADD R3, R4, R5\nIADD3 R6, R7, R8, RZ\nEXIT\n", &case);
    for (index, stall) in [4, 2, 3, 5].into_iter().enumerate() {
        control(&mut program, index, |control| control.stall = stall);
    }
    assert_eq!(program.static_cycles(), 14);
    assert_eq!(run(&case, &program).cycles, 14);
}
