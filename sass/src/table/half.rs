//! Two halves in a register: binary16, and bfloat16 with `.BF16_V2`.
//!
//! An operand is a register with both of its halves, or with one half for both (`R1.H0_H0`,
//! `R1.H1_H1`), which is how single halves are computed; or two constants, the high one first.
//! bfloat16 has rows of its own, since its constants are bfloat16 numbers.

use ptxc_machine::Archs;

use super::float::{COMBINE, COMPARE};
use super::place::{Bits, Fixed, Form, Place, Signs};
use super::row::{Completion, Halves, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot};

/// The common part of the rows of this family.
const HALF: Row =
    Row { pipe: Pipe::Half, latency: LatencyClass::Half, completion: Completion::Fixed, ..Row::BASE };

/// The common part of sums in single precision. They neither read a result of packed arithmetic nor pass one to it as early
/// as packed arithmetic does.
const HALF_SINGLE: Row = Row { latency: LatencyClass::HalfSingle, ..HALF };

/// The common part of comparisons and minima.
const HALF_ALU: Row = Row { pipe: Pipe::Alu, latency: LatencyClass::HalfAlu, ..HALF };

const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R).place(Place::D);
const A: Slot = Slot::read("a", Kinds::R).neg().abs().reuse(0).halves(Halves::Any).place(Place::A);
const B: Slot =
    Slot::read("b", ANY).neg().abs().reuse(1).halves(Halves::Any).imm(ImmFormat::HalfPair).place(Place::B);
const C: Slot = Slot::read("c", ANY)
    .neg()
    .abs()
    .reuse(2)
    .halves(Halves::Any)
    .imm(ImmFormat::HalfPair)
    .place(Place::HALF_C);
/// The second operand of sums and comparisons: in the place of b, with the reuse flag of c.
const SECOND: Slot = B.reuse(2);
const BRAIN_B: Slot = B.imm(ImmFormat::BrainPair);
const BRAIN_C: Slot = C.imm(ImmFormat::BrainPair);
const BRAIN_SECOND: Slot = SECOND.imm(ImmFormat::BrainPair);
const PD: Slot = Slot::def("pd", Kinds::P).at(81, 3);
const PE: Slot = Slot::def("pe", Kinds::P).optional().at(84, 3);
const PS: Slot = Slot::read("ps", Kinds::P).not().optional().at(87, 3);
/// NVIDIA's compiler emits `HFMA2.MMA` for data-centre architectures only.
const TENSOR_HALVES: Archs = Archs::SM_80_AND_HOPPER;
/// `HFMA2.MMA` takes whole registers.
const MMA_A: Slot = Slot::read("a", Kinds::R).neg().abs().reuse(0).place(Place::A);
const MMA_B: Slot = Slot::read("b", ANY).neg().abs().reuse(1).imm(ImmFormat::HalfPair).place(Place::B);
const MMA_C: Slot = Slot::read("c", ANY).neg().abs().reuse(2).imm(ImmFormat::HalfPair).place(Place::HALF_C);

const FTZ: Modifier = Modifier::new(ModKind::Ftz, &["", ".FTZ"]).at(80, 1);
/// Instead of flushing, a multiply-add may treat the NaN `0xffff` as out of bounds: the result is
/// then zero.
const FTZ_OR_OOB: Modifier = Modifier::new(ModKind::Ftz, &["", ".FTZ", ".OOB"])
    .limited(&[(".OOB", Archs::HOPPER)])
    .at(80, 1)
    .and_at(76, 1)
    .codes(&[0, 1, 3]);
const OOB: Modifier = Modifier::new(ModKind::Ftz, &["", ".OOB"])
    .limited(&[(".OOB", Archs::HOPPER)])
    .at(80, 1)
    .and_at(76, 1)
    .codes(&[0, 3]);
const SAT: Modifier = Modifier::new(ModKind::Sat, &["", ".SAT"]).at(77, 1);
/// The bits of a predicate, PT, are next to the bit of `.RELU`.
const SAT_OR_RELU: Modifier = Modifier::new(ModKind::Sat, &["", ".SAT", ".RELU"])
    .limited(&[(".RELU", Archs::AMPERE_TO_HOPPER)])
    .at(77, 1)
    .and_at(79, 1)
    .and_at(87, 3)
    .codes(&[0, 1, 0b1_1110]);
const RELU: Modifier =
    Modifier::new(ModKind::Sat, &["", ".RELU"]).at(79, 1).and_at(87, 3).codes(&[0, 0b1111]);
const NAN: Modifier = Modifier::new(ModKind::Mode, &["", ".NAN"]).at(81, 1);
const XORSIGN: Modifier = Modifier::new(ModKind::Sign, &["", ".XORSIGN"])
    .limited(&[(".XORSIGN", Archs::SM_86_TO_HOPPER)])
    .at(82, 1);
