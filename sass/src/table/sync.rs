//! CTA barriers and warp synchronisation.

use super::archs::{Archs, Spelling};
use super::row::{Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot};
use crate::arch::Arch;

const SYNC: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Control,
    latency: LatencyClass::Barrier,
    completion: Completion::LateRead,
    min_stall: 5,
    effects: Effects {
        reads_memory: true,
        writes_memory: true,
        fence: true,
        convergent: true,
        ..Effects::NONE
    },
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

pub(super) static BAR: Row = Row {
    mnemonic: "BAR",
    summary: "CTA barrier: arrive at barrier `name`, awaited by `count` threads (absent: all of the CTA)",
    slots: &[
        Slot::read("name", Kinds::IMM.or(Kinds::R)),
        Slot::read("count", Kinds::IMM.or(Kinds::R)).hidden(),
        Slot::read("ps", Kinds::P).not().hidden(),
    ],
    mods: &[
        Modifier::new(ModKind::Mode, &[".SYNC", ".ARV", ".RED"]),
        Modifier::new(ModKind::Reduction, &["", ".POPC", ".AND", ".OR"]),
        Modifier::new(ModKind::Defer, &["", ".DEFER_BLOCKING"])
            .limited(&[(".DEFER_BLOCKING", Archs::since(Arch::Sm80))]),
    ],
    min_stall: 1,
    opcode: 0x31d,
    ..SYNC
};

pub(super) static B2R: Row = Row {
    mnemonic: "B2R.RESULT",
    summary: "d, pd = the result of the warp's last barrier reduction",
    slots: &[Slot::def("d", Kinds::R), Slot::def("pd", Kinds::P).hidden()],
    completion: Completion::Variable,
    latency: LatencyClass::MioFast,
    min_stall: 1,
    opcode: 0x31c,
    ..SYNC
};

pub(super) static WARPSYNC: Row = Row {
    mnemonic: "WARPSYNC",
    summary: "wait for the lanes of the mask",
    slots: &[Slot::read("mask", Kinds::R.or(Kinds::IMM)).limited(&[(Kinds::IMM, Archs::before(Arch::Sm90))])],
    completion: Completion::Fixed,
    latency: LatencyClass::Branch,
    opcode: 0x348,
    ..SYNC
};

pub(super) static WARPSYNC_ALL: Row = Row {
    mnemonic: "WARPSYNC.ALL",
    summary: "wait for all lanes of the warp",
    completion: Completion::Fixed,
    latency: LatencyClass::Branch,
    archs: Archs::since(Arch::Sm90),
    opcode: 0x948,
    ..SYNC
};

/// What lanes that come from different places execute together begins and ends with nothing under way.
const MEETING: Effects = Effects { boundary: true, ..SYNC.effects };

pub(super) static WARPSYNC_COLLECTIVE: Row = Row {
    mnemonic: "WARPSYNC.COLLECTIVE",
    summary: "wait for the lanes of the mask, wherever they do so; one place's code up to ENDCOLLECTIVE is executed by all",
    slots: &[Slot::read("mask", Kinds::R), Slot::read("target", Kinds::LABEL)],
    archs: Archs::since(Arch::Sm90),
    completion: Completion::Fixed,
    latency: LatencyClass::Branch,
    effects: MEETING,
    opcode: 0x348,
    ..SYNC
};

pub(super) static WARPSYNC_COLLECTIVE_ALL: Row = Row {
    mnemonic: "WARPSYNC.COLLECTIVE.ALL",
    summary: "the same for all lanes of the warp",
    slots: &[Slot::read("target", Kinds::LABEL)],
    archs: Archs::since(Arch::Sm90),
    completion: Completion::Fixed,
    latency: LatencyClass::Branch,
    effects: MEETING,
    opcode: 0x948,
    ..SYNC
};

pub(super) static ENDCOLLECTIVE: Row = Row {
    mnemonic: "ENDCOLLECTIVE",
    summary: "each lane goes on at the label of its own WARPSYNC.COLLECTIVE",
    archs: Archs::since(Arch::Sm90),
    completion: Completion::Fixed,
    latency: LatencyClass::Branch,
    effects: MEETING,
    opcode: 0x91b,
    ..SYNC
};

pub(super) static NANOSLEEP: Row = Row {
    mnemonic: "NANOSLEEP",
    summary: "sleep for about a nanoseconds",
    slots: &[Slot::read("a", Kinds::IMM.or(Kinds::R))],
    completion: Completion::LateRead,
    latency: LatencyClass::Branch,
    effects: Effects { convergent: true, ..Effects::NONE },
    spellings: &[Spelling { archs: Archs::only(Arch::Sm75), mnemonic: "NANOSLEEP.WARP", opcode: 0 }],
    opcode: 0x35d,
    ..SYNC
};
