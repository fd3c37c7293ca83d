//! The hazard check: does a finished program's control code protect every dependence?
//!
//! In: a [`Program`]. Out: the hazards: a producer, a consumer, a register, and the missing cycles
//! or the missing wait on some path. The check knows the instructions, their control fields and the
//! `legal` column of the latency table, but not how the control fields were made.
//!
//! # What must hold
//!
//! On every path through the program, summing stall counts from issue to issue:
//!
//! - **Fixed latency.** Between an instruction of fixed latency and one that reads (RAW) or
//!   overwrites (WAW) its result, or between its reading of a register and the overwriting of that
//!   register (WAR), there are at least the cycles that the latency table demands.
//! - **Results of variable latency.** An instruction that reads or overwrites such a result comes
//!   after a wait for the scoreboard that the producer sets as its write barrier.
//! - **Late reads.** An instruction that overwrites an operand of one that reads its operands late
//!   comes after a wait for the latter's read barrier, or its write barrier.
//! - **Counts.** `DEPBAR.LE SBn, k` waits until a scoreboard counts no more than k. The wait ends
//!   an access if more than k of the instructions that set the scoreboard, the access or later
//!   ones, return no earlier than it does. That holds for reads of textures and loads from
//!   surfaces, which return in order.
//! - **Visibility.** A scoreboard counts an instruction from the second cycle after its issue. An
//!   earlier wait does not see it, except for `DEPBAR.LE`, which looks later.
//! - **CTA barriers.** After `BAR`, 6 cycles pass before an instruction other than arithmetic, and
//!   8 before the next `BAR`. From `CGAERRBAR` to a barrier there are 8 cycles as well. Other
//!   architectures have other figures ([`Ahead`]).
//! - **Groups of products.** An instruction that reads or overwrites the result of a matrix product
//!   of a warpgroup, or overwrites one of its operands in general registers, comes after a wait
//!   (`WARPGROUP.DEPBAR.LE`) for the product's group. Products with the same accumulator follow
//!   each other without a wait.
//! - **Arrival.** Between an instruction that writes a general register and a matrix product of a
//!   warpgroup that reads it, as accumulator or as first factor, there is a `WARPGROUP.ARRIVE`,
//!   unless another product writes it.
//! - **Groups of copies.** A wait for groups of asynchronous copies (`DEPBAR.LE`) names the
//!   scoreboard that each of them sets.
//! - **Fences of views.** An instruction that relies on a `FENCE.VIEW.ASYNC`
//!   ([`Row::awaits_view`](crate::Row::awaits_view)), or leaves the function, comes after a wait for
//!   the scoreboard of the fence, or under [`Order::InOrder`] of a later fence. Between an access to
//!   shared memory and a `SYNCS.EXCH`, which makes an mbarrier, there is a fence for shared memory.
//!   NVIDIA's assembler may omit it if it proves the places distinct, so this is not checked under
//!   [`Order::InOrder`].
//! - **Barrier results.** From `B2R` to the next `BAR` there are 2 cycles, 4 before sm_90, with or
//!   without a wait for the result. `B2R` comes before the warp's next CTA barrier: no path has
//!   another barrier between it and the barrier whose result it reads, nor a call, since the callee
//!   may have one. An instruction that its guard keeps from issuing counts as issued.
//! - **Mode.** Only trap handlers use `BAR.SYNCALL`, and they use no other CTA barrier.
//! - **Reuse.** An operand kept in the reuse cache is not overwritten by the instruction that keeps
//!   it.
//! - **Calls.** When a call enters its function or a function returns, nothing is under way: all
//!   scoreboards have been waited for, and each fixed-latency access is as old as any consumer
//!   demands when the first instruction on the other side issues.
//! - **Lanes** (only [`parted_lanes`]). An exchange, vote, match or reduction of the warp, or a CTA
//!   barrier with a result, does not follow a call from which lanes may return apart, unless they
//!   meet in between ([`lanes`]).
//! - **Format.** The control field is one that the hardware accepts
//!   ([`Control::check`](crate::Control::check)).
//!
//! # How
//!
//! The check is a forward dataflow over basic blocks. The state holds the accesses that are still
//! under way: for each fixed-latency access its age in cycles, for each register the unreleased
//! scoreboards that protect it. A join takes the youngest age and the union of the pending
//! accesses, so that one state stands for all paths; ages fall and sets grow until nothing changes.
//! A fixed-latency access is forgotten at the age from which no instruction can follow it too soon.
//! That age is below [`HORIZON`](state::HORIZON), which bounds the state, so the check is linear in
//! the instructions for bounded loop nesting.
//!
//! Inside a block no ages change: accesses have the time of their issue, and those of a register
//! are linked. Between blocks the accesses are a sorted list with ages, which can be joined and
//! compared.

