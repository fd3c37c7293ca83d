//! Exchange between the lanes of a warp.

use super::row::{Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot};

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
    opcode: 0x806,
};
