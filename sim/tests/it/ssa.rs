//! The SSA engine on small functions in the IR's text form.

use ptxc_ir::text::{parse, parse_function};
use ptxc_sim::{Case, Options, Report, SimError, run_ssa};

use crate::assemble::{buffer, case};

/// Runs a kernel with one buffer parameter, followed by the functions that it calls, under several
/// seeds.
fn run(text: &str, case: &Case) -> Result<Report, SimError> {
    let mut callees = parse(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let func = callees.remove(0);
    for seed in 1..4 {
        let report = run_ssa(case, &func, &callees, &Options { seed, ..Options::default() })?;
        assert!(report.passed(), "seed {seed}: {report}");
    }
    run_ssa(case, &func, &callees, &Options::default())
}

#[test]
fn a_loop_that_each_lane_leaves_at_another_time() {
    // out[i] = 0 + 1 + … + i
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 tid.x
    v2 = const.b32 0x0
    jump block1(v2, v2)
block1(v3: b32, v4: b32):
    v5 = iadd.b32 v3, v4
    v6 = const.b32 0x1
    v7 = iadd.b32 v4, v6
    v8 = icmp.ule.b32 v7, v1
    brif v8, block1(v5, v7), block2
block2:
    v9 = zext.b64 v1
    v10 = const.b32 0x2
    v11 = shl.b64 v9, v10
    v12 = iadd.b64 v0, v11
    store.global.b32 [v12], v5
    exit
}
"#;
    let expect: Vec<u32> = (0..40).map(|i| i * (i + 1) / 2).collect();
    let report = run(text, &case(1, 40, vec![buffer("out", &[0; 40], &expect)])).unwrap();
    assert!(report.passed());
    assert!(report.to_string().contains("out: 40 elements, all as expected"), "{report}");
}

#[test]
fn block_parameters_move_at_once() {
    // Swaps two values three times.
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = param.b64 +0
    v1 = const.b32 0x5
    v2 = const.b32 0x7
    v3 = const.b32 0x0
    jump block1(v1, v2, v3)
block1(v4: b32, v5: b32, v6: b32):
    v7 = const.b32 0x1
    v8 = iadd.b32 v6, v7
    v9 = const.b32 0x4
    v10 = icmp.ult.b32 v8, v9
    brif v10, block1(v5, v4, v8), block2
block2:
    store.global.b32.v2 [v0], v4, v5
    exit
}
"#;
    run(text, &case(1, 1, vec![buffer("out", &[0; 2], &[7, 5])])).unwrap();
}

#[test]
fn votes_wait_for_their_mask() {
    // Each half of the warp votes in an arm of its own, then all vote together.
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 laneid
    v2 = const.b32 0x10
    v3 = icmp.ult.b32 v1, v2
    v4 = const.b32 0x1
    v5 = and.b32 v1, v4
    v6 = icmp.eq.b32 v5, v4
    brif v3, block1, block2
block1:
    v7 = const.b32 0xffff
    v8 = vote.ballot v6, v7
    jump block3(v8)
block2:
    v9 = const.b32 0xffff0000
    v10 = not.pred v6
    v11 = vote.ballot v10, v9
    v12 = const.b32 0x3
    v13 = iadd.b32 v11, v12
    jump block3(v13)
block3(v14: b32):
    v15 = const.b32 0xffffffff
    v16 = vote.ballot v3, v15
    v17 = xor.b32 v14, v16
    v18 = zext.b64 v1
    v19 = const.b32 0x2
    v20 = shl.b64 v18, v19
    v21 = iadd.b64 v0, v20
    store.global.b32 [v21], v17
    exit
}
"#;
    let expect: Vec<u32> =
        (0..32).map(|lane| if lane < 16 { 0xaaaa ^ 0xffff } else { 0x5555_0003 ^ 0xffff }).collect();
    run(text, &case(1, 32, vec![buffer("out", &[0; 32], &expect)])).unwrap();
}

/// The operands of an operation are one value, while those at the other place are two: each lane
/// uses its own.
#[test]
fn lanes_meet_with_their_own_operands() {
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 laneid
    v2 = const.b32 0xffffffff
    v3 = const.b32 0x3
    v4 = icmp.ult.b32 v1, v3
    v5 = const.b32 0x5
    brif v4, block1, block2
block1:
    v6 = redux.add v2, v2
    jump block3(v6)
block2:
    v7 = redux.add v5, v2
    jump block3(v7)
block3(v8: b32):
    v9 = zext.b64 v1
    v10 = const.b32 0x2
    v11 = shl.b64 v9, v10
    v12 = iadd.b64 v0, v11
    store.global.b32 [v12], v8
    exit
}
"#;
    let sum = 29 * 5 - 3;
    run(text, &case(1, 32, vec![buffer("out", &[0; 32], &[sum; 32])])).unwrap();
}