mod arrival;
mod fixed;
mod flow;
mod groups;
mod lanes;
mod pending;
mod state;
mod walk;
mod written;

use std::fmt;

use crate::latency::Ahead;
use crate::program::Program;
use crate::register::PReg;

/// The rule that a pair of instructions breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HazardKind {
    /// A result is read before it has been written.
    Raw,
    /// A result is overwritten before it has been written, and may be written last.
    Waw,
    /// An operand is overwritten before it is read.
    War,
    /// An instruction follows a CTA barrier too soon, a barrier follows `CGAERRBAR` too soon, or a product
    /// of a warpgroup follows its arrival or another product too soon.
    AfterBarrier,
    /// A CTA barrier follows the reading of a barrier result too soon, and may replace the result
    /// before it is read.
    AfterResult,
    /// The reuse cache keeps an operand that the instruction itself overwrites.
    StaleReuse,
    /// The control field is not one that the hardware accepts.
    Format,
    /// An instruction leaves the function for another one while something is under way.
    Boundary,
    /// Control runs past the last instruction.
    FallsOff,
    /// A barrier result is read that a later barrier may have replaced.
    LostResult,
    /// A CTA barrier that only trap handlers may use, or that they may not use.
    TrapMode,
    /// A wait for groups of copies does not know of a group.
    LostGroup,
    /// An instruction relies on a fence of the asynchronous view, but does not wait for it.
    UnawaitedFence,
    /// An instruction of the warp sees only a part of its lanes, because a call has parted them.
    Parted,
    /// An mbarrier is made while accesses to shared memory may still be under way, without a fence
    /// in between.
    UnfencedExchange,
    /// A matrix product of a warpgroup reads registers that another instruction wrote after the last
    /// `WARPGROUP.ARRIVE`.
    Unarrived,
    /// A general register is named that the warp has given back, or that it has not been granted.
    Ungranted,
}

impl HazardKind {
    /// The kind of hazard if an instruction follows too soon after one that it must keep away from.
    pub const fn of_ahead(ahead: Ahead) -> HazardKind {
        match ahead {
            Ahead::Barrier | Ahead::ClusterErrors | Ahead::Arrival | Ahead::Product => {
                HazardKind::AfterBarrier
            }
            Ahead::BarrierResult | Ahead::UnreadResult => HazardKind::AfterResult,
        }
    }
}

/// A dependence that is not protected on some path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hazard {
    /// The index of the instruction that comes too soon.
    pub consumer: u32,
    /// The index of the instruction that it comes too soon after.
    pub producer: u32,
    /// The rule.
    pub kind: HazardKind,
    /// The register, if there is one.
    pub reg: Option<PReg>,
    /// The missing protection.
    pub lack: Lack,
}

