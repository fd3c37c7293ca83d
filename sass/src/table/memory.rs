//! Loads and stores.
//!
//! A global or generic access has its address in a pair of registers, and a descriptor tells how
//! the caches treat it. The plain form without a descriptor is another operation, or only lacks a
//! bit. Orders and scopes share a field of four bits: on sm_75 two bits for each, later a code for
//! each existing pair. Bit 91 says that there is a uniform register. If it can be an address part
//! or a descriptor, another bit tells which.

use ptxc_machine::Archs;

use super::Op;
use super::place::{AddressPlace, Bits, Fixed, Form, Joint, Place, Shape};
use super::row::{
    Completion, Effects, Kinds, LatencyClass, Memory, ModKind, Modifier, Pipe, Returns, Row, Scoreboards,
    Slot, Space, Spelling, Width,
};
use crate::register::RegFile;

const LOAD: Row = Row {
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    effects: Effects { reads_memory: true, ..Effects::NONE },
    ..Row::BASE
};

const STORE: Row = Row {
    completion: Completion::LateRead,
    effects: Effects { writes_memory: true, ..Effects::NONE },
    scoreboards: Scoreboards::READ,
    ..LOAD
};

const D: Slot = Slot::def("d", Kinds::R).width(Width::Size).place(Place::D);
const LOCAL_ADDRESS: Slot = Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR));
/// A global address may have a uniform part, a pair, if no descriptor takes its place.
pub(super) const GLOBAL_ADDRESS: Slot = Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR));
/// In shared memory before sm_90, the register may be multiplied.
pub(super) const SHARED_ADDRESS: Slot =
    Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR).or(Kinds::MEM_SCALED))
        .limited(&[(Kinds::MEM_SCALED, Archs::TURING_TO_ADA)]);
pub(super) const DATA: Slot = Slot::read("data", Kinds::R).width(Width::Size).at(32, 8);
/// The uniform part for instructions without an operand after the address.
const UNIFORM_OF_LOADS: AddressPlace = AddressPlace::PLAIN.uniform(32).wide(90);
/// The uniform part for all others.
pub(super) const UNIFORM_OF_STORES: AddressPlace = AddressPlace::PLAIN.uniform(64).wide(90);
/// An address with only a register, in generic accesses: the offset takes the place of the missing
/// parts.
const GENERIC: AddressPlace = AddressPlace { offset: Bits::new(32, 32), ..AddressPlace::PLAIN };

pub(super) const EXTENDED: Modifier = Modifier::new(ModKind::Extended, &[".E", ""]).at(72, 1).codes(&[1, 0]);
/// On sm_75 loads have a further size, which is set in all loads from shared memory.
const U: Modifier = Modifier::new(ModKind::Variant, &["", ".U"]).limited(&[(".U", Archs::TURING)]);
pub(super) const SIZE: Modifier =
    Modifier::new(ModKind::Size, &[".U8", ".S8", ".U16", ".S16", "", ".64", ".128"]).default_to(4).at(73, 3);
const SIZE_OR_U: Joint = Joint::new(
    &[ModKind::Variant, ModKind::Size],
    73,
    3,
    &[
        (&["", ".U8"], 0),
        (&["", ".S8"], 1),
        (&["", ".U16"], 2),
        (&["", ".S16"], 3),
        (&["", ""], 4),
        (&["", ".64"], 5),
        (&["", ".128"], 6),
        (&[".U", ".128"], 7),
    ],
)
.on(Archs::TURING);
pub(super) const CACHE: Modifier = Modifier::new(ModKind::Cache, &["", ".EF", ".EL", ".LU", ".EU", ".NA"])
    .at(84, 3)
    .codes(&[1, 0, 2, 3, 4, 5]);
/// [`CACHE`] of instructions with the default only.
pub(super) const EVICT_NORMAL: Fixed = Fixed::new(84, 3, 1);
const PREFETCH: Modifier = Modifier::new(ModKind::Prefetch, &["", ".LTC64B", ".LTC128B", ".LTC256B"])
    .limited(&[(".LTC256B", Archs::AMPERE_TO_HOPPER)])
    .at(68, 2);
const LOAD_ORDER: Modifier = Modifier::new(ModKind::Order, &["", ".CONSTANT", ".STRONG", ".MMIO"]);
pub(super) const STORE_ORDER: Modifier = Modifier::new(ModKind::Order, &["", ".STRONG", ".MMIO"]);
/// On sm_75 an access that asks for nothing has the scope `.SYS`.
pub(super) const SCOPE: Modifier = Modifier::new(ModKind::Scope, &["", ".SM", ".GPU", ".SYS"])
    .limited(&[("", Archs::AMPERE_TO_HOPPER)])
    .spelled(&[(".SM", Archs::TURING, ".CTA")]);
