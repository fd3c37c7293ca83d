//! Values of 64 bits: pairs of registers, long additions, products of two words.
//!
//! Legalization has split 64-bit arithmetic into words, `pack` and `unpack`. A `pack` costs nothing
//! if its words are computed only for it: they are then written into the two components of one
//! pair.
//!
//! ```text
//! v5, v6 = iadd_cout v1, v3                 IADD3 %r8, %p6, %r1, %r3, RZ
//! v7 = iadd_cin v2, v4, v6          =>      IADD3.X %r8.1, %r2, %r4, RZ, %p6, !PT
//! v8 = pack v5, v7
//! v10 = shl v1, 2;  v11, v12 = iadd_cout v10, v3      LEA %r11, %p12, %r1, %r3, 0x2
//! v9 = smad_wide v1, 4, v8               =>      IMAD.WIDE %r9, %r1, 0x4, %r8
//! ```

use ptxc_ir::{Inst as IrInst, Op as IrOp, Type};
use ptxc_sass::{Inst, Op, Operand, choice, slot};

use super::integer::{extend_half, is_general, shift_right};
use super::lower::Lower;
use super::source::Src;
use crate::mir::VReg;

impl Lower<'_> {
    /// Sums and differences with carries. A difference adds the complement: the carry of
    /// `a + !b + 1` is what `IADD3` makes of `a + -b`.
    pub(super) fn lower_carry(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        if data.ty != Type::B32 {
            return self.unsupported(&data.op, format!("no instruction for it at type {}", data.ty));
        }
        let results = self.func.results(inst);
        let to = self.def(results[0]);
        let carry_out = results.get(1).map_or(Operand::pt(), |&carry| self.def(carry));
        let subtract = matches!(data.op, IrOp::IsubCarryOut | IrOp::IsubCarryIn | IrOp::IsubCarryInOut);
        if !subtract && self.lower_shifted_sum(inst, to, carry_out) {
            return;
        }
        let (x, y) = (self.src(data.args[0]), self.src(data.args[1]));
        match data.args.get(2) {
            None => {
                let (a, b) = match y {
                    // `a + -0` carries where `a + 0` does not.
                    Src::Imm(bits) if subtract && bits != 0 => {
                        self.commuted(x, Src::Imm(bits.wrapping_neg()))
                    }
                    _ if subtract => self.subtracted(x, y, Operand::neg),
                    _ => self.commuted(x, y),
                };
                self.emit(
                    Inst::new(Op::IADD3).ops([to, a, b, Operand::rz()]).slot(slot!(IADD3, "pd"), carry_out),
                );
            }
            Some(&carry) => {
                let (a, b) = match y {
                    Src::Imm(bits) if subtract => self.commuted(x, Src::Imm(!bits)),
                    _ if subtract => self.subtracted(x, y, Operand::not),
                    _ => self.commuted(x, y),
                };
                let ps = self.pred(carry);
                self.emit(
                    Inst::new(Op::IADD3_X)
                        .ops([to, a, b, Operand::rz(), ps])
                        .slot(slot!(IADD3_X, "pd"), carry_out),
                );
            }
        }
    }

    /// Lowers one word of `(x << constant) + y`, if nothing else uses the shifted word.
    fn lower_shifted_sum(&mut self, inst: IrInst, to: Operand<VReg>, carry_out: Operand<VReg>) -> bool {
        let data = &self.func.insts[inst];
        let carry = data.args.get(2).copied();
        for (shifted, other) in [(data.args[0], data.args[1]), (data.args[1], data.args[0])] {
            let Some(shift) = self.foldable(shifted) else { continue };
            let Some(&Src::Imm(count @ 1..=31)) = shift.args.last().map(|&count| self.src(count)).as_ref()
            else {
                continue;
            };
            match (shift.op, carry) {
                (IrOp::Shl, None) if shift.ty == Type::B32 => {
                    let a = self.gpr_value(shift.args[0]);
                    let b = self.any_value(other);
                    let made = Inst::new(Op::LEA).ops([to, a, b, Operand::imm(count)]);
                    self.emit(made.slot(slot!(LEA, "pd"), carry_out));
                }
                (IrOp::FunnelShl(_), Some(carry)) => {
                    let low = self.gpr_value(shift.args[0]);
                    let high = self.gpr_value(shift.args[1]);
                    let b = self.any_value(other);
                    let ps = self.pred(carry);
                    let made = Inst::new(Op::LEA_HI_X).ops([to, low, b, Operand::imm(count), ps]);
                    self.emit(made.slot(slot!(LEA_HI_X, "c"), high).slot(slot!(LEA_HI_X, "pd"), carry_out));
                }
                _ => continue,
            }
            return true;
        }
        false
    }

    /// The operands of `x - y`, with the sign that `turn` puts on the second.
    fn subtracted(
        &mut self,
        x: Src,
        y: Src,
        turn: fn(Operand<VReg>) -> Operand<VReg>,
    ) -> (Operand<VReg>, Operand<VReg>) {
        if x.claims_slot(y) { (turn(self.gpr(y)), self.any(x)) } else { (self.gpr(x), turn(self.any(y))) }
    }

    pub(super) fn lower_wide_product(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.def(self.func.result(inst));
        let signed = matches!(data.op, IrOp::SmulWide | IrOp::SmadWide);
        if data.ty != Type::B32 {
            return self.unsupported(&data.op, format!("no instruction for it at type {}", data.ty));
        }
        let (a, b) = self.commuted(self.src(data.args[0]), self.src(data.args[1]));
        let c = match data.args.get(2) {
            None => Operand::rz(),
            Some(&addend) => {
                let uniform = if is_general(b) { self.uniform_tuple(addend) } else { None };
                uniform.unwrap_or_else(|| self.tuple(addend))
            }
        };
        let wide = Inst::new(Op::IMAD_WIDE).ops([to, a, b, c]);
        self.emit(if signed { wide } else { wide.with(choice!(IMAD_WIDE, ".U32")) });
    }

    pub(super) fn lower_pack(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let result = self.func.result(inst);
        if !self.is_needed(result) {
            return;
        }
        let to = self.reg_of(result);
        match data.ty.bits() {
            64 => {
                self.place(data.args[0], to);
                self.place(data.args[1], to.offset(1));
            }
            128 => {
                self.place(data.args[0], to);
                self.place(data.args[1], to.offset(2));
            }
            _ => {
                if self.lower_packed_halves(data, Operand::reg(to)) || self.lower_packed_bytes(data, to) {
                    return;
                }
                self.pack_halves(data, to);
            }
        }
    }

    /// Extends a word or half word to 64 bits.
    pub(super) fn lower_wide_extension(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let to = self.reg_of(self.func.result(inst));
        let (low, high) = (to, to.offset(1));
        let signed = data.op == IrOp::Sext;
        match self.func.ty(data.args[0]).bits() {
            32 => {
                self.place(data.args[0], low);
            }
            16 => {
                let from = self.gpr_value(data.args[0]);
                self.emit(extend_half(Operand::reg(low), from, signed));
            }
            bits => return self.unsupported(&data.op, format!("from {bits} to 64 bits")),
        }
        if signed {
            // The low word of the result, or the word that it is a copy of.
            let sign = match self.func.ty(data.args[0]).bits() {
                32 => self.gpr_value(data.args[0]),
                _ => Operand::reg(low),
            };
            self.emit(shift_right(Operand::reg(high), sign, Operand::imm(31), true));
        } else {
            self.copy_to(high, Src::Imm(0));
        }
    }
}