/// The protection that a dependence lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lack {
    /// Cycles between the two issues.
    Cycles {
        /// The number that is needed.
        need: u8,
        /// The number on the shortest path.
        have: u8,
    },
    /// A wait for one of these scoreboards (a bit each); none if the producer sets none.
    Wait(u8),
    /// A wait for the producer's group of matrix products.
    Group,
    /// Something that no wait repairs.
    Rule,
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            HazardKind::Raw => "reads",
            HazardKind::Boundary => "leaves the function before it is settled with",
            HazardKind::Waw | HazardKind::War => "overwrites",
            HazardKind::AfterBarrier | HazardKind::AfterResult => "follows",
            HazardKind::StaleReuse => "keeps in the reuse cache and overwrites",
            HazardKind::Format => {
                return write!(f, "/*{:04x}*/ has an illegal control field", self.consumer * 16);
            }
            HazardKind::LostGroup => "does not wait for the copies",
            HazardKind::UnawaitedFence => "does not wait for the fence",
            HazardKind::UnfencedExchange => "makes an mbarrier without a fence after",
            HazardKind::Unarrived => "reads without WARPGROUP.ARRIVE",
            HazardKind::Ungranted => "names without having",
            HazardKind::Parted => "may be executed by lanes that have diverged",
            HazardKind::LostResult => "reads a barrier result after",
            HazardKind::TrapMode => return write!(f, "/*{:04x}*/ is not for this mode", self.consumer * 16),
            HazardKind::FallsOff => return write!(f, "/*{:04x}*/ runs past the end", self.consumer * 16),
        };
        write!(f, "/*{:04x}*/ {what}", self.consumer * 16)?;
        if let Some(reg) = self.reg {
            write!(f, " {reg}")?;
        }
        let of = match self.kind {
            HazardKind::Raw | HazardKind::Waw | HazardKind::LostGroup | HazardKind::Unarrived => " of",
            HazardKind::Ungranted => " after",
            HazardKind::UnawaitedFence | HazardKind::Parted => " at",
            HazardKind::Boundary => " of",
            HazardKind::War => ", which is still to be read by",
            _ => "",
        };
        write!(f, "{of} /*{:04x}*/", self.producer * 16)?;
        match self.lack {
            Lack::Cycles { need, have } => write!(f, " after {have} cycles, not {need}"),
            Lack::Wait(0) => write!(f, ", which sets no scoreboard"),
            Lack::Wait(mask) => {
                let names: Vec<String> =
                    (0..8).filter(|sb| mask & (1 << sb) != 0).map(|sb| format!("SB{sb}")).collect();
                write!(f, " without waiting for {}", names.join(" or "))
            }
            Lack::Group => write!(f, " without waiting for its group"),
            Lack::Rule => Ok(()),
        }
    }
}

/// The waits that end an access which is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Waits for a scoreboard that the instruction itself sets. ptxc's own code keeps this rule.
    #[default]
    Own,
    /// Also waits for a scoreboard of a later instruction that cannot overtake it: the memory pipe
    /// reads operands in order, and [results return in order](crate::return_order) from loads from
    /// shared memory and some others. Two instructions whose guards exclude each other do not
    /// conflict, and accesses may be under way at calls and returns. NVIDIA's assembler relies on
    /// these rules; no document states them.
    InOrder,
}

/// Checks a program; the hazards come in the order of their consumers, each pair of instructions
/// and rule once.
pub fn check(program: &Program) -> Result<(), Vec<Hazard>> {
    check_with(program, Order::Own)
}

/// Instructions of the warp that lanes may reach apart from each other because of a call
/// ([`HazardKind::Parted`]), in order. `ptxc verify` reports them in addition to the other hazards.
/// The compiler proves more about its own code, before register allocation.
pub fn parted_lanes(program: &Program) -> Vec<Hazard> {
    lanes::run(program, &|| {})
}

/// Like [`check`], with a choice of the accesses that a wait ends.
pub fn check_with(program: &Program, order: Order) -> Result<(), Vec<Hazard>> {
    check_polling(program, order, &|| {})
}

/// Like [`check_with`]; calls `poll` at each instruction, which may unwind.
pub fn check_polling(program: &Program, order: Order, poll: &dyn Fn()) -> Result<(), Vec<Hazard>> {
    let mut hazards = flow::run(program, order, poll);
    hazards.sort();
    hazards
        .dedup_by(|a, b| (a.consumer, a.producer, a.kind, a.reg) == (b.consumer, b.producer, b.kind, b.reg));
    if hazards.is_empty() { Ok(()) } else { Err(hazards) }
}
