//! Mbarriers, the barrier of the cluster, and the signals between grids.
//!
//! An mbarrier is a word of 64 bits in shared memory. A unit of its own works on it (`SYNCS`), on
//! sm_80 to sm_89 shared atomics. Instructions that arrive at an mbarrier or query it order memory,
//! so no access may cross them; ptxas keeps this rule.

use ptxc_machine::Archs;

use super::memory::SHARED_ADDRESS;
use super::place::{AddressPlace, Bits, Fixed, Place};
use super::row::{
    Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Scoreboards, Slot, Width,
};
use crate::register::RegFile;

const SYNCS: Row = Row {
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    effects: Effects { reads_memory: true, writes_memory: true, fence: true, ..Effects::NONE },
    archs: Archs::HOPPER,
    awaits_view: true,
    ..Row::BASE
};

const ADDRESS: Slot = Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR)).names_uniform().place(UNIFORM);
const UNIFORM: Place = Place::Address(AddressPlace::PLAIN.uniform(64));
/// Bit 91: there is a uniform register, which may be URZ.
const BY_UNIFORM: Fixed = Fixed::new(91, 1, 1);

const D: Slot = Slot::def("d", Kinds::R).width(Width::Fixed(2)).place(Place::D);
const DATA: Slot = Slot::read("data", Kinds::R).at(32, 8);

pub(super) static SYNCS_EXCH: Row = Row {
    mnemonic: "SYNCS.EXCH.64",
    summary: "the mbarrier at the address = data; d is the old word; accepts only uniform registers",
    slots: &[
        Slot::def("d", Kinds::UR).width(Width::Fixed(2)).place(Place::D),
        // An address that is URZ alone counts as one without a uniform part.
        Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR)).names_uniform().place(Place::Address(
            AddressPlace { base: Bits::NONE, uniform: Bits::new(24, 6), ..AddressPlace::PLAIN },
        )),
        Slot::read("data", Kinds::UR).width(Width::Fixed(2)).at(32, 6),
    ],
    fixed: &[BY_UNIFORM, Fixed::new(72, 2, 1)],
    guard: RegFile::Upred,
    opcode: 0x5b2,
    ..SYNCS
};

pub(super) static SYNCS_ARRIVE: Row = Row {
    mnemonic: "SYNCS.ARRIVE.TRANS64",
    summary: "arrivals at an mbarrier and bytes that it expects; d is its state before. `.A1T0` one \
              arrival, `.ART0` data arrivals, `.A0TR` expects data more bytes, `.A0TX` data bytes have \
              arrived, `.A0T1` expects one more byte, without any of these one arrival and data more \
              bytes; with `.OPTOUT` later phases do not expect them; `.RED` has no result; with `.TMASK` \
              lanes of one address and count arrive together, and the low word of d is these lanes",
    slots: &[D, ADDRESS, DATA],
    mods: &[
        Modifier::new(ModKind::Reduction, &["", ".TMASK", ".RED"]).at(73, 2),
        Modifier::new(ModKind::Variant, &["", ".OPTOUT"]).at(75, 1),
        Modifier::new(ModKind::Mode, &["", ".A1T0", ".ART0", ".A0TR", ".A0TX", ".A0T1"])
            .at(84, 3)
            .codes(&[0, 1, 5, 3, 4, 2]),
    ],
    fixed: &[BY_UNIFORM],
    opcode: 0x9a7,
    ..SYNCS
};

pub(super) static SYNCS_PHASECHK: Row = Row {
    mnemonic: "SYNCS.PHASECHK.TRANS64",
    summary: "pd = whether the last phase of an mbarrier with the parity in bit 31 of data is complete; \
              `.TRYWAIT` may take a while",
    slots: &[Slot::def("pd", Kinds::P).at(81, 3), ADDRESS, DATA],
    mods: &[Modifier::new(ModKind::Mode, &["", ".TRYWAIT"]).at(72, 1)],
    fixed: &[BY_UNIFORM, Fixed::new(70, 2, 1)],
    opcode: 0x5a7,
    ..SYNCS
};

pub(super) static SYNCS_PHASECHK_NEVER: Row = Row {
    mnemonic: "SYNCS.PHASECHK.TRANS64",
    summary: "a SYNCS.PHASECHK.TRANS64 whose guard is !PT: it tests nothing",
    slots: &[Slot::def("pd", Kinds::P).place(Place::Absent), ADDRESS, DATA],
    fixed: &[BY_UNIFORM, Fixed::new(70, 2, 1), Fixed::new(81, 3, 7), Fixed::new(12, 4, 0xf)],
    completion: Completion::Fixed,
    effects: Effects::NONE,
    awaits_view: false,
    never: true,
    ..SYNCS_PHASECHK
};

pub(super) static SYNCS_CCTL_IV: Row = Row {
    mnemonic: "SYNCS.CCTL.IV",
    summary: "invalidate the mbarrier at the address",
    slots: &[ADDRESS],
    fixed: &[BY_UNIFORM],
    completion: Completion::LateRead,
    opcode: 0x9b1,
    ..SYNCS
};

pub(super) static ARRIVES: Row = Row {
    mnemonic: "ARRIVES.LDGSTSBAR.64",
    summary: "arrive at an mbarrier once the thread's earlier LDGSTS are done; with `.TRANSCNT` complete \
              one byte instead",
    slots: &[ADDRESS],
    mods: &[Modifier::new(ModKind::Mode, &["", ".TRANSCNT", ".ARVCNT"])
        .limited(&[("", Archs::TURING_TO_ADA), (".TRANSCNT", Archs::HOPPER), (".ARVCNT", Archs::HOPPER)])
        .at(70, 2)
        .codes(&[0, 2, 1])],
    fixed: &[BY_UNIFORM, Fixed::new(72, 4, 0b1010)],
    completion: Completion::LateRead,
    archs: Archs::AMPERE_TO_HOPPER,
    opcode: 0x9b0,
    scoreboards: Scoreboards::READ,
    ..SYNCS
};

pub(super) static ATOMS_ARRIVE: Row = Row {
    mnemonic: "ATOMS.ARRIVE.64",
    summary: "one arrival at an mbarrier; d is its state before",
    slots: &[
        D,
        SHARED_ADDRESS.names_uniform().place(Place::Address(AddressPlace::PLAIN.uniform(64).scale(78))),
    ],
    fixed: &[BY_UNIFORM, Fixed::new(87, 4, 9), Fixed::new(74, 1, 1)],
    archs: Archs::AMPERE_TO_ADA,
    opcode: 0xf8c,
    awaits_view: false,
    ..SYNCS
};

const CLUSTER: Row = Row {
    pipe: Pipe::Control,
    latency: LatencyClass::Barrier,
    completion: Completion::Fixed,
    effects: Effects { convergent: true, ..SYNCS.effects },
    awaits_view: false,
    ..SYNCS
};

pub(super) static UCGABAR_ARV: Row = Row {
    mnemonic: "UCGABAR_ARV",
    summary: "arrive at the barrier of the cluster",
    min_stall: 6,
    guard: RegFile::Upred,
    fixed: &[BY_UNIFORM],
    opcode: 0x9c7,
    awaits_view: true,
    ..CLUSTER
};

pub(super) static UCGABAR_WAIT: Row = Row {
    mnemonic: "UCGABAR_WAIT",
    summary: "wait until all threads of the cluster have arrived at its barrier",
    guard: RegFile::Upred,
    fixed: &[BY_UNIFORM],
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
