//! Branches, calls, exits and convergence barriers.

use ptxc_machine::Archs;

use super::place::{Bits, Fixed, Form, Place, Shape};
use super::row::{
    Completion, Effects, ImmFormat, Kinds, Lanes, LatencyClass, ModKind, Modifier, Pipe, Row, Scoreboards,
    Slot, Transfer, Width,
};

const FLOW: Row = Row {
    pipe: Pipe::Control,
    latency: LatencyClass::Branch,
    completion: Completion::Fixed,
    min_stall: 5,
    effects: Effects { convergent: true, ..Effects::NONE },
    fixed: UNCONDITIONAL,
    scoreboards: Scoreboards::NONE,
    ..Row::BASE
};

const CONVERGENCE: Slot = Slot::read("barrier", Kinds::CONVERGENCE).at(16, 4);

/// The target of a branch, or the base of a relative address.
const TARGET: Slot = Slot::read("target", Kinds::LABEL).place(Place::TARGET);
const FUNCTION: Slot = Slot::read("target", Kinds::FUNCTION).place(Place::TARGET);
const BASE: Slot = Slot::read("base", Kinds::FUNCTION).spaced().place(Place::TARGET);
const A: Slot = Slot::read("a", Kinds::R).width(Width::Fixed(2)).at(24, 8);

/// A second predicate that must hold; always PT, except in `BRA`.
const NO_CONDITION: Fixed = Fixed::new(87, 3, 7);
const UNCONDITIONAL: &[Fixed] = &[NO_CONDITION];

/// Calls and returns that leave the count of calls alone.
const UNCOUNTED: &[Fixed] = &[Fixed::new(86, 1, 1), NO_CONDITION];

/// Forms of rows with a target: from sm_90 on, more bits hold it.
const REACHES: &[Form] = &[
    Form::same(&[]).on(Archs::TURING_TO_ADA),
    Form::same(&[])
        .places(&[
            ("target", Place::LONG_TARGET),
            ("base", Place::LONG_TARGET),
            ("offset", Place::LONG_TARGET),
        ])
        .on(Archs::HOPPER),
];

pub(super) static BRA: Row = Row {
    mnemonic: "BRA",
    summary: "go to the label if the guard and ps hold",
    slots: &[
        Slot::read("ps", Kinds::P.or(Kinds::UP))
            .not()
            .hidden()
            .limited(&[(Kinds::UP, Archs::AMPERE_TO_HOPPER)])
            .at(87, 3),
        TARGET,
    ],
    mods: &[Modifier::new(ModKind::Variant, &["", ".U", ".U.ANY"])
        .at(32, 2)
        .and_at(84, 1)
        .codes(&[0, 1, 5])
        .limited(&[(".U.ANY", Archs::HOPPER)])],
    effects: Effects { branch: true, ..Effects::NONE },
    forms: &[
        Form::same(&[("ps", Shape::Register)]).on(Archs::TURING_TO_ADA),
        Form::same(&[("ps", Shape::Register)]).places(&[("target", Place::LONG_TARGET)]).on(Archs::HOPPER),
        UNDER_UNIFORM.places(&[("ps", UNIFORM_CONDITION)]).on(Archs::AMPERE_TO_ADA),
        UNDER_UNIFORM.places(&[("ps", UNIFORM_CONDITION), ("target", Place::LONG_TARGET)]).on(Archs::HOPPER),
    ],
    fixed: &[],
    opcode: 0x947,
    ..FLOW
};

pub(super) static BRA_NEVER: Row = Row {
    mnemonic: "BRA",
    summary: "a branch whose guard is !PT: no lane takes it",
    slots: &[TARGET],
    effects: Effects::NONE,
    forms: REACHES,
    fixed: &[Fixed::new(12, 4, 0xf), NO_CONDITION],
    opcode: 0x947,
    never: true,
    ..FLOW
};

/// Under a uniform predicate the lanes stay together, and the encoding says so.
const UNDER_UNIFORM: Form = Form::same(&[("ps", Shape::Uniform)])
    .opcode(0x547)
    .with(&[(ModKind::Variant, &[".U"])])
    .fixed(&[NO_CONDITION, Fixed::new(91, 1, 1)]);
const UNIFORM_CONDITION: Place = Place::number(24, 3);

/// With a mask in a uniform register.
const BY_MASK: Fixed = Fixed::new(91, 1, 1);

