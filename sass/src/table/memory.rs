//! Loads and stores.

use super::archs::{Archs, Spelling};
use super::row::{Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width};
use crate::arch::Arch;

const LOAD: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    min_stall: 1,
    effects: Effects { reads_memory: true, ..Effects::NONE },
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

const STORE: Row = Row {
    completion: Completion::LateRead,
    effects: Effects { writes_memory: true, ..Effects::NONE },
    ..LOAD
};

const D: Slot = Slot::def("d", Kinds::R).width(Width::Size);
const ADDRESS: Slot = Slot::read("addr", Kinds::MEM);
/// A global address has a uniform part, a pair, on sm_75, where no descriptor takes its place.
const GLOBAL_ADDRESS: Slot = Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR))
    .limited(&[(Kinds::MEM_AT_UR, Archs::only(Arch::Sm75))]);
/// In shared memory the register may be multiplied before sm_90.
const SHARED_ADDRESS: Slot = Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR).or(Kinds::MEM_SCALED))
    .limited(&[(Kinds::MEM_SCALED, Archs::before(Arch::Sm90))]);
const DATA: Slot = Slot::read("data", Kinds::R).width(Width::Size);
const EXTENDED: Modifier = Modifier::new(ModKind::Extended, &[".E", ""]);
/// On sm_75 loads have a further bit, that is set in all loads from shared memory.
const U: Modifier = Modifier::new(ModKind::Variant, &["", ".U"]).limited(&[(".U", Archs::only(Arch::Sm75))]);
const SIZE: Modifier =
    Modifier::new(ModKind::Size, &[".U8", ".S8", ".U16", ".S16", "", ".64", ".128"]).default_to(4);
const CACHE: Modifier = Modifier::new(ModKind::Cache, &["", ".EF", ".EL", ".LU", ".EU", ".NA"]);
const ORDER: Modifier = Modifier::new(ModKind::Order, &["", ".CONSTANT", ".STRONG", ".WEAK"]);
/// On sm_75 an access that asks for nothing has the scope `.SYS`.
const SCOPE: Modifier = Modifier::new(ModKind::Scope, &["", ".SM", ".GPU", ".SYS"])
    .limited(&[("", Archs::since(Arch::Sm80))])
    .spelled(&[(".SM", Archs::only(Arch::Sm75), ".CTA")]);

pub(super) static LDG: Row = Row {
    mnemonic: "LDG",
    summary: "load from global memory",
    slots: &[D, GLOBAL_ADDRESS],
    mods: &[EXTENDED, U, CACHE, SIZE, ORDER, SCOPE],
    opcode: 0x381,
    ..LOAD
};

pub(super) static STG: Row = Row {
    mnemonic: "STG",
    summary: "store to global memory",
    slots: &[GLOBAL_ADDRESS, DATA],
    mods: &[EXTENDED, CACHE, SIZE, ORDER, SCOPE],
    opcode: 0x386,
    ..STORE
};

pub(super) static LDS: Row = Row {
    mnemonic: "LDS",
    summary: "load from shared memory",
    slots: &[D, SHARED_ADDRESS],
    mods: &[SIZE],
    spellings: &[Spelling { archs: Archs::only(Arch::Sm75), mnemonic: "LDS.U", opcode: 0 }],
    opcode: 0x984,
    ..LOAD
};

pub(super) static STS: Row = Row {
    mnemonic: "STS",
    summary: "store to shared memory",
    slots: &[SHARED_ADDRESS, DATA],
    mods: &[SIZE],
    opcode: 0x388,
    ..STORE
};

pub(super) static LDL: Row = Row {
    mnemonic: "LDL",
    summary: "load from local memory",
    slots: &[D, ADDRESS],
    mods: &[Modifier::new(ModKind::Cache, &["", ".LU"]), SIZE],
    opcode: 0x983,
    ..LOAD
};

pub(super) static STL: Row = Row {
    mnemonic: "STL",
    summary: "store to local memory",
    slots: &[ADDRESS, DATA],
    mods: &[SIZE],
    opcode: 0x387,
    ..STORE
};

pub(super) static LD: Row = Row {
    mnemonic: "LD",
    summary: "load from a generic address",
    slots: &[D, ADDRESS],
    mods: &[EXTENDED, CACHE, SIZE, ORDER, SCOPE],
    opcode: 0x980,
    ..LOAD
};

pub(super) static ST: Row = Row {
    mnemonic: "ST",
    summary: "store to a generic address",
    slots: &[ADDRESS, DATA],
    mods: &[EXTENDED, CACHE, SIZE, ORDER, SCOPE],
    opcode: 0x385,
    ..STORE
};

pub(super) static LDC: Row = Row {
    mnemonic: "LDC",
    summary: "load from a constant bank",
    slots: &[D, Slot::read("src", Kinds::CONST.or(Kinds::CONST_AT_R))],
    mods: &[SIZE],
    pipe: Pipe::Ldc,
    latency: LatencyClass::MioFast,
    effects: Effects::NONE,
    opcode: 0xb82,
    ..LOAD
};

pub(super) static ULDC: Row = Row {
    mnemonic: "ULDC",
    summary: "load from a constant bank into uniform registers",
    slots: &[
        Slot::def("d", Kinds::UR).width(Width::Size),
        Slot::read("src", Kinds::CONST.or(Kinds::CONST_AT_UR)),
    ],
    mods: &[SIZE],
    pipe: Pipe::Udp,
    latency: LatencyClass::Umov,
    completion: Completion::Fixed,
    effects: Effects::NONE,
    opcode: 0xab9,
    ..LOAD
};
