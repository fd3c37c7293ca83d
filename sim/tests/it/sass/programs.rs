//! Small programs, one for each behaviour of the engine.

use crate::assemble::{buffer, case, program};
use ptxc_sass::{Operand, PReg, slot_name};
use ptxc_sim::timing::{TimingOptions, run_timed};
use ptxc_sim::{Case, Options, Report, SimError, run_sass};

/// Runs a program under several seeds.
fn run(text: &str, case: &Case) -> Result<Report, SimError> {
    let program = program(text, case);
    for seed in 1..4 {
        let report = run_sass(case, &program, &Options { seed, ..Options::default() })?;
        assert!(report.passed(), "seed {seed}: {report}");
    }
    run_sass(case, &program, &Options::default())
}

/// Stores R0 to word `tid` of the buffer in the first parameter.
const STORE: &str = "
    S2R R10, SR_TID.X
    LDC.64 R12, c[0x0][0x210]
    ULDC.64 UR4, c[0x0][0x208]
    IMAD.WIDE.U32 R12, R10, 0x4, R12
    STG.E desc[UR4][R12.64], R0
    EXIT
";

/// Checks a program that leaves its result in R0 of each of `expect.len()` threads.
fn run_to_r0(body: &str, expect: &[u32]) {
    let case = case(1, expect.len() as u32, vec![buffer("out", &vec![0; expect.len()], expect)]);
    run(&format!("{body}{STORE}"), &case).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_loop_that_each_lane_leaves_at_another_time() {
    // R0 = 0 + 1 + … + tid
    let body = "
        S2R R1, SR_TID.X
        MOV R0, RZ
        MOV R2, RZ
        BSSY B0, `(.L_x_1)
    .L_x_0:
        IADD3 R0, R0, R2, RZ
        IADD3 R2, R2, 0x1, RZ
        ISETP.LE.U32.AND P0, PT, R2, R1, PT
        @P0 BRA `(.L_x_0)
        BSYNC B0
    .L_x_1:
    ";
    run_to_r0(body, &(0..40).map(|i| i * (i + 1) / 2).collect::<Vec<u32>>());
}

/// Lanes below 16 add 1 to a value, the others 2; then all vote.
fn diverging_vote(meet: bool) -> String {
    let (bssy, bsync) = if meet { ("BSSY B3, `(.L_x_2)", "BSYNC B3") } else { ("NOP", "NOP") };
    format!(
        "
        S2R R1, SR_LANEID
        {bssy}
        ISETP.GE.AND P0, PT, R1, 0x10, PT
        @P0 BRA `(.L_x_0)
        VIADD R2, R1, 0x1
        BRA `(.L_x_1)
    .L_x_0:
        VIADD R2, R1, 0x2
    .L_x_1:
        {bsync}
    .L_x_2:
        ISETP.LT.AND P1, PT, R2, 0x14, PT
        VOTE.ANY R0, PT, P1
        "
    )
}

#[test]
fn a_vote_after_bsync_sees_the_whole_warp() {
    run_to_r0(&diverging_vote(true), &[0x0003_ffff; 32]);
}

#[test]
fn without_bsync_each_part_votes_alone() {
    let expect: Vec<u32> = (0..32).map(|lane| if lane < 16 { 0xffff } else { 0x3_0000 }).collect();
    run_to_r0(&diverging_vote(false), &expect);
}

#[test]
fn a_uniform_register_belongs_to_the_warp() {
    // Each arm writes UR6; the lane that reads last wins, so the arms' values mix.
    let body = "
        S2R R1, SR_LANEID
        ISETP.GE.AND P0, PT, R1, 0x10, PT
        UMOV UR6, 0x7
        BSSY B0, `(.L_x_2)
        @P0 BRA `(.L_x_0)
        UMOV UR6, 0x9
        BSYNC B0
    .L_x_0:
        BSYNC B0
    .L_x_2:
        MOV R0, UR6
    ";
    run_to_r0(body, &[9; 32]);
}

/// Runs a program of 32 threads with or without [`Options::holds_uniform`], and returns whether the
/// buffer is right.
fn holds(holds_uniform: bool, seed: u64, body: &str, expect: &[u32; 32]) -> bool {
    let case = case(1, 32, vec![buffer("out", &[0; 32], expect)]);
    let program = program(&format!("{body}{STORE}"), &case);
    let options = Options { seed, holds_uniform, step_limit: 100_000, ..Options::default() };
    run_sass(&case, &program, &options).unwrap_or_else(|error| panic!("seed {seed}: {error}")).passed()
}

#[test]
fn lanes_keep_a_uniform_register_across_the_branches_of_a_loop() {
    // Lane n of the lower half leaves the loop in iteration n + 1; the upper half writes the same
    // register.
    let body = "
        S2R R1, SR_LANEID
        MOV R2, RZ
        BSSY B0, `(.L_x_3)
        ISETP.GE.AND P0, PT, R1, 0x10, PT
        @P0 BRA `(.L_x_1)
        UMOV UR6, 0x7
    .L_x_0:
        VIADD R2, R2, 0x1
        ISETP.LE.U32.AND P1, PT, R2, R1, PT
        @P1 BRA `(.L_x_0)
        MOV R0, UR6
        BRA `(.L_x_2)
    .L_x_1:
        UMOV UR6, 0x9
        NOP
        MOV R0, UR6
    .L_x_2:
        BSYNC B0
    .L_x_3:
    ";
    let expect = std::array::from_fn(|lane| if lane < 16 { 7 } else { 9 });
    assert!((0..64).all(|seed| holds(true, seed, body, &expect)));
    assert!(!(0..64).all(|seed| holds(false, seed, body, &expect)), "our own code must do without");
}

#[test]
fn lanes_that_yield_let_others_have_the_uniform_registers() {
    // All lanes except the first spin until the first has stored to shared memory.
    let body = "
        S2R R1, SR_LANEID
        STS [RZ+0x400], RZ
        BSSY B0, `(.L_x_3)
        UMOV UR6, 0x7
        ISETP.NE.AND P0, PT, R1, RZ, PT
        @P0 BRA `(.L_x_1)
        UMOV UR6, 0x9
        MOV R0, UR6
        STS [RZ+0x400], R0
        BRA `(.L_x_2)
    .L_x_1:
        UMOV UR7, 0x1
        LDS R0, [RZ+0x400]
        YIELD
        ISETP.EQ.U32.AND P1, PT, R0, RZ, PT
        @P1 BRA `(.L_x_1)
    .L_x_2:
        BSYNC B0
    .L_x_3:
    ";
    assert!((0..64).all(|seed| holds(true, seed, body, &[9; 32])));
}

#[test]
fn a_branch_for_all_is_taken_by_all_or_by_none() {
    // With a limit below 4 the guard holds for all of the three lanes, else for some; with `.U.ANY`
    // all go if one does.
    let body = |variant: &str, limit: u32| {
        format!(
            "
            S2R R1, SR_LANEID
            MOV R0, 0x1
            ISETP.LT.U32.AND P0, PT, R1, {limit:#x}, PT
            @P0 BRA.{variant} `(.L_x_0)
            MOV R0, 0x2
        .L_x_0:
            VOTE.ANY R2, PT, PT
            IADD3 R0, R0, R2, RZ
            "
        )
    };
    for (variant, limit, goes) in
        [("U", 4, true), ("U", 2, false), ("U", 0, false), ("U.ANY", 2, true), ("U.ANY", 0, false)]
    {
        run_to_r0(&body(variant, limit), &[if goes { 8 } else { 9 }; 3]);
    }
}

#[test]
fn warpsync_brings_the_lanes_of_its_mask_together() {
    let body = "
        S2R R1, SR_LANEID
        ISETP.GE.AND P0, PT, R1, 0x10, PT
        @P0 BRA `(.L_x_0)
        NOP
        NOP
    .L_x_0:
        WARPSYNC.ALL
        VOTE.ALL R0, P1, PT
    ";
    run_to_r0(body, &[u32::MAX; 32]);
}

#[test]
fn break_and_exit_leave_a_convergence_barrier() {
    // Odd lanes break out past the BSYNC and end; lane 0 exits inside; the others meet.
    let body = "
        S2R R1, SR_LANEID
        MOV R0, 0x5
        LOP3.LUT R2, R1, 0x1, RZ, 0xc0, !PT
        ISETP.NE.AND P0, PT, R2, RZ, PT
        ISETP.EQ.AND P1, PT, R1, RZ, PT
        BSSY B0, `(.L_x_1)
        @P0 BREAK B0
        @P0 BRA `(.L_x_2)
        @P1 EXIT
        BSYNC B0
    .L_x_1:
        VOTE.ANY R0, PT, PT
    .L_x_2:
    ";
    let expect: Vec<u32> = (0..32)
        .map(|i| {
            if i == 0 {
                0
            } else if i % 2 == 1 {
                5
            } else {
                0x5555_5554
            }
        })
        .collect();
    run_to_r0(body, &expect);
}

#[test]
fn break_and_exit_ask_a_second_predicate() {
    // Odd lanes except 3 break out past the BSYNC; lane 0 exits inside; the others meet.
    let body = "
        S2R R1, SR_LANEID
        MOV R0, 0x5
        LOP3.LUT R2, R1, 0x1, RZ, 0xc0, !PT
        ISETP.NE.AND P0, PT, R2, RZ, PT
        ISETP.LT.U32.AND P1, PT, R1, 0x2, PT
        ISETP.NE.AND P2, PT, R1, 0x3, PT
        BSSY B0, `(.L_x_1)
        @P0 BREAK P2, B0
        @P0 BRA P2, `(.L_x_2)
        @!P0 EXIT P1
        BSYNC B0
    .L_x_1:
        VOTE.ANY R0, PT, PT
    .L_x_2:
    ";
    let expect = (0..32).map(|i| match i {
        0 => 0,
        i if i % 2 == 1 && i != 3 => 5,
        _ => 0x5555_555c,
    });
    run_to_r0(body, &expect.collect::<Vec<u32>>());
}

/// A function that needs its caller's barrier saves it, and clears what is then its own: the
/// caller's lanes still wait.
#[test]
fn a_saved_barrier_is_not_cleared() {
    let body = "
        S2R R1, SR_LANEID
        ISETP.LT.U32.AND P0, PT, R1, 0x8, PT
        BSSY B0, `(.L_x_1)
        @!P0 BRA `(.L_x_0)
        BMOV.32.CLEAR R2, B0
        BMOV.32.CLEAR RZ, B0
        BSSY B0, `(.L_x_2)
        BSYNC B0
    .L_x_2:
        BMOV.32 B0, R2
    .L_x_0:
        BSYNC B0
    .L_x_1:
        VOTE.ANY R0, PT, PT
    ";
    run_to_r0(body, &[u32::MAX; 32]);
}

/// Uniform predicates in a byte of a uniform register, and back.
#[test]
fn uniform_predicates_are_kept_in_a_register() {
    let body = "
        UMOV UR4, 0x12345678
        UISETP.EQ.AND UP0, UPT, UR4, 0x12345678, UPT
        UISETP.EQ.AND UP1, UPT, UR4, 0x1, UPT
        UISETP.NE.AND UP2, UPT, UR4, 0x1, UPT
        UP2UR UR5, UPR, UR4, 0x7
        UP2UR UR6, UPR, URZ, 0x4
        UISETP.EQ.AND UP0, UPT, UR4, 0x1, UPT
        UISETP.EQ.AND UP2, UPT, UR4, 0x1, UPT
        UR2UP UPR, UR5
        USEL UR7, URZ, 0x100, !UP0
        USEL UR8, URZ, 0x200, !UP1
        MOV R1, UR7
        IADD3 R0, R1, UR5, RZ
        IADD3 R0, R0, UR8, RZ
        IADD3 R0, R0, UR6, RZ
    ";
    // The byte 0x78 becomes 0x7d.
    run_to_r0(body, &[0x1234_567d + 0x100 + 4; 3]);
}

/// Local memory at an address in a uniform register.
#[test]
fn local_memory_is_reached_by_uniform_registers() {
    let body = "
        S2R R1, SR_TID.X
        UMOV UR4, 0x10
        STL [UR4+0x4], R1
        LDL R0, [0x14]
        LDL R2, [UR4+0x4]
        IADD3 R0, R0, R2, RZ
    ";
    let expect = (0..5).map(|i| 2 * i).collect::<Vec<u32>>();
    let case = case(1, 5, vec![buffer("out", &[0; 5], &expect)]);
    let mut program = program(&format!("{body}{STORE}"), &case);
    program.resources.local_bytes = 32;
    let report = run_sass(&case, &program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.passed(), "{report}");
}

#[test]
fn carries_go_through_both_predicates() {
    // 64-bit: 0xffffffff_fffffff0 + 3 * 0x20 as IADD3 / IADD3.X, the low word with two carries.
    let body = "
        MOV R2, 0xfffffff0
        MOV R3, 0xfffffff8
        IADD3 R4, P0, P1, R2, R3, R2
        IADD3.X R0, RZ, RZ, RZ, P0, P1
        IADD3 R5, P2, R3, -R2, RZ
        IADD3.X R6, R5, ~RZ, RZ, P2, !PT
        LEA R7, P3, R2, R2, 0x4
        LEA.HI.X R8, R2, RZ, RZ, 0x4, P3
        IADD3 R0, R0, R6, R8
    ";
    // carries 2; 8 + 0xffffffff + 1 = 8; 0xf + carry 1
    run_to_r0(body, &[2 + 8 + 16; 3]);
}

#[test]
fn shuffles_see_their_group_only() {
    let body = "
        S2R R1, SR_LANEID
        SHFL.DOWN PT, R0, R1, 0x4, 0x1f
    ";
    run_to_r0(body, &(0..32).map(|i| if i < 28 { i + 4 } else { i }).collect::<Vec<u32>>());
}

#[test]
fn shared_atomics_and_barriers_of_many_ctas() {
    let text = "
        S2UR UR6, SR_CgaCtaId
        UMOV UR5, 0x410
        ULEA UR6, UR6, UR5, 0x18
        S2R R1, SR_TID.X
        ISETP.NE.AND P0, PT, R1, RZ, PT
        @!P0 STS [UR6], RZ
        BAR.SYNC.DEFER_BLOCKING 0x0
        MOV R5, UR6
        ATOMS.ADD RZ, [R5], R1
        ATOMS.POPC.INC.32 RZ, [R5+0x0]
        BAR.SYNC.DEFER_BLOCKING 0x0
        @P0 EXIT
        LDS R2, [UR6]
        LDC.64 R12, c[0x0][0x210]
        ULDC.64 UR4, c[0x0][0x208]
        REDG.E.ADD.STRONG.GPU desc[UR4][R12.64], R2
        EXIT
    ";
    run(text, &case(4, 100, vec![buffer("out", &[1], &[1 + 4 * (4950 + 100)])])).unwrap();
}

#[test]
fn barrier_reduction() {
    let body = "
        S2R R1, SR_TID.X
        ISETP.LT.AND P0, PT, R1, 0x3, PT
        BAR.RED.POPC.DEFER_BLOCKING 0x2, P0
        B2R.RESULT R2
        BAR.RED.OR.DEFER_BLOCKING 0x2, P0
        B2R.RESULT RZ, P1
        SEL R3, R1, RZ, P1
        IADD3 R0, R2, R3, RZ
    ";
    run_to_r0(body, &(0..70).map(|i| 3 + i).collect::<Vec<u32>>());
}

#[test]
fn a_barrier_for_too_many_is_a_deadlock() {
    let case = case(1, 64, vec![]);
    let error = run("BAR.SYNC.DEFER_BLOCKING 0x1, 0x60\nEXIT", &case).unwrap_err();
    let SimError::Deadlock(waiting) = &error else { panic!("{error}") };
    assert_eq!(waiting.len(), 2);
    assert!(error.to_string().contains("/*0000*/ BAR.SYNC.DEFER_BLOCKING 0x1, 0x60"), "{error}");
    assert!(error.to_string().contains("64 of 96 threads"), "{error}");
}

#[test]
fn a_missing_lane_at_bsync_is_a_deadlock() {
    // Lane 0 waits at a barrier other than the one at which the other lanes wait for it.
    let text = "
        S2R R1, SR_LANEID
        BSSY B0, `(.L_x_1)
        ISETP.EQ.AND P0, PT, R1, RZ, PT
        @P0 WARPSYNC.ALL
        BSYNC B0
    .L_x_1:
        EXIT
    ";
    let error = run(text, &case(1, 32, vec![])).unwrap_err();
    assert!(error.to_string().contains("convergence barrier B0"), "{error}");
}

#[test]
fn faults_name_thread_and_instruction() {
    let out = || vec![buffer("out", &[0; 8], &[0; 8])];
    let load = |address: &str, uldc: &str| {
        format!(
            "S2R R1, SR_TID.X\nLDC.64 R2, c[0x0][0x210]\n{uldc}\nIMAD.WIDE R2, R1, 0x4, R2
             LDG.E R0, {address}\nEXIT"
        )
    };
    let good = "ULDC.64 UR4, c[0x0][0x208]";
    assert!(run(&load("desc[UR4][R2.64]", good), &case(1, 8, out())).is_ok());
    let beyond = run(&load("desc[UR4][R2.64+0x8]", good), &case(1, 8, out())).unwrap_err();
    let SimError::Fault { thread, at, what } = &beyond else { panic!("{beyond}") };
    assert_eq!(thread.tid, [6, 0, 0]);
    assert!(at.starts_with("/*0040*/ LDG.E") && what.contains("out is"), "{beyond}");
    let descriptor = run(&load("desc[UR4][R2.64]", "NOP"), &case(1, 8, out())).unwrap_err();
    assert!(descriptor.to_string().contains("neither the descriptor"), "{descriptor}");
    let reserved = run("MOV R2, 0x10\nLDS R0, [R2]\nEXIT", &case(1, 1, vec![])).unwrap_err();
    assert!(reserved.to_string().contains("the system reserves"), "{reserved}");
    let end = run("NOP", &case(1, 1, vec![])).unwrap_err();
    assert!(end.to_string().contains("past the end"), "{end}");
}

#[test]
fn barriers_that_the_kernel_does_not_count_are_illegal() {
    let launched = |text: &str, barriers: u32| {
        let case = case(1, 64, vec![]);
        let mut program = program(text, &case);
        program.resources.barriers = barriers;
        let untimed = run_sass(&case, &program, &Options::default()).map(|_| ());
        let timed = run_timed(&case, &program, &Options::default(), &TimingOptions::default()).map(|_| ());
        let text = |outcome: Result<(), SimError>| outcome.err().map(|error| error.to_string());
        let (untimed, timed) = (text(untimed), text(timed));
        assert_eq!(untimed.is_some(), timed.is_some(), "{untimed:?}, {timed:?}");
        if let (Some(untimed), Some(timed)) = (&untimed, &timed) {
            let what = |text: &str| text.split_once("illegal").map(|(_, what)| what.to_string());
            assert_eq!(what(untimed), what(timed));
        }
        untimed
    };
    let sync = "BAR.SYNC.DEFER_BLOCKING 0xe\nEXIT\n";
    let named = "MOV R0, 0xe\nBAR.SYNC.DEFER_BLOCKING R0\nEXIT\n";
    let packed = "MOV R0, 0x40000e\nBAR.ARV R0, R0\nEXIT\n";
    let skipped = "ISETP.NE.AND P0, PT, RZ, RZ, PT\n@P0 BAR.SYNC.DEFER_BLOCKING 0xe\nEXIT\n";
    for text in [sync, named, packed] {
        assert_eq!(launched(text, 15), None, "{text}");
        let error = launched(text, 4).unwrap_or_default();
        assert!(error.contains("illegal instruction: barrier 14 of a kernel with 4 barriers"), "{error}");
    }
    let error = launched(sync, 1).unwrap_or_default();
    assert!(
        error.contains("barrier 14 of a kernel with 1 barrier") && !error.contains("1 barriers"),
        "{error}"
    );
    assert_eq!(launched(skipped, 0), None);
}

#[test]
fn sums_that_the_hardware_rejects_are_illegal() {
    let case = case(1, 32, vec![]);
    let sum = |text: &str, turn: fn(Operand<PReg>) -> Operand<PReg>| {
        let mut program = program(text, &case);
        let inst = &mut program.insts[0].inst;
        let index = inst.slot_index(slot_name!("b")).unwrap();
        inst.operands[index] = turn(inst.operands[index]);
        let untimed = run_sass(&case, &program, &Options::default()).unwrap_err().to_string();
        let timed = run_timed(&case, &program, &Options::default(), &TimingOptions::default()).unwrap_err();
        for error in [untimed, timed.to_string()] {
            assert!(
                error.contains("illegal instruction: ") && error.contains("write one of them as c"),
                "{error}"
            );
        }
    };
    sum("IADD3 R0, -R1, R2, R3\nEXIT\n", Operand::neg);
    sum("IADD3 R0, -R1, RZ, -R3\nEXIT\n", Operand::neg);
    sum("UIADD3 UR4, -UR5, UR6, UR7\nEXIT\n", Operand::neg);
    sum("IADD3.X R0, ~R1, R2, ~R3, P0, !PT\nEXIT\n", Operand::not);
}

#[test]
fn mbarrier_words_are_those_of_ptxas() {
    // -1 * 1 + 5 with a carry in: 0xffffffff + 5 + 1 = 0x1_0000_0005, the high word.
    let high = "
        MOV R2, 0xffffffff
        MOV R4, 0x5
        MOV R5, RZ
        ISETP.EQ.AND P0, PT, RZ, RZ, PT
        IMAD.HI.U32.X R0, R2, 0x1, R4, P0
    ";
    run_to_r0(high, &[1; 2]);
    // The same on uniform registers: the low word is 5.
    let wide = "
        UMOV UR6, 0xffffffff
        UMOV UR8, 0x5
        UMOV UR9, 0x7
        UISETP.EQ.AND UP0, UPT, URZ, URZ, UPT
        UIMAD.WIDE.U32.X UR6, UR6, 0x1, UR8, UP0
        IADD3 R0, R0, UR6, -R0
        IADD3 R0, R0, UR7, RZ
    ";
    run_to_r0(&format!("MOV R0, RZ\n{wide}"), &[5 + 8; 2]);
    // The table is indexed by the signs of a (bits 7 to 4 if it is set), b and c: here of a without
    // the others.
    let signs = "
        MOV R2, -0x1
        MOV R3, 0x1
        PLOP3.LUT P0, P1, R2.SIGN, R3.SIGN, R3.SIGN, 0x10, 0xef
        SEL R0, RZ, 0x1, !P0
        @P1 IADD3 R0, R0, 0x2, RZ
    ";
    run_to_r0(signs, &[1; 2]);
    // A half of the return address saves a word of each lane.
    let saved = "
        S2R R1, SR_TID.X
        RPCMOV.32 Rpc.HI, R1
        MOV R1, RZ
        RPCMOV.32 R0, Rpc.HI
    ";
    run_to_r0(saved, &(0..40).collect::<Vec<u32>>());
}

#[test]
fn conversions_of_what_is_known() {
    // 8 << 32 as a float: the immediate is the upper word, as for a double.
    run_to_r0("I2F.S64 R0, 0x8", &[(8.0f32 * 4_294_967_296.0).to_bits(); 2]);
    run_to_r0("F2F.F32.F64 R0, -52.75", &[(-52.75f32).to_bits(); 2]);
    run_to_r0("F2I.F64.TRUNC R0, -52.75", &[-52i32 as u32; 2]);
    run_to_r0("I2F.F64.U32 R2, 0x3ffff\nMOV R0, R3", &[(262_143f64.to_bits() >> 32) as u32; 2]);
    run_to_r0("F2I.F16 R0, 12", &[12; 2]);
}

#[test]
fn the_least_and_the_greatest_of_three_halves() {
    // 1, -2 and 3 in the upper half, 5, 4 and 6 in the lower half.
    let body = |halves: &str, which: &str| {
        format!(
            "MOV R1, 0x3c004500\nMOV R2, 0xc0004400\nMOV R3, 0x42004600\nVHMNMX R0, R1, R2{halves}, R3, {which}"
        )
    };
    run_to_r0(&body("", "PT"), &[0xc000_4400; 2]);
    run_to_r0(&body("", "!PT"), &[0x4200_4600; 2]);
    // The high half of b in both halves.
    run_to_r0(&body(".H1_H1", "PT"), &[0xc000_c000; 2]);
}
