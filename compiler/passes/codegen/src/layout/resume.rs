//! Makes threads continue after `BSYNC` at a place that is both the label of its `BSSY` and the
//! next instruction.
//!
//! In: code in its final order. Out: the same, in which every `BSSY` names the instruction right
//! after the `BSYNC` that closes it. If the join does not follow its `BSYNC` directly, because of a
//! branch or moves to its parameters, the instructions in between become a block of their own, and
//! the `BSSY` names that block:
//!
//! ```text
//! BSSY B0, `(.L_x_3)                BSSY B0, `(.L_x_5)
//! …                                 …
//! BSYNC B0                    =>    BSYNC B0
//! BRA `(.L_x_3)               .L_x_5:
//!                                   BRA `(.L_x_3)
//! ```
//!
//! NVIDIA's compiler always emits the one shape in which the two places are the same, so it is not
//! known whether the hardware takes the address from the barrier or the next instruction, and it
//! must not matter. A forward dataflow of sets finds the `BSSY` that a `BSYNC` closes. Linear.

use std::collections::BTreeSet;
use std::rc::Rc;

use ptxc_sass::{Inst, Op, OperandKind, PReg};
use smallvec::SmallVec;

use super::code::{Code, CodeBlock};
use super::{Found, Site};

/// The regions that may be open, each with a `BSSY` that may have opened it. Most blocks do not
/// change them, and share the list.
type Open = Rc<[(Holder, Site)]>;

/// A region by its convergence barrier, and the number of regions inside it with the same barrier.
type Holder = (u8, u8);

/// An instruction that names a convergence barrier.
#[derive(Debug)]
pub(super) struct Bracket {
    site: Site,
    barrier: u8,
    kind: BracketKind,
}

/// The effect of an instruction on a convergence barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BracketKind {
    Opens,
    Closes,
    Leaves,
    /// It saves the barrier, so that an inner region or a called function can open it.
    Saves,
    Restores,
}

impl Bracket {
    /// The bracket of an instruction, if it is one.
    pub(super) fn of(site: Site, inst: &Inst<PReg>) -> Option<Bracket> {
        let kind = match inst.op {
            Op::BSSY => BracketKind::Opens,
            Op::BSYNC => BracketKind::Closes,
            Op::BREAK => BracketKind::Leaves,
            // Before a `BSSY`, sm_75 clears a barrier without saving it.
            Op::BMOV_CLEAR if matches!(inst.operands[0].kind, OperandKind::Reg(_)) => BracketKind::Saves,
            Op::BMOV => BracketKind::Restores,
            _ => return None,
        };
        Some(Bracket { site, barrier: barrier(inst)?, kind })
    }
}

/// Lets every `BSSY` name the place after its `BSYNC`.
pub(super) fn name_resumptions(code: &mut Code, found: &Found) {
    let brackets = &found.brackets;
    let closes = |bracket: &&Bracket| bracket.kind == BracketKind::Closes;
    if !brackets.iter().any(|bracket| closes(&bracket)) {
        return;
    }
    let closed = closed_barriers(code, brackets);
    // A block in which a branch, or a move to a parameter of the join, follows a BSYNC is split
    // there.
    let mut cuts: Vec<SmallVec<[usize; 1]>> = vec![SmallVec::new(); code.blocks.len()];
    for &Bracket { site: (block, position), .. } in brackets.iter().filter(closes) {
        if position + 1 < code.blocks[block].insts.len() {
            cuts[block].push(position + 1);
        }
    }
    let mut renumbered = Vec::with_capacity(cuts.len());
    let mut next = 0u32;
    for cuts in &cuts {
        renumbered.push(next);
        next += 1 + cuts.len() as u32;
    }
    for ((block, position), site) in closed {
        if let Some(cut) = cuts[block].iter().position(|&cut| cut == position + 1) {
            let label = NewLabel(renumbered[block] + 1 + cut as u32);
            set_label(&mut code.blocks[site.0].insts[site.1].inst, label);
        }
    }
    for &(block, position) in &found.naming {
        relabel(&mut code.blocks[block].insts[position].inst, &renumbered);
    }
    for block in &mut code.blocks {
        ptxc_interrupt::poll();
        block.insts[block.body..].iter_mut().for_each(|branch| relabel(&mut branch.inst, &renumbered));
    }
    let mut blocks = Vec::with_capacity(next as usize);
    for (mut block, cuts) in std::mem::take(&mut code.blocks).into_iter().zip(cuts) {
        let mut rest: SmallVec<[CodeBlock; 1]> = SmallVec::new();
        for &cut in cuts.iter().rev() {
            let insts = block.insts.split_off(cut);
            let body = block.body - cut;
            block.body = cut;
            rest.push(CodeBlock { insts, body, table: block.table.take(), frequency: block.frequency });
        }
        blocks.push(block);
        blocks.extend(rest.into_iter().rev());
    }
    code.blocks = blocks;
}

/// A label with its number after the split; its high bit distinguishes it from the others.
struct NewLabel(u32);

const NEW: u32 = 1 << 31;

fn set_label(inst: &mut Inst<PReg>, to: NewLabel) {
    inst.labels_mut().for_each(|label| label.0 = to.0 | NEW);
}