/// The common part of branches that test whether lanes run together.
const TOGETHER: Row = Row {
    slots: &[Slot::read("mask", Kinds::UR).not().at(24, 6), TARGET],
    effects: Effects { convergent: true, branch: true, ..Effects::NONE },
    archs: Archs::AMPERE_TO_HOPPER,
    forms: REACHES,
    opcode: 0x947,
    transfer: Transfer::ByLanes,
    ..FLOW
};

pub(super) static BRA_DIV: Row = Row {
    mnemonic: "BRA.DIV",
    summary: "go to the label unless the lanes of the mask run together; all of them are the complement of none",
    fixed: &[Fixed::new(32, 2, 2), NO_CONDITION, BY_MASK],
    ..TOGETHER
};

pub(super) static BRA_CONV: Row = Row {
    mnemonic: "BRA.CONV",
    summary: "go to the label if the lanes of the mask run together; all of them are the complement of none",
    fixed: &[Fixed::new(32, 2, 3), NO_CONDITION, BY_MASK],
    ..TOGETHER
};

pub(super) static BRA_DIV_WARP: Row = Row {
    mnemonic: "BRA.DIV",
    summary: "go to the label unless all lanes of the warp run together",
    slots: &[TARGET],
    archs: Archs::TURING,
    fixed: &[Fixed::new(32, 2, 2), NO_CONDITION],
    ..TOGETHER
};

pub(super) static BRA_CONV_WARP: Row = Row {
    mnemonic: "BRA.CONV",
    summary: "go to the label if all lanes of the warp run together",
    fixed: &[Fixed::new(32, 2, 3), NO_CONDITION],
    ..BRA_DIV_WARP
};

/// The targets of an indexed branch, as an annotation in the assembly names them; not part of the
/// encoding.
const TARGETS: Slot = Slot::read("targets", Kinds::LABEL).repeated();

/// The number that is added to the address.
const OFFSET: Slot =
    Slot::read("offset", Kinds::IMM).imm(ImmFormat::Signed).spaced().hidden().required().place(Place::TARGET);

pub(super) static BRX: Row = Row {
    mnemonic: "BRX",
    summary: "go to the address of the next instruction plus a (64 bits) plus the offset, which is one of the targets",
    slots: &[A, OFFSET, TARGETS],
    effects: Effects { branch: true, ..Effects::NONE },
    forms: REACHES,
    opcode: 0x949,
    ..FLOW
};

pub(super) static BRXU: Row = Row {
    mnemonic: "BRXU",
    summary: "as BRX, with the address in uniform registers: all lanes go to one target",
    slots: &[Slot::read("a", Kinds::UR).width(Width::Fixed(2)).at(24, 6), OFFSET, TARGETS],
    effects: Effects { branch: true, ..Effects::NONE },
    forms: REACHES,
    fixed: &[NO_CONDITION, BY_MASK],
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

/// The effects that a called function may have.
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
    slots: &[FUNCTION],
    effects: CALL_EFFECTS,
    forms: REACHES,
    fixed: UNCOUNTED,
    opcode: 0x944,
    transfer: Transfer::Call,
    ..FLOW
};

pub(super) static CALL_INDIRECT: Row = Row {
    mnemonic: "CALL.REL.NOINC",
    summary: "go to the address in the pair, in bytes from the start of the function base",
    slots: &[A, BASE],
    effects: CALL_EFFECTS,
    forms: REACHES,
    fixed: UNCOUNTED,
    opcode: 0x344,
    transfer: Transfer::Call,
    ..FLOW
};

pub(super) static CALL_ABSOLUTE: Row = Row {
    mnemonic: "CALL.ABS.NOINC",
    summary: "go to the address in the pair plus the offset",
    slots: &[A, OFFSET],
    effects: CALL_EFFECTS,
    forms: REACHES,
    fixed: UNCOUNTED,
    opcode: 0x343,
    transfer: Transfer::Call,
    ..FLOW
};

/// An address that only the loader knows: zero in the file.
const LOADED: Slot = Slot::read("target", Kinds::IMM)
    .imm(ImmFormat::Signed)
    .hidden()
    .required()
    .shown_on(Archs::TURING_TO_HOPPER)
    .place(Place::Absent);

