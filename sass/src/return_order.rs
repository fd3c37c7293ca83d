//! Which instructions of variable latency come back in the order in which they were issued.
//!
//! No document says so. NVIDIA's assembler relies on it, since it leaves out the scoreboards of all but the last of a run of such
//! instructions; that the hazard check finds nothing in its code is the evidence (`docs/facts/latency.md`). Code that ptxc makes does
//! not rely on it.

use crate::table::{Op, Pipe};

/// Whether the results of `earlier` are there when those of `later`, issued behind it, are: loads from shared memory, atomics in it and
/// shuffles return in order, so do reads of textures, turned matrices, loads from constant banks, results of barriers, reductions
/// over the warp, and what the units for transcendentals and double precision compute.
pub fn returns_behind(earlier: Op, later: Op) -> bool {
    match earlier {
        _ if is_of_shared_queue(earlier) => is_of_shared_queue(later),
        Op::LDC | Op::B2R | Op::REDUX | Op::MOVM => earlier == later,
        _ if is_texture(earlier) => is_texture(later),
        _ => matches!(earlier.row().pipe, Pipe::Xu | Pipe::Fp64) && later.row().pipe == earlier.row().pipe,
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

/// Whether the predicate that it writes, whether the address is one of shared memory, is there when it has read its operands:
/// code of NVIDIA's assembler branches on it behind a wait for the read scoreboard, while the old value is still under way.
pub fn tells_space_early(op: Op) -> bool {
    matches!(op, Op::ATOM | Op::ATOM_CAS | Op::ATOM_COUNT | Op::ATOM_ARRIVE)
}

/// Whether its result comes out of shared memory, or by its way.
fn is_of_shared_queue(op: Op) -> bool {
    matches!(op, Op::LDS | Op::LDSM | Op::SHFL | Op::ATOMS | Op::ATOMS_CAS)
}

/// The least number of cycles between a branch that is taken and its target: NVIDIA's assembler gives `BRXU` a stall of 1, and
/// counts on more.
pub const LEAST_BRANCH: u8 = 2;

/// Whether it reads a texture or asks for its kind.
fn is_texture(op: Op) -> bool {
    matches!(op, Op::TEX | Op::TEX_B | Op::TLD | Op::TLD_B | Op::TLD4 | Op::TLD4_B)
        || matches!(op, Op::TXD | Op::TXD_B | Op::TXQ | Op::TXQ_B | Op::SULD | Op::SULD_R)
}
