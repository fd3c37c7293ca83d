//! Where threads go on after `BSYNC`: both at the label of its `BSSY` and at the next instruction.
//!
//! In: code in its final order. Out: the same, in which every `BSSY` names the instruction right behind the
//! `BSYNC` that closes it. Where the join does not follow its `BSYNC` but is branched to, the branch becomes
//! a block of its own, and the `BSSY` names that:
//!
//! ```text
//! BSSY B0, `(.L_x_3)                BSSY B0, `(.L_x_5)
//! …                                 …
//! BSYNC B0                    =>    BSYNC B0
//! BRA `(.L_x_3)               .L_x_5:
//!                                   BRA `(.L_x_3)
//! ```
//!
//! NVIDIA's compiler always emits the one shape in which the two places are the same, so whether the
//! hardware takes the address from the barrier or the next instruction is not known and must not matter.
//! Which `BSSY` a `BSYNC` closes is found by a forward dataflow with at most sixteen sets. Linear.

use std::collections::BTreeSet;

use ptxc_sass::{Inst, Op, OperandKind, PReg};

use super::code::{Code, CodeBlock};

/// An instruction: block and position in it.
type Site = (usize, usize);

/// For each convergence barrier the `BSSY` instructions that may have opened it.
type Open = [BTreeSet<Site>; 16];

/// Lets every `BSSY` name what follows its `BSYNC`.
pub(super) fn name_resumptions(code: &mut Code) {
    let closed = closed_barriers(code);
    // A block whose BSYNC is followed by branches is split between the two.
    let split: Vec<bool> = (code.blocks.iter())
        .map(|block| block.body < block.insts.len() && ends_in_sync(block).is_some())
        .collect();
    let mut renumbered = Vec::with_capacity(split.len());
    let mut next = 0u32;
    for &split in &split {
        renumbered.push(next);
        next += 1 + u32::from(split);
    }
    for (block, site) in closed {
        if split[block] {
            set_label(&mut code.blocks[site.0].insts[site.1].inst, NewLabel(renumbered[block] + 1));
        }
    }
    let mut blocks = Vec::with_capacity(next as usize);
    for (mut block, split) in std::mem::take(&mut code.blocks).into_iter().zip(split) {
        for minst in &mut block.insts {
            relabel(&mut minst.inst, &renumbered);
        }
        let rest = split.then(|| CodeBlock {
            insts: block.insts.split_off(block.body),
            body: 0,
            table: block.table.take(),
            frequency: block.frequency,
        });
        blocks.push(block);
        blocks.extend(rest);
    }
    code.blocks = blocks;
}

/// A label that is numbered as after the split already, kept apart from the others by its high bit.
struct NewLabel(u32);

const NEW: u32 = 1 << 31;

fn set_label(inst: &mut Inst<PReg>, to: NewLabel) {
    for operand in &mut inst.operands {
        if let OperandKind::Label(label) = &mut operand.kind {
            label.0 = to.0 | NEW;
        }
    }
}

fn relabel(inst: &mut Inst<PReg>, renumbered: &[u32]) {
    for operand in &mut inst.operands {
        if let OperandKind::Label(label) = &mut operand.kind {
            label.0 = if label.0 & NEW != 0 { label.0 & !NEW } else { renumbered[label.0 as usize] };
        }
    }
}

fn barrier(inst: &Inst<PReg>) -> Option<usize> {
    inst.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Convergence(index) => Some(usize::from(index & 15)),
        _ => None,
    })
}

/// The barrier of the `BSYNC` that ends a block's body.
fn ends_in_sync(block: &CodeBlock) -> Option<usize> {
    let last = &block.insts[..block.body].last()?.inst;
    (last.op == Op::BSYNC).then(|| barrier(last)).flatten()
}

/// For each block whose body ends in `BSYNC`, the `BSSY` instructions that it may close.
fn closed_barriers(code: &Code) -> Vec<(usize, Site)> {
    let mut entry: Vec<Option<Open>> = vec![None; code.blocks.len()];
    let mut queue: BTreeSet<usize> = BTreeSet::new();
    if let Some(first) = entry.first_mut() {
        *first = Some(Open::default());
        queue.insert(0);
    }
    let mut closed: BTreeSet<(usize, Site)> = BTreeSet::new();
    while let Some(block) = queue.pop_first() {
        let mut open = entry[block].clone().unwrap_or_default();
        for (position, minst) in code.blocks[block].insts.iter().enumerate() {
            let Some(barrier) = barrier(&minst.inst) else { continue };
            match minst.inst.op {
                Op::BSSY => open[barrier] = BTreeSet::from([(block, position)]),
                Op::BSYNC => {
                    let sites = std::mem::take(&mut open[barrier]);
                    if position + 1 == code.blocks[block].body {
                        closed.extend(sites.into_iter().map(|site| (block, site)));
                    }
                }
                _ => {}
            }
        }
        for way in code.ways(block) {
            let changed = match &mut entry[way.target] {
                Some(known) => {
                    let before: usize = known.iter().map(BTreeSet::len).sum();
                    for (known, new) in known.iter_mut().zip(&open) {
                        known.extend(new);
                    }
                    known.iter().map(BTreeSet::len).sum::<usize>() != before
                }
                unknown => {
                    *unknown = Some(open.clone());
                    true
                }
            };
            if changed {
                queue.insert(way.target);
            }
        }
    }
    closed.into_iter().collect()
}
