//! Asynchronous matrix products of a warpgroup.
//!
//! b, and a unless it is in registers, are in shared memory. The descriptors `gdesc[UR4]` tell
//! where: four uniform registers, two for a, if it is there, and two for b. `WARPGROUP.ARRIVE` comes
//! before the first product of a group; the last one of the group has `gsb0`, the scoreboard that
//! counts groups and that `WARPGROUP.DEPBAR.LE` waits for. Until then accumulators and registers of a
//! may not be touched. The products use no scoreboard of the warp; ptxas leaves at least one cycle
//! after each product.
//!
//! A product is d = a·b + c if `accumulate` holds, else a·b.

use ptxc_machine::Archs;

use super::kinds::Matrix;
use super::place::{Bits, Fixed, Place, Signs};
use super::row::{
    Completion, Effects, Group, GroupRole, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row,
    Scoreboards, Slot, Stand, Width,
};
use crate::register::RegFile;

/// The common part of the rows of this family.
const WGMMA: Row = Row {
    pipe: Pipe::Tensor,
    latency: LatencyClass::Gmma,
    completion: Completion::Group,
    group: GroupRole::Member(Group::Products),
    effects: Effects { reads_memory: true, fence: true, convergent: true, ..Effects::NONE },
    archs: Archs::HOPPER,
    fixed: DENSE,
    scoreboards: Scoreboards::NONE,
    ..Row::BASE
};

/// Bit 91: there is a uniform register.
const DENSE: &[Fixed] = &[Fixed::new(91, 1, 1)];
const SPARSE: &[Fixed] = &[Fixed::new(91, 1, 1), Fixed::new(73, 1, 1)];

/// Every result is a share of 32-bit elements, except binary16 results.
const D: Slot = Slot::def("d", Kinds::R).width(Width::Share(Matrix::Accumulator, 32)).place(Place::D);
const C: Slot = Slot::read("c", Kinds::R).width(Width::Share(Matrix::Accumulator, 32)).at(64, 8);
const ACCUMULATE: Slot = Slot::read("accumulate", Kinds::UP).not().hidden().place(Place::complement(87, 3));
/// The descriptors of a and b.
const AB: Slot = Slot::read("ab", Kinds::UR).width(Width::Fixed(4)).after_prefix("gdesc").at(24, 6);
/// The descriptor of b, in the upper two of four registers, as after that of a.
const B: Slot = Slot::read("b", Kinds::UR).width(Width::Fixed(4)).after_prefix("gdesc").at(32, 6);
/// The places of the stored elements of a sparse matrix.
const META: Slot = Slot::read("meta", Kinds::R).at(40, 8);
/// The lanes that hold these places.
const SELECTOR: Slot = Slot::read("selector", Kinds::IMM).at(48, 2);

/// The first factor in registers; its elements have `bits` bits if no modifier tells.
const fn a(matrix: Matrix, bits: u8) -> Slot {
    Slot::read("a", Kinds::R).width(Width::Share(matrix, bits)).place(Place::A)
}

/// Marks the last product of a group.
const GROUP: Modifier =
    Modifier::new(ModKind::Group, &["", "gsb0"]).at(84, 3).codes(&[7, 0]).stand(Stand::Last);

/// A modifier of one bit after the descriptors.
const fn after_slot(kind: ModKind, values: &'static [&'static str], slot: &'static str, bit: u8) -> Modifier {
    Modifier::new(kind, values).at(bit, 1).stand(Stand::Operand(slot))
}

const NEGATIVE_A: &[&str] = &["", ".negA"];
const NEGATIVE_B: &[&str] = &["", ".negB"];
const TRANSPOSED_A: &[&str] = &["", ".tnspA"];
const TRANSPOSED_B: &[&str] = &["", ".tnspB"];

