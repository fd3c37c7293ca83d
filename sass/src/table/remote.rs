//! Stores to and reductions in shared memory of the cluster that signal an mbarrier beside the
//! data.
//!
//! The address is a pair: the destination of the data, and the mbarrier, both in the shared window
//! of the cluster.

use ptxc_machine::Archs;

use super::place::{AddressPlace, Fixed, Place};
use super::row::{Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width};

const REMOTE: Row = Row {
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::LateRead,
    effects: Effects { reads_memory: true, writes_memory: true, fence: true, ..Effects::NONE },
    archs: Archs::HOPPER,
    ..Row::BASE
};

const ADDRESS: Slot = Slot::read("addr", Kinds::MEM)
    .wide()
    .place(Place::Address(AddressPlace::PLAIN.needs_base(Archs::TURING_TO_HOPPER)));
const DATA: Slot = Slot::read("data", Kinds::R).width(Width::Size).at(32, 8);

pub(super) static STAS: Row = Row {
    mnemonic: "STAS",
    summary: "asynchronously store data at the first of addr; signal the mbarrier at the second",
    slots: &[ADDRESS, DATA],
    mods: &[Modifier::new(ModKind::Size, &["", ".64", ".128"]).at(73, 3).codes(&[4, 5, 6])],
    // There is no uniform register, and the address is a pair.
    fixed: &[Fixed::new(64, 6, 63), Fixed::new(90, 2, 3)],
    opcode: 0xdbd,
    ..REMOTE
};

pub(super) static REDAS: Row = Row {
    mnemonic: "REDAS",
    summary: "asynchronously combine data with memory at the first of addr; signal the mbarrier at the second",
    slots: &[ADDRESS, DATA],
    mods: &[
        Modifier::new(ModKind::Atomic, &[".ADD", ".MIN", ".MAX", ".INC", ".DEC", ".AND", ".OR", ".XOR"])
            .at(87, 3),
        Modifier::new(ModKind::Size, &["", ".S32", ".64"]).at(73, 2),
    ],
    fixed: &[Fixed::new(64, 6, 63), Fixed::new(72, 1, 1), Fixed::new(91, 1, 1)],
    opcode: 0xdbe,
    ..REMOTE
};
