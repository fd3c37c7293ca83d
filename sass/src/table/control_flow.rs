//! Branches, calls, exits and convergence barriers.

use super::archs::Archs;
use super::row::{
    Completion, Effects, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width,
};
use crate::arch::Arch;

const FLOW: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Control,
    latency: LatencyClass::Branch,
    completion: Completion::Fixed,
    min_stall: 5,
    effects: Effects { convergent: true, ..Effects::NONE },
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

const CONVERGENCE: Slot = Slot::read("barrier", Kinds::CONVERGENCE);

pub(super) static BRA: Row = Row {
    mnemonic: "BRA",
    summary: "go to the label if the guard and ps hold",
    slots: &[Slot::read("ps", Kinds::P.or(Kinds::UP)).not().hidden(), Slot::read("target", Kinds::LABEL)],
    mods: &[Modifier::new(ModKind::Variant, &["", ".U"])],
    effects: Effects { branch: true, ..Effects::NONE },
    opcode: 0x947,
    ..FLOW
};

/// What branches on whether lanes run together share.
const TOGETHER: Row = Row {
    slots: &[Slot::read("mask", Kinds::UR).not(), Slot::read("target", Kinds::LABEL)],
    effects: Effects { convergent: true, branch: true, ..Effects::NONE },
    archs: Archs::since(Arch::Sm80),
    opcode: 0x947,
    ..FLOW
};

pub(super) static BRA_DIV: Row = Row {
    mnemonic: "BRA.DIV",
    summary: "go to the label unless the lanes of the mask run together; all of them are the complement of none",
    ..TOGETHER
};

pub(super) static BRA_CONV: Row = Row {
    mnemonic: "BRA.CONV",
    summary: "go to the label if the lanes of the mask run together; all of them are the complement of none",
    archs: Archs::since(Arch::Sm80).and(Archs::before(Arch::Sm90)),
    ..TOGETHER
};

pub(super) static BRA_DIV_WARP: Row = Row {
    mnemonic: "BRA.DIV",
    summary: "go to the label unless all lanes of the warp run together",
    slots: &[Slot::read("target", Kinds::LABEL)],
    archs: Archs::only(Arch::Sm75),
    ..TOGETHER
};

pub(super) static BRA_CONV_WARP: Row = Row {
    mnemonic: "BRA.CONV",
    summary: "go to the label if all lanes of the warp run together",
    ..BRA_DIV_WARP
};

/// The targets of an indexed branch, as an assembler's annotation names them; no part of the encoding.
const TARGETS: Slot = Slot::read("targets", Kinds::LABEL).repeated();

pub(super) static BRX: Row = Row {
    mnemonic: "BRX",
    summary: "go to the address of the next instruction plus a (64 bits) plus the offset, which is one of the targets",
    slots: &[
        Slot::read("a", Kinds::R).width(Width::Fixed(2)),
        Slot::read("offset", Kinds::IMM).imm(ImmFormat::Signed).spaced(),
        TARGETS,
    ],
    effects: Effects { branch: true, ..Effects::NONE },
    opcode: 0x949,
    ..FLOW
};

pub(super) static BRXU: Row = Row {
    mnemonic: "BRXU",
    summary: "as BRX, with the address in uniform registers: all lanes go to one target",
    slots: &[
        Slot::read("a", Kinds::UR).width(Width::Fixed(2)),
        Slot::read("offset", Kinds::IMM).imm(ImmFormat::Signed).spaced(),
        TARGETS,
    ],
    effects: Effects { branch: true, ..Effects::NONE },
    opcode: 0x958,
    ..FLOW
};

pub(super) static EXIT: Row = Row {
    mnemonic: "EXIT",
    summary: "end the thread",
    effects: Effects { exit: true, ..Effects::NONE },
    opcode: 0x94d,
    ..FLOW
};

/// What a function that is called may do.
const CALL_EFFECTS: Effects = Effects {
    reads_memory: true,
    writes_memory: true,
    fence: true,
    convergent: true,
    branch: true,
    exit: false,
    boundary: true,
    ..Effects::NONE
};

pub(super) static CALL: Row = Row {
    mnemonic: "CALL.REL.NOINC",
    summary: "go to the function; the return address is in registers by convention",
    slots: &[Slot::read("target", Kinds::FUNCTION)],
    effects: CALL_EFFECTS,
    opcode: 0x944,
    ..FLOW
};

pub(super) static CALL_INDIRECT: Row = Row {
    mnemonic: "CALL.REL.NOINC",
    summary: "go to the address in the pair, in bytes from the start of the function base",
    slots: &[Slot::read("a", Kinds::R).width(Width::Fixed(2)), Slot::read("base", Kinds::FUNCTION).spaced()],
    effects: CALL_EFFECTS,
    opcode: 0x344,
    ..FLOW
};

pub(super) static RET: Row = Row {
    mnemonic: "RET.REL.NODEC",
    summary: "return to the address in the pair, in bytes from the start of the function base",
    slots: &[Slot::read("a", Kinds::R).width(Width::Fixed(2)), Slot::read("base", Kinds::FUNCTION).spaced()],
    effects: Effects { convergent: true, branch: true, boundary: true, ..Effects::NONE },
    opcode: 0x950,
    ..FLOW
};

pub(super) static BMOV_CLEAR: Row = Row {
    mnemonic: "BMOV.32.CLEAR",
    summary: "d = the lanes of the barrier, which has none from now on",
    slots: &[Slot::def("d", Kinds::R), CONVERGENCE],
    min_stall: 1,
    archs: Archs::only(Arch::Sm75),
    opcode: 0x355,
    ..FLOW
};

pub(super) static BSSY: Row = Row {
    mnemonic: "BSSY",
    summary: "the active lanes will meet at the BSYNC of this barrier and go on at the label",
    slots: &[CONVERGENCE, Slot::read("target", Kinds::LABEL)],
    min_stall: 1,
    opcode: 0x945,
    ..FLOW
};

pub(super) static BSYNC: Row = Row {
    mnemonic: "BSYNC",
    summary: "wait for the lanes of the barrier",
    slots: &[CONVERGENCE],
    effects: Effects { convergent: true, branch: true, ..Effects::NONE },
    opcode: 0x941,
    ..FLOW
};

pub(super) static BREAK: Row = Row {
    mnemonic: "BREAK",
    summary: "leave the region of the barrier",
    slots: &[CONVERGENCE],
    opcode: 0x942,
    ..FLOW
};

pub(super) static YIELD: Row =
    Row { mnemonic: "YIELD", summary: "let other lanes of the warp go first", opcode: 0x946, ..FLOW };

pub(super) static NOP: Row =
    Row { mnemonic: "NOP", summary: "nothing", min_stall: 1, effects: Effects::NONE, opcode: 0x918, ..FLOW };
