//! The transcendental unit: approximations, conversions, bit counts.

use super::archs::Archs;
use super::row::{
    Completion, Effects, Halves, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width,
};
use crate::arch::Arch;

/// What the rows of this family share.
const XU: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Xu,
    latency: LatencyClass::MioFast,
    completion: Completion::Variable,
    min_stall: 1,
    effects: Effects::NONE,
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R);
const D_PAIR: Slot = Slot::def("d", Kinds::R).width(Width::Fixed(2));
const B: Slot = Slot::read("b", ANY);
const B_PAIR: Slot = Slot::read("b", Kinds::R.or(Kinds::UR)).width(Width::Fixed(2));
const FTZ: Modifier = Modifier::new(ModKind::Ftz, &["", ".FTZ"]);
const ROUND: Modifier = Modifier::new(ModKind::Round, &["", ".RM", ".RP", ".RZ"]);
const INTEGRAL: Modifier = Modifier::new(ModKind::Round, &["", ".FLOOR", ".CEIL", ".TRUNC"]);
const TO_WORD: Modifier = Modifier::new(ModKind::DataType, &[".U32", ""]).default_to(1);
const FROM_INT: Modifier =
    Modifier::new(ModKind::SourceType, &[".U8", ".S8", ".U16", ".S16", ".U32", ""]).default_to(5);
const TO_LONG: Modifier = Modifier::new(ModKind::DataType, &[".U64", ".S64"]);
const FROM_LONG: Modifier = Modifier::new(ModKind::SourceType, &[".U64", ".S64"]);
/// `F2FP` alone rounds to bfloat16 before sm_90, and a shift widens it.
const BRAIN: &[(&str, Archs)] = &[(".BF16", Archs::since(Arch::Sm90))];
const TO_HALF: Modifier = Modifier::new(ModKind::DataType, &[".F16", ".BF16"]).limited(BRAIN);
const FROM_HALF: Modifier = Modifier::new(ModKind::SourceType, &[".F16", ".BF16"]).limited(BRAIN);
const HALF_B: Slot = Slot::read("b", Kinds::R).neg().abs();
const FROM_DOUBLE: Modifier = Modifier::new(ModKind::SourceType, &[".F64"]);

pub(super) static MUFU: Row = Row {
    mnemonic: "MUFU",
    summary: "d = an approximation of a function of b",
    slots: &[D, B.neg().abs().imm(ImmFormat::Float)],
    mods: &[Modifier::new(
        ModKind::Mode,
        &[".COS", ".SIN", ".EX2", ".LG2", ".RCP", ".RSQ", ".RCP64H", ".RSQ64H", ".SQRT", ".TANH"],
    )],
    opcode: 0x308,
    ..XU
};

pub(super) static I2F: Row = Row {
    mnemonic: "I2F",
    summary: "d = the integer b as a float",
    slots: &[D, B],
    mods: &[FROM_INT, ROUND],
    opcode: 0x306,
    ..XU
};

pub(super) static F2I: Row = Row {
    mnemonic: "F2I",
    summary: "d = the float b as an integer, saturating",
    slots: &[D, B.neg().abs().imm(ImmFormat::Float)],
    mods: &[FTZ, TO_WORD, INTEGRAL, Modifier::new(ModKind::Variant, &["", ".NTZ"])],
    opcode: 0x305,
    ..XU
};

pub(super) static POPC: Row = Row {
    mnemonic: "POPC",
    summary: "d = the number of ones in b",
    slots: &[D, B.not()],
    opcode: 0x309,
    ..XU
};

pub(super) static FLO: Row = Row {
    mnemonic: "FLO",
    summary: "d = the position of the highest one of b; with `.SH` the shift that brings it to the top",
    slots: &[D, Slot::def("pd", Kinds::P).hidden(), B.not()],
    mods: &[
        Modifier::new(ModKind::Sign, &[".U32", ""]).default_to(1),
        Modifier::new(ModKind::Variant, &["", ".SH"]),
    ],
    opcode: 0x300,
    ..XU
};

pub(super) static BREV: Row = Row {
    mnemonic: "BREV",
    summary: "d = the bits of b in reverse order",
    slots: &[D, B],
    opcode: 0x301,
    ..XU
};

pub(super) static FCHK: Row = Row {
    mnemonic: "FCHK",
    summary: "pd = whether a / b needs more than the fast division: b is tiny, huge, or the quotient subnormal",
    slots: &[
        Slot::def("pd", Kinds::P),
        Slot::read("a", Kinds::R).neg().abs(),
        Slot::read("b", ANY).neg().abs().imm(ImmFormat::Float),
    ],
    opcode: 0x302,
    ..XU
};

pub(super) static I2F_64: Row = Row {
    mnemonic: "I2F",
    summary: "d = the 64-bit integer b as a float",
    slots: &[D, B_PAIR],
    mods: &[FROM_LONG, ROUND],
    opcode: 0x312,
    ..XU
};

pub(super) static I2F_F64: Row = Row {
    mnemonic: "I2F.F64",
    summary: "d = the integer b as a double, exact",
    slots: &[D_PAIR, B],
    mods: &[FROM_INT],
    opcode: 0x312,
    ..XU
};

pub(super) static I2F_F64_64: Row = Row {
    mnemonic: "I2F.F64",
    summary: "d = the 64-bit integer b as a double",
    slots: &[D_PAIR, B_PAIR],
    mods: &[FROM_LONG, ROUND],
    opcode: 0x312,
    ..XU
};

