//! Integer arithmetic of at most 32 bits.
//!
//! Sums are collected before instructions are chosen: `a - (b + 3)` is the terms `a`, `-b` and the
//! constant `-3`. A term that is a product becomes `IMAD`, one that is shifted left `LEA`, each of
//! which adds for free; up to three plain terms become one `IADD3`; the select of two neighbouring
//! constants becomes the carry of `IADD3.X`.
//!
//! ```text
//! v5 = imul v1, v2;  v6 = iadd v5, v3            =>   IMAD %r6, %r1, %r2, %r3
//! v5 = shl v1, 2;    v6 = iadd v5, &shared       =>   LEA %r6, %r1, %ur0, 0x2
//! v5 = iadd v1, v2;  v6 = isub v5, v3            =>   IADD3 %r6, %r1, %r2, -%r3
//! v5 = select p, 1, 0; v6 = iadd v1, v5          =>   IADD3.X %r6, %r1, RZ, RZ, %p, !PT
//! ```

use ptxc_ir::{BytePick, Funnel, Inst as IrInst, InstData, Op as IrOp, Type, Value};
use ptxc_sass::{Inst, Op, Operand, choice};
use smallvec::SmallVec;

use super::lower::Lower;
use super::source::Src;
use crate::mir::VReg;

/// The most terms that are collected: as many as one instruction adds.
const MAX_PLAIN: usize = 3;
/// The most terms that one instruction negates: one of the first two operands, and the third.
const MAX_NEGATED: usize = 2;

/// A sum, taken apart.
#[derive(Default)]
struct Sum {
    /// Terms, each negated or not; constants only once `offset` is complete.
    plain: Vec<(Term, bool)>,
    /// Terms that are products.
    products: SmallVec<[Product; 2]>,
    /// A predicate: 1 is added if it holds, or, with the flag, if it does not.
    carry: Option<(Value, bool)>,
    /// The sum of the constants.
    offset: u32,
}

/// A plain term.
#[derive(Clone, Copy)]
enum Term {
    /// A source that is not an operand yet.
    Source(Src),
    /// A partial sum.
    Done(Operand<VReg>),
}

/// A term `x * y`, `-(x * y)` or `x << shift`.
#[derive(Clone, Copy)]
struct Product {
    x: Src,
    y: Src,
    shift: bool,
    neg: bool,
}

