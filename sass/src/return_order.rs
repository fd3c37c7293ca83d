//! The instructions of variable latency whose results return in the order of issue.
//!
//! No document states this order. NVIDIA's assembler relies on it: in a run of such instructions it
//! names a scoreboard only for the last one. The evidence is that the hazard check finds no error
//! in its code (`docs/facts/latency.md`). ptxc's own code does not rely on it.

use crate::table::{Op, Pipe};

/// Whether the results of `earlier` are there as soon as those of `later`, issued after it, are.
/// Loads from shared memory, atomics in it and shuffles return in order. So do reads of textures,
/// transposed matrices, loads from constant banks, results of barriers, reductions over the warp,
/// and results of the units for transcendentals and double precision.
pub fn returns_behind(earlier: Op, later: Op) -> bool {
    match earlier {
        _ if is_of_shared_queue(earlier) => is_of_shared_queue(later),
        Op::LDC | Op::B2R | Op::REDUX | Op::MOVM => earlier == later,
        _ if is_texture(earlier) => is_texture(later),
        _ => matches!(earlier.row().pipe, Pipe::Xu | Pipe::Fp64) && later.row().pipe == earlier.row().pipe,
    }
}

/// Whether `earlier` has read its operands as soon as `later`, issued after it, has. The memory
/// pipe has one queue, and so have textures, transcendentals and double precision. NVIDIA's code
/// overwrites addresses after a wait for a later access, and the name and count of a barrier after
/// a wait for the barrier's result.
pub fn reads_behind(earlier: Op, later: Op) -> bool {
    if earlier == Op::BAR_RED {
        return later == Op::B2R;
    }
    let pipe = earlier.row().pipe;
    matches!(pipe, Pipe::Lsu | Pipe::Xu | Pipe::Fp64 | Pipe::Tex) && later.row().pipe == pipe
}

/// Whether the predicate of the instruction, which tells whether the address is in shared memory,
/// is there as soon as it has read its operands. Code of NVIDIA's assembler branches on the
/// predicate after a wait for the read scoreboard, while the old value is still under way.
pub fn tells_space_early(op: Op) -> bool {
    matches!(op, Op::ATOM | Op::ATOM_CAS | Op::ATOM_COUNT | Op::ATOM_ARRIVE)
}

/// Whether its result comes from shared memory, or through the same queue.
fn is_of_shared_queue(op: Op) -> bool {
    matches!(op, Op::LDS | Op::LDSM | Op::SHFL | Op::ATOMS | Op::ATOMS_CAS)
}

/// The least number of cycles between a taken branch and its target: NVIDIA's assembler gives
/// `BRXU` a stall of 1, and relies on more.
pub const LEAST_BRANCH: u8 = 2;

/// Whether it reads a texture or asks for its kind.
fn is_texture(op: Op) -> bool {
    matches!(op, Op::TEX | Op::TEX_B | Op::TLD | Op::TLD_B | Op::TLD4 | Op::TLD4_B)
        || matches!(op, Op::TXD | Op::TXD_B | Op::TXQ | Op::TXQ_B | Op::SULD | Op::SULD_R)
}
