//! Waits, races and unwritten memory: the machine around the instructions.

use ptxc_sass::text::{ReadOptions, parse_programs};
use ptxc_sim::{Case, Options, Report, SimError, run_sass};

use crate::assemble::{buffer, case, program};

/// The start of a kernel that uses shared memory: UR6 is its first address, R1 the thread, R2 the
/// lane, P0 whether the thread is in warp 0.
const START: &str = "
    UMOV UR6, 0x400
    S2R R1, SR_TID.X
    S2R R2, SR_LANEID
    ISETP.LT.U32.AND P0, PT, R1, 0x20, PT
";

/// Stores R0 to word `tid` of the buffer in the first parameter.
const STORE: &str = "
    LDC.64 R12, c[0x0][0x210]
    ULDC.64 UR4, c[0x0][0x208]
    IMAD.WIDE.U32 R12, R1, 0x4, R12
    STG.E desc[UR4][R12.64], R0
    EXIT
";

fn run(text: &str, case: &Case, options: &Options) -> Result<Report, SimError> {
    run_sass(case, &program(text, case), options)
}

/// Checks under several seeds that a program leaves the expected results in R0 of each of
/// `expect.len()` threads.
fn run_to_r0(body: &str, expect: &[u32]) {
    let case = case(1, expect.len() as u32, vec![buffer("out", &vec![0; expect.len()], expect)]);
    for seed in 0..8 {
        let options = Options { seed, check_uninitialised: true, ..Options::default() };
        let report = run(&format!("{START}{body}{STORE}"), &case, &options);
        let report = report.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(report.passed(), "seed {seed}: {report}");
    }
}

/// The report of a program that never ends.
fn stuck(body: &str, threads: u32) -> String {
    let options = Options { step_limit: 10_000, ..Options::default() };
    let error = run(&format!("{START}{body}"), &case(1, threads, vec![]), &options).unwrap_err();
    assert!(matches!(error, SimError::Deadlock(_) | SimError::StepLimit { .. }), "{error}");
    error.to_string()
}

#[test]
fn each_wait_is_reported_with_who_is_missing() {
    // Lane 0 waits for the whole warp, the others for lane 0 at B2.
    let text = stuck(
        "
        ISETP.EQ.AND P1, PT, R2, RZ, PT
        BSSY B2, `(.L_x_1)
        @P1 WARPSYNC.ALL
        BSYNC B2
    .L_x_1:
        EXIT
        ",
        32,
    );
    assert!(text.contains("lanes 0x00000001 at convergence barrier B2"), "{text}");
    assert!(text.contains("lanes 0xfffffffe of mask 0xffffffff"), "{text}");

    // Each warp waits at a barrier of its own.
    let text = stuck(
        "
        @P0 BAR.SYNC.DEFER_BLOCKING 0x1
        @!P0 BAR.SYNC.DEFER_BLOCKING 0x2
        EXIT
        ",
        96,
    );
    assert!(text.contains("CTA barrier 1: 32 threads have arrived, missing: lanes 0xffffffff of warp 1, "));
    assert!(text.contains("CTA barrier 2: 64 threads have arrived, missing: lanes 0xffffffff of warp 0"));

    // Barrier 3 for two warps, where only one arrives.
    let text = stuck("@P0 BAR.SYNC.DEFER_BLOCKING 0x3, 0x40\nEXIT", 64);
    assert!(text.contains("CTA barrier 3: 32 of 64 threads have arrived"), "{text}");
    assert!(!text.contains("warp 1"), "who has exited waits on nothing: {text}");
}

#[test]
fn a_loop_without_end_is_reported_with_those_who_wait_for_it() {
    let text = stuck(
        "
        @!P0 BAR.SYNC.DEFER_BLOCKING 0x0
        @!P0 EXIT
    .L_x_0:
        YIELD
        BRA `(.L_x_0)
        ",
        64,
    );
    assert!(text.starts_with("no end after 10000 warp instructions"), "{text}");
    assert!(
        text.contains("warp 0 lanes 0xffffffff at `/*0060*/ YIELD`: nothing: it runs")
            || text.contains("BRA")
    );
    assert!(text.contains("missing: lanes 0xffffffff of warp 0"), "{text}");
}

#[test]
fn a_producer_that_does_not_wait_and_a_consumer_that_does() {
    // Warp 0 writes and arrives; warp 1 waits for the 64 threads, and reads.
    let body = "
        MOV R0, 0x7
        IMAD R5, R2, 0x4, RZ
        IADD3 R5, R5, UR6, RZ
        @P0 STS [R5], R2
        @P0 BAR.ARV 0x4, 0x40
        @!P0 BAR.SYNC.DEFER_BLOCKING 0x4, 0x40
        @!P0 LDS R0, [R5]
    ";
    let expect: Vec<u32> = (0..32).map(|_| 7).chain(0..32).collect();
    run_to_r0(body, &expect);
}

