//! The number of general registers that a warp has at each point of a kernel in which it changes.
//!
//! ```text
//!                                          at most 168, as launched
//! USETMAXREG.DEALLOC.CTAPOOL 0x28          at most 40 from here on
//! USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xe8   at most 232 after it
//! ```
//!
//! Where control flow meets, a warp has the smallest of the numbers. Values are placed so that none lies
//! above the number at a point where it is live. A forward analysis finds the numbers; each block's only
//! sinks, to one of the few numbers that the kernel names.

use cranelift_entity::SecondaryMap;
use ptxc_sass::{Op, Register};

use super::live::{LiveRanges, Segment};
use crate::mir::{MBlockId, Mir};

/// The most registers that instructions can name.
const MOST: u16 = 255;

/// The numbers of registers of a kernel.
pub(super) struct Granted {
    /// At the start of the kernel.
    pub at_launch: u16,
    /// The greatest.
    pub most: u16,
    /// At the start of each block.
    blocks: SecondaryMap<MBlockId, u16>,
}

impl Granted {
    /// The numbers in a kernel that may have `limit` registers when it is launched; `None` if it does not
    /// change their number. As in ptxas's code, it is launched with no more than it ever asks for.
    pub fn of<R: Register>(mir: &Mir<R>, limit: u16) -> Option<Granted> {
        let insts = || mir.layout.iter().flat_map(|&block| &mir.blocks[block].insts);
        insts().find_map(|inst| inst.inst.granted_registers())?;
        let asked = insts()
            .filter(|inst| inst.inst.op == Op::USETMAXREG_TRY_ALLOC)
            .filter_map(|inst| inst.inst.granted_registers())
            .max();
        let at_launch = asked.map_or(limit, |asked| limit.min(asked));
        let mut changes = SecondaryMap::new();
        for &block in &mir.layout {
            changes[block] =
                mir.blocks[block].insts.iter().rev().find_map(|inst| inst.inst.granted_registers());
        }
        let mut blocks = SecondaryMap::with_default(MOST + 1);
        blocks[mir.entry()] = at_launch;
        let mut pending = vec![mir.entry()];
        while let Some(block) = pending.pop() {
            ptxc_interrupt::poll();
            let after = changes[block].unwrap_or(blocks[block]);
            for edge in mir.blocks[block].term.edges() {
                if after < blocks[edge.block] {
                    blocks[edge.block] = after;
                    pending.push(edge.block);
                }
            }
        }
        let most = asked.unwrap_or(0).max(at_launch);
        Some(Granted { at_launch, most, blocks })
    }

    /// The number at the start of a block.
    pub fn at(&self, block: MBlockId) -> u16 {
        self.blocks[block].min(MOST)
    }

    /// The segments in which a warp has fewer than `most` registers, with the number.
    pub fn segments<R: Register>(&self, mir: &Mir<R>, live: &LiveRanges<'_>) -> Vec<(u16, Vec<Segment>)> {
        let mut all: Vec<(u16, Vec<Segment>)> = Vec::new();
        let mut add = |count: u16, start: u32, end: u32| {
            if count >= self.most || start >= end {
                return;
            }
            let known = all.iter().position(|&(other, _)| other == count).unwrap_or_else(|| {
                all.push((count, Vec::new()));
                all.len() - 1
            });
            all[known].1.push(Segment { start, end });
        };
        for &block in &mir.layout {
            let insts = &mir.blocks[block].insts;
            let (mut count, mut start) = (self.at(block), live.points.entry(block));
            for (index, inst) in insts.iter().enumerate() {
                let Some(next) = inst.inst.granted_registers() else { continue };
                // What is returned is gone when the instruction is issued; what is granted is there after it.
                let at = match inst.inst.op {
                    Op::USETMAXREG_DEALLOC => live.points.early(block, index),
                    _ => live.points.late(block, index),
                };
                add(count, start, at);
                (count, start) = (next, at);
            }
            add(count, start, live.points.exit(block, insts.len()) + 1);
        }
        all
    }
}