impl Lower<'_> {
    pub(super) fn lower_sum(&mut self, inst: IrInst) {
        let sum = self.collect_sum(inst);
        let to = self.def(self.func.result(inst));
        self.emit_sum(to, sum);
    }

    fn collect_sum(&self, inst: IrInst) -> Sum {
        let mut sum = Sum::default();
        // The terms that are still to be examined; at first the operation itself, split.
        let mut open: SmallVec<[(Value, bool); 4]> = SmallVec::new();
        split(&self.func.insts[inst].op, &self.func.insts[inst].args, false, &mut open);
        let mut has_product = open.iter().any(|&(value, _)| self.is_product(value));
        while let Some((value, neg)) = open.pop() {
            if let Src::Imm(bits) = self.src(value) {
                sum.offset = if neg { sum.offset.wrapping_sub(bits) } else { sum.offset.wrapping_add(bits) };
                continue;
            }
            let taken = sum.plain.len() + open.len() + usize::from(sum.offset != 0);
            let below = self.foldable(value).filter(|data| data.ty.bits() <= 32);
            let folded = below.is_some_and(|data| match data.op {
                IrOp::Iadd | IrOp::Isub => {
                    // A second product stays in an instruction of its own, near its operands.
                    let product = data.args.iter().any(|&arg| self.is_product(arg));
                    let opens = taken + 2 <= MAX_PLAIN && !(product && has_product);
                    if opens {
                        has_product |= product;
                        split(&data.op, &data.args, neg, &mut open);
                    }
                    opens
                }
                IrOp::Ineg => {
                    split(&data.op, &data.args, neg, &mut open);
                    true
                }
                IrOp::Imul | IrOp::Shl if self.is_product(value) => {
                    let (x, y) = (self.src(data.args[0]), self.src(data.args[1]));
                    sum.products.push(Product { x, y, shift: data.op == IrOp::Shl, neg });
                    true
                }
                IrOp::Select => self.collect_select(&data.args, neg, &mut sum),
                _ => false,
            });
            if !folded {
                sum.plain.push((Term::Source(self.src(value)), neg));
            }
        }
        // The terms came from the last to the first.
        sum.plain.reverse();
        sum
    }

    /// Whether a term is a product, or a shift by a constant, that nothing else uses.
    fn is_product(&self, value: Value) -> bool {
        self.foldable(value).is_some_and(|data| match data.op {
            IrOp::Imul => data.ty.bits() <= 32,
            IrOp::Shl => data.ty.bits() <= 32 && matches!(self.src(data.args[1]), Src::Imm(1..=31)),
            _ => false,
        })
    }

    /// Takes a select of two neighbouring constants as a carry: the lesser one is always added, and
    /// 1 more if the predicate says so.
    fn collect_select(&self, args: &[Value], neg: bool, sum: &mut Sum) -> bool {
        let (Src::Imm(yes), Src::Imm(no)) = (self.src(args[1]), self.src(args[2])) else { return false };
        let (yes, no) = if neg { (yes.wrapping_neg(), no.wrapping_neg()) } else { (yes, no) };
        let negated = no == yes.wrapping_add(1);
        if sum.carry.is_some() || !(negated || yes == no.wrapping_add(1)) {
            return false;
        }
        sum.offset = sum.offset.wrapping_add(if negated { yes } else { no });
        sum.carry = Some((args[0], negated));
        true
    }

    fn emit_sum(&mut self, to: Operand<VReg>, mut sum: Sum) {
        let products = std::mem::take(&mut sum.products);
        if sum.offset != 0 {
            sum.plain.push((Term::Source(Src::Imm(sum.offset)), false));
        }
        let mut addend = match sum.plain[..] {
            [] if !products.is_empty() && sum.carry.is_none() => Operand::rz(),
            [(Term::Source(src), neg)] if !products.is_empty() && sum.carry.is_none() => {
                // A constant factor has no other place; an addend may be loaded into a general
                // register.
                let factor = products.last().is_some_and(|p| !p.shift && matches!(p.y, Src::Imm(_)));
                match neg {
                    true => self.gpr(src).neg(),
                    false if factor => self.gpr(src),
                    false => self.any(src),
                }
            }
            _ => {
                let target = if products.is_empty() { to } else { Operand::reg(self.temp()) };
                self.emit_plain_sum(target, sum);
                target
            }
        };
        // The terms came from the last to the first.
        for (number, &product) in products.iter().rev().enumerate() {
            let target = if number + 1 == products.len() { to } else { Operand::reg(self.temp()) };
            self.emit_product(target, product, addend);
            addend = target;
        }
    }

    /// `to` = the plain terms and the carry.
    fn emit_plain_sum(&mut self, to: Operand<VReg>, mut sum: Sum) {
        // `IADD3.X` complements an operand where `IADD3` would negate it.
        let most_negated = if sum.carry.is_some() { 0 } else { MAX_NEGATED };
        let negated = |terms: &[(Term, bool)]| terms.iter().filter(|&&(_, neg)| neg).count();
        while sum.plain.len() > MAX_PLAIN || negated(&sum.plain) > most_negated {
            let terms = std::mem::take(&mut sum.plain).into_iter();
            let (mut taken, mut others): (Vec<_>, Vec<_>) = terms.partition(|&(_, neg)| neg);
            sum.plain = taken.split_off(taken.len().min(MAX_NEGATED));
            let rest = others.split_off(others.len().min(MAX_PLAIN - taken.len()));
            taken.extend(others);
            sum.plain.extend(rest);
            let partial = Operand::reg(self.temp());
            let [a, b, c] = self.three(&taken);
            self.emit(Inst::new(Op::IADD3).ops([partial, a, b, c]));
            sum.plain.push((Term::Done(partial), false));
        }
        let [a, b, c] = self.three(&sum.plain);
        match sum.carry {
            None => self.emit(Inst::new(Op::IADD3).ops([to, a, b, c])),
            Some((predicate, negated)) => {
                let ps = self.pred(predicate);
                let ps = if negated { ps.not() } else { ps };
                self.emit(Inst::new(Op::IADD3_X).ops([to, a, b, c, ps]));
            }
        }
    }

    /// Up to three terms as the operands a, b, c of `IADD3`, at most two of them negated; b takes the
    /// one that is not a general register.
    fn three(&mut self, terms: &[(Term, bool)]) -> [Operand<VReg>; 3] {
        let mut special = None;
        for (index, &(term, _)) in terms.iter().enumerate() {
            let Term::Source(src) = term else { continue };
            if src.claims_slot(special.map_or(Src::Undef, |(_, best)| best)) {
                special = Some((index, src));
            }
        }
        let special = special.map(|(index, _)| index);
        let mut general: SmallVec<[Operand<VReg>; 3]> = SmallVec::new();
        let mut middle = None;
        for (index, &(term, neg)) in terms.iter().enumerate() {
            let operand = match term {
                Term::Done(operand) => operand,
                Term::Source(src) if Some(index) == special => self.any(src),
                Term::Source(src) => self.gpr(src),
            };
            let operand = if neg { operand.neg() } else { operand };
            if Some(index) == special { middle = Some(operand) } else { general.push(operand) }
        }
        let mut general = general.into_iter();
        let a = general.next().unwrap_or(Operand::rz());
        let b = middle.or_else(|| general.next()).unwrap_or(Operand::rz());
        with_legal_signs([a, b, general.next().unwrap_or(Operand::rz())])
    }

    /// `to` = the product plus an addend that is in its final form.
    fn emit_product(&mut self, to: Operand<VReg>, product: Product, addend: Operand<VReg>) {
        let Product { mut x, mut y, shift, neg } = product;
        let addend_general = is_general(addend);
        if shift {
            let Src::Imm(count) = y else { return };
            // LEA does not negate its addend.
            if addend.flags.neg {
                y = Src::Imm(1 << count);
            } else {
                let a = self.gpr(x);
                let a = if neg { a.neg() } else { a };
                return self.emit(Inst::new(Op::LEA).ops([to, a, addend, Operand::imm(count)]));
            }
        }
        if x.claims_slot(y) {
            std::mem::swap(&mut x, &mut y);
        }
        let y = match y {
            Src::Imm(bits) if neg => Src::Imm(bits.wrapping_neg()),
            other => other,
        };
        let mut a = self.gpr(x);
        if neg && !matches!(y, Src::Imm(_)) {
            let negated = Operand::reg(self.temp());
            self.emit(Inst::new(Op::IADD3).ops([negated, a.neg(), Operand::rz(), Operand::rz()]));
            a = negated;
        }
        let b = if addend_general { self.any(y) } else { self.gpr(y) };
        self.emit(Inst::new(Op::IMAD).ops([to, a, b, addend]));
    }

    pub(super) fn lower_product(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        if data.op == IrOp::Imul {
            let (a, b) = self.commuted(self.src(data.args[0]), self.src(data.args[1]));
            return self.emit(Inst::new(Op::IMAD).ops([to, a, b, Operand::rz()]));
        }
        let (a, b) = self.commuted(self.src(data.args[0]), self.src(data.args[1]));
        let high = Inst::new(Op::IMAD_HI).ops([to, a, b, Operand::rz()]);
        self.emit(if data.op == IrOp::Smulh { high } else { high.with(choice!(IMAD_HI, ".U32")) });
    }

    pub(super) fn lower_minmax(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        if data.op == IrOp::Iabs {
            let from = self.any_value(data.args[0]);
            return self.emit(Inst::new(Op::IABS).ops([to, from]));
        }
        let least = matches!(data.op, IrOp::Smin | IrOp::Umin);
        let ps = if least { Operand::pt() } else { Operand::pt().not() };
        let choice = match self.minmax_of_three(data) {
            Some((op, [a, b, c])) => Inst::new(op).ops([to, a, b, c, ps]),
            None => {
                let (a, b) = self.commuted(self.src(data.args[0]), self.src(data.args[1]));
                Inst::new(Op::IMNMX).ops([to, a, b, ps])
            }
        };
        let signed = matches!(data.op, IrOp::Smin | IrOp::Smax);
        self.emit(if signed { choice } else { choice.with(choice!(IMNMX | VIMNMX3 | VIADDMNMX, ".U32")) });
    }

    /// A minimum or maximum with another one of the same kind, or a sum, as an argument that
    /// nothing else uses: the instruction that takes all three operands.
    fn minmax_of_three(&mut self, data: &InstData) -> Option<(Op, [Operand<VReg>; 3])> {
        if !Op::VIADDMNMX.row().archs.contains(self.arch) {
            return None;
        }
        for (inner, other) in [(data.args[0], data.args[1]), (data.args[1], data.args[0])] {
            let Some(below) = self.foldable(inner).filter(|below| below.ty == data.ty) else { continue };
            let last = self.src(other);
            let (x, y) = match below.args[..] {
                [x, y] => (self.src(x), self.src(y)),
                _ => continue,
            };
            if below.op == data.op {
                // Only the middle place takes other kinds.
                let (a, y) = if x.claims_slot(y) { (y, x) } else { (x, y) };
                let (b, c) = if last.claims_slot(y) { (last, y) } else { (y, last) };
                return Some((Op::VIMNMX3, [self.gpr(a), self.any(b), self.gpr(c)]));
            }
            let product = below.args.iter().any(|&arg| self.is_product(arg));
            let negative = below.op == IrOp::Isub;
            if !(negative || below.op == IrOp::Iadd) || product {
                continue;
            }
            let (x, y) = if !negative && x.claims_slot(y) { (y, x) } else { (x, y) };
            let a = self.gpr(x);
            let b = match (negative, y) {
                (true, Src::Imm(bits)) => self.any(Src::Imm(bits.wrapping_neg())),
                (true, y) => self.any(y).neg(),
                (false, y) => self.any(y),
            };
            let c = if y.is_special() { self.gpr(last) } else { self.any(last) };
            return Some((Op::VIADDMNMX, [a, b, c]));
        }
        None
    }

    pub(super) fn lower_shift(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let left = data.op == IrOp::Shl;
        let signed = data.op == IrOp::Sar;
        // The hardware clamps the count at 32, as PTX does at the width.
        let a = self.gpr_value(data.args[0]);
        let wrapped = self.below_mask_of_31(data.args[1]);
        let count = match self.src(wrapped.unwrap_or(data.args[1])) {
            Src::Imm(count) if wrapped.is_some() => Operand::imm(count & 31),
            Src::Imm(count) => Operand::imm(count.min(32)),
            other => self.any(other),
        };
        let shift = if left {
            Inst::new(Op::SHF).with(choice!(SHF, ".L", ".U32")).ops([to, a, count, Operand::rz()])
        } else {
            shift_right(to, a, count, signed)
        };
        self.emit(if wrapped.is_some() { shift.with(choice!(SHF, ".W")) } else { shift });
    }

    /// The value whose low five bits are a shift count, if the count is that value and'ed with 31:
    /// the hardware does this itself (`.W`).
    fn below_mask_of_31(&self, count: Value) -> Option<Value> {
        let data =
            self.def_data(self.resolve(count)).filter(|data| data.op == IrOp::And && data.ty.bits() == 32)?;
        let (x, y) = (data.args[0], data.args[1]);
        let masks = |value| self.src(value) == Src::Imm(31);
        if masks(y) { Some(x) } else { masks(x).then_some(y) }
    }

    pub(super) fn lower_bits(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        match data.op {
            IrOp::Popc => {
                let b = self.any_value(data.args[0]);
                self.emit(Inst::new(Op::POPC).ops([to, b]));
            }
            IrOp::Clz if data.ty == Type::B32 => {
                // The highest one is bit 31 - clz; for zero, FLO gives -1.
                let b = self.any_value(data.args[0]);
                let highest = Operand::reg(self.temp());
                self.emit(Inst::new(Op::FLO).with(choice!(FLO, ".U32")).ops([highest, b]));
                let [a, b, c] = [highest.neg(), Operand::imm(31), Operand::rz()];
                self.emit(Inst::new(Op::IADD3).ops([to, a, b, c]));
            }
            IrOp::Brev if data.ty == Type::B32 => {
                let b = self.any_value(data.args[0]);
                self.emit(Inst::new(Op::BREV).ops([to, b]));
            }
            IrOp::Bfind { signed, shift } => {
                let b = self.any_value(data.args[0]);
                let found = Inst::new(Op::FLO).ops([to, b]);
                let found = if signed { found } else { found.with(choice!(FLO, ".U32")) };
                self.emit(if shift { found.with(choice!(FLO, ".SH")) } else { found });
            }
            IrOp::Bmsk { wrap } => {
                let (a, b) = (self.gpr_value(data.args[0]), self.any_value(data.args[1]));
                let mask = Inst::new(Op::BMSK).ops([to, a, b]);
                self.emit(if wrap { mask.with(choice!(BMSK, ".W")) } else { mask });
            }
            IrOp::Szext { signed, wrap } => {
                let (a, b) = (self.gpr_value(data.args[0]), self.any_value(data.args[1]));
                let extended = Inst::new(Op::SGXT).ops([to, a, b]);
                let extended = if wrap { extended.with(choice!(SGXT, ".W")) } else { extended };
                self.emit(if signed { extended } else { extended.with(choice!(SGXT, ".U32")) });
            }
            IrOp::Prmt(pick) => {
                let selector = self.src(data.args[2]);
                let a = self.gpr_value(data.args[0]);
                let c = self.gpr_value(data.args[1]);
                let b = self.any(selector);
                let permuted = Inst::new(Op::PRMT).ops([to, a, b, c]);
                self.emit(match pick {
                    BytePick::Index => permuted,
                    BytePick::Upwards => permuted.with(choice!(PRMT, ".F4E")),
                    BytePick::Downwards => permuted.with(choice!(PRMT, ".B4E")),
                    BytePick::Byte => permuted.with(choice!(PRMT, ".RC8")),
                    BytePick::ClampLeft => permuted.with(choice!(PRMT, ".ECL")),
                    BytePick::ClampRight => permuted.with(choice!(PRMT, ".ECR")),
                    BytePick::Half => permuted.with(choice!(PRMT, ".RC16")),
                });
            }
            other => self.unsupported(&other, format!("no instruction for it at type {}", data.ty)),
        }
    }

    /// Lowers a sum of products of parts of two words; the second operand may be a constant, or
    /// uniform.
    pub(super) fn lower_dot_product(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let a = self.gpr_value(data.args[0]);
        let b = match self.any_value(data.args[1]) {
            Operand { kind: ptxc_sass::OperandKind::Imm(_), .. } => self.gpr_value(data.args[1]),
            other => other,
        };
        let c = self.gpr_value(data.args[2]);
        let made = match data.op {
            IrOp::Dp4a { a_signed: x, b_signed: y } => Inst::new(Op::IDP_4A)
                .with(if x {
                    choice!(IDP_4A, SourceType = ".S8")
                } else {
                    choice!(IDP_4A, SourceType = ".U8")
                })
                .with(if y { choice!(IDP_4A, DataType = ".S8") } else { choice!(IDP_4A, DataType = ".U8") }),
            IrOp::Dp2a { a_signed: x, b_signed: y, high } => Inst::new(Op::IDP_2A)
                .with(if high { choice!(IDP_2A, ".HI") } else { choice!(IDP_2A, ".LO") })
                .with(if x { choice!(IDP_2A, ".S16") } else { choice!(IDP_2A, ".U16") })
                .with(if y { choice!(IDP_2A, ".S8") } else { choice!(IDP_2A, ".U8") }),
            _ => return,
        };
        self.emit(made.ops([to, a, b, c]));
    }

    pub(super) fn lower_extension(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let result = self.func.result(inst);
        let from_bits = self.func.ty(data.args[0]).bits();
        if data.op == IrOp::Trunc || !self.is_needed(result) {
            return;
        }
        if data.ty.bits() == 64 {
            return self.lower_wide_extension(inst);
        }
        if (from_bits, data.ty.bits()) != (16, 32) {
            return self.unsupported(&data.op, format!("from {from_bits} to {} bits", data.ty.bits()));
        }
        let to = self.def(result);
        let from = self.gpr_value(data.args[0]);
        self.emit(extend_half(to, from, data.op == IrOp::Sext));
    }

    pub(super) fn lower_funnel(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let (mode, left) = match data.op {
            IrOp::FunnelShl(mode) => (mode, true),
            IrOp::FunnelShr(mode) => (mode, false),
            _ => return,
        };
        let to = self.def(self.func.result(inst));
        let (low, high) = (self.gpr_value(data.args[0]), self.gpr_value(data.args[1]));
        let count = self.any_value(data.args[2]);
        let kind = match mode {
            Funnel::Wrap | Funnel::Clamp => choice!(SHF, ".U32"),
            Funnel::Wide => choice!(SHF, ".U64"),
            Funnel::WideSigned => choice!(SHF, ".S64"),
        };
        let made =
            Inst::new(Op::SHF).with(if left { choice!(SHF, ".L") } else { choice!(SHF, ".R") }).with(kind);
        let made = if mode == Funnel::Wrap { made.with(choice!(SHF, ".W")) } else { made };
        let made = if left { made.with(choice!(SHF, ".HI")) } else { made };
        self.emit(made.ops([to, low, count, high]));
    }
}