fn relabel(inst: &mut Inst<PReg>, renumbered: &[u32]) {
    for label in inst.labels_mut() {
        label.0 = if label.0 & NEW != 0 { label.0 & !NEW } else { renumbered[label.0 as usize] };
    }
}

fn barrier(inst: &Inst<PReg>) -> Option<u8> {
    inst.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Convergence(index) => Some(index & 15),
        _ => None,
    })
}

/// For each `BSYNC` the `BSSY` instructions that it may close.
fn closed_barriers(code: &Code, brackets: &[Bracket]) -> BTreeSet<(Site, Site)> {
    let mut entry: Vec<Option<Open>> = vec![None; code.blocks.len()];
    let mut queue: BTreeSet<usize> = BTreeSet::new();
    if let Some(first) = entry.first_mut() {
        *first = Some(Open::default());
        queue.insert(0);
    }
    let mut closed: BTreeSet<(Site, Site)> = BTreeSet::new();
    while let Some(block) = queue.pop_first() {
        ptxc_interrupt::poll();
        let mut open = entry[block].clone().unwrap_or_default();
        let first = brackets.partition_point(|bracket| bracket.site.0 < block);
        for bracket in brackets[first..].iter().take_while(|bracket| bracket.site.0 == block) {
            let is_same = |(holder, _): &&(Holder, Site)| *holder == (bracket.barrier, 0);
            if bracket.kind == BracketKind::Closes {
                closed.extend(open.iter().filter(is_same).map(|&(_, site)| (bracket.site, site)));
            }
            open = match bracket.kind {
                BracketKind::Saves => nested(&open, bracket.barrier, |inside| inside.checked_add(1)),
                BracketKind::Restores => nested(&open, bracket.barrier, |inside| inside.checked_sub(1)),
                BracketKind::Opens | BracketKind::Closes | BracketKind::Leaves => {
                    let opened = ((bracket.barrier, 0), bracket.site);
                    let opened = (bracket.kind == BracketKind::Opens).then_some(opened);
                    open.iter().filter(|one| !is_same(one)).copied().chain(opened).collect()
                }
            };
        }
        for way in code.ways(block) {
            let merged = match &entry[way.target] {
                Some(known) if Rc::ptr_eq(known, &open) => continue,
                Some(known) => {
                    let mut all: Vec<(Holder, Site)> = known.iter().chain(&*open).copied().collect();
                    all.sort_unstable();
                    all.dedup();
                    if all.len() == known.len() {
                        continue;
                    }
                    all.into()
                }
                None => open.clone(),
            };
            entry[way.target] = Some(merged);
            queue.insert(way.target);
        }
    }
    closed
}

/// The open regions after a change to the number of regions inside those with one barrier.
fn nested(open: &Open, barrier: u8, change: impl Fn(u8) -> Option<u8>) -> Open {
    let changed = |&((of, inside), site): &(Holder, Site)| match of == barrier {
        true => change(inside).map(|inside| ((of, inside), site)),
        false => Some(((of, inside), site)),
    };
    open.iter().filter_map(changed).collect()
}

#[cfg(test)]
mod tests {
    use ptxc_ir::SourceLoc;
    use ptxc_sass::{Label, Operand, slot};

    use super::*;
    use crate::layout::check_convergence;
    use crate::layout::tests::{block, cond, edge, layout_of, mir};
    use crate::mir::{MInst, Term};

    fn barrier(op: Op, index: u8) -> MInst<PReg> {
        MInst::new(
            Inst::new(op).slot(slot!(BSSY | BSYNC, "barrier"), Operand::convergence(index)),
            SourceLoc::NONE,
        )
    }

    fn bssy(index: u8, label: u32) -> MInst<PReg> {
        let mut minst = barrier(Op::BSSY, index);
        minst.inst = minst.inst.slot(slot!(BSSY, "target"), Operand::label(Label(label)));
        minst
    }

    /// A move or another `BSYNC` after a `BSYNC` in its block begins a new block, which the `BSSY`
    /// names.
    #[test]
    fn a_block_is_split_after_each_bsync() {
        let mut blocks = vec![
            block(&[], cond(1, 2)),
            block(&["a"], Term::Jump(edge(3))),
            block(&["b"], Term::Jump(edge(3))),
            block(&["c"], Term::Jump(edge(4))),
            block(&["d"], Term::Exit),
        ];
        blocks[0].insts.extend([bssy(0, 3), bssy(1, 3)]);
        blocks[3].insts.splice(0..0, [barrier(Op::BSYNC, 1), barrier(Op::BSYNC, 0)]);
        let code = layout_of(mir(blocks));
        check_convergence(&code).expect("every BSSY names what follows its BSYNC");
        let sync = |block: &CodeBlock| block.insts.first().is_some_and(|first| first.inst.op == Op::BSYNC);
        let inner = code.blocks.iter().position(sync).expect("a block begins with a BSYNC");
        let lengths: Vec<_> = code.blocks[inner..inner + 2].iter().map(|block| block.insts.len()).collect();
        assert_eq!(lengths, [1, 1]);
        let labels: Vec<_> = code.blocks[0].insts.iter().flat_map(|minst| minst.inst.labels()).collect();
        assert_eq!(labels[..2], [Label(inner as u32 + 2), Label(inner as u32 + 1)]);
    }
}
