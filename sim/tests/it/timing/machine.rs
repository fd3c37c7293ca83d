//! The events that a warp waits for, one at a time.

use ptxc_sass::Program;
use ptxc_sim::timing::observe::{Issue, Stall};
use ptxc_sim::timing::{Cause, Latencies, Observer, TimingOptions, run_observed};
use ptxc_sim::{Case, Options, SimError};

use super::{check, control, run, run_with};
use crate::assemble::{buffer, case, program};

/// The issues, with their warps and cycles.
#[derive(Default)]
struct Log {
    issues: Vec<(u64, u32, u32)>,
    stalls: Vec<Stall>,
}

impl Observer for Log {
    fn issue(&mut self, issue: &Issue) {
        self.issues.push((issue.cycle, issue.warp.warp, issue.pc));
    }

    fn stall(&mut self, stall: &Stall) {
        self.stalls.push(*stall);
    }
}

fn observe(case: &Case, program: &Program) -> Log {
    let mut log = Log::default();
    let (_, timing) = run_observed(case, program, &Options::default(), &TimingOptions::default(), &mut log)
        .unwrap_or_else(|error| panic!("{error}"));
    check(&timing);
    // The events cover the same cycles as the totals.
    for warp in &timing.warps {
        let mine =
            log.stalls.iter().filter(|stall| (stall.warp.cta, stall.warp.warp) == (warp.cta, warp.warp));
        assert_eq!(mine.map(|stall| stall.to - stall.from).sum::<u64>(), warp.stalls.total());
    }
    log
}

/// A load of each lane's own word, a use of it, and the end; the use waits for scoreboard 0.
const LOAD: &str = "
    S2R R10, SR_TID.X
    ULDC.64 UR4, c[0x0][0x208]
    LDC.64 R12, c[0x0][0x210]
    IMAD.WIDE.U32 R12, R10, 0x4, R12
    LDG.E R0, desc[UR4][R12.64]
    IADD3 R1, R0, R0, RZ
    EXIT
";

fn load(case: &Case) -> Program {
    let mut program = program(LOAD, case);
    control(&mut program, 0, |control| control.write_barrier = Some(1));
    control(&mut program, 2, |control| (control.write_barrier, control.stall) = (Some(1), 2));
    control(&mut program, 3, |control| (control.wait_mask, control.stall) = (0b10, 5));
    control(&mut program, 4, |control| (control.write_barrier, control.stall) = (Some(0), 2));
    control(&mut program, 5, |control| control.wait_mask = 1);
    control(&mut program, 6, |control| control.stall = 5);
    program
}

#[test]
fn a_result_is_waited_for_as_long_as_memory_takes() {
    let case = case(1, 32, vec![buffer("p", &[7; 32], &[7; 32])]);
    let program = load(&case);
    let [best, typical, worst] = [Latencies::Best, Latencies::Typical, Latencies::Worst]
        .map(|latencies| run_with(&case, &program, &TimingOptions { latencies }));
    assert!(best.cycles < typical.cycles && typical.cycles < worst.cycles);
    let waited = typical.insts[5].stalls[Cause::Scoreboard];
    assert!((570..=600).contains(&waited), "{typical}");
    assert_eq!(typical.memory.sectors, 4);
    for seed in 0..20 {
        let random = run_with(&case, &program, &TimingOptions { latencies: Latencies::Random(seed) });
        assert!((best.cycles..=worst.cycles).contains(&random.cycles), "{random}");
    }
}

#[test]
fn a_second_warp_hides_latency_and_hits_the_cache() {
    let words = |n: usize| vec![buffer("p", &vec![7; n], &vec![7; n])];
    let one = case(1, 32, words(32));
    let many = case(1, 512, words(512));
    let (alone, together) = (run(&one, &load(&one)), run(&many, &load(&many)));
    assert!(together.cycles < 2 * alone.cycles, "{together}");
    assert!(together.stalls[Cause::NotSelected] > 0);
    // All warps of many CTAs read the same words.
    let again = case(8, 32, words(32));
    let timing = run(&again, &load(&again));
    assert_eq!(timing.memory.l2_misses, 4, "{timing}");
}

#[test]
fn the_last_warp_goes_on_and_else_the_youngest_begins() {
    // Four warps of one sub-core: 0, 4, 8, 12.
    let case = case(1, 32 * 13, Vec::new());
    let body = "FADD R0, R1, R3\n".repeat(8);
    let mut greedy = program(&format!("{body}EXIT\n"), &case);
    let mine = |log: &Log| {
        let mut list: Vec<_> = log.issues.iter().copied().filter(|(_, warp, _)| warp % 4 == 0).collect();
        list.sort_unstable();
        list.into_iter().map(|(_, warp, _)| warp).collect::<Vec<u32>>()
    };
    let order = mine(&observe(&case, &greedy));
    let expected: Vec<u32> = [12, 8, 4, 0].iter().flat_map(|&warp| [warp; 9]).collect();
    assert_eq!(order, expected);
    // The second instruction stalls for four cycles: the other warps get their turn.
    control(&mut greedy, 1, |control| control.stall = 4);
    let order = mine(&observe(&case, &greedy));
    assert_eq!(order[..8], [12, 12, 8, 8, 12, 12, 12, 12], "{order:?}");
}

