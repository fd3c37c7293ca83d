//! The uniform datapath and moves from special registers.

use super::row::{
    Bits, Completion, Effects, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width,
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
    opcode: 0,
};

const UD: Slot = Slot::def("d", Kinds::UR);
const UA: Slot = Slot::read("a", Kinds::UR);
const UB: Slot = Slot::read("b", Kinds::UR.or(Kinds::IMM));
const UC: Slot = Slot::read("c", Kinds::UR.or(Kinds::IMM));
const SR: Slot = Slot::read("sr", Kinds::SPECIAL);
const UNSIGNED: Modifier =
    Modifier { kind: ModKind::Sign, values: &[".U32", ""], default: 1, bits: Bits { lo: 0, len: 0 } };

pub(super) static S2R: Row = Row {
    mnemonic: "S2R",
    summary: "d = a special register",
    slots: &[Slot::def("d", Kinds::R), SR],
    pipe: Pipe::Xu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    opcode: 0x919,
    ..UDP
};

pub(super) static S2UR: Row = Row {
    mnemonic: "S2UR",
    summary: "d = a special register, into a uniform register",
    slots: &[UD, SR],
    pipe: Pipe::Xu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    opcode: 0x9c3,
    ..UDP
};

pub(super) static CS2R: Row = Row {
    mnemonic: "CS2R",
    summary: "d = a special register of fixed latency; SRZ clears a pair",
    slots: &[Slot::def("d", Kinds::R).width(Width::Fixed(2)), SR],
    pipe: Pipe::Alu,
    latency: LatencyClass::Cs2r,
    opcode: 0x805,
    ..UDP
};

pub(super) static R2UR: Row = Row {
    mnemonic: "R2UR",
    summary: "d = a of the first active lane",
    slots: &[UD, Slot::read("a", Kinds::R)],
    pipe: Pipe::Alu,
    latency: LatencyClass::R2ur,
    opcode: 0x3c2,
    ..UDP
};

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
