//! The hazard check: does a finished program's control code protect every dependence?
//!
//! In goes a [`Program`], out come the hazards: a producer, a consumer, a register, and the cycles or the
//! wait that they lack on some path. It knows the instructions, their control fields and the `legal`
//! column of the latency table, and nothing of how the control fields came about.
//!
//! # What must hold
//!
//! On every path through the program, summing stall counts from issue to issue:
//!
//! - **Fixed latency.** Between an instruction of fixed latency and one that reads (RAW) or overwrites
//!   (WAW) its result, or between its reading of a register and the overwriting of it (WAR), lie the
//!   cycles that the latency table demands.
//! - **Results of variable latency.** Whoever reads or overwrites such a result comes after a wait for
//!   the scoreboard that the producer sets as its write barrier.
//! - **Late reads.** Whoever overwrites an operand of an instruction that reads its operands late comes
//!   after a wait for the producer's read barrier, or its write barrier.
//! - **Counts.** `DEPBAR.LE SBn, k` waits until a scoreboard counts no more than k. That ends an access where more than k of
//!   those that set the scoreboard, it or later ones, come back no earlier than it does: reads of textures and loads from
//!   surfaces, which return in order.
//! - **Visibility.** A scoreboard counts an instruction from the second cycle after its issue; a wait
//!   that comes earlier does not see it; `DEPBAR.LE` does, whose looking takes longer.
//! - **CTA barriers.** After `BAR`, 6 cycles pass before an instruction that is no arithmetic, and 8
//!   before the next `BAR`; from `CGAERRBAR` to a barrier it is 8 as well. Other architectures have other figures
//!   ([`Ahead`]).
//! - **Groups of copies.** A wait for groups of asynchronous copies (`DEPBAR.LE`) names the scoreboard that each of them sets.
//! - **Fences of views.** What relies on a `FENCE.VIEW.ASYNC` ([`Op::awaits_view`](crate::Op::awaits_view)), and whoever leaves the
//!   function, comes after a wait for its scoreboard. Between an access to shared memory and a `SYNCS.EXCH`, which makes an mbarrier,
//!   stands one for shared memory; NVIDIA's assembler may leave it out where it proves the places distinct, so that this is not
//!   asked of code that relies on order.
//! - **Barrier results.** From `B2R` to the next `BAR` it is 2 cycles, 4 before sm_90, with or without a wait for the
//!   result. `B2R` comes before the warp's next CTA barrier: on no path does one lie between it and the
//!   barrier whose result it reads, nor a call, which may hold one. What a guard keeps from issuing counts as issued.
//! - **Mode.** `BAR.SYNCALL` stands in trap handlers alone; in them there is no other CTA barrier.
//! - **Reuse.** An operand kept in the reuse cache is not overwritten by the instruction that keeps it.
//! - **Calls.** Where a call goes to its function or a function returns, nothing is under way: all scoreboards have been
//!   waited for, and each fixed-latency access is as old as any consumer demands when the first instruction on the
//!   other side issues.
//! - **Lanes** ([`parted_lanes`] alone). An exchange, vote, match or reduction of the warp, or a CTA barrier with a result, does
//!   not come behind a call from which lanes may return apart, unless they meet in between ([`lanes`]).
//! - **Format.** The control field is one that the hardware accepts ([`Control::check`](crate::Control::check)).
//!
//! # How
//!
//! A forward dataflow over basic blocks. The state is what is still under way: for each fixed-latency
//! access its age in cycles, for each register the unreleased scoreboards that protect it. At joins the
//! youngest age and the union of what is pending win, so that one state stands for all paths; ages fall
//! and sets grow until nothing changes. Fixed-latency accesses are forgotten at the age from which nobody can come too soon
//! behind them, below [`HORIZON`](state::HORIZON), which bounds the state, and the check is linear in the instructions for
//! bounded loop nesting.
//!
//! Inside a block nothing ages: accesses have the time of their issue, and those of a register are linked. Only between
//! blocks are they a sorted list with ages, which can be joined and compared.

mod fixed;
mod flow;
mod lanes;
mod pending;
mod state;
mod walk;
mod written;

use std::fmt;

use crate::latency::Ahead;
use crate::program::Program;
use crate::register::PReg;