/// The shapes of 64 rows and a multiple of 8 columns, for each given number of products per sum.
macro_rules! by_eights {
    ($($k:literal)*) => {
        &[$(
            concat!(".64x8x", $k), concat!(".64x16x", $k), concat!(".64x24x", $k), concat!(".64x32x", $k),
            concat!(".64x40x", $k), concat!(".64x48x", $k), concat!(".64x56x", $k), concat!(".64x64x", $k),
            concat!(".64x72x", $k), concat!(".64x80x", $k), concat!(".64x88x", $k), concat!(".64x96x", $k),
            concat!(".64x104x", $k), concat!(".64x112x", $k), concat!(".64x120x", $k), concat!(".64x128x", $k),
            concat!(".64x136x", $k), concat!(".64x144x", $k), concat!(".64x152x", $k), concat!(".64x160x", $k),
            concat!(".64x168x", $k), concat!(".64x176x", $k), concat!(".64x184x", $k), concat!(".64x192x", $k),
            concat!(".64x200x", $k), concat!(".64x208x", $k), concat!(".64x216x", $k), concat!(".64x224x", $k),
            concat!(".64x232x", $k), concat!(".64x240x", $k), concat!(".64x248x", $k), concat!(".64x256x", $k),
        )*]
    };
}

/// The same with 8, 24 or a multiple of 16 columns.
macro_rules! by_sixteens {
    ($k:literal) => {
        &[
            concat!(".64x8x", $k),
            concat!(".64x16x", $k),
            concat!(".64x24x", $k),
            concat!(".64x32x", $k),
            concat!(".64x48x", $k),
            concat!(".64x64x", $k),
            concat!(".64x80x", $k),
            concat!(".64x96x", $k),
            concat!(".64x112x", $k),
            concat!(".64x128x", $k),
            concat!(".64x144x", $k),
            concat!(".64x160x", $k),
            concat!(".64x176x", $k),
            concat!(".64x192x", $k),
            concat!(".64x208x", $k),
            concat!(".64x224x", $k),
            concat!(".64x240x", $k),
            concat!(".64x256x", $k),
        ]
    };
}

/// `count` codes, `step` apart.
const fn codes<const COUNT: usize>(first: u16, step: u16) -> [u16; COUNT] {
    let mut codes = [0; COUNT];
    let mut index = 0;
    while index < COUNT {
        codes[index] = first + step * index as u16;
        index += 1;
    }
    codes
}

const fn shape(values: &'static [&'static str]) -> Modifier {
    Modifier::new(ModKind::Shape, values)
}

/// The type of d and c.
const RESULT: Modifier = Modifier::new(ModKind::DataType, &[".F16", ".F32"]).default_to(1).at(75, 1);
/// The type of a and b: binary16 by default.
const FLOATS: Modifier = Modifier::new(ModKind::SourceType, &["", ".BF16", ".TF32"]).at(76, 2);
/// A sum takes 32 bytes of a row of a: 16 elements of 16 bits, or 8 of 32 bits.
const HALVES: Modifier = shape(by_eights!(16 8)).at(53, 6);
/// Twice as many elements if only half of them are stored.
const HALVES_SPARSE: Modifier = shape(by_eights!(16 32)).at(53, 5).and_at(59, 1);

const H_AB: [Modifier; 8] = [
    HALVES,
    RESULT,
    FLOATS,
    after_slot(ModKind::NegativeA, NEGATIVE_A, "ab", 72),
    after_slot(ModKind::NegativeB, NEGATIVE_B, "ab", 63),
    after_slot(ModKind::LayoutA, TRANSPOSED_A, "ab", 61),
    after_slot(ModKind::LayoutB, TRANSPOSED_B, "ab", 62),
    GROUP,
];
const H_B: [Modifier; 6] = [
    HALVES,
    RESULT,
    FLOATS,
    after_slot(ModKind::NegativeB, NEGATIVE_B, "b", 63),
    after_slot(ModKind::LayoutB, TRANSPOSED_B, "b", 62),
    GROUP,
];

pub(super) static HGMMA: Row = Row {
    mnemonic: "HGMMA",
    summary: "d = a·b + c, floats of 16 bits or TF32, a and b in shared memory",
    slots: &[D, AB, C, ACCUMULATE],
    mods: &H_AB,
    opcode: 0x9f0,
    ..WGMMA
};

pub(super) static HGMMA_R: Row = Row {
    mnemonic: "HGMMA",
    summary: "d = a·b + c, floats of 16 bits or TF32, a in registers",
    slots: &[D, a(Matrix::First, 16).neg(), B, C, ACCUMULATE],
    mods: &H_B,
    opcode: 0xdf0,
    ..WGMMA
};