const ONES: Modifier = Modifier::new(ModKind::Mode, &["", ".BF"]).at(71, 1);
const HALF_COMPARE: Modifier = COMPARE.at(76, 4);
const HALF_COMBINE: Modifier = COMBINE.at(69, 2);
/// Marks arithmetic or a minimum of bfloat16.
const BRAIN: &[Fixed] = &[Fixed::new(85, 1, 1)];
/// Marks a comparison of bfloat16.
const BRAIN_COMPARE: &[Fixed] = &[Fixed::new(64, 2, 2)];
/// Marks a sum whose result is a binary32.
const SINGLE: &[Fixed] = &[Fixed::new(78, 1, 1)];

pub(super) static HADD2: Row = Row {
    mnemonic: "HADD2",
    summary: "d = a + b on two halves, rounded",
    slots: &[D, A, SECOND],
    mods: &[FTZ, SAT],
    forms: Form::B_AS_C,
    opcode: 0x230,
    ..HALF
};

pub(super) static HADD2_BF16: Row = Row {
    mnemonic: "HADD2.BF16_V2",
    summary: "d = a + b on two bfloat16, rounded",
    slots: &[D, A, BRAIN_SECOND],
    mods: &[],
    archs: Archs::HOPPER,
    forms: Form::B_AS_C,
    fixed: BRAIN,
    opcode: 0x230,
    ..HALF
};

/// The second operand of a sum that widens a half.
const WIDENED: Slot = Slot::read("b", Kinds::R.or(Kinds::UR).or(Kinds::CONST))
    .neg()
    .abs()
    .reuse(2)
    .halves(Halves::One)
    .place(Place::B);

pub(super) static HADD2_F32: Row = Row {
    mnemonic: "HADD2.F32",
    summary: "d = a plus one half of b, in single precision; with a = -RZ it widens",
    slots: &[
        D,
        Slot::read("a", Kinds::R)
            .neg()
            .place(Place::Number(Bits::new(24, 8), Signs { neg: Bits::new(72, 1), ..Signs::NONE })),
        WIDENED,
    ],
    mods: &[SAT],
    forms: Form::B_AS_C,
    fixed: SINGLE,
    opcode: 0x230,
    ..HALF_SINGLE
};

pub(super) static HADD2_F32_HALVES: Row = Row {
    mnemonic: "HADD2.F32",
    summary: "d = one half of a plus one half of b, in single precision",
    slots: &[D, A.halves(Halves::One), WIDENED],
    mods: &[SAT],
    forms: Form::B_AS_C,
    fixed: SINGLE,
    archs: Archs::TURING_AND_SM_80,
    opcode: 0x230,
    ..HALF_SINGLE
};

pub(super) static HADD2_NARROW_A: Row = Row {
    mnemonic: "HADD2",
    summary: "d = the binary32 a plus b, rounded to two halves",
    slots: &[
        D,
        A.halves(Halves::Single),
        Slot::read("b", Kinds::R).neg().abs().reuse(2).halves(Halves::Any).place(Place::B),
    ],
    mods: &[FTZ, SAT],
    archs: Archs::TURING,
    opcode: 0x230,
    ..HALF
};

pub(super) static HADD2_NARROW_B: Row = Row {
    mnemonic: "HADD2",
    summary: "d = a plus the binary32 b, rounded to two halves",
    slots: &[
        D,
        A,
        Slot::read("b", Kinds::R.or(Kinds::UR).or(Kinds::CONST))
            .neg()
            .abs()
            .reuse(2)
            .halves(Halves::Single)
            .place(Place::B),
    ],
    mods: &[FTZ, SAT],
    forms: Form::B_AS_C,
    archs: Archs::TURING,
    opcode: 0x230,
    ..HALF
};

pub(super) static HMUL2: Row = Row {
    mnemonic: "HMUL2",
    summary: "d = a * b on two halves, rounded",
    slots: &[D, A, B],
    mods: &[FTZ, SAT],
    forms: Form::B,
    opcode: 0x232,
    ..HALF
};

pub(super) static HMUL2_BF16: Row = Row {
    mnemonic: "HMUL2.BF16_V2",
    summary: "d = a * b on two bfloat16, rounded",
    slots: &[D, A, BRAIN_B],
    mods: &[],
    archs: Archs::HOPPER,
    forms: Form::B,
    fixed: BRAIN,
    opcode: 0x232,
    ..HALF
};

pub(super) static HFMA2: Row = Row {
    mnemonic: "HFMA2",
    summary: "d = a * b + c on two halves, rounded once; `.RELU` makes a negative result zero",
    slots: &[D, A, B, C],
    mods: &[FTZ_OR_OOB, SAT_OR_RELU],
    forms: Form::BC,
    opcode: 0x231,
    ..HALF
};

pub(super) static HFMA2_BF16: Row = Row {
    mnemonic: "HFMA2.BF16_V2",
    summary: "d = a * b + c on two bfloat16, rounded once; `.RELU` makes a negative result zero",
    slots: &[D, A, BRAIN_B, BRAIN_C],
    mods: &[OOB, RELU],
    archs: Archs::AMPERE_TO_HOPPER,
    forms: Form::BC,
    fixed: BRAIN,
    opcode: 0x231,
    ..HALF
};

