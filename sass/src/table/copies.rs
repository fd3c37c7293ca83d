//! Asynchronous copies between global and shared memory, and the waits for them.
//!
//! `LDGSTS` copies an element a lane. `LDGDEPBAR` makes a group of the copies so far: a scoreboard counts it until they
//! are done. `DEPBAR.LE` waits until a scoreboard counts no more than so many. `UBLKCP` copies in bulk, once for the warp; of its copies to
//! global memory `UTMACMDFLUSH` makes groups.

use super::archs::Archs;
use super::row::{
    Completion, Effects, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width,
};
use crate::arch::Arch;

const COPY: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::LateRead,
    min_stall: 1,
    effects: Effects { reads_memory: true, writes_memory: true, ..Effects::NONE },
    archs: Archs::since(Arch::Sm80),
    spellings: &[],
    opcode: 0,
};

pub(super) static LDGSTS: Row = Row {
    mnemonic: "LDGSTS",
    summary: "copy an element from global memory at addr to shared memory at to, at some time; zeros where ps does not \
              hold; `.BYPASS` past the first-level cache; with `.ZFILL` the low bits of addr say how many of the last bytes \
              are zeros",
    slots: &[
        Slot::read("to", Kinds::MEM).narrow(),
        Slot::read("addr", Kinds::MEM),
        Slot::read("ps", Kinds::P).not().hidden(),
    ],
    mods: &[
        Modifier::new(ModKind::Extended, &[".E", ""]),
        Modifier::new(ModKind::Cache, &["", ".BYPASS"]),
        Modifier::new(ModKind::Variant, &["", ".LTC64B", ".LTC128B", ".LTC256B"]),
        Modifier::new(ModKind::Size, &["", ".64", ".128"]),
        Modifier::new(ModKind::Mode, &["", ".ZFILL"]),
    ],
    opcode: 0xfae,
    ..COPY
};

pub(super) static LDGDEPBAR: Row = Row {
    mnemonic: "LDGDEPBAR",
    summary: "the LDGSTS so far are a group: its scoreboard counts one more until they are done",
    completion: Completion::Variable,
    min_stall: 2,
    effects: Effects { reads_memory: true, ..Effects::NONE },
    opcode: 0x9af,
    ..COPY
};

pub(super) static DEPBAR_LE: Row = Row {
    mnemonic: "DEPBAR.LE",
    summary: "wait until the scoreboard counts no more than n",
    slots: &[Slot::read("scoreboard", Kinds::IMM).imm(ImmFormat::Scoreboard), Slot::read("n", Kinds::IMM)],
    pipe: Pipe::Control,
    latency: LatencyClass::Branch,
    completion: Completion::Fixed,
    min_stall: 4,
    effects: Effects { writes_memory: true, ..Effects::NONE },
    archs: Archs::ALL,
    opcode: 0x91a,
    ..COPY
};

const BULK: Row = Row {
    completion: Completion::LateUniformRead,
    effects: Effects { reads_memory: true, writes_memory: true, fence: true, ..Effects::NONE },
    archs: Archs::since(Arch::Sm90),
    ..COPY
};

/// An address in global memory, or two in shared memory: where the copy goes and the mbarrier that learns of it.
const PAIR: Width = Width::Fixed(2);
const BYTES: Slot = Slot::read("bytes", Kinds::UR);

pub(super) static UBLKCP_S_G: Row = Row {
    mnemonic: "UBLKCP.S.G",
    summary: "copy 16 times `bytes` bytes from global memory at addr to shared memory at the first of to, at some time; the \
              mbarrier at the second of to learns of them",
    slots: &[
        Slot::read("to", Kinds::UR).width(PAIR).bracketed(),
        Slot::read("addr", Kinds::UR).width(PAIR).bracketed(),
        BYTES,
    ],
    opcode: 0x3ba,
    ..BULK
};

pub(super) static UBLKCP_G_S: Row = Row {
    mnemonic: "UBLKCP.G.S",
    summary: "copy 16 times `bytes` bytes from shared memory at addr to global memory at to, at some time",
    slots: &[
        Slot::read("to", Kinds::UR).width(PAIR).bracketed(),
        Slot::read("addr", Kinds::UR).bracketed(),
        BYTES,
    ],
    opcode: 0x3ba,
    ..BULK
};

pub(super) static UBLKCP_S_S: Row = Row {
    mnemonic: "UBLKCP.S.S",
    summary: "copy 16 times `bytes` bytes from shared memory at addr to shared memory of the cluster at the first of to, at some \
              time; the mbarrier at the second of to learns of them",
    slots: &[
        Slot::read("to", Kinds::UR).width(PAIR).bracketed(),
        Slot::read("addr", Kinds::UR).bracketed(),
        BYTES,
    ],
    opcode: 0x3ba,
    ..BULK
};

pub(super) static UBLKPF_L2: Row = Row {
    mnemonic: "UBLKPF.L2",
    summary: "bring 16 times `bytes` bytes of global memory at addr into the second-level cache",
    slots: &[Slot::read("addr", Kinds::UR).width(PAIR).bracketed(), BYTES],
    opcode: 0x3bc,
    ..BULK
};

pub(super) static LDS_NEVER: Row = Row {
    mnemonic: "LDS",
    summary: "a load whose guard is !PT: it takes a place in the queue of the memory unit and does nothing",
    slots: &[Slot::def("d", Kinds::R), Slot::read("addr", Kinds::MEM)],
    completion: Completion::Fixed,
    effects: Effects::NONE,
    opcode: 0x984,
    ..COPY
};
