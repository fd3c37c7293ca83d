//! Double precision: arithmetic, comparison, extremes, conversions.
//!
//! A double is a pair of registers. As an operand, a constant whose low word is zero is an
//! immediate of its high word; other constants and parameters are uniform pairs. Signs and
//! magnitudes are free if the row has them.
//!
//! ```text
//! v4 = fsub.f64 v1, 1.0          =>   DADD %r4, %r1, -1
//! v5 = ffma.f64 v1, v2, 0.1      =>   DFMA %r5, %r1, %r2, %ur7        // UMOV each half of %ur7
//! v6 = fmin.f64 v1, v2           =>   DSETP.MIN.AND %p8, %p9, %r1, %r2, PT
//!                                     SEL %r6, %r1, %r2, %p8
//!                                     SEL %r10, %r1.1, %r2.1, %p8
//!                                     @%p9 LOP3.LUT %r6.1, %r2.1, 0x80000, RZ, 0xfc, !PT tied(%r10)
//! ```
//!
//! `DSETP.MIN` tells by its first predicate whether the first operand is the result, and by its
//! second whether both are NaNs; then the result is the second one, made quiet.

use ptxc_ir::{Approx, FloatCond, FloatMode, Inst as IrInst, InstData, Op as IrOp, Type, Value};
use ptxc_sass::{Inst, Op, Operand, RegFile, choice, slot, slot_name};

use super::compare::{Combine, float_condition};
use super::convert::with_integral;
use super::float::{with_ftz, with_round};
use super::half::format_choice;
use super::lower::Lower;
use super::pool::{BankPlace, Pooled};
use super::source::Src;
use crate::mir::{MInst, VReg};

/// The sign of a double.
const SIGN: u64 = 1 << 63;

/// A source with its signs: the magnitude is taken first, then the sign is inverted.
#[derive(Clone, Copy)]
struct DoubleSrc {
    kind: Kind,
    abs: bool,
    neg: bool,
}

/// The kind of a source, without its signs.
#[derive(Clone, Copy)]
enum Kind {
    /// A constant, with its signs applied.
    Const(u64),
    /// Two words of a constant bank.
    Bank(BankPlace),
    /// A value in a pair of registers.
    Pair(Value),
}

impl DoubleSrc {
    fn negated(self) -> DoubleSrc {
        match self.kind {
            Kind::Const(bits) => DoubleSrc { kind: Kind::Const(bits ^ SIGN), ..self },
            _ => DoubleSrc { neg: !self.neg, ..self },
        }
    }

    fn magnitude(self) -> DoubleSrc {
        match self.kind {
            Kind::Const(bits) => DoubleSrc { kind: Kind::Const(bits & !SIGN), ..self },
            _ => DoubleSrc { abs: true, neg: false, ..self },
        }
    }

    /// Whether it fits a slot other than as a pair of general registers.
    fn is_special(self) -> bool {
        match self.kind {
            Kind::Const(bits) => bits & !SIGN != 0,
            Kind::Bank(_) => true,
            Kind::Pair(_) => false,
        }
    }
}

