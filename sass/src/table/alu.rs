//! Integer addition, logic, shifts, comparison and selection.

use super::archs::{Archs, Spelling};
use super::row::{Completion, Effects, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot};
use crate::arch::Arch;

/// What the rows of this family share.
const ALU: Row = Row {
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

const D: Slot = Slot::def("d", Kinds::R);
const A: Slot = Slot::read("a", Kinds::R).reuse(0);
const B: Slot = Slot::read("b", Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST)).reuse(1);
const C: Slot = Slot::read("c", Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST)).reuse(2);
const CR: Slot = Slot::read("c", Kinds::R).reuse(2);
const IMM: Kinds = Kinds::IMM;
const P_IN: Slot = Slot::read("ps", Kinds::P).not().optional();
const P_OUT: Slot = Slot::def("pd", Kinds::P);
const COMPARE: Modifier =
    Modifier::new(ModKind::Compare, &[".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".T"]);
const COMBINE: Modifier = Modifier::new(ModKind::Combine, &[".AND", ".OR", ".XOR"]);
const UNSIGNED: Modifier = Modifier::new(ModKind::Sign, &[".U32", ""]).default_to(1);

pub(super) static IADD3: Row = Row {
    mnemonic: "IADD3",
    summary: "d = a + b + c; pd and pe are the carries",
    slots: &[
        D,
        P_OUT.hidden(),
        Slot::def("pe", Kinds::P).hidden(),
        A.neg(),
        B.neg().imm(ImmFormat::Signed),
        CR.neg(),
    ],
    opcode: 0x210,
    ..ALU
};

pub(super) static IADD3_X: Row = Row {
    mnemonic: "IADD3.X",
    summary: "d = a + b + c + ps + pt: the upper part of a long addition; `~` complements an operand",
    slots: &[
        D,
        P_OUT.hidden(),
        Slot::def("pe", Kinds::P).hidden(),
        A.not(),
        B.not().imm(ImmFormat::Signed),
        CR.not(),
        Slot::read("ps", Kinds::P).not(),
        Slot::read("pt", Kinds::P).default_not(),
    ],
    opcode: 0x210,
    ..ALU
};

pub(super) static LOP3: Row = Row {
    mnemonic: "LOP3.LUT",
    summary: "d = the bitwise function of a, b, c whose truth table is `lut`; pd = d != 0 or ps",
    slots: &[P_OUT.hidden(), D, A, B, CR, Slot::read("lut", IMM), Slot::read("ps", Kinds::P).default_not()],
    opcode: 0x212,
    ..ALU
};

pub(super) static ISETP: Row = Row {
    mnemonic: "ISETP",
    summary: "pd = (a compared with b) combined with ps; pe = the negated comparison, combined likewise",
    slots: &[P_OUT, Slot::def("pe", Kinds::P).optional(), A, B.imm(ImmFormat::Signed), P_IN],
    mods: &[COMPARE, UNSIGNED, COMBINE],
    opcode: 0x20c,
    ..ALU
};

pub(super) static ISETP_EX: Row = Row {
    mnemonic: "ISETP",
    summary: "as ISETP on the upper half of a longer integer; pt is the comparison of the lower half",
    slots: &[
        P_OUT,
        Slot::def("pe", Kinds::P).optional(),
        A,
        B.imm(ImmFormat::Signed),
        P_IN,
        Slot::read("pt", Kinds::P).not(),
    ],
    mods: &[COMPARE, UNSIGNED, COMBINE, Modifier::new(ModKind::Variant, &[".EX"])],
    opcode: 0x20c,
    ..ALU
};

pub(super) static SHF: Row = Row {
    mnemonic: "SHF",
    summary: "d = the funnel c:a shifted by b: its low word (`.L` with low half) or its high one (`.HI`)",
    slots: &[D, Slot::read("a", Kinds::R).reuse(0), B, CR],
    mods: &[
        Modifier::new(ModKind::Mode, &[".L", ".R"]),
        Modifier::new(ModKind::Combine, &["", ".W"]),
        Modifier::new(ModKind::DataType, &[".U32", ".S32", ".U64", ".S64"]),
        Modifier::new(ModKind::Variant, &["", ".HI"]),
    ],
    opcode: 0x219,
    ..ALU
};

pub(super) static LEA: Row = Row {
    mnemonic: "LEA",
    summary: "d = (a << shift) + b; pd is the carry",
    slots: &[D, P_OUT.hidden(), A.neg(), B, Slot::read("shift", IMM)],
    opcode: 0x211,
    ..ALU
};

pub(super) static LEA_HI: Row = Row {
    mnemonic: "LEA.HI",
    summary: "d = (c:a >> (32 - shift)) + b; with `.SX32` the sign of a stands for c",
    slots: &[D, P_OUT.hidden(), A.neg(), B, CR.hidden_with(".SX32"), Slot::read("shift", IMM)],
    mods: &[Modifier::new(ModKind::Variant, &["", ".SX32"])],
    opcode: 0x211,
    ..ALU
};

pub(super) static LEA_HI_X: Row = Row {
    mnemonic: "LEA.HI.X",
    summary: "d = (c:a >> (32 - shift)) + b + ps; with `.SX32` the sign of a stands for c",
    slots: &[
        D,
        P_OUT.hidden(),
        A,
        B,
        CR.optional().hidden_with(".SX32"),
        Slot::read("shift", IMM),
        Slot::read("ps", Kinds::P).not(),
    ],
    mods: &[Modifier::new(ModKind::Variant, &["", ".SX32"])],
    opcode: 0x211,
    ..ALU
};

pub(super) static MOV: Row = Row { mnemonic: "MOV", summary: "d = b", slots: &[D, B], opcode: 0x202, ..ALU };

pub(super) static SEL: Row = Row {
    mnemonic: "SEL",
    summary: "d = ps ? a : b",
    slots: &[D, A, B, Slot::read("ps", Kinds::P).not()],
    opcode: 0x207,
    ..ALU
};

pub(super) static PRMT: Row = Row {
    mnemonic: "PRMT",
    summary: "d = four bytes of c:a chosen by the nibbles of b",
    slots: &[D, A, B, C],
    mods: &[Modifier::new(ModKind::Mode, &["", ".F4E", ".B4E", ".RC8", ".ECL", ".ECR", ".RC16"])],
    opcode: 0x216,
    ..ALU
};

pub(super) static IABS: Row =
    Row { mnemonic: "IABS", summary: "d = |b|", slots: &[D, B], opcode: 0x213, ..ALU };

pub(super) static IMNMX: Row = Row {
    mnemonic: "VIMNMX",
    summary: "d = ps ? min(a, b) : max(a, b)",
    slots: &[D, A, B, Slot::read("ps", Kinds::P).not()],
    mods: &[UNSIGNED],
    spellings: &[Spelling { archs: Archs::before(Arch::Sm90), mnemonic: "IMNMX", opcode: 0x217 }],
    opcode: 0x248,
    ..ALU
};

pub(super) static VIMNMX3: Row = Row {
    mnemonic: "VIMNMX3",
    summary: "d = ps ? min(a, b, c) : max(a, b, c)",
    slots: &[D, A, B, CR, Slot::read("ps", Kinds::P).not()],
    mods: &[UNSIGNED],
    archs: Archs::since(Arch::Sm90),
    opcode: 0x20f,
    ..ALU
};

pub(super) static VIADDMNMX: Row = Row {
    mnemonic: "VIADDMNMX",
    summary: "d = ps ? min(a + b, c) : max(a + b, c)",
    slots: &[D, A, B.neg(), C, Slot::read("ps", Kinds::P).not()],
    mods: &[UNSIGNED],
    archs: Archs::since(Arch::Sm90),
    opcode: 0x246,
    ..ALU
};

pub(super) static VABSDIFF: Row = Row {
    mnemonic: "VABSDIFF",
    summary: "d = |a - b| + c",
    slots: &[D, A, B, C],
    mods: &[UNSIGNED],
    opcode: 0x214,
    ..ALU
};

pub(super) static SGXT: Row = Row {
    mnemonic: "SGXT",
    summary: "d = the lowest b bits of a, extended by their sign, or by zeros (`.U32`); `.W` takes b modulo 32",
    slots: &[D, A, B],
    mods: &[Modifier::new(ModKind::Variant, &["", ".W"]), UNSIGNED],
    opcode: 0x21a,
    ..ALU
};

pub(super) static BMSK: Row = Row {
    mnemonic: "BMSK",
    summary: "d = b ones from bit a on; `.W` takes both modulo 32",
    slots: &[D, A, B],
    mods: &[Modifier::new(ModKind::Variant, &["", ".W"])],
    opcode: 0x21b,
    ..ALU
};

pub(super) static PLOP3: Row = Row {
    mnemonic: "PLOP3.LUT",
    summary: "pd, pe = two functions of three predicates, each with its truth table",
    slots: &[
        P_OUT,
        Slot::def("pe", Kinds::P).optional(),
        Slot::read("pa", Kinds::P).not(),
        Slot::read("pb", Kinds::P).not(),
        Slot::read("pc", Kinds::P.or(Kinds::UP)).not(),
        Slot::read("lut", IMM),
        Slot::read("lut2", IMM),
    ],
    opcode: 0x81c,
    ..ALU
};