#[test]
fn warps_wait_at_barriers_and_ctas_for_room() {
    let case = case(70, 1024, Vec::new());
    let mut barrier = program("BAR.SYNC.DEFER_BLOCKING 0x0\nEXIT\n", &case);
    control(&mut barrier, 0, |control| control.stall = 6);
    control(&mut barrier, 1, |control| control.stall = 5);
    let timing = run(&case, &barrier);
    assert_eq!((timing.residency.ctas, timing.residency.warps), (2, 64), "{timing}");
    assert_eq!(timing.warps.len(), 70 * 32);
    assert!(timing.stalls[Cause::Barrier] > 0);
    let at_once = |cycle| timing.warps.iter().filter(|warp| (warp.start..warp.end).contains(&cycle)).count();
    assert!((0..timing.cycles).all(|cycle| at_once(cycle) <= 64));
}

#[test]
fn lanes_that_go_apart_are_waited_for() {
    let case = case(1, 32, Vec::new());
    let text = "
        S2R R1, SR_LANEID
        BSSY B0, `(.L_x_1)
        ISETP.GE.AND P0, PT, R1, 0x10, PT
        @P0 BRA `(.L_x_0)
        IADD3 R2, R1, 0x1, RZ
        IADD3 R2, R2, 0x1, RZ
    .L_x_0:
        BSYNC B0
    .L_x_1:
        EXIT
    ";
    let mut program = program(text, &case);
    control(&mut program, 0, |control| (control.write_barrier, control.stall) = (Some(0), 2));
    control(&mut program, 2, |control| (control.wait_mask, control.stall) = (1, 13));
    let timing = run(&case, &program);
    assert_eq!((timing.insts[3].lanes, timing.insts[3].threads), (32, 16), "all are there, half of them go");
    assert_eq!((timing.insts[4].lanes, timing.insts[4].threads), (16, 16));
    assert_eq!(timing.insts[6].issued, 2, "BSYNC, once for each part");
    assert_eq!(timing.insts[7].issued, 1, "together again");
    // Eight instructions, three of which execute for half of the warp; both parts reach BSYNC.
    assert_eq!((timing.issued, timing.lanes), (9, 5 * 32 + 4 * 16));
    assert!((timing.lanes_per_issue() - 224.0 / 9.0).abs() < 1e-9);
}

#[test]
fn nobody_starves_where_lanes_of_one_warp_wait_for_each_other() {
    // Lane 0 waits in a loop until another lane has stored, which works only if the paths take
    // turns.
    let case = case(1, 32, vec![buffer("p", &[0], &[1])]);
    let text = "
        S2R R1, SR_LANEID
        ULDC.64 UR4, c[0x0][0x208]
        LDC.64 R2, c[0x0][0x210]
        ISETP.NE.AND P0, PT, R1, RZ, PT
        @P0 BRA `(.L_x_1)
    .L_x_0:
        LDG.E.STRONG.GPU R4, desc[UR4][R2.64]
        ISETP.EQ.AND P1, PT, R4, RZ, PT
        @P1 BRA `(.L_x_0)
        EXIT
    .L_x_1:
        MOV R5, 0x1
        STG.E.STRONG.GPU desc[UR4][R2.64], R5
        EXIT
    ";
    run(&case, &program(text, &case));
}

#[test]
fn bank_conflicts_and_narrow_ports_take_time() {
    let case = case(1, 32, Vec::new());
    let of = |shift: u32| {
        let text = format!(
            "S2R R1, SR_TID.X
             SHF.L.U32 R2, R1, {shift:#x}, RZ
             {}EXIT\n",
            "STS [R2+0x400], R1\n".repeat(40)
        );
        let mut program = program(&text, &case);
        control(&mut program, 0, |control| (control.write_barrier, control.stall) = (Some(0), 2));
        control(&mut program, 1, |control| (control.wait_mask, control.stall) = (1, 5));
        run(&case, &program)
    };
    let (free, conflicts) = (of(2), of(7));
    assert_eq!((free.memory.bank_conflicts, conflicts.memory.bank_conflicts), (0, 40 * 31));
    assert!(conflicts.cycles > free.cycles + 30 * 31, "{free}\n{conflicts}");
    assert!(conflicts.stalls[Cause::Queue] > free.stalls[Cause::Queue]);
}

#[test]
fn code_that_jumps_far_waits_for_instructions() {
    let case = case(1, 32, Vec::new());
    let far = "NOP\n".repeat(2000);
    let text = format!("BRA `(.L_x_0)\n{far}.L_x_0:\nEXIT\n");
    let timing = run(&case, &program(&text, &case));
    assert!(timing.insts.last().unwrap().stalls[Cause::Fetch] > 100, "{timing}");
    let near = "BRA `(.L_x_0)\nNOP\n.L_x_0:\nEXIT\n";
    assert_eq!(run(&case, &program(near, &case)).stalls[Cause::Fetch], 0);
}

#[test]
fn a_deadlock_and_an_endless_loop_end_with_a_report() {
    let case = case(1, 64, Vec::new());
    let endless = program(".L_x_0:\nBRA `(.L_x_0)\nEXIT\n", &case);
    let options = Options { step_limit: 1000, ..Options::default() };
    let outcome = ptxc_sim::timing::run_timed(&case, &endless, &options, &TimingOptions::default());
    assert!(matches!(outcome, Err(SimError::StepLimit { .. })));
    let stuck = program("BAR.SYNC 0x0, 0x60\nEXIT\n", &case);
    let outcome = ptxc_sim::timing::run_timed(&case, &stuck, &options, &TimingOptions::default());
    assert!(matches!(outcome, Err(SimError::Deadlock(_))), "{outcome:?}");
}
