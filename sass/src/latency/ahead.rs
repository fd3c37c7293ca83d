//! Distances that are not caused by registers.
//!
//! In: an instruction that later ones must keep away from, as [`Ahead::of`] tells, and a later
//! instruction. Out: the least sum of the stalls from the first to the second, in cycles, which
//! NVIDIA's assembler keeps without exception.
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
//! The evidence for the figures is in `docs/facts/latency.md` and `docs/facts/barriers.md`.

use ptxc_machine::Arch;

use crate::inst::Inst;
use crate::operand::OperandKind;
use crate::register::Register;
use crate::special::SpecialReg;
use crate::table::{BarrierResult, Completion, LatencyClass, Op, Pipe};

/// The kind of an instruction that later ones must keep away from, whatever registers they touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ahead {
    /// A `BAR`.
    ///
    /// | after it | sm_75 | sm_80, sm_86, sm_89 | sm_90 |
    /// |---|---|---|---|
    /// | another `BAR` | 5 | 6 | 8 |
    /// | memory, control, `ULDC`, `UMOV`, all that take a scoreboard | 5 | 6 | 6 |
    /// | `CS2R`, except of `SRZ` | 5 | 6 | 1 |
    /// | other arithmetic | 1 | 1 | 1 |
    Barrier,
    /// A `B2R`, which reads the barrier result of the warp. The next barrier may replace the result
    /// without a wait for the scoreboard of the `B2R`: the two keep their order and this distance.
    ///
    /// | after it | sm_75, sm_80, sm_86, sm_89 | sm_90 |
    /// |---|---|---|
    /// | a `BAR`, an `R2B` | 4 | 2 |
    BarrierResult,
    /// A `B2R` whose result is dropped, `B2R.RESULT RZ`: as the others, except that NVIDIA's code
    /// for sm_90 has had a barrier right after it.
    UnreadResult,
    /// A `CGAERRBAR`: 8 cycles to a barrier of the CTA or the cluster, also with a `CCTL.IVALL`
    /// between them. See `docs/facts/clusters.md`.
    ClusterErrors,
    /// A `WARPGROUP.ARRIVE`: 6 cycles to a product of a warpgroup.
    Arrival,
    /// A product of a warpgroup: 4 cycles to the next.
    Product,
}

impl Ahead {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Ahead; 6] = [
        Ahead::Barrier,
        Ahead::BarrierResult,
        Ahead::UnreadResult,
        Ahead::ClusterErrors,
        Ahead::Arrival,
        Ahead::Product,
    ];

    /// The greatest distance that any kind demands, in cycles.
    pub const MOST: u8 = 8;

    /// The kind of an instruction, if it has one.
    pub fn of<R: Register>(inst: &Inst<R>) -> Option<Ahead> {
        match inst.op {
            Op::CGAERRBAR => Some(Ahead::ClusterErrors),
            Op::WARPGROUP_ARRIVE => Some(Ahead::Arrival),
            op if op.row().completion == Completion::Group => Some(Ahead::Product),
            op if op.row().cta_barrier => Some(Ahead::Barrier),
            op if op.row().effects.barrier_result == BarrierResult::Read => match inst.defs().next() {
                Some(_) => Some(Ahead::BarrierResult),
                None => Some(Ahead::UnreadResult),
            },
            _ => None,
        }
    }

    /// The least distance in NVIDIA's code from the issue of this instruction to that of a later
    /// one, in cycles. If the later instruction begins a block, it is less than the
    /// [distance](Ahead::distance) that straight code keeps.
    pub fn least<R: Register>(self, arch: Arch, later: &Inst<R>) -> u8 {
        let distance = self.distance(arch, later);
        match self {
            Ahead::Barrier if later.op.row().cta_barrier => {
                distance.min(arch.facts().distances.after_barrier.barrier_at_start)
            }
            Ahead::UnreadResult => distance.min(arch.facts().distances.after_unread_result),
            Ahead::ClusterErrors => distance.min(7),
            Ahead::Barrier | Ahead::BarrierResult | Ahead::Arrival | Ahead::Product => distance,
        }
    }

    /// The distance that code should keep from the issue of this instruction to that of a later
    /// one, in cycles.
    pub fn distance<R: Register>(self, arch: Arch, later: &Inst<R>) -> u8 {
        match self {
            Ahead::Barrier => after_barrier(arch, later),
            Ahead::BarrierResult | Ahead::UnreadResult => match later.row().effects.barrier_result {
                BarrierResult::Set | BarrierResult::Lost => arch.facts().distances.after_barrier_result,
                BarrierResult::Read | BarrierResult::Untouched => 0,
            },
            Ahead::ClusterErrors if later.op.row().cta_barrier || later.op == Op::UCGABAR_ARV => 8,
            Ahead::ClusterErrors => 0,
            Ahead::Arrival if later.completion(arch) == Completion::Group => 6,
            Ahead::Product if later.completion(arch) == Completion::Group => 4,
            Ahead::Arrival | Ahead::Product => 0,
        }
    }
}

fn after_barrier<R: Register>(arch: Arch, inst: &Inst<R>) -> u8 {
    let after = &arch.facts().distances.after_barrier;
    let row = inst.row();
    match inst.op {
        Op::NOP => after.nothing,
        op if op.row().cta_barrier => after.barrier,
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