pub(super) static HFMA2_MMA: Row = Row {
    mnemonic: "HFMA2.MMA",
    summary: "d = a * b + c on two halves, rounded once; with a = -RZ, b = RZ it moves the constant c",
    slots: &[D, MMA_A, MMA_B, MMA_C],
    mods: &[FTZ, SAT_OR_RELU],
    latency: LatencyClass::HalfMma,
    archs: TENSOR_HALVES,
    forms: Form::BC,
    opcode: 0x235,
    ..HALF
};

pub(super) static HFMA2_MMA_BF16: Row = Row {
    mnemonic: "HFMA2.MMA.BF16_V2",
    summary: "d = a * b + c on two bfloat16, rounded once",
    slots: &[D, MMA_A, MMA_B.imm(ImmFormat::BrainPair), MMA_C.imm(ImmFormat::BrainPair)],
    mods: &[RELU],
    latency: LatencyClass::HalfMma,
    archs: Archs::HOPPER,
    forms: Form::BC,
    fixed: BRAIN,
    opcode: 0x235,
    ..HALF
};

pub(super) static HSETP2: Row = Row {
    mnemonic: "HSETP2",
    summary: "pd = (low halves compared) combined with ps; pe = (high halves compared) combined in the same way",
    slots: &[PD, PE, A, SECOND, PS],
    mods: &[HALF_COMPARE, FTZ, HALF_COMBINE],
    forms: Form::B_AS_C,
    opcode: 0x234,
    ..HALF_ALU
};

pub(super) static HSETP2_BF16: Row = Row {
    mnemonic: "HSETP2.BF16_V2",
    summary: "HSETP2 of bfloat16",
    slots: &[PD, PE, A, BRAIN_SECOND, PS],
    mods: &[HALF_COMPARE, HALF_COMBINE],
    archs: Archs::HOPPER,
    forms: Form::B_AS_C,
    fixed: BRAIN_COMPARE,
    opcode: 0x234,
    ..HALF_ALU
};

pub(super) static HSET2: Row = Row {
    mnemonic: "HSET2",
    summary: "d = (two halves compared) combined with ps, each as 0xffff, or with `.BF` as 1.0, or as 0",
    slots: &[D, A, SECOND, PS],
    mods: &[ONES, HALF_COMPARE, FTZ, HALF_COMBINE],
    forms: Form::B_AS_C,
    opcode: 0x233,
    ..HALF_ALU
};

pub(super) static HSET2_BF16: Row = Row {
    mnemonic: "HSET2.BF16_V2",
    summary: "HSET2 of bfloat16",
    slots: &[D, A, BRAIN_SECOND, PS],
    mods: &[ONES, HALF_COMPARE, HALF_COMBINE],
    archs: Archs::HOPPER,
    forms: Form::B_AS_C,
    fixed: BRAIN_COMPARE,
    opcode: 0x233,
    ..HALF_ALU
};

pub(super) static HMNMX2: Row = Row {
    mnemonic: "HMNMX2",
    summary: "d = ps ? min(a, b) : max(a, b) on two halves; a NaN loses against a number, or wins (`.NAN`)",
    slots: &[D, A, B, PS],
    mods: &[FTZ, NAN, XORSIGN],
    archs: Archs::AMPERE_TO_HOPPER,
    forms: Form::B,
    opcode: 0x240,
    ..HALF_ALU
};

pub(super) static HMNMX2_BF16: Row = Row {
    mnemonic: "HMNMX2.BF16_V2",
    summary: "HMNMX2 of bfloat16",
    slots: &[D, A, BRAIN_B, PS],
    mods: &[NAN, XORSIGN],
    archs: Archs::AMPERE_TO_HOPPER,
    forms: Form::B,
    fixed: BRAIN,
    opcode: 0x240,
    ..HALF_ALU
};

/// The third operand of a minimum of three.
const THIRD: Slot = Slot::read("c", Kinds::R)
    .neg()
    .abs()
    .reuse(2)
    .halves(Halves::Any)
    .place(Place::Number(Bits::new(64, 8), Signs { half: Bits::new(76, 2), ..Signs::HALF_C }));

pub(super) static VHMNMX: Row = Row {
    mnemonic: "VHMNMX",
    summary: "d = ps ? min(a, b, c) : max(a, b, c) on two halves; a NaN loses against a number, or wins (`.NAN`)",
    slots: &[D, A, B, THIRD, PS],
    mods: &[FTZ, NAN, XORSIGN],
    archs: Archs::HOPPER,
    forms: Form::B,
    opcode: 0x247,
    latency: LatencyClass::Alu,
    ..HALF_ALU
};

pub(super) static VHMNMX_BF16: Row = Row {
    mnemonic: "VHMNMX.BF16_V2",
    summary: "VHMNMX of bfloat16",
    slots: &[D, A, BRAIN_B, THIRD, PS],
    mods: &[NAN, XORSIGN],
    archs: Archs::HOPPER,
    forms: Form::B,
    fixed: BRAIN,
    opcode: 0x247,
    latency: LatencyClass::Alu,
    ..HALF_ALU
};