pub(super) static HGMMA_SP: Row = Row {
    mnemonic: "HGMMA.SP",
    summary: "the same, a sparse, in shared memory",
    slots: &[D, AB, C, ACCUMULATE, META, SELECTOR],
    mods: &[HALVES_SPARSE, RESULT, FLOATS, H_AB[3], H_AB[4], H_AB[5], H_AB[6], GROUP],
    fixed: SPARSE,
    opcode: 0x9f0,
    ..WGMMA
};

pub(super) static HGMMA_SP_R: Row = Row {
    mnemonic: "HGMMA.SP",
    summary: "the same, a sparse, in registers",
    slots: &[D, a(Matrix::SparseFirst, 16).neg(), B, C, ACCUMULATE, META, SELECTOR],
    mods: &[HALVES_SPARSE, RESULT, FLOATS, H_B[3], H_B[4], GROUP],
    fixed: SPARSE,
    opcode: 0xdf0,
    ..WGMMA
};

const BYTES: &[&str] = &[".U8", ".S8"];
const BYTES_A: Modifier = Modifier::new(ModKind::SourceType, BYTES).default_to(1).at(76, 1);
const BYTES_B: Modifier = Modifier::new(ModKind::SecondType, BYTES).default_to(1).at(82, 1);
const SATURATED: Modifier = Modifier::new(ModKind::Sat, &["", ".SAT"]).at(75, 1);
const I_SHAPE: Modifier = shape(by_sixteens!(32)).at(53, 6).codes(&codes::<18>(0, 3));
const I_SHAPE_SPARSE: Modifier = shape(by_sixteens!(64)).at(53, 6).codes(&codes::<18>(1, 3));
const I_MODS: &[Modifier] = &[I_SHAPE, BYTES_A, BYTES_B, SATURATED, GROUP];
const I_MODS_SPARSE: &[Modifier] = &[I_SHAPE_SPARSE, BYTES_A, BYTES_B, SATURATED, GROUP];

pub(super) static IGMMA: Row = Row {
    mnemonic: "IGMMA",
    summary: "d = a·b + c, bytes, sums of 32 bits, a and b in shared memory",
    slots: &[D, AB, C, ACCUMULATE],
    mods: I_MODS,
    opcode: 0x9f1,
    ..WGMMA
};

pub(super) static IGMMA_R: Row = Row {
    mnemonic: "IGMMA",
    summary: "d = a·b + c, bytes, sums of 32 bits, a in registers",
    slots: &[D, a(Matrix::First, 8), B, C, ACCUMULATE],
    mods: I_MODS,
    opcode: 0xdf1,
    ..WGMMA
};

pub(super) static IGMMA_SP: Row = Row {
    mnemonic: "IGMMA.SP",
    summary: "the same, a sparse, in shared memory",
    slots: &[D, AB, C, ACCUMULATE, META, SELECTOR.hidden()],
    mods: I_MODS_SPARSE,
    fixed: SPARSE,
    opcode: 0x9f1,
    ..WGMMA
};

pub(super) static IGMMA_SP_R: Row = Row {
    mnemonic: "IGMMA.SP",
    summary: "the same, a sparse, in registers",
    slots: &[D, a(Matrix::SparseFirst, 8), B, C, ACCUMULATE, META, SELECTOR.hidden()],
    mods: I_MODS_SPARSE,
    fixed: SPARSE,
    opcode: 0xdf1,
    ..WGMMA
};

const MINIFLOATS: &[&str] = &[".E4M3", ".E5M2"];
const Q_A: Modifier = Modifier::new(ModKind::SourceType, MINIFLOATS).at(76, 1);
const Q_B: Modifier = Modifier::new(ModKind::SecondType, MINIFLOATS).at(77, 1);
const Q_SHAPE: Modifier = shape(by_eights!(32)).at(53, 5);
const Q_SHAPE_SPARSE: Modifier = shape(by_eights!(64)).at(53, 5);
/// Bit 58: twice as many products per sum.
const Q_SPARSE: &[Fixed] = &[Fixed::new(91, 1, 1), Fixed::new(73, 1, 1), Fixed::new(58, 1, 1)];

