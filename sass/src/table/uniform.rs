//! The uniform datapath: one value per warp.

use super::alu::{
    COMBINE, COMPARE, EXTENDED, FIRST_TABLE, FUNNEL, HIGH, MODULO, NO_CARRIES, NO_CARRY, PAND, SECOND_TABLE,
    SHIFT, SIGN, SX32, UNSIGNED,
};
use super::convert::SHIFT_COUNT;
use super::place::{Fixed, Form, Place, Shape};
use super::row::{Completion, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width};
use crate::register::RegFile;

/// The common part of the rows of this family.
const UDP: Row = Row {
    pipe: Pipe::Udp,
    latency: LatencyClass::Udp,
    completion: Completion::Fixed,
    guard: RegFile::Upred,
    ..Row::BASE
};

const UD: Slot = Slot::def("d", Kinds::UR).place(Place::D);
const UD_PAIR: Slot = UD.width(Width::Fixed(2));
const UA: Slot = Slot::read("a", Kinds::UR).place(Place::A);
const UB: Slot = Slot::read("b", Kinds::UR.or(Kinds::IMM)).place(Place::B);
const UC: Slot = Slot::read("c", Kinds::UR.or(Kinds::IMM)).place(Place::C);
const UCR: Slot = Slot::read("c", Kinds::UR).place(Place::C);
const P_IN: Slot = Slot::read("ps", Kinds::UP).not().at(87, 3);
const P_OUT: Slot = Slot::def("pd", Kinds::UP).at(81, 3);
const P_OUT_2: Slot = Slot::def("pe", Kinds::UP).at(84, 3);
const SIGNED: ImmFormat = ImmFormat::Signed;
/// Marks uniform operands.
const UNIFORM: Fixed = Fixed::new(91, 1, 1);
/// The third operand of a `ULEA` that has none.
const NO_C: Fixed = Fixed::new(64, 6, 0x3f);
const NO_RESULT: Fixed = Fixed::new(81, 3, 7);

pub(super) static UMOV: Row = Row {
    mnemonic: "UMOV",
    summary: "d = b",
    slots: &[UD, UB],
    latency: LatencyClass::Umov,
    forms: &[
        Form::upper(&[("b", Shape::Register)], 6).fixed(&[UNIFORM]),
        Form::upper(&[("b", Shape::Immediate)], 4),
    ],
    opcode: 0x882,
    ..UDP
};

/// The signs follow the rule of `IADD3`, although only that row was run on hardware.
pub(super) static UIADD3: Row = Row {
    mnemonic: "UIADD3",
    summary: "d = a + b + c; pd and pe are the carries",
    slots: &[
        UD,
        P_OUT.hidden(),
        P_OUT_2.hidden(),
        UA.neg().sole_sign(),
        UB.neg().sole_sign().imm(SIGNED),
        UCR.neg(),
    ],
    forms: Form::B,
    fixed: &[NO_CARRIES[0], NO_CARRIES[1], UNIFORM],
    opcode: 0x290,
    ..UDP
};

pub(super) static UIADD3_X: Row = Row {
    mnemonic: "UIADD3.X",
    summary: "d = a + b + c + ps + pt: the upper part of a long addition; `~` complements an operand",
    slots: &[
        UD,
        P_OUT.hidden(),
        P_OUT_2.hidden(),
        UA.not().sole_sign(),
        UB.not().sole_sign().imm(SIGNED),
        UCR.not(),
        P_IN,
        Slot::read("pt", Kinds::UP).default_not().at(77, 3),
    ],
    forms: Form::B,
    fixed: &[EXTENDED, UNIFORM],
    opcode: 0x290,
    ..UDP
};

pub(super) static UIADD3_NEVER: Row = Row {
    mnemonic: "UIADD3",
    summary: "an addition whose guard is !UPT: it only occupies the uniform datapath",
    slots: &[UD, UA, Slot::read("b", Kinds::UR).place(Place::B), UCR],
    fixed: &[NEVER, NO_CARRIES[0], NO_CARRIES[1], Fixed::new(81, 6, 0x3f), UNIFORM],
    opcode: 0x290,
    never: true,
    ..UDP
};

/// The guard that never holds.
const NEVER: Fixed = Fixed::new(12, 4, 0xf);

pub(super) static USHF: Row = Row {
    mnemonic: "USHF",
    summary: "as SHF, on uniform registers",
    slots: &[UD, UA, UB, UC],
    mods: FUNNEL,
    forms: Form::BC,
    fixed: &[UNIFORM],
    opcode: 0x299,
    ..UDP
};

