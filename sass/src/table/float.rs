//! The multiply-add pipe, float and integer, and float comparison.

use super::archs::Archs;
use super::row::{
    Completion, Effects, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width,
};
use crate::arch::Arch;

/// What the rows of the multiply-add pipe share.
const FMA: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Fma,
    latency: LatencyClass::Fma,
    completion: Completion::Fixed,
    min_stall: 1,
    effects: Effects::NONE,
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R);
const A: Slot = Slot::read("a", Kinds::R).reuse(0);
const B: Slot = Slot::read("b", ANY).reuse(1);
const C: Slot = Slot::read("c", ANY).reuse(2);
const FTZ: Modifier = Modifier::new(ModKind::Ftz, &["", ".FTZ"]);
const ROUND: Modifier = Modifier::new(ModKind::Round, &["", ".RM", ".RP", ".RZ"]);
const SAT: Modifier = Modifier::new(ModKind::Sat, &["", ".SAT"]);
pub(super) const COMPARE: Modifier = Modifier::new(
    ModKind::Compare,
    &[
        ".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".NUM", ".NAN", ".LTU", ".EQU", ".LEU", ".GTU",
        ".NEU", ".GEU", ".T",
    ],
);
pub(super) const COMBINE: Modifier = Modifier::new(ModKind::Combine, &[".AND", ".OR", ".XOR"]);
const UNSIGNED: Modifier = Modifier::new(ModKind::Sign, &[".U32", ""]).default_to(1);
const FLOAT: ImmFormat = ImmFormat::Float;
const SIGNED: ImmFormat = ImmFormat::Signed;
const WIDE_C: Slot = Slot::read("c", Kinds::R.or(Kinds::UR).or(Kinds::CONST)).reuse(2).width(Width::Fixed(2));

pub(super) static FADD: Row = Row {
    mnemonic: "FADD",
    summary: "d = a + b, rounded",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT)],
    mods: &[FTZ, ROUND, SAT],
    opcode: 0x221,
    ..FMA
};

pub(super) static FMUL: Row = Row {
    mnemonic: "FMUL",
    summary: "d = a * b, rounded",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT)],
    mods: &[FTZ, ROUND, SAT],
    opcode: 0x220,
    ..FMA
};

pub(super) static FFMA: Row = Row {
    mnemonic: "FFMA",
    summary: "d = a * b + c, rounded once",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT), C.neg().abs().imm(FLOAT)],
    mods: &[FTZ, ROUND, SAT],
    opcode: 0x223,
    ..FMA
};

pub(super) static FSETP: Row = Row {
    mnemonic: "FSETP",
    summary: "pd = (a compared with b) combined with ps; pe = the negated comparison, combined likewise",
    slots: &[
        Slot::def("pd", Kinds::P),
        Slot::def("pe", Kinds::P).optional(),
        A.neg().abs(),
        B.neg().abs().imm(FLOAT),
        Slot::read("ps", Kinds::P).not().optional(),
    ],
    mods: &[COMPARE, FTZ, COMBINE],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    opcode: 0x20b,
    ..FMA
};

pub(super) static FSET: Row = Row {
    mnemonic: "FSET.BF",
    summary: "d = (a compared with b) combined with ps, as 1.0 or 0.0",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT), Slot::read("ps", Kinds::P).not().optional()],
    mods: &[COMPARE, FTZ, COMBINE],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    opcode: 0x20a,
    ..FMA
};

pub(super) static FSEL: Row = Row {
    mnemonic: "FSEL",
    summary: "d = ps ? a : b, with float signs",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT), Slot::read("ps", Kinds::P).not()],
    mods: &[FTZ],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    opcode: 0x208,
    ..FMA
};

pub(super) static FMNMX: Row = Row {
    mnemonic: "FMNMX",
    summary: "d = ps ? min(a, b) : max(a, b); a NaN loses against a number, or wins (`.NAN`)",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT), Slot::read("ps", Kinds::P).not()],
    mods: &[
        FTZ,
        Modifier::new(ModKind::Mode, &["", ".NAN"]).limited(&[(".NAN", Archs::since(Arch::Sm80))]),
        Modifier::new(ModKind::Sign, &["", ".XORSIGN"]).limited(&[(".XORSIGN", Archs::since(Arch::Sm86))]),
    ],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    opcode: 0x209,
    ..FMA
};

pub(super) static I2FP: Row = Row {
    mnemonic: "I2FP.F32",
    summary: "d = the integer b as a binary32",
    slots: &[D, B],
    mods: &[
        Modifier::new(ModKind::SourceType, &[".U32", ".S32"]),
        Modifier::new(ModKind::Round, &["", ".RZ"]),
    ],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    archs: Archs::since(Arch::Sm86),
    opcode: 0x245,
    ..FMA
};

