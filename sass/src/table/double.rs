//! Double precision: every operand is a pair of registers.

use super::place::{Form, Place};
use super::row::{Completion, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width};

const FP64: Row =
    Row { pipe: Pipe::Fp64, latency: LatencyClass::Fp64, completion: Completion::Fixed, ..Row::BASE };

const PAIR: Width = Width::Fixed(2);
const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R).width(PAIR).place(Place::D);
const A: Slot = Slot::read("a", Kinds::R).width(PAIR).reuse(0).place(Place::A).neg().abs();
const B: Slot =
    Slot::read("b", ANY).width(PAIR).reuse(1).place(Place::B).neg().abs().imm(ImmFormat::DoubleHigh);
const C: Slot =
    Slot::read("c", ANY).width(PAIR).reuse(2).place(Place::C).neg().abs().imm(ImmFormat::DoubleHigh);
const ROUND: Modifier = Modifier::new(ModKind::Round, &["", ".RM", ".RP", ".RZ"]).at(78, 2);

pub(super) static DADD: Row = Row {
    mnemonic: "DADD",
    summary: "d = a + c, rounded",
    slots: &[D, A, C],
    mods: &[ROUND],
    forms: Form::BC,
    opcode: 0x229,
    ..FP64
};

pub(super) static DMUL: Row = Row {
    mnemonic: "DMUL",
    summary: "d = a * b, rounded",
    slots: &[D, A, B],
    mods: &[ROUND],
    forms: Form::B,
    opcode: 0x228,
    ..FP64
};

pub(super) static DFMA: Row = Row {
    mnemonic: "DFMA",
    summary: "d = a * b + c, rounded once",
    slots: &[D, A, B, C],
    mods: &[ROUND],
    forms: Form::BC,
    opcode: 0x22b,
    ..FP64
};

pub(super) static DSETP: Row = Row {
    mnemonic: "DSETP",
    summary: "pd = (a compared with b) combined with ps; pe = the negated comparison, combined in the same way",
    slots: &[
        Slot::def("pd", Kinds::P).at(81, 3),
        Slot::def("pe", Kinds::P).optional().at(84, 3),
        A,
        B.reuse(2),
        Slot::read("ps", Kinds::P).not().optional().at(87, 3),
    ],
    mods: &[
        Modifier::new(
            ModKind::Compare,
            &[
                ".MIN", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".NUM", ".NAN", ".LTU", ".EQU", ".LEU",
                ".GTU", ".NEU", ".GEU", ".MAX",
            ],
        )
        .at(76, 4),
        Modifier::new(ModKind::Combine, &[".AND", ".OR", ".XOR"]).at(74, 2),
    ],
    forms: Form::B_AS_C,
    opcode: 0x22a,
    ..FP64
};
