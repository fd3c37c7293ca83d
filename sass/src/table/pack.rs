//! Conversions on the integer pipe. Most of them convert two values into one register.
//!
//! `F2FP` rounds floats to smaller ones, or widens the smallest. A modifier tells how its operands
//! form the result:
//!
//! | | the result |
//! |---|---|
//! | `.PACK_AB` | a above b |
//! | `.MERGE_C` | b in one half, the other half of c |
//! | `.PACK_AB_MERGE_C` | two bytes, a above b, beside a half of c |
//! | `.UNPACK_B` | two halves from two bytes of b |
//! | `.UNPACK_B_MERGE_C` | two bytes from the halves of b, beside a half of c |
//! | `.PACK_B` | b |
//!
//! The format of the result has a code over three bits: binary16 0, bfloat16 1, TF32 3, E5M2 4,
//! E4M3 5; that of the source over two: binary32 0, binary16 1, E5M2 2, E4M3 3.

use ptxc_machine::Archs;

use super::place::{Bits, Fixed, Form, Place, Signs};
use super::row::{
    Completion, Halves, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Stand,
};

/// The common part of the rows of this family.
const PACK: Row =
    Row { pipe: Pipe::Alu, latency: LatencyClass::Alu, completion: Completion::Fixed, ..Row::BASE };

const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
const SOURCE: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R).place(Place::D);
const A: Slot = Slot::read("a", Kinds::R).reuse(0).place(Place::A);
const B: Slot = Slot::read("b", SOURCE).reuse(1).place(Place::B);
/// A float, also an immediate; text shows two halves or bytes as one number of single precision.
const FLOAT_B: Slot = Slot::read("b", ANY).imm(ImmFormat::Float).reuse(1).place(Place::B);
/// An integer, also an immediate.
const INTEGER_B: Slot = Slot::read("b", ANY).imm(ImmFormat::Signed).reuse(1).place(Place::B);
/// The register whose other half is kept: the low half, or the high half if the text says so.
const MERGED: Slot = Slot::read("c", Kinds::R)
    .reuse(2)
    .halves(Halves::Upper)
    .place(Place::Number(Bits::new(64, 8), Signs { half: Bits::new(72, 1), ..Signs::NONE }));
const FINITE: Modifier = Modifier::new(ModKind::Sat, &["", ".SATFINITE"]).at(77, 1);
const RELU: Modifier = Modifier::new(ModKind::Variant, &["", ".RELU"]).at(75, 1);
const ROUND: Modifier = Modifier::new(ModKind::Round, &["", ".RZ"]).at(79, 2).codes(&[0, 3]);
const FROM_F32: Modifier =
    Modifier::new(ModKind::SourceType, &[".F32"]).spelled(&[(".F32", Archs::TURING_TO_AMPERE, "")]);
const TO_HALF: Modifier = Modifier::new(ModKind::DataType, &[".F16", ".BF16"])
    .spelled(&[(".F16", Archs::TURING_TO_AMPERE, "")])
    .at(76, 1);
const TO_BYTES: Modifier =
    Modifier::new(ModKind::DataType, &[".E4M3", ".E5M2"]).at(76, 1).and_at(86, 2).codes(&[5, 4]);

pub(super) static I2FP: Row = Row {
    mnemonic: "I2FP.F32",
    summary: "d = the integer b as a binary32",
    slots: &[D, Slot::read("b", ANY).imm(ImmFormat::OfInteger).reuse(1).place(Place::B)],
    mods: &[
        Modifier::new(ModKind::SourceType, &[".U32", ".S32"]).at(74, 1),
        Modifier::new(ModKind::Round, &["", ".RZ"]).at(78, 2).codes(&[0, 3]),
    ],
    forms: Form::B,
    fixed: &[Fixed::new(75, 3, 2), Fixed::new(84, 2, 2)],
    archs: Archs::SM_86_TO_HOPPER,
    opcode: 0x245,
    ..PACK
};