pub(super) static F2I_64: Row = Row {
    mnemonic: "F2I",
    summary: "d = the float b as a 64-bit integer, saturating",
    slots: &[D_PAIR, B.neg().abs().imm(ImmFormat::Float)],
    mods: &[FTZ, TO_LONG, INTEGRAL],
    opcode: 0x311,
    ..XU
};

pub(super) static F2I_F64: Row = Row {
    mnemonic: "F2I",
    summary: "d = the double b as an integer, saturating",
    slots: &[D, B_PAIR.neg().abs()],
    mods: &[TO_WORD, FROM_DOUBLE, INTEGRAL],
    opcode: 0x311,
    ..XU
};

pub(super) static F2I_F64_64: Row = Row {
    mnemonic: "F2I",
    summary: "d = the double b as a 64-bit integer, saturating",
    slots: &[D_PAIR, B_PAIR.neg().abs()],
    mods: &[TO_LONG, FROM_DOUBLE, INTEGRAL],
    opcode: 0x311,
    ..XU
};

pub(super) static F2F_NARROW: Row = Row {
    mnemonic: "F2F.F32.F64",
    summary: "d = the double b rounded to a float",
    slots: &[D, B_PAIR.neg().abs()],
    mods: &[ROUND],
    opcode: 0x310,
    ..XU
};

pub(super) static F2F_WIDEN: Row = Row {
    mnemonic: "F2F.F64.F32",
    summary: "d = the float b as a double, exact",
    slots: &[D_PAIR, B.neg().abs().imm(ImmFormat::Float)],
    opcode: 0x310,
    ..XU
};

pub(super) static F2F_NARROW_HALF: Row = Row {
    mnemonic: "F2F",
    summary: "d = the double b rounded to a half",
    slots: &[D, B_PAIR.neg().abs()],
    mods: &[TO_HALF, FROM_DOUBLE, ROUND],
    opcode: 0x310,
    ..XU
};

pub(super) static F2F_WIDEN_HALF: Row = Row {
    mnemonic: "F2F.F64",
    summary: "d = the half b as a double, exact",
    slots: &[D_PAIR, B],
    mods: &[FROM_HALF],
    opcode: 0x310,
    ..XU
};

pub(super) static F2F_HALF: Row = Row {
    mnemonic: "F2F",
    summary: "d = the float b, where one or both are a half",
    slots: &[D, Slot::read("b", Kinds::R)],
    mods: &[
        FTZ,
        Modifier::new(ModKind::DataType, &[".F16", ".BF16", ".F32"]).limited(BRAIN),
        Modifier::new(ModKind::SourceType, &[".F16", ".BF16", ".F32"]).limited(BRAIN),
        ROUND,
    ],
    opcode: 0x304,
    ..XU
};

pub(super) static FRND: Row = Row {
    mnemonic: "FRND",
    summary: "d = the float b rounded to an integral value",
    slots: &[D, B.neg().abs().imm(ImmFormat::Float)],
    mods: &[FTZ, INTEGRAL],
    opcode: 0x307,
    ..XU
};

pub(super) static FRND_F64: Row = Row {
    mnemonic: "FRND.F64",
    summary: "d = the double b rounded to an integral value",
    slots: &[D_PAIR, B_PAIR.neg().abs()],
    mods: &[INTEGRAL],
    opcode: 0x313,
    ..XU
};

pub(super) static FRND_HALF: Row = Row {
    mnemonic: "FRND",
    summary: "d = the half b rounded to an integral value",
    slots: &[D, HALF_B],
    mods: &[TO_HALF, INTEGRAL],
    opcode: 0x307,
    ..XU
};

pub(super) static MUFU_HALF: Row = Row {
    mnemonic: "MUFU",
    summary: "d = an approximation of a function of the half b",
    slots: &[D, Slot::read("b", Kinds::R).neg().abs().halves(Halves::Upper)],
    mods: &[Modifier::new(ModKind::Mode, &[".EX2", ".TANH"]), TO_HALF],
    opcode: 0x308,
    ..XU
};

pub(super) static I2F_HALF: Row = Row {
    mnemonic: "I2F",
    summary: "d = the integer b as a half",
    slots: &[D, B],
    mods: &[TO_HALF, FROM_INT, ROUND],
    opcode: 0x306,
    ..XU
};

pub(super) static I2F_HALF_64: Row = Row {
    mnemonic: "I2F",
    summary: "d = the 64-bit integer b as a half",
    slots: &[D, B_PAIR],
    mods: &[TO_HALF, FROM_LONG, ROUND],
    opcode: 0x312,
    ..XU
};

pub(super) static F2I_HALF: Row = Row {
    mnemonic: "F2I",
    summary: "d = the half b as an integer, saturating",
    slots: &[D, HALF_B],
    mods: &[
        Modifier::new(ModKind::DataType, &[".U8", ".S8", ".U16", ".S16", ".U32", ""]).default_to(5),
        FROM_HALF,
        INTEGRAL,
        Modifier::new(ModKind::Variant, &["", ".NTZ"]),
    ],
    opcode: 0x305,
    ..XU
};

pub(super) static F2I_HALF_64: Row = Row {
    mnemonic: "F2I",
    summary: "d = the half b as a 64-bit integer, saturating",
    slots: &[D_PAIR, HALF_B],
    mods: &[TO_LONG, FROM_HALF, INTEGRAL],
    opcode: 0x311,
    ..XU
};
