//! The transcendental unit: approximations, conversions, bit counts.

use ptxc_machine::Archs;

use super::alu::UNSIGNED;
use super::place::{Bits, Fixed, Form, Place, Shape, Signs};
use super::row::{
    Completion, Halves, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width,
};

/// The common part of the rows of this family.
const XU: Row =
    Row { pipe: Pipe::Xu, latency: LatencyClass::MioFast, completion: Completion::Variable, ..Row::BASE };

const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
/// The sources of conversions from types other than binary32.
const SOURCE: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R).place(Place::D);
const D_PAIR: Slot = D.width(Width::Fixed(2));
const B: Slot = Slot::read("b", ANY).place(Place::B);
const FLOAT_B: Slot = B.neg().abs().imm(ImmFormat::Float);
const DOUBLE_B: Slot = B.width(Width::Fixed(2)).neg().abs().imm(ImmFormat::DoubleHigh);
/// The lower half of a register or word.
const LOWER_HALF_B: Slot = B.neg().abs().imm(ImmFormat::OfSource);
/// A half, which may be the upper one of its register or word.
const HALF_B: Slot = B.neg().abs().imm(ImmFormat::OfSource).halves(Halves::LowOrHigh).place(Place::UPPER_B);
/// A source of one word: all bits of an immediate count.
const INT_B: Slot = B.imm(ImmFormat::OfInteger);
/// A source of two words: an immediate is the upper word, and the lower word is zero.
const LONG_B: Slot = INT_B.width(Width::Fixed(2));
/// The upper half of an immediate half is zero.
const HALF_IMMEDIATE: Place = Place::Number(Bits::new(32, 16), Signs::NONE);
const FTZ: Modifier = Modifier::new(ModKind::Ftz, &["", ".FTZ"]).at(80, 1);
const ROUND: Modifier = Modifier::new(ModKind::Round, &["", ".RM", ".RP", ".RZ"]).at(78, 2);
const INTEGRAL: Modifier = Modifier::new(ModKind::Round, &["", ".FLOOR", ".CEIL", ".TRUNC"]).at(78, 2);
/// The size, 8 to 64 bits, follows the sign.
const TO_INT: Modifier = Modifier::new(ModKind::DataType, &[".U8", ".S8", ".U16", ".S16", ".U32", ""])
    .default_to(5)
    .at(72, 1)
    .and_at(75, 2);
const FROM_INT: Modifier = Modifier::new(ModKind::SourceType, &[".U8", ".S8", ".U16", ".S16", ".U32", ""])
    .default_to(5)
    .at(74, 1)
    .and_at(84, 2);
const TO_LONG: Modifier =
    Modifier::new(ModKind::DataType, &[".U64", ".S64"]).at(72, 1).and_at(75, 2).codes(&[6, 7]);
const FROM_LONG: Modifier =
    Modifier::new(ModKind::SourceType, &[".U64", ".S64"]).at(74, 1).and_at(84, 2).codes(&[6, 7]);
/// The result for a NaN: zero, or the highest bit.
const NAN_TO_ZERO: Modifier = Modifier::new(ModKind::Variant, &["", ".NTZ"]).at(77, 1);
/// Before sm_90 only `F2FP` rounds to bfloat16, and not in all directions; a shift widens bfloat16.
const BRAIN: &[(&str, Archs)] = &[(".BF16", Archs::HOPPER)];
const TO_HALF: Modifier =
    Modifier::new(ModKind::DataType, &[".F16", ".BF16"]).limited(BRAIN).at(75, 3).codes(&[1, 4]);
const FROM_HALF: Modifier =
    Modifier::new(ModKind::SourceType, &[".F16", ".BF16"]).limited(BRAIN).at(84, 3).codes(&[1, 4]);
/// The type of the result, a float of at most 32 bits, if the source is a part of a register.
const TO_SMALL: Modifier =
    Modifier::new(ModKind::DataType, &["", ".F16", ".BF16"]).limited(BRAIN).at(75, 3).codes(&[2, 1, 4]);
