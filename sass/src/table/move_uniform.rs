//! Moves from special registers, from general to uniform ones, and between predicates and general
//! registers.

use ptxc_machine::Archs;

use super::Op;
use super::place::{Fixed, Place};
use super::row::{
    Completion, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Spelling, Stand, Width,
};
use crate::register::RegFile;

const MOVE: Row =
    Row { pipe: Pipe::Alu, latency: LatencyClass::Alu, completion: Completion::Fixed, ..Row::BASE };

const RD: Slot = Slot::def("d", Kinds::R).place(Place::D);
const UD: Slot = Slot::def("d", Kinds::UR).place(Place::D);
const SR: Slot = Slot::read("sr", Kinds::SPECIAL).at(72, 8);

/// The predicates that are moved, a bit each from P0 on. ptxas sets no higher bit.
const MASK: Slot = Slot::read("mask", Kinds::IMM).at(32, 7);
const BYTE: Modifier = Modifier::new(ModKind::Variant, &["", ".B1", ".B2", ".B3"]).at(76, 2);

pub(super) static P2R: Row = Row {
    mnemonic: "P2R",
    summary: "d = a with those bits of the chosen byte replaced by the predicates that are set in mask",
    slots: &[
        RD,
        Slot::read("predicates", Kinds::PREDICATES).place(Place::Absent),
        Slot::read("a", Kinds::R).reuse(0).place(Place::A),
        MASK,
    ],
    mods: &[BYTE],
    opcode: 0x803,
    ..MOVE
};

pub(super) static R2P: Row = Row {
    mnemonic: "R2P",
    summary: "those predicates that are set in mask = the bits of the chosen byte of a",
    slots: &[
        Slot::def("predicates", Kinds::PREDICATES).place(Place::Absent),
        Slot::read("a", Kinds::R).reuse(0).place(Place::A),
        MASK,
    ],
    mods: &[BYTE.stand(Stand::Operand("a"))],
    opcode: 0x804,
    ..MOVE
};

pub(super) static S2R: Row = Row {
    mnemonic: "S2R",
    summary: "d = a special register",
    slots: &[RD, SR],
    pipe: Pipe::Xu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    opcode: 0x919,
    uniform: Some(Op::S2UR),
    estimate: Some(25),
    ..MOVE
};

pub(super) static S2UR: Row = Row {
    mnemonic: "S2UR",
    summary: "d = a special register, into a uniform register",
    slots: &[UD, SR],
    pipe: Pipe::Xu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    guard: RegFile::Upred,
    opcode: 0x9c3,
    estimate: Some(25),
    ..MOVE
};

pub(super) static CS2R: Row = Row {
    mnemonic: "CS2R",
    summary: "d = a special register of fixed latency; SRZ clears a pair",
    slots: &[RD.width(Width::Fixed(2)), SR],
    fixed: &[Fixed::new(80, 1, 1)],
    pipe: Pipe::Alu,
    latency: LatencyClass::Cs2r,
    opcode: 0x805,
    min_stalls_on: &[(Archs::TURING, 2)],
    ..MOVE
};

const SOURCE_OF_ONE: Slot = Slot::read("a", Kinds::R).reuse(0).reuse_on(Archs::HOPPER).place(Place::A);

pub(super) static R2UR: Row = Row {
    mnemonic: "R2UR",
    summary: "d = a of the first active lane; pd = whether a of the lane differs; ptxas also takes the predicate \
              alone, with URZ as d",
    slots: &[Slot::def("pd", Kinds::P).hidden().at(81, 3), UD, SOURCE_OF_ONE],
    pipe: Pipe::Alu,
    latency: LatencyClass::R2ur,
    spellings: &[Spelling { archs: Archs::TURING_TO_ADA, mnemonic: "R2UR", opcode: 0x3c2 }],
    opcode: 0x2ca,
    ..MOVE
};

pub(super) static R2UR_OR: Row = Row {
    mnemonic: "R2UR.OR",
    summary: "d = a of the first active lane; pd = pd or whether a of the lane differs",
    slots: &[Slot::def("pd", Kinds::P).optional().at(81, 3), UD, SOURCE_OF_ONE],
    fixed: &[Fixed::new(84, 1, 1)],
    spellings: &[Spelling { archs: Archs::TURING_TO_ADA, mnemonic: "R2UR.OR", opcode: 0x3c2 }],
    ..R2UR
};

pub(super) static CS2R_32: Row = Row {
    mnemonic: "CS2R.32",
    summary: "d = the low word of a special register of fixed latency",
    slots: &[RD, SR],
    latency: LatencyClass::Cs2r,
    opcode: 0x805,
    min_stalls_on: &[(Archs::TURING, 2)],
    ..MOVE
};

/// The byte of the register that holds the predicates.
const BYTES: &[&str] = &["", ".B1", ".B2", ".B3"];

pub(super) static UP2UR: Row = Row {
    mnemonic: "UP2UR",
    summary: "d = a with those bits of a byte replaced by the uniform predicates that are set in mask",
    slots: &[
        UD,
        Slot::read("predicates", Kinds::PREDICATES).place(Place::Absent),
        Slot::read("a", Kinds::UR).at(24, 6),
        Slot::read("mask", Kinds::IMM).at(32, 16),
    ],
    mods: &[Modifier::new(ModKind::Variant, BYTES).at(76, 2)],
    fixed: &[UNIFORM],
    pipe: Pipe::Udp,
    latency: LatencyClass::Udp,
    guard: RegFile::Upred,
    opcode: 0x883,
    ..MOVE
};

pub(super) static UR2UP: Row = Row {
    mnemonic: "UR2UP",
    summary: "the uniform predicates = the bits of a byte of a",
    slots: &[
        Slot::def("predicates", Kinds::PREDICATES).place(Place::Absent),
        Slot::read("a", Kinds::UR).at(24, 6),
    ],
    mods: &[Modifier::new(ModKind::Variant, BYTES).at(76, 2).stand(Stand::Operand("a"))],
    // A mask of all predicates is not printed; ptxas emits no other mask.
    fixed: &[UNIFORM, Fixed::new(32, 16, 0xff)],
    pipe: Pipe::Udp,
    latency: LatencyClass::Udp,
    guard: RegFile::Upred,
    opcode: 0x884,
    ..MOVE
};

const UNIFORM: Fixed = Fixed::new(91, 1, 1);
