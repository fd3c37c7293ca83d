//! Distances that no register is the cause of.
//!
//! In: an instruction that others must keep away from, as [`Ahead::of`] tells, and one behind it. Out: the least sum of
//! the stalls from the one to the other, in cycles, as NVIDIA's assembler keeps it without exception.
//!
//! ```
//! use ptxc_sass::latency::Ahead;
//! use ptxc_machine::Arch;
//! use ptxc_sass::{Inst, Op, Operand, PReg};
//!
//! let result = Inst::<PReg>::new(Op::B2R).ops([Operand::reg(PReg::r(0))]);
//! let barrier = Inst::<PReg>::new(Op::BAR_SYNC).ops([Operand::imm(0)]);
//! let ahead = Ahead::of(&result).unwrap();
//! assert_eq!(ahead.distance(Arch::Sm86, &barrier), 4);
//! assert_eq!(ahead.distance(Arch::Sm90, &barrier), 2);
//! ```
//!
//! What the figures rest on is told in `docs/facts/latency.md` and `docs/facts/barriers.md`.

use ptxc_machine::Arch;

use crate::inst::Inst;
use crate::operand::OperandKind;
use crate::register::Register;
use crate::table::{BarrierResult, Completion, LatencyClass, Op, Pipe, SpecialReg};

/// What an instruction is that others must keep away from, whatever registers they touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ahead {
    /// A `BAR`.
    ///
    /// | behind it | sm_75 | sm_80, sm_86, sm_89 | sm_90 |
    /// |---|---|---|---|
    /// | another `BAR` | 5 | 6 | 8 |
    /// | memory, control, `ULDC`, `UMOV`, whatever takes a scoreboard | 5 | 6 | 6 |
    /// | `CS2R` but of `SRZ` | 5 | 6 | 1 |
    /// | other arithmetic | 5 | 1 | 1 |
    Barrier,
    /// A `B2R`, which reads the barrier result of the warp. The next barrier may replace that without a wait for the
    /// scoreboard of the `B2R`: the two keep their order and this distance.
    ///
    /// | behind it | sm_75, sm_80, sm_86, sm_89 | sm_90 |
    /// |---|---|---|
    /// | a `BAR`, an `R2B` | 4 | 2 |
    BarrierResult,
    /// A `B2R` of which nothing is kept, `B2R.RESULT RZ`: as the others, but NVIDIA's code for sm_90 has had a barrier
    /// right behind it.
    UnreadResult,
    /// A `CGAERRBAR`: 8 cycles to a barrier of the CTA or the cluster, also with a `CCTL.IVALL` between them.
    /// See `docs/facts/clusters.md`.
    ClusterErrors,
}

impl Ahead {
    /// All of them, in the order of their numbers.
    pub const ALL: [Ahead; 4] =
        [Ahead::Barrier, Ahead::BarrierResult, Ahead::UnreadResult, Ahead::ClusterErrors];

    /// The greatest distance that any of them demands, in cycles.
    pub const MOST: u8 = 8;

    /// Which of them an instruction is.
    pub fn of<R: Register>(inst: &Inst<R>) -> Option<Ahead> {
        match inst.op {
            Op::CGAERRBAR => Some(Ahead::ClusterErrors),
            op if op.is_cta_barrier() => Some(Ahead::Barrier),
            op if op.row().effects.barrier_result == BarrierResult::Read => match inst.defs().next() {
                Some(_) => Some(Ahead::BarrierResult),
                None => Some(Ahead::UnreadResult),
            },
            _ => None,
        }
    }

    /// The least distance in cycles from the issue of it to that of an instruction behind it that NVIDIA's code has anywhere: less
    /// than the [distance](Ahead::distance) that it keeps within a line, where the instruction behind begins a block.
    pub fn least<R: Register>(self, arch: Arch, behind: &Inst<R>) -> u8 {
        let distance = self.distance(arch, behind);
        match self {
            Ahead::Barrier if behind.op.is_cta_barrier() => {
                distance.min(arch.facts().distances.after_barrier.barrier_at_start)
            }
            Ahead::UnreadResult => distance.min(arch.facts().distances.after_unread_result),
            Ahead::ClusterErrors => distance.min(7),
            Ahead::Barrier | Ahead::BarrierResult => distance,
        }
    }

    /// The distance in cycles from the issue of it to that of an instruction behind it that code should keep.
    pub fn distance<R: Register>(self, arch: Arch, behind: &Inst<R>) -> u8 {
        match self {
            Ahead::Barrier => after_barrier(arch, behind),
            Ahead::BarrierResult | Ahead::UnreadResult => match behind.row().effects.barrier_result {
                BarrierResult::Set | BarrierResult::Lost => arch.facts().distances.after_barrier_result,
                BarrierResult::Read | BarrierResult::Untouched => 0,
            },
            Ahead::ClusterErrors if behind.op.is_cta_barrier() || behind.op == Op::UCGABAR_ARV => 8,
            Ahead::ClusterErrors => 0,
        }
    }
}

fn after_barrier<R: Register>(arch: Arch, inst: &Inst<R>) -> u8 {
    let after = &arch.facts().distances.after_barrier;
    let row = inst.row();
    match inst.op {
        Op::NOP => after.nothing,
        op if op.is_cta_barrier() => after.barrier,
        Op::CS2R | Op::CS2R_32 if !reads_zero(inst) => after.clock,
        _ if row.pipe == Pipe::Control || row.latency == LatencyClass::Umov => after.announced,
        _ if inst.completion(arch) != Completion::Fixed => after.announced,
        _ => after.arithmetic,
    }
}

/// Whether it writes zeros: `CS2R R2, SRZ`.
fn reads_zero<R: Register>(inst: &Inst<R>) -> bool {
    inst.operands.iter().any(|operand| operand.kind == OperandKind::Special(SpecialReg::Zero))
}