const FROM_DOUBLE: Modifier = Modifier::new(ModKind::SourceType, &[".F64"]);
/// The codes of floats in the fields of the result and the source: binary16 1, binary32 2, binary64
/// 3, bfloat16 4.
const TO_F32: Fixed = Fixed::new(75, 3, 2);
const TO_F64: Fixed = Fixed::new(75, 3, 3);
const FROM_F32: Fixed = Fixed::new(84, 3, 2);
const FROM_F64: Fixed = Fixed::new(84, 3, 3);

pub(super) static MUFU: Row = Row {
    mnemonic: "MUFU",
    summary: "d = an approximation of a function of b",
    slots: &[D, FLOAT_B.imm(ImmFormat::OfFunction)],
    mods: &[Modifier::new(
        ModKind::Mode,
        &[".COS", ".SIN", ".EX2", ".LG2", ".RCP", ".RSQ", ".RCP64H", ".RSQ64H", ".SQRT", ".TANH"],
    )
    .at(74, 4)],
    forms: Form::B,
    opcode: 0x308,
    ..XU
};

pub(super) static I2F: Row = Row {
    mnemonic: "I2F",
    summary: "d = the integer b as a float",
    slots: &[D, INT_B],
    mods: &[FROM_INT, ROUND],
    forms: OF_INTEGER,
    fixed: &[TO_F32],
    opcode: 0x306,
    ..XU
};

pub(super) static F2I: Row = Row {
    mnemonic: "F2I",
    summary: "d = the float b as an integer, saturating",
    slots: &[D, FLOAT_B],
    mods: &[FTZ, TO_INT, INTEGRAL, NAN_TO_ZERO],
    forms: Form::B,
    fixed: &[FROM_F32],
    opcode: 0x305,
    ..XU
};

const COUNT: Slot = Slot::def("d", Kinds::R).place(Place::D);
const COUNTED: Slot = Slot::read("b", ANY).place(Place::B);
/// Whether a `FLO` gives the shift instead of the position.
pub(super) const SHIFT_COUNT: Modifier = Modifier::new(ModKind::Variant, &["", ".SH"]).at(74, 1);

pub(super) static POPC: Row = Row {
    mnemonic: "POPC",
    summary: "d = the number of ones in b",
    slots: &[COUNT, COUNTED.not()],
    forms: Form::B,
    opcode: 0x309,
    ..XU
};

pub(super) static FLO: Row = Row {
    mnemonic: "FLO",
    summary: "d = the position of the highest one of b; with `.SH` the shift that brings it to the top",
    slots: &[COUNT, Slot::def("pd", Kinds::P).hidden().at(81, 3), COUNTED.not()],
    mods: &[UNSIGNED, SHIFT_COUNT],
    forms: Form::B,
    opcode: 0x300,
    ..XU
};

pub(super) static BREV: Row = Row {
    mnemonic: "BREV",
    summary: "d = the bits of b in reverse order",
    slots: &[COUNT, COUNTED],
    forms: Form::B,
    opcode: 0x301,
    ..XU
};

pub(super) static FCHK: Row = Row {
    mnemonic: "FCHK",
    summary: "pd = whether a / b needs more than the fast division: b is tiny, huge, or the quotient subnormal",
    slots: &[
        Slot::def("pd", Kinds::P).at(81, 3),
        Slot::read("a", Kinds::R).neg().abs().place(Place::A),
        FLOAT_B,
    ],
    forms: Form::B,
    opcode: 0x302,
    ..XU
};

/// A part of a register, or of another source of 32 bits, that is an integer.
const PART: Slot = Slot::read("b", SOURCE);

pub(super) static I2F_BYTE: Row = Row {
    mnemonic: "I2F",
    summary: "d = one of the upper bytes of b as a float",
    slots: &[D, PART.halves(Halves::Bytes).place(Place::B)],
    mods: &[TO_SMALL, Modifier::new(ModKind::SourceType, &[".U8", ".S8"]).at(74, 1), ROUND],
    forms: Form::B,
    opcode: 0x306,
    ..XU
};

pub(super) static I2F_UPPER: Row = Row {
    mnemonic: "I2F",
    summary: "d = the upper half of b, an integer, as a float",
    slots: &[D, PART.halves(Halves::High).place(Place::UPPER_B)],
    mods: &[
        TO_SMALL,
        Modifier::new(ModKind::SourceType, &[".U16", ".S16"]).at(74, 1).and_at(84, 2).codes(&[2, 3]),
        ROUND,
    ],
    forms: Form::B,
    opcode: 0x306,
    ..XU
};

