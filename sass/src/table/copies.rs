//! Asynchronous copies between global and shared memory, and the waits for them.
//!
//! `LDGSTS` copies one element per lane. `LDGDEPBAR` makes a group of the copies so far: a
//! scoreboard counts the group until its copies are done. `DEPBAR.LE` waits until a scoreboard
//! counts at most a given number. `UBLKCP` copies in bulk, once for the warp; `UTMACMDFLUSH` groups
//! its copies to global memory.

use ptxc_machine::Archs;

use super::memory::{BY_UNIFORM, EVICT_NORMAL, NO_POLICY, POLICY};
use super::place::{AddressPlace, Bits, Fixed, Form, Place, Shape};
use super::row::{
    Completion, Effects, Group, GroupRole, ImmFormat, Kinds, LatencyClass, Memory, ModKind, Modifier, Pipe,
    Row, Scoreboards, Slot, Space, Width,
};
use crate::register::RegFile;

const COPY: Row = Row {
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::LateRead,
    effects: Effects { reads_memory: true, writes_memory: true, ..Effects::NONE },
    archs: Archs::AMPERE_TO_HOPPER,
    ..Row::BASE
};

/// The place that an element is copied to.
const COPY_TO: AddressPlace =
    AddressPlace { base: Bits::new(16, 8), offset: Bits::new(44, 20), ..AddressPlace::PLAIN }.uniform(64);
/// The place that an element is copied from.
const COPIED: AddressPlace =
    AddressPlace { offset: Bits::new(32, 12), ..AddressPlace::PLAIN }.uniform(64).wide(70);
const FROM_PAIR: Fixed = Fixed::new(70, 1, 1);
/// An address without a descriptor has a general register. nvdisasm would show the constant register
/// in its place, as it does not elsewhere.
const AT_BASE: &[(&str, Place)] = &[("addr", Place::Address(COPIED.needs_base(Archs::AMPERE_TO_HOPPER)))];

pub(super) static LDGSTS: Row = Row {
    mnemonic: "LDGSTS",
    summary: "asynchronously copy an element from global memory at addr to shared memory at to; zeros if \
              ps is false; `.BYPASS` bypasses the first-level cache; with `.ZFILL` the low bits of addr \
              are the number of trailing zero bytes",
    slots: &[
        Slot::read("to", Kinds::MEM.or(Kinds::MEM_AT_UR))
            .narrow()
            .signed_alone(Archs::TURING_TO_HOPPER)
            .place(Place::Address(COPY_TO)),
        Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR)).wide().place(Place::Address(COPIED)),
        Slot::read("ps", Kinds::P).not().hidden().at(87, 3),
    ],
    mods: &[
        Modifier::new(ModKind::Extended, &[".E"]),
        Modifier::new(ModKind::Cache, &["", ".BYPASS"]).at(81, 1).codes(&[1, 0]),
        Modifier::new(ModKind::Variant, &["", ".LTC64B", ".LTC128B", ".LTC256B"]).at(71, 2),
        Modifier::new(ModKind::Size, &["", ".64", ".128"]).at(73, 3).codes(&[4, 5, 6]),
        Modifier::new(ModKind::Mode, &["", ".ZFILL"]).at(82, 1),
        POLICY,
    ],
    // There is one field for a uniform register: the descriptor, which bit 76 tells, or a part of
    // one of the addresses. The field can also name a pair of registers. Its lower word is then the
    // address in shared memory, and its upper word is that of the descriptor, which holds all of a
    // cache policy.
    forms: &[
        Form::same(&[("to", Shape::Address), ("addr", Shape::AddressDescribed)])
            .fixed(&[FROM_PAIR, Fixed::new(76, 1, 1)]),
        Form::same(&[("to", Shape::Address), ("addr", Shape::Address)])
            .fixed(&[FROM_PAIR, Fixed::new(64, 6, 0x3f)])
            .with(&[NO_POLICY])
            .places(AT_BASE),
        Form::same(&[("to", Shape::Address), ("addr", Shape::AddressUniform)])
            .with(&[NO_POLICY])
            .places(AT_BASE),
        Form::same(&[("to", Shape::AddressUniform), ("addr", Shape::Address)])
            .opcode(0xdae)
            .fixed(&[FROM_PAIR])
            .with(&[NO_POLICY])
            .places(AT_BASE),
        Form::same(&[("to", Shape::AddressUniform), ("addr", Shape::AddressDescribed)])
            .opcode(0xdae)
            .fixed(&[FROM_PAIR, Fixed::new(76, 1, 1)])
            .places(&[("addr", Place::Address(COPIED.follows("to")))]),
    ],
    fixed: &[EVICT_NORMAL, BY_UNIFORM],
    opcode: 0xfae,
    group: GroupRole::Member(Group::Elements),
    memory: Memory::Copy { from: Space::Global, to: Space::Shared },
    ..COPY
};