/// Which rule a pair of instructions breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HazardKind {
    /// A result is read before it is there.
    Raw,
    /// A result is overwritten before it is there, and may come last.
    Waw,
    /// An operand is overwritten before it is read.
    War,
    /// An instruction follows a CTA barrier too soon, or a barrier follows `CGAERRBAR` too soon.
    AfterBarrier,
    /// A CTA barrier follows the reading of a barrier result too soon, and may replace the result before.
    AfterResult,
    /// The reuse cache keeps an operand that the instruction itself overwrites.
    StaleReuse,
    /// The control field is not one that the hardware accepts.
    Format,
    /// An instruction leaves the function for another one while something is under way.
    Boundary,
    /// Control runs past the last instruction.
    FallsOff,
    /// A barrier result is read that a later barrier may have taken the place of.
    LostResult,
    /// A CTA barrier that trap handlers alone may have, or may not have.
    TrapMode,
    /// A wait for groups of copies does not know of a group.
    LostGroup,
    /// A fence of the asynchronous view is not awaited by what relies on it.
    UnawaitedFence,
    /// An instruction of the warp sees a part of its lanes, which a call has parted.
    Parted,
    /// An mbarrier is made where accesses to shared memory may still be under way, without a fence in between.
    UnfencedExchange,
}

impl HazardKind {
    /// The kind of what follows an instruction too soon that it must keep away from.
    pub const fn of_ahead(ahead: Ahead) -> HazardKind {
        match ahead {
            Ahead::Barrier | Ahead::ClusterErrors => HazardKind::AfterBarrier,
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
    /// The register, where there is one.
    pub reg: Option<PReg>,
    /// What lacks.
    pub lack: Lack,
}

/// What a dependence lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lack {
    /// Cycles between the two issues.
    Cycles {
        /// That many are needed.
        need: u8,
        /// That many are there on the shortest path.
        have: u8,
    },
    /// A wait for one of these scoreboards (a bit each); none if the producer sets none.
    Wait(u8),
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
            HazardKind::UnfencedExchange => "makes an mbarrier without a fence behind",
            HazardKind::Parted => "may be executed by lanes that have come apart",
            HazardKind::LostResult => "reads a barrier result behind",
            HazardKind::TrapMode => return write!(f, "/*{:04x}*/ is not for this mode", self.consumer * 16),
            HazardKind::FallsOff => return write!(f, "/*{:04x}*/ runs past the end", self.consumer * 16),
        };
        write!(f, "/*{:04x}*/ {what}", self.consumer * 16)?;
        if let Some(reg) = self.reg {
            write!(f, " {reg}")?;
        }
        let of = match self.kind {
            HazardKind::Raw | HazardKind::Waw | HazardKind::LostGroup => " of",
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
            Lack::Rule => Ok(()),
        }
    }
}

/// Which waits end what is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Waits for a scoreboard that the instruction itself sets. Code that ptxc makes keeps this.
    #[default]
    Own,
    /// Also waits for a scoreboard of a later instruction that can't overtake it: the memory pipe reads
    /// operands in order, and [so do results return](crate::return_order) of loads from shared memory and of others; nor do
    /// two instructions meet whose guards exclude each other, and nothing need have settled at calls and returns. NVIDIA's assembler
    /// relies on it; no document says so.
    InOrder,
}

/// Checks a program; the hazards come in the order of their consumers, each pair of instructions and rule
/// once.
pub fn check(program: &Program) -> Result<(), Vec<Hazard>> {
    check_with(program, Order::Own)
}

/// Instructions of the warp that lanes may come to apart from each other because of a call ([`HazardKind::Parted`]), in order: what
/// `ptxc verify` finds beside the other hazards. The compiler proves more of its own code, before there are registers.
pub fn parted_lanes(program: &Program) -> Vec<Hazard> {
    lanes::run(program, &|| {})
}

/// The same with other rules of what a wait ends.
pub fn check_with(program: &Program, order: Order) -> Result<(), Vec<Hazard>> {
    check_polling(program, order, &|| {})
}

/// The same; `poll` is called at each instruction, and may unwind.
pub fn check_polling(program: &Program, order: Order, poll: &dyn Fn()) -> Result<(), Vec<Hazard>> {
    let mut hazards = flow::run(program, order, poll);
    hazards.sort();
    hazards
        .dedup_by(|a, b| (a.consumer, a.producer, a.kind, a.reg) == (b.consumer, b.producer, b.kind, b.reg));
    if hazards.is_empty() { Ok(()) } else { Err(hazards) }
}
