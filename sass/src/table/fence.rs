//! Memory fences.

use ptxc_machine::Archs;

use super::memory::{BY_UNIFORM, EXTENDED, PLAIN, UNIFORM};
use super::place::{AddressPlace, Bits, Fixed, Place};
use super::row::{
    Completion, Effects, Group, GroupRole, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Scoreboards,
    Slot, Width,
};
use crate::register::RegFile;

const FENCE: Row = Row {
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::LateRead,
    min_stall: 6,
    effects: Effects { reads_memory: true, writes_memory: true, fence: true, ..Effects::NONE },
    ..Row::BASE
};

pub(super) static MEMBAR: Row = Row {
    mnemonic: "MEMBAR",
    summary: "memory fence",
    slots: &[],
    mods: &[
        Modifier::new(ModKind::Order, &[".ALL", ".SC"]).at(79, 2).codes(&[1, 0]),
        Modifier::new(ModKind::Scope, &[".CTA", ".GPU", ".SYS", ".VC"]).at(76, 3).codes(&[0, 2, 3, 5]),
    ],
    opcode: 0x992,
    scoreboards: Scoreboards::READ,
    ..FENCE
};

pub(super) static ERRBAR: Row = Row {
    mnemonic: "ERRBAR",
    summary: "wait until errors of earlier accesses are known; follows a MEMBAR beyond the CTA",
    opcode: 0x9ab,
    ..FENCE
};

pub(super) static CGAERRBAR: Row = Row {
    mnemonic: "CGAERRBAR",
    summary: "as ERRBAR, for the cluster",
    // Six would be enough, except before a barrier: see `latency::Ahead::ClusterErrors`.
    min_stall: 8,
    archs: Archs::HOPPER,
    opcode: 0x5ab,
    ..FENCE
};

pub(super) static CCTL_IVALL: Row = Row {
    mnemonic: "CCTL.IVALL",
    summary: "invalidate the first-level cache; ends an acquire beyond the CTA",
    fixed: &[Fixed::new(24, 8, 0xff), Fixed::new(87, 4, 4)],
    opcode: 0x98f,
    scoreboards: Scoreboards::NONE,
    ..FENCE
};

pub(super) static CCTL: Row = Row {
    mnemonic: "CCTL",
    summary: "the line at the address: fetch it into the first (`.PF1`) or second (`.PF2`) level, there to be kept when \
              others go (`.PML2`), no longer keep it (`.DML2`), or drop it unwritten (`.RML2`), and the like",
    slots: &[Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR))
        .place(Place::Address(AddressPlace { offset: Bits::new(32, 32), ..AddressPlace::PLAIN }))],
    forms: &[
        PLAIN,
        // Addresses of 32 bits may have only a uniform part.
        UNIFORM
            .opcode(0xd8f)
            .with(&[(ModKind::Extended, &[""])])
            .places(&[("addr", Place::Address(UNIFORM_ALONE))])
            .fixed(&[BY_UNIFORM, Fixed::new(24, 8, 0xff)])
            .on(Archs::TURING_TO_ADA),
    ],
    mods: &[
        EXTENDED,
        Modifier::new(ModKind::Mode, CCTL_MODES).limited(KEPT).at(87, 4).codes(&[0, 1, 2, 3, 9, 10, 11]),
    ],
    min_stall: 1,
    opcode: 0x98f,
    scoreboards: Scoreboards::READ,
    takes_descriptor: false,
    ..FENCE
};
const UNIFORM_ALONE: AddressPlace =
    AddressPlace { base: Bits::NONE, offset: Bits::NONE, ..AddressPlace::PLAIN.uniform(32) };
/// Since sm_80 the second-level cache can be told which lines to keep.
const KEPT: &[(&str, Archs)] = &[
    (".PML2", Archs::AMPERE_TO_HOPPER),
    (".DML2", Archs::AMPERE_TO_HOPPER),
    (".RML2", Archs::AMPERE_TO_HOPPER),
];
const CCTL_MODES: &[&str] = &[".PF1", ".PF2", ".WB", ".IV", ".PML2", ".DML2", ".RML2"];

pub(super) static FENCE_VIEW_ASYNC: Row = Row {
    mnemonic: "FENCE.VIEW.ASYNC",
    summary: "order the thread's accesses to shared (`.S`) or global (`.G`) memory before its asynchronous copies",
    mods: &[Modifier::new(ModKind::Mode, &[".S", ".G"]).at(72, 1)],
    min_stall: 4,
    archs: Archs::HOPPER,
    opcode: 0x3c6,
    scoreboards: Scoreboards::WRITE,
    ..FENCE
};

pub(super) static DEPBAR_ALL: Row = Row {
    mnemonic: "DEPBAR",
    summary: "wait for all scoreboards",
    slots: &[Slot::read("scoreboards", Kinds::IMM)
        .imm(super::row::ImmFormat::Scoreboards)
        .hidden()
        .at(32, 6)],
    pipe: Pipe::Control,
    latency: LatencyClass::Branch,
    completion: Completion::Fixed,
    min_stall: 4,
    opcode: 0x91a,
    scoreboards: Scoreboards::NONE,
    ..FENCE
};

pub(super) static UTMACCTL_IV: Row = Row {
    mnemonic: "UTMACCTL.IV",
    summary: "invalidate the cached tensor map at the address",
    slots: &[Slot::read("addr", Kinds::UR).width(Width::Fixed(2)).bracketed().at(24, 6)],
    fixed: &[Fixed::new(91, 1, 1)],
    guard: RegFile::Upred,
    completion: Completion::LateUniformRead,
    min_stall: 1,
    archs: Archs::HOPPER,
    opcode: 0x9b9,
    ..FENCE
};

pub(super) static UTMACCTL_PF: Row = Row {
    mnemonic: "UTMACCTL.PF",
    summary: "fetch the tensor map at the address",
    fixed: &[Fixed::new(91, 1, 1), Fixed::new(82, 1, 1)],
    ..UTMACCTL_IV
};

pub(super) static CCTLL: Row = Row {
    mnemonic: "CCTLL",
    summary: "as CCTL for a line of local memory",
    slots: &[Slot::read("addr", Kinds::MEM).place(Place::Address(AddressPlace::PLAIN))],
    mods: &[Modifier::new(ModKind::Mode, &[".PF1", ".PF2", ".WB", ".IV"]).at(87, 4)],
    min_stall: 1,
    opcode: 0x990,
    scoreboards: Scoreboards::READ,
    ..FENCE
};

pub(super) static UTMACMDFLUSH: Row = Row {
    mnemonic: "UTMACMDFLUSH",
    summary: "put all earlier bulk operations into a group",
    min_stall: 2,
    archs: Archs::HOPPER,
    guard: RegFile::Upred,
    opcode: 0x9b7,
    group: GroupRole::Commit(Group::Bulk),
    ..FENCE
};
