//! The multiply-add pipe (float and integer) and the transcendental unit.

use super::row::{
    Bits, Completion, Effects, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width,
};

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
    opcode: 0,
};

/// What the rows of the transcendental unit share.
const XU: Row =
    Row { pipe: Pipe::Xu, latency: LatencyClass::MioFast, completion: Completion::Variable, ..FMA };

const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R);
const A: Slot = Slot::read("a", Kinds::R).reuse(0);
const B: Slot = Slot::read("b", ANY).reuse(1);
const C: Slot = Slot::read("c", ANY).reuse(2);
const FTZ: Modifier = Modifier::new(ModKind::Ftz, &["", ".FTZ"]);
const ROUND: Modifier = Modifier::new(ModKind::Round, &["", ".RM", ".RP", ".RZ"]);
const SAT: Modifier = Modifier::new(ModKind::Sat, &["", ".SAT"]);
const COMBINE: Modifier = Modifier::new(ModKind::Combine, &[".AND", ".OR", ".XOR"]);
const UNSIGNED: Modifier =
    Modifier { kind: ModKind::Sign, values: &[".U32", ""], default: 1, bits: Bits { lo: 0, len: 0 } };
const FLOAT: ImmFormat = ImmFormat::Float;

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
    slots: &[D, A.neg(), B.neg().imm(FLOAT), C.neg().imm(FLOAT)],
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
    mods: &[
        Modifier::new(
            ModKind::Compare,
            &[
                ".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".NUM", ".NAN", ".LTU", ".EQU", ".LEU",
                ".GTU", ".NEU", ".GEU", ".T",
            ],
        ),
        FTZ,
        COMBINE,
    ],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    opcode: 0x20b,
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
    summary: "d = ps ? min(a, b) : max(a, b); a NaN loses against a number",
    slots: &[D, A.neg().abs(), B.neg().abs().imm(FLOAT), Slot::read("ps", Kinds::P).not()],
    mods: &[FTZ],
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
        Modifier::new(ModKind::Round, &["", ".RM", ".RP", ".RZ"]),
    ],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    opcode: 0x245,
    ..FMA
};

pub(super) static IMAD: Row = Row {
    mnemonic: "IMAD",
    summary: "d = the low word of a * b + c",
    slots: &[D, A, B, C.neg()],
    mods: &[UNSIGNED],
    opcode: 0x224,
    ..FMA
};

pub(super) static IMAD_WIDE: Row = Row {
    mnemonic: "IMAD.WIDE",
    summary: "d = the 64-bit a * b + c; pd is the carry",
    slots: &[
        D.width(Width::Fixed(2)),
        Slot::def("pd", Kinds::P).hidden(),
        A,
        B,
        Slot::read("c", Kinds::R.or(Kinds::UR).or(Kinds::CONST)).reuse(2).width(Width::Fixed(2)),
    ],
    mods: &[UNSIGNED],
    latency: LatencyClass::ImadWide,
    opcode: 0x225,
    ..FMA
};

pub(super) static IMAD_X: Row = Row {
    mnemonic: "IMAD.X",
    summary: "d = the low word of a * b + c + ps",
    slots: &[D, A, B, C.not(), Slot::read("ps", Kinds::P).not()],
    mods: &[UNSIGNED],
    opcode: 0x224,
    ..FMA
};

pub(super) static IMAD_HI: Row = Row {
    mnemonic: "IMAD.HI",
    summary: "d = the high word of a * b + c:0",
    slots: &[D, A, B, C],
    mods: &[UNSIGNED],
    latency: LatencyClass::ImadWide,
    opcode: 0x227,
    ..FMA
};

pub(super) static VIADD: Row = Row {
    mnemonic: "VIADD",
    summary: "d = a + b on the multiply-add pipe",
    slots: &[D, A.neg(), B],
    opcode: 0x236,
    ..FMA
};

pub(super) static MUFU: Row = Row {
    mnemonic: "MUFU",
    summary: "d = an approximation of a function of b",
    slots: &[D, Slot::read("b", ANY).neg().abs().imm(FLOAT)],
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
    slots: &[D, Slot::read("b", ANY)],
    mods: &[
        Modifier {
            kind: ModKind::SourceType,
            values: &[".U8", ".S8", ".U16", ".S16", ".U32", "", ".U64", ".S64"],
            default: 5,
            bits: Bits { lo: 0, len: 0 },
        },
        ROUND,
    ],
    opcode: 0x306,
    ..XU
};

pub(super) static F2I: Row = Row {
    mnemonic: "F2I",
    summary: "d = the float b as an integer, saturating",
    slots: &[D, Slot::read("b", ANY).neg().abs().imm(FLOAT)],
    mods: &[
        FTZ,
        Modifier { kind: ModKind::DataType, values: &[".U32", ""], default: 1, bits: Bits { lo: 0, len: 0 } },
        Modifier::new(ModKind::Round, &["", ".FLOOR", ".CEIL", ".TRUNC"]),
        Modifier::new(ModKind::Variant, &["", ".NTZ"]),
    ],
    opcode: 0x305,
    ..XU
};

pub(super) static POPC: Row = Row {
    mnemonic: "POPC",
    summary: "d = the number of ones in b",
    slots: &[D, Slot::read("b", ANY).not()],
    opcode: 0x309,
    ..XU
};

pub(super) static FLO: Row = Row {
    mnemonic: "FLO",
    summary: "d = the position of the highest one of b; with `.SH` the shift that brings it to the top",
    slots: &[D, Slot::def("pd", Kinds::P).hidden(), Slot::read("b", ANY).not()],
    mods: &[
        Modifier { kind: ModKind::Sign, values: &[".U32", ""], default: 1, bits: Bits { lo: 0, len: 0 } },
        Modifier::new(ModKind::Variant, &["", ".SH"]),
    ],
    opcode: 0x300,
    ..XU
};

pub(super) static BREV: Row = Row {
    mnemonic: "BREV",
    summary: "d = the bits of b in reverse order",
    slots: &[D, Slot::read("b", ANY)],
    opcode: 0x301,
    ..XU
};
