//! The check that convergence barriers nest along every path of laid-out code.
//!
//! In: [`Code`]. Out: nothing, or every place that breaks a rule. On each path the open barriers
//! form a stack: `BSSY` pushes one that is not open, `BSYNC` pops the top and continues at the
//! label that its `BSSY` named, `BREAK` needs an open one. Paths that meet have the same stack; an
//! `EXIT` may leave barriers open, since a lane that exits no longer counts.
//!
//! ```text
//! BSSY B0, `(.L_x_3)       B0                  BSSY B0, `(.L_x_3)
//! @P0 BRA `(.L_x_2)        B0                  @P0 BRA `(.L_x_3)     error: block 3 is reached with B0
//! …                        B0                  BSYNC B0              open and without
//! BSYNC B0                 (none)
//! ```
//! `BREAK` lets its lanes leave the region on a path of their own, on which the barrier is no
//! longer open. `BMOV.32.CLEAR` saves a barrier of an outer region or of the function's callers, so
//! that `BSSY` can open it again; only after `BMOV.32` has given it back can the outer region be
//! closed or left.
//!
//! The check walks the blocks once, with an abstract stack for each. Its cost is the number of
//! instructions and edges times the depth of the stack, which the converge pass bounds.

use std::fmt;

use ptxc_sass::{Inst, Op, OperandKind, PReg};
use smallvec::SmallVec;

use super::Code;

/// A place where convergence barriers do not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvergenceError {
    /// The block.
    pub block: usize,
    /// The instruction in it; the number of instructions for its end.
    pub inst: usize,
    /// The error.
    pub why: Why,
}

/// An error with a convergence barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// `BSSY` on a barrier that is already open.
    Reopened(u8),
    /// `BSYNC` or `BREAK` on a barrier that is not open.
    NotOpen(u8),
    /// Something other than `BSSY` and `BMOV.32` on a barrier that is saved.
    Saved(u8),
    /// `BSYNC` on a barrier while an inner one is open.
    NotInnermost {
        /// The barrier of the `BSYNC`.
        barrier: u8,
        /// The innermost open one.
        innermost: u8,
    },
    /// After `BSYNC` the code does not continue at the label of the `BSSY`, or the label is not
    /// right after the `BSYNC`.
    WrongLabel {
        /// The barrier.
        barrier: u8,
        /// The block that the `BSSY` names.
        label: u32,
    },
    /// Two paths reach a block with different barriers open.
    Join {
        /// The block that both reach.
        target: usize,
        /// The open barriers on this path, outermost first.
        here: Vec<u8>,
        /// The open barriers on the path that was found first.
        there: Vec<u8>,
    },
}

impl fmt::Display for ConvergenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}, instruction {}: ", self.block, self.inst)?;
        match &self.why {
            Why::Reopened(barrier) => write!(f, "BSSY B{barrier}, which is open already"),
            Why::NotOpen(barrier) => write!(f, "B{barrier} is not open"),
            Why::Saved(barrier) => write!(f, "B{barrier} is saved"),
            Why::NotInnermost { barrier, innermost } => {
                write!(f, "BSYNC B{barrier} while B{innermost} is open inside it")
            }
            Why::WrongLabel { barrier, label } => {
                write!(f, "BSYNC B{barrier} does not go on at block {label}, which its BSSY names")
            }
            Why::Join { target, here, there } => {
                write!(f, "block {target} is reached with {here:?} and with {there:?} open")
            }
        }
    }
}

impl std::error::Error for ConvergenceError {}

/// A region that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    barrier: u8,
    /// The label of its `BSSY`.
    label: u32,
    /// Whether the barrier is saved, so that an inner region can open it.
    saved: bool,
}

/// The open regions, outermost first.
type Open = SmallVec<[Region; 4]>;

