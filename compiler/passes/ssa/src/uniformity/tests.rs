//! Small functions with obvious divergence.

use ptxc_ir::text::parse_function;
use ptxc_ir::{Block, Level, Value, verify};

use super::Uniformity;

struct Found(Uniformity);

impl Found {
    fn uniform(&self, numbers: &[u32]) {
        for &number in numbers {
            assert!(self.0.is_uniform(Value::from_u32(number)), "v{number} is divergent");
        }
    }

    fn divergent(&self, numbers: &[u32]) {
        for &number in numbers {
            assert!(!self.0.is_uniform(Value::from_u32(number)), "v{number} is uniform");
        }
    }

    /// Checks that, of the blocks with numbers below `count`, exactly these are not convergent.
    fn apart(&self, count: u32, expected: &[u32]) {
        let found: Vec<u32> =
            (0..count).filter(|&number| !self.0.is_convergent_block(Block::from_u32(number))).collect();
        assert_eq!(found, expected);
    }
}

/// `v0` is the thread index, `v1` a parameter, `v2` an address, `v3` a divergent and `v4` a uniform
/// condition.
fn analyse(body: &str) -> Found {
    let text = format!(
        "func @f entry {{\n param \"p\" 8 +0\n symbol @s shared size 64 align 4 +0\nblock0:\n v0 = sreg.b32 tid.x\n \
         v1 = param.b32 +0\n v2 = param.b64 +0\n v3 = icmp.eq.b32 v0, v1\n v4 = icmp.eq.b32 v1, v1\n{body}\n}}\n"
    );
    let func = parse_function(&text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
    assert_eq!(verify(&func, Level::Converged), Ok(()), "in\n{text}");
    Found(Uniformity::compute(&func))
}

#[test]
fn arms_and_joins() {
    let found = analyse(
        " brif v3, block1, block2\nblock1:\n v5 = iadd.b32 v1, v1\n jump block3(v5, v1)\n\
         block2:\n jump block3(v1, v1)\nblock3(v6: b32, v7: b32):\n brif v4, block4, block5(v6)\n\
         block4:\n jump block5(v1)\nblock5(v8: b32):\n exit",
    );
    found.uniform(&[1, 4, 5]);
    found.divergent(&[0, 3, 6, 8]);
    found.apart(6, &[1, 2]);
}

#[test]
fn a_shuffle_that_reads_one_lane_of_the_warp_is_uniform() {
    let shuffles = |lane: &str, clamp: u32, arm: &str| {
        analyse(&format!(
            " v5 = const.b32 0\n v6 = const.b32 {clamp}\n brif {arm}, block1, block2\n\
             block1:\n v7, v8 = shfl.idx v0, {lane}, v6\n jump block2\nblock2:\n store.global.b32 [v2], v1\n exit"
        ))
    };
    shuffles("v5", 31, "v4").uniform(&[7, 8]);
    // Another lane for each thread, several segments, part of the warp.
    shuffles("v0", 31, "v4").divergent(&[7, 8]);
    shuffles("v1", 31, "v4").divergent(&[7, 8]);
    shuffles("v5", 0x181f, "v4").divergent(&[7, 8]);
    shuffles("v5", 31, "v3").divergent(&[7, 8]);
}

#[test]
fn a_uniform_branch_joins_evenly() {
    let found = analyse(
        " brif v4, block1, block2\nblock1:\n v5 = iadd.b32 v1, v1\n jump block3(v5)\n\
         block2:\n jump block3(v1)\nblock3(v6: b32):\n exit",
    );
    found.uniform(&[5, 6]);
    found.apart(4, &[]);
}

#[test]
fn values_that_leave_a_divergent_loop() {
    let found = analyse(
        " jump block1(v1)\nblock1(v5: b32):\n v6 = iadd.b32 v5, v1\n v7 = icmp.slt.b32 v6, v0\n\
         brif v7, block1(v6), block2(v6)\nblock2(v8: b32):\n v9 = iadd.b32 v6, v1\n exit",
    );
    // In the loop all threads have the same count; after it, their counts differ.
    found.uniform(&[5]);
    found.divergent(&[6, 7, 8, 9]);
    found.apart(3, &[1]);
}

#[test]
fn values_that_a_divergent_loop_never_changes() {
    let found = analyse(
        " jump block1(v1)\nblock1(v5: b32):\n v6 = const.b32 0x3\n v7 = iadd.b32 v6, v1\n v8 = iadd.b32 v5, v7\n\
         v9 = icmp.slt.b32 v8, v0\n brif v9, block1(v8), block2\nblock2:\n v10 = iadd.b32 v6, v7\n v11 = iadd.b32 v8, v6\n exit",
    );
    found.uniform(&[5, 6, 7, 10]);
    found.divergent(&[8, 9, 11]);
}

#[test]
fn a_uniform_loop_in_a_divergent_arm_stays_uniform() {
    let found = analyse(
        " brif v3, block1, block3\nblock1:\n jump block2(v1)\n\
         block2(v5: b32):\n v6 = iadd.b32 v5, v1\n v7 = icmp.slt.b32 v6, v1\n brif v7, block2(v6), block3\n\
         block3:\n store.global.b32 [v2], v1\n exit",
    );
    found.uniform(&[5, 6, 7]);
    assert!(!found.0.is_divergent_branch(Block::from_u32(2)));
    found.apart(3, &[1, 2]);
}

#[test]
fn early_exits_have_no_influence() {
    let found = analyse(
        " brif v3, block2, block1\nblock1:\n v5 = activemask\n v6 = vote.ballot v3, v5\n\
         store.global.b32 [v2], v6\n exit\nblock2:\n exit",
    );
    assert!(found.0.is_divergent_branch(Block::from_u32(0)));
    found.uniform(&[5, 6]);
    found.apart(3, &[]);
}

#[test]
fn loads_and_votes_agree_where_the_warp_is_whole() {
    let found = analyse(
        " v5 = load.global.b32 [v2]\n v6 = load.global.volatile.b32 [v2]\n v7 = load.generic.b32 [v2]\n\
         v8 = zext.b64 v0\n v9 = load.global.nc.b32 [v8]\n v10 = vote.any v3, v1\n\
         v11 = const.b32 0x0\n v12 = load.local.b32 [v11]\n brif v3, block1, block2\n\
         block1:\n v13 = load.global.b32 [v2]\n v14 = load.global.nc.b32 [v2]\n v15 = vote.any v4, v1\n\
         jump block2\nblock2:\n v16 = vote.any v3, v1\n exit",
    );
    found.uniform(&[5, 10, 14, 16]);
    found.divergent(&[6, 7, 9, 12, 13, 15]);
}

#[test]
fn barriers_decide_where_threads_meet() {
    let body = " bssy b0, block3\n brif v3, block1, block2\nblock1:\n jump block2\n\
                block2:\n bsync b0\n jump block3\nblock3:\n v5 = activemask\n store.global.b32 [v2], v5\n exit";
    let found = analyse(body);
    found.apart(4, &[1, 2]);
    found.uniform(&[5]);
    // Without barriers the threads need not meet at all; the analysis says so only if other code
    // has barriers.
    let other = " bssy b0, block4\n brif v3, block1, block2\nblock1:\n jump block2\n\
                 block2:\n bsync b0\n jump block4\nblock4:\n brif v3, block5, block6\nblock5:\n jump block6\n\
                 block6:\n v5 = activemask\n store.global.b32 [v2], v5\n exit";
    let found = analyse(other);
    found.divergent(&[5]);
    assert!(found.0.is_convergent_block(Block::from_u32(4)));
    assert!(!found.0.is_convergent_block(Block::from_u32(6)));
}

#[test]
fn the_warp_is_together_after_an_aligned_barrier() {
    let analyse = |form: &str| {
        let text = format!(
            "func @f entry {{\nblock0:\n v0 = sreg.b32 tid.x\n v1 = const.b32 0x0\n \
             v2 = icmp.eq.b32 v0, v1\n brif v2, block1, block2\nblock1:\n jump block2\n\
             block2:\n barrier.sync{form} v1\n jump block3\nblock3:\n exit\n}}\n"
        );
        let func = parse_function(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
        Found(Uniformity::compute_converged(&func))
    };
    analyse(".aligned").apart(4, &[1, 2]);
    analyse("").apart(4, &[1, 2, 3]);
}

#[test]
fn a_cycle_with_two_entries() {
    let found = analyse(
        " brif v4, block1(v1), block2(v1)\nblock1(v5: b32):\n brif v4, block2(v5), block3\n\
         block2(v6: b32):\n v7 = iadd.b32 v6, v1\n brif v3, block1(v7), block3\nblock3:\n\
         store.global.b32 [v2], v1\n exit",
    );
    found.divergent(&[5, 6, 7]);
}
