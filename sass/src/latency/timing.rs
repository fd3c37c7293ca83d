//! What the time of an instruction depends on, as far as its row tells. It is computed when this crate is compiled, because
//! the scheduler and the hazard check ask for it with every dependence.
//!
//! In: an operation. Out: its [`Timing`].

use ptxc_machine::{Arch, Feature, PerArch, per_arch};

use super::port::Port;
use crate::inst::Inst;
use crate::register::Register;
use crate::table::{Completion, LatencyClass, Op, Row, per_op};

/// The facts about time that follow from a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// How its completion is tracked, by architecture.
    completions: PerArch<Completion>,
    /// The port where its results leave and its operands enter.
    pub(super) port: Port,
    /// Whether some of its results or operands have other ports.
    pub(super) has_other_ports: bool,
}

impl Timing {
    const fn of(op: Op) -> Timing {
        let row = op.row();
        Timing {
            completions: per_arch!(ARCH => completion_on(row, ARCH)),
            port: Port::of_class(row.latency),
            has_other_ports: matches!(row.latency, LatencyClass::ImadWide | LatencyClass::Mma)
                || matches!(op, Op::ELECT),
        }
    }
}

/// The timing of an operation.
#[inline]
pub(super) fn timing(op: Op) -> &'static Timing {
    static TIMINGS: [Timing; Op::ALL.len()] = per_op!(Timing::of);
    &TIMINGS[op as usize]
}

/// The [completion](Inst::completion) of a row's instructions.
const fn completion_on(row: &Row, arch: Arch) -> Completion {
    let is_fixed = match row.latency {
        LatencyClass::Fp64 => arch.has(Feature::FixedDoubles),
        LatencyClass::R2ur => arch.has(Feature::FixedMovesToUniform),
        LatencyClass::Mma => arch.has(Feature::FixedMatrixProducts),
        _ => true,
    };
    if is_fixed { row.completion } else { Completion::Variable }
}

impl<R: Register> Inst<R> {
    /// How the machine announces that the instruction is done, as the row says. Double precision,
    /// moves from general to uniform registers and products of matrices announce their results by
    /// scoreboards where their latency is not fixed ([`FixedDoubles`](Feature::FixedDoubles) and
    /// the two features after it).
    #[inline]
    pub fn completion(&self, arch: Arch) -> Completion {
        *timing(self.op).completions.get(arch)
    }
}