pub(super) static I2F_64: Row = Row {
    mnemonic: "I2F",
    summary: "d = the 64-bit integer b as a float",
    slots: &[D, LONG_B],
    mods: &[FROM_LONG, ROUND],
    forms: Form::B,
    fixed: &[TO_F32],
    opcode: 0x312,
    ..XU
};

pub(super) static I2F_F64: Row = Row {
    mnemonic: "I2F.F64",
    summary: "d = the integer b as a double, exact whatever the rounding",
    slots: &[D_PAIR, INT_B],
    mods: &[FROM_INT, ROUND],
    forms: OF_INTEGER,
    fixed: &[TO_F64],
    opcode: 0x312,
    ..XU
};

pub(super) static I2F_F64_64: Row = Row {
    mnemonic: "I2F.F64",
    summary: "d = the 64-bit integer b as a double",
    slots: &[D_PAIR, LONG_B],
    mods: &[FROM_LONG, ROUND],
    forms: Form::B,
    fixed: &[TO_F64],
    opcode: 0x312,
    ..XU
};

pub(super) static F2I_64: Row = Row {
    mnemonic: "F2I",
    summary: "d = the float b as a 64-bit integer, saturating",
    slots: &[D_PAIR, FLOAT_B],
    mods: &[FTZ, TO_LONG, INTEGRAL],
    forms: Form::B,
    fixed: &[FROM_F32],
    opcode: 0x311,
    ..XU
};

pub(super) static F2I_F64: Row = Row {
    mnemonic: "F2I",
    summary: "d = the double b as an integer, saturating",
    slots: &[D, DOUBLE_B],
    mods: &[TO_INT, FROM_DOUBLE, INTEGRAL],
    forms: Form::B,
    fixed: &[FROM_F64],
    opcode: 0x311,
    ..XU
};

pub(super) static F2I_F64_64: Row = Row {
    mnemonic: "F2I",
    summary: "d = the double b as a 64-bit integer, saturating",
    slots: &[D_PAIR, DOUBLE_B],
    mods: &[TO_LONG, FROM_DOUBLE, INTEGRAL],
    forms: Form::B,
    fixed: &[FROM_F64],
    opcode: 0x311,
    ..XU
};

pub(super) static F2F_NARROW: Row = Row {
    mnemonic: "F2F.F32.F64",
    summary: "d = the double b rounded to a float",
    slots: &[D, DOUBLE_B],
    mods: &[ROUND],
    forms: Form::B,
    fixed: &[TO_F32, FROM_F64],
    opcode: 0x310,
    ..XU
};

pub(super) static F2F_WIDEN: Row = Row {
    mnemonic: "F2F.F64.F32",
    summary: "d = the float b as a double, exact",
    slots: &[D_PAIR, FLOAT_B],
    forms: Form::B,
    fixed: &[TO_F64, FROM_F32],
    opcode: 0x310,
    ..XU
};

pub(super) static F2F_NARROW_HALF: Row = Row {
    mnemonic: "F2F",
    summary: "d = the double b rounded to a half",
    slots: &[D, DOUBLE_B],
    mods: &[TO_HALF, FROM_DOUBLE, ROUND],
    forms: Form::B,
    fixed: &[FROM_F64],
    opcode: 0x310,
    ..XU
};

pub(super) static F2F_WIDEN_HALF: Row = Row {
    mnemonic: "F2F.F64",
    summary: "d = the half b as a double, exact whatever the rounding",
    slots: &[D_PAIR, HALF_B],
    mods: &[FROM_HALF, ROUND],
    forms: OF_HALF,
    fixed: &[TO_F64],
    opcode: 0x310,
    ..XU
};

/// Pairs of different formats: the type of the result, and the type of the source.
const HALF_OF: &[(ModKind, &[&str])] =
    &[(ModKind::DataType, &[".F16"]), (ModKind::SourceType, &[".F32", ".BF16"])];
const HALF_OF_SINGLE: &[(ModKind, &[&str])] =
    &[(ModKind::DataType, &[".F16"]), (ModKind::SourceType, &[".F32"])];