#[test]
fn parts_of_a_warp_arrive_one_after_another() {
    // The halves of each warp are at two different instructions; the reduction covers all of them.
    let body = "
        ISETP.GE.AND P1, PT, R2, 0x10, PT
        BSSY B0, `(.L_x_2)
        @P1 BRA `(.L_x_1)
        BAR.RED.POPC.DEFER_BLOCKING 0x0, P0
        BSYNC B0
    .L_x_1:
        BAR.RED.POPC.DEFER_BLOCKING 0x0, !P0
        BSYNC B0
    .L_x_2:
        B2R.RESULT R0
    ";
    run_to_r0(body, &[32; 64]);
}

#[test]
fn lanes_that_wait_for_each_other_let_each_other_go_on() {
    // Lane 1 waits for the result that lane 0 writes later in the program.
    for pause in ["YIELD", "NANOSLEEP 0x10", "NOP"] {
        let body = format!(
            "
            STS [UR6], RZ
            ISETP.EQ.AND P1, PT, R2, 0x1, PT
            BSSY B0, `(.L_x_2)
            @!P1 BRA `(.L_x_1)
        .L_x_0:
            {pause}
            LDS R0, [UR6]
            ISETP.EQ.AND P2, PT, R0, RZ, PT
            @P2 BRA `(.L_x_0)
            BSYNC B0
        .L_x_1:
            MOV R0, 0x5
            STS [UR6], R0
            BSYNC B0
        .L_x_2:
            "
        );
        run_to_r0(&body, &[5; 2]);
    }
}

#[test]
fn a_race_shows_under_some_seed() {
    // Warp 1 reads the result that warp 0 writes, without a barrier between.
    let body = "
        MOV R0, RZ
        MOV R3, 0x1
        @!P0 STS [UR6], RZ
        NOP
        @P0 STS [UR6], R3
        NOP
        @!P0 LDS R0, [UR6]
    ";
    let case = case(1, 64, vec![buffer("out", &[0; 64], &[0; 64])]);
    let text = format!("{START}{body}{STORE}");
    let mut seen = [false; 2];
    for seed in 0..64 {
        let options = Options { seed, ..Options::default() };
        let [first, second] = [(); 2].map(|()| run(&text, &case, &options).unwrap());
        assert_eq!(first, second, "equal seeds give equal runs");
        seen[usize::from(first.passed())] = true;
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn bytes_that_nobody_wrote_are_found_on_request() {
    let store = "@P0 STS.U8 [UR6+0x1], R1\n";
    for (access, what) in [
        (
            "LDS R0, [UR6]",
            "uses the result of a read of 4 bytes at Shared 0x0: byte 0x0 of shared memory has not been written",
        ),
        ("LDS.U16 R0, [UR6]", "byte 0x0 of shared memory has not been written"),
        ("LDS.U8 R0, [UR6+0x2]", "read of 1 bytes at Shared 0x2"),
        ("ATOMS.ADD R0, [R3+0x400], R1", "atomic update of 4 bytes at Shared 0x0"),
        ("LDL R0, [R3+0x8]", "byte 0x8 of local memory has not been written"),
    ] {
        let text =
            format!("{START}MOV R3, RZ\n{store}{access}\nISETP.LT.U32.AND P1, PT, R0, 0x280, PT\nEXIT");
        let case = case(1, 3, vec![]);
        run(&text, &case, &Options::default()).unwrap();
        let options = Options { check_uninitialised: true, ..Options::default() };
        let error = run(&text, &case, &options).unwrap_err().to_string();
        // An atomic update uses what it reads; a load does not.
        let at = if access.starts_with("ATOMS") { "/*0060*/ ATOMS" } else { "/*0070*/ ISETP" };
        assert!(error.starts_with(&format!("thread (0, 0, 0) of CTA (0, 0, 0) at `{at}")), "{error}");
        assert!(error.contains(what), "{error}");
    }
    // All threads see a thread's writes to shared memory; local memory belongs to the thread.
    run_to_r0("STS.U8 [UR6+0x1], R1\nSTS.U8 [UR6], RZ\nLDS.U16 R0, [UR6]\nMOV R0, RZ", &[0; 3]);
    run_to_r0("MOV R3, RZ\nSTL.64 [R3+0x8], R2\nLDL R0, [R3+0x8]", &[0, 1, 2]);
}

/// The sum of 1 to tid by recursion: the return address and the number are kept in local memory.
/// `back` is the address that the function returns to.
fn recursion(back: &str) -> String {
    format!(
        "
        .target sm_90
        .text.k:
            [B------:R-:W-:-:S05] /*0000*/ S2R R1, SR_TID.X ;
            [B------:R-:W-:-:S05] /*0010*/ MOV R2, 0x100 ;
            [B------:R-:W-:-:S05] /*0020*/ MOV R4, R1 ;
            [B------:R-:W-:-:S05] /*0030*/ MOV R20, 0x60 ;
            [B------:R-:W-:-:S05] /*0040*/ MOV R21, RZ ;
            [B------:R-:W-:-:S05] /*0050*/ CALL.REL.NOINC `($k$sum) ;
            [B------:R-:W-:-:S05] /*0060*/ MOV R0, R4 ;
            [B------:R-:W-:-:S05] /*0070*/ LDC.64 R12, c[0x0][0x210] ;
            [B------:R-:W-:-:S05] /*0080*/ ULDC.64 UR4, c[0x0][0x208] ;
            [B------:R-:W-:-:S05] /*0090*/ IMAD.WIDE.U32 R12, R1, 0x4, R12 ;
            [B------:R-:W-:-:S05] /*00a0*/ STG.E desc[UR4][R12.64], R0 ;
            [B------:R-:W-:-:S05] /*00b0*/ EXIT ;
        $k$sum:
            [B------:R-:W-:-:S05] /*00c0*/ ISETP.EQ.AND P0, PT, R4, RZ, PT ;
            [B------:R-:W-:-:S05] /*00d0*/ @P0 RET.REL.NODEC R20 `(k) ;
            [B------:R-:W-:-:S05] /*00e0*/ IADD3 R2, R2, -0x10, RZ ;
            [B------:R-:W-:-:S05] /*00f0*/ STL.64 [R2], R20 ;
            [B------:R-:W-:-:S05] /*0100*/ STL [R2+0x8], R4 ;
            [B------:R-:W-:-:S05] /*0110*/ IADD3 R4, R4, -0x1, RZ ;
            [B------:R-:W-:-:S05] /*0120*/ MOV R20, {back} ;
            [B------:R-:W-:-:S05] /*0130*/ MOV R21, RZ ;
            [B------:R-:W-:-:S05] /*0140*/ CALL.REL.NOINC `($k$sum) ;
            [B------:R-:W-:-:S05] /*0150*/ LDL R5, [R2+0x8] ;
            [B------:R-:W-:-:S05] /*0160*/ LDL.64 R20, [R2] ;
            [B------:R-:W-:-:S05] /*0170*/ IADD3 R2, R2, 0x10, RZ ;
            [B------:R-:W-:-:S05] /*0180*/ IADD3 R4, R4, R5, RZ ;
            [B------:R-:W-:-:S05] /*0190*/ RET.REL.NODEC R20 `(k) ;
        "
    )
}

fn run_recursion(back: &str) -> Result<Report, SimError> {
    run_summing(&recursion(back))
}

fn run_summing(text: &str) -> Result<Report, SimError> {
    let expect: Vec<u32> = (0..10).map(|n| n * (n + 1) / 2).collect();
    let case = case(1, 10, vec![buffer("out", &[0; 10], &expect)]);
    let mut kernels =
        parse_programs(text, &ReadOptions::default()).unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut program = kernels.remove(0).program;
    // The properties that the text leaves open: parameters and memory.
    let frame = crate::assemble::program("EXIT", &case);
    (program.params, program.resources) = (frame.params, frame.resources);
    run_sass(&case, &program, &Options { check_uninitialised: true, ..Options::default() })
}

#[test]
fn lanes_call_themselves_and_come_back() {
    let report = run_recursion("0x150").unwrap_or_else(|error| panic!("{error}"));
    assert!(report.passed(), "{report}");
}

#[test]
fn a_return_asks_a_second_predicate() {
    let text = recursion("0x150").replace("@P0 RET.REL.NODEC R20", "RET.REL.NODEC P0, R20");
    let report = run_summing(&text).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.passed(), "{report}");
}

#[test]
fn a_return_to_no_instruction_is_a_fault() {
    for (back, what) in
        [("0x158", "goes to 0x158, where there is no instruction"), ("0x4000", "past the end")]
    {
        let error = run_recursion(back).unwrap_err();
        assert!(matches!(&error, SimError::Fault { .. }) && error.to_string().contains(what), "{error}");
    }
}
