//! Half precision: binary16 and bfloat16, single and in pairs.
//!
//! The machine computes pairs. A single half is computed twice, by operands that read one half of a
//! register for both: the lower half, which holds single halves, or the upper half of a pair that
//! PTX takes apart. Likewise a pair of two equal halves costs nothing. Signs are free as in single
//! precision. For bfloat16 only negation is free, not the magnitude: NVIDIA's compiler never uses
//! bars there except in `.XORSIGN`.
//!
//! ```text
//! v3 = trunc.b16 (shr v1, 16)
//! v5 = fsub.f16 v4, v3                           =>   HADD2 %r5, %r4.H0_H0, -%r1.H1_H1
//! v6 = ffma.f16x2 (pack v4, v4), v1, 1.0:2.0     =>   HFMA2 %r6, %r4.H0_H0, %r1, 1, 2
//! v7 = fmax.f16x2.nan v6, 0                      =>   HFMA2.RELU %r7, …
//! v8, v9 = fcmp_pair.lt.f16x2 v1, v2             =>   HSETP2.LT.AND %p8, %p9, %r1, %r2, PT
//! ```

use ptxc_ir::{Approx, FloatCond, FloatMode, Inst as IrInst, InstData, Op as IrOp, Rounding, Type, Value};
use ptxc_machine::Feature;
use ptxc_sass::{Choices, HalfSelect, Inst, Op, Operand, choice, slot};

use super::compare::{Combine, float_condition};
use super::convert::with_integral;
use super::float::{with_ftz, with_round};
use super::integer::is_general;
use super::lower::Lower;
use super::source::Src;
use crate::mir::VReg;

/// The sign bits of a pair.
const SIGNS: u32 = 0x8000_8000;

/// A source with its signs: the magnitude is taken first, then the sign is inverted.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct HalfSrc {
    /// A pair of halves; a constant single half is repeated.
    src: Src,
    half: HalfSelect,
    abs: bool,
    neg: bool,
}

impl HalfSrc {
    fn negated(self) -> HalfSrc {
        match self.src {
            Src::Imm(bits) if bits != 0 => HalfSrc { src: Src::Imm(bits ^ SIGNS), ..self },
            _ => HalfSrc { neg: !self.neg, ..self },
        }
    }

    fn magnitude(self) -> HalfSrc {
        match self.src {
            Src::Imm(bits) => HalfSrc { src: Src::Imm(bits & !SIGNS), neg: false, ..self },
            _ => HalfSrc { abs: true, neg: false, ..self },
        }
    }
}

/// Whether a type is one of 16-bit floats.
pub(super) fn is_half(ty: Type) -> bool {
    ty.pair_format().is_some() || is_single(ty)
}

fn is_single(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::BF16)
}

/// Chooses the row for binary16 or for bfloat16.
fn row(ty: Type, half: Op, brain: Op) -> Inst<VReg> {
    Inst::new(if matches!(ty, Type::F16 | Type::F16x2) { half } else { brain })
}

