//! Hoists the copies of an edge before the branch, if the other edges are not affected.
//!
//! In: the copies on each edge of a branch. Out: whether those of one edge may run before the
//! branch, on every path. The edge then needs no block of its own, and so no jump:
//!
//! ```text
//! mb1: …; branch P0, mb2, mb3            mb1: …; MOV R4, R6
//! mb2: MOV R4, R6; jump mb1       =>          branch P0, mb1, mb3
//! ```
//!
//! The other paths are not affected if the written registers hold nothing that they need: a
//! register is free at their targets, or their own copies overwrite it without reading it. Copies
//! to registers of the warp are not hoisted, since on a divergent branch other lanes take the other
//! edge. Hoisting pays if the wasted runs of copies are at most [`BRANCH`] times the saved jumps.
//! (Speculation as in Bernstein and Rodeh, *Global Instruction Scheduling for Superscalar
//! Machines*, PLDI 1991, restricted to copies.) Linear in the copies of the edges.

use ptxc_sass::{Inst, Op, PReg, Register};

use super::assign::Assignment;
use super::live::LiveRanges;
use super::work::Work;
use crate::mir::{Edge, MBlockId, VReg};

/// The cost of a jump, in copies.
pub const BRANCH: u64 = 4;

/// Whether the code of the edge of that number may and should run before the branch that ends
/// `source`. `codes` has the instructions of each edge.
pub(super) fn moves_up(
    (work, live, assignment): (&Work<'_>, &LiveRanges<'_>, &Assignment),
    source: MBlockId,
    edges: &[&Edge<VReg>],
    codes: &[Vec<Inst<PReg>>],
    selector: Option<PReg>,
    index: usize,
) -> bool {
    let block = &work.mir.blocks[source];
    let own = &codes[index];
    let plain = |inst: &Inst<PReg>| {
        let lanes = inst.accesses().iter().all(|access| !access.reg.file().is_uniform());
        lanes && inst.row().effects.is_none() && inst.op != Op::BSYNC
    };
    if edges.len() != 2
        || !own.iter().all(plain)
        || block.insts.last().is_some_and(|last| last.inst.op == Op::BSYNC)
    {
        return false;
    }
    let (edge, other, other_code) = (edges[index], edges[1 - index], &codes[1 - index]);
    let runs = |edge: &Edge<VReg>| block.frequency.min(work.mir.blocks[edge.block].frequency);
    if own.len() as u64 * runs(other) > BRANCH * runs(edge) {
        return false;
    }
    let registers = |reg: PReg, width: u8| (0..width).filter_map(move |n| reg.offset(n));
    let overwrites = |reg: PReg| {
        other_code
            .iter()
            .any(|inst| inst.defs().any(|def| registers(def.reg, def.width).any(|own| own == reg)))
    };
    let reads = |reg: PReg| {
        other_code
            .iter()
            .any(|inst| inst.uses().any(|access| registers(access.reg, access.width).any(|own| own == reg)))
    };
    let arrival = live.points.entry(other.block);
    let free = |reg: PReg| {
        assignment.occupancy.at(reg.file(), arrival)[reg.index() as usize / 64] >> (reg.index() % 64) & 1 == 0
    };
    let mut written = own.iter().flat_map(|inst| inst.defs()).flat_map(|def| registers(def.reg, def.width));
    written.all(|reg| Some(reg) != selector && !reads(reg) && (free(reg) || overwrites(reg)))
}