/// The shuffle of the reversed lane; a barrier between a shared store and a load from another warp.
#[test]
fn shuffles_and_shared_memory_across_a_barrier() {
    let text = r#"
func @k entry {
    param "out" 8 +0
    symbol @buf shared size 256 align 4 +0
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 tid.x
    v2 = const.b32 0x1f
    v3 = const.b32 0xffffffff
    v4, v5 = shfl.bfly v1, v2, v2, v3
    v6 = symbol.b32 @buf
    v7 = const.b32 0x2
    v8 = shl.b32 v1, v7
    v9 = iadd.b32 v6, v8
    store.shared.b32 [v9], v4
    v10 = const.b32 0x0
    bar.sync v10
    v11 = const.b32 0x3f
    v12 = isub.b32 v11, v1
    v13 = shl.b32 v12, v7
    v14 = iadd.b32 v6, v13
    v15 = load.shared.b32 [v14]
    v16 = zext.b64 v8
    v17 = iadd.b64 v0, v16
    store.global.b32 [v17], v15
    exit
}
"#;
    let expect: Vec<u32> = (0..64).map(|thread| (63 - thread) ^ 31).collect();
    run(text, &case(1, 64, vec![buffer("out", &[0; 64], &expect)])).unwrap();
}

#[test]
fn atomics_of_all_threads_add_up_whatever_the_order() {
    let text = r#"
func @k entry {
    param "out" 8 +0
    symbol @sum shared size 4 align 4 +0
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 tid.x
    v2 = symbol.b32 @sum
    v3 = const.b32 0x0
    v4 = icmp.eq.b32 v1, v3
    brif v4, block1, block2
block1:
    store.shared.b32 [v2], v3
    jump block2
block2:
    bar.sync v3
    red.add.shared.b32 [v2], v1
    bar.sync v3
    brif v4, block3, block4
block3:
    v5 = load.shared.b32 [v2]
    v6 = atomic.add.global.b32 [v0], v5
    jump block4
block4:
    exit
}
"#;
    run(text, &case(3, 100, vec![buffer("out", &[1], &[1 + 3 * 4950])])).unwrap();
}

/// The units of global memory flush subnormals, those of shared memory do not; a generic address
/// may refer to either.
#[test]
fn sums_of_subnormals_depend_on_where_they_are_made() {
    let text = r#"
func @k entry {
    param "out" 8 +0
    symbol @sum shared size 4 align 4 +0
block0:
    v0 = param.b64 +0
    v1 = const.b32 0x3
    v2 = bitcast.f32 v1
    v3 = symbol.b32 @sum
    store.shared.b32 [v3], v1
    v8 = zext.b64 v3
    v4 = to_generic.shared v8
    v5 = atomic.fadd.generic.b32.f32 [v4], v2
    v6 = atomic.fadd.generic.b32.f32 [v0], v2
    v7 = load.shared.b32 [v3]
    store.global.b32 [v0 + 4], v7
    exit
}
"#;
    run(text, &case(1, 1, vec![buffer("out", &[5, 0], &[0, 6])])).unwrap();
}

/// There are more CTAs than fit at once: the others start later, and all of them start.
#[test]
fn ctas_without_a_place_wait_for_one() {
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = param.b64 +0
    v1 = const.b32 0x1
    v2 = sreg.b32 ctaid.x
    red.add.global.b32 [v0], v1
    red.umax.global.b32 [v0 + 4], v2
    exit
}
"#;
    run(text, &case(20_000, 1, vec![buffer("out", &[0, 0], &[20_000, 19_999])])).unwrap();
}

#[test]
fn a_barrier_that_some_never_reach_is_a_deadlock() {
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = sreg.b32 tid.x
    v1 = const.b32 0x20
    v2 = icmp.ult.b32 v0, v1
    v3 = const.b32 0x3
    brif v2, block1, block2
block1:
    v4 = const.b32 0x40
    bar.sync v3, v4
    jump block2
block2:
    exit
}
"#;
    let error = run(text, &case(1, 64, vec![buffer("out", &[0], &[0])])).unwrap_err();
    let SimError::Deadlock(waiting) = &error else { panic!("{error}") };
    assert_eq!((waiting.len(), waiting[0].warp, waiting[0].lanes), (1, 0, u32::MAX));
    assert!(error.to_string().contains("CTA barrier 3: 32 of 64 threads have arrived"), "{error}");
}