impl Lower<'_> {
    /// The source of a double below its `fneg`s and `fabs`es.
    fn double_src(&self, value: Value) -> DoubleSrc {
        let (mut abs, mut neg) = (false, false);
        let mut value = self.resolve(value);
        while let Some(data) = self.def_data(value) {
            match data.op {
                // Below a magnitude signs no longer matter.
                IrOp::Fneg { .. } if data.ty == Type::F64 => neg ^= !abs,
                IrOp::Fabs { .. } if data.ty == Type::F64 => abs = true,
                _ => break,
            }
            value = self.resolve(data.args[0]);
        }
        let kind = match self.def_data(value).map(|data| data.op) {
            Some(IrOp::Undef) => Kind::Const(0),
            Some(IrOp::Const(bits)) => {
                let bits = if abs { bits & !SIGN } else { bits };
                let bits = if neg { bits ^ SIGN } else { bits };
                return DoubleSrc { kind: Kind::Const(bits), abs: false, neg: false };
            }
            _ => self.bank_place(value).map_or(Kind::Pair(value), Kind::Bank),
        };
        DoubleSrc { kind, abs, neg }
    }

    /// As an operand; the flag allows other forms than a pair of general registers.
    fn double_operand(&mut self, double: DoubleSrc, any: bool) -> Operand<VReg> {
        let operand = match double.kind {
            Kind::Const(0) => Operand::rz(),
            Kind::Const(SIGN) => Operand::rz().neg(),
            Kind::Const(bits) if any && bits as u32 == 0 => Operand::imm((bits >> 32) as u32),
            Kind::Const(bits) if any => Operand::reg(self.pooled(Pooled::UniformLong(bits))),
            Kind::Const(bits) => Operand::reg(self.pooled(Pooled::Long(bits))),
            Kind::Bank(at) if any => Operand::reg(self.pooled(Pooled::UniformBank { at, width: 2 })),
            Kind::Bank(at) => Operand::reg(self.pooled(Pooled::Bank { at, width: 2 })),
            Kind::Pair(value) => Operand::reg(self.reg_of(value)),
        };
        let operand = if double.abs { operand.abs() } else { operand };
        if double.neg { operand.neg() } else { operand }
    }

    /// Two operands of a commutative operation.
    fn double_pair(&mut self, a: DoubleSrc, b: DoubleSrc) -> (Operand<VReg>, Operand<VReg>) {
        let (a, b) = if a.is_special() && !b.is_special() { (b, a) } else { (a, b) };
        (self.double_operand(a, false), self.double_operand(b, true))
    }

    pub(super) fn lower_double_arithmetic(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let (x, y) = (self.double_src(data.args[0]), self.double_src(data.args[1]));
        let (made, mode) = match data.op {
            IrOp::Fadd(mode) => {
                let (a, c) = self.double_pair(x, y);
                (Inst::new(Op::DADD).ops([to, a, c]), mode)
            }
            IrOp::Fsub(mode) => {
                let (a, c) = self.double_pair(x, y.negated());
                (Inst::new(Op::DADD).ops([to, a, c]), mode)
            }
            IrOp::Fmul(mode) => {
                let (a, b) = self.double_pair(x, y);
                (Inst::new(Op::DMUL).ops([to, a, b]), mode)
            }
            IrOp::Ffma(mode) => {
                let z = self.double_src(data.args[2]);
                let (x, y) = if x.is_special() && !y.is_special() { (y, x) } else { (x, y) };
                let a = self.double_factor(x, false);
                let b = self.double_factor(y, !z.is_special() || y.is_special());
                let c = self.double_factor(z, !y.is_special());
                (Inst::new(Op::DFMA).ops([to, a, b, c]), mode)
            }
            _ => return,
        };
        if mode.sat {
            return self.unsupported(&data.op, "double precision does not saturate");
        }
        self.emit(with_round(made, mode.round));
    }

    /// An operand of `DFMA`, which negates but has no bars.
    fn double_factor(&mut self, double: DoubleSrc, any: bool) -> Operand<VReg> {
        if !double.abs {
            return self.double_operand(double, any);
        }
        let magnitude = Operand::reg(self.mir.new_vreg(RegFile::Gpr, 2));
        let c = self.double_operand(double, true);
        self.emit(Inst::new(Op::DADD).ops([magnitude, Operand::rz().neg(), c]));
        magnitude
    }

    pub(super) fn lower_double_unary(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let result = self.func.result(inst);
        let Some(to) = self.def(result).as_reg() else { return };
        let x = self.double_src(data.args[0]);
        match data.op {
            IrOp::Fneg { .. } | IrOp::Fabs { .. } => {
                let x = if matches!(data.op, IrOp::Fabs { .. }) { x.magnitude() } else { x.negated() };
                // Adding -0 changes nothing.
                let c = self.double_operand(x, true);
                self.emit(Inst::new(Op::DADD).ops([Operand::reg(to), Operand::rz().neg(), c]));
            }
            IrOp::Fmin { .. } | IrOp::Fmax { .. } => self.double_extreme(to, data),
            IrOp::Fapprox { function: function @ (Approx::Rcp | Approx::Rsq), ftz: true } => {
                let mode =
                    if function == Approx::Rcp { choice!(MUFU, ".RCP64H") } else { choice!(MUFU, ".RSQ64H") };
                let high = self.half(data.args[0], 1);
                let b = self.any(high);
                self.emit(Inst::new(Op::MUFU).with(mode).ops([Operand::reg(to.offset(1)), b]));
                self.copy_to(to, Src::Imm(0));
            }
            IrOp::RoundToIntegral { round, .. } => {
                let b = self.double_operand(x, false);
                let made = Inst::new(Op::FRND_F64).ops([Operand::reg(to), b]);
                self.emit(with_integral(made, round));
            }
            ref other => self.unsupported(other, "no instruction for it at type f64"),
        }
    }

    fn double_extreme(&mut self, to: VReg, data: &InstData) {
        let [a, b] = [data.args[0], data.args[1]];
        let mode = if matches!(data.op, IrOp::Fmin { .. }) {
            choice!(DSETP, ".MIN")
        } else {
            choice!(DSETP, ".MAX")
        };
        let first = Operand::reg(self.mir.new_vreg(RegFile::Pred, 1));
        let undefined = self.mir.new_vreg(RegFile::Pred, 1);
        let high = self.temp();
        // Both words of an operand are selected as integers, so signs must have been applied.
        let [x, y] = [a, b].map(|value| DoubleSrc { abs: false, neg: false, ..self.unsigned_src(value) });
        let compared = [self.double_operand(x, false), self.double_operand(y, true)];
        self.emit(
            Inst::new(Op::DSETP)
                .ops([first, compared[0], compared[1]])
                .with(mode)
                .with(choice!(DSETP, ".AND"))
                .slot(slot!(DSETP, "pe"), Operand::reg(undefined)),
        );
        let words = |lower: &Self, n| (lower.half(a, n), lower.half(b, n));
        for (n, to) in [(0, to), (1, high)] {
            let (yes, no) = words(self, n);
            self.select_word(to, first, yes, no);
        }
        let (_, no) = words(self, 1);
        let quiet = {
            let no = self.gpr(no);
            let ops =
                [Operand::reg(to.offset(1)), no, Operand::imm(0x8_0000), Operand::rz(), Operand::imm(0xfc)];
            Inst::new(Op::LOP3).ops(ops).guarded(undefined, false)
        };
        let slot = quiet.slot_index(slot_name!("d")).unwrap_or(0) as u8;
        let mut made = MInst::new(quiet, self.loc);
        made.tied.push((slot, high));
        self.seq.push(made);
    }

    /// A source that keeps `fneg` and `fabs` as values of their own.
    fn unsigned_src(&self, value: Value) -> DoubleSrc {
        let value = self.resolve(value);
        match self.def_data(value).map(|data| data.op) {
            Some(IrOp::Fneg { .. } | IrOp::Fabs { .. }) => {
                DoubleSrc { kind: Kind::Pair(value), abs: false, neg: false }
            }
            _ => self.double_src(value),
        }
    }

    pub(super) fn compare_doubles(
        &mut self,
        to: Operand<VReg>,
        data: &InstData,
        cond: FloatCond,
        combine: Combine,
    ) {
        let (x, y) = (self.double_src(data.args[0]), self.double_src(data.args[1]));
        let swap = x.is_special() && !y.is_special();
        let (x, y, cond) = if swap { (y, x, cond.swap()) } else { (x, y, cond) };
        let (a, b) = (self.double_operand(x, false), self.double_operand(y, true));
        self.emit(
            Inst::new(Op::DSETP)
                .ops([to, a, b])
                .with(float_condition(cond))
                .with(combine.mode)
                .slot(slot!(DSETP, "ps"), combine.ps),
        );
    }

    /// Conversions from or to doubles.
    pub(super) fn lower_double_conversion(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let from = self.func.ty(data.args[0]);
        match data.op {
            IrOp::SintToFloat(round) | IrOp::UintToFloat(round) => {
                let signed = matches!(data.op, IrOp::SintToFloat(_));
                match from {
                    Type::B32 => {
                        let b = self.value_for(Op::I2F_F64, data.args[0]);
                        let made = Inst::new(Op::I2F_F64).ops([to, b]);
                        self.emit(if signed { made } else { made.with(choice!(I2F_F64, ".U32")) });
                    }
                    Type::B64 => {
                        let b = self.tuple(data.args[0]);
                        let made = Inst::new(Op::I2F_F64_64).with(if signed {
                            choice!(I2F_F64_64, ".S64")
                        } else {
                            choice!(I2F_F64_64, ".U64")
                        });
                        self.emit(with_round(made.ops([to, b]), round));
                    }
                    _ => self.unsupported(&data.op, format!("from {from} to f64")),
                }
            }
            IrOp::FloatToSint { round, .. } | IrOp::FloatToUint { round, .. } => {
                let signed = matches!(data.op, IrOp::FloatToSint { .. });
                let x = self.double_src(data.args[0]);
                let b = self.double_operand(x, false);
                let made = match (data.ty, signed) {
                    (Type::B32, true) => Inst::new(Op::F2I_F64),
                    (Type::B32, false) => Inst::new(Op::F2I_F64).with(choice!(F2I_F64, ".U32")),
                    (Type::B64, true) => Inst::new(Op::F2I_F64_64).with(choice!(F2I_F64_64, ".S64")),
                    (Type::B64, false) => Inst::new(Op::F2I_F64_64).with(choice!(F2I_F64_64, ".U64")),
                    _ => return self.unsupported(&data.op, format!("from f64 to {}", data.ty)),
                };
                self.emit(with_integral(made.ops([to, b]), round));
            }
            IrOp::FloatToFloat(mode) if data.ty == Type::F64 => self.widen(to, data, from, mode),
            IrOp::FloatToFloat(mode) => self.narrow(to, data, mode),
            _ => {}
        }
    }

    /// To double precision, exactly. Clamping and flushing come first, in single precision.
    fn widen(&mut self, to: Operand<VReg>, data: &InstData, from: Type, mode: FloatMode) {
        let changes = mode.sat || mode.ftz;
        match from {
            Type::F32 => {
                let x = self.float_src(data.args[0]);
                let b = if changes {
                    let changed = Operand::reg(self.temp());
                    let a = self.float_operand(x, Op::FADD, slot_name!("a"), false);
                    let made = with_ftz(Inst::new(Op::FADD).ops([changed, a, Operand::rz().neg()]), mode.ftz);
                    self.emit(if mode.sat { made.with(choice!(FADD, ".SAT")) } else { made });
                    changed
                } else {
                    self.float_operand(x, Op::F2F_WIDEN, slot_name!("b"), true)
                };
                self.emit(Inst::new(Op::F2F_WIDEN).ops([to, b]));
            }
            Type::F16 | Type::BF16 if changes => {
                let wide = Operand::reg(self.temp());
                self.widen_half(wide, data, from, mode);
                self.emit(Inst::new(Op::F2F_WIDEN).ops([to, wide]));
            }
            Type::F16 | Type::BF16 => {
                let b = self.gpr_value(data.args[0]);
                self.emit(Inst::new(Op::F2F_WIDEN_HALF).with(format_choice(from)).ops([to, b]));
            }
            _ => self.unsupported(&data.op, format!("from {from} to f64")),
        }
    }

    fn narrow(&mut self, to: Operand<VReg>, data: &InstData, mode: FloatMode) {
        let made = match data.ty {
            Type::F32 => Inst::new(Op::F2F_NARROW),
            Type::F16 | Type::BF16 if !mode.sat => {
                Inst::new(Op::F2F_NARROW_HALF).with(format_choice(data.ty))
            }
            ty => return self.unsupported(&data.op, format!("from f64 to {ty}")),
        };
        let x = self.double_src(data.args[0]);
        let b = self.double_operand(x, false);
        let clamps = data.ty == Type::F32 && (mode.ftz || mode.sat);
        let rounded = if clamps { Operand::reg(self.temp()) } else { to };
        self.emit(with_round(made.ops([rounded, b]), mode.round));
        if clamps {
            let made = Inst::new(Op::FADD).ops([to, rounded, Operand::rz().neg()]);
            let made = with_ftz(made, mode.ftz);
            self.emit(if mode.sat { made.with(choice!(FADD, ".SAT")) } else { made });
        }
    }
}