const ORDER_AND_SCOPE: &[ModKind] = &[ModKind::Order, ModKind::Scope];
pub(super) const ORDERS_75: Joint = Joint::new(
    ORDER_AND_SCOPE,
    77,
    4,
    &[
        (&[".CONSTANT", ".SM"], 0),
        (&[".CONSTANT", ".GPU"], 2),
        (&[".CONSTANT", ".SYS"], 3),
        (&["", ".SM"], 4),
        (&["", ".GPU"], 6),
        (&["", ".SYS"], 7),
        (&[".STRONG", ".SM"], 8),
        (&[".STRONG", ".GPU"], 10),
        (&[".STRONG", ".SYS"], 11),
        (&[".MMIO", ".SM"], 12),
        (&[".MMIO", ".GPU"], 14),
        (&[".MMIO", ".SYS"], 15),
    ],
)
.on(Archs::TURING);
pub(super) const ORDERS: Joint = Joint::new(
    ORDER_AND_SCOPE,
    77,
    4,
    &[
        (&["", ""], 0),
        (&[".CONSTANT", ""], 4),
        (&[".STRONG", ".SM"], 5),
        (&[".STRONG", ".GPU"], 7),
        (&[".MMIO", ".GPU"], 8),
        (&[".STRONG", ".SYS"], 10),
        (&[".MMIO", ".SYS"], 12),
    ],
)
.on(Archs::AMPERE_TO_HOPPER);
/// From sm_80 to sm_89 an access says whether its descriptor is that of a cache policy.
pub(super) const POLICY: Modifier =
    Modifier::new(ModKind::Policy, &["", ".POLICY"]).limited(&[(".POLICY", Archs::AMPERE_TO_ADA)]).at(101, 1);
/// The value of [`POLICY`] in forms without a descriptor.
pub(super) const NO_POLICY: (ModKind, &[&str]) = (ModKind::Policy, &[""]);
/// Forms with a descriptor have 64-bit addresses.
pub(super) const ONLY_EXTENDED: (ModKind, &[&str]) = (ModKind::Extended, &[".E"]);
/// Bit 91: there is a uniform register.
pub(super) const BY_UNIFORM: Fixed = Fixed::new(91, 1, 1);
/// The uniform register holds a descriptor, and the address has 64 bits.
pub(super) const DESCRIBED: &[Fixed] = &[BY_UNIFORM, Fixed::new(90, 1, 1), Fixed::new(76, 1, 1)];

pub(super) const PLAIN: Form = Form::same(&[("addr", Shape::Address)]);
pub(super) const UNIFORM: Form = Form::same(&[("addr", Shape::AddressUniform)]).fixed(&[BY_UNIFORM]);
/// The forms of a global or generic access.
const PLAIN_GLOBAL: Form = PLAIN.with(&[NO_POLICY]);
const UNIFORM_GLOBAL: Form = UNIFORM.with(&[NO_POLICY]);
const DESCRIBED_GLOBAL: Form = Form::same(&[("addr", Shape::AddressDescribed)])
    .fixed(DESCRIBED)
    .with(&[ONLY_EXTENDED])
    .on(Archs::AMPERE_TO_HOPPER);

pub(super) static LDG: Row = Row {
    mnemonic: "LDG",
    summary: "load from global memory",
    slots: &[D, GLOBAL_ADDRESS.place(Place::Address(UNIFORM_OF_LOADS))],
    mods: &[EXTENDED, CACHE, PREFETCH, U, SIZE, LOAD_ORDER, SCOPE, POLICY],
    joint: &[ORDERS_75, ORDERS, SIZE_OR_U],
    forms: &[PLAIN_GLOBAL, UNIFORM_GLOBAL.opcode(0x981), DESCRIBED_GLOBAL.opcode(0x981)],
    // Neither a predicate that tells whether the address was legal, nor a predicate that must hold,
    // or zeros are loaded instead.
    fixed: &[Fixed::new(81, 3, 7), Fixed::new(64, 4, 0)],
    opcode: 0x381,
    memory: Memory::In(Space::Global),
    estimate: Some(360),
    ..LOAD
};

pub(super) static STG: Row = Row {
    mnemonic: "STG",
    summary: "store to global memory",
    slots: &[GLOBAL_ADDRESS.place(Place::Address(UNIFORM_OF_STORES)), DATA],
    mods: &[EXTENDED, CACHE, SIZE, STORE_ORDER, SCOPE, POLICY],
    joint: &[ORDERS_75, ORDERS],
    forms: &[PLAIN_GLOBAL, UNIFORM_GLOBAL.opcode(0x986), DESCRIBED_GLOBAL.opcode(0x986)],
    opcode: 0x386,
    memory: Memory::In(Space::Global),
    ..STORE
};

pub(super) static LDS: Row = Row {
    mnemonic: "LDS",
    summary: "load from shared memory",
    slots: &[D, SHARED_ADDRESS.place(Place::Address(AddressPlace::PLAIN.uniform(32).scale(78)))],
    mods: &[SIZE],
    forms: &[PLAIN, UNIFORM],
    fixed: &[Fixed::new(76, 1, 1).on(Archs::TURING)],
    spellings: &[Spelling { archs: Archs::TURING, mnemonic: "LDS.U", opcode: 0 }],
    opcode: 0x984,
    memory: Memory::In(Space::Shared),
    returns: Returns::Shared,
    estimate: Some(30),
    ..LOAD
};

