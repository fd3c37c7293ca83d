//! Brackets divergent regions with BSSY and BSYNC, so that lanes reconverge after they diverge.
//!
//! In: a legal function. Out: a function in which lanes reconverge where that pays and is safe:
//! lanes that diverge at a branch, that leave a loop in different iterations, or that return from a
//! call one by one. Lanes that leave a region another way break its barrier; lanes that exit need
//! not.
//!
//! ```text
//! block0: …                               block0: …
//!     brif v1, block1, block2                 bssy b0, block2
//! block1: …                                   brif v1, block1, block3
//!     brif v2, block9, block2      =>     block1: …
//! block2: …                                   brif v2, block4, block3
//!                                         block4:
//!                                             break b0
//!                                             jump block9
//!                                         block3:
//!                                             bsync b0
//!                                             jump block2
//!                                         block2: …
//! ```
//!
//! Other passes never rely on this pass for where lanes are together: [`together`](crate::together)
//! proves that from the resulting code, and code without a proof waits for lanes explicitly
//! ([`gather`](crate::gather)). So a region that is left out only costs time.
//!
//! 1. [`returns`]: a device function gets one return; calls from which lanes may return one by one
//!    end their blocks.
//! 2. [`shape`]: loops get a preheader and one latch if regions need them.
//! 3. [`region`]: finds the regions. Each has a join where lanes meet and an anchor that dominates
//!    the join; [`progress`] decides which of them are safe.
//! 4. [`emit`]: inserts barriers, and the blocks with `bsync` and `break`. A called function saves
//!    those barriers of its callers that it opens.
//!
//! Joins that are not post-dominators, and lanes that stop waiting to meet at them, come from
//! Collange, *Stack-less SIMT reconvergence at low cost* (2011), and from Damani et al.,
//! *Speculative reconvergence for improved SIMT efficiency* (CGO 2020). There is no speculation
//! here, because every join lies on a way of the lanes that have diverged. Cost: the sum of the
//! sizes of the regions. A block is in a bounded number of regions, and a budget limits the search.

mod balance;
mod barrier_registers;
mod emit;
mod progress;
mod region;
mod returns;
mod shape;

use ptxc_ir::{BlockCall, CalleeKind, Function, Inst, Op};

use crate::analyses::Analyses;
use crate::lanes::is_parting_call;
use crate::uniformity::{Uniformity, is_exit};
use emit::Barriers;
use progress::Progress;
use region::Flow;

/// The results of the pass.
#[derive(Debug, Default)]
pub struct Converged {
    /// Whether there are divergent regions.
    pub(crate) has_regions: bool,
    /// The uniformity of the function as [`Uniformity::compute_converged`] finds it, if it is known
    /// because no branch diverges.
    pub uniformity: Option<Uniformity>,
}

/// Brackets the divergent regions of a function; returns whether there are any.
pub fn converge(func: &mut Function) -> bool {
    converge_in(func, &mut Analyses::default()).has_regions
}

/// Does the same with cached analyses of the function's graph, which stay valid.
pub fn converge_in(func: &mut Function, known: &mut Analyses) -> Converged {
    if !may_part(func) {
        return Converged::default();
    }
    if returns::cut(func) {
        known.forget();
    }
    let progress = Progress::of(func);
    let flow = Flow::analyse(func, known);
    if !known.cfg(func).rpo().iter().any(|&block| flow.parts(block)) {
        let is_even = flow.uniformity.has_no_divergent_branch();
        return Converged { has_regions: false, uniformity: is_even.then_some(flow.uniformity) };
    }
    let missing = shape::missing(&flow);
    let regions = if missing.is_empty() {
        region::regions(&flow, &progress)
    } else {
        drop(flow);
        shape::add(func, missing);
        known.forget();
        region::regions(&Flow::analyse(func, known), &progress)
    };
    let barriers = Barriers::assign(func, regions);
    if barriers.is_empty() {
        return Converged::default();
    }
    barriers.emit(func);
    known.forget();
    Converged { has_regions: true, uniformity: None }
}

/// Whether a function has an operation, other than a call, at which a lane may wait for others.
pub fn has_waits(func: &Function) -> bool {
    let is_call = |inst: Inst| matches!(func.insts[inst].op, Op::Call { .. } | Op::CallIndirect(_));
    let mut insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    insts.any(|&inst| !is_call(inst) && progress::may_wait(func, inst))
}

