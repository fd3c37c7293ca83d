//! Matrix products of a warp.
//!
//! `HMMA` multiplies halves, bfloat16 and TF32, `IMMA` integers, `BMMA` bits, `QMMA` floats of 8
//! bits, `DMMA` doubles. Each lane holds a [share](super::Matrix) of every matrix. In products with
//! `.SP` one half of a row of a is not stored. Two bits for each stored element, in the register
//! `meta` of some lanes (`selector`), give its place.

use ptxc_machine::Archs;

use super::kinds::Matrix;
use super::place::{Fixed, Form, Place};
use super::row::{
    Completion, Effects, Kinds, Lanes, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Stand, Width,
};

/// The common part of the rows of this family. On sm_75 a scoreboard announces their results, see
/// [`completion`](crate::Inst::completion).
const MMA: Row = Row {
    pipe: Pipe::Tensor,
    latency: LatencyClass::Mma,
    completion: Completion::Fixed,
    effects: Effects { convergent: true, ..Effects::NONE },
    lanes: Lanes::Share,
    ..Row::BASE
};

const fn d(bits: u8) -> Slot {
    Slot::def("d", Kinds::R).width(Width::Share(Matrix::Accumulator, bits)).place(Place::D)
}

const fn a(matrix: Matrix, bits: u8) -> Slot {
    Slot::read("a", Kinds::R).width(Width::Share(matrix, bits)).reuse(0).place(Place::A)
}

const fn b(bits: u8) -> Slot {
    Slot::read("b", Kinds::R).width(Width::Share(Matrix::Second, bits)).reuse(1).at(32, 8)
}

const fn c(bits: u8) -> Slot {
    Slot::read("c", Kinds::R).width(Width::Share(Matrix::Accumulator, bits)).at(64, 8)
}

/// The places of the stored elements of a sparse matrix.
const META: Slot = Slot::read("meta", Kinds::R).reuse(3).at(40, 8);
/// The lanes that hold these places.
const SELECTOR: Slot = Slot::read("selector", Kinds::IMM).at(48, 2);
/// Integers and bits: a is stored by rows, b by columns.
const BY_COLUMNS: Fixed = Fixed::new(74, 1, 1);

/// The type of d and c.
const RESULT: Modifier = Modifier::new(ModKind::DataType, &[".F16", ".F32"]).default_to(1).at(76, 1);
/// The type of a and b: binary16 by default.
const FLOATS: Modifier = Modifier::new(ModKind::SourceType, &["", ".BF16", ".TF32"])
    .limited(&[(".BF16", Archs::AMPERE_TO_HOPPER), (".TF32", Archs::AMPERE_TO_HOPPER)])
    .at(82, 2);

pub(super) static HMMA: Row = Row {
    mnemonic: "HMMA",
    summary: "d = a·b + c, matrices of floats of 16 bits or TF32; on sm_75 `.SATFINITE` keeps infinities out of d",
    slots: &[d(32), a(Matrix::First, 16).reuse_on(Archs::AMPERE_TO_HOPPER), b(16), c(32)],
    mods: &[
        Modifier::new(ModKind::Shape, &[".1688", ".16816", ".1684"])
            .limited(&[(".16816", Archs::AMPERE_TO_HOPPER), (".1684", Archs::AMPERE_TO_HOPPER)])
            .at(75, 1)
            .and_at(78, 1),
        RESULT,
        Modifier::new(ModKind::Sat, &["", ".SATFINITE"]).limited(&[(".SATFINITE", Archs::TURING)]).at(77, 1),
        FLOATS,
    ],
    opcode: 0x23c,
    ..MMA
};

pub(super) static HMMA_SP: Row = Row {
    mnemonic: "HMMA.SP",
    summary: "d = a·b + c, where half of a's elements are zeros that are not stored",
    slots: &[d(32), a(Matrix::SparseFirst, 16), b(16), c(32), META, SELECTOR],
    mods: &[
        Modifier::new(ModKind::Shape, &[".1688", ".16816", ".16832"])
            .at(75, 1)
            .and_at(78, 1)
            .codes(&[0, 1, 3]),
        RESULT,
        FLOATS,
    ],
    fixed: &[Fixed::new(73, 1, 1)],
    archs: Archs::AMPERE_TO_HOPPER,
    opcode: 0x23c,
    ..MMA
};

/// Operands of a step are pairs; the step uses its own part of them.
const PAIR: Width = Width::Fixed(2);
const ROW_OR_COLUMN: &[&str] = &[".ROW", ".COL"];

