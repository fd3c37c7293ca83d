//! The least distance between the issues of two dependent instructions.
//!
//! In: two instructions and the operands through which the second depends on the first. Out: the
//! least sum of the stalls from the first to the second, in cycles, in two figures: the scheduler
//! and the control pass use [`Latency::safe`], the hazard check demands [`Latency::legal`].
//!
//! ```
//! use ptxc_sass::latency::{Dependence, Side, latency};
//! use ptxc_machine::Arch;
//! use ptxc_sass::{Inst, Op, Operand, PReg, slot_name};
//!
//! let [r0, r1] = [0, 1].map(|n| Operand::reg(PReg::r(n)));
//! let set = Inst::new(Op::FADD).ops([r0, r1, r1]);
//! let read = Inst::new(Op::IADD3).ops([r1, r0, r1, Operand::rz()]);
//! let a = read.slot_index(slot_name!("a")).unwrap() as u8;
//! let found = latency(
//!     Arch::Sm90,
//!     Dependence::Raw,
//!     Side { inst: &set, slot: 0, component: 0 },
//!     Side { inst: &read, slot: a, component: 0 },
//! );
//! assert_eq!((found.safe, found.legal), (5, 5));
//! ```
//!
//! The numbers are in one file per architecture, `machine/data/sm_*/latency.csv`, keyed by
//! dependence, register file and the [`LatencyClass`](crate::LatencyClass) of both sides, with a
//! source and the number of observations. A file is read once into a dense array; a query is one
//! lookup. The evidence for the figures is in `docs/facts/latency.md`.
//!
//! Only *fixed* latencies are here. If the first side announces the event by a scoreboard
//! ([`Completion::Variable`], [`Completion::LateRead`]), the answer is [`Latency::SCOREBOARD`]: the
//! distance at which a wait sees the scoreboard taken. [`reads_at_issue`] tells which operands need
//! no scoreboard. [`Ahead`] has the distances that are not caused by registers, such as those after
//! a `BAR`.

mod ahead;
mod port;
mod table;
mod timing;

use ptxc_machine::Arch;

use crate::inst::Inst;
use crate::operand::OperandKind;
use crate::register::{RegFile, Register};
use crate::table::{Completion, Op, Role};
pub use ahead::Ahead;
pub use port::Port;
pub use table::{Entry, entries};

/// How the second instruction depends on the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dependence {
    /// The second reads what the first writes.
    Raw,
    /// The second overwrites what the first reads.
    War,
    /// The second overwrites what the first writes.
    Waw,
}

/// One end of a dependence: an operand of an instruction.
#[derive(Debug)]
pub struct Side<'a, R> {
    /// The instruction.
    pub inst: &'a Inst<R>,
    /// Its slot; the number of its slots for the guard.
    pub slot: u8,
    /// The number of the register among the slot's neighbouring registers, from 0.
    pub component: u8,
}

impl<R> Clone for Side<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Side<'_, R> {}

/// The source of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The least distance that NVIDIA's assembler was seen to keep for this pair of classes.
    Mined,
    /// The figure of the class as established on sm_90; this pair was not seen itself.
    Table,
    /// Nothing is known about the pair: `safe` is the greatest figure of the producer, `legal` the
    /// least.
    Bound,
    /// A scoreboard announces the event; the figure is the distance from the instruction that takes
    /// the scoreboard to the first wait.
    Scoreboard,
}

/// A distance between two issues, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Latency {
    /// The distance that a compiler should keep.
    pub safe: u8,
    /// The distance that a program must keep; at most `safe`.
    pub legal: u8,
    /// The source of both figures.
    pub source: Source,
}

impl Latency {
    /// From the issue of an instruction that takes a scoreboard to the first instruction that waits
    /// for it: the counter is visible one cycle after issue.
    pub const SCOREBOARD: Latency = Latency { safe: 2, legal: 2, source: Source::Scoreboard };

    /// For a pair of classes that no file names: the greatest fixed latency of any class.
    pub const UNKNOWN: Latency = Latency { safe: 26, legal: 1, source: Source::Bound };

