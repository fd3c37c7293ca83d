//! Two halves in a register: binary16, and bfloat16 with `.BF16_V2`.
//!
//! An operand is a register with both of its halves, or one of them for both (`R1.H0_H0`, `R1.H1_H1`), which
//! is how single halves are computed; or two constants, the high one first. The rows of bfloat16 are their own,
//! since that is what their constants are.

use super::archs::Archs;
use super::float::{COMBINE, COMPARE};
use super::row::{
    Completion, Effects, Halves, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot,
};
use crate::arch::Arch;

/// What the rows of this family share.
const HALF: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Half,
    latency: LatencyClass::Half,
    completion: Completion::Fixed,
    min_stall: 1,
    effects: Effects::NONE,
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

/// What comparisons and minima share.
const HALF_ALU: Row = Row { pipe: Pipe::Alu, latency: LatencyClass::HalfAlu, ..HALF };

const ANY: Kinds = Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST);
const D: Slot = Slot::def("d", Kinds::R);
const A: Slot = Slot::read("a", Kinds::R).neg().abs().reuse(0).halves(Halves::Any);
const B: Slot = Slot::read("b", ANY).neg().abs().reuse(1).halves(Halves::Any).imm(ImmFormat::HalfPair);
const C: Slot = Slot::read("c", ANY).neg().abs().reuse(2).halves(Halves::Any).imm(ImmFormat::HalfPair);
const BRAIN_B: Slot = B.imm(ImmFormat::BrainPair);
const BRAIN_C: Slot = C.imm(ImmFormat::BrainPair);
const PD: Slot = Slot::def("pd", Kinds::P);
const PE: Slot = Slot::def("pe", Kinds::P).optional();
const PS: Slot = Slot::read("ps", Kinds::P).not().optional();
/// NVIDIA's compiler makes `HFMA2.MMA` for the data centre alone.
const TENSOR_HALVES: Archs = Archs::only(Arch::Sm80).or(Archs::since(Arch::Sm90));
/// `HFMA2.MMA` takes whole registers.
const MMA: Kinds = Kinds::R.or(Kinds::IMM);
const MMA_A: Slot = Slot::read("a", Kinds::R).neg().abs().reuse(0);
const MMA_B: Slot = Slot::read("b", MMA).neg().abs().reuse(1).imm(ImmFormat::HalfPair);
const MMA_C: Slot = Slot::read("c", MMA).neg().abs().reuse(2).imm(ImmFormat::HalfPair);

const FTZ: Modifier = Modifier::new(ModKind::Ftz, &["", ".FTZ"]);
const SAT: Modifier = Modifier::new(ModKind::Sat, &["", ".SAT"]);
const SAT_OR_RELU: Modifier =
    Modifier::new(ModKind::Sat, &["", ".SAT", ".RELU"]).limited(&[(".RELU", Archs::since(Arch::Sm80))]);
const NAN: Modifier = Modifier::new(ModKind::Mode, &["", ".NAN"]);
const XORSIGN: Modifier =
    Modifier::new(ModKind::Sign, &["", ".XORSIGN"]).limited(&[(".XORSIGN", Archs::since(Arch::Sm86))]);
const ONES: Modifier = Modifier::new(ModKind::Mode, &["", ".BF"]);

pub(super) static HADD2: Row = Row {
    mnemonic: "HADD2",
    summary: "d = a + b on two halves, rounded",
    slots: &[D, A, B],
    mods: &[FTZ, SAT],
    opcode: 0x230,
    ..HALF
};

pub(super) static HADD2_BF16: Row = Row {
    mnemonic: "HADD2.BF16_V2",
    summary: "d = a + b on two bfloat16, rounded",
    slots: &[D, A, BRAIN_B],
    mods: &[],
    archs: Archs::since(Arch::Sm90),
    opcode: 0x230,
    ..HALF
};

pub(super) static HADD2_F32: Row = Row {
    mnemonic: "HADD2.F32",
    summary: "d = a plus one half of b, in single precision; with a = -RZ it widens",
    slots: &[
        D,
        Slot::read("a", Kinds::R).neg().reuse(0),
        Slot::read("b", Kinds::R).neg().abs().reuse(1).halves(Halves::One),
    ],
    opcode: 0x230,
    ..HALF
};

