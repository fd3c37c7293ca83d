//! Moves from special registers and from general to uniform ones.

use super::archs::{Archs, Spelling};
use super::row::{Completion, Effects, Kinds, LatencyClass, Pipe, Row, Slot, Width};
use crate::arch::Arch;

const MOVE: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    completion: Completion::Fixed,
    min_stall: 1,
    effects: Effects::NONE,
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

const UD: Slot = Slot::def("d", Kinds::UR);
const SR: Slot = Slot::read("sr", Kinds::SPECIAL);

pub(super) static S2R: Row = Row {
    mnemonic: "S2R",
    summary: "d = a special register",
    slots: &[Slot::def("d", Kinds::R), SR],
    pipe: Pipe::Xu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    opcode: 0x919,
    ..MOVE
};

pub(super) static S2UR: Row = Row {
    mnemonic: "S2UR",
    summary: "d = a special register, into a uniform register",
    slots: &[UD, SR],
    pipe: Pipe::Xu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    opcode: 0x9c3,
    ..MOVE
};

pub(super) static CS2R: Row = Row {
    mnemonic: "CS2R",
    summary: "d = a special register of fixed latency; SRZ clears a pair",
    slots: &[Slot::def("d", Kinds::R).width(Width::Fixed(2)), SR],
    pipe: Pipe::Alu,
    latency: LatencyClass::Cs2r,
    opcode: 0x805,
    ..MOVE
};

pub(super) static R2UR: Row = Row {
    mnemonic: "R2UR",
    summary: "d = a of the first active lane",
    slots: &[UD, Slot::read("a", Kinds::R)],
    pipe: Pipe::Alu,
    latency: LatencyClass::R2ur,
    spellings: &[Spelling { archs: Archs::before(Arch::Sm90), mnemonic: "R2UR", opcode: 0x3c2 }],
    opcode: 0x2ca,
    ..MOVE
};

pub(super) static CS2R_32: Row = Row {
    mnemonic: "CS2R.32",
    summary: "d = the low word of a special register of fixed latency",
    slots: &[Slot::def("d", Kinds::R), SR],
    latency: LatencyClass::Cs2r,
    opcode: 0x805,
    ..MOVE
};
