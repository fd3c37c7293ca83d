//! Merges blocks in a straight line into one.
//!
//! ```text
//! mb1: …; jump mb2(%r3)                      mb1: …
//! mb2(%r5): IADD3 %r6, %r5, 0x1, RZ   =>          IADD3 %r6, %r3, 0x1, RZ
//! ```
//!
//! A block is appended to its only predecessor if that has no other successor. A block that a
//! `BSSY` names is not merged. Neither are a block and its predecessor if only one of them is
//! converged. Constant arguments become moves. Cost: linear.

use cranelift_entity::SecondaryMap;
use ptxc_machine::Arch;
use ptxc_sass::{Inst, Op, Operand, RegFile};

use crate::mir::{Edge, EdgeArg, MBlockId, MInst, Mir, Renames, Term, Tuple, VReg};

/// Merges straight lines of blocks.
pub fn merge(mir: &mut Mir<VReg>, _arch: Arch) -> bool {
    let mut preds: SecondaryMap<MBlockId, u32> = SecondaryMap::new();
    for &block in &mir.layout {
        for edge in mir.blocks[block].term.edges() {
            preds[edge.block] += 1;
        }
    }
    let named = named_blocks(mir);
    let mut renames = Renames::default();
    let mut gone: SecondaryMap<MBlockId, bool> = SecondaryMap::new();
    for block in mir.layout.clone() {
        ptxc_interrupt::poll();
        if gone[block] {
            continue;
        }
        while let Term::Jump(edge) = &mir.blocks[block].term {
            let next = edge.block;
            let same = mir.blocks[block].divergent == mir.blocks[next].divergent;
            if next == block || preds[next] != 1 || named[next] || !same {
                break;
            }
            append(mir, block, next, &mut renames);
            gone[next] = true;
        }
    }
    mir.layout.retain(|&block| !gone[block]);
    renames.apply(mir);
    mir.layout.iter().any(|&block| gone[block]) || !renames.is_empty()
}

/// The blocks that a `BSSY` names.
pub(super) fn named_blocks(mir: &Mir<VReg>) -> SecondaryMap<MBlockId, bool> {
    let mut named = SecondaryMap::new();
    for &block in &mir.layout {
        for inst in &mir.blocks[block].insts {
            ptxc_interrupt::poll();
            for label in inst.inst.labels() {
                named[MBlockId::from_u32(label.0)] = true;
            }
        }
    }
    named
}

/// Moves the content of `next` to the end of `block`, which jumps there and is its only
/// predecessor.
fn append(mir: &mut Mir<VReg>, block: MBlockId, next: MBlockId, renames: &mut Renames) {
    let mut made = Vec::new();
    goes_on_in(mir, block, next, &mut made, renames);
    let insts = std::mem::take(&mut mir.blocks[next].insts);
    let own = &mut mir.blocks[block].insts;
    own.extend(made);
    own.extend(insts);
}

/// Gives `block` the end of `next`, to which it jumps. Adds to `made` the instructions that put
/// constant arguments into registers; they belong between the instructions of the two blocks.
pub(super) fn goes_on_in(
    mir: &mut Mir<VReg>,
    block: MBlockId,
    next: MBlockId,
    made: &mut Vec<MInst<VReg>>,
    renames: &mut Renames,
) {
    let Term::Jump(Edge { args, .. }) = std::mem::replace(&mut mir.blocks[block].term, Term::Exit) else {
        return;
    };
    let loc = mir.blocks[block].term_loc;
    let params = std::mem::take(&mut mir.blocks[next].params);
    for (param, arg) in params.into_iter().zip(args) {
        match arg {
            EdgeArg::Reg(reg) => renames.add(param.reg, reg, param.width),
            other => made.extend(constant(param, other).into_iter().map(|inst| MInst::new(inst, loc))),
        }
    }
    mir.blocks[block].term = std::mem::replace(&mut mir.blocks[next].term, Term::Exit);
    mir.blocks[block].term_loc = mir.blocks[next].term_loc;
}

/// Instructions that put a constant into a register; an undefined content is zero.
pub(super) fn constant(to: Tuple<VReg>, value: EdgeArg<VReg>) -> Vec<Inst<VReg>> {
    let bits = match value {
        EdgeArg::Imm(bits) => bits,
        _ => 0,
    };
    if to.reg.file() == RegFile::Pred {
        let from = if bits & 1 == 0 { Operand::pt().not() } else { Operand::pt() };
        let [table, none] = [0xf0, 0].map(Operand::imm);
        let operands = [Operand::reg(to.reg), from, Operand::pt(), Operand::pt(), table, none];
        return vec![Inst::new(Op::PLOP3).ops(operands)];
    }
    (0..to.width)
        .map(|n| {
            let word = (bits >> (32 * n)) as u32;
            let from = if word == 0 { Operand::rz() } else { Operand::imm(word) };
            Inst::new(Op::MOV).ops([Operand::reg(to.reg.offset(n)), from])
        })
        .collect()
}