pub(super) static HMUL2: Row = Row {
    mnemonic: "HMUL2",
    summary: "d = a * b on two halves, rounded",
    slots: &[D, A, B],
    mods: &[FTZ, SAT],
    opcode: 0x232,
    ..HALF
};

pub(super) static HMUL2_BF16: Row = Row {
    mnemonic: "HMUL2.BF16_V2",
    summary: "d = a * b on two bfloat16, rounded",
    slots: &[D, A, BRAIN_B],
    mods: &[],
    archs: Archs::since(Arch::Sm90),
    opcode: 0x232,
    ..HALF
};

pub(super) static HFMA2: Row = Row {
    mnemonic: "HFMA2",
    summary: "d = a * b + c on two halves, rounded once; `.RELU` makes what is negative zero",
    slots: &[D, A, B, C],
    mods: &[FTZ, SAT_OR_RELU],
    opcode: 0x231,
    ..HALF
};

pub(super) static HFMA2_BF16: Row = Row {
    mnemonic: "HFMA2.BF16_V2",
    summary: "d = a * b + c on two bfloat16, rounded once; `.RELU` makes what is negative zero",
    slots: &[D, A, BRAIN_B, BRAIN_C],
    mods: &[Modifier::new(ModKind::Sat, &["", ".RELU"])],
    archs: Archs::since(Arch::Sm80),
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
    opcode: 0x235,
    ..HALF
};

pub(super) static HFMA2_MMA_BF16: Row = Row {
    mnemonic: "HFMA2.MMA.BF16_V2",
    summary: "d = a * b + c on two bfloat16, rounded once",
    slots: &[D, MMA_A, MMA_B.imm(ImmFormat::BrainPair), MMA_C.imm(ImmFormat::BrainPair)],
    mods: &[Modifier::new(ModKind::Sat, &["", ".RELU"])],
    latency: LatencyClass::HalfMma,
    archs: Archs::since(Arch::Sm90),
    opcode: 0x235,
    ..HALF
};

pub(super) static HSETP2: Row = Row {
    mnemonic: "HSETP2",
    summary: "pd = (low halves compared) combined with ps; pe = (high halves compared) combined likewise",
    slots: &[PD, PE, A, B, PS],
    mods: &[COMPARE, FTZ, COMBINE],
    opcode: 0x234,
    ..HALF_ALU
};

pub(super) static HSETP2_BF16: Row = Row {
    mnemonic: "HSETP2.BF16_V2",
    summary: "HSETP2 of bfloat16",
    slots: &[PD, PE, A, BRAIN_B, PS],
    mods: &[COMPARE, COMBINE],
    archs: Archs::since(Arch::Sm90),
    opcode: 0x234,
    ..HALF_ALU
};

pub(super) static HSET2: Row = Row {
    mnemonic: "HSET2",
    summary: "d = (two halves compared) combined with ps, each as 0xffff, or with `.BF` as 1.0, or as 0",
    slots: &[D, A, B, PS],
    mods: &[ONES, COMPARE, FTZ, COMBINE],
    opcode: 0x233,
    ..HALF_ALU
};

pub(super) static HSET2_BF16: Row = Row {
    mnemonic: "HSET2.BF16_V2",
    summary: "HSET2 of bfloat16",
    slots: &[D, A, BRAIN_B, PS],
    mods: &[ONES, COMPARE, COMBINE],
    archs: Archs::since(Arch::Sm90),
    opcode: 0x233,
    ..HALF_ALU
};

pub(super) static HMNMX2: Row = Row {
    mnemonic: "HMNMX2",
    summary: "d = ps ? min(a, b) : max(a, b) on two halves; a NaN loses against a number, or wins (`.NAN`)",
    slots: &[D, A, B, PS],
    mods: &[FTZ, NAN, XORSIGN],
    archs: Archs::since(Arch::Sm80),
    opcode: 0x240,
    ..HALF_ALU
};

pub(super) static HMNMX2_BF16: Row = Row {
    mnemonic: "HMNMX2.BF16_V2",
    summary: "HMNMX2 of bfloat16",
    slots: &[D, A, BRAIN_B, PS],
    mods: &[NAN, XORSIGN],
    archs: Archs::since(Arch::Sm80),
    opcode: 0x240,
    ..HALF_ALU
};