pub(super) static CALL_LOADED: Row = Row {
    mnemonic: "CALL.ABS.NOINC",
    summary: "go to the address that the loader fills in",
    slots: &[LOADED],
    forms: &[],
    opcode: 0x943,
    ..CALL_ABSOLUTE
};

pub(super) static LEPC: Row = Row {
    mnemonic: "LEPC",
    summary: "d = its own address",
    slots: &[Slot::def("d", Kinds::R).width(Width::Fixed(2)).at(16, 8)],
    archs: Archs::TURING_TO_ADA,
    fixed: &[],
    opcode: 0x34e,
    scoreboards: Scoreboards::BOTH,
    ..FLOW
};

/// A distance in bytes in one long field.
const ADJACENT: Place = Place::Target { bits: Bits::new(24, 58), low: Bits::NONE, shift: 0 };

pub(super) static LEPC_TARGET: Row = Row {
    mnemonic: "LEPC",
    summary: "d = the address of the target",
    slots: &[Slot::def("d", Kinds::R).width(Width::Fixed(2)).at(16, 8), TARGET.place(ADJACENT)],
    archs: Archs::HOPPER,
    fixed: &[],
    opcode: 0x94e,
    scoreboards: Scoreboards::BOTH,
    ..FLOW
};

pub(super) static RET: Row = Row {
    mnemonic: "RET.REL.NODEC",
    summary: "return to the address in the pair, in bytes from the start of the function base",
    slots: &[A, BASE],
    effects: Effects { convergent: true, branch: true, boundary: true, ..Effects::NONE },
    forms: REACHES,
    fixed: UNCOUNTED,
    opcode: 0x950,
    transfer: Transfer::Return,
    ..FLOW
};

pub(super) static RET_ABSOLUTE: Row = Row {
    mnemonic: "RET.ABS.NODEC",
    summary: "return to the address in the pair plus the offset",
    slots: &[A, OFFSET.shown_on(Archs::TURING_TO_HOPPER)],
    fixed: &[Fixed::new(85, 2, 3), NO_CONDITION],
    ..RET
};

pub(super) static BMOV_CLEAR: Row = Row {
    mnemonic: "BMOV.32.CLEAR",
    summary: "d = the lanes of the barrier, which is then cleared",
    slots: &[Slot::def("d", Kinds::R).at(16, 8), CONVERGENCE.at(24, 4)],
    min_stall: 5,
    completion: Completion::Variable,
    fixed: &[Fixed::new(84, 1, 1)],
    opcode: 0x355,
    scoreboards: Scoreboards::WRITE,
    min_stalls_on: &[(Archs::TURING_TO_ADA, 1)],
    ..FLOW
};

/// 32 bits of a distance in bytes.
const NEAR: Place = Place::Target { bits: Bits::new(34, 30), low: Bits::NONE, shift: 2 };

pub(super) static BMOV: Row = Row {
    mnemonic: "BMOV.32",
    summary: "the lanes of the barrier = a",
    slots: &[Slot::def("barrier", Kinds::CONVERGENCE).at(24, 4), Slot::read("a", Kinds::R).at(32, 8)],
    completion: Completion::LateRead,
    min_stall: 5,
    fixed: &[],
    opcode: 0x356,
    scoreboards: Scoreboards::READ,
    min_stalls_on: &[(Archs::TURING_TO_ADA, 1)],
    ..FLOW
};

pub(super) static BSSY: Row = Row {
    mnemonic: "BSSY",
    summary: "the active lanes will reconverge at the BSYNC of this barrier and continue at the label",
    slots: &[CONVERGENCE, TARGET.place(NEAR)],
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
    lanes: Lanes::Meet,
    ..FLOW
};

pub(super) static BREAK: Row = Row {
    mnemonic: "BREAK",
    summary: "leave the region of the barrier",
    slots: &[CONVERGENCE],
    opcode: 0x942,
    min_stalls_on: &[(Archs::TURING_TO_ADA, 1)],
    lanes: Lanes::Meet,
    ..FLOW
};

pub(super) static YIELD: Row = Row {
    mnemonic: "YIELD",
    summary: "let other lanes of the warp go first",
    opcode: 0x946,
    min_stalls_on: &[(Archs::TURING_TO_ADA, 1)],
    ..FLOW
};

pub(super) static NOP: Row = Row {
    mnemonic: "NOP",
    summary: "nothing",
    min_stall: 1,
    effects: Effects::NONE,
    fixed: &[],
    opcode: 0x918,
    scoreboards: Scoreboards::BOTH,
    ..FLOW
};

