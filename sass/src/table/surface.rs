//! Surfaces: images that are read and written without a sampler.
//!
//! A handle names the surface, as with a [texture](super::texture). It is in a constant bank, in a
//! uniform register (one instead of a pair), or in the last general register. `.D` accesses move
//! bits, `.P` accesses convert to the format of the surface. `.BA` says that the first coordinate
//! counts bytes.

use ptxc_machine::Archs;

use super::kinds::ImageOperand;
use super::memory::{CACHE, ORDERS, ORDERS_75, SCOPE, SIZE, STORE_ORDER};
use super::place::{Form, Place, Shape};
use super::row::{
    Completion, Effects, Kinds, LatencyClass, Memory, ModKind, Modifier, Pipe, Returns, Row, Scoreboards,
    Slot, Space, Width,
};
use super::texture::{self, BY_UNIFORM, IN_BANK_AT, IN_UNIFORM_AT, WORD, forms};

const SURFACE: Row = Row {
    pipe: Pipe::Tex,
    latency: LatencyClass::MioFast,
    completion: Completion::LateRead,
    scoreboards: Scoreboards::READ,
    effects: Effects { writes_memory: true, ..Effects::NONE },
    ..Row::BASE
};

const PD: Slot = Slot::def("pd", Kinds::P).hidden().at(81, 3);
const D: Slot = Slot::def("d", Kinds::R).width(Width::Size).place(Place::D);
const PLACE: Slot = Slot::read("place", Kinds::R)
    .width(Width::Image(ImageOperand::Place))
    .bracketed()
    .never_zero(Archs::TURING_TO_HOPPER)
    .at(24, 8);
const DATA: Slot = Slot::read("data", Kinds::R).width(Width::Size).at(32, 8);
const TEXEL: Slot = Slot::read("data", Kinds::R).width(Width::Image(ImageOperand::Texel)).at(32, 8);
const SURFACE_AT: Slot = texture::IN_UNIFORM.width(Width::Fixed(1));
const HANDLE: Slot = Slot::read("handle", Kinds::R).never_zero(Archs::TURING_TO_HOPPER).at(64, 8);

const BYTES: Modifier = Modifier::new(ModKind::Variant, &["", ".BA"]).default_to(1).at(72, 1);
const SHAPE: Modifier =
    Modifier::new(ModKind::Shape, &[".1D", ".1D_BUFFER", ".1D_ARRAY", ".2D", ".2D_ARRAY", ".3D"]).at(61, 3);
/// The effect of an access outside of the surface: it is ignored, it is moved to the border, or it
/// is a fault.
const OUTSIDE: Modifier = Modifier::new(ModKind::Mode, &[".IGN", "", ".TRAP"]).default_to(1).at(59, 2);

const ORDER_OF_LOADS: Modifier = Modifier::new(ModKind::Order, &["", ".CONSTANT", ".STRONG", ".MMIO"])
    .limited(&[(".CONSTANT", Archs::AMPERE_TO_HOPPER)]);

pub(super) static SULD: Row = Row {
    mnemonic: "SULD.D",
    summary: "load from a surface",
    slots: &[PD, D, PLACE, SURFACE_AT, WORD],
    mods: &[BYTES, SHAPE, CACHE, SIZE, ORDER_OF_LOADS, SCOPE, OUTSIDE],
    joint: &[ORDERS_75, ORDERS],
    forms: forms!(0xb99, 0xf99),
    completion: Completion::Variable,
    scoreboards: Scoreboards::BOTH,
    effects: Effects { reads_memory: true, ..Effects::NONE },
    opcode: 0xb99,
    memory: Memory::In(Space::Global),
    returns: Returns::Texture,
    ..SURFACE
};

pub(super) static SULD_R: Row = Row {
    summary: "load from a surface whose handle is in a register",
    slots: &[PD, D, PLACE, HANDLE],
    forms: &[],
    opcode: 0x99a,
    memory: Memory::In(Space::Global),
    returns: Returns::Texture,
    ..SULD
};

pub(super) static SUST: Row = Row {
    mnemonic: "SUST.D",
    summary: "store to a surface",
    slots: &[PLACE, DATA, SURFACE_AT, WORD],
    mods: &[BYTES, SHAPE, CACHE, SIZE, STORE_ORDER, SCOPE, OUTSIDE],
    joint: &[ORDERS_75, ORDERS],
    forms: forms!(0xb9d, 0xf9d),
    opcode: 0xb9d,
    memory: Memory::In(Space::Global),
    ..SURFACE
};

pub(super) static SUST_R: Row = Row {
    summary: "store to a surface whose handle is in a register",
    slots: &[PLACE, DATA, HANDLE],
    forms: &[],
    opcode: 0x99e,
    memory: Memory::In(Space::Global),
    ..SUST
};

const TEXELS: Modifier =
    Modifier::new(ModKind::Components, &[".R", ".RG", ""]).default_to(2).at(72, 4).codes(&[1, 3, 15]);

pub(super) static SUST_P: Row = Row {
    mnemonic: "SUST.P",
    summary: "store a texel to a surface, converted to its format",
    slots: &[PLACE, TEXEL, SURFACE_AT, WORD],
    mods: &[SHAPE, CACHE, STORE_ORDER, SCOPE, TEXELS, OUTSIDE],
    forms: forms!(0xb9b, 0xf9b),
    opcode: 0xb9b,
    memory: Memory::In(Space::Global),
    ..SUST
};

pub(super) static SUST_P_R: Row = Row {
    summary: "store a texel to a surface whose handle is in a register, converted to its format",
    slots: &[PLACE, TEXEL, HANDLE],
    forms: &[],
    opcode: 0x99c,
    memory: Memory::In(Space::Global),
    ..SUST_P
};

const TYPE: Modifier = Modifier::new(
    ModKind::DataType,
    &["", ".S32", ".U64", ".F32.FTZ.RN", ".F16x2.RN", ".S64", ".SD32", ".SD64"],
)
.at(73, 3);
const ORDER_OF_UPDATES: Modifier =
    Modifier::new(ModKind::Order, &["", ".STRONG", ".MMIO"]).limited(&[(".MMIO", Archs::AMPERE_TO_HOPPER)]);
const COMBINE: Modifier =
    Modifier::new(ModKind::Atomic, &[".ADD", ".MIN", ".MAX", ".INC", ".DEC", ".AND", ".OR", ".XOR"])
        .at(87, 3);

pub(super) static SURED: Row = Row {
    mnemonic: "SURED.D",
    summary: "atomic update of a surface",
    slots: &[PLACE, DATA, SURFACE_AT, WORD],
    mods: &[BYTES.default_to(0), SHAPE, COMBINE, CACHE, TYPE, ORDER_OF_UPDATES, SCOPE, OUTSIDE],
    joint: &[ORDERS_75, ORDERS],
    forms: forms!(0x59f, 0xf9f),
    effects: Effects { reads_memory: true, writes_memory: true, ..Effects::NONE },
    opcode: 0x59f,
    memory: Memory::In(Space::Global),
    ..SURFACE
};

pub(super) static SURED_R: Row = Row {
    summary: "atomic update of a surface whose handle is in a register",
    slots: &[PLACE, DATA, HANDLE],
    forms: &[],
    opcode: 0x3a0,
    memory: Memory::In(Space::Global),
    ..SURED
};