pub(super) static QGMMA: Row = Row {
    mnemonic: "QGMMA",
    summary: "d = a·b + c, floats of 8 bits, a and b in shared memory",
    slots: &[D, AB, C, ACCUMULATE],
    mods: &[Q_SHAPE, RESULT, Q_A, Q_B, H_AB[3], H_AB[4], GROUP],
    opcode: 0x9f3,
    ..WGMMA
};

pub(super) static QGMMA_R: Row = Row {
    mnemonic: "QGMMA",
    summary: "d = a·b + c, floats of 8 bits, a in registers",
    slots: &[D, a(Matrix::First, 8).neg(), B, C, ACCUMULATE],
    mods: &[Q_SHAPE, RESULT, Q_A, Q_B, H_B[3], GROUP],
    opcode: 0xdf3,
    ..WGMMA
};

pub(super) static QGMMA_SP: Row = Row {
    mnemonic: "QGMMA.SP",
    summary: "the same, a sparse, in shared memory",
    slots: &[D, AB, C, ACCUMULATE, META, SELECTOR.hidden()],
    mods: &[Q_SHAPE_SPARSE, RESULT, Q_A, Q_B, H_AB[3], H_AB[4], GROUP],
    fixed: Q_SPARSE,
    opcode: 0x9f3,
    ..WGMMA
};

pub(super) static QGMMA_SP_R: Row = Row {
    mnemonic: "QGMMA.SP",
    summary: "the same, a sparse, in registers",
    slots: &[D, a(Matrix::SparseFirst, 8).neg(), B, C, ACCUMULATE, META, SELECTOR.hidden()],
    mods: &[Q_SHAPE_SPARSE, RESULT, Q_A, Q_B, H_B[3], GROUP],
    fixed: Q_SPARSE,
    opcode: 0xdf3,
    ..WGMMA
};

const BITS: &[Modifier] = &[
    shape(by_sixteens!(256)).at(53, 5),
    Modifier::new(ModKind::Combine, &[".AND"]),
    Modifier::new(ModKind::Reduction, &[".POPC"]),
    GROUP,
];
const AND_POPC: &[Fixed] = &[Fixed::new(91, 1, 1), Fixed::new(78, 1, 1), Fixed::new(80, 1, 1)];

pub(super) static BGMMA: Row = Row {
    mnemonic: "BGMMA",
    summary: "d = c + the number of bits in a and b, for each row of a and column of b; both in shared memory",
    slots: &[D, AB, C, ACCUMULATE],
    mods: BITS,
    fixed: AND_POPC,
    opcode: 0x9f2,
    ..WGMMA
};

pub(super) static BGMMA_R: Row = Row {
    mnemonic: "BGMMA",
    summary: "the same, a in registers",
    slots: &[D, a(Matrix::First, 1), B, C, ACCUMULATE],
    mods: BITS,
    fixed: AND_POPC,
    opcode: 0xdf2,
    ..WGMMA
};

/// Bit 74: the places of the stored elements are an offset in a register.
const BY_REGISTER: Fixed = Fixed::new(74, 1, 1);
const SPARSE_BY_REGISTER: &[Fixed] = &[SPARSE[0], SPARSE[1], BY_REGISTER];
const Q_SPARSE_BY_REGISTER: &[Fixed] = &[Q_SPARSE[0], Q_SPARSE[1], Q_SPARSE[2], BY_REGISTER];

pub(super) static HGMMA_SP_OFFSET: Row =
    Row { mnemonic: "HGMMA.SP.REGOFFSET", fixed: SPARSE_BY_REGISTER, ..HGMMA_SP };

pub(super) static HGMMA_SP_R_OFFSET: Row =
    Row { mnemonic: "HGMMA.SP.REGOFFSET", fixed: SPARSE_BY_REGISTER, ..HGMMA_SP_R };

pub(super) static IGMMA_SP_OFFSET: Row =
    Row { mnemonic: "IGMMA.SP.REGOFFSET", fixed: SPARSE_BY_REGISTER, ..IGMMA_SP };