pub(super) static F2FP: Row = Row {
    mnemonic: "F2FP",
    summary: "d = a and b rounded to halves, a the upper one",
    slots: &[D, A, Slot::read("b", ANY).imm(ImmFormat::Float).reuse(1).place(Place::B)],
    mods: &[FINITE, RELU, TO_HALF, FROM_F32, Modifier::new(ModKind::Mode, &[".PACK_AB"]), ROUND],
    forms: Form::B,
    fixed: &[Fixed::new(64, 8, 0xff)],
    archs: Archs::AMPERE_TO_HOPPER,
    opcode: 0x23e,
    ..PACK
};

pub(super) static F2FP_MERGE: Row = Row {
    mnemonic: "F2FP",
    summary: "d = b rounded to a half, beside the other half of c",
    slots: &[D, B, MERGED],
    mods: &[FINITE, RELU, TO_HALF, FROM_F32, Modifier::new(ModKind::Mode, &[".MERGE_C"]), ROUND],
    forms: Form::B,
    fixed: &[Fixed::new(24, 8, 0xff), Fixed::new(78, 1, 1)],
    archs: Archs::AMPERE_TO_HOPPER,
    opcode: 0x23e,
    ..PACK
};

pub(super) static F2FP_TF32: Row = Row {
    mnemonic: "F2FP",
    summary: "d = b rounded to a TF32",
    slots: &[D, FLOAT_B],
    mods: &[
        RELU,
        Modifier::new(ModKind::DataType, &[".TF32"]),
        Modifier::new(ModKind::SourceType, &[".F32"]),
        Modifier::new(ModKind::Mode, &[".PACK_B"]),
        ROUND,
    ],
    forms: Form::B,
    fixed: &[
        Fixed::new(24, 8, 0xff),
        Fixed::new(64, 8, 0xff),
        Fixed::new(76, 1, 1),
        Fixed::new(86, 2, 1),
        Fixed::new(78, 1, 1),
        Fixed::new(89, 2, 1),
    ],
    archs: Archs::HOPPER,
    opcode: 0x23e,
    ..PACK
};

pub(super) static F2FP_BYTES: Row = Row {
    mnemonic: "F2FP",
    summary: "d = a and b rounded to floats of 8 bits, a the upper one, beside a half of c",
    slots: &[D, A, B, MERGED],
    mods: &[
        FINITE,
        RELU,
        TO_BYTES,
        Modifier::new(ModKind::SourceType, &[".F32"]),
        Modifier::new(ModKind::Mode, &[".PACK_AB_MERGE_C"]),
    ],
    forms: Form::B,
    fixed: &[Fixed::new(78, 1, 1), Fixed::new(89, 2, 2)],
    archs: Archs::ADA_AND_HOPPER,
    opcode: 0x23e,
    ..PACK
};

pub(super) static F2FP_BYTES_OF_HALVES: Row = Row {
    mnemonic: "F2FP",
    summary: "d = the two halves of b rounded to floats of 8 bits, beside a half of c",
    slots: &[D, FLOAT_B, MERGED],
    mods: &[
        FINITE,
        RELU,
        TO_BYTES,
        Modifier::new(ModKind::SourceType, &[".F16"]),
        Modifier::new(ModKind::Mode, &[".UNPACK_B_MERGE_C"]),
    ],
    forms: Form::B,
    fixed: &[Fixed::new(24, 8, 0xff), Fixed::new(73, 2, 1), Fixed::new(89, 2, 2)],
    archs: Archs::ADA_AND_HOPPER,
    opcode: 0x23e,
    ..PACK
};

pub(super) static F2FP_UNPACK: Row = Row {
    mnemonic: "F2FP",
    summary: "d = two halves, widened from the two lower or the two upper bytes of b, floats of 8 bits",
    slots: &[
        D,
        Slot::read("b", Kinds::R.or(Kinds::UR).or(Kinds::IMM))
            .imm(ImmFormat::Float)
            .reuse(1)
            .halves(Halves::Upper)
            .place(Place::Source(Bits::new(32, 8), Signs { half: Bits::new(88, 1), ..Signs::NONE })),
    ],
    mods: &[
        RELU,
        Modifier::new(ModKind::DataType, &[".F16"]),
        Modifier::new(ModKind::SourceType, &[".E4M3", ".E5M2"]).at(73, 2).codes(&[3, 2]),
        Modifier::new(ModKind::Mode, &[".UNPACK_B"]),
    ],
    forms: Form::B,
    fixed: &[Fixed::new(24, 8, 0xff), Fixed::new(64, 8, 0xff), Fixed::new(89, 2, 1)],
    archs: Archs::ADA_AND_HOPPER,
    opcode: 0x23e,
    ..PACK
};