pub(super) static BPT: Row = Row {
    mnemonic: "BPT",
    summary: "call the trap handler, or a debugger, with the given number",
    slots: &[Slot::read("number", Kinds::IMM).hidden().at(34, 3)],
    mods: &[Modifier::new(ModKind::Mode, &[".PAUSE", ".TRAP", ".INT", ".DRAIN", ".PAUSE_QUIET"])
        .default_to(1)
        // Later architectures lack these modes.
        .limited(&[(".PAUSE", Archs::TURING), (".DRAIN", Archs::TURING), (".PAUSE_QUIET", Archs::TURING)])
        .at(84, 3)
        .codes(&[2, 3, 4, 5, 6])],
    effects: Effects { fence: true, convergent: true, ..Effects::NONE },
    fixed: &[],
    opcode: 0x95c,
    ..FLOW
};

/// A second predicate that decides together with the guard; the branch without one is another row.
const CONDITION: Slot = Slot::read("ps", Kinds::P).not().never_zero(Archs::TURING_TO_HOPPER).at(87, 3);

pub(super) static EXIT_IF: Row =
    Row { mnemonic: "EXIT", summary: "end the thread if ps holds", slots: &[CONDITION], fixed: &[], ..EXIT };

pub(super) static RET_IF: Row = Row {
    mnemonic: "RET.REL.NODEC",
    summary: "return if ps holds to the address in the pair, in bytes from the start of the function base",
    slots: &[CONDITION, A, BASE],
    fixed: &[Fixed::new(86, 1, 1)],
    ..RET
};

pub(super) static BREAK_NEVER: Row = Row {
    mnemonic: "BREAK",
    summary: "a BREAK whose guard is !PT: no lane leaves",
    effects: Effects::NONE,
    fixed: &[Fixed::new(12, 4, 0xf), NO_CONDITION],
    min_stalls_on: &[],
    never: true,
    ..BREAK
};

pub(super) static BREAK_IF: Row = Row {
    mnemonic: "BREAK",
    summary: "leave the region of the barrier if ps holds",
    slots: &[CONDITION, CONVERGENCE],
    fixed: &[],
    min_stalls_on: &[],
    ..BREAK
};

/// One of the lane masks that a warp keeps, numbered after the barriers.
const MASK: Slot = Slot::read("mask", Kinds::IMM).imm(ImmFormat::LaneMask).at(24, 2);
const MASK_CODE: Fixed = Fixed::new(26, 3, 6);

pub(super) static BMOV_OF_MASK: Row = Row {
    mnemonic: "BMOV.32",
    summary: "the lanes of the barrier = those of the mask: that have ended, are killed, are active, end elsewhere",
    slots: &[Slot::def("barrier", Kinds::CONVERGENCE).at(16, 4), MASK],
    min_stall: 1,
    fixed: &[MASK_CODE],
    opcode: 0xf55,
    ..FLOW
};

pub(super) static BMOV_TO_MASK: Row = Row {
    mnemonic: "BMOV.32",
    summary: "the lanes of the mask = those of the barrier, with `.PQUAD` the other lanes of each four as well",
    slots: &[MASK, Slot::read("barrier", Kinds::CONVERGENCE).at(16, 4)],
    mods: &[Modifier::new(ModKind::Mode, &["", ".PQUAD"]).at(84, 1)],
    min_stall: 1,
    fixed: &[MASK_CODE],
    opcode: 0xf56,
    ..FLOW
};

/// One half of the address that a trap handler returns to.
const RETURN: Slot = Slot::read("half", Kinds::IMM).imm(ImmFormat::ReturnHalf).at(31, 1);

pub(super) static RPCMOV: Row = Row {
    mnemonic: "RPCMOV.32",
    summary: "a half of the return address = b",
    slots: &[RETURN, Slot::read("b", Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST)).place(Place::B)],
    forms: Form::B,
    fixed: &[],
    min_stall: 1,
    opcode: 0x352,
    ..FLOW
};

pub(super) static RPCMOV_READ: Row = Row {
    mnemonic: "RPCMOV.32",
    summary: "d = a half of the return address",
    slots: &[Slot::def("d", Kinds::R).at(16, 8), RETURN],
    fixed: &[],
    min_stall: 1,
    opcode: 0x353,
    ..FLOW
};