/// Whether an instruction calls a device function.
fn calls_device(func: &Function, inst: Inst) -> bool {
    match func.insts[inst].op {
        Op::Call { callee, .. } => func.callees[callee].kind != CalleeKind::Routine,
        Op::CallIndirect(_) => true,
        _ => false,
    }
}

/// Whether lanes may diverge in the function: a block has two successors, or calls a function from
/// which lanes may return one by one. Branches to blocks where threads only end do not count,
/// because no lane waits for ended threads.
fn may_part(func: &Function) -> bool {
    let goes_on = |edge: &&BlockCall| !is_exit(func, edge.block);
    func.layout.iter().any(|&block| {
        func.edges(block).iter().filter(goes_on).count() > 1
            || func.blocks[block].insts.iter().any(|&inst| is_parting_call(func, inst))
    })
}

#[cfg(test)]
mod tests {
    use ptxc_ir::text::parse_function;

    use super::*;

    fn converged(text: &str) -> String {
        let mut func = parse_function(text).expect("the text is a function");
        converge(&mut func);
        func.to_string()
    }

    #[test]
    fn the_arms_of_a_divergent_branch_meet_through_one_block() {
        let text = "func @f entry {\nblock0:\n    v0 = sreg.b32 tid.x\n    v1 = const.b32 0x5\n    \
            v2 = icmp.slt.b32 v0, v1\n    brif v2, block1, block2\nblock1:\n    fence.sc.cta\n    jump block2\n\
            block2:\n    fence.sc.cta\n    exit\n}\n";
        let out = converged(text);
        assert_eq!(out.matches("bssy").count(), 1, "{out}");
        assert_eq!(out.matches("bsync").count(), 1, "{out}");
    }

    #[test]
    fn loops_in_loops_by_the_thousand_are_left_as_they_are() {
        let depth = 2000;
        let mut text = String::from(
            "func @f entry {\nblock0:\n    v0 = sreg.b32 tid.x\n    v1 = const.b32 0x5\n    \
             v2 = icmp.slt.b32 v0, v1\n    jump block1\n",
        );
        for level in 1..=depth {
            text += &format!("block{level}:\n    fence.sc.cta\n    jump block{}\n", level + 1);
        }
        for level in 1..=depth {
            let (own, head) = (depth + level, depth - level + 1);
            text += &format!("block{own}:\n    brif v2, block{head}, block{}\n", own + 1);
        }
        text += &format!("block{}:\n    exit\n}}\n", 2 * depth + 1);
        let mut func = parse_function(&text).expect("the text is a function");
        converge(&mut func);
        ptxc_ir::verify::verify(&func, ptxc_ir::verify::Level::Converged).expect("the regions nest");
    }

    #[test]
    fn regions_deeper_than_the_barriers_take_those_around_them() {
        let depth = 20;
        let mut text = String::from(
            "func @f entry {\nblock0:\n    v0 = sreg.b32 tid.x\n    v1 = const.b32 0x5\n    \
             v2 = icmp.slt.b32 v0, v1\n    brif v2, block1, block40\n",
        );
        for level in 1..depth {
            text += &format!(
                "block{level}:\n    fence.sc.cta\n    brif v2, block{}, block{}\n",
                level + 1,
                40 - level
            );
        }
        text += &format!("block{depth}:\n    fence.sc.cta\n    jump block{}\n", depth + 1);
        for join in depth + 1..40 {
            text += &format!("block{join}:\n    fence.sc.gpu\n    jump block{}\n", join + 1);
        }
        let out = verified(&(text + "block40:\n    fence.sc.gpu\n    exit\n}\n"));
        assert_eq!(out.matches("bssy").count(), depth, "{out}");
        assert_eq!(out.matches("bsave").count(), depth - 16, "{out}");
        assert_eq!(out.matches("brestore").count(), depth - 16, "{out}");
    }

