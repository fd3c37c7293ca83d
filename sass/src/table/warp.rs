//! Exchange between the lanes of a warp.

use super::archs::Archs;
use super::row::{Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width};
use crate::arch::Arch;

const CONVERGENT: Effects = Effects { convergent: true, ..Effects::NONE };

pub(super) static SHFL: Row = Row {
    mnemonic: "SHFL",
    summary: "d = a of another lane; pd = whether that lane was in range",
    slots: &[
        Slot::def("pd", Kinds::P).optional(),
        Slot::def("d", Kinds::R),
        Slot::read("a", Kinds::R),
        Slot::read("lane", Kinds::R.or(Kinds::IMM)),
        Slot::read("clamp", Kinds::R.or(Kinds::IMM)),
    ],
    mods: &[Modifier::new(ModKind::Mode, &[".IDX", ".UP", ".DOWN", ".BFLY"])],
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    min_stall: 1,
    effects: CONVERGENT,
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0x389,
};

pub(super) static VOTE: Row = Row {
    mnemonic: "VOTE",
    summary: "d = a bit for each active lane whose ps holds; pd = whether all, any, or equal ones do",
    slots: &[Slot::def("d", Kinds::R).hidden(), Slot::def("pd", Kinds::P), Slot::read("ps", Kinds::P).not()],
    mods: &[Modifier::new(ModKind::Mode, &[".ALL", ".ANY", ".EQ"])],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    completion: Completion::Fixed,
    min_stall: 1,
    effects: CONVERGENT,
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0x806,
};

pub(super) static VOTEU: Row = Row {
    mnemonic: "VOTEU",
    summary: "as VOTE, into a uniform register",
    slots: &[
        Slot::def("d", Kinds::UR).hidden(),
        Slot::def("pd", Kinds::UP),
        Slot::read("ps", Kinds::P).not(),
    ],
    pipe: Pipe::Udp,
    latency: LatencyClass::Umov,
    opcode: 0x886,
    ..VOTE
};

/// What the slow exchanges share.
const EXCHANGE: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    min_stall: 1,
    effects: CONVERGENT,
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

pub(super) static MATCH_ANY: Row = Row {
    mnemonic: "MATCH.ANY",
    summary: "d = a bit for each active lane with the same a",
    slots: &[Slot::def("d", Kinds::R), Slot::read("a", Kinds::R)],
    opcode: 0x3a1,
    ..EXCHANGE
};

pub(super) static MATCH_ANY_64: Row = Row {
    mnemonic: "MATCH.ANY.U64",
    summary: "d = a bit for each active lane with the same 64-bit a",
    slots: &[Slot::def("d", Kinds::R), Slot::read("a", Kinds::R).width(Width::Fixed(2))],
    ..MATCH_ANY
};

pub(super) static MATCH_ALL_64: Row = Row {
    mnemonic: "MATCH.ALL.U64",
    summary: "d = the active lanes if all have the same 64-bit a, else 0; pd = whether they have",
    slots: &[
        Slot::def("pd", Kinds::P),
        Slot::def("d", Kinds::R),
        Slot::read("a", Kinds::R).width(Width::Fixed(2)),
    ],
    ..MATCH_ANY
};

pub(super) static MATCH_ALL: Row = Row {
    mnemonic: "MATCH.ALL",
    summary: "d = the active lanes if all have the same a, else 0; pd = whether they have",
    slots: &[Slot::def("pd", Kinds::P), Slot::def("d", Kinds::R), Slot::read("a", Kinds::R)],
    opcode: 0x3a1,
    ..EXCHANGE
};

pub(super) static REDUX: Row = Row {
    mnemonic: "REDUX",
    summary: "d = the reduction of a over the active lanes",
    slots: &[Slot::def("d", Kinds::UR), Slot::read("a", Kinds::R)],
    mods: &[
        Modifier::new(ModKind::Reduction, &["", ".OR", ".XOR", ".SUM", ".MIN", ".MAX"]),
        Modifier::new(ModKind::Sign, &["", ".S32"]),
    ],
    latency: LatencyClass::MioFast,
    archs: Archs::since(Arch::Sm80),
    opcode: 0x3c4,
    ..EXCHANGE
};

pub(super) static ELECT: Row = Row {
    mnemonic: "ELECT",
    summary: "pd = whether the lane is the elected one; d = its number",
    slots: &[Slot::def("pd", Kinds::P), Slot::def("d", Kinds::UR), Slot::read("ps", Kinds::P).not()],
    pipe: Pipe::Udp,
    archs: Archs::since(Arch::Sm90),
    opcode: 0x82f,
    ..EXCHANGE
};