#[test]
fn a_spinning_lane_does_not_starve_the_one_it_waits_for() {
    // Lane 0 spins on a flag that lane 1, ahead of it in the program, sets.
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 tid.x
    v2 = const.b32 0x0
    v3 = icmp.eq.b32 v1, v2
    brif v3, block1, block2
block1:
    v4 = load.global.volatile.b32 [v0]
    v5 = icmp.eq.b32 v4, v2
    brif v5, block1, block3
block2:
    v6 = const.b32 0x9
    store.global.volatile.b32 [v0], v6
    jump block3
block3:
    exit
}
"#;
    run(text, &case(1, 2, vec![buffer("out", &[0], &[9])])).unwrap();
}

#[test]
fn faults_and_endless_loops_are_errors() {
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 tid.x
    v2 = zext.b64 v1
    v3 = const.b32 0x2
    v4 = shl.b64 v2, v3
    v5 = iadd.b64 v0, v4
    store.global.b32 [v5], v1
    exit
}
"#;
    let error = run(text, &case(1, 34, vec![buffer("out", &[0; 33], &[0; 33])])).unwrap_err();
    let SimError::Fault { thread, at, what } = &error else { panic!("{error}") };
    assert_eq!(thread.tid, [33, 0, 0]);
    assert!(at.contains("store.global.b32") && what.contains("out is 0x"), "{error}");

    let endless = "func @k entry {\nblock0:\n    jump block1\nblock1:\n    jump block1\n}\n";
    let func = parse_function(endless).unwrap();
    let options = Options { step_limit: 1000, ..Options::default() };
    let error = run_ssa(&case(1, 1, vec![]), &func, &[], &options).unwrap_err();
    assert!(matches!(error, SimError::StepLimit { limit: 1000, .. }), "{error}");
}

#[test]
fn wrong_elements_are_named() {
    let func = parse_function("func @k entry {\n    param \"out\" 8 +0\nblock0:\n    exit\n}\n").unwrap();
    let case = case(1, 1, vec![buffer("out", &[1, 2, 3], &[1, 5, 3])]);
    let report = run_ssa(&case, &func, &[], &Options::default()).unwrap();
    assert!(!report.passed());
    assert!(report.to_string().contains("[1] is 2 (0x00000002), expected 5 (0x00000005)"), "{report}");
    let none = run_ssa(&Case { args: vec![], ..case }, &func, &[], &Options::default()).unwrap_err();
    assert!(matches!(none, SimError::Case(_)), "{none}");
}

#[test]
fn barrier_reductions_give_each_thread_the_result() {
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 tid.x
    v2 = const.b32 0x3
    v3 = icmp.ult.b32 v1, v2
    v4 = const.b32 0x0
    v5 = bar.red.popc v4, v3
    v6 = bar.red.and v4, v3
    v7 = bar.red.or v4, v3
    v8 = const.b32 0x64
    v9 = const.b32 0xc8
    v10 = select.b32 v6, v8, v4
    v11 = select.b32 v7, v9, v4
    v12 = iadd.b32 v5, v10
    v13 = iadd.b32 v12, v11
    red.add.global.b32 [v0], v13
    exit
}
"#;
    run(text, &case(1, 70, vec![buffer("out", &[0], &[70 * 203])])).unwrap();
}

#[test]
fn each_lane_returns_to_its_own_call() {
    // Odd lanes square i + 1 and even ones i; two results, the second one the number squared.
    let text = r#"
func @k entry {
    callee @square routine (b32) -> (b32, b32)
    param "out" 8 +0
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 tid.x
    v2 = const.b32 0x1
    v3 = and.b32 v1, v2
    v5 = icmp.eq.b32 v3, v2
    brif v5, block1, block2
block1:
    v6 = iadd.b32 v1, v2
    v7, v8 = call.pure @square, v6
    jump block3(v7, v8)
block2:
    v9, v10 = call.pure @square, v1
    jump block3(v9, v10)
block3(v11: b32, v12: b32):
    v13 = imul.b32 v12, v12
    v14 = icmp.eq.b32 v11, v13
    v15 = select.b32 v14, v11, v1
    v16 = const.b32 0x4
    v17 = umad_wide.b32 v1, v16, v0
    store.global.b32 [v17], v15
    exit
}
func @square device -> (b32, b32) {
block0(v0: b32):
    v1 = imul.b32 v0, v0
    ret v1, v0
}
"#;
    let expect: Vec<u32> = (0..40).map(|i: u32| (i + i % 2).pow(2)).collect();
    run(text, &case(1, 40, vec![buffer("out", &[0; 40], &expect)])).unwrap();
}

