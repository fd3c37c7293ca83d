//! Matrices of 8 by 8 elements of 16 bits, spread over the warp: an eighth of the warp holds a row,
//! and a lane holds two elements.

use ptxc_machine::Archs;

use super::memory::{PLAIN, UNIFORM};
use super::place::{AddressPlace, Place};
use super::row::{
    Completion, Effects, Kinds, Lanes, LatencyClass, Memory, ModKind, Modifier, Pipe, Returns, Row,
    Scoreboards, Slot, Space, Width,
};

const MATRIX: Row = Row {
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    effects: Effects { convergent: true, ..Effects::NONE },
    lanes: Lanes::Share,
    ..Row::BASE
};

/// The number of matrices, and whether they are transposed.
const MODS: &[Modifier] = &[
    Modifier::new(ModKind::Mode, &[".M88", ".MT88"]).at(78, 2),
    Modifier::new(ModKind::Size, &["", ".2", ".4"]).at(72, 2),
];
const ADDRESS: Slot =
    Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR)).signed_alone(Archs::AMPERE_TO_HOPPER);

pub(super) static LDSM: Row = Row {
    mnemonic: "LDSM.16",
    summary: "load matrices from shared memory; lanes 0 to 7 have the addresses of the first one's rows, and so on",
    slots: &[
        Slot::def("d", Kinds::R).width(Width::Size).place(Place::D),
        ADDRESS.place(Place::Address(AddressPlace::PLAIN.uniform(32))),
    ],
    mods: MODS,
    forms: &[PLAIN, UNIFORM],
    effects: Effects { reads_memory: true, ..MATRIX.effects },
    opcode: 0x83b,
    memory: Memory::In(Space::Shared),
    returns: Returns::Shared,
    ..MATRIX
};

pub(super) static STSM: Row = Row {
    mnemonic: "STSM.16",
    summary: "store matrices to shared memory; lanes 0 to 7 have the addresses of the first one's rows, and so on",
    slots: &[
        ADDRESS.place(Place::Address(AddressPlace::PLAIN.uniform(64))),
        Slot::read("data", Kinds::R).width(Width::Size).at(32, 8),
    ],
    mods: MODS,
    forms: &[PLAIN, UNIFORM],
    completion: Completion::LateRead,
    effects: Effects { writes_memory: true, ..MATRIX.effects },
    archs: Archs::HOPPER,
    opcode: 0x844,
    scoreboards: Scoreboards::READ,
    memory: Memory::In(Space::Shared),
    ..MATRIX
};

pub(super) static MOVM: Row = Row {
    mnemonic: "MOVM.16.MT88",
    summary: "d = the matrix a with rows and columns changed",
    slots: &[Slot::def("d", Kinds::R).place(Place::D), Slot::read("a", Kinds::R).at(24, 8)],
    opcode: 0x23a,
    returns: Returns::Shared,
    ..MATRIX
};
