//! Exchange between the lanes of a warp.

use ptxc_machine::Archs;

use super::place::{Fixed, Form, Place, Shape};
use super::row::{
    Completion, Effects, Kinds, Lanes, LatencyClass, ModKind, Modifier, Pipe, Returns, Row, Slot, Width,
};

const CONVERGENT: Effects = Effects { convergent: true, ..Effects::NONE };

const D: Slot = Slot::def("d", Kinds::R).place(Place::D);
const UD: Slot = Slot::def("d", Kinds::UR).at(16, 6);
const A: Slot = Slot::read("a", Kinds::R).at(24, 8);
const PD: Slot = Slot::def("pd", Kinds::P).at(81, 3);
const PS: Slot = Slot::read("ps", Kinds::P).not().at(87, 3);

/// The place of a shuffle's lane operand if it is a register.
const LANE_REGISTER: (&str, Place) = ("lane", Place::number(32, 8));
const CLAMP_REGISTER: (&str, Place) = ("clamp", Place::number(64, 8));

pub(super) static SHFL: Row = Row {
    mnemonic: "SHFL",
    summary: "d = a of another lane; pd = whether that lane was in range",
    slots: &[
        PD.optional(),
        D,
        A,
        Slot::read("lane", Kinds::R.or(Kinds::IMM)).at(53, 5),
        Slot::read("clamp", Kinds::R.or(Kinds::IMM)).at(40, 13),
    ],
    mods: &[Modifier::new(ModKind::Mode, &[".IDX", ".UP", ".DOWN", ".BFLY"]).at(58, 2)],
    forms: &[
        Form::upper(&[("lane", Shape::Register), ("clamp", Shape::Register)], 1)
            .places(&[LANE_REGISTER, CLAMP_REGISTER]),
        Form::upper(&[("lane", Shape::Register), ("clamp", Shape::Immediate)], 2).places(&[LANE_REGISTER]),
        Form::upper(&[("lane", Shape::Immediate), ("clamp", Shape::Register)], 4).places(&[CLAMP_REGISTER]),
        Form::upper(&[("lane", Shape::Immediate), ("clamp", Shape::Immediate)], 7),
    ],
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    effects: CONVERGENT,
    opcode: 0x189,
    returns: Returns::Shared,
    estimate: Some(24),
    lanes: Lanes::Exchange,
    ..Row::BASE
};

pub(super) static VOTE: Row = Row {
    mnemonic: "VOTE",
    summary: "d = a bit for each active lane whose ps holds; pd = whether all, any, or equal ones do",
    slots: &[D.hidden(), PD, PS],
    mods: &[Modifier::new(ModKind::Mode, &[".ALL", ".ANY", ".EQ"]).at(72, 2)],
    pipe: Pipe::Alu,
    latency: LatencyClass::Alu,
    completion: Completion::Fixed,
    effects: CONVERGENT,
    opcode: 0x806,
    lanes: Lanes::Exchange,
    ..Row::BASE
};

pub(super) static VOTEU: Row = Row {
    mnemonic: "VOTEU",
    summary: "as VOTE, into a uniform register",
    slots: &[UD.hidden(), Slot::def("pd", Kinds::UP).at(81, 3), PS],
    pipe: Pipe::Udp,
    latency: LatencyClass::Umov,
    opcode: 0x886,
    lanes: Lanes::Exchange,
    ..VOTE
};

/// The common part of the slow exchanges.
const EXCHANGE: Row = Row {
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    effects: CONVERGENT,
    ..Row::BASE
};

pub(super) static MATCH_ANY: Row = Row {
    mnemonic: "MATCH.ANY",
    summary: "d = a bit for each active lane with the same a",
    slots: &[D, A],
    fixed: &[Fixed::new(79, 1, 1), Fixed::new(81, 3, 7)],
    opcode: 0x3a1,
    lanes: Lanes::Exchange,
    latency: LatencyClass::MioFast,
    ..EXCHANGE
};

pub(super) static MATCH_ANY_64: Row = Row {
    mnemonic: "MATCH.ANY.U64",
    summary: "d = a bit for each active lane with the same 64-bit a",
    slots: &[D, A.width(Width::Fixed(2))],
    fixed: &[Fixed::new(79, 1, 1), Fixed::new(81, 3, 7), Fixed::new(73, 1, 1)],
    lanes: Lanes::Exchange,
    ..MATCH_ANY
};

pub(super) static MATCH_ALL_64: Row = Row {
    mnemonic: "MATCH.ALL.U64",
    summary: "d = the active lanes if all have the same 64-bit a, else 0; pd = whether they have",
    slots: &[PD, D, A.width(Width::Fixed(2))],
    fixed: &[Fixed::new(73, 1, 1)],
    lanes: Lanes::Exchange,
    ..MATCH_ANY
};

pub(super) static MATCH_ALL: Row = Row {
    mnemonic: "MATCH.ALL",
    summary: "d = the active lanes if all have the same a, else 0; pd = whether they have",
    slots: &[PD, D, A],
    opcode: 0x3a1,
    lanes: Lanes::Exchange,
    latency: LatencyClass::MioFast,
    ..EXCHANGE
};

pub(super) static REDUX: Row = Row {
    mnemonic: "REDUX",
    summary: "d = the reduction of a over the active lanes",
    slots: &[UD, A],
    mods: &[
        Modifier::new(ModKind::Reduction, &["", ".OR", ".XOR", ".SUM", ".MIN", ".MAX"]).at(78, 3),
        Modifier::new(ModKind::Sign, &["", ".S32"]).at(73, 1),
    ],
    latency: LatencyClass::MioFast,
    archs: Archs::AMPERE_TO_HOPPER,
    opcode: 0x3c4,
    returns: Returns::Alike,
    lanes: Lanes::Exchange,
    ..EXCHANGE
};

pub(super) static ELECT: Row = Row {
    mnemonic: "ELECT",
    summary: "pd = whether the lane is the elected one; d = its number",
    slots: &[PD, UD, PS],
    pipe: Pipe::Udp,
    latency: LatencyClass::Alu,
    completion: Completion::Fixed,
    archs: Archs::HOPPER,
    opcode: 0x82f,
    ..EXCHANGE
};
