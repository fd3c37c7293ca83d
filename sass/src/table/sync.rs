//! CTA barriers and warp synchronisation.

use ptxc_machine::Archs;

use super::place::{Bits, Fixed, Form, Place, Shape, Signs};
use super::row::{
    BarrierResult, Completion, Effects, Kinds, Lanes, LatencyClass, ModKind, Modifier, Pipe, Returns, Row,
    Scoreboards, Slot, Spelling,
};

const SYNC: Row = Row {
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
    ..Row::BASE
};

const BARRIER: Row = Row {
    mods: &[DEFER],
    effects: Effects { barrier_result: BarrierResult::Lost, ..SYNC.effects },
    min_stall: 1,
    forms: BARRIER_FORMS,
    opcode: 0x11d,
    scoreboards: Scoreboards::READ,
    cta_barrier: true,
    awaits_view: true,
    ..SYNC
};

/// A register with the name or the count or both.
const REGISTER: Place = Place::number(32, 8);

const BARRIER_FORMS: &[Form] = &[
    Form::upper(&[("name", Shape::Immediate), ("count", Shape::Immediate)], 5),
    Form::upper(&[("name", Shape::Immediate), ("count", Shape::Register)], 4).places(&[("count", REGISTER)]),
    Form::upper(&[("name", Shape::Register), ("count", Shape::Immediate)], 2).places(&[("name", REGISTER)]),
    Form::upper(&[("name", Shape::Register), ("count", Shape::Register)], 1)
        .places(&[("name", REGISTER), ("count", Place::Repeats("name"))]),
];

/// The code of the operation.
const SYNC_CODE: Fixed = Fixed::new(77, 3, 0);
const ARV_CODE: Fixed = Fixed::new(77, 3, 1);
const RED_CODE: Fixed = Fixed::new(77, 3, 2);
const SCAN_CODE: Fixed = Fixed::new(77, 3, 3);

/// The number of one of the sixteen barriers: bits 3:0 of a register.
const NAME: Slot = Slot::read("name", Kinds::IMM.or(Kinds::R)).at(54, 4);

/// The number of threads that the barrier awaits: bits 11:0 of a register; 0 for all of the CTA. If
/// the name is a register, too, the count is in bits 27:16 of the same register.
const COUNT: Slot =
    Slot::read("count", Kinds::IMM.or(Kinds::R)).never_zero(Archs::TURING_TO_HOPPER).at(42, 12);

const PREDICATE: Slot = Slot::read("ps", Kinds::P).not().at(87, 3);

/// Other threads of the warp's scheduler go first while it waits; ptxas sets it from sm_80 on, earlier compilers also on
/// sm_75.
const DEFER: Modifier = Modifier::new(ModKind::Defer, &["", ".DEFER_BLOCKING"]).at(80, 1);

pub(super) static BAR_SYNC: Row = Row {
    mnemonic: "BAR.SYNC",
    fixed: &[SYNC_CODE],
    summary: "arrive at CTA barrier `name` and wait until `count` threads have (absent: all of the CTA)",
    slots: &[NAME, COUNT.hidden()],
    ..BARRIER
};

pub(super) static BAR_ARV: Row = Row {
    mnemonic: "BAR.ARV",
    fixed: &[ARV_CODE],
    summary: "arrive at CTA barrier `name`, awaited by `count` threads, without waiting",
    slots: &[NAME, COUNT],
    mods: &[],
    effects: Effects { release: true, ..BARRIER.effects },
    ..BARRIER
};

pub(super) static BAR_RED: Row = Row {
    mnemonic: "BAR.RED",
    fixed: &[RED_CODE],
    summary: "as BAR.SYNC; the warp's barrier result = the number of threads with ps, or whether all or any have it",
    slots: &[NAME, COUNT.hidden(), PREDICATE],
    mods: &[Modifier::new(ModKind::Reduction, &[".POPC", ".AND", ".OR"]).at(74, 2), DEFER],
    effects: Effects { barrier_result: BarrierResult::Set, ..BARRIER.effects },
    ..BARRIER
};

