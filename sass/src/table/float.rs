//! The multiply-add pipe on floats, and float comparison.

use ptxc_machine::Archs;

use super::place::{Form, Place};
use super::row::{Completion, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot};

/// The common part of the rows of the multiply-add pipe.
const FMA: Row =
    Row { pipe: Pipe::Fma, latency: LatencyClass::Fma, completion: Completion::Fixed, ..Row::BASE };

const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R).place(Place::D);
const A: Slot = Slot::read("a", Kinds::R).reuse(0).place(Place::A);
const B: Slot = Slot::read("b", ANY).reuse(1).place(Place::B);
const C: Slot = Slot::read("c", ANY).reuse(2).place(Place::C);
/// The second summand: in the place of b, with the reuse flag of c.
const SUMMAND: Slot = Slot::read("b", ANY).reuse(2).place(Place::B);
const P_OUT: Slot = Slot::def("pd", Kinds::P).at(81, 3);
const P_OUT_2: Slot = Slot::def("pe", Kinds::P).optional().at(84, 3);
const P_IN: Slot = Slot::read("ps", Kinds::P).not().at(87, 3);
const FTZ: Modifier = Modifier::new(ModKind::Ftz, &["", ".FTZ"]).at(80, 1);
const ROUND: Modifier = Modifier::new(ModKind::Round, &["", ".RM", ".RP", ".RZ"]).at(78, 2);
const SAT: Modifier = Modifier::new(ModKind::Sat, &["", ".SAT"]).at(77, 1);
/// The power of two by which a product is multiplied or divided before it is rounded.
const SCALE: Modifier = Modifier::new(ModKind::Scale, &["", ".D8", ".D4", ".D2", ".M2", ".M4", ".M8"])
    .at(84, 3)
    .codes(&[4, 1, 2, 3, 5, 6, 7]);
pub(super) const COMPARE: Modifier = Modifier::new(
    ModKind::Compare,
    &[
        ".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".NUM", ".NAN", ".LTU", ".EQU", ".LEU", ".GTU",
        ".NEU", ".GEU", ".T",
    ],
);
pub(super) const COMBINE: Modifier = Modifier::new(ModKind::Combine, &[".AND", ".OR", ".XOR"]);
const FLOAT: ImmFormat = ImmFormat::Float;

pub(super) static FADD: Row = Row {
    mnemonic: "FADD",
    summary: "d = a + b, rounded",
    slots: &[D, A.neg().abs(), SUMMAND.neg().abs().imm(FLOAT)],
    mods: &[FTZ, ROUND, SAT],
    forms: Form::B_AS_C,
    opcode: 0x221,
    ..FMA
};

pub(super) static FMUL: Row = Row {
    mnemonic: "FMUL",
    summary: "d = a * b, multiplied (`.M2`) or divided (`.D2`) by a power of two, rounded",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT)],
    mods: &[FTZ, SCALE, ROUND, SAT],
    forms: Form::B,
    opcode: 0x220,
    ..FMA
};

pub(super) static FFMA: Row = Row {
    mnemonic: "FFMA",
    summary: "d = a * b + c, rounded once",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT), C.neg().abs().imm(FLOAT)],
    mods: &[FTZ, ROUND, SAT],
    forms: Form::BC,
    opcode: 0x223,
    ..FMA
};

pub(super) static FSETP: Row = Row {
    mnemonic: "FSETP",
    summary: "pd = (a compared with b) combined with ps; pe = the negated comparison, combined in the same way",
    slots: &[P_OUT, P_OUT_2, A.neg().abs(), B.neg().abs().imm(FLOAT), P_IN.optional()],
    mods: &[COMPARE.at(76, 4), FTZ, COMBINE.at(74, 2)],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    forms: Form::B,
    opcode: 0x20b,
    ..FMA
};

pub(super) static FSET: Row = Row {
    mnemonic: "FSET.BF",
    summary: "d = (a compared with b) combined with ps, as 1.0 or 0.0",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT), P_IN.optional()],
    mods: &[COMPARE.at(76, 4), FTZ, COMBINE.at(74, 2)],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    forms: Form::B,
    opcode: 0x20a,
    ..FMA
};

pub(super) static FSEL: Row = Row {
    mnemonic: "FSEL",
    summary: "d = ps ? a : b, with float signs",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT), P_IN],
    mods: &[FTZ],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    forms: Form::B,
    opcode: 0x208,
    ..FMA
};

pub(super) static FMNMX: Row = Row {
    mnemonic: "FMNMX",
    summary: "d = ps ? min(a, b) : max(a, b); a NaN loses against a number, or wins (`.NAN`)",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT), P_IN],
    mods: &[
        FTZ,
        Modifier::new(ModKind::Mode, &["", ".NAN"]).at(81, 1).limited(&[(".NAN", Archs::AMPERE_TO_HOPPER)]),
        Modifier::new(ModKind::Sign, &["", ".XORSIGN"])
            .at(82, 1)
            .limited(&[(".XORSIGN", Archs::SM_86_TO_HOPPER)]),
    ],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    forms: Form::B,
    opcode: 0x209,
    ..FMA
};