const SINGLE_OF: &[(ModKind, &[&str])] =
    &[(ModKind::DataType, &[".F32"]), (ModKind::SourceType, &[".F16", ".BF16"])];
const BRAIN_OF_SINGLE: &[(ModKind, &[&str])] =
    &[(ModKind::DataType, &[".BF16"]), (ModKind::SourceType, &[".F32"])];
const BRAIN_OF_HALF: &[(ModKind, &[&str])] =
    &[(ModKind::DataType, &[".BF16"]), (ModKind::SourceType, &[".F16"])];
const IN_REGISTER: Form = Form::upper(&[("b", Shape::Register)], 1);
const IN_CONSTANT: Form = Form::upper(&[("b", Shape::Constant)], 5);
const IN_UNIFORM: Form = Form::upper(&[("b", Shape::Uniform)], 6).fixed(&[Fixed::new(91, 1, 1)]);
const IN_NUMBER: Form = Form::upper(&[("b", Shape::Immediate)], 4);
const IN_HALF_NUMBER: Form = IN_NUMBER.places(&[("b", HALF_IMMEDIATE)]);
/// The forms of a row whose source is a half.
const OF_HALF: &[Form] = &[IN_REGISTER, IN_HALF_NUMBER, IN_CONSTANT, IN_UNIFORM];
/// The forms of a row whose source is an integer.
const OF_INTEGER: &[Form] =
    &[IN_REGISTER, IN_NUMBER.with(&[(ModKind::SourceType, &[".U32", ""])]), IN_CONSTANT, IN_UNIFORM];
const BETWEEN_HALVES: &[Form] = &[
    IN_REGISTER.with(HALF_OF),
    IN_NUMBER.with(HALF_OF_SINGLE),
    IN_CONSTANT.with(HALF_OF),
    IN_UNIFORM.with(HALF_OF),
    IN_REGISTER.with(SINGLE_OF),
    IN_HALF_NUMBER.with(SINGLE_OF),
    IN_CONSTANT.with(SINGLE_OF),
    IN_UNIFORM.with(SINGLE_OF),
    IN_REGISTER.with(BRAIN_OF_SINGLE),
    IN_NUMBER.with(BRAIN_OF_SINGLE),
    IN_CONSTANT.with(BRAIN_OF_SINGLE),
    IN_UNIFORM.with(BRAIN_OF_SINGLE),
    IN_REGISTER.with(BRAIN_OF_HALF).on(Archs::HOPPER),
    IN_CONSTANT.with(BRAIN_OF_HALF).on(Archs::HOPPER),
    IN_UNIFORM.with(BRAIN_OF_HALF).on(Archs::HOPPER),
];

pub(super) static F2F_HALF: Row = Row {
    mnemonic: "F2F",
    summary: "d = the float b, where one or both are a half",
    slots: &[D, LOWER_HALF_B],
    mods: &[
        FTZ,
        Modifier::new(ModKind::DataType, &[".F16", ".BF16", ".F32"])
            .limited(&[(".BF16", Archs::AMPERE_TO_HOPPER)])
            .at(75, 3)
            .codes(&[1, 4, 2]),
        Modifier::new(ModKind::SourceType, &[".F16", ".BF16", ".F32"])
            .limited(BRAIN)
            .at(84, 3)
            .codes(&[1, 4, 2]),
        ROUND,
    ],
    forms: BETWEEN_HALVES,
    opcode: 0x304,
    ..XU
};

pub(super) static FRND: Row = Row {
    mnemonic: "FRND",
    summary: "d = the float b rounded to an integral value",
    slots: &[D, FLOAT_B],
    mods: &[FTZ, INTEGRAL],
    forms: Form::B,
    fixed: &[TO_F32, FROM_F32],
    opcode: 0x307,
    ..XU
};

pub(super) static FRND_F64: Row = Row {
    mnemonic: "FRND.F64",
    summary: "d = the double b rounded to an integral value",
    slots: &[D_PAIR, DOUBLE_B],
    mods: &[INTEGRAL],
    forms: Form::B,
    fixed: &[TO_F64, FROM_F64],
    opcode: 0x313,
    ..XU
};