pub(super) static HMMA_884: Row = Row {
    mnemonic: "HMMA.884",
    summary: "a step of d = a·b + c, matrices of 8×4, 4×8 and 8×8 elements, four products at once; binary16 a and b by rows \
              or columns",
    slots: &[
        Slot::def("d", Kinds::R).width(PAIR).place(Place::D),
        Slot::read("a", Kinds::R).width(PAIR).reuse(0).place(Place::A),
        Slot::read("b", Kinds::R).width(PAIR).reuse(1).at(32, 8),
        Slot::read("c", Kinds::R).width(PAIR).reuse(2).at(64, 8),
    ],
    mods: &[
        Modifier::new(ModKind::DataType, &[".F16", ".F32"]).at(76, 1),
        Modifier::new(ModKind::SourceType, &[".F16", ".F32"]).at(78, 1),
        Modifier::new(ModKind::Mode, &[".STEP0", ".STEP1", ".STEP2", ".STEP3"]).at(79, 2),
        Modifier::new(ModKind::Sat, &["", ".SATFINITE"]).at(77, 1),
        Modifier::new(ModKind::LayoutA, ROW_OR_COLUMN).at(73, 1).stand(Stand::Operand("a")),
        Modifier::new(ModKind::LayoutB, ROW_OR_COLUMN).at(74, 1).stand(Stand::Operand("b")),
    ],
    forms: STEPS,
    archs: Archs::TURING,
    opcode: 0x236,
    ..MMA
};

/// Sums in binary16 take two steps and only binary16; sums in binary32 take four steps and either
/// type.
const STEPS: &[Form] = &[
    Form::same(&[]).with(&[
        (ModKind::DataType, &[".F16"]),
        (ModKind::SourceType, &[".F16"]),
        (ModKind::Mode, &[".STEP0", ".STEP1"]),
    ]),
    Form::same(&[]).with(&[(ModKind::DataType, &[".F32"])]),
];

/// Bytes with or without sign.
const BYTES: &[&str] = &[".U8", ".S8"];
const BYTES_A: Modifier = Modifier::new(ModKind::SourceType, BYTES).default_to(1).at(76, 1);
const BYTES_B: Modifier = Modifier::new(ModKind::SecondType, BYTES).default_to(1).at(78, 1);
const SATURATED: Modifier = Modifier::new(ModKind::Sat, &["", ".SAT"]).at(82, 1);

pub(super) static IMMA: Row = Row {
    mnemonic: "IMMA",
    summary: "d = a·b + c, matrices of bytes, sums of 32 bits that wrap or stay in range (`.SAT`)",
    slots: &[d(32), a(Matrix::First, 8).marked(".ROW"), b(8).marked(".COL"), c(32)],
    mods: &[
        Modifier::new(ModKind::Shape, &[".8816", ".16816", ".16832"])
            .limited(&[(".16816", Archs::AMPERE_TO_HOPPER), (".16832", Archs::AMPERE_TO_HOPPER)])
            .at(85, 2)
            .and_at(75, 1)
            .codes(&[0, 2, 6]),
        BYTES_A,
        BYTES_B,
        SATURATED,
    ],
    fixed: &[BY_COLUMNS],
    opcode: 0x237,
    ..MMA
};

pub(super) static IMMA_SP: Row = Row {
    mnemonic: "IMMA.SP",
    summary: "d = a·b + c on bytes, where half of a's elements are zeros that are not stored",
    slots: &[d(32), a(Matrix::SparseFirst, 8).marked(".ROW"), b(8).marked(".COL"), c(32), META, SELECTOR],
    mods: &[
        Modifier::new(ModKind::Shape, &[".16832", ".16864"]).at(85, 2).and_at(75, 1).codes(&[6, 3]),
        BYTES_A,
        BYTES_B,
        SATURATED,
    ],
    fixed: &[BY_COLUMNS, Fixed::new(72, 1, 1)],
    archs: Archs::AMPERE_TO_HOPPER,
    opcode: 0x237,
    ..MMA
};

/// Half bytes with or without sign.
const NIBBLES: &[&str] = &[".U4", ".S4"];
const NIBBLES_A: Modifier = Modifier::new(ModKind::SourceType, NIBBLES).default_to(1).at(76, 1);
const NIBBLES_B: Modifier = Modifier::new(ModKind::SecondType, NIBBLES).default_to(1).at(78, 1);

pub(super) static IMMA_4: Row = Row {
    mnemonic: "IMMA",
    summary: "d = a·b + c, matrices of half bytes, sums of 32 bits that wrap or stay in range (`.SAT`)",
    slots: &[d(32), a(Matrix::First, 4).marked(".ROW"), b(4).marked(".COL"), c(32)],
    mods: &[
        Modifier::new(ModKind::Shape, &[".8832", ".16832", ".16864"])
            .limited(&[(".16832", Archs::AMPERE_TO_HOPPER), (".16864", Archs::AMPERE_TO_HOPPER)])
            .at(85, 2)
            .and_at(75, 1)
            .codes(&[1, 6, 3]),
        NIBBLES_A,
        NIBBLES_B,
        SATURATED,
    ],
    fixed: &[BY_COLUMNS, Fixed::new(83, 2, 3)],
    archs: Archs::TURING_TO_ADA,
    opcode: 0x237,
    ..MMA
};

