//! Brackets divergent regions with BSSY and BSYNC, so that threads that part meet again.
//!
//! In goes a legal function, out comes one in which every divergent branch whose arms meet again lies in a
//! *region*: `bssy` where all threads are together, `bsync` on every path to the *join*.
//!
//! ```text
//! block0: …                               block0: …
//!     brif v1, block1, block2                 bssy b0, block2
//! block1: …                                   brif v1, block1, block3
//!     jump block2                  =>     block1: …
//! block2: …                                   jump block3
//!                                         block3:
//!                                             bsync b0
//!                                             jump block2
//!                                         block2: …
//! ```
//!
//! The join is the branch's immediate post-dominator, not counting edges by which threads only end. The
//! `bssy` stands in front of the branch, unless that is in a cycle which the join is not in: a barrier must
//! not be opened again while earlier leavers wait at it, so the region then begins in front of the cycle,
//! and its join is pushed out until it post-dominates the beginning. Nor may control enter a region behind
//! its `bssy`: if it does, the region begins further up, at a block that dominates it, or ends further
//! down. All edges from the region to the join lead through one new block with the `bsync`, so that `bsync`
//! goes on exactly at the block which `bssy` names.
//!
//! Regions nest, since each is closed under paths to a join that post-dominates it. Of regions with one
//! join only the outermost is kept. Barriers are numbered by nesting depth, from the first one that the
//! [ABI](crate::abi) leaves to the function; regions deeper than it leaves barriers get none: their threads meet at
//! the join of an outer region.
//!
//! Cost: the sum of the sizes of the regions, of which at most [`BARRIERS`] hold a block.

mod preheader;
mod region;

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, BlockCall, ConvergenceBarrier, Function, InstData, Op, Type};

use crate::abi;
use crate::analyses::Analyses;
use crate::interrupt;
use crate::uniformity::{Uniformity, is_exit};
use preheader::insert_preheaders;
use region::{Flow, Places, Region};

/// The number of convergence barriers.
pub const BARRIERS: u32 = 16;

/// The flow of control is such that the search for its regions would take out of all proportion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entangled;

impl std::fmt::Display for Entangled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a flow of control with so many loops in loops, or jumps into loops,")
    }
}

/// What the pass leaves.
#[derive(Debug, Default)]
pub(crate) struct Converged {
    /// Whether there are divergent regions.
    pub(crate) has_regions: bool,
    /// The uniformity of the function, as [`Uniformity::compute_converged`] finds it, where it is known because no branch
    /// diverges.
    pub(crate) uniformity: Option<Uniformity>,
}

/// Brackets the divergent regions of a function; whether there are any.
///
/// # Errors
/// If it takes too long to find them; the function is then not to be used.
pub fn converge(func: &mut Function) -> Result<bool, Entangled> {
    Ok(converge_in(func, &mut Analyses::default())?.has_regions)
}

/// The same with what is known of the function's graph, as it is before and as it is then.
///
/// # Errors
/// As of [`converge`].
pub(crate) fn converge_in(func: &mut Function, known: &mut Analyses) -> Result<Converged, Entangled> {
    if !may_diverge(func) {
        return Ok(Converged::default());
    }
    let mut flow = Flow::analyse(func, known);
    if flow.uniformity.has_no_divergent_branch() {
        return Ok(Converged { has_regions: false, uniformity: Some(flow.uniformity) });
    }
    let mut places = Places::find(func, &flow);
    if !places.cycles.is_empty() {
        insert_preheaders(func, flow.cfg, places.cycles);
        known.forget();
        flow = Flow::analyse(func, known);
        places = Places::find(func, &flow);
    }
    if flow.is_entangled() {
        return Err(Entangled);
    }
    let barriers = abi::convergence_barriers(func);
    let mut regions = places.nested_regions();
    regions.retain(|region| (region.depth as usize) < barriers.len());
    let number = |region: &Region| ConvergenceBarrier(barriers.start + region.depth as u8);
    // Several regions, one after the other or in two arms, may have the same join.
    let mut meets: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for region in &regions {
        interrupt::poll();
        let meet = add_meet(func, region, number(region));
        meets[region.join].push(meet);
    }
    // Inner regions open later: where several open at one place, outer ones come first, as they close last.
    for region in &regions {
        interrupt::poll();
        let barrier = number(region);
        let open = func.make_inst(InstData::new(Op::Bssy(barrier, region.join), Type::B32, &[]));
        let end = func.blocks[region.anchor].insts.len().saturating_sub(1);
        func.blocks[region.anchor].insts.insert(end, open);
    }
    let layout = std::mem::take(&mut func.layout);
    for block in layout {
        func.layout.append(&mut meets[block]);
        func.layout.push(block);
    }
    if !regions.is_empty() {
        known.forget();
    }
    Ok(Converged { has_regions: !regions.is_empty(), uniformity: None })
}

/// Whether a block has two ways to go on. Where threads only end, nobody is waited for.
fn may_diverge(func: &Function) -> bool {
    let goes_on = |edge: &&BlockCall| !is_exit(func, edge.block);
    func.layout.iter().any(|&block| func.edges(block).iter().filter(goes_on).count() > 1)
}

/// Makes the block with the `bsync` of a region and leads the region's edges to the join through it.
fn add_meet(func: &mut Function, region: &Region, barrier: ConvergenceBarrier) -> Block {
    let join = region.join;
    let meet = func.blocks.push(Default::default());
    let mut params = Vec::new();
    for param in func.blocks[join].params.clone() {
        let ty = func.ty(param);
        params.push(func.add_block_param(meet, ty));
    }
    for &source in &region.sources {
        let Some(inst) = func.terminator(source) else { continue };
        for target in &mut func.insts[inst].targets {
            if target.block == join {
                target.block = meet;
            }
        }
    }
    func.append(meet, InstData::new(Op::Bsync(barrier), Type::B32, &[]));
    let mut jump = InstData::new(Op::Jump, Type::B32, &[]);
    jump.targets.push(BlockCall::new(join, &params));
    func.append(meet, jump);
    meet
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxc_ir::text::parse_function;

    fn converged(text: &str) -> String {
        let mut func = parse_function(text).expect("the text is a function");
        converge(&mut func).expect("it is no tangle");
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
    fn loops_in_loops_by_the_thousand_are_refused() {
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
        assert_eq!(converge(&mut func), Err(Entangled));
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
        converge(&mut func).expect("it is no tangle");
        ptxc_ir::verify::verify(&func, ptxc_ir::verify::Level::Converged)
            .expect("every block is in the layout");
        assert_eq!(func.to_string().matches("bsync").count(), 2, "{func}");
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
        converge(&mut func).expect("it is no tangle");
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
        assert_eq!(verified(text).matches("bsync").count(), 2);
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
    fn a_loop_with_a_divergent_exit_opens_in_front_of_it() {
        let text = "func @f entry {\nblock0:\n    v0 = sreg.b32 tid.x\n    jump block1(v0)\nblock1(v1: b32):\n    \
            v2 = const.b32 0xffffffff\n    v3 = iadd.b32 v1, v2\n    v4 = const.b32 0x0\n    v5 = icmp.ne.b32 v3, v4\n    \
            brif v5, block1(v3), block2\nblock2:\n    fence.sc.cta\n    exit\n}\n";
        let out = converged(text);
        let (open, header) = (out.find("bssy"), out.find("block1("));
        assert!(open.is_some() && open < header.map(|_| out.find("brif").unwrap_or(0)), "{out}");
        assert_eq!(out.matches("bsync").count(), 1, "{out}");
    }
}
