//! The instructions of variable latency whose results return in the order of issue.
//!
//! No document states this order. NVIDIA's assembler relies on it: in a run of such instructions it
//! names a scoreboard only for the last one. The evidence is that the hazard check finds no error
//! in its code (`docs/facts/latency.md`). ptxc's own code does not rely on it.

use crate::inst::Inst;
use crate::register::Register;
use crate::slot_name;
use crate::table::{Op, Pipe, Returns};

/// Whether the results of `earlier` are there as soon as those of `later`, issued after it, are.
/// Loads from shared memory, atomics in it, shuffles and transposed matrices return in order. So do
/// reads of textures, loads from constant banks, results of barriers, reductions over the warp,
/// results of the units for transcendentals and double precision, and matrix products.
pub fn returns_in_order(earlier: Op, later: Op) -> bool {
    let (row, other) = (earlier.row(), later.row());
    match row.returns {
        Returns::Shared | Returns::Texture => row.returns == other.returns,
        Returns::Alike => earlier == later,
        Returns::Unordered => {
            matches!(row.pipe, Pipe::Xu | Pipe::Fp64 | Pipe::Tensor) && other.pipe == row.pipe
        }
    }
}

/// Whether `earlier` has read its operands as soon as `later`, issued after it, has. The memory
/// pipe has one queue, and so have textures, transcendentals, double precision and matrices. NVIDIA's code
/// overwrites addresses after a wait for a later access, and the name and count of a barrier after
/// a wait for the barrier's result.
pub fn reads_in_order(earlier: Op, later: Op) -> bool {
    if earlier == Op::BAR_RED {
        return later == Op::B2R;
    }
    let pipe = earlier.row().pipe;
    matches!(pipe, Pipe::Lsu | Pipe::Xu | Pipe::Fp64 | Pipe::Tensor | Pipe::Tex) && later.row().pipe == pipe
}

/// Whether `later` reads the result of `earlier` as the matrix to which it adds. Where a scoreboard announces products,
/// NVIDIA's assembler lets such products follow each other without one: the unit adds to a result that it has just
/// computed.
pub fn adds_to<R: Register>(earlier: Op, later: &Inst<R>, slot: u8) -> bool {
    let is_addend = later.slot_index(slot_name!("c")) == Some(usize::from(slot));
    earlier == later.op && earlier.row().pipe == Pipe::Tensor && is_addend
}

/// The least number of cycles between a taken branch and its target: NVIDIA's assembler gives
/// `BRXU` a stall of 1, and relies on more.
pub const LEAST_BRANCH: u8 = 2;
