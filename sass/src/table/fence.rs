//! Memory fences.

use super::archs::Archs;
use super::row::{Completion, Effects, LatencyClass, ModKind, Modifier, Pipe, Row};
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
