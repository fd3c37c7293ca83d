//! The results for operations that wait for lanes, in forms that the lit tests don't show.

use ptxc_ir::text::parse_function;
use ptxc_ir::verify::{Level, verify};
use ptxc_machine::Arch;

use super::gather;

/// A function whose arms have these operations, gathered and verified.
fn arms(left: &str, right: &str, arch: Arch) -> String {
    let text = format!(
        "func @f entry {{\n    param \"n\" 4 +0\nblock0:\n    v0 = sreg.b32 tid.x\n    v1 = const.b32 0x5\n    \
         v2 = icmp.slt.b32 v0, v1\n    v3 = const.b32 0xffffffff\n    v4 = param.b32 +0\n    v5 = const.b32 0xff\n    \
         v6 = const.b32 0x1\n    v7 = const.b32 0x1f\n    bssy b0, block4\n    brif v2, block1, block2\n\
         block1:\n{left}    jump block3\nblock2:\n{right}    jump block3\n\
         block3:\n    bsync b0\n    jump block4\nblock4:\n    exit\n}}\n"
    );
    let mut func = parse_function(&text).expect("the text is a function");
    gather(&mut func, arch);
    let errors = verify(&func, Level::Converged).err();
    assert!(errors.is_none(), "{errors:?}\n{func}");
    func.to_string()
}

/// A function with a block that lanes reach by two ways without having met, with these operations,
/// gathered and verified.
fn apart(operations: &str, arch: Arch) -> String {
    let text = format!(
        "func @f entry {{\n    param \"n\" 4 +0\nblock0:\n    v0 = sreg.b32 tid.x\n    v1 = const.b32 0x5\n    \
         v2 = icmp.slt.b32 v0, v1\n    v3 = const.b32 0xffffffff\n    v4 = param.b32 +0\n    v5 = const.b32 0xff\n    \
         v6 = const.b32 0x1\n    v7 = const.b32 0x1f\n    v8 = icmp.slt.b32 v0, v7\n    brif v2, block1, block2\n\
         block1:\n{operations}    jump block3\nblock2:\n    brif v8, block1, block3\n\
         block3:\n    exit\n}}\n"
    );
    let mut func = parse_function(&text).expect("the text is a function");
    gather(&mut func, arch);
    let errors = verify(&func, Level::Converged).err();
    assert!(errors.is_none(), "{errors:?}\n{func}");
    func.to_string()
}

fn meets(text: &str) -> usize {
    text.matches("call @warp.").count()
}

#[test]
fn two_arms_pair_where_kind_and_mask_may_agree() {
    let up =
        |mask: &str, result: u32| format!("    v{result}, v{} = shfl.up v0, v6, v7, {mask}\n", result + 1);
    let down = "    v12, v13 = shfl.down v0, v6, v7, v3\n";
    let count = |left: &str, right: &str| meets(&arms(left, right, Arch::Sm90));
    assert_eq!(count(&up("v3", 10), &up("v3", 12)), 2);
    assert_eq!(count(&up("v3", 10), &up("v5", 12)), 0, "masks differ");
    assert_eq!(count(&up("v3", 10), &up("v4", 12)), 2, "one is not known");
    assert_eq!(count(&up("v3", 10), down), 0, "another kind");
    assert_eq!(count(&(up("v3", 10) + &up("v3", 14)), ""), 0, "one after the other");
}

#[test]
fn one_warpsync_serves_a_block() {
    let two = "    v10 = vote.all v2, v5\n    v11 = vote.any v2, v5\n    v12 = vote.uni v2, v3\n";
    let text = apart(two, Arch::Sm90);
    assert_eq!(text.matches("warpsync").count(), 2, "{text}");
    let older = apart(two, Arch::Sm80);
    assert_eq!((older.matches("brtogether").count(), meets(&older)), (3, 3), "{older}");
}

#[test]
fn masks_that_are_not_known_are_not_tested() {
    let text = apart("    v10, v11 = shfl.idx v0, v6, v7, v4\n", Arch::Sm80);
    assert_eq!((text.matches("brtogether").count(), meets(&text)), (0, 1), "{text}");
}

#[test]
fn barriers_have_their_numbers_in_the_routine_until_one_is_unknown() {
    let known = arms("    barrier.sync v6\n", "    barrier.sync v7\n", Arch::Sm80);
    assert!(known.contains("@warp.barrier.sync.1") && known.contains("@warp.barrier.sync.31"), "{known}");
    let open = arms("    barrier.sync v6\n", "    barrier.sync v4\n", Arch::Sm80);
    assert!(open.contains("call @warp.barrier.sync.name, v6"), "{open}");
    let aligned = arms("    barrier.sync.aligned v6\n", "", Arch::Sm80);
    assert!(aligned.contains("warpsync") && meets(&aligned) == 0, "{aligned}");
}

#[test]
fn the_warp_is_one_at_the_barrier_of_the_cluster() {
    let [arrive, wait] = ["    cluster_arrive.relaxed\n", "    cluster_wait.relaxed\n"];
    let pair = arms(arrive, arrive, Arch::Sm90);
    assert_eq!(
        (pair.matches("brtogether").count(), pair.matches("call @warp.cluster.arrive").count()),
        (2, 2),
        "{pair}"
    );
    let one = arms(wait, "", Arch::Sm90);
    assert_eq!((one.matches("warpsync").count(), meets(&one)), (1, 0), "{one}");
    let other = arms(arrive, wait, Arch::Sm90);
    assert_eq!(
        (other.matches("warpsync").count(), meets(&other)),
        (2, 0),
        "no lane waits where others arrive: {other}"
    );
    let aligned =
        arms("    cluster_wait.relaxed.aligned\n", "    cluster_wait.relaxed.aligned\n", Arch::Sm90);
    assert_eq!((aligned.matches("warpsync").count(), meets(&aligned)), (2, 0), "{aligned}");
}

#[test]
fn masks_that_are_one_value_for_all_are_not_tested_either() {
    // A parameter is one mask for the warp, but `brtogether` needs it in a uniform register, which
    // a loop or an arm may be unable to set.
    for arch in [Arch::Sm75, Arch::Sm80, Arch::Sm90] {
        let text = arms(
            "    v10, v11 = shfl.idx v0, v6, v7, v4\n",
            "    v12, v13 = shfl.idx v0, v6, v7, v4\n",
            arch,
        );
        assert_eq!((text.matches("brtogether").count(), meets(&text)), (0, 2), "{text}");
        let alone = apart("    v10, v11 = shfl.idx v0, v6, v7, v4\n", arch);
        let collective = arch == Arch::Sm90;
        assert_eq!(alone.matches("warpsync v4").count(), usize::from(collective), "{alone}");
        assert_eq!(meets(&alone), usize::from(!collective), "{alone}");
    }
}