pub(super) static IGMMA_SP_R_OFFSET: Row =
    Row { mnemonic: "IGMMA.SP.REGOFFSET", fixed: SPARSE_BY_REGISTER, ..IGMMA_SP_R };

pub(super) static QGMMA_SP_OFFSET: Row =
    Row { mnemonic: "QGMMA.SP.REGOFFSET", fixed: Q_SPARSE_BY_REGISTER, ..QGMMA_SP };

pub(super) static QGMMA_SP_R_OFFSET: Row =
    Row { mnemonic: "QGMMA.SP.REGOFFSET", fixed: Q_SPARSE_BY_REGISTER, ..QGMMA_SP_R };

const WARPGROUP: Row = Row {
    pipe: Pipe::Control,
    latency: LatencyClass::Branch,
    completion: Completion::Fixed,
    effects: Effects { fence: true, convergent: true, ..Effects::NONE },
    archs: Archs::HOPPER,
    scoreboards: Scoreboards::NONE,
    ..Row::BASE
};

pub(super) static WARPGROUP_ARRIVE: Row = Row {
    mnemonic: "WARPGROUP.ARRIVE",
    summary: "order the warps' accesses to registers and shared memory before the following products",
    opcode: 0x9c5,
    ..WARPGROUP
};

pub(super) static WARPGROUP_DEPBAR: Row = Row {
    mnemonic: "WARPGROUP.DEPBAR.LE",
    summary: "wait until at most n groups of products are pending",
    slots: &[
        // There is only one such scoreboard, and no field for its number.
        Slot::read("groups", Kinds::IMM)
            .imm(ImmFormat::GroupScoreboard)
            .place(Place::Number(Bits::NONE, Signs::NONE)),
        Slot::read("n", Kinds::IMM).at(72, 3),
    ],
    min_stall: 2,
    fixed: &[Fixed::new(47, 1, 1), Fixed::new(80, 1, 1)],
    opcode: 0x9c5,
    group: GroupRole::Await(Group::Products),
    scoreboards: Scoreboards::NO_WAITS,
    ..WARPGROUP
};

const REGISTERS: Slot = Slot::read("registers", Kinds::IMM).at(32, 10);

pub(super) static USETSHMSZ: Row = Row {
    mnemonic: "USETSHMSZ",
    summary: "set the size of the CTA's shared memory to the given number of bytes; with `.FLUSH` make it effective",
    slots: &[Slot::read("bytes", Kinds::IMM).hidden_with(".FLUSH").at(32, 20)],
    mods: &[Modifier::new(ModKind::Mode, &["", ".FLUSH"]).at(72, 1)],
    completion: Completion::Variable,
    fixed: &[Fixed::new(91, 1, 1)],
    guard: RegFile::Upred,
    opcode: 0x9c9,
    scoreboards: Scoreboards::BOTH,
    ..WARPGROUP
};

pub(super) static USETMAXREG_DEALLOC: Row = Row {
    mnemonic: "USETMAXREG.DEALLOC.CTAPOOL",
    summary: "return registers until each lane has the given number",
    slots: &[REGISTERS],
    completion: Completion::Variable,
    // The encoding names no predicate that tells whether it was done.
    fixed: &[Fixed::new(72, 3, 5), Fixed::new(81, 3, 7), Fixed::new(91, 1, 1)],
    guard: RegFile::Upred,
    opcode: 0x9c8,
    scoreboards: Scoreboards::BOTH,
    ..WARPGROUP
};

pub(super) static USETMAXREG_TRY_ALLOC: Row = Row {
    mnemonic: "USETMAXREG.TRY_ALLOC.CTAPOOL",
    summary: "acquire registers until each lane has the given number, if enough are free; pd = whether there were",
    slots: &[Slot::def("pd", Kinds::UP).at(81, 3), REGISTERS],
    completion: Completion::Variable,
    fixed: &[Fixed::new(72, 3, 6), Fixed::new(91, 1, 1)],
    guard: RegFile::Upred,
    opcode: 0x9c8,
    scoreboards: Scoreboards::BOTH,
    ..WARPGROUP
};
