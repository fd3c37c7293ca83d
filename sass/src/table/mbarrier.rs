//! Mbarriers, the barrier of the cluster, and what grids say to each other.
//!
//! An mbarrier is a word of 64 bits in shared memory that a unit of its own works on (`SYNCS`), on sm_80 to sm_89 shared
//! atomics. What arrives at one or asks it orders memory, so that no access may cross it; ptxas keeps to that.

use super::archs::Archs;
use super::row::{Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width};
use crate::arch::Arch;

const SYNCS: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    min_stall: 1,
    effects: Effects { reads_memory: true, writes_memory: true, fence: true, ..Effects::NONE },
    archs: Archs::since(Arch::Sm90),
    spellings: &[],
    opcode: 0,
};

const ADDRESS: Slot = Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR)).names_uniform();

pub(super) static SYNCS_EXCH: Row = Row {
    mnemonic: "SYNCS.EXCH.64",
    summary: "the mbarrier at the address = data; d is the old word; it exists with uniform registers only",
    slots: &[
        Slot::def("d", Kinds::UR).width(Width::Fixed(2)),
        Slot::read("addr", Kinds::MEM_AT_UR).names_uniform(),
        Slot::read("data", Kinds::UR).width(Width::Fixed(2)),
    ],
    opcode: 0x5b2,
    ..SYNCS
};

pub(super) static SYNCS_ARRIVE: Row = Row {
    mnemonic: "SYNCS.ARRIVE.TRANS64",
    summary: "arrivals at an mbarrier and bytes that it expects; d is its state before. `.A1T0` one arrival, `.ART0` data \
              arrivals, `.A0TR` data bytes more, `.A0TX` data bytes have come, `.A0T1` one byte more, without \
              either one arrival and data bytes more; `.OPTOUT` later phases do not expect them; `.RED` has no result; with \
              `.TMASK` lanes of one address and count arrive together, and the low word of d is these lanes",
    slots: &[Slot::def("d", Kinds::R).width(Width::Fixed(2)), ADDRESS, Slot::read("data", Kinds::R)],
    mods: &[
        Modifier::new(ModKind::Reduction, &["", ".TMASK", ".RED"]),
        Modifier::new(ModKind::Variant, &["", ".OPTOUT"]),
        Modifier::new(ModKind::Mode, &["", ".A1T0", ".ART0", ".A0TR", ".A0TX", ".A0T1"]),
    ],
    opcode: 0x9a7,
    ..SYNCS
};

pub(super) static SYNCS_PHASECHK: Row = Row {
    mnemonic: "SYNCS.PHASECHK.TRANS64",
    summary: "pd = whether the last phase of an mbarrier with the parity in bit 31 of data is complete; `.TRYWAIT` may take \
              a while",
    slots: &[Slot::def("pd", Kinds::P), ADDRESS, Slot::read("data", Kinds::R)],
    mods: &[Modifier::new(ModKind::Mode, &["", ".TRYWAIT"])],
    opcode: 0x5a7,
    ..SYNCS
};

pub(super) static SYNCS_CCTL_IV: Row = Row {
    mnemonic: "SYNCS.CCTL.IV",
    summary: "there is no mbarrier at the address any more",
    slots: &[ADDRESS],
    completion: Completion::LateRead,
    opcode: 0x9b1,
    ..SYNCS
};

pub(super) static ARRIVES: Row = Row {
    mnemonic: "ARRIVES.LDGSTSBAR.64",
    summary: "arrive at an mbarrier once the thread's earlier LDGSTS are done; with `.TRANSCNT` it learns of one byte instead",
    slots: &[ADDRESS],
    mods: &[Modifier::new(ModKind::Mode, &["", ".TRANSCNT", ".ARVCNT"]).limited(&[
        ("", Archs::before(Arch::Sm90)),
        (".TRANSCNT", Archs::since(Arch::Sm90)),
        (".ARVCNT", Archs::since(Arch::Sm90)),
    ])],
    completion: Completion::LateRead,
    archs: Archs::since(Arch::Sm80),
    opcode: 0x9b0,
    ..SYNCS
};

pub(super) static ATOMS_ARRIVE: Row = Row {
    mnemonic: "ATOMS.ARRIVE.64",
    summary: "one arrival at an mbarrier; d is its state before",
    slots: &[Slot::def("d", Kinds::R).width(Width::Fixed(2)), ADDRESS],
    archs: Archs::since(Arch::Sm80).and(Archs::before(Arch::Sm90)),
    opcode: 0x9a4,
    ..SYNCS
};

const CLUSTER: Row = Row {
    pipe: Pipe::Control,
    latency: LatencyClass::Barrier,
    completion: Completion::Fixed,
    effects: Effects { convergent: true, ..SYNCS.effects },
    ..SYNCS
};

pub(super) static UCGABAR_ARV: Row = Row {
    mnemonic: "UCGABAR_ARV",
    summary: "arrive at the barrier of the cluster",
    min_stall: 6,
    opcode: 0x9c7,
    ..CLUSTER
};

pub(super) static UCGABAR_WAIT: Row = Row {
    mnemonic: "UCGABAR_WAIT",
    summary: "wait until all threads of the cluster have arrived at its barrier",
    opcode: 0xdc7,
    ..CLUSTER
};

pub(super) static ACQBULK: Row = Row {
    mnemonic: "ACQBULK",
    summary: "wait for the grids that this one depends on, and for their memory",
    min_stall: 3,
    opcode: 0x82e,
    effects: SYNCS.effects,
    ..CLUSTER
};

pub(super) static PREEXIT: Row = Row {
    mnemonic: "PREEXIT",
    summary: "grids that depend on this one may start",
    opcode: 0x82d,
    effects: SYNCS.effects,
    ..CLUSTER
};