    /// Whether it is [`UNKNOWN`](Self::UNKNOWN).
    const fn is_unknown(self) -> bool {
        let Latency { safe, legal, source } = Latency::UNKNOWN;
        self.safe == safe && self.legal == legal && self.source as u8 == source as u8
    }
}

/// The least distance between the issues of two dependent instructions.
///
/// The register file follows from the definition's side: the producer for [`Dependence::Raw`] and
/// [`Dependence::Waw`], the consumer for [`Dependence::War`] (there, `producer` names the reader,
/// which comes first in the program).
pub fn latency<R: Register>(
    arch: Arch,
    dependence: Dependence,
    producer: Side<'_, R>,
    consumer: Side<'_, R>,
) -> Latency {
    let definition = if dependence == Dependence::War { consumer } else { producer };
    let file = file_of(definition);
    let announced = match dependence {
        Dependence::Raw | Dependence::Waw => producer.inst.completion(arch).is_unknown(),
        Dependence::War => !reads_at_issue(arch, producer.inst, file),
    };
    if announced {
        return Latency::SCOREBOARD;
    }
    let guard = dependence == Dependence::Raw && reads_as_guard(consumer);
    table::lookup(arch, dependence, guard, file, Port::of_producer(producer), Port::of_consumer(consumer))
}

/// The distance from the issue of an instruction to unknown code, such as a called function, that
/// may read and overwrite the register in a slot (if `written`), or only overwrite it: the greatest
/// figure of any consumer. Accesses that a scoreboard announces need no distance.
pub fn settled<R: Register>(arch: Arch, producer: Side<'_, R>, written: bool) -> Latency {
    let file = file_of(producer);
    let announced = match written {
        true => producer.inst.completion(arch).is_unknown(),
        false => !reads_at_issue(arch, producer.inst, file),
    };
    if announced {
        return Latency::SCOREBOARD;
    }
    table::settled(arch, written, file, Port::of_producer(producer))
}

/// The distance from the issue of any instruction to an instruction that overwrites one of its
/// operands: the greatest [`Latency::legal`] of a [`Dependence::War`].
pub fn until_overwritten(arch: Arch) -> u8 {
    table::overwriting(arch).max(Latency::SCOREBOARD.legal)
}

/// Whether an instruction reads the register operands in a slot when it issues, so that they may be
/// overwritten without waiting for a read scoreboard. Variable-latency instructions fetch their
/// general registers late, but predicates (including the guard) and uniform registers at issue.
/// Bulk copies fetch uniform registers late, too.
///
/// For a memory address, `file` chooses between its general and its uniform part.
pub fn reads_at_issue<R: Register>(arch: Arch, inst: &Inst<R>, file: RegFile) -> bool {
    match inst.completion(arch) {
        Completion::Fixed => true,
        Completion::LateUniformRead => file.is_predicate(),
        Completion::Variable | Completion::LateRead | Completion::Group => file != RegFile::Gpr,
    }
}

impl Op {
    /// The least stall count that follows it, in cycles.
    #[inline]
    pub fn min_stall(self, arch: Arch) -> u8 {
        self.row().min_stall_on(arch)
    }
}

/// Whether an operand is read as late as a guard: the guard itself, and the predicate that `VOTE`
/// counts, although `VOTE` reads no other operand late.
pub fn reads_as_guard<R: Register>(side: Side<'_, R>) -> bool {
    let slots = side.inst.row().slots;
    let slot = usize::from(side.slot);
    slot == slots.len() || side.inst.op == Op::VOTE && slots[slot].role != Role::Def
}

#[inline]
fn file_of<R: Register>(side: Side<'_, R>) -> RegFile {
    match side.inst.operands.get(usize::from(side.slot)).map(|operand| operand.kind) {
        Some(OperandKind::Reg(reg)) => reg.file(),
        Some(OperandKind::Zero(file)) => file,
        // All predicates are those of the file that guards the instruction.
        Some(OperandKind::Predicates) => side.inst.row().guard,
        _ => RegFile::Gpr,
    }
}

#[cfg(test)]
mod tests;