pub(super) static BAR_SCAN: Row = Row {
    mnemonic: "BAR.SCAN",
    fixed: &[SCAN_CODE],
    summary: "as BAR.ARV; the warp's barrier result = the number of threads with ps that arrived before",
    slots: &[NAME, COUNT, PREDICATE],
    mods: &[],
    effects: Effects { release: true, barrier_result: BarrierResult::Set, ..BARRIER.effects },
    ..BARRIER
};

pub(super) static BAR_SYNCALL: Row = Row {
    mnemonic: "BAR.SYNCALL",
    summary: "wait for all live warps of the CTA at a separate barrier; only in trap handlers",
    archs: Archs::TURING_TO_AMPERE,
    forms: &[],
    fixed: &[Fixed::new(77, 3, 4)],
    opcode: 0xb1d,
    ..BARRIER
};

/// The predicate that tells whether the barrier result is not zero; it has no sign bit.
const RESULT_HOLDS: Place = Place::Number(Bits::new(81, 3), Signs::NONE);

pub(super) static B2R: Row = Row {
    mnemonic: "B2R.RESULT",
    summary: "d, pd = the barrier result of the warp: a count, or all ones or zeros; pd: whether it is not zero",
    slots: &[Slot::def("d", Kinds::R).at(16, 8), Slot::def("pd", Kinds::P).hidden().place(RESULT_HOLDS)],
    fixed: &[Fixed::new(77, 3, 2)],
    completion: Completion::Variable,
    latency: LatencyClass::MioFast,
    min_stall: 1,
    effects: Effects { convergent: true, barrier_result: BarrierResult::Read, ..Effects::NONE },
    opcode: 0x31c,
    returns: Returns::Alike,
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

/// The common part of the barriers of a warp.
const WARP: Row = Row {
    completion: Completion::Fixed,
    latency: LatencyClass::Branch,
    fixed: &[NO_CONDITION],
    scoreboards: Scoreboards::NONE,
    ..SYNC
};

/// The predicate of flow control, unused here.
const NO_CONDITION: Fixed = Fixed::new(87, 3, 7);

/// A mask of lanes: in the place of the second source, and from sm_90 on in the place of the first.
const MASK_FORMS: &[Form] = &[
    Form::upper(&[("mask", Shape::Register)], 1).on(Archs::TURING_TO_ADA),
    Form::upper(&[("mask", Shape::Immediate)], 4).on(Archs::TURING_TO_ADA),
    Form::upper(&[("mask", Shape::Constant)], 5).on(Archs::TURING_TO_ADA),
    Form::upper(&[("mask", Shape::Register)], 1).places(&[("mask", Place::number(24, 8))]).on(Archs::HOPPER),
];

/// The lanes of a warp that wait for each other.
const MASK: Slot = Slot::read("mask", Kinds::R).place(Place::B);

pub(super) static WARPSYNC: Row = Row {
    mnemonic: "WARPSYNC",
    summary: "wait for the lanes of the mask",
    slots: &[Slot::read("mask", Kinds::R.or(Kinds::IMM).or(Kinds::CONST))
        .limited(&[(Kinds::IMM.or(Kinds::CONST), Archs::TURING_TO_ADA)])
        .place(Place::B)],
    forms: MASK_FORMS,
    opcode: 0x148,
    min_stalls_on: &[(Archs::TURING, 4), (Archs::AMPERE_TO_ADA, 1)],
    lanes: Lanes::Meet,
    ..WARP
};

pub(super) static WARPSYNC_EXCLUSIVE: Row = Row {
    mnemonic: "WARPSYNC.EXCLUSIVE",
    summary: "wait for the lanes of the mask, and exclude the lanes of other masks",
    slots: &[MASK],
    forms: MASK_FORMS,
    fixed: &[
        NO_CONDITION,
        Fixed::new(86, 1, 1).on(Archs::TURING_TO_ADA),
        Fixed::new(85, 1, 1).on(Archs::HOPPER),
    ],
    archs: Archs::AMPERE_TO_HOPPER,
    opcode: 0x148,
    lanes: Lanes::Meet,
    ..WARP
};

pub(super) static WARPSYNC_ALL: Row = Row {
    mnemonic: "WARPSYNC.ALL",
    summary: "wait for all lanes of the warp",
    archs: Archs::HOPPER,
    opcode: 0x948,
    lanes: Lanes::Meet,
    ..WARP
};

/// The common part of collectives, which lanes from different places execute together: no access
/// may be under way at their start and end.
const MEETING: Row = Row {
    archs: Archs::HOPPER,
    effects: Effects { boundary: true, ..SYNC.effects },
    fixed: &[NO_CONDITION, Fixed::new(86, 1, 1)],
    ..WARP
};

/// The place where a lane continues after the collective.
const TARGET: Slot = Slot::read("target", Kinds::LABEL).place(Place::LONG_TARGET);

pub(super) static WARPSYNC_COLLECTIVE: Row = Row {
    mnemonic: "WARPSYNC.COLLECTIVE",
    summary: "wait for the lanes of the mask at any place; all execute the code of one place up to ENDCOLLECTIVE",
    slots: &[MASK, TARGET],
    forms: MASK_FORMS,
    opcode: 0x148,
    lanes: Lanes::Meet,
    ..MEETING
};

pub(super) static WARPSYNC_COLLECTIVE_ALL: Row = Row {
    mnemonic: "WARPSYNC.COLLECTIVE.ALL",
    summary: "the same for all lanes of the warp",
    slots: &[TARGET],
    opcode: 0x948,
    lanes: Lanes::Meet,
    ..MEETING
};

pub(super) static ENDCOLLECTIVE: Row = Row {
    mnemonic: "ENDCOLLECTIVE",
    summary: "each lane continues at the label of its own WARPSYNC.COLLECTIVE",
    fixed: &[NO_CONDITION],
    opcode: 0x91b,
    scoreboards: Scoreboards::BOTH,
    lanes: Lanes::Meet,
    ..MEETING
};

/// The time that an instruction sleeps, in nanoseconds.
const TIME: Slot = Slot::read("a", Kinds::IMM.or(Kinds::R).or(Kinds::UR).or(Kinds::CONST)).place(Place::B);
const SLEEP_MODE: Modifier =
    Modifier::new(ModKind::Mode, &["", ".SYNCS"]).limited(&[(".SYNCS", Archs::HOPPER)]).at(84, 1);
const TIMES: &[Form] = &[
    Form::upper(&[("a", Shape::Register)], 1),
    Form::upper(&[("a", Shape::Immediate)], 4),
    Form::upper(&[("a", Shape::Constant)], 5),
    Form::upper(&[("a", Shape::Uniform)], 6).fixed(&[Fixed::new(91, 1, 1)]),
];

pub(super) static NANOSLEEP: Row = Row {
    mnemonic: "NANOSLEEP",
    summary: "sleep for about a nanoseconds; with `.SYNCS` at most until the last tested mbarrier changes",
    slots: &[TIME],
    mods: &[SLEEP_MODE],
    forms: TIMES,
    fixed: &[NO_CONDITION, Fixed::new(85, 1, 1).on(Archs::TURING)],
    // NVIDIA's compiler lets the next instruction overwrite the operand.
    completion: Completion::Fixed,
    latency: LatencyClass::Branch,
    effects: Effects { convergent: true, ..Effects::NONE },
    spellings: &[Spelling { archs: Archs::TURING, mnemonic: "NANOSLEEP.WARP", opcode: 0 }],
    opcode: 0x15d,
    scoreboards: Scoreboards::NONE,
    min_stalls_on: &[(Archs::TURING_TO_ADA, 1)],
    ..SYNC
};

pub(super) static NANOSLEEP_NEVER: Row = Row {
    mnemonic: "NANOSLEEP",
    summary: "a NANOSLEEP whose guard is !PT: it does not sleep",
    fixed: &[NO_CONDITION, Fixed::new(12, 4, 0xf)],
    effects: Effects::NONE,
    archs: Archs::HOPPER,
    spellings: &[],
    never: true,
    ..NANOSLEEP
};

pub(super) static PMTRIG: Row = Row {
    mnemonic: "PMTRIG",
    summary: "count the events of the mask for a profiler",
    slots: &[Slot::read("mask", Kinds::IMM).at(32, 16)],
    completion: Completion::Fixed,
    latency: LatencyClass::Branch,
    effects: Effects { convergent: true, ..Effects::NONE },
    fixed: &[NO_CONDITION],
    opcode: 0x801,
    ..SYNC
};
