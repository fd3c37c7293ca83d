//! The uniform datapath: one value a warp.

use super::archs::Archs;
use super::row::{
    Completion, Effects, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width,
};

const UDP: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Udp,
    latency: LatencyClass::Udp,
    completion: Completion::Fixed,
    min_stall: 1,
    effects: Effects::NONE,
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

const UD: Slot = Slot::def("d", Kinds::UR);
const UA: Slot = Slot::read("a", Kinds::UR);
const UB: Slot = Slot::read("b", Kinds::UR.or(Kinds::IMM));
const UC: Slot = Slot::read("c", Kinds::UR.or(Kinds::IMM));
const UNSIGNED: Modifier = Modifier::new(ModKind::Sign, &[".U32", ""]).default_to(1);

pub(super) static UMOV: Row = Row {
    mnemonic: "UMOV",
    summary: "d = b",
    slots: &[UD, UB],
    latency: LatencyClass::Umov,
    opcode: 0x882,
    ..UDP
};

pub(super) static UIADD3: Row = Row {
    mnemonic: "UIADD3",
    summary: "d = a + b + c",
    slots: &[
        UD,
        Slot::def("pd", Kinds::UP).hidden(),
        Slot::def("pe", Kinds::UP).hidden(),
        UA.neg(),
        UB.neg().imm(ImmFormat::Signed),
        Slot::read("c", Kinds::UR).neg(),
    ],
    opcode: 0x290,
    ..UDP
};

pub(super) static UIADD3_X: Row = Row {
    mnemonic: "UIADD3.X",
    summary: "d = a + b + c + ps + pt: the upper part of a long addition; `~` complements an operand",
    slots: &[
        UD,
        Slot::def("pd", Kinds::UP).hidden(),
        Slot::def("pe", Kinds::UP).hidden(),
        UA.not(),
        UB.not().imm(ImmFormat::Signed),
        Slot::read("c", Kinds::UR).not(),
        Slot::read("ps", Kinds::UP).not(),
        Slot::read("pt", Kinds::UP).default_not(),
    ],
    opcode: 0x290,
    ..UDP
};

pub(super) static USHF: Row = Row {
    mnemonic: "USHF",
    summary: "as SHF, on uniform registers",
    slots: &[UD, UA, UB, Slot::read("c", Kinds::UR)],
    mods: &[
        Modifier::new(ModKind::Mode, &[".L", ".R"]),
        Modifier::new(ModKind::Combine, &["", ".W"]),
        Modifier::new(ModKind::DataType, &[".U32", ".S32", ".U64", ".S64"]),
        Modifier::new(ModKind::Variant, &["", ".HI"]),
    ],
    opcode: 0x299,
    ..UDP
};

pub(super) static ULEA: Row = Row {
    mnemonic: "ULEA",
    summary: "d = (a << shift) + b",
    slots: &[UD, Slot::def("pd", Kinds::UP).hidden(), UA, UB, Slot::read("shift", Kinds::IMM)],
    opcode: 0x291,
    ..UDP
};

pub(super) static ULOP3: Row = Row {
    mnemonic: "ULOP3.LUT",
    summary: "as LOP3, on uniform registers",
    slots: &[
        Slot::def("pd", Kinds::UP).hidden(),
        UD,
        UA,
        UB,
        Slot::read("c", Kinds::UR),
        Slot::read("lut", Kinds::IMM),
        Slot::read("ps", Kinds::UP).default_not(),
    ],
    opcode: 0x292,
    ..UDP
};

pub(super) static UIMAD: Row = Row {
    mnemonic: "UIMAD",
    summary: "d = the low word of a * b + c",
    slots: &[UD, UA, UB, UC],
    mods: &[UNSIGNED],
    opcode: 0x2a4,
    ..UDP
};

pub(super) static UIMAD_WIDE: Row = Row {
    mnemonic: "UIMAD.WIDE",
    summary: "d = the 64-bit a * b + c; pd is the carry",
    slots: &[
        Slot::def("d", Kinds::UR).width(Width::Fixed(2)),
        Slot::def("pd", Kinds::UP).hidden(),
        UA,
        UB,
        Slot::read("c", Kinds::UR).width(Width::Fixed(2)),
    ],
    mods: &[UNSIGNED],
    opcode: 0x2a5,
    ..UDP
};

pub(super) static UISETP: Row = Row {
    mnemonic: "UISETP",
    summary: "as ISETP, on uniform registers",
    slots: &[
        Slot::def("pd", Kinds::UP),
        Slot::def("pe", Kinds::UP).optional(),
        UA,
        UB.imm(ImmFormat::Signed),
        Slot::read("ps", Kinds::UP).not().optional(),
    ],
    mods: &[
        Modifier::new(ModKind::Compare, &[".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".T"]),
        UNSIGNED,
        Modifier::new(ModKind::Combine, &[".AND", ".OR", ".XOR"]),
    ],
    opcode: 0x28c,
    ..UDP
};

pub(super) static USEL: Row = Row {
    mnemonic: "USEL",
    summary: "d = ps ? a : b",
    slots: &[UD, UA, UB, Slot::read("ps", Kinds::UP).not()],
    opcode: 0x287,
    ..UDP
};

pub(super) static UPRMT: Row = Row {
    mnemonic: "UPRMT",
    summary: "d = four bytes of c:a chosen by the nibbles of b",
    slots: &[UD, UA, UB, UC],
    opcode: 0x296,
    ..UDP
};

pub(super) static UFLO: Row = Row {
    mnemonic: "UFLO",
    summary: "as FLO, on uniform registers",
    slots: &[UD, Slot::def("pd", Kinds::UP).hidden(), UB.not()],
    mods: &[UNSIGNED, Modifier::new(ModKind::Variant, &["", ".SH"])],
    opcode: 0x2bd,
    ..UDP
};

pub(super) static UPOPC: Row = Row {
    mnemonic: "UPOPC",
    summary: "d = the number of ones in b",
    slots: &[UD, UB.not()],
    opcode: 0x2bf,
    ..UDP
};