pub(super) static F2IP: Row = Row {
    mnemonic: "F2IP",
    summary: "d = the floats a and b as bytes, saturating, a above b, and above both a half of c",
    slots: &[D, A, Slot::read("b", ANY).imm(ImmFormat::Float).reuse(1).place(Place::B), MERGED],
    mods: &[
        Modifier::new(ModKind::DataType, &[".U8", ".S8"]).at(76, 1),
        Modifier::new(ModKind::SourceType, &[".F32"]),
        Modifier::new(ModKind::Round, &["", ".TRUNC"]).at(78, 2).codes(&[0, 3]),
        Modifier::new(ModKind::Variant, &["", ".NTZ"]).at(74, 1),
    ],
    forms: Form::B,
    archs: Archs::SM_86_TO_HOPPER,
    opcode: 0x243,
    ..PACK
};

pub(super) static I2I: Row = Row {
    mnemonic: "I2I",
    summary: "d = the integer b within the limits of a smaller type",
    slots: &[D, B.imm(ImmFormat::Signed)],
    mods: &[
        Modifier::new(ModKind::DataType, &[".U8", ".S8", ".U16", ".S16"]).at(76, 2),
        Modifier::new(ModKind::SourceType, &[".S32"]),
        Modifier::new(ModKind::Sat, &[".SAT"]),
    ],
    forms: Form::B,
    opcode: 0x238,
    ..PACK
};

/// On sm_90 this bit of `I2IP` saturates. It is zero on sm_86 and sm_89, where it would do the
/// opposite, and has no effect before.
const SATURATES: Fixed = Fixed::new(74, 1, 1).on(Archs::HOPPER);

pub(super) static I2IP: Row = Row {
    mnemonic: "I2IP",
    summary: "d = the integers a and b within the limits of a smaller type, a above b, and above both a part of c",
    slots: &[D, A, INTEGER_B, MERGED],
    mods: &[
        Modifier::new(ModKind::DataType, &[".U8", ".S8", ".U16", ".S16"]).at(76, 2),
        Modifier::new(ModKind::SourceType, &[".S32"]),
        Modifier::new(ModKind::Sat, &[".SAT"]),
    ],
    forms: Form::B,
    fixed: &[SATURATES],
    opcode: 0x239,
    ..PACK
};

/// The modifier after c if a and b take less than a byte each: the number of bits of c that are
/// kept.
const KEPT: Modifier =
    Modifier::new(ModKind::Variant, &[".28", ".24"]).at(72, 2).codes(&[3, 2]).stand(Stand::Operand("c"));
const PAIRS: &[(ModKind, &[&str])] = &[(ModKind::DataType, &[".U2", ".S2"]), (ModKind::Variant, &[".28"])];
const NIBBLES: &[(ModKind, &[&str])] = &[(ModKind::DataType, &[".U4", ".S4"]), (ModKind::Variant, &[".24"])];

pub(super) static I2IP_NARROW: Row = Row {
    mnemonic: "I2IP",
    summary: "as I2IP to types of 2 or 4 bits; the lower bits of c are above both",
    slots: &[D, A, INTEGER_B, Slot::read("c", Kinds::R).reuse(2).at(64, 8)],
    mods: &[
        Modifier::new(ModKind::DataType, &[".U2", ".S2", ".U4", ".S4"]).at(76, 3).codes(&[4, 5, 6, 7]),
        Modifier::new(ModKind::SourceType, &[".S32"]),
        Modifier::new(ModKind::Sat, &[".SAT"]),
        KEPT,
    ],
    forms: &[
        Form::B[0].with(PAIRS),
        Form::B[1].with(PAIRS),
        Form::B[2].with(PAIRS),
        Form::B[3].with(PAIRS),
        Form::B[0].with(NIBBLES),
        Form::B[1].with(NIBBLES),
        Form::B[2].with(NIBBLES),
        Form::B[3].with(NIBBLES),
    ],
    fixed: &[SATURATES],
    opcode: 0x239,
    ..PACK
};