pub(super) static FRND_HALF: Row = Row {
    mnemonic: "FRND",
    summary: "d = the half b rounded to an integral value",
    slots: &[D, HALF_B],
    mods: &[TO_HALF.and_at(84, 3).codes(&[0o11, 0o44]), INTEGRAL],
    forms: OF_HALF,
    opcode: 0x307,
    ..XU
};

pub(super) static MUFU_HALF: Row = Row {
    mnemonic: "MUFU",
    summary: "d = an approximation of a function of the half b",
    slots: &[
        D,
        Slot::read("b", ANY)
            .imm(ImmFormat::OfFunction)
            .neg()
            .abs()
            .halves(Halves::Upper)
            .place(Place::UPPER_B),
    ],
    mods: &[
        Modifier::new(ModKind::Mode, &[".EX2", ".TANH"]).at(74, 4).codes(&[2, 9]),
        Modifier::new(ModKind::DataType, &[".F16", ".BF16"])
            .limited(BRAIN)
            .at(72, 2)
            .codes(&[2, 3])
            .codes_on(Archs::HOPPER, &[1, 2]),
    ],
    forms: &[IN_REGISTER, IN_HALF_NUMBER, IN_CONSTANT, IN_UNIFORM],
    opcode: 0x308,
    ..XU
};

pub(super) static I2F_HALF: Row = Row {
    mnemonic: "I2F",
    summary: "d = the integer b as a half",
    slots: &[D, INT_B],
    mods: &[TO_HALF, FROM_INT, ROUND],
    forms: OF_INTEGER,
    opcode: 0x306,
    ..XU
};

pub(super) static I2F_HALF_64: Row = Row {
    mnemonic: "I2F",
    summary: "d = the 64-bit integer b as a half",
    slots: &[D, LONG_B],
    mods: &[TO_HALF, FROM_LONG, ROUND],
    forms: Form::B,
    opcode: 0x312,
    ..XU
};

pub(super) static F2I_HALF: Row = Row {
    mnemonic: "F2I",
    summary: "d = the half b as an integer, saturating",
    slots: &[D, LOWER_HALF_B],
    mods: &[TO_INT, FROM_HALF, INTEGRAL, NAN_TO_ZERO],
    forms: OF_HALF,
    opcode: 0x305,
    ..XU
};

pub(super) static F2I_HALF_64: Row = Row {
    mnemonic: "F2I",
    summary: "d = the half b as a 64-bit integer, saturating",
    slots: &[D_PAIR, HALF_B],
    mods: &[TO_LONG, FROM_HALF, INTEGRAL],
    forms: OF_HALF,
    opcode: 0x311,
    ..XU
};

pub(super) static I2F_F64_BYTE: Row = Row {
    mnemonic: "I2F.F64",
    summary: "d = one of the upper bytes of b as a double",
    slots: &[D_PAIR, PART.halves(Halves::Bytes).place(Place::B)],
    mods: &[Modifier::new(ModKind::SourceType, &[".U8", ".S8"]).at(74, 1), ROUND],
    forms: Form::B,
    fixed: &[TO_F64],
    opcode: 0x312,
    ..XU
};

pub(super) static I2F_F64_UPPER: Row = Row {
    mnemonic: "I2F.F64",
    summary: "d = the upper half of b, an integer, as a double",
    slots: &[D_PAIR, PART.halves(Halves::High).place(Place::UPPER_B)],
    mods: &[
        Modifier::new(ModKind::SourceType, &[".U16", ".S16"]).at(74, 1).and_at(84, 2).codes(&[2, 3]),
        ROUND,
    ],
    forms: Form::B,
    fixed: &[TO_F64],
    opcode: 0x312,
    ..XU
};

pub(super) static F2I_UPPER: Row = Row {
    mnemonic: "F2I",
    summary: "d = the upper half of b, a float, as an integer, saturating",
    slots: &[D, Slot::read("b", SOURCE).neg().abs().halves(Halves::High).place(Place::UPPER_B)],
    mods: &[TO_INT, FROM_HALF, INTEGRAL, NAN_TO_ZERO],
    forms: Form::B,
    opcode: 0x305,
    ..XU
};
