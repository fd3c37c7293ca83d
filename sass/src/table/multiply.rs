//! Integers on the multiply-add pipe.

use ptxc_machine::Archs;

use super::Op;
use super::alu::{EXTENDED, UNSIGNED};
use super::place::{Fixed, Form, Place};
use super::row::{Completion, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width};

/// The common part of the rows of this family.
const IMUL: Row =
    Row { pipe: Pipe::FmaHeavy, latency: LatencyClass::Fma, completion: Completion::Fixed, ..Row::BASE };

const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R).place(Place::D);
const D_PAIR: Slot = D.width(Width::Fixed(2));
const A: Slot = Slot::read("a", Kinds::R).reuse(0).place(Place::A);
const B: Slot = Slot::read("b", ANY).reuse(1).place(Place::B);
/// Small factors, without immediates.
const FACTORS: Slot = Slot::read("b", Kinds::R.or(Kinds::UR).or(Kinds::CONST)).reuse(1).place(Place::B);
const C: Slot = Slot::read("c", ANY).reuse(2).place(Place::C);
const CR: Slot = Slot::read("c", Kinds::R).reuse(2).place(Place::C);
const C_PAIR: Slot =
    Slot::read("c", Kinds::R.or(Kinds::UR).or(Kinds::CONST)).reuse(2).width(Width::Fixed(2)).place(Place::C);
const CARRY_OUT: Slot = Slot::def("pd", Kinds::P).hidden().at(81, 3);
const CARRY_IN: Slot = Slot::read("ps", Kinds::P).not().at(87, 3);
const SIGNED: ImmFormat = ImmFormat::Signed;
const X: Modifier = Modifier::new(ModKind::Variant, &[".X"]);
/// The predicate field of a product without carries, all ones.
const NO_CARRY_OUT: Fixed = Fixed::new(81, 3, 7);
const NO_CARRY_IN: Fixed = Fixed::new(87, 4, 0xf);

pub(super) static IMAD: Row = Row {
    mnemonic: "IMAD",
    summary: "d = the low word of a * b + c",
    slots: &[D, A, B.imm(SIGNED), C.neg().imm(SIGNED)],
    mods: &[UNSIGNED],
    forms: Form::BC,
    fixed: &[NO_CARRY_OUT, NO_CARRY_IN],
    opcode: 0x224,
    uniform: Some(Op::UIMAD),
    ..IMUL
};

pub(super) static IMAD_X: Row = Row {
    mnemonic: "IMAD",
    summary: "d = the low word of a * b + c + ps",
    slots: &[D, A, B.imm(SIGNED), C.not().imm(SIGNED), CARRY_IN],
    mods: &[UNSIGNED, X],
    forms: Form::BC,
    fixed: &[NO_CARRY_OUT, EXTENDED],
    opcode: 0x224,
    ..IMUL
};

pub(super) static IMAD_WIDE: Row = Row {
    mnemonic: "IMAD.WIDE",
    summary: "d = the 64-bit a * b + c; pd is the carry",
    slots: &[D_PAIR, CARRY_OUT, A, B.imm(SIGNED), C_PAIR.neg()],
    mods: &[UNSIGNED],
    latency: LatencyClass::ImadWide,
    forms: Form::BC,
    fixed: &[NO_CARRY_IN],
    opcode: 0x225,
    uniform: Some(Op::UIMAD_WIDE),
    ..IMUL
};

pub(super) static IMAD_WIDE_X: Row = Row {
    mnemonic: "IMAD.WIDE",
    summary: "d = the 64-bit a * b + c + ps; pd is the carry",
    slots: &[D_PAIR, CARRY_OUT, A, B.imm(SIGNED), C_PAIR.not(), CARRY_IN],
    mods: &[UNSIGNED, X],
    latency: LatencyClass::ImadWide,
    forms: Form::BC,
    fixed: &[EXTENDED],
    opcode: 0x225,
    ..IMUL
};

pub(super) static IMAD_HI: Row = Row {
    mnemonic: "IMAD.HI",
    summary: "d = the high word of the 64-bit a * b + c; pd is the carry",
    slots: &[D, CARRY_OUT, A, B.imm(SIGNED), C_PAIR.neg()],
    mods: &[UNSIGNED],
    latency: LatencyClass::ImadWide,
    forms: Form::BC,
    fixed: &[NO_CARRY_IN],
    opcode: 0x227,
    ..IMUL
};

pub(super) static IMAD_HI_X: Row = Row {
    mnemonic: "IMAD.HI",
    summary: "d = the high word of the 64-bit a * b + c + ps; pd is the carry",
    slots: &[D, CARRY_OUT, A, B.imm(SIGNED), C_PAIR.not(), CARRY_IN],
    mods: &[UNSIGNED, X],
    latency: LatencyClass::ImadWide,
    forms: Form::BC,
    fixed: &[EXTENDED],
    opcode: 0x227,
    ..IMUL
};

pub(super) static VIADD: Row = Row {
    mnemonic: "VIADD",
    summary: "d = a + b on the multiply-add pipe",
    slots: &[D, A, B.neg()],
    archs: Archs::HOPPER,
    forms: Form::B,
    opcode: 0x236,
    ..IMUL
};

/// The signedness of the factors of an `IDP`.
const fn signs(kind: ModKind, values: &'static [&'static str], lo: u8) -> Modifier {
    Modifier::new(kind, values).at(lo, 1)
}

const BYTES: &[&str] = &[".U8", ".S8"];

pub(super) static IDP_4A: Row = Row {
    mnemonic: "IDP.4A",
    summary: "d = the dot product of the four bytes of a and of b, plus c",
    slots: &[D, A, FACTORS, CR],
    mods: &[signs(ModKind::SourceType, BYTES, 73), signs(ModKind::DataType, BYTES, 74)],
    forms: Form::B,
    opcode: 0x226,
    ..IMUL
};

pub(super) static IDP_2A: Row = Row {
    mnemonic: "IDP.2A",
    summary: "d = the products of the halves of a and two bytes of b, plus c",
    slots: &[D, A, FACTORS, CR],
    mods: &[
        signs(ModKind::Variant, &[".LO", ".HI"], 77),
        signs(ModKind::SourceType, &[".U16", ".S16"], 73),
        signs(ModKind::DataType, BYTES, 74),
    ],
    forms: Form::B,
    fixed: &[Fixed::new(76, 1, 1)],
    opcode: 0x226,
    ..IMUL
};

pub(super) static VIADD_16X2: Row = Row {
    mnemonic: "VIADD.16x2",
    summary: "d = a + b, each half separately",
    slots: &[D, A, B.neg()],
    archs: Archs::HOPPER,
    forms: Form::B,
    fixed: &[Fixed::new(73, 1, 1)],
    opcode: 0x236,
    ..IMUL
};
