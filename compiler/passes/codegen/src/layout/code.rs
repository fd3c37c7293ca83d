//! Laid-out code: blocks in their final order, with explicit branches.
//!
//! The post-RA scheduler and the control pass take the [`Code`] that [`layout`](super::layout)
//! makes. It has no terminators: a block ends in zero to two branch instructions (`BRA`, `BRX`,
//! `EXIT` and `RET`, guarded or not) and falls through to the next block if none of them is
//! unconditional. A label is the index of a block. A call ends a block, too, so that its return
//! address, which a `MOV` before it puts into a register, is the label of the next block.
//!
//! ```text
//! block 0:  ISETP.GE.AND P0, PT, R0, R2, PT      body
//!           @P0 EXIT                             branches, then falls through
//! block 1:  IADD3 R0, R0, 0x1, RZ                body
//!           @P1 BRA `(.L_x_1)                    to block 1, or falls through
//! block 2:  EXIT
//! ```

use ptxc_sass::table::Transfer;
use ptxc_sass::{Inst, PReg, slot_name};
use smallvec::SmallVec;

use crate::mir::{Header, MInst};

/// A block of laid-out code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlock {
    /// The instructions: the body, then the branches.
    pub insts: Vec<MInst<PReg>>,
    /// The number of instructions in the body; the rest are `BRA`, `BRX`, `EXIT` and `RET`. A call
    /// is the last of its body.
    pub body: usize,
    /// The place of the jump table of its `BRX` in the constant bank, in bytes, if it ends in one.
    pub table: Option<u32>,
    /// Its frequency for one run of the entry, in units of 1/1024.
    pub frequency: u64,
}

/// A way out of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The number of instructions of the block that have issued when it is taken: one more than the
    /// index of the branch, or all of them for the fall-through.
    pub issued: usize,
    /// The block that it leads to.
    pub target: usize,
}

/// A kernel in its final block order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Name, architecture, and the resources and names that the function uses.
    pub header: Header,
    /// The blocks in order; the first is the entry. The last one does not fall through.
    pub blocks: Vec<CodeBlock>,
}

impl Code {
    /// The ways out of a block in the order in which they are tried. An `EXIT` and a `RET` are not
    /// ways, and a call returns.
    pub fn ways(&self, block: usize) -> SmallVec<[Way; 2]> {
        let mut ways = SmallVec::new();
        let insts = &self.blocks[block].insts;
        for (index, minst) in insts.iter().enumerate().skip(self.blocks[block].body) {
            ptxc_interrupt::poll();
            let mut targets: SmallVec<[usize; 1]> =
                minst.inst.labels().map(|label| label.0 as usize).collect();
            targets.sort_unstable();
            targets.dedup();
            ways.extend(targets.into_iter().map(|target| Way { issued: index + 1, target }));
            if !is_conditional(&minst.inst) {
                return ways;
            }
        }
        if block + 1 < self.blocks.len() {
            ways.push(Way { issued: insts.len(), target: block + 1 });
        }
        ways
    }

    /// The ways out of all blocks.
    pub fn graph(&self) -> Graph {
        Graph((0..self.blocks.len()).map(|block| self.ways(block)).collect())
    }

    /// The number of instructions.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.insts.len()).sum()
    }

    /// Whether there are no instructions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The ways out of each block, for repeated queries: finding them takes reading the branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph(Vec<SmallVec<[Way; 2]>>);

impl Graph {
    /// The ways out of a block in the order in which they are tried.
    pub fn ways(&self, block: usize) -> &[Way] {
        &self.0[block]
    }

    /// The blocks that lead to each block, in order, each once.
    pub fn predecessors(&self) -> Vec<SmallVec<[usize; 2]>> {
        let mut preds: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); self.0.len()];
        for (block, ways) in self.0.iter().enumerate() {
            for way in ways {
                if preds[way.target].last() != Some(&block) {
                    preds[way.target].push(block);
                }
            }
        }
        preds
    }

    /// The blocks that the entry reaches, each before its successors, except for edges that close a
    /// cycle (reverse postorder of a depth-first search).
    pub fn reverse_postorder(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.0.len());
        let mut seen = vec![false; self.0.len()];
        // Blocks that are being visited, each with the number of ways that have not been followed
        // yet, the last ones first.
        let mut stack: Vec<(usize, usize)> = Vec::new();
        if let Some(ways) = self.0.first() {
            seen[0] = true;
            stack.push((0, ways.len()));
        }
        while let Some((block, left)) = stack.last_mut() {
            if *left == 0 {
                order.push(*block);
                stack.pop();
                continue;
            }
            *left -= 1;
            let target = self.0[*block][*left].target;
            if !std::mem::replace(&mut seen[target], true) {
                stack.push((target, self.0[target].len()));
            }
        }
        order.reverse();
        order
    }
}

/// Whether a branch may also continue with the next instruction.
pub(super) fn is_conditional(inst: &Inst<PReg>) -> bool {
    inst.guard.is_some()
        || inst.row().transfer == Transfer::ByLanes
        || inst.get(slot_name!("ps")).is_some_and(|ps| ps.as_reg().is_some())
}