pub(super) static ULEA: Row = Row {
    mnemonic: "ULEA",
    summary: "d = (a << shift) + b; pd is the carry",
    slots: &[UD, P_OUT.hidden(), UA.neg(), UB.neg(), SHIFT],
    forms: Form::B,
    fixed: &[NO_C, NO_CARRY, UNIFORM],
    opcode: 0x291,
    ..UDP
};

pub(super) static ULEA_X: Row = Row {
    mnemonic: "ULEA.X",
    summary: "as LEA.X, on uniform registers",
    slots: &[UD, P_OUT.hidden(), UA.not(), UB.not(), SHIFT, P_IN],
    forms: Form::B,
    fixed: &[NO_C, EXTENDED, UNIFORM],
    opcode: 0x291,
    ..UDP
};

pub(super) static ULEA_HI: Row = Row {
    mnemonic: "ULEA.HI",
    summary: "as LEA.HI, on uniform registers",
    slots: &[UD, P_OUT.hidden(), UA.neg(), UB.neg(), UCR.hidden_with(".SX32"), SHIFT],
    mods: &[SX32],
    forms: Form::B,
    fixed: &[NO_CARRY, HIGH, UNIFORM],
    opcode: 0x291,
    ..UDP
};

pub(super) static ULEA_HI_X: Row = Row {
    mnemonic: "ULEA.HI.X",
    summary: "as LEA.HI.X, on uniform registers",
    slots: &[UD, P_OUT.hidden(), UA.not(), UB.not(), UCR.optional().hidden_with(".SX32"), SHIFT, P_IN],
    mods: &[SX32],
    forms: Form::B,
    fixed: &[HIGH, EXTENDED, UNIFORM],
    opcode: 0x291,
    ..UDP
};

pub(super) static ULOP3: Row = Row {
    mnemonic: "ULOP3.LUT",
    summary: "as LOP3, on uniform registers",
    slots: &[
        P_OUT.hidden(),
        UD,
        UA,
        UB,
        UCR,
        Slot::read("lut", Kinds::IMM).at(72, 8),
        Slot::read("ps", Kinds::UP).default_not().at(87, 3),
    ],
    mods: &[PAND],
    forms: Form::B,
    fixed: &[UNIFORM],
    opcode: 0x292,
    ..UDP
};

pub(super) static UIMAD: Row = Row {
    mnemonic: "UIMAD",
    summary: "d = the low word of a * b + c",
    slots: &[UD, UA, UB.imm(SIGNED), UC.neg().imm(SIGNED)],
    mods: &[UNSIGNED],
    forms: Form::BC,
    fixed: &[NO_RESULT, NO_CARRY, UNIFORM],
    opcode: 0x2a4,
    ..UDP
};

pub(super) static UIMAD_WIDE: Row = Row {
    mnemonic: "UIMAD.WIDE",
    summary: "d = the 64-bit a * b + c; pd is the carry",
    slots: &[UD_PAIR, P_OUT.hidden(), UA, UB.imm(SIGNED), UCR.width(Width::Fixed(2)).neg()],
    mods: &[UNSIGNED],
    forms: Form::B,
    fixed: &[NO_CARRY, UNIFORM],
    opcode: 0x2a5,
    ..UDP
};

pub(super) static UIMAD_WIDE_X: Row = Row {
    mnemonic: "UIMAD.WIDE",
    summary: "d = the 64-bit a * b + c + ps; pd is the carry",
    slots: &[UD_PAIR, P_OUT.hidden(), UA, UB.imm(SIGNED), UCR.width(Width::Fixed(2)).not(), P_IN],
    mods: &[UNSIGNED, Modifier::new(ModKind::Variant, &[".X"])],
    forms: Form::B,
    fixed: &[EXTENDED, UNIFORM],
    opcode: 0x2a5,
    ..UDP
};

pub(super) static UISETP: Row = Row {
    mnemonic: "UISETP",
    summary: "as ISETP, on uniform registers",
    slots: &[P_OUT, P_OUT_2.optional(), UA, UB.imm(SIGNED), P_IN.optional()],
    mods: &[COMPARE, UNSIGNED, COMBINE],
    forms: Form::B,
    fixed: &[Fixed::new(68, 3, 7), UNIFORM],
    opcode: 0x28c,
    ..UDP
};