    #[test]
    fn regions_with_one_join_in_both_arms_of_a_uniform_branch() {
        let arm = |n: usize| {
            let (left, right) = (n + 1, n + 2);
            format!(
                "block{n}:\n    brif v2, block{left}, block{right}\nblock{left}:\n    fence.sc.cta\n    jump block7\n\
                 block{right}:\n    fence.sc.gpu\n    jump block7\n"
            )
        };
        let text = format!(
            "func @f entry {{\n    param \"n\" 4 +0\nblock0:\n    v0 = sreg.b32 tid.x\n    v1 = const.b32 0x5\n    \
            v2 = icmp.slt.b32 v0, v1\n    v3 = param.b32 +0\n    v4 = icmp.slt.b32 v3, v1\n    \
            brif v4, block1, block4\n{}{}block7:\n    fence.sc.cta\n    exit\n}}\n",
            arm(1),
            arm(4)
        );
        let mut func = parse_function(&text).expect("the text is a function");
        converge(&mut func);
        ptxc_ir::verify::verify(&func, ptxc_ir::verify::Level::Converged)
            .expect("every block is in the layout");
        assert_eq!(func.to_string().matches("bsync").count(), 1, "{func}");
    }

    #[test]
    fn a_uniform_branch_gets_no_region() {
        let text = "func @f entry {\n    param \"n\" 4 +0\nblock0:\n    v0 = param.b32 +0\n    v1 = const.b32 0x5\n    \
            v2 = icmp.slt.b32 v0, v1\n    brif v2, block1, block2\nblock1:\n    fence.sc.cta\n    jump block2\n\
            block2:\n    fence.sc.cta\n    exit\n}\n";
        assert_eq!(converged(text).matches("bssy").count(), 0);
    }

    /// Converges a function and verifies it; the text after it.
    fn verified(text: &str) -> String {
        let mut func = parse_function(text).expect("the text is a function");
        converge(&mut func);
        let errors = ptxc_ir::verify::verify(&func, ptxc_ir::verify::Level::Converged).err();
        assert!(errors.is_none(), "{errors:?}\n{func}");
        func.to_string()
    }

    #[test]
    fn regions_in_two_arms_may_have_one_join() {
        let text = "func @f entry {\n    param \"n\" 4 +0\nblock0:\n    v0 = param.b32 +0\n    \
            v1 = const.b32 0x5\n    v2 = icmp.slt.b32 v0, v1\n    v3 = sreg.b32 tid.x\n    \
            v4 = icmp.slt.b32 v3, v1\n    brif v2, block1, block3\nblock1:\n    brif v4, block2, block5\n\
            block2:\n    fence.sc.cta\n    jump block5\nblock3:\n    brif v4, block4, block5\n\
            block4:\n    fence.sc.gpu\n    jump block5\nblock5:\n    fence.sc.cta\n    exit\n}\n";
        assert_eq!(verified(text).matches("bsync").count(), 1);
    }

    #[test]
    fn a_loop_with_two_ways_in_is_left_before_threads_meet() {
        let text = "func @f entry {\nblock0:\n    v0 = sreg.b32 tid.x\n    v1 = const.b32 0x5\n    \
            v2 = icmp.slt.b32 v0, v1\n    brif v2, block1(v0), block2(v0)\nblock1(v3: b32):\n    \
            fence.sc.cta\n    jump block2(v3)\nblock2(v4: b32):\n    v5 = iadd.b32 v4, v1\n    \
            v6 = icmp.slt.b32 v5, v1\n    brif v6, block1(v5), block3\nblock3:\n    fence.sc.gpu\n    \
            exit\n}\n";
        let out = verified(text);
        assert!(out.contains("bssy b0, block3"), "{out}");
    }

    #[test]
    fn a_region_opens_before_a_loop_with_a_divergent_exit() {
        let text = "func @f entry {\nblock0:\n    v0 = sreg.b32 tid.x\n    jump block1(v0)\nblock1(v1: b32):\n    \
            v2 = const.b32 0xffffffff\n    v3 = iadd.b32 v1, v2\n    v4 = const.b32 0x0\n    v5 = icmp.ne.b32 v3, v4\n    \
            brif v5, block1(v3), block2\nblock2:\n    fence.sc.cta\n    exit\n}\n";
        let out = converged(text);
        let (open, header) = (out.find("bssy"), out.find("block1("));
        assert!(open.is_some() && open < header.map(|_| out.find("brif").unwrap_or(0)), "{out}");
        assert_eq!(out.matches("bsync").count(), 1, "{out}");
    }
}
