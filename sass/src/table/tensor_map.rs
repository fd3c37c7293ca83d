//! Asynchronous copies of boxes of a tensor that a tensor map describes, executed once for the
//! warp.
//!
//! ```text
//! UTMALDG.2D [UR8], [UR4], desc[UR6]
//!             │      │      └ the cache policy, a pair
//!             │      └ the address of the tensor map, a pair
//!             └ the place in shared memory, for loads the mbarrier, then the coordinates
//! ```
//!
//! Loads with `.IM2COL` or `.MULTICAST` have `extra`: the low half holds the offsets of an image's
//! pixels, the high half a bit for each CTA of the cluster that gets the box.
//! [`UTMACMDFLUSH`](super::Op::UTMACMDFLUSH) makes groups of stores and reductions.

use ptxc_machine::Archs;

use super::place::{Fixed, Form, Shape};
use super::row::{
    Completion, Effects, Group, GroupRole, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width,
};
use crate::register::RegFile;

/// The common part of the rows of this family.
const TMA: Row = Row {
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::LateUniformRead,
    effects: Effects { reads_memory: true, writes_memory: true, fence: true, ..Effects::NONE },
    archs: Archs::HOPPER,
    fixed: &[Fixed::new(91, 1, 1)],
    guard: RegFile::Upred,
    awaits_view: true,
    ..Row::BASE
};

/// The address in shared memory and the coordinates: `more` registers in addition to the
/// coordinates.
const fn place(more: u8) -> Slot {
    Slot::read("place", Kinds::UR).width(Width::Dimensions(more)).bracketed().at(32, 6)
}

const MAP: Slot = Slot::read("map", Kinds::UR).width(Width::Fixed(2)).bracketed().at(24, 6);
const EXTRA: Slot = Slot::read("extra", Kinds::UR).may_be_empty().at(64, 6);
const POLICY: Slot =
    Slot::read("policy", Kinds::UR).width(Width::Fixed(2)).after_prefix("desc").may_be_empty().at(40, 6);
/// Bit 76: there is a cache policy.
const WITH_POLICY: &[Fixed] = &[Fixed::new(76, 1, 1)];
const NONE: Shape = Shape::Absent;
const SOME: Shape = Shape::Register;
const FORMS: &[Form] = &[Form::same(&[("policy", NONE)]), Form::same(&[("policy", SOME)]).fixed(WITH_POLICY)];

const DIMENSIONS: Modifier = Modifier::new(ModKind::Shape, &[".1D", ".2D", ".3D", ".4D", ".5D"]).at(79, 3);
const IM2COL: Modifier = Modifier::new(ModKind::Mode, &["", ".IM2COL"]).at(82, 1);

/// Without `extra`, neither of its modifiers is set.
const PLAIN: &[(ModKind, &[&str])] = &[(ModKind::Mode, &[""]), (ModKind::Variant, &[""])];
/// A prefetch has `extra` only for the pixels.
const BY_PIXELS: &[(ModKind, &[&str])] = &[(ModKind::Mode, &[".IM2COL"])];

pub(super) static UTMALDG: Row = Row {
    mnemonic: "UTMALDG",
    summary: "asynchronously copy a box of the tensor of map to shared memory",
    slots: &[place(2), MAP, EXTRA, POLICY],
    mods: &[DIMENSIONS, IM2COL, Modifier::new(ModKind::Variant, &["", ".MULTICAST"]).at(75, 1)],
    forms: &[
        Form::same(&[("extra", NONE), ("policy", NONE)]).with(PLAIN),
        Form::same(&[("extra", NONE), ("policy", SOME)]).with(PLAIN).fixed(WITH_POLICY),
        Form::same(&[("extra", SOME), ("policy", NONE)]).opcode(0x3b4),
        Form::same(&[("extra", SOME), ("policy", SOME)]).opcode(0x3b4).fixed(WITH_POLICY),
    ],
    opcode: 0x5b4,
    ..TMA
};

pub(super) static UTMASTG: Row = Row {
    mnemonic: "UTMASTG",
    summary: "asynchronously copy a box from shared memory to the tensor of map",
    group: GroupRole::Member(Group::Bulk),
    slots: &[place(1), MAP, POLICY],
    mods: &[DIMENSIONS, IM2COL],
    forms: FORMS,
    opcode: 0x3b5,
    ..TMA
};

pub(super) static UTMAREDG: Row = Row {
    mnemonic: "UTMAREDG",
    summary: "asynchronously combine a box of shared memory with a box of the tensor of map",
    group: GroupRole::Member(Group::Bulk),
    slots: &[place(1), MAP, POLICY],
    mods: &[
        DIMENSIONS,
        IM2COL,
        Modifier::new(ModKind::Atomic, &[".ADD", ".MIN", ".MAX", ".INC", ".DEC", ".AND", ".OR", ".XOR"])
            .at(87, 3),
    ],
    forms: FORMS,
    opcode: 0x3b6,
    ..TMA
};

pub(super) static UTMAPF: Row = Row {
    mnemonic: "UTMAPF.L2",
    summary: "prefetch a box of the tensor of map into the second-level cache",
    slots: &[place(0), MAP, EXTRA, POLICY],
    mods: &[DIMENSIONS, IM2COL],
    forms: &[
        Form::same(&[("extra", NONE), ("policy", NONE)]).with(PLAIN),
        Form::same(&[("extra", NONE), ("policy", SOME)]).with(PLAIN).fixed(WITH_POLICY),
        Form::same(&[("extra", SOME), ("policy", NONE)]).opcode(0x3b8).with(BY_PIXELS),
        Form::same(&[("extra", SOME), ("policy", SOME)]).opcode(0x3b8).with(BY_PIXELS).fixed(WITH_POLICY),
    ],
    opcode: 0x5b8,
    awaits_view: false,
    ..TMA
};