#[test]
fn recursion_keeps_values_and_frames() {
    // The i-th triangular number; each call keeps its argument in a register and in its frame.
    let text = r#"
func @k entry {
    callee @sum device (b32) -> (b32)
    param "out" 8 +0
    symbol @own local size 4 align 4
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 tid.x
    v2 = symbol.b32 @own
    store.local.b32 [v2], v1
    v3 = call @sum, v1
    v4 = load.local.b32 [v2]
    v5 = const.b32 0x4
    v6 = umad_wide.b32 v4, v5, v0
    store.global.b32 [v6], v3
    exit
}
func @sum device -> (b32) {
    callee @sum device (b32) -> (b32)
    symbol @kept local size 4 align 4
block0(v0: b32):
    v1 = const.b32 0x0
    v2 = icmp.eq.b32 v0, v1
    v3 = symbol.b32 @kept
    store.local.b32 [v3], v0
    brif v2, block1, block2
block1:
    ret v1
block2:
    v4 = const.b32 0x1
    v5 = isub.b32 v0, v4
    v6 = call @sum, v5
    v7 = load.local.b32 [v3]
    v8 = iadd.b32 v7, v0
    v9 = isub.b32 v8, v7
    v10 = iadd.b32 v6, v9
    ret v10
}
"#;
    let expect: Vec<u32> = (0..40).map(|i| i * (i + 1) / 2).collect();
    run(text, &case(1, 40, vec![buffer("out", &[0; 40], &expect)])).unwrap();
    let endless = text.replace("v5 = isub.b32 v0, v4", "v5 = iadd.b32 v0, v4");
    let error = run(&endless, &case(1, 40, vec![buffer("out", &[0; 40], &expect)])).unwrap_err();
    assert!(error.to_string().contains("has no more stack"), "{error}");
}

#[test]
fn lanes_that_miss_a_partner_are_reported() {
    // Lane 0 votes with a mask of two lanes, lane 1 waits at a barrier for it.
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = sreg.b32 tid.x
    v1 = const.b32 0x0
    v2 = icmp.eq.b32 v0, v1
    v3 = const.b32 0x3
    brif v2, block1, block2
block1:
    v4 = vote.ballot v2, v3
    jump block3
block2:
    barrier.sync v3
    jump block3
block3:
    exit
}
"#;
    let error = run(text, &case(1, 2, vec![buffer("out", &[0], &[0])])).unwrap_err().to_string();
    assert!(error.starts_with("deadlock"), "{error}");
    assert!(error.contains("lanes 0x00000002 of mask 0x00000003"), "{error}");
    assert!(
        error.contains("CTA barrier 3: 1 threads have arrived, missing: lanes 0x00000001 of warp 0"),
        "{error}"
    );
}

#[test]
fn parts_of_a_warp_arrive_one_after_another() {
    let text = r#"
func @k entry {
    param "out" 8 +0
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 tid.x
    v2 = zext.b64 v1
    v3 = const.b32 0x2
    v4 = shl.b64 v2, v3
    v5 = iadd.b64 v0, v4
    v6 = const.b32 0x5
    v7 = icmp.ult.b32 v1, v6
    v8 = const.b32 0x1
    brif v7, block1, block2
block1:
    v9 = barrier.red.popc v8, v7
    jump block3(v9)
block2:
    v10 = not.pred v7
    v11 = barrier.red.popc v8, v10
    jump block3(v11)
block3(v12: b32):
    store.global.b32 [v5], v12
    exit
}
"#;
    run(text, &case(1, 40, vec![buffer("out", &[0; 40], &[40; 40])])).unwrap();
}

#[test]
fn shared_memory_that_nobody_wrote_is_found_on_request() {
    let text = r#"
func @k entry {
    param "out" 8 +0
    symbol @s shared size 8 align 4 +0
block0:
    v0 = param.b64 +0
    v1 = symbol.b32 @s
    v2 = const.b32 0x7
    store.shared.b32 [v1], v2
    v3 = load.shared.b32 [v1]
    v4 = load.shared.b32 [v1 + 4]
    store.global.b32 [v0], v4
    store.global.b32 [v0], v3
    exit
}
"#;
    let case = case(1, 1, vec![buffer("out", &[0], &[7])]);
    run(text, &case).unwrap();
    let func = parse_function(text).unwrap();
    let options = Options { check_uninitialised: true, ..Options::default() };
    let error = run_ssa(&case, &func, &[], &options).unwrap_err().to_string();
    assert!(error.starts_with("thread (0, 0, 0) of CTA (0, 0, 0) at `store.global.b32 [v0], v4`"), "{error}");
    assert!(
        error.contains("uses the result of a read of 4 bytes at Shared 0x4: byte 0x4 of shared memory has not been written"),
        "{error}"
    );
}
