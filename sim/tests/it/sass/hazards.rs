//! Accesses that are too early by the control codes: which are found, which values they read, and
//! which accesses are not too early.

use ptxc_sass::text::Notation;
use ptxc_sass::verify::{HazardKind, Lack, Order};
use ptxc_sass::{PReg, Program};
use ptxc_sim::{Case, Hazard, Options, Report, SimError, run_sass};

use crate::assemble::{buffer, case, program};

/// A program whose lines begin with their control fields, `[B0-----:R-:W1:Y:S05]`. Without one, the
/// field waits for all scoreboards and stalls long enough for anything.
fn coded(text: &str, case: &Case) -> Program {
    let field = |line: &str| line.trim().strip_prefix('[').and_then(|rest| rest.split_once(']')).is_some();
    let strip = |line: &str| match field(line) {
        true => line.split_once(']').map_or(String::new(), |(_, inst)| inst.to_string()),
        false => line.to_string(),
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let bare: Vec<String> = lines.iter().map(|line| strip(line)).collect();
    let mut program = program(&bare.join("\n"), case);
    let insts = lines.iter().filter(|line| !line.trim().starts_with(".L"));
    for (line, coded) in insts.zip(&mut program.insts) {
        let text = line.trim().split_inclusive(']').next().filter(|_| field(line));
        let serial = "[B012345:R5:W4:Y:S15]";
        coded.control =
            Notation::Bracket.parse(text.unwrap_or(serial)).expect("the control field is well-formed");
    }
    program
}

fn options(seed: u64) -> Options {
    Options { seed, hazards: true, ..Options::default() }
}

/// The hazards of a program that runs with `threads` threads.
fn hazards_of(threads: u32, text: &str) -> Vec<Hazard> {
    let case = case(1, threads, vec![]);
    run_sass(&case, &coded(&format!("{text}\nEXIT"), &case), &options(0)).expect("it runs").hazards
}

/// The hazards as consumer, producer, rule, register and lack.
fn brief(hazards: &[Hazard]) -> Vec<(u32, u32, HazardKind, Option<PReg>, Lack)> {
    let brief = |hazard: &Hazard| {
        let what = &hazard.what;
        (what.consumer, what.producer, what.kind, what.reg, what.lack)
    };
    hazards.iter().map(brief).collect()
}

fn cycles(need: u8, have: u8) -> Lack {
    Lack::Cycles { need, have }
}

#[test]
fn a_result_is_readable_when_its_latency_has_passed() {
    let text = |stall: u8| {
        format!(
            "MOV R0, 0x1
             [B------:R-:W-:-:S{stall:02}] IADD3 R2, R0, R0, RZ
             IADD3 R3, R2, R2, RZ"
        )
    };
    assert_eq!(hazards_of(32, &text(4)), []);
    let found = hazards_of(32, &text(3));
    assert_eq!(brief(&found), [(2, 1, HazardKind::Raw, Some(PReg::r(2)), cycles(4, 3))]);
    assert_eq!(
        found[0].to_string(),
        "/*0020*/ reads R2 of /*0010*/ after 3 cycles, not 4: `IADD3 R3, R2, R2, RZ` after `IADD3 R2, R0, R0, RZ`, \
         first in CTA (0, 0, 0) warp 0 lanes 0xffffffff"
    );
}

/// Stores a register of each thread; it uses R10 to R13.
fn store(register: &str) -> String {
    format!(
        "S2R R10, SR_TID.X
         LDC.64 R12, c[0x0][0x210]
         ULDC.64 UR4, c[0x0][0x208]
         IMAD.WIDE.U32 R12, R10, 0x4, R12
         STG.E desc[UR4][R12.64], {register}
         EXIT"
    )
}

/// Checks the content that a program leaves in a register of 32 threads, and returns the report
/// with its hazards.
fn values(text: &str, register: &str, expect: u32, seed: u64) -> Report {
    let case = case(1, 32, vec![buffer("out", &[0; 32], &[expect; 32])]);
    let program = coded(&format!("{text}\n{}", store(register)), &case);
    run_sass(&case, &program, &options(seed)).expect("it runs")
}

#[test]
fn an_early_read_is_random_and_the_result_is_right_later() {
    let text = "MOV R0, 0x1
        [B------:R-:W-:-:S01] IADD3 R2, R0, R0, RZ
        IADD3 R3, R2, R2, RZ";
    let early = values(text, "R3", 4, 1);
    assert!(!early.passed() && early.outcomes[0].wrong == 32, "{early}");
    let other = values(text, "R3", 4, 2);
    assert_ne!(early.outcomes[0].content, other.outcomes[0].content, "another seed, another poison");
    assert_eq!(early.outcomes[0].content, values(text, "R3", 4, 1).outcomes[0].content);
    let later = values(text, "R2", 2, 1);
    assert!(!later.passed() && later.outcomes[0].wrong == 0, "{later}");
}

#[test]
fn an_early_overwriting_leaves_anything() {
    let text = "[B------:R-:W0:-:S02] S2R R3, SR_LANEID
        MOV R3, 0x7
        NOP";
    let text = text.replace("MOV R3", "[B------:R-:W-:Y:S15] MOV R3");
    let report = values(&text, "R3", 7, 1);
    assert_eq!(
        brief(&report.hazards),
        [(1, 0, HazardKind::Waw, Some(PReg::r(3)), Lack::Wait(1))],
        "instructions after the second write depend only on that write"
    );
    assert_eq!(report.outcomes[0].wrong, 32);
}

#[test]
fn a_wait_sees_a_scoreboard_two_cycles_after_it_is_taken() {
    let text = |stall: u8, wait: &str| {
        format!(
            "[B------:R-:W1:-:S{stall:02}] S2R R3, SR_LANEID
             [B{wait}:R-:W-:Y:S15] NOP
             [B------:R-:W-:Y:S15] MOV R4, R3"
        )
    };
    assert_eq!(hazards_of(32, &text(2, "-1----")), []);
    for (stall, wait) in [(1, "-1----"), (2, "0-2345")] {
        let found = hazards_of(32, &text(stall, wait));
        assert_eq!(brief(&found), [(2, 0, HazardKind::Raw, Some(PReg::r(3)), Lack::Wait(2))]);
    }
    let none = text(2, "-1----").replace("W1", "W-");
    assert_eq!(brief(&hazards_of(32, &none))[0].4, Lack::Wait(0));
}

#[test]
fn an_operand_that_is_fetched_late_must_not_be_overwritten_before() {
    let text = |read: &str, write: &str, wait: &str| {
        format!(
            "MOV R2, 0x400
             MOV R6, RZ
             [B------:R{read}:W{write}:-:S02] LDS R4, [R2]
             [B{wait}:R-:W-:Y:S15] MOV R2, RZ
             [B012345:R-:W-:Y:S15] NOP"
        )
    };
    // Either scoreboard is enough: when the result is written, the operands have been read.
    assert_eq!(hazards_of(32, &text("3", "2", "---3--")), []);
    assert_eq!(hazards_of(32, &text("3", "2", "--2---")), []);
    let war = |scoreboards| [(3, 2, HazardKind::War, Some(PReg::r(2)), Lack::Wait(scoreboards))];
    assert_eq!(brief(&hazards_of(32, &text("3", "2", "01--45"))), war(0b1100));
    assert_eq!(brief(&hazards_of(32, &text("-", "2", "---3--"))), war(0b100));
}

#[test]
fn uniform_registers_and_predicates_are_read_at_issue() {
    let text = "MOV R2, 0x400
        UMOV UR4, 0x0
        ISETP.EQ.AND P0, PT, RZ, RZ, PT
        [B------:R-:W2:-:S01] @P0 LDS R4, [R2+UR4]
        [B------:R-:W-:-:S01] UMOV UR4, 0x1
        [B------:R-:W-:Y:S15] ISETP.EQ.AND P0, PT, RZ, RZ, PT
        [B012345:R-:W-:Y:S15] NOP";
    assert_eq!(hazards_of(32, text), []);
}

#[test]
fn a_guard_asks_for_more_than_an_operand() {
    let text = |stall: u8, inst: &str| {
        format!(
            "[B------:R-:W-:Y:S{stall:02}] ISETP.EQ.AND P0, PT, RZ, RZ, PT
             {inst}"
        )
    };
    let guarded = "@P0 MOV R3, 0x1";
    assert_eq!(hazards_of(32, &text(13, guarded)), []);
    assert_eq!(
        brief(&hazards_of(32, &text(12, guarded))),
        [(1, 0, HazardKind::Raw, Some(PReg::p(0)), cycles(13, 12))]
    );
    assert_eq!(hazards_of(32, &text(12, "SEL R3, RZ, 0x1, P0")), []);
}

#[test]
fn accesses_that_a_guard_prevents_do_not_count() {
    // P0 holds in lanes 0 to 15, which read a register before it is written; the others neither
    // read nor write it.
    let text = "S2R R1, SR_LANEID
        MOV R2, RZ
        MOV R4, RZ
        ISETP.LT.AND P0, PT, R1, 0x10, PT
        [B------:R-:W-:-:S01] @WHO IADD3 R2, R1, R1, RZ
        @P0 IADD3 R3, R2, R2, RZ";
    assert_eq!(hazards_of(32, &text.replace("WHO", "!P0")), []);
    let found = hazards_of(32, &text.replace("WHO", "P0"));
    assert_eq!(found[0].place.lanes, 0xffff);
    assert_eq!(hazards_of(8, &text.replace("WHO", "!P0")), []);
}

#[test]
fn each_arm_has_its_own_past() {
    // Both arms reach .L_x_1: the arm with the branch 7 cycles after its R2, the other 1 cycle
    // after.
    let text = |stall: u8| {
        format!(
            "S2R R1, SR_LANEID
             ISETP.LT.AND P0, PT, R1, 0x10, PT
             MOV R2, RZ
             BSSY B0, `(.L_x_2)
             @P0 BRA `(.L_x_0)
             [B------:R-:W-:-:S02] MOV R2, 0x1
             [B------:R-:W-:-:S05] BRA `(.L_x_1)
             .L_x_0:
             [B------:R-:W-:-:S{stall:02}] MOV R2, 0x2
             .L_x_1:
             [B------:R-:W-:-:S01] BSYNC B0
             .L_x_2:
             IADD3 R3, R2, R2, RZ"
        )
    };
    assert_eq!(hazards_of(32, &text(3)), []);
    let found = hazards_of(32, &text(1));
    assert_eq!(brief(&found), [(9, 7, HazardKind::Raw, Some(PReg::r(2)), cycles(4, 2))]);
    assert_eq!((found[0].place.lanes, found[0].count), (0xffff, 1));
    // Eight lanes, which all take the first arm.
    assert_eq!(hazards_of(8, &text(1)).len(), 1);
}

#[test]
fn a_uniform_register_is_everybodys() {
    // The lanes that wrote UR4 are not those that read it.
    let text = "S2R R1, SR_LANEID
        ISETP.LT.AND P0, PT, R1, 0x10, PT
        UMOV UR4, 0x3
        BSSY B0, `(.L_x_1)
        @P0 BRA `(.L_x_0)
        BSYNC B0
        .L_x_0:
        [B------:R-:W-:-:S01] UIADD3 UR4, UR4, 0x1, URZ
        [B------:R-:W-:-:S01] BSYNC B0
        .L_x_1:
        [B------:R-:W-:-:S01] @P0 EXIT
        MOV R2, UR4";
    let found = hazards_of(32, text);
    assert_eq!(brief(&found), [(9, 6, HazardKind::Raw, Some(PReg::ur(4)), cycles(6, 3))]);
    assert_eq!(found[0].place.lanes, 0xffff_0000);
}

#[test]
fn a_loop_counts_its_repetitions() {
    // The result of the last instruction is read too early around the loop.
    let text = "MOV R0, 0x4
        MOV R1, RZ
        .L_x_0:
        IADD3 R2, R1, R1, RZ
        ISETP.NE.AND P0, PT, R0, 0x1, PT
        IADD3 R0, R0, -0x1, RZ
        [B------:R-:W-:-:S01] MOV R1, 0x1
        [B------:R-:W-:-:S01] @P0 BRA `(.L_x_0)
        NOP";
    let found = hazards_of(64, text);
    assert_eq!(brief(&found), [(2, 5, HazardKind::Raw, Some(PReg::r(1)), cycles(4, 2))]);
    assert_eq!(found[0].count, 2 * 3, "two warps, three times around");
}

#[test]
fn barriers_keep_others_away() {
    let text = |stall: u8, next: &str| {
        format!(
            "MOV R2, 0x400\nMOV R3, RZ\n[B------:R-:W-:Y:S{stall:02}] BAR.SYNC.DEFER_BLOCKING 0x0\n{next}"
        )
    };
    assert_eq!(hazards_of(64, &text(1, "IADD3 R3, R3, R3, RZ")), []);
    assert_eq!(hazards_of(64, &text(6, "STS [R2], R3")), []);
    let found = hazards_of(64, &text(5, "STS [R2], R3"));
    assert_eq!(brief(&found), [(3, 2, HazardKind::AfterBarrier, None, cycles(6, 5))]);
    assert_eq!(found[0].count, 2);
    let twice = hazards_of(64, &text(5, "BAR.SYNC.DEFER_BLOCKING 0x0"));
    assert_eq!(brief(&twice)[0].4, cycles(6, 5));
}

#[test]
fn rules_of_one_instruction() {
    let case = case(1, 32, vec![]);
    let mut broken = coded("MOV R2, RZ\nMOV R1, RZ\nIADD3 R2, R2, R1, RZ\nEXIT", &case);
    broken.insts[2].control =
        ptxc_sass::Control { stall: 11, yield_hint: false, reuse: 1, ..broken.insts[2].control };
    broken.insts[3].control.stall = 99;
    let found = run_sass(&case, &broken, &options(0)).unwrap().hazards;
    let kinds: Vec<_> = found.iter().map(|hazard| (hazard.what.consumer, hazard.what.kind)).collect();
    assert_eq!(kinds, [(2, HazardKind::StaleReuse), (3, HazardKind::Format)]);
    broken.insts[2].control.reuse = 2;
    assert_eq!(run_sass(&case, &broken, &options(0)).unwrap().hazards.len(), 1, "R1 is not overwritten");
}

#[test]
fn a_fault_after_hazards_reports_both() {
    let case = case(1, 32, vec![]);
    let text = "MOV R2, 0x400
        [B------:R-:W-:-:S01] IADD3 R2, R2, 0x4, RZ
        LDS R3, [R2]
        EXIT";
    let error = run_sass(&case, &coded(text, &case), &options(0)).unwrap_err();
    let SimError::After { hazards, error: then, .. } = &error else { panic!("{error}") };
    assert_eq!(hazards.len(), 1);
    assert!(matches!(**then, SimError::Fault { .. }));
    let text = error.to_string();
    assert!(text.starts_with("hazard: /*0020*/ reads R2") && text.contains("\nthen thread"), "{text}");
}

#[test]
fn without_the_option_control_codes_count_for_nothing() {
    let case = case(1, 32, vec![]);
    let program = coded("[B------:R-:W-:-:S01] MOV R0, RZ\nMOV R1, R0\nEXIT", &case);
    assert!(run_sass(&case, &program, &Options::default()).unwrap().passed());
    assert!(!run_sass(&case, &program, &options(0)).unwrap().passed());
}

/// The hazards if the code relies on the order of returns.
fn hazards_in_order(text: &str) -> Vec<Hazard> {
    let case = case(1, 32, vec![]);
    let options = Options { order: Order::InOrder, ..options(0) };
    run_sass(&case, &coded(&format!("{text}\nEXIT"), &case), &options).expect("it runs").hazards
}

#[test]
fn of_a_queue_that_returns_in_order_the_last_announces_all() {
    let text = |second: &str, stall: u8, waits: &str| {
        format!(
            "MOV R0, 0x400
             [B------:R-:W-:-:S01] LDS R2, [R0]
             [B------:R-:W0:-:S{stall:02}] {second}
             [{waits}:R-:W-:-:S05] IADD3 R4, R2, R3, RZ
             NOP"
        )
    };
    let run = text("LDS R3, [R0+0x4]", 2, "B0-----");
    let wait = |scoreboards| Lack::Wait(scoreboards);
    let of = |found: Vec<Hazard>| {
        found.iter().map(|hazard| (hazard.what.producer, hazard.what.lack)).collect::<Vec<_>>()
    };
    assert_eq!(hazards_in_order(&run), []);
    assert_eq!(of(hazards_of(32, &run)), [(1, wait(0))]);
    // Without the wait nothing is signalled, and a wait that is too early sees nothing.
    assert_eq!(of(hazards_in_order(&text("LDS R3, [R0+0x4]", 2, "B------"))), [(1, wait(0)), (2, wait(1))]);
    assert_eq!(of(hazards_in_order(&text("LDS R3, [R0+0x4]", 1, "B0-----"))), [(1, wait(0)), (2, wait(1))]);
    // Another unit may be faster.
    assert_eq!(of(hazards_in_order(&text("S2R R3, SR_LANEID", 2, "B0-----"))), [(1, wait(0))]);
}

#[test]
fn accesses_that_cannot_overtake_need_no_wait() {
    let text = |later: &str| {
        format!(
            "MOV R0, 0x400
             [B------:R-:W-:-:S02] LDS R2, [R0]
             [B------:R-:W0:-:S02] {later}
             [B0-----:R-:W-:-:S05] IADD3 R4, R2, R2, RZ
             NOP"
        )
    };
    for later in ["LDS R2, [R0+0x4]", "LDS R0, [R0+0x4]"] {
        assert_eq!(hazards_in_order(&text(later)), [], "{later}");
        assert_ne!(hazards_of(32, &text(later)), [], "{later}");
    }
    let kinds: Vec<_> =
        hazards_in_order(&text("S2R R2, SR_LANEID")).iter().map(|one| one.what.kind).collect();
    assert_eq!(kinds, [HazardKind::Waw]);
}

#[test]
fn a_barrier_comes_after_the_reads_of_addresses_in_shared_memory() {
    let text = "MOV R0, 0x400
        [B------:R-:W-:-:S02] STS [R0], RZ
        [B------:R-:W-:-:S05] BAR.SYNC.DEFER_BLOCKING 0x0
        [B------:R-:W-:-:S05] MOV R0, 0x1
        NOP";
    assert_eq!(hazards_in_order(text), []);
    assert_ne!(hazards_of(32, text), []);
}

#[test]
fn a_wait_for_accesses_looks_late() {
    let text = |wait: &str| {
        format!(
            "[B------:R-:W2:-:S01] S2R R2, SR_LANEID
             {wait}
             [B------:R-:W-:-:S01] IADD3 R3, R2, R2, RZ"
        )
    };
    let late = text("[B------:R-:W-:-:S04] DEPBAR.LE SB0, 0x0, {2}");
    assert_eq!(hazards_in_order(&late), []);
    // Other waits do not see a scoreboard that was taken in the cycle before.
    assert_eq!(hazards_in_order(&text("[B--2---:R-:W-:-:S04] NOP")).len(), 1);
    assert_eq!(hazards_in_order(&text("[B------:R-:W-:-:S04] DEPBAR.LE SB0, 0x0, {1}")).len(), 1);
    assert_eq!(hazards_of(32, &late).len(), 1);
}