/// The terms of an addition, subtraction or negation.
fn split(op: &IrOp, args: &[Value], neg: bool, terms: &mut SmallVec<[(Value, bool); 4]>) {
    match op {
        IrOp::Iadd => terms.extend([(args[0], neg), (args[1], neg)]),
        IrOp::Isub => terms.extend([(args[0], neg), (args[1], !neg)]),
        _ => terms.push((args[0], !neg)),
    }
}

/// The operands a, b, c of `IADD3` in an order in which a and b are not both negated, if c is not
/// negated. A special operand stays in b.
fn with_legal_signs([a, b, c]: [Operand<VReg>; 3]) -> [Operand<VReg>; 3] {
    match a.flags.neg && b.flags.neg {
        false => [a, b, c],
        true if is_general(b) => [a, c, b],
        true => [c, b, a],
    }
}

/// Whether an operand is a general register or RZ, so that another operand may be of another kind.
pub(super) fn is_general(operand: Operand<VReg>) -> bool {
    match operand.kind {
        ptxc_sass::OperandKind::Zero(_) => true,
        ptxc_sass::OperandKind::Reg(reg) => !reg.file().is_uniform(),
        _ => false,
    }
}

/// `to = from >> count` of a 32-bit number.
pub(super) fn shift_right(
    to: Operand<VReg>,
    from: Operand<VReg>,
    count: Operand<VReg>,
    signed: bool,
) -> Inst<VReg> {
    let kind = if signed { choice!(SHF, ".S32") } else { choice!(SHF, ".U32") };
    Inst::new(Op::SHF).with(choice!(SHF, ".R")).with(kind).with(choice!(SHF, ".HI")).ops([
        to,
        Operand::rz(),
        count,
        from,
    ])
}

/// The instruction that extends the low half of a register.
pub(super) fn extend_half(to: Operand<VReg>, from: Operand<VReg>, signed: bool) -> Inst<VReg> {
    if signed {
        // Bytes 0 and 1, then the sign of byte 1 twice.
        Inst::new(Op::PRMT).ops([to, from, Operand::imm(0x9910), Operand::rz()])
    } else {
        Inst::new(Op::LOP3).ops([to, from, Operand::imm(0xffff), Operand::rz(), Operand::imm(0xc0)])
    }
}