pub(super) static LDGDEPBAR: Row = Row {
    mnemonic: "LDGDEPBAR",
    summary: "put all earlier LDGSTS into a group, which its scoreboard counts until they are done",
    completion: Completion::Variable,
    min_stall: 2,
    effects: Effects { reads_memory: true, ..Effects::NONE },
    opcode: 0x9af,
    memory: Memory::In(Space::Shared),
    group: GroupRole::Commit(Group::Elements),
    ..COPY
};

pub(super) static DEPBAR_LE: Row = Row {
    mnemonic: "DEPBAR.LE",
    summary: "wait until the scoreboard counts at most n, and for all scoreboards of the set",
    slots: &[
        Slot::read("scoreboard", Kinds::IMM).imm(ImmFormat::Scoreboard).at(44, 3),
        Slot::read("n", Kinds::IMM).at(38, 6),
        Slot::read("scoreboards", Kinds::IMM).imm(ImmFormat::Scoreboards).hidden().at(32, 6),
    ],
    fixed: &[Fixed::new(47, 1, 1)],
    pipe: Pipe::Control,
    latency: LatencyClass::Branch,
    completion: Completion::Fixed,
    min_stall: 4,
    effects: Effects { writes_memory: true, ..Effects::NONE },
    archs: Archs::TURING_TO_HOPPER,
    opcode: 0x91a,
    scoreboards: Scoreboards::NONE,
    memory: Memory::In(Space::Shared),
    // Groups of bulk copies are awaited in the same way.
    group: GroupRole::Await(Group::Elements),
    ..COPY
};

const BULK: Row = Row {
    completion: Completion::LateUniformRead,
    effects: Effects { reads_memory: true, writes_memory: true, fence: true, ..Effects::NONE },
    archs: Archs::HOPPER,
    fixed: &[Fixed::new(91, 1, 1)],
    forms: &[
        Form::same(&[("policy", Shape::Absent)]),
        Form::same(&[("policy", Shape::Register)]).fixed(&[Fixed::new(76, 1, 1)]),
    ],
    guard: RegFile::Upred,
    awaits_view: true,
    ..COPY
};

/// An address in global memory, or two in shared memory: the destination of the copy, and the
/// mbarrier that is told when it is done.
const PAIR: Width = Width::Fixed(2);
const TO: Slot = Slot::read("to", Kinds::UR).width(PAIR).bracketed().at(32, 6);
const FROM: Slot = Slot::read("addr", Kinds::UR).bracketed().at(24, 6);
/// The size in units of 16 bytes; with `.MULTICAST` the high half has a bit for each CTA of the
/// cluster that gets a copy.
const BYTES: Slot = Slot::read("bytes", Kinds::UR).at(64, 6);
/// The cache policy.
const CACHE_POLICY: Slot =
    Slot::read("policy", Kinds::UR).width(PAIR).after_prefix("desc").may_be_empty().at(40, 6);
/// Bits 73 and 74 say that both addresses are in shared memory, or only the source.
const BETWEEN_SHARED: &[Fixed] = &[Fixed::new(91, 1, 1), Fixed::new(73, 2, 3)];
const FROM_SHARED: &[Fixed] = &[Fixed::new(91, 1, 1), Fixed::new(73, 2, 2)];

