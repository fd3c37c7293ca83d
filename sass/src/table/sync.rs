//! CTA barriers and warp synchronisation.

use super::archs::{Archs, Spelling};
use super::row::{
    BarrierResult, Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot,
};
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

const BARRIER: Row = Row {
    mods: &[DEFER],
    effects: Effects { barrier_result: BarrierResult::Lost, ..SYNC.effects },
    min_stall: 1,
    opcode: 0x31d,
    ..SYNC
};

/// Which of the sixteen: bits 3:0 of a register.
const NAME: Slot = Slot::read("name", Kinds::IMM.or(Kinds::R));

/// How many threads are awaited: bits 11:0 of a register; 0 for all of the CTA. Where the name is a register too, the
/// count is in bits 27:16 of the same one.
const COUNT: Slot = Slot::read("count", Kinds::IMM.or(Kinds::R));

const PREDICATE: Slot = Slot::read("ps", Kinds::P).not();

/// Other threads of the warp's scheduler go first while it waits; ptxas sets it from sm_80 on.
const DEFER: Modifier = Modifier::new(ModKind::Defer, &["", ".DEFER_BLOCKING"])
    .limited(&[(".DEFER_BLOCKING", Archs::since(Arch::Sm80))]);

pub(super) static BAR_SYNC: Row = Row {
    mnemonic: "BAR.SYNC",
    summary: "arrive at CTA barrier `name` and wait until `count` threads have (absent: all of the CTA)",
    slots: &[NAME, COUNT.hidden()],
    ..BARRIER
};

pub(super) static BAR_ARV: Row = Row {
    mnemonic: "BAR.ARV",
    summary: "arrive at CTA barrier `name`, awaited by `count` threads, without waiting",
    slots: &[NAME, COUNT],
    mods: &[],
    effects: Effects { release: true, ..BARRIER.effects },
    ..BARRIER
};

pub(super) static BAR_RED: Row = Row {
    mnemonic: "BAR.RED",
    summary: "as BAR.SYNC; how many threads have ps, or whether all or any do, becomes the warp's barrier result",
    slots: &[NAME, COUNT.hidden(), PREDICATE],
    mods: &[Modifier::new(ModKind::Reduction, &[".POPC", ".AND", ".OR"]), DEFER],
    effects: Effects { barrier_result: BarrierResult::Set, ..BARRIER.effects },
    ..BARRIER
};

pub(super) static BAR_SCAN: Row = Row {
    mnemonic: "BAR.SCAN",
    summary: "as BAR.ARV; how many threads with ps have arrived before becomes the warp's barrier result",
    slots: &[NAME, COUNT, PREDICATE],
    mods: &[],
    effects: Effects { release: true, barrier_result: BarrierResult::Set, ..BARRIER.effects },
    ..BARRIER
};

pub(super) static BAR_SYNCALL: Row = Row {
    mnemonic: "BAR.SYNCALL",
    summary: "wait for all live warps of the CTA at a barrier of its own; in trap handlers alone",
    archs: Archs::before(Arch::Sm89),
    ..BARRIER
};

pub(super) static B2R: Row = Row {
    mnemonic: "B2R.RESULT",
    summary: "d, pd = the barrier result of the warp: a count, or all ones or zeros; pd: whether it is not zero",
    slots: &[Slot::def("d", Kinds::R), Slot::def("pd", Kinds::P).hidden()],
    completion: Completion::Variable,
    latency: LatencyClass::MioFast,
    min_stall: 1,
    effects: Effects { convergent: true, barrier_result: BarrierResult::Read, ..Effects::NONE },
    opcode: 0x31c,
    ..SYNC
};

pub(super) static R2B: Row = Row {
    mnemonic: "R2B",
    summary: "the state of CTA barrier `name`, or of the warp at barriers, = a",
    slots: &[Slot::read("name", Kinds::IMM), Slot::read("a", Kinds::R)],
    mods: &[Modifier::new(ModKind::Mode, &["", ".WARP"])],
    effects: Effects { barrier_result: BarrierResult::Lost, ..SYNC.effects },
    min_stall: 1,
    opcode: 0x31e,
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
    summary: "sleep for about a nanoseconds; `.SYNCS` until the mbarrier changes that was asked last, if that is earlier",
    slots: &[Slot::read("a", Kinds::IMM.or(Kinds::R))],
    mods: &[Modifier::new(ModKind::Mode, &["", ".SYNCS"]).limited(&[(".SYNCS", Archs::since(Arch::Sm90))])],
    completion: Completion::LateRead,
    latency: LatencyClass::Branch,
    effects: Effects { convergent: true, ..Effects::NONE },
    spellings: &[Spelling { archs: Archs::only(Arch::Sm75), mnemonic: "NANOSLEEP.WARP", opcode: 0 }],
    opcode: 0x35d,
    ..SYNC
};
