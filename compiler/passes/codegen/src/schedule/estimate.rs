//! Estimated latencies of instructions whose completion a scoreboard announces.
//!
//! In: an instruction. Out: cycles from its issue until its results may be read, when nothing else
//! competes. These figures steer orders and the sharing of scoreboards; nothing correct depends on
//! them.
//!
//! Source: rounded from the published microbenchmarks of Luo et al., "Benchmarking and Dissecting
//! the Nvidia Hopper GPU Architecture" (arXiv 2402.13499), for memory, and of Jia et al.,
//! "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (arXiv 1804.06826), for the
//! rest. The figure of a global load is between a hit in L2 and an access to memory.

use ptxc_sass::{Inst, Op, Pipe, Register};

/// A load from global memory, in cycles.
pub const GLOBAL_LOAD: u32 = match Op::LDG.row().estimate {
    Some(cycles) => cycles as u32,
    None => 0,
};

/// Cycles until a queued instruction has read its operands; from the depth of the memory queue at
/// an issue rate of one in four cycles.
pub const OPERAND_READ: u32 = 20;

/// Cycles until the results may be read.
pub fn completion<R: Register>(inst: &Inst<R>) -> u32 {
    let row = inst.row();
    match row.estimate {
        Some(cycles) => cycles.into(),
        None => match row.pipe {
            Pipe::Xu => 20,
            Pipe::Lsu | Pipe::Ldc => 30,
            Pipe::Fp64 => 16,
            Pipe::Control => 25,
            _ => 20,
        },
    }
}