pub(super) static UISETP_EX: Row = Row {
    mnemonic: "UISETP",
    summary: "as ISETP with `.EX`, on uniform registers",
    slots: &[
        P_OUT,
        P_OUT_2.optional(),
        UA,
        UB.imm(SIGNED),
        P_IN.optional(),
        Slot::read("pt", Kinds::UP).not().at(68, 3),
    ],
    mods: &[COMPARE, UNSIGNED, COMBINE, Modifier::new(ModKind::Variant, &[".EX"])],
    forms: Form::B,
    fixed: &[Fixed::new(72, 1, 1), UNIFORM],
    opcode: 0x28c,
    ..UDP
};

pub(super) static USEL: Row = Row {
    mnemonic: "USEL",
    summary: "d = ps ? a : b",
    slots: &[UD, UA, UB, P_IN],
    forms: Form::B,
    fixed: &[UNIFORM],
    opcode: 0x287,
    ..UDP
};

pub(super) static UPRMT: Row = Row {
    mnemonic: "UPRMT",
    summary: "d = four bytes of c:a chosen by the nibbles of b",
    slots: &[UD, UA, UB, UCR],
    forms: Form::B,
    fixed: &[UNIFORM],
    opcode: 0x296,
    ..UDP
};

pub(super) static UFLO: Row = Row {
    mnemonic: "UFLO",
    summary: "as FLO, on uniform registers",
    slots: &[UD, P_OUT.hidden(), UB.not()],
    mods: &[UNSIGNED, SHIFT_COUNT],
    forms: Form::B,
    fixed: &[UNIFORM],
    opcode: 0x2bd,
    ..UDP
};

pub(super) static UPOPC: Row = Row {
    mnemonic: "UPOPC",
    summary: "d = the number of ones in b",
    slots: &[UD, UB.not()],
    forms: Form::B,
    fixed: &[UNIFORM],
    opcode: 0x2bf,
    ..UDP
};

pub(super) static UBMSK: Row = Row {
    mnemonic: "UBMSK",
    summary: "as BMSK, on uniform registers",
    slots: &[UD, UA, UB],
    mods: &[MODULO],
    forms: Form::B,
    fixed: &[UNIFORM],
    opcode: 0x29b,
    ..UDP
};

pub(super) static USGXT: Row = Row {
    mnemonic: "USGXT",
    summary: "as SGXT, on uniform registers",
    slots: &[UD, UA, UB],
    mods: &[MODULO, UNSIGNED],
    forms: Form::B,
    fixed: &[UNIFORM],
    opcode: 0x29a,
    ..UDP
};

pub(super) static UBREV: Row = Row {
    mnemonic: "UBREV",
    summary: "d = the bits of b in reverse order",
    slots: &[UD, UB],
    forms: Form::B,
    fixed: &[UNIFORM],
    opcode: 0x2be,
    ..UDP
};

pub(super) static UPLOP3: Row = Row {
    mnemonic: "UPLOP3.LUT",
    summary: "as PLOP3, on uniform predicates",
    slots: &[
        P_OUT,
        P_OUT_2.optional(),
        Slot::read("pa", Kinds::UP).not().at(87, 3),
        Slot::read("pb", Kinds::UP).not().at(77, 3),
        Slot::read("pc", Kinds::UP).not().at(68, 3),
        FIRST_TABLE,
        SECOND_TABLE,
    ],
    opcode: 0x89c,
    ..UDP
};

pub(super) static UPLOP3_SIGN: Row = Row {
    mnemonic: "UPLOP3.LUT",
    summary: "pd, pe = two functions of whether a, b and c are negative, each with its truth table",
    slots: &[
        P_OUT,
        P_OUT_2.optional(),
        UA.marked(SIGN),
        Slot::read("b", Kinds::UR).place(Place::B).marked(SIGN),
        UCR.marked(SIGN),
        Slot::read("lut", Kinds::IMM).at(72, 8),
        SECOND_TABLE,
    ],
    forms: Form::B,
    fixed: &[UNIFORM],
    opcode: 0x29f,
    ..UDP
};

pub(super) static UIADD3_64: Row = Row {
    mnemonic: "UIADD3.64",
    summary: "d = a + b + c, pairs, the constant with its sign; pd and pe are the carries",
    slots: &[
        UD_PAIR,
        P_OUT.hidden(),
        P_OUT_2.hidden(),
        UA.width(Width::Fixed(2)).neg(),
        UB.width(Width::Fixed(2)).neg().imm(SIGNED),
        UCR.width(Width::Fixed(2)).neg(),
    ],
    forms: &[Form::upper(&[("b", Shape::Register)], 1), Form::upper(&[("b", Shape::Immediate)], 4)],
    fixed: &[NO_CARRIES[0], NO_CARRIES[1], UNIFORM],
    opcode: 0x297,
    ..UDP
};