pub(super) static STS: Row = Row {
    mnemonic: "STS",
    summary: "store to shared memory",
    slots: &[SHARED_ADDRESS.place(Place::Address(AddressPlace::PLAIN.uniform(64).scale(78))), DATA],
    mods: &[SIZE],
    forms: &[PLAIN, UNIFORM.opcode(0x988)],
    opcode: 0x388,
    memory: Memory::In(Space::Shared),
    ..STORE
};

pub(super) static LDL: Row = Row {
    mnemonic: "LDL",
    summary: "load from local memory",
    slots: &[D, LOCAL_ADDRESS.place(Place::Address(AddressPlace::PLAIN.uniform(32)))],
    mods: &[CACHE, SIZE],
    forms: &[PLAIN, UNIFORM],
    opcode: 0x983,
    memory: Memory::In(Space::Local),
    estimate: Some(40),
    ..LOAD
};

pub(super) static STL: Row = Row {
    mnemonic: "STL",
    summary: "store to local memory",
    slots: &[LOCAL_ADDRESS.place(Place::Address(AddressPlace::PLAIN.uniform(64))), DATA],
    mods: &[CACHE, SIZE],
    forms: &[PLAIN, UNIFORM.opcode(0x987)],
    opcode: 0x387,
    memory: Memory::In(Space::Local),
    ..STORE
};

pub(super) static LD: Row = Row {
    mnemonic: "LD",
    summary: "load from a generic address",
    slots: &[D, GLOBAL_ADDRESS.place(Place::Address(UNIFORM_OF_LOADS))],
    mods: &[EXTENDED, CACHE, PREFETCH, SIZE, LOAD_ORDER, SCOPE, POLICY],
    joint: &[ORDERS_75, ORDERS],
    forms: &[PLAIN_GLOBAL.places(&[("addr", Place::Address(GENERIC))]), UNIFORM_GLOBAL, DESCRIBED_GLOBAL],
    opcode: 0x980,
    memory: Memory::In(Space::Generic),
    estimate: Some(360),
    ..LOAD
};

pub(super) static ST: Row = Row {
    mnemonic: "ST",
    summary: "store to a generic address",
    slots: &[GLOBAL_ADDRESS.place(Place::Address(UNIFORM_OF_STORES)), DATA],
    mods: &[EXTENDED, CACHE, SIZE, STORE_ORDER, SCOPE, POLICY],
    joint: &[ORDERS_75, ORDERS],
    forms: &[
        PLAIN_GLOBAL.places(&[("addr", Place::Address(GENERIC)), ("data", Place::number(64, 8))]),
        UNIFORM_GLOBAL.opcode(0x985),
        DESCRIBED_GLOBAL.opcode(0x985),
    ],
    opcode: 0x385,
    memory: Memory::In(Space::Generic),
    ..STORE
};

/// The sizes of loads from a constant bank: up to 64 bits.
const CONSTANT_SIZE: Modifier =
    Modifier::new(ModKind::Size, &[".U8", ".S8", ".U16", ".S16", "", ".64"]).default_to(4).at(73, 3);
/// A place in a constant bank at an offset in a register. The register's number has `len` bits.
const fn indexed(len: u8) -> Place {
    Place::Constant { index: Bits::new(24, len), offset: Bits::new(38, 16), bank: Place::CONSTANT_BANK }
}
/// The same without register.
const WORD: Place =
    Place::Constant { index: Bits::NONE, offset: Bits::new(38, 16), bank: Place::CONSTANT_BANK };

pub(super) static LDC: Row = Row {
    mnemonic: "LDC",
    summary: "load from a constant bank",
    slots: &[D, Slot::read("src", Kinds::CONST.or(Kinds::CONST_AT_R)).place(indexed(8))],
    mods: &[CONSTANT_SIZE],
    forms: &[Form::same(&[("src", Shape::Constant)]), Form::same(&[("src", Shape::IndexedConstant)])],
    pipe: Pipe::Ldc,
    latency: LatencyClass::MioFast,
    effects: Effects::NONE,
    opcode: 0xb82,
    memory: Memory::In(Space::Constant),
    returns: Returns::Alike,
    uniform: Some(Op::ULDC),
    estimate: Some(38),
    ..LOAD
};

pub(super) static ULDC: Row = Row {
    mnemonic: "ULDC",
    summary: "load from a constant bank into uniform registers",
    slots: &[
        Slot::def("d", Kinds::UR).width(Width::Size).place(Place::D),
        Slot::read("src", Kinds::CONST.or(Kinds::CONST_AT_UR)).place(indexed(6)),
    ],
    mods: &[CONSTANT_SIZE],
    forms: &[
        Form::same(&[("src", Shape::Constant)]).places(&[("src", WORD)]),
        Form::same(&[("src", Shape::IndexedConstant)]).opcode(0xabb).fixed(&[BY_UNIFORM]),
    ],
    guard: RegFile::Upred,
    pipe: Pipe::Udp,
    latency: LatencyClass::Umov,
    completion: Completion::Fixed,
    effects: Effects::NONE,
    opcode: 0xab9,
    memory: Memory::In(Space::Constant),
    ..LOAD
};