pub(super) static IMMA_4_SP: Row = Row {
    mnemonic: "IMMA.SP",
    summary: "d = a·b + c on half bytes, where half of a's elements are zeros that are not stored",
    slots: &[d(32), a(Matrix::SparseFirst, 4).marked(".ROW"), b(4).marked(".COL"), c(32), META, SELECTOR],
    mods: &[
        Modifier::new(ModKind::Shape, &[".16864", ".168128"]).at(85, 2).and_at(75, 1).codes(&[3, 7]),
        NIBBLES_A,
        NIBBLES_B,
        SATURATED,
    ],
    fixed: &[BY_COLUMNS, Fixed::new(72, 1, 1), Fixed::new(83, 2, 3)],
    archs: Archs::AMPERE_TO_ADA,
    opcode: 0x237,
    ..MMA
};

pub(super) static BMMA: Row = Row {
    mnemonic: "BMMA",
    summary: "d = c + the number of bits in a xor b, or a and b, for each row of a and column of b",
    slots: &[d(32), a(Matrix::First, 1).marked(".ROW"), b(1).marked(".COL"), c(32)],
    mods: &[
        Modifier::new(ModKind::Shape, &[".88128", ".168128", ".168256"])
            .limited(&[(".168128", Archs::AMPERE_TO_HOPPER), (".168256", Archs::AMPERE_TO_HOPPER)])
            .at(75, 2),
        Modifier::new(ModKind::Combine, &[".XOR", ".AND"])
            .limited(&[(".XOR", Archs::TURING_TO_ADA), (".AND", Archs::AMPERE_TO_HOPPER)])
            .at(78, 1),
        Modifier::new(ModKind::Reduction, &[".POPC"]),
    ],
    fixed: &[BY_COLUMNS, Fixed::new(80, 1, 1)],
    opcode: 0x23d,
    ..MMA
};

const MINIFLOATS: &[&str] = &[".E4M3", ".E5M2"];
const QMMA_RESULT: Modifier = Modifier::new(ModKind::DataType, &[".F16", ".F32"]).default_to(1).at(77, 1);
const QMMA_A: Modifier = Modifier::new(ModKind::SourceType, MINIFLOATS).at(78, 1);
const QMMA_B: Modifier = Modifier::new(ModKind::SecondType, MINIFLOATS).at(79, 1);

pub(super) static QMMA: Row = Row {
    mnemonic: "QMMA",
    summary: "d = a·b + c, matrices of floats of 8 bits",
    slots: &[d(32), a(Matrix::First, 8).marked(".ROW"), b(8).marked(".COL"), c(32)],
    mods: &[Modifier::new(ModKind::Shape, &[".16816", ".16832"]).at(75, 1), QMMA_RESULT, QMMA_A, QMMA_B],
    fixed: &[BY_COLUMNS],
    archs: Archs::ADA,
    opcode: 0x27a,
    ..MMA
};

pub(super) static QMMA_SP: Row = Row {
    mnemonic: "QMMA.SP",
    summary: "d = a·b + c on floats of 8 bits, where half of a's elements are zeros that are not stored",
    slots: &[d(32), a(Matrix::SparseFirst, 8).marked(".ROW"), b(8).marked(".COL"), c(32), META, SELECTOR],
    mods: &[
        Modifier::new(ModKind::Shape, &[".16832", ".16864"]).at(75, 2).codes(&[1, 2]),
        QMMA_RESULT,
        QMMA_A,
        QMMA_B,
    ],
    fixed: &[BY_COLUMNS, Fixed::new(80, 1, 1)],
    archs: Archs::ADA,
    opcode: 0x27a,
    ..MMA
};

pub(super) static DMMA: Row = Row {
    mnemonic: "DMMA",
    summary: "d = a·b + c, matrices of doubles",
    slots: &[
        d(64),
        a(Matrix::First, 64).neg().abs(),
        b(64).neg().abs().place(Place::B),
        c(64).neg().abs().place(Place::C),
    ],
    mods: &[
        Modifier::new(ModKind::Shape, &[".8x8x4", ".16x8x4", ".16x8x8", ".16x8x16"])
            .limited(&[(".16x8x4", Archs::HOPPER), (".16x8x8", Archs::HOPPER), (".16x8x16", Archs::HOPPER)])
            .spelled(&[(".8x8x4", Archs::TURING_TO_ADA, ".884")])
            .at(76, 2),
        Modifier::new(ModKind::Round, &["", ".RM", ".RP", ".RZ"]).at(78, 2),
    ],
    completion: Completion::Variable,
    archs: Archs::AMPERE_TO_HOPPER,
    opcode: 0x23f,
    ..MMA
};