pub(super) static UBLKCP_S_G: Row = Row {
    mnemonic: "UBLKCP.S.G",
    summary: "asynchronously copy 16 times `bytes` bytes from global memory at addr to shared memory at \
              the first of to; signal the mbarrier at the second of to",
    slots: &[TO, FROM.width(PAIR), BYTES, CACHE_POLICY],
    mods: &[Modifier::new(ModKind::Variant, &["", ".MULTICAST"]).at(75, 1)],
    fixed: &[Fixed::new(91, 1, 1), Fixed::new(73, 2, 1)],
    opcode: 0x3ba,
    ..BULK
};

pub(super) static UBLKCP_G_S: Row = Row {
    mnemonic: "UBLKCP.G.S",
    summary: "asynchronously copy 16 times `bytes` bytes from shared memory at addr to global memory at to",
    group: GroupRole::Member(Group::Bulk),
    slots: &[TO, FROM, BYTES, CACHE_POLICY],
    fixed: FROM_SHARED,
    opcode: 0x3ba,
    ..BULK
};

pub(super) static UBLKCP_S_S: Row = Row {
    mnemonic: "UBLKCP.S.S",
    summary: "asynchronously copy 16 times `bytes` bytes from shared memory at addr to shared memory of \
              the cluster at the first of to; signal the mbarrier at the second of to",
    slots: &[TO, FROM, BYTES],
    fixed: BETWEEN_SHARED,
    forms: &[],
    opcode: 0x3ba,
    ..BULK
};

pub(super) static UBLKPF_L2: Row = Row {
    mnemonic: "UBLKPF.L2",
    summary: "prefetch 16 times `bytes` bytes of global memory at addr into the second-level cache",
    slots: &[FROM.width(PAIR), BYTES, CACHE_POLICY],
    opcode: 0x3bc,
    awaits_view: false,
    ..BULK
};

const COMBINE: Modifier =
    Modifier::new(ModKind::Atomic, &[".ADD", ".MIN", ".MAX", ".INC", ".DEC", ".AND", ".OR", ".XOR"])
        .at(87, 3);
const ELEMENTS: Modifier = Modifier::new(
    ModKind::DataType,
    &["", ".S32", ".U64", ".S64", ".F16.RN", ".F32.RN", ".F64.RN", ".BF16.RN"],
)
.at(81, 4)
.codes(&[0, 1, 2, 3, 4, 5, 7, 8]);

pub(super) static UBLKRED_G_S: Row = Row {
    mnemonic: "UBLKRED.G.S",
    summary: "asynchronously combine 16 times `bytes` bytes of shared memory at addr with global memory \
              at to, element by element",
    group: GroupRole::Member(Group::Bulk),
    slots: &[TO, FROM, BYTES, CACHE_POLICY],
    mods: &[COMBINE, ELEMENTS, Modifier::new(ModKind::Order, &["", ".STRONG.SYS"]).at(77, 4).codes(&[0, 10])],
    fixed: FROM_SHARED,
    opcode: 0x3bb,
    ..BULK
};

pub(super) static UBLKRED_S_S: Row = Row {
    mnemonic: "UBLKRED.S.S",
    summary: "asynchronously combine 16 times `bytes` bytes of shared memory at addr with shared memory \
              of the cluster at the first of to; signal the mbarrier at the second of to",
    slots: &[TO, FROM, BYTES],
    mods: &[COMBINE, ELEMENTS],
    fixed: BETWEEN_SHARED,
    forms: &[],
    opcode: 0x3bb,
    ..BULK
};

pub(super) static LDS_NEVER: Row = Row {
    mnemonic: "LDS",
    summary: "a load whose guard is !PT: it only occupies a place in the queue of the memory unit",
    slots: &[
        Slot::def("d", Kinds::R).place(Place::D),
        Slot::read("addr", Kinds::MEM).place(Place::Address(AddressPlace::PLAIN)),
    ],
    fixed: &[Fixed::new(12, 4, 0xf), Fixed::new(73, 3, 4)],
    completion: Completion::Fixed,
    effects: Effects::NONE,
    opcode: 0x984,
    never: true,
    ..COPY
};