/// Checks every path; all errors are found, each once.
pub fn check(code: &Code) -> Result<(), Vec<ConvergenceError>> {
    let mut errors = Vec::new();
    let mut entry: Vec<Option<Open>> = vec![None; code.blocks.len()];
    let mut work = Vec::new();
    if !code.blocks.is_empty() {
        entry[0] = Some(Open::new());
        work.push(0);
    }
    while let Some(block) = work.pop() {
        let mut open = entry[block].clone().unwrap_or_default();
        let mut synced = None;
        for (inst, minst) in code.blocks[block].insts.iter().enumerate() {
            ptxc_interrupt::poll();
            if let Err(why) = step(&minst.inst, &mut open, &mut synced) {
                errors.push(ConvergenceError { block, inst, why });
            }
            let last = inst + 1 == code.blocks[block].body;
            if let (Some((barrier, label)), false) = (synced, last)
                && inst < code.blocks[block].body
            {
                errors.push(ConvergenceError { block, inst, why: Why::WrongLabel { barrier, label } });
                synced = None;
            }
        }
        let end = code.blocks[block].insts.len();
        for way in code.ways(block) {
            if let Some((barrier, label)) = synced
                && (way.target != label as usize || way.target != block + 1)
            {
                errors.push(ConvergenceError { block, inst: end, why: Why::WrongLabel { barrier, label } });
            }
            match &entry[way.target] {
                None => {
                    entry[way.target] = Some(open.clone());
                    work.push(way.target);
                }
                // A thread that ends need not close its barriers.
                Some(known) if *known != open && !only_exits(code, way.target) => {
                    errors.push(ConvergenceError {
                        block,
                        inst: end,
                        why: Why::Join {
                            target: way.target,
                            here: open.iter().map(|region| region.barrier).collect(),
                            there: known.iter().map(|region| region.barrier).collect(),
                        },
                    })
                }
                Some(_) => {}
            }
        }
    }
    errors.sort_by_key(|error| (error.block, error.inst));
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Whether a block only ends the thread.
fn only_exits(code: &Code, block: usize) -> bool {
    matches!(code.blocks[block].insts.as_slice(), [only] if only.inst.op == Op::EXIT && only.inst.guard.is_none())
}

/// The effect of one instruction on the stack; `synced` is set after a `BSYNC` until its label is
/// checked.
fn step(inst: &Inst<PReg>, open: &mut Open, synced: &mut Option<(u8, u32)>) -> Result<(), Why> {
    let Some(barrier) = inst.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Convergence(barrier) => Some(barrier),
        _ => None,
    }) else {
        return Ok(());
    };
    // The innermost of the regions with the same barrier holds it.
    let place = open.iter().rposition(|region| region.barrier == barrier);
    let holder = place.filter(|&place| !open[place].saved);
    // Before a `BSSY`, sm_75 clears a barrier without saving it.
    let saves = inst.operands.first().is_some_and(|to| matches!(to.kind, OperandKind::Reg(_)));
    match (inst.op, holder) {
        (Op::BMOV_CLEAR, Some(place)) if saves => open[place].saved = true,
        (Op::BMOV_CLEAR, None) if saves && place.is_some() => return Err(Why::Saved(barrier)),
        (Op::BMOV_CLEAR, None) => {}
        (Op::BMOV, None) => {
            if let Some(place) = place {
                open[place].saved = false;
            }
        }
        (Op::BSSY | Op::BMOV_CLEAR | Op::BMOV, Some(_)) => return Err(Why::Reopened(barrier)),
        (Op::BSSY, None) => {
            let label = inst.operands.iter().find_map(|operand| match operand.kind {
                OperandKind::Label(label) => Some(label.0),
                _ => None,
            });
            open.push(Region { barrier, label: label.unwrap_or(u32::MAX), saved: false });
        }
        (_, None) if place.is_some() => return Err(Why::Saved(barrier)),
        (_, None) => return Err(Why::NotOpen(barrier)),
        (Op::BREAK, Some(place)) => {
            open.remove(place);
        }
        (_, Some(place)) => {
            let innermost = open[open.len() - 1].barrier;
            *synced = Some((barrier, open[place].label));
            open.truncate(place);
            if innermost != barrier {
                return Err(Why::NotInnermost { barrier, innermost });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ptxc_ir::SourceLoc;
    use ptxc_sass::{Label, Operand, slot};

    use super::*;
    use crate::layout::tests::layout_of;
    use crate::layout::tests::{block, cond, edge, mir};
    use crate::mir::{MBlock, MInst, Term};

    fn barrier(op: Op, index: u8) -> MInst<PReg> {
        let inst = Inst::new(op)
            .slot(slot!(BMOV | BMOV_CLEAR | BREAK | BSSY | BSYNC, "barrier"), Operand::convergence(index));
        MInst::new(inst, SourceLoc::NONE)
    }

    fn bssy(index: u8, label: u32) -> MInst<PReg> {
        let mut minst = barrier(Op::BSSY, index);
        minst.inst = minst.inst.slot(slot!(BSSY, "target"), Operand::label(Label(label)));
        minst
    }

    fn diamond() -> Vec<MBlock<PReg>> {
        let mut blocks = vec![
            block(&[], cond(1, 2)),
            block(&["a"], Term::Jump(edge(3))),
            block(&["b"], Term::Jump(edge(3))),
            block(&[], Term::Jump(edge(4))),
            block(&["c"], Term::Exit),
        ];
        blocks[0].insts.push(bssy(0, 4));
        blocks[3].insts.push(barrier(Op::BSYNC, 0));
        blocks
    }

    fn errors(blocks: Vec<MBlock<PReg>>) -> Vec<Why> {
        match check(&layout_of(mir(blocks))) {
            Ok(()) => Vec::new(),
            Err(errors) => errors.into_iter().map(|error| error.why).collect(),
        }
    }

    #[test]
    fn a_diamond_is_fine_and_its_label_follows_the_block() {
        assert_eq!(errors(diamond()), []);
    }

    #[test]
    fn an_arm_that_skips_the_bsync_is_found() {
        let mut blocks = diamond();
        blocks[2].term = Term::Jump(edge(4));
        assert!(matches!(errors(blocks)[..], [Why::Join { .. }]));
    }

    #[test]
    fn a_barrier_that_is_saved_is_given_back_before_its_region_ends() {
        let mut save = barrier(Op::BMOV_CLEAR, 0);
        save.inst = save.inst.slot(slot!(BMOV_CLEAR, "d"), Operand::reg(PReg::r(0)));
        let mut blocks = diamond();
        blocks[1].insts.extend([save.clone(), barrier(Op::BMOV, 0)]);
        assert_eq!(errors(blocks), []);
        let mut blocks = diamond();
        blocks[1].insts.extend([save.clone(), barrier(Op::BREAK, 0)]);
        assert!(errors(blocks).contains(&Why::Saved(0)));
        let mut blocks = diamond();
        blocks[1].insts.push(save);
        assert!(errors(blocks).iter().any(|why| matches!(why, Why::Join { .. })));
    }

    #[test]
    fn an_arm_may_break_out() {
        let mut blocks = diamond();
        blocks[2].insts.push(barrier(Op::BREAK, 0));
        blocks[2].term = Term::Jump(edge(4));
        assert_eq!(errors(blocks), []);
    }

    #[test]
    fn wrong_nesting_and_wrong_labels_are_found() {
        let mut blocks = diamond();
        blocks[0].insts.insert(0, bssy(1, 4));
        assert!(errors(blocks.clone()).is_empty(), "an outer barrier may stay open at an exit");
        blocks[3].insts[0] = barrier(Op::BSYNC, 1);
        assert!(errors(blocks).contains(&Why::NotInnermost { barrier: 1, innermost: 0 }));

        let mut blocks = diamond();
        blocks[0].insts[0] = bssy(0, 1);
        assert!(matches!(errors(blocks)[..], [Why::WrongLabel { barrier: 0, .. }]));

        let mut blocks = diamond();
        blocks[0].insts.clear();
        assert_eq!(errors(blocks), [Why::NotOpen(0)]);
    }
}
