//! Which instructions of variable latency come back in the order in which they were issued.
//!
//! No document says so. NVIDIA's assembler relies on it, since it leaves out the scoreboards of all but the last of a run of such
//! instructions; that the hazard check finds nothing in its code is the evidence (`docs/facts/latency.md`). Code that ptxc makes does
//! not rely on it.

use crate::table::{Op, Pipe, Returns};

/// Whether the results of `earlier` are there when those of `later`, issued behind it, are: loads from shared memory, atomics in it and
/// shuffles return in order, so do reads of textures, turned matrices, loads from constant banks, results of barriers, reductions
/// over the warp, and what the units for transcendentals and double precision compute.
pub fn returns_behind(earlier: Op, later: Op) -> bool {
    let (row, other) = (earlier.row(), later.row());
    match row.returns {
        Returns::Shared | Returns::Texture => row.returns == other.returns,
        Returns::Alike => earlier == later,
        Returns::Unordered => matches!(row.pipe, Pipe::Xu | Pipe::Fp64) && other.pipe == row.pipe,
    }
}

/// Whether `earlier` has read its operands when `later`, issued behind it, has: the queue of the memory pipe
/// is one, and so are those of textures, transcendentals and double precision. Addresses are overwritten behind a wait for a later
/// access; so are the name and the count of a barrier behind a wait for the barrier's result.
pub fn reads_behind(earlier: Op, later: Op) -> bool {
    if earlier == Op::BAR_RED {
        return later == Op::B2R;
    }
    let pipe = earlier.row().pipe;
    matches!(pipe, Pipe::Lsu | Pipe::Xu | Pipe::Fp64 | Pipe::Tex) && later.row().pipe == pipe
}

/// The least number of cycles between a branch that is taken and its target: NVIDIA's assembler gives `BRXU` a stall of 1, and
/// counts on more.
pub const LEAST_BRANCH: u8 = 2;
