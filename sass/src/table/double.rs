//! Double precision: every operand is a pair of registers.

use super::archs::Archs;
use super::row::{
    Completion, Effects, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width,
};

const FP64: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Fp64,
    latency: LatencyClass::Fp64,
    completion: Completion::Fixed,
    min_stall: 1,
    effects: Effects::NONE,
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

const PAIR: Width = Width::Fixed(2);
const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R).width(PAIR);
const A: Slot = Slot::read("a", Kinds::R).width(PAIR).reuse(0).neg().abs();
const B: Slot = Slot::read("b", ANY).width(PAIR).reuse(1).neg().abs().imm(ImmFormat::DoubleHigh);
const C: Slot = Slot::read("c", ANY).width(PAIR).reuse(2).neg().abs().imm(ImmFormat::DoubleHigh);
const ROUND: Modifier = Modifier::new(ModKind::Round, &["", ".RM", ".RP", ".RZ"]);

pub(super) static DADD: Row = Row {
    mnemonic: "DADD",
    summary: "d = a + c, rounded",
    slots: &[D, A, C],
    mods: &[ROUND],
    opcode: 0x229,
    ..FP64
};

pub(super) static DMUL: Row = Row {
    mnemonic: "DMUL",
    summary: "d = a * b, rounded",
    slots: &[D, A, B],
    mods: &[ROUND],
    opcode: 0x228,
    ..FP64
};

pub(super) static DFMA: Row = Row {
    mnemonic: "DFMA",
    summary: "d = a * b + c, rounded once",
    slots: &[D, A, B, C],
    mods: &[ROUND],
    opcode: 0x22b,
    ..FP64
};

pub(super) static DSETP: Row = Row {
    mnemonic: "DSETP",
    summary: "pd = (a compared with b) combined with ps; pe = the negated comparison, combined likewise",
    slots: &[
        Slot::def("pd", Kinds::P),
        Slot::def("pe", Kinds::P).optional(),
        A,
        B,
        Slot::read("ps", Kinds::P).not().optional(),
    ],
    mods: &[
        Modifier::new(
            ModKind::Compare,
            &[
                ".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".NUM", ".NAN", ".LTU", ".EQU", ".LEU",
                ".GTU", ".NEU", ".GEU", ".T", ".MIN", ".MAX",
            ],
        ),
        Modifier::new(ModKind::Combine, &[".AND", ".OR", ".XOR"]),
    ],
    opcode: 0x22a,
    ..FP64
};
