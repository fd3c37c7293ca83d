//! Warnings about CTA barriers that PTX leaves unpredictable.
//!
//! In: a function as it was built. Out: warnings. Each of them holds for the code, if not for every
//! launch. The passes find them on a copy whose constants are folded and whose equal computations
//! are merged. If there is no barrier, or if a cheap check shows that no warning is possible, no
//! copy is made. The warnings depend on no option and no target.
//!
//! ```text
//! mov.u32 %r1, %laneid;
//! setp.eq.u32 %p, %r1, 0;
//! @%p bra ALONE;            lane 0 goes on at ALONE, lane 1 does not
//! bra TOGETHER;
//! ALONE:
//! bar.sync 0;               warning: the threads of a warp have diverged at this aligned barrier
//! ```
//!
//! | module | warns of |
//! |---|---|
//! | [`aligned`] | an aligned barrier in code that part of a warp provably does not execute |
//! | [`apart`] | (no warning) decides cheaply whether [`aligned`] can find anything |
//! | [`mixed`] | a reduction that can meet a `sync` or an `arrive` at one barrier |
//! | [`numbers`] | a name or count in a register, known and invalid |
//! | [`threads`] | (no warning) computes which threads take a branch, for the other modules |

mod aligned;
mod apart;
mod mixed;
mod numbers;
#[cfg(test)]
mod tests;
mod threads;

use ptxc_ir::op::BarrierKind;
use ptxc_ir::{Block, Function, Inst, Op};
use ptxc_ssa::simplify::{Effort, simplify};
use ptxc_ssa::uniformity::Uniformity;
use ptxc_syntax::NodeId;

use crate::diagnostic::{Diagnostic, source_node};

/// The warnings about the CTA barriers of a function. Without barriers this only reads the
/// instructions. With barriers that plainly need no warning it does little more. Other functions
/// cost a round of folding and an analysis of divergence.
pub fn warnings(func: &Function) -> Vec<Diagnostic> {
    let built = barriers(func);
    if are_plain(func, &built) && !apart::may_be(func, &built) {
        return Vec::new();
    }
    let mut func = func.clone();
    simplify(&mut func, Effort::Light);
    let barriers = barriers(&func);
    let mut found = numbers::check(&func, &barriers);
    let uniformity = Uniformity::compute(&func);
    found.extend(aligned::check(&func, &uniformity, &barriers));
    found.extend(mixed::check(&func, &uniformity, &barriers));
    found
}

/// Whether all names and counts of barriers are valid constants and no barrier is a reduction.
fn are_plain(func: &Function, barriers: &[Barrier]) -> bool {
    let is_plain = |barrier: &Barrier| {
        let args = &func.insts[barrier.inst].args;
        !barrier.kind.is_reduction() && args.iter().all(|&arg| func.constant(arg).is_some())
    };
    barriers.iter().all(is_plain) && numbers::check(func, barriers).is_empty()
}

/// A CTA barrier of a function before legalization.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    inst: Inst,
    block: Block,
    kind: BarrierKind,
    aligned: bool,
    /// The name, if it is a known constant.
    name: Option<u64>,
}

impl Barrier {
    #[inline]
    fn of(func: &Function, block: Block, inst: Inst) -> Option<Barrier> {
        let data = &func.insts[inst];
        let (kind, aligned) = match data.op {
            Op::Bar(kind) => (kind, true),
            Op::Barrier { kind, aligned, packed: false } => (kind, aligned),
            _ => return None,
        };
        Some(Barrier { inst, block, kind, aligned, name: func.constant(data.args[0]) })
    }

    fn node(&self, func: &Function) -> NodeId {
        node(func, self.inst)
    }
}

fn barriers(func: &Function) -> Vec<Barrier> {
    let mut found = Vec::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            if let Some(barrier) = Barrier::of(func, block, inst) {
                found.push(barrier);
            }
        }
    }
    found
}

/// The node of the text that an instruction comes from.
fn node(func: &Function, inst: Inst) -> NodeId {
    source_node(func.insts[inst].loc).unwrap_or(NodeId(0))
}
