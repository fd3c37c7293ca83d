//! Small functions, and the warnings about them.

use ptxc_ir::text::parse_function;

use super::warnings;

/// The codes and labels of the warnings about a function with these blocks.
fn found(bounds: &str, blocks: &str) -> Vec<String> {
    let text = format!("func @k entry {{\n{bounds}    param \"n\" 4 +0\n{blocks}}}\n");
    let func = parse_function(&text).unwrap_or_else(|error| panic!("{text}\n{error:?}"));
    warnings(&func).iter().map(|warning| format!("{} {}", warning.code, warning.primary.message)).collect()
}

/// A branch on a condition with an aligned barrier on one way, and the join of the ways.
fn conditional(condition: &str) -> Vec<String> {
    let blocks = format!(
        "block0:\n    v9 = const.b32 0x0\n{condition}    brif v0, block1, block2\n\
         block1:\n    bar.sync v9\n    jump block2\nblock2:\n    store.shared.b32 [v9], v9\n    exit\n"
    );
    found("", &blocks)
}

#[test]
fn threads_of_one_warp_part_at_their_numbers() {
    let apart =
        |a, b| vec![format!("E0301 thread {a} reaches this barrier, thread {b} of its warp does not")];
    let compare = |cond: &str, number: u32| {
        format!("    v1 = sreg.b32 tid.x\n    v2 = const.b32 {number:#x}\n    v0 = icmp.{cond}.b32 v1, v2\n")
    };
    assert_eq!(conditional(&compare("eq", 5)), apart(5, 0));
    assert_eq!(conditional(&compare("ult", 48)), apart(32, 48));
    // The condition selects whole warps.
    assert_eq!(conditional(&compare("ult", 64)), [""; 0]);
    let lane = "    v1 = sreg.b32 laneid\n    v2 = const.b32 0x1\n    v3 = and.b32 v1, v2\n    v0 = icmp.ne.b32 v3, v9\n";
    assert_eq!(conditional(lane), apart(1, 0));
    // The condition depends on data.
    let data = "    v1 = sreg.b32 tid.x\n    v2 = param.b32 +0\n    v0 = icmp.eq.b32 v1, v2\n";
    assert_eq!(conditional(data), [""; 0]);
}

#[test]
fn threads_that_exit_are_not_waited_for() {
    let blocks = "block0:
    v9 = const.b32 0x0
    v1 = sreg.b32 laneid
    v0 = icmp.eq.b32 v1, v9
    brif v0, block1, block2
block1:
    store.shared.b32 [v9], v9
    exit
block2:
    bar.sync v9
    exit
";
    assert_eq!(found("", blocks), [""; 0]);
}

/// One barrier on each way of a branch.
fn ways(condition: &str, one: &str, other: &str) -> Vec<String> {
    let blocks = format!(
        "block0:\n    v9 = const.b32 0x3\n    v8 = const.b32 0x40\n    v7 = const.pred 1\n{condition}    brif v0, block1, block2\n\
         block1:\n    {one}\n    jump block3\nblock2:\n    {other}\n    jump block3\nblock3:\n    exit\n"
    );
    found("", &blocks)
}

#[test]
fn a_reduction_meets_something_else_on_another_way() {
    let warps = "    v1 = sreg.b32 tid.x\n    v2 = const.b32 0x40\n    v0 = icmp.ult.b32 v1, v2\n";
    let uniform = "    v1 = param.b32 +0\n    v0 = icmp.ult.b32 v1, v8\n";
    let (reduction, sync) = ("v10 = barrier.red.or v9, v8, v7", "barrier.sync v9, v8");
    assert_eq!(ways(warps, reduction, sync), ["E0302 some threads get here"]);
    assert_eq!(ways(warps, "barrier.arrive v9, v8", reduction), ["E0302 some threads get here"]);
    assert_eq!(ways(uniform, reduction, sync), [""; 0]);
    assert_eq!(ways(warps, reduction, "barrier.sync v8"), ["E0303 "], "another barrier, if there were one");
    assert_eq!(ways(warps, "barrier.arrive v9, v8", sync), [""; 0]);
}

#[test]
fn a_reduction_follows_an_arrival() {
    let body = |between: &str| {
        format!(
            "block0:\n    v9 = const.b32 0x3\n    v8 = const.b32 0x40\n    v7 = const.pred 1\n    bar.arrive v9, v8\n{between}    v1 = bar.red.popc v9, v8, v7\n    exit\n"
        )
    };
    let label = "E0302 the thread gets here without having waited at the barrier";
    assert_eq!(found("", &body("")), [label]);
    assert_eq!(found("", &body("    bar.sync v8\n"))[1..], [label.to_string()]);
    assert_eq!(found("", &body("    bar.sync v9, v8\n")), [""; 0], "which waits for the arrivals");
}

#[test]
fn one_after_the_other_is_no_mixture() {
    let blocks = "block0:
    v9 = const.b32 0x0
    v7 = const.pred 1
    jump block1
block1:
    bar.sync v9
    v1 = bar.red.or v9, v7
    brif v1, block1, block2
block2:
    bar.sync v9
    exit
";
    assert_eq!(found("", blocks), [""; 0]);
}

#[test]
fn uses_after_the_join_do_not_mix() {
    let after = |last: &str| {
        format!(
            "block0:
    v9 = const.b32 0x0
    v7 = const.pred 1
    v1 = sreg.b32 tid.x
    v2 = const.b32 0x40
    v3 = icmp.ult.b32 v1, v2
    brif v3, block1, block2
block1:
    store.shared.b32 [v9], v1
    jump block2
block2:
    v4 = param.b32 +0
    v5 = icmp.ult.b32 v4, {last}
    brif v5, block3, block4
block3:
    bar.sync v9
    jump block4
block4:
    v6 = bar.red.or v9, v7
    exit
"
        )
    };
    assert_eq!(found("", &after("v2")), [""; 0]);
    assert_eq!(found("", &after("v1")), ["E0302 some threads get here"], "they part again");
}

#[test]
fn numbers_that_no_barrier_has() {
    let count = |numbers: &str| {
        found("", &format!("block0:\n    v0 = const.b32 0x10\n    v1 = const.b32 0x21\n    v2 = const.b32 0x1000\n    v3 = const.b32 0x0\n    {numbers}\n    exit\n")).len()
    };
    for (wrong, numbers) in [
        (1, "bar.sync v0"),
        (1, "bar.sync v3, v1"),
        (1, "bar.sync v3, v2"),
        (1, "barrier.arrive v3, v3"),
        (0, "bar.sync v3, v3"),
    ] {
        assert_eq!(count(numbers), wrong, "{numbers}");
    }
}
