//! Memory fences.

use super::archs::Archs;
use super::row::{Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width};
use crate::arch::Arch;

const FENCE: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::LateRead,
    min_stall: 6,
    effects: Effects { reads_memory: true, writes_memory: true, fence: true, ..Effects::NONE },
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

pub(super) static MEMBAR: Row = Row {
    mnemonic: "MEMBAR",
    summary: "memory fence",
    slots: &[],
    mods: &[
        Modifier::new(ModKind::Order, &[".ALL", ".SC"]),
        Modifier::new(ModKind::Scope, &[".CTA", ".GPU", ".SYS"]),
    ],
    opcode: 0x992,
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
    // Six would do but for a barrier behind it: see `latency::after_cluster_errors`.
    min_stall: 8,
    archs: Archs::since(Arch::Sm90),
    opcode: 0x5ab,
    ..FENCE
};

pub(super) static CCTL_IVALL: Row = Row {
    mnemonic: "CCTL.IVALL",
    summary: "invalidate the first-level cache; ends an acquire beyond the CTA",
    opcode: 0x98f,
    ..FENCE
};

pub(super) static FENCE_VIEW_ASYNC: Row = Row {
    mnemonic: "FENCE.VIEW.ASYNC",
    summary: "what the thread has done to shared (`.S`) or global (`.G`) memory comes before its asynchronous copies",
    mods: &[Modifier::new(ModKind::Mode, &[".S", ".G"])],
    min_stall: 4,
    archs: Archs::since(Arch::Sm90),
    opcode: 0x3c6,
    ..FENCE
};

pub(super) static DEPBAR_ALL: Row = Row {
    mnemonic: "DEPBAR",
    summary: "wait for all scoreboards",
    slots: &[Slot::read("scoreboards", Kinds::IMM).imm(super::row::ImmFormat::Scoreboards)],
    pipe: Pipe::Control,
    latency: LatencyClass::Branch,
    completion: Completion::Fixed,
    min_stall: 4,
    opcode: 0x91a,
    ..FENCE
};

pub(super) static UTMACCTL_IV: Row = Row {
    mnemonic: "UTMACCTL.IV",
    summary: "what is held of the tensor map at the address is read again",
    slots: &[Slot::read("addr", Kinds::UR).width(Width::Fixed(2)).bracketed()],
    completion: Completion::LateUniformRead,
    min_stall: 1,
    archs: Archs::since(Arch::Sm90),
    opcode: 0x9b9,
    ..FENCE
};

pub(super) static UTMACMDFLUSH: Row = Row {
    mnemonic: "UTMACMDFLUSH",
    summary: "bulk operations so far are a group",
    min_stall: 2,
    archs: Archs::since(Arch::Sm90),
    opcode: 0x9b7,
    ..FENCE
};
