//! Branches, exits and convergence barriers.

use super::row::{Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot};

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

pub(super) static BRA_DIV: Row = Row {
    mnemonic: "BRA.DIV",
    summary: "go to the label unless the lanes of the mask run together",
    slots: &[Slot::read("mask", Kinds::UR), Slot::read("target", Kinds::LABEL)],
    effects: Effects { convergent: true, branch: true, ..Effects::NONE },
    opcode: 0x947,
    ..FLOW
};

pub(super) static EXIT: Row = Row {
    mnemonic: "EXIT",
    summary: "end the thread",
    effects: Effects { exit: true, ..Effects::NONE },
    opcode: 0x94d,
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

pub(super) static NOP: Row =
    Row { mnemonic: "NOP", summary: "nothing", min_stall: 1, effects: Effects::NONE, opcode: 0x918, ..FLOW };