impl Lower<'_> {
    /// The place of a single half: the word, and the half of it. A constant is repeated in both
    /// halves.
    pub(super) fn half_place(&self, value: Value) -> (Src, HalfSelect) {
        let value = self.resolve(value);
        if let Some(data) = self.def_data(value)
            && data.op == IrOp::Trunc
            && self.func.ty(data.args[0]) == Type::B32
            && let Some(shift) = self.def_data(self.resolve(data.args[0]))
            && shift.op == IrOp::Shr
            && shift.ty == Type::B32
            && self.src(shift.args[1]) == Src::Imm(16)
        {
            return match self.src(shift.args[0]) {
                Src::Imm(bits) => (pair_of(bits >> 16), HalfSelect::Low),
                src => (src, HalfSelect::High),
            };
        }
        match self.src(value) {
            Src::Imm(bits) => (pair_of(bits), HalfSelect::Low),
            src => (src, HalfSelect::Low),
        }
    }

    /// The source of a value of that type below its `fneg`s and `fabs`es.
    pub(super) fn half_src(&self, value: Value, ty: Type) -> HalfSrc {
        let has_bars = matches!(ty, Type::F16 | Type::F16x2);
        let (mut abs, mut neg) = (false, false);
        let mut value = self.resolve(value);
        while let Some(data) = self.def_data(value) {
            match data.op {
                // Below a magnitude signs no longer matter.
                IrOp::Fneg { ftz: false } if data.ty == ty => neg ^= !abs,
                IrOp::Fabs { ftz: false } if data.ty == ty && has_bars => abs = true,
                _ => break,
            }
            value = self.resolve(data.args[0]);
        }
        let (src, half) = self.half_words(value, ty);
        let plain = match src {
            // Negative zero is the sign of RZ.
            Src::Imm(SIGNS) => HalfSrc { src: Src::Imm(0), half, abs: false, neg: true },
            src => HalfSrc { src, half, abs: false, neg: false },
        };
        let plain = if abs { plain.magnitude() } else { plain };
        if neg { plain.negated() } else { plain }
    }

    /// The word of a single half, or of a pair, and the choice of its halves.
    fn half_words(&self, value: Value, ty: Type) -> (Src, HalfSelect) {
        if is_single(ty) {
            return self.half_place(value);
        }
        if let Some(data) = self.def_data(self.resolve(value))
            && data.op == IrOp::Pack
        {
            let (low, high) = (self.half_place(data.args[0]), self.half_place(data.args[1]));
            if low == high && low.0 != Src::Undef {
                return low;
            }
        }
        (self.src(value), HalfSelect::Both)
    }

    /// As an operand; the flag allows other forms than a general register.
    pub(super) fn half_operand(&mut self, half: HalfSrc, any: bool) -> Operand<VReg> {
        let operand = if any { self.any(half.src) } else { self.gpr(half.src) };
        if matches!(half.src, Src::Imm(bits) if bits != 0) {
            return operand;
        }
        let operand = if half.abs { operand.abs() } else { operand };
        let operand = if half.neg { operand.neg() } else { operand };
        operand.half(half.half)
    }

    fn half_pair(&mut self, a: HalfSrc, b: HalfSrc) -> [Operand<VReg>; 2] {
        let (a, b) = if a.src.claims_slot(b.src) { (b, a) } else { (a, b) };
        [self.half_operand(a, false), self.half_operand(b, true)]
    }

    /// A single half in either half of a general register, with its signs if it has any.
    fn one_half(&mut self, value: Value, ty: Type) -> Operand<VReg> {
        let source = self.half_src(value, ty);
        if ty == Type::F16 && !matches!(source.src, Src::Imm(_)) {
            return self.half_operand(source, false);
        }
        let (src, half) = self.half_place(value);
        self.gpr(src).half(half)
    }

    /// A single half in the lower half of a general register, for instructions that take nothing
    /// else; with its signs if it has any.
    fn low_half(&mut self, value: Value, ty: Type) -> Operand<VReg> {
        let source = self.half_src(value, ty);
        if source.half == HalfSelect::High || matches!(source.src, Src::Imm(_)) || ty == Type::BF16 {
            return self.gpr_value(value);
        }
        self.half_operand(source, false).half(HalfSelect::Both)
    }

    pub(super) fn lower_half_arithmetic(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let (IrOp::Fadd(mode) | IrOp::Fsub(mode) | IrOp::Fmul(mode) | IrOp::Ffma(mode)) = data.op else {
            return;
        };
        let brain = matches!(data.ty, Type::BF16 | Type::BF16x2);
        if mode.round != Rounding::Nearest || (brain && (mode.ftz || mode.sat)) {
            return self.unsupported(&data.op, format!("no instruction for its mode at type {}", data.ty));
        }
        let made = self.half_arithmetic(to, data, mode);
        self.emit(made);
    }

    fn half_arithmetic(&mut self, to: Operand<VReg>, data: &InstData, mode: FloatMode) -> Inst<VReg> {
        let ty = data.ty;
        let (x, y) = (self.half_src(data.args[0], ty), self.half_src(data.args[1], ty));
        let made = match data.op {
            IrOp::Fmul(_) => {
                let [a, b] = self.half_pair(x, y);
                row(ty, Op::HMUL2, Op::HMUL2_BF16).ops([to, a, b])
            }
            IrOp::Ffma(_) => {
                let z = self.half_src(data.args[2], ty);
                let (x, y) = if x.src.claims_slot(y.src) { (y, x) } else { (x, y) };
                let (a, b) = (self.half_operand(x, false), self.half_operand(y, true));
                let c = self.half_operand(z, is_general(b));
                row(ty, Op::HFMA2, Op::HFMA2_BF16).ops([to, a, b, c])
            }
            _ => {
                let y = if matches!(data.op, IrOp::Fsub(_)) { y.negated() } else { y };
                let [a, b] = self.half_pair(x, y);
                row(ty, Op::HADD2, Op::HADD2_BF16).ops([to, a, b])
            }
        };
        let made = with_ftz(made, mode.ftz);
        if mode.sat { made.with(choice!(HADD2 | HMUL2 | HFMA2, ".SAT")) } else { made }
    }

    pub(super) fn lower_bounded_multiply_add(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        if let Some(made) = self.bounded_multiply_add(to, data) {
            self.emit(made);
        }
    }

    /// `HFMA2.OOB`, if the architecture has it. Its operands keep their signs in the registers: the
    /// sign of the NaN that stands for an element outside of a tensor matters.
    fn bounded_multiply_add(&mut self, to: Operand<VReg>, data: &InstData) -> Option<Inst<VReg>> {
        if !self.arch.has(Feature::BoundedMultiplyAdds) {
            self.unsupported(&data.op, format!("{} has no such instruction", self.arch));
            return None;
        }
        let ty = data.ty;
        let [x, y, z] = [0, 1, 2].map(|n| {
            let (src, half) = self.half_words(data.args[n], ty);
            HalfSrc { src, half, abs: false, neg: false }
        });
        let (x, y) = if x.src.claims_slot(y.src) { (y, x) } else { (x, y) };
        let (a, b) = (self.half_operand(x, false), self.half_operand(y, true));
        let c = self.half_operand(z, is_general(b));
        Some(row(ty, Op::HFMA2, Op::HFMA2_BF16).with(choice!(HFMA2 | HFMA2_BF16, ".OOB")).ops([to, a, b, c]))
    }

    pub(super) fn lower_half_unary(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let ty = data.ty;
        let to = self.def(self.func.result(inst));
        match data.op {
            IrOp::Fneg { ftz: false } | IrOp::Fabs { ftz: false } => {
                let (mask, table) = match (data.op, is_single(ty)) {
                    (IrOp::Fneg { .. }, true) => (SIGNS & 0xffff, 0x3c),
                    (IrOp::Fneg { .. }, false) => (SIGNS, 0x3c),
                    (_, true) => (!SIGNS & 0xffff, 0xc0),
                    (_, false) => (!SIGNS, 0xc0),
                };
                let a = self.gpr_value(data.args[0]);
                let table = Operand::imm(table);
                self.emit(Inst::new(Op::LOP3).ops([to, a, Operand::imm(mask), Operand::rz(), table]));
            }
            IrOp::Fneg { ftz: true } | IrOp::Fabs { ftz: true } if matches!(ty, Type::F16 | Type::F16x2) => {
                let x = self.half_src(data.args[0], ty);
                let x = if matches!(data.op, IrOp::Fneg { .. }) { x.negated() } else { x.magnitude() };
                // Adding -0 changes nothing, and flushes.
                let a = self.half_operand(x, false);
                let zero = Operand::rz().neg().half(HalfSelect::Low);
                self.emit(Inst::new(Op::HADD2).with(choice!(HADD2, ".FTZ")).ops([to, a, zero]));
            }
            IrOp::Fmin { ftz, nan, xorsign } | IrOp::Fmax { ftz, nan, xorsign } => {
                self.half_extreme(to, data, [ftz, nan, xorsign]);
            }
            IrOp::Fapprox { function: function @ (Approx::Ex2 | Approx::Tanh), ftz } if is_single(ty) => {
                if ftz != (function == Approx::Ex2 && ty == Type::BF16) {
                    return self.unsupported(&data.op, "only exponentials of bf16 flush");
                }
                let mode = if function == Approx::Ex2 {
                    choice!(MUFU_HALF, ".EX2")
                } else {
                    choice!(MUFU_HALF, ".TANH")
                };
                let b = self.one_half(data.args[0], ty);
                let made = Inst::new(Op::MUFU_HALF).with(mode).with(format_choice(ty));
                self.emit(made.ops([to, b]));
            }
            _ => self.unsupported(&data.op, format!("no instruction for it at type {ty}")),
        }
    }

    fn half_extreme(&mut self, to: Operand<VReg>, data: &InstData, [ftz, nan, xorsign]: [bool; 3]) {
        let ty = data.ty;
        let brain = matches!(ty, Type::BF16 | Type::BF16x2);
        if brain && ftz {
            return self.unsupported(&data.op, "it does not flush");
        }
        let least = matches!(data.op, IrOp::Fmin { .. });
        let (x, y) = (self.half_src(data.args[0], ty), self.half_src(data.args[1], ty));
        let zero = HalfSrc { src: Src::Imm(0), half: y.half, abs: false, neg: false };
        // The greater of a sum and zero: part of the multiply-add.
        if let (false, true, false, false) = (least, nan, xorsign, ftz)
            && y == zero
            && let Some(sum) = self.foldable(data.args[0])
            && let IrOp::Ffma(mode @ FloatMode { sat: false, round: Rounding::Nearest, .. }) = sum.op
            && sum.ty == ty
            && !(brain && mode.ftz)
        {
            let made = self.half_arithmetic(to, sum, mode).with(choice!(HFMA2 | HFMA2_BF16, ".RELU"));
            return self.emit(made);
        }
        if let (false, true, false, false) = (least, nan, xorsign, ftz)
            && y == zero
            && let Some(sum) = self.foldable(data.args[0])
            && sum.op == IrOp::FfmaOob
            && sum.ty == ty
        {
            if let Some(made) = self.bounded_multiply_add(to, sum) {
                self.emit(made.with(choice!(HFMA2 | HFMA2_BF16, ".RELU")));
            }
            return;
        }
        let [a, b] = match xorsign {
            // The signs of the registers themselves count, and the bars make magnitudes of
            // them.
            true => [0, 1].map(|n| {
                let (src, half) = self.half_words(data.args[n], ty);
                self.gpr(src).abs().half(half)
            }),
            false => self.half_pair(x, y),
        };
        let ps = if least { Operand::pt() } else { Operand::pt().not() };
        let made = with_ftz(
            row(ty, Op::HMNMX2, Op::HMNMX2_BF16).ops([to, a, b]).slot(slot!(HMNMX2 | HMNMX2_BF16, "ps"), ps),
            ftz,
        );
        let made = if nan { made.with(choice!(HMNMX2 | HMNMX2_BF16, ".NAN")) } else { made };
        self.emit(if xorsign { made.with(choice!(HMNMX2 | HMNMX2_BF16, ".XORSIGN")) } else { made });
    }

    /// A comparison of halves into a predicate, or of pairs into two.
    pub(super) fn compare_halves(
        &mut self,
        to: [Operand<VReg>; 2],
        data: &InstData,
        cond: FloatCond,
        ftz: bool,
        combine: Combine,
    ) {
        let made = row(data.ty, Op::HSETP2, Op::HSETP2_BF16);
        let (made, [a, b]) = self.compared_halves(made, data, cond, ftz);
        let made = made.with(combine.mode).ops([to[0], a, b]);
        self.emit(
            made.slot(slot!(HSETP2 | HSETP2_BF16, "pe"), to[1])
                .slot(slot!(HSETP2 | HSETP2_BF16, "ps"), combine.ps),
        );
    }

    pub(super) fn lower_half_pair_comparison(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        match data.op {
            IrOp::FcmpPair { cond, ftz } => {
                let &[low, high] = self.func.results(inst) else { return };
                let to = [self.def(low), self.def(high)];
                self.compare_halves(to, data, cond, ftz, Combine::none());
            }
            IrOp::Fset { cond, ftz, ones } => {
                let to = self.def(self.func.result(inst));
                let made = row(data.ty, Op::HSET2, Op::HSET2_BF16);
                let (made, [a, b]) = self.compared_halves(made, data, cond, ftz);
                let made = made.with(Combine::none().mode).ops([to, a, b]);
                self.emit(if ones { made } else { made.with(choice!(HSET2 | HSET2_BF16, ".BF")) });
            }
            _ => {}
        }
    }

    /// The condition of a comparison and its operands.
    fn compared_halves(
        &mut self,
        made: Inst<VReg>,
        data: &InstData,
        cond: FloatCond,
        ftz: bool,
    ) -> (Inst<VReg>, [Operand<VReg>; 2]) {
        let (x, y) = (self.half_src(data.args[0], data.ty), self.half_src(data.args[1], data.ty));
        let swap = x.src.claims_slot(y.src);
        let (x, y, cond) = if swap { (y, x, cond.swap()) } else { (x, y, cond) };
        let operands = [self.half_operand(x, false), self.half_operand(y, true)];
        (with_ftz(made.with(float_condition(cond)), ftz), operands)
    }

    /// Conversions between halves and integers of a word or two, and to integral values.
    pub(super) fn lower_half_conversion(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let from = self.func.ty(data.args[0]);
        let signed = matches!(data.op, IrOp::SintToFloat(_) | IrOp::FloatToSint { .. });
        let made = match data.op {
            IrOp::SintToFloat(round) | IrOp::UintToFloat(round) => {
                let made = match from {
                    Type::B64 => {
                        let b = self.tuple(data.args[0]);
                        Inst::new(Op::I2F_HALF_64)
                            .with(if signed {
                                choice!(I2F_HALF_64, ".S64")
                            } else {
                                choice!(I2F_HALF_64, ".U64")
                            })
                            .ops([to, b])
                    }
                    _ => {
                        let b = self.value_for(Op::I2F_HALF, data.args[0]);
                        let made = Inst::new(Op::I2F_HALF).ops([to, b]);
                        if signed { made } else { made.with(choice!(I2F_HALF, ".U32")) }
                    }
                };
                with_round(made.with(format_choice(data.ty)), round)
            }
            IrOp::FloatToSint { round, .. } | IrOp::FloatToUint { round, .. } => {
                let made = match (data.ty, signed) {
                    (Type::B32, true) => Inst::new(Op::F2I_HALF).with(choice!(F2I_HALF, ".NTZ")),
                    (Type::B32, false) => Inst::new(Op::F2I_HALF).with(choice!(F2I_HALF, ".NTZ", ".U32")),
                    (Type::B64, true) => Inst::new(Op::F2I_HALF_64).with(choice!(F2I_HALF_64, ".S64")),
                    (Type::B64, false) => Inst::new(Op::F2I_HALF_64).with(choice!(F2I_HALF_64, ".U64")),
                    _ => return self.unsupported(&data.op, "it saturates at 32 bits, not at 16"),
                };
                let b = self.low_half(data.args[0], from);
                with_integral(made.with(format_choice(from)).ops([to, b]), round)
            }
            IrOp::RoundToIntegral { round, .. } => {
                let b = self.low_half(data.args[0], from);
                with_integral(Inst::new(Op::FRND_HALF).with(format_choice(from)).ops([to, b]), round)
            }
            _ => return,
        };
        self.emit(made);
    }

    /// The number in one half of a word in single precision, exactly. Subnormals of `f16` are
    /// normal there.
    pub(super) fn widen_half(&mut self, to: Operand<VReg>, data: &InstData, from: Type, mode: FloatMode) {
        let clamps = mode.sat || (mode.ftz && from == Type::BF16);
        let wide = if clamps { Operand::reg(self.temp()) } else { to };
        let (src, half) = self.half_place(data.args[0]);
        let made = match (from, half) {
            (Type::F16, _) => {
                let b = self.one_half(data.args[0], from);
                Inst::new(Op::HADD2_F32).ops([wide, Operand::rz().neg(), b])
            }
            // A `bf16` is the upper half of the number.
            (_, HalfSelect::High) => {
                let (a, mask) = (self.gpr(src), Operand::imm(0xffff_0000));
                Inst::new(Op::LOP3).ops([wide, a, mask, Operand::rz(), Operand::imm(0xc0)])
            }
            _ => {
                let b = self.gpr_value(data.args[0]);
                Inst::new(Op::SHF).with(choice!(SHF, ".L", ".U32")).ops([
                    wide,
                    b,
                    Operand::imm(16),
                    Operand::rz(),
                ])
            }
        };
        self.emit(made);
        if clamps {
            let made = with_ftz(Inst::new(Op::FADD).ops([to, wide, Operand::rz().neg()]), mode.ftz);
            self.emit(if mode.sat { made.with(choice!(FADD, ".SAT")) } else { made });
        }
    }

    /// One half in the other format.
    pub(super) fn convert_half(&mut self, to: Operand<VReg>, data: &InstData, from: Type, mode: FloatMode) {
        if mode.sat || mode.ftz {
            return self.unsupported(&data.op, "it neither clamps nor flushes");
        }
        let b = self.gpr_value(data.args[0]);
        self.emit(with_round(rounded_to_half(data.ty, from).ops([to, b]), mode.round));
    }

    /// Puts two halves side by side: bytes of one or two words.
    pub(super) fn pack_halves(&mut self, data: &InstData, to: VReg) {
        let to = Operand::reg(to);
        let places = [self.half_place(data.args[0]), self.half_place(data.args[1])];
        let bytes = |half, word: u32| match half {
            HalfSelect::High => 0x32 + 0x44 * word,
            _ => 0x10 + 0x44 * word,
        };
        let [(low, low_half), (high, high_half)] = places;
        if low == high {
            let a = self.gpr(low);
            let selector = Operand::imm(bytes(low_half, 0) | bytes(high_half, 0) << 8);
            return self.emit(Inst::new(Op::PRMT).ops([to, a, selector, Operand::rz()]));
        }
        let (a, c) = (self.gpr(low), self.gpr(high));
        let selector = Operand::imm(bytes(low_half, 0) | bytes(high_half, 1) << 8);
        self.emit(Inst::new(Op::PRMT).ops([to, a, selector, c]));
    }
}