pub(super) static IMAD: Row = Row {
    mnemonic: "IMAD",
    summary: "d = the low word of a * b + c",
    slots: &[D, A, B.imm(SIGNED), C.neg().imm(SIGNED)],
    mods: &[UNSIGNED],
    pipe: Pipe::FmaHeavy,
    opcode: 0x224,
    ..FMA
};

pub(super) static IMAD_WIDE: Row = Row {
    mnemonic: "IMAD.WIDE",
    summary: "d = the 64-bit a * b + c; pd is the carry",
    slots: &[D.width(Width::Fixed(2)), Slot::def("pd", Kinds::P).hidden(), A, B.imm(SIGNED), WIDE_C.neg()],
    mods: &[UNSIGNED],
    pipe: Pipe::FmaHeavy,
    latency: LatencyClass::ImadWide,
    opcode: 0x225,
    ..FMA
};

pub(super) static IMAD_WIDE_X: Row = Row {
    mnemonic: "IMAD.WIDE",
    summary: "d = the 64-bit a * b + c + ps; pd is the carry",
    slots: &[
        D.width(Width::Fixed(2)),
        Slot::def("pd", Kinds::P).hidden(),
        A,
        B.imm(SIGNED),
        WIDE_C.not(),
        Slot::read("ps", Kinds::P).not(),
    ],
    mods: &[UNSIGNED, Modifier::new(ModKind::Variant, &[".X"])],
    pipe: Pipe::FmaHeavy,
    latency: LatencyClass::ImadWide,
    opcode: 0x225,
    ..FMA
};

pub(super) static IMAD_X: Row = Row {
    mnemonic: "IMAD.X",
    summary: "d = the low word of a * b + c + ps",
    slots: &[D, A, B.imm(SIGNED), C.not().imm(SIGNED), Slot::read("ps", Kinds::P).not()],
    mods: &[UNSIGNED],
    pipe: Pipe::FmaHeavy,
    opcode: 0x224,
    ..FMA
};

pub(super) static IMAD_HI: Row = Row {
    mnemonic: "IMAD.HI",
    summary: "d = the high word of the 64-bit a * b + c; pd is the carry",
    slots: &[D, Slot::def("pd", Kinds::P).hidden(), A, B.imm(SIGNED), WIDE_C],
    mods: &[UNSIGNED],
    pipe: Pipe::FmaHeavy,
    latency: LatencyClass::ImadWide,
    opcode: 0x227,
    ..FMA
};

pub(super) static VIADD: Row = Row {
    mnemonic: "VIADD",
    summary: "d = a + b on the multiply-add pipe",
    slots: &[D, A.neg(), B.neg()],
    pipe: Pipe::FmaHeavy,
    archs: Archs::since(Arch::Sm90),
    opcode: 0x236,
    ..FMA
};

pub(super) static F2FP: Row = Row {
    mnemonic: "F2FP",
    summary: "d = a and b rounded to halves, a the upper one",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT)],
    mods: &[
        Modifier::new(ModKind::Sat, &["", ".SATFINITE"]),
        Modifier::new(ModKind::Variant, &["", ".RELU"]),
        Modifier::new(ModKind::DataType, &[".F16", ".BF16"]).spelled(&[(
            ".F16",
            Archs::before(Arch::Sm89),
            "",
        )]),
        Modifier::new(ModKind::SourceType, &[".F32"]).spelled(&[(".F32", Archs::before(Arch::Sm89), "")]),
        Modifier::new(ModKind::Mode, &[".PACK_AB"]),
        Modifier::new(ModKind::Round, &["", ".RZ"]),
    ],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    archs: Archs::since(Arch::Sm80),
    opcode: 0x23e,
    ..FMA
};

pub(super) static IDP_4A: Row = Row {
    mnemonic: "IDP.4A",
    summary: "d = the dot product of the four bytes of a and of b, plus c",
    slots: &[D, A, B, C],
    mods: &[
        Modifier::new(ModKind::SourceType, &[".U8", ".S8"]),
        Modifier::new(ModKind::DataType, &[".U8", ".S8"]),
    ],
    pipe: Pipe::FmaHeavy,
    opcode: 0x226,
    ..FMA
};

pub(super) static IDP_2A: Row = Row {
    mnemonic: "IDP.2A",
    summary: "d = the products of the halves of a and two bytes of b, plus c",
    slots: &[D, A, B, C],
    mods: &[
        Modifier::new(ModKind::Variant, &[".LO", ".HI"]),
        Modifier::new(ModKind::SourceType, &[".U16", ".S16"]),
        Modifier::new(ModKind::DataType, &[".U8", ".S8"]),
    ],
    pipe: Pipe::FmaHeavy,
    opcode: 0x226,
    ..FMA
};