/// A constant in both halves.
fn pair_of(bits: u32) -> Src {
    Src::Imm((bits & 0xffff) * 0x1_0001)
}

/// The format of halves.
pub(super) fn format_choice(ty: Type) -> Choices {
    macro_rules! half_format {
        ($text:literal) => {
            choice!(
                MUFU_HALF
                    | I2F_HALF
                    | I2F_HALF_64
                    | F2I_HALF
                    | F2I_HALF_64
                    | FRND_HALF
                    | F2F_WIDEN_HALF
                    | F2F_NARROW_HALF
                    | F2FP,
                $text
            )
        };
    }
    if matches!(ty, Type::BF16 | Type::BF16x2) { half_format!(".BF16") } else { half_format!(".F16") }
}

/// A conversion to a format of halves, from the other one or from single precision.
pub(super) fn rounded_to_half(to: Type, from: Type) -> Inst<VReg> {
    let to = match to {
        Type::BF16 => choice!(F2F_HALF, DataType = ".BF16"),
        _ => choice!(F2F_HALF, DataType = ".F16"),
    };
    let from = match from {
        Type::F32 => choice!(F2F_HALF, SourceType = ".F32"),
        Type::BF16 => choice!(F2F_HALF, SourceType = ".BF16"),
        _ => choice!(F2F_HALF, SourceType = ".F16"),
    };
    Inst::new(Op::F2F_HALF).with(to).with(from)
}
